//! Row-level security of rows that are written: what policies ask of them (PostgreSQL's `rowsecurity.c`).
//!
//! Invariant: whatever writes a row of a table whose policies count for the role has what they ask of it; what a program cannot test is refused with 0A000.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::held_tables::without_guard;
use crate::sql::row_guards::{PolicyReader, joined, reads_target, refused};
use crate::sql::types::{Compiled, Stop};
use crate::sql::view_checks::ViewCheck;
use crate::sql::views;
use messages::namespace;
use messages::program::{Expression, RowGuard, RowGuardCondition};
use messages::schema::{PolicyCommand, PolicySchema, TableSchema};
use privileges::Standing;
use sqlparser::ast;
use std::sync::Arc;
use values::Value;

/// Which row breaks a policy, as errors name it.
#[derive(Clone, Copy)]
enum BrokenBy {
    /// The new one.
    New,
    /// The one in the way of a new one.
    Existing,
    /// The one that MERGE is to change.
    Target,
}

impl BrokenBy {
    fn message(self, table: &TableSchema, policy: Option<&str>) -> Arc<str> {
        let (row, using) = match self {
            BrokenBy::New => ("new", ""),
            BrokenBy::Existing => ("new", " (USING expression)"),
            BrokenBy::Target => ("target", " (USING expression)"),
        };
        let policy = policy.map_or_else(String::new, |policy| format!(" \"{policy}\""));
        let table = namespace::bare(&table.name);
        format!("{row} row violates row-level security policy{policy}{using} for table \"{table}\"").into()
    }
}

/// What a statement does to a table, for [`Compiler::row_guard`].
#[derive(Clone, Copy)]
pub(super) enum GuardedChange {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DO UPDATE of a row in the way.
    Conflict,
    /// UPDATE of MERGE.
    MergeUpdate,
    /// DELETE of MERGE.
    MergeDelete,
}

impl Compiler<'_> {
    /// What policies ask of the rows of a table that a statement changes; `None`: nothing. `reads`: it reads columns of the table, too. Errors: 42501 for whoever does not
    /// take what policies leave, 0A000 for a condition that a program cannot test.
    pub(super) fn row_guard(
        &mut self,
        table: &Arc<TableSchema>,
        change: GuardedChange,
        reads: impl FnOnce(&Self) -> bool,
    ) -> Compiled<Option<Arc<RowGuard>>> {
        let is_checked = matches!(change, GuardedChange::Insert | GuardedChange::Update | GuardedChange::Conflict);
        let of_views = if is_checked { self.asked_by_views(table)? } else { Vec::new() };
        let for_views = |of_views: Vec<RowGuardCondition>| {
            (!of_views.is_empty()).then(|| Arc::new(RowGuard { of_views, ..RowGuard::default() }))
        };
        if !table.row_security.is_enabled {
            return Ok(for_views(of_views));
        }
        let standing = Standing::of(self.catalog, self.facts.role);
        if !standing.is_held_by_policies(table) {
            return Ok(for_views(of_views));
        }
        if !self.facts.settings.row_security() {
            return Err(Stop::Error(refused(table, &standing)));
        }
        if self.is_of_procedure() {
            self.check_not_held(table)?;
        }
        self.used_facts = true;
        let reads = reads(self);
        let mut guard = RowGuard { of_views, ..RowGuard::default() };
        let asked = match change {
            GuardedChange::Insert => PolicyCommand::Insert,
            GuardedChange::MergeDelete => PolicyCommand::Delete,
            GuardedChange::Update | GuardedChange::Conflict | GuardedChange::MergeUpdate => PolicyCommand::Update,
        };
        let old = match change {
            GuardedChange::Insert | GuardedChange::Update => None,
            GuardedChange::Conflict => Some(BrokenBy::Existing),
            GuardedChange::MergeUpdate | GuardedChange::MergeDelete => Some(BrokenBy::Target),
        };
        if let Some(broken_by) = old {
            guard.old = self.asked(table, &standing, asked, (true, broken_by))?;
            if reads && matches!(change, GuardedChange::Conflict) {
                guard.old.extend(self.asked(table, &standing, PolicyCommand::Select, (true, broken_by))?);
            }
        }
        if !matches!(change, GuardedChange::MergeDelete) {
            guard.new = self.asked(table, &standing, asked, (false, BrokenBy::New))?;
            if reads {
                guard.new.extend(self.asked(table, &standing, PolicyCommand::Select, (true, BrokenBy::New))?);
            }
        }
        Ok(Some(Arc::new(guard)))
    }

    /// What views ask of a row that is written through them.
    fn asked_by_views(&mut self, table: &Arc<TableSchema>) -> Compiled<Vec<RowGuardCondition>> {
        let scope = Scope::table(namespace::bare(&table.name), table);
        let checks = self.view_checks;
        let asked = |check: &ViewCheck| {
            let message = format!("new row violates check option for view \"{}\"", check.view).into();
            let condition = self.gathered_condition(&check.condition, "WHERE", &scope);
            let feature = || format!("the condition of the view \"{}\" for new rows", check.view);
            Ok(RowGuardCondition { condition: or_unsupported(condition, feature)?, message })
        };
        checks.iter().map(asked).collect()
    }

    /// A condition whose subqueries are gathered before.
    fn gathered_condition(
        &mut self,
        condition: &ast::Expr,
        clause: &'static str,
        scope: &Scope,
    ) -> Compiled<Expression> {
        let gathers = std::mem::replace(&mut self.gathers_all, true);
        let may_gather = std::mem::replace(&mut self.may_gather, true);
        let compiled = self.condition(condition, clause, scope);
        (self.gathers_all, self.may_gather) = (gathers, may_gather);
        compiled
    }

    /// What the policies for a command ask of a row: one that lets through, and each that holds back. `is_using`: what they say of rows that are there.
    fn asked(
        &mut self,
        table: &Arc<TableSchema>,
        standing: &Standing,
        command: PolicyCommand,
        (is_using, broken_by): (bool, BrokenBy),
    ) -> Compiled<Vec<RowGuardCondition>> {
        let said = |policy: &PolicySchema| match is_using {
            true => policy.using.clone(),
            false => policy.written().map(str::to_owned),
        };
        let policies = standing.policies(table, command);
        let permissive: Vec<String> = policies.permissive.iter().filter_map(|policy| said(policy)).collect();
        if permissive.is_empty() {
            let condition = Expression::Constant(Value::Boolean(false));
            return Ok(vec![RowGuardCondition { condition, message: broken_by.message(table, None) }]);
        }
        let permissive = joined(&permissive, " OR ");
        let condition = self.asked_condition(table, &permissive)?;
        let mut all = vec![RowGuardCondition { condition, message: broken_by.message(table, None) }];
        for policy in policies.restrictive {
            if let Some(text) = said(policy) {
                let condition = self.asked_condition(table, &text)?;
                all.push(RowGuardCondition { condition, message: broken_by.message(table, Some(&policy.name)) });
            }
        }
        Ok(all)
    }

    /// A condition over a row, in which subqueries are gathered before.
    fn asked_condition(&mut self, table: &Arc<TableSchema>, text: &str) -> Compiled<Expression> {
        let expanded = views::expand_condition(table, text, self.all, PolicyReader::of(self.facts), &mut self.guards)?;
        if let Some(denied) = expanded.denied {
            return Err(Stop::Error(denied));
        }
        self.relies_on.extend(expanded.committed);
        let scope = Scope::table(namespace::bare(&table.name), table);
        let compiled = self.gathered_condition(&expanded.condition, "POLICY", &scope);
        or_unsupported(compiled, || {
            let name = namespace::bare(&table.name);
            format!("the condition of a policy of the table \"{name}\" for new rows")
        })
    }

    /// Errors: 0A000, in PostgreSQL's words, for COPY into a table of which policies hold something back.
    pub(super) fn check_copied(&self, table: &TableSchema) -> Result<()> {
        let standing = Standing::of(self.catalog, self.facts.role);
        match table.row_security.is_enabled && standing.is_held_by_policies(table) {
            false => Ok(()),
            true if !self.facts.settings.row_security() => Err(refused(table, &standing)),
            true => {
                let message = "COPY FROM not supported with row-level security";
                Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_hint("Use INSERT statements instead."))
            }
        }
    }

    /// Whether an INSERT reads columns of its table.
    pub(super) fn reads_inserted(&self, insert: &ast::Insert) -> bool {
        reads_target(&ast::Statement::Insert(insert.clone()), self.catalog)
    }

    /// Whether an UPDATE does.
    pub(super) fn reads_updated(&self, update: &ast::Update) -> bool {
        let mut bare = update.clone();
        without_guard(&mut bare.table.relation);
        reads_target(&ast::Statement::Update(bare), self.catalog)
    }

    /// Whether a MERGE does.
    pub(super) fn reads_merged(&self, merge: &ast::Merge) -> bool {
        let mut bare = merge.clone();
        without_guard(&mut bare.table);
        reads_target(&ast::Statement::Merge(bare), self.catalog)
    }
}

/// Errors: 0A000 with this name for what a program has no way to compute.
fn or_unsupported<T>(compiled: Compiled<T>, feature: impl FnOnce() -> String) -> Compiled<T> {
    match compiled {
        Err(Stop::Beyond(_)) => Err(Stop::Error(SqlError::unsupported(feature()))),
        Err(Stop::Error(error)) if error.sqlstate == sqlstate::FEATURE_NOT_SUPPORTED => {
            Err(Stop::Error(SqlError::unsupported(feature())))
        }
        other => other,
    }
}
