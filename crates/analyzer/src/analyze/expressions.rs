//! Expressions: each node of the syntax tree, and the simple ones of them in place.

use grammar::ast::{CaseArm, ExpressionId, ExpressionNode as Syntax, SqlValue, Step};

use super::levels::Place;
use super::{Analyzer, Result, error_at, not_built};
use crate::coercion::SourceKind;
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, UNDEFINED_OBJECT};
use crate::names::type_name;
use crate::tree::{Constant, ExprId, Form, Node};
use crate::types::{
    BIT, BOOL, CollationId, DATE, INT4, INT8, NAME, NO_MODIFIER, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ,
    TypeId, Typed, UNKNOWN,
};

/// The type of a number as it is written. The least integer has its sign by now, without which it would be a bigint.
fn type_of_digits(text: &str) -> TypeId {
    match text.parse::<i64>() {
        Ok(number) if i32::try_from(number).is_ok() => INT4,
        Ok(_) => INT8,
        Err(_) => NUMERIC,
    }
}

impl<'a> Analyzer<'a> {
    /// An expression at a place of the query.
    pub fn expression_at(&mut self, number: ExpressionId, place: Place) -> Result<ExprId> {
        let before = std::mem::replace(&mut self.level().place, place);
        let result = self.expression(number);
        self.level().place = before;
        result
    }

    /// An expression.
    pub fn expression(&mut self, number: ExpressionId) -> Result<ExprId> {
        self.deeper(|analyzer| analyzer.node(number))
    }

    fn node(&mut self, number: ExpressionId) -> Result<ExprId> {
        let arena = self.arena;
        let (node, at) = (&arena[number].node, arena[number].at);
        match node {
            Syntax::Null => Ok(self.constant(Constant::Null, UNKNOWN, at)),
            Syntax::Boolean(value) => Ok(self.constant(Constant::Boolean(*value), BOOL, at)),
            Syntax::Integer(value) => Ok(self.constant(Constant::Number(value.to_string()), INT4, at)),
            Syntax::Number(text) => Ok(self.constant(Constant::Number(text.clone()), type_of_digits(text), at)),
            Syntax::String(text) => Ok(self.constant(Constant::Text(text.clone()), UNKNOWN, at)),
            Syntax::BitString(text) => Ok(self.constant(Constant::Bits(text.clone()), BIT, at)),
            Syntax::HexString(text) => Ok(self.constant(Constant::Bits(format!("x{text}")), BIT, at)),
            Syntax::Parameter(parameter) => self.parameter(*parameter, at),
            Syntax::Column { names, star: false } => self.column(names, at),
            Syntax::Column { names, star: true } => self.whole_row_star(names, at),
            Syntax::Indirection { of, steps } => self.indirection(*of, steps),
            Syntax::Operator { operator, left, right } => self.operation(operator, *left, *right, at),
            Syntax::Quantified { operator, all, left, array } => {
                let (left, array) = (self.expression(*left)?, self.expression(*array)?);
                self.array_operator(operator, *all, left, array, at)
            }
            Syntax::QuantifiedQuery { operator, all, left, query } => {
                self.quantified_query(operator, *all, *left, *query, at)
            }
            Syntax::Like { kind, negated, value, pattern, escape } => {
                self.like(*kind, *negated, (*value, *pattern, *escape), at)
            }
            Syntax::Between { negated, symmetric, value, low, high } => {
                self.between(*negated, *symmetric, (*value, *low, *high), at)
            }
            Syntax::In { negated, value, list } => self.membership(*negated, *value, list, at),
            Syntax::InQuery { negated, value, query } => self.in_query(*negated, *value, *query, at),
            Syntax::Distinct { negated, left, right } => self.distinct(*negated, *left, *right, at),
            Syntax::And(parts) => self.connective(parts, true, at),
            Syntax::Or(parts) => self.connective(parts, false, at),
            Syntax::Not(value) => {
                let value = self.expression(*value)?;
                let value = self.condition(value, "NOT")?;
                Ok(self.plain(Node::Not(value), BOOL, Some(at)))
            }
            Syntax::IsNull { negated, value } => {
                let value = self.expression(*value)?;
                let row = self.is_row(value);
                Ok(self.plain(Node::NullTest { value, negated: *negated, row }, BOOL, Some(at)))
            }
            Syntax::IsBoolean { negated, wanted, value } => self.boolean_test(*negated, *wanted, *value, at),
            Syntax::Cast { value, to } => self.cast(*value, to, at),
            Syntax::Collate { value, collation } => self.collate(*value, collation, at),
            Syntax::Call(call) => self.call(call, at),
            Syntax::SqlValue { value, precision } => Ok(self.sql_value(*value, *precision, at)),
            Syntax::Case { operand, arms, otherwise } => self.case(*operand, arms, *otherwise, at),
            Syntax::Coalesce(list) => self.one_of(list, "COALESCE", at),
            Syntax::Greatest(list) => self.one_of(list, "GREATEST", at),
            Syntax::Least(list) => self.one_of(list, "LEAST", at),
            Syntax::NullIf(left, right) => self.null_if(*left, *right, at),
            Syntax::Row { fields, .. } => self.row(fields, at),
            Syntax::Array(elements) => self.array(elements, None, at),
            Syntax::ArrayQuery(query) => self.array_query(*query, at),
            Syntax::Exists(query) => self.exists(*query, at),
            Syntax::Subquery(query) => self.value_query(*query, at),
            Syntax::Grouping(list) => self.grouping_function(list, at),
            Syntax::Default => error_at(SYNTAX_ERROR, "DEFAULT is not allowed in this context", at),
            Syntax::Other(what) => not_built(what, at),
        }
    }

    pub fn constant(&mut self, value: Constant, id: TypeId, at: impl Into<Option<u32>>) -> ExprId {
        self.plain(Node::Constant(value), id, at.into())
    }

    fn parameter(&mut self, number: i32, at: u32) -> Result<ExprId> {
        let id = self.parameters.use_of(number.max(0) as u32).map_err(|error| error.at(at))?;
        Ok(self.plain(Node::Parameter(number as u32), id, Some(at)))
    }

    /// What an expression is beside its type, for conversions.
    pub fn source_kind(&self, of: ExprId) -> SourceKind {
        match self.tree[of].node {
            Node::Constant(_) => SourceKind::Literal,
            Node::Parameter(_) => SourceKind::Parameter,
            Node::Row { .. } | Node::WholeRow { .. } => SourceKind::Row,
            _ => SourceKind::Other,
        }
    }

    fn is_row(&self, of: ExprId) -> bool {
        let id = self.type_of(of);
        id == crate::types::RECORD || self.catalog.is_composite(id)
    }

    fn connective(&mut self, parts: &[ExpressionId], and: bool, at: u32) -> Result<ExprId> {
        let name = if and { "AND" } else { "OR" };
        let mut made = Vec::with_capacity(parts.len());
        for part in parts {
            let part = self.expression(*part)?;
            made.push(self.condition(part, name)?);
        }
        let node = if and { Node::And(made) } else { Node::Or(made) };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    fn boolean_test(&mut self, negated: bool, wanted: Option<bool>, value: ExpressionId, at: u32) -> Result<ExprId> {
        let clause = match (wanted, negated) {
            (Some(true), false) => "IS TRUE",
            (Some(true), true) => "IS NOT TRUE",
            (Some(false), false) => "IS FALSE",
            (Some(false), true) => "IS NOT FALSE",
            (None, false) => "IS UNKNOWN",
            (None, true) => "IS NOT UNKNOWN",
        };
        let value = self.expression(value)?;
        let value = self.condition(value, clause)?;
        Ok(self.plain(Node::BooleanTest { value, negated, wanted }, BOOL, Some(at)))
    }

    fn collate(&mut self, value: ExpressionId, name: &[grammar::ast::Name], at: u32) -> Result<ExprId> {
        let value = self.expression(value)?;
        let id = self.type_of(value);
        let collatable = self.catalog.type_row(self.catalog.base_type(id)).is_some_and(|row| row.collation.0 != 0);
        if !collatable && id != UNKNOWN {
            let message = format!("collations are not supported by type {}", type_name(self.catalog, id));
            return error_at(DATATYPE_MISMATCH, message, at);
        }
        let collation = self.collation(name, at)?;
        let typed = Typed { collation, ..self.tree[value].typed };
        Ok(self.add(Node::Collate { value, collation }, typed, Some(at)))
    }

    /// A collation by its name.
    pub fn collation(&mut self, name: &[grammar::ast::Name], at: u32) -> Result<CollationId> {
        let (schema, text) = match name {
            [name] => (None, name.text.as_str()),
            [.., schema, name] => (Some(schema.text.as_str()), name.text.as_str()),
            [] => (None, ""),
        };
        if let Some(schema) = schema
            && !self.catalog.has_schema(schema)
        {
            return error_at(crate::error::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"), at);
        }
        self.catalog.collation_named(schema, text).ok_or_else(|| {
            let shown = super::missing::written(name);
            let message = format!("collation \"{shown}\" for encoding \"UTF8\" does not exist");
            AnalysisError::new(UNDEFINED_OBJECT, message).at(at)
        })
    }

    fn sql_value(&mut self, value: SqlValue, precision: Option<i32>, at: u32) -> ExprId {
        let id = match value {
            SqlValue::CurrentDate => DATE,
            SqlValue::CurrentTime => TIMETZ,
            SqlValue::CurrentTimestamp => TIMESTAMPTZ,
            SqlValue::LocalTime => TIME,
            SqlValue::LocalTimestamp => TIMESTAMP,
            _ => NAME,
        };
        // More digits than there are count as all of them.
        let modifier = precision.map_or(NO_MODIFIER, |digits| digits.min(6));
        let typed = self.typed(id, modifier);
        self.add(Node::SqlValue { value, precision }, typed, Some(at))
    }

    fn case(
        &mut self,
        operand: Option<ExpressionId>,
        arms: &[CaseArm],
        otherwise: Option<ExpressionId>,
        at: u32,
    ) -> Result<ExprId> {
        let set = self.level().last_set;
        let mut value = None;
        let mut stands_for = None;
        if let Some(operand) = operand {
            let mut operand = self.expression(operand)?;
            if self.type_of(operand) == UNKNOWN {
                operand = self.as_text(operand)?;
            }
            let typed = self.tree[operand].typed;
            value = Some(operand);
            stands_for = Some(self.add(Node::CaseOperand, typed, None));
        }
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for arm in arms {
            let mut condition = self.expression(arm.condition)?;
            if let Some(stands_for) = stands_for {
                condition = self.operator(None, "=", Some(stands_for), condition, Some(arm.at))?;
            }
            conditions.push(self.condition(condition, "CASE/WHEN")?);
            results.push(self.expression(arm.result)?);
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.expression(otherwise)?,
            None => self.constant(Constant::Null, UNKNOWN, None),
        };
        let all: Vec<ExprId> = std::iter::once(otherwise).chain(results.iter().copied()).collect();
        let common = self.common(&all, "CASE")?;
        let otherwise = self.made_common(otherwise, common, "CASE/ELSE")?;
        let mut made = Vec::with_capacity(results.len());
        for (condition, result) in conditions.into_iter().zip(results) {
            made.push((condition, self.made_common(result, common, "CASE/WHEN")?));
        }
        self.no_set_since(set, "CASE")?;
        let parts: Vec<ExprId> = std::iter::once(otherwise).chain(made.iter().map(|(_, result)| *result)).collect();
        let typed = self.common_typed(&parts, common);
        Ok(self.add(Node::Case { operand: value, arms: made, otherwise }, typed, Some(at)))
    }

    /// The type of several expressions that were converted to it: a modifier that all share is kept.
    pub fn common_typed(&self, parts: &[ExprId], id: TypeId) -> Typed {
        let all: Vec<Typed> = parts.iter().map(|part| self.tree[*part].typed).collect();
        self.typed(id, crate::common_type::common_modifier(&all, id))
    }

    fn no_set_since(&mut self, before: Option<ExprId>, name: &str) -> Result<()> {
        match self.level().last_set {
            Some(last) if Some(last) != before => {
                let message = format!("set-returning functions are not allowed in {name}");
                let hint = "You might be able to move the set-returning function into a LATERAL FROM item.";
                let error = AnalysisError::new(FEATURE_NOT_SUPPORTED, message).with_hint(hint);
                Err(error.at_place(self.location(last)))
            }
            _ => Ok(()),
        }
    }

    /// COALESCE, GREATEST, LEAST.
    fn one_of(&mut self, list: &[ExpressionId], name: &'static str, at: u32) -> Result<ExprId> {
        let set = self.level().last_set;
        let mut parts = Vec::with_capacity(list.len());
        for part in list {
            parts.push(self.expression(*part)?);
        }
        let common = self.common(&parts, name)?;
        for part in &mut parts {
            *part = self.made_common(*part, common, name)?;
        }
        let typed = self.common_typed(&parts, common);
        if name == "COALESCE" {
            self.no_set_since(set, name)?;
            return Ok(self.add(Node::Coalesce(parts), typed, Some(at)));
        }
        if self.sort_operators(common).less.is_none() {
            let message =
                format!("could not identify a comparison function for type {}", type_name(self.catalog, common));
            return error_at(crate::error::UNDEFINED_FUNCTION, message, None);
        }
        Ok(self.add(Node::Extreme { greatest: name == "GREATEST", arguments: parts }, typed, Some(at)))
    }

    /// Fields, subscripts and what else follows a value, one after the other.
    fn indirection(&mut self, of: ExpressionId, steps: &'a [Step]) -> Result<ExprId> {
        let mut value = self.expression(of)?;
        let at = self.location(value).unwrap_or(self.arena[of].at);
        let mut subscripts: Vec<&'a Step> = Vec::new();
        for step in steps {
            match step {
                Step::Subscript(_) | Step::Slice(..) => subscripts.push(step),
                Step::Star(at) => {
                    let message = "row expansion via \"*\" is not supported here";
                    return error_at(FEATURE_NOT_SUPPORTED, message, *at);
                }
                Step::Field(name) => {
                    if !subscripts.is_empty() {
                        value = self.subscript(value, &std::mem::take(&mut subscripts), None)?;
                    }
                    value = match self.projection(&name.text, value, at)? {
                        Some(field) => field,
                        None => return Err(self.unknown_field(value, &name.text, at)),
                    };
                }
            }
        }
        if !subscripts.is_empty() {
            value = self.subscript(value, &subscripts, None)?;
        }
        Ok(value)
    }

    fn unknown_field(&self, value: ExprId, name: &str, at: u32) -> AnalysisError {
        let id = self.type_of(value);
        let shown = type_name(self.catalog, id);
        if let Node::WholeRow { levels_up, entry } = self.tree[value].node {
            let entry = &self.levels[self.levels.len() - 1 - levels_up as usize].entries[entry as usize];
            let message = format!("column {}.{name} does not exist", entry.name);
            return AnalysisError::new(crate::error::UNDEFINED_COLUMN, message).at(at);
        }
        if self.catalog.is_composite(id) {
            let message = format!("column \"{name}\" not found in data type {shown}");
            return AnalysisError::new(crate::error::UNDEFINED_COLUMN, message).at(at);
        }
        if id == crate::types::RECORD {
            let message = format!("could not identify column \"{name}\" in record data type");
            return AnalysisError::new(crate::error::UNDEFINED_COLUMN, message).at(at);
        }
        let message = format!("column notation .{name} applied to type {shown}, which is not a composite type");
        AnalysisError::new(crate::error::WRONG_OBJECT_TYPE, message).at(at)
    }

    /// `t.*` within an expression is the row of `t`.
    fn whole_row_star(&mut self, names: &'a [grammar::ast::Name], at: u32) -> Result<ExprId> {
        let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        let (schema, name) = match texts.as_slice() {
            [] => return error_at(FEATURE_NOT_SUPPORTED, "row expansion via \"*\" is not supported here", at),
            [name] => (None, *name),
            [schema, name] => (Some(*schema), *name),
            [database, schema, name] => {
                self.own_database(names, database, at)?;
                (Some(*schema), *name)
            }
            _ => {
                let shown = super::missing::written(names);
                let message = format!("improper qualified name (too many dotted names): {shown}.*");
                return error_at(SYNTAX_ERROR, message, at);
            }
        };
        match self.item_named(schema, name, at)? {
            Some(found) => self.whole_row(&found, at),
            None => Err(self.missing_relation(schema, name, at)),
        }
    }

    /// Whether the form of a value can be text: what LIKE and names of fields take.
    pub fn as_text(&mut self, value: ExprId) -> Result<ExprId> {
        self.coerce(value, TEXT, NO_MODIFIER, crate::facts::CastContext::Implicit, Form::Implicit, None)
    }
}
