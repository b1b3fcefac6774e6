//! A script for psql as a row of statements: where each begins and ends, what psql would put into it, and what psql does itself.
//!
//! It follows psql's own rules (PostgreSQL 15, reference page of psql): statements end at semicolons outside of quotes, parentheses and
//! bodies of `BEGIN ATOMIC`; a backslash begins a command of psql; `:name`, `:'name'` and `:"name"` are variables; data of COPY follow up to `\.`.

use std::collections::BTreeMap;

/// What a script has next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A statement, or several joined by `\;`, with the line it begins at, counted from one.
    Statement {
        /// Its text, variables put in.
        sql: String,
        /// Its line.
        line: usize,
        /// How it ends: `;`, or `g`, `gset`, `gexec`, `gdesc` with what stands behind.
        end: (String, String),
    },
    /// A command of psql: its name and what stands behind it.
    Command(String, String),
}

/// Reads a script.
pub struct Script {
    text: Vec<char>,
    at: usize,
    line: usize,
    /// psql's variables.
    pub variables: BTreeMap<String, String>,
    /// For each `\if` around: whether it holds, whether one of its branches was taken, whether what is around it holds.
    branches: Vec<(bool, bool, bool)>,
}

impl Script {
    /// At its first line.
    pub fn new(text: &str, variables: BTreeMap<String, String>) -> Script {
        Script { text: text.chars().collect(), at: 0, line: 1, variables, branches: Vec::new() }
    }

    /// What comes next.
    #[allow(clippy::should_implement_trait, reason = "between two items the caller may take data and set variables")]
    pub fn next(&mut self) -> Option<Item> {
        loop {
            let item = self.scan()?;
            if let Item::Command(name, rest) = &item
                && self.branch(name, rest)
            {
                continue;
            }
            if self.branches.iter().all(|(holds, ..)| *holds) {
                if let Item::Command(name, rest) = &item
                    && self.variable(name, rest)
                {
                    continue;
                }
                return Some(item);
            }
        }
    }

    /// The data behind a COPY, up to the line `\.`.
    pub fn copy_data(&mut self) -> String {
        // What is left of the statement's line belongs to the statement.
        self.rest_of_line();
        let mut data = String::new();
        while self.at < self.text.len() {
            let line = self.rest_of_line();
            if line == "\\." {
                break;
            }
            data.push_str(&line);
            data.push('\n');
        }
        data
    }

    fn rest_of_line(&mut self) -> String {
        let from = self.at;
        while self.at < self.text.len() && self.text[self.at] != '\n' {
            self.at += 1;
        }
        let line = self.text[from..self.at].iter().collect();
        if self.at < self.text.len() {
            self.at += 1;
            self.line += 1;
        }
        line
    }

    fn branch(&mut self, name: &str, rest: &str) -> bool {
        let value = matches!(self.expand(rest).trim(), "true" | "on" | "1" | "t" | "yes" | "y");
        match name {
            "if" => {
                let around = self.branches.iter().all(|(holds, ..)| *holds);
                self.branches.push((around && value, value, around));
            }
            "elif" => {
                if let Some((holds, taken, around)) = self.branches.last_mut() {
                    *holds = *around && value && !*taken;
                    *taken |= value;
                }
            }
            "else" => {
                if let Some((holds, taken, around)) = self.branches.last_mut() {
                    *holds = *around && !*taken;
                    *taken = true;
                }
            }
            "endif" => drop(self.branches.pop()),
            _ => return false,
        }
        true
    }

    fn variable(&mut self, name: &str, rest: &str) -> bool {
        let words = words(rest);
        match (name, words.split_first()) {
            ("set", Some((variable, values))) => {
                let value: String = values.iter().map(|value| self.expand(value)).collect();
                self.variables.insert(variable.clone(), value);
            }
            ("unset", Some((variable, _))) => drop(self.variables.remove(variable)),
            ("getenv", Some((variable, values))) => {
                let of = values.first().and_then(|value| self.variables.get(&format!("env:{value}")).cloned());
                if let Some(value) = of {
                    self.variables.insert(variable.clone(), value);
                }
            }
            _ => return matches!(name, "set" | "unset" | "getenv"),
        }
        true
    }

    /// A word of a command with its variables put in, and its quotes taken off.
    pub fn expand(&self, word: &str) -> String {
        let word = word.trim();
        let variable = |name: &str| self.variables.get(name).cloned();
        if let Some(name) = word.strip_prefix(":{?").and_then(|rest| rest.strip_suffix('}')) {
            return self.variables.contains_key(name).to_string();
        }
        if let Some(name) = word.strip_prefix(':') {
            return variable(name.trim_matches(['\'', '"'])).unwrap_or_else(|| word.to_string());
        }
        match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            Some(inner) => inner.replace("''", "'"),
            None => word.to_string(),
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(at, char)| self.peek(at) == char)
    }

    /// Moves on by one, and puts it into the statement.
    fn take(&mut self, sql: &mut String) {
        let char = self.peek(0);
        if char == '\n' {
            self.line += 1;
        }
        self.at += 1;
        sql.push(char);
    }

    /// The next statement or command, whatever branch it stands in.
    fn scan(&mut self) -> Option<Item> {
        let (mut sql, mut depth, mut atomic) = (String::new(), 0_usize, 0_usize);
        let mut begin = None;
        while self.at < self.text.len() {
            let char = self.peek(0);
            if !char.is_whitespace() && begin.is_none() && !self.starts_with("--") {
                begin = Some(self.line);
            }
            match char {
                '-' if self.peek(1) == '-' => drop(self.until(&mut sql, "\n")),
                '/' if self.peek(1) == '*' => self.comment(&mut sql),
                '\'' => self.quoted(&mut sql),
                '"' => {
                    self.take(&mut sql);
                    self.until(&mut sql, "\"");
                }
                '$' if !ends_in_word(&sql) => self.dollar(&mut sql),
                ':' if self.peek(1) != ':' => self.put_variable(&mut sql),
                ':' => {
                    self.take(&mut sql);
                    self.take(&mut sql);
                }
                '\\' if self.peek(1) == ';' => {
                    self.at += 1;
                    self.take(&mut sql);
                }
                '\\' => return Some(self.command(sql, begin.unwrap_or(self.line))),
                ';' if depth == 0 && atomic == 0 => {
                    self.at += 1;
                    if !is_empty(&sql) {
                        return Some(statement(sql, begin.unwrap_or(self.line), ";", ""));
                    }
                    sql.clear();
                    begin = None;
                }
                _ => {
                    depth = match char {
                        '(' => depth + 1,
                        ')' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    if char.is_alphabetic() && !ends_in_word(&sql) {
                        self.word(&mut sql, &mut atomic);
                    } else {
                        self.take(&mut sql);
                    }
                }
            }
        }
        (!is_empty(&sql)).then(|| statement(sql, begin.unwrap_or(self.line), ";", ""))
    }

    /// A word; those that begin and end bodies of functions count.
    fn word(&mut self, sql: &mut String, atomic: &mut usize) {
        let from = sql.len();
        while self.peek(0).is_alphanumeric() || matches!(self.peek(0), '_' | '$') {
            self.take(sql);
        }
        let word = sql[from..].to_ascii_lowercase();
        let body = sql[..from].trim_end().to_ascii_lowercase();
        match word.as_str() {
            "atomic" if body.ends_with("begin") => *atomic += 1,
            "case" if *atomic > 0 => *atomic += 1,
            "end" if *atomic > 0 => *atomic -= 1,
            _ => {}
        }
    }

    fn until(&mut self, sql: &mut String, end: &str) -> bool {
        while self.at < self.text.len() {
            if self.starts_with(end) {
                end.chars().for_each(|_| self.take(sql));
                return true;
            }
            self.take(sql);
        }
        false
    }

    fn comment(&mut self, sql: &mut String) {
        let mut depth = 0;
        while self.at < self.text.len() {
            if self.starts_with("/*") {
                depth += 1;
                self.take(sql);
            } else if self.starts_with("*/") {
                depth -= 1;
                self.take(sql);
            }
            self.take(sql);
            if depth == 0 {
                return;
            }
        }
    }

    fn quoted(&mut self, sql: &mut String) {
        let escapes = sql.ends_with(['E', 'e']) && !ends_in_word(&sql[..sql.len() - 1]);
        self.take(sql);
        while self.at < self.text.len() {
            if escapes && self.peek(0) == '\\' || self.starts_with("''") {
                self.take(sql);
                self.take(sql);
            } else {
                let is_end = self.peek(0) == '\'';
                self.take(sql);
                if is_end {
                    return;
                }
            }
        }
    }

    fn dollar(&mut self, sql: &mut String) {
        let mut length = 1;
        while self.peek(length).is_alphanumeric() || self.peek(length) == '_' {
            length += 1;
        }
        if self.peek(length) != '$' || self.peek(1).is_ascii_digit() {
            self.take(sql);
            return;
        }
        let tag: String = self.text[self.at..=self.at + length].iter().collect();
        tag.chars().for_each(|_| self.take(sql));
        self.until(sql, &tag);
    }

    fn put_variable(&mut self, sql: &mut String) {
        let rest: String = self.text[self.at + 1..].iter().take(64).collect();
        let (name, quote) = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => (rest[1..].split(quote).next().unwrap_or_default(), Some(quote)),
            _ => (rest.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default(), None),
        };
        match self.variables.get(name) {
            Some(value) if !name.is_empty() => {
                self.at += 1 + name.chars().count() + if quote.is_some() { 2 } else { 0 };
                match quote {
                    Some(quote) => {
                        let doubled = value.replace(quote, &format!("{quote}{quote}"));
                        sql.push_str(&format!("{quote}{doubled}{quote}"));
                    }
                    None => sql.push_str(value),
                }
            }
            _ => self.take(sql),
        }
    }

    /// A backslash: a command, or the end of a statement that is a command.
    fn command(&mut self, sql: String, line: usize) -> Item {
        self.at += 1;
        let mut name = String::new();
        while self.peek(0).is_alphanumeric() || matches!(self.peek(0), '+' | '?' | '!' | '_') {
            self.take(&mut name);
        }
        let from = self.at;
        while self.at < self.text.len() && self.peek(0) != '\n' && !(self.peek(0) == '\\' && self.peek(1) == '\\') {
            self.at += 1;
        }
        let rest: String = self.text[from..self.at].iter().collect();
        if self.starts_with("\\\\") {
            self.at += 2;
        }
        let ends = matches!(name.as_str(), "g" | "gset" | "gexec" | "gdesc" | "gx" | "crosstabview");
        if ends && !is_empty(&sql) {
            return statement(sql, line, &name, &rest);
        }
        // The statement goes on behind the command.
        if !is_empty(&sql) {
            self.text.splice(self.at..self.at, sql.chars());
            self.line -= sql.matches('\n').count();
        }
        Item::Command(name, rest.trim().to_string())
    }
}

fn statement(sql: String, line: usize, end: &str, rest: &str) -> Item {
    Item::Statement { sql: sql.trim().to_string(), line, end: (end.to_string(), rest.trim().to_string()) }
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|char: char| char.is_alphanumeric() || char == '_' || char == '$')
}

fn is_empty(sql: &str) -> bool {
    without_comments(sql).trim().is_empty()
}

/// Words of a command: quotes keep blanks together.
pub fn words(rest: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for char in rest.chars() {
        match (quote, char) {
            (None, '\'' | '"') => {
                quote = Some(char);
                word.push(char);
            }
            (Some(open), char) if open == char => {
                quote = None;
                word.push(char);
            }
            (None, char) if char.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, char) => word.push(char),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A statement without its comments. Strings stay.
pub fn without_comments(sql: &str) -> String {
    let chars: Vec<char> = sql.chars().collect();
    let (mut plain, mut at, mut depth, mut quote) = (String::new(), 0, 0_usize, None);
    while at < chars.len() {
        let pair = (chars[at], chars.get(at + 1).copied().unwrap_or('\0'));
        if quote.is_none() && pair == ('/', '*') {
            depth += 1;
            at += 2;
            continue;
        }
        if depth > 0 {
            let ends = pair == ('*', '/');
            depth -= usize::from(ends);
            at += 1 + usize::from(ends);
            continue;
        }
        if quote.is_none() && pair == ('-', '-') {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
            continue;
        }
        match (quote, chars[at]) {
            (None, char @ ('\'' | '"')) => quote = Some(char),
            (Some(open), char) if open == char => quote = None,
            _ => {}
        }
        plain.push(chars[at]);
        at += 1;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<String> {
        let variables = BTreeMap::from([("file".to_string(), "/a'b".to_string())]);
        let mut script = Script::new(text, variables);
        let mut found = Vec::new();
        while let Some(item) = script.next() {
            found.push(match item {
                Item::Statement { sql, line, end } => format!("{line}: {sql} [{}{}]", end.0, end.1),
                Item::Command(name, rest) => format!("\\{name} {rest}"),
            });
        }
        found
    }

    /// A statement cut at the wrong place is another statement, on both systems.
    #[test]
    fn statements_end_where_psql_ends_them() {
        assert_eq!(items("SELECT ';'; -- a;\nSELECT 2;\n"), ["1: SELECT ';' [;]", "2: -- a;\nSELECT 2 [;]"]);
        assert_eq!(items("DO $x$ a; $y$; $x$; SELECT 1;"), ["1: DO $x$ a; $y$; $x$ [;]", "1: SELECT 1 [;]"]);
        assert_eq!(items("SELECT 1\\; SELECT 2;"), ["1: SELECT 1; SELECT 2 [;]"]);
        assert_eq!(items("SELECT E'\\';' \\gset p_\nSELECT 1;"), ["1: SELECT E'\\';' [gsetp_]", "2: SELECT 1 [;]"]);
        let body = "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END; SELECT 3;";
        assert_eq!(items(body).len(), 2);
        assert_eq!(items("CREATE RULE r AS ON x DO (a; b); SELECT 1;").len(), 2);
        assert_eq!(items("/* a; /* b */ ; */ SELECT 1;").len(), 1);
    }

    /// What psql puts in would otherwise be sent as it stands.
    #[test]
    fn variables_and_branches_are_those_of_psql() {
        assert_eq!(items("COPY t FROM :'file';"), ["1: COPY t FROM '/a''b' [;]"]);
        assert_eq!(items("\\set n 7\nSELECT :n, a::int, x[1:2];"), ["2: SELECT 7, a::int, x[1:2] [;]"]);
        assert_eq!(items("\\if false\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\n\\d t"), ["4: SELECT 2 [;]", "\\d t"]);
    }

    /// Rows of COPY must not be taken for statements.
    #[test]
    fn data_of_copy_end_at_their_line() {
        let mut script = Script::new("COPY t FROM stdin;\n1\ta;b\n\\.\nSELECT 1;", BTreeMap::new());
        assert!(script.next().is_some());
        assert_eq!(script.copy_data(), "1\ta;b\n");
        assert!(matches!(script.next(), Some(Item::Statement { line: 4, .. })));
    }
}
