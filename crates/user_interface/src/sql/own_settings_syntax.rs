//! ALTER ROLE and ALTER DATABASE with SET or RESET, from tokens to what they ask for.
//!
//! Invariant: what is no such statement is left as it was.

use crate::errors::{Result, SqlError};
use crate::sql::role_syntax::{Named, named};
use crate::sql::words::Words;
use messages::Key;
use messages::schema::CatalogEntry;
use messages::settings::OF_EVERYBODY;

/// Whose settings are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsHolder {
    /// A role's.
    Role(Named),
    /// ALL roles'.
    Everybody,
    /// A database's.
    Database(String),
}

/// How they are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingChange {
    /// SET ... TO; no value: TO DEFAULT, or RESET.
    Set(String, Option<String>),
    /// SET ... FROM CURRENT.
    FromCurrent(String),
    /// RESET ALL.
    ResetAll,
}

/// ALTER ROLE or ALTER DATABASE, with SET or RESET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSettings {
    /// Whose.
    pub holder: SettingsHolder,
    /// How.
    pub change: SettingChange,
}

impl OwnSettings {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        if matches!(self.holder, SettingsHolder::Database(_)) { "ALTER DATABASE" } else { "ALTER ROLE" }
    }

    /// Catalog rows that decide what becomes of it.
    pub(super) fn mentioned(&self) -> Vec<Key> {
        match (&self.holder, &self.change) {
            (SettingsHolder::Role(name), _) => name.key().into_iter().collect(),
            (SettingsHolder::Database(name), _) => vec![CatalogEntry::database_key(name)],
            (SettingsHolder::Everybody, SettingChange::ResetAll) => Vec::new(),
            (SettingsHolder::Everybody, SettingChange::Set(name, _) | SettingChange::FromCurrent(name)) => {
                vec![CatalogEntry::setting_key(&format!("{OF_EVERYBODY}{name}"))]
            }
        }
    }
}

/// Parses what stands behind `ALTER ROLE name` if it is about settings; `None`: it is something else.
pub(super) fn parse_of_role(holder: &SettingsHolder, words: &mut Words) -> Result<Option<OwnSettings>> {
    if words.peek_is("in") {
        return Err(SqlError::unsupported("settings of a role in one database"));
    }
    parse_change(holder, words)
}

/// Parses what stands behind ALTER if it is about settings of a database; `None`: it is something else.
pub(super) fn parse_of_database(words: &mut Words) -> Result<Option<OwnSettings>> {
    let mut ahead = Words { text: words.text, rest: words.rest };
    if !ahead.skip(&["database"]) {
        return Ok(None);
    }
    let Ok(name) = ahead.name() else { return Ok(None) };
    let mut tablespace = Words { text: ahead.text, rest: ahead.rest };
    if tablespace.skip(&["set"]) && tablespace.peek_is("tablespace") {
        return Ok(None);
    }
    let found = parse_change(&SettingsHolder::Database(name), &mut ahead)?;
    if found.is_some() {
        *words = ahead;
    }
    Ok(found)
}

fn parse_change(holder: &SettingsHolder, words: &mut Words) -> Result<Option<OwnSettings>> {
    let change = if words.skip(&["reset"]) {
        match words.setting_name()?.as_str() {
            "all" => SettingChange::ResetAll,
            name => SettingChange::Set(name.to_owned(), None),
        }
    } else if words.skip(&["set"]) {
        let (name, value) = words.assignment()?;
        match value {
            None if words.skip(&["current"]) => SettingChange::FromCurrent(name),
            value => SettingChange::Set(name, value),
        }
    } else {
        return Ok(None);
    };
    Ok(Some(OwnSettings { holder: holder.clone(), change }))
}

/// Whose settings ALTER ROLE names.
pub(super) fn holder(words: &mut Words) -> Result<SettingsHolder> {
    match words.skip(&["all"]) {
        true => Ok(SettingsHolder::Everybody),
        false => Ok(SettingsHolder::Role(named(words)?)),
    }
}
