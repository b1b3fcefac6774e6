//! Names, identifiers and columns of PostgreSQL 15's system relations and types, read from the text files beside this one.
//!
//! The files are part of the program, so a line that does not parse is a broken invariant of ours.

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use values::Type;

/// A system relation.
pub struct Relation {
    pub schema_name: &'static str,
    pub name: &'static str,
    pub oid: u32,
    /// `r` or `v`.
    pub kind: &'static str,
    /// Name and type of each column, as PostgreSQL has them.
    pub columns: Vec<(&'static str, &'static str)>,
    /// As we have them.
    pub schema: SchemaRef,
}

/// A row of `pg_type`.
pub struct SystemType {
    pub oid: u32,
    pub name: &'static str,
    pub length: i16,
    pub by_value: bool,
    pub kind: &'static str,
    pub category: &'static str,
    pub preferred: bool,
    pub element: u32,
    pub array: u32,
    pub collation: u32,
}

/// All definitions.
pub struct Definitions {
    /// By schema, then by name.
    relations: BTreeMap<&'static str, BTreeMap<&'static str, Relation>>,
    pub types: Vec<SystemType>,
}

/// Read once.
pub static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| Definitions {
    relations: schemas(lines(include_str!("relations.txt")).map(relation)),
    types: lines(include_str!("types.txt")).map(system_type).collect(),
});

impl Definitions {
    /// The relation of that name.
    pub fn find(&self, schema: &str, name: &str) -> Option<&Relation> {
        self.relations.get(schema)?.get(name)
    }

    /// All relations, by schema and name.
    pub fn relations(&self) -> impl Iterator<Item = &Relation> {
        self.relations.values().flat_map(BTreeMap::values)
    }

    /// The type of that name.
    pub fn type_named(&self, name: &str) -> Option<&SystemType> {
        self.types.iter().find(|known| known.name == name)
    }

    /// The type of that identifier.
    pub fn type_of_oid(&self, oid: u32) -> Option<&SystemType> {
        self.types.iter().find(|known| known.oid == oid)
    }
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn schemas(relations: impl Iterator<Item = Relation>) -> BTreeMap<&'static str, BTreeMap<&'static str, Relation>> {
    let mut schemas: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for relation in relations {
        schemas.entry(relation.schema_name).or_default().insert(relation.name, relation);
    }
    schemas
}

fn relation(line: &'static str) -> Relation {
    parsed_relation(line).unwrap_or_else(|| panic!("a line of relations.txt does not parse: {line}"))
}

fn parsed_relation(line: &'static str) -> Option<Relation> {
    let (head, columns) = line.split_once(": ")?;
    let mut words = head.split(' ');
    let (schema_name, name) = words.next()?.split_once('.')?;
    let oid = words.next()?.parse().ok()?;
    let kind = words.next()?;
    let columns: Vec<_> = columns.split(", ").map(|column| column.split_once(' ')).collect::<Option<_>>()?;
    let fields: Vec<Field> = columns.iter().map(|(name, system_type)| field(name, system_type)).collect();
    let schema = Arc::new(Schema::new(fields));
    Some(Relation { schema_name, name, oid, kind, columns, schema })
}

fn system_type(line: &'static str) -> SystemType {
    let words: Vec<&'static str> = line.split(' ').collect();
    let number = |place: usize| -> i64 {
        words[place].parse().unwrap_or_else(|_| panic!("a line of types.txt does not parse: {line}"))
    };
    assert_eq!(words.len(), 10, "a line of types.txt does not parse: {line}");
    SystemType {
        oid: number(0) as u32,
        name: words[1],
        length: number(2) as i16,
        by_value: words[3] == "t",
        kind: words[4],
        category: words[5],
        preferred: words[6] == "t",
        element: number(7) as u32,
        array: number(8) as u32,
        collation: number(9) as u32,
    }
}

/// A column of a system relation as we have it.
fn field(name: &str, system_type: &str) -> Field {
    let simple = match system_type {
        "bool" => Type::Boolean,
        "int2" => Type::SmallInt,
        "int4" | "cardinal_number" => Type::Integer,
        "int8" | "xid" => Type::BigInt,
        "oid" => Type::Oid,
        "float4" => Type::Real,
        "float8" => Type::Double,
        "numeric" => Type::Numeric(None),
        "bytea" => Type::Bytea,
        "timestamptz" | "time_stamp" => Type::TimestampTz(None),
        "interval" => Type::Interval(None),
        "_int2" => return list(name, DataType::Int16),
        "_oid" => return list(name, DataType::UInt32),
        "int2vector" => return crate::types::counted_from_zero(list(name, DataType::Int16)),
        "oidvector" => return crate::types::counted_from_zero(list(name, DataType::UInt32)),
        "name" => return crate::types::counted_from_zero(crate::types::field(name, Type::Text, true)),
        "anyarray" => return list(name, DataType::Utf8),
        other if other.starts_with('_') => return list(name, DataType::Utf8),
        _ => Type::Text,
    };
    crate::types::field(name, simple, true)
}

fn list(name: &str, element: DataType) -> Field {
    Field::new(name, DataType::new_list(element, true), true)
}
