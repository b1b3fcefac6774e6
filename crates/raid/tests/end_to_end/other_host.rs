//! Servers of a site on another host: they go there and come back under load, and a host that dies, falls silent or is a stranger costs no
//! transaction.

use crate::harness::{PATIENCE, World, raid, said, succeeds};
use crate::layouts::server;
use crate::networks::OTHER_HOST;
use laboratory::debit_credit::crew::Crew;
use local_cluster::process::ProcessName;
use local_cluster::running::is_up;
use rustix::process::{Pid, Signal, kill_process};
use site::SiteConfig;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

const ONE: ProcessName = ProcessName::Site(1);
/// All servers that can be there.
const MOVABLE: [&str; 4] =
    ["action-driver", "atomicity-controller", "concurrency-controller", "replication-controller"];

/// `raid host` for site 1, which is ended when the test ends, however that comes.
struct OtherHost {
    child: Child,
    /// Its end is another order to end, which waiting for the process would give.
    _stdin: ChildStdin,
    address: SocketAddr,
}

impl OtherHost {
    /// On another host where there are networks, and on this one otherwise.
    fn start(world: &World, in_networks: bool) -> OtherHost {
        OtherHost::start_with(world, &world.running.cluster().config_of(ONE), in_networks)
    }

    fn start_with(world: &World, config: &Path, in_networks: bool) -> OtherHost {
        let mut command = Command::new(raid());
        let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
        if in_networks {
            listen = SocketAddr::new(world.networks().address(OTHER_HOST), 7600);
            command = Command::new("ip");
            command.args(["netns", "exec", &world.networks().names()[&OTHER_HOST]]).arg(raid());
        }
        command.args(["host", "--watch-stdin", "--listen", &listen.to_string(), "--config"]).arg(config);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is a pipe");
        BufReader::new(output).read_line(&mut line).expect("it says where it waits");
        let address = line.strip_prefix("Waits at ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        let _stdin = child.stdin.take().expect("it is a pipe");
        OtherHost { child, _stdin, address: address.unwrap_or_else(|| panic!("it must say where it waits: {line:?}")) }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

impl Drop for OtherHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `raid move` of a server of site 1.
fn order(world: &World, name: &str, to: &str) -> Command {
    let mut command = Command::new(raid());
    command.args(["move", name, "--site", "1", "--to", to, "--data"]).arg(world.running.cluster().folder());
    command
}

/// Moves them all, with commits after each.
fn move_all(world: &mut World, crew: &Crew, to: &str) {
    for name in MOVABLE {
        // On a busy machine the site may have fallen out, and has no servers for a moment.
        world.wait_until_repaired();
        println!("{}", succeeds(&mut order(world, name, to)).trim());
        assert_eq!(server(world, 1, name).process, to);
        world.wait_for_commits(crew, 60);
    }
}

/// Whether this is a process of the site's own host.
fn is_here(process: &str) -> bool {
    process.parse::<SocketAddr>().is_err()
}

/// Waits until site 1 is up in a later life than `before`, with all its servers on its own host.
fn comes_back(world: &mut World, before: u32) {
    world.wait("site 1 to be back in another life without the other host", |statuses| {
        statuses.get(&1).is_some_and(|status| {
            is_up(status) && status.incarnation > before && status.servers.iter().all(|server| is_here(&server.process))
        })
    });
    world.wait_until_repaired();
}

/// An operator who takes load off a host must lose nothing by it: neither on the way there and back under load, nor when the other host dies,
/// hangs, or cannot be reached any more.
fn there_and_back(mut world: World, in_networks: bool) {
    let crew = world.load(6);
    let mut host = OtherHost::start(&world, in_networks);
    let there = host.address.to_string();
    let life = |world: &World| world.running.status(1).expect("a status").incarnation;
    move_all(&mut world, &crew, &there);
    let shown = world.shown_status();
    assert!(shown.contains(&format!("at {there}")), "an operator must see where servers are:\n{shown}");
    assert!(server(&world, 1, "action-driver").calls > 60, "it was not called");
    move_all(&mut world, &crew, "site");

    let before = life(&world);
    move_all(&mut world, &crew, &there);
    host.signal(Signal::KILL);
    host.child.wait().expect("it has ended");
    comes_back(&mut world, before);
    world.wait_for_commits(&crew, 60);

    host = OtherHost::start(&world, in_networks);
    let (there, before) = (host.address.to_string(), life(&world));
    move_all(&mut world, &crew, &there);
    match in_networks {
        true => world.networks().cut(ONE, OTHER_HOST),
        false => host.signal(Signal::STOP),
    }
    comes_back(&mut world, before);
    world.wait_for_commits(&crew, 60);
    match in_networks {
        true => world.networks().heal(),
        false => host.signal(Signal::CONT),
    }
    move_all(&mut world, &crew, &there);
    let before = life(&world);
    host.signal(Signal::TERM);
    let ended = host.child.wait().expect("it ends");
    assert!(ended.success(), "a signal is an orderly end, not {ended}");
    comes_back(&mut world, before);
    world.audit(crew);
    assert_eq!(world.stop(), Vec::<String>::new());
}

#[test]
fn servers_go_to_another_host_and_back() {
    if let Some(world) = World::start_in_networks() {
        there_and_back(world, true);
    }
}

/// The same between two processes of one host: where there can be no networks, and in clear.
#[test]
fn servers_go_to_a_host_in_clear_and_back() {
    there_and_back(World::start(), false);
}

/// A new life of the site for another reason must find its servers where the operator has put them: the other host still waits.
#[test]
fn a_new_life_has_its_servers_on_the_other_host_again() {
    let mut world = World::start();
    let crew = world.load(6);
    let host = OtherHost::start(&world, false);
    let there = host.address.to_string();
    move_all(&mut world, &crew, &there);
    let before = world.running.status(1).expect("a status").incarnation;
    world.running.signal(ONE, Signal::STOP);
    world.wait_until_without(&[1]);
    world.running.signal(ONE, Signal::CONT);
    world.wait("site 1 to be back in another life", |statuses| {
        statuses.get(&1).is_some_and(|status| is_up(status) && status.incarnation > before)
    });
    world.wait_until_repaired();
    for name in MOVABLE {
        assert_eq!(server(&world, 1, name).process, there);
    }
    world.wait_for_commits(&crew, 60);
    world.audit(crew);
}

/// Whoever has not this site's keys must get no server of it and give it none, must be told why, and must not disturb what is there.
#[test]
fn strangers_get_no_servers() {
    let mut world = World::start_encrypted();
    let crew = world.load(6);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refused = |world: &World, to: &OtherHost, reason: &str| {
        let output = order(world, "action-driver", &to.address.to_string()).output().expect("raid runs");
        assert!(!output.status.success() && said(&output).contains(reason), "{reason:?} is missing: {}", said(&output));
        assert!(is_here(&server(world, 1, "action-driver").process), "a stranger has it");
    };
    let good = SiteConfig::read(&world.running.cluster().config_of(ONE)).expect("it was written");
    let path = folder.path().join("site.toml");
    SiteConfig { keys: None, ..good }.write(&path).expect("the folder can be written");
    refused(&world, &OtherHost::start_with(&world, &path, false), "has it keys of this site, too?");
    let of_two = world.running.cluster().config_of(ProcessName::Site(2));
    refused(&world, &OtherHost::start_with(&world, &of_two, false), "of another site");

    let host = OtherHost::start(&world, false);
    succeeds(&mut order(&world, "action-driver", &host.address.to_string()));
    let mut stranger = TcpStream::connect(host.address).expect("it listens");
    stranger.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    stranger.write_all(&[0xff; 64]).expect("it takes them");
    let mut answer = Vec::new();
    // The end of the connection, in one way or the other.
    let _ = stranger.read_to_end(&mut answer);
    let silent = TcpStream::connect(host.address).expect("it listens");
    world.wait_for_commits(&crew, 60);
    drop(silent);
    assert_eq!(server(&world, 1, "action-driver").process, host.address.to_string());
    world.audit(crew);
}

/// An operator who wants what cannot be must hear why, and what to do instead; and a host in clear is none for other hosts.
#[test]
fn what_cannot_be_moved_is_refused_with_a_reason() {
    let world = World::start();
    let host = OtherHost::start(&world, false);
    let there = host.address.to_string();
    for (name, reason) in [("access-manager", "--to access-manager"), ("user-interface", "clients' connections")] {
        let output = order(&world, name, &there).output().expect("raid runs");
        assert!(!output.status.success() && said(&output).contains(reason), "{reason:?} is missing: {}", said(&output));
    }
    drop(host);
    for (to, reason) in
        [(there.as_str(), "takes no servers"), ("198.18.0.1:7600", "raid keys"), ("nowhere:x", "HOST:PORT")]
    {
        let output = order(&world, "action-driver", to).output().expect("raid runs");
        assert!(!output.status.success() && said(&output).contains(reason), "{reason:?} is missing: {}", said(&output));
    }
    let mut open = Command::new(raid());
    open.args(["host", "--listen", "0.0.0.0:0", "--config"]).arg(world.running.cluster().config_of(ONE));
    let output = open.output().expect("raid runs");
    assert!(!output.status.success() && said(&output).contains("raid keys"), "{}", said(&output));
}
