//! The functions that a query may call.
//!
//! Names resolve to ours first, then to those of DataFusion's that mean what PostgreSQL's mean; no other function of
//! DataFusion can be called. In reading order: [`rowwise`], the frame of functions that compute row by row; [`cast`],
//! [`operator`], [`arithmetic`] and [`equal`] keys, into which casts and operators are planned; [`scalar`] functions, [`floats`] and [`choice`]s; [`series`]; [`system`]
//! functions, which know the catalog; [`random`]; [`aggregates`]; [`any`], comparisons with the elements of an array.

pub mod aggregates;
pub mod any;
pub mod arithmetic;
pub mod cast;
pub mod choice;
pub mod equal;
pub mod exact;
mod floats;
pub mod operator;
mod random;
pub mod rowwise;
mod scalar;
mod series;
mod system;

use crate::system_catalog::SystemCatalog;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use std::sync::{Arc, LazyLock};

/// Scalar functions of DataFusion with PostgreSQL's name and meaning.
const SCALAR: [&str; 68] = [
    "acos",
    "acosh",
    "array_append",
    "array_cat",
    "array_dims",
    "array_element",
    "array_has",
    "array_ndims",
    "array_position",
    "array_positions",
    "array_prepend",
    "array_remove",
    "array_replace",
    "array_to_string",
    "ascii",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bit_length",
    "btrim",
    "cbrt",
    "chr",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "cot",
    "date_bin",
    "degrees",
    "exp",
    "factorial",
    "gcd",
    "generate_series",
    "get_field",
    "greatest",
    "initcap",
    "lcm",
    "least",
    "left",
    "ln",
    "log",
    "lpad",
    "ltrim",
    "make_array",
    "nullif",
    "octet_length",
    "overlay",
    "pi",
    "power",
    "radians",
    "regexp_match",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "split_part",
    "sqrt",
    "starts_with",
    "string_to_array",
    "strpos",
    "substr",
    "translate",
];

/// More of them.
const SCALAR_MORE: [&str; 10] = ["abs", "lower", "sin", "sinh", "tan", "tanh", "to_hex", "upper", "log10", "length"];

/// Aggregate functions of DataFusion with PostgreSQL's name and meaning; `sum`, `avg` and `single_value` are ours.
const AGGREGATE: [&str; 28] = [
    "array_agg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "first_value",
    "last_value",
    "max",
    "min",
    "nth_value",
    "percentile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "var_pop",
    "var_samp",
];

/// DataFusion's functions, of which some are offered.
struct Offered {
    scalar: Vec<Arc<ScalarUDF>>,
    aggregate: Vec<Arc<AggregateUDF>>,
    window: Vec<Arc<WindowUDF>>,
}

static OFFERED: LazyLock<Offered> = LazyLock::new(|| {
    use datafusion::execution::SessionStateDefaults as Defaults;
    let mut aggregate = Defaults::default_aggregate_functions();
    aggregate.retain(|function| {
        AGGREGATE.contains(&function.name())
            || function.aliases().iter().any(|alias| AGGREGATE.contains(&alias.as_str()))
    });
    let own = aggregates::all();
    aggregate.retain(|function| !own.iter().any(|own| own.name() == function.name()));
    aggregate.extend(own);
    Offered { scalar: Defaults::default_scalar_functions(), aggregate, window: Defaults::default_window_functions() }
});

/// Names to suggest for one that does not exist.
pub fn scalar_names() -> Vec<String> {
    SCALAR.iter().map(|name| (*name).to_owned()).collect()
}

/// The scalar function of that name, in lower case.
pub fn scalar_function(name: &str, catalog: &Arc<SystemCatalog>) -> Option<Arc<ScalarUDF>> {
    if name == operator::NEGATIVE {
        return Some(Arc::new(rowwise::function(operator::Negative)));
    }
    if let Some(ours) = any::of_name(name) {
        return Some(Arc::new(ours));
    }
    if let Some(ours) = cast::of_name(name).or_else(|| random::of_name(name)).or_else(|| system::of_name(name, catalog))
    {
        return Some(Arc::new(ours));
    }
    let native = (SCALAR.contains(&name) || SCALAR_MORE.contains(&name))
        .then(|| {
            let name = match name {
                "array_remove" => "array_remove_all",
                "array_replace" => "array_replace_all",
                same => same,
            };
            let named = |function: &&Arc<ScalarUDF>| {
                function.name() == name || function.aliases().iter().any(|alias| alias == name)
            };
            OFFERED.scalar.iter().find(named).cloned()
        })
        .flatten();
    if name == "generate_series" {
        return native.map(|native| Arc::new(series::bounded(native)));
    }
    if let Some(ours) = choice::of_name(name, native.as_ref()).or_else(|| floats::of_name(name, native.as_ref())) {
        return Some(Arc::new(ours));
    }
    match scalar::of_name(name, native.clone()) {
        Some(ours) => Some(Arc::new(ours)),
        None => native,
    }
}

/// The aggregate function of that name, in lower case.
pub fn aggregate_function(name: &str) -> Option<Arc<AggregateUDF>> {
    let named =
        |function: &&Arc<AggregateUDF>| function.name() == name || function.aliases().iter().any(|alias| alias == name);
    OFFERED.aggregate.iter().find(named).cloned()
}

/// The window function of that name, in lower case.
pub fn window_function(name: &str) -> Option<Arc<WindowUDF>> {
    OFFERED.window.iter().find(|function| function.name() == name).cloned()
}
