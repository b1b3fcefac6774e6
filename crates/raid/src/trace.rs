//! `raid trace`: what became of each message.

use crate::cluster_folder::ClusterFolder;
use clap::Args;
use local_cluster::trace::{Trace, files_below};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
A site traces its messages if RAID_TRACE is in its environment: `all`, or kinds of messages with commas between them. Each life of a site
writes a file of its own, life-N.trace, in the folder of its data, up to 2 GiB. Times are of the machine's boot clock: those of sites on one
machine can be compared.

Examples:
  RAID_TRACE=all raid start                      and a load, as with pgbench
  raid trace                                     figures for each committed transaction
  raid trace --transaction 1.1.4711              the course of one: home site, life, number
  raid trace raid-data/site-1/life-2.trace       of one site only";

/// Show how many messages a transaction costs, and the time of each server
///
/// Reads the traces that sites have written. The user interface and the query processor are not traced.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct TraceArguments {
    #[command(flatten)]
    folder: ClusterFolder,
    /// The messages of one transaction, in the order of time, instead of figures.
    #[arg(long, value_name = "SITE.LIFE.NUMBER")]
    transaction: Option<String>,
    /// Traces, instead of all that are in the folder.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Reads them and prints.
pub fn run(options: &TraceArguments) -> Result<ExitCode, String> {
    let text = |error: local_cluster::trace::TraceFileError| error.to_string();
    let files = match options.files.is_empty() {
        true => files_below(&options.folder.data).map_err(text)?,
        false => options.files.clone(),
    };
    let trace = Trace::read(&files).map_err(text)?;
    let text = match &options.transaction {
        Some(transaction) => trace.course(transaction),
        None => {
            let course =
                |transaction| format!("\n`raid trace --transaction {transaction}` shows the course of one of them.\n");
            trace.summary() + &trace.some_transaction().map(course).unwrap_or_default()
        }
    };
    // A reader who has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}
