//! The loads of each comparison, in the order of the report, and who takes part in them.

use crate::databases::contenders::{GALERA_0, GALERA_1, ON, RAID, REMOTE_WRITE, STAND_IN, STANDALONE};
use crate::databases::error::CompareError;

/// Scale of the small tables: every transaction changes the one branch.
const SMALL: u32 = 1;
/// Scale of the usual tables.
const USUAL: u32 = 10;

/// Which script of pgbench a load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Its default: five statements between BEGIN and END.
    TpcB,
    /// `-S`: one SELECT by key.
    SelectOnly,
    /// Ours: one CALL of the procedure `debit_credit`.
    Call,
    /// Ours: a join and an aggregate, each of a few rows by their keys.
    Query,
}

/// Which program a load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClient {
    /// pgbench with one of its scripts.
    Pgbench(Script),
    /// sysbench with our TPC-B script.
    Sysbench,
}

/// Where the clients of a load connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All to one server, counted from zero.
    At(usize),
    /// In equal shares to every server.
    Everywhere,
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// As the command line calls it.
    pub key: &'static str,
    /// As the report calls it.
    pub name: String,
    /// Scale of the tables: 100,000 accounts, 10 tellers and 1 branch each.
    pub scale: u32,
    /// Concurrent connections, all servers together.
    pub clients: usize,
    /// What runs.
    pub client: LoadClient,
    /// Where it connects.
    pub spread: Spread,
    /// Who takes part, by name.
    pub contenders: &'static [&'static str],
}

impl Load {
    /// Whether it changes nothing.
    pub fn reads_only(&self) -> bool {
        matches!(self.client, LoadClient::Pgbench(Script::SelectOnly | Script::Query))
    }
}

/// What only PostgreSQL's four ways and we can do: standbys take no writes.
const WRITERS: &[&str] = &[STANDALONE, REMOTE_WRITE, ON, RAID];
const WRITERS_AND_CEILING: &[&str] = &[STAND_IN, STANDALONE, REMOTE_WRITE, ON, RAID];
const READERS: &[&str] = &[ON, RAID];
const READERS_AND_CEILING: &[&str] = &[STAND_IN, ON, RAID];

/// The loads of `raid-lab compare postgres`; `large` is the scale of the large tables.
pub fn beside_postgres(large: u32) -> Vec<Load> {
    let load = |key, what: &str, script, scale, clients, spread, contenders| Load {
        key,
        name: format!("{what}, scale {scale}, {}", crowd(clients, spread)),
        scale,
        clients,
        client: LoadClient::Pgbench(script),
        spread,
        contenders,
    };
    use Script::{Call, Query, SelectOnly, TpcB};
    use Spread::{At, Everywhere};
    vec![
        load("tpcb-1", "TPC-B-like", TpcB, USUAL, 1, At(0), WRITERS_AND_CEILING),
        load("tpcb-16", "TPC-B-like", TpcB, USUAL, 16, At(0), WRITERS_AND_CEILING),
        load("tpcb-16-sites", "TPC-B-like", TpcB, USUAL, 16, Everywhere, &[RAID]),
        load("tpcb-16-small", "TPC-B-like", TpcB, SMALL, 16, At(0), WRITERS),
        load("tpcb-16-small-sites", "TPC-B-like", TpcB, SMALL, 16, Everywhere, &[RAID]),
        load("tpcb-32-small", "TPC-B-like", TpcB, SMALL, 32, At(0), WRITERS),
        load("tpcb-32-large", "TPC-B-like", TpcB, large, 32, At(0), WRITERS),
        load("select-16-site1", "select only", SelectOnly, USUAL, 16, At(0), READERS_AND_CEILING),
        load("select-16-site2", "select only", SelectOnly, USUAL, 16, At(1), READERS),
        load("select-16-site3", "select only", SelectOnly, USUAL, 16, At(2), READERS),
        load("query-1", "a join and an aggregate of a few rows", Query, USUAL, 1, At(0), READERS),
        load("query-16", "a join and an aggregate of a few rows", Query, USUAL, 16, At(0), READERS),
        load("call-16", "DebitCredit as one CALL", Call, USUAL, 16, At(0), WRITERS_AND_CEILING),
    ]
}

/// The loads of `raid-lab compare galera`.
pub fn beside_galera() -> Vec<Load> {
    const ONE: &[&str] = &[GALERA_1, GALERA_0, ON, RAID];
    const ALL: &[&str] = &[GALERA_1, GALERA_0, RAID];
    let load = |key, scale, clients, spread, contenders| Load {
        key,
        name: format!("TPC-B by sysbench, scale {scale}, {}", crowd(clients, spread)),
        scale,
        clients,
        client: LoadClient::Sysbench,
        spread,
        contenders,
    };
    vec![
        load("sysbench-1", USUAL, 1, Spread::At(0), ONE),
        load("sysbench-16", USUAL, 16, Spread::At(0), ONE),
        load("sysbench-16-sites", USUAL, 16, Spread::Everywhere, ALL),
        load("sysbench-16-small", SMALL, 16, Spread::At(0), ONE),
        load("sysbench-16-small-sites", SMALL, 16, Spread::Everywhere, ALL),
    ]
}

fn crowd(clients: usize, spread: Spread) -> String {
    let what = if clients == 1 { "client" } else { "clients" };
    match spread {
        Spread::At(0) => format!("{clients} {what}"),
        Spread::At(index) => format!("{clients} {what} at site {}", index + 1),
        Spread::Everywhere => format!("{clients} {what} over all sites"),
    }
}

/// The loads of these keys, all without keys.
///
/// # Errors
/// No load has one of the keys.
pub fn select(loads: Vec<Load>, keys: &[String]) -> Result<Vec<Load>, CompareError> {
    if let Some(unknown) = keys.iter().find(|key| !loads.iter().any(|load| load.key == **key)) {
        let known = loads.iter().map(|load| load.key).collect::<Vec<_>>().join(", ");
        return Err(CompareError::Choice { what: format!("load `{unknown}`"), known });
    }
    Ok(loads.into_iter().filter(|load| keys.is_empty() || keys.iter().any(|key| key == load.key)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loads of one key or name would be added up as one.
    #[test]
    fn every_load_has_a_key_and_a_name_of_its_own() {
        for loads in [beside_postgres(100), beside_galera()] {
            for pick in [|load: &Load| load.key.to_string(), |load: &Load| load.name.clone()] {
                let mut words: Vec<String> = loads.iter().map(pick).collect();
                words.sort();
                words.dedup();
                assert_eq!(words.len(), loads.len());
            }
        }
    }

    /// A mistyped key must not measure everything, or nothing, for an hour.
    #[test]
    fn unknown_keys_are_refused() {
        let chosen = select(beside_galera(), &["sysbench-1".to_string()]).expect("it is there");
        assert_eq!(chosen.iter().map(|load| load.key).collect::<Vec<_>>(), ["sysbench-1"]);
        let error = select(beside_galera(), &["tpcb-1".to_string()]).expect_err("that is pgbench's").to_string();
        assert!(error.contains("tpcb-1") && error.contains("sysbench-16"), "{error}");
        assert_eq!(select(beside_galera(), &[]).expect("nothing is chosen").len(), 5);
    }
}
