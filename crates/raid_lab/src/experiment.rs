//! What an experiment of the laboratory needs of the command that runs it: the `raid` program, a folder, a flag that Ctrl-C sets, and a screen.
//!
//! Invariant: a folder that nobody named vanishes, whatever becomes of the experiment.

use laboratory::experiment::ExperimentError;
use local_cluster::screen::Screen;
use local_cluster::stop;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Lets `work` have the path of the `raid` program, `data` or a new folder for temporary files, the flag and the screen. Whoever asked for an end meanwhile
/// is told nothing more, by exit status 1.
///
/// # Errors
/// What `work` has met, or that something of this could not be made, in words.
pub fn run(
    data: Option<&Path>,
    work: impl FnOnce(&Path, &Path, &AtomicBool, &mut Screen) -> Result<ExitCode, ExperimentError>,
) -> Result<ExitCode, String> {
    let program =
        raid_beside(&std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?)?;
    let stop = stop::on_signal()?;
    let mut screen = Screen::default();
    let temporary;
    let folder = match data {
        Some(folder) => folder,
        None => {
            temporary = tempfile::Builder::new()
                .prefix("raid-")
                .tempdir()
                .map_err(|error| format!("no folder can be made for the data: {error}; name one with --data"))?;
            temporary.path()
        }
    };
    match work(&program, folder, &stop, &mut screen) {
        Ok(status) => Ok(status),
        Err(error) if error.is_stop() => Ok(ExitCode::FAILURE),
        Err(error) => Err(error.to_string()),
    }
}

/// The `raid` program of the same build, of which clusters are made.
fn raid_beside(own: &Path) -> Result<PathBuf, String> {
    let program = own.with_file_name("raid");
    match program.is_file() {
        true => Ok(program),
        false => Err(format!(
            "there is no {}: build it (cargo build -p raid, with the profile of this program)",
            program.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has built this program alone must be told what is missing, not that a file could not be started.
    #[test]
    fn a_missing_database_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = folder.path().join("raid-lab");
        assert!(raid_beside(&own).expect_err("nothing is there").contains("cargo build -p raid"));
        std::fs::write(folder.path().join("raid"), "").expect("a file");
        assert_eq!(raid_beside(&own), Ok(folder.path().join("raid")));
    }
}
