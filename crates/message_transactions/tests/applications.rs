//! The applications among the examples, which check themselves: what they are for would not work if one failed.

use std::process::Command;

/// Runs an example as a user would, by every way between its hosts.
fn run_by_each_way(name: &str) {
    for way in ["shared-memory", "udp", "tcp", "tls"] {
        run(name, &[], Some(way));
    }
}

/// Runs an example as a user would. Cargo has built it beside this test.
fn run(name: &str, arguments: &[&str], way: Option<&str>) {
    let test = std::env::current_exe().expect("this program");
    let folder = test.parent().and_then(|folder| folder.parent()).expect("the folder of the build");
    let mut command = Command::new(folder.join("examples").join(name));
    command.args(arguments).envs(way.map(|way| ("RAIDCOMM_WAY", way)));
    let output = command.output().expect("cargo builds examples before it runs tests");
    assert!(output.status.success(), "{name} by {way:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn data_is_put_and_got() {
    run_by_each_way("put_get_data");
}

#[test]
fn pipes_keep_order_and_end() {
    run_by_each_way("pipes");
}

#[test]
fn the_least_busy_host_runs_programs() {
    run_by_each_way("location");
}

#[test]
fn a_tree_is_searched_in_parallel_as_alone() {
    run_by_each_way("alpha_beta");
}

#[test]
fn files_are_read_by_pages_and_programs_loaded() {
    run_by_each_way("page_server");
}

#[test]
fn players_who_lose_packets_come_to_see_the_same_picture() {
    run("amaze", &["check"], None);
}
