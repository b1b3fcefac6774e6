//! DECLARE, FETCH, MOVE and CLOSE, from tokens to what they ask for.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::words::{Words, slice};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::sync::Arc;

/// A cursor that a query is declared for.
#[derive(Clone, Debug)]
pub struct DeclaredCursor {
    /// Its name.
    pub name: String,
    /// Whether it goes backwards: SCROLL, NO SCROLL; none: where PostgreSQL's plan would.
    pub scroll: Option<bool>,
    /// WITH HOLD: it stays when its transaction has committed.
    pub hold: bool,
    /// BINARY: in the simple protocol, too, its rows come in binary.
    pub binary: bool,
    /// The query's text.
    pub query: Arc<str>,
}

/// FETCH or MOVE.
#[derive(Clone, Debug)]
pub struct FetchStatement {
    /// MOVE: no rows are shown.
    pub moves: bool,
    /// Which way.
    pub direction: CursorMove,
    /// The cursor.
    pub cursor: String,
}

/// Where FETCH and MOVE go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorMove {
    /// So many rows on; below zero, back; 0: the row again.
    Forward(i64),
    /// To the end.
    ForwardAll,
    /// To the beginning.
    BackwardAll,
    /// To this row; below zero, from the end.
    Absolute(i64),
    /// To the row so many on.
    Relative(i64),
}

/// Takes the cursor out of `DECLARE ... CURSOR FOR query`, so that the query is left; `None`: it is something else.
pub(super) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Option<DeclaredCursor>> {
    let mut words = Words { text, rest: tokens };
    if !words.skip(&["declare"]) {
        return Ok(None);
    }
    let name = words.name()?;
    let (mut scroll, mut binary) = (None, false);
    loop {
        if words.skip(&["binary"]) {
            binary = true;
        } else if words.skip(&["no"]) {
            words.expect("scroll")?;
            scroll = Some(false);
        } else if words.skip(&["scroll"]) {
            scroll = Some(true);
        } else if !words.skip(&["insensitive", "asensitive"]) {
            break;
        }
    }
    words.expect("cursor")?;
    let mut hold = false;
    if words.skip(&["with"]) {
        hold = true;
        words.expect("hold")?;
    } else if words.skip(&["without"]) {
        words.expect("hold")?;
    }
    words.expect("for")?;
    if words.rest.is_empty() {
        return Err(words.error());
    }
    let kept = tokens.len() - words.rest.len();
    tokens.drain(..kept);
    let query = Arc::from(slice(text, tokens));
    Ok(Some(DeclaredCursor { name, scroll, hold, binary, query }))
}

/// Parses what stands behind FETCH or MOVE.
pub(super) fn fetch(moves: bool, words: &mut Words) -> Result<FetchStatement> {
    let direction = direction(words)?;
    words.skip(&["from", "in"]);
    Ok(FetchStatement { moves, direction, cursor: words.name()? })
}

fn direction(words: &mut Words) -> Result<CursorMove> {
    // A cursor may be called so: then nothing follows.
    let Some(word) = words.peek_keyword().filter(|_| words.rest.len() > 1) else {
        return Ok(count(words)?.map_or(CursorMove::Forward(1), CursorMove::Forward));
    };
    let mut ahead = Words { text: words.text, rest: &words.rest[1..] };
    let direction = match word.as_str() {
        "next" => CursorMove::Forward(1),
        "prior" => CursorMove::Forward(-1),
        "first" => CursorMove::Absolute(1),
        "last" => CursorMove::Absolute(-1),
        "all" => CursorMove::ForwardAll,
        "absolute" => CursorMove::Absolute(count(&mut ahead)?.ok_or_else(|| ahead.error())?),
        "relative" => CursorMove::Relative(count(&mut ahead)?.ok_or_else(|| ahead.error())?),
        "forward" if ahead.skip(&["all"]) => CursorMove::ForwardAll,
        "forward" => CursorMove::Forward(count(&mut ahead)?.unwrap_or(1)),
        "backward" if ahead.skip(&["all"]) => CursorMove::BackwardAll,
        "backward" => CursorMove::Forward(-count(&mut ahead)?.unwrap_or(1)),
        _ => return Ok(CursorMove::Forward(1)),
    };
    words.rest = ahead.rest;
    Ok(direction)
}

/// A whole number with its sign, if one stands there. Errors: 42601 for one that has more than 32 bits.
fn count(words: &mut Words) -> Result<Option<i64>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    let negative = ahead.skip_token(&Token::Minus);
    let signed = negative || ahead.skip_token(&Token::Plus);
    let digits = match ahead.peek() {
        Some(Token::Number(digits, _)) => digits.clone(),
        _ if signed => return Err(ahead.error()),
        _ => return Ok(None),
    };
    let Ok(number) = digits.parse::<i32>() else {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{digits}\"")));
    };
    ahead.advance();
    words.rest = ahead.rest;
    Ok(Some(if negative { -i64::from(number) } else { i64::from(number) }))
}
