//! The texts of the queries of a statement's parts: their parameters, and what other parts have returned.
//!
//! Invariant: a query has the parameters that it names, numbered without gaps, so that each has a type. What was kept is a parameter for each of its columns:
//! an array of all its values, in the order of the rows.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::common_names::WithItem;
use crate::sql::parts::PartParameter;
use crate::sql::places::Cursor;
use messages::program::ResultColumn;
use sqlparser::ast;
use sqlparser::tokenizer::Token;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use values::{Type, Value};

/// Parameters with numbers behind this one stand for what was kept: so many times the item, and the column.
const KEPT_FROM: usize = 1_000_000_000;
/// More columns than a query has.
const COLUMNS: usize = 10_000;

/// The columns of what a part returns.
pub(super) struct KeptColumns(Vec<ResultColumn>);

impl KeptColumns {
    /// Of an item. Errors: 42P10 for too many names of columns, 0A000 for a type that has no texts.
    pub fn of(item: &WithItem, columns: Vec<ResultColumn>) -> Result<KeptColumns> {
        let given = item.table.alias.columns.len();
        if given > columns.len() {
            let (name, count) = (&item.name, columns.len());
            let message = format!("WITH query \"{name}\" has {count} columns available but {given} columns specified");
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, message).at(item.position));
        }
        // They are cast from texts, by the name of their type.
        let is_nameless =
            |column: &ResultColumn| column.column_type.element().is_some_and(|element| element.has_labels());
        if columns.iter().any(is_nameless) {
            return Err(SqlError::unsupported("a column of arrays of this type in a WITH query that others read"));
        }
        Ok(KeptColumns(columns))
    }

    /// The item with this number as a query of WITH: its rows are those of the arrays.
    pub fn text(&self, item: &WithItem, number: usize) -> String {
        let number = |place: usize| KEPT_FROM + number * COLUMNS + place;
        let output = |(place, column): (usize, &ResultColumn)| {
            let value = match cast_of(column.column_type) {
                Some(target) => format!("CAST(k.c{place} AS {target})"),
                None => format!("k.c{place}"),
            };
            format!("{value} AS {}", quoted(&column.name))
        };
        let outputs: Vec<String> = self.0.iter().enumerate().map(output).collect();
        let arrays: Vec<String> = (0..self.0.len()).map(|place| format!("${}", number(place))).collect();
        let own: Vec<String> = (0..self.0.len()).map(|place| format!("c{place}")).collect();
        format!(
            "{} AS (SELECT {} FROM unnest({}) AS k ({}))",
            item.table.alias,
            outputs.join(", "),
            arrays.join(", "),
            own.join(", ")
        )
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The type of the array of a column's values. There are no arrays of arrays: those are texts there.
fn array_of(column: Type) -> Type {
    match column.element() {
        Some(_) => Type::Text.array(),
        None => column.unmodified().array(),
    }
}

/// What an element of that is to be cast to.
fn cast_of(column: Type) -> Option<Type> {
    (column.element().is_some() || column != column.unmodified()).then_some(column)
}

/// The values of a column that was kept, as a parameter of this type.
pub fn kept_values(rows: &[Vec<Value>], column: usize, array: Type) -> Value {
    let element = array.element().unwrap_or(Type::Text);
    let value = |row: &Vec<Value>| match row.get(column) {
        Some(value @ Value::Array(_)) => values::text::to_string(value).map_or(Value::Null, |text| Value::text(&*text)),
        Some(value) => value.clone(),
        None => Value::Null,
    };
    Value::array(element, rows.iter().map(value).collect())
}

/// Parameters that a syntax tree names, from 0.
#[derive(Default)]
pub(super) struct Placeholders(BTreeSet<usize>);

impl ast::Visitor for Placeholders {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
        if let ast::Value::Placeholder(name) = &value.value {
            self.0.extend(number_of(name).map(|number| number - 1));
        }
        ControlFlow::Continue(())
    }
}

/// The parameters that a part names.
pub(super) fn placeholders(visit: impl FnOnce(&mut Placeholders) -> ControlFlow<()>) -> BTreeSet<usize> {
    let mut found = Placeholders::default();
    let _ = visit(&mut found);
    found.0
}

fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok().filter(|number| *number > 0)
}

/// The parameters of a text, numbered anew.
#[derive(Default)]
pub(super) struct Numbering(Vec<PartParameter>);

impl Numbering {
    /// Numbers the parameters of a text anew, in the order in which they stand in it.
    pub fn of(text: &str, kept: &BTreeMap<usize, KeptColumns>) -> (String, Numbering) {
        let mut numbering = Numbering::default();
        let mut renumbered = String::with_capacity(text.len());
        let mut cursor = Cursor::new(text);
        let mut done = 0;
        for token in sql_syntax::tokenize(text).unwrap_or_default() {
            let Token::Placeholder(name) = &token.token else { continue };
            let Some(parameter) = number_of(name).and_then(|number| parameter(number, kept)) else { continue };
            let start = cursor.offset(token.span.start);
            renumbered.push_str(&text[done..start]);
            renumbered.push_str(&format!("${}", numbering.place(parameter) + 1));
            done = start + name.len();
        }
        renumbered.push_str(&text[done..]);
        (renumbered, numbering)
    }

    fn place(&mut self, parameter: PartParameter) -> usize {
        match self.0.iter().position(|known| *known == parameter) {
            Some(place) => place,
            None => {
                self.0.push(parameter);
                self.0.len() - 1
            }
        }
    }

    /// What they are.
    pub fn into_parameters(self) -> Vec<PartParameter> {
        self.0
    }
}

/// What a number stands for.
fn parameter(number: usize, kept: &BTreeMap<usize, KeptColumns>) -> Option<PartParameter> {
    let Some(of_kept) = number.checked_sub(KEPT_FROM) else { return Some(PartParameter::Own(number - 1)) };
    let (item, column) = (of_kept / COLUMNS, of_kept % COLUMNS);
    let known = kept.get(&item)?.0.get(column)?;
    Some(PartParameter::Kept(item, column, array_of(known.column_type)))
}
