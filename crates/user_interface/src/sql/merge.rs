//! MERGE: a query that finds the rows that match and one that finds those that do not, each with the programs that take them.
//!
//! The first column of a row is the number of the WHEN clause that it is for, from 1; behind it come the key, and the values of all clauses. Invariant: a
//! value is computed only for rows of its clause. The rows that do not match come from a query in which the target has no name: PostgreSQL sees none there.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::expressions::Compiler;
use crate::sql::insert::{as_cell, check_count, is_default, program, supplied, targets};
use crate::sql::merge_syntax::{does_nothing, is_defaults, is_named, is_nothing};
use crate::sql::modify::supplied_source;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::parts::Taker;
use crate::sql::row_checks::GuardedChange;
use crate::sql::sequences::check_is_table;
use crate::sql::set_clauses::{check_not_set, pairs};
use crate::sql::types::{Compiled, Stop};
use crate::sql::visits::visit_expressions;
use messages::TableId;
use messages::program::{Action, InsertInput, Program};
use messages::schema::{TableSchema, TriggerEvent, VersionedTable};
use sqlparser::ast::{self, Expr, MergeAction, MergeClauseKind, TableFactor};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

/// A query of a MERGE, and what takes its rows.
pub(super) struct MergeHalf {
    /// The query.
    pub sql: String,
    /// The programs.
    pub takers: Vec<Taker>,
}

/// The columns of a query, as far as they are values.
struct Outputs<'a> {
    clauses: &'a [&'a ast::MergeClause],
    values: Vec<String>,
    bytes: usize,
}

impl Outputs<'_> {
    /// Adds a value for the clause at this place. Errors: 54000, because each value has the conditions of the clauses before its own.
    fn add(&mut self, place: usize, value: &Expr, column: Type) -> Result<()> {
        let cell = as_cell(value, column);
        let cell = match self.clauses {
            [ast::MergeClause { predicate: None, .. }] => cell,
            clauses => {
                let before = clauses[..place].iter().filter_map(|clause| clause.predicate.as_ref());
                let before: String = before.map(|before| format!("WHEN {before} THEN NULL ")).collect();
                match &clauses[place].predicate {
                    Some(own) => format!("CASE {before}WHEN {own} THEN {cell} END"),
                    None if before.is_empty() => cell,
                    None => format!("CASE {before}ELSE {cell} END"),
                }
            }
        };
        self.bytes += cell.len();
        if self.bytes > SQL_BYTES_MAX {
            let message = format!("the queries of a MERGE exceed {SQL_BYTES_MAX} bytes");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        self.values.push(cell);
        Ok(())
    }

    /// The number of the clause that a row is for; 0: of none.
    fn number(&self) -> String {
        let conditional = self.clauses.iter().take_while(|clause| clause.predicate.is_some()).count();
        let otherwise = if conditional < self.clauses.len() { conditional + 1 } else { 0 };
        if conditional == 0 {
            return otherwise.to_string();
        }
        let predicates = self.clauses.iter().filter_map(|clause| clause.predicate.as_ref()).enumerate();
        let whens: String = predicates.map(|(place, own)| format!("WHEN {own} THEN {} ", place + 1)).collect();
        format!("CASE {whens}ELSE {otherwise} END")
    }
}

/// The queries and programs of a MERGE. Errors: 42601, 42712, 42P01, 42703, 0A000 for a target without primary key that rows may match.
pub(super) fn halves(compiler: &mut Compiler, merge: &ast::Merge, made: &[TableId]) -> Compiled<Vec<MergeHalf>> {
    if merge.output.is_some() {
        return Err(SqlError::syntax("RETURNING").into());
    }
    if !merge.optimizer_hints.is_empty() {
        return Err(SqlError::unsupported("MERGE of this form").into());
    }
    let named = compiler.held_target(&merge.table)?;
    check_is_table(&named.1.table)?;
    for event in [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete] {
        compiler.check_fires_nothing(&named.1.table, event)?;
    }
    check_names(&named.0, &merge.source)?;
    check_clauses(&merge.clauses)?;
    let of_kind = |is_matched: bool| {
        let clauses = merge.clauses.iter();
        clauses.filter(move |clause| (clause.clause_kind == MergeClauseKind::Matched) == is_matched).collect::<Vec<_>>()
    };
    let (matched, unmatched) = (of_kind(true), of_kind(false));
    let mut halves = Vec::new();
    if !matched.is_empty() {
        halves.push(matched_half(compiler, merge, &named, &matched)?);
    }
    if !unmatched.is_empty() {
        halves.push(unmatched_half(compiler, merge, &named, &unmatched, made)?);
    }
    Ok(halves)
}

/// Errors: 42712 for a source of the target's name.
fn check_names(target: &str, source: &TableFactor) -> Result<()> {
    let alias = match source {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. }
        | TableFactor::Function { alias, .. } => alias.as_ref(),
        _ => None,
    };
    let own = match source {
        TableFactor::Table { name, .. } => names::relation(name).ok().map(|relation| relation.name),
        _ => None,
    };
    let called = alias.map(|alias| names::identifier(&alias.name)).or(own);
    if called.as_deref() != Some(target) {
        return Ok(());
    }
    let message = format!("name \"{target}\" specified more than once");
    Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, message)
        .with_detail("The name is used both as MERGE target table and data source."))
}

/// Errors: 42601 for a clause that no row comes to, or one that PostgreSQL 15 has not.
fn check_clauses(clauses: &[ast::MergeClause]) -> Result<()> {
    let mut ended = [false; 2];
    for clause in clauses {
        let is_matched = match clause.clause_kind {
            MergeClauseKind::Matched => true,
            MergeClauseKind::NotMatched => false,
            MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource => {
                return Err(SqlError::syntax("BY"));
            }
        };
        let ended = &mut ended[usize::from(is_matched)];
        if *ended {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
        }
        *ended = clause.predicate.is_none();
    }
    Ok(())
}

fn matched_half(
    compiler: &mut Compiler,
    merge: &ast::Merge,
    named: &(String, VersionedTable),
    clauses: &[&ast::MergeClause],
) -> Compiled<MergeHalf> {
    let table = &named.1.table;
    if table.has_hidden_key() {
        return Err(SqlError::unsupported("MERGE that changes rows of a table without primary key").into());
    }
    let key_types: Vec<Type> = table.primary_key.iter().map(|column| table.columns[*column].column_type).collect();
    let mut outputs = Outputs { clauses, values: Vec::new(), bytes: 0 };
    let mut takers = Vec::new();
    for (place, clause) in clauses.iter().enumerate() {
        let first = outputs.values.len();
        let source = supplied_source(&named.1);
        let action = match &clause.action {
            MergeAction::Update(update) if does_nothing(&update.assignments) => continue,
            MergeAction::Update(update) => {
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return Err(SqlError::syntax("WHERE").into());
                }
                let assignments = assignments(compiler, update, table, |value, column| {
                    outputs.add(place, value, table.columns[column].column_type)?;
                    Ok(table.columns.len() + outputs.values.len() - 1 - first)
                })?;
                let guard =
                    compiler.row_guard(table, GuardedChange::MergeUpdate, |compiler| compiler.reads_merged(merge))?;
                Action::Update { source, filter: None, assignments, returning: Vec::new(), guard }
            }
            MergeAction::Delete { .. } => {
                let guard =
                    compiler.row_guard(table, GuardedChange::MergeDelete, |compiler| compiler.reads_merged(merge))?;
                Action::Delete { source, filter: None, returning: Vec::new(), guard }
            }
            MergeAction::Insert(_) => return Err(SqlError::syntax("INSERT").into()),
        };
        let mut program = program(action, &named.1);
        compiler.gather_first(&mut program)?;
        takers.push(Taker {
            program: Arc::new(program),
            number: i32::try_from(place + 1).ok(),
            key_types: key_types.clone(),
            values: Some(first..outputs.values.len()),
        });
    }
    let alias = names::quote(&named.0);
    let keys = table.primary_key.iter().map(|column| format!("{alias}.{}", names::quote(&table.columns[*column].name)));
    let columns: Vec<String> = [outputs.number()].into_iter().chain(keys).chain(outputs.values).collect();
    let sql = format!("SELECT {} FROM {} INNER JOIN {} ON {}", columns.join(", "), merge.table, merge.source, merge.on);
    Ok(MergeHalf { sql, takers })
}

/// What SET assigns: what is not a DEFAULT is supplied, at the place that `place` gives it.
fn assignments(
    compiler: &mut Compiler,
    update: &ast::MergeUpdateExpr,
    table: &TableSchema,
    mut place: impl FnMut(&Expr, usize) -> Result<usize>,
) -> Compiled<Vec<(usize, messages::program::Expression)>> {
    let mut assignments = Vec::new();
    for (column, value) in pairs(&update.assignments, table, parse::expression)? {
        let value = value.as_ref();
        let expression = if is_default(value) {
            compiler.drawing(|compiler| Ok(compiler.default_of(table, column)?))?
        } else {
            check_not_set(table, column)?;
            supplied(place(value, column)?, table, column).expression
        };
        assignments.push((column, expression));
    }
    Ok(assignments)
}

fn unmatched_half(
    compiler: &mut Compiler,
    merge: &ast::Merge,
    named: &(String, VersionedTable),
    clauses: &[&ast::MergeClause],
    made: &[TableId],
) -> Compiled<MergeHalf> {
    let mut outputs = Outputs { clauses, values: Vec::new(), bytes: 0 };
    let mut takers = Vec::new();
    for (place, clause) in clauses.iter().enumerate() {
        check_target_unread(clause, &named.0, compiler)?;
        let insert = match &clause.action {
            MergeAction::Insert(insert) if is_named(&insert.columns, is_nothing) => continue,
            MergeAction::Insert(insert) => insert,
            MergeAction::Update(_) => return Err(SqlError::syntax("UPDATE").into()),
            MergeAction::Delete { .. } => return Err(SqlError::syntax("DELETE").into()),
        };
        let first = outputs.values.len();
        let program =
            insertion(compiler, insert, &named.1, made, |value, column_type| outputs.add(place, value, column_type))?;
        takers.push(Taker {
            program: Arc::new(program),
            number: i32::try_from(place + 1).ok(),
            key_types: Vec::new(),
            values: Some(first..outputs.values.len()),
        });
    }
    let columns: Vec<String> = [outputs.number()].into_iter().chain(outputs.values).collect();
    let sql = format!(
        "SELECT {} FROM {} WHERE NOT EXISTS (SELECT 1 FROM {} WHERE {})",
        columns.join(", "),
        merge.source,
        merge.table,
        merge.on
    );
    Ok(MergeHalf { sql, takers })
}

/// A program that inserts what it is supplied with: the values that `add` is given.
fn insertion(
    compiler: &mut Compiler,
    insert: &ast::MergeInsertExpr,
    versioned: &VersionedTable,
    made: &[TableId],
    mut add: impl FnMut(&Expr, Type) -> Result<()>,
) -> Compiled<Program> {
    let table = versioned.table.clone();
    let mut places = Vec::new();
    if !is_named(&insert.columns, is_defaults) {
        let ast::MergeInsertKind::Values(values) = &insert.kind else {
            return Err(SqlError::syntax("ROW").into());
        };
        let [row] = values.rows.as_slice() else { return Err(SqlError::syntax(",").into()) };
        if insert.insert_predicate.is_some() {
            return Err(SqlError::syntax("WHERE").into());
        }
        let mut wanted = targets(&table, &insert.columns)?;
        check_count(Some(row.content.len()), &mut wanted, !insert.columns.is_empty())?;
        for (value, column) in row.content.iter().zip(wanted) {
            if !is_default(value) {
                places.push(column);
                add(value, table.columns[column].column_type)?;
            }
        }
    }
    let values = compiler.drawing(|compiler| compiler.values(&table, &places, true))?;
    let guard = compiler.row_guard(&table, GuardedChange::Insert, |_| false)?;
    let action = Action::Insert {
        private: made.contains(&table.storage),
        table,
        values,
        input: InsertInput::Supplied,
        on_conflict: None,
        returning: Vec::new(),
        guard,
    };
    let mut program = program(action, versioned);
    compiler.gather_first(&mut program)?;
    Ok(program)
}

/// Errors: 42P01 for a column of the target, of which there is no row.
fn check_target_unread(clause: &ast::MergeClause, target: &str, compiler: &Compiler) -> Compiled<()> {
    let found = visit_expressions(clause, |expression| match expression {
        Expr::CompoundIdentifier(parts) if parts.len() > 1 => {
            let table = &parts[parts.len() - 2];
            match names::identifier(table) == target {
                true => ControlFlow::Break(names::place(&parts[0], compiler.text)),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    let ControlFlow::Break(position) = found else { return Ok(()) };
    let message = format!("invalid reference to FROM-clause entry for table \"{target}\"");
    let hint =
        format!("There is an entry for table \"{target}\", but it cannot be referenced from this part of the query.");
    Err(Stop::Error(SqlError::new(sqlstate::UNDEFINED_TABLE, message).with_hint(hint).at(position)))
}
