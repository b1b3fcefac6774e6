//! Types by number, what kinds of them there are, and what an expression's type is.
//!
//! A type's number is PostgreSQL's oid. It, a modifier and a collation say everything of an expression's type that the rest of a statement can see.

use std::fmt;

/// A type, by PostgreSQL's oid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// A function, by PostgreSQL's oid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// An operator, by PostgreSQL's oid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(pub u32);

/// A collation, by PostgreSQL's oid; zero for a type that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollationId(pub u32);

/// The modifier of a type that has none.
pub const NO_MODIFIER: i32 = -1;

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Typed {
    /// The type.
    pub id: TypeId,
    /// Its modifier as PostgreSQL encodes it, such as a length and four; -1 without.
    pub modifier: i32,
    /// By what it is ordered.
    pub collation: CollationId,
}

/// What a type is made of (`pg_type.typtype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Values of its own; arrays are of this kind, too.
    Base,
    /// Rows.
    Composite,
    /// Another type with constraints.
    Domain,
    /// Labels.
    Enum,
    /// Sets of ranges.
    Multirange,
    /// No values: it says what a function takes.
    Pseudo,
    /// Ranges.
    Range,
}

/// The category of text (`pg_type.typcategory`), which unknown literals take to first.
pub const CATEGORY_STRING: char = 'S';

/// What PostgreSQL calls InvalidOid: no type, as the left side of a prefix operator.
pub const NONE: TypeId = TypeId(0);

macro_rules! type_ids {
    ($($name:ident = $oid:literal $text:literal;)*) => {
        $(
            #[doc = concat!("`", $text, "`")]
            pub const $name: TypeId = TypeId($oid);
        )*
        /// The types above with their names in `pg_type`.
        pub const NAMED: &[(TypeId, &str)] = &[$(($name, $text)),*];
    };
}

type_ids! {
    BOOL = 16 "bool";
    BYTEA = 17 "bytea";
    CHAR = 18 "char";
    NAME = 19 "name";
    INT8 = 20 "int8";
    INT2 = 21 "int2";
    INT2VECTOR = 22 "int2vector";
    INT4 = 23 "int4";
    REGPROC = 24 "regproc";
    TEXT = 25 "text";
    OID = 26 "oid";
    OIDVECTOR = 30 "oidvector";
    JSON = 114 "json";
    CIDR = 650 "cidr";
    FLOAT4 = 700 "float4";
    FLOAT8 = 701 "float8";
    UNKNOWN = 705 "unknown";
    MACADDR8 = 774 "macaddr8";
    MONEY = 790 "money";
    MACADDR = 829 "macaddr";
    INET = 869 "inet";
    BPCHAR = 1042 "bpchar";
    VARCHAR = 1043 "varchar";
    DATE = 1082 "date";
    TIME = 1083 "time";
    TIMESTAMP = 1114 "timestamp";
    TIMESTAMPTZ = 1184 "timestamptz";
    INTERVAL = 1186 "interval";
    TIMETZ = 1266 "timetz";
    BIT = 1560 "bit";
    VARBIT = 1562 "varbit";
    NUMERIC = 1700 "numeric";
    TEXT_ARRAY = 1009 "_text";
    UUID = 2950 "uuid";
    JSONB = 3802 "jsonb";
    RECORD = 2249 "record";
    RECORD_ARRAY = 2287 "_record";
    CSTRING = 2275 "cstring";
    ANY = 2276 "any";
    ANYARRAY = 2277 "anyarray";
    VOID = 2278 "void";
    TRIGGER = 2279 "trigger";
    ANYELEMENT = 2283 "anyelement";
    ANYNONARRAY = 2776 "anynonarray";
    ANYENUM = 3500 "anyenum";
    ANYRANGE = 3831 "anyrange";
    ANYMULTIRANGE = 4537 "anymultirange";
    ANYCOMPATIBLE = 5077 "anycompatible";
    ANYCOMPATIBLEARRAY = 5078 "anycompatiblearray";
    ANYCOMPATIBLENONARRAY = 5079 "anycompatiblenonarray";
    ANYCOMPATIBLERANGE = 5080 "anycompatiblerange";
    ANYCOMPATIBLEMULTIRANGE = 4538 "anycompatiblemultirange";
}

impl TypeId {
    /// Whether a call decides what type this stands for.
    pub fn is_polymorphic(self) -> bool {
        self.is_any_family() || self.is_compatible_family()
    }

    /// Whether it is one of anyelement's family, whose arguments must agree exactly.
    pub fn is_any_family(self) -> bool {
        matches!(self, ANYELEMENT | ANYARRAY | ANYNONARRAY | ANYENUM | ANYRANGE | ANYMULTIRANGE)
    }

    /// Whether it is one of anycompatible's family, whose arguments take a common type.
    pub fn is_compatible_family(self) -> bool {
        matches!(
            self,
            ANYCOMPATIBLE | ANYCOMPATIBLEARRAY | ANYCOMPATIBLENONARRAY | ANYCOMPATIBLERANGE | ANYCOMPATIBLEMULTIRANGE
        )
    }

    /// The type, unless it is none.
    pub fn known(self) -> Option<TypeId> {
        (self != NONE).then_some(self)
    }
}

impl fmt::Display for TypeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
