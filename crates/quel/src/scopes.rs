//! What the variables of a statement, or of an aggregate's inside, range over; values and conditions over them.
//!
//! Invariant: the joined relations of a scope have one row for each way to choose the rows of its variables. A variable that occurs in by-lists
//! only is chosen by its by-values: each once.

use crate::error::{QuelError, QuelResult, sqlstate};
use crate::functions;
use crate::patterns::WildcardPattern;
use crate::ranges::{RangedRelation, Ranges};
use crate::sql_text::SqlText;
use crate::syntax::{
    self, AggregateFunction, ArithmeticOperator, ComparisonOperator, QuelAggregate, QuelExpr, QuelExprKind,
};
use crate::translate::{QuelColumn, QuelRelations};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A relation's columns, as the catalog has told them.
pub(crate) struct KnownColumns {
    /// In their order.
    pub in_order: Vec<QuelColumn>,
    /// Which of them are texts.
    texts: BTreeMap<String, bool>,
}

/// A schema, where it is named, and a name.
type RelationPath = (Option<String>, String);

/// The relations that a text has asked for: the catalog is asked once for each.
pub(crate) struct KnownRelations<'a> {
    pub catalog: &'a dyn QuelRelations,
    known: RefCell<BTreeMap<RelationPath, Option<Rc<KnownColumns>>>>,
}

impl<'a> KnownRelations<'a> {
    pub fn new(catalog: &'a dyn QuelRelations) -> KnownRelations<'a> {
        KnownRelations { catalog, known: RefCell::default() }
    }

    /// The columns of a relation; `None`: it does not exist.
    pub fn columns(&self, relation: &RangedRelation) -> Option<Rc<KnownColumns>> {
        let key = (relation.schema.clone(), relation.name.clone());
        let mut known = self.known.borrow_mut();
        let found = known.entry(key).or_insert_with(|| {
            let in_order = self.catalog.columns(relation)?;
            let texts = in_order.iter().map(|column| (column.name.clone(), column.is_text)).collect();
            Some(Rc::new(KnownColumns { in_order, texts }))
        });
        found.clone()
    }
}

/// A statement being written as SQL.
pub(crate) struct Lowering<'a> {
    pub ranges: &'a Ranges,
    pub relations: &'a KnownRelations<'a>,
    /// Derived tables made.
    pub derived: usize,
}

/// A variable and a place where it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub variable: String,
    pub at: usize,
}

/// Variables, each once, in the order in which they first occur.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occurrences {
    all: Vec<Occurrence>,
    names: BTreeSet<String>,
}

impl Occurrences {
    /// Adds a variable that is not there yet.
    pub fn add(&mut self, variable: &str, at: usize) {
        if !self.names.contains(variable) {
            self.names.insert(variable.to_owned());
            self.all.push(Occurrence { variable: variable.to_owned(), at });
        }
    }

    pub fn has(&self, variable: &str) -> bool {
        self.names.contains(variable)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Occurrence> {
        self.all.iter()
    }

    /// Their names, sorted.
    pub fn sorted(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// What is joined, and what the aggregates are over it.
#[derive(Debug, Default)]
pub(crate) struct VariableScope {
    /// The variables that are ranged over row by row.
    pub direct: Occurrences,
    /// Derived tables.
    pub derived: Vec<SqlText>,
    /// What holds between them and the variables.
    pub conditions: Vec<SqlText>,
    /// The aggregates' values, by their places.
    pub values: BTreeMap<usize, SqlText>,
}

/// Whether a value is a text, as far as can be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Literal,
    Unknown,
    Other,
}

impl TextKind {
    fn certain(is_text: bool) -> TextKind {
        if is_text { TextKind::Text } else { TextKind::Other }
    }

    /// Whether `+` between two of these joins texts.
    fn joins(self, other: TextKind) -> bool {
        let kinds = [self, other];
        kinds.contains(&TextKind::Text) || (kinds.contains(&TextKind::Literal) && !kinds.contains(&TextKind::Other))
    }
}

/// The variables of an expression, each once, those inside of aggregates left out.
pub(crate) fn variables(expr: &QuelExpr, found: &mut Occurrences) {
    if let QuelExprKind::Column { variable, .. } = &expr.kind {
        found.add(variable, expr.at);
    }
    expr.parts().into_iter().for_each(|part| variables(part, found));
}

/// The aggregates of an expression, those inside of others left out.
pub(crate) fn aggregates<'e>(expr: &'e QuelExpr, found: &mut Vec<(usize, &'e QuelAggregate)>) {
    if let QuelExprKind::Aggregate(aggregate) = &expr.kind {
        found.push((expr.at, aggregate));
    }
    expr.parts().into_iter().for_each(|part| aggregates(part, found));
}

impl Lowering<'_> {
    /// What a variable ranges over.
    pub fn relation(&self, variable: &str, at: usize) -> RangedRelation {
        let declared = self.ranges.of(variable).map(|known| RangedRelation { at, ..known.clone() });
        declared.unwrap_or_else(|| syntax::of_itself(variable, at))
    }

    /// A relation with its variable behind it.
    pub fn ranged(&self, occurrence: &Occurrence) -> SqlText {
        let relation = self.relation(&occurrence.variable, occurrence.at);
        let mut sql = SqlText::default();
        sql.mark(occurrence.at);
        if let Some(schema) = &relation.schema {
            sql.name(schema);
            sql.push(".");
        }
        sql.name(&relation.name);
        if relation.name != occurrence.variable {
            sql.push(" AS ");
            sql.name(&occurrence.variable);
        }
        sql
    }

    /// All that a scope joins, but for one variable.
    pub fn joined(&self, scope: &VariableScope, without: Option<&str>) -> Vec<SqlText> {
        let direct = scope.direct.iter().filter(|occurrence| without != Some(occurrence.variable.as_str()));
        direct.map(|occurrence| self.ranged(occurrence)).chain(scope.derived.iter().cloned()).collect()
    }

    /// `FROM` and `WHERE` of a scope with a condition, as far as there are any.
    pub fn source(&self, scope: &VariableScope, qualification: Option<&QuelExpr>) -> QuelResult<SqlText> {
        let mut sql = SqlText::default();
        let joined = self.joined(scope, None);
        if !joined.is_empty() {
            sql.push(" FROM ");
            sql.append(&SqlText::joined(&joined, ", "));
        }
        sql.append(&self.filter(scope, qualification)?);
        Ok(sql)
    }

    /// `WHERE`, if there is anything to say.
    pub fn filter(&self, scope: &VariableScope, qualification: Option<&QuelExpr>) -> QuelResult<SqlText> {
        let mut conditions = scope.conditions.clone();
        if let Some(qualification) = qualification {
            let condition = self.expr(qualification, scope)?;
            let is_alone = conditions.is_empty() || !matches!(qualification.kind, QuelExprKind::Or(_));
            conditions.push(if is_alone { condition } else { condition.in_parentheses() });
        }
        if conditions.is_empty() {
            return Ok(SqlText::default());
        }
        let mut sql = SqlText::of(" WHERE ");
        sql.append(&SqlText::joined(&conditions, " AND "));
        Ok(sql)
    }

    /// An expression over a scope.
    pub fn expr(&self, expr: &QuelExpr, scope: &VariableScope) -> QuelResult<SqlText> {
        match &expr.kind {
            QuelExprKind::Arithmetic(..) => Ok(self.arithmetic(expr, scope)?.0),
            _ => self.plain(expr, scope),
        }
    }

    /// The same of what is no arithmetic.
    fn plain(&self, expr: &QuelExpr, scope: &VariableScope) -> QuelResult<SqlText> {
        let mut sql = SqlText::default();
        sql.mark(expr.at);
        match &expr.kind {
            QuelExprKind::Number(digits) => sql.push(digits),
            QuelExprKind::Text(literal) => sql.literal_at(&literal.value(), expr.at),
            QuelExprKind::Parameter(number) => sql.push(&format!("${number}")),
            QuelExprKind::Null => sql.push("NULL"),
            QuelExprKind::Column { variable, column } => {
                sql.name(variable);
                sql.push(".");
                sql.name(column);
            }
            QuelExprKind::Minus(inner) => {
                sql.push("-");
                sql.append(&self.operand(inner, scope)?);
            }
            QuelExprKind::Arithmetic(..) => unreachable!("it is written by itself"),
            QuelExprKind::Call(name, arguments) => {
                let arguments: Vec<SqlText> =
                    arguments.iter().map(|argument| self.expr(argument, scope)).collect::<QuelResult<_>>()?;
                return functions::call(name, &arguments, expr.at);
            }
            QuelExprKind::Aggregate(_) => match scope.values.get(&expr.at) {
                Some(value) => sql.append(value),
                None => return Err(QuelError::unsupported("an aggregate in a by-list", expr.at)),
            },
            QuelExprKind::Comparison(left, operator, right) => return self.comparison(left, *operator, right, scope),
            QuelExprKind::IsNull(inner) => {
                sql.append(&self.operand(inner, scope)?);
                sql.push(" IS NULL");
            }
            QuelExprKind::IsNotNull(inner) => {
                sql.append(&self.operand(inner, scope)?);
                sql.push(" IS NOT NULL");
            }
            QuelExprKind::Not(inner) => {
                sql.push("NOT ");
                sql.append(&self.expr(inner, scope)?.in_parentheses());
            }
            QuelExprKind::And(all) => sql.append(&self.chain(all, " AND ", scope)?),
            QuelExprKind::Or(all) => sql.append(&self.chain(all, " OR ", scope)?),
        }
        Ok(sql)
    }

    /// Conditions with a word in between.
    fn chain(&self, all: &[QuelExpr], between: &str, scope: &VariableScope) -> QuelResult<SqlText> {
        let each = all.iter().map(|one| {
            let condition = self.expr(one, scope)?;
            let is_chain = matches!(one.kind, QuelExprKind::And(_) | QuelExprKind::Or(_));
            Ok(if is_chain { condition.in_parentheses() } else { condition })
        });
        Ok(SqlText::joined(&each.collect::<QuelResult<Vec<SqlText>>>()?, between))
    }

    /// An expression beside an operator.
    fn operand(&self, expr: &QuelExpr, scope: &VariableScope) -> QuelResult<SqlText> {
        let sql = self.expr(expr, scope)?;
        let binds = matches!(expr.kind, QuelExprKind::Minus(_)) || expr.is_condition();
        let is_arithmetic = matches!(expr.kind, QuelExprKind::Arithmetic(..));
        Ok(if binds || is_arithmetic { sql.in_parentheses() } else { sql })
    }

    /// An operand of arithmetic, and whether it is a text: asked of each once, on the way up.
    fn kinded(&self, expr: &QuelExpr, scope: &VariableScope) -> QuelResult<(SqlText, TextKind)> {
        match &expr.kind {
            QuelExprKind::Arithmetic(..) => {
                self.arithmetic(expr, scope).map(|(sql, kind)| (sql.in_parentheses(), kind))
            }
            _ => Ok((self.operand(expr, scope)?, self.text_kind(expr))),
        }
    }

    fn arithmetic(&self, whole: &QuelExpr, scope: &VariableScope) -> QuelResult<(SqlText, TextKind)> {
        let QuelExprKind::Arithmetic(left, operator, right) = &whole.kind else {
            unreachable!("only arithmetic is written here")
        };
        let ((first, left), (second, right)) = (self.kinded(left, scope)?, self.kinded(right, scope)?);
        if *operator == ArithmeticOperator::Power {
            let mut sql = SqlText::default();
            sql.mark(whole.at);
            sql.push("power(");
            sql.append(&SqlText::joined([&first, &second], ", "));
            sql.push(")");
            return Ok((sql, TextKind::Other));
        }
        let joins_texts = *operator == ArithmeticOperator::Plus && left.joins(right);
        let between = match operator {
            ArithmeticOperator::Plus if joins_texts => " || ",
            ArithmeticOperator::Plus => " + ",
            ArithmeticOperator::Minus => " - ",
            ArithmeticOperator::Times => " * ",
            ArithmeticOperator::Divide => " / ",
            ArithmeticOperator::Modulo => " % ",
            ArithmeticOperator::Power => unreachable!("it is a function"),
        };
        Ok((SqlText::joined([&first, &second], between), TextKind::certain(joins_texts)))
    }

    fn text_kind(&self, expr: &QuelExpr) -> TextKind {
        match &expr.kind {
            QuelExprKind::Text(_) => TextKind::Literal,
            QuelExprKind::Parameter(_) | QuelExprKind::Null => TextKind::Unknown,
            QuelExprKind::Column { variable, column } => {
                let columns = self.relations.columns(&self.relation(variable, expr.at));
                let is_text = columns.and_then(|columns| columns.texts.get(column).copied());
                is_text.map_or(TextKind::Unknown, TextKind::certain)
            }
            QuelExprKind::Arithmetic(left, ArithmeticOperator::Plus, right) => {
                TextKind::certain(self.text_kind(left).joins(self.text_kind(right)))
            }
            QuelExprKind::Call(name, arguments) if name == "ifnull" => {
                arguments.first().map_or(TextKind::Other, |first| self.text_kind(first))
            }
            QuelExprKind::Call(name, _) => TextKind::certain(functions::gives_text(name)),
            QuelExprKind::Aggregate(aggregate) => match aggregate.function {
                AggregateFunction::Minimum | AggregateFunction::Maximum => self.text_kind(&aggregate.argument),
                _ => TextKind::Other,
            },
            _ => TextKind::Other,
        }
    }

    fn comparison(
        &self,
        left: &QuelExpr,
        operator: ComparisonOperator,
        right: &QuelExpr,
        scope: &VariableScope,
    ) -> QuelResult<SqlText> {
        let equality = matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual);
        // A pattern may stand on either side.
        let sides = if matches!(left.kind, QuelExprKind::Text(_)) { (right, left) } else { (left, right) };
        if let (true, QuelExprKind::Text(literal)) = (equality, &sides.1.kind) {
            let pattern = literal.pattern().ok_or_else(|| {
                let message = "a [ in a pattern needs characters and a ] behind them";
                QuelError::new(sqlstate::SYNTAX_ERROR, message, sides.1.at).with_hint("\\[ stands for itself.")
            })?;
            let (operators, text) = match &pattern {
                WildcardPattern::Value(_) => (None, ""),
                WildcardPattern::Like(text) => (Some([" LIKE ", " NOT LIKE "]), text.as_str()),
                WildcardPattern::Regular(text) => (Some([" ~ ", " !~ "]), text.as_str()),
            };
            if let Some([like, unlike]) = operators {
                let mut sql = self.operand(sides.0, scope)?;
                sql.push(if operator == ComparisonOperator::Equal { like } else { unlike });
                sql.literal_at(text, sides.1.at);
                return Ok(sql);
            }
        }
        let between = match operator {
            ComparisonOperator::Equal => " = ",
            ComparisonOperator::NotEqual => " <> ",
            ComparisonOperator::Less => " < ",
            ComparisonOperator::LessOrEqual => " <= ",
            ComparisonOperator::Greater => " > ",
            ComparisonOperator::GreaterOrEqual => " >= ",
        };
        Ok(SqlText::joined([&self.operand(left, scope)?, &self.operand(right, scope)?], between))
    }
}
