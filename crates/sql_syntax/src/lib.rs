//! SQL text to syntax trees in bounded time, memory and stack.
//!
//! Invariant: whatever the text, parsing ends, after a time that grows with its length, with a tree of bounded depth or a refusal. A tree is walked,
//! cloned and dropped by recursion, so that whoever does it to a deep one does it on a stack that fits ([`on_stack`], [`Deep`]). This crate
//! knows no table, no type and no error of SQL's: whoever parses words what it refuses. In reading order:
//!
//! * `tokens`: how deep a text can become, seen before it is parsed; parentheses that mean nothing;
//! * `dialect`: PostgreSQL's, with a bound on what the parser tries;
//! * `chains`: long chains of AND, OR and UNION as trees that are as deep as the logarithm of their length; the depth of what remains;
//! * `stack`: stacks for deep trees; [`limits`]; [`nestings`], which tests are made of.

mod chains;
mod dialect;
pub mod limits;
pub mod nestings;
mod stack;
mod tokens;

pub use chains::{Depths, balance};
pub use stack::{Deep, on_stack};
pub use tokens::{Refused, bound, tokenize};

use chains::depths;
use dialect::Bounded;
use sqlparser::ast::{Statement, Visit, VisitMut};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A text is nested more deeply than is followed: SQLSTATE 54001.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl TooDeep {
    /// PostgreSQL's message.
    pub const MESSAGE: &str = "stack depth limit exceeded";
    /// PostgreSQL's hint.
    pub const HINT: &str = "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.";
}

/// Has `read` parse tokens, which [`bound`] has seen and found to be at most `depth` deep. Errors: those of `read`, to whom the parser
/// says [`ParserError::RecursionLimitExceeded`] where it gives up; [`TooDeep`].
pub fn parse<T, E>(
    tokens: Vec<TokenWithSpan>,
    depth: usize,
    read: impl FnOnce(&mut Parser) -> Result<T, E>,
) -> Result<Deep<T>, E>
where
    T: Visit + VisitMut,
    E: From<TooDeep>,
{
    on_stack(depth, || {
        let dialect = Bounded::new(PostgreSqlDialect {}, tokens.len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(limits::PARSER_DEPTH_MAX)
            .with_tokens_with_locations(tokens::without_idle_parentheses(tokens));
        // Where the parser tries what a word may be, it may lose the reason for which it gave up.
        let read = read(&mut parser);
        let mut tree = if depth > limits::DEPTH_MAX { read.map_err(|_| E::from(TooDeep))? } else { read? };
        balance(&mut tree);
        let depths = depths(&tree);
        if depths.levels > limits::DEPTH_MAX {
            return Err(TooDeep.into());
        }
        Ok(Deep::new(tree, depths))
    })
}

/// Why a text is no statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// See [`TooDeep`].
    TooDeep,
    /// It is not SQL, in words of the parser.
    Syntax(String),
    /// See [`Refused::Unsupported`].
    Unsupported(&'static str),
}

impl From<TooDeep> for Unread {
    fn from(_: TooDeep) -> Unread {
        Unread::TooDeep
    }
}

impl From<ParserError> for Unread {
    fn from(error: ParserError) -> Unread {
        match error {
            ParserError::RecursionLimitExceeded => Unread::TooDeep,
            other => Unread::Syntax(other.to_string()),
        }
    }
}

/// Parses one statement.
pub fn statement(text: &str) -> Result<Deep<Statement>, Unread> {
    let mut tokens = tokenize(text).map_err(|error| Unread::Syntax(error.to_string()))?;
    let depth = bound(&tokens).map_err(|refused| match refused {
        Refused::TooDeep => Unread::TooDeep,
        Refused::Unsupported(what) => Unread::Unsupported(what),
        Refused::Near(near) => Unread::Syntax(format!("syntax error at or near \"{near}\"")),
    })?;
    while tokens.last().is_some_and(|token| token.token == Token::SemiColon) {
        tokens.pop();
    }
    parse(tokens, depth, |parser| {
        let statement = parser.parse_statement()?;
        match parser.peek_token().token {
            Token::EOF => Ok(statement),
            other => Err(Unread::Syntax(format!("syntax error at or near \"{other}\""))),
        }
    })
}
