//! The facts are PostgreSQL's: selected again from a running one, they are the same.

mod support;

use std::path::Path;

use analyzer::facts::Facts;
use analyzer::types::NAMED;
use support::selections::SELECTIONS;
use support::server::Server;
use support::throwaway::Throwaway;

/// Wrong if a file was edited by hand, or a selection was changed and not run again.
#[test]
fn files_are_what_postgresql_says() {
    let Some(postgresql) = Throwaway::start() else { return };
    let mut server = Server::connect(&postgresql.address, "raid").expect("it listens");
    for selection in SELECTIONS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts").join(format!("{}.tsv", selection.file));
        let ours = std::fs::read_to_string(&path).expect("the file is there");
        let theirs = selection.text(&mut server).expect("the selection runs");
        let differs = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
        assert_eq!(differs, None, "{} differs", selection.file);
        assert_eq!(ours.len(), theirs.len(), "{} has another end", selection.file);
    }
}

/// Wrong if a column were read as another, or a row lost.
#[test]
fn tables_hold_every_row() {
    let facts = Facts::postgresql15();
    let counts = [
        (facts.types.len(), include_str!("../facts/types.tsv")),
        (facts.functions.len(), include_str!("../facts/functions.tsv")),
        (facts.operators.len(), include_str!("../facts/operators.tsv")),
        (facts.casts.len(), include_str!("../facts/casts.tsv")),
        (facts.aggregates.len(), include_str!("../facts/aggregates.tsv")),
        (facts.family_operators.len(), include_str!("../facts/family_operators.tsv")),
        (facts.keywords.len(), include_str!("../facts/keywords.tsv")),
    ];
    for (count, text) in counts {
        assert_eq!(count, text.lines().count() - 2);
    }
    for operator in &facts.operators {
        let function = facts.function(operator.function).expect("an operator has a function");
        let sides = usize::from(operator.left.known().is_some()) + 1;
        assert_eq!(function.arguments.len(), sides, "{}", operator.name);
        assert_eq!(facts.operator(operator.id).map(|found| &found.name), Some(&operator.name));
    }
    for function in &facts.functions {
        let inputs = function.parameters.iter().filter(|parameter| parameter.is_input()).count();
        assert!(function.parameters.is_empty() || inputs == function.arguments.len(), "{}", function.name);
    }
}

/// Wrong if a constant in `types.rs` had another type's number.
#[test]
fn constants_have_their_numbers() {
    for (id, name) in NAMED {
        let row = Facts::postgresql15().type_row(*id).expect("it is there");
        assert_eq!(row.name, *name);
    }
}
