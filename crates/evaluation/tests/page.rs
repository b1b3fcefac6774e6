//! The page of functions: which of PostgreSQL's are there, and why others are not. `BLESS=1` writes it anew.

use analyzer::Typed;
use analyzer::facts::{Facts, Function, FunctionKind, Volatility};
use analyzer::types::{NO_MODIFIER, TypeId};
use evaluation::aggregates::aggregate;
use evaluation::{enums, functions, sets, storage};
use std::collections::BTreeMap;
use values::{Value, Zone};

/// What only the server calls: `internal`, `cstring` and handlers.
const OF_THE_SERVER: [u32; 12] = [2281, 2275, 2279, 3838, 269, 325, 3115, 3310, 5031, 2280, 4600, 4601];

/// Names in a row of a table.
const NAMES_OF_A_ROW: usize = 12;

/// Beginnings of names, and why there is no such function; the first that fits.
const REASONS: &[(&str, &str)] = &[
    ("pg_stat_", "statistics of another server's parts"),
    ("pg_ls_", "files of the server"),
    ("pg_read_", "files of the server"),
    ("lo_", "large objects"),
    ("be_lo", "large objects"),
    ("loread", "large objects"),
    ("lowrite", "large objects"),
    ("has_", "asks the catalog: answered elsewhere, as far as it is"),
    ("pg_get_", "asks the catalog: answered elsewhere, as far as it is"),
    ("pg_has_", "asks the catalog: answered elsewhere, as far as it is"),
    ("nextval", "sequences: answered elsewhere"),
    ("currval", "sequences: answered elsewhere"),
    ("setval", "sequences: answered elsewhere"),
    ("lastval", "sequences: answered elsewhere"),
    ("json_to_record", "of rows: what a statement says of them is needed"),
    ("jsonb_to_record", "of rows: what a statement says of them is needed"),
    ("json_populate", "of rows: what a statement says of them is needed"),
    ("jsonb_populate", "of rows: what a statement says of them is needed"),
    ("pg_sleep", "of the session: answered elsewhere"),
    ("pg_notify", "of the session: answered elsewhere"),
    ("pg_cancel_backend", "of the session: answered elsewhere"),
    ("pg_terminate_backend", "of the session: answered elsewhere"),
    ("clock_timestamp", "of the session: answered elsewhere"),
    ("set_config", "of the session: answered elsewhere"),
    ("float4_accum", "called by aggregates only"),
    ("float8_", "called by aggregates only"),
    ("int8inc_", "called by aggregates only"),
    ("int8dec_", "called by aggregates only"),
    ("int2_", "called by aggregates only"),
    ("int4_", "called by aggregates only"),
    ("int8_avg", "called by aggregates only"),
    ("int8_sum", "called by aggregates only"),
    ("int2int4_sum", "called by aggregates only"),
    ("interval_a", "called by aggregates only"),
    ("interval_combine", "called by aggregates only"),
    ("pg_advisory", "of the session: see advisory locks"),
    ("pg_try_advisory", "of the session: see advisory locks"),
    ("binary_upgrade", "for pg_upgrade"),
    ("pg_replication", "replication of PostgreSQL"),
    ("pg_logical", "replication of PostgreSQL"),
    ("pg_wal", "the log of PostgreSQL"),
    ("pg_event_trigger", "event triggers"),
    ("in_range", "called by windows only"),
    ("hash", "called by hash indexes only"),
    ("ts_", "text search"),
    ("xml", "XML"),
];

fn typed(id: TypeId) -> Typed {
    Typed { id, modifier: NO_MODIFIER, collation: Default::default() }
}

/// A type that stands for a polymorphic one.
fn example(id: TypeId) -> TypeId {
    match id.0 {
        2277 | 5078 => TypeId(1007),
        2283 | 2776 | 5077 | 2276 => TypeId(23),
        3831 | 5080 => TypeId(3904),
        4537 | 4538 => TypeId(4451),
        _ => id,
    }
}

fn is_there(row: &Function) -> bool {
    match row.kind {
        FunctionKind::Aggregate => {
            let types: Vec<Typed> = row.arguments.iter().map(|id| typed(example(*id))).collect();
            aggregate(row.id, &[Value::Null], &types, typed(example(row.result)), &Zone::UTC).is_some()
        }
        FunctionKind::Window => true,
        _ => {
            let scalar = functions::function(row.id).or_else(|| enums::body(row.id)).is_some();
            scalar || sets::set_function(row.id).is_some()
        }
    }
}

fn name_of(id: TypeId) -> String {
    Facts::postgresql15().type_row(id).map_or_else(|| id.0.to_string(), |row| row.name.to_string())
}

fn why_missing(row: &Function) -> String {
    let types = || row.arguments.iter().chain([&row.result]);
    let is_held = |id: TypeId| storage::unmodified(id).is_some() || id.is_polymorphic() || matches!(id.0, 2276 | 2249);
    if let Some((_, why)) = REASONS.iter().find(|(begin, _)| row.name.starts_with(begin)) {
        return (*why).to_owned();
    }
    match types().find(|id| !is_held(**id)) {
        Some(id) => format!("type `{}`", name_of(*id)),
        None if row.kind == FunctionKind::Aggregate => "an aggregate that is not built yet".to_owned(),
        None if row.volatility == Volatility::Immutable => "not built yet".to_owned(),
        None => "of the session, the catalog or the server".to_owned(),
    }
}

fn page() -> String {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missing: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    let is_of_server =
        |row: &Function| row.arguments.iter().chain([&row.result]).any(|id| OF_THE_SERVER.contains(&id.0));
    let rows = Facts::postgresql15().functions.iter().filter(|row| !is_of_server(row));
    let (mut count, mut all) = (0, 0);
    for row in rows {
        all += 1;
        match is_there(row) {
            true => {
                count += 1;
                *there.entry(&row.name).or_default() += 1;
            }
            false => *missing.entry(why_missing(row)).or_default().entry(&row.name).or_default() += 1,
        }
    }
    // Rows of a table, none too long for a sentence.
    let listed = |title: &str, names: &BTreeMap<&str, usize>| {
        let shown = names.iter().map(|(name, count)| match count {
            1 => format!("`{name}`"),
            _ => format!("`{name}` ({count})"),
        });
        let shown: Vec<String> = shown.collect();
        let rows = shown.chunks(NAMES_OF_A_ROW).enumerate();
        let rows = rows.map(|(place, names)| {
            let title = if place == 0 { title } else { "" };
            format!("| {title} | {} |\n", names.join(", "))
        });
        rows.collect::<String>()
    };
    let mut text = format!(
        "# Functions\n\n\
        A test writes this page from the catalog of PostgreSQL 15 and from what Raid computes with. Operators and casts are functions too. \
        Behind a name stands how many functions of this name there are, if there are several. \
        What only the server itself calls is left out. \
        What asks the session or the catalog, or changes something, is answered elsewhere, and stands below as missing here.\n\n\
        {count} of {all} functions are there. [What of PostgreSQL there is](compatibility.md) tells what is different.\n\n\
        ## There\n\n| begin | functions |\n|---|---|\n"
    );
    let mut by_letter: BTreeMap<char, BTreeMap<&str, usize>> = BTreeMap::new();
    for (name, count) in &there {
        by_letter.entry(name.chars().next().unwrap_or('_')).or_default().insert(name, *count);
    }
    for (letter, names) in &by_letter {
        text.push_str(&listed(&letter.to_string(), names));
    }
    text.push_str("\n## Missing\n\n| why | functions |\n|---|---|\n");
    for (why, names) in &missing {
        text.push_str(&listed(why, names));
    }
    text
}

/// Wrong if the page told of other functions than there are.
#[test]
fn the_page_is_true() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let written = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &written).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == written, "docs/functions.md is stale: BLESS=1 cargo test -p evaluation --test page");
}
