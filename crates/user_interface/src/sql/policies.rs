//! CREATE, ALTER and DROP POLICY, and what of ALTER TABLE is about row-level security (PostgreSQL's `policy.c`).
//!
//! Invariants: what a policy reads is there as long as the policy; its conditions had a meaning when it was made. A condition names its own table's columns without the
//! table, but within subqueries.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::functions::is_aggregate;
use crate::sql::given::Context;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::parse::{self, Statement};
use crate::sql::prepared::Prepared;
use crate::sql::relied::relations;
use crate::sql::rights::Needs;
use crate::sql::role_syntax::Named;
use crate::sql::roles::find;
use crate::sql::row_guards::{PolicyReader, has_subquery, query_of};
use crate::sql::settings::Facts;
use crate::sql::types::Stop;
use crate::sql::views;
use crate::sql::visits::visit_expressions_mut;
use messages::namespace;
use messages::privilege::PUBLIC;
use messages::program::ResultColumn;
use messages::role::BOOTSTRAP_OID;
use messages::schema::{
    Catalog, CatalogEntry, PolicyCommand, PolicySchema, ProcedureSchema, TableSchema, TableSchemaKind,
};
use sqlparser::ast::{self, AlterTableOperation, Expr, Ident};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Type;

/// The table and the conditions of a statement that makes or changes a policy.
pub(super) fn conditions(statement: &ast::Statement) -> Option<(&ast::ObjectName, Vec<&Expr>)> {
    let (table, using, check) = match statement {
        ast::Statement::CreatePolicy(create) => (&create.table_name, &create.using, &create.with_check),
        ast::Statement::AlterPolicy(alter) => match &alter.operation {
            ast::AlterPolicyOperation::Apply { using, with_check, .. } => (&alter.table_name, using, with_check),
            ast::AlterPolicyOperation::Rename { .. } => (&alter.table_name, &None, &None),
        },
        _ => return None,
    };
    Some((table, using.iter().chain(check).collect()))
}

/// A query that has a meaning if the conditions have one; `None`: there are none, or no such table.
fn trial(statement: &ast::Statement, catalog: &Catalog) -> Option<String> {
    let (table, conditions) = conditions(statement)?;
    let known = catalog.tables.get(&names::own_relation(table).ok()?)?;
    (!conditions.is_empty()).then(|| over(&known.table, conditions.iter().map(ToString::to_string)))
}

/// `SELECT 1 FROM table WHERE conditions`.
fn over(table: &TableSchema, conditions: impl Iterator<Item = String>) -> String {
    let (name, bare) = (names::quote(&table.name), names::quote(namespace::bare(&table.name)));
    let conditions = conditions.map(|one| format!("({one})")).collect::<Vec<_>>().join(" AND ");
    format!("SELECT 1 FROM {name} AS {bare} WHERE {conditions}")
}

/// What the query processor is to find a meaning in before a policy is kept. Errors: 42804 for a condition that is not boolean, 42803, 42P20, 42P02.
pub(super) fn try_first(
    prepared: &mut Prepared,
    statement: &ast::Statement,
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<()> {
    let Some((table, conditions)) = conditions(statement) else { return Ok(()) };
    let mut compiler = Compiler::new(context.catalog, context.facts, context.text, Vec::new());
    let known = names::own_relation(table).ok().and_then(|name| context.catalog.tables.get(&name));
    if let Some(known) = known {
        let scope = Scope::table(namespace::bare(&known.table.name), &known.table);
        for condition in conditions {
            check_condition(condition)?;
            // The query processor tells what else is wrong.
            if let Err(Stop::Error(error)) = compiler.condition(condition, "POLICY", &scope)
                && error.sqlstate == sqlstate::DATATYPE_MISMATCH
            {
                return Err(error);
            }
        }
    }
    if described.is_some_and(|(_, parameters)| !parameters.is_empty()) {
        return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    let Some(text) = trial(statement, context.all) else { return Ok(()) };
    let Some(Statement::Sql(tree)) = parse::statement(&text)?.map(|parsed| parsed.statement) else { return Ok(()) };
    let reader = PolicyReader { role: BOOTSTRAP_OID, ..PolicyReader::of(context.facts) };
    let levels = tree.depths().levels;
    let expanded = tree.with(|tree| views::expand(tree, levels, context.all, reader))?;
    prepared.undescribed = described.is_none();
    prepared.trial = Some(expanded.map_or(text, |known| known.statement.to_string()).into());
    Ok(())
}

/// Errors: 42803, 42P20 for aggregates and windows outside of subqueries.
fn check_condition(condition: &Expr) -> Result<()> {
    struct PolicyCalls(usize);
    impl ast::Visitor for PolicyCalls {
        type Break = Box<SqlError>;
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<Box<SqlError>> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<Box<SqlError>> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Box<SqlError>> {
            let Expr::Function(function) = expression else { return ControlFlow::Continue(()) };
            if self.0 > 0 {
                return ControlFlow::Continue(());
            }
            if function.over.is_some() {
                let message = "window functions are not allowed in policy expressions";
                return ControlFlow::Break(SqlError::new(sqlstate::WINDOWING_ERROR, message));
            }
            match names::function(&function.name).is_some_and(|name| is_aggregate(&name)) {
                true => {
                    let message = "aggregate functions are not allowed in policy expressions";
                    ControlFlow::Break(SqlError::new(sqlstate::GROUPING_ERROR, message))
                }
                false => ControlFlow::Continue(()),
            }
        }
    }
    match ast::Visit::visit(condition, &mut PolicyCalls(0)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn syntax<T>(message: &str) -> Result<T> {
    Err(SqlError::new(sqlstate::SYNTAX_ERROR, message))
}

/// A condition as it is kept.
fn kept(condition: &Expr, table: &TableSchema) -> Result<String> {
    let (query, _) = query_of(&condition.to_string())?;
    if has_subquery(&query) {
        return Ok(condition.to_string());
    }
    let mut condition = condition.clone();
    let bare = namespace::bare(&table.name);
    let _ = visit_expressions_mut(&mut condition, |part| {
        if let Expr::CompoundIdentifier(parts) = part
            && let [.., of, column] = parts.as_slice()
            && names::identifier(of) == bare
        {
            *part = Expr::Identifier(column.clone());
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(condition.to_string())
}

/// What the conditions of a policy need, the table itself among it.
fn needs_of(table: &TableSchema, policy: &PolicySchema, catalog: &Catalog) -> Result<Needs> {
    if policy.conditions().next().is_none() {
        return Ok(Needs::default());
    }
    let text = over(table, policy.conditions().map(str::to_owned));
    match parse::statement(&text)?.map(|parsed| parsed.statement) {
        Some(Statement::Sql(tree)) => Ok(tree.with(|statement| needs::of(statement, catalog))),
        _ => Ok(Needs::default()),
    }
}

fn no_policy(name: &str, table: &TableSchema) -> Box<SqlError> {
    let message = format!("policy \"{name}\" for table \"{}\" does not exist", namespace::bare(&table.name));
    SqlError::new(sqlstate::UNDEFINED_OBJECT, message)
}

/// A policy as errors list it.
fn listed(table: &TableSchema, policy: &PolicySchema) -> String {
    format!("policy {} on table {}", policy.name, namespace::bare(&table.name))
}

/// A policy with its table.
type OfTable = (Arc<TableSchema>, PolicySchema);

/// Whether a statement names a table whose policies may hold something back from somebody.
pub fn may_count(statement: &ast::Statement, catalog: &Catalog) -> bool {
    let is_secured = |name: &String| catalog.tables.get(name).is_some_and(|known| known.table.row_security.is_enabled);
    relations(statement).iter().any(is_secured)
}

impl Planner<'_> {
    /// CREATE POLICY. Errors: 42710, 42601, 42704.
    pub(super) fn create_policy(&mut self, create: &ast::CreatePolicy, facts: &Facts) -> Result<()> {
        let command = match create.command {
            None | Some(ast::CreatePolicyCommand::All) => PolicyCommand::All,
            Some(ast::CreatePolicyCommand::Select) => PolicyCommand::Select,
            Some(ast::CreatePolicyCommand::Insert) => PolicyCommand::Insert,
            Some(ast::CreatePolicyCommand::Update) => PolicyCommand::Update,
            Some(ast::CreatePolicyCommand::Delete) => PolicyCommand::Delete,
        };
        match command {
            PolicyCommand::Select | PolicyCommand::Delete if create.with_check.is_some() => {
                return syntax("WITH CHECK cannot be applied to SELECT or DELETE");
            }
            PolicyCommand::Insert if create.using.is_some() => {
                return syntax("only WITH CHECK expression allowed for INSERT");
            }
            _ => {}
        }
        let roles = match &create.to {
            Some(to) => self.policy_roles(to, facts)?,
            None => vec![PUBLIC],
        };
        let mut table = self.secured_table(&create.table_name)?;
        let name = names::identifier(&create.name);
        if table.row_security.policies.iter().any(|known| known.name == name) {
            let bare = namespace::bare(&table.name);
            let message = format!("policy \"{name}\" for table \"{bare}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
        }
        let kept = |condition: &Option<Expr>, table: &TableSchema| {
            condition.as_ref().map(|condition| kept(condition, table)).transpose()
        };
        let (using, check) = (kept(&create.using, &table)?, kept(&create.with_check, &table)?);
        for condition in create.using.iter().chain(&create.with_check) {
            self.rely_on_types(condition);
        }
        let oid = self.next_number();
        let is_permissive = create.policy_type != Some(ast::CreatePolicyType::Restrictive);
        let policy = PolicySchema { name, oid, is_permissive, command, roles, using, check };
        self.rely_on_read(&table, &policy)?;
        table.row_security.policies.push(policy);
        table.row_security.policies.sort_by(|left, right| left.name.cmp(&right.name));
        self.write_table(table);
        Ok(())
    }

    /// ALTER POLICY. Errors: 42704, 42710, 42601.
    pub(super) fn alter_policy(&mut self, alter: &ast::AlterPolicy, facts: &Facts) -> Result<()> {
        let name = names::identifier(&alter.name);
        let roles = match &alter.operation {
            ast::AlterPolicyOperation::Apply { to: Some(to), .. } => Some(self.policy_roles(to, facts)?),
            _ => None,
        };
        let mut table = self.secured_table(&alter.table_name)?;
        let before = table.clone();
        let place = table.row_security.policies.iter().position(|known| known.name == name);
        let place = place.ok_or_else(|| no_policy(&name, &before))?;
        let all = &mut table.row_security.policies;
        match &alter.operation {
            ast::AlterPolicyOperation::Rename { new_name } => {
                let new = names::identifier(new_name);
                if all.iter().any(|known| known.name == new) {
                    let bare = namespace::bare(&before.name);
                    let message = format!("policy \"{new}\" for table \"{bare}\" already exists");
                    return Err(SqlError::new(sqlstate::DUPLICATE_OBJECT, message));
                }
                all[place].name = new;
                all.sort_by(|left, right| left.name.cmp(&right.name));
            }
            ast::AlterPolicyOperation::Apply { using, with_check, .. } => {
                match all[place].command {
                    PolicyCommand::Select | PolicyCommand::Delete if with_check.is_some() => {
                        return syntax("only USING expression allowed for SELECT, DELETE");
                    }
                    PolicyCommand::Insert if using.is_some() => {
                        return syntax("only WITH CHECK expression allowed for INSERT");
                    }
                    _ => {}
                }
                let policy = &mut all[place];
                policy.roles = roles.unwrap_or_else(|| policy.roles.clone());
                if let Some(using) = using {
                    policy.using = Some(kept(using, &before)?);
                }
                if let Some(check) = with_check {
                    policy.check = Some(kept(check, &before)?);
                }
                let policy = policy.clone();
                for condition in using.iter().chain(with_check) {
                    self.rely_on_types(condition);
                }
                self.rely_on_read(&before, &policy)?;
            }
        }
        self.write_table(table);
        Ok(())
    }

    /// DROP POLICY. Errors: 42704.
    pub(super) fn drop_policy(&mut self, dropped: &ast::DropPolicy) -> Result<()> {
        let (name, on) = (names::identifier(&dropped.name), names::own_relation(&dropped.table_name)?);
        if dropped.if_exists && !self.catalog.has_relation(&on) {
            let message = format!("relation \"{on}\" does not exist, skipping");
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        let mut table = self.secured_table(&dropped.table_name)?;
        let before = table.row_security.policies.len();
        table.row_security.policies.retain(|known| known.name != name);
        if table.row_security.policies.len() < before {
            self.write_table(table);
            return Ok(());
        }
        if !dropped.if_exists {
            return Err(no_policy(&name, &table));
        }
        let bare = namespace::bare(&table.name);
        self.notice(
            sqlstate::SUCCESSFUL_COMPLETION,
            format!("policy \"{name}\" for relation \"{bare}\" does not exist, skipping"),
        );
        Ok(())
    }

    /// ALTER TABLE ... ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY; false: it is something else.
    pub(super) fn secure_rows(&mut self, table: &TableSchema, operation: &AlterTableOperation) -> bool {
        let mut table = table.clone();
        let security = &mut table.row_security;
        match operation {
            AlterTableOperation::EnableRowLevelSecurity => security.is_enabled = true,
            AlterTableOperation::DisableRowLevelSecurity => security.is_enabled = false,
            AlterTableOperation::ForceRowLevelSecurity => security.is_forced = true,
            AlterTableOperation::NoForceRowLevelSecurity => security.is_forced = false,
            _ => return false,
        }
        self.write_table(table);
        true
    }

    /// A table of the role's own that has policies, or is to have some. Errors: 42P01, 42809, 42501.
    fn secured_table(&self, name: &ast::ObjectName) -> Result<TableSchema> {
        let name = names::own_relation(name)?;
        if let Some(known) = self.catalog.tables.get(&name) {
            self.check_owns_table(&known.table)?;
        }
        let table = self.table(&name)?;
        match table.kind() {
            TableSchemaKind::Table => Ok(TableSchema::clone(&table)),
            _ => Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table"))),
        }
    }

    /// The roles of TO. Errors: 42704.
    fn policy_roles(&mut self, to: &[ast::Owner], facts: &Facts) -> Result<Vec<u32>> {
        let is_public = |owner: &ast::Owner| matches!(owner, ast::Owner::Ident(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("public"));
        if to.iter().any(is_public) {
            if to.len() > 1 {
                let message = "ignoring specified roles other than PUBLIC";
                let hint = "All roles are members of the PUBLIC role.";
                self.notices.push(*SqlError::new(sqlstate::WARNING, message).with_hint(hint));
            }
            return Ok(vec![PUBLIC]);
        }
        let mut roles = Vec::with_capacity(to.len());
        for owner in to {
            let role = find(&self.catalog, &Named::of(owner), facts)?;
            // Whoever drops it is told of the policy.
            self.relied.insert(CatalogEntry::role_key(&role.name));
            roles.push(role.oid);
        }
        Ok(roles)
    }

    /// Whoever drops what a policy reads is told of the policy.
    fn rely_on_read(&mut self, table: &TableSchema, policy: &PolicySchema) -> Result<()> {
        let needs = needs_of(table, policy, &self.catalog)?;
        let read = needs.tables.iter().filter(|need| need.table.oid != table.oid);
        let read = read.map(|need| CatalogEntry::key(&need.table.name));
        let called = needs.functions.iter().map(|name| CatalogEntry::procedure_key(name));
        self.relied.extend(read.chain(called));
        Ok(())
    }

    /// Policies for which something holds, given with their tables and what they need.
    fn policies_with(&self, holds: impl Fn(&TableSchema, &PolicySchema, &Needs) -> bool) -> Result<Vec<OfTable>> {
        let mut found = Vec::new();
        for known in self.catalog.tables.values() {
            for policy in &known.table.row_security.policies {
                if holds(&known.table, policy, &needs_of(&known.table, policy, &self.catalog)?) {
                    found.push((Arc::clone(&known.table), policy.clone()));
                }
            }
        }
        Ok(found)
    }

    /// Policies that read a column.
    fn policies_reading(&self, table: &TableSchema, column: usize) -> Result<Vec<OfTable>> {
        self.policies_with(|_, _, needs| {
            needs.tables.iter().any(|need| need.table.oid == table.oid && need.selected.contains(&column))
        })
    }

    /// Drops policies that depend on something, or refuses to (2BP01).
    fn drop_dependent(&mut self, what: &str, dependent: Vec<OfTable>, cascade: bool) -> Result<()> {
        if dependent.is_empty() {
            return Ok(());
        }
        if !cascade {
            let line = |(table, policy): &OfTable| format!("{} depends on {what}", listed(table, policy));
            return Err(SqlError::needed(what, dependent.iter().map(line).collect::<Vec<_>>().join("\n")));
        }
        let told = dependent.iter().map(|(table, policy)| format!("drop cascades to {}", listed(table, policy)));
        self.tell_cascades(&told.collect::<Vec<_>>());
        for (table, policy) in dependent {
            let Some(known) = self.catalog.tables.get(&table.name) else { continue };
            let mut changed = TableSchema::clone(&known.table);
            changed.row_security.policies.retain(|other| other.oid != policy.oid);
            self.write_table(changed);
        }
        Ok(())
    }

    /// Drops policies that read a column, or refuses to: those of the table itself in `table`, which is being changed.
    pub(super) fn drop_policies_on(&mut self, table: &mut TableSchema, column: usize, cascade: bool) -> Result<()> {
        let dependent = self.policies_reading(table, column)?;
        let what = format!("column {} of table {}", table.columns[column].name, namespace::bare(&table.name));
        let gone: Vec<u32> = dependent.iter().map(|(_, policy)| policy.oid).collect();
        self.drop_dependent(&what, dependent, cascade)?;
        table.row_security.policies.retain(|policy| !gone.contains(&policy.oid));
        Ok(())
    }

    /// Drops policies of other tables that read a relation, or refuses to. `all`: names of tables that are dropped together.
    pub(super) fn drop_policies_of(&mut self, relation: &str, cascade: bool, all: &[String]) -> Result<()> {
        let Some(dropped) = self.catalog.tables.get(relation).map(|known| Arc::clone(&known.table)) else {
            return Ok(());
        };
        let reads = |text: &str| query_of(text).is_ok_and(|(query, _)| names::mentions(&query, relation));
        let dependent = self.policies_with(|table, policy, _| {
            table.oid != dropped.oid && !all.contains(&table.name) && policy.conditions().any(reads)
        })?;
        let what = format!("{} {}", dropped.kind().word(), namespace::bare(&dropped.name));
        self.drop_dependent(&what, dependent, cascade)
    }

    /// Drops policies that call a function, or refuses to.
    pub(super) fn drop_policies_calling(&mut self, known: &ProcedureSchema, what: &str, cascade: bool) -> Result<()> {
        let dependent = self.policies_with(|_, _, needs| needs.functions.contains(&known.name))?;
        self.drop_dependent(what, dependent, cascade)
    }

    /// Errors: 0A000 for a column that a policy reads, whose type is to change.
    pub(super) fn check_policies_let_change(&self, table: &TableSchema, column: usize) -> Result<()> {
        match self.policies_reading(table, column)?.first() {
            None => Ok(()),
            Some((on, policy)) => {
                let message = "cannot alter type of a column used in a policy definition";
                let detail = format!("{} depends on column \"{}\"", listed(on, policy), table.columns[column].name);
                Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
            }
        }
    }

    /// A column gets another name, which conditions follow. Errors: 0A000 for policies that read it beside subqueries.
    pub(super) fn rename_in_policies(
        &self,
        table: &mut TableSchema,
        column: usize,
        old: &str,
        new: &str,
    ) -> Result<()> {
        let renamed = Ident::with_quote('"', new);
        let renamed = if names::quote(new).starts_with('"') { renamed } else { Ident::new(new) };
        for (on, policy) in self.policies_reading(table, column)? {
            let is_own = on.oid == table.oid;
            let place = table.row_security.policies.iter().position(|known| is_own && known.oid == policy.oid);
            let with_subquery =
                policy.conditions().any(|text| query_of(text).is_ok_and(|(query, _)| has_subquery(&query)));
            let Some(place) = place.filter(|_| !with_subquery) else {
                let what = listed(&on, &policy);
                let feature = format!("renaming the column \"{old}\", which the {what} reads beside a subquery");
                return Err(SqlError::unsupported(feature));
            };
            let follow = |text: &String| -> Result<String> {
                let mut condition = parse::expression(text)?;
                let _ = visit_expressions_mut(&mut condition, |part| {
                    if let Expr::Identifier(name) = part
                        && names::identifier(name) == old
                    {
                        *name = renamed.clone();
                    }
                    ControlFlow::<()>::Continue(())
                });
                Ok(condition.to_string())
            };
            let own = &mut table.row_security.policies[place];
            own.using = own.using.as_ref().map(follow).transpose()?;
            own.check = own.check.as_ref().map(follow).transpose()?;
        }
        Ok(())
    }

    /// Errors: 0A000 for a relation whose name is to change, and that a policy names.
    pub(super) fn check_policies_let_rename(&self, table: &TableSchema) -> Result<()> {
        let names_it = |on: &TableSchema, text: &str| {
            query_of(text).is_ok_and(|(query, _)| {
                names::mentions(&query, &table.name) || (on.oid == table.oid && has_subquery(&query))
            })
        };
        let naming = self.policies_with(|on, policy, _| policy.conditions().any(|text| names_it(on, text)))?;
        match naming.first() {
            None => Ok(()),
            Some((on, policy)) => {
                let name = namespace::bare(&table.name);
                let feature = format!("renaming \"{name}\", which the {} names", listed(on, policy));
                Err(SqlError::unsupported(feature).with_hint("Drop the policy, and make it anew."))
            }
        }
    }

    /// Takes a role out of all policies; those that were for no other go.
    pub(super) fn forget_in_policies(&mut self, role: u32) {
        let named = |table: &TableSchema| table.row_security.policies.iter().any(|policy| policy.roles.contains(&role));
        let tables: Vec<_> = self.catalog.tables.values().filter(|known| named(&known.table)).cloned().collect();
        for known in tables {
            let mut table = TableSchema::clone(&known.table);
            table.row_security.policies.retain_mut(|policy| {
                let was_for = policy.roles.contains(&role);
                policy.roles.retain(|other| *other != role);
                !was_for || !policy.roles.is_empty()
            });
            self.write_table(table);
        }
    }
}
