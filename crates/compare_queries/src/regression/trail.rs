//! What failed on one system alone leaves a trail: statements that name what it was about say nothing of themselves.

use std::collections::{BTreeMap, BTreeSet};

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

impl Token {
    /// The word or name, if it is one.
    pub fn name(self) -> Option<String> {
        match self {
            Token::Name(name) => Some(name),
            Token::Sign(_) => None,
        }
    }
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
    tokens(sql).into_iter().filter_map(Token::name).take(3).collect()
}

/// Names that failures have left.
#[derive(Debug, Default)]
pub struct Trail {
    names: BTreeSet<String>,
    /// All tables and views that were ever there.
    relations: BTreeSet<String>,
    /// Functions, procedures and prepared statements, and the relations that each names.
    called: BTreeMap<String, BTreeSet<String>>,
    /// Views, and tables with rules and triggers, and the relations that a change of each may change.
    changed_with: BTreeMap<String, BTreeSet<String>>,
    /// What the transaction that runs has made and changed.
    block: BTreeSet<String>,
}

impl Trail {
    /// A statement is about to be done, whatever becomes of it.
    pub fn begun(&mut self, sql: &str) {
        let first = head(sql);
        let subjects = subjects(sql);
        match first.first().map(String::as_str) {
            Some("create" | "prepare" | "declare") => self.made(sql, &subjects),
            Some("select" | "with") if subjects.len() == 1 => self.relations.extend(subjects.iter().cloned()),
            _ => {}
        }
        self.block.extend(subjects);
    }

    fn made(&mut self, sql: &str, subjects: &[String]) {
        let Some(name) = subjects.first() else { return };
        let words: BTreeSet<String> = tokens(sql).into_iter().filter_map(Token::name).take(8).collect();
        let makes = |kind: &str| words.contains(kind);
        let mentions = || -> BTreeSet<String> {
            let known = |word: &String| self.relations.contains(word) || self.called.contains_key(word);
            words_of(sql).into_iter().filter(known).collect()
        };
        if makes("function") || makes("procedure") || makes("prepare") || makes("declare") {
            let mentions = mentions();
            self.called.entry(name.clone()).or_default().extend(mentions);
        } else if makes("view") || makes("rule") || makes("trigger") {
            let mentions = mentions();
            for changed in subjects {
                self.changed_with.entry(changed.clone()).or_default().extend(mentions.iter().cloned());
            }
        }
        if makes("table") || makes("view") {
            self.relations.insert(name.clone());
        }
    }

    /// One system did a statement and the other did not, or both did something else.
    pub fn parted(&mut self, sql: &str) {
        let subjects = subjects(sql);
        let changes = matches!(
            head(sql).first().map(String::as_str),
            Some("insert" | "update" | "delete" | "merge" | "copy" | "truncate" | "with" | "call" | "do" | "execute")
        );
        let mut open: Vec<String> = match changes {
            true => words_of(sql).into_iter().collect(),
            false => tokens(sql).into_iter().filter_map(Token::name).collect(),
        };
        open.retain(|name| self.called.contains_key(name) || changes && self.changed_with.contains_key(name));
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            let reached = [&self.called, &self.changed_with].into_iter().filter_map(|of| of.get(&name)).flatten();
            let reached: Vec<String> = reached.cloned().collect();
            if seen.insert(name) {
                open.extend(reached.iter().cloned());
                self.names.extend(reached);
            }
        }
        if head(sql).first().is_some_and(|word| word == "do") {
            self.names.extend(words_of(sql).intersection(&self.relations).cloned());
        }
        if head(sql).starts_with(&["drop".to_string(), "schema".to_string()]) {
            self.names.extend(self.relations.iter().cloned());
        }
        self.names.extend(subjects);
    }

    /// Something that is not there on Raid.
    pub fn missing(&mut self, name: &str) {
        self.names.insert(name.to_string());
    }

    /// A table or view that is there from the beginning.
    pub fn there(&mut self, name: &str) {
        self.relations.insert(name.to_string());
    }

    /// No transaction runs any more, on both.
    pub fn settled(&mut self) {
        self.block.clear();
    }

    /// What one system did in the transaction that runs, the other has undone.
    pub fn undone(&mut self) {
        self.names.append(&mut self.block);
    }

    /// Both did a statement: what it makes anew is there again.
    pub fn joined(&mut self, sql: &str) {
        const ADDS: [&str; 8] =
            ["trigger", "rule", "policy", "index", "function", "procedure", "aggregate", "operator"];
        let first = head(sql);
        let makes = matches!(first.first().map(String::as_str), Some("create" | "prepare" | "declare" | "savepoint"));
        // What is named anew is what it was.
        if words_of(sql).contains("rename") && self.mentioned(sql).is_some() {
            self.names.extend(subjects(sql));
        }
        let adds = first.iter().any(|word| ADDS.contains(&word.as_str()));
        if makes && !adds {
            for name in subjects(sql).into_iter().take(1) {
                self.names.remove(&name);
            }
        }
    }

    /// The first name of the trail in a text.
    pub fn mentioned(&self, text: &str) -> Option<String> {
        let named = tokens(text).into_iter().find_map(|token| match token {
            Token::Name(name) if self.names.contains(&name) => Some(name),
            _ => None,
        });
        // A text that is cast to the type of relations' names names one.
        let texts: Vec<&str> = text.split('\'').collect();
        let casts = texts.windows(2).filter(|pair| pair[1].starts_with("::reg"));
        let mut cast = casts.map(|pair| pair[0].split('(').next().unwrap_or_default());
        named.or_else(|| cast.find(|name| self.names.contains(*name)).map(str::to_string))
    }
}

/// All words of a text, those in strings included.
fn words_of(sql: &str) -> BTreeSet<String> {
    let words = sql.split(|char: char| !char.is_alphanumeric() && char != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// What a statement makes, changes or drops, the first one first.
pub fn subjects(sql: &str) -> Vec<String> {
    let tokens = tokens(sql);
    let mut found = Vec::new();
    let is_at = |at: usize, text: &str| matches!(tokens.get(at), Some(Token::Name(name)) if name == text);
    for at in 0..tokens.len() {
        let Token::Name(word) = &tokens[at] else { continue };
        let is_first = at == 0;
        let rest = &tokens[at + 1..];
        match word.as_str() {
            "create" | "alter" | "drop" => found.extend(named(skip(rest, &KINDS), word == "drop")),
            "prepare" | "declare" | "savepoint" | "truncate" | "copy" | "listen" if is_first => {
                found.extend(named(skip(rest, &["table", "only"]), word == "truncate"));
            }
            "comment" if is_first && is_at(1, "on") => {
                let named = tokens[2..].iter().take_while(|token| **token != Token::Name("is".to_string()));
                found.extend(named.cloned().filter_map(Token::name).filter(|name| !KINDS.contains(&name.as_str())));
                break;
            }
            // A change of a part is one of the whole.
            "inherits" | "inherit" => found.extend(named(skip(rest, &["only"]), true)),
            "partition" if is_at(at + 1, "of") => found.extend(named(&rest[1..], false)),
            "partition" if at > 0 && (is_at(at - 1, "attach") || is_at(at - 1, "detach")) => {
                found.extend(named(rest, false));
            }
            "table" if is_at(1, "publication") && !is_first => found.extend(named(skip(rest, &["only"]), true)),
            "to" if is_at(0, "create") && (is_at(1, "rule") || is_at(3, "rule")) => found.extend(named(rest, false)),
            "into" | "update" | "rename" | "on" if !is_first || word == "update" => {
                let is_rename = word == "rename";
                let adds = matches!(tokens.first(), Some(Token::Name(first)) if first == "create" || first == "drop");
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
    let (mut found, mut at) = (Vec::new(), usize::from(is_list && tokens.first() == Some(&Token::Sign('('))));
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
        assert_eq!(subjects("COMMENT ON INDEX i IS 'x'"), ["i"]);
        assert_eq!(subjects("CREATE TABLE c (a int) INHERITS (p, s.q)"), ["c", "p", "q"]);
        assert_eq!(subjects("CREATE TABLE c PARTITION OF p FOR VALUES IN (1)"), ["c", "p"]);
        assert_eq!(subjects("ALTER TABLE p ATTACH PARTITION c DEFAULT"), ["p", "c"]);
        assert_eq!(subjects("CREATE PUBLICATION p FOR TABLE t, ONLY u"), ["p", "t"]);
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

    /// What a procedure or a view would have changed differs, though the failed statement does not name it.
    #[test]
    fn a_trail_leads_through_procedures_views_and_transactions() {
        let mut trail = Trail::default();
        for sql in ["CREATE TABLE t (a int)", "CREATE TABLE u (a int)", "CREATE TABLE w (a int)"] {
            trail.begun(sql);
        }
        trail.begun("CREATE PROCEDURE p(x int) LANGUAGE SQL AS 'INSERT INTO t VALUES (x)'");
        trail.parted("CALL p(1)");
        assert_eq!(trail.mentioned("SELECT * FROM t"), Some("t".to_string()));
        trail.begun("CREATE VIEW v AS SELECT * FROM u");
        trail.parted("CREATE VIEW v AS SELECT * FROM u");
        assert_eq!(trail.mentioned("SELECT * FROM u"), None);
        trail.parted("INSERT INTO v VALUES (1)");
        assert_eq!(trail.mentioned("SELECT * FROM u"), Some("u".to_string()));
        trail.begun("INSERT INTO w VALUES (1)");
        trail.settled();
        trail.undone();
        assert_eq!(trail.mentioned("SELECT * FROM w"), None);
        trail.begun("INSERT INTO w VALUES (1)");
        trail.undone();
        assert_eq!(trail.mentioned("SELECT * FROM w"), Some("w".to_string()));
    }
}
