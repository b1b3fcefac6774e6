//! The experiments on clusters, as a person starts them: they check their own answers. One runs at a time, so that clusters do not take each
//! other's processors. The `raid` program of the same build must be there: `cargo test --workspace` builds it.

use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// For one experiment after the other.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn laboratory() -> Command {
    Command::new(env!("CARGO_BIN_EXE_raid-lab"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `raid bench` is what people know: it must be the same.
#[test]
fn the_database_program_finds_its_laboratory() {
    let raid = std::path::Path::new(env!("CARGO_BIN_EXE_raid-lab")).with_file_name("raid");
    let list = succeeds(Command::new(raid).args(["bench", "comm", "--list"]));
    assert_eq!(list, succeeds(laboratory().args(["bench", "comm", "--list"])));
    assert!(list.contains("round_trips"), "{list}");
}

/// The experiment checks each answer of the site that comes back.
#[test]
fn the_returning_site_is_measured() {
    let _turn = turn();
    let report = succeeds(laboratory().args(["bench", "return", "--scale", "1", "--rounds", "2"]));
    for part in ["round 2 of 2", "1,000 of 100,000 rows changed", "it has read a changed row after"] {
        assert!(report.contains(part), "{part:?} is missing:\n{report}");
    }
}

/// The experiment checks each read and every booking, and the length of leases that was asked for must be the cluster's.
#[test]
fn the_gap_after_a_kill_is_measured() {
    let _turn = turn();
    let report = succeeds(laboratory().args(["bench", "gap", "--kills", "3", "--lease-ms", "300"]));
    for part in [
        "none is lost, none is there twice",
        "3 kills; leases of 300 ms",
        "no write acknowledged for",
        "no read answered for",
    ] {
        assert!(report.contains(part), "{part:?} is missing:\n{report}");
    }
}

/// The experiment finds every lost and doubled booking; the changed rows take part in the books.
#[test]
fn what_a_return_costs_the_others_is_measured() {
    let _turn = turn();
    let arguments = ["bench", "dip", "--scale", "1", "--rounds", "2", "--clients", "2", "--rate", "200"];
    let report = succeeds(laboratory().args(arguments));
    for part in [
        "none is lost, none is there twice",
        "1,000 of 100,000 rows changed while a site was away; 2 clients at the two others, 200 bookings a second at most",
        "while the third came back",
        "dip",
    ] {
        assert!(report.contains(part), "{part:?} is missing:\n{report}");
    }
}

/// A minute is too short for a verdict on memory; on the books it is not.
#[test]
fn a_soak_loses_nothing() {
    let _turn = turn();
    let output = laboratory().args(["bench", "soak", "--minutes", "1"]).output().expect("it runs");
    let report = String::from_utf8_lossy(&output.stdout);
    for part in [
        "with 1 kills",
        "othing is lost, nothing is doubled, all copies are equal",
        "site 3: resident memory",
        "the oracle",
    ] {
        assert!(report.contains(part), "{part:?} is missing:\n{report}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The demonstration checks itself: its exit status is its verdict.
#[test]
fn the_demonstration_ends_well() {
    let _turn = turn();
    let report = succeeds(laboratory().args(["demo", "--exit", "--seconds", "6", "--scale", "1", "--clients", "6"]));
    for part in ["SIGKILL for site 2", "gap: no commit at a surviving site", "All is well"] {
        assert!(report.contains(part), "{part:?} is missing:\n{report}");
    }
}
