//! Raid beside other databases on the same machine, in the same run, under the same clients.
//!
//! Invariants: the contenders run interleaved, so that a machine that gets slower hurts all of them; every figure stands beside
//! the disk's latency at that time; and every process that was started is ended, by its process id, however the program ends. It knows Raid as a
//! program only.
//! Reading order: `comparison` (the plan), `loads` and `targets`, `contenders` (a file each, behind one trait), `clients`,
//! `books` (the audit), `report` (the figures), `sites` (Raid by the number of its sites), `queries`,
//! `regression` and `smith` (answers instead of speed, of two systems `beside` each other), `environment`, `endpoint`, `hosts`, `machine`,
//! `scheduling` and `process`.

mod beside;
mod books;
mod clients;
mod comparison;
mod contenders;
mod endpoint;
mod environment;
mod error;
mod hosts;
mod limits;
mod loads;
mod machine;
mod process;
mod queries;
mod regression;
mod report;
mod scheduling;
mod sites;
mod smith;
mod targets;

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::databases::contenders::Kind;
use crate::databases::error::CompareError;

/// What to compare.
#[expect(missing_docs, reason = "options say at their own types what they are")]
#[derive(Subcommand)]
pub enum Command {
    /// PostgreSQL, alone and with two synchronous standbys (on and remote_write), under stock pgbench
    Postgres {
        #[command(flatten)]
        options: Options,
        /// Scale of the large tables: 100,000 accounts each, 15 MB in PostgreSQL
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(11..=1000))]
        scale_large: u32,
    },
    /// MariaDB with Galera, three nodes, under sysbench; and PostgreSQL with two synchronous standbys beside it
    Galera {
        #[command(flatten)]
        options: Options,
    },
    /// Raid alone, with 1, 3, 5 and 7 sites in network namespaces: what a transaction costs in messages, bytes and processor time; needs the rights of root
    Sites {
        #[command(flatten)]
        options: sites::Options,
    },
    /// Random statements on Raid and on PostgreSQL beside it: every answer that differs, with the smallest statements that show it
    Queries {
        #[command(flatten)]
        options: queries::Options,
    },
    /// PostgreSQL's own regression suite on Raid and on PostgreSQL, statement by statement, each difference in a class
    Regression {
        #[command(flatten)]
        options: regression::Options,
    },
    /// Statements of sqlsmith on Raid: none may end a site
    Smith {
        #[command(flatten)]
        options: smith::Options,
    },
    /// Serve the stand-in alone: every message of the PostgreSQL protocol is answered at once, and nothing is done
    StandIn {
        /// Where it listens
        #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:25434")]
        listen: SocketAddrV4,
    },
}

/// What to measure and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds; in each, every load runs once on every contender
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of one run
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Measure this load alone; may be given again for more of them
    #[arg(long = "load", value_name = "NAME")]
    loads: Vec<String>,
    /// List the loads, who takes part in each, and how long all take; measure nothing
    #[arg(long)]
    list: bool,
    /// Measure this system alone; may be given again for more of them
    #[arg(long, value_enum, value_name = "SYSTEM")]
    only: Vec<Kind>,
    /// The `raid` program to measure [default: the one of the same build]
    #[arg(long, value_name = "PATH")]
    raid: Option<PathBuf>,
    /// Run servers and clients in network namespaces, one for each site or node; needs the rights of root
    #[arg(long)]
    namespaces: bool,
    /// Folder below which all systems keep their data, and whose disk is measured; made if it is not there [default: the system's temporary folder]
    #[arg(long)]
    data: Option<PathBuf>,
    /// First of the 50 TCP ports used
    #[arg(long, default_value_t = 25_430, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: u16,
    /// Also write everything to FILE: JSON if its name ends in .json, Markdown otherwise; may be given again
    #[arg(long, value_name = "FILE")]
    output: Vec<PathBuf>,
}

/// Carries it out.
///
/// # Errors
/// A system or a program is missing, or a contender fails.
pub fn obey(command: Command) -> Result<(), CompareError> {
    let (options, all) = match command {
        Command::Postgres { options, scale_large } => (options, loads::beside_postgres(scale_large)),
        Command::Galera { options } => (options, loads::beside_galera()),
        Command::Sites { options } => return sites::run(&options),
        Command::Regression { options } => return regression::run(&options),
        Command::Smith { options } => return smith::run(&options),
        Command::Queries { options } => return queries::run(&options),
        Command::StandIn { listen } => return contenders::stand_in::serve(listen),
    };
    let chosen = loads::select(all, &options.loads)?;
    if options.list {
        comparison::list(&options, &chosen);
        return Ok(());
    }
    comparison::run(&options, &chosen)
}
