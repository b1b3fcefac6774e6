//! `cargo run --release -p compare -- postgres`: Raid beside PostgreSQL on the same machine, in the same run, under the same client.
//!
//! Invariants: the contenders run interleaved, so that a machine that gets slower hurts all of them; every figure stands beside
//! the disk's latency at that time; and every process that was started is ended, by its process id, however the program ends.
//! Both systems run with three copies: PostgreSQL as a primary that waits for two synchronous standbys, Raid as three sites.
//! The client is stock pgbench over TCP in both cases. Reading order: [`comparison`] (the plan), [`postgres`] and [`raid`] (the
//! contenders), [`pgbench`] (the client), [`report`] (the figures), [`machine`], [`scheduling`] and [`process`].

mod comparison;
mod error;
mod limits;
mod machine;
mod pgbench;
mod postgres;
mod process;
mod raid;
mod report;
mod scheduling;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures Raid beside other systems.
#[derive(Parser)]
#[command(version)]
struct CommandLine {
    #[command(subcommand)]
    rival: Rival,
}

#[derive(Subcommand)]
enum Rival {
    /// PostgreSQL with two synchronous standbys, with `synchronous_commit` on and remote_write, under stock pgbench
    Postgres(Options),
}

/// What to measure and for how long.
#[derive(Args, Clone, Debug)]
struct Options {
    /// Rounds; in each, every load runs once on every contender
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of one run
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Scale of pgbench's tables: 100,000 accounts each
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    scale: u32,
    /// Measure one contender alone
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Folder below which both systems keep their data, and whose disk is measured [default: the system's temporary folder]
    #[arg(long)]
    data: Option<PathBuf>,
    /// First of the six TCP ports used
    #[arg(long, default_value_t = 25_430, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: u16,
    /// Also write everything to FILE: JSON if its name ends in .json, Markdown otherwise
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    Postgres,
    Raid,
}

fn main() -> ExitCode {
    let Rival::Postgres(options) = CommandLine::parse().rival;
    match comparison::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}
