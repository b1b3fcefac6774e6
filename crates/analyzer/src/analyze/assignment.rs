//! Values that columns take: converted, and put into a part of the column where one is named.

use grammar::ast::{ColumnTarget, RelationName, Step};

use super::levels::{Item, Place};
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED, UNDEFINED_COLUMN};
use crate::facts::CastContext;
use crate::names::type_name;
use crate::relations::{Relation, SYSTEM_COLUMNS};
use crate::tree::{ExprId, Form, Node};
use crate::types::{NONE, Typed};

impl<'a> Analyzer<'a> {
    /// The table that a statement changes, as an entry; what it may be named by comes back.
    pub fn changed_table(
        &mut self,
        name: &'a RelationName,
        alias: Option<&'a grammar::ast::Name>,
    ) -> Result<(&'a Relation, Item)> {
        let relation = self.opened(name)?;
        let number = self.relation_entry(relation, name, None)?;
        if let Some(alias) = alias {
            let entry = &mut self.level().entries[number as usize];
            entry.name.clone_from(&alias.text);
            entry.has_alias = true;
        }
        self.level().target = Some(number);
        let item = self.item_of(number);
        Ok((relation, item))
    }

    /// The number of a column that gets a value; 42703 if there is none.
    pub fn target_column(&self, relation: &Relation, target: &ColumnTarget) -> Result<u32> {
        let name = target.name.text.as_str();
        if let Some(number) = relation.column(name) {
            return Ok(number);
        }
        if SYSTEM_COLUMNS.iter().any(|(own, ..)| *own == name) {
            let message = format!("cannot assign to system column \"{name}\"");
            return error_at(FEATURE_NOT_SUPPORTED, message, target.name.at);
        }
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", relation.name);
        error_at(UNDEFINED_COLUMN, message, target.name.at)
    }

    /// A value as a column takes it.
    pub fn assigned(
        &mut self,
        value: ExprId,
        relation: &Relation,
        number: u32,
        target: Option<&'a ColumnTarget>,
        place: Place,
    ) -> Result<ExprId> {
        let before = std::mem::replace(&mut self.level().place, place);
        let result = self.assigned_at(value, relation, number, target);
        self.level().place = before;
        result
    }

    fn assigned_at(
        &mut self,
        value: ExprId,
        relation: &Relation,
        number: u32,
        target: Option<&'a ColumnTarget>,
    ) -> Result<ExprId> {
        let column = &relation.columns[number as usize];
        let steps: &'a [Step] = target.map_or(&[], |target| &target.steps);
        let at = target.map(|target| target.name.at);
        if matches!(self.tree[value].node, Node::Default) {
            match steps.first() {
                Some(Step::Field(_)) => {
                    return error_at(FEATURE_NOT_SUPPORTED, "cannot set a subfield to DEFAULT", at);
                }
                Some(_) => return error_at(FEATURE_NOT_SUPPORTED, "cannot set an array element to DEFAULT", at),
                None => {}
            }
            self.tree[value].typed = column.typed;
            return Ok(value);
        }
        if steps.is_empty() {
            return self.as_column_takes(value, column.typed, &column.name, None);
        }
        let entry = self.level().target.unwrap_or(0);
        // A new row has no such column yet: its parts begin with NULL.
        let container = if self.level().place == Place::InsertTarget {
            let node = Node::Constant(crate::tree::Constant::Null);
            self.add(node, column.typed, at)
        } else {
            let node = Node::Column { levels_up: 0, entry, column: number };
            self.add(node, column.typed, at)
        };
        self.part_changed(value, container, column.typed, &column.name, steps, at)
    }

    fn as_column_takes(&mut self, value: ExprId, wanted: Typed, name: &str, part: Option<&str>) -> Result<ExprId> {
        let source = self.type_of(value);
        let context = CastContext::Assignment;
        let made = self.converted(value, wanted.id, wanted.modifier, context, Form::Implicit, None)?;
        made.ok_or_else(|| {
            let (from, to) = (type_name(self.catalog, source), type_name(self.catalog, wanted.id));
            let message = match part {
                None => format!("column \"{name}\" is of type {to} but expression is of type {from}"),
                Some("subfield") => format!("subfield \"{name}\" is of type {to} but expression is of type {from}"),
                Some(_) => {
                    format!("subscripted assignment to \"{name}\" requires type {to} but expression is of type {from}")
                }
            };
            let hint = "You will need to rewrite or cast the expression.";
            AnalysisError::new(DATATYPE_MISMATCH, message).with_hint(hint).at_place(self.location(value))
        })
    }

    /// A value with a part of it changed.
    fn part_changed(
        &mut self,
        value: ExprId,
        container: ExprId,
        typed: Typed,
        name: &str,
        steps: &'a [Step],
        at: Option<u32>,
    ) -> Result<ExprId> {
        let Some(first) = steps.first() else { return Ok(value) };
        if let Step::Field(field) = first {
            let base = self.base_typed(typed);
            let catalog = self.catalog;
            let shown = type_name(catalog, typed.id);
            let Some(relation) = super::columns::columns_of_type(catalog, base.id).filter(|_| base.id != NONE) else {
                let message = format!(
                    "cannot assign to field \"{}\" of column \"{name}\" because its type {shown} is not a composite type",
                    field.text
                );
                return error_at(DATATYPE_MISMATCH, message, at);
            };
            let Some(number) = relation.column(&field.text) else {
                let message = format!(
                    "cannot assign to field \"{}\" of column \"{name}\" because there is no such column in data type {shown}",
                    field.text
                );
                return error_at(UNDEFINED_COLUMN, message, at);
            };
            let wanted = relation.columns[number as usize].typed;
            let inner = self.add(Node::Field { value: container, number }, wanted, None);
            let new = self.part_value(value, inner, wanted, &field.text, &steps[1..], ("subfield", at))?;
            let stored = self.plain(Node::FieldStore { value: container, number, new }, base.id, None);
            return self.back_to_domain(stored, typed, base);
        }
        let count = steps.iter().take_while(|step| !matches!(step, Step::Field(_))).count();
        let subscripts: Vec<&'a Step> = steps[..count].iter().collect();
        let element = self.subscript(container, &subscripts, None)?;
        let wanted = self.tree[element].typed;
        let wanted = match self.tree[element].node {
            Node::Subscript { ref lower, .. } if !lower.is_empty() => self.container_type(typed.id, typed.modifier),
            _ => wanted,
        };
        let new = self.part_value(value, element, wanted, name, &steps[count..], ("element", at))?;
        let base = self.container_type(typed.id, typed.modifier);
        let stored = match self.tree[element].node.clone() {
            Node::Subscript { container, upper, lower, .. } => {
                let node = Node::Subscript { container, upper, lower, assigned: Some(new) };
                self.add(node, base, None)
            }
            _ => element,
        };
        self.back_to_domain(stored, typed, base)
    }

    fn part_value(
        &mut self,
        value: ExprId,
        inner: ExprId,
        wanted: Typed,
        name: &str,
        rest: &'a [Step],
        how: (&str, Option<u32>),
    ) -> Result<ExprId> {
        let (what, at) = how;
        if rest.is_empty() {
            // Of a part, the column is pointed to.
            let made = self.as_column_takes(value, wanted, name, Some(what));
            return made.map_err(|error| AnalysisError { at: at.or(error.at), ..error });
        }
        self.part_changed(value, inner, wanted, name, rest, at)
    }

    /// A value that was changed below a domain is checked again.
    fn back_to_domain(&mut self, value: ExprId, typed: Typed, base: Typed) -> Result<ExprId> {
        if typed.id == base.id {
            return Ok(value);
        }
        let context = CastContext::Assignment;
        let made = self.converted(value, typed.id, typed.modifier, context, Form::Implicit, None)?;
        Ok(made.unwrap_or(value))
    }
}
