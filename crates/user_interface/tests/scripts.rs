//! Golden scripts of the protocol, of SQL compiled to programs, and of schema changes; and a client that sends garbage.

mod support;

use support::run;

/// Greeting, encryption refused, unknown protocol, parameters.
#[test]
fn startup() {
    run("startup");
}

/// One text, one or several statements: tags, rows, implicit transactions, errors.
#[test]
fn simple() {
    run("simple");
}

/// Parse to Sync, pipelining, portals that are suspended, recovery from errors.
#[test]
fn extended() {
    run("extended");
}

/// BEGIN to COMMIT, savepoints, failed blocks, settings.
#[test]
fn transactions() {
    run("transactions");
}

/// Row locks that do not wait, sorted rows, subqueries that lock, and LOCK TABLE.
#[test]
fn locking() {
    run("locking");
}

/// Statements that the query processor runs, and those that it feeds.
#[test]
fn queries() {
    run("queries");
}

/// Statements of several parts: WITH queries that change rows, and MERGE.
#[test]
fn parts() {
    run("parts");
}

/// Cursors of SQL, as far as they need the query processor's timing.
#[test]
fn cursors() {
    run("cursors");
}

/// COPY in both directions.
#[test]
fn copy() {
    run("copy");
}

/// Schema changes, seen by their own transaction and no other, and recompilation when the schema moves.
#[test]
fn schema() {
    run("schema");
}

/// Indexes of some rows and over expressions: when a scan goes by them, what ON CONFLICT means by them, what becomes of them.
#[test]
fn indexes() {
    run("indexes");
}

/// Time zones: what the client is told, where constants are read, and what is refused.
#[test]
fn zones() {
    run("zones");
}

/// Temporary tables: their schema, what ends of transactions do to them, and what the action driver is told at the session's end.
#[test]
fn temporary() {
    run("temporary");
}

/// What pgbench -i says, step by step.
#[test]
fn pgbench_initialization() {
    run("pgbench_initialization");
}

/// What each statement compiles to: keys and indexes used, types cast, errors placed.
#[test]
fn programs() {
    run("programs");
}

/// Lost conflicts, cancelled statements: each outcome told with its SQLSTATE.
#[test]
fn failures() {
    run("failures");
}

/// Advisory locks: taken, counted, waited for, given back with the transaction, lost with the site.
#[test]
fn advisory() {
    run("advisory");
    run("advisory_gone");
}

/// LISTEN takes effect at the commit, notifications come between transactions, and a site that begins anew ends the connection.
#[test]
fn notifications() {
    run("notifications");
}

/// `pg_sleep`: alone, in a block, cancelled, timed out.
#[test]
fn sleeping() {
    run("sleeping");
}

/// What sessions that outlive the site's servers are told, and what of theirs is run again.
#[test]
fn new_life() {
    run("new_life");
}

/// Errors that the catalog gave, and a catalog that was behind.
#[test]
fn doubts() {
    run("doubts");
}

/// CREATE PROCEDURE and CALL: a call is one program.
#[test]
fn procedures() {
    run("procedures");
}

/// CREATE, ALTER and DROP ROLE: rows of the catalog, PostgreSQL's errors, and no password in what is said.
#[test]
fn roles() {
    run("roles");
}

/// What QUEL asks of the catalog, along the search path.
#[test]
fn quel() {
    run("quel");
}

/// Statements, transactions by outcome, errors and sessions: what is counted of each, and when.
#[test]
fn counting() {
    run("counting");
}

/// ALTER SYSTEM: rows of the catalog, what is shown of them, and PostgreSQL's errors.
#[test]
fn settings_of_all() {
    run("settings_of_all");
}

/// Names with and without a schema: what each means, and what makes it mean something else.
#[test]
fn schemas() {
    run("schemas");
}

/// `json` and `jsonb`: what programs do with them, and what they leave to the query processor.
#[test]
fn json() {
    run("json");
}

/// Enum types: rows of the catalog, what programs do with labels, and PostgreSQL's errors.
#[test]
fn enums() {
    run("enums");
}

/// Domains: rows of the catalog that each change writes, what programs do with values, and PostgreSQL's errors.
#[test]
fn domains() {
    run("domains");
}

/// Extensions: rows of the catalog, what their functions compile to, and what keeps them.
#[test]
fn extensions() {
    run("extensions");
}

/// DO and procedures in PL/pgSQL: notices, statements, savepoints, tries after conflicts.
#[test]
fn routines() {
    run("routines");
}
