//! CREATE, ALTER and DROP DATABASE, from tokens to what they ask for (PostgreSQL's `dbcommands.c`).
//!
//! Invariants: what is no such statement is left as it was, and an option that would change an answer is refused unless it says what is so anyway.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::grants::comma_separated;
use crate::sql::role_syntax::Named;
use crate::sql::words::Words;
use messages::Key;
use messages::schema::CatalogEntry;
use sqlparser::tokenizer::Token;

/// A statement about a database.
#[derive(Clone, Debug)]
pub enum DatabaseStatement {
    /// CREATE DATABASE.
    Create(String, DatabaseOptions),
    /// ALTER DATABASE with options.
    Alter(String, DatabaseOptions),
    /// ALTER DATABASE ... RENAME TO.
    Rename(String, String),
    /// DROP DATABASE.
    Drop(DroppedDatabase),
}

/// What CREATE DATABASE and ALTER DATABASE say of one; `None`: nothing.
#[derive(Clone, Debug, Default)]
pub struct DatabaseOptions {
    pub(super) owner: Option<Named>,
    pub(super) template: Option<String>,
    pub(super) is_template: Option<bool>,
    pub(super) allows_connections: Option<bool>,
    pub(super) connection_limit: Option<i32>,
    /// What else was said, which has no effect.
    others: Vec<String>,
}

/// A database to be dropped.
#[derive(Clone, Debug)]
pub struct DroppedDatabase {
    pub(super) name: String,
    pub(super) if_exists: bool,
    /// FORCE: its sessions are ended.
    pub(super) force: bool,
}

/// What may stand as an option's value.
enum DatabaseOptionValue {
    Default,
    Text(String),
    Number(i64),
}

impl DatabaseStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            DatabaseStatement::Create(..) => "CREATE DATABASE",
            DatabaseStatement::Alter(..) | DatabaseStatement::Rename(..) => "ALTER DATABASE",
            DatabaseStatement::Drop(_) => "DROP DATABASE",
        }
    }

    /// What it is called, if it runs outside of transaction blocks only.
    pub fn outside_blocks(&self) -> Option<&'static str> {
        matches!(self, DatabaseStatement::Create(..) | DatabaseStatement::Drop(_)).then(|| self.tag())
    }

    /// The database whose sessions have to be gone, and whether they are ended.
    pub fn emptied(&self) -> Option<(&str, bool)> {
        match self {
            DatabaseStatement::Rename(name, _) => Some((name, false)),
            DatabaseStatement::Drop(dropped) => Some((&dropped.name, dropped.force)),
            _ => None,
        }
    }

    /// Catalog rows that decide what becomes of it.
    pub(super) fn mentioned(&self) -> Vec<Key> {
        let names = match self {
            DatabaseStatement::Create(name, options) => [Some(name), options.template.as_ref()],
            DatabaseStatement::Alter(name, _) => [Some(name), None],
            DatabaseStatement::Rename(name, to) => [Some(name), Some(to)],
            DatabaseStatement::Drop(dropped) => [Some(&dropped.name), None],
        };
        names.into_iter().flatten().map(|name| CatalogEntry::database_key(name)).collect()
    }
}

/// Parses what stands behind CREATE, ALTER or DROP; `None`: it is about something else.
pub(super) fn parse(verb: &str, words: &mut Words) -> Result<Option<DatabaseStatement>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    if !matches!(verb, "create" | "alter" | "drop") || !ahead.skip(&["database"]) {
        return Ok(None);
    }
    let statement = match verb {
        "create" => {
            let name = ahead.name()?;
            DatabaseStatement::Create(name, options(&mut ahead, true)?)
        }
        "drop" => dropped(&mut ahead)?,
        _ => match altered(&mut ahead)? {
            Some(statement) => statement,
            None => return Ok(None),
        },
    };
    *words = ahead;
    Ok(Some(statement))
}

/// ALTER DATABASE; `None`: it is about the owner or settings.
fn altered(words: &mut Words) -> Result<Option<DatabaseStatement>> {
    let name = words.name()?;
    if words.skip(&["rename"]) {
        words.expect("to")?;
        return Ok(Some(DatabaseStatement::Rename(name, words.name()?)));
    }
    if words.skip(&["refresh"]) {
        return Err(SqlError::unsupported("ALTER DATABASE REFRESH COLLATION VERSION"));
    }
    Ok(match words.peek_keyword().as_deref() {
        None | Some("owner" | "set" | "reset") => None,
        Some(_) => Some(DatabaseStatement::Alter(name, options(words, false)?)),
    })
}

fn dropped(words: &mut Words) -> Result<DatabaseStatement> {
    let if_exists = words.skip(&["if"]);
    if if_exists {
        words.expect("exists")?;
    }
    let name = words.name()?;
    let with = words.skip(&["with"]);
    let mut force = false;
    if with || words.peek() == Some(&Token::LParen) {
        words.expect_token(&Token::LParen)?;
        comma_separated(words, |words| words.expect("force"))?;
        words.expect_token(&Token::RParen)?;
        force = true;
    }
    Ok(DatabaseStatement::Drop(DroppedDatabase { name, if_exists, force }))
}

fn options(words: &mut Words, creates: bool) -> Result<DatabaseOptions> {
    words.skip(&["with"]);
    let mut options = DatabaseOptions::default();
    while let Some(Token::Word(_)) = words.peek() {
        let name = option_name(words)?;
        words.skip_token(&Token::Eq);
        let value = option_value(words)?;
        options.add(&name, value, creates)?;
    }
    Ok(options)
}

fn option_name(words: &mut Words) -> Result<String> {
    if words.skip(&["connection"]) {
        words.expect("limit")?;
        return Ok("connection_limit".to_owned());
    }
    words.name()
}

fn option_value(words: &mut Words) -> Result<DatabaseOptionValue> {
    if words.skip(&["default"]) {
        return Ok(DatabaseOptionValue::Default);
    }
    let minus = words.skip_token(&Token::Minus);
    if let Some(Token::Number(digits, _)) = words.peek() {
        let number: i64 = digits.parse().map_err(|_| words.error())?;
        words.advance();
        return Ok(DatabaseOptionValue::Number(if minus { -number } else { number }));
    }
    match words.peek() {
        _ if minus => Err(words.error()),
        Some(Token::Word(_)) => Ok(DatabaseOptionValue::Text(words.name()?)),
        _ => Ok(DatabaseOptionValue::Text(words.string()?)),
    }
}

impl DatabaseOptionValue {
    fn text(self) -> Option<String> {
        match self {
            DatabaseOptionValue::Default => None,
            DatabaseOptionValue::Text(text) => Some(text),
            DatabaseOptionValue::Number(number) => Some(number.to_string()),
        }
    }

    /// Errors: 42601 for what is no truth value.
    fn truth(self, name: &str) -> Result<Option<bool>> {
        match self {
            DatabaseOptionValue::Default => Ok(None),
            DatabaseOptionValue::Number(0) => Ok(Some(false)),
            DatabaseOptionValue::Number(1) => Ok(Some(true)),
            DatabaseOptionValue::Text(text) if ["true", "on"].contains(&text.to_lowercase().as_str()) => Ok(Some(true)),
            DatabaseOptionValue::Text(text) if ["false", "off"].contains(&text.to_lowercase().as_str()) => {
                Ok(Some(false))
            }
            _ => Err(SqlError::new(sqlstate::SYNTAX_ERROR, format!("{name} requires a Boolean value"))),
        }
    }
}

impl DatabaseOptions {
    /// Errors: 42601 for one that is unknown or said twice, 0A000 for one that Raid does not have.
    fn add(&mut self, name: &str, value: DatabaseOptionValue, creates: bool) -> Result<()> {
        let is_of_both = ["is_template", "allow_connections", "connection_limit"].contains(&name);
        let is_new = match name {
            "owner" => self.owner.is_none(),
            "template" => self.template.is_none(),
            _ => true,
        };
        if !is_new || self.others.iter().any(|known| known == name) {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        self.others.push(name.to_owned());
        match name {
            "is_template" => self.is_template = value.truth(name)?,
            "allow_connections" => self.allows_connections = value.truth(name)?,
            "connection_limit" => self.connection_limit = limit(value)?,
            _ if !creates && !is_of_both => return Err(unrecognized(name)),
            "owner" => self.owner = value.text().map(Named::Is),
            "template" => self.template = value.text(),
            _ => return check_fixed(name, value),
        }
        Ok(())
    }
}

fn unrecognized(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))
}

fn limit(value: DatabaseOptionValue) -> Result<Option<i32>> {
    match value {
        DatabaseOptionValue::Default => Ok(None),
        DatabaseOptionValue::Number(number) => match i32::try_from(number) {
            Ok(limit) if limit >= -1 => Ok(Some(limit)),
            _ => Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid connection limit: {number}"))),
        },
        DatabaseOptionValue::Text(_) => {
            Err(SqlError::new(sqlstate::SYNTAX_ERROR, "connection_limit requires a numeric value"))
        }
    }
}

/// An option that has one value here. Errors: 0A000 for another one, 42704 for a tablespace.
fn check_fixed(name: &str, value: DatabaseOptionValue) -> Result<()> {
    let Some(text) = value.text() else { return Ok(()) };
    let lower = text.to_lowercase();
    let is_locale = |text: &str| ["c", "posix", "c.utf-8", "c.utf8"].contains(&text);
    let has_it = match name {
        "encoding" if !is_encoding(&lower) => {
            let message = format!("{text} is not a valid encoding name");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
        "encoding" => ["utf8", "utf-8", "unicode", "6"].contains(&lower.as_str()),
        "lc_collate" | "lc_ctype" | "locale" => is_locale(&lower),
        "locale_provider" => lower == "libc",
        "strategy" => ["wal_log", "file_copy"].contains(&lower.as_str()),
        "tablespace" if lower == "pg_default" => true,
        "tablespace" => {
            let message = format!("tablespace \"{text}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message));
        }
        "icu_locale" | "collation_version" | "oid" => false,
        _ => return Err(unrecognized(name)),
    };
    match has_it {
        true => Ok(()),
        false => Err(SqlError::unsupported(format!("{} {text} of a database", name.to_uppercase()))
            .with_hint("Every database has the encoding UTF8 and the locale C.")),
    }
}

/// Whether PostgreSQL has an encoding of this name, in lower case, or of this number (PostgreSQL's manual, 24.3.1).
fn is_encoding(text: &str) -> bool {
    const NAMES: &str = "big5 eucjp eucjis2004 euckr euccn euctw gb18030 gbk iso88591 iso885910 iso885913 iso885914 iso885915 \
        iso885916 iso88592 iso88593 iso88594 iso88595 iso88596 iso88597 iso88598 iso88599 johab koi8 koi8r \
        koi8u latin1 latin10 latin2 latin3 latin4 latin5 latin6 latin7 latin8 latin9 mskanji muleinternal \
        shiftjis shiftjis2004 sjis sqlascii tcvn tcvn5712 uhc unicode utf8 vscii win win1250 win1251 win1252 \
        win1253 win1254 win1255 win1256 win1257 win1258 win866 win874 win932 win936 win949 win950 \
        windows1250 windows1251 windows1252 windows1253 windows1254 windows1255 windows1256 windows1257 \
        windows1258 windows866 windows874 windows932 windows936 windows949 windows950 abc alt";
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    NAMES.split(' ').any(|name| name == letters) || text.parse::<u8>().is_ok_and(|number| number <= 41)
}
