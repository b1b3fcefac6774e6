//! What failed on one system alone leaves a trail: statements that name what it was about say nothing of themselves.

use std::collections::BTreeSet;

use super::script::without_comments;

/// Words behind CREATE, ALTER and DROP that name a kind of thing or stand between it and the name.
const KINDS: [&str; 59] = [
    "or",
    "replace",
    "temp",
    "temporary",
    "unlogged",
    "global",
    "local",
    "recursive",
    "table",
    "foreign",
    "view",
    "materialized",
    "sequence",
    "function",
    "procedure",
    "routine",
    "aggregate",
    "type",
    "domain",
    "schema",
    "role",
    "user",
    "group",
    "collation",
    "extension",
    "server",
    "data",
    "wrapper",
    "publication",
    "subscription",
    "event",
    "trigger",
    "text",
    "search",
    "configuration",
    "dictionary",
    "parser",
    "template",
    "statistics",
    "default",
    "conversion",
    "operator",
    "class",
    "family",
    "tablespace",
    "database",
    "access",
    "method",
    "trusted",
    "procedural",
    "language",
    "unique",
    "index",
    "concurrently",
    "constraint",
    "rule",
    "policy",
    "if",
    "exists",
];

/// A word, quoted name, or sign of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word in lower case, or a quoted name as it is.
    Name(String),
    /// Anything else.
    Sign(char),
}

/// The words and signs of a statement; strings and comments are none.
pub fn tokens(sql: &str) -> Vec<Token> {
    let plain = without_comments(sql);
    let mut chars = plain.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(char) = chars.next() {
        match char {
            '\'' => drop(chars.by_ref().find(|char| *char == '\'')),
            '"' => tokens.push(Token::Name(chars.by_ref().take_while(|char| *char != '"').collect())),
            char if char.is_alphabetic() || char == '_' => {
                let mut word = String::from(char);
                while let Some(next) = chars.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '$')) {
                    word.push(next);
                }
                tokens.push(Token::Name(word.to_lowercase()));
            }
            char if char.is_whitespace() => {}
            other => tokens.push(Token::Sign(other)),
        }
    }
    tokens
}

/// The statement's first words.
pub fn head(sql: &str) -> Vec<String> {
    let names = tokens(sql).into_iter().filter_map(|token| match token {
        Token::Name(name) => Some(name),
        Token::Sign(_) => None,
    });
    names.take(3).collect()
}

/// Names that failures have left.
#[derive(Debug, Default)]
pub struct Trail {
    names: BTreeSet<String>,
}

impl Trail {
    /// One system did a statement and the other did not, or both did something else.
    pub fn parted(&mut self, sql: &str) {
        self.names.extend(subjects(sql));
    }

    /// Something that is not there on Raid.
    pub fn missing(&mut self, name: &str) {
        self.names.insert(name.to_string());
    }

    /// Both did a statement: what it makes anew is there again.
    pub fn joined(&mut self, sql: &str) {
        let first = head(sql);
        let makes = matches!(
            first.first().map(String::as_str),
            Some("create" | "prepare" | "declare" | "savepoint" | "truncate")
        );
        let adds = first.iter().any(|word| matches!(word.as_str(), "trigger" | "rule" | "policy" | "index"));
        if makes && !adds {
            for name in subjects(sql).into_iter().take(1) {
                self.names.remove(&name);
            }
        }
    }

    /// The first name of the trail in a text.
    pub fn mentioned(&self, text: &str) -> Option<String> {
        tokens(text).into_iter().find_map(|token| match token {
            Token::Name(name) if self.names.contains(&name) => Some(name),
            _ => None,
        })
    }
}

/// What a statement makes, changes or drops, the first one first.
pub fn subjects(sql: &str) -> Vec<String> {
    let tokens = tokens(sql);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let Token::Name(word) = &tokens[at] else { continue };
        let is_first = at == 0;
        let rest = &tokens[at + 1..];
        match word.as_str() {
            "create" | "alter" | "drop" => found.extend(named(skip(rest, &KINDS), word == "drop")),
            "prepare" | "declare" | "savepoint" | "truncate" | "copy" | "listen" if is_first => {
                found.extend(named(skip(rest, &["table", "only"]), word == "truncate"));
            }
            "into" | "update" | "rename" | "on" if !is_first || word == "update" => {
                let is_rename = word == "rename";
                let adds = matches!(tokens.first(), Some(Token::Name(first)) if first == "create" || first == "drop" || first == "comment");
                if word != "on" || adds {
                    let skipped: &[&str] =
                        if is_rename { &["to"] } else { &["only", "table", "temp", "temporary", "unlogged"] };
                    found.extend(named(skip(rest, skipped), false));
                }
            }
            "delete" => found.extend(named(skip(rest, &["from", "only"]), false)),
            _ => {}
        }
    }
    found.retain(|name| {
        !matches!(
            name.as_str(),
            "select" | "set" | "only" | "table" | "values" | "as" | "do" | "nothing" | "conflict" | "of"
        )
    });
    found
}

fn skip<'a>(tokens: &'a [Token], words: &[&str]) -> &'a [Token] {
    let is_word =
        |token: &&Token| matches!(token, Token::Name(name) if words.contains(&name.as_str()) || name == "not");
    &tokens[tokens.iter().take_while(is_word).count()..]
}

/// The name at the beginning, the last part if it has several; or a list of them.
fn named(tokens: &[Token], is_list: bool) -> Vec<String> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(Token::Name(name)) = tokens.get(at) {
        let mut name = name;
        at += 1;
        while let (Some(Token::Sign('.')), Some(Token::Name(part))) = (tokens.get(at), tokens.get(at + 1)) {
            name = part;
            at += 2;
        }
        found.push(name.clone());
        if !is_list || tokens.get(at) != Some(&Token::Sign(',')) {
            break;
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is overlooked makes a failure count again and again.
    #[test]
    fn what_a_statement_is_about_is_found() {
        assert_eq!(subjects("CREATE TEMP TABLE IF NOT EXISTS s.\"T\" (a int)"), ["T"]);
        assert_eq!(subjects("create or replace function f(a int) returns int as $$x$$"), ["f"]);
        assert_eq!(subjects("CREATE UNIQUE INDEX i ON t (a)"), ["i", "t"]);
        assert_eq!(subjects("DROP TABLE a, s.b CASCADE"), ["a", "b"]);
        assert_eq!(subjects("WITH x AS (DELETE FROM t RETURNING *) INSERT INTO u SELECT 1"), ["t", "u"]);
        assert_eq!(subjects("SELECT a INTO TEMP t2 FROM t"), ["t2"]);
        assert_eq!(subjects("ALTER TABLE t RENAME TO u"), ["t", "u"]);
        assert_eq!(subjects("SELECT 'CREATE TABLE x' -- drop table y"), Vec::<String>::new());
    }

    /// A failure explains what names it, until it is made anew.
    #[test]
    fn a_trail_ends_where_its_thing_is_made_anew() {
        let mut trail = Trail::default();
        trail.parted("CREATE TABLE t (a money)");
        assert_eq!(trail.mentioned("SELECT * FROM t"), Some("t".to_string()));
        assert_eq!(trail.mentioned("SELECT 't', tt FROM u"), None);
        trail.joined("CREATE TABLE t (a int)");
        assert_eq!(trail.mentioned("SELECT * FROM t"), None);
    }
}
