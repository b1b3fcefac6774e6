//! The parameters that sessions have: names, defaults, and the values that they take.
//!
//! Invariant: a value is accepted only if what it asks for is so, or it changes no answer.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::isolation::TransactionLevel;
use privileges::path;
use text_search::SearchConfiguration;
use values::Zone;

/// How a parameter takes values.
#[derive(Clone, Copy)]
pub(super) enum Kind {
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

/// A parameter.
pub(super) struct Known {
    /// Its name, in small letters.
    pub name: &'static str,
    /// What it is before anybody sets it.
    pub default: &'static str,
    /// How it takes values.
    pub kind: Kind,
    /// Whether a change is reported to the client (`GUC_REPORT`).
    pub is_reported: bool,
}

const fn parameter(name: &'static str, default: &'static str, kind: Kind, is_reported: bool) -> Known {
    Known { name, default, kind, is_reported }
}

/// From the least to the most that a client can ask to be told.
const MESSAGE_LEVELS: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// Locales whose conventions are those of C as far as they show here.
const LOCALES: &[&str] = &["C", "POSIX", "", "C.UTF-8", "en_US.UTF-8", "en_US.utf8"];

/// The parameters, in order of their names.
pub(super) const KNOWN: &[Known] = &[
    parameter("application_name", "", Kind::Free, true),
    parameter("block_size", "8192", Kind::Fixed, false),
    parameter("bytea_output", "hex", Kind::OneOf(&["hex"]), false),
    parameter("check_function_bodies", "on", Kind::Boolean, false),
    parameter("client_encoding", "UTF8", Kind::OneOf(&["UTF8"]), true),
    parameter("client_min_messages", "notice", Kind::OneOf(MESSAGE_LEVELS), false),
    parameter("constraint_exclusion", "partition", Kind::Free, false),
    parameter("datestyle", "ISO, MDY", Kind::Free, true),
    parameter("default_table_access_method", "heap", Kind::OneOf(&["heap"]), false),
    parameter("default_tablespace", "", Kind::OneOf(&["", "pg_default"]), false),
    parameter("default_text_search_config", "pg_catalog.english", Kind::Free, false),
    parameter("default_transaction_deferrable", "off", Kind::Boolean, false),
    parameter("default_transaction_isolation", "serializable", Kind::Free, false),
    parameter("default_transaction_read_only", "off", Kind::Boolean, true),
    parameter("default_with_oids", "off", Kind::OneOf(&["off"]), false),
    parameter("effective_cache_size", "4GB", Kind::Free, false),
    parameter("enable_bitmapscan", "on", Kind::Boolean, false),
    parameter("enable_hashagg", "on", Kind::Boolean, false),
    parameter("enable_hashjoin", "on", Kind::Boolean, false),
    parameter("enable_indexonlyscan", "on", Kind::Boolean, false),
    parameter("enable_indexscan", "on", Kind::Boolean, false),
    parameter("enable_mergejoin", "on", Kind::Boolean, false),
    parameter("enable_nestloop", "on", Kind::Boolean, false),
    parameter("enable_seqscan", "on", Kind::Boolean, false),
    parameter("enable_sort", "on", Kind::Boolean, false),
    parameter("escape_string_warning", "on", Kind::Boolean, false),
    parameter("extra_float_digits", "1", Kind::Integer, false),
    parameter("geqo", "on", Kind::Boolean, false),
    parameter("idle_in_transaction_session_timeout", "0", Kind::Milliseconds, false),
    parameter("idle_session_timeout", "0", Kind::Milliseconds, false),
    parameter("in_hot_standby", "off", Kind::Fixed, true),
    parameter("integer_datetimes", "on", Kind::Fixed, true),
    parameter("intervalstyle", "postgres", Kind::OneOf(&["postgres"]), true),
    parameter("is_superuser", "on", Kind::Fixed, true),
    parameter("jit", "off", Kind::Boolean, false),
    parameter("lc_collate", "C", Kind::Fixed, false),
    parameter("lc_ctype", "C", Kind::Fixed, false),
    parameter("lc_messages", "C", Kind::OneOf(LOCALES), false),
    parameter("lc_monetary", "C", Kind::OneOf(LOCALES), false),
    parameter("lc_numeric", "C", Kind::OneOf(LOCALES), false),
    parameter("lc_time", "C", Kind::OneOf(LOCALES), false),
    parameter("lock_timeout", "0", Kind::Milliseconds, false),
    parameter("log_timezone", "UTC", Kind::Fixed, false),
    parameter("maintenance_work_mem", "64MB", Kind::Free, false),
    parameter("max_connections", "1000", Kind::Fixed, false),
    parameter("max_identifier_length", "63", Kind::Fixed, false),
    parameter("max_parallel_workers_per_gather", "0", Kind::Integer, false),
    parameter("password_encryption", "scram-sha-256", Kind::OneOf(&["scram-sha-256"]), false),
    parameter("plan_cache_mode", "auto", Kind::Free, false),
    parameter("quote_all_identifiers", "off", Kind::Boolean, false),
    parameter("random_page_cost", "4", Kind::Free, false),
    parameter("raid.query_engine", "executor", Kind::OneOf(&["datafusion", "executor"]), false),
    parameter("raid.query_language", "sql", Kind::OneOf(&["sql", "quel"]), false),
    parameter("row_security", "on", Kind::Boolean, false),
    parameter("search_path", path::DEFAULT, Kind::Free, false),
    parameter("server_encoding", "UTF8", Kind::Fixed, true),
    parameter("server_version", "", Kind::Fixed, true),
    parameter("server_version_num", "150000", Kind::Fixed, false),
    parameter("session_authorization", "", Kind::Fixed, true),
    parameter("session_replication_role", "origin", Kind::OneOf(&["origin"]), false),
    parameter("standard_conforming_strings", "on", Kind::OneOf(&["on"]), true),
    parameter("statement_timeout", "0", Kind::Milliseconds, false),
    parameter("superuser_reserved_connections", "3", Kind::Fixed, false),
    parameter("synchronize_seqscans", "on", Kind::Boolean, false),
    parameter("synchronous_commit", "on", Kind::Free, false),
    parameter("tcp_keepalives_idle", "0", Kind::Integer, false),
    parameter("timezone", "UTC", Kind::Free, true),
    parameter("transaction_deferrable", "off", Kind::Boolean, false),
    parameter("transaction_isolation", "serializable", Kind::Free, false),
    parameter("transaction_read_only", "off", Kind::Boolean, false),
    parameter("work_mem", "4MB", Kind::Free, false),
    parameter("xmloption", "content", Kind::Free, false),
];

/// Whether sessions have a parameter of this name.
pub fn is_known(name: &str) -> bool {
    known(name).is_some()
}

pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The spelling in ParameterStatus, which drivers compare with case.
pub(super) fn reported_name(name: &'static str) -> &'static str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

/// The spelling in the answers to SHOW.
pub fn reported_name_of(name: &str) -> String {
    known(name).map_or(name, |known| reported_name(known.name)).to_string()
}

/// The value as it is kept. Errors: 22023, 55P02.
pub(super) fn accept(known: &Known, value: &str) -> Result<String> {
    let invalid = || {
        SqlError::new(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{}\": \"{value}\"", reported_name(known.name)),
        )
    };
    if let Some(style) = of_style(known.name, value, &invalid) {
        return style;
    }
    match (known.name, known.kind) {
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
            TransactionLevel::of_value(known.name, value).map(|level| level.name().to_string())
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
            format!("parameter \"{}\" cannot be changed", known.name),
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
        "default_text_search_config" => Some(match SearchConfiguration::named(value) {
            Ok(configuration) => Ok(format!("pg_catalog.{}", configuration.name())),
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_OBJECT => Err(invalid()),
            Err(error) => Err(SqlError::new(error.sqlstate, error.message)),
        }),
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

pub(super) fn boolean(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some("on"),
        "off" | "false" | "f" | "no" | "n" | "0" => Some("off"),
        _ => None,
    }
}

/// Milliseconds with the largest unit that leaves no rest, as SHOW prints them.
pub(super) fn with_unit(value: &str) -> String {
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
    use crate::limits::RESERVED_CONNECTIONS;
    use messages::limits::CLIENTS_MAX;

    /// A pool that opens as many connections as it was told would be refused.
    #[test]
    fn as_many_connections_are_told_as_there_may_be() {
        let told = known("max_connections").map(|known| known.default.to_string());
        assert_eq!(told, Some(CLIENTS_MAX.to_string()));
        let reserved = known("superuser_reserved_connections").map(|known| known.default.to_string());
        assert_eq!(reserved, Some(RESERVED_CONNECTIONS.to_string()));
    }
}
