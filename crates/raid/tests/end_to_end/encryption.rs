//! Clusters with keys: they serve and survive as those without, and nobody without the right keys takes part.

use crate::harness::{World, eventually, raid, said, succeeds};
use local_cluster::process::ProcessName;
use messages::{InstanceId, SiteId};
use site::SiteConfig;
use site::protection::make_keys;
use site::status::Status;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const THREE: ProcessName = ProcessName::Site(3);

/// Encryption must cost nobody a transaction: a kill under load, and the books balance.
#[test]
fn a_cluster_with_keys_encrypts_and_survives_a_kill() {
    let mut world = World::start_encrypted();
    world.all_is_encrypted();
    let shown = world.shown_status();
    let encrypted = shown.lines().find(|line| line.trim_start().starts_with("encrypted")).unwrap_or_default();
    assert!(encrypted.contains("oracle 2 3") && encrypted.contains("oracle 1 2"), "an operator must see it:\n{shown}");
    let crew = world.load(6);
    world.kill(2);
    world.wait_until_without(&[2]);
    world.wait_for_commits(&crew, 200);
    world.start_again(ProcessName::Site(2));
    world.wait_until_repaired();
    world.all_is_encrypted();
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}

/// Gives site 3 other keys, starts it, and waits until both sides have said why they do not talk: site 3 in its log, which is of the
/// oracle's answer, site 1 in its status, and site 3 in its count of those who came to it.
fn is_refused(world: &mut World, keys: Option<PathBuf>, logged: &str, at_one: &str, counted: &str) {
    world.kill(3);
    world.wait_until_without(&[3]);
    let path = world.running.cluster().config_of(THREE);
    let good = SiteConfig::read(&path).expect("it was written");
    SiteConfig { keys, ..good.clone() }.write(&path).expect("the folder can be written");
    world.start_again(THREE);
    let log = world.running.cluster().folder_of(THREE).join("log.txt");
    eventually("site 3 to say why it stays alone", || {
        std::fs::read_to_string(&log).unwrap_or_default().contains(logged)
    });
    let statuses = world.wait("both sides to say why they do not talk", |statuses| {
        let failure = |status: &Status| {
            let peer = status.peers.iter().find(|peer| peer.site == 3)?;
            peer.failure.clone().filter(|failure| failure.contains(at_one))
        };
        let is_counted = |status: &Status| status.strangers.get(counted).is_some_and(|count| *count > 0);
        statuses.get(&1).and_then(failure).is_some() && statuses.get(&3).is_some_and(is_counted)
    });
    let status = &statuses[&3];
    assert_eq!((status.state.as_str(), status.incarnation), ("starting", 0), "a stranger got a life from the oracle");
    assert!(status.peers.iter().all(|peer| !peer.connected), "{:?}", status.peers);
    let shown = world.shown_status();
    for line in ["site 1: not connected with 3: ".to_owned(), format!("site 3: strangers: {counted}")] {
        assert!(shown.contains(&line), "an operator must see {line:?}:\n{shown}");
    }
    world.kill(3);
    good.write(&path).expect("the folder can be written");
    world.start_again(THREE);
    world.wait_until_repaired();
    world.all_is_encrypted();
}

/// Whoever has a site's number and address but not its keys must get no life, no copy and no vote, and must be told why.
#[test]
fn a_site_without_the_right_keys_takes_no_part() {
    let mut world = World::start_encrypted();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE secret (k int PRIMARY KEY); INSERT INTO secret VALUES (1)").expect("a table");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let instance = InstanceId(world.running.cluster().instance());
    make_keys(folder.path(), instance, &[SiteId(3)]).expect("an empty folder");
    let other = Some(folder.path().to_owned());
    let unsigned = "its certificate was not signed by this instance's authority";
    is_refused(&mut world, other, unsigned, unsigned, "our certificate was refused");
    let unkeyed = "the side that connects has no keys";
    is_refused(&mut world, None, unkeyed, "the side that listens has no keys", "encrypted");

    // One that speaks no protocol at all.
    let address = world.running.cluster().sites()[&1].listen;
    let mut stranger = TcpStream::connect(address).expect("it listens");
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("a small write");
    let mut answer = Vec::new();
    // It may be closed with what it sent unread: an error, too.
    let _ = stranger.read_to_end(&mut answer);
    assert_eq!(answer, b"", "it must learn nothing");
    world.wait("site 1 to count it", |statuses| {
        statuses.get(&1).is_some_and(|status| status.strangers.get("no frames") == Some(&1))
    });
    client.batch_execute("INSERT INTO secret VALUES (2)").expect("the cluster goes on");
}

/// A configuration that would put a database on the network in clear must not start, and must say what to do.
#[test]
fn without_keys_nothing_listens_for_other_hosts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (site, oracle) = (folder.path().join("site.toml"), folder.path().join("oracle.toml"));
    let data = folder.path().display();
    let text = format!(
        "instance = 1\nid = 1\ndata = \"{data}\"\nlisten = \"0.0.0.0:0\"\nsql = \"127.0.0.1:0\"\nconsole = \"127.0.0.1:0\"\n\
         oracle = \"127.0.0.1:1\"\n[peers]\n"
    );
    std::fs::write(&site, text).expect("the folder can be written");
    let text = format!("instance = 1\ndata = \"{data}\"\nlisten = \"127.0.0.1:0\"\n[sites]\n1 = \"192.0.2.1:1\"\n");
    std::fs::write(&oracle, text).expect("the folder can be written");
    for (name, path, address) in [("site", &site, "listen 0.0.0.0:0"), ("oracle", &oracle, "site 1 192.0.2.1:1")] {
        let output = Command::new(raid()).args([name, "--config"]).arg(path).output().expect("raid runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in [address, "raid keys", "clear = true"] {
            assert!(said.contains(part), "{part:?} is missing: {said}");
        }
    }
}

/// `raid keys` must make what its help says, and never write over keys in use.
#[test]
fn keys_are_made_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = folder.path().join("keys");
    let make = |sites: &str| {
        let mut command = Command::new(raid());
        command.args(["keys", "--instance", "7", "--sites", sites, "--folder"]).arg(&keys);
        command
    };
    let said_first = succeeds(&mut make("1,2,3"));
    for file in ["authority.pem", "authority.key", "oracle.pem", "oracle.key", "site-3.pem", "site-3.key"] {
        assert!(said_first.contains(file), "{file} is not told: {said_first}");
        let mode = std::fs::metadata(keys.join(file)).expect("it was made").permissions().mode();
        assert_eq!(mode & 0o077 == 0, file.ends_with(".key"), "{file} has mode {mode:o}");
    }
    let key = std::fs::read(keys.join("site-3.key")).expect("it was made");
    let output = make("3,4").output().expect("raid runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("not overwritten"), "{}", said(&output));
    assert_eq!(std::fs::read(keys.join("site-3.key")).expect("it is there"), key);
    assert!(!keys.join("site-4.key").exists(), "half of what was asked for is worse than nothing");
    succeeds(&mut make("4"));
    assert_eq!(make("0").output().expect("raid runs").status.code(), Some(2), "sites count from 1");
}
