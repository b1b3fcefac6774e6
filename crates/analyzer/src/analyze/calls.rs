//! Calls: functions, aggregates, window functions, and fields of rows, which are written alike.

use grammar::ast::{FunctionCall, Over};

use super::levels::Place;
use super::{Analyzer, Result, error, error_at};
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, UNDEFINED_SCHEMA};
use crate::facts::FunctionKind;
use crate::functions::{self, Argument, CallSurroundings, Meaning, ResolvedFunction};
use crate::tree::{ExprId, Form, Node, QueryId, WindowCall};
use crate::types::{NO_MODIFIER, RECORD, Typed};

/// A call whose arguments are analyzed.
struct Made<'a> {
    schema: Option<&'a str>,
    name: &'a str,
    arguments: Vec<ExprId>,
    names: Vec<Option<&'a str>>,
    filter: Option<ExprId>,
    at: u32,
}

impl<'a> Analyzer<'a> {
    /// A call as it is written.
    pub fn call(&mut self, call: &'a FunctionCall, at: u32) -> Result<ExprId> {
        let set = self.level().last_set;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.expression(argument.value)?);
        }
        let direct = arguments.len();
        let mut names: Vec<Option<&str>> =
            call.arguments.iter().map(|argument| argument.name.as_ref().map(|name| name.text.as_str())).collect();
        if call.within_group {
            for key in &call.order {
                arguments.push(self.expression_at(key.value, Place::OrderBy)?);
                names.push(None);
            }
        }
        let filter = match call.filter {
            Some(filter) => {
                let filter = self.expression_at(filter, Place::Filter)?;
                Some(self.condition(filter, "FILTER")?)
            }
            None => None,
        };
        let (schema, name) = self.function_name(call, at)?;
        self.check_names(call, &arguments)?;
        let made = Made { schema, name, arguments, names, filter, at };
        let could_be_field = made.arguments.len() == 1
            && call.order.is_empty()
            && !(call.star || call.distinct || call.variadic || call.filter.is_some() || call.over.is_some())
            && made.names[0].is_none()
            && schema.is_none()
            && {
                let id = self.type_of(made.arguments[0]);
                id == RECORD || self.catalog.is_composite(id)
            };
        let around = CallSurroundings {
            star: call.star,
            distinct: call.distinct,
            ordered: call.order.len(),
            within_group: call.within_group,
            filter: filter.is_some(),
            over: call.over.is_some(),
        };
        let meaning = match self.meaning(&made, around, call.variadic) {
            Ok(meaning) => meaning,
            Err(error)
                if could_be_field
                    && matches!(error.sqlstate, sqlstate::UNDEFINED_FUNCTION | sqlstate::AMBIGUOUS_FUNCTION) =>
            {
                return match self.field(made.arguments[0], name)? {
                    Some(field) => Ok(field),
                    None => Err(error),
                };
            }
            Err(error) => return Err(error),
        };
        match meaning {
            Meaning::Cast(target) => {
                let context = crate::facts::CastContext::Explicit;
                self.coerce(made.arguments[0], target, NO_MODIFIER, context, Form::Explicit, Some(at))
            }
            Meaning::Function(found) => self.called(call, made, found, direct, set),
        }
    }

    fn function_name(&self, call: &'a FunctionCall, at: u32) -> Result<(Option<&'a str>, &'a str)> {
        let texts: Vec<&str> = call.name.iter().map(|name| name.text.as_str()).collect();
        let (schema, name) = match texts.as_slice() {
            [name] => return Ok((None, *name)),
            [schema, name] => (*schema, *name),
            [database, schema, name] => {
                self.own_database(&call.name, database, at)?;
                (*schema, *name)
            }
            _ => {
                let shown = super::missing::written(&call.name);
                let message = format!("improper qualified name (too many dotted names): {shown}");
                return error_at(SYNTAX_ERROR, message, None);
            }
        };
        if !self.catalog.has_schema(schema) {
            return error_at(UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"), at);
        }
        Ok((Some(schema), name))
    }

    fn check_names(&self, call: &FunctionCall, arguments: &[ExprId]) -> Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        for (argument, value) in call.arguments.iter().zip(arguments) {
            match &argument.name {
                Some(name) if seen.contains(&name.text.as_str()) => {
                    let message = format!("argument name \"{}\" used more than once", name.text);
                    return error_at(SYNTAX_ERROR, message, name.at);
                }
                Some(name) => seen.push(&name.text),
                None if !seen.is_empty() => {
                    let message = "positional argument cannot follow named argument";
                    return error_at(SYNTAX_ERROR, message, self.location(*value));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn meaning(&self, made: &Made, around: CallSurroundings, variadic: bool) -> Result<Meaning> {
        let arguments: Vec<Argument> = made
            .arguments
            .iter()
            .zip(&made.names)
            .map(|(value, name)| Argument { type_id: self.type_of(*value), name: *name })
            .collect();
        let call =
            functions::Call { schema: made.schema, name: made.name, arguments: &arguments, variadic, form: around };
        functions::resolve(self.catalog, &call).map_err(|error| {
            let last = made.arguments.last().and_then(|last| self.location(*last));
            let at = match error.sqlstate {
                _ if error.message == "VARIADIC argument must be an array" => last,
                // Types that do not agree among themselves have no place.
                DATATYPE_MISMATCH => None,
                _ => Some(made.at),
            };
            error.at_place(at)
        })
    }

    /// The call of what was found.
    fn called(
        &mut self,
        call: &'a FunctionCall,
        made: Made<'a>,
        found: ResolvedFunction,
        direct: usize,
        set: Option<ExprId>,
    ) -> Result<ExprId> {
        let at = Some(made.at);
        let filter = made.filter;
        let arguments = self.taken(made.arguments, &found)?;
        let typed = self.typed(found.result, NO_MODIFIER);
        match (found.kind, &call.over) {
            (FunctionKind::Aggregate, None) => {
                self.no_sets_since(set, "aggregate function")?;
                self.aggregate(call, &found, arguments, (direct, filter), at)
            }
            (FunctionKind::Aggregate | FunctionKind::Window, Some(over)) => {
                self.no_sets_since(set, "window function")?;
                if found.returns_set {
                    return error_at(sqlstate::INVALID_FUNCTION_DEFINITION, "window functions cannot return sets", at);
                }
                let window = self.window_of(over, &arguments, at)?;
                let call = WindowCall {
                    function: found.function,
                    aggregate: found.kind == FunctionKind::Aggregate,
                    arguments,
                    filter,
                    star: call.star,
                    window,
                };
                Ok(self.add(Node::Window(Box::new(call)), typed, at))
            }
            _ => {
                let (function, variadic) = (found.function, found.variadic);
                let form = Form::Call;
                let node = Node::Function { function, arguments, variadic, form };
                let made = self.add(node, typed, at);
                if found.returns_set {
                    self.check_set(made, set, at)?;
                }
                Ok(made)
            }
        }
    }

    /// Aggregates and window functions take no sets.
    fn no_sets_since(&mut self, set: Option<ExprId>, what: &str) -> Result<()> {
        match self.level().last_set {
            Some(last) if Some(last) != set => {
                let message = format!("{what} calls cannot contain set-returning function calls");
                let hint = "You might be able to move the set-returning function into a LATERAL FROM item.";
                let error = AnalysisError::new(FEATURE_NOT_SUPPORTED, message).with_hint(hint);
                Err(error.at_place(self.location(last)))
            }
            _ => Ok(()),
        }
    }

    /// Arguments converted, put in the order of the parameters, VARIADIC ones collected, defaults added.
    fn taken(&mut self, mut arguments: Vec<ExprId>, found: &ResolvedFunction) -> Result<Vec<ExprId>> {
        self.convert_arguments(&mut arguments, &found.arguments)?;
        let given = arguments.len();
        for (number, id) in found.arguments.iter().enumerate().skip(given) {
            let parameter = found.order.get(number).copied().unwrap_or(number) as u32;
            let node = Node::ParameterDefault { function: found.function, parameter };
            arguments.push(self.plain(node, *id, None));
        }
        if let Some((count, array)) = found.collected {
            let elements = arguments.split_off(given - count);
            let at = elements.first().and_then(|first| self.location(*first));
            arguments.push(self.plain(Node::Array { elements, nested: false }, array, at));
        }
        if found.order.is_empty() {
            return Ok(arguments);
        }
        let mut ordered: Vec<(usize, ExprId)> = found.order.iter().copied().zip(arguments).collect();
        ordered.sort_by_key(|(parameter, _)| *parameter);
        Ok(ordered.into_iter().map(|(_, argument)| argument).collect())
    }

    fn window_of(&mut self, over: &'a Over, arguments: &[ExprId], at: Option<u32>) -> Result<u32> {
        self.place_window(arguments, at)?;
        let level = self.level();
        level.has_windows = true;
        match over {
            Over::Name(name) => {
                let found = level.named_windows.iter().position(|window| window.name.text == name.text);
                match found {
                    Some(number) => Ok(number as u32),
                    None => {
                        let message = format!("window \"{}\" does not exist", name.text);
                        error_at(crate::error::UNDEFINED_OBJECT, message, name.at)
                    }
                }
            }
            Over::Window(window) => {
                level.windows.push(window);
                Ok((level.named_windows.len() + level.windows.len() - 1) as u32)
            }
        }
    }

    /// A function of PostgreSQL's own that SQL's grammar means.
    pub fn system_call(&mut self, name: &'a str, arguments: Vec<ExprId>, at: Option<u32>) -> Result<ExprId> {
        let names = vec![None; arguments.len()];
        let made = Made { schema: Some("pg_catalog"), name, arguments, names, filter: None, at: at.unwrap_or(0) };
        match self.meaning(&made, CallSurroundings::default(), false)? {
            Meaning::Function(found) => {
                let arguments = self.taken(made.arguments, &found)?;
                let node =
                    Node::Function { function: found.function, arguments, variadic: found.variadic, form: Form::Call };
                Ok(self.plain(node, found.result, at))
            }
            Meaning::Cast(_) => error(crate::error::UNDEFINED_FUNCTION, format!("function {name} does not exist")),
        }
    }

    /// `row.name`: a field, or a function of that name; `None` if neither is there.
    pub fn projection(&mut self, name: &str, row: ExprId, at: u32) -> Result<Option<ExprId>> {
        let id = self.type_of(row);
        if (id == RECORD || self.catalog.is_composite(id))
            && let Some(field) = self.field(row, name)?
        {
            return Ok(Some(field));
        }
        let argument = [Argument { type_id: id, name: None }];
        let call = functions::Call {
            schema: None,
            name,
            arguments: &argument,
            variadic: false,
            form: CallSurroundings::default(),
        };
        let found = match functions::resolve(self.catalog, &call) {
            Ok(Meaning::Function(found)) => found,
            Ok(Meaning::Cast(target)) => {
                let context = crate::facts::CastContext::Explicit;
                return self.coerce(row, target, NO_MODIFIER, context, Form::Explicit, Some(at)).map(Some);
            }
            Err(error) if matches!(error.sqlstate, sqlstate::UNDEFINED_FUNCTION | sqlstate::AMBIGUOUS_FUNCTION) => {
                return Ok(None);
            }
            Err(error) => return Err(error.at(at)),
        };
        // What a statement may do is settled by the calls that stand in it as calls.
        if crate::facts::Facts::postgresql15().function(found.function).is_none() {
            return super::not_built("a call of a user's function as a column", at);
        }
        if found.kind != FunctionKind::Function {
            let arguments = self.taken(vec![row], &found)?;
            return self.aggregate_of(found.function, arguments, found.result, Some(at)).map(Some);
        }
        let set = self.level().last_set;
        let arguments = self.taken(vec![row], &found)?;
        let node = Node::Function { function: found.function, arguments, variadic: false, form: Form::Call };
        let made = self.plain(node, found.result, Some(at));
        if found.returns_set {
            self.check_set(made, set, Some(at))?;
        }
        Ok(Some(made))
    }

    /// A field of a row by its name.
    pub fn field(&mut self, row: ExprId, name: &str) -> Result<Option<ExprId>> {
        if let Node::WholeRow { levels_up, entry } = self.tree[row].node {
            let depth = self.levels.len() - 1 - levels_up as usize;
            let columns = &self.levels[depth].entries[entry as usize].columns;
            let number = columns.iter().position(|column| column.name == name && !name.is_empty());
            let found = number.map(|number| (number, columns[number].typed));
            return Ok(found.map(|(number, typed)| {
                let at = self.tree[row].at;
                self.add(Node::Column { levels_up, entry, column: number as u32 }, typed, at)
            }));
        }
        let columns = self.row_columns(row).unwrap_or_default();
        let Some(number) = columns.iter().position(|(column, _)| column == name && !name.is_empty()) else {
            return Ok(None);
        };
        let typed = columns[number].1;
        Ok(Some(self.add(Node::Field { value: row, number: number as u32 }, typed, None)))
    }

    /// Names and types of the columns of a row, as far as they are known; a dropped one has no name.
    pub fn row_columns(&self, row: ExprId) -> Option<Vec<(String, Typed)>> {
        let catalog = self.catalog;
        if let Some(relation) = super::columns::columns_of_type(catalog, self.type_of(row)) {
            let columns = relation
                .columns
                .iter()
                .map(|column| (if column.dropped { String::new() } else { column.name.to_string() }, column.typed));
            return Some(columns.collect());
        }
        match &self.tree[row].node {
            Node::Row { fields, names } => {
                let typed = fields.iter().map(|field| self.tree[*field].typed);
                Some(names.iter().cloned().zip(typed).collect())
            }
            Node::WholeRow { levels_up, entry } => {
                let depth = (self.levels.len() - 1).checked_sub(*levels_up as usize)?;
                let columns = &self.levels[depth].entries.get(*entry as usize)?.columns;
                Some(columns.iter().map(|column| (column.name.clone(), column.typed)).collect())
            }
            Node::Function { function, arguments, .. } => {
                let types: Vec<_> = arguments.iter().map(|argument| self.type_of(*argument)).collect();
                self.result_columns(*function, &types)
            }
            Node::Column { levels_up, entry, column } => {
                let depth = (self.levels.len() - 1).checked_sub(*levels_up as usize)?;
                let entry = self.levels[depth].entries.get(*entry as usize)?;
                match &entry.kind {
                    crate::tree::EntryKind::Query(query) => self.column_row(*query, *column),
                    crate::tree::EntryKind::Common { levels_up, number, itself: false } => {
                        let query = self.levels[depth - *levels_up as usize].with[*number as usize].query?;
                        self.column_row(query, *column)
                    }
                    crate::tree::EntryKind::Join { columns, .. } => self.row_columns(columns[*column as usize]),
                    _ => None,
                }
            }
            Node::Field { value, number } => {
                let Node::Row { fields, .. } = &self.tree[*value].node else { return None };
                self.row_columns(fields[*number as usize])
            }
            _ => None,
        }
    }

    /// The columns of a row that a query has as a column.
    fn column_row(&self, query: QueryId, column: u32) -> Option<Vec<(String, Typed)>> {
        let query = &self.tree[query];
        let target = query.targets.iter().filter(|target| !target.junk).nth(column as usize)?;
        match &self.tree[target.value].node {
            Node::WholeRow { levels_up: 0, entry } => {
                let columns = &query.range_table[*entry as usize].columns;
                Some(columns.iter().map(|column| (column.name.clone(), column.typed)).collect())
            }
            Node::Column { levels_up: 0, entry, column } => match &query.range_table[*entry as usize].kind {
                crate::tree::EntryKind::Query(inner) => self.column_row(*inner, *column),
                crate::tree::EntryKind::Common { levels_up: 0, number, .. } => {
                    self.column_row(query.with[*number as usize].query?, *column)
                }
                _ => None,
            },
            Node::Row { .. } | Node::Function { .. } => self.row_columns(target.value),
            _ => None,
        }
    }
}
