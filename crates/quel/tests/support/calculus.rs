//! What a query of QUEL means: loops over its variables.

use quel::Ranges;
use quel::syntax::{
    AggregateFunction, ArithmeticOperator, ComparisonOperator, QuelAggregate, QuelExpr, QuelExprKind, QuelStatement,
    QuelTarget,
};
use std::collections::{BTreeMap, BTreeSet};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum {
    /// None.
    Null,
    /// A whole one.
    Number(i64),
    /// A mean, in ten thousandths.
    Mean(i64),
    /// A text.
    Text(String),
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its rows, columns in order.
    pub rows: Vec<Vec<Datum>>,
}

impl Datum {
    /// As SQL's.
    pub fn literal(&self) -> String {
        match self {
            Datum::Null => "NULL".to_owned(),
            Datum::Number(number) => number.to_string(),
            Datum::Mean(_) => unreachable!("no table has one"),
            Datum::Text(text) => format!("'{text}'"),
        }
    }

    fn shown(&self) -> String {
        match self {
            Datum::Null => "null".to_owned(),
            Datum::Number(number) => number.to_string(),
            Datum::Mean(mean) => format!("{:.4}", *mean as f64 / 10_000.0),
            Datum::Text(text) => text.clone(),
        }
    }
}

/// The rows chosen, and what is known of those that are chosen by by-values only.
#[derive(Clone, Debug, Default)]
struct Choice {
    rows: BTreeMap<String, Vec<Datum>>,
    by_values: BTreeMap<String, Datum>,
    /// The aggregates' values, by their places.
    aggregates: BTreeMap<usize, Datum>,
}

/// The evaluator.
pub struct Calculus<'a> {
    /// What there is.
    pub tables: &'a [Table],
    /// What variables range over.
    pub ranges: &'a Ranges,
}

fn variables(expr: &QuelExpr, found: &mut BTreeSet<String>) {
    if let QuelExprKind::Column { variable, .. } = &expr.kind {
        found.insert(variable.clone());
    }
    expr.parts().into_iter().for_each(|part| variables(part, found));
}

fn aggregates<'e>(expr: &'e QuelExpr, found: &mut Vec<(usize, &'e QuelAggregate)>) {
    if let QuelExprKind::Aggregate(aggregate) = &expr.kind {
        found.push((expr.at, aggregate));
    }
    expr.parts().into_iter().for_each(|part| aggregates(part, found));
}

/// A by-value's name: the same for the same expression, wherever it stands.
fn spelled(expr: &QuelExpr) -> String {
    match &expr.kind {
        QuelExprKind::Column { variable, column } => format!("{variable}.{column}"),
        QuelExprKind::Number(digits) => digits.clone(),
        QuelExprKind::Arithmetic(left, operator, right) => {
            format!("({} {operator:?} {})", spelled(left), spelled(right))
        }
        other => panic!("no by-value: {other:?}"),
    }
}

impl Calculus<'_> {
    /// The rows of a query, as they are shown.
    pub fn rows(&self, statement: &QuelStatement) -> Vec<String> {
        let QuelStatement::Retrieve(retrieve) = statement else { panic!("a query") };
        let values: Vec<&QuelExpr> = retrieve
            .targets
            .iter()
            .map(|target| match target {
                QuelTarget::Value { value, .. } => value,
                QuelTarget::All(_) => panic!("values only"),
            })
            .collect();
        let all: Vec<&QuelExpr> = values.iter().copied().chain(&retrieve.qualification).collect();
        let mut rows = Vec::new();
        for choice in self.choices(&all) {
            if self.holds(retrieve.qualification.as_ref(), &choice) {
                let row: Vec<String> = values.iter().map(|value| self.value(value, &choice).shown()).collect();
                rows.push(row.join("|"));
            }
        }
        if retrieve.unique {
            rows.sort();
            rows.dedup();
        }
        rows
    }

    fn table(&self, variable: &str) -> &Table {
        let name = self.ranges.of(variable).map_or(variable, |relation| relation.name.as_str());
        self.tables.iter().find(|table| table.name == name).expect("a table")
    }

    /// Every way to choose rows for the variables of a scope, with the values of its aggregates.
    fn choices(&self, exprs: &[&QuelExpr]) -> Vec<Choice> {
        let (mut direct, mut found) = (BTreeSet::new(), Vec::new());
        for expr in exprs {
            variables(expr, &mut direct);
            aggregates(expr, &mut found);
        }
        let mut choices = self.product(&direct);
        // Others occur in by-lists only: each combination of by-values counts once.
        let (mut only_by, mut of_group) = (BTreeSet::new(), BTreeMap::new());
        for by in found.iter().flat_map(|(_, aggregate)| &aggregate.by) {
            let mut inside = BTreeSet::new();
            variables(by, &mut inside);
            if !inside.is_empty() && inside.is_disjoint(&direct) {
                only_by.extend(inside);
                of_group.insert(spelled(by), by);
            }
        }
        if !of_group.is_empty() {
            let groups: BTreeSet<Vec<Datum>> = self
                .product(&only_by)
                .iter()
                .map(|choice| of_group.values().map(|by| self.value(by, choice)).collect())
                .collect();
            let with = |choice: &Choice, group: &Vec<Datum>| {
                let by_values = of_group.keys().cloned().zip(group.iter().cloned()).collect();
                Choice { by_values, ..choice.clone() }
            };
            choices = choices.iter().flat_map(|choice| groups.iter().map(|group| with(choice, group))).collect();
        }
        choices
            .into_iter()
            .filter_map(|mut choice| {
                for (at, aggregate) in &found {
                    let value = self.aggregate(aggregate, &choice)?;
                    choice.aggregates.insert(*at, value);
                }
                Some(choice)
            })
            .collect()
    }

    fn product(&self, variables: &BTreeSet<String>) -> Vec<Choice> {
        let mut choices = vec![Choice::default()];
        for variable in variables {
            let rows = &self.table(variable).rows;
            let with = |choice: &Choice, row: &Vec<Datum>| {
                let mut choice = choice.clone();
                choice.rows.insert(variable.clone(), row.clone());
                choice
            };
            choices = choices.iter().flat_map(|choice| rows.iter().map(|row| with(choice, row))).collect();
        }
        choices
    }

    /// An aggregate's value beside what is chosen outside; `None`: it says `only`, and there is no row.
    fn aggregate(&self, aggregate: &QuelAggregate, outside: &Choice) -> Option<Datum> {
        let parts: Vec<&QuelExpr> =
            aggregate.by.iter().chain([&aggregate.argument]).chain(&aggregate.qualification).collect();
        let group: Vec<Datum> = aggregate
            .by
            .iter()
            .map(|by| match outside.by_values.get(&spelled(by)) {
                Some(value) => value.clone(),
                None => self.value(by, outside),
            })
            .collect();
        let within: Vec<Choice> = self
            .choices(&parts)
            .into_iter()
            .filter(|choice| {
                aggregate.by.iter().zip(&group).all(|(by, wanted)| self.value(by, choice) == *wanted)
                    && self.holds(aggregate.qualification.as_ref(), choice)
            })
            .collect();
        if aggregate.only && within.is_empty() {
            return None;
        }
        let values = within.iter().map(|choice| self.value(&aggregate.argument, choice));
        Some(computed(aggregate.function, values.filter(|value| *value != Datum::Null).collect()))
    }

    fn value(&self, expr: &QuelExpr, choice: &Choice) -> Datum {
        match &expr.kind {
            QuelExprKind::Number(digits) => Datum::Number(digits.parse().expect("a whole one")),
            QuelExprKind::Text(literal) => Datum::Text(literal.value()),
            QuelExprKind::Column { variable, column } => {
                let columns = super::columns(self.table(variable).name).expect("a table");
                let place = columns.iter().position(|name| name == column).expect("a column");
                choice.rows[variable][place].clone()
            }
            QuelExprKind::Arithmetic(left, operator, right) => {
                match (operator, self.value(left, choice), self.value(right, choice)) {
                    (ArithmeticOperator::Plus, Datum::Text(left), Datum::Text(right)) => Datum::Text(left + &right),
                    (ArithmeticOperator::Plus, Datum::Number(left), Datum::Number(right)) => {
                        Datum::Number(left + right)
                    }
                    (ArithmeticOperator::Minus, Datum::Number(left), Datum::Number(right)) => {
                        Datum::Number(left - right)
                    }
                    (ArithmeticOperator::Times, Datum::Number(left), Datum::Number(right)) => {
                        Datum::Number(left * right)
                    }
                    _ => Datum::Null,
                }
            }
            QuelExprKind::Aggregate(_) => choice.aggregates[&expr.at].clone(),
            other => panic!("no value: {other:?}"),
        }
    }

    /// Whether a qualification is certainly true.
    fn holds(&self, qualification: Option<&QuelExpr>, choice: &Choice) -> bool {
        qualification.is_none_or(|condition| self.truth(condition, choice) == Some(true))
    }

    /// `None`: unknown.
    fn truth(&self, expr: &QuelExpr, choice: &Choice) -> Option<bool> {
        match &expr.kind {
            QuelExprKind::And(all) => {
                let all: Vec<_> = all.iter().map(|one| self.truth(one, choice)).collect();
                if all.contains(&Some(false)) {
                    Some(false)
                } else {
                    all.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
                }
            }
            QuelExprKind::Or(all) => {
                let all: Vec<_> = all.iter().map(|one| self.truth(one, choice)).collect();
                if all.contains(&Some(true)) {
                    Some(true)
                } else {
                    all.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
                }
            }
            QuelExprKind::Not(inner) => self.truth(inner, choice).map(|truth| !truth),
            QuelExprKind::IsNull(inner) => Some(self.value(inner, choice) == Datum::Null),
            QuelExprKind::IsNotNull(inner) => Some(self.value(inner, choice) != Datum::Null),
            QuelExprKind::Comparison(left, operator, right) => {
                let (left, text) = (self.value(left, choice), right);
                let right = self.value(right, choice);
                if left == Datum::Null || right == Datum::Null {
                    return None;
                }
                if let (Datum::Text(left), QuelExprKind::Text(_)) = (&left, &text.kind) {
                    let Datum::Text(pattern) = &right else { panic!("a pattern") };
                    let matches = fits(left, pattern);
                    return Some(matches == (*operator == ComparisonOperator::Equal));
                }
                Some(match operator {
                    ComparisonOperator::Equal => left == right,
                    ComparisonOperator::NotEqual => left != right,
                    ComparisonOperator::Less => left < right,
                    ComparisonOperator::LessOrEqual => left <= right,
                    ComparisonOperator::Greater => left > right,
                    ComparisonOperator::GreaterOrEqual => left >= right,
                })
            }
            other => panic!("no condition: {other:?}"),
        }
    }
}

/// Whether a text is one of the generator's patterns.
fn fits(text: &str, pattern: &str) -> bool {
    match pattern {
        "a*" => text.starts_with('a'),
        "?" => text.chars().count() == 1,
        "[a-b]" => text == "a" || text == "b",
        "ab%" => text == "ab%",
        "*b*" => text.contains('b'),
        other => panic!("a pattern that is not known: {other}"),
    }
}

/// An aggregate of values that are not NULL.
fn computed(function: AggregateFunction, mut values: Vec<Datum>) -> Datum {
    let unique = matches!(
        function,
        AggregateFunction::CountUnique | AggregateFunction::SumUnique | AggregateFunction::AverageUnique
    );
    if unique {
        values.sort();
        values.dedup();
    }
    let sum = || values.iter().map(|value| if let Datum::Number(number) = value { *number } else { 0 }).sum::<i64>();
    match function {
        AggregateFunction::Count | AggregateFunction::CountUnique => Datum::Number(values.len() as i64),
        AggregateFunction::Any => Datum::Number(i64::from(!values.is_empty())),
        _ if values.is_empty() => Datum::Null,
        AggregateFunction::Sum | AggregateFunction::SumUnique => Datum::Number(sum()),
        AggregateFunction::Average | AggregateFunction::AverageUnique => {
            Datum::Mean((sum() as f64 / values.len() as f64 * 10_000.0).round() as i64)
        }
        AggregateFunction::Minimum => values.into_iter().min().unwrap_or(Datum::Null),
        AggregateFunction::Maximum => values.into_iter().max().unwrap_or(Datum::Null),
    }
}
