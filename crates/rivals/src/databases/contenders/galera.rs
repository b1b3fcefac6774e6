//! MariaDB with Galera: three nodes, each of which takes writes; a commit is certified at all of them.
//!
//! Whether a node syncs every commit or once a second is a global setting, so that one cluster is two contenders in turns. The
//! server runs without grant tables, as PostgreSQL here trusts everybody; it refuses to run as root, as PostgreSQL does.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::{Contender, GALERA_0, GALERA_1, System};
use crate::databases::endpoint::{Endpoint, Protocol};
use crate::databases::environment::{Environment, User, command_as, find_program};
use crate::databases::error::CompareError;
use crate::databases::hosts::SERVER_HOSTS;
use crate::databases::limits::{PREPARE_TIME_MAX, START_TIME_MAX, STATEMENT_TIME_MAX};
use crate::databases::process::Process;

/// The ways to use it.
pub const CONTENDERS: [Contender; 2] = [
    Contender {
        name: GALERA_1,
        promise: "three copies: received and certified by all nodes, synced by the client's node \
            (innodb_flush_log_at_trx_commit=1), by the others later; reads may be stale (wsrep_sync_wait=0)",
    },
    Contender {
        name: GALERA_0,
        promise: "three copies: received and certified by all nodes, synced once a second \
            (innodb_flush_log_at_trx_commit=0); reads may be stale (wsrep_sync_wait=0)",
    },
];

/// The first of its ports, from the environment's first: three for clients, then three for each node.
const PORT: u16 = 5;
/// The first port of the nodes among themselves, from [`PORT`].
const GROUP_PORT: u16 = 3;
/// A node's ports among themselves: the group, incremental and full transfers of the state.
const GROUP_PORTS: u16 = 3;

/// What every node is started with. As much memory and log as PostgreSQL has here; the rest is what Galera demands or its manual
/// recommends for more than one core.
const SETTINGS: [&str; 8] = [
    "innodb-buffer-pool-size=1G",
    "innodb-log-file-size=1G",
    "max-connections=100",
    "binlog-format=ROW",
    "default-storage-engine=InnoDB",
    "innodb-autoinc-lock-mode=2",
    "wsrep-slave-threads=4",
    "wsrep-sst-method=rsync",
];

/// Rows that one statement of the filling inserts: those of one unit of scale.
const ACCOUNTS: u32 = 100_000;

/// The running nodes.
pub struct Galera {
    nodes: Vec<Endpoint>,
    // The node that was started last is ended first.
    processes: Vec<Process>,
}

/// What starting a node takes.
pub struct Programs {
    server: PathBuf,
    install: PathBuf,
    provider: PathBuf,
}

/// The server, the program that makes its data folder, and Galera itself.
///
/// # Errors
/// One of them is not there, or a client, or rsync, by which a node gets its first state.
pub fn find_programs() -> Result<Programs, CompareError> {
    const PACKAGES: &str = "mariadb-server galera-4 rsync";
    let server = find_program("mariadbd", PACKAGES)?;
    let install = find_program("mariadb-install-db", PACKAGES)?;
    find_program("mariadb", PACKAGES)?;
    find_program("rsync", PACKAGES)?;
    let places = ["/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera"].map(Path::new);
    let provider = places.map(|place| place.join("libgalera_smm.so")).into_iter().find(|path| path.exists());
    let provider = provider.ok_or_else(|| CompareError::Missing {
        program: "libgalera_smm.so".to_string(),
        remedy: format!("install Galera (Debian: apt-get install {PACKAGES}); looked into {places:?}"),
    })?;
    Ok(Programs { server, install, provider })
}

impl Galera {
    /// Creates and starts the nodes one by one, each when the one before it is in step.
    pub fn start(environment: &Environment) -> Result<Galera, CompareError> {
        let programs = find_programs()?;
        let user = User::for_server(&["mysql", "nobody"])?;
        let home = environment.data_folder("galera", user)?;
        let nodes = (0..SERVER_HOSTS)
            .map(|index| Endpoint {
                address: environment.hosts.server(index).address(),
                port: environment.port + PORT + index as u16,
                protocol: Protocol::MariaDb,
                database: "mysql".to_string(),
                session_options: None,
            })
            .collect();
        let mut galera = Galera { nodes, processes: Vec::new() };
        for index in 0..SERVER_HOSTS {
            let process = galera.start_node(environment, &programs, user, &home, index)?;
            galera.processes.insert(0, process);
            galera.wait_until_synced(environment, index)?;
        }
        Ok(galera)
    }

    fn start_node(
        &self,
        environment: &Environment,
        programs: &Programs,
        user: Option<User>,
        home: &Path,
        index: usize,
    ) -> Result<Process, CompareError> {
        let host = environment.hosts.server(index);
        let data = home.join(format!("node{}", index + 1));
        let mut install = command_as(&host, user, &programs.install);
        install.arg("--no-defaults").arg(format!("--datadir={}", data.display())).arg("--skip-test-db");
        install.current_dir(home);
        environment.run(install, "galera_install", PREPARE_TIME_MAX)?;

        let (address, group) = (host.address(), self.group_port(index));
        let members: Vec<String> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(of, node)| format!("{}:{}", node.address, self.group_port(of)))
            .collect();
        let mut command = command_as(&host, user, &programs.server);
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        command.args(["--socket=server.sock", "--pid-file=server.pid", "--skip-grant-tables", "--skip-name-resolve"]);
        command.args([format!("--port={}", self.nodes[index].port), format!("--bind-address={address}")]);
        command.args(SETTINGS.map(|setting| format!("--{setting}")));
        command.args(["--wsrep-on=ON", "--wsrep-cluster-name=raid_compare"]);
        command.arg(format!("--wsrep-provider={}", programs.provider.display()));
        command.arg(format!("--wsrep-cluster-address=gcomm://{}", members.join(",")));
        command.arg(format!("--wsrep-node-address={address}:{group}"));
        command.arg(format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://{address}:{group};ist.recv_addr={address}:{}",
            group + 1
        ));
        command.arg(format!("--wsrep-sst-receive-address={address}:{}", group + 2));
        if index == 0 {
            command.arg("--wsrep-new-cluster");
        }
        command.current_dir(home);
        Process::start(command, &environment.log(&format!("galera_node{}", index + 1)), Signal::TERM)
    }

    fn group_port(&self, index: usize) -> u16 {
        self.nodes[0].port + GROUP_PORT + index as u16 * GROUP_PORTS
    }

    fn wait_until_synced(&mut self, environment: &Environment, index: usize) -> Result<(), CompareError> {
        let (nodes, processes) = (&self.nodes, &mut self.processes);
        let check = || processes.iter_mut().try_for_each(Process::check_alive);
        let state = "SHOW STATUS LIKE 'wsrep_local_state_comment'";
        if nodes[index].wait_for(environment, state, "Synced", START_TIME_MAX, check)? {
            return Ok(());
        }
        Err(CompareError::TimedOut {
            what: format!("node {} of Galera to be `Synced`", index + 1),
            waited: START_TIME_MAX,
            output: self.processes.iter().map(Process::last_lines).collect(),
        })
    }
}

impl System for Galera {
    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        let ask = |statement| self.nodes[0].ask(environment, &[statement], STATEMENT_TIME_MAX);
        let server = ask("SELECT VERSION()")?.concat();
        let provider = ask("SHOW STATUS LIKE 'wsrep_provider_version'")?.pop().unwrap_or_default();
        Ok(format!("MariaDB {server} with Galera {provider}"))
    }

    fn settings(&self) -> String {
        format!("three nodes, {}", SETTINGS.join(", "))
    }

    fn fill(&mut self, environment: &Environment, scale: u32) -> Result<(), CompareError> {
        let database = format!("scale_{scale}");
        self.nodes[0].ask(environment, &[&format!("CREATE DATABASE {database}")], STATEMENT_TIME_MAX)?;
        let tables = Endpoint { database, ..self.nodes[0].clone() };
        let mut statements = vec![
            include_str!("../../../scripts/tables_mariadb.sql").trim_end().trim_end_matches(';').to_string(),
            format!("INSERT INTO pgbench_branches SELECT seq, 0, '' FROM seq_1_to_{scale}"),
            format!("INSERT INTO pgbench_tellers SELECT seq, (seq - 1) DIV 10 + 1, 0, '' FROM seq_1_to_{}", 10 * scale),
        ];
        statements.extend((1..=scale).map(|branch| {
            let (first, last) = ((branch - 1) * ACCOUNTS + 1, branch * ACCOUNTS);
            format!("INSERT INTO pgbench_accounts SELECT seq, {branch}, 0, '' FROM seq_{first}_to_{last}")
        }));
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        tables.ask(environment, &statements, PREPARE_TIME_MAX).map(drop)
    }

    fn endpoints(&self, _contender: &'static str, scale: u32) -> Vec<Endpoint> {
        let tables = |node: &Endpoint| Endpoint { database: format!("scale_{scale}"), ..node.clone() };
        self.nodes.iter().map(tables).collect()
    }

    fn all_write(&self) -> bool {
        true
    }

    fn become_contender(&mut self, environment: &Environment, contender: &'static str) -> Result<(), CompareError> {
        let flush = u8::from(contender == GALERA_1);
        let statement = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}");
        self.nodes.iter().try_for_each(|node| node.ask(environment, &[&statement], STATEMENT_TIME_MAX).map(drop))
    }

    fn settle(&mut self, environment: &Environment) -> Result<(), CompareError> {
        // A statement of such a session waits until its node has applied all that the others have committed before.
        let statements = ["SET SESSION wsrep_sync_wait = 1", "SELECT 1"];
        self.nodes.iter().try_for_each(|node| node.ask(environment, &statements, PREPARE_TIME_MAX).map(drop))
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.processes.iter_mut().try_for_each(Process::check_alive)
    }
}
