//! Syntax trees of expressions to typed expressions of action programs.
//!
//! Invariant: in what comes out, columns are positions, operands have types that their operator takes, and literals are values.
//! What a program cannot express is `Stop::Beyond`, so that the query processor may try it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{EXPRESSION_DEPTH_MAX, NODES_MIN, NODES_PER_BYTE_MAX};
use crate::sql::given::Context as StatementContext;
use crate::sql::literals::{bits, interval_literal, number, text_of};
use crate::sql::names;
use crate::sql::operators::{
    is_compared_by_programs, is_comparison, no_operator, operand_type, operator_of_queries, operator_of_syntax,
    operator_of_values, symbol, unknown_operand,
};
use crate::sql::parse::Overriding;
pub use crate::sql::scope::Scope;
use crate::sql::settings::Facts;
use crate::sql::types::{Compiled, Parameters, Stop, Typed, beyond};
use crate::sql::view_checks::ViewCheck;
use messages::program::{Action, BinaryOperator, Expression, UnaryOperator};
use messages::schema::{Catalog, ProcedureSchema};
use messages::{Key, Timestamp};
use sql_syntax::TooDeep;
use sqlparser::ast::{self, Expr};
use values::cast::Context;
use values::{Type, Value, operators};

/// What a statement is compiled with.
pub struct Compiler<'a> {
    /// The tables, the session's own changes included.
    pub catalog: &'a Catalog,
    /// The same, and what the role has not in its reach: policies read it.
    pub all: &'a Catalog,
    /// Places at which policies hold something back by now.
    pub(super) guards: usize,
    /// What views ask of the rows that the statement writes.
    pub(super) view_checks: &'a [ViewCheck],
    /// What is special about the session.
    pub facts: &'a Facts<'a>,
    /// The statement's text, for positions in errors.
    pub text: &'a str,
    /// Types of the parameters, as they become known.
    pub parameters: Parameters,
    /// A fact of the session is part of what was compiled, so no other session may use it.
    pub used_facts: bool,
    /// Catalog rows of sequences and types that the statement names.
    pub relies_on: Vec<(Key, Timestamp)>,
    /// Whether it takes values of sequences.
    pub draws: bool,
    /// OVERRIDING of an INSERT.
    pub overriding: Option<Overriding>,
    /// It is known that the statement fires no triggers.
    pub fires_nothing: bool,
    /// Whether what is compiled may take values of sequences.
    pub(super) may_draw: bool,
    /// Whether subqueries are gathered that lock no rows.
    pub(super) gathers_all: bool,
    /// Whether a subquery may lock rows.
    pub(super) may_gather: bool,
    /// Subqueries that lock rows: `Action::Gather`.
    pub(super) gathers: Vec<Action>,
    /// Of the procedure whose body it compiles.
    procedure: Option<&'a ProcedureSchema>,
    depth: usize,
    nodes: usize,
}

impl<'a> Compiler<'a> {
    /// A compiler for one statement, with all that policies may read.
    pub fn of_statement(context: &'a StatementContext<'a>, declared: Vec<Option<Type>>) -> Compiler<'a> {
        let (all, view_checks) = (context.all, context.view_checks);
        Compiler { all, view_checks, ..Compiler::new(context.catalog, context.facts, context.text, declared) }
    }

    /// A compiler for one statement, whose client declared these parameter types.
    pub fn new(catalog: &'a Catalog, facts: &'a Facts<'a>, text: &'a str, declared: Vec<Option<Type>>) -> Compiler<'a> {
        let parameters = Parameters::new(declared, facts.settings.zone().clone());
        Compiler {
            catalog,
            all: catalog,
            guards: 0,
            view_checks: &[],
            facts,
            text,
            parameters,
            used_facts: false,
            relies_on: Vec::new(),
            draws: false,
            overriding: None,
            fires_nothing: false,
            may_draw: false,
            may_gather: false,
            gathers_all: false,
            gathers: Vec::new(),
            procedure: None,
            depth: 0,
            nodes: 0,
        }
    }

    /// A compiler for one statement of a procedure's body.
    pub fn of_procedure(context: &'a crate::sql::given::Context, procedure: &'a ProcedureSchema) -> Compiler<'a> {
        let declared = procedure.parameters.iter().map(|(_, data_type)| Some(*data_type)).collect();
        let compiler = Compiler::new(context.catalog, context.facts, &procedure.body, declared);
        Compiler { procedure: Some(procedure), ..compiler }
    }

    /// Whether it compiles the body of a procedure.
    pub(super) fn is_of_procedure(&self) -> bool {
        self.procedure.is_some()
    }

    /// Compiles an expression.
    pub fn expression(&mut self, expression: &Expr, scope: &Scope) -> Compiled<Typed> {
        self.depth += 1;
        self.nodes += 1;
        if self.nodes > NODES_MIN + NODES_PER_BYTE_MAX * self.text.len() {
            return Err(Stop::Error(TooDeep.into()));
        }
        let compiled = match self.depth <= EXPRESSION_DEPTH_MAX {
            true => self.expression_inside(expression, scope),
            false => Err(Stop::Beyond(TooDeep.into())),
        };
        self.depth -= 1;
        compiled
    }

    fn expression_inside(&mut self, expression: &Expr, scope: &Scope) -> Compiled<Typed> {
        match expression {
            Expr::Identifier(identifier) => self.column(None, identifier, scope),
            Expr::CompoundIdentifier(parts) => self.compound(parts, scope),
            Expr::Value(value) => self.literal(&value.value),
            Expr::Nested(inner) => self.expression(inner, scope),
            Expr::BinaryOp { left, op, right } => self.binary(expression, left, op, right, scope),
            Expr::UnaryOp { op, expr } => self.unary(op, expr, scope),
            Expr::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr,
                data_type: target,
                format: None,
                array: false,
            } => self.cast(expr, target, scope),
            Expr::TypedString(typed) => {
                let named = self.named_type(&typed.data_type)?;
                let target = named.data_type()?;
                // `bit '101'` is of any length, and `bit(2) '101'` is cut.
                if target.is_bits() {
                    return Err(beyond("a bit string with its type before it"));
                }
                match text_of(&typed.value.value) {
                    Some(text) => {
                        let value = Expression::Constant(self.parameters.read(text, target)?);
                        Ok(named.in_domain(Typed::known(value, target)))
                    }
                    None => Err(beyond("this form of literal")),
                }
            }
            Expr::Interval(interval) => interval_literal(interval),
            Expr::IsNull(operand) => self.is_null(operand, false, scope),
            Expr::IsNotNull(operand) => self.is_null(operand, true, scope),
            Expr::IsTrue(operand) => self.is_truth(operand, Value::Boolean(true), true, scope),
            Expr::IsNotTrue(operand) => self.is_truth(operand, Value::Boolean(true), false, scope),
            Expr::IsFalse(operand) => self.is_truth(operand, Value::Boolean(false), true, scope),
            Expr::IsNotFalse(operand) => self.is_truth(operand, Value::Boolean(false), false, scope),
            Expr::IsUnknown(operand) => self.is_truth(operand, Value::Null, true, scope),
            Expr::IsNotUnknown(operand) => self.is_truth(operand, Value::Null, false, scope),
            Expr::IsDistinctFrom(left, right) => self.is_distinct(left, right, false, scope),
            Expr::IsNotDistinctFrom(left, right) => self.is_distinct(left, right, true, scope),
            Expr::Between { expr, negated, low, high } => {
                let low = self.comparison(BinaryOperator::GreaterOrEqual, expr, low, scope)?;
                let high = self.comparison(BinaryOperator::LessOrEqual, expr, high, scope)?;
                Ok(Typed::boolean(negate(*negated, Expression::And(vec![low, high]))))
            }
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated, scope),
            Expr::AnyOp { left, compare_op, right, .. } => self.any(left, compare_op, right, false, scope),
            Expr::AllOp { left, compare_op, right } => self.any(left, compare_op, right, true, scope),
            Expr::Array(array) => self.array(&array.elem, scope),
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, false, *negated, scope)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, true, *negated, scope)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope)
            }
            other => self.call_like(other, scope),
        }
    }

    /// An expression that must be boolean. Errors: 42804 that names the clause.
    pub fn condition(&mut self, expression: &Expr, clause: &str, scope: &Scope) -> Compiled<Expression> {
        let typed = self.expression(expression, scope)?;
        if let Some(other) = typed.data_type.filter(|data_type| *data_type != Type::Boolean) {
            return Err(SqlError::new(
                sqlstate::DATATYPE_MISMATCH,
                format!("argument of {clause} must be type boolean, not type {}", other.base_name()),
            )
            .into());
        }
        Ok(self.parameters.coerce(typed, Type::Boolean, Context::Implicit)?)
    }

    /// An expression that must be of this type, cast silently where SQL does.
    pub fn typed_as(&mut self, expression: &Expr, target: Type, scope: &Scope) -> Compiled<Expression> {
        let typed = self.expression(expression, scope)?;
        Ok(self.parameters.coerce(typed, target, Context::Implicit)?)
    }

    fn compound(&mut self, parts: &[ast::Ident], scope: &Scope) -> Compiled<Typed> {
        match parts {
            [table, column] => self.column(Some(table), column, scope),
            [schema, table, column] if names::identifier(schema) == "public" => self.column(Some(table), column, scope),
            _ => Err(beyond("a name of several parts")),
        }
    }

    fn column(&mut self, qualifier: Option<&ast::Ident>, column: &ast::Ident, scope: &Scope) -> Compiled<Typed> {
        let name = names::identifier(column);
        let qualifier_name = qualifier.map(names::identifier);
        if let Some((position, data_type)) = scope.column(qualifier_name.as_deref(), &name) {
            if data_type.has_labels() && scope.is_enum_domain(position) {
                return Err(beyond("a domain over an enum"));
            }
            return Ok(Typed::known(Expression::Column(position as u16), data_type));
        }
        if let Some(parameter) = self.named_parameter(qualifier_name.as_deref(), &name) {
            return Ok(parameter);
        }
        if matches!(name.as_str(), "ctid" | "xmin" | "xmax" | "cmin" | "cmax" | "tableoid") {
            return Err(SqlError::unsupported(format!("system column \"{name}\"")).into());
        }
        // Words without parentheses that are functions, such as current_user, come as identifiers.
        if let (None, None, Some(value)) = (qualifier, column.quote_style, self.fact(&name)) {
            return Ok(value);
        }
        let error = match &qualifier_name {
            Some(table) if !scope.has_table(table) => {
                SqlError::new(sqlstate::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{table}\""))
                    .at(qualifier.and_then(|ident| names::place(ident, self.text)))
            }
            Some(table) => SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column {table}.{name} does not exist")),
            None => SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")),
        };
        Err(error.at(names::place(qualifier.unwrap_or(column), self.text)).into())
    }

    /// A parameter of the procedure: a column of the same name has been preferred, as PostgreSQL does it.
    fn named_parameter(&self, qualifier: Option<&str>, name: &str) -> Option<Typed> {
        let procedure = self.procedure.filter(|one| qualifier.is_none_or(|qualifier| qualifier == one.name))?;
        let place = procedure.parameters.iter().position(|(parameter, _)| parameter == name)?;
        Some(Typed::known(Expression::Parameter(place as u16), procedure.parameters[place].1))
    }

    fn literal(&mut self, value: &ast::Value) -> Compiled<Typed> {
        Ok(match value {
            ast::Value::Number(digits, _) => number(digits)?,
            ast::Value::Boolean(truth) => Typed::constant(Value::Boolean(*truth)),
            ast::Value::Null => Typed::constant(Value::Null),
            ast::Value::Placeholder(name) => self.parameters.parameter(name)?,
            ast::Value::SingleQuotedByteStringLiteral(digits) => bits(digits).map_err(Stop::Beyond)?,
            ast::Value::HexStringLiteral(digits) => bits(&format!("x{digits}")).map_err(Stop::Beyond)?,
            other => match text_of(other) {
                Some(text) => Typed { expression: Expression::Constant(Value::text(text)), data_type: None },
                None => return Err(beyond("this form of literal")),
            },
        })
    }

    fn binary(
        &mut self,
        whole: &Expr,
        left: &Expr,
        operator: &ast::BinaryOperator,
        right: &Expr,
        scope: &Scope,
    ) -> Compiled<Typed> {
        use ast::BinaryOperator as Op;
        let operator = match operator {
            Op::And | Op::Or => return self.connective(whole, operator, scope),
            Op::PGLikeMatch => return self.like(left, right, false, false, scope),
            Op::PGILikeMatch => return self.like(left, right, true, false, scope),
            Op::PGNotLikeMatch => return self.like(left, right, false, true, scope),
            Op::PGNotILikeMatch => return self.like(left, right, true, true, scope),
            other => operator_of_syntax(other).ok_or_else(|| beyond("this operator"))?,
        };
        if is_comparison(operator) {
            return Ok(Typed::boolean(self.comparison(operator, left, right, scope)?));
        }
        let left = self.expression(left, scope)?;
        let right = self.expression(right, scope)?;
        self.arithmetic(operator, left, right)
    }

    /// AND and OR: a chain of them is one list, however long.
    fn connective(&mut self, whole: &Expr, operator: &ast::BinaryOperator, scope: &Scope) -> Compiled<Typed> {
        let (mut operands, mut rest) = (Vec::new(), vec![whole]);
        while let Some(next) = rest.pop() {
            match next {
                Expr::BinaryOp { left, op, right } if op == operator => rest.extend([right.as_ref(), left.as_ref()]),
                operand => operands.push(operand),
            }
        }
        let clause = operator.to_string();
        let list = operands
            .into_iter()
            .map(|operand| self.condition(operand, &clause, scope))
            .collect::<Compiled<Vec<_>>>()?;
        Ok(Typed::boolean(if *operator == ast::BinaryOperator::And {
            Expression::And(list)
        } else {
            Expression::Or(list)
        }))
    }

    fn comparison(
        &mut self,
        operator: BinaryOperator,
        left: &Expr,
        right: &Expr,
        scope: &Scope,
    ) -> Compiled<Expression> {
        if let (Expr::Tuple(left), Expr::Tuple(right)) = (left, right) {
            return self.row_comparison(operator, left, right, scope);
        }
        let left = self.expression(left, scope)?;
        let right = self.expression(right, scope)?;
        if let (Some(one), Some(other)) = (left.data_type, right.data_type)
            && !is_compared_by_programs(one, other)
        {
            return Err(beyond("a comparison of these types"));
        }
        Ok(self.compare(operator, left, right)?)
    }

    /// A comparison of two compiled operands.
    pub fn compare(&mut self, operator: BinaryOperator, left: Typed, right: Typed) -> Result<Expression> {
        let (left, right) = self.alike(left, right, symbol(operator))?;
        Ok(Expression::Binary(operator, Box::new(left), Box::new(right)))
    }

    /// Two operands of types that compare. Errors: 42883.
    pub(super) fn alike(&mut self, left: Typed, right: Typed, symbol: &str) -> Result<(Expression, Expression)> {
        match (left.data_type, right.data_type) {
            (Some(one), Some(other)) => {
                // An integer beside an identifier is one.
                if one.is_whole() && other.is_whole() && (one == Type::Oid) != (other == Type::Oid) {
                    let mut as_oid = |typed| self.parameters.coerce(typed, Type::Oid, Context::Implicit);
                    Ok((as_oid(left)?, as_oid(right)?))
                } else if operators::comparable(one, other) {
                    Ok((left.expression, right.expression))
                } else {
                    Err(no_operator(symbol, &left, &right))
                }
            }
            (Some(known), _) | (_, Some(known)) if !operators::comparable(known, known) => {
                Err(no_operator(symbol, &left, &right))
            }
            (Some(known), None) => {
                let right = self.parameters.coerce(right, operand_type(known), Context::Implicit)?;
                Ok((left.expression, right))
            }
            (None, Some(known)) => {
                let left = self.parameters.coerce(left, operand_type(known), Context::Implicit)?;
                Ok((left, right.expression))
            }
            (None, None) => Ok((
                self.parameters.coerce(left, Type::Text, Context::Implicit)?,
                self.parameters.coerce(right, Type::Text, Context::Implicit)?,
            )),
        }
    }

    fn row_comparison(
        &mut self,
        operator: BinaryOperator,
        left: &[Expr],
        right: &[Expr],
        scope: &Scope,
    ) -> Compiled<Expression> {
        if left.len() != right.len() {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions").into());
        }
        if !matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual) {
            return Err(beyond("an ordering of rows"));
        }
        let pairs = left
            .iter()
            .zip(right)
            .map(|(left, right)| self.comparison(operator, left, right, scope))
            .collect::<Compiled<Vec<_>>>()?;
        Ok(if operator == BinaryOperator::Equal { Expression::And(pairs) } else { Expression::Or(pairs) })
    }

    fn arithmetic(&mut self, operator: BinaryOperator, left: Typed, right: Typed) -> Compiled<Typed> {
        let is_array = |typed: &Typed| matches!(typed.data_type, Some(Type::Array(_)));
        if operator == BinaryOperator::Concat && (is_array(&left) || is_array(&right)) {
            return Err(beyond("a concatenation of arrays"));
        }
        if let Some(what) = operator_of_queries(operator, [left.data_type, right.data_type]) {
            return Err(beyond(what));
        }
        let known_operator = operator_of_values(operator);
        let (left_type, right_type) = match (left.data_type, right.data_type) {
            (Some(left), Some(right)) => (left, right),
            (None, None) if operator == BinaryOperator::Concat => (Type::Text, Type::Text),
            (None, None) => {
                return Err(SqlError::new(
                    sqlstate::AMBIGUOUS_FUNCTION,
                    format!("operator is not unique: unknown {} unknown", symbol(operator)),
                )
                .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
                .into());
            }
            (Some(known), None) => (known, unknown_operand(operator, known, false)),
            (None, Some(known)) => (unknown_operand(operator, known, true), known),
        };
        let Some(result) = operators::binary_type(known_operator, left_type, right_type) else {
            return Err(no_operator(symbol(operator), &left, &right).into());
        };
        let left = if left.data_type.is_none() {
            self.parameters.coerce(left, left_type, Context::Implicit)?
        } else {
            left.expression
        };
        let right = if right.data_type.is_none() {
            self.parameters.coerce(right, right_type, Context::Implicit)?
        } else {
            right.expression
        };
        Ok(Typed::known(Expression::Binary(operator, Box::new(left), Box::new(right)), result))
    }

    fn unary(&mut self, operator: &ast::UnaryOperator, operand: &Expr, scope: &Scope) -> Compiled<Typed> {
        match operator {
            ast::UnaryOperator::Not => {
                let operand = self.condition(operand, "NOT", scope)?;
                Ok(Typed::boolean(negate(true, operand)))
            }
            ast::UnaryOperator::Minus => {
                // The least integer of a type has no positive twin, so the sign belongs to the literal.
                if let Expr::Value(value) = operand
                    && let ast::Value::Number(digits, _) = &value.value
                {
                    return Ok(number(&format!("-{digits}"))?);
                }
                let operand = self.expression(operand, scope)?;
                let from = operand.data_type.unwrap_or(Type::Double);
                if from.is_of_queries() {
                    return Err(beyond("this operator"));
                }
                let expression = self.parameters.coerce(operand, from, Context::Implicit)?;
                match operators::unary_type(operators::UnaryOperator::Negate, from) {
                    Some(result) => {
                        Ok(Typed::known(Expression::Unary(UnaryOperator::Minus, Box::new(expression)), result))
                    }
                    None => Err(SqlError::new(
                        sqlstate::UNDEFINED_FUNCTION,
                        format!("operator does not exist: - {}", from.base_name()),
                    )
                    .into()),
                }
            }
            ast::UnaryOperator::Plus => self.expression(operand, scope),
            _ => Err(beyond("this operator")),
        }
    }

    fn is_null(&mut self, operand: &Expr, negated: bool, scope: &Scope) -> Compiled<Typed> {
        let operand = self.expression(operand, scope)?;
        let target = operand.data_type.unwrap_or(Type::Text);
        let operand = self.parameters.coerce(operand, target, Context::Implicit)?;
        Ok(Typed::boolean(Expression::IsNull(Box::new(operand), negated)))
    }

    /// IS TRUE and its kin: equality of truth values, NULL being one of them.
    fn is_truth(&mut self, operand: &Expr, truth: Value, equal: bool, scope: &Scope) -> Compiled<Typed> {
        let operand = self.condition(operand, "IS", scope)?;
        Ok(Typed::boolean(Expression::IsDistinct(Box::new(operand), Box::new(Expression::Constant(truth)), equal)))
    }

    fn is_distinct(&mut self, left: &Expr, right: &Expr, negated: bool, scope: &Scope) -> Compiled<Typed> {
        let left = self.expression(left, scope)?;
        let right = self.expression(right, scope)?;
        let (left, right) = self.alike(left, right, "=")?;
        Ok(Typed::boolean(Expression::IsDistinct(Box::new(left), Box::new(right), negated)))
    }

    pub(super) fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool, scope: &Scope) -> Compiled<Typed> {
        if let Expr::Tuple(_) = operand {
            let any = list
                .iter()
                .map(|row| self.comparison(BinaryOperator::Equal, operand, row, scope))
                .collect::<Compiled<Vec<_>>>()?;
            return Ok(Typed::boolean(negate(negated, Expression::Or(any))));
        }
        let mut all = vec![self.expression(operand, scope)?];
        for item in list {
            all.push(self.expression(item, scope)?);
        }
        let operand = all.remove(0);
        let target = match operand.data_type {
            Some(known) => known.unmodified(),
            None => self.parameters.common_type(&all, "IN")?.unmodified(),
        };
        let operand = Typed::known(self.parameters.coerce(operand, target, Context::Implicit)?, target);
        let mut expressions = Vec::with_capacity(all.len());
        let several = all.len() > 1;
        for item in all {
            // Untyped items of a list are of its common type, a single one is what an operator takes.
            let item = match item.data_type {
                None if several => Typed::known(self.parameters.coerce(item, target, Context::Implicit)?, target),
                _ => item,
            };
            // Only its type counts here: the operand itself is not copied for each item.
            let subject = Typed::known(Expression::Constant(Value::Null), target);
            expressions.push(self.alike(subject, item, "=")?.1);
        }
        Ok(Typed::boolean(Expression::In(Box::new(operand.expression), expressions, negated)))
    }

    fn like(
        &mut self,
        operand: &Expr,
        pattern: &Expr,
        ignore_case: bool,
        negated: bool,
        scope: &Scope,
    ) -> Compiled<Typed> {
        let operand = self.expression(operand, scope)?;
        let pattern = self.expression(pattern, scope)?;
        let strings =
            [&operand, &pattern].iter().all(|typed| typed.data_type.is_none_or(|data_type| data_type.is_string()));
        if !strings {
            let symbol = if ignore_case { "~~*" } else { "~~" };
            // Those of other types the query processor has.
            return Err(Stop::Beyond(no_operator(symbol, &operand, &pattern)));
        }
        let operand = self.parameters.coerce(operand, Type::Text, Context::Implicit)?;
        let pattern = self.parameters.coerce(pattern, Type::Text, Context::Implicit)?;
        Ok(Typed::boolean(Expression::Like(Box::new(operand), Box::new(pattern), ignore_case, negated)))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Expr>,
        scope: &Scope,
    ) -> Compiled<Typed> {
        let all = conditions.iter().map(|when| &when.result).chain(otherwise);
        if all.into_iter().any(divides_by_zero) {
            return Err(beyond("a division by zero in CASE"));
        }
        let mut tests = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            tests.push(match operand {
                None => self.condition(&when.condition, "CASE/WHEN", scope)?,
                Some(operand) => self.comparison(BinaryOperator::Equal, operand, &when.condition, scope)?,
            });
            results.push(self.expression(&when.result, scope)?);
        }
        if let Some(otherwise) = otherwise {
            results.push(self.expression(otherwise, scope)?);
        }
        let (mut results, target) = self.unify(results, "CASE")?;
        let otherwise = otherwise.and_then(|_| results.pop()).map(Box::new);
        Ok(Typed::known(Expression::Case(tests.into_iter().zip(results).collect(), otherwise), target))
    }

    /// Casts all to the type that they share.
    pub fn unify(&mut self, all: Vec<Typed>, what: &str) -> Result<(Vec<Expression>, Type)> {
        let target = self.parameters.common_type(&all, what)?;
        let all = all
            .into_iter()
            .map(|typed| self.parameters.coerce(typed, target, Context::Implicit))
            .collect::<Result<Vec<_>>>()?;
        Ok((all, target))
    }
}

/// Whether a literal is divided by zero, which is found out before any row is read.
fn divides_by_zero(expression: &Expr) -> bool {
    let is_zero = |right: &Expr| matches!(right, Expr::Value(value) if matches!(&value.value, ast::Value::Number(digits, _) if digits.bytes().all(|digit| digit == b'0')));
    match expression {
        Expr::Nested(inner) => divides_by_zero(inner),
        Expr::BinaryOp { left, op: ast::BinaryOperator::Divide | ast::BinaryOperator::Modulo, right } => {
            is_zero(right) || divides_by_zero(left) || divides_by_zero(right)
        }
        Expr::BinaryOp { left, right, .. } => divides_by_zero(left) || divides_by_zero(right),
        _ => false,
    }
}

pub(super) fn negate(negated: bool, expression: Expression) -> Expression {
    if negated { Expression::Unary(UnaryOperator::Not, Box::new(expression)) } else { expression }
}
