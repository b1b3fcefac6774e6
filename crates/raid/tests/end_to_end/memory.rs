//! Sites whose logs memory servers keep: a commit of the last copy waits for their memory, and is there after any accident that leaves it.

use crate::harness::{World, eventually};
use crate::memory_servers::MemoryServers;
use local_cluster::ClusterWish;
use local_cluster::process::ProcessName;
use remote_files::power_loss::lose_unsynced;
use rustix::process::Signal;
use site::config::SiteConfig;
use site::status::Status;
use std::path::Path;

const ONE: ProcessName = ProcessName::Site(1);

/// One site whose log these servers keep.
fn alone(servers: &MemoryServers) -> World {
    World::start_as(ClusterWish { sites: Some(1), memory: Some(servers.addresses()), ..ClusterWish::default() })
}

fn status(world: &World) -> Status {
    world.running.status(1).expect("the site answers")
}

fn wait_for(world: &mut World, durability: &str) {
    world.wait(&format!("commits that are durable by {durability}"), |statuses| {
        statuses.get(&1).is_some_and(|status| status.durability == durability)
    });
}

const BY_MEMORY: &str = "memory, 2 memory servers";

/// What the site has said in its log.
fn said(world: &World) -> String {
    let path = world.running.cluster().folder_of(ONE).join("log.txt");
    std::fs::read_to_string(path).expect("it has a log")
}

/// Loses what no sync of the local disk has covered: the site has ended, and its next start is one of another run of the kernel.
fn lose_power(world: &World, run: u16) {
    lose_unsynced(&world.running.cluster().folder_of(ONE).join("memory-log")).expect("there is a log");
    world.configure(1, |config| SiteConfig { boot: run, ..config });
}

/// A lone site must commit in the memory of servers, lose nothing when it is killed, go on with its disk without them, and go back to them.
#[test]
fn a_lone_site_commits_in_the_memory_of_servers() {
    let mut servers = MemoryServers::start(2);
    let mut world = alone(&servers);
    let crew = world.load(4);
    wait_for(&mut world, BY_MEMORY);
    let before = status(&world);
    world.wait_for_commits(&crew, 300);
    let after = status(&world);
    let commits = after.commits.syncs_before_answer - before.commits.syncs_before_answer;
    let syncs = after.log.syncs - before.log.syncs;
    assert!(commits > 2 * syncs, "{syncs} syncs of the disk for {commits} commits: they have waited for it");
    assert!(world.shown_status().contains("ahead of the disk"), "an operator must see the window");

    world.kill(1);
    world.start_again(ONE);
    world.wait_for_commits(&crew, 100);
    wait_for(&mut world, BY_MEMORY);

    servers.kill();
    wait_for(&mut world, "disk");
    world.wait_for_commits(&crew, 50);
    eventually("the operator to be told", || said(&world).contains("every commit waits for the disk"));
    servers.start_again();
    wait_for(&mut world, BY_MEMORY);
    world.wait_for_commits(&crew, 100);
    world.audit(crew);
}

/// What servers hold and the disk does not must be there after a loss of power, and nothing must be served before they were asked.
#[test]
fn a_loss_of_power_loses_nothing_that_memory_servers_hold() {
    let servers = MemoryServers::start(2);
    let mut world = alone(&servers);
    let crew = world.load(4);
    for run in 1..=3 {
        wait_for(&mut world, BY_MEMORY);
        world.wait_for_commits(&crew, 100);
        world.kill(1);
        lose_power(&world, run);
        if run == 2 {
            servers.signal(Signal::STOP);
            world.start_again(ONE);
            eventually("the site to say what it waits for", || said(&world).contains("waiting for memory servers"));
            assert!(world.running.status(1).is_err(), "without its servers it cannot know what it has acknowledged");
            servers.signal(Signal::CONT);
        } else {
            world.start_again(ONE);
        }
        world.wait_for_commits(&crew, 50);
    }
    world.audit(crew);
}

/// When power and the servers' memory are lost at once, only the operator may give up what was in them, and the site must go on then.
#[test]
fn lost_memory_is_given_up_by_the_operator_alone() {
    let mut servers = MemoryServers::start(2);
    let mut world = alone(&servers);
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (1)").expect("a table");
    wait_for(&mut world, BY_MEMORY);
    world.wait("the disk to have followed", |statuses| statuses[&1].log.window_bytes == 0);
    world.kill(1);
    lose_power(&world, 1);
    servers.kill();
    servers.start_again();
    world.start_again(ONE);
    eventually("the site to say what it waits for", || said(&world).contains("--accept-lost-memory"));
    world.running.kill(ONE);
    world.running.start_with(ONE, &["--accept-lost-memory"]).expect("the process starts");
    wait_for(&mut world, BY_MEMORY);
    let count: i64 = world.connect(1).query_one("SELECT count(*) FROM t", &[]).expect("it serves").get(0);
    assert_eq!(count, 1, "what was on the disk is there");
}

/// The last of three copies must not wait for its disk when memory servers hold its log.
#[test]
fn the_last_copy_commits_in_the_memory_of_servers() {
    let servers = MemoryServers::start(3);
    let mut world = World::start_as(ClusterWish { memory: Some(servers.addresses()), ..ClusterWish::default() });
    let crew = world.load(6);
    assert_eq!(status(&world).durability, "memory, 3 copies", "with all copies nothing is asked of the servers");
    world.kill(2);
    world.kill(3);
    world.wait_until_without(&[2, 3]);
    wait_for(&mut world, BY_MEMORY);
    world.wait_for_commits(&crew, 100);
    // The last copy loses its power: the others may be behind, and must wait for it.
    world.kill(1);
    lose_power(&world, 1);
    world.start_again(ProcessName::Site(2));
    world.start_again(ProcessName::Site(3));
    world.start_again(ONE);
    world.wait_until_repaired();
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}

/// Memory servers can be given to a site that has run without, and taken away again; a copy that waits for the disk is never worth less.
#[test]
fn a_log_is_carried_to_memory_servers_and_back() {
    let servers = MemoryServers::start(2);
    let mut world = World::start_as(ClusterWish { sites: Some(1), ..ClusterWish::default() });
    let crew = world.load(3);
    let folder = world.running.cluster().folder_of(ONE);
    for memory in [servers.addresses(), Vec::new(), servers.addresses()] {
        let is_there = |name: &str| Path::exists(&folder.join(name));
        world.wait_for_commits(&crew, 50);
        world.kill(1);
        let durability = if memory.is_empty() { "disk" } else { BY_MEMORY };
        world.configure(1, |config| SiteConfig { memory: memory.clone(), ..config });
        world.start_again(ONE);
        wait_for(&mut world, durability);
        assert_eq!((is_there("memory-log"), is_there("log")), (!memory.is_empty(), memory.is_empty()));
        world.wait_for_commits(&crew, 50);
    }
    world.audit(crew);
}
