//! Kinds of objects that something can be granted on.

use messages::privilege::{Grant, Grants, PUBLIC, Privileges, Rights};
use messages::schema::TableSchema;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A table.
    Table,
    /// A sequence.
    Sequence,
    /// A column of a table.
    Column,
    /// A procedure.
    Procedure,
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A type.
    Type,
}

impl Kind {
    /// A table, or the sequence that it is.
    pub fn of(table: &TableSchema) -> Kind {
        if table.sequence.is_some() { Kind::Sequence } else { Kind::Table }
    }

    /// The privileges that there are on it.
    pub fn privileges(self) -> Privileges {
        use Privileges as P;
        match self {
            Kind::Table => P::INSERT | P::SELECT | P::UPDATE | P::DELETE | P::TRUNCATE | P::REFERENCES | P::TRIGGER,
            Kind::Sequence => P::USAGE | P::SELECT | P::UPDATE,
            Kind::Column => P::INSERT | P::SELECT | P::UPDATE | P::REFERENCES,
            Kind::Procedure => P::EXECUTE,
            Kind::Schema => P::USAGE | P::CREATE,
            Kind::Database => P::CREATE | P::TEMPORARY | P::CONNECT,
            Kind::Type => P::USAGE,
        }
    }

    /// What everybody may do with a new one.
    fn public(self) -> Privileges {
        match self {
            Kind::Procedure => Privileges::EXECUTE,
            Kind::Database => Privileges::TEMPORARY | Privileges::CONNECT,
            Kind::Type => Privileges::USAGE,
            Kind::Table | Kind::Sequence | Kind::Column | Kind::Schema => Privileges::NONE,
        }
    }

    /// What is granted on one that its owner has just made (PostgreSQL's `acldefault`).
    pub fn default_grants(self, owner: u32) -> Grants {
        if self == Kind::Column {
            return Vec::new();
        }
        let grant = |grantee, privileges| Grant { grantee, grantor: owner, privileges, grantable: Privileges::NONE };
        let public = Some(self.public()).filter(|public| !public.is_empty()).map(|public| grant(PUBLIC, public));
        public.into_iter().chain([grant(owner, self.privileges())]).collect()
    }

    /// What is granted on one with these rights.
    pub fn grants(self, rights: &Rights) -> Grants {
        rights.grants.clone().unwrap_or_else(|| self.default_grants(rights.owner))
    }
}
