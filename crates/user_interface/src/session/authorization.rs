//! Whom a session acts as: SET ROLE and SET SESSION AUTHORIZATION.
//!
//! Invariant: a session acts as roles only that its session user is a member of, and its session user is who logged in unless that is a superuser.
//! Both are settings, so a transaction that rolls back undoes them.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::DOUBTS_MAX;
use crate::session::state::{Again, Block, Confirmed, Execution, Session};
use crate::session::turn::Turn;
use crate::sql::denials::denied;
use crate::sql::settings::{Identity, Settings};
use crate::sql::utility::RoleChange;
use messages::Key;
use messages::role::{BOOTSTRAP_OID, CHECKPOINT_OID, RAID_OPERATOR_OID};
use messages::schema::CatalogEntry;
use privileges::Standing;
use std::sync::Arc;

impl Session {
    /// The name and number of the role that may become others.
    pub fn session_user(&self) -> (&str, u32) {
        match &self.settings.now.session_user {
            Some(identity) => (&identity.name, identity.role),
            None => (&self.user, self.role),
        }
    }

    /// The name and number of the role whose privileges count.
    pub fn current_user(&self) -> (&str, u32) {
        match &self.settings.now.role {
            Some(identity) => (&identity.name, identity.role),
            None => self.session_user(),
        }
    }
}

impl Turn<'_> {
    /// Whether a role may do everything. One that was dropped since may nothing.
    pub fn is_superuser(&self, name: &str, role: u32) -> bool {
        if role == BOOTSTRAP_OID {
            return true;
        }
        let catalog = self.committed();
        let named = catalog.roles.get(name).map(|(role, _)| role.clone()).filter(|known| known.oid == role);
        named.or_else(|| catalog.role_numbered(role)).is_some_and(|known| known.superuser)
    }

    /// Catalog rows that decide what the session may do.
    pub fn own_rights(&mut self) -> Vec<Key> {
        let (_, role) = self.session.current_user();
        let catalog = self.catalog();
        Standing::of(&catalog, role).relied(&catalog).into_iter().map(|(key, _)| key).collect()
    }

    /// SET ROLE, SET SESSION AUTHORIZATION: once the catalog is known to be everywhere what decides here that the session may.
    pub fn start_becoming(&mut self, execution: Box<Execution>, change: RoleChange) -> Result<()> {
        let mut relied = Vec::new();
        if let Some(name) = &change.name {
            let (_, session_role) = self.session.session_user();
            let deciding = if change.of_session { self.session.role } else { session_role };
            let catalog = self.catalog();
            relied.extend(Standing::of(&catalog, deciding).relied(&catalog));
            relied.push((CatalogEntry::role_key(name), catalog.version_of(&CatalogEntry::role_key(name))));
        }
        if self.session.role == BOOTSTRAP_OID {
            relied.clear();
        }
        if !relied.is_empty() && self.session.doubts >= DOUBTS_MAX {
            let message = "the roles cannot be confirmed: this site's catalog is not up to date";
            return Err(
                SqlError::new(sqlstate::CANNOT_CONNECT_NOW, message).with_hint("Try again, or at another site.")
            );
        }
        let tag = execution.prepared.tag.text(0);
        self.doubt(Confirmed::Becomes(change, tag), relied.into(), Again::Becomes(execution));
        Ok(())
    }

    /// Does it. Errors: 22023 for a role that is not there, 42501 for one that the session may not become.
    pub fn become_role(&mut self, change: &RoleChange) -> Result<()> {
        // Several statements in one message are undone together, too.
        let in_block = matches!(self.session.block, Block::Open | Block::Implicit);
        if change.local && !in_block {
            self.warn(sqlstate::NO_ACTIVE_TRANSACTION, "SET LOCAL can only be used in transaction blocks");
            return Ok(());
        }
        self.take_role(change)
    }

    /// Does it, to the end of the transaction if it is local: a statement without one is its own.
    pub(super) fn take_role(&mut self, change: &RoleChange) -> Result<()> {
        let in_block = matches!(self.session.block, Block::Open | Block::Implicit);
        let identity = change.name.as_deref().map(|name| self.identity(name)).transpose()?;
        match &identity {
            Some(identity) if change.of_session => self.check_authorization(identity)?,
            Some(identity) => self.check_becomes(identity)?,
            None => {}
        }
        if change.local && !in_block {
            return Ok(());
        }
        let apply = |settings: &mut Settings| match change.of_session {
            true => {
                settings.session_user = identity.clone();
                settings.role = None;
            }
            false => settings.role = identity.clone(),
        };
        let settings = &mut self.session.settings;
        let before = settings.now.clone();
        if in_block {
            if change.local {
                settings.after_commit.get_or_insert_with(|| before.clone());
            } else if let Some(after) = &mut settings.after_commit {
                apply(after);
            }
            settings.after_rollback.get_or_insert_with(|| before.clone());
        }
        apply(&mut settings.now);
        if !before.acts_as(&settings.now) {
            self.report_identity();
        }
        Ok(())
    }

    /// Errors: 42501 for a role that may ask for no checkpoint.
    pub fn check_checkpoint(&mut self) -> Result<()> {
        let (_, role) = self.session.current_user();
        match Standing::of(&self.catalog(), role).has(CHECKPOINT_OID) {
            true => Ok(()),
            false => Err(denied("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")),
        }
    }

    /// Errors: 42501 for a role that may take no snapshots of the instance.
    pub fn check_operator(&mut self) -> Result<()> {
        let (_, role) = self.session.current_user();
        match Standing::of(&self.catalog(), role).has(RAID_OPERATOR_OID) {
            true => Ok(()),
            false => Err(denied("permission denied for function raid_snapshot")),
        }
    }

    /// The client is told what the end of a transaction, or a return to a savepoint, has changed of the settings before.
    pub fn report_changes(&mut self, before: &Settings) {
        if !before.acts_as(&self.session.settings.now) {
            self.report_identity();
        }
        for (name, value) in self.session.settings.now.reported_changes(before) {
            crate::protocol::backend::parameter_status(&mut self.session.output, name, &value);
        }
    }

    /// The client is told whom it acts as: psql shows it in its prompt.
    pub fn report_identity(&mut self) {
        let reported = self.with_facts(|facts| {
            let superuser = if facts.is_superuser { "on" } else { "off" };
            [("is_superuser", superuser.to_owned()), ("session_authorization", facts.session_user.to_owned())]
        });
        for (name, value) in reported {
            crate::protocol::backend::parameter_status(&mut self.session.output, name, &value);
        }
    }

    /// The role of a name; what the bootstrap superuser logged in as is one for it.
    fn identity(&mut self, name: &str) -> Result<Identity> {
        let known = self.catalog().role(name).map(|role| role.oid);
        let own = (name == self.session.user).then_some(self.session.role);
        let role = match (known, own) {
            (_, Some(BOOTSTRAP_OID)) => Some(BOOTSTRAP_OID),
            (known, _) => known,
        };
        let role = role.ok_or_else(|| {
            SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("role \"{name}\" does not exist"))
        })?;
        Ok(Identity { name: Arc::from(name), role })
    }

    fn check_authorization(&self, identity: &Identity) -> Result<()> {
        match identity.role == self.session.role || self.is_superuser(&self.session.user, self.session.role) {
            true => Ok(()),
            false => Err(denied("permission denied to set session authorization")),
        }
    }

    fn check_becomes(&mut self, identity: &Identity) -> Result<()> {
        let (_, session_role) = self.session.session_user();
        let catalog = self.catalog();
        match Standing::of(&catalog, session_role).is_member(identity.role) {
            true => Ok(()),
            false => Err(denied(format!("permission denied to set role \"{}\"", identity.name))),
        }
    }
}
