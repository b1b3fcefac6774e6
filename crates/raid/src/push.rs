//! `raid push`: looks at protocols that users write for the kernel.
//!
//! It loads nothing into the kernel. Invariant: a program that is told to be safe is one that `push` has verified.

use ::push::{command, shipped};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
FILE is a file, or the name of a program that `raid push list` tells. docs/push.md has the language.

Examples:
  raid push list
  raid push check protocol.push            whether it is safe, and what a run costs at most
  raid push show multicast                 its bytecode, and what the kernel runs
  raid push try collect --packet 020000000002... --row peers=7,1 --row round=1,1,0
  raid push try multicast --hook send --packet 020000000002...";

/// Look at protocols in the kernel's language, Push
///
/// A program is safe if it touches no foreign memory, ends in bounded time, and returns once. Nothing is loaded into the kernel.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct PushArguments {
    #[command(subcommand)]
    command: PushCommand,
}

#[derive(Subcommand)]
enum PushCommand {
    /// List the programs that are there
    List,
    /// Tell whether a program is safe, and what a run costs at most
    Check {
        /// The program.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Show a program's bytecode, and the kernel's instructions
    Show {
        /// The program.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Run a program on a packet, here, and tell what it does
    Try {
        /// The program.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The frame in hexadecimal digits, from Ethernet's header on.
        #[arg(long, value_name = "HEX")]
        packet: String,
        /// Which hook: send or receive. [default: the program's only one]
        #[arg(long, value_name = "HOOK")]
        hook: Option<String>,
        /// A row of a table, in the order of its fields; may come several times.
        #[arg(long, value_name = "TABLE=N,N,...")]
        row: Vec<String>,
    },
}

/// Does what is asked for.
pub fn run(options: &PushArguments) -> Result<ExitCode, String> {
    let told = match &options.command {
        PushCommand::List => command::list(),
        PushCommand::Check { file } => command::check(&text(file)?)?,
        PushCommand::Show { file } => command::show(&text(file)?)?,
        PushCommand::Try { file, packet, hook, row } => {
            command::try_packet(&text(file)?, packet, hook.as_deref(), row)?
        }
    };
    print!("{told}");
    Ok(ExitCode::SUCCESS)
}

/// A file's text, or that of a program that is there.
fn text(path: &Path) -> Result<String, String> {
    match (std::fs::read_to_string(path), path.to_str().and_then(shipped::find)) {
        (Ok(text), _) => Ok(text),
        (Err(_), Some(program)) => Ok(program.text.to_owned()),
        (Err(error), None) => Err(format!("{}: {error}", path.display())),
    }
}
