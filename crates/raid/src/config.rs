//! `raid config`: every key of the configuration files, explained.

use clap::Args;
use std::io::Write;
use std::process::ExitCode;

/// Explain every key of the configuration files.
///
/// Prints a documented configuration of a site and one of an oracle, as `raid site` and `raid oracle` read them: the way to run sites on
/// several machines. `raid keys` makes the keys with which they encrypt. Start the oracle, then the sites, in any order.
#[derive(Args)]
pub struct ConfigArguments {}

/// Prints them.
pub fn run(_: &ConfigArguments) -> Result<ExitCode, String> {
    // A reader who has seen enough is no error.
    let _ = std::io::stdout().write_all(site::config::EXPLAINED.as_bytes());
    Ok(ExitCode::SUCCESS)
}
