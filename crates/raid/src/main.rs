//! The `raid` program: commands, nothing else.
//!
//! Every command is one file: its options, its help, and calls into the crates that do the work. Invariant: the exit status is 0 only when
//! the command did what its help says; 1 means that it did not, with the reason and what to do on standard error; 2 is a wrong command line.

mod cluster_folder;
mod config;
mod export;
mod failures;
mod keys;
mod laboratory;
mod limits;
mod memory;
mod method;
mod moving;
mod plan;
mod quel;
mod rollback;
mod server;
mod simulate;
mod snapshot;
mod start;
mod status;
mod trace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AFTER_HELP: &str = "\
Examples:
  raid demo                     watch three sites lose one of them under load, and get it back
  raid start                    three sites in the foreground, SQL at ports 5433, 5434 and 5435
  psql -h 127.0.0.1 -p 5434 raid
  raid kill 2                   in another terminal: SIGKILL for site 2
  raid status --watch           what the others do meanwhile
  raid restart 2                site 2 comes back and repairs what changed

`raid help COMMAND` tells more about each.";

/// Raid: a distributed database that speaks PostgreSQL.
///
/// Every site has a copy and takes reads and writes; a commit is one round of messages between the sites and waits for no disk; losing sites,
/// down to the last one, loses no acknowledged transaction.
#[derive(Parser)]
#[command(name = "raid", version, after_help = AFTER_HELP, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch a cluster lose a site under load and take it back (done by raid-lab)
    Demo(laboratory::Options),
    Start(start::Options),
    Status(status::Options),
    Trace(trace::Options),
    /// Kill a site of a running cluster with SIGKILL, to see what happens
    ///
    /// Nothing is flushed and nobody is told. The site stays down until `raid restart`.
    Kill(failures::Options),
    /// Start a killed site of a running cluster again
    ///
    /// A process that still runs is killed first. Returns when the site serves, which is before it is repaired.
    Restart(failures::Options),
    /// Set a site's damaged copy aside and take a new one from the other sites
    ///
    /// For a site whose log or store is damaged, or lost. Nothing is deleted: the old copy stays in a folder of its own below the site's.
    Repair(failures::Options),
    Move(moving::Options),
    Method(method::Options),
    Plan(plan::PlanOptions),
    Quel(quel::QuelOptions),
    Snapshot(snapshot::Options),
    Restore(snapshot::RestoreOptions),
    Rollback(rollback::RollbackOptions),
    Export(export::ExportOptions),
    Site(server::SiteOptions),
    Oracle(server::OracleOptions),
    Host(server::HostOptions),
    #[command(hide = true)]
    Server(server::ServerOptions),
    Memory(memory::Options),
    Config(config::Options),
    Keys(keys::Options),
    Sim(simulate::Options),
    /// Measure Raid on this machine (done by raid-lab)
    Bench(laboratory::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Demo(options) => laboratory::run("demo", &options),
        Command::Start(options) => start::run(&options),
        Command::Status(options) => status::run(&options),
        Command::Trace(options) => trace::run(&options),
        Command::Kill(options) => failures::kill(&options),
        Command::Restart(options) => failures::restart(&options),
        Command::Repair(options) => failures::repair(&options),
        Command::Move(options) => moving::run(&options),
        Command::Method(options) => method::run(&options),
        Command::Plan(options) => plan::run(&options),
        Command::Quel(options) => quel::run(&options),
        Command::Snapshot(options) => snapshot::run(&options),
        Command::Restore(options) => snapshot::restore(&options),
        Command::Rollback(options) => rollback::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Site(options) => server::site(&options),
        Command::Oracle(options) => server::oracle(&options),
        Command::Host(options) => server::host(&options),
        Command::Server(options) => server::server(&options),
        Command::Memory(options) => memory::run(&options),
        Command::Config(options) => config::run(&options),
        Command::Keys(options) => keys::run(&options),
        Command::Sim(options) => simulate::run(options),
        Command::Bench(options) => laboratory::run("bench", &options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("raid: {error}");
        ExitCode::FAILURE
    })
}
