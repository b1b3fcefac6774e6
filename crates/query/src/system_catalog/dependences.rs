//! What an object is made of, as `pg_depend` and `pg_rewrite` show it: dump programs take their order from it.

use super::rows::{Row, row};
use super::{PG_CATALOG_OID, SystemCatalog, quoted};
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectNamePart, Statement, Visit, Visitor};
use messages::namespace;
use messages::schema::{CommentTarget, SequenceSchema, TableSchema};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Identifiers of catalogs.
const PG_ATTRDEF: u32 = 2604;
const PG_REWRITE: u32 = 2618;
const PG_TRIGGER: u32 = 2620;
const PG_PROC: u32 = 1255;

/// The object identifier of the default of a column, counted from 1. A table has fewer than 2,048 columns.
pub(super) fn default_number(table: u32, column: i64) -> u32 {
    table.wrapping_mul(1 << 11).wrapping_add(column as u32)
}

fn dependence(of: (u32, u32), on: (u32, u32, i64), kind: &str) -> Row {
    row! {
        classid: of.0, objid: of.1, objsubid: 0, refclassid: on.0, refobjid: on.1, refobjsubid: on.2, deptype: kind,
    }
}

/// The rows of `pg_depend`.
pub(super) fn rows(catalog: &SystemCatalog) -> Vec<Row> {
    let mut rows: Vec<Row> = catalog.sequences().filter_map(|(table, own)| of_sequence(catalog, table, own)).collect();
    rows.extend(catalog.dependences_on_types());
    rows.extend(catalog.dependences_of_extensions());
    for of in [of_defaults, of_indexes, of_triggers, of_views] {
        rows.extend(of(catalog));
    }
    rows
}

/// A sequence on the column that owns it.
fn of_sequence(catalog: &SystemCatalog, table: &TableSchema, sequence: &SequenceSchema) -> Option<Row> {
    let (owner, position) = sequence.owned_by?;
    let owner = catalog.plain_tables().find(|table| table.oid == owner)?;
    let kind = if owner.columns.get(position)?.identity.is_some() { "i" } else { "a" };
    let on = (CommentTarget::RELATIONS, owner.oid, position as i64 + 1);
    Some(dependence((CommentTarget::RELATIONS, table.oid), on, kind))
}

/// Defaults on their columns and on the sequences that they draw from.
fn of_defaults(catalog: &SystemCatalog) -> Vec<Row> {
    const CLASS: u32 = CommentTarget::RELATIONS;
    let sequences: BTreeMap<String, u32> =
        catalog.sequences().map(|(table, _)| (quoted(&table.name).replace('\'', "''"), table.oid)).collect();
    let mut rows = Vec::new();
    for table in catalog.plain_tables() {
        for (number, column) in (1_i64..).zip(&table.columns) {
            let own = (PG_ATTRDEF, default_number(table.oid, number));
            let default = column.default.as_deref().filter(|_| column.identity.is_none());
            if default.is_some() || table.generated_column(number as usize - 1).is_some() {
                rows.push(dependence(own, (CLASS, table.oid, number), "a"));
            }
            let Some(default) = default.filter(|default| default.contains("nextval")) else { continue };
            let drawn = default.split("nextval('").skip(1).filter_map(|rest| rest.split("'::regclass").next());
            let drawn = drawn.filter_map(|name| sequences.get(name));
            rows.extend(drawn.map(|oid| dependence(own, (CLASS, *oid, 0), "n")));
        }
    }
    rows
}

/// Indexes that are of no constraint on their columns.
fn of_indexes(catalog: &SystemCatalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.plain_tables() {
        for index in table.indexes.iter().filter(|index| !index.constraint) {
            let keys = index.keys.iter().filter_map(|key| key.as_column());
            let columns: BTreeSet<usize> = keys.chain(index.included.iter().copied()).collect();
            rows.extend(columns.into_iter().map(|column| {
                let on = (CommentTarget::RELATIONS, table.oid, column as i64 + 1);
                dependence((CommentTarget::RELATIONS, index.oid), on, "a")
            }));
        }
    }
    rows
}

/// Triggers on their tables and functions.
fn of_triggers(catalog: &SystemCatalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for trigger in &table.triggers {
            let own = (PG_TRIGGER, trigger.oid);
            rows.push(dependence(own, (CommentTarget::RELATIONS, table.oid, 0), "a"));
            if namespace::of(&trigger.function.0) != PG_CATALOG_OID {
                rows.push(dependence(own, (PG_PROC, trigger.function.1, 0), "n"));
            }
        }
    }
    rows
}

/// The rules of views on the views and on what these read. A rule has the number of its view.
fn of_views(catalog: &SystemCatalog) -> Vec<Row> {
    let mut rows = Vec::new();
    for view in views(catalog) {
        let own = (PG_REWRITE, view.oid);
        rows.push(dependence(own, (CommentTarget::RELATIONS, view.oid, 0), "i"));
        let read = view.query().map(|text| read_by(text)).unwrap_or_default();
        let found = read.iter().filter_map(|name| catalog.catalog().tables.get(name));
        rows.extend(found.map(|known| dependence(own, (CommentTarget::RELATIONS, known.table.oid, 0), "n")));
    }
    rows
}

fn views(catalog: &SystemCatalog) -> impl Iterator<Item = &TableSchema> {
    catalog.tables().filter(|table| table.query().is_some())
}

/// Names of the relations in a query's text, as the catalog has them.
fn read_by(text: &str) -> BTreeSet<String> {
    struct Names(BTreeSet<String>);
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            let last = name.0.last().and_then(ObjectNamePart::as_ident);
            self.0.extend(last.map(|own| match own.quote_style {
                Some(_) => own.value.clone(),
                None => own.value.to_lowercase(),
            }));
            ControlFlow::Continue(())
        }
    }
    let Ok(tree) = sql_syntax::statement(text) else { return BTreeSet::new() };
    tree.with(|tree: &Statement| {
        let mut names = Names(BTreeSet::new());
        let _ = tree.visit(&mut names);
        names.0
    })
}

/// The rows of `pg_rewrite`.
pub(super) fn rules(catalog: &SystemCatalog) -> Vec<Row> {
    let rule = |view: &TableSchema| {
        row! {
            oid: view.oid, rulename: "_RETURN", ev_class: view.oid, ev_type: "1", ev_enabled: "O", is_instead: true,
            ev_qual: "", ev_action: "",
        }
    };
    views(catalog).map(rule).collect()
}
