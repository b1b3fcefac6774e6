//! Queries over network addresses. `addresses.txt` has them, one a line, each with PostgreSQL 15's answer in the lines behind it.

use super::{Answer, answer};
use crate::world::World;

const QUERIES: &str = include_str!("addresses.txt");

const TABLES: &str = "\
table hosts
column id integer not null
column ip inet
column net cidr
column mac macaddr
column mac8 macaddr8
key id
index hosts_ip_idx ip
index hosts_net_idx net
index hosts_mac_idx mac
row 1\t192.168.1.5\t192.168.1.0/24\t08:00:2b:01:02:03\t08:00:2b:01:02:03:04:05
row 2\t192.168.1.5/24\t192.168.0.0/16\t08:00:2b:01:02:04\t08:00:2b:01:02:03:04:06
row 3\t::1\t::1/128\t08:00:2b:01:02:05\t\\N
row 4\t2001:db8::ff00:42:8329/64\t2001:db8::/32\t08:00:2b:01:02:06\t08:00:2b:ff:fe:01:02:06
row 5\t10.1.2.3/8\t10.0.0.0/8\t08:00:2b:01:02:07\t08:00:2b:01:02:03:04:07
row 6\t0.0.0.0/0\t0.0.0.0/0\t08:00:2b:01:02:08\t08:00:2b:01:02:03:04:08
row 7\t::ffff:1.2.3.4\t::ffff:1.2.3.0/120\t08:00:2b:01:02:09\t08:00:2b:01:02:03:04:09
row 8\t\\N\t\\N\t\\N\t\\N";

/// Addresses would be found by another index than they are sorted by, or computed otherwise than by PostgreSQL.
#[test]
fn addresses_are_those_of_postgresql() {
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
