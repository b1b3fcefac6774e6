//! What both say of a statement, in the same form.

use analyzer::tree::{Constant, Node};
use analyzer::types::{TypeId, UNKNOWN};
use analyzer::{AnalysisError, Analyzed, Catalog};

use crate::support::server::Described;

/// An answer: parameters and columns, or an error; as text, so that it can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has a meaning.
    Described(String),
    /// It has none.
    Refused(String),
}

impl Answer {
    /// For the list of differences.
    pub fn told(&self) -> &str {
        match self {
            Answer::Described(text) | Answer::Refused(text) => text,
        }
    }
}

/// Ours. Clients see a domain as what it is over.
pub fn ours(catalog: &dyn Catalog, sql: &str, result: &Result<Analyzed, AnalysisError>) -> Answer {
    match result {
        Ok(analyzed) => {
            let parameters: Vec<u32> = analyzed.parameters.iter().map(|id| id.0).collect();
            let columns: Vec<String> = analyzed
                .columns()
                .into_iter()
                .map(|(name, typed)| {
                    let (mut id, mut modifier) = (typed.id, typed.modifier);
                    while let Some(row) = catalog.type_row(id).filter(|row| row.base != TypeId(0)) {
                        (id, modifier) = (row.base, row.base_modifier);
                    }
                    column(name, id.0, modifier)
                })
                .collect();
            Answer::Described(described(&parameters, &columns))
        }
        Err(error) => {
            let at = error.at.map(|at| sql.char_indices().take_while(|(start, _)| *start < at as usize).count() + 1);
            Answer::Refused(refused(
                error.sqlstate,
                &error.message,
                error.detail.as_deref(),
                error.hint.as_deref(),
                &at.map(|at| at.to_string()).unwrap_or_default(),
            ))
        }
    }
}

/// PostgreSQL's.
pub fn theirs(described_by: &Described) -> Answer {
    match &described_by.error {
        None => {
            let pairs = described_by.columns.iter().zip(&described_by.named);
            let columns: Vec<String> = pairs.map(|(id, (name, modifier))| column(name, *id, *modifier)).collect();
            Answer::Described(described(&described_by.parameters, &columns))
        }
        Some(fields) => {
            let field = |kind: char| fields.get(&kind).map(String::as_str);
            Answer::Refused(refused(
                field('C').unwrap_or_default(),
                field('M').unwrap_or_default(),
                field('D'),
                field('H'),
                field('P').unwrap_or_default(),
            ))
        }
    }
}

/// Whether PostgreSQL only refuses the text of a literal, which we have given a type and do not read.
pub fn is_of_literal(sql: &str, result: &Result<Analyzed, AnalysisError>, described_by: &Described) -> bool {
    let (Ok(analyzed), Some(fields)) = (result, &described_by.error) else { return false };
    let place = fields.get(&'P').and_then(|place| place.parse::<usize>().ok());
    let Some(place) = place.and_then(|place| sql.char_indices().nth(place - 1)) else { return false };
    analyzed.tree.expressions.iter().any(|expression| {
        let text = matches!(expression.node, Node::Constant(Constant::Text(_) | Constant::Bits(_)));
        text && expression.typed.id != UNKNOWN && expression.at == Some(place.0 as u32)
    })
}

fn column(name: &str, id: u32, modifier: i32) -> String {
    if modifier == -1 { format!("{name} {id}") } else { format!("{name} {id}({modifier})") }
}

fn described(parameters: &[u32], columns: &[String]) -> String {
    format!("{parameters:?} [{}]", columns.join(", "))
}

fn refused(code: &str, message: &str, detail: Option<&str>, hint: Option<&str>, at: &str) -> String {
    let more = |text: Option<&str>| text.map(|text| format!(" [{text}]")).unwrap_or_default();
    format!("{code} {message}{}{} at {at}", more(detail), more(hint))
}
