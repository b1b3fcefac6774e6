//! Columns of a view in the expressions of a statement that changes its rows: what the view shows takes their place.
//!
//! Invariant: a name that could mean something else than a column of the view, or a column that it does not show, is refused.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::names;
use sqlparser::ast::{self, Expr, Ident, ObjectName, SelectItem, VisitMut};
use std::ops::ControlFlow;

/// A column of a view.
#[derive(Clone, Debug)]
pub(super) struct ShownColumn {
    /// Its name.
    pub name: String,
    /// The column of the table that it is; `None`: it is computed.
    pub column: Option<String>,
    /// What it shows, over the table's columns; `None`: nobody can say.
    pub shown: Option<Expr>,
}

impl ShownColumn {
    /// A column that is one of the table, under the same name.
    pub fn plain(name: &str) -> ShownColumn {
        let shown = Expr::Identifier(Ident::with_quote('"', name));
        ShownColumn { name: name.to_owned(), column: Some(name.to_owned()), shown: Some(shown) }
    }

    fn is_plain(&self) -> bool {
        self.column.as_ref() == Some(&self.name)
    }
}

/// The column that an expression is, of a table that is called so.
pub(super) fn column_of(expression: &Expr, called: &str) -> Option<String> {
    match expression {
        Expr::Nested(inner) => column_of(inner, called),
        Expr::Identifier(name) => Some(names::identifier(name)),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] if names::identifier(table) == called => Some(names::identifier(name)),
            _ => None,
        },
        _ => None,
    }
}

/// How names of a view's columns are replaced.
pub(super) struct Renaming<'a> {
    columns: &'a [ShownColumn],
    /// What expressions call the view.
    called: String,
    /// What stands before the table's columns then.
    qualifier: Option<Ident>,
    /// Columns of the table that are none of the view.
    hidden: &'a [String],
    /// Whether there are other tables beside it.
    has_others: bool,
}

impl<'a> Renaming<'a> {
    /// In conditions of a view around this one.
    pub fn within(columns: &'a [ShownColumn], called: &str) -> Renaming<'a> {
        Renaming { columns, called: called.to_owned(), qualifier: None, hidden: &[], has_others: false }
    }

    /// In a statement on the view.
    pub fn of_statement(columns: &'a [ShownColumn], called: &Ident, hidden: &'a [String], has_others: bool) -> Self {
        Renaming { columns, called: names::identifier(called), qualifier: Some(called.clone()), hidden, has_others }
    }

    /// Whether this is the view's name in the statement.
    pub fn is_called(&self, name: &ObjectName) -> bool {
        names::own_column(name).is_ok_and(|name| name == self.called)
    }

    /// Replaces them. Errors: 42703 for columns that are none of the view, 0A000 for a name whose meaning cannot be told.
    pub fn apply(&self, expression: &mut Expr) -> Result<()> {
        self.apply_to(expression)
    }

    /// The same in all expressions of something.
    pub fn apply_to(&self, tree: &mut impl VisitMut) -> Result<()> {
        match tree.visit(&mut Replacement { renaming: self, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// All columns of the view, where nothing else is beside it. Errors: 0A000.
    pub fn all(&self) -> Result<Vec<SelectItem>> {
        match self.has_others {
            true => Err(SqlError::unsupported("RETURNING * of a view and other tables")),
            false => self.all_of_view(),
        }
    }

    /// All columns of the view. Errors: 0A000.
    pub fn all_of_view(&self) -> Result<Vec<SelectItem>> {
        let item = |column: &ShownColumn| {
            let alias = Ident::with_quote('"', column.name.as_str());
            Ok(SelectItem::ExprWithAlias { expr: self.replaced(column)?, alias })
        };
        self.columns.iter().map(item).collect()
    }

    /// The name that a result has which is a column of the view, or a cast of it, if it would lose it.
    pub fn name_of(&self, expression: &Expr) -> Option<Ident> {
        match expression {
            Expr::Cast { expr, .. } => self.name_of(expr),
            other => {
                let name = column_of(other, &self.called)?;
                let column = self.columns.iter().find(|column| column.name == name)?;
                (!column.is_plain()).then(|| Ident::with_quote('"', name))
            }
        }
    }

    fn replaced(&self, column: &ShownColumn) -> Result<Expr> {
        let Some(mut shown) = column.shown.clone() else {
            let what = format!("the column \"{}\" of a view in a statement that changes its rows", column.name);
            return Err(SqlError::unsupported(what));
        };
        if let Some(qualifier) = &self.qualifier
            && let ControlFlow::Break(error) = shown.visit(&mut Qualification(qualifier))
        {
            return Err(error);
        }
        let is_name = matches!(shown, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        Ok(if is_name { shown } else { Expr::Nested(Box::new(shown)) })
    }
}

struct Replacement<'a> {
    renaming: &'a Renaming<'a>,
    /// How many queries are around.
    depth: usize,
}

impl Replacement<'_> {
    fn replace(&self, expression: &mut Expr) -> Result<()> {
        let renaming = self.renaming;
        let (name, is_qualified) = match &*expression {
            Expr::Identifier(name) => (names::identifier(name), false),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if names::identifier(table) == renaming.called => (names::identifier(name), true),
                [table, name] if names::identifier(table) == "excluded" => {
                    let column = renaming.columns.iter().find(|column| column.name == names::identifier(name));
                    if let Some(column) = column.and_then(|column| column.column.clone()) {
                        *expression = Expr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', column)]);
                    }
                    return Ok(());
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let column = renaming.columns.iter().find(|column| column.name == name);
        let is_hidden = renaming.hidden.contains(&name);
        let unclear = |name: &str| {
            let what = format!("the name \"{name}\" within a query or beside tables, in a change of a view's rows");
            Err(SqlError::unsupported(what))
        };
        match column {
            // The innermost query has names of its own.
            Some(column) if self.depth > 0 && !column.is_plain() => unclear(&name),
            Some(_) if self.depth > 0 => Ok(()),
            None if is_hidden && !is_qualified && (self.depth > 0 || renaming.has_others) => unclear(&name),
            Some(column) => {
                *expression = renaming.replaced(column)?;
                Ok(())
            }
            None if is_hidden || is_qualified => {
                let shown = if is_qualified { format!("{}.{name}", renaming.called) } else { format!("\"{name}\"") };
                Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column {shown} does not exist")))
            }
            None => Ok(()),
        }
    }
}

impl ast::VisitorMut for Replacement<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    /// What was put in is not visited.
    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Self::Break> {
        match self.replace(expression) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// Puts the name of a table before its columns.
struct Qualification<'a>(&'a Ident);

impl ast::VisitorMut for Qualification<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Self::Break> {
        ControlFlow::Break(SqlError::unsupported("a view's column that a query computes, in a change of its rows"))
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Identifier(name) = expression {
            *expression = Expr::CompoundIdentifier(vec![self.0.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}
