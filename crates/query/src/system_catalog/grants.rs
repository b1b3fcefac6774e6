//! Grants and memberships, as `pg_catalog` and `information_schema` show them.

use super::rows::{Row, row};
use super::{SystemCatalog, role_name};
use messages::namespace::bare;
use messages::privilege::{Grant, Grants, MadeKind, PUBLIC, Privileges};
use messages::schema::TableSchema;
use privileges::{Kind, Standing};

impl SystemCatalog {
    /// What a role may do.
    pub fn standing_of(&self, role: u32) -> Standing {
        self.show();
        Standing::of(&self.catalog, role)
    }

    /// What the session's role may do.
    pub fn standing(&self) -> Standing {
        self.standing_of(self.session().role)
    }

    /// What a role is called, or its number if it is gone.
    pub fn grantee(&self, role: u32) -> String {
        role_name(self, role).unwrap_or_else(|| role.to_string())
    }

    /// Grants as texts.
    pub(super) fn grant_texts(&self, grants: Option<&Grants>) -> Option<Vec<String>> {
        grants.map(|grants| privileges::text::grants(grants, &|role| self.grantee(role)))
    }

    /// What is granted on an object that its owner has just made; `kind` is the letter that `acldefault` takes.
    /// `None` for a letter that names no kind.
    pub fn default_grants(&self, kind: &str, owner: u32) -> Option<Vec<String>> {
        let of = |kind: Kind| kind.default_grants(owner);
        let one = |grantee, privileges| Grant { grantee, grantor: owner, privileges, grantable: Privileges::NONE };
        let grants = match kind {
            "c" => of(Kind::Column),
            "r" => of(Kind::Table),
            "s" => of(Kind::Sequence),
            "d" => of(Kind::Database),
            "f" => of(Kind::Procedure),
            "n" => of(Kind::Schema),
            "T" => of(Kind::Type),
            // Kinds that no grant here is of.
            "l" => vec![one(PUBLIC, Privileges::USAGE), one(owner, Privileges::USAGE)],
            "L" => vec![one(owner, Privileges::SELECT | Privileges::UPDATE)],
            "t" => vec![one(owner, Privileges::CREATE)],
            "F" | "S" => vec![one(owner, Privileges::USAGE)],
            _ => return None,
        };
        self.grant_texts(Some(&grants))
    }
}

/// The rows of `pg_default_acl`.
pub(super) fn defaults(catalog: &SystemCatalog) -> Vec<Row> {
    let all = catalog.catalog().all_roles();
    let rows = all.iter().flat_map(|role| {
        (0_u32..).zip(&role.defaults).map(|(place, defaults)| {
            let kind = match defaults.kind {
                MadeKind::Table => "r",
                MadeKind::Sequence => "S",
                MadeKind::Procedure => "f",
            };
            // Rows of one role differ in their place, so this tells them apart.
            let number = role.oid.wrapping_mul(1 << 10).wrapping_add(place);
            row! {
                oid: number, defaclrole: role.oid, defaclnamespace: defaults.schema.unwrap_or(0),
                defaclobjtype: kind, defaclacl: catalog.grant_texts(Some(&defaults.grants)),
            }
        })
    });
    rows.collect()
}

/// The rows of `pg_auth_members`.
pub(super) fn memberships(catalog: &SystemCatalog) -> Vec<Row> {
    let all = catalog.catalog().all_roles();
    let rows = all.iter().flat_map(|member| {
        member.memberships.iter().map(|known| {
            row! { roleid: known.role, member: member.oid, grantor: known.grantor, admin_option: known.admin }
        })
    });
    rows.collect()
}

/// One grant of one privilege.
struct Granted {
    grantor: String,
    grantee: String,
    privilege: &'static str,
    grantable: bool,
}

fn each(catalog: &SystemCatalog, grants: &Grants, owner: u32) -> Vec<Granted> {
    let of_one = |grant: &Grant| -> Vec<Granted> {
        let held = Privileges::ALL.iter().filter(|(privilege, ..)| grant.privileges.contain(*privilege));
        held.map(|(privilege, _, name)| Granted {
            grantor: catalog.grantee(grant.grantor),
            grantee: if grant.grantee == PUBLIC { "PUBLIC".to_owned() } else { catalog.grantee(grant.grantee) },
            privilege: name,
            // Owners may grant all that is theirs.
            grantable: grant.grantable.contain(*privilege) || grant.grantee == owner,
        })
        .collect()
    };
    grants.iter().flat_map(of_one).collect()
}

/// Whether the session sees who may what: grants to and by roles that it has, and, in views of all, those to everybody.
fn shown(catalog: &SystemCatalog, grants: Grants, with_public: bool) -> Grants {
    let standing = catalog.standing();
    let is_shown = |grant: &Grant| {
        let to_all = grant.grantee == PUBLIC;
        (with_public && to_all) || (!to_all && standing.has(grant.grantee)) || standing.has(grant.grantor)
    };
    grants.into_iter().filter(is_shown).collect()
}

fn yes(truth: bool) -> &'static str {
    if truth { "YES" } else { "NO" }
}

/// The rows of `table_privileges`, or of `role_table_grants`, which leaves out what everybody may.
pub(super) fn of_tables(catalog: &SystemCatalog, with_public: bool) -> Vec<Row> {
    let database = catalog.session().database.clone();
    let of_table = |table: &TableSchema| -> Vec<Row> {
        let grants = shown(catalog, Kind::Table.grants(&table.rights), with_public);
        let each = each(catalog, &grants, table.rights.owner);
        each.into_iter()
            .map(|one| {
                let hierarchy = yes(one.privilege == "SELECT");
                row! {
                    grantor: one.grantor, grantee: one.grantee, table_catalog: database.as_str(), table_schema: catalog.schema_of(&table.name),
                    table_name: bare(&table.name), privilege_type: one.privilege, is_grantable: yes(one.grantable),
                    with_hierarchy: hierarchy,
                }
            })
            .collect()
    };
    catalog.base_tables().flat_map(of_table).collect()
}

/// The rows of `column_privileges`, or of `role_column_grants`: what was granted on columns or on their tables.
pub(super) fn of_columns(catalog: &SystemCatalog, with_public: bool) -> Vec<Row> {
    let database = catalog.session().database.clone();
    let of_table = |table: &TableSchema| -> Vec<Row> {
        let mut rows = Vec::new();
        for column in table.columns.iter().filter(|column| !column.dropped) {
            let mut grants = Kind::Table.grants(&table.rights);
            for grant in &mut grants {
                grant.privileges = grant.privileges & Kind::Column.privileges();
            }
            for own in column.grants.iter().flatten() {
                match grants.iter_mut().find(|known| (known.grantee, known.grantor) == (own.grantee, own.grantor)) {
                    Some(known) => {
                        known.privileges = known.privileges | own.privileges;
                        known.grantable = known.grantable | own.grantable;
                    }
                    None => grants.push(own.clone()),
                }
            }
            let grants = shown(catalog, grants, with_public);
            rows.extend(each(catalog, &grants, table.rights.owner).into_iter().map(|one| {
                row! {
                    grantor: one.grantor, grantee: one.grantee, table_catalog: database.as_str(), table_schema: catalog.schema_of(&table.name),
                    table_name: bare(&table.name), column_name: column.name.as_str(), privilege_type: one.privilege,
                    is_grantable: yes(one.grantable),
                }
            }));
        }
        rows
    };
    catalog.base_tables().flat_map(of_table).collect()
}

/// The rows of `routine_privileges`, or of `role_routine_grants`.
pub(super) fn of_procedures(catalog: &SystemCatalog, with_public: bool) -> Vec<Row> {
    let database = catalog.session().database.clone();
    let mut rows = Vec::new();
    for (procedure, _) in catalog.catalog().procedures.values() {
        let specific = format!("{}_{}", bare(&procedure.name), procedure.oid);
        let grants = shown(catalog, Kind::Procedure.grants(&procedure.rights), with_public);
        rows.extend(each(catalog, &grants, procedure.rights.owner).into_iter().map(|one| {
            row! {
                grantor: one.grantor, grantee: one.grantee, specific_catalog: database.as_str(), specific_schema: catalog.schema_of(&procedure.name),
                specific_name: specific.as_str(), routine_catalog: database.as_str(), routine_schema: catalog.schema_of(&procedure.name),
                routine_name: bare(&procedure.name), privilege_type: one.privilege, is_grantable: yes(one.grantable),
            }
        }));
    }
    rows
}

/// The rows of `enabled_roles`.
pub(super) fn enabled(catalog: &SystemCatalog) -> Vec<Row> {
    let standing = catalog.standing();
    let all = catalog.catalog().all_roles();
    let enabled = all.iter().filter(|role| standing.has(role.oid));
    enabled.map(|role| row! { role_name: catalog.grantee(role.oid) }).collect()
}

/// The rows of `applicable_roles`.
pub(super) fn applicable(catalog: &SystemCatalog) -> Vec<Row> {
    let standing = catalog.standing();
    let all = catalog.catalog().all_roles();
    let mut rows = Vec::new();
    for member in all.iter().filter(|member| standing.has(member.oid)) {
        rows.extend(member.memberships.iter().map(|known| {
            row! {
                grantee: catalog.grantee(member.oid), role_name: catalog.grantee(known.role), is_grantable: yes(known.admin),
            }
        }));
    }
    rows
}
