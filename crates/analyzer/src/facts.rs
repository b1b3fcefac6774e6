//! PostgreSQL 15's own types, functions, operators and casts, compiled in as the files of `facts` and read once.
//!
//! The files hold what a running PostgreSQL shows of its system catalogs; `tests/facts.rs` compares them with one. Rows stand in the order of their numbers. A file that
//! cannot be read is a fault of the build, so reading panics.

mod read;
mod rows;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

pub use rows::{
    Aggregate, Cast, CastContext, CastMethod, FamilyFunction, FamilyOperator, Function, FunctionKind, Keyword,
    Operator, OperatorClass, OperatorFamily, Parameter, ParameterMode, Range, Text, TypeRow, Volatility,
};

use crate::types::{FunctionId, OperatorId, TypeId};

/// All facts, with what they are looked up by.
pub struct Facts {
    /// Types by number.
    pub types: Vec<TypeRow>,
    /// Functions by number.
    pub functions: Vec<Function>,
    /// Operators by number.
    pub operators: Vec<Operator>,
    /// Casts by source and target.
    pub casts: Vec<Cast>,
    /// Aggregates by function.
    pub aggregates: Vec<Aggregate>,
    /// Ranges by type.
    pub ranges: Vec<Range>,
    /// Operator classes by number.
    pub operator_classes: Vec<OperatorClass>,
    /// Operator families by number.
    pub operator_families: Vec<OperatorFamily>,
    /// Operators of families.
    pub family_operators: Vec<FamilyOperator>,
    /// Support functions of families.
    pub family_functions: Vec<FamilyFunction>,
    /// Words that the grammar knows.
    pub keywords: BTreeMap<&'static str, Keyword>,
    types_by_name: FxHashMap<&'static str, u32>,
    functions_by_name: FxHashMap<&'static str, Vec<u32>>,
    operators_by_name: FxHashMap<&'static str, Vec<u32>>,
    casts_by_types: FxHashMap<(TypeId, TypeId), u32>,
}

static FACTS: LazyLock<Facts> = LazyLock::new(Facts::read);

impl Facts {
    /// The facts of PostgreSQL 15.
    pub fn postgresql15() -> &'static Facts {
        &FACTS
    }

    fn read() -> Facts {
        let types = read::rows(include_str!("../facts/types.tsv"), rows::type_row);
        let functions = read::rows(include_str!("../facts/functions.tsv"), rows::function);
        let operators = read::rows(include_str!("../facts/operators.tsv"), rows::operator);
        let casts = read::rows(include_str!("../facts/casts.tsv"), rows::cast);
        let keywords = read::rows(include_str!("../facts/keywords.tsv"), rows::keyword);
        let named = |names: Vec<&'static str>| {
            let mut by_name: FxHashMap<&'static str, Vec<u32>> = FxHashMap::default();
            for (index, name) in names.into_iter().enumerate() {
                by_name.entry(name).or_default().push(index as u32);
            }
            by_name
        };
        Facts {
            types_by_name: types.iter().enumerate().map(|(index, row)| (constant(&row.name), index as u32)).collect(),
            functions_by_name: named(functions.iter().map(|row| constant(&row.name)).collect()),
            operators_by_name: named(operators.iter().map(|row| constant(&row.name)).collect()),
            casts_by_types: casts.iter().enumerate().map(|(i, row)| ((row.source, row.target), i as u32)).collect(),
            aggregates: read::rows(include_str!("../facts/aggregates.tsv"), rows::aggregate),
            ranges: read::rows(include_str!("../facts/ranges.tsv"), rows::range),
            operator_classes: read::rows(include_str!("../facts/operator_classes.tsv"), rows::operator_class),
            operator_families: read::rows(include_str!("../facts/operator_families.tsv"), rows::operator_family),
            family_operators: read::rows(include_str!("../facts/family_operators.tsv"), rows::family_operator),
            family_functions: read::rows(include_str!("../facts/family_functions.tsv"), rows::family_function),
            keywords: keywords.into_iter().collect(),
            types,
            functions,
            operators,
            casts,
        }
    }

    /// A type by its number.
    pub fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        self.types.binary_search_by_key(&id, |row| row.id).ok().map(|index| &self.types[index])
    }

    /// A type by its name in `pg_type`.
    pub fn type_named(&self, name: &str) -> Option<&TypeRow> {
        self.types_by_name.get(name).map(|index| &self.types[*index as usize])
    }

    /// A function by its number.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.binary_search_by_key(&id, |row| row.id).ok().map(|index| &self.functions[index])
    }

    /// The functions of a name, by number.
    pub fn functions_named(&self, name: &str) -> impl Iterator<Item = &Function> {
        let indexes = self.functions_by_name.get(name).map_or(&[][..], Vec::as_slice);
        indexes.iter().map(|index| &self.functions[*index as usize])
    }

    /// An operator by its number.
    pub fn operator(&self, id: OperatorId) -> Option<&Operator> {
        self.operators.binary_search_by_key(&id, |row| row.id).ok().map(|index| &self.operators[index])
    }

    /// The operators of a name, by number.
    pub fn operators_named(&self, name: &str) -> impl Iterator<Item = &Operator> {
        let indexes = self.operators_by_name.get(name).map_or(&[][..], Vec::as_slice);
        indexes.iter().map(|index| &self.operators[*index as usize])
    }

    /// The cast from a type to another, or the one that applies a modifier if both are the same.
    pub fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        self.casts_by_types.get(&(source, target)).map(|index| &self.casts[*index as usize])
    }

    /// Whether a family is one of ordered types.
    pub fn is_btree_family(&self, family: u32) -> bool {
        let index = self.operator_families.binary_search_by_key(&family, |row| row.id);
        index.is_ok_and(|index| self.operator_families[index].method == "btree")
    }

    /// The operators of a family.
    pub fn operators_of_family(&self, family: u32) -> &[FamilyOperator] {
        let first = self.family_operators.partition_point(|row| row.family < family);
        let end = self.family_operators.partition_point(|row| row.family <= family);
        &self.family_operators[first..end]
    }

    /// What makes a function an aggregate.
    pub fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        self.aggregates.binary_search_by_key(&id, |row| row.function).ok().map(|index| &self.aggregates[index])
    }
}

/// The text of a built-in row, which is always borrowed.
fn constant(text: &Text) -> &'static str {
    match text {
        Text::Borrowed(text) => text,
        Text::Owned(_) => panic!("a built-in's name is borrowed"),
    }
}
