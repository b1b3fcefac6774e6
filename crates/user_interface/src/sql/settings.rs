//! The session's parameters: SET, SHOW, RESET, and what drivers ask for.
//!
//! Invariant: a parameter that PostgreSQL knows and drivers set is accepted, with values that are honest about what this server does:
//! what cannot be changed refuses other values, what has no effect here keeps what it was given.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::isolation::TransactionLevel;
use crate::sql::known_settings::{
    KNOWN, Kind, Known, accept, is_known, known, reported_name, reported_name_of, with_unit,
};
use messages::SiteId;
use messages::concurrency::{Method, SwitchStrategy};
use messages::database::DatabaseId;
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
    /// Its number.
    pub database_id: DatabaseId,
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
            database_id: DatabaseId::FIRST,
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
            (Some(Known { kind: Kind::Milliseconds, .. }), Some(value)) => Ok(with_unit(value)),
            (_, Some(value)) => Ok(value.clone()),
            (Some(known), None) => Ok(known.default.to_string()),
            (None, None) => Err(unknown(&name)),
        }
    }

    /// What a parameter was set to, or announced as.
    fn given(&self, name: &str) -> Option<&String> {
        self.changed.get(name).or_else(|| self.announced.get(name))
    }

    /// A parameter's value, or its default.
    fn value(&self, name: &str) -> &str {
        self.given(name).map(String::as_str).or_else(|| known(name).map(|known| known.default)).unwrap_or("")
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
                    if self.changed.remove(&name).is_some() && !self.announced.contains_key(&name) {
                        self.changed.insert(name, String::new());
                    }
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
        Ok(known.is_reported.then(|| (reported_name(known.name), self.value(known.name).to_string())))
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

    /// Once named, a parameter of the application is one for as long as the session lasts: it is empty when it is what it was.
    pub fn keep_names(&mut self, before: &Settings) {
        for name in before.changed.keys().filter(|name| known(name).is_none()) {
            if self.given(name).is_none() {
                self.changed.insert(name.clone(), String::new());
            }
        }
    }

    /// All parameters: name and value.
    pub fn all(&self, facts: &Facts) -> Vec<(String, String)> {
        let given: BTreeSet<&String> = self.changed.keys().chain(self.announced.keys()).collect();
        let application = given.into_iter().filter(|name| name.contains('.') && !is_known(name)).map(String::as_str);
        let of_site = PARAMETERS.into_iter().map(|parameter| parameter.name(None));
        let own = KNOWN.iter().map(|known| known.name).chain(application).map(str::to_owned);
        let mut names: Vec<String> = own.chain(of_site).collect();
        names.sort_unstable();
        names.iter().filter_map(|name| Some((reported_name_of(name), self.show(name, facts).ok()?))).collect()
    }

    /// Forgets all changes; returns the parameters to tell the client.
    pub fn reset_all(&mut self) -> Vec<(&'static str, String)> {
        let changed = std::mem::take(&mut self.changed);
        self.find_zone();
        for name in changed.keys().filter(|name| known(name).is_none()) {
            if !self.announced.contains_key(name) {
                self.changed.insert(name.clone(), String::new());
            }
        }
        changed
            .keys()
            .filter_map(|name| known(name))
            .filter(|known| known.is_reported)
            .map(|known| (reported_name(known.name), self.value(known.name).to_string()))
            .collect()
    }

    /// What the client is told that is otherwise than before.
    pub fn reported_changes(&self, before: &Settings) -> Vec<(&'static str, String)> {
        let differs = |known: &&Known| known.is_reported && self.value(known.name) != before.value(known.name);
        KNOWN
            .iter()
            .filter(differs)
            .map(|known| (reported_name(known.name), self.value(known.name).to_string()))
            .collect()
    }

    /// What the client is told when the session starts.
    pub fn reported(&self, facts: &Facts) -> Vec<(&'static str, String)> {
        KNOWN
            .iter()
            .filter(|known| known.is_reported)
            .filter_map(|known| Some((reported_name(known.name), self.show(known.name, facts).ok()?)))
            .collect()
    }
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
