//! `raid console` in a real browser, before the cluster of `raid start`. Without a driver a test says so and passes.

mod live;

use live::LiveCluster;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Has `look` see the console of a new cluster, and ends both.
fn with_console(look: impl FnOnce(&str)) {
    let program = Path::new(env!("CARGO_BIN_EXE_raid"));
    let cluster = LiveCluster::start(program);
    let mut command = Command::new(program);
    command.args(["console", "--listen", "127.0.0.1:0", "--data"]).arg(cluster.folder.path());
    let mut console = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("raid console starts");
    let mut lines = BufReader::new(console.stdout.take().expect("it is piped")).lines();
    let line = lines.next().and_then(Result::ok).unwrap_or_default();
    let seen = line
        .strip_prefix("RaidTool: ")
        .map(|link| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(link))));
    let ended = Command::new("kill").arg(console.id().to_string()).status().and_then(|_| console.wait());
    match seen {
        Some(Ok(())) => assert!(ended.is_ok_and(|status| status.success()), "the console ends well"),
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => panic!("raid console says: {line}"),
    }
}

/// See [`live::shows_a_death_and_a_return`].
#[test]
fn shows_a_death_and_a_return() {
    with_console(live::shows_a_death_and_a_return);
}

/// See [`live::reconfigures`].
#[test]
fn reconfigures() {
    with_console(live::reconfigures);
}

/// See [`live::shows_who_fights_as_text`].
#[test]
fn shows_who_fights_as_text() {
    with_console(live::shows_who_fights_as_text);
}

/// See [`live::every_control_is_reached_by_tab`].
#[test]
fn every_control_is_reached_by_tab() {
    with_console(live::every_control_is_reached_by_tab);
}
