//! Operator classes of index access methods: which there are, and which type has which.
//!
//! All of them order and compare as the type does here: collations are C. So none changes what an index answers.

use crate::errors::{Result, SqlError, sqlstate};
use messages::schema::IndexMethod;
use values::Type;

/// `pg_type.typname` of the types that have a class of their own, as classes are named after them.
const BASES: [&str; 31] = [
    "array",
    "bit",
    "bool",
    "bpchar",
    "bytea",
    "date",
    "enum",
    "float4",
    "float8",
    "inet",
    "int2",
    "int4",
    "int8",
    "interval",
    "jsonb",
    "macaddr",
    "macaddr8",
    "money",
    "multirange",
    "numeric",
    "oid",
    "range",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "tsquery",
    "tsvector",
    "uuid",
    "varbit",
];

/// The type that classes are named after.
fn base(own: Type) -> Option<&'static str> {
    let name = match own {
        Type::Varchar(_) => "text",
        Type::Array(_) => "array",
        Type::Cidr => "inet",
        Type::Enum(_) => "enum",
        Type::Range(_) => "range",
        Type::Multirange(_) => "multirange",
        other => other.catalog_name(),
    };
    BASES.into_iter().find(|known| *known == name)
}

/// The classes of a type, its own first.
fn classes(base: &str, method: IndexMethod) -> Vec<String> {
    let named = |suffix: &str| format!("{base}_{suffix}");
    match (method, base) {
        (IndexMethod::Gist, "range" | "multirange") => vec![named("ops")],
        (IndexMethod::Gist, "tsquery" | "tsvector") => vec![named("ops")],
        (IndexMethod::Gist, _) => Vec::new(),
        (IndexMethod::Gin, "array" | "tsvector") => vec![named("ops")],
        (IndexMethod::Gin, "jsonb") => vec![named("ops"), named("path_ops")],
        (IndexMethod::Gin, _) => Vec::new(),
        (IndexMethod::Brin, "array" | "bool" | "jsonb" | "money" | "multirange" | "tsquery" | "tsvector") => Vec::new(),
        (IndexMethod::Brin, "bit" | "varbit") => vec![named("minmax_ops")],
        (IndexMethod::Hash, "bit" | "money" | "tsquery" | "tsvector" | "varbit") => Vec::new(),
        (IndexMethod::Brin, "range") => vec![named("inclusion_ops")],
        (IndexMethod::Brin, "bpchar" | "bytea" | "text") => vec![named("minmax_ops"), named("bloom_ops")],
        (IndexMethod::Brin, "inet") => {
            ["inclusion_ops", "minmax_ops", "bloom_ops", "minmax_multi_ops"].map(named).to_vec()
        }
        (IndexMethod::Brin, _) => vec![named("minmax_ops"), named("bloom_ops"), named("minmax_multi_ops")],
        (IndexMethod::Btree | IndexMethod::Hash, "text") => {
            let others = ["text_pattern_ops", "varchar_ops", "varchar_pattern_ops"];
            std::iter::once(named("ops")).chain(others.map(str::to_owned)).collect()
        }
        (IndexMethod::Btree | IndexMethod::Hash, "bpchar") => vec![named("ops"), named("pattern_ops")],
        (IndexMethod::Btree | IndexMethod::Hash, "inet") => vec![named("ops"), "cidr_ops".to_owned()],
        (IndexMethod::Btree | IndexMethod::Hash, _) => vec![named("ops")],
    }
}

/// 42704.
pub(super) fn no_default_class(type_name: &str, method: IndexMethod) -> Box<SqlError> {
    let message =
        format!("data type {type_name} has no default operator class for access method \"{}\"", method.name());
    let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
    SqlError::new(sqlstate::UNDEFINED_OBJECT, message).with_hint(hint)
}

/// The class of a key of this type, unless it is the type's own. Errors: 42704 for one that there is not, 42804 for one of other types.
pub(super) fn chosen_class(asked: Option<String>, own: Type, method: IndexMethod) -> Result<Option<String>> {
    let own_classes = base(own).map(|base| classes(base, method)).unwrap_or_default();
    let Some(asked) = asked else {
        return match own_classes.is_empty() {
            false => Ok(None),
            true => Err(no_default_class(own.base_name(), method)),
        };
    };
    if let Some(place) = own_classes.iter().position(|known| *known == asked) {
        return Ok((place > 0).then_some(asked));
    }
    if BASES.into_iter().any(|base| classes(base, method).contains(&asked)) {
        let message = format!("operator class \"{asked}\" does not accept data type {}", own.base_name());
        return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, message));
    }
    let message = format!("operator class \"{asked}\" does not exist for access method \"{}\"", method.name());
    Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index would be refused that PostgreSQL makes, or the other way round.
    #[test]
    fn classes_are_those_of_postgresql() {
        use IndexMethod::{Brin, Btree, Gin, Gist, Hash};
        let of = |asked: Option<&str>, own, method| {
            chosen_class(asked.map(str::to_owned), own, method).map_err(|error| error.sqlstate.into_owned())
        };
        let varchar = Type::Varchar(Some(20));
        assert_eq!(of(None, varchar, Btree), Ok(None));
        assert_eq!(of(Some("text_ops"), varchar, Btree), Ok(None));
        assert_eq!(of(Some("varchar_pattern_ops"), varchar, Btree), Ok(Some("varchar_pattern_ops".into())));
        assert_eq!(of(Some("bpchar_pattern_ops"), Type::Char(3), Hash), Ok(Some("bpchar_pattern_ops".into())));
        assert_eq!(of(Some("text_pattern_ops"), Type::Integer, Btree), Err("42804".into()));
        assert_eq!(of(Some("nosuch_ops"), Type::Integer, Btree), Err("42704".into()));
        assert_eq!(of(Some("jsonb_path_ops"), Type::Jsonb, Gin), Ok(Some("jsonb_path_ops".into())));
        assert_eq!(of(None, Type::Integer.array(), Gin), Ok(None));
        assert_eq!(of(Some("tsvector_ops"), Type::TsVector, Gist), Ok(None));
        assert_eq!(of(None, Type::TsQuery, Gin), Err("42704".into()));
        for (own, method) in [
            (Type::Integer, Gin),
            (Type::Integer, Gist),
            (Type::Json, Btree),
            (Type::Boolean, Brin),
            (Type::Bit(3), Hash),
        ] {
            assert_eq!(of(None, own, method), Err("42704".into()), "{own} {method:?}");
        }
    }
}
