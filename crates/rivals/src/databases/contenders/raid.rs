//! Raid with three copies: three sites and an oracle. Tables of another scale are in another cluster, because an instance has one
//! database.

mod separate;

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use super::postgres::PROCEDURE;
use super::{Contender, RAID, System};
use crate::databases::endpoint::{Endpoint, Protocol};
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::{PREPARE_TIME_MAX, START_TIME_MAX, STATEMENT_TIME_MAX};
use crate::databases::process::Process;

/// The one way to use it.
pub const CONTENDERS: [Contender; 1] = [Contender {
    name: RAID,
    promise: "three copies: in the memory of all three sites; disks follow (every 20 ms under load); strictly serializable at every site",
}];

/// The first port, from the environment's first.
const PORT: u16 = 20;
/// Ports of a cluster: for clients at each site, of which there are [`SITES_MAX`] at most, and in namespaces three for sites and oracle among themselves.
const CLUSTER_PORTS: u16 = SITES_MAX as u16 + 3;

/// Sites of a cluster.
pub const SITES_MAX: usize = 7;

/// Megabytes of rows that a site keeps in memory: what PostgreSQL and MariaDB have here.
const MEMORY_MB: u32 = 1024;

/// Above this scale pgbench's filling, one transaction, would hold a site up for longer than others wait for it; the tables are then
/// filled by transactions of [`ACCOUNTS_AT_ONCE`] accounts.
const STOCK_SCALE_MAX: u32 = 10;

/// Accounts of one transaction then.
const ACCOUNTS_AT_ONCE: u32 = 10_000;

/// How often a part of the filling is tried.
const FILL_ATTEMPTS_MAX: u32 = 10;

/// The running clusters.
pub struct Raid {
    program: PathBuf,
    clusters: Vec<Cluster>,
}

/// Three sites with the tables of one scale.
struct Cluster {
    scale: u32,
    sites: Vec<Endpoint>,
    // The oracle last: sites that are ended before it need nobody.
    processes: Vec<Process>,
}

impl Raid {
    /// Nothing runs yet: a cluster is started when its tables are filled.
    pub fn new(environment: &Environment) -> Result<Raid, CompareError> {
        Ok(Raid { program: find_program(environment)?, clusters: Vec::new() })
    }
}

impl Raid {
    /// The sites' processes of the cluster that was started last, in order, where each is a process that we have started: on hosts of their own.
    pub fn site_processes(&self) -> &[Process] {
        self.clusters.last().map_or(&[], |cluster| &cluster.processes[..cluster.sites.len()])
    }
}

impl Cluster {
    /// Starts a site for each host of a server, and waits until each of them answers.
    fn start(environment: &Environment, program: &PathBuf, scale: u32, port: u16) -> Result<Cluster, CompareError> {
        let data = environment.folder.join(format!("raid_scale_{scale}"));
        let processes = if environment.hosts.are_separate() {
            separate::start(environment, program, &data, port)?
        } else {
            let mut command = Command::new(program);
            command.args(["start", "--sites", &environment.hosts.servers().to_string(), "--port", &port.to_string()]);
            command.args(["--memory-mb", &MEMORY_MB.to_string(), "--data"]).arg(data);
            vec![Process::start(command, &environment.log(&format!("raid_scale_{scale}")), Signal::TERM)?]
        };
        let site = |index| Endpoint {
            address: environment.hosts.server(index).address(),
            port: port + index as u16,
            protocol: Protocol::Postgres,
            database: "raid".to_string(),
            session_options: None,
        };
        let sites: Vec<Endpoint> = (0..environment.hosts.servers()).map(site).collect();
        let mut cluster = Cluster { scale, sites: sites.clone(), processes };
        for site in sites {
            if !site.wait_for(environment, "SELECT 1", "1", START_TIME_MAX, || cluster.check())? {
                let what = format!("the site of Raid at port {} to answer `1` to `SELECT 1`", site.port);
                let output = cluster.processes.iter().map(Process::last_lines).collect();
                return Err(CompareError::TimedOut { what, waited: START_TIME_MAX, output });
            }
        }
        Ok(cluster)
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.processes.iter_mut().try_for_each(Process::check_alive)
    }

    fn fill(&mut self, environment: &Environment) -> Result<(), CompareError> {
        let (site, scale) = (self.sites[0].clone(), self.scale);
        let in_parts = scale > STOCK_SCALE_MAX;
        self.insist(environment, |_| {
            let mut command = site.postgres_command(environment, "pgbench");
            command.args(["-i", "-q", "-s", &scale.to_string()]);
            if in_parts {
                // Drop, create, primary keys; no rows.
                command.args(["-I", "dtp"]);
            }
            command.arg(&site.database);
            environment.run(command, "pgbench_init", PREPARE_TIME_MAX).map(drop)
        })?;
        for branch in (1..=scale).filter(|_| in_parts) {
            self.insist(environment, |again| {
                let mut statements = filling(branch);
                if again {
                    // Whether the attempt before has committed is not known.
                    statements = [emptying(branch), statements].concat();
                }
                let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
                site.ask(environment, &statements, PREPARE_TIME_MAX).map(drop)
            })?;
        }
        site.ask(environment, &[PROCEDURE], STATEMENT_TIME_MAX).map(drop)
    }

    /// Does something that can be done again, until it succeeds or has failed [`FILL_ATTEMPTS_MAX`] times: on a machine with other work a
    /// site that loads rows may be late for the others, begin a new life, and forget the transaction. The action is told whether it
    /// was tried before.
    fn insist(
        &mut self,
        environment: &Environment,
        mut action: impl FnMut(bool) -> Result<(), CompareError>,
    ) -> Result<(), CompareError> {
        for attempt in 1.. {
            match action(attempt > 1) {
                Err(CompareError::Failed { output, .. }) if attempt < FILL_ATTEMPTS_MAX => {
                    let why = output.lines().find(|line| line.contains("ERROR")).unwrap_or(&output).trim();
                    println!("filling again a part that failed: {why}");
                    let site = self.sites[0].clone();
                    site.wait_for(environment, "SELECT 1", "1", START_TIME_MAX, || self.check())?;
                }
                done => return done,
            }
        }
        unreachable!("the last attempt returns");
    }
}

/// Accounts and tellers of a branch.
const ACCOUNTS: u32 = 100_000;
const TELLERS: u32 = 10;

/// Commands for psql that fill empty tables with pgbench's rows of one branch.
fn filling(branch: u32) -> Vec<String> {
    let before = branch - 1;
    let copy = |table: &str, first: u32, last: u32, rest: &str| {
        format!("\\copy {table} from program 'seq {first} {last} | sed \"s/$/{rest}/\"'")
    };
    let (of_teller, of_account) = (format!(r"\t{branch}\t0"), format!(r"\t{branch}\t0\t"));
    let mut commands = vec![
        copy("pgbench_branches (bid, bbalance)", branch, branch, r"\t0"),
        copy("pgbench_tellers (tid, bid, tbalance)", before * TELLERS + 1, branch * TELLERS, &of_teller),
    ];
    let parts = (before * ACCOUNTS..branch * ACCOUNTS).step_by(ACCOUNTS_AT_ONCE as usize);
    let accounts = "pgbench_accounts (aid, bid, abalance, filler)";
    commands.extend(parts.map(|part| copy(accounts, part + 1, part + ACCOUNTS_AT_ONCE, &of_account)));
    commands
}

/// Statements that remove the rows of one branch.
fn emptying(branch: u32) -> Vec<String> {
    let before = branch - 1;
    let delete = |table: &str, key: &str, each: u32| {
        format!("DELETE FROM {table} WHERE {key} BETWEEN {} AND {}", before * each + 1, branch * each)
    };
    vec![
        delete("pgbench_branches", "bid", 1),
        delete("pgbench_tellers", "tid", TELLERS),
        delete("pgbench_accounts", "aid", ACCOUNTS),
    ]
}

impl System for Raid {
    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        let mut command = Command::new(&self.program);
        command.arg("--version");
        environment.run(command, "version", STATEMENT_TIME_MAX).map(|text| text.trim().to_string())
    }

    fn settings(&self) -> String {
        format!("three sites, memory_mb={MEMORY_MB}")
    }

    fn fill(&mut self, environment: &Environment, scale: u32) -> Result<(), CompareError> {
        let port = environment.port + PORT + CLUSTER_PORTS * self.clusters.len() as u16;
        let mut cluster = Cluster::start(environment, &self.program, scale, port)?;
        cluster.fill(environment)?;
        self.clusters.push(cluster);
        Ok(())
    }

    fn endpoints(&self, _contender: &'static str, scale: u32) -> Vec<Endpoint> {
        let cluster = self.clusters.iter().find(|cluster| cluster.scale == scale);
        cluster.map(|cluster| cluster.sites.clone()).unwrap_or_default()
    }

    fn all_write(&self) -> bool {
        true
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.clusters.iter_mut().try_for_each(Cluster::check)
    }
}

/// The `raid` program that was named, or that of the same build.
pub fn find_program(environment: &Environment) -> Result<PathBuf, CompareError> {
    let (program, remedy) = if let Some(named) = &environment.raid_program {
        (named.clone(), "name another one with --raid".to_string())
    } else {
        let own = std::env::current_exe().map_err(CompareError::system("cannot find", "this program".as_ref()))?;
        // The folder of a build is called by its profile, but for that of development.
        let folder =
            own.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy().into_owned();
        let profile = if folder == "debug" { String::new() } else { format!(" --profile {folder}") };
        let remedy =
            format!("build it (cargo build{profile} -p raid), name one with --raid, or leave Raid out with --only");
        (own.with_file_name("raid"), remedy)
    };
    if program.is_file() {
        return Ok(program);
    }
    Err(CompareError::Missing { program: program.display().to_string(), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row too many or too few would be another load.
    #[test]
    fn tables_are_filled_from_the_first_row_to_the_last() {
        let commands = [filling(1), filling(2)].concat();
        assert_eq!(commands.len(), 2 * 12);
        assert!(commands[1].contains("seq 1 10 |") && commands[13].contains("seq 11 20 |"), "{commands:?}");
        assert!(commands[2].contains("seq 1 10000 |") && commands[11].contains("seq 90001 100000 |"), "{commands:?}");
        assert!(commands[14].contains("seq 100001 110000 |"), "{commands:?}");
        assert!(commands[14].contains(r"s/$/\t2\t0\t/"), "{commands:?}");
        assert_eq!(emptying(2)[2], "DELETE FROM pgbench_accounts WHERE aid BETWEEN 100001 AND 200000");
    }
}
