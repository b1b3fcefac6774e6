//! Comparisons with other systems: `raid-lab compare`.
//!
//! * [`databases`]: Raid beside other databases, as programs only: speed, answers, errors;
//! * `communication`: this system's calls beside those of rival libraries, in builds with the feature of that name.

#[cfg(feature = "communication")]
pub mod communication;
pub mod databases;

use clap::Subcommand;

/// What to compare, and with whom.
#[expect(missing_docs, reason = "options say at their own types what they are")]
#[derive(Subcommand)]
pub enum Comparison {
    #[command(flatten)]
    Databases(databases::Command),
    /// Calls over a line of shared memory beside those of iceoryx2, gRPC, ZeroMQ and QUIC
    #[cfg(feature = "communication")]
    Communication(communication::Options),
}

/// Carries a comparison out. `arguments` are those with which this program gets to `communication`'s jobs.
///
/// # Errors
/// What it has met, in words.
#[cfg_attr(
    not(feature = "communication"),
    expect(unused_variables, reason = "only that feature starts this program again")
)]
pub fn run(comparison: Comparison, arguments: &[&str]) -> Result<(), String> {
    match comparison {
        Comparison::Databases(command) => databases::obey(command).map_err(|error| error.to_string()),
        #[cfg(feature = "communication")]
        Comparison::Communication(options) => {
            communication::run(&options, arguments).map_err(|failure| failure.to_string())
        }
    }
}
