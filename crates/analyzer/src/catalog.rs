//! Where types, functions, operators and casts come from: a trait, and PostgreSQL's own behind it.
//!
//! A catalog for one analysis does not change while that runs. One that has user objects, too, notes what it was asked for, also what it did not find, so that an analyzed
//! statement can be dropped when that changes.

use crate::facts::{Aggregate, Cast, Facts, FamilyOperator, Function, Operator, OperatorClass, Range, TypeRow};
use crate::relations::{Relation, RelationId};
use crate::types::{CollationId, FunctionId, OperatorId, TypeId, TypeKind, Typed};

/// What a name has found, and how far down the search path: the lower wins among those that take the same arguments.
pub struct Found<'c, Row> {
    /// The place of the schema in the search path; 0 if the schema was named.
    pub place: usize,
    /// What was found.
    pub row: &'c Row,
}

/// What resolution asks for.
pub trait Catalog {
    /// Whether nobody waits for the statement any more: who works on it asks now and then, and ends.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// A type by its number.
    fn type_row(&self, id: TypeId) -> Option<&TypeRow>;
    /// A type by its name, in a schema or along the search path.
    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow>;
    /// A function by its number.
    fn function(&self, id: FunctionId) -> Option<&Function>;
    /// All functions of a name, in a schema or along the search path.
    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>>;
    /// An operator by its number.
    fn operator(&self, id: OperatorId) -> Option<&Operator>;
    /// All operators of a name, in a schema or along the search path.
    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>>;
    /// The cast from a type to another, or the one that applies a modifier if both are the same.
    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast>;
    /// What makes a function an aggregate.
    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate>;
    /// A type of ranges.
    fn range(&self, id: TypeId) -> Option<&Range>;
    /// The type of ranges whose sets a type has.
    fn range_of_multirange(&self, id: TypeId) -> Option<&Range>;
    /// Whether rows of a type are rows of another, by inheritance.
    fn inherits(&self, _child: TypeId, _parent: TypeId) -> bool {
        false
    }
    /// A relation by its number.
    fn relation(&self, _id: RelationId) -> Option<&Relation> {
        None
    }
    /// A relation by its name, in a schema or along the search path.
    fn relation_named(&self, _schema: Option<&str>, _name: &str) -> Option<&Relation> {
        None
    }
    /// Whether there is a schema of that name.
    fn has_schema(&self, name: &str) -> bool {
        name == SYSTEM_SCHEMA
    }
    /// A collation by its name, in a schema or along the search path.
    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<CollationId> {
        let own = OWN_COLLATIONS.iter().find(|(own, _)| *own == name && ours(schema));
        own.map(|(_, id)| *id)
    }
    /// The name of a collation.
    fn collation_name(&self, id: CollationId) -> Option<String> {
        OWN_COLLATIONS.iter().find(|(_, own)| *own == id).map(|(name, _)| (*name).to_string())
    }
    /// Operator classes that are not PostgreSQL's own.
    fn other_operator_classes(&self) -> &[OperatorClass] {
        &[]
    }
    /// Operators of families that are not PostgreSQL's own.
    fn other_family_operators(&self) -> &[FamilyOperator] {
        &[]
    }
    /// The database's name.
    fn database(&self) -> &str {
        ""
    }
    /// The version of what a look-up depends on; zero for what is not there. [`crate::reliance`] keeps it.
    fn version(&self, _of: &crate::reliance::LookUp) -> u64 {
        0
    }
}

/// The collations that every database has.
const OWN_COLLATIONS: &[(&str, CollationId)] =
    &[("default", CollationId(100)), ("C", CollationId(950)), ("POSIX", CollationId(951))];

/// PostgreSQL's own objects, and no others.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIns;

/// The schema of PostgreSQL's own objects.
pub const SYSTEM_SCHEMA: &str = "pg_catalog";

fn ours(schema: Option<&str>) -> bool {
    schema.is_none_or(|schema| schema == SYSTEM_SCHEMA)
}

impl Catalog for BuiltIns {
    fn type_row(&self, id: TypeId) -> Option<&TypeRow> {
        Facts::postgresql15().type_row(id)
    }

    fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&TypeRow> {
        Facts::postgresql15().type_named(name).filter(|_| ours(schema))
    }

    fn function(&self, id: FunctionId) -> Option<&Function> {
        Facts::postgresql15().function(id)
    }

    fn functions_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Function>> {
        let rows = Facts::postgresql15().functions_named(name).filter(|_| ours(schema));
        rows.map(|row| Found { place: 0, row }).collect()
    }

    fn operator(&self, id: OperatorId) -> Option<&Operator> {
        Facts::postgresql15().operator(id)
    }

    fn operators_named<'c>(&'c self, schema: Option<&str>, name: &str) -> Vec<Found<'c, Operator>> {
        let rows = Facts::postgresql15().operators_named(name).filter(|_| ours(schema));
        rows.map(|row| Found { place: 0, row }).collect()
    }

    fn cast(&self, source: TypeId, target: TypeId) -> Option<&Cast> {
        Facts::postgresql15().cast(source, target)
    }

    fn aggregate(&self, id: FunctionId) -> Option<&Aggregate> {
        Facts::postgresql15().aggregate(id)
    }

    fn range(&self, id: TypeId) -> Option<&Range> {
        Facts::postgresql15().ranges.iter().find(|range| range.id == id)
    }

    fn range_of_multirange(&self, id: TypeId) -> Option<&Range> {
        Facts::postgresql15().ranges.iter().find(|range| range.multirange == id)
    }
}

/// What follows from a type's row.
impl dyn Catalog + '_ {
    /// What a domain is over at last; any other type itself.
    pub fn base_type(&self, id: TypeId) -> TypeId {
        let mut id = id;
        // A domain is over something that was there before it, so this ends.
        while let Some(row) = self.type_row(id)
            && row.kind == TypeKind::Domain
        {
            id = row.base;
        }
        id
    }

    /// What values of a type are held as: those of a domain as what that is over, and arrays likewise.
    pub fn held(&self, of: Typed) -> Typed {
        let mut of = of;
        while let Some(row) = self.type_row(of.id)
            && row.kind == TypeKind::Domain
        {
            of = Typed { id: row.base, modifier: row.base_modifier, ..of };
        }
        if let Some(element) = self.element_type(of.id)
            && self.base_type(element) != element
            && let Some(array) = self.array_type(self.base_type(element))
        {
            of.id = array;
        }
        of
    }

    /// A type's category; that of unknown literals for a type that is not there.
    pub fn category(&self, id: TypeId) -> char {
        self.type_row(id).map_or('X', |row| row.category)
    }

    /// Whether a type is the preferred one of a category.
    pub fn is_preferred(&self, id: TypeId, category: char) -> bool {
        self.type_row(id).is_some_and(|row| row.preferred && row.category == category)
    }

    /// The type of an array's elements; `None` for anything but an array.
    pub fn element_type(&self, id: TypeId) -> Option<TypeId> {
        self.type_row(id).filter(|row| row.is_array)?.element.known()
    }

    /// The type of arrays of a type; `None` if there are none.
    pub fn array_type(&self, id: TypeId) -> Option<TypeId> {
        self.type_row(id)?.array.known()
    }

    /// Whether values are rows of known columns, also in a domain.
    pub fn is_composite(&self, id: TypeId) -> bool {
        self.type_row(self.base_type(id)).is_some_and(|row| row.kind == TypeKind::Composite)
    }

    /// Whether it is an array, or a domain over one.
    pub fn is_array_or_domain_over_one(&self, id: TypeId) -> bool {
        self.element_type(self.base_type(id)).is_some()
    }
}
