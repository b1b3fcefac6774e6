//! What a column's name means: the columns of FROM from the innermost query outwards, a row, or a function of one.

use std::rc::Rc;

use grammar::ast::Name;

use super::levels::{Item, ItemColumn, Place};
use super::missing::written;
use super::{Analyzer, Result, error, error_at};
use crate::catalog::Catalog;
use crate::error::{
    AMBIGUOUS_ALIAS, AMBIGUOUS_COLUMN, AnalysisError, FEATURE_NOT_SUPPORTED, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR,
};
use crate::relations::{RelationKind, SYSTEM_COLUMNS};
use crate::tree::{EntryKind, ExprId, Node};
use crate::types::{NO_MODIFIER, RECORD, TypeId};

/// An item of FROM with the open query that has it.
pub struct FoundItem {
    /// How many queries out.
    pub levels_up: u32,
    /// The item.
    pub item: Item,
}

impl<'a> Analyzer<'a> {
    /// `a`, `t.a`, `s.t.a`, without a star.
    pub fn column(&mut self, names: &'a [Name], at: u32) -> Result<ExprId> {
        let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        let (relation, column) = match texts.as_slice() {
            [column] => return self.bare_column(column, at),
            [relation, column] => ((None, *relation), *column),
            [schema, relation, column] => ((Some(*schema), *relation), *column),
            [database, schema, relation, column] => {
                self.own_database(names, database, at)?;
                ((Some(*schema), *relation), *column)
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}", written(names));
                return error_at(SYNTAX_ERROR, message, at);
            }
        };
        let Some(found) = self.item_named(relation.0, relation.1, at)? else {
            // `function.parameter`
            if relation.0.is_none()
                && self.routine.is_some_and(|routine| routine.name == relation.1)
                && let Some(parameter) = self.routine_parameter(column, at)?
            {
                return Ok(parameter);
            }
            return Err(self.missing_relation(relation.0, relation.1, at));
        };
        if let Some(column) = self.column_of_item(&found.item, found.levels_up, column, at)? {
            return Ok(column);
        }
        let row = self.whole_row(&found, at)?;
        if let Some(called) = self.projection(column, row, at)? {
            return Ok(called);
        }
        Err(self.missing_column(Some(relation.1), column, at)?)
    }

    /// Refuses the name of another database.
    pub fn own_database(&self, names: &[Name], database: &str, at: u32) -> Result<()> {
        if database == self.catalog.database() {
            return Ok(());
        }
        let message = format!("cross-database references are not implemented: {}", written(names));
        error_at(FEATURE_NOT_SUPPORTED, message, at)
    }

    fn bare_column(&mut self, name: &str, at: u32) -> Result<ExprId> {
        if let Some(column) = self.column_named(name, at, false)? {
            return Ok(column);
        }
        if let Some(found) = self.item_named(None, name, at)? {
            return self.whole_row(&found, at);
        }
        if let Some(parameter) = self.routine_parameter(name, at)? {
            return Ok(parameter);
        }
        Err(self.missing_column(None, name, at)?)
    }

    /// A column that a name alone means, of this query only or of those around it, too.
    pub fn column_named(&mut self, name: &str, at: u32, local: bool) -> Result<Option<ExprId>> {
        for depth in (0..self.levels.len()).rev() {
            let levels_up = (self.levels.len() - 1 - depth) as u32;
            let mut result = None;
            for index in 0..self.levels[depth].namespace.len() {
                let level = &self.levels[depth];
                let item = &level.namespace[index];
                if !item.columns_visible || (item.lateral_only && !level.lateral_active) {
                    continue;
                }
                let item = item.clone();
                if let Some(column) = self.column_of_item(&item, levels_up, name, at)? {
                    if result.is_some() {
                        return error_at(AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"), at);
                    }
                    self.check_lateral(&item, depth, at)?;
                    result = Some(column);
                }
            }
            if result.is_some() || local {
                return Ok(result);
            }
        }
        Ok(None)
    }

    /// An item of FROM by its name, from the innermost query outwards.
    pub fn item_named(&mut self, schema: Option<&str>, name: &str, at: u32) -> Result<Option<FoundItem>> {
        let wanted = match schema {
            None => None,
            Some(schema) => match self.catalog.relation_named(Some(schema), name) {
                None => return Ok(None),
                Some(relation) => Some(relation.id),
            },
        };
        for depth in (0..self.levels.len()).rev() {
            let level = &self.levels[depth];
            let mut result: Option<Item> = None;
            for item in &level.namespace {
                if !item.relation_visible || (item.lateral_only && !level.lateral_active) {
                    continue;
                }
                let entry = &level.entries[item.entry as usize];
                let fits = match (wanted, &entry.kind) {
                    (None, _) => &*item.name == name,
                    (Some(id), EntryKind::Relation { relation, .. }) => *relation == id && !entry.has_alias,
                    _ => false,
                };
                if !fits {
                    continue;
                }
                if result.is_some() {
                    return error_at(AMBIGUOUS_ALIAS, format!("table reference \"{name}\" is ambiguous"), at);
                }
                self.check_lateral(item, depth, at)?;
                result = Some(item.clone());
            }
            if let Some(item) = result {
                return Ok(Some(FoundItem { levels_up: (self.levels.len() - 1 - depth) as u32, item }));
            }
        }
        Ok(None)
    }

    fn check_lateral(&self, item: &Item, depth: usize, at: u32) -> Result<()> {
        if !item.lateral_only || item.lateral_ok {
            return Ok(());
        }
        let name = &item.name;
        let error = AnalysisError::new(
            INVALID_COLUMN_REFERENCE,
            format!("invalid reference to FROM-clause entry for table \"{name}\""),
        );
        Err(if self.levels[depth].target == Some(item.entry) {
            error.with_hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            ))
        } else {
            error.with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
        }
        .at(at))
    }

    /// A column of an item, or one that the system keeps of it.
    pub fn column_of_item(&mut self, item: &Item, levels_up: u32, name: &str, at: u32) -> Result<Option<ExprId>> {
        let mut found: Option<&ItemColumn> = None;
        for column in item.columns.iter().filter(|column| column.name == name && !name.is_empty()) {
            if found.is_some() {
                return error_at(AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"), at);
            }
            found = Some(column);
        }
        if let Some(column) = found {
            let node = Node::Column { levels_up, entry: column.entry, column: column.column };
            let typed = column.typed;
            return Ok(Some(self.add(node, typed, Some(at))));
        }
        let depth = self.levels.len() - 1 - levels_up as usize;
        let Some((number, id)) = self.system_column(depth, item.entry, name) else { return Ok(None) };
        if self.level().place == Place::MergeWhen && name != "tableoid" {
            let message = format!("cannot use system column \"{name}\" in MERGE WHEN condition");
            return error_at(INVALID_COLUMN_REFERENCE, message, at);
        }
        let node = Node::SystemColumn { levels_up, entry: item.entry, number };
        Ok(Some(self.plain(node, id, Some(at))))
    }

    /// The number and type of a column that the system keeps, if the entry is a relation that has it.
    pub fn system_column(&self, depth: usize, entry: u32, name: &str) -> Option<(i16, TypeId)> {
        let (_, number, id) = SYSTEM_COLUMNS.iter().find(|(own, ..)| *own == name)?;
        let EntryKind::Relation { relation, .. } = self.levels[depth].entries[entry as usize].kind else { return None };
        let kind = self.catalog.relation(relation)?.kind;
        (!matches!(kind, RelationKind::View | RelationKind::CompositeType)).then_some((*number, *id))
    }

    /// The row of an item as one value.
    pub fn whole_row(&mut self, found: &FoundItem, at: u32) -> Result<ExprId> {
        let FoundItem { levels_up, item } = found;
        let depth = self.levels.len() - 1 - *levels_up as usize;
        let entry = &self.levels[depth].entries[item.entry as usize];
        let mut id = RECORD;
        match &entry.kind {
            EntryKind::Relation { relation, .. } | EntryKind::Excluded(relation) => {
                id = self.catalog.relation(*relation).map_or(RECORD, |relation| relation.row);
                if id == crate::types::NONE {
                    let message = format!("relation \"{}\" does not have a composite type", entry.name);
                    return error(crate::error::WRONG_OBJECT_TYPE, message);
                }
            }
            EntryKind::Functions { functions, ordinality: false } if functions.len() == 1 => {
                let call = self.type_of(functions[0].0);
                if self.catalog.is_composite(call) {
                    id = call;
                } else if call != RECORD && entry.columns.len() == 1 {
                    // The row of a function that yields plain values is the value.
                    let typed = entry.columns[0].typed;
                    let node = Node::Column { levels_up: *levels_up, entry: item.entry, column: 0 };
                    return Ok(self.add(node, typed, Some(at)));
                }
            }
            // The name that USING gives has merged columns only.
            EntryKind::Join { .. } if item.columns.len() != entry.columns.len() => {
                let columns: Vec<ItemColumn> = item.columns.iter().cloned().collect();
                let names = columns.iter().map(|column| column.name.clone()).collect();
                let mut fields = Vec::new();
                for column in columns {
                    let node = Node::Column { levels_up: *levels_up, entry: column.entry, column: column.column };
                    fields.push(self.add(node, column.typed, Some(at)));
                }
                return Ok(self.plain(Node::Row { fields, names }, RECORD, Some(at)));
            }
            _ => {}
        }
        let node = Node::WholeRow { levels_up: *levels_up, entry: item.entry };
        let typed = crate::types::Typed { id, modifier: NO_MODIFIER, collation: Default::default() };
        Ok(self.add(node, typed, Some(at)))
    }

    /// The item of an entry, all of whose columns can be named.
    pub fn item_of(&self, entry: u32) -> Item {
        let row = self.levels.last().map(|level| &level.entries[entry as usize]).expect("a query is open");
        let columns = row.columns.iter().enumerate().map(|(number, column)| ItemColumn {
            name: column.name.clone(),
            entry,
            column: number as u32,
            typed: column.typed,
            hidden: false,
        });
        Item {
            entry,
            name: Rc::from(row.name.as_str()),
            columns: Rc::new(columns.collect()),
            relation_visible: true,
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        }
    }
}

/// The columns of a composite type, or `None`.
pub fn columns_of_type(catalog: &dyn Catalog, id: TypeId) -> Option<&crate::relations::Relation> {
    let row = catalog.type_row(catalog.base_type(id))?;
    catalog.relation(crate::relations::RelationId(row.relation))
}
