//! What every database begins with: collations, and rights on the schemas of the system.

use super::rows::{Row, row};
use super::{INFORMATION_SCHEMA_OID, OWNER_OID, PG_CATALOG_OID, SystemCatalog};
use messages::privilege::{Grant, PUBLIC, Privileges, Rights};
use messages::schema::CommentTarget;

/// The collation that texts have unless they say otherwise.
pub(super) const DEFAULT_COLLATION: u32 = 100;
/// The collation `C`.
pub(super) const C_COLLATION: u32 = 950;

/// The collations that there are: texts are ordered by their bytes.
pub(super) fn collations() -> Vec<Row> {
    let of = |(oid, name, provider): (u32, &str, &str)| {
        let locale = (provider == "c").then_some(name);
        row! {
            oid: oid, collname: name, collnamespace: PG_CATALOG_OID, collowner: OWNER_OID, collprovider: provider,
            collisdeterministic: true, collencoding: -1, collcollate: locale, collctype: locale,
        }
    };
    [(DEFAULT_COLLATION, "default", "d"), (C_COLLATION, "C", "c"), (951, "POSIX", "c")].map(of).into()
}

/// The rights on a system schema.
pub(super) fn of_system() -> Rights {
    let grant = |grantee, privileges| Grant { grantee, grantor: OWNER_OID, privileges, grantable: Privileges::NONE };
    let own = grant(OWNER_OID, Privileges::USAGE | Privileges::CREATE);
    Rights { owner: OWNER_OID, grants: Some(vec![own, grant(PUBLIC, Privileges::USAGE)]) }
}

/// The rows of `pg_init_privs`.
pub(super) fn rights(catalog: &SystemCatalog) -> Vec<Row> {
    let of = |oid: u32| {
        let grants = catalog.grant_texts(of_system().grants.as_ref());
        row! { objoid: oid, classoid: CommentTarget::SCHEMAS, objsubid: 0, privtype: "i", initprivs: grants }
    };
    vec![of(PG_CATALOG_OID), of(INFORMATION_SCHEMA_OID)]
}
