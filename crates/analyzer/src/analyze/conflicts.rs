//! ON CONFLICT.

use grammar::ast::{self, ConflictTarget, IndexElement, IndexValue, RelationName, SortDirection};

use super::insert::set_visible;
use super::levels::{Item, Place};
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, UNDEFINED_OBJECT};
use crate::relations::Relation;
use crate::tree::{EntryKind, ExprId, OnConflict};

impl<'a> Analyzer<'a> {
    /// ON CONFLICT of an INSERT into the item.
    pub fn on_conflict(
        &mut self,
        conflict: &'a ast::OnConflict,
        relation: &'a Relation,
        table: &'a RelationName,
        item: &Item,
    ) -> Result<OnConflict> {
        if conflict.update.is_some() && conflict.target.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            let hint = "For example, ON CONFLICT (column_name).";
            return Err(AnalysisError::new(SYNTAX_ERROR, message).with_hint(hint).at(conflict.at));
        }
        if relation.system {
            let message = "ON CONFLICT is not supported with system catalog tables";
            return error_at(crate::error::FEATURE_NOT_SUPPORTED, message, conflict.at);
        }
        let mut found = OnConflict {
            elements: Vec::new(),
            predicate: None,
            constraint: None,
            excluded: None,
            set: Vec::new(),
            filter: None,
        };
        // It is there early, so that who names it too soon is told so.
        let excluded = match &conflict.update {
            Some(_) => Some(self.excluded(relation, table)?),
            None => None,
        };
        let mut visible = item.clone();
        set_visible(&mut visible, true, true);
        self.level().namespace = vec![visible.clone()];
        match &conflict.target {
            None => {}
            Some(ConflictTarget::Index { elements, filter, at }) => {
                for element in elements {
                    let value = self.index_element(element, *at)?;
                    found.elements.push(value);
                }
                if let Some(filter) = filter {
                    let filter = self.expression_at(*filter, Place::IndexPredicate)?;
                    found.predicate = Some(self.condition(filter, "WHERE")?);
                }
            }
            Some(ConflictTarget::Constraint(name)) => {
                if !relation.constraints.iter().any(|constraint| *constraint == name.text) {
                    let message =
                        format!("constraint \"{}\" for table \"{}\" does not exist", name.text, relation.name);
                    return error_at(UNDEFINED_OBJECT, message, None);
                }
                found.constraint = Some(name.text.clone());
            }
        }
        let (Some(update), Some(excluded)) = (&conflict.update, excluded) else { return Ok(found) };
        found.excluded = Some(excluded);
        self.level().namespace = vec![self.item_of(excluded), visible];
        found.set = self.assignments(&update.set, relation)?;
        if let Some(filter) = update.filter {
            let filter = self.expression_at(filter, Place::Where)?;
            found.filter = Some(self.condition(filter, "WHERE")?);
        }
        Ok(found)
    }

    /// An entry for the row that was to be inserted.
    fn excluded(&mut self, relation: &Relation, table: &RelationName) -> Result<u32> {
        let number = self.relation_entry(relation, table, None)?;
        let entry = &mut self.level().entries[number as usize];
        entry.kind = EntryKind::Excluded(relation.id);
        entry.name = "excluded".to_string();
        entry.has_alias = true;
        Ok(number)
    }

    fn index_element(&mut self, element: &'a IndexElement, at: u32) -> Result<ExprId> {
        if !matches!(element.direction, SortDirection::Default) {
            return error_at(INVALID_COLUMN_REFERENCE, "ASC/DESC is not allowed in ON CONFLICT clause", at);
        }
        if element.nulls_first.is_some() {
            let message = "NULLS FIRST/LAST is not allowed in ON CONFLICT clause";
            return error_at(INVALID_COLUMN_REFERENCE, message, at);
        }
        let value = match &element.value {
            IndexValue::Column(name) => {
                let before = std::mem::replace(&mut self.level().place, Place::Index);
                let found = self.column(std::slice::from_ref(name), at);
                self.level().place = before;
                found?
            }
            IndexValue::Expression(value) => self.expression_at(*value, Place::Index)?,
        };
        if let Some(collation) = &element.collation {
            self.collation(collation, at)?;
        }
        if !element.class.is_empty() {
            let name = super::missing::written(&element.class);
            let all = crate::facts::Facts::postgresql15().operator_classes.iter();
            let known = all.chain(self.catalog.other_operator_classes()).any(|class| {
                class.method == "btree" && element.class.last().is_some_and(|name| class.name == name.text)
            });
            if !known {
                let message = format!("operator class \"{name}\" does not exist for access method \"btree\"");
                return error_at(UNDEFINED_OBJECT, message, None);
            }
        }
        Ok(value)
    }
}
