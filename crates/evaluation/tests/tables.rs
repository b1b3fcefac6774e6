//! The tables of implementations beside the facts.

use analyzer::facts::{Facts, Function, FunctionKind};
use evaluation::{functions, sets, storage};
use std::collections::BTreeSet;

fn internal(kind: FunctionKind) -> impl Iterator<Item = &'static Function> {
    Facts::postgresql15().functions.iter().filter(move |row| row.language == "internal" && row.kind == kind)
}

/// Wrong if a name were misspelt, or entered twice: then something else would compute it, or nothing.
#[test]
fn every_entry_implements_a_function() {
    let known: BTreeSet<&str> =
        Facts::postgresql15().functions.iter().map(|row| row.source.as_ref()).filter(|name| !name.is_empty()).collect();
    let mut seen = BTreeSet::new();
    let unknown: Vec<&str> = functions::sources()
        .chain(sets::sources())
        .filter(|name| !known.contains(name) || !seen.insert(*name))
        .collect();
    assert_eq!(unknown, [""; 0], "no such name, or twice");
    for id in functions::numbers_of_sql() {
        let row = Facts::postgresql15().function(id);
        assert!(row.is_some_and(|row| row.language == "sql"), "{} is no function in SQL", id.0);
    }
}

/// Wrong if a name were misspelt, or if a type of an extension's function were none that is held: then nothing would compute it.
#[test]
fn every_entry_implements_a_function_of_an_extension() {
    let known = || values::extensions::EXTENSIONS.iter().flat_map(|known| known.functions);
    for source in functions::sources_of_extensions() {
        let row = known().find(|row| row.source == source).unwrap_or_else(|| panic!("{source} is no function"));
        for id in row.parameters.iter().chain([&row.result]) {
            assert!(storage::unmodified(analyzer::TypeId(*id)).is_some(), "{source}: {id}");
        }
    }
    let implemented: BTreeSet<&str> = functions::sources_of_extensions().collect();
    let missing: BTreeSet<&str> =
        known().map(|row| row.source).filter(|source| !implemented.contains(source)).collect();
    let is_left_out = |source: &str| source.starts_with("pgp_") || source == "pg_armor" || source == "pg_dearmor";
    assert!(missing.iter().all(|source| is_left_out(source)), "{missing:?}");
}

/// Says how much there is; wrong if what was there is not found any more.
#[test]
fn most_functions_of_held_types_are_implemented() {
    let is_held = |row: &&Function| {
        let types = row.arguments.iter().chain([&row.result]);
        types.into_iter().all(|id| storage::unmodified(*id).is_some() || id.is_polymorphic() || id.0 == 2276)
    };
    let (mut held, mut implemented, mut missing) = (0, 0, Vec::new());
    for row in internal(FunctionKind::Function).filter(is_held) {
        held += 1;
        match functions::function(row.id).is_some() || sets::set_function(row.id).is_some() {
            true => implemented += 1,
            false => missing.push(row.source.as_ref()),
        }
    }
    missing.dedup();
    println!("{implemented} of {held} internal functions of held types; not {}", missing.join(" "));
    assert!(implemented >= 500, "{implemented}");
}
