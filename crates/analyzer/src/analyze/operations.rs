//! Operators and what SQL says with them: IN, BETWEEN, LIKE, IS DISTINCT FROM, NULLIF.

use grammar::ast::{ExpressionId, ExpressionNode as Syntax, LikeKind, OperatorName as Written};

use super::{Analyzer, Result, error_at, too_deep};
use crate::coercion::can_coerce;
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED};
use crate::facts::CastContext;
use crate::limits::CHAINS_MAX;
use crate::operators::{self, OperatorName, ResolvedOperator};
use crate::tree::{Constant, ExprId, Form, Node};
use crate::types::{BOOL, NO_MODIFIER, RECORD, TypeId};

impl<'a> Analyzer<'a> {
    /// `a + b`, `- a`; rows are compared field by field. A chain to the left is walked by a loop.
    pub fn operation(
        &mut self,
        operator: &'a Written,
        left: Option<ExpressionId>,
        right: ExpressionId,
        at: u32,
    ) -> Result<ExprId> {
        let arena = self.arena;
        let mut chain = vec![(operator, right, at)];
        let mut first = left;
        while let Some(number) = first
            && let Syntax::Operator { operator, left: Some(left), right } = &arena[number].node
        {
            chain.push((operator, *right, arena[number].at));
            first = Some(*left);
        }
        let count = chain.len();
        if self.chains + count > CHAINS_MAX {
            return Err(too_deep());
        }
        self.chains += count;
        let (operator, right, at) = chain.pop().expect("there is one");
        let mut value = self.one_operation(operator, first, right, at)?;
        while let Some((operator, right, at)) = chain.pop() {
            let right = self.expression(right)?;
            value = self.operator_named(operator, Some(value), right, at)?;
        }
        self.chains -= count;
        Ok(value)
    }

    fn one_operation(
        &mut self,
        operator: &'a Written,
        left: Option<ExpressionId>,
        right: ExpressionId,
        at: u32,
    ) -> Result<ExprId> {
        let arena = self.arena;
        if let Some(left) = left
            && let Syntax::Row { fields, .. } = &arena[left].node
        {
            match &arena[right].node {
                Syntax::Subquery(query) => return self.row_query(operator, left, *query, at),
                Syntax::Row { fields: others, .. } => {
                    let (one, other) = (self.row(fields, arena[left].at)?, self.row(others, arena[right].at)?);
                    return self.row_comparison(operator, &self.fields(one), &self.fields(other), at);
                }
                _ => {}
            }
        }
        let left = match left {
            Some(left) => Some(self.expression(left)?),
            None => None,
        };
        let right = self.expression(right)?;
        self.operator_named(operator, left, right, at)
    }

    /// The fields of a row constructor.
    pub fn fields(&self, row: ExprId) -> Vec<ExprId> {
        match &self.tree[row].node {
            Node::Row { fields, .. } => fields.clone(),
            _ => vec![row],
        }
    }

    pub fn is_row_constructor(&self, value: ExprId) -> bool {
        matches!(self.tree[value].node, Node::Row { .. })
    }

    pub fn operator_named(
        &mut self,
        operator: &Written,
        left: Option<ExprId>,
        right: ExprId,
        at: u32,
    ) -> Result<ExprId> {
        let schema = operator.schema.last().map(|name| name.text.clone());
        self.operator(schema.as_deref(), &operator.symbol, left, right, Some(at))
    }

    /// An operator between expressions.
    pub fn operator(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Option<ExprId>,
        right: ExprId,
        at: Option<u32>,
    ) -> Result<ExprId> {
        let set = self.level().last_set;
        let (found, arguments) = self.resolved_operator(schema, name, left, right, at)?;
        let node = Node::Operator { operator: found.operator, function: found.function, arguments };
        let made = self.plain(node, found.result, at);
        if self.catalog.function(found.function).is_some_and(|row| row.returns_set) {
            self.check_set(made, set, at)?;
        }
        Ok(made)
    }

    fn resolved_operator(
        &mut self,
        schema: Option<&str>,
        name: &str,
        left: Option<ExprId>,
        right: ExprId,
        at: Option<u32>,
    ) -> Result<(ResolvedOperator, Vec<ExprId>)> {
        let wanted = OperatorName { schema, name };
        if let Some(schema) = schema
            && !self.catalog.has_schema(schema)
        {
            return error_at(crate::error::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"), at);
        }
        let found = match left {
            Some(left) => operators::binary(self.catalog, wanted, self.type_of(left), self.type_of(right)),
            None => operators::prefix(self.catalog, wanted, self.type_of(right)),
        };
        let found = found.map_err(|error| match error.sqlstate {
            // Types that do not agree among themselves have no place.
            DATATYPE_MISMATCH => error,
            _ => error.at_place(at),
        })?;
        let mut arguments: Vec<ExprId> = left.into_iter().chain([right]).collect();
        self.convert_arguments(&mut arguments, &found.arguments)?;
        Ok((found, arguments))
    }

    /// Converts arguments to what is taken.
    pub fn convert_arguments(&mut self, arguments: &mut [ExprId], types: &[TypeId]) -> Result<()> {
        for (argument, target) in arguments.iter_mut().zip(types) {
            *argument = self.coerce(*argument, *target, NO_MODIFIER, CastContext::Implicit, Form::Implicit, None)?;
        }
        Ok(())
    }

    /// `a = ANY (array)`.
    pub fn array_operator(
        &mut self,
        operator: &Written,
        all: bool,
        left: ExprId,
        array: ExprId,
        at: u32,
    ) -> Result<ExprId> {
        let schema = operator.schema.last().map(|name| name.text.as_str());
        let wanted = OperatorName { schema, name: &operator.symbol };
        let found = operators::of_array(self.catalog, wanted, self.type_of(left), self.type_of(array));
        let found = found.map_err(|error| error.at(at))?;
        let mut arguments = vec![left, array];
        self.convert_arguments(&mut arguments, &found.arguments)?;
        let node = Node::ArrayOperator { operator: found.operator, function: found.function, all, arguments };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    /// `a IN (1, 2)`: what has no columns is compared as one array, if there is a type for that.
    pub fn membership(&mut self, negated: bool, value: ExpressionId, list: &[ExpressionId], at: u32) -> Result<ExprId> {
        let symbol = if negated { "<>" } else { "=" };
        let left = self.expression(value)?;
        let (mut constant, mut varying) = (Vec::new(), Vec::new());
        for element in list {
            let element = self.expression(*element)?;
            match self.tree.column_of_level(element, 0) {
                Some(_) => varying.push(element),
                None => constant.push(element),
            }
        }
        let all: Vec<ExprId> = constant.iter().chain(&varying).copied().collect();
        let mut result = None;
        let mut rest = all;
        if constant.len() > 1
            && let Some((element, array)) = self.array_for(left, &constant)
        {
            for part in &mut constant {
                *part = self.made_common(*part, element, "IN")?;
            }
            let array = self.plain(Node::Array { elements: constant, nested: false }, array, None);
            let operator = Written { schema: Vec::new(), symbol: symbol.to_string(), at };
            result = Some(self.array_operator(&operator, negated, left, array, at)?);
            rest = varying;
        }
        let operator = Written { schema: Vec::new(), symbol: symbol.to_string(), at };
        let mut parts: Vec<ExprId> = result.into_iter().collect();
        for element in rest {
            let compared = if self.is_row_constructor(left) && self.is_row_constructor(element) {
                self.row_comparison(&operator, &self.fields(left), &self.fields(element), at)?
            } else {
                self.operator(None, symbol, Some(left), element, Some(at))?
            };
            parts.push(self.condition(compared, "IN")?);
        }
        if let [only] = parts.as_slice() {
            return Ok(*only);
        }
        let node = if negated { Node::And(parts) } else { Node::Or(parts) };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    /// The common type of all sides of IN, with its array, if it suits all.
    fn array_for(&self, left: ExprId, constant: &[ExprId]) -> Option<(TypeId, TypeId)> {
        let types: Vec<TypeId> =
            std::iter::once(left).chain(constant.iter().copied()).map(|of| self.type_of(of)).collect();
        let common = crate::common_type::common_type(self.catalog, &types).ok()?;
        let suits = types.iter().all(|id| can_coerce(self.catalog, &[*id], &[common], CastContext::Implicit));
        if common == RECORD || !suits {
            return None;
        }
        Some((common, self.catalog.array_type(common)?))
    }

    /// BETWEEN: two comparisons, each of which reads the value anew.
    pub fn between(
        &mut self,
        negated: bool,
        symmetric: bool,
        parts: (ExpressionId, ExpressionId, ExpressionId),
        at: u32,
    ) -> Result<ExprId> {
        let (value, low, high) = parts;
        let mut both = Vec::new();
        let orders: &[(ExpressionId, ExpressionId)] =
            if symmetric { &[(low, high), (high, low)] } else { &[(low, high)] };
        for (low, high) in orders {
            let symbols = if negated { ["<", ">"] } else { [">=", "<="] };
            let mut pair = Vec::new();
            for (symbol, bound) in symbols.into_iter().zip([*low, *high]) {
                let compared = self.compared(symbol, value, bound, at)?;
                pair.push(self.condition(compared, if negated { "OR" } else { "AND" })?);
            }
            let node = if negated { Node::Or(pair) } else { Node::And(pair) };
            both.push(self.plain(node, BOOL, Some(at)));
        }
        if let [only] = both.as_slice() {
            return Ok(*only);
        }
        let node = if negated { Node::And(both) } else { Node::Or(both) };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    /// A comparison as if it were written between the two.
    fn compared(&mut self, symbol: &str, left: ExpressionId, right: ExpressionId, at: u32) -> Result<ExprId> {
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        if self.is_row_constructor(left) && self.is_row_constructor(right) {
            let operator = Written { schema: Vec::new(), symbol: symbol.to_string(), at };
            return self.row_comparison(&operator, &self.fields(left), &self.fields(right), at);
        }
        self.operator(None, symbol, Some(left), right, Some(at))
    }

    /// LIKE, ILIKE, SIMILAR TO.
    pub fn like(
        &mut self,
        kind: LikeKind,
        negated: bool,
        parts: (ExpressionId, ExpressionId, Option<ExpressionId>),
        at: u32,
    ) -> Result<ExprId> {
        let (value, pattern, escape) = parts;
        let symbol = match (kind, negated) {
            (LikeKind::Like, false) => "~~",
            (LikeKind::Like, true) => "!~~",
            (LikeKind::ILike, false) => "~~*",
            (LikeKind::ILike, true) => "!~~*",
            (LikeKind::Similar, false) => "~",
            (LikeKind::Similar, true) => "!~",
        };
        let value = self.expression(value)?;
        let mut arguments = vec![self.expression(pattern)?];
        if let Some(escape) = escape {
            arguments.push(self.expression(escape)?);
        }
        let function = match kind {
            LikeKind::Similar => Some("similar_to_escape"),
            _ if arguments.len() > 1 => Some("like_escape"),
            _ => None,
        };
        let pattern = match function {
            Some(function) => self.system_call(function, arguments, Some(at))?,
            None => arguments[0],
        };
        self.operator(None, symbol, Some(value), pattern, Some(at))
    }

    /// IS DISTINCT FROM.
    pub fn distinct(&mut self, negated: bool, left: ExpressionId, right: ExpressionId, at: u32) -> Result<ExprId> {
        let arena = self.arena;
        // Beside NULL it is a test for that.
        for (null, other) in [(right, left), (left, right)] {
            if matches!(arena[null].node, Syntax::Null) {
                let value = self.expression(other)?;
                let node = Node::NullTest { value, negated: !negated, row: false };
                return Ok(self.plain(node, BOOL, Some(at)));
            }
        }
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let mut result = if self.is_row_constructor(left) && self.is_row_constructor(right) {
            let (one, other) = (self.fields(left), self.fields(right));
            if one.len() != other.len() {
                return error_at(crate::error::SYNTAX_ERROR, "unequal number of entries in row expressions", at);
            }
            let mut parts = Vec::new();
            for (one, other) in one.into_iter().zip(other) {
                parts.push(self.distinct_pair(one, other, at)?);
            }
            match parts.as_slice() {
                [] => self.constant(Constant::Boolean(false), BOOL, None),
                [only] => *only,
                _ => self.plain(Node::Or(parts), BOOL, Some(at)),
            }
        } else {
            self.distinct_pair(left, right, at)?
        };
        if negated {
            result = self.plain(Node::Not(result), BOOL, Some(at));
        }
        Ok(result)
    }

    fn distinct_pair(&mut self, left: ExprId, right: ExprId, at: u32) -> Result<ExprId> {
        let (found, arguments) = self.resolved_operator(None, "=", Some(left), right, Some(at))?;
        if found.result != BOOL {
            let message = "IS DISTINCT FROM requires = operator to yield boolean";
            return error_at(DATATYPE_MISMATCH, message, at);
        }
        let node = Node::Distinct { operator: found.operator, function: found.function, arguments };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    pub fn null_if(&mut self, left: ExpressionId, right: ExpressionId, at: u32) -> Result<ExprId> {
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let (found, arguments) = self.resolved_operator(None, "=", Some(left), right, Some(at))?;
        if found.result != BOOL {
            return error_at(DATATYPE_MISMATCH, "NULLIF requires = operator to yield boolean", at);
        }
        let typed = self.tree[arguments[0]].typed;
        let node = Node::NullIf { operator: found.operator, function: found.function, arguments };
        Ok(self.add(node, typed, Some(at)))
    }

    /// Refuses what yields a set where none may.
    pub fn check_set(&mut self, call: ExprId, before: Option<ExprId>, at: Option<u32>) -> Result<()> {
        use super::levels::Place;
        let place = self.level().place;
        let refuse = |message: String| Err(AnalysisError::new(FEATURE_NOT_SUPPORTED, message).at_place(at));
        match place {
            Place::JoinOn | Place::JoinUsing => {
                return refuse("set-returning functions are not allowed in JOIN conditions".to_string());
            }
            Place::FrameRange | Place::FrameRows | Place::FrameGroups => {
                return refuse("set-returning functions are not allowed in window definitions".to_string());
            }
            Place::MergeWhen => {
                return refuse("set-returning functions are not allowed in MERGE WHEN conditions".to_string());
            }
            Place::FromFunction => {
                if let Some(last) = self.level().last_set
                    && Some(last) != before
                {
                    let message = "set-returning functions must appear at top level of FROM";
                    return error_at(FEATURE_NOT_SUPPORTED, message, self.location(last));
                }
            }
            Place::SelectTarget
            | Place::InsertTarget
            | Place::WindowPartition
            | Place::WindowOrder
            | Place::GroupBy
            | Place::OrderBy
            | Place::DistinctOn
            | Place::ValuesSingle => self.level().has_target_sets = true,
            Place::Index => {
                return refuse("set-returning functions are not allowed in index expressions".to_string());
            }
            Place::IndexPredicate => {
                return refuse("set-returning functions are not allowed in index predicates".to_string());
            }
            _ => return refuse(format!("set-returning functions are not allowed in {}", place.name())),
        }
        self.level().last_set = Some(call);
        Ok(())
    }
}
