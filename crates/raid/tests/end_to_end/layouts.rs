//! Servers of a site in processes of their own: clients see no difference, and a process that is killed, or a server that is moved, costs no
//! transaction. `RAID_TEST_LAYOUT=separate` (or `two-process`) runs all other tests in that layout, too.

use crate::harness::{World, eventually, raid, runs, succeeds};
use crate::postgres_programs::psql_finds_one_database;
use crate::schema_changes::what_one_site_makes;
use local_cluster::process::ProcessName;
use local_cluster::running::is_up;
use rustix::process::{Pid, Signal, kill_process};
use site::layout::{Layout, names};
use site::status::ServerStatus;
use std::process::Command;

/// A server of a site, as its status has it.
pub fn server(world: &World, site: u16, name: &str) -> ServerStatus {
    let status = world.running.status(site).expect("a status");
    status.servers.into_iter().find(|server| server.server == name).expect("every site has every server")
}

/// A client must not notice the layout; and an operator who ends a cluster must find no process left.
#[test]
fn clients_see_no_difference() {
    for (layout, processes) in [(Layout::TwoProcess, 2), (Layout::Separate, 7)] {
        let mut world = World::start_in(layout);
        let all = world.pids(&[1]);
        // The site's own process is not the process of any server when each has its own.
        let own = usize::from(layout == Layout::Separate);
        assert_eq!(all.len() + own, processes, "{layout}");
        let shown = world.shown_status();
        assert!(shown.contains(layout.name()), "an operator must see the layout:\n{shown}");
        psql_finds_one_database(&world);
        what_one_site_makes(&world, 9);
        let crew = world.load(6);
        world.wait_for_commits(&crew, 200);
        assert!(server(&world, 1, "action-driver").calls > 200, "{layout}: the action driver was not called");
        world.audit(crew);
        let all = world.pids(&[1, 2, 3]);
        assert!(all.iter().all(runs));
        assert_eq!(world.stop(), Vec::<String>::new(), "{layout}");
        assert_eq!(all.iter().filter(|pid| runs(pid)).count(), 0, "{layout}: processes are left");
    }
}

/// The death of any one process of a site must cost no acknowledged transaction; the site must come back by itself, with that server anew.
#[test]
fn a_killed_server_process_loses_nothing() {
    let mut world = World::start_in(Layout::Separate);
    let crew = world.load(6);
    for name in &names() {
        let before = server(&world, 2, name).pid;
        let incarnation = world.running.status(2).expect("a status").incarnation;
        let pid = Pid::from_raw(before as i32).expect("a process");
        kill_process(pid, Signal::KILL).expect("it runs");
        world.wait(&format!("site 2 to be back with another {name}"), |statuses| {
            statuses.get(&2).is_some_and(|status| {
                let anew = status.servers.iter().any(|server| server.server == *name && server.pid != before);
                is_up(status) && anew && status.incarnation > incarnation
            })
        });
        world.wait_until_repaired();
        world.wait_for_commits(&crew, 50);
    }
    world.audit(crew);
}

/// When the site's own process dies, its servers' processes must not stay behind: they would hold the store and the clients' port.
#[test]
fn a_killed_site_leaves_no_process_behind() {
    for layout in [Layout::TwoProcess, Layout::Separate] {
        let mut world = World::start_in(layout);
        let crew = world.load(6);
        let all = world.pids(&[2]);
        world.kill(2);
        eventually("its servers' processes to end", || !all.iter().any(runs));
        world.wait_until_without(&[2]);
        world.wait_for_commits(&crew, 50);
        world.start_again(ProcessName::Site(2));
        world.wait_until_repaired();
        world.audit(crew);
    }
}

/// A server that is moved under load must take everything along: no transaction may be lost, doubled or refused for it.
#[test]
fn servers_move_under_load() {
    let mut world = World::start_in(Layout::Merged);
    let crew = world.load(6);
    let place = |world: &World, name: &str| server(world, 1, name).process;
    for name in &names()[1..] {
        for to in [name, "access-manager", "site"] {
            if place(&world, name) == to {
                continue;
            }
            // A move that took longer than a lease has cost the site its life: it has no servers for a moment.
            world.wait_until_repaired();
            let mut command = Command::new(raid());
            command.args(["move", name, "--site", "1", "--to", to, "--data"]).arg(world.running.cluster().folder());
            let said = succeeds(&mut command);
            assert!(said.contains("stood still for"), "{said}");
            println!("{}", said.trim());
            assert_eq!(place(&world, name), to);
            world.wait_for_commits(&crew, 60);
        }
    }
    let own = world.pids(&[1]);
    assert_eq!(own.len(), 1, "all servers are back in the site's process");
    world.audit(crew);
    let mut refused = Command::new(raid());
    refused.args(["move", "user-interface", "--site", "1", "--to", "site", "--data"]);
    let output = refused.arg(world.running.cluster().folder()).output().expect("raid runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("clients' connections"), "{said}");
}

/// A service manager that tells all processes of a site to end must get an orderly end: the servers' processes wait for the site's, which
/// must not take them for lost.
#[test]
fn a_signal_to_all_processes_is_an_orderly_end() {
    let world = World::start_in(Layout::Separate);
    let all = world.pids(&[1, 2, 3]);
    for pid in &all {
        kill_process(Pid::from_raw(*pid as i32).expect("a process"), Signal::TERM).expect("it runs");
    }
    // The servers have had the signal, and answer what the site asks them all the same.
    world.connect(1).batch_execute("CREATE TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (1)").expect("it serves");
    assert_eq!(world.pids(&[1, 2, 3]), all, "a process has ended by itself");
    assert_eq!(world.stop(), Vec::<String>::new());
    assert_eq!(all.iter().filter(|pid| runs(pid)).count(), 0, "processes are left");
}

/// A site whose access manager was moved to the clients' connections must come back from a new life in which no process of it has ended: the
/// store must not be locked by the life before.
#[test]
fn a_new_life_gets_the_store_back_from_the_clients_process() {
    let mut world = World::start_in(Layout::TwoProcess);
    let crew = world.load(6);
    let mut command = Command::new(raid());
    command.args(["move", "access-manager", "--site", "2", "--to", "user-interface", "--data"]);
    succeeds(command.arg(world.running.cluster().folder()));
    assert_eq!(server(&world, 2, "access-manager").process, "user-interface");
    let own = world.running.status(2).expect("a status");
    world.running.signal(ProcessName::Site(2), Signal::STOP);
    world.wait_until_without(&[2]);
    world.running.signal(ProcessName::Site(2), Signal::CONT);
    world.wait("site 2 to be back in another life", |statuses| {
        statuses.get(&2).is_some_and(|status| is_up(status) && status.incarnation > own.incarnation)
    });
    world.wait_until_repaired();
    assert_eq!(server(&world, 2, "access-manager").process, "user-interface", "the site's process has ended");
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
    assert_eq!(world.stop(), Vec::<String>::new());
}
