//! The query that is the body of a function in SQL: its parameters have names, and its columns become those of the function's result
//! (PostgreSQL's manual, 38.5; `check_sql_fn_retval`).

use super::{Analyzed, Analyzer, Result};
use crate::catalog::Catalog;
use crate::coercion::pathway;
use crate::error::{AnalysisError, DATATYPE_MISMATCH};
use crate::facts::CastContext;
use crate::names::type_name;
use crate::parameters::Parameters;
use crate::reliance::Noting;
use crate::tree::{Command, EntryColumn, EntryKind, ExprId, Form, JoinTree, Node, Query, QueryId, RangeEntry, Target};
use crate::types::{TypeId, Typed, UNKNOWN};
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
    /// What that is.
    pub form: RoutineForm,
}

/// What the result of a function's query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineForm {
    /// One value, be it of each row.
    Value,
    /// Several columns.
    Row,
    /// The default of a parameter: an expression behind SELECT.
    Default,
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
    let query = match routine.form {
        RoutineForm::Default => {
            let query = analyzer.statement(&parsed.statement, false)?;
            analyzer.as_default(query, routine)?
        }
        RoutineForm::Value | RoutineForm::Row => {
            let query = analyzer.statement(&parsed.statement, true)?;
            analyzer.as_result(query, routine)?
        }
    };
    analyzer.check_parameters()?;
    let depth = analyzer.deepest;
    let mut tree = analyzer.tree;
    // Places are in a text that no client has sent.
    tree.expressions.iter_mut().for_each(|expression| (expression.at, expression.first) = (None, None));
    Ok(Analyzed { tree, query, parameters: types, relies_on: noting.into_notes(), depth })
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

    /// The query of a default, whose only column is converted as an assignment would. Errors: 42804.
    fn as_default(&mut self, query: QueryId, routine: &Routine) -> Result<QueryId> {
        let ([target], [wanted]) = (self.tree[query].targets.as_slice(), routine.result.as_slice()) else {
            return Err(AnalysisError::new(INVALID_FUNCTION_DEFINITION, "a default is one expression"));
        };
        let value = target.value;
        let own = self.type_of(value);
        if own != UNKNOWN && pathway(self.catalog, own, wanted.id, CastContext::Assignment).is_none() {
            let (own, wanted) = (type_name(self.catalog, own), type_name(self.catalog, wanted.id));
            let message = format!("argument of DEFAULT must be type {wanted}, not type {own}");
            return Err(AnalysisError::new(DATATYPE_MISMATCH, message));
        }
        let value = self.coerce(value, wanted.id, wanted.modifier, CastContext::Assignment, Form::Implicit, None)?;
        self.tree.queries[query.0 as usize].targets[0].value = value;
        Ok(query)
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
            [only] if routine.form == RoutineForm::Value => type_name(self.catalog, only.id),
            _ => "record".to_string(),
        };
        let wrong = |detail: String| {
            let message = format!("return type mismatch in function declared to return {declared}");
            Err(AnalysisError::new(INVALID_FUNCTION_DEFINITION, message).with_detail(detail))
        };
        let is_value = routine.form == RoutineForm::Value;
        if is_value && shown.len() != 1 {
            return wrong("Final statement must return exactly one column.".to_string());
        }
        for (place, wanted) in routine.result.iter().enumerate() {
            let Some((_, own)) = shown.get(place) else {
                return wrong("Final statement returns too few columns.".to_string());
            };
            if pathway(self.catalog, own.id, wanted.id, CastContext::Assignment).is_none() {
                let (own, wanted) = (type_name(self.catalog, own.id), type_name(self.catalog, wanted.id));
                return wrong(match is_value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::BuiltIns;
    use crate::types::{CollationId, INT4, INT8, NO_MODIFIER, TEXT};

    fn typed(id: TypeId) -> Typed {
        Typed { id, modifier: NO_MODIFIER, collation: CollationId(0) }
    }

    /// The columns of the query of `f (a int, text)`, or what is said of it.
    fn meaning(query: &str, result: &[TypeId], is_value: bool) -> std::result::Result<Vec<TypeId>, String> {
        let parameters = vec![("a", typed(INT4)), ("", typed(TEXT))];
        let result = result.iter().map(|id| typed(*id)).collect();
        let form = if is_value { RoutineForm::Value } else { RoutineForm::Row };
        let routine = Routine { name: "f", parameters, result, form };
        let script = grammar::parse(query).expect(query);
        match analyze_routine(&BuiltIns, &script.statements[0], &routine) {
            Ok(analyzed) => Ok(analyzed.columns().into_iter().map(|(_, typed)| typed.id).collect()),
            Err(error) => Err(format!("{} {}", error.message, error.detail.unwrap_or_default())),
        }
    }

    /// If this fails, a name in a function means something else than in PostgreSQL: a column comes before a parameter.
    #[test]
    fn parameters_have_names_behind_columns() {
        assert_eq!(meaning("SELECT a", &[INT4], true), Ok(vec![INT4]));
        assert_eq!(meaning("SELECT f.a + $1, $2", &[INT4, TEXT], false), Ok(vec![INT4, TEXT]));
        assert_eq!(meaning("SELECT a FROM (SELECT 'x'::text AS a) AS t", &[TEXT], true), Ok(vec![TEXT]));
        assert_eq!(meaning("SELECT b", &[INT4], true), Err("column \"b\" does not exist ".to_owned()));
        assert_eq!(meaning("SELECT $3", &[INT4], true), Err("there is no parameter $3 ".to_owned()));
        let missing = "missing FROM-clause entry for table \"g\" ";
        assert_eq!(meaning("SELECT g.a", &[INT4], true), Err(missing.to_owned()));
    }

    /// If this fails, a function yields values of another type than it says, or is refused where PostgreSQL takes it.
    #[test]
    fn columns_become_those_of_the_result() {
        assert_eq!(meaning("SELECT a ORDER BY a", &[INT8], true), Ok(vec![INT8]));
        assert_eq!(meaning("SELECT 1 UNION SELECT 2", &[INT8], true), Ok(vec![INT8]));
        let integer = "return type mismatch in function declared to return integer";
        let record = "return type mismatch in function declared to return record";
        let wrong = |message: &str, detail: &str| Err(format!("{message} {detail}"));
        assert_eq!(meaning("SELECT 'x'::text", &[INT4], true), wrong(integer, "Actual return type is text."));
        let one = "Final statement must return exactly one column.";
        assert_eq!(meaning("SELECT 1, 2", &[INT4], true), wrong(integer, one));
        let few = "Final statement returns too few columns.";
        assert_eq!(meaning("SELECT 1", &[INT4, INT4], false), wrong(record, few));
        let many = "Final statement returns too many columns.";
        assert_eq!(meaning("SELECT 1, 2, 3", &[INT4, INT4], false), wrong(record, many));
        let other = "Final statement returns text instead of integer at column 2.";
        assert_eq!(meaning("SELECT 1, 'x'::text", &[INT4, INT4], false), wrong(record, other));
    }
}
