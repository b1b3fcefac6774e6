//! Conditions to access paths: which rows a WHERE clause can mean, found by key or index rather than by looking at all.
//!
//! Invariant: the path together with the filter that is left finds exactly the rows that the condition describes. A bound is taken from
//! the condition only if comparing keys bytewise is comparing as SQL does for the two types at hand.

use crate::limits::BOUND_DEPTH_MAX;
use messages::program::{AccessPath, BinaryOperator, Expression, OneOf, PrefixBounds, Values};
use messages::schema::TableSchema;
use values::{Type, Value, operators};

use crate::sql::operators::operator_of_values;

/// One item of ORDER BY that is a column.
#[derive(Clone, Copy, Debug)]
pub struct OrderItem {
    /// Position of the column.
    pub column: usize,
    /// DESC.
    pub descending: bool,
    /// Where NULLs go.
    pub nulls_first: bool,
}

/// How a statement finds its rows.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The path.
    pub path: AccessPath,
    /// Backwards.
    pub reverse: bool,
    /// What is left of the condition.
    pub filter: Option<Expression>,
}

/// What a key or index makes of the condition.
struct Candidate<'a> {
    columns: &'a [usize],
    /// Position in the table's indexes; `None`: the primary key.
    index: Option<usize>,
    unique: bool,
    /// For each leading column: the conjunct that says what it equals.
    equal: Vec<(usize, Expression)>,
    /// Of one leading column: the conjunct that says which values it has, its place in the key, and they.
    any: Option<(usize, usize, Values)>,
    low: Option<(usize, Expression, bool)>,
    high: Option<(usize, Expression, bool)>,
}

/// Chooses how to find the rows of a table that pass `condition`, in this order. `None`: no key gives the order.
pub fn choose(
    table: &TableSchema,
    condition: Option<Expression>,
    order: &[OrderItem],
    parameters: &[Option<Type>],
) -> Option<Chosen> {
    let mut conjuncts = Vec::new();
    if let Some(condition) = condition {
        flatten(condition, &mut conjuncts);
    }
    let mut candidates: Vec<Candidate> = Vec::with_capacity(1 + table.indexes.len());
    if !table.has_hidden_key() {
        candidates.push(consider(table, &table.primary_key, None, true, &conjuncts, parameters));
    }
    for (position, index) in table.indexes.iter().enumerate() {
        candidates.push(consider(table, &index.columns, Some(position), index.unique, &conjuncts, parameters));
    }
    // The first of the best: the primary key when it is as good as an index.
    let best = candidates
        .iter()
        .enumerate()
        .rev()
        .max_by_key(|(_, candidate)| candidate.worth())
        .map(|(position, candidate)| (position, candidate.worth()));
    let whole = || (AccessPath::KeyRange(PrefixBounds::default()), Vec::new());
    let (reverse, (path, used)) = match best {
        Some((position, worth)) if worth > 0 => {
            let candidate = candidates.swap_remove(position);
            (candidate.direction(table, order)?, candidate.into_path(table))
        }
        _ if order.is_empty() => (false, whole()),
        _ => {
            let (reverse, candidate) =
                candidates.into_iter().find_map(|candidate| Some((candidate.direction(table, order)?, candidate)))?;
            (reverse, candidate.into_path(table))
        }
    };
    let mut position = 0;
    conjuncts.retain(|_| {
        position += 1;
        !used.contains(&(position - 1))
    });
    Some(Chosen { path, reverse, filter: join(conjuncts) })
}

impl Candidate<'_> {
    /// How many leading columns have known values.
    fn places(&self) -> usize {
        self.equal.len() + usize::from(self.any.is_some())
    }

    /// How few rows it promises: whole unique keys first, one before several, then longer prefixes, then ranges.
    fn worth(&self) -> usize {
        let several = usize::from(self.any.is_some());
        let ranges = usize::from(self.low.is_some()) + usize::from(self.high.is_some());
        match (self.places() == self.columns.len(), self.unique) {
            (true, true) => 1_000 + usize::from(self.index.is_none()) - 100 * several,
            _ => 10 * self.places() - several + 2 * ranges,
        }
    }

    /// Whether it gives the order: `Some(true)` backwards.
    fn direction(&self, table: &TableSchema, order: &[OrderItem]) -> Option<bool> {
        if order.is_empty() || (self.unique && self.equal.len() == self.columns.len()) {
            return Some(false);
        }
        let several = self.any.as_ref().map(|(_, place, _)| *place);
        let is_fixed = |place: usize| place < self.places() && several != Some(place);
        let (fixed, rest): (Vec<_>, Vec<_>) = self.columns.iter().enumerate().partition(|(place, _)| is_fixed(*place));
        let is_free = |item: &&OrderItem| !fixed.iter().any(|(_, column)| **column == item.column);
        let mut items = order.iter().filter(is_free).peekable();
        let descending = items.peek().is_some_and(|item| item.descending);
        let mut rest = rest.into_iter().map(|(_, column)| column);
        for item in items {
            // Behind a whole unique key nothing is left to order, but rows with a NULL in it are not told apart by it.
            let Some(&column) = rest.next() else {
                let total = self.columns.iter().all(|column| table.columns[*column].not_null);
                return (self.unique && total).then_some(descending);
            };
            let natural_nulls = item.nulls_first == item.descending || table.columns[column].not_null;
            if item.column != column || item.descending != descending || !natural_nulls {
                return None;
            }
        }
        Some(descending)
    }

    /// The path, and the conjuncts that it makes superfluous.
    fn into_path(self, table: &TableSchema) -> (AccessPath, Vec<usize>) {
        let mut used: Vec<usize> = self.equal.iter().map(|(conjunct, _)| *conjunct).collect();
        let equal = self.equal.into_iter().map(|(_, value)| value);
        if let Some((conjunct, place, values)) = self.any {
            used.push(conjunct);
            return (AccessPath::OneOf(OneOf { index: self.index, equal: equal.collect(), place, values }), used);
        }
        let prefix: Vec<Expression> = equal.collect();
        if self.index.is_none() && prefix.len() == self.columns.len() {
            return (AccessPath::Point(prefix), used);
        }
        let next = self.columns.get(prefix.len());
        // NULLs lie above all values in a key: a range that is open upwards would include them, so its condition stays.
        let open_upwards = self.high.is_none() && next.is_some_and(|column| !table.columns[*column].not_null);
        if !open_upwards {
            used.extend(self.low.iter().map(|(conjunct, ..)| *conjunct));
        }
        used.extend(self.high.iter().map(|(conjunct, ..)| *conjunct));
        let bounds = PrefixBounds {
            prefix,
            low: self.low.map(|(_, value, included)| (value, included)),
            high: self.high.map(|(_, value, included)| (value, included)),
        };
        let path = match self.index {
            None => AccessPath::KeyRange(bounds),
            Some(index) => AccessPath::IndexRange(index, bounds),
        };
        (path, used)
    }
}

/// What one key makes of the conjuncts.
fn consider<'a>(
    table: &TableSchema,
    columns: &'a [usize],
    index: Option<usize>,
    unique: bool,
    conjuncts: &[Expression],
    parameters: &[Option<Type>],
) -> Candidate<'a> {
    let mut candidate = Candidate { columns, index, unique, equal: Vec::new(), any: None, low: None, high: None };
    let key_type = |column: usize| table.columns[column].column_type;
    let comparison = |column: usize, wanted: fn(BinaryOperator) -> bool| {
        conjuncts.iter().enumerate().find_map(|(position, conjunct)| {
            let (operator, value) = compared_with(conjunct, column)?;
            let value = as_key(value, key_type(column), parameters).filter(|_| wanted(operator))?;
            Some((position, operator, value))
        })
    };
    for (place, &column) in columns.iter().enumerate() {
        if let Some((position, _, value)) = comparison(column, |operator| operator == BinaryOperator::Equal) {
            candidate.equal.push((position, value));
            continue;
        }
        if candidate.any.is_none() {
            candidate.any = conjuncts.iter().enumerate().find_map(|(position, conjunct)| {
                Some((position, place, any_of(conjunct, column, key_type(column), parameters)?))
            });
            if candidate.any.is_some() {
                continue;
            }
        }
        use BinaryOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
        candidate.low = comparison(column, |operator| matches!(operator, Greater | GreaterOrEqual))
            .map(|(position, operator, value)| (position, value, operator == GreaterOrEqual));
        candidate.high = comparison(column, |operator| matches!(operator, Less | LessOrEqual))
            .map(|(position, operator, value)| (position, value, operator == LessOrEqual));
        break;
    }
    if candidate.any.is_some() {
        // Behind one of several values, bounds of the next column stay a filter.
        (candidate.low, candidate.high) = (None, None);
    }
    candidate
}

/// `column op value` or `value op column`, the value without columns.
fn compared_with(conjunct: &Expression, column: usize) -> Option<(BinaryOperator, &Expression)> {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let Expression::Binary(operator, left, right) = conjunct else {
        return None;
    };
    let is_column = |expression: &Expression| matches!(expression, Expression::Column(c) if usize::from(*c) == column);
    if is_column(left) && is_fixed(right) {
        return Some((*operator, right));
    }
    if is_column(right) && is_fixed(left) {
        let turned = match operator {
            Equal => Equal,
            Less => Greater,
            LessOrEqual => GreaterOrEqual,
            Greater => Less,
            GreaterOrEqual => LessOrEqual,
            _ => return None,
        };
        return Some((turned, left));
    }
    None
}

/// The values, as a key's of this type, of `column IN (values)`, an OR of equalities of the column, or `column = ANY (array)`.
fn any_of(conjunct: &Expression, column: usize, key: Type, parameters: &[Option<Type>]) -> Option<Values> {
    let is_column = |operand: &Expression| matches!(operand, Expression::Column(c) if usize::from(*c) == column);
    let value = |value: &Expression| as_key(value, key, parameters).filter(|_| is_fixed(value));
    match conjunct {
        Expression::In(operand, values, false) if is_column(operand) => {
            values.iter().map(value).collect::<Option<_>>().map(Values::List)
        }
        Expression::Or(all) => {
            let equal = all.iter().map(|one| match compared_with(one, column) {
                Some((BinaryOperator::Equal, found)) => value(found),
                _ => None,
            });
            equal.collect::<Option<_>>().map(Values::List)
        }
        Expression::Any(BinaryOperator::Equal, operand, array) if is_column(operand) && is_fixed(array) => {
            let given = static_type(array, parameters)?.element()?;
            as_key_of(array, given, key, Type::array).map(Values::Array)
        }
        _ => None,
    }
}

/// Whether the expression is the same for all rows, computing it once is computing it each time, and it is small.
fn is_fixed(expression: &Expression) -> bool {
    fn within(expression: &Expression, depth: usize) -> bool {
        match expression {
            Expression::Constant(_) | Expression::Parameter(_) | Expression::TransactionTime => true,
            _ if depth == 0 => false,
            Expression::Cast(inner, ..) | Expression::Unary(_, inner) => within(inner, depth - 1),
            Expression::Binary(_, left, right) => within(left, depth - 1) && within(right, depth - 1),
            _ => false,
        }
    }
    within(expression, BOUND_DEPTH_MAX)
}

/// The value as one of a key column's type, if comparing keys then is comparing as SQL does.
fn as_key(value: &Expression, key: Type, parameters: &[Option<Type>]) -> Option<Expression> {
    if matches!(value, Expression::Constant(Value::Null)) {
        return Some(value.clone());
    }
    as_key_of(value, static_type(value, parameters)?, key, |key| key)
}

/// As [`as_key`], for a value, or an array of values, of type `given`; `whole`: the type of what there is, made of that of a value.
fn as_key_of(value: &Expression, given: Type, key: Type, whole: fn(Type) -> Type) -> Option<Expression> {
    let same = given.unmodified() == key.unmodified()
        || (given.is_whole() && key.is_whole())
        || (given.is_string() && key.is_string());
    if same {
        return Some(value.clone());
    }
    let widens = match key {
        Type::Numeric(_) => given.is_integer(),
        Type::Double => given.is_integer() || matches!(given, Type::Numeric(_)),
        _ => false,
    };
    match value {
        _ if !widens => None,
        Expression::Constant(constant) => {
            values::cast::assign(constant, whole(key.unmodified())).ok().map(Expression::Constant)
        }
        _ => Some(Expression::Cast(Box::new(value.clone()), whole(key.unmodified()), false)),
    }
}

fn static_type(expression: &Expression, parameters: &[Option<Type>]) -> Option<Type> {
    match expression {
        Expression::Constant(value) => value.data_type(),
        Expression::Parameter(index) => parameters.get(usize::from(*index)).copied().flatten(),
        Expression::TransactionTime => Some(Type::TimestampTz),
        Expression::Cast(_, target, _) => Some(*target),
        Expression::Unary(messages::program::UnaryOperator::Minus, inner) => static_type(inner, parameters),
        Expression::Binary(operator, left, right) => operators::binary_type(
            operator_of_values(*operator),
            static_type(left, parameters)?,
            static_type(right, parameters)?,
        ),
        _ => None,
    }
}

fn flatten(condition: Expression, conjuncts: &mut Vec<Expression>) {
    match condition {
        Expression::And(all) => all.into_iter().for_each(|one| flatten(one, conjuncts)),
        Expression::Constant(Value::Boolean(true)) => {}
        other => conjuncts.push(other),
    }
}

fn join(mut conjuncts: Vec<Expression>) -> Option<Expression> {
    match conjuncts.len() {
        0 | 1 => conjuncts.pop(),
        _ => Some(Expression::And(conjuncts)),
    }
}
