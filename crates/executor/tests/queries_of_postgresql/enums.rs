//! Queries over enum types. The answers are PostgreSQL 15's.

use super::{Answer, answer};
use crate::world::World;

const TABLES: &str = "\
enum mood sad ok happy
enum empty
table person
column id integer not null
column feels mood
column was mood
key id
index person_feels_idx feels
row 1\thappy\tsad
row 2\tsad\tok
row 3\t\\N\thappy
row 4\tok\tok";

fn rows(sql: &str) -> Vec<String> {
    match answer(&World::of(TABLES), sql, 2, 1_000) {
        Answer::Lines(lines) if lines[0].starts_with("ERROR") => lines,
        Answer::Lines(lines) => lines[2..].to_vec(),
        Answer::NotBuilt(reason) => panic!("{sql}: not built: {reason}"),
    }
}

/// Labels would be sorted and compared by their letters, or not at all.
#[test]
fn labels_have_the_order_of_their_type() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT id FROM person ORDER BY feels", &["2", "4", "1", "3"]),
        ("SELECT id FROM person ORDER BY feels DESC, id", &["3", "1", "4", "2"]),
        ("SELECT id FROM person WHERE feels > 'sad' ORDER BY id", &["1", "4"]),
        ("SELECT id FROM person WHERE feels = 'ok'", &["4"]),
        ("SELECT id FROM person WHERE feels < was OR feels IS NULL ORDER BY id", &["2", "3"]),
        ("SELECT id FROM person WHERE feels BETWEEN 'sad' AND 'ok' ORDER BY id", &["2", "4"]),
        ("SELECT id FROM person WHERE feels = ANY ('{sad,happy}'::mood[]) ORDER BY id", &["1", "2"]),
        ("SELECT id FROM person WHERE feels IN ('sad', 'ok') ORDER BY id", &["2", "4"]),
        ("SELECT min(feels), max(feels), count(DISTINCT feels) FROM person", &["sad|happy|3"]),
        ("SELECT was, count(*) FROM person GROUP BY was ORDER BY was", &["sad|1", "ok|2", "happy|1"]),
        ("SELECT DISTINCT was FROM person ORDER BY was DESC", &["happy", "ok", "sad"]),
        (
            "SELECT a.id, b.id FROM person a JOIN person b ON a.feels = b.was ORDER BY 1, 2",
            &["1|3", "2|1", "4|2", "4|4"],
        ),
        ("SELECT greatest('ok'::mood, 'happy'), least('ok'::mood, 'happy'::mood)", &["happy|ok"]),
        ("SELECT id FROM person WHERE feels IN (SELECT was FROM person) ORDER BY id", &["1", "2", "4"]),
        ("SELECT feels FROM person UNION SELECT 'ok' ORDER BY 1", &["sad", "ok", "happy", "NULL"]),
        ("SELECT id, rank() OVER (ORDER BY was) FROM person ORDER BY id", &["1|1", "2|2", "3|4", "4|2"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(rows(sql), *expected, "{sql}");
    }
}

/// What is written as a label would be taken for a text, or the other way round.
#[test]
fn labels_are_cast_and_asked_for() {
    let cases: &[(&str, &[&str])] = &[
        ("SELECT 'ok'::mood, 'o' || 'k'::text, ('o' || 'k')::mood, 'happy'::mood::text || '!'", &["ok|ok|ok|happy!"]),
        (
            "SELECT enum_first(NULL::mood), enum_last('sad'::mood), enum_range(NULL::mood)",
            &["sad|happy|{sad,ok,happy}"],
        ),
        ("SELECT enum_range('ok'::mood, NULL), enum_range(NULL, 'ok'::mood)", &["{ok,happy}|{sad,ok}"]),
        ("SELECT enum_range('happy'::mood, 'sad'::mood)", &["{}"]),
        ("SELECT enum_range(NULL::empty)", &["{}"]),
        ("SELECT enum_first(NULL::empty)", &["ERROR 55000", "enum empty contains no values"]),
        ("SELECT 'glad'::mood", &["ERROR 22P02", "invalid input value for enum mood: \"glad\""]),
        ("SELECT id FROM person WHERE feels = 'Ok'", &["ERROR 22P02", "invalid input value for enum mood: \"Ok\""]),
        ("SELECT id FROM person WHERE feels = 'ok'::text", &["ERROR 42883", "operator does not exist: mood = text"]),
        ("SELECT feels || '' FROM person WHERE id = 1", &["happy"]),
        ("SELECT coalesce(feels, 'sad') FROM person WHERE id = 3", &["sad"]),
        ("SELECT CASE WHEN id = 1 THEN feels ELSE 'ok' END FROM person WHERE id < 3 ORDER BY id", &["happy", "ok"]),
        ("SELECT ARRAY['ok', 'sad']::mood[], ARRAY['ok'::mood], ('{happy,ok}'::mood[])[1]", &["{ok,sad}|{ok}|happy"]),
        ("SELECT array_agg(feels ORDER BY id) FROM person", &["{happy,sad,NULL,ok}"]),
        ("SELECT unnest(enum_range(NULL::mood))", &["sad", "ok", "happy"]),
        ("SELECT to_json('ok'::mood), length('happy'::mood::text)", &["\"ok\"|5"]),
        ("SELECT ARRAY['ok'::mood] < ARRAY['happy'::mood], 'ok' = ANY (enum_range(NULL::mood))", &["t|t"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(rows(sql), *expected, "{sql}");
    }
}
