//! QuelTarget lists, expressions and conditions, weakest operators first: `or`, `and`, `not`, comparisons, `+ -`, `* / mod`, signs, `**`.

use crate::error::{QuelError, QuelResult};
use crate::lexer::QuelTokenKind;
use crate::limits::{AGGREGATES_MAX, DEPTH_MAX, LIST_MAX};
use crate::parser::QuelParser;
use crate::syntax::{
    AggregateFunction, ArithmeticOperator, ComparisonOperator, QuelAggregate, QuelExpr, QuelExprKind, QuelName,
    QuelTarget,
};

impl QuelParser<'_> {
    /// A target list in parentheses.
    pub(crate) fn targets(&mut self) -> QuelResult<Vec<QuelTarget>> {
        self.expect("(")?;
        let all = self.list(Self::target)?;
        self.expect(")")?;
        Ok(all)
    }

    fn target(&mut self) -> QuelResult<QuelTarget> {
        let start = self.next.clone();
        if self.word().is_some() {
            let name = self.result_name()?;
            if self.skip("=")? {
                return Ok(QuelTarget::Value { name, value: self.value()? });
            }
            if self.skip(".")? && !crate::keywords::is_reserved(&name.text) {
                let column = self.result_name()?;
                let ends = matches!(self.next.kind, QuelTokenKind::Symbol("," | ")"));
                if ends && column.text == "all" {
                    return self.all_of(name);
                }
                if ends {
                    return Ok(QuelTarget::Value { value: self.column(name, column.text.clone())?, name: column });
                }
                let computes = matches!(self.next.kind, QuelTokenKind::Symbol("+" | "-" | "*" | "/" | "**"));
                if !computes && self.word() != Some("mod") {
                    return Err(self.unexpected());
                }
            } else {
                let near = &self.text[start.start..start.end];
                return Err(QuelError::syntax(near, start.start)
                    .with_hint("A target is variable.column, variable.all, or name = expression."));
            }
        }
        let near = &self.text[start.start..start.end];
        Err(QuelError::syntax(near, start.start)
            .with_hint("An expression in a target list needs a name: name = expression."))
    }

    /// `where q`, if it is there.
    pub(crate) fn qualification(&mut self) -> QuelResult<Option<QuelExpr>> {
        if self.skip_word("where")? { Ok(Some(self.condition()?)) } else { Ok(None) }
    }

    /// A condition. Errors: 42601 for a value.
    pub(crate) fn condition(&mut self) -> QuelResult<QuelExpr> {
        let found = self.disjunction()?;
        if found.is_condition() { Ok(found) } else { Err(self.unexpected()) }
    }

    /// A value. Errors: 42601 for a condition.
    pub(crate) fn value(&mut self) -> QuelResult<QuelExpr> {
        let found = self.sum()?;
        self.as_value(found)
    }

    fn as_value(&self, found: QuelExpr) -> QuelResult<QuelExpr> {
        if found.is_condition() { Err(self.unexpected()) } else { Ok(found) }
    }

    /// A node, which may not have too many levels.
    pub(crate) fn node(&self, kind: QuelExprKind, at: usize) -> QuelResult<QuelExpr> {
        let mut made = QuelExpr { kind, at, depth: 1 };
        let below = match &made.kind {
            QuelExprKind::Aggregate(aggregate) => {
                let parts = aggregate.by.iter().chain([&aggregate.argument]).chain(&aggregate.qualification);
                parts.map(|part| part.depth).max()
            }
            _ => made.parts().iter().map(|part| part.depth).max(),
        };
        made.depth += below.unwrap_or(0);
        if made.depth > DEPTH_MAX { Err(QuelError::too_deep(at)) } else { Ok(made) }
    }

    /// Has `read` read one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> QuelResult<T>) -> QuelResult<T> {
        if self.level >= DEPTH_MAX {
            return Err(QuelError::too_deep(self.next.start));
        }
        self.level += 1;
        let done = read(self);
        self.level -= 1;
        done
    }

    fn disjunction(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let first = self.conjunction()?;
        if self.word() != Some("or") {
            return Ok(first);
        }
        let mut all = vec![self.as_condition(first)?];
        while self.skip_word("or")? {
            let next = self.conjunction()?;
            all.push(self.as_condition(next)?);
        }
        self.node(QuelExprKind::Or(all), at)
    }

    fn conjunction(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let first = self.negation()?;
        if self.word() != Some("and") {
            return Ok(first);
        }
        let mut all = vec![self.as_condition(first)?];
        while self.skip_word("and")? {
            let next = self.negation()?;
            all.push(self.as_condition(next)?);
        }
        self.node(QuelExprKind::And(all), at)
    }

    fn as_condition(&self, found: QuelExpr) -> QuelResult<QuelExpr> {
        if found.is_condition() { Ok(found) } else { Err(self.unexpected()) }
    }

    fn negation(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        if self.skip_word("not")? {
            let inner = self.deeper(Self::negation)?;
            let inner = self.as_condition(inner)?;
            return self.node(QuelExprKind::Not(Box::new(inner)), at);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let left = self.sum()?;
        if self.word() == Some("is") {
            let left = Box::new(self.as_value(left)?);
            self.advance()?;
            let negated = self.skip_word("not")?;
            if !self.skip_word("null")? {
                return Err(self.unexpected());
            }
            return self.node(if negated { QuelExprKind::IsNotNull(left) } else { QuelExprKind::IsNull(left) }, at);
        }
        let operator = match self.next.kind {
            QuelTokenKind::Symbol("=") => ComparisonOperator::Equal,
            QuelTokenKind::Symbol("!=") => ComparisonOperator::NotEqual,
            QuelTokenKind::Symbol("<") => ComparisonOperator::Less,
            QuelTokenKind::Symbol("<=") => ComparisonOperator::LessOrEqual,
            QuelTokenKind::Symbol(">") => ComparisonOperator::Greater,
            QuelTokenKind::Symbol(">=") => ComparisonOperator::GreaterOrEqual,
            _ => return Ok(left),
        };
        let left = self.as_value(left)?;
        self.advance()?;
        let right = self.value()?;
        self.node(QuelExprKind::Comparison(Box::new(left), operator, Box::new(right)), at)
    }

    fn sum(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let mut left = self.product()?;
        loop {
            let operator = match self.next.kind {
                QuelTokenKind::Symbol("+") => ArithmeticOperator::Plus,
                QuelTokenKind::Symbol("-") => ArithmeticOperator::Minus,
                _ => return Ok(left),
            };
            left = self.arithmetic(left, operator, at, Self::product)?;
        }
    }

    fn product(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let mut left = self.signed()?;
        loop {
            let operator = match self.next.kind {
                QuelTokenKind::Symbol("*") => ArithmeticOperator::Times,
                QuelTokenKind::Symbol("/") => ArithmeticOperator::Divide,
                _ if self.word() == Some("mod") => ArithmeticOperator::Modulo,
                _ => return Ok(left),
            };
            left = self.arithmetic(left, operator, at, Self::signed)?;
        }
    }

    fn arithmetic(
        &mut self,
        left: QuelExpr,
        operator: ArithmeticOperator,
        at: usize,
        right: impl FnOnce(&mut Self) -> QuelResult<QuelExpr>,
    ) -> QuelResult<QuelExpr> {
        let left = self.as_value(left)?;
        self.advance()?;
        let right = right(self)?;
        let right = self.as_value(right)?;
        self.node(QuelExprKind::Arithmetic(Box::new(left), operator, Box::new(right)), at)
    }

    fn signed(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        if self.skip("-")? {
            let inner = self.deeper(Self::signed)?;
            let inner = self.as_value(inner)?;
            return self.node(QuelExprKind::Minus(Box::new(inner)), at);
        }
        if self.skip("+")? {
            let inner = self.deeper(Self::signed)?;
            return self.as_value(inner);
        }
        self.power()
    }

    fn power(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let base = self.primary()?;
        if self.next.kind == QuelTokenKind::Symbol("**") {
            return self.arithmetic(base, ArithmeticOperator::Power, at, |parser| parser.deeper(Self::signed));
        }
        Ok(base)
    }

    fn primary(&mut self) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        let kind = match self.next.kind.clone() {
            QuelTokenKind::Number(digits) => QuelExprKind::Number(digits),
            QuelTokenKind::Text(literal) => QuelExprKind::Text(literal),
            QuelTokenKind::Parameter(number) => QuelExprKind::Parameter(number),
            QuelTokenKind::Symbol("(") => {
                self.advance()?;
                let inner = self.deeper(Self::disjunction)?;
                self.expect(")")?;
                return Ok(inner);
            }
            QuelTokenKind::Word(word) => return self.named(&word),
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        self.node(kind, at)
    }

    /// What begins with a word.
    fn named(&mut self, word: &str) -> QuelResult<QuelExpr> {
        let at = self.next.start;
        if let Some(function) = AggregateFunction::of_name(word) {
            self.advance()?;
            return self.deeper(|parser| parser.aggregate(function, at));
        }
        if word == "null" {
            self.advance()?;
            return self.node(QuelExprKind::Null, at);
        }
        let name = if word == "mod" { self.result_name()? } else { self.name()? };
        if self.skip("(")? {
            return self.call(name);
        }
        if word != "mod" && self.skip(".")? {
            let column = self.result_name()?;
            if column.text == "all" {
                return Err(QuelError::syntax("all", column.at).with_hint("variable.all stands in target lists only."));
            }
            return self.column(name, column.text);
        }
        Err(QuelError::syntax(word, at).with_hint("A column needs its range variable: variable.column."))
    }

    fn call(&mut self, name: QuelName) -> QuelResult<QuelExpr> {
        let mut arguments = Vec::new();
        if !self.skip(")")? {
            loop {
                arguments.push(self.deeper(Self::value)?);
                if !self.skip(",")? {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.node(QuelExprKind::Call(name.text, arguments), name.at)
    }

    fn aggregate(&mut self, function: AggregateFunction, at: usize) -> QuelResult<QuelExpr> {
        self.aggregates += 1;
        if self.aggregates > AGGREGATES_MAX {
            return Err(QuelError::too_many(format!("a statement has at most {AGGREGATES_MAX} aggregates"), at));
        }
        self.expect("(")?;
        let argument = self.value()?;
        let mut by = Vec::new();
        if self.skip_word("by")? {
            by = self.list(Self::value)?;
            self.by_values += by.len();
            if self.by_values > LIST_MAX {
                return Err(QuelError::long_list(by[0].at));
            }
        }
        let only = self.word() == Some("only");
        if only && by.is_empty() {
            return Err(self.unexpected());
        }
        self.skip_word("only")?;
        if only && self.word() != Some("where") {
            return Err(self.unexpected());
        }
        let qualification = self.qualification()?;
        self.expect(")")?;
        self.node(QuelExprKind::Aggregate(Box::new(QuelAggregate { function, argument, by, only, qualification })), at)
    }
}
