//! Procedures and functions as the catalog keeps them.

use crate::privilege::Rights;
use serde::{Deserialize, Serialize};
use values::Type;

/// A procedure or function (PostgreSQL's `LANGUAGE SQL`). The statements of a procedure run as one program, one after the other; a function is a query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcedureSchema {
    /// Its name, in a space of its own.
    pub name: String,
    /// Its object identifier, kept for life.
    pub oid: u32,
    /// Its parameters: names, empty for those without one, and types.
    pub parameters: Vec<(String, Type)>,
    /// The text of its statements.
    pub body: String,
    /// Who owns it, and who may call it.
    pub rights: Rights,
    /// What makes it a function.
    pub function: Option<FunctionSchema>,
    /// What makes it a procedure in PL/pgSQL: which way each parameter goes, as [`FunctionSchema::modes`] says it, but that OUT parameters stand among the
    /// others. `None`: it is in SQL.
    pub plpgsql: Option<String>,
}

/// What a function has and a procedure has not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FunctionSchema {
    /// What a row of its result is.
    pub result: RoutineResult,
    /// Which way each parameter goes in the order in which they were written, as `pg_proc.proargmodes` says it: in, out, both, or a column of TABLE. Empty: all go in.
    pub modes: String,
    /// Whether its result is a set of rows: SETOF or TABLE.
    pub returns_set: bool,
    /// What its result depends on.
    pub volatility: RoutineVolatility,
    /// Whether it is NULL, or without rows, as soon as an argument is NULL.
    pub is_strict: bool,
    /// Whether parallel workers may call it, as `pg_proc.proparallel` says it. Nothing here makes use of that.
    pub parallel: char,
    /// Defaults of the last parameters, as expressions.
    pub defaults: Vec<String>,
    /// Its query, with the catalog's names in it.
    pub query: String,
}

/// What a row of a function's result is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RoutineResult {
    /// One value.
    Value(Type),
    /// Columns, by the names of OUT and INOUT parameters or of RETURNS TABLE.
    Columns(Vec<(String, Type)>),
    /// A row of the table whose trigger has called it: nothing else calls it.
    Trigger,
}

/// What the result of a routine depends on (`pg_proc.provolatile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineVolatility {
    /// On its arguments alone.
    Immutable,
    /// On what is stored, too, but it is one within a statement.
    Stable,
    /// On anything.
    Volatile,
}

impl ProcedureSchema {
    /// What statements call it: `function` or `procedure`.
    pub fn word(&self) -> &'static str {
        if self.function.is_some() { "function" } else { "procedure" }
    }
}

impl ProcedureSchema {
    /// The parameters that are part of its signature: those that go in.
    pub fn inputs(&self) -> impl Iterator<Item = &(String, Type)> {
        let modes = self.plpgsql.as_deref().unwrap_or_default().chars().map(Some).chain(std::iter::repeat(None));
        self.parameters.iter().zip(modes).filter(|(_, mode)| *mode != Some('o')).map(|(known, _)| known)
    }

    /// The places of the parameters that a call of a procedure gives back.
    pub fn outputs(&self) -> Vec<usize> {
        let modes = self.plpgsql.as_deref().unwrap_or_default().chars().enumerate();
        modes.filter(|(_, mode)| matches!(mode, 'o' | 'b')).map(|(place, _)| place).collect()
    }
}

impl FunctionSchema {
    /// Names and types of the columns of its result; a single value has no name.
    pub fn columns(&self) -> Vec<(&str, Type)> {
        match &self.result {
            RoutineResult::Value(of) => vec![("", *of)],
            RoutineResult::Columns(columns) => columns.iter().map(|(name, of)| (name.as_str(), *of)).collect(),
            RoutineResult::Trigger => Vec::new(),
        }
    }
}

impl ProcedureSchema {
    /// All parameters in the order in which they were written, each with the letter of its mode; columns of TABLE are among them.
    pub fn all_parameters(&self) -> Vec<(char, &(String, Type))> {
        let function = self.function.as_ref();
        let columns: &[(String, Type)] = match function.map(|function| &function.result) {
            Some(RoutineResult::Columns(columns)) => columns,
            _ => &[],
        };
        if let Some(modes) = self.plpgsql.as_ref().filter(|modes| !modes.is_empty()) {
            return modes.chars().zip(&self.parameters).collect();
        }
        let modes = function.map(|function| function.modes.as_str()).filter(|modes| !modes.is_empty());
        let Some(modes) = modes else { return self.parameters.iter().map(|known| ('i', known)).collect() };
        let (mut inputs, mut columns) = (self.parameters.iter(), columns.iter());
        let mut next = |mode: char| {
            let input = if matches!(mode, 'i' | 'b') { inputs.next() } else { None };
            let column = if mode == 'i' { None } else { columns.next() };
            Some((mode, input.or(column)?))
        };
        modes.chars().filter_map(&mut next).collect()
    }
}
