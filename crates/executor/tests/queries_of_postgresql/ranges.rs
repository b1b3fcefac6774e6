//! Queries over ranges. `ranges.txt` has them, one a line, each with PostgreSQL 15's answer in the lines behind it.

use super::{Answer, answer};
use crate::world::World;

const QUERIES: &str = include_str!("ranges.txt");

const TABLES: &str = "\
table spans
column id integer not null
column i int4range
column b int8range
column n numrange
column d daterange
column t tsrange
column z tstzrange
column m int4multirange
column a int4range[]
key id
index spans_i_idx i
index spans_n_idx n
index spans_m_idx m
row 1\t[1,5)\t[1,6)\t[1.0,2.50]\t[2024-01-01,2024-02-01)\t[\"2024-01-01 10:00:00\",\"2024-01-01 11:00:00\")\t[\"2024-01-01 10:00:00+00\",\"2024-01-01 11:00:00+00\")\t{[1,5),[8,9)}\t{\"[1,5)\",empty}
row 2\t[2,6)\t(,6)\t(1,2.5)\t[2024-02-28,2024-03-01)\t[\"2024-01-01 00:00:00\",)\t(,\"2024-06-01 10:00:00.5+00\"]\t{}\t{\"[2,4)\",NULL}
row 3\tempty\tempty\tempty\tempty\tempty\tempty\t{(,1),[3,)}\t{}
row 4\t(,)\t[9223372036854775806,9223372036854775807)\t(,0)\t(,2024-03-02)\t(,)\t(,)\t{(,)}\t\\N
row 5\t[2,5)\t[1,6)\t(1,2.5]\t[2024-01-01,2024-02-01)\t[\"2024-01-01 00:00:00\",)\t(,\"2024-06-01 00:00:00+00\")\t{[1,9)}\t{\"[1,2)\"}
row 6\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N";

/// Ranges would be found by another index than they are sorted by, or computed otherwise than by PostgreSQL.
#[test]
fn ranges_are_those_of_postgresql() {
    let world = World::of(TABLES);
    let mut differences = Vec::new();
    let mut lines = QUERIES.lines().peekable();
    while let Some(sql) = lines.next() {
        let mut expected = Vec::new();
        while let Some(line) = lines.peek().and_then(|line| line.strip_prefix("  ")) {
            expected.push(line.to_owned());
            lines.next();
        }
        let found = match answer(&world, sql, 2, 1_000) {
            Answer::Lines(lines) if lines[0].starts_with("ERROR") => lines,
            Answer::Lines(lines) => lines[2..].to_vec(),
            Answer::NotBuilt(reason) => vec![format!("not built: {reason}")],
        };
        if found != expected {
            differences.push(format!("{sql}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
