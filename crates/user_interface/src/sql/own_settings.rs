//! Settings that sessions begin with: ALTER ROLE ... SET and ALTER DATABASE ... SET, from what they ask for to catalog rows.
//!
//! A session begins with what its role has, else what its database has, else what all roles have, else what its site's configuration says; what its client announces when it
//! connects goes before all of that. Invariant: what is kept is a value that SET would take.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::denied;
use crate::sql::own_settings_syntax::{OwnSettings, SettingChange, SettingsHolder};
use crate::sql::roles;
use crate::sql::settings::{Facts, Settings};
use messages::limits::ROLE_SETTINGS_BYTES_MAX;
use messages::role::RoleSchema;
use messages::schema::{Catalog, CatalogEntry};
use messages::settings::{OF_EVERYBODY, of_database};

impl Planner<'_> {
    /// Changes what sessions begin with. Errors: 42501, 42704, 3D000, and those of SET.
    pub(super) fn change_settings(&mut self, own: &OwnSettings, facts: &Facts) -> Result<()> {
        let prefix = match &own.holder {
            SettingsHolder::Role(name) => {
                let mut role = RoleSchema::clone(&*roles::find(&self.catalog, name, facts)?);
                self.check_role(&role)?;
                match accepted(&own.change, facts)? {
                    Accepted::Nothing => role.settings.clear(),
                    Accepted::Is(name, value) => put(&mut role.settings, name, value),
                }
                if role.settings.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
                    > ROLE_SETTINGS_BYTES_MAX
                {
                    let message = format!("a role has at most {} KiB of settings", ROLE_SETTINGS_BYTES_MAX >> 10);
                    return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
                }
                roles::write(self, role);
                return Ok(());
            }
            SettingsHolder::Everybody if !self.standing.is_superuser() => {
                return Err(denied("must be superuser to alter settings globally"));
            }
            SettingsHolder::Everybody => OF_EVERYBODY.to_owned(),
            SettingsHolder::Database(name) => of_database(self.owned_database(name)?.id),
        };
        match accepted(&own.change, facts)? {
            Accepted::Nothing => {
                let all: Vec<String> =
                    self.catalog.settings.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
                all.iter().for_each(|key| self.write(CatalogEntry::setting_key(key), None));
            }
            Accepted::Is(name, value) => {
                let key = format!("{prefix}{name}");
                if value.is_some() || self.catalog.settings.contains_key(&key) {
                    self.write(CatalogEntry::setting_key(&key), value.map(CatalogEntry::Setting));
                }
            }
        }
        Ok(())
    }

    /// Errors: 42501.
    fn check_role(&self, role: &RoleSchema) -> Result<()> {
        let actor = &self.standing.role;
        match actor.superuser {
            true => Ok(()),
            false if role.superuser => Err(denied("must be superuser to alter superusers")),
            false if actor.create_role || actor.oid == role.oid => Ok(()),
            false => Err(denied("permission denied")),
        }
    }
}

/// A change that SET would take.
enum Accepted {
    /// None is left.
    Nothing,
    /// This one has this value, or none.
    Is(String, Option<String>),
}

fn accepted(change: &SettingChange, facts: &Facts) -> Result<Accepted> {
    let (name, value) = match change {
        SettingChange::ResetAll => return Ok(Accepted::Nothing),
        SettingChange::Set(name, value) => (name, value.clone()),
        SettingChange::FromCurrent(name) => (name, Some(facts.settings.show(name, facts)?)),
    };
    // It is kept as it was written.
    Settings::default().set(name, value.as_deref())?;
    Ok(Accepted::Is(name.clone(), value))
}

fn put(settings: &mut Vec<(String, String)>, name: String, value: Option<String>) {
    let found = settings.iter().position(|(other, _)| *other == name);
    match (found, value) {
        (Some(place), Some(value)) => settings[place].1 = value,
        (Some(place), None) => drop(settings.remove(place)),
        (None, Some(value)) => settings.push((name, value)),
        (None, None) => {}
    }
}

/// What a session of this role begins with, what goes before first.
pub fn of_session<'a>(catalog: &'a Catalog, role: Option<&'a RoleSchema>) -> Vec<(&'a str, &'a str)> {
    let own = role.into_iter().flat_map(|role| &role.settings).map(|(name, value)| (name.as_str(), value.as_str()));
    let of = |prefix: String| {
        catalog.settings.iter().filter_map(move |(key, (value, _))| Some((key.strip_prefix(&prefix)?, value.as_str())))
    };
    own.chain(of(of_database(catalog.database))).chain(of(OF_EVERYBODY.to_owned())).collect()
}
