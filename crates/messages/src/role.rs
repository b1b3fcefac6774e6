//! Roles as the catalog keeps them.
//!
//! A role is a row of the catalog, so every site knows it once the statement that made it has committed. The bootstrap superuser is there without a row,
//! until something about it is changed. Invariant: what is kept of a password is a verifier, and printing a role for a person does not show it.

use crate::privilege::{DefaultGrants, Membership};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of the superuser that every instance has.
pub const BOOTSTRAP: &str = "postgres";
/// Its object identifier, PostgreSQL's (`BOOTSTRAP_SUPERUSERID`).
pub const BOOTSTRAP_OID: u32 = 10;

/// What must not be printed by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret<T>(pub T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSchema {
    /// Its name, in a space of its own.
    pub name: String,
    /// Its object identifier, kept for life.
    pub oid: u32,
    /// May do everything.
    pub superuser: bool,
    /// Has what roles have that it is a member of.
    pub inherit: bool,
    /// May make, change and drop roles that are no superusers.
    pub create_role: bool,
    /// May make databases.
    pub create_database: bool,
    /// May connect.
    pub login: bool,
    /// May ask for replication.
    pub replication: bool,
    /// Row-level security does not apply to it.
    pub bypass_row_security: bool,
    /// So many connections of it a site takes; negative: any number.
    pub connection_limit: i32,
    /// Until when its password is good, in microseconds since 1970; `None`: for ever.
    pub valid_until: Option<i64>,
    /// What is kept of its password, in PostgreSQL's text form; `None`: it cannot log in by one.
    pub verifier: Option<Secret<String>>,
    /// What it is a member of.
    pub memberships: Vec<Membership>,
    /// What is granted on what it makes.
    pub defaults: Vec<DefaultGrants>,
    /// Parameters that its sessions begin with, and their values.
    pub settings: Vec<(String, String)>,
}

impl RoleSchema {
    /// A role that may nothing, as CREATE ROLE makes it unless it says otherwise.
    pub fn new(name: String, oid: u32) -> RoleSchema {
        RoleSchema {
            name,
            oid,
            superuser: false,
            inherit: true,
            create_role: false,
            create_database: false,
            login: false,
            replication: false,
            bypass_row_security: false,
            connection_limit: -1,
            valid_until: None,
            verifier: None,
            memberships: Vec::new(),
            defaults: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// The bootstrap superuser as it is without a row.
    pub fn bootstrap() -> RoleSchema {
        RoleSchema {
            superuser: true,
            create_role: true,
            create_database: true,
            login: true,
            replication: true,
            bypass_row_security: true,
            ..RoleSchema::new(BOOTSTRAP.to_owned(), BOOTSTRAP_OID)
        }
    }
}

/// Predefined roles: names and object identifiers. All but the last two are PostgreSQL's: these may see what the `raid` schema shows, and take
/// snapshots of the instance.
const PREDEFINED: [(&str, u32); 14] = [
    ("pg_checkpoint", CHECKPOINT_OID),
    ("pg_database_owner", DATABASE_OWNER_OID),
    ("pg_execute_server_program", 4571),
    ("pg_monitor", 3373),
    ("pg_read_all_data", READ_ALL_DATA_OID),
    ("pg_read_all_settings", 3374),
    ("pg_read_all_stats", READ_ALL_STATS_OID),
    ("pg_read_server_files", 4569),
    ("pg_signal_backend", SIGNAL_BACKEND_OID),
    ("pg_stat_scan_tables", 3377),
    ("pg_write_all_data", WRITE_ALL_DATA_OID),
    ("pg_write_server_files", 4570),
    ("raid_monitor", RAID_MONITOR_OID),
    ("raid_operator", RAID_OPERATOR_OID),
];

/// The role whose members may ask for checkpoints.
pub const CHECKPOINT_OID: u32 = 4544;
/// The role that whoever owns the database is a member of.
pub const DATABASE_OWNER_OID: u32 = 6171;
/// Object identifier of `pg_signal_backend`.
pub const SIGNAL_BACKEND_OID: u32 = 4200;
/// Object identifier of `pg_read_all_stats`.
pub const READ_ALL_STATS_OID: u32 = 3375;
/// The role whose members may read every table.
pub const READ_ALL_DATA_OID: u32 = 6181;
/// The role whose members may change the rows of every table.
pub const WRITE_ALL_DATA_OID: u32 = 6182;
/// The role whose members may see what the schema `raid` shows.
pub const RAID_MONITOR_OID: u32 = 8801;
/// The role whose members may take snapshots of the instance, and see them.
pub const RAID_OPERATOR_OID: u32 = 8802;

/// Whether a role is predefined: nobody changes or drops it.
pub fn is_predefined(oid: u32) -> bool {
    PREDEFINED.iter().any(|(_, predefined)| *predefined == oid)
}

/// The roles that are there without a row: the bootstrap superuser and the predefined ones.
pub fn built_in() -> Vec<RoleSchema> {
    let predefined = PREDEFINED.iter().map(|(name, oid)| {
        let reaches: &[u32] = match *name {
            "pg_monitor" => &[3374, 3375, 3377, RAID_MONITOR_OID],
            "raid_operator" => &[RAID_MONITOR_OID],
            _ => &[],
        };
        let member = |role: &u32| Membership { role: *role, grantor: BOOTSTRAP_OID, admin: false };
        RoleSchema { memberships: reaches.iter().map(member).collect(), ..RoleSchema::new((*name).to_owned(), *oid) }
    });
    std::iter::once(RoleSchema::bootstrap()).chain(predefined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a verifier would stand in whatever prints a role: a log line, an error, a failed test.
    #[test]
    fn a_verifier_is_not_printed() {
        let role = RoleSchema { verifier: Some(Secret("SCRAM-SHA-256$x".to_owned())), ..RoleSchema::bootstrap() };
        assert!(!format!("{role:?}").contains("SCRAM"));
    }
}
