//! The experiments of the paper on network memory, each with the paper's figures beside ours.
//!
//! S. Ioannidis, E. Markatos, J. Sevaslidou, "On using network memory to improve the performance of transaction-based systems" (FORTH, TR 190, 1997),
//! section 3: recoverable memory whose log is on disk (RVM) beside the same with its log in the memory of servers (RRVM), and OO7 on storage managers.
//! Ours are `recoverable_memory`, alone and over `remote_recoverable_log`; SQLite with its extension, and redb with `remote_redb`.
//!
//! Invariants: what is compared runs in turns within one run; every table tells how long a sync of the disk took meanwhile, how many processors there
//! were, and where the servers ran; where the paper's text has no number, none stands beside ours; a process that is started never outlives the
//! one that started it. Harness, tables and plots are those of `laboratory_harness`. It must not know how any of what it measures works.
//!
//! In reading order:
//!
//! * [`experiments`]: the list, one file each; [`scale`] is how much of them is run;
//! * [`system`], [`disk`]: what is compared, and models of slower disks;
//! * [`laboratory`]: tables that are filled in turns;
//! * [`hosts`], [`processes`], [`job`]: where clients and servers run, how they are told what to do, and what they are started for;
//! * [`client`], [`device`]: a client with its load, and its log on the servers;
//! * [`oo7`]: the benchmark of figure 12;
//! * [`limits`]: every bound.

pub mod client;
pub mod device;
pub mod disk;
pub mod experiments;
pub mod hosts;
pub mod job;
pub mod laboratory;
pub mod limits;
pub mod oo7;
pub mod processes;
pub mod scale;
pub mod system;

pub use laboratory_harness::process::Program;
pub use laboratory_harness::{Failure, Outcome};

use experiments::{ALL, Experiment};
use laboratory::Laboratory;
use laboratory_harness::report::Report;
use laboratory_harness::rounds::Rounds;
use scale::Scale;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of experiments; all of them if none is named.
    pub only: Vec<String>,
    /// How much of each.
    pub scale: Scale,
    /// Rounds, in each of which everything that is compared has its turn.
    pub rounds: u32,
    /// Where files are, on the disk that is measured; the folder for temporary files if none is named.
    pub data: Option<PathBuf>,
    /// SQLite's extension; where it is built if it is not named.
    pub sqlite_extension: Option<PathBuf>,
    /// Where to put the figures as JSON and the plots.
    pub output: Option<PathBuf>,
}

/// How the extension's file is called.
const SQLITE_EXTENSION: &str = "libraid_sqlite.so";

/// SQLite's extension beside a program, or one folder above it, where examples and tests find it.
fn beside(program: &Path) -> PathBuf {
    let folders = program.ancestors().skip(1).take(2);
    let places: Vec<_> = folders
        .flat_map(|folder| [folder.join(SQLITE_EXTENSION), folder.join("deps").join(SQLITE_EXTENSION)])
        .collect();
    places.iter().find(|place| place.is_file()).or(places.first()).cloned().unwrap_or_default()
}

/// The experiments of these names, in the order of the list; all of them if there are none.
fn chosen(names: &[String]) -> Outcome<Vec<&'static dyn Experiment>> {
    let unknown = names.iter().find(|name| ALL.iter().all(|experiment| experiment.name() != *name));
    if let Some(name) = unknown {
        let names: Vec<_> = ALL.iter().map(|experiment| experiment.name()).collect();
        return Err(Failure::Unknown { name: name.clone(), names: names.join(", ") });
    }
    let is_chosen =
        |experiment: &&dyn Experiment| names.is_empty() || names.iter().any(|name| name == experiment.name());
    Ok(ALL.into_iter().filter(is_chosen).collect())
}

/// Carries experiments out; prints a table as soon as it is there. What is done meanwhile goes to standard error.
///
/// # Errors
/// There is no experiment of a name, the operating system refuses, a process ends early, or `stop` was set.
pub fn run(options: &Options, program: Program, stop: Arc<AtomicBool>, mut print: impl FnMut(&str)) -> Outcome<()> {
    let chosen = chosen(&options.only)?;
    let sqlite_extension = options.sqlite_extension.clone().unwrap_or_else(|| beside(&program.path));
    let laboratory = Laboratory {
        program,
        rounds: Rounds::new(options.rounds, stop),
        scale: options.scale,
        folder: options.data.clone().unwrap_or_else(std::env::temp_dir),
        sqlite_extension,
    };
    let mut report = Report::new("memory", options.rounds);
    print(&format!("{}; files in {}", report.machine(), laboratory.folder.display()));
    for experiment in chosen {
        print(&format!("\nmeasuring {}: {}", experiment.name(), experiment.about()));
        report.measure(experiment.name(), || experiment.run(&laboratory), &mut print)?;
    }
    report.deliver(options.output.as_deref(), print)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a mistyped figure is silently left out, or figures come in another order than the paper's.
    #[test]
    fn figures_are_found_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            chosen(&names).map(|found| found.iter().map(|experiment| experiment.name()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["figure9", "figure1"]).expect("they are there"), ["figure1", "figure9"]);
        assert_eq!(names(&[]).expect("all").len(), 12);
        assert!(names(&["figure1", "figure13"]).is_err_and(|failure| failure.to_string().contains("`figure13`")));
    }
}
