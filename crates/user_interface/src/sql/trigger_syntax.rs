//! Arguments of a trigger's function, where the parser looks for types.
//!
//! Invariant: each argument becomes a name in quotes, which the parser takes for that of a type. The statement stays a tree of the parser's.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::words::is;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Has the parser read the arguments of CREATE TRIGGER as names. What is none is left for it to refuse.
pub(super) fn arguments_as_names(tokens: &mut [TokenWithSpan]) {
    let is = |place: usize, word: &str| is(tokens.get(place), word);
    let begins = is(0, "create") && (1..4).any(|place| is(place, "trigger"));
    let executes = |place: &usize| is(*place, "execute") && (is(place + 1, "function") || is(place + 1, "procedure"));
    let Some(execute) = (0..tokens.len()).find(executes).filter(|_| begins) else { return };
    let Some(open) = tokens[execute..].iter().position(|token| token.token == Token::LParen) else { return };
    for token in &mut tokens[execute + open + 1..] {
        let value = match &token.token {
            Token::Number(digits, _) => digits.clone(),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
                text.clone()
            }
            Token::DollarQuotedString(text) => text.value.clone(),
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
            Token::RParen => break,
            _ => continue,
        };
        let keyword = sqlparser::keywords::Keyword::NoKeyword;
        token.token = Token::Word(Word { value, quote_style: Some('"'), keyword });
    }
}

/// Errors: 0A000 for a name of a row in REFERENCING.
pub(super) fn check_referencing(tokens: &[TokenWithSpan]) -> Result<()> {
    let begins = is(tokens.first(), "create") && (1..4).any(|place| is(tokens.get(place), "trigger"));
    let Some(place) = tokens.iter().position(|token| is(Some(token), "referencing")).filter(|_| begins) else {
        return Ok(());
    };
    let mut rest = &tokens[place + 1..];
    while is(rest.first(), "old") || is(rest.first(), "new") {
        if is(rest.get(1), "row") {
            let message = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        let length = if is(rest.get(2), "as") { 4 } else { 3 };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// What an argument says. Errors: 42601 for what is none.
pub(super) fn argument(parsed: &ast::OperateFunctionArg) -> Result<String> {
    match (&parsed.data_type, &parsed.name, &parsed.mode, &parsed.default_expr) {
        (ast::DataType::Custom(name, modifiers), None, None, None) if modifiers.is_empty() => match name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(name)] => Ok(name.value.clone()),
            _ => Err(SqlError::syntax(".")),
        },
        (other, ..) => Err(SqlError::syntax(other.to_string())),
    }
}
