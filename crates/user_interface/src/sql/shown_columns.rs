//! Columns of a view in the expressions of a statement that changes its rows: what the view shows takes their place.
//!
//! Invariant: a name that could mean something else than a column of the view, or a column that it does not show, is refused.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::names;
use messages::namespace;
use sqlparser::ast::{self, Expr, Ident, ObjectName, SelectItem, TableFactor, Visit, VisitMut};
use std::cell::Cell;
use std::collections::BTreeSet;
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
    /// Bytes of what it computes; 0: it is a column.
    pub bytes: usize,
}

impl ShownColumn {
    /// A column that is one of the table, under the same name.
    pub fn plain(name: &str) -> ShownColumn {
        let shown = Expr::Identifier(Ident::with_quote('"', name));
        ShownColumn { name: name.to_owned(), column: Some(name.to_owned()), shown: Some(shown), bytes: 0 }
    }

    /// A column that the view computes.
    pub fn computed(shown: Option<Expr>) -> ShownColumn {
        let bytes = shown.as_ref().map_or(0, |shown| shown.to_string().len());
        ShownColumn { name: String::new(), column: None, shown, bytes }
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

/// Where names of a view's columns are replaced.
enum RenamedIn<'a> {
    /// In what a view computes, or asks of rows: columns of the table stand alone, and within queries behind the table's name.
    View {
        /// What the table is called there.
        becomes: &'a str,
    },
    /// In a statement, behind the name that it has for the view.
    Statement {
        /// That name.
        qualifier: Ident,
        /// Columns of the table that are none of the view.
        hidden: &'a [String],
        /// What is beside the view.
        beside: Beside,
    },
}

/// What a statement that changes rows of a view has beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing.
    Nothing,
    /// The row that was to be inserted: `excluded`.
    Excluded,
    /// Other tables.
    Tables,
}

/// How names of a view's columns are replaced.
pub(super) struct Renaming<'a> {
    columns: &'a [ShownColumn],
    /// What expressions call the view.
    called: String,
    place: RenamedIn<'a>,
    /// Bytes of computed columns that may still be put in: views of views of views double.
    left: Cell<usize>,
}

impl<'a> Renaming<'a> {
    /// In what a view computes of this one, or asks of its rows: it reads the table that is called so.
    pub fn within(columns: &'a [ShownColumn], called: &str, becomes: &'a str, left: usize) -> Renaming<'a> {
        Renaming { columns, called: called.to_owned(), place: RenamedIn::View { becomes }, left: Cell::new(left) }
    }

    /// In a statement on the view.
    pub fn of_statement(
        columns: &'a [ShownColumn],
        called: &Ident,
        hidden: &'a [String],
        beside: Beside,
        left: usize,
    ) -> Renaming<'a> {
        let place = RenamedIn::Statement { qualifier: called.clone(), hidden, beside };
        Renaming { columns, called: names::identifier(called), place, left: Cell::new(left) }
    }

    /// Bytes of computed columns that may still be put in.
    pub fn left(&self) -> usize {
        self.left.get()
    }

    /// Whether this is the view's name in the statement.
    pub fn is_called(&self, name: &ObjectName) -> bool {
        names::own_column(name).is_ok_and(|name| name == self.called)
    }

    /// Replaces them in all expressions of something. Errors: 42703 for columns that are none of the view, 0A000 for a name whose meaning cannot be told, 54000.
    pub fn apply(&self, tree: &mut (impl Visit + VisitMut)) -> Result<()> {
        let mut inner = InnerNames::default();
        if matches!(self.place, RenamedIn::View { .. }) {
            let _ = Visit::visit(tree, &mut inner);
        }
        match VisitMut::visit(tree, &mut Replacement { renaming: self, inner: inner.names, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// All columns of the view, where nothing else is beside it. Errors: 0A000.
    pub fn all(&self) -> Result<Vec<SelectItem>> {
        match self.place {
            RenamedIn::Statement { beside: Beside::Tables, .. } => {
                Err(SqlError::unsupported("RETURNING * of a view and other tables"))
            }
            _ => self.all_of_view(),
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

    fn has_excluded(&self) -> bool {
        matches!(self.place, RenamedIn::Statement { beside: Beside::Excluded, .. })
    }

    /// Whether a column of the table is none of the view, and whether other tables may have one of this name.
    fn hides(&self, name: &str) -> (bool, bool) {
        match &self.place {
            RenamedIn::View { .. } => (false, false),
            RenamedIn::Statement { hidden, beside, .. } => {
                (hidden.iter().any(|known| known == name), *beside == Beside::Tables)
            }
        }
    }

    /// A column of the row that was to be inserted. Errors: 42703, 0A000 for one that is computed.
    fn excluded(&self, excluded: &Ident, name: &str) -> Result<Expr> {
        let column = self.columns.iter().find(|column| column.name == name);
        let column = column.ok_or_else(|| no_column(&format!("excluded.{name}")))?;
        let Some(own) = &column.column else {
            return Err(SqlError::unsupported(format!("excluded.{name}, which a view computes")));
        };
        Ok(Expr::CompoundIdentifier(vec![excluded.clone(), Ident::with_quote('"', own.as_str())]))
    }

    fn replaced(&self, column: &ShownColumn) -> Result<Expr> {
        let Some(mut shown) = column.shown.clone() else {
            let what = format!("the column \"{}\" of a view in a statement that changes its rows", column.name);
            return Err(SqlError::unsupported(what));
        };
        let left = self.left.get().checked_sub(column.bytes).ok_or_else(|| {
            let message = format!("what the views of a statement compute exceeds {SQL_BYTES_MAX} bytes");
            SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
        })?;
        self.left.set(left);
        if let RenamedIn::Statement { qualifier, .. } = &self.place
            && let ControlFlow::Break(error) = VisitMut::visit(&mut shown, &mut Qualification(qualifier))
        {
            return Err(error);
        }
        let is_name = matches!(shown, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        Ok(if is_name { shown } else { Expr::Nested(Box::new(shown)) })
    }
}

/// What the queries within something call their tables.
#[derive(Default)]
struct InnerNames {
    names: BTreeSet<String>,
}

impl ast::Visitor for InnerNames {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
            _ => None,
        };
        self.names.extend(match (alias, factor) {
            (Some(alias), _) => Some(names::identifier(&alias.name)),
            (None, TableFactor::Table { name, .. }) => {
                names::relation(name).ok().map(|own| namespace::bare(&own.name).to_owned())
            }
            _ => None,
        });
        ControlFlow::Continue(())
    }
}

struct Replacement<'a> {
    renaming: &'a Renaming<'a>,
    /// What the queries within it call their tables.
    inner: BTreeSet<String>,
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
                [table, name] if renaming.has_excluded() && names::identifier(table) == "excluded" => {
                    *expression = renaming.excluded(table, &names::identifier(name))?;
                    return Ok(());
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let column = renaming.columns.iter().find(|column| column.name == name);
        match self.depth {
            0 => self.replace_own(expression, &name, is_qualified, column),
            _ => self.replace_inner(expression, &name, is_qualified, column),
        }
    }

    /// Outside of queries, where nothing but tables beside the view have names of their own.
    fn replace_own(
        &self,
        expression: &mut Expr,
        name: &str,
        is_qualified: bool,
        column: Option<&ShownColumn>,
    ) -> Result<()> {
        if let Some(column) = column {
            *expression = self.renaming.replaced(column)?;
            return Ok(());
        }
        let (is_hidden, has_tables) = self.renaming.hides(name);
        match (is_qualified, is_hidden) {
            (true, _) => Err(no_column(&format!("{}.{name}", self.renaming.called))),
            (false, true) if has_tables => Err(unclear(name)),
            (false, true) => Err(no_column(&format!("\"{name}\""))),
            (false, false) => Ok(()),
        }
    }

    /// Within a query, whose tables have names of their own.
    fn replace_inner(
        &self,
        expression: &mut Expr,
        name: &str,
        is_qualified: bool,
        column: Option<&ShownColumn>,
    ) -> Result<()> {
        let Some(column) = column else {
            let (is_hidden, _) = self.renaming.hides(name);
            return if is_qualified || is_hidden { Err(unclear(name)) } else { Ok(()) };
        };
        match &self.renaming.place {
            RenamedIn::View { becomes } if is_qualified && *becomes != self.renaming.called => {
                let is_own = [self.renaming.called.as_str(), becomes].iter().any(|table| self.inner.contains(*table));
                let column = column.column.as_ref().filter(|_| !is_own).ok_or_else(|| unclear(name))?;
                let parts = [*becomes, column.as_str()].map(|part| Ident::with_quote('"', part));
                *expression = Expr::CompoundIdentifier(parts.to_vec());
                Ok(())
            }
            _ if column.is_plain() => Ok(()),
            _ => Err(unclear(name)),
        }
    }
}

/// 0A000: a name may mean one thing or another.
fn unclear(name: &str) -> Box<SqlError> {
    let what = format!("the name \"{name}\" within a query or beside tables, in a change of a view's rows");
    SqlError::unsupported(what)
}

/// 42703.
fn no_column(shown: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column {shown} does not exist"))
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
