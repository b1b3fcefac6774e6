//! Users' functions: how the analyzer sees them, and the meaning of the queries of those in SQL.
//!
//! Invariant: what a statement relies on includes what the queries of the functions rely on that it calls, one within the other.

use super::catalog::{SnapshotCatalog, typed};
use super::domains::{self, CastDomains};
use crate::error::QueryError;
use crate::planning::go_on;
use analyzer::facts::{Function, FunctionKind, Parameter, ParameterMode, Volatility};
use analyzer::reliance::LookUp;
use analyzer::tree::Node;
use analyzer::types::{FunctionId, NONE, RECORD, TRIGGER, VOID};
use analyzer::{Analyzed, Routine, RoutineForm, TypeId};
use executor::{RoutineCode, RoutineMeaning};
use grammar::ast::Statement;
use messages::limits::FUNCTION_BYTES_MAX;
use messages::namespace;
use messages::schema::{FunctionSchema, ProcedureSchema, RoutineResult, RoutineVolatility};
use std::collections::BTreeMap;

/// What users' functions are written in.
const SQL: &str = "sql";
const PLPGSQL: &str = "plpgsql";
/// Rows that a function that returns a set is taken to yield, as PostgreSQL takes it.
const SET_ROWS: f32 = 1_000.0;

/// Why a statement with calls of users' functions is not planned.
pub(super) enum RoutineRefusal {
    /// It is wrong.
    Wrong(QueryError),
    /// Something is not built.
    NotBuilt(String),
}

/// The functions that a statement calls, one within the other, with what their queries mean.
#[derive(Default)]
pub(super) struct CalledRoutines {
    /// The domains that the statement and the queries cast to.
    pub domains: CastDomains,
    pub bodies: BTreeMap<FunctionId, RoutineMeaning>,
    /// What their queries rely on.
    pub relies_on: Vec<(LookUp, u64)>,
}

/// A function, or a procedure, as the analyzer sees it.
pub(super) fn row(known: &ProcedureSchema) -> Function {
    let function = known.function.as_ref();
    let parameter = |(mode, (name, of)): (char, &(String, values::Type))| Parameter {
        name: name.clone().into(),
        mode: match mode {
            'o' => ParameterMode::Out,
            'b' => ParameterMode::InOut,
            't' => ParameterMode::Table,
            _ => ParameterMode::In,
        },
        type_id: TypeId(of.oid()),
    };
    let parameters: Vec<Parameter> = known.all_parameters().into_iter().map(parameter).collect();
    let returns_set = function.is_some_and(|function| function.returns_set);
    Function {
        id: FunctionId(known.oid),
        name: namespace::bare(&known.name).to_owned().into(),
        language: if known.plpgsql.is_some() { PLPGSQL } else { SQL }.into(),
        cost: 100.0,
        rows: if returns_set { SET_ROWS } else { 0.0 },
        variadic: NONE,
        kind: if function.is_some() { FunctionKind::Function } else { FunctionKind::Procedure },
        leakproof: false,
        strict: function.is_some_and(|function| function.is_strict),
        returns_set,
        volatility: match function.map(|function| function.volatility) {
            Some(RoutineVolatility::Immutable) => Volatility::Immutable,
            Some(RoutineVolatility::Stable) => Volatility::Stable,
            Some(RoutineVolatility::Volatile) | None => Volatility::Volatile,
        },
        parallel: function.map_or('u', |function| function.parallel),
        defaults: function.map_or(0, |function| function.defaults.len()),
        result: function.map_or(VOID, |function| match function.columns().as_slice() {
            [] => TRIGGER,
            [(_, only)] => TypeId(only.oid()),
            _ => RECORD,
        }),
        arguments: known.parameters.iter().map(|(_, of)| TypeId(of.oid())).collect(),
        parameters,
        default_text: function.map_or_else(String::new, |function| function.defaults.join(", ")).into(),
        source: known.body.clone().into(),
        body: None,
    }
}

/// The meaning of all functions that a statement calls.
pub(super) fn called(names: &SnapshotCatalog<'_>, analyzed: &Analyzed) -> Result<CalledRoutines, RoutineRefusal> {
    let mut called = CalledRoutines::default();
    domains::add(analyzed, names, &mut called.domains)?;
    let (mut open, mut bytes) = (functions_in(analyzed), 0);
    while let Some(function) = open.pop() {
        let Some(known) = names.routine(function).filter(|_| !called.bodies.contains_key(&function)) else { continue };
        let Some(schema) = &known.function else { continue };
        bytes += schema.query.len() + schema.defaults.iter().map(String::len).sum::<usize>();
        if bytes > FUNCTION_BYTES_MAX {
            return Err(RoutineRefusal::NotBuilt("a statement that calls such long functions".to_owned()));
        }
        go_on().map_err(|cancelled| RoutineRefusal::Wrong(cancelled.into()))?;
        let body = body(names, known, schema)?;
        let query = match &body.body {
            RoutineCode::Query(query) => Some(&**query),
            RoutineCode::Called(_) => None,
        };
        for part in query.into_iter().chain(&body.defaults) {
            domains::add(part, names, &mut called.domains)?;
            open.extend(functions_in(part));
            called.relies_on.extend(part.relies_on.iter().cloned());
        }
        called.bodies.insert(function, body);
    }
    Ok(called)
}

/// All functions that are called somewhere in a tree.
fn functions_in(analyzed: &Analyzed) -> Vec<FunctionId> {
    let of_node = |node: &Node| match node {
        Node::Function { function, .. } | Node::ParameterDefault { function, .. } => Some(*function),
        _ => None,
    };
    analyzed.tree.expressions.iter().filter_map(|expression| of_node(&expression.node)).collect()
}

fn body(
    names: &SnapshotCatalog<'_>,
    known: &ProcedureSchema,
    schema: &FunctionSchema,
) -> Result<RoutineMeaning, RoutineRefusal> {
    let parameters: Vec<_> = known.parameters.iter().map(|(name, of)| (name.as_str(), typed(*of))).collect();
    let routine = Routine {
        name: namespace::bare(&known.name),
        parameters: parameters.clone(),
        result: schema.columns().into_iter().map(|(_, of)| typed(of)).collect(),
        form: match &schema.result {
            RoutineResult::Columns(columns) if columns.len() > 1 => RoutineForm::Row,
            _ => RoutineForm::Value,
        },
    };
    let body = match known.plpgsql {
        Some(_) => RoutineCode::Called(routine.result.len()),
        None => RoutineCode::Query(Box::new(meaning(names, &schema.query, &routine)?)),
    };
    let first = known.parameters.len().saturating_sub(schema.defaults.len());
    let mut defaults = Vec::with_capacity(schema.defaults.len());
    for (text, (_, of)) in schema.defaults.iter().zip(&parameters[first..]) {
        let routine = Routine { name: "", parameters: Vec::new(), result: vec![*of], form: RoutineForm::Default };
        defaults.push(meaning(names, &format!("SELECT {text}"), &routine)?);
    }
    Ok(RoutineMeaning { body, defaults })
}

/// What a query means that is not the statement's own: places in it say nothing to its client.
pub(super) fn meaning(
    names: &SnapshotCatalog<'_>,
    text: &str,
    routine: &Routine<'_>,
) -> Result<Analyzed, RoutineRefusal> {
    let script = grammar::parse(text).map_err(|error| RoutineRefusal::Wrong(QueryError::from(error).anywhere()))?;
    let [parsed] = script.statements.as_slice() else {
        return Err(RoutineRefusal::NotBuilt("a function of several statements".to_owned()));
    };
    if !matches!(parsed.statement, Statement::Query(_)) {
        return Err(RoutineRefusal::NotBuilt("a function that is no query".to_owned()));
    }
    let analyzed = analyzer::analyze_routine(names, parsed, routine).and_then(|mut analyzed| {
        domains::strip(&mut analyzed, names)?;
        Ok(analyzed)
    });
    if names.is_beyond() {
        return Err(RoutineRefusal::NotBuilt("a function that reads a view or a system catalog".to_owned()));
    }
    analyzed.map_err(|error| match super::is_unbuilt(&error.message) {
        true => RoutineRefusal::NotBuilt(error.message),
        false => RoutineRefusal::Wrong(QueryError::from(error).anywhere()),
    })
}
