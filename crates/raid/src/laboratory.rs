//! `raid bench` and `raid demo`: what `raid-lab` does, a program of its own beside this one.

use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// All that `raid-lab` is to be told.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct LaboratoryArguments {
    /// What to do; `--help` tells more.
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Becomes `raid-lab` with this command of it.
pub fn run(command: &str, options: &LaboratoryArguments) -> Result<ExitCode, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let program = beside(&own, command)?;
    let error = Command::new(&program).arg(command).args(&options.arguments).exec();
    Err(format!("{} cannot be started: {error}", program.display()))
}

/// Where `raid-lab` of the same build is.
fn beside(own: &Path, command: &str) -> Result<PathBuf, String> {
    let program = own.with_file_name("raid-lab");
    if program.is_file() {
        return Ok(program);
    }
    // The folder of a build is called by its profile, but for that of development.
    let folder = own.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let profile = if folder == "debug" { String::new() } else { format!(" --profile {folder}") };
    Err(format!(
        "`raid {command}` is done by the program raid-lab, and there is no {}: build it with `cargo build{profile} -p raid_lab`",
        program.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has the database alone must be told what is missing and how to get it.
    #[test]
    fn a_missing_laboratory_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let release = folder.path().join("release");
        std::fs::create_dir(&release).expect("a folder");
        let told = beside(&release.join("raid"), "bench").expect_err("nothing is there");
        assert!(
            told.contains("`raid bench`") && told.contains("`cargo build --profile release -p raid_lab`"),
            "{told}"
        );
        std::fs::write(release.join("raid-lab"), "").expect("a file");
        assert_eq!(beside(&release.join("raid"), "bench"), Ok(release.join("raid-lab")));
    }
}
