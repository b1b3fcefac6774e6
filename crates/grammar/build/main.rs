//! Makes the parser's tables from `postgresql15.y` when the crate is built, so that the grammar is the only source and nothing generated is kept.
//! In reading order:
//!
//! * `rules`: the file's rules and precedences;
//! * `automaton`: the states of an LR(0) parser;
//! * `lookaheads`: which token may follow a rule in a state (LALR(1));
//! * `tables`: conflicts settled by precedence, and rows of actions;
//! * `emit`: the tables as Rust.

mod automaton;
mod emit;
mod lookaheads;
mod rules;
mod tables;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=postgresql15.y");
    println!("cargo::rerun-if-changed=build");
    let text = std::fs::read_to_string("postgresql15.y").expect("the grammar stands beside Cargo.toml");
    let grammar = rules::Grammar::parse(&text);
    let automaton = automaton::Automaton::of(&grammar);
    let lookaheads = lookaheads::of(&grammar, &automaton);
    let tables = tables::Tables::of(&grammar, &automaton, &lookaheads);
    let folder = std::env::var("OUT_DIR").expect("cargo names a folder for what is generated");
    std::fs::write(Path::new(&folder).join("tables.rs"), emit::rust(&grammar, &tables))
        .expect("cargo's folder can be written");
}
