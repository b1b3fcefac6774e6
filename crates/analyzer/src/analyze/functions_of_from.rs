//! Functions in FROM: what columns they yield.

use grammar::ast::{ExpressionNode as Syntax, FromFunction, FromItem, FunctionColumn};

use super::levels::Place;
use super::{Analyzer, Result, error_at, not_built};
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR};
use crate::facts::ParameterMode;
use crate::names::type_name;
use crate::polymorphism;
use crate::tree::{EntryKind, ExprId, Node, RangeEntry};
use crate::types::{FunctionId, INT8, NO_MODIFIER, RECORD, TypeId, TypeKind, Typed, VOID};

/// A function of FROM, as a call on its own.
struct Single<'a> {
    value: ExprId,
    name: String,
    columns: &'a [FunctionColumn],
}

impl<'a> Analyzer<'a> {
    /// `f (a)`, or ROWS FROM.
    pub fn functions_item(
        &mut self,
        functions: &'a [FromFunction],
        how: (bool, bool),
        item: &'a FromItem,
    ) -> Result<u32> {
        let (rows_from, ordinality) = how;
        let before = std::mem::replace(&mut self.level().place, Place::FromFunction);
        self.level().lateral_active = true;
        let mut all = Vec::new();
        for function in functions {
            self.calls_of(function, &mut all)?;
        }
        self.level().lateral_active = false;
        self.level().place = before;
        let lateral = item.lateral || all.iter().any(|single| self.tree.column_of_level(single.value, 0).is_some());
        let alias = item.alias.as_ref().and_then(|alias| alias.name.as_ref());
        let (mut columns, mut parts) = (Vec::new(), Vec::new());
        let count = all.len();
        for single in &all {
            if ordinality && !single.columns.is_empty() && count == 1 && !rows_from {
                let error =
                    AnalysisError::new(SYNTAX_ERROR, "WITH ORDINALITY cannot be used with a column definition list");
                let error = error.with_hint("Put the column definition list inside ROWS FROM().");
                return Err(error.at(single.columns[0].name.at));
            }
            let alone = alias.filter(|_| count == 1).map(|name| name.text.as_str());
            let found = self.function_columns(single, alone)?;
            parts.push((single.value, found.len() as u32));
            columns.extend(found);
        }
        if ordinality {
            columns.push(("ordinality".to_string(), self.typed(INT8, NO_MODIFIER)));
        }
        let name = all.first().map_or(String::new(), |single| single.name.clone());
        let kind = EntryKind::Functions { functions: parts, ordinality };
        let columns = Self::entry_columns(columns);
        let entry = RangeEntry { kind, name, has_alias: false, columns, lateral };
        self.aliased(entry, item.alias.as_ref())
    }

    /// The calls that one stands for: `unnest (a, b)` is two.
    fn calls_of(&mut self, function: &'a FromFunction, all: &mut Vec<Single<'a>>) -> Result<()> {
        let arena = self.arena;
        if let Syntax::Call(call) = &arena[function.call].node
            && call.name.len() == 1
            && call.name[0].text == "unnest"
            && call.arguments.len() > 1
            && function.columns.is_empty()
            && call.order.is_empty()
            && !(call.star || call.distinct || call.variadic || call.filter.is_some() || call.over.is_some())
            && call.arguments.iter().all(|argument| argument.name.is_none())
        {
            for argument in &call.arguments {
                let set = self.level().last_set;
                let value = self.expression(argument.value)?;
                let at = Some(arena[function.call].at);
                let value = self.system_call_set("unnest", vec![value], at, set)?;
                all.push(Single { value, name: "unnest".to_string(), columns: &[] });
            }
            return Ok(());
        }
        let set = self.level().last_set;
        let value = self.expression(function.call)?;
        self.only_at_top(value, set)?;
        let name = self.column_name(function.call);
        all.push(Single { value, name, columns: &function.columns });
        Ok(())
    }

    fn system_call_set(
        &mut self,
        name: &'a str,
        arguments: Vec<ExprId>,
        at: Option<u32>,
        set: Option<ExprId>,
    ) -> Result<ExprId> {
        let value = self.system_call(name, arguments, at)?;
        self.check_set(value, set, at)?;
        self.only_at_top(value, set)?;
        Ok(value)
    }

    fn only_at_top(&mut self, value: ExprId, before: Option<ExprId>) -> Result<()> {
        match self.level().last_set {
            Some(last) if Some(last) != before && last != value => {
                let message = "set-returning functions must appear at top level of FROM";
                error_at(FEATURE_NOT_SUPPORTED, message, self.location(last))
            }
            _ => Ok(()),
        }
    }

    /// The columns of a function's result.
    fn function_columns(&mut self, single: &Single<'a>, alias: Option<&str>) -> Result<Vec<(String, Typed)>> {
        let typed = self.tree[single.value].typed;
        let at = self.location(single.value);
        let mut known = None;
        if let Node::Function { function, arguments, .. } = &self.tree[single.value].node {
            let types: Vec<TypeId> = arguments.iter().map(|argument| self.type_of(*argument)).collect();
            known = self.result_columns(*function, &types);
        }
        let has_out_parameters = known.is_some();
        let base = self.catalog.base_type(typed.id);
        let composite = super::columns::columns_of_type(self.catalog, base).filter(|_| self.catalog.is_composite(base));
        let listed = single.columns.first().map(|column| column.name.at);
        if let Some(place) = listed {
            let refuse = |message: &str| error_at(SYNTAX_ERROR, message, place);
            if has_out_parameters {
                return refuse("a column definition list is redundant for a function with OUT parameters");
            }
            if composite.is_some() {
                return refuse("a column definition list is redundant for a function returning a named composite type");
            }
            if base != RECORD {
                return refuse("a column definition list is only allowed for functions returning \"record\"");
            }
            return self.listed_columns(single.columns);
        }
        if let Some(columns) = known {
            return Ok(columns);
        }
        if let Some(relation) = composite {
            let columns = relation
                .columns
                .iter()
                .map(|column| (if column.dropped { String::new() } else { column.name.to_string() }, column.typed));
            return Ok(columns.collect());
        }
        if base == RECORD {
            let message = "a column definition list is required for functions returning \"record\"";
            return error_at(SYNTAX_ERROR, message, at);
        }
        let pseudo = self.catalog.type_row(base).is_some_and(|row| row.kind == TypeKind::Pseudo);
        if pseudo && base != VOID && base != crate::types::CSTRING {
            let name = type_name(self.catalog, typed.id);
            let message = format!("function \"{}\" in FROM has unsupported return type {name}", single.name);
            return error_at(DATATYPE_MISMATCH, message, at);
        }
        Ok(vec![(self.scalar_name(single, alias), Typed { modifier: typed.modifier, ..typed })])
    }

    /// The name of the only column: that of the only OUT parameter, or of the item, or of the function.
    fn scalar_name(&self, single: &Single, alias: Option<&str>) -> String {
        if let Node::Function { function, .. } = self.tree[single.value].node
            && let Some(row) = self.catalog.function(function)
        {
            let mut out = row.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::In);
            let mut out = out.by_ref().filter(|parameter| parameter.mode != ParameterMode::Variadic);
            if let (Some(only), None) = (out.next(), out.next())
                && !only.name.is_empty()
            {
                return only.name.to_string();
            }
        }
        alias.unwrap_or(&single.name).to_string()
    }

    fn listed_columns(&mut self, list: &'a [FunctionColumn]) -> Result<Vec<(String, Typed)>> {
        let mut columns: Vec<(String, Typed)> = Vec::with_capacity(list.len());
        for column in list {
            if column.of.set_of {
                let message = format!("column \"{}\" cannot be declared SETOF", column.name.text);
                return error_at(sqlstate::INVALID_TABLE_DEFINITION, message, column.name.at);
            }
            let mut typed = self.named_type(&column.of)?;
            if self.catalog.held(typed) != typed {
                // Nothing looks at what such a function makes of its argument.
                return not_built("a domain as the type of a function's column", column.name.at);
            }
            if let Some(collation) = &column.collation {
                typed.collation = self.collation(collation, column.name.at)?;
            }
            if columns.iter().any(|(name, _)| *name == column.name.text) {
                let message = format!("column name \"{}\" specified more than once", column.name.text);
                return error_at(crate::error::DUPLICATE_COLUMN, message, None);
            }
            let record = matches!(typed.id, RECORD | crate::types::RECORD_ARRAY);
            if !record && crate::coercion::is_pseudo(self.catalog, typed.id) {
                let name = type_name(self.catalog, typed.id);
                let message = format!("column \"{}\" has pseudo-type {name}", column.name.text);
                return error_at(sqlstate::INVALID_TABLE_DEFINITION, message, None);
            }
            columns.push((column.name.text.clone(), typed));
        }
        Ok(columns)
    }

    /// The columns that OUT parameters make; `None` if there is one of them at most.
    pub fn result_columns(&self, function: FunctionId, types: &[TypeId]) -> Option<Vec<(String, Typed)>> {
        let row = self.catalog.function(function)?;
        if row.result != RECORD {
            return None;
        }
        let is_out = |mode| matches!(mode, ParameterMode::Out | ParameterMode::InOut | ParameterMode::Table);
        let out: Vec<_> = row.parameters.iter().filter(|parameter| is_out(parameter.mode)).collect();
        if out.len() < 2 {
            return None;
        }
        let mut columns = Vec::with_capacity(out.len());
        for (index, parameter) in out.into_iter().enumerate() {
            let mut id = parameter.type_id;
            if id.is_polymorphic() {
                let mut declared = row.arguments.clone();
                let count = types.len().min(declared.len());
                id = polymorphism::settle(self.catalog, &types[..count], &mut declared[..count], id).ok()?;
            }
            let name = match parameter.name.as_ref() {
                "" => format!("column{}", index + 1),
                name => name.to_string(),
            };
            columns.push((name, self.typed(id, NO_MODIFIER)));
        }
        Some(columns)
    }
}
