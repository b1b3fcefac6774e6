//! Tokens that depend on the next one: the grammar looks one token ahead only, so that NOT before IN and the like are tokens of their own. Escapes of
//! `U&'..'` are read here, for UESCAPE follows the string.

use super::escapes::unescape;
use super::{FAILED, Scanned, Token, cut};
use crate::error::SyntaxError;
use crate::tables::symbols as g;

pub(super) fn filter(text: &str, mut scanned: Scanned) -> Scanned {
    let tokens = &mut scanned.tokens;
    let (mut read, mut kept) = (0, 0);
    while read < tokens.len() {
        let mut token = tokens[read];
        let next = tokens.get(read + 1).map_or(g::END_OF_TEXT, |token| token.kind);
        read += 1;
        match (token.kind, next) {
            (g::NOT, g::BETWEEN | g::IN_P | g::LIKE | g::ILIKE | g::SIMILAR) => token.kind = g::NOT_LA,
            (g::NULLS_P, g::FIRST_P | g::LAST_P) => token.kind = g::NULLS_LA,
            (g::WITH, g::TIME | g::ORDINALITY) => token.kind = g::WITH_LA,
            // The next token is looked at before this one is given to the parser.
            (g::NOT | g::NULLS_P | g::WITH | g::UIDENT | g::USCONST, FAILED) => token.kind = FAILED,
            (g::UIDENT | g::USCONST, _) => {
                let following = if next == g::UESCAPE { tokens.get(read + 1).copied() } else { None };
                if following.is_some_and(|token| token.kind == FAILED) {
                    token.kind = FAILED;
                } else {
                    let escape = match next {
                        g::UESCAPE => escape_of(text, &scanned.texts, following),
                        _ => Ok('\\'),
                    };
                    let content = &scanned.texts[token.value as usize];
                    match escape.and_then(|escape| unescape(content, escape, token.at)) {
                        Ok(content) => {
                            let is_name = token.kind == g::UIDENT;
                            scanned.texts[token.value as usize] =
                                if is_name { cut(content, &mut scanned.notices) } else { content };
                            token.kind = if is_name { g::IDENT } else { g::SCONST };
                            if let Some(following) = following {
                                token.end = following.end;
                                read += 2;
                            }
                        }
                        Err(error) => {
                            scanned.failure = Some(error);
                            token.kind = FAILED;
                        }
                    }
                }
            }
            _ => {}
        }
        tokens[kept] = token;
        kept += 1;
        if token.kind == FAILED {
            break;
        }
    }
    tokens.truncate(kept);
    scanned
}

/// What stands behind UESCAPE: a string of one character that means nothing else in escapes.
fn escape_of(text: &str, texts: &[String], token: Option<Token>) -> Result<char, SyntaxError> {
    let (at, end) = token.map_or((text.len(), text.len()), |token| (token.at as usize, token.end as usize));
    let Some(token) = token.filter(|token| token.kind == g::SCONST) else {
        let message = "UESCAPE must be followed by a simple string literal";
        return Err(SyntaxError::near(message, text, at, end));
    };
    let mut characters = texts[token.value as usize].chars();
    match (characters.next(), characters.next()) {
        (Some(escape), None)
            if escape.is_ascii()
                && !escape.is_ascii_hexdigit()
                && !matches!(escape, '+' | '\'' | '"' | ' ' | '\t' | '\n' | '\r' | '\x0c') =>
        {
            Ok(escape)
        }
        _ => Err(SyntaxError::near("invalid Unicode escape character", text, at, end)),
    }
}
