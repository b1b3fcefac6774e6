//! What statements are that no client has written.

/// What is special about a statement of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementForm {
    /// Nothing.
    Plain,
    /// It was `replace` of QUEL, which gives no row two values.
    Replace,
    /// It is one of those that a statement with triggers is made of: its names are the catalog's, and it fires none.
    RowChange,
}
