//! Forms of PostgreSQL's grammar that the parser has in another form only: `FETCH FIRST (n) ROWS ONLY`, options of an identity in any order, a text as the bound of a
//! window's frame.
//!
//! Invariant: a statement means the same in the other form, and places of tokens stay.

use crate::sql::words::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens in the forms that the parser has.
pub(super) fn known(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 0..tokens.len() {
        if is(tokens.get(at), "identity") {
            order_options(&mut tokens, at + 1);
        }
    }
    let has = |word: &str| tokens.iter().any(|token| is(Some(token), word));
    if has("fetch") {
        tokens = limits(&tokens);
    }
    let has = |word: &str| tokens.iter().any(|token| is(Some(token), word));
    if has("preceding") || has("following") {
        tokens = bounds(&tokens);
    }
    tokens
}

fn of(token: Token, like: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token, span: like.span }
}

/// Where what is opened at a place is closed.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `FETCH FIRST (n) ROWS ONLY` as `FETCH FIRST n ROWS ONLY`, or as `LIMIT (...)` where it is more than a number.
fn limits(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut all = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        match counted(tokens, at) {
            // A number alone needs no parentheses.
            Some(close) if close == at + 4 => {
                all.extend([&tokens[at], &tokens[at + 1], &tokens[at + 3]].map(Clone::clone));
                at = close + 1;
            }
            Some(close) if is(tokens.get(close + 2), "only") => {
                all.push(of(Token::make_keyword("LIMIT"), &tokens[at]));
                all.extend_from_slice(&tokens[at + 2..=close]);
                at = close + 3;
            }
            _ => {
                all.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    all
}

/// Where the number in parentheses ends, of a FETCH that begins there.
fn counted(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let is_any = |at: usize, words: [&str; 2]| words.iter().any(|word| is(tokens.get(at), word));
    if !is(tokens.get(at), "fetch") || !is_any(at + 1, ["first", "next"]) {
        return None;
    }
    tokens.get(at + 2).filter(|token| token.token == Token::LParen)?;
    let close = closing(tokens, at + 2)?;
    is_any(close + 1, ["row", "rows"]).then_some(close)
}

/// A bound of a frame that begins with a text, in parentheses: `RANGE BETWEEN ('1 day'::interval) PRECEDING`.
fn bounds(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut all = Vec::with_capacity(tokens.len() + 4);
    let mut in_frame = false;
    let mut open: Option<(usize, usize)> = None;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let is_word = |word: &str| is(Some(token), word);
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.saturating_sub(1);
                in_frame = false;
            }
            _ => {}
        }
        let is_end = is_word("preceding") || is_word("following");
        if let Some((place, _)) = open.filter(|(_, own)| is_end && *own == depth) {
            all.insert(place, of(Token::LParen, &tokens[at - 1]));
            all.push(of(Token::RParen, &tokens[at - 1]));
            open = None;
        }
        let is_begin = ["range", "rows", "groups"].iter().any(|word| is_word(word));
        in_frame |= is_begin;
        let begins_bound = is_begin || is_word("between") || is_word("and");
        all.push(token.clone());
        let is_text = matches!(tokens.get(at + 1).map(|next| &next.token), Some(Token::SingleQuotedString(_)));
        if in_frame && begins_bound && is_text {
            open = Some((all.len(), depth));
        }
    }
    all
}

/// The words that begin an option of a sequence, in the order in which the parser reads them; `NO` belongs to the word behind it.
const OPTIONS: [&str; 6] = ["increment", "minvalue", "maxvalue", "start", "cache", "cycle"];

/// Puts options behind IDENTITY in the parser's order. What it does not know stays as it is.
fn order_options(tokens: &mut [TokenWithSpan], open: usize) {
    if tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    let Some(close) = closing(tokens, open) else { return };
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let mut negation = None;
    for token in &tokens[open + 1..close] {
        if is(Some(token), "no") {
            negation = Some(token.clone());
            continue;
        }
        match OPTIONS.iter().position(|word| is(Some(token), word)) {
            Some(place) => options.push((place, negation.take().into_iter().chain([token.clone()]).collect())),
            None => match options.last_mut() {
                Some((_, option)) if negation.is_none() => option.push(token.clone()),
                _ => return,
            },
        }
    }
    let mut places: Vec<usize> = options.iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    places.dedup();
    // Of an option that is there twice the parser says what PostgreSQL says.
    if negation.is_some() || places.len() < options.len() {
        return;
    }
    options.sort_by_key(|(place, _)| *place);
    let ordered = options.into_iter().flat_map(|(_, option)| option);
    tokens[open + 1..close].iter_mut().zip(ordered).for_each(|(slot, token)| *slot = token);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let tokens = known(sql_syntax::tokenize(text).expect(text));
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// A statement that PostgreSQL knows would be refused, or another one be changed.
    #[test]
    fn other_forms_become_known_ones() {
        for (text, wanted) in [
            ("select 1 fetch first (1 + (2)) rows only", "select 1 LIMIT ( 1 + ( 2 ) )"),
            ("select 1 offset (1) rows fetch next (2) row only", "select 1 offset ( 1 ) rows fetch next 2 row only"),
            ("select 1 fetch first (2) rows with ties", "select 1 fetch first 2 rows with ties"),
            ("select 1 fetch first (a + b) rows with ties", "select 1 fetch first ( a + b ) rows with ties"),
            ("select 1 fetch first 2 rows only", "select 1 fetch first 2 rows only"),
            ("fetch first from c", "fetch first from c"),
            (
                "a over (order by b range between '1 d'::interval preceding and '2 d' following)",
                "a over ( order by b range between ( '1 d' :: interval ) preceding and ( '2 d' ) following )",
            ),
            ("a over (order by b rows 1 preceding) and 'x'", "a over ( order by b rows 1 preceding ) and 'x'"),
            (
                "identity (start with 42 no minvalue increment by 3 no cycle)",
                "identity ( increment by 3 no minvalue start with 42 no cycle )",
            ),
            ("identity (start 1 start 2)", "identity ( start 1 start 2 )"),
            ("identity (sequence name s)", "identity ( sequence name s )"),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }
}
