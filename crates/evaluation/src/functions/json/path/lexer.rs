//! Tokens of a path.

use values::error::sqlstate;
use values::{Value, ValueError};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PathToken {
    /// A name without quotes.
    Word(String),
    /// In quotes.
    String(String),
    Variable(String),
    /// As it is written.
    Number(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    End,
}

const SYMBOLS: [&str; 29] = [
    "**", "==", "!=", "<>", "<=", ">=", "&&", "||", "$", "@", "*", "<", ">", "!", "(", ")", "[", "]", "{", "}", ".",
    ",", "?", "+", "-", "/", "%", "=", ":",
];

/// All tokens, the end last. Errors: 42601.
pub(super) fn tokens(text: &str) -> Result<Vec<PathToken>, ValueError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or_else(|| syntax("unexpected end of comment", None))?;
            rest = &comment[end + 2..];
            continue;
        }
        let Some(first) = rest.chars().next() else {
            tokens.push(PathToken::End);
            return Ok(tokens);
        };
        let (token, after) = match first {
            '"' => {
                let (string, after) = quoted(rest)?;
                (PathToken::String(string), after)
            }
            '$' if rest[1..].starts_with('"') => {
                let (string, after) = quoted(&rest[1..])?;
                (PathToken::Variable(string), after)
            }
            '$' if rest[1..].starts_with(is_of_word) => {
                let (word, after) = word(&rest[1..])?;
                (PathToken::Variable(word), after)
            }
            '0'..='9' => number(rest)?,
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(rest)?,
            _ => match SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
                Some(symbol) => (PathToken::Symbol(symbol), &rest[symbol.len()..]),
                None => {
                    let (word, after) = word(rest)?;
                    (PathToken::Word(word), after)
                }
            },
        };
        tokens.push(token);
        rest = after;
    }
}

/// 42601, with what is found where it is known.
#[cold]
pub(super) fn syntax(what: &str, found: Option<&str>) -> ValueError {
    let place = found.map_or(" at end".to_string(), |found| format!(" at or near \"{found}\""));
    ValueError::new(sqlstate::SYNTAX_ERROR, format!("{what}{place} of jsonpath input"))
}

fn is_of_word(character: char) -> bool {
    !character.is_ascii_whitespace() && !"?%$.[]{}()|&!=<>@#,*:-+/\"".contains(character)
}

fn number(text: &str) -> Result<(PathToken, &str), ValueError> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent == 0 {
            return Err(syntax("invalid numeric literal", Some(&text[..end + 1])));
        }
        end += 1 + sign + exponent;
    }
    let leading_zero = text[..end].len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit();
    let garbage = text[end..].chars().next().filter(|next| is_of_word(*next));
    match garbage {
        Some(garbage) => {
            let shown = &text[..end + garbage.len_utf8()];
            Err(syntax("trailing junk after numeric literal", Some(shown)))
        }
        None if leading_zero => Err(syntax("trailing junk after numeric literal", Some(&text[..2]))),
        None => Ok((PathToken::Number(text[..end].to_string()), &text[end..])),
    }
}

/// A name, in which a backslash escapes as within quotes.
fn word(text: &str) -> Result<(String, &str), ValueError> {
    let end = text.find(|character| !is_of_word(character)).unwrap_or(text.len());
    if end == 0 {
        return Err(syntax("syntax error", text.get(..1)));
    }
    if text[..end].contains('\\') {
        return Err(ValueError::new(
            sqlstate::FEATURE_NOT_SUPPORTED,
            "an escape in a name of a jsonpath is not supported",
        ));
    }
    Ok((text[..end].to_string(), &text[end..]))
}

/// A string behind its first quote: the escapes are those of JSON, `\v`, `\xHH` and `\u{H...}`.
fn quoted(text: &str) -> Result<(String, &str), ValueError> {
    let mut closed = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => {
                closed = Some(at);
                break;
            }
            _ => {}
        }
    }
    let end = closed.ok_or_else(|| syntax("unterminated quoted string", None))?;
    let (whole, after) = text.split_at(end + 1);
    if ["\\v", "\\x", "\\u{", "\\'"].iter().any(|own| whole.contains(own)) {
        return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this escape of a jsonpath is not supported"));
    }
    // What else there is are the strings of JSON, in which lines may end here.
    let one_line = whole.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    let json = values::json::parse_tree(&one_line)?;
    match super::super::as_text(&json) {
        Value::Text(string) => Ok((string.to_string(), after)),
        _ => Err(syntax("syntax error", Some(whole))),
    }
}
