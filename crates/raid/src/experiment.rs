//! What an experiment of the laboratory needs of the command that runs it: this program, a folder, a flag that Ctrl-C sets, and a screen.
//!
//! Invariant: a folder that nobody named vanishes, whatever becomes of the experiment.

use crate::stop;
use laboratory::experiment::ExperimentError;
use local_cluster::screen::Screen;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Lets `work` have the path of this program, `data` or a new folder for temporary files, the flag and the screen. Whoever asked for an end meanwhile
/// is told nothing more, by exit status 1.
///
/// # Errors
/// What `work` has met, or that something of this could not be made, in words.
pub fn run(
    data: Option<&Path>,
    work: impl FnOnce(&Path, &Path, &AtomicBool, &mut Screen) -> Result<ExitCode, ExperimentError>,
) -> Result<ExitCode, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
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
