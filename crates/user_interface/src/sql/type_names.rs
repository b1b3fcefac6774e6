//! Names of types in statements: what each means, and what relies on it.
//!
//! Invariant: a statement that names a user's type relies on the type's row of the catalog.

use crate::errors::{Result, SqlError};
use crate::sql::expressions::Compiler;
use crate::sql::lookup::NameLookup;
use crate::sql::names;
use crate::sql::parse;
use crate::sql::types::{NamedType, Typed, data_type_in, named_type_in, type_of_mut, user_type_name_mut};
use messages::Timestamp;
use messages::program::Expression;
use messages::schema::CatalogEntry;
use sqlparser::ast;
use values::Type;

/// The type that a text names, as the session's search path has it. Errors: 42704, 3F000.
pub fn spelled_type(text: &str, lookup: &NameLookup) -> Result<Type> {
    if let Ok(known) = text.parse::<Type>() {
        return Ok(known);
    }
    let mut cast = parse::expression(&format!("NULL::{text}"))?;
    let Some(written) = type_of_mut(&mut cast) else { return Err(SqlError::syntax(text)) };
    if let Some(name) = user_type_name_mut(written)
        && let Some(known) = lookup.user_type(&names::own_relation(name)?)?
    {
        *name = ast::ObjectName::from(vec![ast::Ident::with_quote('"', known)]);
    }
    data_type_in(written, lookup.catalog())
}

impl Compiler<'_> {
    /// The type that a syntax tree names, on whose row the statement relies if it is a user's. Errors: 42704.
    pub(super) fn named_type(&mut self, written: &ast::DataType) -> Result<NamedType> {
        let found = named_type_in(written, self.catalog)?;
        let known = match &found {
            NamedType::Domain(known) => Some(known),
            NamedType::Plain(plain) => match plain.element().unwrap_or(*plain) {
                Type::Enum(labels) => self.catalog.type_numbered(labels.oid()),
                _ => None,
            },
        };
        if let Some(known) = known {
            let key = CatalogEntry::type_key(&known.name);
            let relied = (key.clone(), self.catalog.version_of(&key));
            // What the transaction has made itself has no version.
            if relied.1 != Timestamp::ZERO && !self.relies_on.contains(&relied) {
                self.relies_on.push(relied);
            }
        }
        Ok(found)
    }
}

/// A value that was cast to what a domain is over as one of the domain.
pub(super) fn in_domain(named: &NamedType, typed: Typed) -> Typed {
    match named.rules().filter(|rules| rules.refuses_any()) {
        Some(rules) => Typed { expression: Expression::Domain(Box::new(typed.expression), rules), ..typed },
        None => typed,
    }
}
