//! Stock programs over the extension: `sqlite3` and Python. Where one of them is missing, its tests say so and do nothing.

mod crashes;
mod journals;
mod openings;
mod processes;

use raid_sqlite::stock::{self, MemoryServerProcess, SERVE};
use std::process::Command;

/// The child: a memory server. Without its words in the environment it has nothing to do.
#[test]
fn child_serves_memory() {
    if let Ok(words) = std::env::var(SERVE) {
        stock::serve(&words);
    }
}

fn child() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child_serves_memory", "--nocapture"]);
    command
}

/// Two memory servers, which end with this value.
fn servers() -> Vec<MemoryServerProcess> {
    MemoryServerProcess::some(child, 2)
}

/// Says that a test does nothing because something is not installed.
fn missing(what: &str) {
    eprintln!("this test does nothing: there is no {what} here");
}
