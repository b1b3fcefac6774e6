//! The extensions that are built in, and the functions of each, as `CREATE EXTENSION` of PostgreSQL 15 makes them.
//!
//! Invariant: a function's name belongs to one extension only, so a name says which extension has to be there. Positions of functions never change: an extension's
//! functions are numbered by them in the catalog, the first one behind the extension itself.

use crate::functions::FunctionVolatility::{self, Immutable, Volatile};

/// An extension as its control file describes it.
#[derive(Debug)]
pub struct Extension {
    /// Its name.
    pub name: &'static str,
    /// The one version of it that there is.
    pub version: &'static str,
    /// What it is for.
    pub comment: &'static str,
    /// Whether it may be put in another schema.
    pub is_relocatable: bool,
    /// Its functions.
    pub functions: &'static [ExtensionFunction],
}

/// A function of an extension.
#[derive(Debug)]
pub struct ExtensionFunction {
    /// Its name.
    pub name: &'static str,
    /// Object identifiers of the types of its parameters.
    pub parameters: &'static [u32],
    /// The object identifier of the type of its result.
    pub result: u32,
    /// When two calls return the same.
    pub volatility: FunctionVolatility,
    /// What implements it (`pg_proc.prosrc`).
    pub source: &'static str,
}

const BYTEA: u32 = 17;
const INTEGER: u32 = 23;
const TEXT: u32 = 25;
const TEXTS: u32 = 1009;
const RECORD: u32 = 2249;
const UUID: u32 = 2950;

const fn function(
    name: &'static str,
    parameters: &'static [u32],
    result: u32,
    volatility: FunctionVolatility,
    source: &'static str,
) -> ExtensionFunction {
    ExtensionFunction { name, parameters, result, volatility, source }
}

const fn of_uuid(name: &'static str, volatility: FunctionVolatility) -> ExtensionFunction {
    function(name, &[], UUID, volatility, name)
}

/// `plpgsql`, which PostgreSQL has in each database from the start. Here it has a name only: the language is part of the server.
pub static PLPGSQL: Extension = Extension {
    name: "plpgsql",
    version: "1.0",
    comment: "PL/pgSQL procedural language",
    is_relocatable: false,
    functions: &[],
};

/// The object identifier that PostgreSQL gives [`PLPGSQL`].
pub const PLPGSQL_OID: u32 = 13_559;

/// Those that can be created.
pub static EXTENSIONS: [Extension; 2] = [
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        is_relocatable: true,
        functions: PGCRYPTO,
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        is_relocatable: true,
        functions: UUID_OSSP,
    },
];

const UUID_OSSP: &[ExtensionFunction] = &[
    of_uuid("uuid_nil", Immutable),
    of_uuid("uuid_ns_dns", Immutable),
    of_uuid("uuid_ns_url", Immutable),
    of_uuid("uuid_ns_oid", Immutable),
    of_uuid("uuid_ns_x500", Immutable),
    of_uuid("uuid_generate_v1", Volatile),
    of_uuid("uuid_generate_v1mc", Volatile),
    function("uuid_generate_v3", &[UUID, TEXT], UUID, Immutable, "uuid_generate_v3"),
    of_uuid("uuid_generate_v4", Volatile),
    function("uuid_generate_v5", &[UUID, TEXT], UUID, Immutable, "uuid_generate_v5"),
];

const PGCRYPTO: &[ExtensionFunction] = &[
    function("digest", &[TEXT, TEXT], BYTEA, Immutable, "pg_digest"),
    function("digest", &[BYTEA, TEXT], BYTEA, Immutable, "pg_digest"),
    function("hmac", &[TEXT, TEXT, TEXT], BYTEA, Immutable, "pg_hmac"),
    function("hmac", &[BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pg_hmac"),
    function("crypt", &[TEXT, TEXT], TEXT, Immutable, "pg_crypt"),
    function("gen_salt", &[TEXT], TEXT, Volatile, "pg_gen_salt"),
    function("gen_salt", &[TEXT, INTEGER], TEXT, Volatile, "pg_gen_salt_rounds"),
    function("encrypt", &[BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pg_encrypt"),
    function("decrypt", &[BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pg_decrypt"),
    function("encrypt_iv", &[BYTEA, BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pg_encrypt_iv"),
    function("decrypt_iv", &[BYTEA, BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pg_decrypt_iv"),
    function("gen_random_bytes", &[INTEGER], BYTEA, Volatile, "pg_random_bytes"),
    function("gen_random_uuid", &[], UUID, Volatile, "pg_random_uuid"),
    function("pgp_sym_encrypt", &[TEXT, TEXT], BYTEA, Volatile, "pgp_sym_encrypt_text"),
    function("pgp_sym_encrypt_bytea", &[BYTEA, TEXT], BYTEA, Volatile, "pgp_sym_encrypt_bytea"),
    function("pgp_sym_encrypt", &[TEXT, TEXT, TEXT], BYTEA, Volatile, "pgp_sym_encrypt_text"),
    function("pgp_sym_encrypt_bytea", &[BYTEA, TEXT, TEXT], BYTEA, Volatile, "pgp_sym_encrypt_bytea"),
    function("pgp_sym_decrypt", &[BYTEA, TEXT], TEXT, Immutable, "pgp_sym_decrypt_text"),
    function("pgp_sym_decrypt_bytea", &[BYTEA, TEXT], BYTEA, Immutable, "pgp_sym_decrypt_bytea"),
    function("pgp_sym_decrypt", &[BYTEA, TEXT, TEXT], TEXT, Immutable, "pgp_sym_decrypt_text"),
    function("pgp_sym_decrypt_bytea", &[BYTEA, TEXT, TEXT], BYTEA, Immutable, "pgp_sym_decrypt_bytea"),
    function("pgp_pub_encrypt", &[TEXT, BYTEA], BYTEA, Volatile, "pgp_pub_encrypt_text"),
    function("pgp_pub_encrypt_bytea", &[BYTEA, BYTEA], BYTEA, Volatile, "pgp_pub_encrypt_bytea"),
    function("pgp_pub_encrypt", &[TEXT, BYTEA, TEXT], BYTEA, Volatile, "pgp_pub_encrypt_text"),
    function("pgp_pub_encrypt_bytea", &[BYTEA, BYTEA, TEXT], BYTEA, Volatile, "pgp_pub_encrypt_bytea"),
    function("pgp_pub_decrypt", &[BYTEA, BYTEA], TEXT, Immutable, "pgp_pub_decrypt_text"),
    function("pgp_pub_decrypt_bytea", &[BYTEA, BYTEA], BYTEA, Immutable, "pgp_pub_decrypt_bytea"),
    function("pgp_pub_decrypt", &[BYTEA, BYTEA, TEXT], TEXT, Immutable, "pgp_pub_decrypt_text"),
    function("pgp_pub_decrypt_bytea", &[BYTEA, BYTEA, TEXT], BYTEA, Immutable, "pgp_pub_decrypt_bytea"),
    function("pgp_pub_decrypt", &[BYTEA, BYTEA, TEXT, TEXT], TEXT, Immutable, "pgp_pub_decrypt_text"),
    function("pgp_pub_decrypt_bytea", &[BYTEA, BYTEA, TEXT, TEXT], BYTEA, Immutable, "pgp_pub_decrypt_bytea"),
    function("pgp_key_id", &[BYTEA], TEXT, Immutable, "pgp_key_id_w"),
    function("armor", &[BYTEA], TEXT, Immutable, "pg_armor"),
    function("armor", &[BYTEA, TEXTS, TEXTS], TEXT, Immutable, "pg_armor"),
    function("dearmor", &[TEXT], BYTEA, Immutable, "pg_dearmor"),
    function("pgp_armor_headers", &[TEXT], RECORD, Immutable, "pgp_armor_headers"),
];

impl ExtensionFunction {
    /// Whether it yields a set, of rows.
    pub fn returns_set(&self) -> bool {
        self.result == RECORD
    }

    /// Whether PostgreSQL has a function of its own that is called so. A name without a schema means that one.
    pub fn is_hidden(&self) -> bool {
        self.name == "gen_random_uuid"
    }

    /// Whether it is NULL as soon as an argument is (`pg_proc.proisstrict`).
    pub fn is_strict(&self) -> bool {
        self.name != "gen_random_uuid"
    }
}

/// The extension of this name that can be created.
pub fn extension(name: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|known| known.name == name)
}

/// The extension that has functions of this name.
pub fn provider(function: &str) -> Option<&'static Extension> {
    // Most names are none of them.
    let may_be = |known: &Extension| known.functions.iter().any(|known| known.name == function);
    EXTENSIONS.iter().find(|known| may_be(known))
}

/// Whether a function of PostgreSQL's own hides those of this name where no schema is written.
pub fn is_hidden(function: &str) -> bool {
    provider(function).is_some_and(|known| {
        let mut named_so = known.functions.iter().filter(|known| known.name == function);
        named_so.all(ExtensionFunction::is_hidden)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call would be of the functions of an extension that was not created.
    #[test]
    fn a_name_belongs_to_one_extension() {
        for extension in &EXTENSIONS {
            for function in extension.functions {
                assert_eq!(provider(function.name).map(|known| known.name), Some(extension.name), "{}", function.name);
            }
        }
        assert!(provider("lower").is_none());
        assert!(is_hidden("gen_random_uuid") && !is_hidden("digest") && !is_hidden("lower"));
    }

    /// A call would be of one of two, by chance.
    #[test]
    fn no_two_functions_take_the_same_arguments() {
        for extension in &EXTENSIONS {
            for (place, function) in extension.functions.iter().enumerate() {
                let same =
                    |other: &&ExtensionFunction| other.name == function.name && other.parameters == function.parameters;
                assert!(!extension.functions[..place].iter().any(|other| same(&other)), "{}", function.name);
            }
        }
    }
}
