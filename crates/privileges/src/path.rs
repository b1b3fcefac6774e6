//! The search path: in which schemas a name is looked for that has none before it (PostgreSQL's `namespace.c`).
//!
//! Invariant: a path names schemas that are there and that the role may look into, each once.

use crate::standing::Standing;
use messages::namespace::{OWN_TEMPORARY, PUBLIC, PUBLIC_OID};
use messages::privilege::{PUBLIC as EVERYBODY, Privileges};
use messages::role::BOOTSTRAP_OID;
use messages::schema::{Catalog, NamespaceSchema};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

/// What `search_path` is unless it was set.
pub const DEFAULT: &str = "\"$user\", public";

/// Object identifiers of schemas, in the order in which they are looked into.
pub type SearchPath = Arc<[u32]>;

static PUBLIC_ALONE: LazyLock<SearchPath> = LazyLock::new(|| Arc::from([PUBLIC_OID]));

/// Whether a role may look into a schema.
pub fn may_look_into(catalog: &Catalog, role: u32, namespace: &NamespaceSchema) -> bool {
    let grants = || namespace.rights.grants.iter().flatten();
    let by_all = grants().any(|grant| grant.grantee == EVERYBODY && grant.privileges.contain(Privileges::USAGE));
    // A standing is looked up only where it decides.
    by_all
        || role == BOOTSTRAP_OID
        || Standing::of(catalog, role).on_schema(&namespace.rights).contain(Privileges::USAGE)
}

/// For whom a path is.
#[derive(Clone, Copy, Debug)]
pub struct PathOwner<'a> {
    /// The role that looks for names.
    pub role: u32,
    /// Its name.
    pub user: &'a str,
    /// The schema of its session's temporary objects, if there is one.
    pub temporary: Option<u32>,
}

/// Whether what is made without a schema in its name is temporary: a value of `search_path` begins with `pg_temp`.
pub fn makes_temporary(setting: &str) -> bool {
    setting != DEFAULT && names(setting).is_some_and(|names| names.first().is_some_and(|name| name == OWN_TEMPORARY))
}

/// The schemas that a value of `search_path` means. A value that is no list means none. The session's temporary schema comes first, unless the value says where.
pub fn search_path(catalog: &Catalog, owner: PathOwner, setting: &str) -> SearchPath {
    let PathOwner { role, user, temporary } = owner;
    let is_public_open = || catalog.namespace(PUBLIC).is_some_and(|public| may_look_into(catalog, role, &public));
    if setting == DEFAULT && catalog.namespaces.is_empty() && is_public_open() {
        return PUBLIC_ALONE.clone();
    }
    let names = names(setting).unwrap_or_default();
    let says_where = names.iter().any(|name| name == OWN_TEMPORARY);
    let mut path = Vec::from_iter(temporary.filter(|_| !says_where));
    for name in names {
        // The bootstrap superuser may have logged in under a name that is no role's: that stands for no schema.
        let name = match name.as_str() {
            "$user" if catalog.role(user).is_none() => continue,
            "$user" => user,
            OWN_TEMPORARY => {
                path.extend(temporary.filter(|own| !path.contains(own)));
                continue;
            }
            named => named,
        };
        let found = catalog.namespace(name).filter(|namespace| may_look_into(catalog, role, namespace));
        if let Some(namespace) = found
            && !path.contains(&namespace.oid)
        {
            path.push(namespace.oid);
        }
    }
    path.into()
}

/// Names in an explicit value of `search_path` that are in no path because no such schema is there or open, each with the number of schemas of the path
/// that come before it: as soon as it is there, names that are found behind it can mean something else.
pub fn left_out(catalog: &Catalog, owner: PathOwner, setting: &str) -> Vec<(usize, String)> {
    let PathOwner { role, user, temporary } = owner;
    let mut left_out = Vec::new();
    // Whoever makes a schema that the default path could name makes what was found in `public` new.
    if setting == DEFAULT {
        return left_out;
    }
    let names = names(setting).unwrap_or_default();
    let says_where = names.iter().any(|name| name == OWN_TEMPORARY);
    let mut path = BTreeSet::from_iter(temporary.filter(|_| !says_where));
    for name in names {
        // Only the session itself makes that, and has another path then.
        if name == OWN_TEMPORARY {
            path.extend(temporary);
            continue;
        }
        let name = if name == "$user" { user.to_owned() } else { name };
        match catalog.namespace(&name).filter(|namespace| may_look_into(catalog, role, namespace)) {
            Some(namespace) => drop(path.insert(namespace.oid)),
            None => left_out.push((path.len(), name)),
        }
    }
    left_out
}

/// The names in a list such as `"$user", public`; `None`: it is no list.
pub fn names(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find([',', ' ', '\t', '\n', '\r', '"']).unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if name.is_empty() && !rest.starts_with('"') {
            return None;
        }
        names.push(name);
        rest = behind.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// The name up to its closing quote, and what stands behind that.
fn quoted_name(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let at = rest.find('"')?;
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                name.push('"');
                rest = behind;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::Timestamp;
    use messages::privilege::Rights;
    use messages::role::RoleSchema;

    fn catalog(names: &[(&str, u32)]) -> Catalog {
        let mut catalog = Catalog::default();
        let role = Arc::new(RoleSchema::new("sales".to_owned(), 9));
        catalog.roles.insert("sales".to_owned(), (role, Timestamp::ZERO));
        for (name, oid) in names {
            let namespace = NamespaceSchema::new(*name, *oid, Rights::of(7));
            catalog.namespaces.insert((*name).to_owned(), (Arc::new(namespace), Timestamp::ZERO));
        }
        catalog
    }

    /// A table of a schema that is away, or that a role may not look into, would be found.
    #[test]
    fn only_schemas_that_are_there_and_open_are_looked_into() {
        let catalog = catalog(&[("sales", 16390), ("Sales", 16391)]);
        let sales = |role: u32| PathOwner { role, user: "sales", temporary: None };
        let path = |role: u32, setting: &str| search_path(&catalog, sales(role), setting).to_vec();
        assert_eq!(path(BOOTSTRAP_OID, DEFAULT), [16390, PUBLIC_OID]);
        assert_eq!(path(8, DEFAULT), [PUBLIC_OID]);
        assert_eq!(
            search_path(&catalog, PathOwner { user: "Sales", ..sales(BOOTSTRAP_OID) }, DEFAULT).to_vec(),
            [PUBLIC_OID],
            "no role is called so"
        );
        assert_eq!(path(7, "nowhere, SALES, sales, \"Sales\""), [16390, 16391]);
        assert_eq!(path(BOOTSTRAP_OID, ""), [] as [u32; 0]);
        let left_out = |role: u32, setting: &str| left_out(&catalog, sales(role), setting);
        let away = |before: usize, name: &str| (before, name.to_owned());
        assert_eq!(left_out(7, "nowhere, SALES, sales, later, public"), [away(0, "nowhere"), away(1, "later")]);
        assert_eq!(left_out(8, "public, sales"), [away(1, "sales")], "it may not look into that");
        assert_eq!(left_out(8, DEFAULT), []);
    }

    /// A path that was dropped would leave the tables of `public` to be found.
    #[test]
    fn a_dropped_public_is_in_no_path() {
        let dropped = catalog(&[(PUBLIC, 0)]);
        let postgres = PathOwner { role: BOOTSTRAP_OID, user: "postgres", temporary: None };
        assert_eq!(search_path(&dropped, postgres, DEFAULT).to_vec(), [] as [u32; 0]);
    }

    /// A temporary table would not hide the one of `public` that has its name, or would although the path says otherwise.
    #[test]
    fn temporary_objects_come_first_unless_the_path_says_where() {
        let catalog = catalog(&[("sales", 16390)]);
        let owner = PathOwner { role: BOOTSTRAP_OID, user: "postgres", temporary: Some(16400) };
        let path = |setting: &str| search_path(&catalog, owner, setting).to_vec();
        assert_eq!(path(DEFAULT), [16400, PUBLIC_OID]);
        assert_eq!(path(""), [16400]);
        assert_eq!(path("public, pg_temp, sales"), [PUBLIC_OID, 16400, 16390]);
        assert_eq!(left_out(&catalog, owner, "later, public"), [(1, "later".to_owned())]);
        assert_eq!(left_out(&catalog, owner, "later, pg_temp"), [(0, "later".to_owned())]);
        let without = PathOwner { temporary: None, ..owner };
        assert_eq!(search_path(&catalog, without, "pg_temp, public").to_vec(), [PUBLIC_OID]);
        assert!(makes_temporary("pg_temp, public") && !makes_temporary("public, pg_temp") && !makes_temporary(DEFAULT));
    }

    /// `SET search_path = ','` would mean something.
    #[test]
    fn lists_are_read_as_postgresql_does() {
        let read = |list: &str| names(list);
        assert_eq!(read(" A , \"B c\"\"\" "), Some(vec!["a".to_owned(), "B c\"".to_owned()]));
        assert_eq!(read("\"\""), Some(vec![String::new()]));
        assert_eq!(read(""), Some(Vec::new()));
        for wrong in ["a,", ",a", "a b", "\"a", "a,,b"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
