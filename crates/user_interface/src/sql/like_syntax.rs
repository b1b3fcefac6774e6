//! LIKE among the columns of CREATE TABLE, taken out of the text before the parser sees it: that knows it alone in its parentheses only.

use crate::errors::Result;
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names;
use crate::sql::places::unexpected;
use crate::sql::words::{Words, is};
use messages::schema::TableSchema;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One LIKE.
#[derive(Clone, Debug)]
pub struct LikeClause {
    /// How many columns stand before it.
    pub behind: usize,
    /// The table, view or materialized view whose columns are copied.
    pub table: String,
    /// What else of it is copied.
    pub copies: LikeCopies,
}

/// What is copied beside names, types and NOT NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LikeCopies {
    /// What is said of columns and constraints.
    pub comments: bool,
    /// CHECK.
    pub constraints: bool,
    /// Defaults.
    pub defaults: bool,
    /// What columns are computed by.
    pub generated: bool,
    /// Identities, each with a sequence of its own.
    pub identity: bool,
    /// Keys and indexes.
    pub indexes: bool,
}

impl LikeCopies {
    /// Errors: nothing is called so.
    fn set(&mut self, word: &str, is_included: bool) -> Option<()> {
        let one = match word {
            "all" => {
                let all = is_included;
                *self = LikeCopies {
                    comments: all,
                    constraints: all,
                    defaults: all,
                    generated: all,
                    identity: all,
                    indexes: all,
                };
                return Some(());
            }
            "comments" => &mut self.comments,
            "constraints" => &mut self.constraints,
            "defaults" => &mut self.defaults,
            "generated" => &mut self.generated,
            "identity" => &mut self.identity,
            "indexes" => &mut self.indexes,
            // There is nothing of these.
            "compression" | "statistics" | "storage" => return Some(()),
            _ => return None,
        };
        *one = is_included;
        Some(())
    }
}

/// A table whose columns stand in another one now.
pub(super) struct CopiedColumns {
    pub from: Arc<TableSchema>,
    pub clause: LikeClause,
    /// Where its columns are, by where they were.
    pub places: BTreeMap<usize, usize>,
}

impl CopiedColumns {
    /// Whether all columns are where they were.
    pub fn is_in_place(&self) -> bool {
        self.places.iter().all(|(from, to)| from == to)
    }

    /// Where columns are now.
    pub fn moved(&self, columns: &[usize]) -> Option<Vec<usize>> {
        columns.iter().map(|column| self.places.get(column).copied()).collect()
    }
}

impl LikeClause {
    /// The same with the catalog's name.
    pub(super) fn qualified(&self, lookup: &NameLookup) -> Result<LikeClause> {
        let table = lookup.existing(NameKind::Relation, &self.table)?;
        lookup.check_reachable(&table)?;
        Ok(LikeClause { table, ..self.clone() })
    }
}

/// Where the columns of CREATE TABLE begin, behind the parenthesis.
fn columns_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    if !is(tokens.first(), "create") {
        return None;
    }
    let words = ["temp", "temporary", "local", "global", "unlogged"];
    let mut at = 1;
    while words.iter().any(|word| is(tokens.get(at), word)) {
        at += 1;
    }
    if !is(tokens.get(at), "table") {
        return None;
    }
    at += 1;
    if is(tokens.get(at), "if") {
        at += 3;
    }
    // The name, perhaps with its schema.
    at += 1;
    while matches!(tokens.get(at).map(|token| &token.token), Some(Token::Period)) {
        at += 2;
    }
    matches!(tokens.get(at).map(|token| &token.token), Some(Token::LParen)).then_some(at + 1)
}

/// Takes all LIKEs out of CREATE TABLE. Errors: 42601.
pub(super) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<LikeClause>> {
    let Some(first) = columns_of(tokens) else { return Ok(Vec::new()) };
    let (mut found, mut taken) = (Vec::new(), Vec::new());
    let (mut depth, mut begin, mut columns) = (0_usize, first, 0);
    for at in first..tokens.len() {
        let ends = match &tokens[at].token {
            Token::LParen => {
                depth += 1;
                false
            }
            Token::RParen if depth == 0 => true,
            Token::RParen => {
                depth -= 1;
                false
            }
            Token::Comma => depth == 0,
            _ => false,
        };
        if !ends {
            continue;
        }
        let is_last = tokens[at].token == Token::RParen;
        if begin == at && (!found.is_empty() || columns > 0) {
            return Err(unexpected(&tokens[at], text));
        }
        if is(tokens.get(begin), "like") {
            found.push(clause(text, &tokens[begin + 1..at], &tokens[at], columns)?);
            taken.push((begin, at));
        } else if begin < at {
            let constraints = ["constraint", "primary", "unique", "check", "foreign", "exclude"];
            columns += usize::from(!constraints.iter().any(|word| is(tokens.get(begin), word)));
        }
        begin = at + 1;
        if is_last {
            break;
        }
    }
    for (begin, end) in taken.into_iter().rev() {
        // One comma goes along: that behind it, or the one before the last.
        match tokens[end].token {
            Token::Comma => drop(tokens.drain(begin..=end)),
            _ if begin > first => drop(tokens.drain(begin - 1..end)),
            _ => drop(tokens.drain(begin..end)),
        }
    }
    Ok(found)
}

/// `table [INCLUDING | EXCLUDING what] ...`.
fn clause(text: &str, tokens: &[TokenWithSpan], behind: &TokenWithSpan, columns: usize) -> Result<LikeClause> {
    let mut words = Words { text, rest: tokens };
    let at_end = |words: &Words| match words.peek() {
        Some(_) => words.error(),
        None => unexpected(behind, text),
    };
    if words.peek().is_none() {
        return Err(at_end(&words));
    }
    let first = words.name()?;
    let table = match words.skip_token(&Token::Period) {
        true => names::written(&first, &words.name()?),
        false => first,
    };
    let mut copies = LikeCopies::default();
    while words.peek().is_some() {
        let is_included = words.peek_is("including");
        if !is_included && !words.peek_is("excluding") {
            return Err(words.error());
        }
        words.advance();
        let word = words.peek_keyword();
        if word.and_then(|word| copies.set(&word, is_included)).is_none() {
            return Err(at_end(&words));
        }
        words.advance();
    }
    Ok(LikeClause { behind: columns, table, copies })
}
