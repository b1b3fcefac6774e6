//! Grants as PostgreSQL prints them (`aclitemout`), and names of privileges.

use messages::privilege::{Grant, Grants, PUBLIC, Privileges};

/// `grantee=arw*/grantor`; `name`: of a role by its object identifier.
pub fn grant(grant: &Grant, name: &impl Fn(u32) -> String) -> String {
    let mut text = if grant.grantee == PUBLIC { String::new() } else { quoted(&name(grant.grantee)) };
    text.push('=');
    for (privilege, letter, _) in Privileges::ALL {
        let (may, grants_on) = (grant.privileges.contain(privilege), grant.grantable.contain(privilege));
        if may || grants_on {
            text.push(letter);
        }
        if grants_on {
            text.push('*');
        }
    }
    text.push('/');
    text.push_str(&quoted(&name(grant.grantor)));
    text
}

/// All of them.
pub fn grants(all: &Grants, name: &impl Fn(u32) -> String) -> Vec<String> {
    all.iter().map(|one| grant(one, name)).collect()
}

/// A role's name in quotes where letters, digits and underscores are not all of it.
fn quoted(name: &str) -> String {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The privilege of this name, in whatever case.
pub fn privilege(name: &str) -> Option<Privileges> {
    let name = name.to_ascii_uppercase();
    let name = if name == "TEMP" { "TEMPORARY" } else { &name };
    Privileges::ALL.iter().find(|(_, _, known)| *known == name).map(|(privilege, ..)| *privilege)
}
