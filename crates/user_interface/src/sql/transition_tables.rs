//! Transition tables: the rows that a statement has changed, as a function of a trigger reads them under the names that REFERENCING gives.
//!
//! A statement of the function that names one reads a query of arrays in its place, which are parameters of it: one for each column. Invariants: such a name
//! means nothing to functions that the function calls; rows come in the order in which they were changed.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::views::query_in;
use plpgsql::machine::RoutineStatement;
use sqlparser::ast::{self, Ident, ObjectName, TableAlias, TableFactor};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::{Type, Value};

/// The transition tables of a trigger that has fired.
#[derive(Clone, Debug)]
pub struct TransitionTables {
    /// Each with its name.
    pub tables: Vec<(String, Arc<TransitionRows>)>,
}

/// Rows of a transition table.
#[derive(Clone, Debug)]
pub struct TransitionRows {
    columns: Vec<(String, Type)>,
    arrays: Vec<Value>,
}

impl TransitionRows {
    /// Of rows with these columns.
    pub fn new<'r>(columns: Vec<(String, Type)>, rows: impl Iterator<Item = &'r [Value]>) -> TransitionRows {
        let mut values: Vec<Vec<Value>> = columns.iter().map(|_| Vec::new()).collect();
        for row in rows {
            for (column, value) in values.iter_mut().zip(row) {
                column.push(value.clone());
            }
        }
        // There are no arrays of arrays.
        let arrays = columns.iter().zip(values).map(|((_, of), values)| match of.element() {
            None => Value::array(of.unmodified(), values),
            Some(_) => Value::Null,
        });
        TransitionRows { arrays: arrays.collect(), columns }
    }

    /// Their query, whose parameters follow so many others. Errors: 0A000 for a type that there are no arrays of.
    fn query(&self, behind: usize) -> Result<ast::Query> {
        let cells = self.columns.iter().enumerate().map(|(place, (name, of))| match of.unmodified().array() {
            Type::Array(_) if of.element().is_none() => {
                Ok(format!("unnest(${}) AS {}", behind + place + 1, names::quote(name)))
            }
            _ => Err(SqlError::unsupported(format!("a transition table with a column of type {of}"))),
        });
        let text = format!("SELECT {}", cells.collect::<Result<Vec<_>>>()?.join(", "));
        Ok(query_in(&text, || SqlError::new(sqlstate::INTERNAL_ERROR, "a transition table has no query"))?.0)
    }
}

impl TransitionTables {
    /// The statement that reads their rows in the place of their names; `None`: it names none. Errors: 0A000, for a change of their rows among others.
    pub fn read_by(&self, statement: &RoutineStatement) -> Result<Option<RoutineStatement>> {
        let lower = statement.sql.to_lowercase();
        if !self.tables.iter().any(|(name, _)| lower.contains(&name.to_lowercase())) {
            return Ok(None);
        }
        // What cannot be read is refused where it is compiled.
        let Ok(Some(parsed)) = parse::statement(&statement.sql) else { return Ok(None) };
        let is_plain = is_plain(&parsed);
        let Statement::Sql(tree) = parsed.statement else { return Ok(None) };
        if !tree.is_shallow() {
            return Ok(None);
        }
        let mut tree = *tree.into_inner();
        self.check_target(&tree)?;
        let mut reading = Reading {
            known: self,
            parameters: statement.parameters.clone(),
            types: statement.types.clone(),
            reads: false,
            common: Vec::new(),
            withheld: Vec::new(),
        };
        if let ControlFlow::Break(error) = ast::VisitMut::visit(&mut tree, &mut reading) {
            return Err(error);
        }
        let Reading { parameters, types, reads, .. } = reading;
        match reads {
            false => Ok(None),
            true if !is_plain => Err(SqlError::unsupported("a transition table in this statement")),
            true => {
                let sql = tree.to_string().into();
                Ok(Some(RoutineStatement { sql, parameters, types, rows_max: statement.rows_max }))
            }
        }
    }

    fn named(&self, name: &ObjectName) -> Option<(&str, &Arc<TransitionRows>)> {
        let [ast::ObjectNamePart::Identifier(own)] = name.0.as_slice() else { return None };
        let own = names::identifier(own);
        self.tables.iter().find(|(known, _)| *known == own).map(|(name, rows)| (name.as_str(), rows))
    }

    /// Errors: 0A000.
    fn check_target(&self, statement: &ast::Statement) -> Result<()> {
        let of_factor = |factor: &TableFactor| match factor {
            TableFactor::Table { name, .. } => self.named(name).map(|(name, _)| name.to_owned()),
            _ => None,
        };
        let target = match statement {
            ast::Statement::Insert(insert) => match &insert.table {
                ast::TableObject::TableName(name) => self.named(name).map(|(name, _)| name.to_owned()),
                _ => None,
            },
            ast::Statement::Update(update) => of_factor(&update.table.relation),
            ast::Statement::Merge(merge) => of_factor(&merge.table),
            ast::Statement::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
                from.first().and_then(|tables| of_factor(&tables.relation))
            }
            _ => None,
        };
        match target {
            None => Ok(()),
            Some(name) => {
                let message = format!("relation \"{name}\" cannot be the target of a modifying statement");
                Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }
}

/// Whether a statement is all that its tree says.
fn is_plain(parsed: &Parsed) -> bool {
    parsed.overriding.is_none() && parsed.into.is_none() && parsed.cursor.is_none() && parsed.likes.is_empty()
}

/// A statement that is being looked through.
struct Reading<'a> {
    known: &'a TransitionTables,
    parameters: Vec<Value>,
    types: Vec<Option<Type>>,
    reads: bool,
    /// Names that WITH gives, from the outermost query to the innermost.
    common: Vec<Vec<String>>,
    /// WITH clauses that were looked at before their query, and are put back behind it.
    withheld: Vec<Option<ast::With>>,
}

impl Reading<'_> {
    fn give(&mut self, table: &ast::Cte) {
        if let Some(innermost) = self.common.last_mut() {
            innermost.push(names::identifier(&table.alias.name));
        }
    }
}

impl ast::VisitorMut for Reading<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.common.push(Vec::new());
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            if with.recursive {
                with.cte_tables.iter().for_each(|table| self.give(table));
            }
            for table in &mut with.cte_tables {
                ast::VisitMut::visit(&mut table.query, self)?;
                self.give(table);
            }
        }
        self.withheld.push(with);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        query.with = self.withheld.pop().flatten();
        self.common.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, alias, args: None, with_ordinality: false, sample: None, .. } = &*factor else {
            return ControlFlow::Continue(());
        };
        let Some((own, rows)) = self.known.named(name) else { return ControlFlow::Continue(()) };
        if self.common.iter().flatten().any(|known| known == own) {
            return ControlFlow::Continue(());
        }
        let called = || TableAlias { explicit: true, name: Ident::with_quote('"', own), columns: Vec::new(), at: None };
        let alias = alias.clone().unwrap_or_else(called);
        let query = match rows.query(self.parameters.len()) {
            Ok(query) => query,
            Err(error) => return ControlFlow::Break(error),
        };
        self.parameters.extend(rows.arrays.iter().cloned());
        self.types.extend(rows.columns.iter().map(|(_, of)| Some(of.unmodified().array())));
        self.reads = true;
        *factor = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None };
        ControlFlow::Continue(())
    }
}
