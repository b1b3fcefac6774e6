//! The pages in a real browser, before the cluster of the `raid` program that `RAID_PROGRAM` names. Without it nothing is tested here: `raid`'s own tests do the same.

#[path = "live/mod.rs"]
mod live;

use live::LiveCluster;
use raid_tool::ToolOptions;
use raid_tool::cluster_file::ClusterFile;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Has `look` see a console, in this process, of a new cluster.
fn with_console(look: impl FnOnce(&str)) {
    let Some(program) = std::env::var_os("RAID_PROGRAM").map(PathBuf::from) else {
        println!("RAID_PROGRAM names no program: nothing is tested here.");
        return;
    };
    let cluster = LiveCluster::start(&program);
    let options = ToolOptions {
        cluster: ClusterFile::of_folder(cluster.folder.path()).expect("a cluster"),
        listen: "127.0.0.1:0".parse().expect("an address"),
        read_only: false,
        program,
        user: "postgres".to_owned(),
    };
    let stop = Arc::<AtomicBool>::default();
    let (stopped, (told, ready)) = (stop.clone(), mpsc::channel());
    let console = std::thread::spawn(move || {
        raid_tool::run(options, &stopped, |address| told.send(address.link.clone()).expect("the test waits"))
    });
    let link = ready.recv_timeout(live::browser::PATIENCE).expect("the console starts");
    look(&link);
    stop.store(true, Ordering::SeqCst);
    console.join().expect("no panic").expect("it ends well");
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
