//! Targets: what SELECT and RETURNING compute, with stars expanded and names found.

use grammar::ast::{self, ExpressionId, ExpressionNode as Syntax, Step};

use super::levels::{Item, Place};
use super::missing::written;
use super::{Analyzer, Result, error_at};
use crate::error::SYNTAX_ERROR;
use crate::tree::{ExprId, Node, Target};
use crate::types::{RECORD, Typed};

impl<'a> Analyzer<'a> {
    /// A list of targets.
    pub fn targets(&mut self, list: &'a [ast::Target], place: Place) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(list.len());
        for target in list {
            if let Some(columns) = self.star(target.value, place)? {
                let new = columns.into_iter().map(|(value, name)| new_target(value, name));
                targets.extend(new);
                continue;
            }
            let value = self.expression_at(target.value, place)?;
            let name = match &target.name {
                Some(name) => name.text.clone(),
                None => self.column_name_of(target.value, value),
            };
            targets.push(new_target(value, name));
        }
        Ok(targets)
    }

    /// Expressions of a row or of VALUES, stars expanded; DEFAULT where it may stand.
    pub fn expression_list(&mut self, list: &'a [ExpressionId], place: Place, default: bool) -> Result<Vec<ExprId>> {
        let mut made = Vec::with_capacity(list.len());
        for value in list {
            if let Some(columns) = self.star(*value, place)? {
                made.extend(columns.into_iter().map(|(value, _)| value));
                continue;
            }
            let arena = self.arena;
            if default && matches!(arena[*value].node, Syntax::Default) {
                made.push(self.plain(Node::Default, crate::types::NONE, Some(arena[*value].at)));
                continue;
            }
            made.push(self.expression_at(*value, place)?);
        }
        Ok(made)
    }

    /// The columns that a star stands for; `None` if there is no star.
    fn star(&mut self, number: ExpressionId, place: Place) -> Result<Option<Vec<(ExprId, String)>>> {
        let arena = self.arena;
        let at = arena[number].at;
        match &arena[number].node {
            Syntax::Column { names, star: true } if names.is_empty() => self.all_columns(at).map(Some),
            Syntax::Column { names, star: true } => self.columns_of(names, at).map(Some),
            Syntax::Indirection { of, steps } if matches!(steps.last(), Some(Step::Star(_))) => {
                let before = std::mem::replace(&mut self.level().place, place);
                let row = self.steps_but_last(*of, steps);
                self.level().place = before;
                self.expanded_row(row?).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn steps_but_last(&mut self, of: ExpressionId, steps: &'a [Step]) -> Result<ExprId> {
        let mut value = self.expression(of)?;
        let mut subscripts: Vec<&'a Step> = Vec::new();
        for step in &steps[..steps.len() - 1] {
            match step {
                Step::Field(name) => {
                    if !subscripts.is_empty() {
                        value = self.subscript(value, &std::mem::take(&mut subscripts), None)?;
                    }
                    let at = self.arena[of].at;
                    value = match self.projection(&name.text, value, at)? {
                        Some(field) => field,
                        None => {
                            let message = format!("column \"{}\" not found", name.text);
                            return error_at(crate::error::UNDEFINED_COLUMN, message, at);
                        }
                    };
                }
                _ => subscripts.push(step),
            }
        }
        if !subscripts.is_empty() {
            value = self.subscript(value, &subscripts, None)?;
        }
        Ok(value)
    }

    /// `*`
    fn all_columns(&mut self, at: u32) -> Result<Vec<(ExprId, String)>> {
        let items: Vec<Item> =
            self.level().namespace.iter().filter(|item| item.columns_visible && !item.lateral_only).cloned().collect();
        if items.is_empty() {
            return error_at(SYNTAX_ERROR, "SELECT * with no tables specified is not valid", at);
        }
        Ok(items.into_iter().flat_map(|item| self.columns_of_item(&item, 0, at)).collect())
    }

    /// `t.*`
    fn columns_of(&mut self, names: &'a [ast::Name], at: u32) -> Result<Vec<(ExprId, String)>> {
        let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        let (schema, name) = match texts.as_slice() {
            [name] => (None, *name),
            [schema, name] => (Some(*schema), *name),
            [database, schema, name] => {
                self.own_database_star(names, database, at)?;
                (Some(*schema), *name)
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}.*", written(names));
                return error_at(SYNTAX_ERROR, message, at);
            }
        };
        match self.item_named(schema, name, at)? {
            Some(found) => Ok(self.columns_of_item(&found.item, found.levels_up, at)),
            None => Err(self.missing_relation(schema, name, at)),
        }
    }

    fn own_database_star(&self, names: &[ast::Name], database: &str, at: u32) -> Result<()> {
        self.own_database(names, database, at).map_err(|mut error| {
            error.message.push_str(".*");
            error
        })
    }

    /// The columns of an item that a star shows.
    pub fn columns_of_item(&mut self, item: &Item, levels_up: u32, at: u32) -> Vec<(ExprId, String)> {
        let shown = item.columns.iter().filter(|column| !column.hidden && !column.name.is_empty());
        let columns: Vec<_> = shown.cloned().collect();
        columns
            .into_iter()
            .map(|column| {
                let node = Node::Column { levels_up, entry: column.entry, column: column.column };
                (self.add(node, column.typed, Some(at)), column.name)
            })
            .collect()
    }

    /// `(row).*`
    fn expanded_row(&mut self, row: ExprId) -> Result<Vec<(ExprId, String)>> {
        let at = self.location(row);
        if let Node::WholeRow { levels_up, entry } = self.tree[row].node {
            let depth = self.levels.len() - 1 - levels_up as usize;
            let columns = &self.levels[depth].entries[entry as usize].columns;
            let names: Vec<String> =
                columns.iter().filter(|column| !column.name.is_empty()).map(|column| column.name.clone()).collect();
            let fields = self.fields_of_entry(levels_up, entry, at);
            return Ok(fields.into_iter().zip(names).collect());
        }
        let id = self.type_of(row);
        let Some(columns) = self.row_columns(row) else {
            if id == RECORD {
                return super::not_built("a star over a record of unknown columns", at);
            }
            let name = crate::names::type_name(self.catalog, id);
            let message = format!("type {name} is not composite");
            return error_at(crate::error::WRONG_OBJECT_TYPE, message, None);
        };
        let columns: Vec<(usize, (String, Typed))> =
            columns.into_iter().enumerate().filter(|(_, (name, _))| !name.is_empty()).collect();
        Ok(columns
            .into_iter()
            .map(|(number, (name, typed))| {
                (self.add(Node::Field { value: row, number: number as u32 }, typed, None), name)
            })
            .collect())
    }
}

/// A target that is shown.
pub fn new_target(value: ExprId, name: String) -> Target {
    Target { value, name, junk: false, reference: 0, column: None }
}
