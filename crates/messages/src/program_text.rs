//! Action programs as text, for EXPLAIN: one line for each step, read, test, compute, write, return.
//!
//! Invariant: whatever a program does to data shows in a line; names are those of tables and columns, never positions.

use crate::expression_sql::SqlStyle;
use crate::key::Key;
use crate::program::{
    AccessPath, Action, BinaryOperator, ConflictClause, ConflictKey, Expression, InsertInput, OneOf, PrefixBounds,
    Program, RowGuard, RowLockStrength, RowLockWait, RowSortKey, RowSource, SequenceValue, StatementEdge,
    UnaryOperator, Values,
};
use crate::schema::{IndexSchema, TableSchema};
use std::fmt::{self, Display, Formatter};
use values::{Value, text};

impl Display for Program {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for action in &self.actions {
            describe(action, &mut lines);
        }
        formatter.write_str(&lines.join("\n"))
    }
}

/// Appends the lines of an action.
fn describe(action: &Action, lines: &mut Vec<String>) {
    match action {
        Action::Bind { arguments } => lines.push(format!("call with {}", ColumnNames::default().list(arguments))),
        Action::Select { .. } => select(action, lines),
        Action::Gather { selection, place, array } => {
            select(selection, lines);
            let what = if array.is_some() { "all of it" } else { "the only value" };
            lines.push(format!("keep {what} as {}", gathered(*place)));
        }
        Action::LockTable { table, lock } => lines.push(match lock.map(|lock| lock.strength) {
            None => format!("rely on {}", table.name),
            Some(RowLockStrength::Share) => format!("lock all of {}, to share", table.name),
            Some(RowLockStrength::Update) => format!("lock all of {}", table.name),
        }),
        Action::Insert { table, values, input, on_conflict, returning, private, guard } => {
            let names = ColumnNames::of_table(table);
            input_of(input, lines);
            lines.push(format!("compute {}", assigned(table, values.iter().enumerate(), &ColumnNames::input())));
            let ahead = if *private { ", ahead of the commit" } else { "" };
            guarded(guard.as_deref(), &names, lines);
            lines.push(format!("write a row of {}{ahead}", with_indexes(table)));
            if let Some(on_conflict) = on_conflict {
                conflict(table, on_conflict, lines);
            }
            returned(returning, &names, lines);
        }
        Action::Update { source, filter, assignments, returning, guard } => {
            let names = ColumnNames::of_source(source);
            lines.push(read(source, ", for update"));
            test(filter.as_ref(), &names, lines);
            let pairs = assignments.iter().map(|(column, value)| (*column, value));
            lines.push(format!("compute {}", assigned(&source.table, pairs, &names)));
            guarded(guard.as_deref(), &names, lines);
            lines.push(format!("write the row of {}", with_indexes(&source.table)));
            returned(returning, &names, lines);
        }
        Action::Delete { source, filter, returning, guard } => {
            let names = ColumnNames::of_source(source);
            lines.push(read(source, ", for update"));
            test(filter.as_ref(), &names, lines);
            guarded(guard.as_deref(), &names, lines);
            lines.push(format!("delete the row of {}", with_indexes(&source.table)));
            returned(returning, &names, lines);
        }
        Action::Catalog { writes, drops, .. } => {
            lines.extend(writes.iter().map(|(key, _, row)| catalog_write(key, row.is_some())));
            lines.extend(drops.iter().map(|storage| format!("drop {storage}")));
        }
        Action::CheckDomain { table, .. } => lines.push(format!("check all of {} for a domain", table.name)),
        Action::CheckReferences { table } => lines.push(format!("check what all of {} refers to", table.name)),
        Action::Defer(true) => lines.push("put off checks until the commit".to_string()),
        Action::Defer(false) => lines.push("check what was put off".to_string()),
        Action::Statement(StatementEdge::Begin) => lines.push("begin a statement of several programs".to_string()),
        Action::Statement(StatementEdge::End) => lines.push("end a statement of several programs".to_string()),
        Action::Notify { .. } => lines.push("notify who listens, once it has committed".to_string()),
        Action::SetSequence { sequence, value } => lines.push(set_sequence(sequence, value)),
        Action::Rebuild { from, to, index, fill } => {
            lines.push(format!("read all of {}", from.name));
            if !fill.is_empty() {
                let pairs = fill.iter().map(|(column, value)| (*column, value));
                lines.push(format!("compute {}", assigned(to, pairs, &ColumnNames::of_table(from))));
            }
            lines.push(match index.and_then(|position| to.indexes.get(position)) {
                Some(index) => format!("write index {}, ahead of the commit", index.name),
                None => format!("write {}, ahead of the commit", with_indexes(to)),
            });
        }
    }
}

/// What row-level security asks of rows.
fn guarded(guard: Option<&RowGuard>, names: &ColumnNames, lines: &mut Vec<String>) {
    let Some(guard) = guard else { return };
    for (row, conditions) in [("old", &guard.old), ("new", &guard.new)] {
        lines.extend(conditions.iter().map(|one| format!("refuse a {row} row unless {}", names.show(&one.condition))));
    }
}

fn select(action: &Action, lines: &mut Vec<String>) {
    let Action::Select { source, filter, output, offset, limit, lock, order } = action else { return };
    let names = source.as_ref().map_or_else(ColumnNames::default, ColumnNames::of_source);
    if let Some(source) = source {
        let strength = lock.map_or("", |lock| match lock.strength {
            RowLockStrength::Update => ", for update",
            RowLockStrength::Share => ", for share",
        });
        let wait = lock.map_or("", |lock| match lock.wait {
            RowLockWait::Wait => "",
            RowLockWait::Error => ", unless locked",
            RowLockWait::Skip => ", one by one, leaving out what is locked",
        });
        lines.push(read(source, &format!("{strength}{wait}")));
    }
    test(filter.as_ref(), &names, lines);
    if !order.is_empty() {
        let keys = order.iter().map(|key| names.sort_key(key));
        lines.push(format!("sort by {}", keys.collect::<Vec<_>>().join(", ")));
    }
    if let Some(offset) = offset {
        lines.push(format!("skip {} rows", names.show(offset)));
    }
    if let Some(limit) = limit {
        lines.push(format!("stop after {} rows", names.show(limit)));
    }
    lines.push(match output.is_empty() {
        true => "return nothing".to_string(),
        false => format!("return {}", names.list(output)),
    });
}

fn gathered(place: u16) -> String {
    format!("#{}", u32::from(place) + 1)
}

fn set_sequence(sequence: &TableSchema, value: &SequenceValue) -> String {
    let (name, names) = (&sequence.name, ColumnNames::default());
    match value {
        SequenceValue::First => format!("begin sequence {name}"),
        SequenceValue::Kept => format!("go on with sequence {name}"),
        SequenceValue::Next(value) => format!("go on with sequence {name} at {value}"),
        SequenceValue::Set { value, is_called, .. } => {
            format!("set sequence {name} to {}, given out: {}", names.show(value), names.show(is_called))
        }
    }
}

fn catalog_write(key: &Key, writes: bool) -> String {
    let verb = if writes { "write" } else { "delete" };
    let name = match key.as_bytes().split_first() {
        Some((b'n', name)) => format!("entry {}", String::from_utf8_lossy(name)),
        Some((b'p', name)) => format!("procedure {}", String::from_utf8_lossy(name)),
        Some((b'r', name)) => format!("role {}", String::from_utf8_lossy(name)),
        Some((b't', name)) => format!("setting {}", String::from_utf8_lossy(name)),
        Some((b'g', name)) => format!("rights on {}", String::from_utf8_lossy(name)),
        Some((b'y', name)) => format!("type {}", String::from_utf8_lossy(name)),
        Some((b'x', name)) => format!("extension {}", String::from_utf8_lossy(name)),
        Some((b's', _)) => "secret".to_string(),
        Some((b'c', _)) => "comment".to_string(),
        _ => "counter".to_string(),
    };
    format!("{verb} the catalog's {name}")
}

fn test(filter: Option<&Expression>, names: &ColumnNames, lines: &mut Vec<String>) {
    lines.extend(filter.map(|filter| format!("test {}", names.show(filter))));
}

fn returned(returning: &[Expression], names: &ColumnNames, lines: &mut Vec<String>) {
    if !returning.is_empty() {
        lines.push(format!("return {}", names.list(returning)));
    }
}

fn input_of(input: &InsertInput, lines: &mut Vec<String>) {
    match input {
        InsertInput::Rows(rows) => {
            let names = ColumnNames::default();
            lines.extend(rows.iter().map(|row| format!("take ({})", names.list(row))));
        }
        InsertInput::Supplied => lines.push("take each supplied row".to_string()),
    }
}

fn with_indexes(table: &TableSchema) -> String {
    let names: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
    match names.as_slice() {
        [] => table.name.clone(),
        [one] => format!("{} and index {one}", table.name),
        many => format!("{} and indexes {}", table.name, many.join(", ")),
    }
}

fn assigned<'a>(
    table: &TableSchema,
    assignments: impl Iterator<Item = (usize, &'a Expression)>,
    names: &ColumnNames,
) -> String {
    let column = |position: usize| table.columns.get(position);
    let parts: Vec<String> = assignments
        .filter(|(position, _)| column(*position).is_none_or(|column| !column.dropped))
        .map(|(position, value)| {
            let name = column(position).map_or("?", |column| &column.name);
            format!("{name} := {}", names.show(value))
        })
        .collect();
    parts.join(", ")
}

fn conflict(table: &TableSchema, on_conflict: &ConflictClause, lines: &mut Vec<String>) {
    let one = |target: &ConflictKey| match *target {
        ConflictKey::PrimaryKey => "the primary key".to_string(),
        ConflictKey::Index(position) => {
            let name = table.indexes.get(position).map_or("?", |index| &index.name);
            format!("the key of index {name}")
        }
    };
    let key = match on_conflict.targets.as_slice() {
        [] => "any unique key".to_string(),
        targets => targets.iter().map(one).collect::<Vec<_>>().join(" or "),
    };
    let Some((assignments, filter)) = &on_conflict.update else {
        return lines.push(format!("if {key} exists, do nothing"));
    };
    let mut names = ColumnNames::of_table(table);
    let excluded: Vec<String> = table.columns.iter().map(|column| format!("excluded.{}", column.name)).collect();
    names.columns.truncate(table.columns.len());
    names.columns.extend(excluded);
    let condition = filter.as_ref().map_or(String::new(), |filter| format!(" and {}", names.show(filter)));
    let pairs = assignments.iter().map(|(column, value)| (*column, value));
    lines.push(format!("if {key} exists{condition}, write {}", assigned(table, pairs, &names)));
    guarded(on_conflict.guard.as_deref(), &names, lines);
}

/// The line that says how rows are found.
fn read(source: &RowSource, purpose: &str) -> String {
    let table = &source.table;
    let names = ColumnNames::default();
    let way = match &source.path {
        AccessPath::Point(key) => format!("the row with key {}", names.equal(&key_columns(table), key)),
        AccessPath::OneOf(one_of) => match one_of.index {
            None => format!("the rows with key {}", names.one_of(&key_columns(table), one_of)),
            Some(position) => match table.indexes.get(position) {
                Some(index) => {
                    format!(
                        "by index {} the rows with {}",
                        index.name,
                        names.one_of(&index_columns(table, index), one_of)
                    )
                }
                None => UNKNOWN_INDEX.to_string(),
            },
        },
        AccessPath::KeyRange(bounds) => match names.bounds(&key_columns(table), bounds) {
            Some(bounds) => format!("the rows with key {bounds}"),
            None => "all rows".to_string(),
        },
        AccessPath::IndexRange(position, bounds) => match table.indexes.get(*position) {
            Some(index) => match names.bounds(&index_columns(table, index), bounds) {
                Some(bounds) => format!("by index {} the rows with {bounds}", index.name),
                None => format!("by index {} all rows", index.name),
            },
            None => UNKNOWN_INDEX.to_string(),
        },
        AccessPath::Supplied => "the rows with each supplied key".to_string(),
    };
    let order = if source.reverse { ", backwards" } else { "" };
    format!("read from {} {way}{order}{purpose}", table.name)
}

fn key_columns(table: &TableSchema) -> Vec<String> {
    if table.has_hidden_key() {
        return vec![HIDDEN.to_string()];
    }
    column_names(table, &table.primary_key)
}

fn index_columns(table: &TableSchema, index: &IndexSchema) -> Vec<String> {
    (0..index.keys.len()).map(|place| index.key_sql(table, place, SqlStyle::Pretty)).collect()
}

fn column_names(table: &TableSchema, positions: &[usize]) -> Vec<String> {
    let name = |position: &usize| {
        let column = table.columns.get(*position);
        column.map_or_else(|| "?".to_string(), |column| column.name.clone())
    };
    positions.iter().map(name).collect()
}

const UNKNOWN_INDEX: &str = "the rows of an unknown index";

/// How the hidden key is shown.
const HIDDEN: &str = "(row key)";

/// What the columns of the row at hand are called.
#[derive(Default)]
struct ColumnNames {
    columns: Vec<String>,
    /// What a column behind those is called, before its number.
    further: &'static str,
}

impl ColumnNames {
    fn of_table(table: &TableSchema) -> ColumnNames {
        let mut columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        if table.has_hidden_key() {
            columns.push(HIDDEN.to_string());
        }
        let further = "supplied ";
        ColumnNames { columns, further }
    }

    fn of_source(source: &RowSource) -> ColumnNames {
        ColumnNames::of_table(&source.table)
    }

    fn input() -> ColumnNames {
        ColumnNames { columns: Vec::new(), further: "input " }
    }

    fn column(&self, position: usize) -> String {
        match self.columns.get(position) {
            Some(name) => name.clone(),
            None => format!("{}{}", self.further, position + 1 - self.columns.len()),
        }
    }

    fn sort_key(&self, key: &RowSortKey) -> String {
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        };
        format!("{}{}{nulls}", self.show(&key.expression), if key.descending { " DESC" } else { "" })
    }

    fn list(&self, expressions: &[Expression]) -> String {
        let shown: Vec<String> = expressions.iter().map(|expression| self.show(expression)).collect();
        shown.join(", ")
    }

    fn equal(&self, columns: &[String], values: &[Expression]) -> String {
        let pairs: Vec<String> =
            columns.iter().zip(values).map(|(column, value)| format!("{column} = {}", self.show(value))).collect();
        pairs.join(", ")
    }

    fn one_of(&self, columns: &[String], one_of: &OneOf) -> String {
        let mut equal = one_of.equal.iter();
        let mut parts = Vec::with_capacity(1 + one_of.equal.len());
        for (place, column) in columns.iter().enumerate().take(1 + one_of.equal.len()) {
            parts.push(match &one_of.values {
                Values::List(list) if place == one_of.place => format!("{column} in ({})", self.list(list)),
                Values::Array(array) if place == one_of.place => format!("{column} = any {}", self.show(array)),
                _ => format!("{column} = {}", equal.next().map_or_else(|| "?".to_string(), |value| self.show(value))),
            });
        }
        parts.join(", ")
    }

    /// `None` for no bounds at all.
    fn bounds(&self, columns: &[String], bounds: &PrefixBounds) -> Option<String> {
        let mut parts = Vec::new();
        if !bounds.prefix.is_empty() {
            parts.push(self.equal(columns, &bounds.prefix));
        }
        let next = columns.get(bounds.prefix.len()).map_or("?", |name| name);
        if let Some((value, included)) = &bounds.low {
            let operator = if *included { ">=" } else { ">" };
            parts.push(format!("{next} {operator} {}", self.show(value)));
        }
        if let Some((value, included)) = &bounds.high {
            let operator = if *included { "<=" } else { "<" };
            parts.push(format!("{next} {operator} {}", self.show(value)));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// An expression in SQL's words; nested operators stand in parentheses.
    fn show(&self, expression: &Expression) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match expression {
            Expression::Constant(value) => literal(value),
            Expression::Parameter(number) => format!("${}", u32::from(*number) + 1),
            Expression::Column(position) => self.column(usize::from(*position)),
            Expression::TransactionTime => "now()".to_string(),
            Expression::Unary(UnaryOperator::Not, operand) => format!("NOT {}", self.nested(operand)),
            Expression::Unary(UnaryOperator::Minus, operand) => format!("-{}", self.nested(operand)),
            Expression::Binary(operator, left, right) => {
                format!("{} {} {}", self.nested(left), symbol(*operator), self.nested(right))
            }
            Expression::And(list) => self.connected(list, " AND "),
            Expression::Or(list) => self.connected(list, " OR "),
            Expression::IsNull(operand, negated) => format!("{} IS {}NULL", self.nested(operand), not(*negated)),
            Expression::IsDistinct(left, right, negated) => {
                let (left, right) = (self.nested(left), self.nested(right));
                format!("{left} IS {}DISTINCT FROM {right}", not(*negated))
            }
            Expression::In(operand, list, negated) => {
                format!("{} {}IN ({})", self.nested(operand), not(*negated), self.list(list))
            }
            Expression::Any(operator, operand, array) => {
                format!("{} {} ANY ({})", self.nested(operand), symbol(*operator), self.show(array))
            }
            Expression::Array(_, elements) => format!("ARRAY[{}]", self.list(elements)),
            Expression::Like(operand, pattern, ignore_case, negated) => {
                let like = if *ignore_case { "ILIKE" } else { "LIKE" };
                format!("{} {}{like} {}", self.nested(operand), not(*negated), self.nested(pattern))
            }
            Expression::Case(branches, otherwise) => {
                let mut shown = "CASE".to_string();
                for (condition, result) in branches {
                    shown += &format!(" WHEN {} THEN {}", self.show(condition), self.show(result));
                }
                if let Some(otherwise) = otherwise {
                    shown += &format!(" ELSE {}", self.show(otherwise));
                }
                shown + " END"
            }
            Expression::Coalesce(list) => format!("COALESCE({})", self.list(list)),
            // A cast on assignment shows where the value goes.
            Expression::Cast(operand, _, false) => self.show(operand),
            Expression::Cast(operand, target, true) => format!("{}::{target}", self.nested(operand)),
            Expression::Domain(operand, rules) => format!("{}::{}", self.nested(operand), rules.name),
            Expression::Call(name, arguments) => format!("{name}({})", self.list(arguments)),
            Expression::NextValue(sequence) => format!("nextval({})", sequence.name),
            Expression::CurrentValue(_, name) => format!("currval({name})"),
            Expression::LastValue => "lastval()".to_string(),
            Expression::Gathered(place, _) => gathered(*place),
        }
    }

    fn connected(&self, list: &[Expression], word: &str) -> String {
        let shown: Vec<String> = list.iter().map(|expression| self.nested(expression)).collect();
        shown.join(word)
    }

    fn nested(&self, expression: &Expression) -> String {
        match expression {
            Expression::Constant(_)
            | Expression::Parameter(_)
            | Expression::Column(_)
            | Expression::TransactionTime
            | Expression::Case(..)
            | Expression::Coalesce(_)
            | Expression::Array(..)
            | Expression::Call(..)
            | Expression::NextValue(_)
            | Expression::CurrentValue(..)
            | Expression::LastValue
            | Expression::Gathered(..) => self.show(expression),
            Expression::Cast(operand, _, false) => self.nested(operand),
            _ => format!("({})", self.show(expression)),
        }
    }
}

/// A constant as SQL writes it.
fn literal(value: &Value) -> String {
    match (value, text::to_string(value)) {
        (_, None) => "NULL".to_string(),
        (Value::Boolean(truth), _) => truth.to_string(),
        (
            Value::SmallInt(_)
            | Value::Integer(_)
            | Value::BigInt(_)
            | Value::Numeric(_)
            | Value::Real(_)
            | Value::Double(_),
            Some(shown),
        ) => shown,
        (_, Some(shown)) => format!("'{}'", shown.replace('\'', "''")),
    }
}

fn symbol(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::Power => "^",
        BinaryOperator::Concat => "||",
        BinaryOperator::Equal => "=",
        BinaryOperator::NotEqual => "<>",
        BinaryOperator::Less => "<",
        BinaryOperator::LessOrEqual => "<=",
        BinaryOperator::Greater => ">",
        BinaryOperator::GreaterOrEqual => ">=",
    }
}
