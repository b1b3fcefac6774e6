//! Operators, casts and common types: what is asked, and our answers.

use std::collections::BTreeSet;

use analyzer::coercion::{SourceKind, Step, assignment, clause, explicit_cast};
use analyzer::common_type::{array_constructor, common_type_of, to_common};
use analyzer::facts::{CastContext, Facts};
use analyzer::operators::{OperatorName, ResolvedOperator, binary, of_array, prefix};
use analyzer::parameters::Parameters;
use analyzer::types::*;
use analyzer::{AnalysisError, BuiltIns, Catalog};

use crate::tree::{argument, converted};
use crate::{Answer, Case, answer, null, sample};

/// Names of operators with two sides, or with one.
fn names(sides: usize) -> BTreeSet<String> {
    let operators = Facts::postgresql15().operators.iter();
    operators.filter(|row| (row.left == TypeId(0)) == (sides == 1)).map(|row| row.name.to_string()).collect()
}

fn one_each(sources: &[TypeId], targets: &[TypeId]) -> Result<Vec<String>, AnalysisError> {
    let mut nodes = Vec::new();
    for (source, target) in sources.iter().zip(targets) {
        nodes.extend(argument(&BuiltIns, *source, *target, CastContext::Implicit)?);
    }
    Ok(nodes)
}

/// What an operator is resolved to, with its sides.
fn told(node: &str, found: &ResolvedOperator, sources: &[TypeId]) -> Answer {
    let first = vec![format!("{node} {}", found.operator.0)];
    Ok(answer(found.result, [first, one_each(sources, &found.arguments)?].concat()))
}

/// Every operator with every pair of types.
pub fn operators() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in names(2) {
        for left in sample() {
            for right in sample() {
                let found = binary(&BuiltIns, OperatorName::new(&name), left, right);
                let ours = found.and_then(|found| told("OPEXPR", &found, &[left, right]));
                cases.push(Case { sql: format!("select {} {name} {}", null(left), null(right)), ours });
            }
        }
    }
    for name in names(1) {
        for right in sample() {
            let found = prefix(&BuiltIns, OperatorName::new(&name), right);
            let ours = found.and_then(|found| told("OPEXPR", &found, &[right]));
            cases.push(Case { sql: format!("select {name} {}", null(right)), ours });
        }
    }
    cases
}

/// Some operators with ANY.
pub fn of_arrays() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in ["=", "<", "~~", "||", "@>", "+"] {
        for left in sample() {
            for element in sample() {
                let right = if element == UNKNOWN {
                    UNKNOWN
                } else {
                    BuiltIns.type_row(element).map(|row| row.array).unwrap_or_default()
                };
                let right = if right == TypeId(0) { element } else { right };
                let found = of_array(&BuiltIns, OperatorName::new(name), left, right);
                let ours = found.and_then(|found| told("SCALARARRAYOPEXPR", &found, &[left, right]));
                cases.push(Case { sql: format!("select {} {name} any({})", null(left), null(right)), ours });
            }
        }
    }
    cases
}

/// Every operator between a parameter and every type.
pub fn of_parameters() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in names(2) {
        for other in sample() {
            let ours = with_parameter(&name, other);
            cases.push(Case { sql: format!("select $1 {name} {}", null(other)), ours });
        }
        cases.push(Case { sql: format!("select $1 {name} $1"), ours: twice(&name) });
    }
    cases
}

fn with_parameter(name: &str, other: TypeId) -> Answer {
    let mut parameters = Parameters::open(&[]);
    let source = parameters.use_of(1)?;
    let found = binary(&BuiltIns, OperatorName::new(name), source, other)?;
    if found.arguments[0] != source && !found.arguments[0].is_polymorphic() {
        parameters.decide(&BuiltIns, 1, found.arguments[0])?;
    }
    let id = parameters.settled()?[0];
    let nodes = [
        vec![format!("OPEXPR {}", found.operator.0), format!("PARAM {id}")],
        argument(&BuiltIns, other, found.arguments[1], CastContext::Implicit)?,
    ];
    Ok(format!("${id} {}", answer(found.result, nodes.concat())))
}

fn twice(name: &str) -> Answer {
    let mut parameters = Parameters::open(&[]);
    let source = parameters.use_of(1)?;
    let found = binary(&BuiltIns, OperatorName::new(name), source, source)?;
    for wanted in &found.arguments {
        parameters.decide(&BuiltIns, 1, *wanted)?;
    }
    let id = parameters.settled()?[0];
    let nodes = vec![format!("OPEXPR {}", found.operator.0), format!("PARAM {id}"), format!("PARAM {id}")];
    Ok(format!("${id} {}", answer(found.result, nodes)))
}

/// Casts between all types that a NULL can have, and what WHERE and LIMIT take.
pub fn casts() -> Vec<Case> {
    let rows = || Facts::postgresql15().types.iter();
    let plain = |id: TypeId, kind: TypeKind| kind != TypeKind::Pseudo && kind != TypeKind::Composite && id != UNKNOWN;
    let ids: BTreeSet<TypeId> = rows()
        .filter(|row| plain(row.id, row.kind) && row.element.known().is_none())
        .map(|row| row.id)
        .chain(sample())
        .collect();
    let mut cases = Vec::new();
    for source in &ids {
        for target in ids.iter().filter(|id| **id != UNKNOWN && **id != RECORD) {
            let ours =
                explicit_cast(&BuiltIns, *source, kind(*source), *target).map(|steps| cast(*source, *target, &steps));
            let name = BuiltIns.type_row(*target).map(|row| row.name.clone()).unwrap_or_default();
            cases.push(Case { sql: format!("select ({})::pg_catalog.\"{name}\"", null(*source)), ours });
        }
        let limit = clause(&BuiltIns, *source, kind(*source), analyzer::types::INT8, "LIMIT")
            .map(|_| answer(analyzer::types::INT4, vec!["CONST 23".into()]));
        if limit.is_err() {
            cases.push(Case { sql: format!("select 1 limit {}", null(*source)), ours: limit });
        }
        let limit = clause(&BuiltIns, *source, kind(*source), analyzer::types::BOOL, "WHERE")
            .map(|_| answer(analyzer::types::INT4, vec!["CONST 23".into()]));
        cases.push(Case { sql: format!("select 1 where {}", null(*source)), ours: limit });
    }
    cases
}

fn kind(source: TypeId) -> SourceKind {
    if source == UNKNOWN { SourceKind::Literal } else { SourceKind::Other }
}

fn cast(source: TypeId, target: TypeId, steps: &[Step]) -> String {
    answer(target, converted(&BuiltIns, steps, vec![format!("CONST {source}")]))
}

/// Common types of two and three expressions.
pub fn common_types() -> Vec<Case> {
    let mut cases = Vec::new();
    for first in sample() {
        for second in sample() {
            let pair = [first, second];
            let (a, b) = (null(first), null(second));
            cases.push(Case {
                sql: format!("select coalesce({a}, {b})"),
                ours: common(&pair, "COALESCE", "COALESCEEXPR"),
            });
            cases.push(Case { sql: format!("select greatest({a}, {b})"), ours: comparable(&pair) });
            cases.push(Case { sql: format!("select array[{a}, {b}]"), ours: array(&pair) });
            for third in sample().into_iter().step_by(7) {
                let c = null(third);
                let all = [first, second, third];
                cases.push(Case {
                    sql: format!("select coalesce({a}, {b}, {c})"),
                    ours: common(&all, "COALESCE", "COALESCEEXPR"),
                });
            }
        }
    }
    cases
}

fn common(types: &[TypeId], name: &str, node: &str) -> Answer {
    let common = common_type_of(&BuiltIns, types, name).map_err(|(error, _)| error)?;
    let mut nodes = vec![format!("{node} {common}")];
    for (index, source) in types.iter().enumerate() {
        let name = match (name, index) {
            ("CASE", 0) => "CASE/ELSE",
            ("CASE", _) => "CASE/WHEN",
            _ => name,
        };
        let steps = to_common(&BuiltIns, *source, kind(*source), common, name)?;
        nodes.extend(converted(&BuiltIns, &steps, vec![format!("CONST {source}")]));
    }
    Ok(answer(common, nodes))
}

fn comparable(types: &[TypeId]) -> Answer {
    common(types, "GREATEST", "MINMAXEXPR")
}

fn array(types: &[TypeId]) -> Answer {
    let element = common_type_of(&BuiltIns, types, "ARRAY").map_err(|(error, _)| error)?;
    let array = array_constructor(&BuiltIns, element)?;
    let mut nodes = vec![format!("ARRAYEXPR {array}")];
    for source in types {
        let steps = to_common(&BuiltIns, *source, kind(*source), element, "ARRAY")?;
        nodes.extend(converted(&BuiltIns, &steps, vec![format!("CONST {source}")]));
    }
    Ok(answer(array, nodes))
}

/// Columns of system catalogs, of many types. Nothing is ever changed: the statement is not executed.
const COLUMNS: &[(&str, &str, TypeId)] = &[
    ("pg_proc", "proname", NAME),
    ("pg_proc", "procost", FLOAT4),
    ("pg_proc", "proisstrict", BOOL),
    ("pg_proc", "prokind", CHAR),
    ("pg_proc", "prosrc", TEXT),
    ("pg_proc", "pronargs", INT2),
    ("pg_proc", "proargtypes", OIDVECTOR),
    ("pg_proc", "proargnames", TEXT_ARRAY),
    ("pg_proc", "prosupport", REGPROC),
    ("pg_proc", "prorettype", OID),
    ("pg_class", "relpages", INT4),
    ("pg_authid", "rolvaliduntil", TIMESTAMPTZ),
    ("pg_largeobject", "data", BYTEA),
    ("pg_sequence", "seqstart", INT8),
    ("pg_index", "indkey", INT2VECTOR),
];

/// What an assignment to a column takes.
pub fn assignments() -> Vec<Case> {
    let mut cases = Vec::new();
    for source in sample() {
        for (table, column, target) in COLUMNS {
            let steps = assignment(&BuiltIns, source, kind(source), *target, column);
            let ours = steps.map(|steps| answer(NONE, converted(&BuiltIns, &steps, vec![format!("CONST {source}")])));
            cases.push(Case { sql: format!("update {table} set {column} = {}", null(source)), ours });
        }
    }
    cases
}

/// The types of a result of UNION, VALUES and CASE, whose trees have more in them than the conversions.
pub fn results() -> Vec<Case> {
    let mut cases = Vec::new();
    for first in sample() {
        for second in sample() {
            let (a, b) = (null(first), null(second));
            let only_type = |types: &[TypeId], name| common(types, name, "").map(|answer| until_colon(&answer));
            let union = only_type(&[first, second], "UNION");
            cases.push(Case { sql: format!("select {a} union all select {b}"), ours: union });
            let case = only_type(&[second, first], "CASE");
            cases.push(Case { sql: format!("select case when true then {a} else {b} end"), ours: case });
            cases.push(Case { sql: format!("values ({a}), ({b})"), ours: only_type(&[first, second], "VALUES") });
        }
    }
    cases
}

/// An answer without its nodes.
pub fn until_colon(answer: &str) -> String {
    answer.split(':').next().unwrap_or_default().to_string()
}
