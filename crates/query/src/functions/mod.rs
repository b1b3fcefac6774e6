//! The functions that a query may call.
//!
//! Names resolve to ours first, then to those of DataFusion's that mean what PostgreSQL's mean; no other function of
//! DataFusion can be called. In reading order: [`rowwise`], the frame of functions that compute row by row; [`cast`],
//! [`operator`], [`arithmetic`] and [`equal`] keys, into which casts and operators are planned; [`scalar`] functions, [`floats`] and [`choice`]s; [`series`]; [`system`]
//! functions, which know the catalog, and [`privileges`]; [`elements`] of arrays; [`random`]; [`aggregates`]; [`any`], comparisons with the elements of an array.

pub mod aggregates;
pub mod any;
pub mod arithmetic;
pub mod asked;
pub mod cast;
pub mod choice;
mod elements;
pub mod equal;
pub mod exact;
mod floats;
pub mod operator;
mod privileges;
pub(crate) mod random;
pub mod rowwise;
mod scalar;
mod series;
mod system;

use crate::error::QueryError;
use crate::system_catalog::SystemCatalog;
use crate::types;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use std::sync::{Arc, LazyLock};

/// Scalar functions of DataFusion with PostgreSQL's name and meaning.
const SCALAR: [&str; 61] = [
    "acos",
    "acosh",
    "array_append",
    "array_cat",
    "array_dims",
    "array_element",
    "array_has",
    "array_ndims",
    "array_position",
    "array_prepend",
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
    "degrees",
    "exp",
    "generate_series",
    "get_field",
    "greatest",
    "initcap",
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

/// Those of texts, which the library would make of any value.
const OF_TEXTS: [&str; 20] = [
    "bit_length",
    "btrim",
    "initcap",
    "left",
    "character_length",
    "length",
    "lower",
    "ltrim",
    "overlay",
    "regexp_match",
    "regexp_replace",
    "reverse",
    "right",
    "rtrim",
    "starts_with",
    "string_to_array",
    "strpos",
    "substr",
    "translate",
    "upper",
];

/// Errors: 42883 for a function of texts whose first argument is none.
pub fn check_texts(name: &str, first: Option<&DataType>) -> Result<(), QueryError> {
    let fits = |first: &DataType| {
        types::is_text(first) || first.is_null() || matches!(first, DataType::Binary | DataType::BinaryView)
    };
    match first.is_none_or(fits) || !OF_TEXTS.contains(&name) {
        true => Ok(()),
        false => {
            let argument = first.map(crate::convert::describe).unwrap_or_default();
            Err(QueryError::undefined_function(&format!("{name}({argument})")))
        }
    }
}

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
    let known = cast::of_name(name).or_else(|| random::of_name(name)).or_else(|| system::of_name(name, catalog));
    if let Some(ours) = known.or_else(|| privileges::of_name(name, catalog)).or_else(|| elements::of_name(name)) {
        return Some(Arc::new(ours));
    }
    let native = (SCALAR.contains(&name) || SCALAR_MORE.contains(&name))
        .then(|| {
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
