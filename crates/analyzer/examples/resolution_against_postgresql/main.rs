//! Holds resolution against PostgreSQL 15: what an operator, a call, a cast or a common type means there and here.
//!
//! `cargo run -p analyzer --example resolution_against_postgresql -- ADDRESS USER`: a server of PostgreSQL 15 that asks a superuser for no password. Statements are parsed and
//! described there and never executed; the session has the trees of what it analyzed told (`debug_print_parse`), so that not only types but operators, functions and
//! conversions are compared, or else SQLSTATE, message, detail and hint.
//!
//! What differs must stand in `known.txt`, which may only shrink; with `BLESS=1` in the environment it is written anew.

#[path = "../../tests/support/mod.rs"]
mod support;

mod calls;
mod forms;
mod others;
mod tree;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use analyzer::types::{TypeId, UNKNOWN};
use analyzer::{AnalysisError, BuiltIns, Catalog};
use support::server::{Described, Server};

/// The types of which all pairs are tried; `unknown` stands for a bare NULL.
const SAMPLE: &[&str] = &[
    "unknown",
    "bool",
    "bytea",
    "char",
    "name",
    "int8",
    "int2",
    "int4",
    "text",
    "oid",
    "json",
    "point",
    "box",
    "path",
    "circle",
    "inet",
    "cidr",
    "macaddr",
    "float4",
    "float8",
    "money",
    "bpchar",
    "varchar",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "timetz",
    "bit",
    "varbit",
    "numeric",
    "uuid",
    "jsonb",
    "tsvector",
    "tsquery",
    "int4range",
    "numrange",
    "int4multirange",
    "_int4",
    "_int8",
    "_text",
    "_varchar",
    "regclass",
    "pg_lsn",
    "tid",
    "int2vector",
    "record",
    "pg_class",
];

/// How many connections are asked at the same time.
const CONNECTIONS: usize = 8;

/// How many statements a connection is asked at a time.
const AT_ONCE: usize = 100;

/// Has trees told to the client, and kept out of the server's log.
const SETTINGS: [&str; 4] =
    ["log_min_messages = panic", "debug_pretty_print = off", "debug_print_parse = on", "client_min_messages = log"];

/// A statement, and what we say to it.
pub struct Case {
    /// The statement.
    pub sql: String,
    /// Our answer.
    pub ours: Answer,
}

/// An answer: the types of parameters and the result with the short form of the tree, or the error.
pub type Answer = Result<String, AnalysisError>;

/// The types that are tried.
pub fn sample() -> Vec<TypeId> {
    SAMPLE.iter().filter_map(|name| BuiltIns.type_named(None, name)).map(|row| row.id).collect()
}

/// A NULL of a type.
pub fn null(id: TypeId) -> String {
    match BuiltIns.type_row(id) {
        Some(row) if id != UNKNOWN => format!("null::pg_catalog.\"{}\"", row.name),
        _ => "null".to_string(),
    }
}

/// An answer without parameters.
pub fn answer(result: TypeId, nodes: Vec<String>) -> String {
    format!("{result}: {}", nodes.join(", "))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(user)) = (arguments.next(), arguments.next()) else {
        return Err("usage: resolution_against_postgresql ADDRESS USER [PART]".into());
    };
    let only = arguments.next();
    let mut servers = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut server = Server::connect(&address, &user)?;
        for setting in SETTINGS {
            server.copy(&format!("set {setting}"))?;
        }
        servers.push(server);
    }
    let mut differences = BTreeSet::new();
    type Part = (&'static str, fn() -> Vec<Case>);
    let parts: &[Part] = &[
        ("operators", others::operators),
        ("operators of arrays", others::of_arrays),
        ("operators of parameters", others::of_parameters),
        ("casts", others::casts),
        ("common types", others::common_types),
        ("assignments", others::assignments),
        ("results", others::results),
        ("forms", forms::forms),
        ("calls", calls::calls),
    ];
    for (name, cases) in parts {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let (mut same, mut refused, mut differ) = (0, 0, 0);
        let cases = cases();
        for some in cases.chunks(CONNECTIONS * AT_ONCE) {
            for (case, described) in some.iter().zip(describe(&mut servers, some)?) {
                let (mut theirs, ours) = (told(&described), case.ours.as_ref().map_or_else(words, Clone::clone));
                if matches!(*name, "results" | "forms") && described.error.is_none() {
                    theirs = others::until_colon(&theirs);
                }
                if theirs != ours {
                    differ += 1;
                    differences.insert(format!("{} | PostgreSQL: {theirs} | analyzer: {ours}", case.sql));
                } else if described.error.is_some() {
                    refused += 1;
                } else {
                    same += 1;
                }
            }
        }
        println!("{name}: {same} resolved alike, {refused} refused alike, {differ} differ");
    }
    compare(&differences, only.is_some())
}

/// What PostgreSQL says to the cases: every connection has its share of them at the same time.
fn describe(servers: &mut [Server], cases: &[Case]) -> Result<Vec<Described>, Box<dyn Error>> {
    let shares = || cases.chunks(AT_ONCE);
    for (server, share) in servers.iter_mut().zip(shares()) {
        let statements: Vec<String> = share.iter().map(|case| case.sql.clone()).collect();
        server.ask(&statements)?;
    }
    let mut all = Vec::with_capacity(cases.len());
    for (server, share) in servers.iter_mut().zip(shares()) {
        for _ in share {
            all.push(server.described()?);
        }
    }
    Ok(all)
}

/// Holds the differences against the file of known ones.
fn compare(differences: &BTreeSet<String>, partly: bool) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("known.txt");
    if std::env::var_os("BLESS").is_some() {
        let lines: String = differences.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines)?;
        return Ok(());
    }
    let known: BTreeSet<String> = std::fs::read_to_string(&path)?.lines().map(str::to_string).collect();
    for line in differences.difference(&known) {
        println!("new: {line}");
    }
    if partly {
        return Ok(());
    }
    for line in known.difference(differences) {
        println!("gone, take it out of known.txt: {line}");
    }
    if *differences == known { Ok(()) } else { Err("the differences are not those of known.txt".into()) }
}

/// PostgreSQL's answer in our words.
fn told(described: &Described) -> String {
    if let Some(error) = &described.error {
        let field = |letter: char| error.get(&letter).map_or("", String::as_str);
        return format!("{} {} [{}] [{}]", field('C'), field('M'), field('D'), field('H'));
    }
    let result = described.columns.first().copied().unwrap_or_default();
    let parameters: String = described.parameters.iter().map(|id| format!("${id} ")).collect();
    format!("{parameters}{result}: {}", tree::of_printed(&described.tree))
}

fn words(error: &AnalysisError) -> String {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{} {} [{}] [{}]", error.sqlstate, error.message, optional(&error.detail), optional(&error.hint))
}
