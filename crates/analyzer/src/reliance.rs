//! What an analyzed statement relies on: a catalog that notes what it was asked for, also what it did not find.
//!
//! Look-ups by number need no note of their own: numbers come from names, or from rows that were found by one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::catalog::{Catalog, Found};
use crate::facts::{Aggregate, Cast, FamilyOperator, Function, Operator, OperatorClass, Range, TypeRow};
use crate::relations::{Relation, RelationId};
use crate::types::{CollationId, FunctionId, OperatorId, TypeId};

/// What was looked up. A schema that is not said is the search path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is a schema and a name, or two types")]
pub enum LookUp {
    Type(Option<String>, String),
    Functions(Option<String>, String),
    Operators(Option<String>, String),
    Relation(Option<String>, String),
    Collation(Option<String>, String),
    Schema(String),
    Cast(TypeId, TypeId),
}

/// A catalog that notes its look-ups, with the versions that they had.
pub struct Noting<'c> {
    catalog: &'c dyn Catalog,
    notes: RefCell<BTreeMap<LookUp, u64>>,
}

impl<'c> Noting<'c> {
    /// Of a catalog, with nothing noted.
    pub fn new(catalog: &'c dyn Catalog) -> Noting<'c> {
        Noting { catalog, notes: RefCell::default() }
    }

    /// All that was looked up by name, with its version; zero for what was not there.
    pub fn into_notes(self) -> Vec<(LookUp, u64)> {
        self.notes.into_inner().into_iter().collect()
    }

    fn note(&self, of: LookUp) {
        let mut notes = self.notes.borrow_mut();
        if let Entry::Vacant(vacant) = notes.entry(of) {
            let version = self.catalog.version(vacant.key());
            vacant.insert(version);
        }
    }

    fn named(&self, schema: Option<&str>, name: &str, of: fn(Option<String>, String) -> LookUp) {
        self.note(of(schema.map(str::to_string), name.to_string()));
    }
}

impl Catalog for Noting<'_> {
    fn is_cancelled(&self) -> bool {
        self.catalog.is_cancelled()
    }

    fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        self.catalog.type_row(id)
    }

    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        self.named(schema, name, LookUp::Type);
        self.catalog.type_named(schema, name)
    }

    fn function(&self, id: FunctionId) -> Option<&Function> {
        self.catalog.function(id)
    }

    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>> {
        self.named(schema, name, LookUp::Functions);
        self.catalog.functions_named(schema, name)
    }

    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        self.catalog.operator(id)
    }

    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>> {
        self.named(schema, name, LookUp::Operators);
        self.catalog.operators_named(schema, name)
    }

    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        self.note(LookUp::Cast(source, target));
        self.catalog.cast(source, target)
    }

    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        self.catalog.aggregate(id)
    }

    fn range(&self, id: TypeId) -> Option<&Range> {
        self.catalog.range(id)
    }

    fn range_of_multirange(&self, id: TypeId) -> Option<&Range> {
        self.catalog.range_of_multirange(id)
    }

    fn inherits(&self, child: TypeId, parent: TypeId) -> bool {
        self.catalog.inherits(child, parent)
    }

    fn relation(&self, id: RelationId) -> Option<&Relation> {
        self.catalog.relation(id)
    }

    fn relation_named(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        self.named(schema, name, LookUp::Relation);
        self.catalog.relation_named(schema, name)
    }

    fn has_schema(&self, name: &str) -> bool {
        self.note(LookUp::Schema(name.to_string()));
        self.catalog.has_schema(name)
    }

    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<CollationId> {
        self.named(schema, name, LookUp::Collation);
        self.catalog.collation_named(schema, name)
    }

    fn collation_name(&self, id: CollationId) -> Option<String> {
        self.catalog.collation_name(id)
    }

    fn other_operator_classes(&self) -> &[OperatorClass] {
        self.catalog.other_operator_classes()
    }

    fn other_family_operators(&self) -> &[FamilyOperator] {
        self.catalog.other_family_operators()
    }

    fn database(&self) -> &str {
        self.catalog.database()
    }

    fn version(&self, of: &LookUp) -> u64 {
        self.catalog.version(of)
    }
}
