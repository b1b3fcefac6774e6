//! The query that is the body of a function in SQL: its parameters have names, and its columns become those of the function's result
//! (PostgreSQL's manual, 38.5; `check_sql_fn_retval`).

use super::{Analyzed, Analyzer, Result};
use crate::catalog::Catalog;
use crate::coercion::pathway;
use crate::error::AnalysisError;
use crate::facts::CastContext;
use crate::names::type_name;
use crate::parameters::Parameters;
use crate::reliance::Noting;
use crate::tree::{Command, EntryColumn, EntryKind, ExprId, Form, JoinTree, Node, Query, QueryId, RangeEntry, Target};
use crate::types::{TypeId, Typed};
use sqlstate::INVALID_FUNCTION_DEFINITION;

/// A function as its body sees it.
#[derive(Clone, Debug)]
pub struct Routine<'r> {
    /// Its name.
    pub name: &'r str,
    /// Its parameters: names, empty for those without one, and types.
    pub parameters: Vec<(&'r str, Typed)>,
    /// The types of the columns of its result.
    pub result: Vec<Typed>,
    /// Whether the result is one value, be it of each row.
    pub is_value: bool,
}

/// Gives the query of a function its meaning: its parameters are the function's, and its columns have the types of the function's result.
///
/// # Errors
/// As [`super::analyze`]; 42P13 if its columns are not those of the result.
pub fn analyze_routine(
    catalog: &dyn Catalog,
    parsed: &grammar::Parsed,
    routine: &Routine,
) -> std::result::Result<Analyzed, AnalysisError> {
    let types: Vec<TypeId> = routine.parameters.iter().map(|(_, typed)| typed.id).collect();
    let noting = Noting::new(catalog);
    let mut analyzer = Analyzer::new(&noting, &parsed.arena, Parameters::fixed(&types));
    analyzer.routine = Some(routine);
    let query = analyzer.statement(&parsed.statement, true)?;
    let query = analyzer.as_result(query, routine)?;
    analyzer.check_parameters()?;
    let mut tree = analyzer.tree;
    // Places are in a text that no client has sent.
    tree.expressions.iter_mut().for_each(|expression| (expression.at, expression.first) = (None, None));
    Ok(Analyzed { tree, query, parameters: types, relies_on: noting.into_notes() })
}

impl Analyzer<'_> {
    /// A parameter of the function that is analyzed, by its name.
    pub fn routine_parameter(&mut self, name: &str, at: u32) -> Result<Option<ExprId>> {
        let Some(routine) = self.routine.filter(|_| !name.is_empty()) else { return Ok(None) };
        let Some(place) = routine.parameters.iter().position(|(known, _)| *known == name) else { return Ok(None) };
        let (number, typed) = (place as u32 + 1, routine.parameters[place].1);
        self.parameters.use_of(number)?;
        Ok(Some(self.add(Node::Parameter(number), typed, Some(at))))
    }

    /// The query, or one around it that casts its columns as an assignment would.
    fn as_result(&mut self, query: QueryId, routine: &Routine) -> Result<QueryId> {
        let shown: Vec<(String, Typed)> = {
            let targets = self.tree[query].targets.iter().filter(|target| !target.junk);
            targets.map(|target| (target.name.clone(), self.tree[target.value].typed)).collect()
        };
        self.check_result(&shown, routine)?;
        if shown.iter().zip(&routine.result).all(|((_, own), wanted)| own.id == wanted.id) {
            return Ok(query);
        }
        let mut targets = Vec::with_capacity(shown.len());
        for (column, ((name, own), wanted)) in (0..).zip(shown.iter().zip(&routine.result)) {
            let value = self.add(Node::Column { levels_up: 0, entry: 0, column }, *own, None);
            let value =
                self.coerce(value, wanted.id, wanted.modifier, CastContext::Assignment, Form::Implicit, None)?;
            targets.push(Target { value, name: name.clone(), junk: false, reference: 0, column: None });
        }
        let columns = shown.into_iter().map(|(name, typed)| EntryColumn { name, typed }).collect();
        let kind = EntryKind::Query(query);
        let entry = RangeEntry { kind, name: "*SELECT*".to_string(), has_alias: false, columns, lateral: false };
        let around = Query {
            command: Command::Select,
            range_table: vec![entry],
            from: vec![JoinTree::Entry(0)],
            targets,
            ..Query::default()
        };
        Ok(self.tree.add_query(around))
    }

    fn check_result(&self, shown: &[(String, Typed)], routine: &Routine) -> Result<()> {
        let declared = match routine.result.as_slice() {
            [only] if routine.is_value => type_name(self.catalog, only.id),
            _ => "record".to_string(),
        };
        let wrong = |detail: String| {
            let message = format!("return type mismatch in function declared to return {declared}");
            Err(AnalysisError::new(INVALID_FUNCTION_DEFINITION, message).with_detail(detail))
        };
        if routine.is_value && shown.len() != 1 {
            return wrong("Final statement must return exactly one column.".to_string());
        }
        for (place, wanted) in routine.result.iter().enumerate() {
            let Some((_, own)) = shown.get(place) else {
                return wrong("Final statement returns too few columns.".to_string());
            };
            if pathway(self.catalog, own.id, wanted.id, CastContext::Assignment).is_none() {
                let (own, wanted) = (type_name(self.catalog, own.id), type_name(self.catalog, wanted.id));
                return wrong(match routine.is_value {
                    true => format!("Actual return type is {own}."),
                    false => format!("Final statement returns {own} instead of {wanted} at column {}.", place + 1),
                });
            }
        }
        match shown.len() > routine.result.len() {
            true => wrong("Final statement returns too many columns.".to_string()),
            false => Ok(()),
        }
    }
}
