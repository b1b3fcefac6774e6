//! Which way statements go, and who decides what is wrong with one.

use crate::memory::{World, session};
use query::{Engine, QueryError};
use std::sync::Arc;

fn refused(engine: Engine, sql: &str) -> QueryError {
    let world = World::with_engine(engine);
    let planned = world.processor.plan(&world.memory.catalog, &session(), &Arc::from(sql), &[]);
    planned.map(|planned| format!("{planned:?}")).expect_err(sql)
}

/// A client shows the place of an error, and what to do about it.
#[test]
fn what_has_no_meaning_is_refused_in_postgresqls_words() {
    for (sql, sqlstate, message, at) in [
        ("SELECT FROM WHERE", "42601", "syntax error at or near \"WHERE\"", 12),
        ("SELECT nam FROM item", "42703", "column \"nam\" does not exist", 7),
        ("SELECT i.nam FROM item i", "42703", "column i.nam does not exist", 7),
        ("SELECT 1 FROM absent", "42P01", "relation \"absent\" does not exist", 14),
        ("SELECT nosuch(id) FROM item", "42883", "function nosuch(integer) does not exist", 7),
        ("SELECT id + true FROM item", "42883", "operator does not exist: integer + boolean", 10),
        (
            "SELECT max(id), name FROM item",
            "42803",
            "column \"item.name\" must appear in the GROUP BY clause or be used in an aggregate function",
            16,
        ),
    ] {
        let error = refused(Engine::Both, sql);
        let found = (error.sqlstate.as_str(), error.message.as_str(), error.at);
        assert_eq!(found, (sqlstate, message, Some(at)), "{sql}");
    }
    let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
    assert_eq!(refused(Engine::Both, "SELECT nosuch(id) FROM item").hint.as_deref(), Some(hint));
}

/// If this fails, tools wait for catalogs that the other engine reads, or a plan outlives the catalog that it shows.
#[test]
fn system_catalogs_are_read_by_the_executor() {
    let world = World::with_engine(Engine::Both);
    for sql in [
        "SELECT count(*) FROM pg_class",
        "SELECT count(*) FROM pg_catalog.pg_class JOIN item ON true",
        "SELECT table_name FROM information_schema.tables",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM pg_roles)",
        "SELECT 'item'::regclass, pg_table_is_visible('item'::regclass)",
        "SELECT indkey[0], indkey, unnest(indkey), generate_subscripts(indkey, 1) FROM pg_index",
    ] {
        let planned = world.plan(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(planned.engine(), Engine::Executor, "{sql}");
        assert!(planned.reads_system_catalog, "{sql}");
    }
    assert_eq!(world.processor.planned_by(Engine::DataFusion), 0);
    assert_eq!(world.processor.planned_by(Engine::Executor), 6);
}
