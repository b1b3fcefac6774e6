//! How values of PostgreSQL's types are held.
//!
//! [`values::Value`] has fewer kinds than PostgreSQL has types: `name`, `"char"` and unknown literals are texts. A type whose values would print or compare otherwise than
//! those of the type that they are held as has none. Of a user's
//! type only the number is known here: what reads its labels has to know more.

use analyzer::facts::Facts;
use analyzer::types::{CHAR, INT2VECTOR, NAME, OIDVECTOR, RECORD, TypeKind, UNKNOWN, VOID};
use analyzer::{TypeId, Typed};
use values::Type;

/// `aclitem`: what prints it makes it, so it is its text.
pub const ACL_ITEM: TypeId = TypeId(1033);
/// `_aclitem`
pub const ACL_ITEM_ARRAY: TypeId = TypeId(1034);
/// `regconfig`: held as its name.
pub const REGCONFIG: TypeId = TypeId(3734);
/// `regdictionary`: held as its name.
pub const REGDICTIONARY: TypeId = TypeId(3769);
/// `_regconfig` and `_regdictionary`.
pub const REG_ARRAYS: [TypeId; 2] = [TypeId(3735), TypeId(3770)];
/// `_char`
const CHAR_ARRAY: TypeId = TypeId(1002);
/// `_name`
const NAME_ARRAY: TypeId = TypeId(1003);

/// The type of the values that stand for those of a type; `None` where there is none yet.
pub fn storage(typed: Typed) -> Option<Type> {
    match typed.id {
        NAME | CHAR | UNKNOWN | REGCONFIG | REGDICTIONARY => Some(Type::Text),
        id if REG_ARRAYS.contains(&id) => Some(Type::Text.array()),
        CHAR_ARRAY | NAME_ARRAY => Some(Type::Text.array()),
        ACL_ITEM => Some(Type::Text),
        ACL_ITEM_ARRAY => Some(Type::Text.array()),
        // Arrays that count from zero.
        INT2VECTOR => Some(Type::SmallInt.array()),
        OIDVECTOR => Some(Type::Oid.array()),
        VOID => Some(Type::Void),
        id => Type::from_oid_and_typmod(id.0, typed.modifier).or_else(|| Type::numbered(id.0)),
    }
}

/// The same for a type without a modifier.
pub fn unmodified(id: TypeId) -> Option<Type> {
    storage(Typed { id, modifier: analyzer::types::NO_MODIFIER, collation: Default::default() })
}

/// Whether values of a type are rows. Functions of JSON get the JSON of a row in place of it.
pub fn is_row(id: TypeId) -> bool {
    let known = Facts::postgresql15().type_row(id);
    id == RECORD || known.map_or_else(|| Type::numbered(id.0).is_none(), |row| row.kind == TypeKind::Composite)
}
