//! FOR UPDATE and the like as the parser knows them: one strength for each kind of lock, one table each, behind LIMIT.
//!
//! Invariant: tokens are moved, left out or repeated, never made of text that the client has not sent; the places in them stay.

use crate::sql::words::is;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::Range;

/// A locking clause.
struct LockingClause {
    /// All of it.
    place: Range<usize>,
    /// `FOR UPDATE`, `FOR SHARE`.
    strength: [TokenWithSpan; 2],
    /// The names behind OF, without commas.
    tables: Vec<TokenWithSpan>,
    of: Option<TokenWithSpan>,
    /// `NOWAIT`, `SKIP LOCKED`.
    wait: Vec<TokenWithSpan>,
}

/// The tokens with locking clauses that the parser knows. `FOR NO KEY UPDATE` and `FOR KEY SHARE` are the stronger `FOR UPDATE` and `FOR SHARE`: a lock is one of a whole
/// row. `OF a, b` is a clause for each. A LIMIT, OFFSET or FETCH behind them stands before them.
pub fn plain(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !(0..tokens.len()).any(|at| clause_at(&tokens, at).is_some()) {
        return tokens;
    }
    let mut all = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let Some(clause) = clause_at(&tokens, at) else {
            all.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let mut plain = Vec::new();
        let mut end = clause.place.end;
        clause.write(&mut plain);
        while let Some(next) = clause_at(&tokens, end) {
            end = next.place.end;
            next.write(&mut plain);
        }
        let names_table = plain.iter().any(|token| is(Some(token), "of"));
        if !names_table && locks_nothing(&tokens[..at]) {
            plain.clear();
        }
        let limits = limits_at(&tokens, end);
        if clause_at(&tokens, limits.end).is_some() && !limits.is_empty() {
            // Locks stand on one side of LIMIT: the parser refuses it.
            all.extend_from_slice(&tokens[at..=limits.end]);
            at = limits.end + 1;
            continue;
        }
        at = limits.end;
        all.extend_from_slice(&tokens[limits]);
        all.append(&mut plain);
    }
    all
}

impl LockingClause {
    fn write(self, tokens: &mut Vec<TokenWithSpan>) {
        let Some(of) = self.of else {
            tokens.extend(self.strength);
            return tokens.extend(self.wait);
        };
        for table in self.tables {
            tokens.extend(self.strength.iter().cloned().chain([of.clone(), table]).chain(self.wait.iter().cloned()));
        }
    }
}

/// Whether the SELECT before a clause has no FROM: there is nothing to lock.
fn locks_nothing(before: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in before.iter().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            _ if ["from", "values", "union", "except", "intersect"].iter().any(|word| is(Some(token), word)) => {
                return false;
            }
            _ if is(Some(token), "select") => return true,
            _ => {}
        }
    }
    false
}

fn clause_at(tokens: &[TokenWithSpan], at: usize) -> Option<LockingClause> {
    let word = |at: usize, word: &str| is(tokens.get(at), word);
    if !word(at, "for") {
        return None;
    }
    let after_no = at + 1 + usize::from(word(at + 1, "no"));
    let behind = after_no + usize::from(word(after_no, "key"));
    // NO stands before KEY UPDATE alone, and KEY SHARE without it.
    let is_strength = match (after_no > at + 1, behind > after_no) {
        (true, true) => word(behind, "update"),
        (false, true) => word(behind, "share"),
        (false, false) => word(behind, "update") || word(behind, "share"),
        (true, false) => false,
    };
    if !is_strength {
        return None;
    }
    let strength = [tokens[at].clone(), tokens[behind].clone()];
    let mut end = behind + 1;
    let (mut of, mut tables) = (None, Vec::new());
    if word(end, "of") && is_name(tokens.get(end + 1)) && !is_dot(tokens.get(end + 2)) {
        of = Some(tokens[end].clone());
        tables.push(tokens[end + 1].clone());
        end += 2;
        while tokens.get(end).is_some_and(|token| token.token == Token::Comma)
            && is_name(tokens.get(end + 1))
            && !is_dot(tokens.get(end + 2))
        {
            tables.push(tokens[end + 1].clone());
            end += 2;
        }
    }
    let words = match (word(end, "nowait"), word(end, "skip") && word(end + 1, "locked")) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 0,
    };
    let wait = tokens[end..end + words].to_vec();
    Some(LockingClause { place: at..end + words, strength, tables, of, wait })
}

/// LIMIT, OFFSET and FETCH that begin here: to the end of the query.
fn limits_at(tokens: &[TokenWithSpan], at: usize) -> Range<usize> {
    if !["limit", "offset", "fetch"].iter().any(|word| is(tokens.get(at), word)) {
        return at..at;
    }
    let mut depth = 0_usize;
    let behind = tokens[at..].iter().position(|token| match &token.token {
        Token::LParen => {
            depth += 1;
            false
        }
        Token::RParen if depth == 0 => true,
        Token::RParen => {
            depth -= 1;
            false
        }
        _ => depth == 0 && ["returning", "on", "for"].iter().any(|word| is(Some(token), word)),
    });
    at..behind.map_or(tokens.len(), |behind| at + behind)
}

fn is_name(token: Option<&TokenWithSpan>) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(_)))
}

fn is_dot(token: Option<&TokenWithSpan>) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Period))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let tokens = sql_syntax::tokenize(text).expect("tokens");
        let tokens: Vec<String> = plain(tokens).iter().map(|token| token.token.to_string()).collect();
        tokens.join(" ")
    }

    /// Otherwise what PostgreSQL takes would be a syntax error, or would lock another table or in another way.
    #[test]
    fn clauses_are_as_the_parser_knows_them() {
        for (text, expected) in [
            ("a FOR NO KEY UPDATE", "a FOR UPDATE"),
            ("a FOR KEY SHARE NOWAIT", "a FOR SHARE NOWAIT"),
            ("a FOR UPDATE SKIP LOCKED LIMIT 1", "a LIMIT 1 FOR UPDATE SKIP LOCKED"),
            ("(a FOR UPDATE LIMIT (1) OFFSET 2) b", "( a LIMIT ( 1 ) OFFSET 2 FOR UPDATE ) b"),
            ("a FOR SHARE OF t, u SKIP LOCKED b", "a FOR SHARE OF t SKIP LOCKED FOR SHARE OF u SKIP LOCKED b"),
            ("a FOR UPDATE OF t FOR SHARE OF u LIMIT 1", "a LIMIT 1 FOR UPDATE OF t FOR SHARE OF u"),
            ("a FOR UPDATE FETCH FIRST ROW ONLY RETURNING b", "a FETCH FIRST ROW ONLY FOR UPDATE RETURNING b"),
            ("substring(a for b) limit 1", "substring ( a for b ) limit 1"),
            ("a FOR NO UPDATE", "a FOR NO UPDATE"),
            ("select 1 FOR UPDATE LIMIT 1", "select 1 LIMIT 1"),
            ("select (select a from b) FOR SHARE", "select ( select a from b )"),
            ("select a from b where c FOR SHARE", "select a from b where c FOR SHARE"),
            ("select 1 FOR UPDATE OF t", "select 1 FOR UPDATE OF t"),
            ("a FOR UPDATE LIMIT 1 FOR UPDATE", "a FOR UPDATE LIMIT 1 FOR UPDATE"),
        ] {
            assert_eq!(written(text), expected);
        }
    }
}
