//! The `raid-lab` program: what measures Raid, and compares it with others. `raid bench` and `raid demo` call it.
//!
//! It is a program of its own so that the database's program has nothing of it: no driver, no other database. Clusters are made of the `raid`
//! program beside it. Invariant: the exit status is 0 only when the command did what its help says; 1 means that it did not, with the reason on
//! standard error; 2 is a wrong command line.

mod bench;
mod demo;
mod experiment;
mod limits;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure Raid, and compare it with other systems.
#[derive(Parser)]
#[command(name = "raid-lab", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Options),
    Bench(bench::Options),
    /// Compare Raid with other systems on this machine
    #[command(subcommand)]
    Compare(rivals::Comparison),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Compare(comparison) => {
            rivals::run(comparison, &["compare", "communication", "--job"]).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("raid-lab: {error}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Two options of one name end the program when it starts.
    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
