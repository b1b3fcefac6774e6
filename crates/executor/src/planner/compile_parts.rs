//! The rarer expressions, and subqueries in expressions.

use super::frame::ColumnFrame;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::{Callee, CompiledExpression, SubplanKind, SubplanUse};
use analyzer::tree::{ExprId, Node, QueryId, SubLinkKind};
use analyzer::types::{BPCHAR, FunctionId, INT4, NO_MODIFIER, OperatorId};
use analyzer::{TypeId, Typed};
use evaluation::functions::catalogs::{self, is_named, is_vector};
use evaluation::storage::{REGCONFIG, REGDICTIONARY};
use std::sync::Arc;
use values::{Type, Value};

/// With how many elements of an array a value is compared one after the other.
const COMPARED_MAX: usize = 8;

impl QueryPlanner<'_> {
    pub fn compile_other(&mut self, id: ExprId, level: usize, current: &ColumnFrame) -> PlanResult<CompiledExpression> {
        let expression = &self.tree[id];
        let typed = expression.typed;
        Ok(match &expression.node {
            Node::ArrayOperator { operator, function, all, arguments, .. } => {
                let callee = self.callee(*function, arguments, typed)?;
                return self.array_operator(*operator, callee, *all, arguments, level, current);
            }
            Node::NullTest { value, negated, row: false } => {
                CompiledExpression::IsNull { value: self.boxed(*value, level, current)?, negated: *negated }
            }
            Node::NullTest { value, negated, row: true } => {
                let Node::Row { fields, .. } = &self.tree[*value].node else { return not_built("NULL tests of rows") };
                let fields = self.compile_all(fields, level, current)?;
                let test = |value| CompiledExpression::IsNull { value: Box::new(value), negated: *negated };
                CompiledExpression::And(fields.into_iter().map(test).collect())
            }
            Node::BooleanTest { value, negated, wanted } => {
                let value = self.boxed(*value, level, current)?;
                CompiledExpression::BooleanTest { value, negated: *negated, wanted: *wanted }
            }
            Node::Case { operand, arms, otherwise } => {
                return self.case(*operand, arms, *otherwise, level, current);
            }
            Node::CaseOperand => match self.case_constants.last() {
                Some(Some(value)) => CompiledExpression::Constant(value.clone()),
                _ => CompiledExpression::CaseOperand,
            },
            Node::ThroughText { value, .. } if self.is_written_by_name(*value, typed) => {
                return self.through_name(*value, typed, level, current);
            }
            // What is computed would have to be looked up.
            Node::ThroughText { .. } if matches!(typed.id, REGCONFIG | REGDICTIONARY) => {
                return not_built("the name of a configuration that is computed");
            }
            Node::ThroughText { value, .. } => {
                let source = self.storage(self.tree[*value].typed)?;
                let (target, value) = (self.storage(typed)?, self.boxed(*value, level, current)?);
                CompiledExpression::ThroughText { value, source, target }
            }
            Node::ArrayConversion { value, element, .. } => {
                let Type::Array(target) = self.storage(typed)? else { return not_built("this array") };
                let (value, element) = (self.boxed(*value, level, current)?, self.boxed(*element, level, current)?);
                CompiledExpression::ArrayConversion { value, element, target: target.data_type() }
            }
            Node::Element => CompiledExpression::Element,
            Node::Domain { value, domain, .. } => return self.in_domain(*value, *domain, level, current),
            Node::RowComparison { strategy, left, right, .. } => {
                return self.row_comparison(*strategy, left, right, level, current);
            }
            Node::Array { elements, nested: false } => {
                let Type::Array(element) = self.storage(typed)? else { return not_built("this array") };
                let elements = self.compile_all(elements, level, current)?;
                let element = element.data_type();
                let known = |part: &CompiledExpression| match part {
                    CompiledExpression::Constant(value) => Some(value.clone()),
                    _ => None,
                };
                match elements.iter().map(known).collect() {
                    Some(values) => CompiledExpression::Constant(Value::array(element, values)),
                    None => CompiledExpression::Array { element, elements },
                }
            }
            _ => return self.compile_rarest(id, level, current),
        })
    }

    /// Whether a conversion through text is one of a name, or of a vector.
    fn is_written_by_name(&self, value: ExprId, target: Typed) -> bool {
        let source = self.tree[value].typed.id;
        is_named(source) || is_named(target.id) || is_vector(source) || is_vector(target.id)
    }

    /// The number of an object by its name, its name by its number, or a vector as a text.
    fn through_name(
        &mut self,
        value: ExprId,
        target: Typed,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let source = self.tree[value].typed;
        let vector = is_vector(source.id).then_some(catalogs::vector_writer as evaluation::Implementation);
        let (reads, writes) = (self.storage(source)?.is_string(), self.storage(target)?.is_string());
        let body = match (reads, writes) {
            (false, true) => catalogs::name_writer(source.id).or(vector),
            (true, false) => catalogs::name_reader(target.id),
            _ => None,
        };
        let is_answered = self.relations.has_catalog() || is_vector(source.id);
        let Some(body) = body.filter(|_| is_answered) else { return not_built("this conversion of a name") };
        let arguments = vec![self.compile(value, level, current)?];
        // No function of PostgreSQL's has this number.
        let callee = Callee { function: FunctionId(0), body, strict: true, types: vec![source], result: target };
        Ok(CompiledExpression::CallArguments(Box::new(callee), arguments))
    }

    /// The number of a function, of which the name is held.
    pub fn function_number(
        &mut self,
        value: ExprId,
        target: Typed,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        if !self.relations.has_catalog() {
            return not_built("the number of a function");
        }
        let (types, body) = (vec![self.tree[value].typed], catalogs::function_number as evaluation::Implementation);
        let arguments = vec![self.compile(value, level, current)?];
        let callee = Callee { function: FunctionId(0), body, strict: true, types, result: target };
        Ok(CompiledExpression::CallArguments(Box::new(callee), arguments))
    }

    /// A number and one.
    fn one_more(&mut self, number: CompiledExpression) -> PlanResult<CompiledExpression> {
        const INT4_PLUS: FunctionId = FunctionId(177);
        let Some(body) = evaluation::functions::function(INT4_PLUS) else { return not_built("a sum") };
        let typed = Typed { id: INT4, modifier: NO_MODIFIER, collation: Default::default() };
        let callee = Callee { function: INT4_PLUS, body, strict: true, types: vec![typed; 2], result: typed };
        let arguments = vec![number, CompiledExpression::Constant(Value::Integer(1))];
        Ok(CompiledExpression::CallArguments(Box::new(callee), arguments))
    }

    fn array_operator(
        &mut self,
        operator: OperatorId,
        mut callee: Callee,
        all: bool,
        arguments: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let array = self.tree[arguments[1]].typed;
        match self.catalog.element_type(array.id) {
            Some(element) => callee.types[1] = analyzer::Typed { id: element, ..array },
            None => return not_built("ANY of what is no array"),
        }
        let types = [callee.types[0].id, callee.types[1].id];
        let arguments = self.compile_all(arguments, level, current)?;
        if let Some(found) = self.found_by_key(operator, all, types, &arguments) {
            return Ok(found);
        }
        Ok(CompiledExpression::ArrayOperator { callee: Box::new(callee), all, arguments })
    }

    fn compile_rarest(&mut self, id: ExprId, level: usize, current: &ColumnFrame) -> PlanResult<CompiledExpression> {
        let expression = &self.tree[id];
        match &expression.node {
            Node::Subscript { container, upper, lower, assigned: None } => {
                self.subscript(*container, upper, lower, level, current)
            }
            Node::SubLink { kind, query, test } => self.sublink(*kind, *query, *test, level, current),
            Node::SubLinkColumn(column) => Ok(CompiledExpression::SubLinkColumn(*column as usize)),
            Node::SqlValue { value, precision } if crate::expression::is_built(*value) => {
                Ok(CompiledExpression::SqlValue { value: *value, precision: *precision })
            }
            Node::ParameterDefault { function, parameter } => {
                if let Some(routine) = self.relations.routine(*function) {
                    return self.default_of_routine(*function, routine, *parameter as usize);
                }
                self.parameter_default(*function, *parameter, expression.typed).map(CompiledExpression::Constant)
            }
            Node::Grouping { levels_up: 0, arguments } => self.group_numbers(arguments, level, current),
            other => not_built(kind_of(other)),
        }
    }

    /// The default of a built-in's parameter, where it is a constant: `true`, `'{}'::jsonb`.
    fn parameter_default(&self, function: FunctionId, parameter: u32, typed: Typed) -> PlanResult<Value> {
        let Some(row) = self.facts.function(function) else { return not_built("this default of a parameter") };
        // The last parameters have defaults.
        let defaults: Vec<&str> = row.default_text.split(", ").collect();
        let place = (parameter as usize + defaults.len()).checked_sub(row.arguments.len());
        let Some(text) = place.and_then(|place| defaults.get(place)) else {
            return not_built("this default of a parameter");
        };
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.split_once("'::")).map(|(inside, _)| inside);
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match quoted.or(is_word.then_some(*text)) {
            Some(text) if !text.contains('\'') => Ok(values::text::parse_in(text, self.storage(typed)?, self.zone)
                .map_err(crate::error::ExecutionError::from)?),
            _ => not_built("this default of a parameter"),
        }
    }

    /// `= ANY (array)`, or `<> ALL (array)`, of so many known elements that they are better found by their keys.
    fn found_by_key(
        &self,
        operator: OperatorId,
        all: bool,
        types: [TypeId; 2],
        arguments: &[CompiledExpression],
    ) -> Option<CompiledExpression> {
        let [left, CompiledExpression::Constant(array)] = arguments else { return None };
        let elements = array.as_array().filter(|elements| elements.len() > COMPARED_MAX)?;
        let equality = if all { self.catalog.operator(operator)?.negator } else { operator };
        // Blanks behind a bpchar do not count.
        let has_key = |id: TypeId| id != BPCHAR && crate::equality::is_plain(id);
        let is_keyed = types.into_iter().all(has_key) && crate::equality::hashes_across(types[0], types[1]);
        if !is_keyed || self.strategy(equality) != Some(3) {
            return None;
        }
        let keys = elements.iter().filter(|element| !element.is_null());
        let keys = keys.map(|element| crate::equality::key_of([element].into_iter())).collect();
        let has_null = elements.iter().any(Value::is_null);
        Some(CompiledExpression::Among { value: Box::new(left.clone()), keys: Arc::new(keys), has_null, negated: all })
    }

    fn row_comparison(
        &mut self,
        strategy: i16,
        left: &[ExprId],
        right: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        for (left, right) in left.iter().zip(right) {
            let (left, right) = (self.tree[*left].typed.id, self.tree[*right].typed.id);
            self.ordered(left)?;
            if !crate::equality::hashes_across(left, right) {
                return not_built("rows of different types");
            }
        }
        let (left, right) = (self.compile_all(left, level, current)?, self.compile_all(right, level, current)?);
        Ok(CompiledExpression::RowComparison { strategy, left, right })
    }

    fn group_numbers(
        &mut self,
        arguments: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let Some(grouped) = current.grouped.clone() else { return not_built("GROUPING here") };
        let mut numbers = Vec::new();
        for argument in arguments {
            let compiled = self.compile(*argument, level, &grouped.before)?;
            match grouped.groups.iter().position(|group| *group == compiled) {
                Some(number) => numbers.push(number as u32),
                None => return not_built("GROUPING of this"),
            }
        }
        Ok(CompiledExpression::Grouping { slot: grouped.set_slot, numbers })
    }

    fn subscript(
        &mut self,
        container: ExprId,
        upper: &[Option<ExprId>],
        lower: &[Option<ExprId>],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        match self.storage(self.tree[container].typed)? {
            Type::Array(_) => {}
            Type::Jsonb => return self.json_subscript(container, upper, level, current),
            _ => return not_built("subscripts of this"),
        }
        let is_from_zero = is_vector(self.tree[container].typed.id);
        let container = self.boxed(container, level, current)?;
        match (upper, lower) {
            ([Some(subscript)], []) => {
                let place = self.compile(*subscript, level, current)?;
                let place = if is_from_zero { self.one_more(place)? } else { place };
                Ok(CompiledExpression::Subscript { container, subscript: Box::new(place) })
            }
            _ if is_from_zero => not_built("a part of a vector"),
            ([upper], [lower]) => {
                let lower = lower.map(|lower| self.boxed(lower, level, current)).transpose()?;
                let upper = upper.map(|upper| self.boxed(upper, level, current)).transpose()?;
                Ok(CompiledExpression::Slice { container, lower, upper })
            }
            _ => not_built("several subscripts"),
        }
    }

    fn sublink(
        &mut self,
        kind: SubLinkKind,
        query: QueryId,
        test: Option<ExprId>,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let own = self.frames.len();
        let (logged, volatile, reads) = (self.outer_log.len(), self.volatile_calls, self.working_reads.len());
        let deeper = self.levels.split_off(level + 1);
        self.frames.push(current.clone());
        let planned = self.query(query);
        self.frames.pop();
        self.levels.extend(deeper);
        let plan = planned?;
        if self.working_reads.len() > reads {
            return not_built("a recursion within an expression");
        }
        let mut places = self.outer_log.split_off(logged);
        places.sort_unstable();
        places.dedup();
        places.retain(|place| place.frame <= own);
        self.outer_log.extend(places.iter().filter(|place| place.frame < own));
        let outer = places.into_iter().map(|place| match place.frame == own {
            true => CompiledExpression::Slot(place.slot),
            false => CompiledExpression::Outer { frame: place.frame, slot: place.slot },
        });
        let outer = outer.collect();
        let hashed = match (kind, test) {
            (SubLinkKind::Any, Some(test)) => self.hashed_sides(test, level, current)?,
            _ => None,
        };
        let test = test.map(|test| self.compile(test, level, current)).transpose()?;
        let kind = match kind {
            SubLinkKind::Exists => SubplanKind::Exists,
            SubLinkKind::Any => SubplanKind::Any,
            SubLinkKind::All => SubplanKind::All,
            SubLinkKind::RowComparison => SubplanKind::Row,
            SubLinkKind::Value => SubplanKind::Value,
            SubLinkKind::Array => {
                let first = self.tree[query].targets.iter().find(|target| !target.junk);
                match first.map(|target| self.tree[target.value].typed) {
                    Some(typed) => SubplanKind::Array(self.storage(typed)?),
                    None => return not_built("an array of no column"),
                }
            }
            SubLinkKind::Multiple => return not_built("several columns of an UPDATE"),
        };
        let number = self.subplans as usize;
        self.subplans += 1;
        let volatile = self.volatile_calls > volatile;
        Ok(CompiledExpression::Subplan(Box::new(SubplanUse { number, kind, plan, test, hashed, outer, volatile })))
    }

    /// The left side of `x = column`, if equality of both is that of their keys.
    fn hashed_sides(
        &mut self,
        test: ExprId,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<Option<Vec<CompiledExpression>>> {
        let Node::Operator { operator, arguments, .. } = &self.tree[test].node else { return Ok(None) };
        let [left, right] = arguments.as_slice() else { return Ok(None) };
        let (left_type, right_type) = (self.tree[*left].typed.id, self.tree[*right].typed.id);
        let plain = crate::equality::is_plain(left_type) && crate::equality::hashes_across(left_type, right_type);
        let right_is_column = matches!(self.tree[*right].node, Node::SubLinkColumn(0));
        if !plain || !right_is_column || self.strategy(*operator) != Some(3) {
            return Ok(None);
        }
        Ok(Some(vec![self.compile(*left, level, current)?]))
    }

    /// Whether a function yields a set.
    pub fn yields_set(&self, function: FunctionId) -> bool {
        self.catalog.function(function).is_some_and(|row| row.returns_set)
    }
}

fn kind_of(node: &Node) -> String {
    let shown = format!("{node:?}");
    let end = shown.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(shown.len());
    format!("expressions of the kind {}", &shown[..end])
}
