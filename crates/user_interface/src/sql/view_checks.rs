//! Check options of views, as the compiler of a statement meets them.

use sqlparser::ast::Expr;

/// What a view asks of rows that are written through it.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    /// The view's name.
    pub view: String,
    /// The condition, over the columns of the table.
    pub condition: Expr,
}
