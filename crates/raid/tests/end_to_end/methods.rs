//! The method of concurrency control, switched while clients work: it is in force where it is installed, and statements that are tried again by the site
//! fail for nobody.

use crate::harness::{World, eventually, raid, said};
use laboratory::debit_credit::{connect, explain};
use local_cluster::process::ProcessName;
use postgres::error::DbError;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const METHODS: [&str; 5] = ["locking", "optimistic", "serial", "simple-locking", "timestamp"];
const WAYS: [&str; 3] = ["generic", "converting", "suffix-sufficient"];

/// How long clients go on while the method is switched, in seconds, unless `RAID_TEST_METHOD_SECONDS` says otherwise.
const LOAD_SECONDS: u64 = 20;
/// Accounts between which clients move money.
const ACCOUNTS: i32 = 8;

fn refused<T>(result: Result<T, postgres::Error>) -> DbError {
    let error = result.err().expect("it is refused");
    error.as_db_error().unwrap_or_else(|| panic!("{}", explain(&error))).clone()
}

/// Which method a site runs, and what it was set for; nothing while it does not answer.
fn in_force(sql: SocketAddr) -> Option<(String, String)> {
    let row = connect(sql).ok()?.query_one("SELECT method, set_for FROM raid.concurrency", &[]).ok()?;
    Some((row.get(0), row.get(1)))
}

fn runs(world: &World, site: u16, method: &str) {
    let sql = world.sql(site);
    eventually("the method to be in force", || in_force(sql).is_some_and(|(runs, _)| runs == method));
}

fn set(client: &mut postgres::Client, name: &str, value: &str) {
    let text = format!("ALTER SYSTEM SET {name} = '{value}'");
    client.batch_execute(&text).unwrap_or_else(|error| panic!("{text}: {}", explain(&error)));
}

/// If this fails, sites do not run what was set for them, or do not tell the truth about it.
#[test]
fn each_site_runs_what_is_set_for_it() {
    let world = World::start();
    let mut client = world.connect(1);
    assert_eq!(in_force(world.sql(1)), Some(("locking".to_owned(), "none: the site's file".to_owned())));
    set(&mut client, "raid.concurrency_method", "optimistic");
    set(&mut client, "raid.site_2.concurrency_method", "serial");
    set(&mut client, "raid.site_3.concurrency_method", "timestamp");
    for (site, method) in [(1, "optimistic"), (2, "serial"), (3, "timestamp")] {
        runs(&world, site, method);
        let shown: String =
            world.connect(site).query_one("SHOW raid.concurrency_method", &[]).expect("it is shown").get(0);
        assert_eq!(shown, method);
    }
    let switches = "SELECT from_method, to_method, way, took_ms IS NOT NULL FROM raid.concurrency_switches";
    let rows = world.connect(2).query(switches, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    let last = rows.last().expect("it has switched");
    assert_eq!((last.get::<_, &str>(1), last.get::<_, &str>(2), last.get::<_, bool>(3)), ("serial", "generic", true));
    // Conflicting transactions at sites of different methods are kept apart all the same.
    client.batch_execute("CREATE TABLE count (id int PRIMARY KEY, n int); INSERT INTO count VALUES (1, 0)").unwrap();
    std::thread::scope(|scope| {
        for site in 1..=3 {
            let mut client = world.connect(site);
            scope.spawn(move || {
                for _ in 0..50 {
                    let added = client.execute("UPDATE count SET n = n * 1 + 1 WHERE id = 1", &[]);
                    added.unwrap_or_else(|error| panic!("site {site}: {}", explain(&error)));
                }
            });
        }
    });
    assert_eq!(client.query_one("SELECT n FROM count", &[]).unwrap().get::<_, i32>(0), 150);
    client.batch_execute("ALTER SYSTEM RESET raid.site_2.concurrency_method").unwrap();
    runs(&world, 2, "optimistic");
    let error = refused(client.batch_execute("ALTER SYSTEM SET raid.concurrency_method = 'none'"));
    assert_eq!(
        (error.code().code(), error.hint().is_some_and(|hint| hint.contains("simple-locking"))),
        ("22023", true)
    );
    let error = refused(client.batch_execute("BEGIN; ALTER SYSTEM RESET ALL"));
    assert_eq!(error.code().code(), "25001");
}

/// If this fails, a site that was away when the method was set runs another one than the others.
#[test]
fn a_site_that_comes_back_runs_the_method_that_was_set_meanwhile() {
    let mut world = World::start();
    world.kill(3);
    world.wait_until_without(&[3]);
    set(&mut world.connect(1), "raid.concurrency_method", "timestamp");
    world.start_again(ProcessName::Site(3));
    world.wait_until_repaired();
    runs(&world, 3, "timestamp");
    // And one that has it in its own log, not from the others.
    world.kill(3);
    world.start_again(ProcessName::Site(3));
    world.wait_until_repaired();
    runs(&world, 3, "timestamp");
}

/// If this fails, a client that thinks inside a block stops its whole site while one transaction executes at a time.
#[test]
fn an_idle_client_does_not_stop_a_serial_site() {
    let world = World::start();
    let (mut idle, mut other) = (world.connect(1), world.connect(1));
    other.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)").unwrap();
    set(&mut other, "raid.concurrency_method", "serial");
    idle.batch_execute("BEGIN").unwrap();
    idle.query_one("SELECT v FROM t WHERE id = 1", &[]).unwrap();
    idle.execute("UPDATE t SET v = v + 1 WHERE id = 1", &[]).unwrap();
    for _ in 0..10 {
        other.execute("UPDATE t SET v = v + 1 WHERE id = 2", &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    }
    idle.batch_execute("COMMIT").unwrap_or_else(|error| panic!("{}", explain(&error)));
    let sum: i64 = other.query_one("SELECT sum(v) FROM t", &[]).unwrap().get(0);
    assert_eq!(sum, 11);
}

/// Rules that ask for `serial` whatever the load.
const ALWAYS_SERIAL: &str =
    "[[rule]]\nname = \"always\"\nwhen = []\nmethod = \"serial\"\ncertainty = 1000\nbecause = \"It is a test.\"\n";

/// If this fails, a site does not read its own rules, does not follow them where `auto` is set, or follows them where it is not; or who looks is told
/// something else.
#[test]
fn a_site_follows_its_own_rules_where_auto_is_set() {
    let mut world = World::start();
    let config = world.running.cluster().config_of(ProcessName::Site(1));
    let rules = world.running.cluster().folder().join("rules.toml");
    let text = std::fs::read_to_string(&config).unwrap_or_else(|error| panic!("{}: {error}", config.display()));
    world.kill(1);
    world.wait_until_without(&[1]);
    std::fs::write(&config, format!("expert_rules = {:?}\n{text}", rules)).unwrap();
    std::fs::write(&rules, ALWAYS_SERIAL.replace("\"serial\"", "\"parallel\"")).unwrap();
    let refused = Command::new(raid()).args(["site", "--config"]).arg(&config).output().expect("it runs");
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(
        said(&refused).contains("rules.toml: line 4: always: there is no method \"parallel\""),
        "{}",
        said(&refused)
    );
    std::fs::write(&rules, ALWAYS_SERIAL).unwrap();
    world.start_again(ProcessName::Site(1));
    world.wait_until_repaired();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE busy (id int PRIMARY KEY, n int); INSERT INTO busy VALUES (1, 0)").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = world.connect(1);
            while !is_over.load(Ordering::Relaxed) {
                client.execute("UPDATE busy SET n = n * 1 + 1 WHERE id = 1", &[]).expect("it is tried again");
            }
        });
        eventually("advice", || {
            let advice =
                "SELECT in_force, rule, because FROM raid.concurrency_advice WHERE method = 'serial' AND belief > 250";
            let rows = client.query(advice, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
            rows.first().is_some_and(|row| {
                let told: (bool, &str, &str) = (row.get(0), row.get(1), row.get(2));
                told == (false, "always", "It is a test.")
            })
        });
        let near = "SELECT value FROM raid.concurrency_facts WHERE fact = 'accesses'";
        assert!(client.query_one(near, &[]).unwrap().get::<_, i64>(0) > 0);
        assert_eq!(in_force(world.sql(1)).expect("it answers").0, "locking", "nobody told it to choose");
        set(&mut client, "raid.site_1.concurrency_method", "AUTO");
        assert_eq!(in_force(world.sql(1)), Some(("locking".to_owned(), "site".to_owned())));
        // Three windows of ten seconds.
        runs(&world, 1, "serial");
        is_over.store(true, Ordering::Relaxed);
    });
    let switch = "SELECT switched_by, because FROM raid.concurrency_switches WHERE to_method = 'serial'";
    let row = client.query_one(switch, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("rules", "It is a test."));
    client.batch_execute("ALTER SYSTEM RESET raid.site_1.concurrency_method").unwrap();
    runs(&world, 1, "locking");
    let error = refused_block(&mut client);
    assert_eq!(error.code().code(), "25001");
}

fn refused_block(client: &mut postgres::Client) -> DbError {
    refused(client.batch_execute("BEGIN; ALTER SYSTEM SET raid.concurrency_method = 'auto'"))
}

/// If this fails, the command does not do what its help says.
#[test]
fn the_command_sets_and_shows_the_method() {
    let world = World::start();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(raid());
        command.args(["method", "--data"]).arg(world.running.cluster().folder()).args(arguments);
        command.output().expect("it runs")
    };
    let shown = run(&[]);
    assert!(shown.status.success() && said(&shown).contains("locking"), "{}", said(&shown));
    let set = run(&["set", "timestamp", "--way", "suffix", "--site", "2"]);
    assert!(set.status.success(), "{}", said(&set));
    let lines = said(&set);
    let of_site = lines.lines().find(|line| line.trim_start().starts_with("2 ")).expect("site 2 is shown");
    assert!(of_site.contains("timestamp") && of_site.contains("suffix-sufficient"), "{of_site}");
    assert_eq!(lines.matches("timestamp").count(), 1, "{lines}");
    assert!(!run(&["set", "none"]).status.success() && !run(&["set", "serial", "--site", "9"]).status.success());
    assert!(run(&["reset", "--site", "2"]).status.success());
    runs(&world, 2, "locking");
    let auto = run(&["auto", "on"]);
    assert!(auto.status.success(), "{}", said(&auto));
    assert_eq!(said(&auto).matches(" yes ").count(), 3, "{}", said(&auto));
    let advice = run(&["advice"]);
    assert!(advice.status.success() && said(&advice).matches("site ").count() == 3, "{}", said(&advice));
    let off = run(&["auto", "off"]);
    assert!(off.status.success(), "{}", said(&off));
    assert!(!run(&["auto", "perhaps"]).status.success());
}

/// All ways from each method to each other one.
fn switches() -> Vec<(&'static str, &'static str)> {
    // Every pair once: one after the other around a circle of five in steps of one to four.
    let mut place = 0;
    let steps = (1..METHODS.len()).flat_map(|step| std::iter::repeat_n(step, METHODS.len()));
    let methods = steps.map(|step| {
        place = (place + step) % METHODS.len();
        METHODS[place]
    });
    let methods: Vec<_> = methods.collect();
    WAYS.iter().flat_map(|way| methods.iter().map(|method| (*way, *method))).collect()
}

/// Ends the clients, also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Moves money by statements that the site tries again by itself: one statement, and a procedure of two.
fn move_money(mut client: postgres::Client, number: usize, ends: &AtomicBool, done: &AtomicU64) {
    let mut round = number as i32;
    while !ends.load(Ordering::Relaxed) {
        round += 1;
        let (from, to) = (round % ACCOUNTS, (round / ACCOUNTS + number as i32) % ACCOUNTS);
        let moved = match round % 2 {
            0 => client.execute("UPDATE account SET n = n * 1 + 1, times = times + 1 WHERE id = $1", &[&from]),
            _ => client.execute(&format!("CALL move({from}, {to})"), &[]),
        };
        moved.unwrap_or_else(|error| panic!("client {number}: {}", explain(&error)));
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// If this fails, a switch costs clients transactions that it need not, or breaks what no method may break.
#[test]
fn statements_and_calls_do_not_notice_switches() {
    let mut world = World::start();
    let seconds = std::env::var("RAID_TEST_METHOD_SECONDS").ok().and_then(|text| text.parse().ok());
    let length = Duration::from_secs(seconds.unwrap_or(LOAD_SECONDS));
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE account (id int PRIMARY KEY, n bigint, times bigint)").unwrap();
    client
        .execute(&format!("INSERT INTO account SELECT i, 0, 0 FROM generate_series(0, {}) AS i", ACCOUNTS - 1), &[])
        .unwrap();
    let body = "UPDATE account SET n = n * 1 - 1 WHERE id = a; UPDATE account SET n = n * 1 + 1 WHERE id = b;";
    let procedure = format!("CREATE PROCEDURE move(a int, b int) LANGUAGE SQL AS $$ {body} $$");
    client.batch_execute(&procedure).unwrap_or_else(|error| panic!("{}", explain(&error)));
    let crew = world.load(6);
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let switches = switches();
    let pause = (length / switches.len() as u32).max(Duration::from_millis(50));
    std::thread::scope(|scope| {
        let _ends = Ends(&ends);
        for number in 0..8 {
            let client = world.connect(1 + (number % 2) as u16);
            let (ends, done) = (&ends, &done);
            scope.spawn(move || move_money(client, number, ends, done));
        }
        let begun = Instant::now();
        let mut place = 0;
        while begun.elapsed() < length || place < switches.len() {
            let (way, method) = switches[place % switches.len()];
            set(&mut client, "raid.concurrency_way", way);
            set(&mut client, "raid.concurrency_method", method);
            if place % switches.len() == switches.len() / 3 {
                world.kill(3);
            } else if place % switches.len() == 2 * switches.len() / 3 {
                world.start_again(ProcessName::Site(3));
            }
            place += 1;
            let before = done.load(Ordering::Relaxed);
            eventually("clients to go on", || done.load(Ordering::Relaxed) > before + 4);
            std::thread::sleep(pause.saturating_sub(begun.elapsed().saturating_sub(pause * (place as u32 - 1))));
        }
    });
    let text = "SELECT sum(n)::bigint, sum(times)::bigint FROM account";
    let row = client.query_one(text, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1), "money came or went");
    eprintln!("{} statements and calls, none failed", done.load(Ordering::Relaxed));
    world.audit(crew);
}
