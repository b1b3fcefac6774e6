//! What every database begins with: collations, rights on the schemas of the system, and full text search.

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

/// Object identifiers of what full text search has. Those above 10,000 PostgreSQL gives away when it is set up.
const SIMPLE_CONFIGURATION: u32 = 3748;
const ENGLISH_CONFIGURATION: u32 = 13_164;
const SIMPLE_DICTIONARY: u32 = 3765;
const ENGLISH_DICTIONARY: u32 = 13_163;
const SIMPLE_TEMPLATE: u32 = 3727;
const SNOWBALL_TEMPLATE: u32 = 13_150;
const PARSER: u32 = 3722;

/// The rows of the catalogs of full text search.
pub(super) fn text_search(catalog: &str) -> Vec<Row> {
    let configuration = |oid: u32, name: &str| {
        row! { oid: oid, cfgname: name, cfgnamespace: PG_CATALOG_OID, cfgowner: OWNER_OID, cfgparser: PARSER }
    };
    let dictionary = |oid: u32, name: &str, template: u32, options: Option<&str>| {
        row! {
            oid: oid, dictname: name, dictnamespace: PG_CATALOG_OID, dictowner: OWNER_OID, dicttemplate: template,
            dictinitoption: options,
        }
    };
    // Functions of parsers and templates have no rows of their own to name.
    let template = |oid: u32, name: &str| row! { oid: oid, tmplname: name, tmplnamespace: PG_CATALOG_OID };
    match catalog {
        "pg_ts_config" => {
            vec![configuration(SIMPLE_CONFIGURATION, "simple"), configuration(ENGLISH_CONFIGURATION, "english")]
        }
        "pg_ts_config_map" => mapped_tokens(),
        "pg_ts_dict" => {
            let options = "language = 'english', stopwords = 'english'";
            vec![
                dictionary(SIMPLE_DICTIONARY, "simple", SIMPLE_TEMPLATE, None),
                dictionary(ENGLISH_DICTIONARY, "english_stem", SNOWBALL_TEMPLATE, Some(options)),
            ]
        }
        "pg_ts_parser" => vec![row! {
            oid: PARSER, prsname: "default", prsnamespace: PG_CATALOG_OID,
        }],
        _ => vec![template(SIMPLE_TEMPLATE, "simple"), template(SNOWBALL_TEMPLATE, "snowball")],
    }
}

/// Which dictionary looks at tokens of which kind: nobody looks at blanks, tags, heads of protocols and entities.
fn mapped_tokens() -> Vec<Row> {
    let kinds = || (1..=22).filter(|kind| !matches!(kind, 12..=14));
    let of = |configuration: u32, kind: i64, dictionary: u32| {
        row! { mapcfg: configuration, maptokentype: kind, mapseqno: 1, mapdict: dictionary }
    };
    let simple = kinds().map(|kind| of(SIMPLE_CONFIGURATION, kind, SIMPLE_DICTIONARY));
    let english = kinds().map(|kind| {
        let is_word = matches!(kind, 1 | 2 | 10 | 11 | 16 | 17);
        of(ENGLISH_CONFIGURATION, kind, if is_word { ENGLISH_DICTIONARY } else { SIMPLE_DICTIONARY })
    });
    simple.chain(english).collect()
}
