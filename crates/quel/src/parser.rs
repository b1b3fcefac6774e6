//! Text to statements, by recursive descent.
//!
//! A statement ends at a semicolon, with the text, or where the next one's first word stands. Invariant: what is made of a text takes time and memory in
//! proportion to its length: depth, lists and variables are bounded while they are read ([`limits`](crate::limits)).

use crate::error::{QuelError, QuelResult};
use crate::keywords::{begins_statement, is_of_session, is_reserved};
use crate::lexer::{self, QuelToken, QuelTokenKind};
use crate::limits::{LIST_MAX, VARIABLES_MAX};
use crate::ranges::{RangeDeclaration, RangedRelation};
use crate::syntax::{
    Append, NewIndex, QuelDelete, QuelExpr, QuelExprKind, QuelName, QuelStatement, QuelTarget, Replace, Retrieve,
    SortTarget,
};
use std::collections::BTreeSet;

/// A statement with what it is wrapped into.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedQuel {
    /// EXPLAIN or PREPARE before it, as SQL has it.
    pub prefix: String,
    /// What it is.
    pub statement: QuelStatement,
    /// The names of databases before a query in the papers' form.
    pub databases: Vec<QuelName>,
    /// Where it begins.
    pub start: usize,
}

/// A text being read.
pub struct QuelParser<'a> {
    pub(crate) text: &'a str,
    pub(crate) next: QuelToken,
    /// Where the token before has ended.
    before: usize,
    /// Levels open.
    pub(crate) level: usize,
    /// Aggregates of the statement so far.
    pub(crate) aggregates: usize,
    /// Values of its by-lists.
    pub(crate) by_values: usize,
    /// Its variables.
    variables: BTreeSet<String>,
}

/// The statements of a text.
pub fn parse(text: &str) -> QuelResult<Vec<ParsedQuel>> {
    let mut parser = QuelParser::new(text)?;
    let mut all = Vec::new();
    while let Some(parsed) = parser.statement()? {
        all.push(parsed);
    }
    Ok(all)
}

impl<'a> QuelParser<'a> {
    /// At the begin of a text.
    pub fn new(text: &'a str) -> QuelResult<QuelParser<'a>> {
        let next = lexer::token(text, 0)?;
        Ok(QuelParser { text, next, before: 0, level: 0, aggregates: 0, by_values: 0, variables: BTreeSet::new() })
    }

    /// Where the last statement has ended.
    pub fn position(&self) -> usize {
        self.before
    }

    /// The next statement; `None`: the text has no more.
    pub fn statement(&mut self) -> QuelResult<Option<ParsedQuel>> {
        while self.skip(";")? {}
        if self.next.kind == QuelTokenKind::End {
            return Ok(None);
        }
        let start = self.next.start;
        (self.aggregates, self.by_values) = (0, 0);
        self.variables.clear();
        let prefix = self.prefix()?;
        let mut databases = Vec::new();
        let statement = match self.word() {
            Some("database") => {
                self.advance()?;
                databases = self.databases()?;
                self.paper_form()?
            }
            _ => self.verb(start)?,
        };
        let ends = matches!(self.next.kind, QuelTokenKind::End | QuelTokenKind::Symbol(";"))
            || self.word().is_some_and(|word| begins_statement(word) || word == "database" || self.is_wrapped(word));
        if !ends {
            return Err(self.unexpected());
        }
        Ok(Some(ParsedQuel { prefix, statement, databases, start }))
    }

    fn is_wrapped(&self, word: &str) -> bool {
        is_of_session(word) || word == "explain" || word == "prepare"
    }

    /// EXPLAIN with its options, or PREPARE up to its AS.
    fn prefix(&mut self) -> QuelResult<String> {
        let start = self.next.start;
        match self.word() {
            Some("explain") => {
                self.advance()?;
                if self.next.kind == QuelTokenKind::Symbol("(") {
                    self.balanced()?;
                }
                while matches!(self.word(), Some("analyze" | "verbose")) {
                    self.advance()?;
                }
            }
            Some("prepare") => {
                self.advance()?;
                self.name()?;
                if self.next.kind == QuelTokenKind::Symbol("(") {
                    self.balanced()?;
                }
                if self.word() != Some("as") {
                    return Err(self.unexpected());
                }
                self.advance()?;
            }
            _ => return Ok(String::new()),
        }
        Ok(self.text[start..self.before].to_owned())
    }

    /// Passes over parentheses and what they hold.
    fn balanced(&mut self) -> QuelResult<()> {
        let mut open = 0usize;
        loop {
            match self.next.kind {
                QuelTokenKind::Symbol("(") => open += 1,
                QuelTokenKind::Symbol(")") => open -= 1,
                QuelTokenKind::End => return Err(self.unexpected()),
                _ => {}
            }
            self.advance()?;
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn verb(&mut self, start: usize) -> QuelResult<QuelStatement> {
        let Some(word) = self.word().map(str::to_owned) else {
            return Err(self.unexpected());
        };
        if start == self.next.start && is_of_session(&word) {
            return self.of_session();
        }
        if !begins_statement(&word) {
            return Err(self.unexpected());
        }
        let at = self.next.start;
        self.advance()?;
        match word.as_str() {
            "range" => self.range(),
            "retrieve" => self.retrieve(),
            "append" => {
                self.skip_word("to")?;
                let relation = self.name()?;
                let targets = self.targets()?;
                Ok(QuelStatement::Append(Append { relation, targets, qualification: self.qualification()? }))
            }
            "replace" => {
                let variable = self.name()?;
                let targets = self.targets()?;
                Ok(QuelStatement::Replace(Replace { variable, targets, qualification: self.qualification()? }))
            }
            "delete" => {
                let variable = self.name()?;
                Ok(QuelStatement::Delete(QuelDelete { variable, qualification: self.qualification()? }))
            }
            "create" => self.create(),
            "destroy" => Ok(QuelStatement::Destroy(self.names()?)),
            "index" => self.index(),
            "print" => Ok(QuelStatement::Print(self.names()?)),
            "help" => {
                let is_named = self.word().is_some_and(|word| !is_reserved(word));
                Ok(QuelStatement::Help(if is_named { Some(self.name()?) } else { None }))
            }
            "begin" => self.begin(start),
            "end" => {
                self.expect_word("transaction")?;
                Ok(QuelStatement::Session("COMMIT".to_owned()))
            }
            "abort" => {
                let back = if self.skip_word("to")? { Some(self.name()?) } else { None };
                let back = back.map_or_else(String::new, |name| format!(" TO SAVEPOINT \"{}\"", name.text));
                Ok(QuelStatement::Session(format!("ROLLBACK{back}")))
            }
            "savepoint" => Ok(QuelStatement::Session(format!("SAVEPOINT \"{}\"", self.name()?.text))),
            other => Err(QuelError::unsupported(&format!("{other} in QUEL"), at)),
        }
    }

    /// A statement that SQL has and QUEL has not, as it stands.
    fn of_session(&mut self) -> QuelResult<QuelStatement> {
        let start = self.next.start;
        let end = lexer::session_statement_end(self.text, start);
        self.go_to(end)?;
        Ok(QuelStatement::Session(self.text[start..end].trim_end().to_owned()))
    }

    /// `begin transaction`, or what drivers say.
    fn begin(&mut self, start: usize) -> QuelResult<QuelStatement> {
        let is_plain =
            self.skip_word("transaction")? || matches!(self.next.kind, QuelTokenKind::End | QuelTokenKind::Symbol(";"));
        let next_begins = self.word().is_some_and(begins_statement);
        match self.word() {
            Some(_) if !next_begins => {
                // Modes of the transaction.
                let end = lexer::session_statement_end(self.text, start);
                self.go_to(end)?;
                Ok(QuelStatement::Session(self.text[start..end].trim_end().to_owned()))
            }
            _ if is_plain || next_begins => Ok(QuelStatement::Session("BEGIN".to_owned())),
            _ => Err(self.unexpected()),
        }
    }

    fn range(&mut self) -> QuelResult<QuelStatement> {
        self.expect_word("of")?;
        Ok(QuelStatement::Range(self.list(Self::declaration)?))
    }

    fn declaration(&mut self) -> QuelResult<RangeDeclaration> {
        let variable = self.name()?;
        self.expect_word("is")?;
        let first = self.name()?;
        let (at, mut schema, mut name) = (first.at, None, first.text);
        if self.skip(".")? {
            schema = Some(std::mem::replace(&mut name, self.name()?.text));
        }
        Ok(RangeDeclaration { variable, relation: RangedRelation { schema, name, at } })
    }

    fn retrieve(&mut self) -> QuelResult<QuelStatement> {
        let into = if self.skip_word("into")? { Some(self.name()?) } else { None };
        let unique = self.skip_word("unique")?;
        let targets = self.targets()?;
        let mut qualification = self.qualification()?;
        let sort = self.sort()?;
        if qualification.is_none() {
            qualification = self.qualification()?;
        }
        Ok(QuelStatement::Retrieve(Retrieve { into, unique, targets, qualification, sort }))
    }

    /// `sort by name [:ascending | :descending], ...`.
    fn sort(&mut self) -> QuelResult<Vec<SortTarget>> {
        if !self.skip_word("sort")? {
            return Ok(Vec::new());
        }
        self.expect_word("by")?;
        self.list(Self::sort_target)
    }

    fn sort_target(&mut self) -> QuelResult<SortTarget> {
        let name = self.result_name()?;
        let mut descending = false;
        if self.skip(":")? {
            descending = match self.word() {
                Some("a" | "asc" | "ascending") => false,
                Some("d" | "desc" | "descending") => true,
                _ => return Err(self.unexpected()),
            };
            self.advance()?;
        }
        Ok(SortTarget { name, descending })
    }

    fn index(&mut self) -> QuelResult<QuelStatement> {
        let unique = self.skip_word("unique")?;
        self.expect_word("on")?;
        let relation = self.name()?;
        self.expect_word("is")?;
        let name = self.name()?;
        self.expect("(")?;
        let columns = self.list(Self::result_name)?;
        self.expect(")")?;
        Ok(QuelStatement::Index(NewIndex { unique, relation, name, columns }))
    }

    /// Names after `database`.
    fn databases(&mut self) -> QuelResult<Vec<QuelName>> {
        let mut all = Vec::new();
        loop {
            let is_get = self.word() == Some("get") && !all.is_empty();
            if is_get {
                return Ok(all);
            }
            self.has_room(all.len())?;
            all.push(self.name()?);
            self.expect(",")?;
        }
    }

    /// `get [unique] TARGETS : QUALIFICATION`, behind the databases (Bhargava and Riedl 1989, section IV-A).
    fn paper_form(&mut self) -> QuelResult<QuelStatement> {
        self.expect_word("get")?;
        let unique = self.skip_word("unique")?;
        let targets = self.list(Self::paper_target)?;
        let qualification = if self.skip(":")? { Some(self.condition()?) } else { None };
        Ok(QuelStatement::Retrieve(Retrieve { into: None, unique, targets, qualification, sort: Vec::new() }))
    }

    /// A relation, or a column of one.
    fn paper_target(&mut self) -> QuelResult<QuelTarget> {
        let relation = self.name()?;
        let column = if self.skip(".")? { Some(self.result_name()?) } else { None };
        match column.filter(|column| column.text != "all") {
            Some(column) => Ok(QuelTarget::Value { value: self.column(relation, column.text.clone())?, name: column }),
            None => self.all_of(relation),
        }
    }

    /// Names, of relations, with commas in between.
    fn names(&mut self) -> QuelResult<Vec<QuelName>> {
        self.list(Self::name)
    }

    /// Items with commas in between. Errors: 54000 for more than [`LIST_MAX`].
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> QuelResult<T>) -> QuelResult<Vec<T>> {
        let mut all = vec![item(self)?];
        while self.skip(",")? {
            self.has_room(all.len())?;
            all.push(item(self)?);
        }
        Ok(all)
    }

    /// Whether a list that has so many items may have one more. Errors: 54000.
    fn has_room(&self, items: usize) -> QuelResult<()> {
        if items < LIST_MAX { Ok(()) } else { Err(QuelError::long_list(self.next.start)) }
    }

    /// `variable.column`.
    pub(crate) fn column(&mut self, variable: QuelName, column: String) -> QuelResult<QuelExpr> {
        self.occurs(&variable)?;
        self.node(QuelExprKind::Column { variable: variable.text, column }, variable.at)
    }

    /// `variable.all`.
    pub(crate) fn all_of(&mut self, variable: QuelName) -> QuelResult<QuelTarget> {
        self.occurs(&variable)?;
        Ok(QuelTarget::All(variable))
    }

    /// Counts a variable of the statement. Errors: 54000 for more than [`VARIABLES_MAX`].
    fn occurs(&mut self, variable: &QuelName) -> QuelResult<()> {
        if self.variables.contains(&variable.text) {
            return Ok(());
        }
        if self.variables.len() >= VARIABLES_MAX {
            let message = format!("a statement has at most {VARIABLES_MAX} variables");
            return Err(QuelError::too_many(message, variable.at));
        }
        self.variables.insert(variable.text.clone());
        Ok(())
    }

    /// A name that is no keyword.
    pub(crate) fn name(&mut self) -> QuelResult<QuelName> {
        match self.word() {
            Some(word) if !is_reserved(word) => self.result_name(),
            _ => Err(self.unexpected()),
        }
    }

    /// A name where no keyword can stand.
    pub(crate) fn result_name(&mut self) -> QuelResult<QuelName> {
        let Some(text) = self.word().map(str::to_owned) else {
            return Err(self.unexpected());
        };
        let at = self.next.start;
        self.advance()?;
        Ok(QuelName { text, at })
    }

    /// The next token's word, if it is one.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.next.kind {
            QuelTokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Goes behind the next token.
    pub(crate) fn advance(&mut self) -> QuelResult<()> {
        self.go_to(self.next.end)
    }

    fn go_to(&mut self, end: usize) -> QuelResult<()> {
        self.before = end;
        self.next = lexer::token(self.text, end)?;
        Ok(())
    }

    /// Goes behind a symbol if it is next; whether it was.
    pub(crate) fn skip(&mut self, symbol: &'static str) -> QuelResult<bool> {
        let found = self.next.kind == QuelTokenKind::Symbol(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Goes behind a word if it is next; whether it was.
    pub(crate) fn skip_word(&mut self, word: &str) -> QuelResult<bool> {
        let found = self.word() == Some(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn expect(&mut self, symbol: &'static str) -> QuelResult<()> {
        if self.skip(symbol)? { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> QuelResult<()> {
        if self.skip_word(word)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 at the next token.
    pub(crate) fn unexpected(&self) -> QuelError {
        QuelError::syntax(&self.text[self.next.start..self.next.end], self.next.start)
    }
}
