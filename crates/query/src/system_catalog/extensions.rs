//! Extensions, as `pg_extension`, `pg_available_extensions`, `pg_proc` and `pg_depend` show them.
//!
//! Invariant: what is shown as installed was created. `plpgsql` never was: its language is not here.

use super::SystemCatalog;
use super::rows::{Row, row};
use messages::namespace;
use messages::schema::{CommentTarget, ExtensionSchema};
use values::extensions::{EXTENSIONS, Extension};
use values::functions::FunctionVolatility;

/// Identifier of the language `c`, which functions of extensions are written in.
pub const C_OID: u32 = 13;

impl SystemCatalog {
    fn extensions(&self) -> impl Iterator<Item = &ExtensionSchema> {
        self.show();
        self.catalog.extensions.values().map(|(known, _)| known.as_ref())
    }

    /// Whether a name without a schema means a function of an extension that was created.
    pub fn has_extension_function(&self, name: &str) -> bool {
        self.catalog.extension_of(name).is_some()
    }

    /// The identifier of an extension's function by its name, in one of these schemas.
    pub(super) fn extension_function_oid(&self, name: &str, schemas: &[u32]) -> Option<u32> {
        let known = schemas.iter().find_map(|schema| self.catalog.extension_of(&namespace::within(name, *schema)));
        known?.0.numbered().find(|(_, function)| function.name == name).map(|(oid, _)| oid)
    }

    /// What `pg_get_function_arguments` says of an extension's function.
    pub(super) fn extension_function_arguments(&self, oid: u32) -> Option<String> {
        let mut all = self.extensions().flat_map(ExtensionSchema::numbered);
        let (_, function) = all.find(|(known, _)| *known == oid)?;
        Some(function.parameters.iter().map(|known| self.type_text(*known, None)).collect::<Vec<_>>().join(", "))
    }

    /// The rows of `pg_extension`.
    pub(super) fn rows_of_extensions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| {
            let relocatable = values::extensions::extension(&known.name).is_some_and(|known| known.is_relocatable);
            row! {
                oid: known.oid, extname: known.name.as_str(), extowner: known.rights.owner, extnamespace: known.namespace,
                extrelocatable: relocatable, extversion: known.version.as_str(),
            }
        };
        self.extensions().map(of_one).collect()
    }

    fn installed_version(&self, known: &Extension) -> Option<String> {
        self.extensions().find(|one| one.name == known.name).map(|one| one.version.clone())
    }

    /// The rows of `pg_available_extensions`.
    pub(super) fn rows_of_available_extensions(&self) -> Vec<Row> {
        let of_one = |known: &Extension| {
            row! {
                name: known.name, default_version: known.version, installed_version: self.installed_version(known),
                comment: known.comment,
            }
        };
        EXTENSIONS.iter().map(of_one).collect()
    }

    /// The rows of `pg_available_extension_versions`.
    pub(super) fn rows_of_extension_versions(&self) -> Vec<Row> {
        let of_one = |known: &Extension| {
            row! {
                name: known.name, version: known.version, installed: self.installed_version(known).is_some(),
                superuser: true, trusted: true, relocatable: known.is_relocatable, comment: known.comment,
            }
        };
        EXTENSIONS.iter().map(of_one).collect()
    }

    /// The rows of `pg_proc` of extensions' functions.
    pub(super) fn rows_of_extension_functions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| -> Vec<Row> {
            let functions = known.numbered();
            functions
                .map(|(oid, function)| {
                    let volatility = match function.volatility {
                        FunctionVolatility::Immutable => "i",
                        FunctionVolatility::Stable => "s",
                        FunctionVolatility::Volatile => "v",
                    };
                    let types: Vec<i64> = function.parameters.iter().map(|known| i64::from(*known)).collect();
                    row! {
                        oid: oid, proname: function.name, pronamespace: known.namespace, proowner: super::OWNER_OID,
                        prolang: C_OID, procost: 1, prorows: if function.returns_set() { 1000 } else { 0 }, provariadic: 0,
                        prosupport: "-", prokind: "f", prosecdef: false, proleakproof: false,
                        proisstrict: function.is_strict(), proretset: function.returns_set(), provolatile: volatility,
                        proparallel: "s", pronargs: types.len() as i64, pronargdefaults: 0, prorettype: function.result,
                        proargtypes: types, prosrc: function.source, probin: format!("$libdir/{}", known.name),
                    }
                })
                .collect()
        };
        self.extensions().flat_map(of_one).collect()
    }

    /// The rows of `pg_depend` of extensions on their schemas, and of functions on their extensions.
    pub(super) fn dependences_of_extensions(&self) -> Vec<Row> {
        let of_one = |known: &ExtensionSchema| -> Vec<Row> {
            let own = row! {
                classid: CommentTarget::EXTENSIONS, objid: known.oid, objsubid: 0, refclassid: CommentTarget::SCHEMAS,
                refobjid: known.namespace, refobjsubid: 0, deptype: "n",
            };
            let of_function = |oid: u32| {
                row! {
                    classid: CommentTarget::PROCEDURES, objid: oid, objsubid: 0, refclassid: CommentTarget::EXTENSIONS,
                    refobjid: known.oid, refobjsubid: 0, deptype: "e",
                }
            };
            std::iter::once(own).chain(known.numbered().map(|(oid, _)| of_function(oid))).collect()
        };
        self.extensions().flat_map(of_one).collect()
    }
}
