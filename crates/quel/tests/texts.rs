//! Texts and the SQL that they become; errors and their places; texts that are nothing at all.

use proptest::prelude::*;
use quel::translate::QuelColumn;
use quel::{QuelRelations, RangedRelation, Ranges, StatementMeaning, statements};

struct Known;

impl QuelRelations for Known {
    fn columns(&self, relation: &RangedRelation) -> Option<Vec<QuelColumn>> {
        let column = |name: &str| QuelColumn { name: name.to_owned(), is_text: name == "name" };
        (relation.name == "emp").then(|| vec![column("name"), column("sal")])
    }

    fn database(&self) -> &str {
        "raid"
    }
}

fn translated(text: &str) -> Vec<String> {
    let all = statements(text, &Ranges::default(), &Known).unwrap_or_else(|error| panic!("{text}: {error}"));
    all.into_iter()
        .map(|one| match one.meaning {
            StatementMeaning::Sql { sql, .. } => sql.to_string(),
            StatementMeaning::Range(declared) => format!("range of {} variables", declared.len()),
        })
        .collect()
}

/// If this fails, statements are cut in other places, or words of SQL's get into the way of names.
#[test]
fn a_statement_ends_where_the_next_one_begins() {
    assert_eq!(
        translated("range of e is emp retrieve (e.name) where e.sal > 1 replace e (sal = e.sal + 1) ; delete e"),
        [
            "range of 1 variables",
            "SELECT \"e\".\"name\" FROM \"emp\" AS \"e\" WHERE \"e\".\"sal\" > 1",
            "UPDATE \"emp\" AS \"e\" SET \"sal\" = \"e\".\"sal\" + 1",
            "DELETE FROM \"emp\" AS \"e\"",
        ]
    );
    assert_eq!(
        translated("/* ; */ print order, emp begin transaction end transaction set x.y = 'a;b'; abort"),
        ["SELECT * FROM \"order\"", "SELECT * FROM \"emp\"", "BEGIN", "COMMIT", "set x.y = 'a;b'", "ROLLBACK"]
    );
    assert_eq!(
        translated("explain retrieve (emp.all) prepare p (int4) as retrieve (emp.name) where emp.sal = $1"),
        [
            "explain SELECT \"emp\".* FROM \"emp\"",
            "prepare p (int4) as SELECT \"emp\".\"name\" FROM \"emp\" WHERE \"emp\".\"sal\" = $1",
        ]
    );
    assert_eq!(translated(" ; ; "), Vec::<String>::new());
}

/// If this fails, `+` adds texts, or columns get values of others.
#[test]
fn the_catalog_decides_what_plus_means() {
    assert_eq!(
        translated("append to emp (name = emp.name + emp.name, sal = emp.sal + emp.sal)"),
        [
            "INSERT INTO \"emp\" (\"name\", \"sal\") SELECT \"emp\".\"name\" || \"emp\".\"name\", \"emp\".\"sal\" + \"emp\".\"sal\" \
             FROM \"emp\""
        ]
    );
    assert_eq!(
        translated("append to emp (emp.all)"),
        ["INSERT INTO \"emp\" (\"name\", \"sal\") SELECT \"emp\".\"name\", \"emp\".\"sal\" FROM \"emp\""]
    );
}

/// If this fails, a client is shown another place than that of its error, or another reason.
#[test]
fn errors_have_their_places() {
    for (text, sqlstate, at) in [
        ("retrieve (e.name", "42601", 17),
        ("retrieve (größe.x) whre", "42601", 20),
        ("retrieve (e.name)\nwhere e.name = \"[\"", "42601", 34),
        ("retrieve (e.sal * 2)", "42601", 11),
        ("retrieve (x = nosuch(1))", "42883", 15),
        ("retrieve (name = by.x)", "42601", 18),
        ("create t (a = i4, b = blob)", "42704", 23),
        ("database nowhere, get emp", "3D000", 10),
        ("append to emp (nowhere.all)", "42P01", 16),
        ("retrieve (x = sum(a.x by a.x + b.y)) where b.y = 1", "0A000", 26),
        ("modify emp to heap", "0A000", 1),
        ("retrieve (emp.name) sort by sal", "42703", 29),
        ("retrieve (x = \"abc)", "42601", 15),
        ("retrieve (x = 1) /* ", "42601", 18),
    ] {
        let error = statements(text, &Ranges::default(), &Known).expect_err(text);
        assert_eq!((error.sqlstate, error.at), (sqlstate, at), "{text}: {error}");
    }
    let deep = format!("retrieve (x = {}1{})", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(statements(&deep, &Ranges::default(), &Known).expect_err("deep").sqlstate, "54001");
    let long = format!("retrieve (x = 1{})", " + 1".repeat(10_000));
    assert_eq!(statements(&long, &Ranges::default(), &Known).expect_err("long").sqlstate, "54001");
}

/// If this fails, an error of the SQL is shown at a wrong place of the QUEL.
#[test]
fn places_of_sql_are_those_of_quel() {
    let text = "retrieve (größe = emp.nosuch)";
    let all = statements(text, &Ranges::default(), &Known).expect("good");
    let StatementMeaning::Sql { sql, places, .. } = &all[0].meaning else { panic!("a query") };
    let at = sql.find("\"emp\".\"nosuch\"").expect("it is there") + 1;
    assert_eq!(places.quel(at), Some(19));
    assert_eq!(places.quel(1), None, "nothing stands before the target");
}

fn words() -> impl Strategy<Value = String> {
    let words = [
        "range of",
        "e",
        "is",
        "emp",
        "retrieve",
        "unique",
        "(",
        ")",
        "e.name",
        "e.all",
        "=",
        "count(",
        "by",
        "only",
        "where",
        "and",
        "not",
        "1",
        "\"a*\"",
        "\"[\"",
        ",",
        ";",
        ":",
        "sort by",
        "replace",
        "append to",
        "delete",
        "database",
        "get",
        "explain",
        "prepare p as",
        "set x = 1",
        "begin",
        "end transaction",
        "abort to s",
        "$1",
        "**",
        "-",
        "é",
        "create",
        "i4",
        "null",
        "/*",
        "\"",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..30).prop_map(|words| words.join(" "))
}

proptest! {
    /// A client that sends garbage must get an error, not bring the site down.
    #[test]
    fn garbage_does_not_panic(any in "(?s).{0,60}", words in words()) {
        let _ = statements(&any, &Ranges::default(), &Known);
        let _ = statements(&words, &Ranges::default(), &Known);
    }
}
