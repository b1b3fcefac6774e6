//! Names of result columns, as PostgreSQL chooses them (`FigureColname` in parse_target.c).
//!
//! DataFusion wants the columns of a select list to have different names; PostgreSQL does not. A name that is taken gets a
//! suffix that clients do not see.

use super::build::{folded, last_part, quoted};
use super::types::type_name;
use crate::hidden_names::hidden;
use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, TrimWhereField};
use std::collections::BTreeSet;

/// Gives every column of a select list its PostgreSQL name, and no two the same.
pub fn name_columns(select: &mut Select) {
    let has_wildcard = select
        .projection
        .iter()
        .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
    let mut taken = BTreeSet::new();
    for (number, item) in select.projection.iter_mut().enumerate() {
        let (expression, name, is_column) = match item {
            SelectItem::UnnamedExpr(expression) => {
                let is_column = matches!(expression, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                let name = of_expression(expression);
                (expression, name, is_column)
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let name = folded(alias);
                (expr, name, false)
            }
            _ => continue,
        };
        let clashes = !taken.insert(name.clone()) || (has_wildcard && is_column);
        if is_column && !clashes {
            continue;
        }
        let unique = if clashes { hidden(&name, number) } else { name };
        let expression = std::mem::replace(expression, super::build::null());
        *item = SelectItem::ExprWithAlias { expr: expression, alias: quoted(unique) };
    }
}

/// The name of a result column that is this expression.
pub fn of_expression(expression: &Expr) -> String {
    name_of(expression).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// A name, and whether it is better than that of a surrounding cast or CASE.
fn name_of(expression: &Expr) -> Option<(String, bool)> {
    let strong = |name: &str| Some((name.to_owned(), true));
    match expression {
        Expr::Identifier(identifier) => Some((folded(identifier), true)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|last| (folded(last), true)),
        Expr::Function(function) => Some((last_part(&function.name), true)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::CompoundFieldAccess { root, .. } => name_of(root),
        Expr::Cast { expr, data_type, .. } => match name_of(expr) {
            Some((name, true)) => Some((name, true)),
            _ => Some((type_name(data_type), false)),
        },
        Expr::TypedString(literal) => Some((type_name(&literal.data_type), false)),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(name_of) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        Expr::Subquery(query) => first_column(query).map(|name| (name, true)),
        Expr::Exists { negated: false, .. } => strong("exists"),
        Expr::Array(_) => strong("array"),
        Expr::Extract { .. } => strong("extract"),
        Expr::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Expr::Position { .. } => strong("position"),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        Expr::Tuple(_) => strong("row"),
        _ => None,
    }
}

fn first_column(query: &Query) -> Option<String> {
    let mut body = query.body.as_ref();
    loop {
        match body {
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::UnnamedExpr(expression) => Some(of_expression(expression)),
                    SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
                    _ => None,
                };
            }
            SetExpr::Query(inner) => return first_column(inner),
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Values(_) => return Some("column1".to_owned()),
            _ => return None,
        }
    }
}
