//! `raid-lab demo`, which `raid demo` calls: a cluster under load loses a site and takes it back.

use crate::experiment;
use clap::Args;
use laboratory::demo::{self, Outcome};
use local_cluster::supervisor::{end, print_psql};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

const EXAMPLES: &str = "\
Examples:
  raid demo                     a minute; then try psql on the three sites; Ctrl-C ends it
  raid demo --exit              for scripts: ends after the report
  raid demo --seconds 60 --scale 1 --clients 32

Exit status: 0 when nothing was lost or doubled and all books balance at every site, 1 otherwise.";

/// Watch a cluster lose a site under load and take it back.
///
/// Starts three sites on this machine, loads pgbench's tables, lets clients book at all three, kills one site with SIGKILL at full load,
/// starts it again, and compares what every client was told with what is in the database, at every site.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// End after the report instead of staying up.
    #[arg(long)]
    exit: bool,
    /// Seconds under load: a third before the kill, a third without the site, a third with it.
    #[arg(long, value_name = "S", default_value_t = 24, value_parser = clap::value_parser!(u64).range(3..=86_400))]
    seconds: u64,
    /// Scale of pgbench's tables: 100,000 accounts each.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(laboratory::limits::SCALE_MAX)))]
    scale: u32,
    /// Clients, spread over the sites.
    #[arg(long, value_name = "N", default_value_t = 12,
          value_parser = clap::value_parser!(u16).range(3..=laboratory::limits::CLIENTS_MAX as i64))]
    clients: u16,
    /// Keep the data here instead of in a folder that vanishes; it must hold no other cluster.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Runs it.
pub fn run(options: &Options) -> Result<ExitCode, String> {
    let chosen = demo::Options { seconds: options.seconds, scale: options.scale, clients: options.clients.into() };
    experiment::run(options.data.as_deref(), |program, folder, stop, screen| {
        let Outcome { running, report } = demo::run(program, folder, chosen, stop, screen)?;
        screen.line("");
        screen.line(&report.to_string());
        let complaints = report.complaints();
        for complaint in &complaints {
            screen.line(&format!("WRONG: {complaint}"));
        }
        if complaints.is_empty() {
            screen.line("All is well: nothing is lost, nothing is doubled, the books balance at every site.");
        }
        if !options.exit {
            screen.line("The cluster stays up. Connect with any of");
            print_psql(&running, screen);
            screen.line("Ctrl-C ends it.");
            while !stop.load(Ordering::SeqCst) {
                std::thread::sleep(crate::limits::LOOK_INTERVAL);
            }
        }
        let ended = end(running, screen);
        Ok(if complaints.is_empty() { ended } else { ExitCode::FAILURE })
    })
}
