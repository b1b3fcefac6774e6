//! Equality as bytes: what is equal by PostgreSQL has equal keys.

use analyzer::TypeId;
use analyzer::types::{
    BIT, BOOL, BYTEA, CIDR, DATE, FLOAT4, FLOAT8, INET, INT2, INT4, INT8, INTERVAL, JSONB, MACADDR, MACADDR8, MONEY,
    NUMERIC, OID, TIMESTAMP, TIMETZ, UUID, VARBIT,
};
use evaluation::functions::catalogs::is_named;
use values::{Type, Value};

/// Bytes that a key in a set needs beside its own, roughly.
pub const KEY_BYTES: usize = 48;

/// Appends what a value has in common with those that are equal to it: 1.0 and 1.00, -0 and 0, spans of one length,
/// integers of several widths. Two NULLs are equal, too: where they are not, they must be looked at before.
///
/// Values of one column, or of two whose equality is in `hashes_across`, can be compared by it.
pub fn equality_key(value: &Value, _of: TypeId, key: &mut Vec<u8>) {
    values::key::append(value, key);
}

/// Whether equality between the types is that of their keys.
pub fn hashes_across(left: TypeId, right: TypeId) -> bool {
    let integer = |id: TypeId| matches!(id, INT2 | INT4 | INT8);
    // `"char"`, `name`, `text`, `varchar`: their bytes.
    let text = |id: TypeId| matches!(id.0, 18 | 19 | 25 | 1043);
    left == right || (integer(left) && integer(right)) || (text(left) && text(right))
}

/// Whether values of a type are looked up among keys of another as they are, or as integers.
pub fn same_keys(stored: Type, given: Type) -> bool {
    let text = |known: Type| matches!(known, Type::Text | Type::Varchar(_));
    let whole = |known: Type| matches!(known, Type::SmallInt | Type::Integer | Type::BigInt);
    let network = stored.is_network() && given.is_network();
    let bits = stored.is_bits() && given.is_bits();
    let alike = (text(stored) && text(given)) || (whole(stored) && whole(given)) || network || bits;
    alike || stored.unmodified() == given.unmodified()
}

/// Whether values of a type have the order of [`values::compare`] and the equality of their keys.
pub fn is_plain(id: TypeId) -> bool {
    let text = matches!(id.0, 18 | 19 | 25 | 1042 | 1043);
    let time = matches!(id.0, 1083 | 1184);
    text || time
        || matches!(id, BOOL | BYTEA | DATE | FLOAT4 | FLOAT8 | INT2 | INT4 | INT8 | INTERVAL | NUMERIC | OID)
        || matches!(id, TIMESTAMP | UUID | JSONB | INET | CIDR | MACADDR | MACADDR8)
        || matches!(id, BIT | VARBIT | TIMETZ | MONEY)
        || Type::numbered(id.0).is_some()
        || is_named(id)
        || Type::from_oid(id.0).is_some_and(|known| known.is_range() || known.is_text_search())
        || Type::from_oid(id.0).and_then(|known| known.element()).is_some_and(|of| of != Type::Json)
}

/// The key of several values.
pub fn key_of<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<u8> {
    let mut key = Vec::new();
    values.for_each(|value| equality_key(value, TypeId(0), &mut key));
    key
}
