//! Sites and the oracle are killed and stopped under load; afterwards every copy holds exactly what clients were told.

use crate::harness::{World, durability_alone, eventually};
use laboratory::debit_credit::connect;
use local_cluster::ClusterWish;
use local_cluster::process::ProcessName;
use rustix::process::Signal;
use site::config::Channels;
use site::status::PeerReport;

/// Losing a site must lose no acknowledged transaction and double none, and must not stop the others, whatever carries the messages.
#[test]
fn a_killed_site_loses_nothing_and_comes_back() {
    let each =
        [(Channels::Fastest, "shared memory"), (Channels::Datagrams, "datagrams"), (Channels::Streams, "stream")];
    for (channels, expected) in each {
        a_killed_site_comes_back(
            World::start_as(ClusterWish { channels: Some(channels), ..ClusterWish::default() }),
            expected,
        );
    }
}

/// A network that loses, doubles and reorders must cost time and nothing else.
#[test]
fn a_bad_network_loses_nothing() {
    let world = World::start_over("loss=10,double=5,reorder=5");
    let world = a_killed_site_comes_back(world, "datagrams");
    let peers = world.running.status(1).expect("it answers").peers;
    let counts = |count: fn(&PeerReport) -> u64| peers.iter().map(count).sum::<u64>();
    assert!(counts(|peer| peer.sent_again) > 0 && counts(|peer| peer.received_twice) > 0, "{peers:?}");
}

/// Gives the world back when nothing is under way in it.
fn a_killed_site_comes_back(mut world: World, channel: &str) -> World {
    let all_go_by = |world: &World| {
        let peers = world.running.status(1).expect("it answers").peers;
        peers.iter().filter(|peer| peer.site != 0).all(|peer| peer.channel == channel)
    };
    eventually(&format!("messages between sites to go by {channel}"), || all_go_by(&world));
    let crew = world.load(9);
    world.kill(2);
    world.wait_until_without(&[2]);
    world.wait_for_commits(&crew, 200);
    world.start_again(ProcessName::Site(2));
    world.wait_until_repaired();
    world.wait_for_commits(&crew, 100);
    let accounts = world.audit(crew);
    let at_victim = accounts.iter().flat_map(|account| &account.commits).filter(|commit| commit.site == 2).count();
    eventually(&format!("messages to go by {channel} after a return, too"), || all_go_by(&world));
    assert!(at_victim > 0, "no client ever booked at the killed site: the test proves nothing");
    world
}

/// The last copy must go on alone, say that its commits wait for its disk, and bring the others up to date later.
#[test]
fn the_last_of_three_goes_on_alone() {
    let mut world = World::start();
    let crew = world.load(6);
    world.kill(2);
    world.kill(3);
    world.wait_until_without(&[2, 3]);
    world.wait_for_commits(&crew, 50);
    let status = world.running.status(1).expect("the last site answers");
    let expected = durability_alone();
    assert_eq!(status.durability, expected, "one copy in memory is not enough, and must not pass for it");
    assert!(status.commits.syncs_before_answer > 0, "alone, an answer waits for its log");
    let shown = world.shown_status();
    let durability = shown.lines().find(|line| line.starts_with("durability"));
    assert!(durability.is_some_and(|line| line.contains(&expected)), "an operator must see it too:\n{shown}");
    world.start_again(ProcessName::Site(2));
    world.start_again(ProcessName::Site(3));
    world.wait_until_repaired();
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}

/// Killing every process at once must lose nothing acknowledged: the log is in mapped memory.
#[test]
fn everything_killed_at_once_comes_back_whole() {
    let mut world = World::start();
    let crew = world.load(6);
    for name in world.running.cluster().names() {
        world.running.signal(name, Signal::KILL);
    }
    for name in world.running.cluster().names() {
        world.running.kill(name);
        world.start_again(name);
    }
    world.wait_until_repaired();
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}

/// Running sites must not need the oracle.
#[test]
fn commits_go_on_without_the_oracle() {
    let mut world = World::start();
    let crew = world.load(6);
    world.running.kill(ProcessName::Oracle);
    world.wait_for_commits(&crew, 300);
    world.start_again(ProcessName::Oracle);
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}

/// A site that was stopped for longer than its lease must answer nothing stale when it goes on, not even what was asked before.
#[test]
fn a_stopped_site_serves_nothing_stale() {
    let mut world = World::start();
    let mut writer = world.connect(1);
    writer.batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").expect("a table");
    let mut reader = world.connect(2);
    let statement = reader.prepare("SELECT v FROM t WHERE k = 1").expect("a statement");
    eventually("the row at site 2", || reader.query_one(&statement, &[]).is_ok_and(|row| row.get::<_, i32>(0) == 0));
    world.running.signal(ProcessName::Site(2), Signal::STOP);
    // The question waits in the stopped site's socket: it is the first thing that the site sees when it goes on.
    let answer = std::thread::spawn(move || reader.query_one(&statement, &[]).map(|row| row.get::<_, i32>(0)));
    world.wait_until_without(&[2]);
    writer.batch_execute("UPDATE t SET v = 1 WHERE k = 1").expect("the others go on");
    world.running.signal(ProcessName::Site(2), Signal::CONT);
    if let Ok(value) = answer.join().expect("no panic") {
        assert_eq!(value, 1, "a stale value was served");
    }
    world.wait_until_repaired();
    let mut reader = connect(world.sql(2)).expect("it serves again");
    let value: i32 = reader.query_one("SELECT v FROM t WHERE k = 1", &[]).expect("it reads").get(0);
    assert_eq!(value, 1);
    let members = world.running.status(2).expect("it answers").members;
    let incarnation = members.iter().find(|member| member.site == 2).map(|member| member.incarnation);
    assert!(incarnation > Some(1), "an evicted site comes back under a new incarnation: {members:?}");
}
