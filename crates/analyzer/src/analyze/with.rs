//! WITH: its queries, in the order in which they need each other.

use std::collections::BTreeSet;

use grammar::ast::{CommonTable as Syntax, Cycle, Name, Search, Statement, With};

use super::levels::{Level, Place};
use super::{Analyzer, Result, error_at};
use crate::error::{
    AnalysisError, DATATYPE_MISMATCH, DUPLICATE_ALIAS, FEATURE_NOT_SUPPORTED, INVALID_COLUMN_REFERENCE, SYNTAX_ERROR,
};
use crate::names::type_name_with_modifier;
use crate::tree::{Command, CommonTable, Constant, CycleMark, EntryColumn, QueryId};
use crate::types::{BOOL, NO_MODIFIER, RECORD, RECORD_ARRAY, Typed};

impl<'a> Analyzer<'a> {
    /// WITH of the innermost query.
    pub fn with(&mut self, with: &'a With) -> Result<()> {
        let mut names = BTreeSet::new();
        for table in &with.tables {
            if !names.insert(table.name.text.as_str()) {
                let message = format!("WITH query name \"{}\" specified more than once", table.name.text);
                return error_at(DUPLICATE_ALIAS, message, table.name.at);
            }
            if matches!(self.arena[table.statement], Statement::Merge(_)) {
                return error_at(FEATURE_NOT_SUPPORTED, "MERGE not supported in WITH query", table.name.at);
            }
            let changes = !matches!(self.arena[table.statement], Statement::Query(_));
            if changes && self.levels.len() > 1 {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                return error_at(FEATURE_NOT_SUPPORTED, message, table.name.at);
            }
        }
        let depth = self.levels.len() - 1;
        if with.recursive {
            let order = self.recursion_order(with)?;
            for (table, recursive) in &order {
                self.level().with.push(empty(table, *recursive));
                self.level().silent.push(false);
            }
            for (number, (table, recursive)) in order.into_iter().enumerate() {
                self.common_table(table, depth, number, recursive)?;
            }
            return Ok(());
        }
        for (number, table) in with.tables.iter().enumerate() {
            self.level().future = with.tables[number..].iter().map(|table| table.name.text.as_str()).collect();
            // A name further out means that until its own query is complete.
            let mut inner = self.analyzed_table(table, false)?;
            let columns = self.named_columns(table, inner.1)?;
            inner.1 = columns;
            let level = self.level();
            level.with.push(CommonTable { query: Some(inner.0), columns: inner.1, ..empty(table, false) });
            level.silent.push(false);
            self.finish_table(table, depth, number)?;
        }
        self.level().future.clear();
        Ok(())
    }

    /// The query of WITH that a name means, as open query and number.
    pub fn common_table_named(&self, name: &str) -> Option<(usize, usize)> {
        self.levels.iter().enumerate().rev().find_map(|(depth, level)| {
            level.with.iter().position(|table| table.name == name).map(|number| (depth, number))
        })
    }

    /// A query of WITH RECURSIVE.
    fn common_table(&mut self, table: &'a Syntax, depth: usize, number: usize, recursive: bool) -> Result<()> {
        let before = self.levels[depth].under_way.replace(number);
        self.levels[depth].recursive_names = &table.columns;
        let (query, columns) = self.analyzed_table(table, recursive)?;
        self.levels[depth].under_way = before;
        let columns = self.named_columns(table, columns)?;
        if recursive {
            self.same_types(table, depth, number, query, &columns)?;
        }
        let common = &mut self.levels[depth].with[number];
        common.query = Some(query);
        common.columns = columns;
        self.finish_table(table, depth, number)
    }

    fn analyzed_table(&mut self, table: &'a Syntax, recursive: bool) -> Result<(QueryId, Vec<EntryColumn>)> {
        let arena = self.arena;
        let depth = self.levels.len() - 1;
        let place = std::mem::take(&mut self.level().place);
        let query = match &arena[table.statement] {
            Statement::Query(query) if recursive => {
                let recursive_term_of = self.levels[depth].under_way.map(|number| (depth, number));
                self.levels.push(Level { resolve_unknowns: true, recursive_term_of, ..Level::default() });
                let query = *query;
                self.deeper(|analyzer| analyzer.open_query(query))?
            }
            statement => self.deeper(|analyzer| analyzer.statement(statement, true))?,
        };
        self.level().place = place;
        let columns = Self::entry_columns(self.query_columns(query));
        Ok((query, columns))
    }

    /// What is left to do once a query of WITH is in its place.
    fn finish_table(&mut self, table: &'a Syntax, depth: usize, number: usize) -> Result<()> {
        let query = self.levels[depth].with[number].query.expect("it is analyzed");
        let query = &self.tree[query];
        self.levels[depth].silent[number] = query.command != Command::Select && query.returning.is_empty();
        if (table.search.is_some() || table.cycle.is_some()) && !self.levels[depth].with[number].recursive {
            return error_at(SYNTAX_ERROR, "WITH query is not recursive", table.name.at);
        }
        if let Some(search) = &table.search {
            self.search(search, depth, number)?;
        }
        if let Some(cycle) = &table.cycle {
            self.cycle(cycle, table.search.as_ref(), depth, number)?;
        }
        Ok(())
    }

    fn named_columns(&self, table: &Syntax, mut columns: Vec<EntryColumn>) -> Result<Vec<EntryColumn>> {
        if table.columns.len() > columns.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                table.name.text,
                columns.len(),
                table.columns.len()
            );
            return error_at(INVALID_COLUMN_REFERENCE, message, table.name.at);
        }
        for (column, name) in columns.iter_mut().zip(&table.columns) {
            column.name.clone_from(&name.text);
        }
        Ok(columns)
    }

    /// The term that a recursion begins with is known: its columns are those of the whole.
    pub fn begin_recursion(&mut self, depth: usize, number: usize, columns: Vec<(String, Typed)>) -> Result<()> {
        let mut columns = Self::entry_columns(columns);
        let names: &'a [Name] = self.levels[depth].recursive_names;
        for (column, name) in columns.iter_mut().zip(names) {
            column.name.clone_from(&name.text);
        }
        self.levels[depth].with[number].columns = columns;
        Ok(())
    }

    fn same_types(
        &self,
        table: &Syntax,
        depth: usize,
        number: usize,
        query: QueryId,
        columns: &[EntryColumn],
    ) -> Result<()> {
        let begun = &self.levels[depth].with[number].columns;
        for (index, (first, whole)) in begun.iter().zip(columns).enumerate() {
            if (first.typed.id, first.typed.modifier) == (whole.typed.id, whole.typed.modifier) {
                if first.typed.collation != whole.typed.collation {
                    return Err(self.other_collation(table, index, (first.typed, whole.typed), query));
                }
                continue;
            }
            let name = |typed: Typed| type_name_with_modifier(self.catalog, typed.id, typed.modifier);
            let message = format!(
                "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                table.name.text,
                index + 1,
                name(first.typed),
                name(whole.typed)
            );
            let at = self.tree[query].targets.get(index).and_then(|target| self.location(target.value));
            let hint = "Cast the output of the non-recursive term to the correct type.";
            return Err(AnalysisError::new(DATATYPE_MISMATCH, message).with_hint(hint).at_place(at));
        }
        Ok(())
    }

    fn other_collation(&self, table: &Syntax, index: usize, pair: (Typed, Typed), query: QueryId) -> AnalysisError {
        let name = |typed: Typed| self.collation_name(typed.collation);
        let message = format!(
            "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term but collation \"{}\" overall",
            table.name.text,
            index + 1,
            name(pair.0),
            name(pair.1)
        );
        let at = self.tree[query].targets.get(index).and_then(|target| self.location(target.value));
        let hint = "Use the COLLATE clause to set the collation of the non-recursive term.";
        AnalysisError::new(crate::error::COLLATION_MISMATCH, message).with_hint(hint).at_place(at)
    }

    fn numbers_of(&self, names: &[Name], what: &str, at: u32, columns: &[EntryColumn]) -> Result<Vec<u32>> {
        let mut numbers: Vec<u32> = Vec::with_capacity(names.len());
        for name in names {
            let Some(number) = columns.iter().position(|column| column.name == name.text) else {
                let message = format!("{what} column \"{}\" not in WITH query column list", name.text);
                return error_at(SYNTAX_ERROR, message, at);
            };
            if numbers.contains(&(number as u32)) {
                let message = format!("{what} column \"{}\" specified more than once", name.text);
                return error_at(crate::error::DUPLICATE_COLUMN, message, at);
            }
            numbers.push(number as u32);
        }
        Ok(numbers)
    }

    fn search(&mut self, search: &Search, depth: usize, number: usize) -> Result<()> {
        let columns = &self.levels[depth].with[number].columns;
        let numbers = self.numbers_of(&search.columns, "search", search.at, columns)?;
        if columns.iter().any(|column| column.name == search.sequence.text) {
            let message = format!(
                "search sequence column name \"{}\" already used in WITH query column list",
                search.sequence.text
            );
            return error_at(SYNTAX_ERROR, message, search.at);
        }
        let id = if search.breadth_first { RECORD } else { RECORD_ARRAY };
        let typed = self.typed(id, NO_MODIFIER);
        let common = &mut self.levels[depth].with[number];
        common.search = Some((search.breadth_first, numbers));
        common.columns.push(EntryColumn { name: search.sequence.text.clone(), typed });
        Ok(())
    }

    fn cycle(&mut self, cycle: &Cycle, search: Option<&Search>, depth: usize, number: usize) -> Result<()> {
        let at = cycle.at;
        let mut columns = self.levels[depth].with[number].columns.clone();
        if search.is_some() {
            columns.pop();
        }
        let numbers = self.numbers_of(&cycle.columns, "cycle", at, &columns)?;
        let value = match cycle.value {
            Some(value) => self.expression_at(value, Place::CycleMark)?,
            None => self.constant(Constant::Boolean(true), BOOL, None),
        };
        let default = match cycle.default {
            Some(default) => self.expression_at(default, Place::CycleMark)?,
            None => self.constant(Constant::Boolean(false), BOOL, None),
        };
        let common = self.common(&[value, default], "CYCLE")?;
        let value = self.made_common(value, common, "CYCLE/SET/TO")?;
        let default = self.made_common(default, common, "CYCLE/SET/DEFAULT")?;
        let typed = self.common_typed(&[value, default], common);
        self.equality(common, None)?;
        let refuse = |message: String| error_at(SYNTAX_ERROR, message, at);
        for (what, name) in [("mark", &cycle.mark), ("path", &cycle.path)] {
            if columns.iter().any(|column| column.name == name.text) {
                let name = &name.text;
                return refuse(format!("cycle {what} column name \"{name}\" already used in WITH query column list"));
            }
        }
        if cycle.mark.text == cycle.path.text {
            return refuse("cycle mark column name and cycle path column name are the same".to_string());
        }
        for (what, name) in [("mark", &cycle.mark), ("path", &cycle.path)] {
            if let Some(search) = search
                && search.sequence.text == name.text
            {
                let message = format!("search sequence column name and cycle {what} column name are the same");
                return error_at(SYNTAX_ERROR, message, search.at);
            }
        }
        let path = self.typed(RECORD_ARRAY, NO_MODIFIER);
        let table = &mut self.levels[depth].with[number];
        table.cycle = Some(CycleMark { columns: numbers, value, default });
        table.columns.push(EntryColumn { name: cycle.mark.text.clone(), typed });
        table.columns.push(EntryColumn { name: cycle.path.text.clone(), typed: path });
        Ok(())
    }
}

fn empty(table: &Syntax, recursive: bool) -> CommonTable {
    CommonTable {
        name: table.name.text.clone(),
        query: None,
        columns: Vec::new(),
        recursive,
        materialized: table.materialized,
        references: 0,
        search: None,
        cycle: None,
    }
}
