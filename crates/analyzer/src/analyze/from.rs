//! FROM: its items become entries of the range table, and names for the rest of the query.

use grammar::ast::{Alias, FromId, FromItem, FromNode, Name, QueryId as SyntaxQuery, RelationName, RowLock, Sample};

use super::levels::{Item, Place};
use super::{Analyzer, Result, error, error_at, not_built};
use crate::error::{
    AnalysisError, DUPLICATE_ALIAS, FEATURE_NOT_SUPPORTED, INVALID_COLUMN_REFERENCE, UNDEFINED_OBJECT, UNDEFINED_TABLE,
    WRONG_OBJECT_TYPE,
};
use crate::relations::{Relation, RelationKind};
use crate::tree::{self, EntryColumn, EntryKind, JoinTree, RangeEntry};
use crate::types::{FLOAT4, FLOAT8, UNKNOWN};

/// An item of FROM that is analyzed.
pub struct FromPart {
    /// How it is joined.
    pub tree: JoinTree,
    /// What names can mean in it.
    pub namespace: Vec<Item>,
    /// The item of the whole, for a join around it.
    pub item: Item,
}

impl<'a> Analyzer<'a> {
    /// FROM.
    pub fn items_of_from(&mut self, list: &'a [FromId]) -> Result<Vec<JoinTree>> {
        let mut trees = Vec::with_capacity(list.len());
        for number in list {
            let part = self.item_of_from(*number)?;
            self.check_names_differ(&self.levels[self.levels.len() - 1].namespace, &part.namespace)?;
            let mut namespace = part.namespace;
            // What follows may refer to it, if it is lateral.
            set_lateral(&mut namespace, true, true);
            self.level().namespace.extend(namespace);
            trees.push(part.tree);
        }
        set_lateral(&mut self.level().namespace, false, true);
        Ok(trees)
    }

    /// An item of FROM.
    pub fn item_of_from(&mut self, number: FromId) -> Result<FromPart> {
        self.deeper(|analyzer| analyzer.item(number))
    }

    fn item(&mut self, number: FromId) -> Result<FromPart> {
        let arena = self.arena;
        let item = &arena[number];
        let entry = match &item.node {
            FromNode::Relation { name, sample } => self.relation_item(name, sample.as_deref(), item)?,
            FromNode::Query(query) => self.query_item(*query, item)?,
            FromNode::Functions { functions, rows_from, ordinality } => {
                self.functions_item(functions, (*rows_from, *ordinality), item)?
            }
            FromNode::Join { kind, left, right, condition } => {
                return self.join(*kind, (*left, *right), condition, item);
            }
            FromNode::Other(what) => return not_built(what, item.at),
        };
        let item = self.item_of(entry);
        Ok(FromPart { tree: JoinTree::Entry(entry), namespace: vec![item.clone()], item })
    }

    /// 42712 if two items have the same name.
    pub fn check_names_differ(&self, before: &[Item], new: &[Item]) -> Result<()> {
        let level = self.levels.last().expect("a query is open");
        let bare = |item: &Item| match &level.entries[item.entry as usize] {
            RangeEntry { kind: EntryKind::Relation { relation, .. }, has_alias: false, .. } => Some(*relation),
            _ => None,
        };
        for one in new.iter().filter(|item| item.relation_visible) {
            for other in before.iter().filter(|item| item.relation_visible) {
                if one.name != other.name {
                    continue;
                }
                // Two tables of one name from different schemas are told apart by these.
                if let (Some(one), Some(other)) = (bare(one), bare(other))
                    && one != other
                {
                    continue;
                }
                let message = format!("table name \"{}\" specified more than once", one.name);
                return error(DUPLICATE_ALIAS, message);
            }
        }
        Ok(())
    }

    fn relation_item(&mut self, name: &'a RelationName, sample: Option<&'a Sample>, item: &'a FromItem) -> Result<u32> {
        let alias = item.alias.as_ref();
        if name.schema.is_none()
            && let Some((depth, number)) = self.common_table_named(&name.name.text)
        {
            if sample.is_some() {
                let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
                return error_at(FEATURE_NOT_SUPPORTED, message, item.at);
            }
            return self.common_item(name, depth, number, alias);
        }
        let relation = self.opened(name)?;
        let number = self.relation_entry(relation, name, alias)?;
        if let Some(sample) = sample {
            if !matches!(
                relation.kind,
                RelationKind::Table | RelationKind::PartitionedTable | RelationKind::MaterializedView
            ) {
                let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
                return error_at(FEATURE_NOT_SUPPORTED, message, name.name.at);
            }
            let sample = self.sample(sample)?;
            if let EntryKind::Relation { sample: slot, .. } = &mut self.level().entries[number as usize].kind {
                *slot = Some(sample);
            }
        }
        Ok(number)
    }

    /// A relation that rows can be read of.
    pub fn opened(&mut self, name: &RelationName) -> Result<&'a Relation> {
        let at = name.schema.as_ref().map_or(name.name.at, |schema| schema.at);
        let at = name.catalog.as_ref().map_or(at, |catalog| catalog.at);
        let schema = name.schema.as_ref().map(|schema| schema.text.as_str());
        let text = name.name.text.as_str();
        if let (Some(catalog), Some(schema)) = (&name.catalog, schema)
            && catalog.text != self.catalog.database()
        {
            let message =
                format!("cross-database references are not implemented: \"{}.{schema}.{text}\"", catalog.text);
            return error_at(FEATURE_NOT_SUPPORTED, message, at);
        }
        let catalog = self.catalog;
        let Some(relation) = catalog.relation_named(schema, text) else {
            if let Some(schema) = schema {
                let message = format!("relation \"{schema}.{text}\" does not exist");
                return error_at(UNDEFINED_TABLE, message, at);
            }
            let error = AnalysisError::new(UNDEFINED_TABLE, format!("relation \"{text}\" does not exist")).at(at);
            if self.levels.iter().any(|level| level.future.contains(&text)) {
                let detail = format!(
                    "There is a WITH item named \"{text}\", but it cannot be referenced from this part of the query."
                );
                let hint = "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.";
                return Err(error.with_detail(detail).with_hint(hint));
            }
            return Err(error);
        };
        let what = match relation.kind {
            RelationKind::Index => "indexes",
            RelationKind::CompositeType => "composite types",
            _ => return Ok(relation),
        };
        let message = format!("cannot open relation \"{text}\"");
        let detail = format!("This operation is not supported for {what}.");
        Err(AnalysisError::new(WRONG_OBJECT_TYPE, message).with_detail(detail).at(at))
    }

    /// An entry of a relation.
    pub fn relation_entry(&mut self, relation: &Relation, name: &RelationName, alias: Option<&Alias>) -> Result<u32> {
        let columns = relation
            .columns
            .iter()
            .map(|column| EntryColumn {
                name: if column.dropped { String::new() } else { column.name.to_string() },
                typed: column.typed,
            })
            .collect();
        let kind = EntryKind::Relation { relation: relation.id, with_children: name.with_children, sample: None };
        let entry = RangeEntry { kind, name: name.name.text.clone(), has_alias: false, columns, lateral: false };
        self.aliased(entry, alias)
    }

    /// Adds an entry under the names that its alias gives.
    pub fn aliased(&mut self, mut entry: RangeEntry, alias: Option<&Alias>) -> Result<u32> {
        if let Some(alias) = alias {
            if let Some(name) = &alias.name {
                entry.name = name.text.clone();
                entry.has_alias = true;
            }
            let name = entry.name.clone();
            rename(&mut entry.columns, &alias.columns, &name)?;
        }
        Ok(self.add_entry(entry))
    }

    fn sample(&mut self, sample: &'a Sample) -> Result<tree::Sample> {
        let method = super::missing::written(&sample.method);
        let names: Vec<&str> = sample.method.iter().map(|name| name.text.as_str()).collect();
        let (schema, name) = match names.as_slice() {
            [schema, name] => (Some(*schema), *name),
            _ => (None, method.as_str()),
        };
        const INTERNAL: crate::types::TypeId = crate::types::TypeId(2281);
        const HANDLER: crate::types::TypeId = crate::types::TypeId(3310);
        let found = self
            .catalog
            .functions_named(schema, name)
            .into_iter()
            .find(|found| found.row.arguments == [INTERNAL] && found.row.result == HANDLER);
        let Some(found) = found else {
            let message = format!("tablesample method {method} does not exist");
            return error_at(UNDEFINED_OBJECT, message, sample.at);
        };
        let method = found.row.id;
        // Both of PostgreSQL's own methods take a percentage.
        if sample.arguments.len() != 1 {
            let message = format!("tablesample method {name} requires 1 argument, not {}", sample.arguments.len());
            return error_at(sqlstate::INVALID_TABLESAMPLE_ARGUMENT, message, sample.at);
        }
        let mut arguments = Vec::new();
        for argument in &sample.arguments {
            let value = self.expression_at(*argument, Place::FromFunction)?;
            arguments.push(self.clause_value(value, FLOAT4, "TABLESAMPLE")?);
        }
        let seed = match sample.seed {
            Some(seed) => {
                let value = self.expression_at(seed, Place::FromFunction)?;
                Some(self.clause_value(value, FLOAT8, "REPEATABLE")?)
            }
            None => None,
        };
        Ok(tree::Sample { method, arguments, seed })
    }

    fn query_item(&mut self, query: SyntaxQuery, item: &'a FromItem) -> Result<u32> {
        let before = std::mem::replace(&mut self.level().place, Place::FromQuery);
        self.level().lateral_active = item.lateral;
        let name = item.alias.as_ref().and_then(|alias| alias.name.as_ref());
        let locks = self.locks_of(name);
        let query = self.deeper(|analyzer| analyzer.query_with(query, true, locks))?;
        self.level().lateral_active = false;
        self.level().place = before;
        let columns = Self::entry_columns(self.query_columns(query));
        let entry = RangeEntry {
            kind: EntryKind::Query(query),
            name: name.map_or_else(|| "unnamed_subquery".to_string(), |name| name.text.clone()),
            has_alias: name.is_some(),
            columns,
            lateral: item.lateral,
        };
        self.aliased(entry, item.alias.as_ref())
    }

    /// What of the query's FOR UPDATE means an item.
    fn locks_of(&mut self, _name: Option<&Name>) -> &'a [RowLock] {
        &[]
    }

    /// An entry for a query of WITH.
    fn common_item(
        &mut self,
        name: &'a RelationName,
        depth: usize,
        number: usize,
        alias: Option<&Alias>,
    ) -> Result<u32> {
        let levels_up = (self.levels.len() - 1 - depth) as u32;
        let level = &mut self.levels[depth];
        let itself = level.under_way == Some(number);
        if level.silent[number] {
            let message = format!("WITH query \"{}\" does not have a RETURNING clause", name.name.text);
            return error_at(FEATURE_NOT_SUPPORTED, message, name.name.at);
        }
        let common = &mut level.with[number];
        if !itself {
            common.references += 1;
        }
        let mut columns = common.columns.clone();
        // Literals that nobody asked of are text to who reads them.
        for column in &mut columns {
            debug_assert!(column.typed.id != UNKNOWN || itself, "targets of WITH are settled");
        }
        let kind = EntryKind::Common { levels_up, number: number as u32, itself };
        let entry = RangeEntry { kind, name: name.name.text.clone(), has_alias: false, columns, lateral: false };
        self.aliased(entry, alias)
    }
}

/// Gives columns other names, as many as are written.
pub fn rename(columns: &mut [EntryColumn], names: &[Name], table: &str) -> Result<()> {
    let available = columns.iter().filter(|column| !column.name.is_empty()).count();
    if names.len() > available {
        let message =
            format!("table \"{table}\" has {available} columns available but {} columns specified", names.len());
        return error(INVALID_COLUMN_REFERENCE, message);
    }
    let there = columns.iter_mut().filter(|column| !column.name.is_empty());
    for (column, name) in there.zip(names) {
        column.name = name.text.clone();
    }
    Ok(())
}

/// Whether items are found by what is lateral only, and whether that may.
pub fn set_lateral(items: &mut [Item], only: bool, ok: bool) {
    for item in items {
        item.lateral_only = only;
        item.lateral_ok = ok;
    }
}
