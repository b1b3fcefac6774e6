//! The session's parameters: SET, SHOW, RESET, and what drivers ask for.
//!
//! Invariant: a parameter that PostgreSQL knows and drivers set is accepted, with values that are honest about what this server does:
//! what cannot be changed refuses other values, what has no effect here keeps what it was given.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::isolation::TransactionLevel;
use messages::SiteId;
use messages::concurrency::{Method, SwitchStrategy};
use messages::namespace::PUBLIC_OID;
use messages::schema::{Catalog, TemporaryOwner};
use messages::session::AccessMode;
use messages::settings::{PARAMETERS, Parameter};
use privileges::path::{self, PathOwner, SearchPath};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::Zone;

/// What is special about a session, as far as SQL can ask.
pub struct Facts<'a> {
    /// The name of the role whose privileges count: `current_user`.
    pub user: &'a str,
    /// Its number: that of the bootstrap superuser under whatever name. Another role may have the name by now.
    pub role: u32,
    /// The name of the role that may become others: `session_user`.
    pub session_user: &'a str,
    /// Its number.
    pub session_role: u32,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// The database's name.
    pub database: &'a str,
    /// What `version()` says.
    pub version: &'a str,
    /// What `server_version` says.
    pub server_version: &'a str,
    /// The process id that stands for the session.
    pub process: i32,
    /// Schemas where names without one are looked for.
    pub path: SearchPath,
    /// The schema of its temporary objects.
    pub temporary: OwnTemporary,
    /// What its transaction may do, or the next one if none is open.
    pub access: AccessMode,
    /// How that is kept apart from others.
    pub level: TransactionLevel,
    /// Its parameters.
    pub settings: &'a Settings,
    /// What is set for its site.
    pub site: Option<SiteFacts<'a>>,
}

/// A session's temporary objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnTemporary {
    /// Who they belong to.
    pub owner: TemporaryOwner,
    /// The number of their schema, once there is one.
    pub schema: Option<u32>,
}

impl Facts<'_> {
    /// For whom names are looked for.
    pub fn path_owner(&self) -> PathOwner<'_> {
        PathOwner { role: self.role, user: self.user, temporary: self.temporary.schema }
    }
}

/// What is set for a site by ALTER SYSTEM, or by its file.
#[derive(Clone, Copy)]
pub struct SiteFacts<'a> {
    /// Which site.
    pub site: SiteId,
    /// What has been committed.
    pub catalog: &'a Catalog,
    /// The concurrency-control method that its file names.
    pub method: Method,
}

impl SiteFacts<'_> {
    /// The value of a parameter: that in force at this site, or what is set for one site alone, which may be nothing.
    fn value(&self, parameter: Parameter, site: Option<SiteId>) -> String {
        if site.is_some() {
            let set = self.catalog.settings.get(&parameter.name(site));
            return set.map(|(value, _)| value.clone()).unwrap_or_default();
        }
        let of_file = match parameter {
            Parameter::ConcurrencyMethod => self.method.name(),
            Parameter::ConcurrencyWay => SwitchStrategy::default().name(),
        };
        parameter.set_in(self.catalog, self.site).unwrap_or(of_file).to_owned()
    }
}

impl<'a> Facts<'a> {
    /// The facts of no session, for what no session may depend on.
    pub fn nobody(settings: &'a Settings) -> Facts<'a> {
        Facts {
            user: "",
            role: 0,
            session_user: "",
            session_role: 0,
            is_superuser: false,
            database: "",
            version: "",
            server_version: "",
            process: 0,
            path: Arc::from([PUBLIC_OID]),
            temporary: OwnTemporary::default(),
            access: AccessMode::ReadWrite,
            level: TransactionLevel::default(),
            settings,
            site: None,
        }
    }
}

/// How a parameter takes values.
#[derive(Clone, Copy)]
enum Kind {
    /// Any text; it changes nothing here.
    Free,
    /// A truth value.
    Boolean,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A number of milliseconds, with a unit or without.
    Milliseconds,
    /// An integer.
    Integer,
    /// Reported, never changed.
    Fixed,
}

/// A parameter: its name, default, kind, and whether a change is reported to the client (`GUC_REPORT`).
struct Known(&'static str, &'static str, Kind, bool);

/// From the least to the most that a client can ask to be told.
const MESSAGE_LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// Locales whose conventions are those of C as far as they show here.
const LOCALES: &[&str] = &["C", "POSIX", "", "C.UTF-8", "en_US.UTF-8", "en_US.utf8"];

/// The parameters, in order of their names.
const KNOWN: &[Known] = &[
    Known("application_name", "", Kind::Free, true),
    Known("block_size", "8192", Kind::Fixed, false),
    Known("bytea_output", "hex", Kind::OneOf(&["hex"]), false),
    Known("check_function_bodies", "on", Kind::Boolean, false),
    Known("client_encoding", "UTF8", Kind::OneOf(&["UTF8"]), true),
    Known("client_min_messages", "notice", Kind::OneOf(MESSAGE_LEVELS), false),
    Known("constraint_exclusion", "partition", Kind::Free, false),
    Known("datestyle", "ISO, MDY", Kind::Free, true),
    Known("default_table_access_method", "heap", Kind::OneOf(&["heap"]), false),
    Known("default_tablespace", "", Kind::OneOf(&["", "pg_default"]), false),
    Known("default_transaction_deferrable", "off", Kind::Boolean, false),
    Known("default_transaction_isolation", "serializable", Kind::Free, false),
    Known("default_transaction_read_only", "off", Kind::Boolean, true),
    Known("default_with_oids", "off", Kind::OneOf(&["off"]), false),
    Known("effective_cache_size", "4GB", Kind::Free, false),
    Known("enable_bitmapscan", "on", Kind::Boolean, false),
    Known("enable_hashagg", "on", Kind::Boolean, false),
    Known("enable_hashjoin", "on", Kind::Boolean, false),
    Known("enable_indexonlyscan", "on", Kind::Boolean, false),
    Known("enable_indexscan", "on", Kind::Boolean, false),
    Known("enable_mergejoin", "on", Kind::Boolean, false),
    Known("enable_nestloop", "on", Kind::Boolean, false),
    Known("enable_seqscan", "on", Kind::Boolean, false),
    Known("enable_sort", "on", Kind::Boolean, false),
    Known("escape_string_warning", "on", Kind::Boolean, false),
    Known("extra_float_digits", "1", Kind::Integer, false),
    Known("geqo", "on", Kind::Boolean, false),
    Known("idle_in_transaction_session_timeout", "0", Kind::Milliseconds, false),
    Known("idle_session_timeout", "0", Kind::Milliseconds, false),
    Known("in_hot_standby", "off", Kind::Fixed, true),
    Known("integer_datetimes", "on", Kind::Fixed, true),
    Known("intervalstyle", "postgres", Kind::OneOf(&["postgres"]), true),
    Known("is_superuser", "on", Kind::Fixed, true),
    Known("jit", "off", Kind::Boolean, false),
    Known("lc_collate", "C", Kind::Fixed, false),
    Known("lc_ctype", "C", Kind::Fixed, false),
    Known("lc_messages", "C", Kind::OneOf(LOCALES), false),
    Known("lc_monetary", "C", Kind::OneOf(LOCALES), false),
    Known("lc_numeric", "C", Kind::OneOf(LOCALES), false),
    Known("lc_time", "C", Kind::OneOf(LOCALES), false),
    Known("lock_timeout", "0", Kind::Milliseconds, false),
    Known("log_timezone", "UTC", Kind::Fixed, false),
    Known("maintenance_work_mem", "64MB", Kind::Free, false),
    Known("max_connections", "1000", Kind::Fixed, false),
    Known("max_identifier_length", "63", Kind::Fixed, false),
    Known("max_parallel_workers_per_gather", "0", Kind::Integer, false),
    Known("password_encryption", "scram-sha-256", Kind::OneOf(&["scram-sha-256"]), false),
    Known("plan_cache_mode", "auto", Kind::Free, false),
    Known("quote_all_identifiers", "off", Kind::Boolean, false),
    Known("random_page_cost", "4", Kind::Free, false),
    Known("raid.query_engine", "executor", Kind::OneOf(&["datafusion", "executor"]), false),
    Known("raid.query_language", "sql", Kind::OneOf(&["sql", "quel"]), false),
    Known("row_security", "on", Kind::Boolean, false),
    Known("search_path", path::DEFAULT, Kind::Free, false),
    Known("server_encoding", "UTF8", Kind::Fixed, true),
    Known("server_version", "", Kind::Fixed, true),
    Known("server_version_num", "150000", Kind::Fixed, false),
    Known("session_authorization", "", Kind::Fixed, true),
    Known("session_replication_role", "origin", Kind::OneOf(&["origin"]), false),
    Known("standard_conforming_strings", "on", Kind::OneOf(&["on"]), true),
    Known("statement_timeout", "0", Kind::Milliseconds, false),
    Known("synchronize_seqscans", "on", Kind::Boolean, false),
    Known("synchronous_commit", "on", Kind::Free, false),
    Known("tcp_keepalives_idle", "0", Kind::Integer, false),
    Known("timezone", "UTC", Kind::Free, true),
    Known("transaction_deferrable", "off", Kind::Boolean, false),
    Known("transaction_isolation", "serializable", Kind::Free, false),
    Known("transaction_read_only", "off", Kind::Boolean, false),
    Known("work_mem", "4MB", Kind::Free, false),
    Known("xmloption", "content", Kind::Free, false),
];

/// A role that a session acts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What it is called.
    pub name: Arc<str>,
    /// Its number.
    pub role: u32,
}

/// The parameters that a session changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    changed: BTreeMap<String, String>,
    /// What the client announced when it connected: RESET goes back to it.
    announced: BTreeMap<String, String>,
    /// The value of `timezone`.
    zone: Zone,
    /// SET SESSION AUTHORIZATION; `None`: who logged in.
    pub session_user: Option<Identity>,
    /// SET ROLE; `None`: the session's own.
    pub role: Option<Identity>,
}

impl Settings {
    /// Whether a session with these acts as one with others.
    pub fn acts_as(&self, other: &Settings) -> bool {
        (&self.role, &self.session_user) == (&other.role, &other.session_user)
    }

    /// A parameter's value as SHOW prints it. Errors: 42704.
    pub fn show(&self, name: &str, facts: &Facts) -> Result<String> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "server_version" => return Ok(facts.server_version.to_string()),
            "session_authorization" => return Ok(facts.session_user.to_string()),
            "role" => return Ok(self.role.as_ref().map_or_else(|| "none".to_string(), |role| role.name.to_string())),
            "transaction_isolation" => return Ok(facts.level.name().to_string()),
            "transaction_read_only" => {
                return Ok(if facts.access == AccessMode::ReadOnly { "on" } else { "off" }.to_string());
            }
            "is_superuser" => return Ok(if facts.is_superuser { "on" } else { "off" }.to_string()),
            _ => {}
        }
        if let Some((parameter, site)) = Parameter::of_name(&name) {
            let value = facts.site.map(|facts| facts.value(parameter, site));
            return value.ok_or_else(|| unknown(&name));
        }
        match (known(&name), self.given(&name)) {
            (Some(Known(_, _, Kind::Milliseconds, _)), Some(value)) => Ok(with_unit(value)),
            (_, Some(value)) => Ok(value.clone()),
            (Some(known), None) => Ok(known.1.to_string()),
            (None, None) => Err(unknown(&name)),
        }
    }

    /// What a parameter was set to, or announced as.
    fn given(&self, name: &str) -> Option<&String> {
        self.changed.get(name).or_else(|| self.announced.get(name))
    }

    /// A parameter's value, or its default.
    fn value(&self, name: &str) -> &str {
        self.given(name).map(String::as_str).or_else(|| known(name).map(|known| known.1)).unwrap_or("")
    }

    /// The time zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// What was accepted as a zone is one.
    fn find_zone(&mut self) {
        self.zone = Zone::of_name(self.value("timezone")).unwrap_or_default();
    }

    /// What the client calls itself.
    pub fn application(&self) -> &str {
        self.value("application_name")
    }

    /// The list of schemas where names without one are looked for.
    pub fn search_path(&self) -> &str {
        self.given("search_path").map_or(path::DEFAULT, String::as_str)
    }

    /// Whether transactions are read-only unless they say otherwise. Asked at every statement, as the next one.
    pub fn default_read_only(&self) -> bool {
        self.given("default_transaction_read_only").is_some_and(|value| value == "on")
    }

    /// At which level transactions execute unless they say otherwise.
    pub fn default_level(&self) -> TransactionLevel {
        self.given("default_transaction_isolation").and_then(|name| TransactionLevel::of_name(name)).unwrap_or_default()
    }

    /// Whether a new function is tried: programs that load a dump make functions before what they read.
    pub fn checks_bodies(&self) -> bool {
        self.value("check_function_bodies") == "on"
    }

    /// Whether statements take what policies of tables leave: if not, it is an error that they hold something back.
    pub fn row_security(&self) -> bool {
        self.given("row_security").is_none_or(|value| value == "on")
    }

    /// Whether texts are QUEL. Asked at every one of them.
    pub fn speaks_quel(&self) -> bool {
        self.given("raid.query_language").is_some_and(|value| value == "quel")
    }

    /// Milliseconds that a statement may take; 0: as long as it likes.
    pub fn statement_timeout_ms(&self) -> u64 {
        self.milliseconds("statement_timeout")
    }

    /// A time-out; 0: none.
    pub fn milliseconds(&self, name: &str) -> u64 {
        self.given(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// Sets a parameter; `None`: to its default. Returns whether the client is told, with the name as it is told. Errors: 42704 for
    /// an unknown one, 22023 for a bad value, 55P02 for one that cannot be changed.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Option<(&'static str, String)>> {
        let name = name.to_ascii_lowercase();
        if Parameter::of_name(&name).is_some() {
            let message = format!("parameter \"{name}\" cannot be changed now");
            return Err(SqlError::new(sqlstate::CANNOT_CHANGE_PARAMETER, message)
                .with_hint("It is no session's own: ALTER SYSTEM SET changes it for all sites."));
        }
        let Some(known) = known(&name) else {
            // A name with a dot belongs to the application.
            if name.contains('.') {
                check_name(&name)?;
            }
            return match (name.contains('.'), value) {
                (true, Some(value)) => {
                    self.changed.insert(name, value.to_string());
                    Ok(None)
                }
                (true, None) => {
                    self.changed.remove(&name);
                    Ok(None)
                }
                (false, _) => Err(unknown(&name)),
            };
        };
        match value {
            Some(value) => {
                let value = accept(known, value)?;
                self.changed.insert(name.clone(), value);
            }
            None => {
                self.changed.remove(&name);
            }
        }
        if name == "timezone" {
            self.find_zone();
        }
        Ok(known.3.then(|| (reported_name(known.0), self.value(known.0).to_string())))
    }

    /// The same of what a client announces when it connects, which is what its session begins with.
    pub fn announce(&mut self, name: &str, value: &str) -> Result<()> {
        self.set(name, Some(value))?;
        self.announced.append(&mut self.changed);
        Ok(())
    }

    /// What a session begins with that its client has not announced otherwise. A value that is good no more is passed over.
    pub fn begin_with(&mut self, name: &str, value: &str) {
        if self.given(name).is_none() {
            let _ = self.announce(name, value);
        }
    }

    /// All parameters: name and value.
    pub fn all(&self, facts: &Facts) -> Vec<(String, String)> {
        let given: BTreeSet<&String> = self.changed.keys().chain(self.announced.keys()).collect();
        let application = given.into_iter().filter(|name| name.contains('.') && !is_known(name)).map(String::as_str);
        let of_site = PARAMETERS.into_iter().map(|parameter| parameter.name(None));
        let own = KNOWN.iter().map(|known| known.0).chain(application).map(str::to_owned);
        let mut names: Vec<String> = own.chain(of_site).collect();
        names.sort_unstable();
        names.iter().filter_map(|name| Some((reported_name_of(name), self.show(name, facts).ok()?))).collect()
    }

    /// Forgets all changes; returns the parameters to tell the client.
    pub fn reset_all(&mut self) -> Vec<(&'static str, String)> {
        let changed = std::mem::take(&mut self.changed);
        self.find_zone();
        changed
            .keys()
            .filter_map(|name| known(name))
            .filter(|known| known.3)
            .map(|known| (reported_name(known.0), self.value(known.0).to_string()))
            .collect()
    }

    /// What the client is told that is otherwise than before.
    pub fn reported_changes(&self, before: &Settings) -> Vec<(&'static str, String)> {
        let differs = |known: &&Known| known.3 && self.value(known.0) != before.value(known.0);
        KNOWN.iter().filter(differs).map(|known| (reported_name(known.0), self.value(known.0).to_string())).collect()
    }

    /// What the client is told when the session starts.
    pub fn reported(&self, facts: &Facts) -> Vec<(&'static str, String)> {
        KNOWN
            .iter()
            .filter(|known| known.3)
            .filter_map(|known| Some((reported_name(known.0), self.show(known.0, facts).ok()?)))
            .collect()
    }
}

/// Whether sessions have a parameter of this name.
pub fn is_known(name: &str) -> bool {
    known(name).is_some()
}

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.0 == name)
}

/// Errors: 42602 for a name that no parameter can have: its parts are identifiers. 0A000 for those of PL/pgSQL.
fn check_name(name: &str) -> Result<()> {
    let is_identifier = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || !first.is_ascii())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "_$".contains(letter) || !letter.is_ascii())
    };
    if name.starts_with("plpgsql.") {
        return Err(SqlError::unsupported("PL/pgSQL"));
    }
    if name.split('.').all(is_identifier) {
        return Ok(());
    }
    Err(SqlError::new(sqlstate::INVALID_NAME, format!("invalid configuration parameter name \"{name}\"")))
}

fn unknown(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

/// The spelling in ParameterStatus, which drivers compare with case.
fn reported_name(name: &'static str) -> &'static str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

/// The spelling in the answers to SHOW.
pub fn reported_name_of(name: &str) -> String {
    known(name).map_or(name, |known| reported_name(known.0)).to_string()
}

/// The value as it is kept. Errors: 22023, 55P02.
fn accept(known: &Known, value: &str) -> Result<String> {
    let invalid = || {
        SqlError::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{}\": \"{value}\"", reported_name(known.0)),
        )
    };
    if let Some(style) = of_style(known.0, value, &invalid) {
        return style;
    }
    match (known.0, known.2) {
        ("client_encoding", _) => {
            // As PostgreSQL does: blanks, signs and even quotes in an encoding's name count for nothing.
            let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
            let plain = plain.to_ascii_lowercase();
            if matches!(plain.as_str(), "utf8" | "unicode" | "sqlascii") {
                Ok("UTF8".to_string())
            } else {
                Err(invalid().with_hint("The only encoding is UTF8."))
            }
        }
        ("timezone", _) => match Zone::of_setting(value) {
            Ok(zone) => Ok(zone.name().to_string()),
            Err(None) => Err(invalid()),
            Err(Some(detail)) => Err(invalid().with_detail(detail)),
        },
        ("search_path", _) if path::names(value).is_none() => Err(invalid().with_detail("List syntax is invalid.")),
        ("default_transaction_isolation" | "transaction_isolation", _) => {
            TransactionLevel::of_value(known.0, value).map(|level| level.name().to_string())
        }
        (_, Kind::Free) => Ok(value.to_string()),
        (_, Kind::Boolean) => boolean(value).map(str::to_string).ok_or_else(invalid),
        (_, Kind::OneOf(values)) => values
            .iter()
            .find(|known| known.eq_ignore_ascii_case(value) || boolean(value) == Some(known))
            .map(|known| known.to_string())
            .ok_or_else(|| invalid().with_hint(format!("Available values: {}.", values.join(", ")))),
        (_, Kind::Milliseconds) => milliseconds(value).map(|number| number.to_string()).ok_or_else(invalid),
        (_, Kind::Integer) => value.trim().parse::<i32>().map(|number| number.to_string()).map_err(|_| invalid()),
        (_, Kind::Fixed) => Err(SqlError::new(
            sqlstate::CANNOT_CHANGE_PARAMETER,
            format!("parameter \"{}\" cannot be changed", known.0),
        )),
    }
}

/// How values are written and read: PostgreSQL has other styles, which there are not here. `None` for any other parameter.
fn of_style(name: &str, value: &str, invalid: &dyn Fn() -> Box<SqlError>) -> Option<Result<String>> {
    const DATES: [&str; 9] = ["sql", "postgres", "german", "dmy", "ymd", "euro", "european", "us", "noneuropean"];
    let lower = value.trim().to_ascii_lowercase();
    let other = |what: &str| Some(Err(SqlError::unsupported(what)));
    match name {
        "extra_float_digits" => Some(match lower.parse::<i32>() {
            Ok(digits @ 1..=3) => Ok(digits.to_string()),
            Ok(-15..=0) => {
                Err(SqlError::unsupported("extra_float_digits below 1").with_hint("Floats show all their digits."))
            }
            _ => Err(invalid()),
        }),
        "datestyle" => {
            let mut parts = lower.split(',').map(str::trim);
            if parts.clone().all(|part| matches!(part, "iso" | "mdy" | "default")) {
                Some(Ok("ISO, MDY".to_string()))
            } else if parts.all(|part| DATES.contains(&part) || matches!(part, "iso" | "mdy")) {
                other("a date style other than ISO, MDY")
            } else {
                Some(Err(invalid().with_hint("The only date style is ISO, MDY.")))
            }
        }
        "intervalstyle" if ["sql_standard", "postgres_verbose", "iso_8601"].contains(&lower.as_str()) => {
            other("an interval style other than postgres")
        }
        "session_replication_role" if ["replica", "local"].contains(&lower.as_str()) => {
            other("session_replication_role other than origin")
        }
        "bytea_output" if lower == "escape" => other("bytea_output other than hex"),
        "standard_conforming_strings" if boolean(value) == Some("off") => {
            other("standard_conforming_strings other than on")
        }
        "default_with_oids" if boolean(value) == Some("on") => {
            let message = "tables declared WITH OIDS are not supported";
            Some(Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)))
        }
        _ => None,
    }
}

fn boolean(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some("on"),
        "off" | "false" | "f" | "no" | "n" | "0" => Some("off"),
        _ => None,
    }
}

/// Milliseconds with the largest unit that leaves no rest, as SHOW prints them.
fn with_unit(value: &str) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")];
    match value.parse::<u64>() {
        Ok(number) if number > 0 => {
            let whole = units.iter().find(|(size, _)| number % size == 0);
            whole.map_or_else(|| value.to_string(), |(size, unit)| format!("{}{unit}", number / size))
        }
        _ => value.to_string(),
    }
}

/// `250`, `250ms`, `2s`, `5min`.
fn milliseconds(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..digits].parse().ok()?;
    let unit = match value[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|number| *number <= i32::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::limits::CLIENTS_MAX;

    /// A pool that opens as many connections as it was told would be refused.
    #[test]
    fn as_many_connections_are_told_as_there_may_be() {
        let told = known("max_connections").map(|known| known.1.to_string());
        assert_eq!(told, Some(CLIENTS_MAX.to_string()));
    }
}
