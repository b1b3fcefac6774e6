//! What is seen of a text before it is parsed.

use crate::limits::{CHAIN_MAX, DIMENSIONS_MAX, NAME_PARTS_MAX};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError, Word};

/// Why tokens are not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Their tree would be too deep: SQLSTATE 54001.
    TooDeep,
    /// They are no SQL, as this token shows.
    Near(String),
    /// They say something that the parser passes over: SQLSTATE 0A000.
    Unsupported(&'static str),
}

/// The tokens, blanks and comments left out.
pub fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    drop_only(&mut tokens);
    unwrap_operators(&mut tokens);
    Ok(tokens)
}

fn is_word(token: Option<&TokenWithSpan>, wanted: &str) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn is_token(token: Option<&TokenWithSpan>, wanted: &Token) -> bool {
    token.is_some_and(|token| token.token == *wanted)
}

/// Where in a query a comma stands, as far as it matters for ONLY.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListedPart {
    /// In no query: in a call, or a list of names.
    Nothing,
    /// In a query, but not among its relations.
    Others,
    /// Among the relations of a query.
    Relations,
}

/// Words behind which relations are listed, and words that end such a list.
const RELATIONS: [&str; 3] = ["from", "using", "update"];
const OTHERS: [&str; 15] = [
    "select",
    "delete",
    "merge",
    "insert",
    "where",
    "set",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "returning",
    "window",
    "union",
    "values",
];

/// Takes ONLY out before a relation, `ONLY t` or `ONLY (t)`, where the parser does not know it: no table inherits from another, so it changes nothing.
fn drop_only(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is_word(Some(token), "only")) {
        return;
    }
    let is_index = is_word(tokens.first(), "create");
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // For each open parenthesis, where the next comma stands, and whether an `ONLY (` opened it.
    let mut open = vec![(ListedPart::Nothing, false)];
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        let (part, _) = open.last().copied().unwrap_or((ListedPart::Nothing, false));
        let is_any = |words: &[&str]| words.iter().any(|word| is_word(Some(&token), word));
        let before = kept.last();
        let is_behind = |words: &[&str]| words.iter().any(|word| is_word(before, word));
        let is_of_relation = part != ListedPart::Nothing && is_behind(&["from", "join", "update", "using", "into"])
            || part == ListedPart::Relations && is_token(before, &Token::Comma)
            || is_index && is_behind(&["on"]);
        if is_of_relation && is_word(Some(&token), "only") {
            let is_named = |next: Option<&TokenWithSpan>| {
                matches!(next.map(|next| &next.token), Some(Token::Word(_))) && !is_word(next, "only")
            };
            if is_named(rest.peek()) {
                continue;
            }
            if rest.next_if(|next| next.token == Token::LParen).is_some() {
                open.push((part, true));
                continue;
            }
        }
        match token.token {
            Token::LParen => open.push((ListedPart::Nothing, false)),
            Token::RParen if open.len() > 1 => {
                let closed = open.pop();
                if closed == Some((part, true)) {
                    continue;
                }
            }
            Token::Word(_) if is_any(&RELATIONS) => {
                let is_query = part != ListedPart::Nothing || is_word(Some(&token), "update");
                if let Some(last) = open.last_mut().filter(|_| is_query) {
                    last.0 = ListedPart::Relations;
                }
            }
            Token::Word(_) if is_any(&OTHERS) => {
                if let Some(last) = open.last_mut() {
                    last.0 = ListedPart::Others;
                }
            }
            _ => {}
        }
        kept.push(token);
    }
    *tokens = kept;
}

/// `column OPERATOR(pg_catalog.=) ANY` as `column = ANY`: the parser does not know the one. It binds as tightly as the other only where nothing but a
/// column stands before it.
fn unwrap_operators(tokens: &mut Vec<TokenWithSpan>) {
    let is_wrapped = |seven: &[TokenWithSpan]| {
        is_word(seven.first(), "operator")
            && is_token(seven.get(1), &Token::LParen)
            && is_word(seven.get(2), "pg_catalog")
            && is_token(seven.get(3), &Token::Period)
            && is_token(seven.get(5), &Token::RParen)
            && ["any", "all", "some"].iter().any(|word| is_word(seven.get(6), word))
    };
    if !tokens.windows(7).any(is_wrapped) {
        return;
    }
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let wrapped = tokens.get(at..at + 7).is_some_and(is_wrapped) && is_behind_column(&kept);
        kept.push(tokens[if wrapped { at + 4 } else { at }].clone());
        at += if wrapped { 6 } else { 1 };
    }
    *tokens = kept;
}

/// Whether what ends here is a column by itself: a name behind a word that begins a condition, or behind a parenthesis or a comma.
fn is_behind_column(tokens: &[TokenWithSpan]) -> bool {
    let mut names = tokens.iter().rev();
    loop {
        if !matches!(names.next().map(|token| &token.token), Some(Token::Word(_))) {
            return false;
        }
        match names.next() {
            Some(before) if before.token == Token::Period => {}
            Some(before) => {
                return matches!(before.token, Token::LParen | Token::Comma)
                    || ["where", "and", "or", "on", "when", "select", "having"]
                        .iter()
                        .any(|word| is_word(Some(before), word));
            }
            None => return false,
        }
    }
}

/// An upper bound of how deep the tree of these tokens, as it is parsed, can be. Between two commas of one pair of parentheses an operator adds a level;
/// what encloses them adds its own, and each parenthesis one.
pub fn bound(tokens: &[TokenWithSpan]) -> Result<usize, Refused> {
    let mut open: Vec<usize> = Vec::new();
    let (mut outside, mut here, mut deepest) = (0usize, 0usize, 0usize);
    let (mut parts, mut dimensions) = (0, 0);
    let mut before: Option<&Token> = None;
    for (place, token) in tokens.iter().enumerate() {
        if has_junk(token, tokens.get(place + 1)) {
            return Err(Refused::Near(token.token.to_string()));
        }
        let token = &token.token;
        match token {
            Token::LParen | Token::LBracket => {
                open.push(here);
                outside += here + 1;
                here = 0;
            }
            Token::RParen | Token::RBracket => {
                if let Some(enclosing) = open.pop() {
                    here = enclosing;
                    outside -= here + 1;
                }
            }
            Token::Comma => here = 0,
            Token::SemiColon => {
                open.clear();
                (outside, here) = (0, 0);
            }
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) | Token::Period => {}
            Token::Word(word) if !is_connective(word) => {}
            _ => here += 1,
        }
        // The parser follows INTERVAL into what is behind it without counting how deep it is.
        if is_interval(token) && before.is_some_and(is_interval) {
            return Err(Refused::Near(token.to_string()));
        }
        if is_interval(token) && has_precision(&tokens[place + 1..]) {
            return Err(Refused::Unsupported("a literal of interval(n) is not supported: seconds have six decimals"));
        }
        if is_exclusion(&tokens[..place], token, &tokens[place + 1..]) {
            return Err(Refused::Unsupported("an EXCLUDE constraint is not supported"));
        }
        parts = match token {
            Token::Period => parts + 1,
            Token::Word(_) if before == Some(&Token::Period) => parts,
            Token::LBracket | Token::RBracket | Token::LParen | Token::RParen | Token::Number(..) => parts,
            _ => 0,
        };
        if parts >= NAME_PARTS_MAX {
            return Err(Refused::Near(".".to_owned()));
        }
        dimensions = match token {
            Token::RBracket if before == Some(&Token::LBracket) => dimensions + 1,
            Token::LBracket | Token::RBracket | Token::Number(..) => dimensions,
            _ => 0,
        };
        deepest = deepest.max(outside + here);
        if deepest > CHAIN_MAX || dimensions > DIMENSIONS_MAX {
            return Err(Refused::TooDeep);
        }
        before = Some(token);
    }
    Ok(deepest)
}

/// Whether a number goes on as no number does: `0.0e`, `1a`, `10L`.
fn has_junk(number: &TokenWithSpan, next: Option<&TokenWithSpan>) -> bool {
    let length = number.span.end.column.saturating_sub(number.span.start.column);
    let (digits, is_long) = match &number.token {
        Token::Number(digits, is_long) => (digits, is_long),
        Token::Placeholder(name) => {
            return name.starts_with('$') && !name[1..].bytes().all(|digit| digit.is_ascii_digit());
        }
        // `0x1f`, which PostgreSQL 15 has not; `x'1f'` is longer.
        Token::HexStringLiteral(digits) => return length == digits.len() as u64 + 2,
        _ => return false,
    };
    let is_word = |next: &TokenWithSpan| matches!(next.token, Token::Word(_)) && next.span.start == number.span.end;
    *is_long || digits.contains('_') || next.is_some_and(is_word)
}

/// `(n) '...'`: behind INTERVAL the parser takes the parentheses for something else.
fn has_precision(rest: &[TokenWithSpan]) -> bool {
    let is_text = |token: &Token| matches!(token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_));
    match rest {
        [open, number, close, text, ..] => {
            open.token == Token::LParen
                && matches!(number.token, Token::Number(..))
                && close.token == Token::RParen
                && is_text(&text.token)
        }
        _ => false,
    }
}

/// `EXCLUDE USING method` where a constraint begins: the parser does not know it. A relation may be called so, too.
fn is_exclusion(before: &[TokenWithSpan], token: &Token, rest: &[TokenWithSpan]) -> bool {
    let is = |token: &Token, keyword: Keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
    let is_named = |next: &TokenWithSpan| matches!(next.token, Token::Word(_));
    let is_constraint = match before {
        [.., word, name] if is(&word.token, Keyword::CONSTRAINT) && is_named(name) => true,
        [.., last] => matches!(last.token, Token::LParen | Token::Comma) || is(&last.token, Keyword::ADD),
        [] => false,
    };
    is_constraint
        && is(token, Keyword::EXCLUDE)
        && rest.first().is_some_and(|next| is(&next.token, Keyword::USING))
        && rest.get(1).is_some_and(is_named)
}

fn is_interval(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == Keyword::INTERVAL)
}

/// Words that make a syntax tree deeper without a parenthesis.
fn is_connective(word: &Word) -> bool {
    use Keyword::*;
    matches!(
        word.keyword,
        AND | OR
            | NOT
            | IS
            | NOTNULL
            | LIKE
            | ILIKE
            | SIMILAR
            | BETWEEN
            | IN
            | UNION
            | EXCEPT
            | INTERSECT
            | JOIN
            | COLLATE
            | CASE
            | AT
            | OPERATOR
            | EXPLAIN
    )
}

/// Leaves out pairs of parentheses that stand directly within another pair and directly around a third: they mean nothing anywhere. A single pair and
/// a pair of pairs may: `VALUES ((1, 2))` has one column, `VALUES (1, 2)` two.
pub(crate) fn without_idle_parentheses(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut open: Vec<usize> = Vec::new();
    // Where the parenthesis that is opened here is closed; itself for everything else.
    let mut partner: Vec<usize> = (0..tokens.len()).collect();
    for (place, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => open.push(place),
            Token::RParen => {
                if let Some(opened) = open.pop() {
                    partner[opened] = place;
                }
            }
            _ => {}
        }
    }
    let encloses = |outer: usize, inner: usize| {
        partner[outer] > outer && partner[inner] > inner && partner[outer] == partner[inner] + 1
    };
    let mut is_idle = vec![false; tokens.len()];
    for place in 1..tokens.len().saturating_sub(1) {
        if encloses(place - 1, place) && encloses(place, place + 1) {
            is_idle[place] = true;
            is_idle[partner[place]] = true;
        }
    }
    let mut place = 0;
    tokens.retain(|_| {
        place += 1;
        !is_idle[place - 1]
    });
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relation would not be found, a parenthesis would be missing, or a long statement would take its square.
    #[test]
    fn only_goes_where_it_says_nothing() {
        let read = |text: &str| {
            let tokens = tokenize(text).expect(text);
            tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
        };
        for (text, wanted) in [
            ("select * from only t", "select * from t"),
            ("select * from only (t) x, only (s.u) where (a)", "select * from t x , s . u where ( a )"),
            ("select (select 1 from only (t)) from u join only v", "select ( select 1 from t ) from u join v"),
            ("update only t set a = 1", "update t set a = 1"),
            ("truncate a, only b", "truncate a , only b"),
            ("delete from only a using only b where c in (1, 2)", "delete from a using b where c in ( 1 , 2 )"),
            ("merge into only a using only (b) on true", "merge into a using b on true"),
            ("create index on only a (b)", "create index on a ( b )"),
            (
                "with w as (select 1 from x, only a) select 1 from w, only a",
                "with w as ( select 1 from x , a ) select 1 from w , a",
            ),
            ("select 1, only 2", "select 1 , only 2"),
            ("select extract(year from only date '2020-01-01')", "select extract ( year from only date '2020-01-01' )"),
            ("select 1 from only only t", "select 1 from only only t"),
            (
                "select 1 from a where true = b operator(pg_catalog.=) any (c)",
                "select 1 from a where true = b operator ( pg_catalog . = ) any ( c )",
            ),
            ("select 1 from a where x.b operator(pg_catalog.=) any (c)", "select 1 from a where x . b = any ( c )"),
            ("select a from t fetch first 2 rows only", "select a from t fetch first 2 rows only"),
            ("select 1 from \"only\"", "select 1 from \"only\""),
            ("a operator(pg_catalog.=) b", "a operator ( pg_catalog . = ) b"),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
        let long = format!("select 1 from a{}", ", only a".repeat(100_000));
        assert_eq!(tokenize(&long).expect("tokens").len(), 200_004);
    }

    /// A table that is called so could not be named.
    #[test]
    fn exclude_is_a_name_as_well() {
        let is_refused = |text: &str| matches!(bound(&tokenize(text).expect(text)), Err(Refused::Unsupported(_)));
        for text in [
            "create table t (exclude using gist (a with &&))",
            "alter table t add constraint c exclude using gist (a with =)",
        ] {
            assert!(is_refused(text), "{text}");
        }
        for text in [
            "delete from exclude using b",
            "create index on exclude using btree (a)",
            "merge into exclude using b on true",
        ] {
            assert!(!is_refused(text), "{text}");
        }
    }
}
