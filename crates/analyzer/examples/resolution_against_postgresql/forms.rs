//! Calls with something around their arguments: DISTINCT, ORDER BY, WITHIN GROUP, FILTER, OVER, and a star.

use analyzer::BuiltIns;
use analyzer::functions::{Argument, Call, CallSurroundings, Meaning, resolve};
use analyzer::types::{FLOAT8, TypeId};

use crate::{Answer, Case, null};

const NAMES: &[&str] = &[
    "abs",
    "sum",
    "count",
    "array_agg",
    "regr_slope",
    "rank",
    "dense_rank",
    "cume_dist",
    "row_number",
    "lag",
    "ntile",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "pi",
    "power",
    "no_such_function",
];

/// Every form around up to three arguments.
pub fn forms() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in NAMES {
        for given in 0..3 {
            for bits in 0..32 {
                let bit = |number: u32| bits & (1 << number) != 0;
                for ordered in 0..3 {
                    let form = CallSurroundings {
                        star: bit(0),
                        distinct: bit(1),
                        ordered,
                        within_group: bit(2),
                        filter: bit(3),
                        over: bit(4),
                    };
                    cases.extend(case(name, given, form));
                }
            }
        }
    }
    cases
}

/// A case, unless the grammar already refuses the form.
fn case(name: &str, given: usize, form: CallSurroundings) -> Option<Case> {
    let within = form.within_group;
    let unwritable = (form.star && (given > 0 || form.distinct || (form.ordered > 0 && !within)))
        || (given == 0 && (form.distinct || (form.ordered > 0 && !within)))
        || within && (form.distinct || form.ordered == 0 || form.star);
    if unwritable {
        return None;
    }
    let some = |count: usize| vec![null(FLOAT8); count].join(", ");
    let order = if form.ordered > 0 { format!("order by {}", some(form.ordered)) } else { String::new() };
    let mut sql = format!("select {name}(");
    sql.push_str(if form.star { "*" } else { "" });
    sql.push_str(if form.distinct { "distinct " } else { "" });
    sql.push_str(&some(given));
    if within {
        sql.push_str(&format!(") within group ({order})"));
    } else {
        sql.push_str(&format!(" {order})"));
    }
    sql.push_str(if form.filter { " filter (where true)" } else { "" });
    sql.push_str(if form.over { " over ()" } else { "" });
    let all = given + if within { form.ordered } else { 0 };
    Some(Case { sql, ours: ours(name, all, form) })
}

fn ours(name: &str, count: usize, form: CallSurroundings) -> Answer {
    let arguments = vec![Argument { type_id: FLOAT8, name: None }; count];
    let call = Call { schema: None, name, arguments: &arguments, variadic: false, form };
    let result: TypeId = match resolve(&BuiltIns, &call)? {
        Meaning::Function(found) => found.result,
        Meaning::Cast(target) => target,
    };
    Ok(result.to_string())
}
