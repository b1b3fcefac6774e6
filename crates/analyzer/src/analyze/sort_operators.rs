//! By what values of a type are sorted and grouped: the operators of its default operator class.

use crate::coercion::{Pathway, pathway};
use crate::facts::{CastContext, Facts, OperatorClass};
use crate::types::{ANYARRAY, ANYENUM, ANYMULTIRANGE, ANYRANGE, OperatorId, RECORD, RECORD_ARRAY, TypeId, TypeKind};

use super::Analyzer;

/// The operators; none where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortOperators {
    /// `<`
    pub less: Option<OperatorId>,
    /// `=`
    pub equal: Option<OperatorId>,
    /// `>`
    pub greater: Option<OperatorId>,
    /// Whether `=` can be decided by a hash.
    pub hashes: bool,
}

const LESS: i16 = 1;
const EQUAL: i16 = 3;
const GREATER: i16 = 5;

impl Analyzer<'_> {
    /// The operators of a type.
    pub fn sort_operators(&self, id: TypeId) -> SortOperators {
        let base = self.catalog.base_type(id);
        let mut found = SortOperators::default();
        if let Some(class) = self.default_class(base, "btree") {
            found.less = self.operator_of(class, LESS);
            found.equal = self.operator_of(class, EQUAL);
            found.greater = self.operator_of(class, GREATER);
        }
        if !self.parts_compare(base, true) {
            (found.less, found.greater) = (None, None);
        }
        let hash = self.default_class(base, "hash").and_then(|class| self.operator_of(class, 1));
        if found.equal.is_none() {
            found.equal = hash;
        }
        if !self.parts_compare(base, false) {
            found.equal = None;
        }
        let row = found.equal.and_then(|equal| self.catalog.operator(equal));
        found.hashes = row.is_some_and(|row| row.hashes);
        found
    }

    /// Arrays and rows compare as far as what is in them does.
    fn parts_compare(&self, id: TypeId, order: bool) -> bool {
        let compares = |id: TypeId| {
            let operators = self.sort_operators(id);
            operators.equal.is_some() && (!order || operators.less.is_some())
        };
        if matches!(id, RECORD | RECORD_ARRAY | ANYARRAY) {
            return true;
        }
        if let Some(element) = self.catalog.element_type(id) {
            return compares(element);
        }
        let Some(row) = self.catalog.type_row(id) else { return true };
        if row.kind == TypeKind::Composite
            && let Some(relation) = super::columns::columns_of_type(self.catalog, id)
        {
            return relation.columns.iter().filter(|column| !column.dropped).all(|column| compares(column.typed.id));
        }
        true
    }

    /// The type as which values of a type are sorted: `text` for `varchar`.
    pub fn sorted_as(&self, id: TypeId) -> TypeId {
        let class = self.default_class(id, "btree").map(|class| class.input);
        class.filter(|input| !input.is_polymorphic()).unwrap_or(id)
    }

    fn default_class(&self, id: TypeId, method: &str) -> Option<&OperatorClass> {
        let facts = Facts::postgresql15();
        let all = || facts.operator_classes.iter().chain(self.catalog.other_operator_classes());
        let defaults = || all().filter(|class| class.default && class.method == method);
        if let Some(exact) = defaults().find(|class| class.input == id) {
            return Some(exact);
        }
        let category = self.catalog.category(id);
        let fits: Vec<&OperatorClass> = defaults().filter(|class| self.is_binary(id, class.input)).collect();
        let preferred = fits.iter().find(|class| self.catalog.is_preferred(class.input, category));
        preferred.or(fits.first()).copied()
    }

    /// Whether values of a type are values of another without any change.
    fn is_binary(&self, id: TypeId, other: TypeId) -> bool {
        let kind = self.catalog.type_row(id).map(|row| row.kind);
        match other {
            ANYARRAY => self.catalog.element_type(id).is_some(),
            ANYENUM => kind == Some(TypeKind::Enum),
            ANYRANGE => kind == Some(TypeKind::Range),
            ANYMULTIRANGE => kind == Some(TypeKind::Multirange),
            RECORD => kind == Some(TypeKind::Composite),
            RECORD_ARRAY => false,
            _ => {
                self.catalog.cast(id, other).is_some()
                    && pathway(self.catalog, id, other, CastContext::Implicit) == Some(Pathway::Relabel)
            }
        }
    }

    fn operator_of(&self, class: &OperatorClass, strategy: i16) -> Option<OperatorId> {
        let facts = Facts::postgresql15();
        let all = facts.operators_of_family(class.family).iter().chain(self.catalog.other_family_operators());
        let fits = |row: &&crate::facts::FamilyOperator| {
            row.family == class.family
                && row.strategy == strategy
                && row.purpose == 's'
                && row.left == class.input
                && row.right == class.input
        };
        all.into_iter().find(fits).map(|row| row.operator)
    }

    /// What an operator of `ORDER BY .. USING` means: whether it is `>`, and equality beside it.
    pub fn ordering(&self, operator: OperatorId) -> Option<(bool, OperatorId)> {
        let facts = Facts::postgresql15();
        let all = || facts.family_operators.iter().chain(self.catalog.other_family_operators());
        let row = all().find(|row| {
            row.operator == operator && row.purpose == 's' && matches!(row.strategy, LESS | GREATER) && {
                let known = facts.operator_families.iter().any(|family| family.id == row.family);
                !known || facts.is_btree_family(row.family)
            }
        })?;
        let equal = all().find(|other| {
            (other.family, other.left, other.right, other.strategy) == (row.family, row.left, row.right, EQUAL)
        })?;
        Some((row.strategy == GREATER, equal.operator))
    }
}
