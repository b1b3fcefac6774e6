//! Texts and the SQL that they become; errors and their places; texts that are nothing at all.

use proptest::prelude::*;
use quel::limits::{LIST_MAX, NAME_BYTES_MAX, STATEMENTS_MAX, VARIABLES_MAX};
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

fn sqlstate_of(text: &str) -> Option<&'static str> {
    statements(text, &Ranges::default(), &Known).err().map(|error| error.sqlstate)
}

/// `item` as often as asked for, each with its number in the place of `#`.
fn listed(item: &str, count: usize) -> String {
    (0..count).map(|number| item.replace('#', &number.to_string())).collect::<Vec<_>>().join(", ")
}

/// If this fails, a text makes the site work for longer, or hold more, than a text of its length may.
#[test]
fn lists_variables_and_statements_have_their_bounds() {
    let targets = |count: usize| format!("retrieve ({})", listed("t# = #", count));
    let by = |count: usize| format!("retrieve (x = count(e.a by {}))", listed("e.c#", count));
    let lists: [&dyn Fn(usize) -> String; 8] = [
        &targets,
        &by,
        &|count| format!("append to emp ({})", listed("c# = 1", count)),
        &|count| format!("retrieve (e.a) sort by {}", listed("a", count)),
        &|count| format!("create t ({})", listed("c# = i4", count)),
        &|count| format!("index on t is i ({})", listed("c#", count)),
        &|count| format!("destroy {}", listed("t#", count)),
        &|count| format!("database {}, get emp", listed("emp", count)),
    ];
    for list in lists {
        assert_eq!(sqlstate_of(&list(LIST_MAX)), None, "{:.60}", list(1));
        assert_eq!(sqlstate_of(&list(LIST_MAX + 1)), Some("54000"), "{:.60}", list(1));
    }
    let halves = |count: usize| {
        let by = listed("e.c#", count);
        format!("retrieve (x = count(e.a by {by}), y = sum(e.a by {by}))")
    };
    assert_eq!(sqlstate_of(&halves(LIST_MAX / 2)), None);
    assert_eq!(sqlstate_of(&halves(LIST_MAX / 2 + 1)), Some("54000"), "by-lists count together");
    let all = |count: usize| format!("append to emp ({})", listed("emp.all", count));
    assert_eq!(sqlstate_of(&all(LIST_MAX / 2)), None);
    assert_eq!(sqlstate_of(&all(LIST_MAX / 2 + 1)), Some("54000"), "it has two columns");

    let variables = |count: usize| format!("retrieve ({})", listed("v#.a", count));
    assert_eq!(sqlstate_of(&variables(VARIABLES_MAX)), None);
    assert_eq!(sqlstate_of(&variables(VARIABLES_MAX + 1)), Some("54000"));
    assert_eq!(sqlstate_of(&variables(VARIABLES_MAX).repeat(2)), None, "each statement has its own");

    assert_eq!(sqlstate_of(&"abort;".repeat(STATEMENTS_MAX)), None);
    assert_eq!(sqlstate_of(&"abort;".repeat(STATEMENTS_MAX + 1)), Some("54000"));
    let prints = format!("print {};", listed("emp", LIST_MAX));
    assert_eq!(sqlstate_of(&prints.repeat(STATEMENTS_MAX / LIST_MAX)), None);
    assert_eq!(sqlstate_of(&prints.repeat(STATEMENTS_MAX / LIST_MAX + 1)), Some("54000"), "each relation is one");
}

/// If this fails, the catalog is asked for a relation as often as a text names it.
#[test]
fn the_catalog_is_asked_once_for_each_relation() {
    struct Counted(std::cell::Cell<usize>);
    impl QuelRelations for Counted {
        fn columns(&self, relation: &RangedRelation) -> Option<Vec<QuelColumn>> {
            self.0.set(self.0.get() + 1);
            Known.columns(relation)
        }

        fn database(&self) -> &str {
            "raid"
        }
    }
    let counted = Counted(std::cell::Cell::new(0));
    let text =
        "append to emp (name = emp.name + emp.name + emp.name) retrieve (x = emp.sal + emp.sal, y = nowhere.a + 1)";
    statements(&text.repeat(3), &Ranges::default(), &counted).expect("good");
    assert_eq!(counted.0.get(), 2, "emp and nowhere");
}

/// If this fails, a name is another one in QUEL than in SQL, or as long as the text.
#[test]
fn names_are_cut() {
    let cut = "n".repeat(NAME_BYTES_MAX);
    assert_eq!(translated(&format!("print {cut}behind")), [format!("SELECT * FROM \"{cut}\"")]);
    let before = "n".repeat(NAME_BYTES_MAX - 1);
    assert_eq!(translated(&format!("print {before}ßß")), [format!("SELECT * FROM \"{before}\"")]);
}

/// If this fails, relations behind the first are passed over without a word.
#[test]
fn print_of_several_is_not_one_statement() {
    for text in ["explain print a, b", "prepare p as print a, b"] {
        assert_eq!(sqlstate_of(text), Some("0A000"), "{text}");
    }
    assert_eq!(translated("explain print a"), ["explain SELECT * FROM \"a\""]);
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
