//! What is told of a difference, and of a whole run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::case::{Action, Case};
use crate::limits::ROWS_SHOWN;
use crate::tables::Table;
use crate::wire::{Answer, Cell, Parameter};

/// A difference that was found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How the answers differ.
    pub difference: String,
    /// The statements that show it, with what they say.
    pub script: String,
    /// Raid's message, if it refused.
    pub message: String,
    /// Both answers.
    pub answers: String,
    /// Its case.
    pub case: u64,
}

/// Statements of a case, as one would type them.
pub fn script(case: &Case) -> String {
    let mut text = tables(&case.tables);
    for step in &case.steps {
        let line = match &step.action {
            Action::Query { query, path } => format!("{}; -- {}", query.node.sql(), path.name()),
            Action::Prepare { name, query } => format!("PREPARE {name} AS {};", query.node.sql()),
            Action::Execute { name, parameters, binary, .. } => {
                let values: Vec<String> = parameters.iter().map(parameter).collect();
                let form = if *binary { "binary" } else { "text" };
                format!("EXECUTE {name} ({}); -- extended, {form}", values.join(", "))
            }
            Action::Change { node, table, path } => {
                format!("{}; -- {}\nSELECT * FROM {table};", node.sql(), path.name())
            }
            Action::Define { statements, .. } => format!("{};", statements.join(";\n")),
        };
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Statements that make tables.
pub fn tables(tables: &[Table]) -> String {
    tables.iter().flat_map(Table::statements).map(|sql| format!("{sql};\n")).collect()
}

fn parameter(value: &Parameter) -> String {
    value.as_ref().map_or("NULL".to_string(), |value| format!("'{}'", value.replace('\'', "''")))
}

/// An answer in a few lines.
pub fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal) => format!("    {} {}\n", refusal.code, refusal.message),
        Answer::Broken(why) => format!("    the connection broke: {why}\n"),
        Answer::Done { columns, rows, tag, parameters } => {
            let columns: Vec<String> = columns.iter().map(|column| format!("{}:{}", column.name, column.oid)).collect();
            let mut text = format!("    {tag} ({})", columns.join(", "));
            if !parameters.is_empty() {
                let _ = write!(text, " parameters {parameters:?}");
            }
            text.push('\n');
            for row in rows.iter().take(ROWS_SHOWN) {
                let cells: Vec<String> = row.iter().map(cell).collect();
                let _ = writeln!(text, "    {}", cells.join(" | "));
            }
            if rows.len() > ROWS_SHOWN {
                let _ = writeln!(text, "    ... {} rows", rows.len());
            }
            text
        }
    }
}

/// A value, as text if it is text, as numbers of bytes otherwise.
pub fn cell(cell: &Cell) -> String {
    match cell {
        None => "NULL".to_string(),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => text.to_string(),
            _ => bytes.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}")),
        },
    }
}

/// How often something came out.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    statements: u64,
    same: u64,
    refused: u64,
    unsupported: u64,
    different: u64,
}

/// How a statement came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The same rows.
    Same,
    /// The same error.
    Refused,
    /// Not supported by Raid.
    Unsupported,
    /// Not judged.
    Unknown,
    /// Different, and listed.
    Known,
    /// Different.
    Different,
}

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Summary {
    /// Statements so far.
    pub statements: u64,
    /// Different and not listed.
    pub different: u64,
    /// Different and listed.
    pub known: u64,
    same: u64,
    refused: u64,
    unsupported: u64,
    unknown: u64,
    features: BTreeMap<&'static str, Count>,
    reasons: BTreeMap<String, u64>,
}

impl Summary {
    /// Counts a statement.
    pub fn count(&mut self, features: &BTreeSet<&'static str>, outcome: Outcome) {
        self.statements += 1;
        let all = [
            &mut self.same,
            &mut self.refused,
            &mut self.unsupported,
            &mut self.unknown,
            &mut self.known,
            &mut self.different,
        ];
        for (at, number) in all.into_iter().enumerate() {
            *number += u64::from(at == outcome as usize);
        }
        for feature in features {
            let count = self.features.entry(feature).or_default();
            count.statements += 1;
            match outcome {
                Outcome::Same => count.same += 1,
                Outcome::Refused => count.refused += 1,
                Outcome::Unsupported => count.unsupported += 1,
                Outcome::Known | Outcome::Different => count.different += 1,
                Outcome::Unknown => {}
            }
        }
    }

    /// Notes what Raid says that it does not support.
    pub fn unsupported(&mut self, message: &str) {
        *self.reasons.entry(shape(message)).or_default() += 1;
    }

    /// One line.
    pub fn line(&self) -> String {
        format!(
            "{} statements: {} same, {} refused alike, {} not supported, {} not judged, {} known differences, {} differences",
            self.statements, self.same, self.refused, self.unsupported, self.unknown, self.known, self.different
        )
    }

    /// Everything.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<28}{:>12}{:>10}{:>10}{:>15}{:>12}\n",
            "feature", "statements", "same", "refused", "not supported", "different"
        );
        for (feature, count) in &self.features {
            let Count { statements, same, refused, unsupported, different } = count;
            let _ =
                writeln!(text, "{feature:<28}{statements:>12}{same:>10}{refused:>10}{unsupported:>15}{different:>12}");
        }
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        if !reasons.is_empty() {
            text.push_str("\nnot supported, by what Raid says:\n");
        }
        for (reason, count) in reasons.into_iter().take(20) {
            let _ = writeln!(text, "{count:>8}  {reason}");
        }
        text
    }
}

/// A text without the names and numbers in it that differ from statement to statement.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    for char in text.chars() {
        match char {
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape
}
