//! Views: a query under a name, put in the place of the name wherever rows are read (PostgreSQL's manual, 41.2).
//!
//! A view is a table without rows whose definition has the text of its query. Invariants: what a view shows is what its owner may read; a query that stands for a view has
//! no views in it any more.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::ddl::Planner;
use crate::sql::denials::not_owner;
use crate::sql::local_times;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::parse::{self, Statement};
use crate::sql::rights::{self, Verdict};
use crate::sql::row_guards::{self, PolicyReader, PutAway};
use crate::sql::view_checks::ViewCheck;
use crate::sql::visits::visit_relations;
use messages::namespace::{self, PUBLIC};
use messages::schema::{Catalog, CatalogEntry, Column, IndexSchema, TableSchema, TableSchemaKind, VersionedTable};
use messages::{Key, Timestamp};
use privileges::Standing;
use sql_syntax::TooDeep;
use sql_syntax::limits::DEPTH_MAX;
use sqlparser::ast::{self, Ident, ObjectName, TableAlias, TableAliasColumnDef, TableFactor};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A statement whose views are the queries that they stand for.
pub struct Expanded {
    /// The statement.
    pub statement: ast::Statement,
    /// Catalog rows that it came from, with their versions: views, what they read, and what their owners may do.
    pub relied: Vec<(Key, Timestamp)>,
    /// Those of them that have a version: the running transaction has not written them.
    pub committed: Vec<(Key, Timestamp)>,
    /// Why the owner of a view may not read what it shows, or the reader of a table what its policies read.
    pub denied: Option<Box<SqlError>>,
    /// Whether policies hold something back in it.
    pub guards: bool,
    /// What views ask of the rows that it writes, from the table outwards.
    pub checks: Vec<ViewCheck>,
    /// The view whose triggers take the place of what it does to rows.
    pub instead: Option<Arc<TableSchema>>,
}

/// The condition of a policy, in which the same was done.
pub struct ExpandedCondition {
    /// The condition.
    pub condition: ast::Expr,
    /// See [`Expanded::committed`].
    pub committed: Vec<(Key, Timestamp)>,
    /// See [`Expanded::denied`].
    pub denied: Option<Box<SqlError>>,
}

/// Whether a statement names a view: it can then become as deep as a statement may be. A materialized view counts as long as nobody may read it.
pub fn names_view(statement: &ast::Statement, catalog: &Catalog) -> bool {
    let named =
        visit_relations(statement, |name| match view_named(catalog, name).or_else(|| unpopulated(catalog, name)) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
    named.is_break()
}

/// Puts queries in the place of views, and of tables of which policies hold something back from the reader, in a statement of so many levels; `None`: it names none. The caller's stack suffices for as many as a statement may have.
///
/// Errors: those of changes of a view's rows, 54001 for one that would become too deep, 54000 for one that would become too long.
pub fn expand(
    statement: &ast::Statement,
    levels: usize,
    catalog: &Catalog,
    reader: PolicyReader,
) -> Result<Option<Expanded>> {
    if !names_view(statement, catalog) && !row_guards::names_secured(statement, catalog) {
        return Ok(None);
    }
    check_parts(statement, catalog)?;
    let mut expansion = Expansion::new(levels, catalog, reader);
    let mut statement = statement.clone();
    expansion.onto_table(&mut statement)?;
    if let ControlFlow::Break(error) = ast::VisitMut::visit(&mut statement, &mut expansion) {
        return Err(error);
    }
    let Expansion { relied, denied, guards, checks, instead, .. } = expansion;
    let relied: Vec<(Key, Timestamp)> = relied.into_iter().collect();
    let committed = committed(&relied, catalog);
    Ok(Some(Expanded { statement, relied, committed, denied, guards: guards > 0, checks, instead }))
}

/// Does the same in a condition of a table's policies, of a statement in which policies hold back at so many places by now. Errors: those of [`expand`].
pub fn expand_condition(
    table: &TableSchema,
    condition: &str,
    catalog: &Catalog,
    reader: PolicyReader,
    guards: &mut usize,
) -> Result<ExpandedCondition> {
    let mut expansion = Expansion::new(0, catalog, reader);
    expansion.guards = *guards;
    let query = expansion.policy_condition(table, condition)?;
    let ast::SetExpr::Select(select) = *query.body else { return Err(SqlError::unsupported("this form of a policy")) };
    let Some(condition) = select.selection else { return Err(SqlError::unsupported("this form of a policy")) };
    let Expansion { relied, denied, .. } = expansion;
    *guards = expansion.guards;
    let relied: Vec<(Key, Timestamp)> = relied.into_iter().collect();
    Ok(ExpandedCondition { condition, committed: committed(&relied, catalog), denied })
}

/// Those catalog rows that the running transaction has not written.
fn committed(relied: &[(Key, Timestamp)], catalog: &Catalog) -> Vec<(Key, Timestamp)> {
    let is_own = |(key, version): &&(Key, Timestamp)| *version == Timestamp::ZERO && catalog.has(key);
    relied.iter().filter(|row| !is_own(row)).cloned().collect()
}

/// The view that a name means, unless a query of WITH has the name.
pub(super) fn view_named<'c>(catalog: &'c Catalog, name: &ObjectName) -> Option<&'c VersionedTable> {
    let relation = names::relation(name).ok()?;
    let is_own = relation.schema.as_deref().is_none_or(|schema| schema == "public");
    catalog.tables.get(&relation.name).filter(|known| is_own && known.table.view.is_some())
}

/// The materialized view without rows yet that a name means, unless a query of WITH has the name.
fn unpopulated<'c>(catalog: &'c Catalog, name: &ObjectName) -> Option<&'c VersionedTable> {
    let relation = names::relation(name).ok()?;
    let is_own = relation.schema.as_deref().is_none_or(|schema| schema == "public");
    let is_empty = |known: &&VersionedTable| known.table.materialized.as_ref().is_some_and(|query| !query.populated);
    catalog.tables.get(&relation.name).filter(|_| is_own).filter(is_empty)
}

/// Errors: 42809 for a query that locks rows of a materialized view.
pub(super) fn check_lockable(query: &ast::Query, catalog: &Catalog) -> Result<()> {
    for name in relations_of(query) {
        if catalog.tables.get(&name).is_some_and(|known| known.table.kind() == TableSchemaKind::MaterializedView) {
            let message = format!("cannot lock rows in materialized view \"{name}\"");
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message));
        }
    }
    Ok(())
}

/// Errors: 0A000 for a materialized view without rows, 55000 for one whose rows have no key: PostgreSQL does not refresh it while it is read.
pub(super) fn check_concurrently(view: &TableSchema, populated: bool, catalog: &Catalog) -> Result<()> {
    let wrong = |message: String| SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    if !populated {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let is_key = |index: &IndexSchema| index.unique && index.predicate.is_none() && index.whole_columns().is_some();
    if !view.indexes.iter().any(is_key) {
        let schema = catalog.namespace_numbered(namespace::of(&view.name));
        let schema = schema.map_or_else(|| PUBLIC.to_owned(), |schema| schema.name.clone());
        let (schema, bare) = (names::quote(&schema), names::quote(namespace::bare(&view.name)));
        let hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
        return Err(wrong(format!("cannot refresh materialized view \"{schema}.{bare}\" concurrently")).with_hint(hint));
    }
    Ok(())
}

/// Errors: 0A000 if a query of WITH changes rows of a view, or MERGE does.
fn check_parts(statement: &ast::Statement, catalog: &Catalog) -> Result<()> {
    match statement {
        ast::Statement::Query(_) | ast::Statement::Merge(_) => check_target(statement, catalog),
        _ => Ok(()),
    }
}

/// Errors: 0A000 if the statement changes rows of a view.
fn check_target(statement: &ast::Statement, catalog: &Catalog) -> Result<()> {
    if let ast::Statement::Query(query) = statement {
        let within = query.with.iter().flat_map(|with| &with.cte_tables).map(|table| table.query.as_ref());
        for query in within.chain([query.as_ref()]) {
            if let ast::SetExpr::Insert(changed)
            | ast::SetExpr::Update(changed)
            | ast::SetExpr::Delete(changed)
            | ast::SetExpr::Merge(changed) = query.body.as_ref()
            {
                check_target(changed, catalog)?;
            }
        }
    }
    let of_factor = |factor: &TableFactor| match factor {
        TableFactor::Table { name, .. } => view_named(catalog, name).map(|view| view.table.name.clone()),
        _ => None,
    };
    let target = match statement {
        ast::Statement::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => view_named(catalog, name).map(|view| view.table.name.clone()),
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
        Some(name) => Err(SqlError::unsupported(format!("changing rows of the view \"{name}\""))),
        None => Ok(()),
    }
}

/// An expansion under way.
pub(super) struct Expansion<'a> {
    pub(super) catalog: &'a Catalog,
    /// Who reads: within a view, its owner.
    pub(super) reader: PolicyReader<'a>,
    /// Names that WITH gives, from the outermost query to the innermost.
    pub(super) common: Vec<Vec<String>>,
    /// WITH clauses that were looked at before their query, and are put back behind it.
    withheld: Vec<Option<ast::With>>,
    /// Names of WITH around the views that are open: they mean nothing within these.
    around: Vec<String>,
    /// Levels of the statement and of the views that are open.
    pub(super) levels: usize,
    /// Bytes of all queries that were put in: views of views of views double.
    pub(super) bytes: usize,
    pub(super) relied: BTreeMap<Key, Timestamp>,
    pub(super) denied: Option<Box<SqlError>>,
    /// What each query locks, from the outermost to the innermost: `None` is all of its tables.
    pub(super) locks: Vec<Vec<Option<String>>>,
    /// Targets of the statements that are open.
    pub(super) away: Vec<Option<PutAway>>,
    /// Tables whose policies are open, by their numbers.
    pub(super) open_policies: Vec<u32>,
    /// Places at which policies hold something back.
    pub(super) guards: usize,
    /// See [`Expanded::checks`].
    pub(super) checks: Vec<ViewCheck>,
    /// See [`Expanded::instead`].
    pub(super) instead: Option<Arc<TableSchema>>,
    /// What roles may do, as far as it was asked.
    pub(super) standings: BTreeMap<u32, Arc<Standing>>,
}

impl ast::VisitorMut for Expansion<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.common.push(Vec::new());
        let of = |lock: &ast::LockClause| lock.of.as_ref().and_then(|name| names::own_relation(name).ok());
        self.locks.push(query.locks.iter().map(of).collect());
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
        self.locks.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<Self::Break> {
        self.put_away(statement);
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<Self::Break> {
        match self.put_back(statement) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    /// What was put in is visited behind this, with its own views.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        match self.factor(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl<'a> Expansion<'a> {
    fn new(levels: usize, catalog: &'a Catalog, reader: PolicyReader<'a>) -> Expansion<'a> {
        Expansion {
            catalog,
            reader,
            common: Vec::new(),
            withheld: Vec::new(),
            around: Vec::new(),
            levels,
            bytes: 0,
            relied: BTreeMap::new(),
            denied: None,
            locks: Vec::new(),
            away: Vec::new(),
            open_policies: Vec::new(),
            guards: 0,
            checks: Vec::new(),
            instead: None,
            standings: BTreeMap::new(),
        }
    }

    /// Looks at something of so many levels in which names of WITH around it mean nothing.
    pub(super) fn apart<T>(&mut self, levels: usize, look: impl FnOnce(&mut Self) -> T) -> T {
        let common = std::mem::take(&mut self.common);
        let outer = self.around.len();
        self.around.extend(common.iter().flatten().cloned());
        self.levels += levels;
        let looked = look(self);
        self.levels -= levels;
        self.common = common;
        self.around.truncate(outer);
        looked
    }

    /// From here on a query of WITH has its name.
    fn give(&mut self, table: &ast::Cte) {
        if let Some(innermost) = self.common.last_mut() {
            innermost.push(names::identifier(&table.alias.name));
        }
    }

    /// The schema of a relation that a view names without one, where a name of WITH around the view would take its place.
    fn hidden_in(&self, name: &names::RelationName) -> Option<&'static str> {
        let is_hidden = name.schema.is_none() && self.around.contains(&name.name);
        match is_hidden {
            true if name.is_system() => Some("pg_catalog"),
            true if self.catalog.tables.contains_key(&name.name) && !namespace::is_marked(&name.name) => Some(PUBLIC),
            _ => None,
        }
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, args, with_ordinality, sample, .. } = factor else { return Ok(()) };
        if args.is_some() || *with_ordinality {
            // A function of that name.
            return Ok(());
        }
        let own = names::relation(name)?;
        let is_common = own.schema.is_none() && self.common.iter().flatten().any(|known| *known == own.name);
        if let Some(view) = unpopulated(self.catalog, name).filter(|_| !is_common) {
            let bare = namespace::bare(&view.table.name);
            let message = format!("materialized view \"{bare}\" has not been populated");
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .with_hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let Some(view) = view_named(self.catalog, name).filter(|_| !is_common).cloned() else {
            if let Some(schema) = self.hidden_in(&own).filter(|_| !is_common) {
                let known = Ident::with_quote('"', own.name);
                *name = ObjectName::from(vec![Ident::new(schema), known.clone()]);
                alias.get_or_insert(TableAlias { explicit: true, name: known, columns: Vec::new(), at: None });
            }
            return if is_common { Ok(()) } else { self.hold_read(factor) };
        };
        if sample.is_some() {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        self.rely(&own.name);
        let (mut query, levels) = query_of(&view.table)?;
        local_times::refuse(&query, "a view", self.reader.zone)?;
        self.bytes += view.table.view.as_ref().map_or(0, |text| text.len());
        if self.bytes > SQL_BYTES_MAX {
            let message = format!("the queries of a statement's views exceed {SQL_BYTES_MAX} bytes");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if self.levels + levels > DEPTH_MAX {
            return Err(TooDeep.into());
        }
        self.check_owner(&view.table, &query)?;
        // Its owner reads within it.
        let role = std::mem::replace(&mut self.reader.role, view.table.rights.owner);
        let visited = self.apart(levels, |expansion| ast::VisitMut::visit(&mut query, expansion));
        self.reader.role = role;
        if let ControlFlow::Break(error) = visited {
            return Err(error);
        }
        let alias = derived_alias(&view.table, alias.as_ref());
        *factor = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None };
        Ok(())
    }

    pub(super) fn rely(&mut self, name: &str) {
        let key = CatalogEntry::key(name);
        let version = self.catalog.version_of(&key);
        self.relied.insert(key, version);
    }

    /// A view reads with the rights of its owner.
    pub(super) fn check_owner(&mut self, view: &TableSchema, query: &ast::Query) -> Result<()> {
        let statement = ast::Statement::Query(Box::new(query.clone()));
        for name in relations_of(query) {
            self.rely(&name);
        }
        let needs = || needs::of(&statement, self.catalog);
        let Verdict { denied, rights } = rights::decide(self.catalog, view.rights.owner, needs)?;
        self.relied.extend(rights);
        if self.denied.is_none() {
            self.denied = denied;
        }
        Ok(())
    }
}

/// What the query in the place of a view is called: its columns have the view's names, or those that the statement gives.
fn derived_alias(view: &TableSchema, given: Option<&TableAlias>) -> TableAlias {
    let quoted = |name: &str| Ident::with_quote('"', name);
    let own = view.columns.iter().map(|column| TableAliasColumnDef { name: quoted(&column.name), data_type: None });
    let mut columns = given.map_or_else(Vec::new, |alias| alias.columns.clone());
    columns.extend(own.skip(columns.len()));
    let name = given.map_or_else(|| quoted(&view.name), |alias| alias.name.clone());
    TableAlias { explicit: true, name, columns, at: None }
}

/// The query of a view, and how many levels it has. Errors: XX000 if it cannot be read any more.
pub(super) fn query_of(view: &TableSchema) -> Result<(ast::Query, usize)> {
    let broken = || SqlError::new(sqlstate::INTERNAL_ERROR, format!("the view \"{}\" has no query", view.name));
    query_in(view.query().ok_or_else(broken)?, broken)
}

/// A kept text as the query that it is, and how many levels that has. Errors: `broken` for one that cannot be read any more.
pub(super) fn query_in(text: &str, broken: impl Fn() -> Box<SqlError>) -> Result<(ast::Query, usize)> {
    let parsed = parse::statement(text)?.ok_or_else(&broken)?;
    match parsed.statement {
        Statement::Sql(tree) if tree.is_shallow() => {
            let levels = tree.depths().levels;
            match *tree.into_inner() {
                ast::Statement::Query(query) => Ok((*query, levels)),
                _ => Err(broken()),
            }
        }
        _ => Err(TooDeep.into()),
    }
}

/// Names of the relations that a query reads.
fn relations_of(query: &ast::Query) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let _ = visit_relations(query, |name| {
        found.extend(names::relation(name).ok().map(|relation| relation.name));
        ControlFlow::<()>::Continue(())
    });
    found
}

/// What a change of a table does to it.
pub(super) enum TableChange<'a> {
    /// It is dropped, or gets another name.
    Whole,
    /// This column goes away, or becomes another.
    Column(&'a str),
    /// It gets a column.
    NewColumn,
}

impl Planner<'_> {
    /// Views that read a table, materialized ones among them, by name.
    pub(super) fn views_of(&self, table: &str) -> Vec<Arc<TableSchema>> {
        let views = self.catalog.tables.values().map(|known| &known.table).filter(|known| known.query().is_some());
        let reads =
            |view: &&Arc<TableSchema>| query_of(view).is_ok_and(|(query, _)| relations_of(&query).contains(table));
        views.filter(reads).cloned().collect()
    }

    /// Errors: 2BP01 for what a view needs, 0A000 for what would change what it shows.
    pub(super) fn check_views(&self, table: &TableSchema, change: &TableChange) -> Result<()> {
        match self.views_reading(table, change)?.first() {
            None => Ok(()),
            Some(view) => {
                let word = view.kind().word();
                let feature =
                    format!("this change of the table \"{}\", which the {word} \"{}\" reads", table.name, view.name);
                Err(SqlError::unsupported(feature).with_hint(format!("Drop the {word}, and make it anew.")))
            }
        }
    }

    /// Views that show what a change takes away or makes another.
    pub(super) fn views_reading(&self, table: &TableSchema, change: &TableChange) -> Result<Vec<Arc<TableSchema>>> {
        let mut found = Vec::new();
        for view in self.views_of(&table.name) {
            let (query, _) = query_of(&view)?;
            let statement = ast::Statement::Query(Box::new(query));
            let needs = needs::of(&statement, &self.catalog);
            let all = has_wildcard(&statement);
            let used = match change {
                TableChange::Whole => true,
                TableChange::NewColumn => all,
                TableChange::Column(column) => {
                    let place = table.column(column);
                    let of_table = |need: &&rights::Need| need.table.oid == table.oid;
                    let reads = |need: &rights::Need| place.is_some_and(|place| need.selected.contains(&place));
                    all || needs.tables.iter().filter(of_table).any(reads)
                }
            };
            if used {
                found.push(view);
            }
        }
        Ok(found)
    }

    /// The query of a view. Errors: XX000.
    pub(super) fn view_query(&self, view: &TableSchema) -> Result<ast::Query> {
        query_of(view).map(|(query, _)| query)
    }

    /// Drops the views that read something, or refuses to. `all`: names that are dropped together.
    pub(super) fn drop_views_of(&mut self, what: &str, name: &str, cascade: bool, all: &[String]) -> Result<()> {
        for view in self.views_of(name) {
            if !self.catalog.tables.contains_key(&view.name) || all.contains(&view.name) {
                continue;
            }
            if !cascade {
                return Err(SqlError::needed(
                    format!("{what} {name}"),
                    format!("{} {} depends on {what} {name}", view.kind().word(), view.name),
                ));
            }
            let kind = view.kind();
            self.notice(sqlstate::SUCCESSFUL_COMPLETION, format!("drop cascades to {} {}", kind.word(), view.name));
            match kind {
                TableSchemaKind::MaterializedView => self.drop_table(&view.name, cascade, all)?,
                _ => self.drop_view(&view.name, cascade, all)?,
            }
        }
        Ok(())
    }

    /// Drops a view that there is.
    pub(super) fn drop_view(&mut self, name: &str, cascade: bool, all: &[String]) -> Result<()> {
        self.drop_views_of("view", name, cascade, all)?;
        self.drop_policies_of(name, cascade, all)?;
        if let Some(known) = self.catalog.tables.get(name) {
            self.drops.push(known.table.storage);
        }
        self.forget_name(name);
        Ok(())
    }

    /// The view as it is, for one that takes its place. Errors: 42809 if it is none, 42501, 42P16 for columns that do not go on.
    pub(super) fn replaced_view(&self, name: &str, columns: &[Column]) -> Result<Option<Arc<TableSchema>>> {
        let Some(known) = self.catalog.tables.get(name) else { return Ok(None) };
        let old = &known.table;
        if old.view.is_none() {
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")));
        }
        if !self.standing.has(old.rights.owner) {
            return Err(not_owner("view", name));
        }
        let wrong = |message: String| Err(SqlError::new(sqlstate::INVALID_TABLE_DEFINITION, message));
        if columns.len() < old.columns.len() {
            return wrong("cannot drop columns from view".to_owned());
        }
        for (was, is) in old.columns.iter().zip(columns) {
            if was.name != is.name {
                return wrong(format!("cannot change name of view column \"{}\" to \"{}\"", was.name, is.name));
            }
            if was.column_type != is.column_type {
                let (before, now) = (was.column_type, is.column_type);
                return wrong(format!("cannot change data type of view column \"{}\" from {before} to {now}", is.name));
            }
        }
        Ok(Some(old.clone()))
    }
}

/// Whether a `*` stands anywhere in it.
fn has_wildcard(statement: &ast::Statement) -> bool {
    struct Wildcards;
    impl ast::Visitor for Wildcards {
        type Break = ();
        fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
            let is_one = |item: &ast::SelectItem| {
                matches!(item, ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..))
            };
            let natural = |tables: &ast::TableWithJoins| tables.to_string().to_ascii_uppercase().contains("NATURAL ");
            match select.projection.iter().any(is_one) || select.from.iter().any(natural) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    ast::Visit::visit(statement, &mut Wildcards).is_break()
}
