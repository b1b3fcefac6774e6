//! ALTER SYSTEM: settings of all sites, or of one, from tokens to catalog rows.
//!
//! Invariant: what is set is a parameter that sites know, and one of its values. It commits like any other change of the catalog, and is in force
//! at each site where that is installed.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::{Planner, SchemaChange};
use crate::sql::known_settings::is_known;
use crate::sql::settings::Facts;
use crate::sql::words::Words;
use messages::Key;
use messages::schema::{Catalog, CatalogEntry};
use messages::settings::{Parameter, is_of_sites};
use sqlparser::tokenizer::Token;
use std::collections::BTreeSet;

/// What ALTER SYSTEM is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemStatement {
    /// SET; no value: DEFAULT.
    Set(String, Option<String>),
    /// RESET.
    Reset(String),
    /// RESET ALL.
    ResetAll,
}

/// The command tag, and what it is called where it may not run.
pub const TAG: &str = "ALTER SYSTEM";

impl SystemStatement {
    /// Catalog rows that decide what becomes of it.
    pub fn mentioned(&self) -> Vec<Key> {
        match self {
            SystemStatement::Set(name, _) | SystemStatement::Reset(name) => vec![CatalogEntry::setting_key(name)],
            SystemStatement::ResetAll => Vec::new(),
        }
    }
}

/// Parses what stands behind ALTER SYSTEM.
pub(super) fn parse(words: &mut Words) -> Result<SystemStatement> {
    if words.skip(&["reset"]) {
        return Ok(match words.setting_name()?.as_str() {
            "all" => SystemStatement::ResetAll,
            name => SystemStatement::Reset(name.to_owned()),
        });
    }
    words.expect("set")?;
    let name = words.setting_name()?;
    if !words.skip_token(&Token::Eq) && !words.skip(&["to"]) {
        return Err(words.error());
    }
    let value = if words.skip(&["default"]) { None } else { Some(words.value()?) };
    Ok(SystemStatement::Set(name, value))
}

/// Plans it over a catalog. `own`: catalog rows that the running transaction wrote already. Errors: 42501, 42704, 22023; 0A000 for parameters that
/// sessions alone have.
pub fn plan(
    statement: &SystemStatement,
    catalog: &Catalog,
    own: &BTreeSet<Key>,
    facts: &Facts,
) -> Result<SchemaChange> {
    let mut planner = Planner::new(catalog, own, facts);
    match statement {
        SystemStatement::Set(name, value) => {
            check_rights(facts, Some(name))?;
            let parameter = parameter(name)?;
            match value {
                Some(value) => {
                    let value = CatalogEntry::Setting(accept(name, parameter, value)?);
                    planner.write(CatalogEntry::setting_key(name), Some(value));
                }
                None => reset(&mut planner, name),
            }
        }
        SystemStatement::Reset(name) => {
            check_rights(facts, Some(name))?;
            parameter(name)?;
            reset(&mut planner, name);
        }
        SystemStatement::ResetAll => {
            check_rights(facts, None)?;
            for name in catalog.settings.keys().filter(|name| is_of_sites(name)) {
                reset(&mut planner, name);
            }
        }
    }
    Ok(planner.finish())
}

/// What is not set need not be taken back.
fn reset(planner: &mut Planner, name: &str) {
    if planner.catalog.settings.contains_key(name) {
        planner.write(CatalogEntry::setting_key(name), None);
    }
}

fn check_rights(facts: &Facts, name: Option<&str>) -> Result<()> {
    let message = match name {
        _ if facts.is_superuser => return Ok(()),
        Some(name) => format!("permission denied to set parameter \"{name}\""),
        None => "permission denied to perform ALTER SYSTEM RESET ALL".to_owned(),
    };
    Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

fn parameter(name: &str) -> Result<Parameter> {
    match Parameter::of_name(name) {
        Some((parameter, _)) => Ok(parameter),
        None if is_known(name) => Err(SqlError::unsupported(format!("ALTER SYSTEM of {name}"))),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message))
        }
    }
}

fn accept(name: &str, parameter: Parameter, value: &str) -> Result<String> {
    let values = parameter.values();
    let found = values.iter().find(|known| known.eq_ignore_ascii_case(value));
    found.map(|known| (*known).to_owned()).ok_or_else(|| {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, message)
            .with_hint(format!("Available values: {}.", values.join(", ")))
    })
}
