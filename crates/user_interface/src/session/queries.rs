//! Statements that the query processor runs, alone or to feed a program; portals that stop and go on.
//!
//! Invariant: no more rows are asked for while the client does not take what was sent, or a portal has had as many as it asked for.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{OUTPUT_BYTES_HIGH, SUPPLIED_ROWS};
use crate::protocol::backend;
use crate::session::control::{lines, plan_rows};
use crate::session::kept::{bytes_of, check_kept};
use crate::session::state::{Again, CancelReason, Confirmed, Execution, Step, Supply, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::explain_forms::ExplainFormat;
use crate::sql::feed::Supplying;
use crate::sql::modify::supplied_row;
use crate::sql::prepared::{Plan, Prepared};
use crate::sql::utility::Utility;
use messages::program::{Action, ResultColumn};
use messages::query::{QueryReply, QueryRequest, Run};
use messages::schema::Catalog;
use messages::session::Failure;
use messages::{Item, ItemName, Key, TableId};
use std::collections::btree_map::Entry;
use std::sync::Arc;
use values::compare::compare;
use values::{Type, Value};

impl Turn<'_> {
    /// A reply of the query processor. One that nothing waits for any more is dropped.
    pub fn query_replied(&mut self, reply: QueryReply) {
        if let QueryReply::Stopped = reply {
            self.session.stops = self.session.stops.saturating_sub(1);
            return;
        }
        if self.session.stops > 0 {
            return;
        }
        match std::mem::replace(&mut self.session.work, Work::Idle) {
            Work::Parsing(name, prepared, told) => match reply {
                QueryReply::Described { columns, parameters } => {
                    match self.complete_description(&prepared, &columns, &parameters) {
                        Ok(Some(prepared)) if prepared.undescribed => {
                            self.describe(&prepared);
                            self.session.work = Work::Parsing(name, Box::new(Prepared::clone(&prepared)), told);
                        }
                        Ok(Some(prepared)) => self.compiled(name, Some(prepared), told),
                        Ok(None) => {
                            let types: Vec<u32> = oids(&prepared);
                            let language = TextLanguage::of(&prepared);
                            if let Err(error) = self.parse_in(&name, &prepared.text, language, &types, told) {
                                self.fail(&error);
                            }
                        }
                        Err(error) => self.fail(&error),
                    }
                }
                QueryReply::Failed(failure) => {
                    let error = SqlError::of_failure(failure, self.committed());
                    let types = oids(&prepared);
                    let language = TextLanguage::of(&prepared);
                    let again = Again::Parse { name, sql: (*prepared.text).into(), language, types, told };
                    self.doubt(Confirmed::Error(error), prepared.mentions.clone(), again);
                }
                QueryReply::Rows { .. } | QueryReply::Call { .. } | QueryReply::Changed | QueryReply::Stopped => {
                    self.session.work = Work::Parsing(name, prepared, told)
                }
            },
            Work::Statement(execution) => self.query_replied_to(execution, reply),
            other => self.session.work = other,
        }
    }

    fn query_replied_to(&mut self, mut execution: Box<Execution>, reply: QueryReply) {
        match (&execution.step, reply) {
            (Step::Describe, QueryReply::Described { columns, parameters }) => {
                self.described(execution, &columns, &parameters);
            }
            (Step::PartRows, QueryReply::Rows { rows, last }) => self.part_rows_came(execution, rows, last),
            (Step::PartRows, QueryReply::Changed) if execution.affected > 0 => {
                self.session.work = Work::Statement(execution);
                self.fail(&SqlError::plan_changed());
            }
            (Step::Rows | Step::Source | Step::PartRows, QueryReply::Changed) => {
                if let Err(error) = self.describe_anew(execution) {
                    self.fail(&error);
                }
            }
            (Step::Rows, QueryReply::Rows { rows, last }) => self.rows_came(execution, rows, last),
            (Step::Source, QueryReply::Rows { rows, last }) => self.source_came(execution, rows, last),
            (Step::Rows | Step::Source | Step::PartRows, QueryReply::Call { function, arguments }) => {
                self.function_called(execution, function, arguments);
            }
            (Step::Explain, QueryReply::Rows { rows, .. }) => {
                let mut all = std::mem::take(&mut execution.explained);
                all.extend(rows.iter().flatten().filter_map(Value::as_text).flat_map(lines));
                let format = match &execution.prepared.plan {
                    Plan::Utility(Utility::Explain(_, format)) => *format,
                    _ => ExplainFormat::Text,
                };
                let rows = plan_rows(&all, format);
                self.send_rows(&mut execution, rows);
                self.complete(execution);
            }
            (Step::Describe, QueryReply::Failed(Failure::Statement { .. })) if self.run_as_written(&execution) => {}
            (Step::Describe, QueryReply::Failed(failure @ Failure::Statement { .. })) => {
                execution.step = Step::New;
                let error = SqlError::of_failure(failure, self.committed());
                let relied = execution.prepared.mentions.clone();
                self.doubt(Confirmed::Error(error), relied, Again::Statement(execution));
            }
            (
                Step::Describe | Step::Rows | Step::Source | Step::PartRows | Step::Explain,
                QueryReply::Failed(failure),
            ) => {
                // The query is over: nothing is left to stop.
                execution.step = Step::New;
                self.statement_failed(execution, failure);
            }
            _ => self.session.work = Work::Statement(execution),
        }
    }

    fn rows_came(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>, last: bool) {
        if let Some(reason) = self.session.cancelled {
            self.session.work = Work::Statement(execution);
            return self.fail(&cancelled(reason));
        }
        let rows = match self.take_effects(&execution, rows) {
            Ok(rows) => rows,
            Err(error) => {
                self.session.work = Work::Statement(execution);
                return self.fail(&error);
            }
        };
        if execution.prepared.cursor.is_some() {
            self.cursor_rows(execution, rows, last);
        } else if execution.portal.is_some() && execution.rows_max > 0 {
            execution.buffered.extend(rows);
            execution.exhausted = last;
            self.resume_portal(execution);
        } else {
            self.send_rows(&mut execution, rows);
            if last {
                self.complete(execution);
            } else if self.session.output.len() > OUTPUT_BYTES_HIGH {
                execution.step = Step::Room;
                self.session.work = Work::Statement(execution);
            } else {
                self.more(execution, Step::Rows);
            }
        }
    }

    /// Asks for more rows.
    pub fn more(&mut self, mut execution: Box<Execution>, step: Step) {
        execution.step = step;
        self.session.work = Work::Statement(execution);
        self.query(QueryRequest::More);
    }

    /// Asks for more rows, or tells of more notifications, once the client has taken what was sent.
    pub fn output_taken(&mut self) {
        if !self.session.has_room() {
            return;
        }
        match std::mem::replace(&mut self.session.work, Work::Idle) {
            Work::Statement(_) if self.room_for_routine() => {}
            Work::Statement(execution) => self.more(execution, Step::Rows),
            other => {
                self.session.work = other;
                self.tell_idle_client();
            }
        }
    }

    /// Sends a portal's next rows, as many as were asked for.
    pub fn resume_portal(&mut self, mut execution: Box<Execution>) {
        if self.session.query_portal == execution.portal {
            self.session.query_portal = None;
        }
        let wanted = match execution.rows_max {
            0 => usize::MAX,
            rows_max => rows_max.saturating_sub(execution.sent as usize),
        };
        let count = execution.buffered.len().min(wanted);
        let rows: Vec<Vec<Value>> = execution.buffered.drain(..count).collect();
        self.send_rows(&mut execution, rows);
        if execution.buffered.is_empty() && execution.exhausted {
            self.complete(execution);
        } else if count < wanted {
            self.more(execution, Step::Rows);
        } else {
            self.statement_ended();
            backend::portal_suspended(&mut self.session.output);
            execution.sent = 0;
            execution.was_suspended = true;
            if !execution.exhausted {
                self.session.query_portal = execution.portal.clone();
            }
            let name = execution.portal.clone().unwrap_or_default();
            if let Some(portal) = self.session.portals.get_mut(&name) {
                portal.suspended = Some(execution);
            }
            self.session.work = Work::Idle;
        }
    }

    /// Rows for a program came.
    fn source_came(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>, last: bool) {
        if let Some(reason) = self.session.cancelled {
            self.session.work = Work::Statement(execution);
            return self.fail(&cancelled(reason));
        }
        let (key_types, supplying) = match &execution.prepared.plan {
            Plan::Feed(_, _, key_types, supplying) => (key_types.clone(), *supplying),
            Plan::Queried(..) => (Vec::new(), Supplying::AsTheyCome),
            Plan::SetValue(_) => (Vec::new(), Supplying::AllAtOnce),
            _ => unreachable!("only a program that is fed has a source"),
        };
        execution.supply.last = last;
        if let Err(error) = keep(&mut execution, rows, &key_types, supplying, self.committed()) {
            self.session.work = Work::Statement(execution);
            return self.fail(&error);
        }
        if supplying != Supplying::AsTheyCome && !last {
            self.more(execution, Step::Source);
        } else if let Plan::SetValue(_) = execution.prepared.plan {
            let rows = execution.supply.rows.drain(..).collect();
            if let Err(error) = self.set_value(execution, rows) {
                self.fail(&error);
            }
        } else {
            self.supply(execution);
        }
    }

    /// Hands the program its next rows, or fetches more for it, or ends.
    pub fn supply(&mut self, mut execution: Box<Execution>) {
        let program = match (&execution.prepared.plan, &execution.fills) {
            (Plan::Feed(_, program, ..), _) | (Plan::Queried(..), Some(program)) => program.clone(),
            _ => unreachable!("only a program that is fed is supplied"),
        };
        let count = execution.supply.rows.len().min(SUPPLIED_ROWS);
        if count > 0 {
            let rows = execution.supply.rows.drain(..count).collect();
            self.execute_program(&mut execution, program, rows, Step::Batch);
            self.session.work = Work::Statement(execution);
        } else if execution.supply.last {
            self.complete(execution);
        } else {
            self.more(execution, Step::Source);
        }
    }
}

/// The types that the client declared, by object identifier.
pub fn oids(prepared: &Prepared) -> Vec<u32> {
    prepared.declared.iter().map(|declared| declared.map_or(0, |known| known.oid())).collect()
}

/// Keeps rows for the program: for UPDATE and DELETE each key once.
fn keep(
    execution: &mut Execution,
    rows: Vec<Vec<Value>>,
    key_types: &[Type],
    supplying: Supplying,
    catalog: &Catalog,
) -> Result<()> {
    let supply = &mut execution.supply;
    supply.bytes += bytes_of(&rows);
    check_kept(supply.rows.len() + rows.len(), supply.bytes)?;
    for row in rows {
        if key_types.is_empty() {
            supply.rows.push_back(row);
            continue;
        }
        let row = supplied_row(row, key_types)?;
        let Some(Value::Bytea(key)) = row.first() else { continue };
        match supply.keys.entry(Arc::clone(key)) {
            Entry::Vacant(entry) => {
                entry.insert(supply.rows.len());
                supply.rows.push_back(row);
            }
            // Nothing has been taken from the rows yet: all are supplied at once.
            Entry::Occupied(first)
                if supplying == Supplying::AllAtOnceOneValueEach
                    && !supply.rows.get(*first.get()).is_some_and(|other| alike(other, &row)) =>
            {
                let item = Item { table: storage(&execution.prepared), key: Key::from(key.as_ref()) };
                return Err(two_values(&item, catalog));
            }
            Entry::Occupied(_) => {}
        }
    }
    Ok(())
}

/// Whether two rows have the same values, as SQL compares them: 1.0 is 1.00, and NULL is NULL.
fn alike(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| compare(left, right).is_eq())
}

/// The storage of the table that an UPDATE changes.
fn storage(prepared: &Prepared) -> TableId {
    let Plan::Feed(_, program, ..) = &prepared.plan else { return TableId::CATALOG };
    let changed = program.actions.iter().find_map(|action| match action {
        Action::Update { source, .. } => Some(source.table.storage),
        _ => None,
    });
    changed.unwrap_or(TableId::CATALOG)
}

/// 21000: `replace` of QUEL gives a row one value.
fn two_values(item: &Item, catalog: &Catalog) -> Box<SqlError> {
    let ItemName { table, key, .. } = ItemName::of(item, catalog);
    let key = key.map_or_else(String::new, |key| format!(" {key}"));
    let table = table.map_or_else(String::new, |table| format!(" of {table}"));
    SqlError::new(sqlstate::CARDINALITY_VIOLATION, format!("row{key}{table} has more than one new value"))
}

/// 57014.
pub fn cancelled(reason: CancelReason) -> Box<SqlError> {
    let cause = match reason {
        CancelReason::Request => "user request",
        CancelReason::Timeout => "statement timeout",
    };
    SqlError::new(sqlstate::QUERY_CANCELED, format!("canceling statement due to {cause}"))
}

impl Turn<'_> {
    /// Begins a statement's query at the query processor.
    pub fn run_query(&mut self, execution: &mut Execution) {
        self.stop_query();
        // What an earlier try has brought is not brought again.
        (execution.supply, execution.cursor) = (Supply::default(), None);
        let (sql, step) = match &execution.prepared.plan {
            Plan::Feed(sql, ..) => (sql.clone(), Step::Source),
            Plan::SetValue(set) => (set.source.clone().expect("it has a query"), Step::Source),
            Plan::Queried(_, query) => (query.clone(), Step::Source),
            Plan::Query(sql) => (sql.clone(), Step::Rows),
            _ => unreachable!("only these have a query"),
        };
        execution.step = step;
        let types = execution.prepared.parameters.iter().map(|data_type| Some(*data_type)).collect();
        let columns = execution.prepared.source.clone();
        self.run(execution, sql, (execution.parameters.clone(), types), columns);
    }

    /// Has the query processor begin this query of a statement, which has these parameters and is taken to have these columns.
    pub(super) fn run(
        &mut self,
        execution: &Execution,
        sql: Arc<str>,
        (parameters, parameter_types): (Vec<Value>, Vec<Option<Type>>),
        columns: Vec<ResultColumn>,
    ) {
        // What a query calls reads what it reads.
        if self.session.routines.suspended() == 0 {
            self.session.queries += 1;
        }
        let session = self.session_facts(&sql, &execution.prepared.zone);
        let run = Run {
            sql,
            parameters,
            parameter_types,
            columns,
            catalog: self.catalog(),
            relies_on: self.session.database_id.placed_rows(&execution.prepared.rights),
            query: (!execution.prepared.writes).then_some(self.session.queries),
            session,
            time_micros: self.session.began_micros,
        };
        self.query(QueryRequest::Run(Box::new(run)));
    }
}
