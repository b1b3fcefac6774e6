//! Who owns an object and what was granted on it, as the catalog keeps it.
//!
//! Invariant: roles are named by their object identifiers, so that a role keeps what it has when it is renamed.

use crate::role::BOOTSTRAP_OID;
use serde::{Deserialize, Serialize};
use std::ops::{BitAnd, BitOr, Not};

/// The grantee that every role is.
pub const PUBLIC: u32 = 0;

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Privileges(pub u16);

impl Privileges {
    /// No privilege.
    pub const NONE: Privileges = Privileges(0);
    /// INSERT.
    pub const INSERT: Privileges = Privileges(1);
    /// SELECT.
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// UPDATE.
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// DELETE.
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// TRUNCATE.
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// REFERENCES.
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// TRIGGER.
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// EXECUTE.
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    /// USAGE.
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// CREATE.
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// TEMPORARY.
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    /// CONNECT.
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// Each privilege with its letter and its name, in the order in which PostgreSQL prints them.
    pub const ALL: [(Privileges, char, &'static str); 12] = [
        (Privileges::INSERT, 'a', "INSERT"),
        (Privileges::SELECT, 'r', "SELECT"),
        (Privileges::UPDATE, 'w', "UPDATE"),
        (Privileges::DELETE, 'd', "DELETE"),
        (Privileges::TRUNCATE, 'D', "TRUNCATE"),
        (Privileges::REFERENCES, 'x', "REFERENCES"),
        (Privileges::TRIGGER, 't', "TRIGGER"),
        (Privileges::EXECUTE, 'X', "EXECUTE"),
        (Privileges::USAGE, 'U', "USAGE"),
        (Privileges::CREATE, 'C', "CREATE"),
        (Privileges::TEMPORARY, 'T', "TEMPORARY"),
        (Privileges::CONNECT, 'c', "CONNECT"),
    ];

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Privileges::NONE
    }

    /// Whether all of `others` are among them.
    pub fn contain(self, others: Privileges) -> bool {
        self & others == others
    }

    /// Whether one of `others` is among them.
    pub fn meet(self, others: Privileges) -> bool {
        !(self & others).is_empty()
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges(!self.0)
    }
}

/// What one role granted another (PostgreSQL's `aclitem`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Who may; [`PUBLIC`]: everybody.
    pub grantee: u32,
    /// Who said so.
    pub grantor: u32,
    /// What it may do.
    pub privileges: Privileges,
    /// What of it it may grant to others.
    pub grantable: Privileges,
}

/// All that was granted on an object.
pub type Grants = Vec<Grant>;

/// A kind of object that roles make, and that default privileges are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MadeKind {
    /// Tables and views.
    Table,
    /// Sequences.
    Sequence,
    /// Procedures.
    Procedure,
}

/// What is granted on objects of a kind that a role makes (PostgreSQL's `pg_default_acl`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultGrants {
    /// The kind.
    pub kind: MadeKind,
    /// The object identifier of the schema in which they are granted, beside what is granted everywhere; without one, in place of what the kind begins with.
    pub schema: Option<u32>,
    /// The grants.
    pub grants: Grants,
}

/// An object's owner and grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// The role that owns it.
    pub owner: u32,
    /// What was granted; `None`: what an object of its kind begins with.
    pub grants: Option<Grants>,
}

impl Default for Rights {
    /// The bootstrap superuser's, with nothing granted.
    fn default() -> Rights {
        Rights::of(BOOTSTRAP_OID)
    }
}

impl Rights {
    /// Those of an object that a role has just made.
    pub fn of(owner: u32) -> Rights {
        Rights { owner, grants: None }
    }
}

/// That a role is a member of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The other one.
    pub role: u32,
    /// Who said so.
    pub grantor: u32,
    /// Whether it may make others members.
    pub admin: bool,
}
