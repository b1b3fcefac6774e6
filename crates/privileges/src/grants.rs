//! Grants added and taken away (PostgreSQL's `aclupdate`, `recursive_revoke` and `select_best_grantor`).
//!
//! Invariant: no grant with a grant option is left whose grantor has lost the option it came from.

use crate::kind::Kind;
use crate::standing::Standing;
use messages::privilege::{Grant, Grants, Privileges, Rights};

/// What becomes of grants that depend on one that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// They are taken away, too.
    Cascade,
    /// Nothing is taken away.
    Restrict,
}

/// What is added or taken away.
#[derive(Clone, Debug)]
pub struct GrantChange {
    /// Adds.
    pub adds: bool,
    /// Who gets or loses it.
    pub grantee: u32,
    /// Whose grant it is.
    pub grantor: u32,
    /// What may be done, or no more.
    pub privileges: Privileges,
    /// What may be granted to others, or no more.
    pub grantable: Privileges,
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRefused {
    /// Grants depend on what would be taken away (2BP01).
    Dependent,
    /// The grantor has its own option from whom it wants to give it to (0LP01).
    Circle,
}

/// Who grants in a role's name, and what it may grant: the owner if it can be, else the role with most of what is wanted.
pub fn best_grantor(standing: &Standing, kind: Kind, rights: &Rights, wanted: Privileges) -> (u32, Privileges) {
    if standing.has(rights.owner) {
        return (rights.owner, kind.privileges());
    }
    let grants = kind.grants(rights);
    let mut best = (standing.role.oid, Privileges::NONE);
    for role in standing.roles() {
        let own = grants.iter().filter(|grant| grant.grantee == role);
        let can = own.fold(Privileges::NONE, |all, grant| all | grant.grantable) & wanted;
        if can.contain(wanted) {
            return (role, can);
        }
        if can.0.count_ones() > best.1.0.count_ones() {
            best = (role, can);
        }
    }
    best
}

/// The grants after a change.
pub fn changed(grants: &Grants, owner: u32, change: &GrantChange, behavior: Behavior) -> Result<Grants, GrantRefused> {
    let mut after = grants.clone();
    if change.adds && !change.grantable.is_empty() && change.grantee != owner {
        check_circle(grants, owner, change)?;
    }
    let is_it = |grant: &Grant| grant.grantee == change.grantee && grant.grantor == change.grantor;
    let at = match after.iter().position(is_it) {
        Some(at) => at,
        None => {
            let nothing = Privileges::NONE;
            let (grantee, grantor) = (change.grantee, change.grantor);
            after.push(Grant { grantee, grantor, privileges: nothing, grantable: nothing });
            after.len() - 1
        }
    };
    let before = after[at].grantable;
    let (privileges, grantable) = (after[at].privileges, before);
    if change.adds {
        after[at].privileges = privileges | change.privileges;
        after[at].grantable = grantable | change.grantable;
    } else {
        after[at].privileges = privileges & !change.privileges;
        after[at].grantable = grantable & !change.grantable;
    }
    let lost = before & !after[at].grantable;
    if after[at].privileges.is_empty() && after[at].grantable.is_empty() {
        after.remove(at);
    }
    match lost.is_empty() {
        true => Ok(after),
        false => without_dependent(after, owner, change.grantee, lost, behavior),
    }
}

/// What a role may grant others of its own.
fn options_of(grants: &Grants, owner: u32, role: u32) -> Privileges {
    if role == owner {
        return !Privileges::NONE;
    }
    let own = grants.iter().filter(|grant| grant.grantee == role);
    own.fold(Privileges::NONE, |all, grant| all | grant.grantable)
}

/// Takes away what a role granted by options that it has lost.
fn without_dependent(
    grants: Grants,
    owner: u32,
    grantor: u32,
    lost: Privileges,
    behavior: Behavior,
) -> Result<Grants, GrantRefused> {
    if grantor == owner {
        return Ok(grants);
    }
    let lost = lost & !options_of(&grants, owner, grantor);
    let mut after = grants;
    while let Some(dependent) =
        after.iter().find(|grant| grant.grantor == grantor && !(grant.privileges & lost).is_empty())
    {
        if behavior == Behavior::Restrict {
            return Err(GrantRefused::Dependent);
        }
        let grantee = dependent.grantee;
        let change = GrantChange { adds: false, grantee, grantor, privileges: lost, grantable: lost };
        after = changed(&after, owner, &change, Behavior::Cascade)?;
    }
    Ok(after)
}

/// Errors: the grantor would have its option from itself.
fn check_circle(grants: &Grants, owner: u32, change: &GrantChange) -> Result<(), GrantRefused> {
    if change.grantor == owner {
        return Ok(());
    }
    // Without the grantee's own options, and all that came of them, the grantor must still have what it gives.
    let mut without = grants.clone();
    while let Some(option) = without.iter().find(|grant| grant.grantee == change.grantee && !grant.grantable.is_empty())
    {
        let change = GrantChange {
            adds: false,
            grantee: option.grantee,
            grantor: option.grantor,
            privileges: option.grantable,
            grantable: option.grantable,
        };
        without = changed(&without, owner, &change, Behavior::Cascade)?;
    }
    let still = options_of(&without, owner, change.grantor);
    if still.contain(change.grantable) { Ok(()) } else { Err(GrantRefused::Circle) }
}

/// The grants of an object that changes its owner: what the old one granted and got, the new one has (`aclnewowner`).
pub fn with_owner(grants: &Grants, old: u32, new: u32) -> Grants {
    let renamed = |role: u32| if role == old { new } else { role };
    let mut after: Grants = Vec::with_capacity(grants.len());
    for grant in grants {
        let (grantee, grantor) = (renamed(grant.grantee), renamed(grant.grantor));
        match after.iter_mut().find(|known| known.grantee == grantee && known.grantor == grantor) {
            Some(known) => {
                known.privileges = known.privileges | grant.privileges;
                known.grantable = known.grantable | grant.grantable;
            }
            None => after.push(Grant { grantee, grantor, ..grant.clone() }),
        }
    }
    after
}

/// Whether a role is named in grants, other than as an owner that grants to itself.
pub fn name_role(grants: &Grants, role: u32) -> bool {
    grants.iter().any(|grant| grant.grantee == role || grant.grantor == role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::privilege::PUBLIC;

    const OWNER: u32 = 1;

    fn change(adds: bool, grantee: u32, grantor: u32, privileges: Privileges, grantable: Privileges) -> GrantChange {
        GrantChange { adds, grantee, grantor, privileges, grantable }
    }

    /// A role that got a privilege by an option that is gone would keep it although nobody who may grant it says so.
    #[test]
    fn what_came_of_an_option_goes_with_it() {
        let select = Privileges::SELECT;
        let grants = Kind::Table.default_grants(OWNER);
        let grants =
            changed(&grants, OWNER, &change(true, 2, OWNER, select, select), Behavior::Restrict).expect("granted");
        let grants = changed(&grants, OWNER, &change(true, 3, 2, select, select), Behavior::Restrict).expect("granted");
        let grants = changed(&grants, OWNER, &change(true, PUBLIC, 3, select, Privileges::NONE), Behavior::Restrict)
            .expect("granted");
        let back = changed(&grants, OWNER, &change(true, 2, 3, select, select), Behavior::Restrict);
        assert_eq!(back, Err(GrantRefused::Circle));
        let revoked = change(false, 2, OWNER, select, select);
        assert_eq!(changed(&grants, OWNER, &revoked, Behavior::Restrict), Err(GrantRefused::Dependent));
        let left = changed(&grants, OWNER, &revoked, Behavior::Cascade);
        assert_eq!(left, Ok(Kind::Table.default_grants(OWNER)));
    }

    /// An owner that gave a table away would keep its privileges on it.
    #[test]
    fn a_new_owner_has_what_the_old_one_had() {
        let grants = Kind::Table.default_grants(OWNER);
        assert_eq!(with_owner(&grants, OWNER, 7), Kind::Table.default_grants(7));
    }
}
