//! GRANT and REVOKE of membership, planned as catalog writes (PostgreSQL's `AddRoleMems` and `DelRoleMems`).
//!
//! Invariant: no role is a member of itself, in however many steps. Memberships stand in the row of the member.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::ddl::Planner;
use crate::sql::denials::denied;
use crate::sql::grants::Joining;
use crate::sql::role_syntax::Named;
use crate::sql::roles::{find, write};
use crate::sql::settings::Facts;
use messages::privilege::Membership;
use messages::role::{DATABASE_OWNER_OID, RoleSchema};
use messages::schema::CatalogEntry;
use privileges::is_member;

impl Planner<'_> {
    /// GRANT role TO role, REVOKE role FROM role.
    pub(super) fn join(&mut self, joining: &Joining, facts: &Facts) -> Result<()> {
        let grantor = match &joining.by {
            Some(by) => find(&self.catalog, by, facts)?.oid,
            None => facts.role,
        };
        for name in &joining.roles {
            let role = find(&self.catalog, &Named::Is(name.clone()), facts)?;
            for member in &joining.members {
                find(&self.catalog, member, facts)?;
            }
            self.check_admin(&role)?;
            if joining.grants && grantor != facts.role && !self.standing.is_superuser() {
                return Err(denied("must be superuser to set grantor"));
            }
            // So that it is not dropped meanwhile.
            self.relied.insert(CatalogEntry::role_key(&role.name));
            for member in &joining.members {
                let member = RoleSchema::clone(&*find(&self.catalog, member, facts)?);
                match joining.grants {
                    true => self.add_member(&role, member, grantor, joining.admin)?,
                    false => self.remove_member(&role, member, joining.admin),
                }
            }
        }
        Ok(())
    }

    /// Errors: 42501 unless the role may say who is a member of another one.
    pub(super) fn check_admin(&self, role: &RoleSchema) -> Result<()> {
        let actor = &self.standing;
        if actor.is_superuser() {
            return Ok(());
        }
        if role.superuser {
            return Err(denied("must be superuser to alter superusers"));
        }
        match actor.role.create_role || actor.is_admin(&self.catalog, role.oid) {
            true => Ok(()),
            false => Err(denied(format!("must have admin option on role \"{}\"", role.name))),
        }
    }

    /// Errors: 0LP01 for a circle.
    pub(super) fn add_member(
        &mut self,
        role: &RoleSchema,
        mut member: RoleSchema,
        grantor: u32,
        admin: bool,
    ) -> Result<()> {
        let invalid = |message: String| Err(SqlError::new(sqlstate::INVALID_GRANT, message));
        if role.oid == DATABASE_OWNER_OID {
            return invalid(format!("role \"{}\" cannot have explicit members", role.name));
        }
        if member.oid == DATABASE_OWNER_OID {
            return invalid(format!("role \"{}\" cannot be a member of any role", member.name));
        }
        if is_member(&self.catalog, role.oid, member.oid) {
            return invalid(format!("role \"{}\" is a member of role \"{}\"", role.name, member.name));
        }
        match member.memberships.iter_mut().find(|known| known.role == role.oid) {
            Some(known) if known.admin || !admin => {
                let message = format!("role \"{}\" is already a member of role \"{}\"", member.name, role.name);
                self.notice(sqlstate::SUCCESSFUL_COMPLETION, message);
                return Ok(());
            }
            Some(known) => *known = Membership { role: role.oid, grantor, admin },
            None => member.memberships.push(Membership { role: role.oid, grantor, admin }),
        }
        write(self, member);
        Ok(())
    }

    fn remove_member(&mut self, role: &RoleSchema, mut member: RoleSchema, only_admin: bool) {
        let Some(at) = member.memberships.iter().position(|known| known.role == role.oid) else {
            let message = format!("role \"{}\" is not a member of role \"{}\"", member.name, role.name);
            return self.warn(sqlstate::WARNING, message);
        };
        match only_admin {
            true => member.memberships[at].admin = false,
            false => drop(member.memberships.remove(at)),
        }
        write(self, member);
    }

    /// Nobody is a member of a role that goes.
    pub(super) fn forget_members(&mut self, role: u32) {
        let of_it = |member: &RoleSchema| member.memberships.iter().any(|known| known.role == role);
        let members = self.catalog.roles.values().filter(|(member, _)| of_it(member));
        let members: Vec<RoleSchema> = members.map(|(member, _)| RoleSchema::clone(member)).collect();
        for mut member in members {
            member.memberships.retain(|known| known.role != role);
            write(self, member);
        }
    }
}
