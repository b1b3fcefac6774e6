//! Sources that have the name of a column: `a.id` may be a column of the source `a`, or to DataFusion, which looks inside out, a part of a column
//! `a` of a subquery's table. Here it never is the latter, for no type has parts; so such sources get a name that no column has.

use super::build::{folded, last_part, quoted};
use super::merged::Relations;
use super::names;
use crate::hidden_names;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableAlias,
    TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Renames such sources throughout a statement.
pub(super) fn tell_from_columns(statement: &mut Statement, relations: &Relations) {
    let mut found = Names { relations, sources: BTreeSet::new(), columns: BTreeSet::new(), fixed: BTreeSet::new() };
    // Neither visitor breaks.
    let _ = Visit::visit(statement, &mut found);
    let clashing = found.sources.intersection(&found.columns).filter(|name| !found.fixed.contains(*name));
    let clashing: BTreeSet<String> = clashing.cloned().collect();
    if !clashing.is_empty() {
        let _ = VisitMut::visit(statement, &mut Renamer { clashing });
    }
}

/// The names in a statement.
struct Names<'a> {
    relations: &'a Relations<'a>,
    sources: BTreeSet<String>,
    columns: BTreeSet<String>,
    /// Of functions: their columns may have their names from them.
    fixed: BTreeSet<String>,
}

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let (own_name, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.columns.extend(self.relations.columns_of(name).into_iter().flatten());
                (Some(last_part(name)), alias)
            }
            TableFactor::Derived { alias, .. } => (None, alias),
            TableFactor::Table { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::Function { alias, .. } => {
                self.fixed.extend(alias.iter().map(|alias| folded(&alias.name)));
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        let columns = alias.iter().flat_map(|alias| &alias.columns);
        self.columns.extend(columns.map(|column| folded(&column.name)));
        self.sources.extend(alias.as_ref().map(|alias| folded(&alias.name)).or(own_name));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let named = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
            SelectItem::UnnamedExpr(expression) => Some(names::of_expression(expression)),
            _ => None,
        };
        self.columns.extend(select.projection.iter().filter_map(named));
        ControlFlow::Continue(())
    }
}

struct Renamer {
    clashing: BTreeSet<String>,
}

impl Renamer {
    fn name_of(&self, source: &Ident) -> Option<Ident> {
        let name = folded(source);
        self.clashing.contains(&name).then(|| quoted(hidden_names::hidden(&name, 0)))
    }
}

impl VisitorMut for Renamer {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias: alias @ None, args: None, .. } => {
                if let Some(name) = self.name_of(&quoted(last_part(name))) {
                    *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
                }
            }
            TableFactor::Table { alias: Some(alias), args: None, .. }
            | TableFactor::Derived { alias: Some(alias), .. } => {
                if let Some(name) = self.name_of(&alias.name) {
                    alias.name = name;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let [ObjectNamePart::Identifier(source)] = name.0.as_mut_slice()
                && let Some(name) = self.name_of(source)
            {
                *source = name;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expression
            && let [source, _] = parts.as_mut_slice()
            && let Some(name) = self.name_of(source)
        {
            *source = name;
        }
        ControlFlow::Continue(())
    }
}
