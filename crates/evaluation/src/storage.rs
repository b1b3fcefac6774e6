//! How values of PostgreSQL's types are held.
//!
//! [`values::Value`] has fewer kinds than PostgreSQL has types: `name`, `"char"` and `json` are texts, `regclass` and its like are `oid`.

use analyzer::{TypeId, Typed};
use values::Type;

/// The type of the values that stand for those of a type; `None` where there is none yet.
pub fn storage(typed: Typed) -> Option<Type> {
    Type::from_oid_and_typmod(typed.id.0, typed.modifier)
}

/// The same for a type without a modifier.
pub fn unmodified(id: TypeId) -> Option<Type> {
    Type::from_oid(id.0)
}
