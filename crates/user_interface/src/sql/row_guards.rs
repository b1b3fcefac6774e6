//! Row-level security of rows that are read: in the place of a table stands a query that shows those which its policies let through (PostgreSQL's `rowsecurity.c`).
//!
//! The condition of a view whose rows are changed stands before its table in the same way (see `view_changes`).
//!
//! Such a query is told by the name of a window that no client can write. Invariants: a table whose policies count for a role is read by that query, or not at all; what a
//! statement says of rows is computed for those only that the policies let through: such a query is planned by itself, and programs test policies first.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{GUARDS_MAX, SQL_BYTES_MAX};
use crate::sql::function_calls::called_within;
use crate::sql::given::Context;
use crate::sql::held_tables::{are_held, table_called};
use crate::sql::local_times;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::parse::{self, Parsed, Statement};
use crate::sql::prepared::{Plan, Prepared};
use crate::sql::rights::{self, Verdict};
use crate::sql::settings::Facts;
use crate::sql::views::query_in;
use crate::sql::views::{Expanded, Expansion};
use crate::sql::visits::visit_relations;
use messages::namespace;
use messages::privilege::Privileges;
use messages::query::ROW_SECURITY_WINDOW;
use messages::schema::{Catalog, PolicyCommand, TableSchema, VersionedTable};
use privileges::Standing;
use privileges::policies::PoliciesInForce;
use sql_syntax::TooDeep;
use sql_syntax::limits::DEPTH_MAX;
use sqlparser::ast::{self, Ident, ObjectName, TableAlias, TableFactor};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::Zone;

/// For whom rows are read.
#[derive(Clone, Copy)]
pub struct PolicyReader<'a> {
    /// The role.
    pub role: u32,
    /// Whether it takes what policies leave: `row_security`. If not, it is an error that they hold something back.
    pub row_security: bool,
    /// The session's time zone.
    pub zone: &'a Zone,
}

impl<'a> PolicyReader<'a> {
    /// The session's.
    pub fn of(facts: &'a Facts) -> PolicyReader<'a> {
        PolicyReader { role: facts.role, row_security: facts.settings.row_security(), zone: facts.settings.zone() }
    }
}

/// The table of ours that a name means, unless a query of WITH has the name.
fn table_named<'c>(catalog: &'c Catalog, name: &ObjectName) -> Option<&'c VersionedTable> {
    let relation = names::relation(name).ok()?;
    let is_own = relation.schema.as_deref().is_none_or(|schema| schema == namespace::PUBLIC);
    catalog.tables.get(&relation.name).filter(|_| is_own)
}

/// Whether a statement names a table that has row-level security, whoever asks.
pub fn names_secured(statement: &ast::Statement, catalog: &Catalog) -> bool {
    let secured = |known: &VersionedTable| known.table.row_security.is_enabled;
    let named = visit_relations(statement, |name| match table_named(catalog, name).filter(|known| secured(known)) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    });
    named.is_break()
}

/// Whether a statement names a table of which policies hold something back from a role.
pub fn names_held(statement: &ast::Statement, catalog: &Catalog, role: u32) -> bool {
    let named = visit_relations(statement, |name| match table_named(catalog, name) {
        Some(known) if are_held(&known.table, catalog, role) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    named.is_break()
}

/// 42501 for whoever does not take what policies leave.
pub fn refused(table: &TableSchema, standing: &Standing) -> Box<SqlError> {
    let name = namespace::bare(&table.name);
    let message = format!("query would be affected by row-level security policy for table \"{name}\"");
    let error = SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, message);
    match standing.has(table.rights.owner) {
        true => {
            error.with_hint("To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.")
        }
        false => error,
    }
}

/// The condition of the rows that policies let through: all that hold back, and one that lets through. Without one of these no row is.
fn visible(policies: &PoliciesInForce) -> String {
    let usings = |all: &[&messages::schema::PolicySchema]| -> Vec<String> {
        all.iter().filter_map(|policy| policy.using.clone()).collect()
    };
    match usings(&policies.permissive) {
        permissive if permissive.is_empty() => "false".to_owned(),
        permissive => {
            let mut all = usings(&policies.restrictive);
            all.push(joined(&permissive, " OR "));
            joined(&all, " AND ")
        }
    }
}

/// Conditions, each in parentheses, with a word between them, as a tree that is no deeper than it has to be.
pub(super) fn joined(all: &[String], word: &str) -> String {
    match all {
        [] => String::new(),
        [only] => format!("({only})"),
        several => {
            let (first, second) = several.split_at(several.len() / 2);
            format!("({}{word}{})", joined(first, word), joined(second, word))
        }
    }
}

/// `SELECT 1 WHERE condition` as a tree, and how many levels it has. Errors: XX000 if it cannot be read any more.
pub(super) fn query_of(condition: &str) -> Result<(ast::Query, usize)> {
    let broken = || SqlError::new(sqlstate::INTERNAL_ERROR, "a policy has a condition that cannot be read");
    query_in(&format!("SELECT 1 WHERE {condition}"), broken)
}

/// Whether there is a query within a query.
pub(super) fn has_subquery(query: &ast::Query) -> bool {
    struct QueryCount(usize);
    impl ast::Visitor for QueryCount {
        type Break = ();
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    ast::Visit::visit(query, &mut QueryCount(0)).is_break()
}

/// The query in the place of a table.
pub(super) fn guard(
    name: ObjectName,
    table: &TableSchema,
    given: Option<&TableAlias>,
    condition: Option<ast::Expr>,
) -> Result<TableFactor> {
    let quoted = |name: &str| Ident::with_quote('"', name);
    let own = names::quote(namespace::bare(&table.name));
    let window = names::quote(ROW_SECURITY_WINDOW);
    let shape = format!("SELECT * FROM t AS {own} WHERE true WINDOW {window} AS ()");
    let broken = || SqlError::new(sqlstate::INTERNAL_ERROR, "row-level security has no query");
    let Some(Statement::Sql(tree)) = parse::statement(&shape)?.map(|parsed| parsed.statement) else {
        return Err(broken());
    };
    let ast::Statement::Query(mut query) = *tree.into_inner() else { return Err(broken()) };
    let ast::SetExpr::Select(select) = query.body.as_mut() else { return Err(broken()) };
    select.selection = condition;
    if let Some(TableFactor::Table { name: read, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
        *read = name;
    }
    let alias = given.cloned().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: quoted(namespace::bare(&table.name)),
        columns: Vec::new(),
        at: None,
    });
    Ok(TableFactor::Derived { lateral: false, subquery: query, alias: Some(alias), sample: None })
}

/// A target of a statement that is put away while the rest of it is looked at, and what its policies are for.
pub struct PutAway {
    target: TableFactor,
    commands: Vec<PolicyCommand>,
}

/// The table that a statement changes the rows of, which are there.
fn target_mut(statement: &mut ast::Statement) -> Option<&mut TableFactor> {
    match statement {
        ast::Statement::Update(update) => Some(&mut update.table.relation),
        ast::Statement::Merge(merge) => Some(&mut merge.table),
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &mut delete.from;
            from.first_mut().map(|tables| &mut tables.relation)
        }
        _ => None,
    }
}

/// Whether a statement reads columns of the table that it changes, the first that it names.
pub(super) fn reads_target(statement: &ast::Statement, catalog: &Catalog) -> bool {
    let needs = needs::of(statement, catalog);
    needs.tables.first().is_none_or(|need| need.required.contain(Privileges::SELECT) || !need.selected.is_empty())
}

impl Expansion<'_> {
    /// Puts the table away that a statement changes: policies for that command hold it back.
    pub(super) fn put_away(&mut self, statement: &mut ast::Statement) {
        let reads = || reads_target(statement, self.catalog);
        let command = match statement {
            ast::Statement::Update(_) => Some(PolicyCommand::Update),
            ast::Statement::Delete(_) => Some(PolicyCommand::Delete),
            ast::Statement::Merge(_) => None,
            _ => return self.away.push(None),
        };
        let reads = reads().then_some(PolicyCommand::Select);
        let commands = command.into_iter().chain(reads).collect();
        let away = target_mut(statement).map(|target| {
            let nothing = table_called(ObjectName::from(vec![Ident::with_quote('"', ROW_SECURITY_WINDOW)]), None);
            PutAway { target: std::mem::replace(target, nothing), commands }
        });
        self.away.push(away);
    }

    /// Puts it back, held by its policies.
    pub(super) fn put_back(&mut self, statement: &mut ast::Statement) -> Result<()> {
        let Some(PutAway { target, commands }) = self.away.pop().flatten() else { return Ok(()) };
        if let Some(place) = target_mut(statement) {
            *place = target;
            self.hold(place, &commands)?;
        }
        Ok(())
    }

    /// A table that is read. `FOR UPDATE` around it asks for policies of UPDATE, too.
    pub(super) fn hold_read(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, .. } = &*factor else { return Ok(()) };
        let called = match alias {
            Some(alias) => names::identifier(&alias.name),
            None => names::relation(name).map(|name| namespace::bare(&name.name).to_owned()).unwrap_or_default(),
        };
        let locks = self.locks.last().into_iter().flatten();
        let is_locked = locks.clone().any(|of| of.as_ref().is_none_or(|of| *of == called));
        match is_locked {
            true => self.hold(factor, &[PolicyCommand::Select, PolicyCommand::Update]),
            false => self.hold(factor, &[PolicyCommand::Select]),
        }
    }

    /// Puts the rows that policies let through in the place of a table. Errors: 42501 if the reader does not take these, 42P17 for policies that read their own table,
    /// 54001, 54000.
    fn hold(&mut self, factor: &mut TableFactor, commands: &[PolicyCommand]) -> Result<()> {
        let TableFactor::Table { name, alias, sample, args: None, .. } = &*factor else { return Ok(()) };
        let Some(table) = table_named(self.catalog, name).map(|known| Arc::clone(&known.table)) else { return Ok(()) };
        if !table.row_security.is_enabled {
            return Ok(());
        }
        let (catalog, role) = (self.catalog, self.reader.role);
        let standing = self.standings.entry(role).or_insert_with(|| Arc::new(Standing::of(catalog, role))).clone();
        self.relied.extend(standing.relied(self.catalog));
        if !standing.is_held_by_policies(&table) {
            return Ok(());
        }
        if !self.reader.row_security {
            return Err(refused(&table, &standing));
        }
        if sample.is_some() {
            return Err(SqlError::unsupported("TABLESAMPLE of a table with row-level security"));
        }
        self.rely(&table.name);
        self.guards += 1;
        if self.guards > GUARDS_MAX {
            let message = format!("policies hold back tables at more than {GUARDS_MAX} places of a statement");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let conditions = commands.iter().map(|command| visible(&standing.policies(&table, *command)));
        let condition = joined(&conditions.collect::<Vec<_>>(), " AND ");
        let condition = match *self.policy_condition(&table, &condition)?.body {
            ast::SetExpr::Select(select) => select.selection,
            _ => None,
        };
        *factor = guard(self.name_past_with(name), &table, alias.as_ref(), condition)?;
        Ok(())
    }

    /// The name of a table where a name of WITH would take its place, which it does not for a statement that changes its rows.
    fn name_past_with(&self, name: &ObjectName) -> ObjectName {
        let own = names::relation(name).map(|own| (own.schema.is_none(), own.name));
        match own {
            Ok((true, own)) if self.common.iter().flatten().any(|known| *known == own) => {
                ObjectName::from(vec![Ident::new(namespace::PUBLIC), Ident::with_quote('"', own)])
            }
            _ => name.clone(),
        }
    }

    /// `SELECT 1 WHERE condition` of a table's policies, in which views and other tables are held in their turn.
    pub(super) fn policy_condition(&mut self, table: &TableSchema, condition: &str) -> Result<ast::Query> {
        let (mut query, levels) = query_of(condition)?;
        local_times::refuse(&query, "a policy", self.reader.zone)?;
        self.bytes += condition.len();
        if self.bytes > SQL_BYTES_MAX {
            let message = format!("the queries of a statement's views and policies exceed {SQL_BYTES_MAX} bytes");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        // It stands within a query of its own.
        if self.levels + levels + 2 > DEPTH_MAX {
            return Err(TooDeep.into());
        }
        if !has_subquery(&query) {
            self.check_policy(&query)?;
            return Ok(query);
        }
        if self.open_policies.contains(&table.oid) {
            let name = namespace::bare(&table.name);
            let message = format!("infinite recursion detected in policy for relation \"{name}\"");
            return Err(SqlError::new(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        self.check_policy(&query)?;
        self.open_policies.push(table.oid);
        let visited = self.apart(levels + 2, |expansion| ast::VisitMut::visit(&mut query, expansion));
        self.open_policies.pop();
        match visited {
            ControlFlow::Continue(()) => Ok(query),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// What policies read, the reader has to be allowed to.
    fn check_policy(&mut self, query: &ast::Query) -> Result<()> {
        let statement = ast::Statement::Query(Box::new(query.clone()));
        let needs = || needs::of(&statement, self.catalog);
        let Verdict { denied, rights } = rights::decide(self.catalog, self.reader.role, needs)?;
        self.relied.extend(rights);
        if self.denied.is_none() {
            self.denied = denied;
        }
        Ok(())
    }
}

/// Errors: 0A000 for a statement that fires triggers beside row-level security: what it is made of would be held back once more, and otherwise.
pub(super) fn check_triggers(
    prepared: &Prepared,
    statement: &ast::Statement,
    is_expanded: bool,
    context: &Context,
) -> Result<()> {
    let fires = matches!(prepared.plan, Plan::Firing(_)) && names_secured(statement, context.all);
    let is_held = || is_expanded || names_held(statement, context.all, context.facts.role);
    match fires && is_held() {
        true => Err(SqlError::unsupported("a statement that fires triggers on a table with row-level security")),
        false => Ok(()),
    }
}

/// Has a compiled statement stand for this session alone, and with its parameters, if policies hold something back in it. Errors: 0A000.
pub(super) fn settle(
    prepared: &mut Prepared,
    expanded: Option<&Expanded>,
    statement: &ast::Statement,
    context: &Context,
) -> Result<()> {
    let known = expanded.map_or(statement, |known| &known.statement);
    check_functions(known, context)?;
    if expanded.is_some_and(|known| known.guards) || names_held(known, context.all, context.facts.role) {
        prepared.hold(context.facts.settings);
    }
    Ok(())
}

/// Errors: 0A000 for a statement that calls functions in SQL which read tables of which policies hold something back: these are no part of its text.
fn check_functions(statement: &ast::Statement, context: &Context) -> Result<()> {
    if !context.all.tables.values().any(|known| known.table.row_security.is_enabled) {
        return Ok(());
    }
    let reads = |parsed: &Parsed| match &parsed.statement {
        Statement::Sql(tree) => tree.with(|statement| names_held(statement, context.all, context.facts.role)),
        _ => false,
    };
    let called = called_within(statement, context.all);
    match called.has_more || called.all.iter().any(|(_, parsed)| reads(parsed)) {
        true => Err(SqlError::unsupported("a function in SQL that reads a table with row-level security")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::held_tables::guard_of;
    use crate::sql::views;
    use messages::role::RoleSchema;
    use messages::schema::{CatalogEntry, Column, PolicySchema, RowSecurity};
    use messages::{TableId, Timestamp};
    use values::Type;

    /// The table `t` of which a policy shows `b = 1`, the table `u` that has none, the view `v` of the role 5, and the view `w` of the superuser.
    fn catalog() -> Catalog {
        let mut catalog = Catalog::default();
        let columns = || ["a", "b"].map(|name| Column::new(name, Type::Integer, false)).to_vec();
        let policy = PolicySchema {
            name: "p".to_owned(),
            oid: 9,
            is_permissive: true,
            command: PolicyCommand::All,
            roles: vec![0],
            using: Some("b = 1".to_owned()),
            check: None,
        };
        let row_security = RowSecurity { is_enabled: true, is_forced: false, policies: vec![policy] };
        let table = |oid, name: &str| TableSchema { oid, ..TableSchema::new(name, TableId(oid), columns()) };
        let view = |oid, name, owner| {
            let mut view = TableSchema { view: Some("SELECT * FROM t".into()), ..table(oid, name) };
            view.rights.owner = owner;
            view
        };
        let secured = TableSchema { row_security, ..table(1, "t") };
        for known in [secured, table(2, "u"), view(3, "v", 5), view(4, "w", 10)] {
            let key = CatalogEntry::key(&known.name);
            let row = CatalogEntry::Table(Arc::new(known)).encode();
            catalog.apply(key.as_bytes(), Timestamp::ZERO, Some(&row)).expect("it decodes");
        }
        for role in [5, 6] {
            let role = RoleSchema::new(format!("role{role}"), role);
            let (key, row) = (CatalogEntry::role_key(&role.name), CatalogEntry::Role(Arc::new(role)).encode());
            catalog.apply(key.as_bytes(), Timestamp::ZERO, Some(&row)).expect("it decodes");
        }
        catalog
    }

    /// The statement for a role, and how often policies hold something back in it.
    fn held(sql: &str, role: u32) -> (String, usize) {
        let catalog = catalog();
        let parsed = parse::statement(sql).expect(sql).expect(sql);
        let Statement::Sql(tree) = &parsed.statement else { panic!("{sql}") };
        let reader = PolicyReader { role, row_security: true, zone: &Zone::UTC };
        let expanded = tree.with(|statement| views::expand(statement, 1, &catalog, reader)).expect(sql);
        let text = expanded.map_or_else(|| sql.to_owned(), |known| known.statement.to_string());
        let count = text.matches(ROW_SECURITY_WINDOW).count();
        (text, count)
    }

    /// Rows would be shown, or changed, that a policy hides, by a form of statement that was not looked at.
    #[test]
    fn no_form_of_a_statement_goes_past_policies() {
        for (sql, count) in [
            ("SELECT * FROM t", 1),
            ("SELECT * FROM u", 0),
            ("SELECT * FROM public.t AS x (c, d)", 1),
            ("SELECT * FROM t, t AS x", 2),
            ("SELECT * FROM u LEFT JOIN t ON u.a = t.a", 1),
            ("SELECT (SELECT max(a) FROM t) FROM u", 1),
            ("SELECT 1 FROM u WHERE a IN (SELECT a FROM t) OR EXISTS (SELECT 1 FROM t)", 2),
            ("SELECT a FROM t UNION SELECT a FROM t", 2),
            ("WITH t AS (SELECT 1 AS a) SELECT * FROM t", 0),
            ("WITH x AS (SELECT * FROM t) SELECT * FROM x", 1),
            ("WITH x AS (SELECT 1), t AS (SELECT * FROM t) SELECT * FROM t", 1),
            ("SELECT * FROM v", 1),
            ("SELECT * FROM w", 0),
            ("SELECT * FROM v, w, t", 2),
            ("SELECT a FROM t FOR UPDATE", 1),
            ("SELECT a FROM (SELECT * FROM t) AS x", 1),
            ("SELECT a FROM u, LATERAL (SELECT b FROM t WHERE t.a = u.a) AS x", 1),
            ("INSERT INTO u SELECT * FROM t", 1),
            ("INSERT INTO t SELECT * FROM t", 1),
            ("UPDATE t SET a = 1", 1),
            ("UPDATE t SET a = x.a FROM t AS x WHERE x.b = t.b", 2),
            ("UPDATE u SET a = (SELECT max(a) FROM t)", 1),
            ("DELETE FROM t WHERE a = 1", 1),
            ("DELETE FROM u USING t WHERE t.a = u.a", 1),
            ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", 1),
            ("MERGE INTO u USING t ON t.a = u.a WHEN MATCHED THEN DELETE", 1),
            ("WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT * FROM x", 1),
            ("WITH x AS (DELETE FROM t RETURNING a) INSERT INTO u SELECT a FROM x, t", 2),
        ] {
            let (text, found) = held(sql, 6);
            assert_eq!(found, count, "{sql}: {text}");
        }
        assert_eq!(held("SELECT * FROM t, v, w", 10).1, 1, "a view reads as its owner, whoever asks");
    }

    /// A name of WITH would stand for the table that a statement changes.
    #[test]
    fn a_target_is_no_name_of_with() {
        let (text, found) = held("WITH t AS (SELECT 7 AS a, 1 AS b) UPDATE t SET a = 1", 6);
        assert!(found == 1 && text.contains("FROM public.\"t\""), "{text}");
    }

    /// A program would be made of a query that is none of ours, or the other way round.
    #[test]
    fn the_query_in_the_place_of_a_table_is_known() {
        let is_known = |sql: &str, role| {
            let (text, _) = held(sql, role);
            let parsed = parse::statement(&text).expect(sql).expect(sql);
            let Statement::Sql(tree) = &parsed.statement else { panic!("{sql}") };
            let ast::Statement::Query(query) = &**tree else { panic!("{sql}") };
            let ast::SetExpr::Select(select) = query.body.as_ref() else { panic!("{sql}") };
            guard_of(&select.from[0].relation).is_some()
        };
        assert!(is_known("SELECT * FROM t", 6));
        assert!(!is_known("SELECT * FROM t", 10));
        assert!(!is_known("SELECT * FROM (SELECT * FROM t WHERE b = 1 WINDOW x AS ()) AS t", 10));
    }
}
