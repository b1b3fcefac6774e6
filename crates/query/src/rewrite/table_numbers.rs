//! `tableoid` of system relations, which have no such column here: the number of the relation that a row is of.
//!
//! Invariant: a name that belongs to anything but a system relation of the select's own FROM stays as it is. pg_dump asks for it.

use super::build::{folded, last_part, native_cast, number, object_name, quoted};
use crate::system_catalog::system_relation_oid;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, TableFactor, TableWithJoins, VisitMut,
    VisitorMut,
};
use std::ops::ControlFlow;

/// The column's name.
const COLUMN: &str = "tableoid";

/// Writes the numbers in the places of the names.
pub(super) fn write_out(select: &mut Select) {
    let mut sources = Sources { all: Vec::new() };
    select.from.iter().for_each(|from| sources.add(from));
    if !sources.all.iter().any(|(_, oid)| oid.is_some()) {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && sources.number(expr).is_some()
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: quoted(COLUMN) };
        }
    }
    let _ = VisitMut::visit(select, &mut sources);
}

/// The sources of a select by the names that they have in it, and the numbers of those that are system relations.
struct Sources {
    all: Vec<(String, Option<u32>)>,
}

impl Sources {
    fn add(&mut self, from: &TableWithJoins) {
        for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::Table { name, alias, args: None, .. } => {
                    let alias = alias.as_ref().map(|alias| folded(&alias.name));
                    self.all.push((alias.unwrap_or_else(|| last_part(name)), oid(name)));
                }
                TableFactor::NestedJoin { table_with_joins, alias: None } => self.add(table_with_joins),
                TableFactor::Derived { alias: Some(alias), .. } => self.all.push((folded(&alias.name), None)),
                _ => {}
            }
        }
    }

    /// The number that an expression stands for, if it is such a name.
    fn number(&self, expression: &Expr) -> Option<u32> {
        match expression {
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [table, column] if is_column(column) => {
                    self.all.iter().find(|(name, _)| *name == folded(table)).and_then(|(_, oid)| *oid)
                }
                _ => None,
            },
            Expr::Identifier(column) if is_column(column) => match self.all.as_slice() {
                [(_, oid)] => *oid,
                _ => None,
            },
            _ => None,
        }
    }
}

impl VisitorMut for Sources {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Some(oid) = self.number(expression) {
            *expression = native_cast(number(oid), DataType::Custom(object_name("oid"), Vec::new()));
        }
        ControlFlow::Continue(())
    }
}

fn is_column(name: &Ident) -> bool {
    folded(name) == COLUMN
}

fn oid(name: &ObjectName) -> Option<u32> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => system_relation_oid("pg_catalog", &folded(name)),
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(name)] => {
            system_relation_oid(&folded(schema), &folded(name))
        }
        _ => None,
    }
}
