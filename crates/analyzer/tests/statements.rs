//! What statements mean, by examples whose answers are PostgreSQL's. `examples/statements_against_postgresql` tries far more of them against a running one.

use analyzer::types::{BOOL, INT4, INT8, NUMERIC, TEXT};
use analyzer::{AnalysisError, Analyzed, BuiltIns, TypeId, analyze};

fn analyzed(sql: &str) -> Result<Analyzed, AnalysisError> {
    let script = grammar::parse(sql).expect("its grammar is right");
    let analyzed = analyze(&BuiltIns, &script.statements[0], &[])?;
    // Types must follow from parts in whatever is taken.
    assert_eq!(analyzed.tree.verify(&BuiltIns, analyzed.query), Ok(()), "{sql}");
    Ok(analyzed)
}

fn columns(sql: &str) -> Vec<(String, TypeId)> {
    let analyzed = analyzed(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    analyzed.columns().into_iter().map(|(name, typed)| (name.to_string(), typed.id)).collect()
}

fn refused(sql: &str) -> (&'static str, String, Option<u32>) {
    let error = analyzed(sql).expect_err(sql);
    (error.sqlstate, error.message, error.at)
}

/// A wrong name or type here is what a client would see as a column's.
#[test]
fn columns_have_names_and_types() {
    let expected = |pairs: &[(&str, TypeId)]| -> Vec<(String, TypeId)> {
        pairs.iter().map(|(name, id)| ((*name).to_string(), *id)).collect()
    };
    assert_eq!(
        columns("select 1 + '2', upper('a'), 'x' as y"),
        expected(&[("?column?", INT4), ("upper", TEXT), ("y", TEXT)])
    );
    assert_eq!(columns("values (1, 'a'), (2.5, null)"), expected(&[("column1", NUMERIC), ("column2", TEXT)]));
    assert_eq!(columns("select 1 as a union all select 2.5"), expected(&[("a", NUMERIC)]));
    assert_eq!(
        columns("select count(*), sum(g) from generate_series(1, 3) g"),
        expected(&[("count", INT8), ("sum", INT8)])
    );
    assert_eq!(
        columns(
            "with recursive t (n) as (select 1 union all select n + 1 from t where n < 5) select *, n > 2 as big from t"
        ),
        expected(&[("n", INT4), ("big", BOOL)])
    );
    assert_eq!(
        columns("select * from (values (1, 2)) a (x, y) natural join (values (1, 3)) b (x, z)"),
        expected(&[("x", INT4), ("y", INT4), ("z", INT4)])
    );
}

/// A wrong place or word here sends a user to the wrong part of a statement.
#[test]
fn errors_have_places() {
    let no_column = ("42703", "column \"b\" does not exist".to_string(), Some(7));
    assert_eq!(refused("select b from (values (1)) t (a)"), no_column);
    assert_eq!(
        refused("select 1 from missing"),
        ("42P01", "relation \"missing\" does not exist".to_string(), Some(14))
    );
    let (code, _, at) = refused("select t.a, count(*) from (values (1)) t (a)");
    assert_eq!((code, at), ("42803", Some(7)));
    let (code, _, at) = refused("select a from (values (1)) t (a) where count(*) > 1");
    assert_eq!((code, at), ("42803", Some(39)));
    let (code, _, at) = refused("select 1 union select true");
    assert_eq!((code, at), ("42804", Some(22)));
    let (code, _, at) = refused("select x from (values (1)) t (x), (values (2)) u (x)");
    assert_eq!((code, at), ("42702", Some(7)));
    let (code, _, at) = refused("select 'a' collate \"C\" < 'b' collate \"POSIX\"");
    assert_eq!((code, at), ("42P21", Some(25)));
}

/// A parameter without a type must take that of its use: clients send values by it.
#[test]
fn parameters_take_types_of_their_uses() {
    let found = analyzed("select $1 + 1, $2::text where $3").expect("all have one");
    assert_eq!(found.parameters, [INT4, TEXT, BOOL]);
    assert_eq!(refused("select 1 where $1 is null").0, "42P18");
    // A later use finds the type that the first has decided.
    assert_eq!(refused("select $1 + 1, upper($1)").0, "42883");
}

/// A look-up that found nothing must be noted, too: the statement means something else once the object is there.
#[test]
fn what_was_not_found_is_relied_on() {
    let found = analyzed("select lower('A')").expect("it is there");
    let names: Vec<String> = found.relies_on.iter().map(|(of, _)| format!("{of:?}")).collect();
    assert!(names.iter().any(|name| name == "Functions(None, \"lower\")"), "{names:?}");
}

/// A statement that nests deeper than analysis goes is refused, and takes no thread's stack.
#[test]
fn deep_statements_are_refused() {
    let deep = format!("select {}1{}", "abs(".repeat(2_000), ")".repeat(2_000));
    assert_eq!(refused(&deep).0, "54001");
    let chain = |length: usize| format!("select 1{}", " + 1".repeat(length));
    assert_eq!(columns(&chain(900)).len(), 1);
    assert_eq!(refused(&chain(4_000)).0, "54001");
}
