//! JOIN: conditions, merged columns, and what names can mean outside.

use std::rc::Rc;

use grammar::ast::{ExpressionId, FromId, FromItem, JoinCondition, JoinKind};

use super::from::{FromPart, rename, set_lateral};
use super::levels::{Item, ItemColumn, Place};
use super::{Analyzer, Result, error};
use crate::error::{AMBIGUOUS_COLUMN, DUPLICATE_COLUMN, INVALID_COLUMN_REFERENCE, UNDEFINED_COLUMN};
use crate::facts::CastContext;
use crate::tree::{EntryColumn, EntryKind, ExprId, Form, JoinTree, Node, RangeEntry};
use crate::types::BOOL;

/// Columns of a join while it is made.
#[derive(Default)]
struct Columns {
    /// What each is.
    values: Vec<ExprId>,
    /// How names find them; the entry of the join itself stands as `None`.
    items: Vec<(Option<(u32, u32)>, String)>,
}

impl<'a> Analyzer<'a> {
    /// A join.
    pub fn join(
        &mut self,
        kind: JoinKind,
        sides: (FromId, FromId),
        condition: &'a JoinCondition,
        item: &'a FromItem,
    ) -> Result<FromPart> {
        let left = self.item_of_from(sides.0)?;
        // The right side may refer to the left one, where each row of that is kept or dropped with its own.
        let mut visible = left.namespace.clone();
        let may = matches!(kind, JoinKind::Cross | JoinKind::Inner | JoinKind::Left);
        set_lateral(&mut visible, true, may);
        let before = self.level().namespace.len();
        self.level().namespace.extend(visible);
        let right = self.item_of_from(sides.1)?;
        self.level().namespace.truncate(before);
        self.check_names_differ(&left.namespace, &right.namespace)?;
        let names = match condition {
            JoinCondition::Natural => Some(common_names(&left.item, &right.item)),
            JoinCondition::Using(names, _) => Some(names.iter().map(|name| name.text.clone()).collect()),
            _ => None,
        };
        let mut columns = Columns::default();
        let mut on = None;
        let mut merged = (Vec::new(), Vec::new());
        if let Some(names) = &names {
            merged = find_merged(names, &left.item, &right.item)?;
            on = self.using(kind, names, (&left.item, &right.item), &merged, &mut columns)?;
        }
        let count = columns.values.len() as u32;
        for (side, used) in [(&left.item, &merged.0), (&right.item, &merged.1)] {
            self.other_columns(side, used, &mut columns);
        }
        if let JoinCondition::On(condition) = condition {
            on = Some(self.on(*condition, &left.namespace, &right.namespace)?);
        }
        let entry = self.join_entry(kind, &columns, count, item)?;
        let whole = self.join_item(entry, &columns);
        let mut namespace = Vec::new();
        let alias = item.alias.as_ref().and_then(|alias| alias.name.as_ref());
        if alias.is_none() {
            for mut inner in left.namespace.into_iter().chain(right.namespace) {
                inner.columns_visible = false;
                namespace.push(inner);
            }
        }
        if let JoinCondition::Using(_, Some(name)) = condition
            && alias.is_none()
        {
            let merged = whole.columns[..count as usize].to_vec();
            let using = Item {
                name: Rc::from(name.text.as_str()),
                columns: Rc::new(merged),
                columns_visible: false,
                ..whole.clone()
            };
            self.check_names_differ(&namespace, std::slice::from_ref(&using))?;
            namespace.push(using);
        }
        let visible = Item { relation_visible: alias.is_some(), ..whole.clone() };
        namespace.push(visible);
        let tree =
            JoinTree::Join { kind, entry, left: Box::new(left.tree), right: Box::new(right.tree), condition: on };
        Ok(FromPart { tree, namespace, item: whole })
    }

    /// ON, which sees both sides and nothing beside them.
    fn on(&mut self, condition: ExpressionId, left: &[Item], right: &[Item]) -> Result<ExprId> {
        let mut both = [left, right].concat();
        set_lateral(&mut both, false, true);
        let before = std::mem::replace(&mut self.level().namespace, both);
        let value = self.expression_at(condition, Place::JoinOn);
        self.level().namespace = before;
        self.condition(value?, "JOIN/ON")
    }

    fn join_entry(&mut self, kind: JoinKind, columns: &Columns, merged: u32, item: &FromItem) -> Result<u32> {
        let typed = columns.values.iter().map(|value| self.tree[*value].typed);
        let mut entry_columns: Vec<EntryColumn> = columns
            .items
            .iter()
            .zip(typed)
            .map(|((_, name), typed)| EntryColumn { name: name.clone(), typed })
            .collect();
        let mut name = "unnamed_join".to_string();
        let alias = item.alias.as_ref().filter(|alias| alias.name.is_some());
        if let Some(alias) = alias {
            name = alias.name.as_ref().map_or(name, |name| name.text.clone());
            if alias.columns.len() > entry_columns.len() {
                let message = format!(
                    "join expression \"{name}\" has {} columns available but {} columns specified",
                    entry_columns.len(),
                    alias.columns.len()
                );
                return error(INVALID_COLUMN_REFERENCE, message);
            }
            rename(&mut entry_columns, &alias.columns, &name)?;
        }
        Ok(self.add_entry(RangeEntry {
            kind: EntryKind::Join { kind, columns: columns.values.clone(), merged },
            name,
            has_alias: alias.is_some(),
            columns: entry_columns,
            lateral: false,
        }))
    }

    fn join_item(&self, entry: u32, columns: &Columns) -> Item {
        let mut item = self.item_of(entry);
        let found = item.columns.iter().zip(&columns.items).map(|(column, (place, _))| match place {
            Some((entry, number)) => ItemColumn { entry: *entry, column: *number, ..column.clone() },
            None => column.clone(),
        });
        item.columns = Rc::new(found.collect());
        item
    }

    /// USING: the condition, and the columns that both sides give together.
    fn using(
        &mut self,
        kind: JoinKind,
        names: &[String],
        sides: (&Item, &Item),
        merged: &(Vec<usize>, Vec<usize>),
        columns: &mut Columns,
    ) -> Result<Option<ExprId>> {
        let mut conditions = Vec::with_capacity(names.len());
        let mut pairs = Vec::with_capacity(names.len());
        for (left, right) in merged.0.iter().zip(&merged.1) {
            let pair = (sides.0.columns[*left].clone(), sides.1.columns[*right].clone());
            let (one, other) = (self.item_column(&pair.0), self.item_column(&pair.1));
            pairs.push((one, other));
        }
        // Types that have nothing in common are told before operators that are missing.
        let values: Vec<ExprId> = pairs.iter().map(|pair| self.merged_column(kind, *pair)).collect::<Result<_>>()?;
        let before = std::mem::replace(&mut self.level().place, Place::JoinUsing);
        for (left, right) in &pairs {
            let equal = self.operator(None, "=", Some(*left), *right, None)?;
            conditions.push(self.condition(equal, "JOIN/USING")?);
        }
        self.level().place = before;
        for (name, value) in names.iter().zip(values) {
            // One side as it is needs no column of the join's own.
            let place = match self.tree[value].node {
                Node::Column { levels_up: 0, entry, column } => Some((entry, column)),
                _ => None,
            };
            columns.values.push(value);
            columns.items.push((place, name.clone()));
        }
        Ok(match conditions.as_slice() {
            [] => None,
            [only] => Some(*only),
            _ => Some(self.plain(Node::And(conditions), BOOL, None)),
        })
    }

    fn item_column(&mut self, column: &ItemColumn) -> ExprId {
        let node = Node::Column { levels_up: 0, entry: column.entry, column: column.column };
        self.add(node, column.typed, None)
    }

    fn merged_column(&mut self, kind: JoinKind, values: (ExprId, ExprId)) -> Result<ExprId> {
        let (left, right) = values;
        let common = self.common(&[left, right], "JOIN/USING")?;
        let typed = self.common_typed(&[left, right], common);
        let mut convert = |value: ExprId| -> Result<ExprId> {
            let from = self.tree[value].typed;
            if from.id != common {
                return self.coerce(value, common, typed.modifier, CastContext::Implicit, Form::Implicit, None);
            }
            if from.modifier != typed.modifier {
                return Ok(self.add(Node::Relabel { value, form: Form::Implicit }, typed, None));
            }
            Ok(value)
        };
        let (left, right) = (convert(left)?, convert(right)?);
        Ok(match kind {
            JoinKind::Cross | JoinKind::Inner => {
                // A column that is one already is as good as one that is converted, and better to plan with.
                let is_column = |value: ExprId| matches!(self.tree[value].node, Node::Column { .. });
                if !is_column(left) && is_column(right) { right } else { left }
            }
            JoinKind::Left => left,
            JoinKind::Right => right,
            JoinKind::Full => self.add(Node::Coalesce(vec![left, right]), typed, None),
        })
    }

    /// Columns of a side that are not merged.
    fn other_columns(&mut self, side: &Item, used: &[usize], columns: &mut Columns) {
        for (index, column) in side.columns.iter().enumerate() {
            if used.contains(&index) || column.name.is_empty() {
                continue;
            }
            let value = self.item_column(column);
            columns.values.push(value);
            columns.items.push((Some((column.entry, column.column)), column.name.clone()));
        }
    }
}

/// NATURAL merges what both sides have.
fn common_names(left: &Item, right: &Item) -> Vec<String> {
    let mine = left.columns.iter().filter(|column| !column.name.is_empty());
    let shared = mine.filter(|column| right.columns.iter().any(|other| other.name == column.name));
    shared.map(|column| column.name.clone()).collect()
}

/// Where both sides have the columns of USING.
fn find_merged(names: &[String], left: &Item, right: &Item) -> Result<(Vec<usize>, Vec<usize>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            let message = format!("column name \"{name}\" appears more than once in USING clause");
            return error(DUPLICATE_COLUMN, message);
        }
        for (side, item, found) in [("left", left, &mut ours), ("right", right, &mut theirs)] {
            let mut places = item.columns.iter().enumerate().filter(|(_, column)| column.name == *name);
            match (places.next(), places.next()) {
                (Some((place, _)), None) => found.push(place),
                (Some(_), Some(_)) => {
                    let message = format!("common column name \"{name}\" appears more than once in {side} table");
                    return error(AMBIGUOUS_COLUMN, message);
                }
                _ => {
                    let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
                    return error(UNDEFINED_COLUMN, message);
                }
            }
        }
    }
    Ok((ours, theirs))
}
