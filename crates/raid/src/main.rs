//! The `raid` program: commands, nothing else.
//!
//! Every command is one file: its options, its help, and calls into the crates that do the work. Invariant: the exit status is 0 only when
//! the command did what its help says; 1 means that it did not, with the reason and what to do on standard error; 2 is a wrong command line.

mod archive;
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
mod push;
mod quel;
mod rollback;
mod server;
mod simulate;
mod snapshot;
mod start;
mod status;
mod tool;
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
    command: RaidCommand,
}

#[derive(Subcommand)]
enum RaidCommand {
    /// Watch a cluster lose a site under load and take it back (done by raid-lab)
    Demo(laboratory::LaboratoryArguments),
    Start(start::StartArguments),
    Status(status::StatusArguments),
    Console(tool::ConsoleArguments),
    Trace(trace::TraceArguments),
    /// Kill a site of a running cluster with SIGKILL, to see what happens
    ///
    /// Nothing is flushed and nobody is told. The site stays down until `raid restart`.
    Kill(failures::FailuresArguments),
    /// Start a killed site of a running cluster again
    ///
    /// A process that still runs is killed first. Returns when the site serves, which is before it is repaired.
    Restart(failures::FailuresArguments),
    /// Set a site's damaged copy aside and take a new one from the other sites
    ///
    /// For a site whose log or store is damaged, or lost. Nothing is deleted: the old copy stays in a folder of its own below the site's.
    Repair(failures::FailuresArguments),
    Move(moving::MoveArguments),
    Method(method::MethodArguments),
    Plan(plan::PlanOptions),
    Push(push::PushArguments),
    Quel(quel::QuelOptions),
    Snapshot(snapshot::SnapshotArguments),
    Archive(archive::ArchiveArguments),
    Restore(snapshot::RestoreOptions),
    Rollback(rollback::RollbackOptions),
    Export(export::ExportOptions),
    Site(server::SiteOptions),
    Oracle(server::OracleOptions),
    Host(server::HostOptions),
    #[command(hide = true)]
    Server(server::ServerOptions),
    Memory(memory::MemoryArguments),
    Config(config::ConfigArguments),
    Keys(keys::KeysArguments),
    Sim(simulate::SimulateArguments),
    /// Measure Raid on this machine (done by raid-lab)
    Bench(laboratory::LaboratoryArguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        RaidCommand::Demo(options) => laboratory::run("demo", &options),
        RaidCommand::Start(options) => start::run(&options),
        RaidCommand::Status(options) => status::run(&options),
        RaidCommand::Console(options) => tool::run(&options),
        RaidCommand::Trace(options) => trace::run(&options),
        RaidCommand::Kill(options) => failures::kill(&options),
        RaidCommand::Restart(options) => failures::restart(&options),
        RaidCommand::Repair(options) => failures::repair(&options),
        RaidCommand::Move(options) => moving::run(&options),
        RaidCommand::Method(options) => method::run(&options),
        RaidCommand::Plan(options) => plan::run(&options),
        RaidCommand::Push(options) => push::run(&options),
        RaidCommand::Quel(options) => quel::run(&options),
        RaidCommand::Snapshot(options) => snapshot::run(&options),
        RaidCommand::Archive(options) => archive::run(&options),
        RaidCommand::Restore(options) => snapshot::restore(&options),
        RaidCommand::Rollback(options) => rollback::run(&options),
        RaidCommand::Export(options) => export::run(&options),
        RaidCommand::Site(options) => server::site(&options),
        RaidCommand::Oracle(options) => server::oracle(&options),
        RaidCommand::Host(options) => server::host(&options),
        RaidCommand::Server(options) => server::server(&options),
        RaidCommand::Memory(options) => memory::run(&options),
        RaidCommand::Config(options) => config::run(&options),
        RaidCommand::Keys(options) => keys::run(&options),
        RaidCommand::Sim(options) => simulate::run(options),
        RaidCommand::Bench(options) => laboratory::run("bench", &options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("raid: {error}");
        ExitCode::FAILURE
    })
}
