//! Operators and the forms of SQL that are like them.

use super::{Lower, Lowered};
use crate::ast::{
    Argument, CallForm, CaseArm, Expression, ExpressionId, ExpressionNode, FunctionCall, LikeKind, Name, OperatorName,
    Step,
};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn add(&mut self, node: ExpressionNode, at: u32) -> ExpressionId {
        self.arena.expressions(Expression { node, at })
    }

    pub(super) fn expression(&mut self, node: Node) -> Lowered<ExpressionId> {
        match self.tree.symbol(node) {
            g::a_expr | g::b_expr => self.operation(node),
            g::c_expr => self.primary(node),
            g::columnref => self.column(node),
            g::AexprConst => self.constant(node),
            g::array_expr => self.array(node),
            g::case_expr => self.case(node),
            g::func_application => self.application(node),
            g::func_expr => self.call_with_clauses(node),
            g::func_expr_common_subexpr => self.common_call(node),
            _ => Err(self.unexpected(node)),
        }
    }

    /// `a_expr` and `b_expr`: they share their rules, the second has fewer.
    fn operation(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = |lower: &Self, part: usize| lower.at(children[part]);
        Ok(match (shape, children) {
            ([_, g::TYPECAST, _], &[value, mark, to]) => {
                let (value, to) = (self.expr(value), Box::new(self.type_name(to)?));
                self.add(ExpressionNode::Cast { value, to }, self.at(mark))
            }
            ([_, g::COLLATE, _], &[value, mark, name]) => {
                let (value, collation) = (self.expr(value), self.any_name(name));
                self.add(ExpressionNode::Collate { value, collation }, self.at(mark))
            }
            ([_, g::AT, ..], &[value, mark, _, _, zone]) => {
                let arguments = [self.expr(zone), self.expr(value)];
                self.implied("timezone", &arguments, CallForm::Sql, self.at(mark))
            }
            ([g::MINUS, _], &[mark, value]) => self.negation(mark, value),
            ([g::NOT | g::NOT_LA, _], &[_, value]) => {
                let value = self.expr(value);
                self.add(ExpressionNode::Not(value), at(self, 0))
            }
            ([g::PLUS | g::qual_Op, _], &[mark, right]) => {
                let (operator, right) = (self.operator(mark), self.expr(right));
                self.add(ExpressionNode::Operator { operator, left: None, right }, at(self, 0))
            }
            ([_, g::AND, _], &[left, mark, right]) => self.connective(left, mark, right, true),
            ([_, g::OR, _], &[left, mark, right]) => self.connective(left, mark, right, false),
            ([g::row, g::OVERLAPS, g::row], &[left, mark, right]) => self.overlaps(left, mark, right)?,
            ([_, g::IS, ..], _) => self.test(node)?,
            ([_, test @ (g::ISNULL | g::NOTNULL)], &[value, mark]) => {
                let value = self.expr(value);
                self.add(ExpressionNode::IsNull { negated: *test == g::NOTNULL, value }, self.at(mark))
            }
            ([_, g::LIKE | g::ILIKE | g::SIMILAR, ..], _) => self.like(node, false)?,
            ([_, g::NOT_LA, g::LIKE | g::ILIKE | g::SIMILAR, ..], _) => self.like(node, true)?,
            ([_, g::BETWEEN, ..], _) => self.between(node, false),
            ([_, g::NOT_LA, g::BETWEEN, ..], _) => self.between(node, true),
            ([_, g::IN_P, _], &[value, mark, list]) => self.membership(value, mark, list, false),
            ([_, g::NOT_LA, g::IN_P, _], &[value, mark, _, list]) => self.membership(value, mark, list, true),
            ([_, g::subquery_Op, ..], _) => self.quantified(node)?,
            ([g::UNIQUE, ..], _) => return Err(self.not_supported(node, "UNIQUE predicate is not yet implemented")),
            ([g::DEFAULT], _) => self.add(ExpressionNode::Default, at(self, 0)),
            (&[left, _, right], &[first, mark, second]) if left == right => {
                let (left, operator, right) = (Some(self.expr(first)), self.operator(mark), self.expr(second));
                self.add(ExpressionNode::Operator { operator, left, right }, self.at(mark))
            }
            _ => return Err(self.unexpected(node)),
        })
    }

    /// A call of a function of `pg_catalog` that SQL's grammar means.
    pub(super) fn implied(&mut self, name: &str, arguments: &[ExpressionId], form: CallForm, at: u32) -> ExpressionId {
        let call = self.system_call(name, arguments, form, at);
        self.add(ExpressionNode::Call(Box::new(call)), at)
    }

    pub(super) fn system_call(&self, name: &str, arguments: &[ExpressionId], form: CallForm, at: u32) -> FunctionCall {
        FunctionCall {
            name: ["pg_catalog", name].map(|text| Name { text: text.to_string(), at }).to_vec(),
            arguments: arguments.iter().map(|value| Argument { name: None, value: *value }).collect(),
            variadic: false,
            star: false,
            distinct: false,
            order: Vec::new(),
            within_group: false,
            filter: None,
            over: None,
            form,
        }
    }

    /// A minus before a number is the number's.
    fn negation(&mut self, mark: Node, value: Node) -> ExpressionId {
        let (at, value) = (self.at(mark), self.expr(value));
        let negated = match &self.arena[value].node {
            ExpressionNode::Integer(number) => number.checked_neg().map(ExpressionNode::Integer),
            ExpressionNode::Number(text) => Some(ExpressionNode::Number(match text.strip_prefix('-') {
                Some(positive) => positive.to_string(),
                None => format!("-{text}"),
            })),
            _ => None,
        };
        match negated {
            Some(node) => {
                self.arena[value] = Expression { node, at };
                value
            }
            None => {
                let operator = OperatorName { schema: Vec::new(), symbol: "-".to_string(), at };
                self.add(ExpressionNode::Operator { operator, left: None, right: value }, at)
            }
        }
    }

    /// Chains of AND and OR are one node, as deep as one.
    fn connective(&mut self, left: Node, mark: Node, right: Node, and: bool) -> ExpressionId {
        let right = self.expr(right);
        let deepest = std::mem::replace(&mut self.deepest, 0);
        let left = self.expr(left);
        let operands = match &mut self.arena[left].node {
            ExpressionNode::And(operands) if and => Some(operands),
            ExpressionNode::Or(operands) if !and => Some(operands),
            _ => None,
        };
        if let Some(operands) = operands {
            operands.push(right);
            // The chain counts once, and is counted again behind.
            self.deepest = deepest.max(self.deepest.saturating_sub(1));
            return self.moved(left);
        }
        self.deepest = self.deepest.max(deepest);
        let operands = vec![left, right];
        self.add(if and { ExpressionNode::And(operands) } else { ExpressionNode::Or(operands) }, self.at(mark))
    }

    /// Parts lie before the whole: a node that got a new part goes behind it. What is left is empty and named by nobody.
    fn moved(&mut self, number: ExpressionId) -> ExpressionId {
        let at = self.arena[number].at;
        let node = std::mem::replace(&mut self.arena[number].node, ExpressionNode::Null);
        self.add(node, at)
    }

    fn overlaps(&mut self, left: Node, mark: Node, right: Node) -> Lowered<ExpressionId> {
        let (first, second) = (self.row_fields(left), self.row_fields(right));
        for (fields, node, side) in [(&first, left, "left"), (&second, right, "right")] {
            if fields.len() != 2 {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(self.error(node, message));
            }
        }
        Ok(self.implied("overlaps", &[first, second].concat(), CallForm::Sql, self.at(mark)))
    }

    /// `row`, `explicit_row`, `implicit_row`.
    pub(super) fn row_fields(&mut self, node: Node) -> Vec<ExpressionId> {
        match (self.shape(node), self.children(node)) {
            ([_, g::expr_list, _, _, _], &[_, list, _, last, _]) => {
                let mut fields = self.exprs(list);
                fields.push(self.expr(last));
                fields
            }
            ([_, _, g::expr_list, _], &[_, _, list, _]) => self.exprs(list),
            _ => Vec::new(),
        }
    }

    /// What stands behind IS.
    fn test(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let (value, at) = (self.expr(children[0]), self.at(children[1]));
        let negated = shape.get(2) == Some(&g::NOT);
        let rest = if negated { 3 } else { 2 };
        let is_boolean = |wanted| ExpressionNode::IsBoolean { negated, wanted, value };
        let test = match &shape[rest..] {
            [g::NULL_P] => ExpressionNode::IsNull { negated, value },
            [g::TRUE_P] => is_boolean(Some(true)),
            [g::FALSE_P] => is_boolean(Some(false)),
            [g::UNKNOWN] => is_boolean(None),
            [g::DISTINCT, g::FROM, _] => {
                ExpressionNode::Distinct { negated, left: value, right: self.expr(children[rest + 2]) }
            }
            [g::DOCUMENT_P] => ExpressionNode::Other("IS DOCUMENT"),
            [.., g::NORMALIZED] => {
                let mut arguments = vec![value];
                if shape.len() > rest + 1 {
                    arguments.push(self.normal_form(children[rest]));
                }
                let call = self.implied("is_normalized", &arguments, CallForm::Sql, at);
                return Ok(if negated { self.add(ExpressionNode::Not(call), at) } else { call });
            }
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.add(test, at))
    }

    /// NFC and the like, as text.
    pub(super) fn normal_form(&mut self, node: Node) -> ExpressionId {
        let form = self.word(self.tree.first_token(node)).to_ascii_uppercase();
        self.add(ExpressionNode::String(form), self.at(node))
    }

    fn like(&mut self, node: Node, negated: bool) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let first = if negated { 2 } else { 1 };
        let (kind, behind) = match shape[first] {
            g::LIKE => (LikeKind::Like, first + 1),
            g::ILIKE => (LikeKind::ILike, first + 1),
            _ => (LikeKind::Similar, first + 2),
        };
        let (value, pattern) = (self.expr(children[0]), self.expr(children[behind]));
        let escape = children.get(behind + 2).map(|escape| self.expr(*escape));
        Ok(self.add(ExpressionNode::Like { kind, negated, value, pattern, escape }, self.at(children[1])))
    }

    fn between(&mut self, node: Node, negated: bool) -> ExpressionId {
        let children = self.children(node);
        let symmetric = self.has(node, g::SYMMETRIC);
        let last = children.len() - 1;
        let (value, low, high) = (self.expr(children[0]), self.expr(children[last - 2]), self.expr(children[last]));
        self.add(ExpressionNode::Between { negated, symmetric, value, low, high }, self.at(children[1]))
    }

    fn membership(&mut self, value: Node, mark: Node, list: Node, negated: bool) -> ExpressionId {
        let value = self.expr(value);
        let node = match self.children(list) {
            [query] => ExpressionNode::InQuery { negated, value, query: self.query(*query) },
            parts => ExpressionNode::In { negated, value, list: self.exprs(parts[1]) },
        };
        self.add(node, self.at(mark))
    }

    /// `= ANY (..)`.
    fn quantified(&mut self, node: Node) -> Lowered<ExpressionId> {
        let children = self.children(node);
        let (left, operator, all) = (self.expr(children[0]), self.operator(children[1]), self.has(children[2], g::ALL));
        let node = match children[3..] {
            [query] => ExpressionNode::QuantifiedQuery { operator, all, left, query: self.query(query) },
            [_, array, _] => ExpressionNode::Quantified { operator, all, left, array: self.expr(array) },
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.add(node, self.at(children[1])))
    }

    fn primary(&mut self, node: Node) -> Lowered<ExpressionId> {
        let (shape, children) = self.parts(node);
        let at = self.at(node);
        Ok(match (shape, children) {
            ([g::PARAM, _], &[number, steps]) => {
                let value = self.tree.first_token(number).value as i32;
                let value = self.add(ExpressionNode::Parameter(value), at);
                self.indirection(value, steps, at)?
            }
            ([g::PAREN, ..], &[_, value, _, steps]) => {
                let value = self.expr(value);
                self.indirection(value, steps, at)?
            }
            ([g::select_with_parens], &[query]) => {
                let query = self.query(query);
                self.add(ExpressionNode::Subquery(query), at)
            }
            ([g::select_with_parens, _], &[query, steps]) => {
                let query = self.query(query);
                let value = self.add(ExpressionNode::Subquery(query), at);
                self.indirection(value, steps, at)?
            }
            ([g::EXISTS, _], &[_, query]) => {
                let query = self.query(query);
                self.add(ExpressionNode::Exists(query), at)
            }
            ([g::ARRAY, g::select_with_parens], &[_, query]) => {
                let query = self.query(query);
                self.add(ExpressionNode::ArrayQuery(query), at)
            }
            ([g::ARRAY, _], &[_, array]) => {
                let array = self.expr(array);
                self.arena[array].at = at;
                array
            }
            ([g::explicit_row | g::implicit_row], &[row]) => {
                let fields = self.row_fields(row);
                self.add(ExpressionNode::Row { fields, explicit: shape[0] == g::explicit_row }, at)
            }
            ([g::GROUPING, ..], &[_, _, list, _]) => {
                let list = self.exprs(list);
                self.add(ExpressionNode::Grouping(list), at)
            }
            _ => return Err(self.unexpected(node)),
        })
    }

    fn indirection(&mut self, of: ExpressionId, steps: Node, at: u32) -> Lowered<ExpressionId> {
        let steps = self.steps(steps)?;
        Ok(if steps.is_empty() { of } else { self.add(ExpressionNode::Indirection { of, steps }, at) })
    }

    /// Names up to the first subscript are the column's.
    fn column(&mut self, node: Node) -> Lowered<ExpressionId> {
        let at = self.at(node);
        let mut names = vec![self.name(node)];
        let steps = match self.children(node).get(1) {
            Some(&steps) => self.steps(steps)?,
            None => Vec::new(),
        };
        let mut steps = steps.into_iter().peekable();
        let mut star = false;
        while let Some(step) = steps.next_if(|step| matches!(step, Step::Field(_) | Step::Star(_))) {
            match step {
                Step::Field(name) => names.push(name),
                _ => star = true,
            }
        }
        let column = self.add(ExpressionNode::Column { names, star }, at);
        let steps: Vec<Step> = steps.collect();
        Ok(if steps.is_empty() { column } else { self.add(ExpressionNode::Indirection { of: column, steps }, at) })
    }

    fn array(&mut self, node: Node) -> Lowered<ExpressionId> {
        let elements = match self.children(node) {
            [_, list, _] => self.exprs(*list),
            _ => Vec::new(),
        };
        Ok(self.add(ExpressionNode::Array(elements), self.at(node)))
    }

    fn case(&mut self, node: Node) -> Lowered<ExpressionId> {
        let children = self.children(node);
        let operand = self.children(children[1]).first().copied();
        let operand = operand.map(|operand| self.expr(operand));
        let mut arms = Vec::new();
        for arm in self.list(children[2]) {
            let parts = self.children(arm);
            let (condition, result) = (self.expr(parts[1]), self.expr(parts[3]));
            arms.push(CaseArm { condition, result, at: self.at(arm) });
        }
        let otherwise = self.children(children[3]).get(1).copied();
        let otherwise = otherwise.map(|otherwise| self.expr(otherwise));
        Ok(self.add(ExpressionNode::Case { operand, arms, otherwise }, self.at(node)))
    }
}
