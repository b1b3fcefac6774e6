//! Conditions to access paths: which rows a WHERE clause can mean, found by key or index rather than by looking at all.
//!
//! Invariant: the path together with the filter that is left finds exactly the rows that the condition describes. A bound is taken from
//! the condition only if comparing keys bytewise is comparing as SQL does for the two types at hand.

use crate::limits::BOUND_DEPTH_MAX;
use crate::sql::implication::implies;
use messages::program::{AccessPath, BinaryOperator, Expression, OneOf, PrefixBounds, Values};
use messages::schema::{IndexKeyPart, RowExpression, TableSchema};
use values::{Type, Value, operators};

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

/// A key of an index, or of the table.
#[derive(Clone, Copy)]
enum CandidateKey<'a> {
    Column(usize),
    Expression(&'a RowExpression),
}

/// What a key or index makes of the condition.
struct Candidate<'a> {
    keys: Vec<CandidateKey<'a>>,
    /// Not all rows are in it, only those that the condition means and perhaps some more.
    partial: bool,
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
        let keys = table.primary_key.iter().map(|column| CandidateKey::Column(*column)).collect();
        candidates.push(Candidate::new(keys, None, true).consider(table, &conjuncts, parameters));
    }
    for (position, index) in table.indexes.iter().enumerate() {
        let has_all = |own: &RowExpression| implies(&conjuncts, &own.expression, table);
        if !index.has_entries() || !index.predicate.as_ref().is_none_or(|own| has_all(own)) {
            continue;
        }
        let keys = index.keys.iter().map(|key| match &key.part {
            IndexKeyPart::Column(column) => CandidateKey::Column(*column),
            IndexKeyPart::Expression(own) => CandidateKey::Expression(own),
        });
        let candidate = Candidate::new(keys.collect(), Some(position), index.unique);
        let candidate = Candidate { partial: index.predicate.is_some(), ..candidate };
        candidates.push(candidate.consider(table, &conjuncts, parameters));
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

impl CandidateKey<'_> {
    fn is(self, expression: &Expression) -> bool {
        match self {
            CandidateKey::Column(column) => {
                matches!(expression, Expression::Column(found) if usize::from(*found) == column)
            }
            CandidateKey::Expression(own) => own.expression.is_same_as(expression),
        }
    }

    fn key_type(self, table: &TableSchema) -> Type {
        match self {
            CandidateKey::Column(column) => table.columns[column].column_type,
            CandidateKey::Expression(own) => own.result,
        }
    }

    fn as_column(self) -> Option<usize> {
        match self {
            CandidateKey::Column(column) => Some(column),
            CandidateKey::Expression(_) => None,
        }
    }

    fn refuses_null(self, table: &TableSchema) -> bool {
        self.as_column().is_some_and(|column| table.columns[column].not_null)
    }
}

impl<'a> Candidate<'a> {
    fn new(keys: Vec<CandidateKey<'a>>, index: Option<usize>, unique: bool) -> Candidate<'a> {
        Candidate { keys, partial: false, index, unique, equal: Vec::new(), any: None, low: None, high: None }
    }

    /// How many leading columns have known values.
    fn places(&self) -> usize {
        self.equal.len() + usize::from(self.any.is_some())
    }

    /// How few rows it promises: whole unique keys first, one before several, then longer prefixes, then ranges.
    fn worth(&self) -> usize {
        let several = usize::from(self.any.is_some());
        let ranges = usize::from(self.low.is_some()) + usize::from(self.high.is_some());
        match (self.places() == self.keys.len(), self.unique) {
            (true, true) => 1_000 + usize::from(self.index.is_none()) - 100 * several,
            // An index of some rows is read rather than all of them.
            _ => 10 * self.places() - several + 2 * ranges + usize::from(self.partial),
        }
    }

    /// Whether it gives the order: `Some(true)` backwards.
    fn direction(&self, table: &TableSchema, order: &[OrderItem]) -> Option<bool> {
        if order.is_empty() || (self.unique && self.equal.len() == self.keys.len()) {
            return Some(false);
        }
        let several = self.any.as_ref().map(|(_, place, _)| *place);
        let is_fixed = |place: usize| place < self.places() && several != Some(place);
        let (fixed, rest): (Vec<_>, Vec<_>) = self.keys.iter().enumerate().partition(|(place, _)| is_fixed(*place));
        let is_free = |item: &&OrderItem| !fixed.iter().any(|(_, key)| key.as_column() == Some(item.column));
        let mut items = order.iter().filter(is_free).peekable();
        let descending = items.peek().is_some_and(|item| item.descending);
        let mut rest = rest.into_iter().map(|(_, key)| key.as_column());
        for item in items {
            // Behind a whole unique key nothing is left to order, but rows with a NULL in it are not told apart by it.
            let Some(next) = rest.next() else {
                let total = self.keys.iter().all(|key| key.refuses_null(table));
                return (self.unique && total).then_some(descending);
            };
            let column = next?;
            let natural_nulls = item.nulls_first == item.descending || table.columns[column].not_null;
            if item.column != column || item.descending != descending || !natural_nulls {
                return None;
            }
        }
        Some(descending)
    }

    /// The path, and the conjuncts that it makes superfluous.
    fn into_path(self, table: &TableSchema) -> (AccessPath, Vec<usize>) {
        // What is computed is compared again: entries of another version's functions may be there.
        let is_column = |place: usize| matches!(self.keys.get(place), Some(CandidateKey::Column(_)));
        let several = self.any.as_ref().map(|(_, place, _)| *place);
        let place_of = |number: usize| number + usize::from(several.is_some_and(|several| several <= number));
        let mut used: Vec<usize> = self
            .equal
            .iter()
            .enumerate()
            .filter(|(number, _)| is_column(place_of(*number)))
            .map(|(_, (conjunct, _))| *conjunct)
            .collect();
        let (any_is_column, next_is_column) = (several.is_some_and(is_column), is_column(self.equal.len()));
        let equal = self.equal.into_iter().map(|(_, value)| value);
        if let Some((conjunct, place, values)) = self.any {
            used.extend(any_is_column.then_some(conjunct));
            return (AccessPath::OneOf(OneOf { index: self.index, equal: equal.collect(), place, values }), used);
        }
        let prefix: Vec<Expression> = equal.collect();
        if self.index.is_none() && prefix.len() == self.keys.len() {
            return (AccessPath::Point(prefix), used);
        }
        let next = self.keys.get(prefix.len());
        // NULLs lie above all values in a key: a range that is open upwards would include them, so its condition stays.
        let open_upwards = self.high.is_none() && next.is_some_and(|key| !key.refuses_null(table));
        if !open_upwards && next_is_column {
            used.extend(self.low.iter().map(|(conjunct, ..)| *conjunct));
        }
        used.extend(self.high.iter().filter(|_| next_is_column).map(|(conjunct, ..)| *conjunct));
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

    /// What it makes of the conjuncts.
    fn consider(mut self, table: &TableSchema, conjuncts: &[Expression], parameters: &[Option<Type>]) -> Candidate<'a> {
        let comparison = |key: CandidateKey, wanted: fn(BinaryOperator) -> bool| {
            conjuncts.iter().enumerate().find_map(|(position, conjunct)| {
                let (operator, value) = compared_with(conjunct, key)?;
                let value = as_key(value, key.key_type(table), parameters).filter(|_| wanted(operator))?;
                Some((position, operator, value))
            })
        };
        for (place, &key) in self.keys.iter().enumerate() {
            if let Some((position, _, value)) = comparison(key, |operator| operator == BinaryOperator::Equal) {
                self.equal.push((position, value));
                continue;
            }
            if self.any.is_none() {
                self.any = conjuncts.iter().enumerate().find_map(|(position, conjunct)| {
                    Some((position, place, any_of(conjunct, key, key.key_type(table), parameters)?))
                });
                if self.any.is_some() {
                    continue;
                }
            }
            use BinaryOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
            self.low = comparison(key, |operator| matches!(operator, Greater | GreaterOrEqual))
                .map(|(position, operator, value)| (position, value, operator == GreaterOrEqual));
            self.high = comparison(key, |operator| matches!(operator, Less | LessOrEqual))
                .map(|(position, operator, value)| (position, value, operator == LessOrEqual));
            break;
        }
        if self.any.is_some() {
            // Behind one of several values, bounds of the next column stay a filter.
            (self.low, self.high) = (None, None);
        }
        self
    }
}

/// `key op value` or `value op key`, the value without columns.
fn compared_with<'e>(conjunct: &'e Expression, key: CandidateKey) -> Option<(BinaryOperator, &'e Expression)> {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let Expression::Binary(operator, left, right) = conjunct else {
        return None;
    };
    if is_fixed(right) && key.is(left) {
        return Some((*operator, right));
    }
    if is_fixed(left) && key.is(right) {
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

/// The values, as a key's of this type, of `key IN (values)`, an OR of equalities of the key, or `key = ANY (array)`.
fn any_of(conjunct: &Expression, own: CandidateKey, key: Type, parameters: &[Option<Type>]) -> Option<Values> {
    let value = |value: &Expression| as_key(value, key, parameters).filter(|_| is_fixed(value));
    match conjunct {
        Expression::In(operand, values, false) if own.is(operand) => {
            values.iter().map(value).collect::<Option<_>>().map(Values::List)
        }
        Expression::Or(all) => {
            let equal = all.iter().map(|one| match compared_with(one, own) {
                Some((BinaryOperator::Equal, found)) => value(found),
                _ => None,
            });
            equal.collect::<Option<_>>().map(Values::List)
        }
        Expression::Any(BinaryOperator::Equal, operand, array) if own.is(operand) && is_fixed(array) => {
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
            Expression::Constant(_) | Expression::Parameter(_) | Expression::Gathered(..) => true,
            Expression::TransactionTime => true,
            _ if depth == 0 => false,
            Expression::Cast(inner, ..) | Expression::Domain(inner, _) | Expression::Unary(_, inner) => {
                within(inner, depth - 1)
            }
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
        || (given.is_network() && key.is_network())
        || (given.is_bits() && key.is_bits())
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
        Expression::TransactionTime => Some(Type::TimestampTz(None)),
        Expression::Gathered(_, known) => Some(*known),
        Expression::Cast(_, target, _) => Some(*target),
        Expression::Domain(inner, _) => static_type(inner, parameters),
        Expression::Unary(messages::program::UnaryOperator::Minus, inner) => static_type(inner, parameters),
        Expression::Binary(operator, left, right) => operators::binary_type(
            operator.of_values(),
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
