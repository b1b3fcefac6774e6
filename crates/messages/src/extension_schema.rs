//! Extensions as the catalog keeps them.
//!
//! Invariant: an extension's functions have the object identifiers behind its own, so one row is all that there is of it.

use crate::namespace;
use crate::privilege::Rights;
use serde::{Deserialize, Serialize};
use values::extensions::{self, ExtensionFunction};

/// An extension that was created. What is in it is built in ([`values::extensions`]); the row says that it is there, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExtensionSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier, kept for life. Those of its functions follow, in their order.
    pub oid: u32,
    /// The object identifier of the schema that its functions are in.
    pub namespace: u32,
    /// Its version.
    pub version: String,
    /// Who owns it. Nothing is granted on it.
    pub rights: Rights,
}

impl ExtensionSchema {
    /// What is in it; nothing if this version of Raid does not have it.
    pub fn functions(&self) -> &'static [ExtensionFunction] {
        extensions::extension(&self.name).map_or(&[], |known| known.functions)
    }

    /// Its functions with their object identifiers.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &'static ExtensionFunction)> {
        (self.oid + 1..).zip(self.functions())
    }

    /// The catalog's name of one of its functions.
    pub fn catalog_name(&self, function: &str) -> String {
        namespace::within(function, self.namespace)
    }
}
