//! DO: its text and its language.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::words::Words;
use std::sync::Arc;

/// DO.
#[derive(Clone, Debug)]
pub struct DoStatement {
    /// LANGUAGE.
    pub language: Option<String>,
    /// The text.
    pub body: Arc<str>,
}

/// DO, behind that word: text and language in either order.
pub(super) fn parse_do(words: &mut Words) -> Result<DoStatement> {
    let (mut language, mut body) = (None, None);
    while words.peek().is_some() {
        if words.skip(&["language"]) {
            if language.is_some() {
                return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
            }
            let quoted = words.string().ok();
            language = Some(quoted.map_or_else(|| words.name(), Ok)?);
        } else {
            if body.is_some() {
                return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
            }
            body = Some(Arc::from(words.quoted_text()?));
        }
    }
    match body {
        Some(body) => Ok(DoStatement { language, body }),
        None if language.is_some() => Err(SqlError::new(sqlstate::SYNTAX_ERROR, "no inline code specified")),
        None => Err(words.error()),
    }
}
