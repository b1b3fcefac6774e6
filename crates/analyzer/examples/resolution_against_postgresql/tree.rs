//! What was resolved, in a short form that PostgreSQL's printed trees and our answers share: the nodes from the outside in, each with the number that tells what it is.

use analyzer::coercion::{Pathway, SourceKind, Step, conversion};
use analyzer::facts::CastContext;
use analyzer::types::{TypeId, UNKNOWN};
use analyzer::{AnalysisError, Catalog};

/// Nodes that are compared, with the field of a printed node that has the number.
const NODES: &[(&str, &str)] = &[
    ("OPEXPR", ":opno"),
    ("SCALARARRAYOPEXPR", ":opno"),
    ("FUNCEXPR", ":funcid"),
    ("AGGREF", ":aggfnoid"),
    ("WINDOWFUNC", ":winfnoid"),
    ("RELABELTYPE", ":resulttype"),
    ("COERCEVIAIO", ":resulttype"),
    ("ARRAYCOERCEEXPR", ":resulttype"),
    ("COERCETODOMAIN", ":resulttype"),
    ("CONVERTROWTYPEEXPR", ":resulttype"),
    ("ARRAYEXPR", ":array_typeid"),
    ("COALESCEEXPR", ":coalescetype"),
    ("MINMAXEXPR", ":minmaxtype"),
    ("CASE", ":casetype"),
    ("CONST", ":consttype"),
    ("PARAM", ":paramtype"),
    ("CASETESTEXPR", ":"),
];

/// The short form of a printed tree's targets.
pub fn of_printed(tree: &str) -> String {
    let targets = tree.find(":targetList").map_or("", |start| &tree[start..]);
    let mut nodes: Vec<(String, String)> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut field = "";
    for word in targets.split_whitespace() {
        let bare = word.trim_start_matches('(');
        let (start, bare) = (bare.starts_with('{'), bare.trim_start_matches('{'));
        let name = bare.trim_end_matches(['}', ')']);
        if start {
            let known = NODES.iter().any(|(node, _)| *node == name);
            open.push(known.then(|| {
                nodes.push((name.to_string(), String::new()));
                nodes.len() - 1
            }));
        } else if name.starts_with(':') {
            field = name;
        } else if let Some(Some(index)) = open.last()
            && let Some((node, number)) = nodes.get_mut(*index)
            && number.is_empty()
            && NODES.contains(&(node.as_str(), field))
        {
            *number = name.to_string();
        }
        for _ in bare.matches('}') {
            open.pop();
        }
    }
    let words: Vec<String> =
        nodes.into_iter().map(|(name, number)| format!("{name} {number}").trim_end().to_string()).collect();
    words.join(", ")
}

/// The short form of a NULL of the source's type that is converted.
pub fn argument(
    catalog: &dyn Catalog,
    source: TypeId,
    target: TypeId,
    context: CastContext,
) -> Result<Vec<String>, AnalysisError> {
    let kind = if source == UNKNOWN { SourceKind::Literal } else { SourceKind::Other };
    let steps = conversion(catalog, source, kind, target, context)?;
    Ok(converted(catalog, &steps, vec![format!("CONST {source}")]))
}

/// The short form of something that steps are taken with.
pub fn converted(catalog: &dyn Catalog, steps: &[Step], inner: Vec<String>) -> Vec<String> {
    let mut words = inner;
    for step in steps {
        words = match step {
            Step::Literal(id) => vec![format!("CONST {id}")],
            Step::Parameter(id) => vec![format!("PARAM {id}")],
            Step::Path(path, id) => way(catalog, path, *id, words),
            Step::Domain(id) => before(format!("COERCETODOMAIN {id}"), words),
            // The row stays as it is.
            Step::AnyRow(_) => words,
            Step::Row(id) | Step::Parent(id) => before(format!("CONVERTROWTYPEEXPR {id}"), words),
        };
    }
    words
}

fn before(first: String, rest: Vec<String>) -> Vec<String> {
    [vec![first], rest].concat()
}

fn way(catalog: &dyn Catalog, path: &Pathway, id: TypeId, inner: Vec<String>) -> Vec<String> {
    match path {
        Pathway::Relabel => before(format!("RELABELTYPE {id}"), inner),
        Pathway::ThroughText => before(format!("COERCEVIAIO {id}"), inner),
        Pathway::Function(function) => {
            let mut words = before(format!("FUNCEXPR {}", function.0), inner);
            // A cast's function may take the modifier, and whether the cast is explicit.
            let arguments = catalog.function(*function).map_or(1, |function| function.arguments.len());
            words.extend(["CONST 23".to_string(), "CONST 16".to_string()].into_iter().take(arguments - 1));
            words
        }
        Pathway::Array(path) => {
            let element = catalog.element_type(id).unwrap_or_default();
            let mut words = before(format!("ARRAYCOERCEEXPR {id}"), inner);
            let inner = vec!["CASETESTEXPR".to_string()];
            words.extend(match path {
                Some(path) => way(catalog, path, element, inner),
                None => inner,
            });
            words
        }
    }
}
