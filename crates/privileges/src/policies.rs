//! Row-level security: whether the policies of a table count for a role, and which ones (PostgreSQL's `rls.c`, `rowsecurity.c`).

use crate::standing::Standing;
use messages::privilege::PUBLIC;
use messages::schema::{PolicyCommand, PolicySchema, TableSchema};

/// The policies of a table for a role and a command, by name.
#[derive(Debug, Default)]
pub struct PoliciesInForce<'t> {
    /// One of them has to let a row through.
    pub permissive: Vec<&'t PolicySchema>,
    /// Each of them has to.
    pub restrictive: Vec<&'t PolicySchema>,
}

impl Standing {
    /// Whether the policies of a table count for it (`check_enable_rls`): not for superusers and who has BYPASSRLS, nor for the owner unless they are forced.
    pub fn is_held_by_policies(&self, table: &TableSchema) -> bool {
        let security = &table.row_security;
        let passes = self.is_bootstrap() || self.is_superuser() || self.role.bypass_row_security;
        security.is_enabled && !passes && (security.is_forced || !self.has(table.rights.owner))
    }

    /// The policies that count for it and a command, if any do.
    pub fn policies<'t>(&self, table: &'t TableSchema, command: PolicyCommand) -> PoliciesInForce<'t> {
        let is_for_it = |policy: &&PolicySchema| {
            policy.command.covers(command) && policy.roles.iter().any(|role| *role == PUBLIC || self.has(*role))
        };
        let (permissive, restrictive) =
            table.row_security.policies.iter().filter(is_for_it).partition(|policy| policy.is_permissive);
        PoliciesInForce { permissive, restrictive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::privilege::Membership;
    use messages::role::{BOOTSTRAP_OID, RoleSchema};
    use messages::schema::{Catalog, CatalogEntry, RowSecurity};
    use messages::{TableId, Timestamp};
    use std::sync::Arc;

    /// Roles 1 and 2, of which 2 is a member of 3.
    fn standing(role: u32, change: impl FnOnce(&mut RoleSchema)) -> Standing {
        let mut catalog = Catalog::default();
        let mut own = RoleSchema::new(format!("role{role}"), role);
        if role == 2 {
            own.memberships.push(Membership { role: 3, admin: false, grantor: BOOTSTRAP_OID });
        }
        change(&mut own);
        for known in [own, RoleSchema::new("role3".to_owned(), 3)] {
            let row = CatalogEntry::Role(Arc::new(known.clone())).encode();
            let key = CatalogEntry::role_key(&known.name);
            catalog.apply(key.as_bytes(), Timestamp::ZERO, Some(&row)).expect("it decodes");
        }
        Standing::of(&catalog, role)
    }

    fn table(is_enabled: bool, is_forced: bool) -> TableSchema {
        let policy = |name: &str, is_permissive, command, role| PolicySchema {
            name: name.to_owned(),
            oid: 0,
            is_permissive,
            command,
            roles: vec![role],
            using: None,
            check: None,
        };
        let policies = vec![
            policy("a", true, PolicyCommand::All, 0),
            policy("b", true, PolicyCommand::Select, 3),
            policy("c", false, PolicyCommand::All, 2),
        ];
        let mut table = TableSchema::new("t", TableId(1), Vec::new());
        table.rights.owner = 1;
        table.row_security = RowSecurity { is_enabled, is_forced, policies };
        table
    }

    /// Rows would be shown to whom they are hidden from, or hidden from whom nothing is.
    #[test]
    fn owners_and_who_bypasses_pass() {
        assert!(!standing(2, |_| {}).is_held_by_policies(&table(false, false)));
        assert!(standing(2, |_| {}).is_held_by_policies(&table(true, false)));
        assert!(!standing(1, |_| {}).is_held_by_policies(&table(true, false)));
        assert!(standing(1, |_| {}).is_held_by_policies(&table(true, true)));
        assert!(!standing(2, |role| role.bypass_row_security = true).is_held_by_policies(&table(true, true)));
        assert!(!standing(2, |role| role.superuser = true).is_held_by_policies(&table(true, true)));
        assert!(!Standing::of(&Catalog::default(), BOOTSTRAP_OID).is_held_by_policies(&table(true, true)));
    }

    /// A policy for another role or command would count.
    #[test]
    fn policies_count_for_their_roles_and_commands() {
        let names = |role, command| {
            let (standing, table) = (standing(role, |_| {}), table(true, false));
            let PoliciesInForce { permissive, restrictive } = standing.policies(&table, command);
            let names = |all: Vec<&PolicySchema>| all.iter().map(|one| one.name.as_str()).collect::<String>();
            format!("{}/{}", names(permissive), names(restrictive))
        };
        assert_eq!(names(1, PolicyCommand::Select), "a/");
        assert_eq!(names(2, PolicyCommand::Select), "ab/c");
        assert_eq!(names(2, PolicyCommand::Update), "a/c");
    }
}
