//! COPY: data of the client to supplied rows, rows to data for the client.
//!
//! Invariant: of the client's data no more is held than one message and one batch of rows.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{SUPPLIED_BYTES, SUPPLIED_ROWS};
use crate::protocol::backend;
use crate::protocol::copy::{CopyColumn, Decoder, Format};
use crate::protocol::frontend::{Follows, Frontend};
use crate::session::copying::{CopyFiring, CopyIn};
use crate::session::execution::relying_program;
use crate::session::firing::FiringRun;
use crate::session::routine_runs::{RoutineCaller, RunningMachine};
use crate::session::state::{Again, Confirmed, Execution, Sink, Step, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::expressions::Compiler;
use crate::sql::held_tables;
use crate::sql::insert::copied_columns;
use crate::sql::names;
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::rights::{Need, Needs};
use crate::sql::utility::{Copy, CopySource, Utility};
use messages::namespace;
use messages::privilege::Privileges;
use messages::program::{Program, ResultColumn};
use messages::schema::{CatalogEntry, TableSchemaKind, TriggerEvent, VersionedTable};
use messages::session::SessionRequest;
use plpgsql::EffectOutcome;
use std::sync::Arc;
use values::Value;

impl Turn<'_> {
    /// COPY ... TO STDOUT: a query whose rows go out as data.
    pub fn copy_out(&mut self, mut execution: Box<Execution>, copy: &Copy) -> Result<()> {
        execution.prepared = match &copy.source {
            CopySource::Table(name, columns) => match self.held_query(name, columns)? {
                Some(text) => self.copied_query(&text)?,
                None => Arc::new(self.table_query(name, columns)?),
            },
            CopySource::Query(text) => self.copied_query(text)?,
        };
        execution.sink = Sink::Copy(copy.options.clone(), Vec::new());
        execution.announced = false;
        self.enter(execution)
    }

    /// A query that COPY copies the rows of.
    fn copied_query(&mut self, text: &str) -> Result<Arc<Prepared>> {
        let prepared = self.prepare(text, TextLanguage::PLAIN, Vec::new())?.ok_or_else(|| SqlError::syntax(")"))?;
        if !matches!(prepared.plan, Plan::Query(_) | Plan::Program(_) | Plan::Feed(..) | Plan::Parts(_)) {
            return Err(SqlError::unsupported("COPY of this statement"));
        }
        self.check_plan(&prepared)?;
        Ok(prepared)
    }

    /// The query that stands for a table of which policies hold something back from the role.
    fn held_query(&mut self, name: &str, columns: &[String]) -> Result<Option<String>> {
        let (catalog, (_, role)) = (self.catalog(), self.session.current_user());
        let known = self.copied_table(name)?;
        if !held_tables::are_held(&known.table, &catalog, role) {
            return Ok(None);
        }
        let targets = copied_columns(&known.table, columns)?;
        let quoted: Vec<String> =
            targets.iter().map(|target| names::quote(&known.table.columns[*target].name)).collect();
        let schema = catalog.namespace_numbered(namespace::of(name)).map(|schema| schema.name.clone());
        let (schema, bare) = (schema.unwrap_or_default(), names::quote(namespace::bare(name)));
        Ok(Some(format!("SELECT {} FROM {}.{bare}", quoted.join(", "), names::quote(&schema))))
    }

    /// A table's rows, by the query processor, which hands them over in batches.
    fn table_query(&mut self, name: &str, columns: &[String]) -> Result<Prepared> {
        let versioned = self.copied_table(name)?;
        let table = &versioned.table;
        if table.query().is_some() {
            let message = format!("cannot copy from {} \"{name}\"", table.kind().word());
            return Err(
                SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_hint("Try the COPY (SELECT ...) TO variant.")
            );
        }
        let targets = copied_columns(table, columns)?;
        let quoted: Vec<String> = targets.iter().map(|target| names::quote(&table.columns[*target].name)).collect();
        let sql: Arc<str> = Arc::from(format!("SELECT {} FROM {}", quoted.join(", "), names::quote(name)));
        let result = targets.iter().map(|target| ResultColumn {
            name: table.columns[*target].name.clone(),
            column_type: table.columns[*target].column_type,
            origin: (table.oid, *target as i16 + 1),
        });
        let columns: Vec<ResultColumn> = result.collect();
        let mut prepared = Prepared {
            source: columns.clone(),
            columns,
            mentions: Arc::new([(CatalogEntry::key(name), versioned.version)]),
            generation: self.shared.catalog.generation,
            shareable: false,
            ..Prepared::simple(&sql, Plan::Query(sql.clone()), Tag::Select)
        };
        let mut need = Need::of(table.clone(), Privileges::SELECT);
        need.selected.extend(targets);
        self.protect(&mut prepared, need)?;
        Ok(prepared)
    }

    /// Settles whether the role may copy a table.
    fn protect(&mut self, prepared: &mut Prepared, need: Need) -> Result<()> {
        let catalog = self.catalog();
        let (_, role) = self.session.current_user();
        prepared.protect(&catalog, role, || Needs { tables: vec![need], ..Needs::default() })
    }

    fn copied_table(&mut self, name: &str) -> Result<VersionedTable> {
        self.seen_catalog()
            .tables
            .get(name)
            .cloned()
            .ok_or_else(|| SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
    }

    /// The head of COPY data, once the columns are known.
    pub fn announce_copy(&mut self, execution: &mut Execution) {
        let Sink::Copy(options, columns) = &mut execution.sink else {
            return;
        };
        let named = execution
            .prepared
            .columns
            .iter()
            .map(|column| CopyColumn { name: column.name.clone(), data_type: column.column_type });
        *columns = named.collect();
        let binary = options.format == Format::Binary;
        backend::copy_response(&mut self.session.output, true, binary, columns.len());
        let mut header = Vec::new();
        crate::protocol::copy::write_header(options, columns, &mut header);
        if !header.is_empty() {
            backend::copy_data(&mut self.session.output, &header);
        }
    }

    /// A statement of the session's own that needs the transaction, which is open now.
    pub fn launch_utility(&mut self, mut execution: Box<Execution>) -> Result<()> {
        let Plan::Utility(utility) = &execution.prepared.plan else {
            unreachable!("called for these only");
        };
        match utility.clone() {
            Utility::Copy(copy) => {
                if let Err(error) = self.copy_in(&mut execution, &copy) {
                    let mut table = match &copy.source {
                        CopySource::Table(name, _) => vec![CatalogEntry::key(name)],
                        CopySource::Query(_) => Vec::new(),
                    };
                    table.extend(self.own_rights());
                    execution.step = Step::New;
                    let relied = self.relied(table);
                    self.doubt(Confirmed::Error(error), relied, Again::Statement(execution));
                    return Ok(());
                }
            }
            Utility::Savepoint(name) => {
                self.ask(SessionRequest::Savepoint { name });
                execution.step = Step::Savepoint;
            }
            Utility::Listen(_) => {
                self.start_listening(execution);
                return Ok(());
            }
            Utility::Discard(_) => return self.discard_temporary(execution),
            _ => unreachable!("only these enter a transaction"),
        }
        self.session.work = Work::Statement(execution);
        Ok(())
    }

    /// COPY ... FROM STDIN: compiles what takes the rows and asks the client for data.
    fn copy_in(&mut self, execution: &mut Execution, copy: &Copy) -> Result<()> {
        let CopySource::Table(name, columns) = &copy.source else {
            return Err(SqlError::syntax("FROM"));
        };
        let versioned = self.copied_table(name)?;
        if versioned.table.kind() == TableSchemaKind::MaterializedView {
            let message = format!("cannot copy to materialized view \"{name}\"");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let is_taken = versioned.table.triggers.iter().any(|known| known.is_instead_of(TriggerEvent::Insert));
        if versioned.table.kind() == TableSchemaKind::View && !is_taken {
            let message = format!("cannot copy to view \"{name}\"");
            let hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger.";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).with_hint(hint));
        }
        let targets = copied_columns(&versioned.table, columns)?;
        let mut need = Need::of(versioned.table.clone(), Privileges::INSERT);
        need.inserted.extend(targets.iter().copied());
        let mut rights =
            Prepared::simple(&Arc::from(""), Plan::Utility(Utility::Copy(copy.clone())), Tag::Plain("COPY"));
        self.protect(&mut rights, need)?;
        if let Some(denied) = rights.denied {
            return Err(denied);
        }
        let catalog = self.catalog();
        let (made, own) = (self.session.overlay.made(), self.session.overlay.keys());
        let (firing, mut program) = self.with_facts(|facts| -> Result<_> {
            let mut compiler = Compiler::new(&catalog, facts, "", Vec::new());
            Ok(match compiler.firing_copy(&versioned.table, &targets)? {
                Some(statement) => {
                    let functions = statement.triggers.iter();
                    let functions = functions.map(|(_, known)| CatalogEntry::procedure_key(&known.function.0));
                    let rows = functions.chain([CatalogEntry::key(name)]);
                    let rows = rows.map(|key| (key.clone(), catalog.version_of(&key)));
                    let relied = rows.filter(|(key, _)| !own.contains(key)).collect();
                    (Some(statement), Program::clone(&relying_program(&relied)))
                }
                None => (None, compiler.insert_supplied(&versioned, &targets, made)?),
            })
        })?;
        program.relies_on = program.relies_on.iter().chain(rights.rights.iter()).cloned().collect();
        let columns: Vec<CopyColumn> = targets
            .iter()
            .map(|target| CopyColumn {
                name: versioned.table.columns[*target].name.clone(),
                data_type: versioned.table.columns[*target].column_type,
            })
            .collect();
        let binary = copy.options.format == Format::Binary;
        backend::copy_response(&mut self.session.output, false, binary, columns.len());
        execution.copy = Some(Box::new(CopyIn {
            decoder: Decoder::new(copy.options.clone(), columns, self.session.settings.now.zone().clone()),
            program: Arc::new(program),
            firing: firing.map(|statement| {
                let place = |column: &usize| targets.iter().position(|target| target == column);
                let places = statement.columns.iter().map(place).collect();
                let run = Some(FiringRun::of_copy(Arc::new(statement)));
                Box::new(CopyFiring { run, places, first: Some(Vec::new()) })
            }),
            ended: false,
        }));
        execution.step = Step::CopyData;
        Ok(())
    }

    /// A message of the client while COPY data is awaited. What came together is taken together: a client may send every row by itself.
    pub fn copy_message(&mut self, message: &Frontend, follows: Follows) {
        let Work::Statement(mut execution) = std::mem::replace(&mut self.session.work, Work::Idle) else {
            return;
        };
        let Some(copy) = execution.copy.as_mut() else {
            unreachable!("data is awaited by COPY FROM only");
        };
        let done = match message {
            Frontend::CopyData(data) => {
                copy.decoder.push(data);
                match follows == Follows::Copied && copy.decoder.waiting() < SUPPLIED_BYTES {
                    true => {
                        self.session.work = Work::Statement(execution);
                        Ok(())
                    }
                    false => self.copy_on(execution),
                }
            }
            Frontend::CopyDone => {
                copy.ended = true;
                self.copy_on(execution)
            }
            Frontend::CopyFail(reason) => {
                Err(SqlError::new(sqlstate::QUERY_CANCELED, format!("COPY from stdin failed: {reason}")))
            }
            // Drivers send them right behind Execute, before they know that data is wanted.
            Frontend::Sync | Frontend::Flush => {
                self.session.work = Work::Statement(execution);
                Ok(())
            }
            _ => Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, "unexpected message type during COPY from stdin")),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }

    /// Hands over the rows that have come, a batch at a time; waits for data, or ends.
    pub fn copy_on(&mut self, mut execution: Box<Execution>) -> Result<()> {
        let Some(copy) = execution.copy.as_mut() else {
            unreachable!("data is awaited by COPY FROM only");
        };
        if let Some(reason) = self.session.cancelled {
            return Err(crate::session::queries::cancelled(reason));
        }
        let mut bytes = 0;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        while rows.len() < SUPPLIED_ROWS && bytes < SUPPLIED_BYTES {
            let Some(row) = copy.decoder.next_row(copy.ended)? else {
                break;
            };
            bytes += row.iter().map(Value::size_in_memory).sum::<usize>();
            rows.push(row);
        }
        let program = copy.program.clone();
        if copy.firing.is_some() && (!rows.is_empty() || copy.ended) {
            return self.fire_copied(execution, rows);
        }
        if !rows.is_empty() {
            self.execute_program(&mut execution, program, rows, Step::CopyBatch);
            self.session.work = Work::Statement(execution);
        } else if copy.ended {
            self.complete(execution);
        } else {
            execution.step = Step::CopyData;
            self.session.work = Work::Statement(execution);
        }
        Ok(())
    }

    /// Has triggers fire for rows that were copied; without any, there are no more.
    fn fire_copied(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>) -> Result<()> {
        let program = execution.copy.as_ref().map(|copy| Arc::clone(&copy.program));
        let firing = execution.copy.as_mut().and_then(|copy| copy.firing.as_mut());
        let (Some(program), Some(firing)) = (program, firing) else {
            unreachable!("it is asked for rows that triggers fire for");
        };
        let relied = match &mut firing.first {
            Some(first) if first.is_empty() && !rows.is_empty() => {
                *first = rows;
                self.execute_program(&mut execution, program, Vec::new(), Step::CopyBatch);
                self.session.work = Work::Statement(execution);
                return Ok(());
            }
            Some(first) => {
                let first = std::mem::take(first);
                firing.first = None;
                first
            }
            None => Vec::new(),
        };
        let all = relied.into_iter().chain(rows);
        let placed = |row: Vec<Value>| -> Vec<Value> {
            let value = |place: &Option<usize>| place.and_then(|place| row.get(place).cloned()).unwrap_or(Value::Null);
            firing.places.iter().map(value).collect()
        };
        let rows: Vec<Vec<Value>> = all.map(placed).collect();
        let Some(mut run) = firing.run.take() else { return Ok(()) };
        run.feed(rows);
        self.check_depth()?;
        self.push_run(execution, RoutineCaller::Statement, None, Some(RunningMachine::Firing(run)));
        self.routine_goes_on(EffectOutcome::Done);
        Ok(())
    }
}
