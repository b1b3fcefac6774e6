//! The papers' experiments on communication, each with the papers' figure beside ours, and this system's calls beside what else joins two
//! processes of a host.
//!
//! An experiment measures between processes that the harness (`laboratory_harness`) starts: this program again, with a [`job`]. Invariants: what is compared runs in
//! turns within one run, at the same places, beside the same neighbour; a table tells the machine, the load that others made meanwhile, and how
//! far its figures spread; a process that is started never outlives the one that started it. It knows `raidcomm` and nothing else of Raid.
//!
//! In reading order:
//!
//! * [`experiments`]: the list, one file each; [`mod@experiment`]: what they have in common; [`version_one`] is what one of them measures;
//! * [`methods`]: the ways for a call, one file each; [`method`]: what they have in common, a server and a caller;
//! * [`laboratory`]: rounds of calls by any method at any place; [`job`], [`worker`]: what a process is to do, and how it does it;
//! * `operating_system`: the system calls that no crate offers safely;
//! * [`limits`]: every bound.

pub mod experiment;
pub mod experiments;
pub mod job;
pub mod laboratory;
pub mod limits;
pub mod method;
pub mod methods;
mod operating_system;
pub mod version_one;
pub mod worker;

use self::laboratory::Laboratory;
use experiment::Experiment;
use laboratory_harness::process::Program;
use laboratory_harness::report::Report;
use laboratory_harness::{Failure, Outcome};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// One experiment; all of them if none is named.
    pub only: Option<String>,
    /// Calls at this place only.
    pub place: Option<String>,
    /// Rounds, in each of which everything that is compared has its turn.
    pub rounds: u32,
    /// Where to put the figures as JSON and the plots.
    pub output: Option<PathBuf>,
}

/// Carries experiments out; prints a table as soon as it is there.
///
/// # Errors
/// There is no experiment of that name, the operating system refuses, a process ends early, or `stop` was set.
pub fn run(
    options: &Options,
    experiments: &[&dyn Experiment],
    program: Program,
    stop: Arc<AtomicBool>,
    mut print: impl FnMut(&str),
) -> Outcome<()> {
    let chosen: Vec<_> = experiments
        .iter()
        .filter(|experiment| options.only.as_ref().is_none_or(|only| only == experiment.name()))
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = experiments.iter().map(|experiment| experiment.name()).collect();
        return Err(Failure::Unknown { name: options.only.clone().unwrap_or_default(), names: names.join(", ") });
    }
    let laboratory = Laboratory::new(program, options.rounds, options.place.clone(), stop)?;
    let mut report = Report::new("communication", options.rounds);
    print(&report.machine().to_string());
    for experiment in chosen {
        print(&format!("\nmeasuring {}: {}", experiment.name(), experiment.about()));
        report.measure(experiment.name(), || experiment.run(&laboratory), &mut print)?;
    }
    report.deliver(options.output.as_deref(), print)
}
