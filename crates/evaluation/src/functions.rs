//! Functions that yield one value, also those behind operators and casts.
//!
//! Invariant: a table's entry is named as PostgreSQL names what implements a function (`prosrc`), so it computes every row of `pg_proc` of that name. What PostgreSQL writes in
//! SQL is found by the function's own number.

mod amounts;
mod arrays;
mod bit_strings;
mod bytes;
mod casts;
pub mod catalogs;
mod comparisons;
mod degrees;
mod digests;
mod expressions;
mod extensions;
mod floats;
mod formats;
pub(crate) mod json;
mod names;
mod networks;
mod numbers;
mod numerics;
mod patterns;
mod powers;
mod ranges;
mod searches;
mod searches_of_json;
mod searches_of_texts;
mod sizes;
mod system;
mod templates;
mod texts;
mod times;
mod zoned_times;
mod zones;

use crate::call::Implementation;
use crate::pattern_cache::PatternCache;
use analyzer::facts::{Facts, Function};
use analyzer::types::FunctionId;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use values::error::sqlstate;

/// Implementations by the names that `pg_proc.prosrc` has for them.
const TABLES: [&[(&str, Implementation)]; 36] = [
    amounts::TABLE,
    arrays::TABLE,
    bit_strings::TABLE,
    bytes::TABLE,
    casts::TABLE,
    catalogs::COLUMN_PRIVILEGES,
    catalogs::PRIVILEGES,
    catalogs::TABLE,
    comparisons::TABLE,
    degrees::TABLE,
    digests::TABLE,
    expressions::TABLE,
    floats::TABLE,
    formats::TABLE,
    json::BUILDING,
    json::READING,
    json::CHANGING,
    json::PATHS,
    names::TABLE,
    networks::TABLE,
    numbers::TABLE,
    numerics::TABLE,
    patterns::TABLE,
    powers::TABLE,
    ranges::OPERATORS,
    ranges::TABLE,
    searches::TABLE,
    searches_of_json::TABLE,
    searches_of_texts::TABLE,
    sizes::TABLE,
    system::TABLE,
    templates::TABLE,
    texts::TABLE,
    times::TABLE,
    zoned_times::TABLE,
    zones::TABLE,
];

/// Implementations of what PostgreSQL writes in SQL, by number.
const BY_NUMBER: [&[(u32, Implementation)]; 8] = [
    bit_strings::BY_NUMBER,
    catalogs::BY_NUMBER,
    networks::BY_NUMBER,
    numerics::BY_NUMBER,
    powers::BY_NUMBER,
    texts::BY_NUMBER,
    times::BY_NUMBER,
    zoned_times::BY_NUMBER,
];

static FUNCTIONS: LazyLock<FxHashMap<FunctionId, Implementation>> = LazyLock::new(|| {
    let by_source: FxHashMap<&str, Implementation> = TABLES.into_iter().flatten().copied().collect();
    let internal = Facts::postgresql15().functions.iter().filter(|row| row.language == "internal");
    let named = internal.filter_map(|row| Some((row.id, *by_source.get(row.source.as_ref())?)));
    let numbered = BY_NUMBER.into_iter().flatten().map(|(number, body)| (FunctionId(*number), *body));
    named.chain(numbered).collect()
});

/// What computes a function of PostgreSQL's; `None` for one that is not implemented. Whether it is strict stands in its row of the facts; who calls it sees to that.
pub fn function(id: FunctionId) -> Option<Implementation> {
    FUNCTIONS.get(&id).copied()
}

/// What computes a function of an extension, by its row; `None` for one that is not implemented.
pub fn of_extension(row: &Function) -> Option<Implementation> {
    let found = extensions::TABLE.iter().find(|(source, _)| *source == row.source);
    found.filter(|_| row.language == extensions::LANGUAGE).map(|(_, body)| *body)
}

/// Whether a function of regular expressions has its way with a pattern, where that is known before any text; true for all other functions. `known` are the arguments so far.
pub fn takes_pattern(id: FunctionId, known: &[Option<&str>], patterns: &mut PatternCache) -> bool {
    let row = Facts::postgresql15().function(id).filter(|row| row.language == "internal");
    let (Some(row), Some(Some(pattern))) = (row, known.get(1)) else { return true };
    let checked = expressions::check(&row.source, pattern, known.get(3).copied().flatten(), patterns);
    checked.err().is_none_or(|error| error.sqlstate != sqlstate::FEATURE_NOT_SUPPORTED)
}

/// The names by which functions of extensions are implemented, for tests.
pub fn sources_of_extensions() -> impl Iterator<Item = &'static str> {
    extensions::TABLE.iter().map(|(name, _)| *name)
}

/// The names by which functions are implemented, for tests.
pub fn sources() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().flatten().map(|(name, _)| *name)
}

/// The numbers of those that are implemented though PostgreSQL writes them in SQL, for tests.
pub fn numbers_of_sql() -> impl Iterator<Item = FunctionId> {
    BY_NUMBER.into_iter().flatten().map(|(number, _)| FunctionId(*number))
}

/// A body that is a function of `values`, looked up once.
macro_rules! library {
    ($name:literal, [$($parameter:expr),*]) => {{
        fn body(call: &mut $crate::call::CallArguments<'_, '_>) -> Result<values::Value, values::ValueError> {
            static FOUND: std::sync::LazyLock<values::functions::ScalarFunction> = std::sync::LazyLock::new(|| {
                values::functions::lookup($name, &[$($parameter),*]).expect("the library has it")
            });
            let environment = &mut *call.environment;
            let mut library = values::functions::Environment {
                statement_time: environment.transaction_time,
                zone: environment.zone,
                random: &mut *environment.random,
            };
            FOUND.call(call.arguments, &mut library)
        }
        body as $crate::call::Implementation
    }};
}

pub(crate) use amounts::added;
pub(crate) use arrays::parts;
pub(crate) use bit_strings::{and, or, xor};
pub(crate) use expressions::split;
pub use extensions::row as extension_row;
pub(crate) use library;
pub(crate) use searches::{matches_of, parts_of};
pub(crate) use searches_of_texts::{DEBUGS, SETS as SETS_OF_TEXT_SEARCH};
pub use searches_of_texts::{configuration_text, dictionary_text};
