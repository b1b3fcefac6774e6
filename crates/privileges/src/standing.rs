//! A role, all that it is a member of, and what it may do.
//!
//! Invariant: a standing is computed from the catalog rows that [`Standing::relied`] names, and from no others: while these are as they were, it is.

use crate::kind::Kind;
use messages::privilege::{Grants, PUBLIC, Privileges, Rights};
use messages::role::{
    BOOTSTRAP_OID, DATABASE_OWNER_OID, RAID_MONITOR_OID, READ_ALL_DATA_OID, RoleSchema, WRITE_ALL_DATA_OID,
};
use messages::schema::{Catalog, CatalogEntry, Place, ProcedureSchema, TableSchema};
use messages::{Key, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a role may do.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The role. One that is not there may nothing.
    pub role: Arc<RoleSchema>,
    /// Roles whose privileges it has, itself among them.
    has: BTreeSet<u32>,
    /// Roles that it is a member of, itself among them.
    member: BTreeSet<u32>,
    /// Catalog rows that this depends on.
    relied: Vec<Key>,
}

/// Whether one role is a member of another, in however many steps. That a superuser is as good as a member of all does not count.
pub fn is_member(catalog: &Catalog, member: u32, role: u32) -> bool {
    reached(catalog, member, |_| true).0.contains(&role)
}

/// Roles that can be reached by membership, going on from those that `goes_on` holds of, and names of roles that were looked at.
fn reached(catalog: &Catalog, from: u32, goes_on: impl Fn(&RoleSchema) -> bool) -> (BTreeSet<u32>, Vec<String>) {
    let all: BTreeMap<u32, Arc<RoleSchema>> = catalog.all_roles().into_iter().map(|role| (role.oid, role)).collect();
    let database_owner = catalog.rights(Place::Database).owner;
    let (mut found, mut names, mut next) = (BTreeSet::from([from]), Vec::new(), vec![from]);
    while let Some(role) = next.pop().and_then(|oid| all.get(&oid)) {
        names.push(role.name.clone());
        if !goes_on(role) {
            continue;
        }
        let owner = (role.oid == database_owner).then_some(DATABASE_OWNER_OID);
        for other in role.memberships.iter().map(|membership| membership.role).chain(owner) {
            if found.insert(other) {
                next.push(other);
            }
        }
    }
    (found, names)
}

impl Standing {
    /// What the role with this object identifier may do.
    pub fn of(catalog: &Catalog, role: u32) -> Standing {
        let known = catalog.role_numbered(role);
        let role = known.unwrap_or_else(|| Arc::new(RoleSchema::new(String::new(), role)));
        if role.oid == BOOTSTRAP_OID {
            // It can do everything, whatever its row says.
            let own = BTreeSet::from([BOOTSTRAP_OID]);
            return Standing { role, has: own.clone(), member: own, relied: Vec::new() };
        }
        let (has, _) = reached(catalog, role.oid, |role| role.inherit);
        let (member, names) = reached(catalog, role.oid, |_| true);
        let mut relied: Vec<Key> = names.iter().map(|name| CatalogEntry::role_key(name)).collect();
        relied.extend(Place::ALL.map(CatalogEntry::rights_key));
        Standing { role, has, member, relied }
    }

    /// Catalog rows that this depends on, with their versions; rows that the asking transaction wrote are left out, for they have no version yet.
    pub fn relied(&self, catalog: &Catalog) -> Vec<(Key, Timestamp)> {
        let versioned = |key: &Key| (key.clone(), catalog.version_of(key));
        let is_own = |(key, version): &(Key, Timestamp)| *version == Timestamp::ZERO && catalog.has(key);
        self.relied.iter().map(versioned).filter(|row| !is_own(row)).collect()
    }

    /// Whether it may do everything.
    pub fn is_superuser(&self) -> bool {
        self.role.superuser
    }

    /// Whether it is the bootstrap superuser, whom nothing is taken from.
    pub fn is_bootstrap(&self) -> bool {
        self.role.oid == BOOTSTRAP_OID
    }

    /// Whether it has what another role has (PostgreSQL's `has_privs_of_role`).
    pub fn has(&self, role: u32) -> bool {
        self.is_superuser() || self.has.contains(&role)
    }

    /// Whether it may become another role (`is_member_of_role`).
    pub fn is_member(&self, role: u32) -> bool {
        self.is_superuser() || self.member.contains(&role)
    }

    /// Roles whose privileges it has without being a superuser, itself first.
    pub fn roles(&self) -> impl Iterator<Item = u32> {
        let own = self.role.oid;
        std::iter::once(own).chain(self.has.iter().copied().filter(move |role| *role != own))
    }

    /// Whether it may make others members of a role (`is_admin_of_role`).
    pub fn is_admin(&self, catalog: &Catalog, role: u32) -> bool {
        let administers = |member: &u32| {
            let member = catalog.role_numbered(*member);
            member.is_some_and(|member| member.memberships.iter().any(|known| known.role == role && known.admin))
        };
        self.is_superuser() || self.member.iter().any(administers)
    }

    /// Whether it may see what the schema `raid` shows.
    pub fn monitors(&self) -> bool {
        self.has(RAID_MONITOR_OID)
    }

    /// The privileges that grants give it, as their owner too (`aclmask`).
    fn granted(&self, grants: &Grants) -> Privileges {
        let to_it = grants.iter().filter(|grant| grant.grantee == PUBLIC || self.has.contains(&grant.grantee));
        to_it.fold(Privileges::NONE, |all, grant| all | grant.privileges)
    }

    /// What it may grant to others of what was granted. Owners may all.
    pub fn grantable(&self, kind: Kind, rights: &Rights) -> Privileges {
        if self.has(rights.owner) {
            return kind.privileges();
        }
        let grants = kind.grants(rights);
        let to_it = grants.iter().filter(|grant| self.has.contains(&grant.grantee));
        to_it.fold(Privileges::NONE, |all, grant| all | grant.grantable)
    }

    /// The privileges that it has on an object.
    pub fn on(&self, kind: Kind, rights: &Rights) -> Privileges {
        if self.is_superuser() {
            return kind.privileges();
        }
        self.granted(&kind.grants(rights))
    }

    /// The privileges that it has on all of a table, or on a sequence.
    pub fn on_table(&self, table: &TableSchema) -> Privileges {
        let mut privileges = self.on(Kind::of(table), &table.rights);
        if self.has.contains(&READ_ALL_DATA_OID) {
            privileges = privileges | Privileges::SELECT;
        }
        if self.has.contains(&WRITE_ALL_DATA_OID) {
            privileges = privileges | Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
        }
        privileges
    }

    /// The privileges that it has on a column beside those on all of its table.
    pub fn on_column(&self, table: &TableSchema, column: usize) -> Privileges {
        let grants = table.columns.get(column).and_then(|column| column.grants.as_ref());
        match grants {
            Some(grants) if !self.is_superuser() => self.granted(grants),
            _ => Privileges::NONE,
        }
    }

    /// The privileges that it has on a procedure.
    pub fn on_procedure(&self, procedure: &ProcedureSchema) -> Privileges {
        self.on(Kind::Procedure, &procedure.rights)
    }

    /// The privileges that it has on the schema `public` or the database.
    pub fn on_place(&self, catalog: &Catalog, place: Place) -> Privileges {
        let rights = catalog.rights(place);
        match place {
            Place::Schema => self.on_schema(&rights),
            Place::Database => self.on(Kind::Database, &rights),
        }
    }

    /// The privileges that it has on a schema with these rights.
    pub fn on_schema(&self, rights: &Rights) -> Privileges {
        let privileges = self.on(Kind::Schema, rights);
        match [READ_ALL_DATA_OID, WRITE_ALL_DATA_OID].iter().any(|role| self.has.contains(role)) {
            true => privileges | Privileges::USAGE,
            false => privileges,
        }
    }
}
