//! Queries with casts to domains. The answers are PostgreSQL 15's.

use super::{Answer, answer};
use crate::world::World;

const TABLES: &str = "\
table item
column id integer not null
column note text
key id
row 1\tone
row 2\ttwo
row 3\t\\N";

fn rows(sql: &str) -> Vec<String> {
    let world = World::of(TABLES)
        .with_domain("posint", "integer", false, &[("positive", "VALUE > 0"), ("odd", "VALUE % 2 = 1 OR VALUE > 9")])
        .with_domain("code", "varchar(3)", true, &[("lower", "CASE VALUE WHEN lower(VALUE) THEN true ELSE false END")]);
    match answer(&world, sql, 2, 1_000) {
        Answer::Lines(lines) if lines[0].starts_with("ERROR") => lines,
        Answer::Lines(lines) => lines[2..].to_vec(),
        Answer::NotBuilt(reason) => panic!("{sql}: not built: {reason}"),
    }
}

/// Values of a domain would not be taken where those of the type below are, or have another type than these.
#[test]
fn values_of_domains_are_those_of_the_type_below() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT 5::posint + 1, '7'::posint, cast(2.6 AS posint), -(5::posint), (5::posint)::text", &["6|7|3|-5|5"]),
        ("SELECT 5::posint = 5, 5::posint < 6.5, 5::posint IN (5, 6)", &["t|t|t"]),
        ("SELECT coalesce(NULL, 5::posint), greatest(5::posint, 7), nullif(5::posint, 5)", &["5|7|NULL"]),
        ("SELECT NULL::posint, 'abcd'::code, 'ab'::code || 'c'", &["NULL|abc|abc"]),
        ("SELECT (id * 2 + 1)::posint AS a FROM item ORDER BY a DESC", &["7", "5", "3"]),
        ("SELECT sum((id + 10)::posint), max((id + 10)::posint), count(*) FROM item", &["36|13|3"]),
        ("SELECT (id + 10)::posint, count(*) FROM item GROUP BY 1 ORDER BY 1", &["11|1", "12|1", "13|1"]),
        ("SELECT id FROM item WHERE id = 3::posint", &["3"]),
        ("SELECT id FROM item i WHERE (SELECT (i.id + 10)::posint) > 12", &["3"]),
        ("SELECT 3::posint UNION SELECT 2 ORDER BY 1", &["2", "3"]),
        ("SELECT ARRAY[1::posint, 2], array_agg((id + 10)::posint ORDER BY id) FROM item", &["{1,2}|{11,12,13}"]),
        ("SELECT ARRAY[1, 3]::posint[], (ARRAY[5, 7]::posint[])[2]", &["{1,3}|7"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(rows(sql), *expected, "{sql}");
    }
}

/// A value that is none of a domain would pass as one, or the first condition that it does not satisfy not be the one that is told.
#[test]
fn what_a_domain_asks_is_looked_at() {
    let violated = |domain: &str, constraint: &str| {
        vec!["ERROR 23514".to_owned(), format!("value for domain {domain} violates check constraint \"{constraint}\"")]
    };
    for sql in
        ["SELECT 0::posint", "SELECT (id - 1)::posint FROM item", "SELECT id FROM item WHERE (1 - id)::posint = 1"]
    {
        assert_eq!(rows(sql), violated("posint", "positive"), "{sql}");
    }
    assert_eq!(rows("SELECT '4'::posint"), violated("posint", "odd"));
    assert_eq!(
        rows("SELECT (SELECT count(*) FROM item WHERE (id + i.id)::posint > 9) FROM item i"),
        violated("posint", "odd")
    );
    assert_eq!(rows("SELECT 'ABC'::code"), violated("code", "lower"));
    let null = ["ERROR 23502", "domain code does not allow null values"];
    assert_eq!(rows("SELECT NULL::code"), null);
    assert_eq!(rows("SELECT note::code FROM item"), null);
    assert_eq!(rows("SELECT 'x'::posint"), ["ERROR 22P02", "invalid input syntax for type integer: \"x\""]);
    assert_eq!(rows("SELECT ARRAY[1, 4]::posint[]"), violated("posint", "odd"));
    assert_eq!(rows("SELECT ARRAY[id, 4]::posint[] FROM item"), violated("posint", "odd"));
}
