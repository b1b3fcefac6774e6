//! Clusters that go back to a snapshot of them, snapshots by schedule, and snapshots from SQL.

use crate::harness::{PATIENCE, World, eventually, raid, said, turn};
use crate::point_in_time::{archive_to, now_micros};
use crate::snapshots::{Writer, fails, make_tables, succeeds, text};
use laboratory::debit_credit::connect;
use local_cluster::process::ProcessName;
use local_cluster::{ClusterDirectory, ClusterWish};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rustix::process::{Pid, Signal, kill_process};
use site::SiteConfig;
use site::layout::Layout;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A cluster that `raid start` runs, which ends with this.
struct Started {
    cluster: ClusterDirectory,
    child: Child,
}

impl Started {
    /// Three sites, which serve.
    fn start(data: &Path) -> Started {
        Started::start_changed(data, |_| {})
    }

    /// The same, with something changed before they start.
    fn start_changed(data: &Path, change: impl FnOnce(&ClusterDirectory)) -> Started {
        let wish = ClusterWish { sites: Some(3), port: Some(0), ..ClusterWish::default() };
        let cluster = ClusterDirectory::open_or_create(data, &wish).expect("a cluster");
        change(&cluster);
        let output = std::fs::File::create(data.join("start.txt")).expect("a file");
        let mut command = Command::new(raid());
        command.args(["start", "--data"]).arg(data).stdout(output).stderr(Stdio::inherit());
        let mut started = Started { cluster, child: command.spawn().expect("the program runs") };
        started.serves();
        started
    }

    fn serves(&mut self) {
        let consoles: Vec<_> = self.cluster.sites().values().map(|site| site.console).collect();
        eventually("all sites to serve", || {
            assert!(self.child.try_wait().expect("it is our child").is_none(), "`raid start` has ended");
            consoles.iter().all(|console| site::status::ask(*console).is_ok_and(|status| status.state == "up"))
        });
    }

    fn client(&self, site: u16) -> postgres::Client {
        connect(self.cluster.sites()[&site].sql).expect("the site serves")
    }

    /// What each site has: rows, and the sum of the balances.
    fn states(&self) -> Vec<(i64, i64)> {
        let state = |site: &u16| {
            let query = "SELECT (SELECT count(*) FROM rows), (SELECT v FROM balances WHERE k = 1)::bigint";
            let row = self.client(*site).query_one(query, &[]).expect("both tables");
            (row.get(0), row.get(1))
        };
        self.cluster.sites().keys().map(state).collect()
    }

    /// Kills it. What it has started ends by itself, which takes a moment.
    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        let folder = self.cluster.folder().to_owned();
        eventually("its sites and its oracle to end", || {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let pids = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("pid")).ok());
            pids.into_iter().all(|pid| !Path::new("/proc").join(pid.trim()).exists())
        });
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn fill(client: &mut postgres::Client, from: i32, rows: i32) {
    for n in from..from + rows {
        let text =
            format!("BEGIN; INSERT INTO rows VALUES (1, {n}); UPDATE balances SET v = v + 1 WHERE k = 1; COMMIT");
        client.batch_execute(&text).expect("a row");
    }
}

fn same(states: &[(i64, i64)]) -> (i64, i64) {
    assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "all sites have the same state: {states:?}");
    assert_eq!(states[0].0, states[0].1, "each row has its change of the balance");
    states[0]
}

/// A cluster that goes back to a moment must have what had committed up to it, at all sites, and go on with another archive: the old one knows what is given up.
#[test]
fn a_rollback_to_a_moment_has_what_had_committed_by_then() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = tempfile::tempdir().expect("a temporary folder");
    let archive = place.path().join("archive");
    let mut started = Started::start_changed(folder.path(), |cluster| archive_to(cluster, &archive));
    let data = text(folder.path());
    let console = started.cluster.sites()[&1].console;
    let archived = || site::status::ask(console).ok().and_then(|status| status.archive);
    let mut client = started.client(1);
    make_tables(&mut client);
    eventually("an archive", || archived().is_some_and(|archive| archive.number == Some(1)));
    fill(&mut client, 0, 10);
    succeeds(&["snapshot", "take", "base", "--site", "1", "--data", data]);
    fill(&mut client, 10, 10);
    let moment = now_micros();
    fill(&mut client, 20, 10);
    client.batch_execute("DROP TABLE rows").expect("it is there");
    eventually("the moment to be known", || archived().is_some_and(|archive| archive.known_to_us > moment));
    let (archive, to) = (text(&archive), moment.to_string());
    let back = ["rollback", "base", "--data", data, "--archive", archive];
    fails(&back, "say --to-time");
    fails(&[&back[..], &["--to-timestamp", &to]].concat(), "say --yes");
    let beyond = (moment + 3_600_000_000).to_string();
    fails(&[&back[..], &["--to-timestamp", &beyond, "--yes"]].concat(), "does not reach so far");
    succeeds(&[&back[..], &["--to-timestamp", &to, "--yes"]].concat());
    started.serves();
    assert_eq!(same(&started.states()), (20, 20));
    fill(&mut started.client(2), 20, 5);
    assert_eq!(same(&started.states()), (25, 25));
    eventually("another archive", || archived().is_some_and(|archive| archive.number == Some(2)));
    // Behind the snapshot there is only what was given up.
    let later = now_micros().to_string();
    fails(&[&back[..], &["--to-timestamp", &later, "--yes"]].concat(), "does not reach so far");
    started.kill();
}

/// A cluster that goes back under load must have the snapshot's state at all sites, also at one that was down, and go on; its clients must be told.
#[test]
fn a_rollback_under_load_gives_every_site_the_state_of_the_snapshot() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut started = Started::start(folder.path());
    let data = text(folder.path());
    let mut client = started.client(1);
    make_tables(&mut client);
    client.batch_execute("CREATE TABLE gone (k int)").expect("a table");
    fill(&mut client, 0, 50);
    succeeds(&["snapshot", "take", "good", "--data", data]);
    fails(&["rollback", "good", "--data", data], "say --yes");
    fails(&["rollback", "none", "--data", data, "--yes"], "does not exist");
    fill(&mut client, 50, 20);
    client.batch_execute("DROP TABLE gone; CREATE TABLE later (k int PRIMARY KEY)").expect("other tables");
    succeeds(&["kill", "3", "--data", data]);
    let writer = Writer::start_at(started.cluster.sites()[&2].sql, 2);
    writer.wait_for(30);
    let told = Mutex::new(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It waits for nothing but its end.
            let deadline = Instant::now() + PATIENCE;
            while Instant::now() < deadline {
                if let Err(error) = client.batch_execute("SELECT 1") {
                    let code = error.code().map_or("closed", |code| code.code());
                    *told.lock().expect("no panic") = Some(code.to_owned());
                    return;
                }
            }
        });
        let said = succeeds(&["rollback", "good", "--data", data, "--yes"]);
        assert!(said.contains("is rolled back; all sites serve"), "{said}");
    });
    drop(writer);
    started.serves();
    let (rows, _) = same(&started.states());
    // The writer goes on by itself behind the rollback, from the row that it had come to.
    assert!(rows >= 50, "{rows}");
    let mut client = started.client(3);
    let of_first: i64 = client.query_one("SELECT count(*) FROM rows WHERE site = 1", &[]).expect("a count").get(0);
    assert_eq!(of_first, 50, "what came behind the snapshot is gone");
    client.batch_execute("INSERT INTO gone VALUES (1); CREATE TABLE later (k int)").expect("tables are back, too");
    let told = told.into_inner().expect("no panic");
    // Where the answer to a statement was under way when the process ended, the connection is all that ends.
    assert!(matches!(told.as_deref(), Some("57P01" | "08007" | "closed")), "clients are told: {told:?}");
    // And once more, to the same one.
    succeeds(&["rollback", "good", "--data", data, "--yes"]);
    started.serves();
    assert_eq!(same(&started.states()), (50, 50));
    fill(&mut started.client(2), 50, 5);
    assert_eq!(same(&started.states()), (55, 55));
}

/// Whatever is killed while a cluster goes back, it must have the old state or the new one, at all sites the same.
#[test]
fn a_kill_in_a_rollback_leaves_the_old_state_or_the_new_one() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = text(folder.path());
    let mut started = Started::start(folder.path());
    let mut client = started.client(1);
    make_tables(&mut client);
    fill(&mut client, 0, 10);
    succeeds(&["snapshot", "take", "good", "--data", data]);
    let mut seen = Vec::new();
    for pause in [5, 300, 700, 1_000, 1_300, 1_700, 2_200, 3_000] {
        fill(&mut started.client(1), 10, 5);
        let rollback = Command::new(raid())
            .args(["rollback", "good", "--data", data, "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut rollback = rollback.expect("the program runs");
        let until = Instant::now() + Duration::from_millis(pause);
        while Instant::now() < until && rollback.try_wait().expect("it is our child").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        started.kill();
        let _ = rollback.kill();
        rollback.wait().expect("it ends");
        started = Started::start(folder.path());
        let (rows, _) = same(&started.states());
        assert!(rows == 10 || rows == 15, "{rows} rows after {pause} ms");
        seen.push(rows);
        if rows == 15 {
            started
                .client(1)
                .batch_execute("DELETE FROM rows WHERE n >= 10; UPDATE balances SET v = 10 WHERE k = 1")
                .expect("rows");
        }
        assert!(!folder.path().join("rollback").exists(), "nothing is left of it");
    }
    eprintln!("rows after each kill: {seen:?}");
}

/// Snapshots by schedule must be taken by one site, by another when that dies, and be so many as are to be kept.
#[test]
fn a_schedule_is_kept_by_one_site_and_goes_on_without_it() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let snapshots = place.path().to_owned();
    let schedule = |config: SiteConfig| SiteConfig {
        snapshot_every: Some("10s".to_owned().try_into().expect("a length of time")),
        snapshots_keep: 2,
        snapshot_dir: Some(snapshots.clone()),
        ..config
    };
    let mut world = World::start_changed(|cluster| {
        for site in cluster.sites().keys() {
            let path = cluster.config_of(ProcessName::Site(*site));
            schedule(SiteConfig::read(&path).expect("it was written")).write(&path).expect("the folder can be written");
        }
    });
    world.write_rows("wide", 200, 1_000);
    let whole = || {
        let listed = site::snapshot::files::list(&snapshots).expect("the folder");
        let whole = listed.into_iter().filter_map(|(_, manifest)| manifest.ok());
        whole.map(|manifest| (manifest.name, manifest.site)).collect::<Vec<_>>()
    };
    eventually("two snapshots", || whole().len() == 2);
    assert!(whole().iter().all(|(_, site)| *site == 1), "the first site takes them: {:?}", whole());
    let before = whole();
    world.kill(1);
    eventually("the next site to take one", || whole().iter().any(|(_, site)| *site == 2));
    eventually("the first one to be removed", || !whole().contains(&before[0]) && whole().len() == 2);
    for (name, _) in whole() {
        // It may have been replaced meanwhile.
        let verified = site::snapshot::files::verify(&snapshots.join(&name));
        assert!(verified.is_ok() || !whole().iter().any(|(other, _)| *other == name), "{name}: {verified:?}");
    }
    let shown = world.shown_status();
    assert!(shown.contains("by site 2, scheduled-"), "{shown}");
    // A folder that cannot be written is told, and the sites go on.
    drop(place);
    eventually("its place to be free", || {
        let _ = std::fs::remove_dir_all(&snapshots);
        std::fs::write(&snapshots, "no folder").is_ok()
    });
    eventually("the failure to be told", || world.shown_status().contains("FAILED"));
    let one: i32 = world.connect(2).query_one("SELECT 1", &[]).expect("the site serves").get(0);
    assert_eq!(one, 1);
    std::fs::remove_file(&snapshots).expect("it is there");
    world.start_again(ProcessName::Site(1));
    world.wait_until_repaired();
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// A snapshot from SQL must be one, show up, be refused in PostgreSQL's words, and end when its statement is cancelled.
#[test]
fn sessions_take_snapshots() {
    let world = World::start_in(Layout::Merged);
    let mut client = world.connect(2);
    make_tables(&mut client);
    world.write_rows("wide", 20_000, 1_000);
    let code = |outcome: Result<(), postgres::Error>| {
        let error = outcome.expect_err("it is refused");
        error.code().map(|code| code.code().to_owned()).unwrap_or_else(|| panic!("{error}"))
    };
    let taken: String = client.query_one("SELECT raid_snapshot('nightly')", &[]).expect("a snapshot").get(0);
    assert!(Path::new(&taken).join("manifest.toml").exists(), "{taken}");
    let row = client
        .query_one("SELECT state, site, bytes > 8000000, taken > now() - interval '1 hour' FROM raid.snapshots WHERE name = 'nightly'", &[])
        .expect("it is listed");
    let shown: (String, i32, bool, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(shown, ("permanent".to_owned(), 2, true, true));
    let parts = client.query("SELECT file FROM raid.snapshot_parts WHERE snapshot = 'nightly' ORDER BY 1", &[]);
    let parts: Vec<String> = parts.expect("its files").iter().map(|row| row.get(0)).collect();
    assert_eq!(parts, ["base", "tail"]);
    assert_eq!(code(client.batch_execute("SELECT raid_snapshot('nightly')")), "42710");
    assert_eq!(code(client.batch_execute("SELECT raid_snapshot('a/b')")), "42602");
    assert_eq!(code(client.batch_execute("SELECT raid_snapshot()")), "42883");
    assert_eq!(code(client.batch_execute("BEGIN; SELECT raid_snapshot('inside')")), "25001");
    client.batch_execute("ROLLBACK").expect("the end of the block");
    // Who may.
    client.batch_execute("CREATE ROLE other LOGIN; CREATE ROLE keeper LOGIN IN ROLE raid_operator").expect("roles");
    client.batch_execute("SET ROLE other").expect("a role");
    assert_eq!(code(client.batch_execute("SELECT raid_snapshot('mine')")), "42501");
    assert_eq!(code(client.batch_execute("SELECT * FROM raid.snapshots")), "42501");
    for statement in ["SET ROLE keeper", "SELECT raid_snapshot('keepers')", "SELECT * FROM raid.snapshots"] {
        client.batch_execute(statement).expect("it may");
    }
    client.batch_execute("RESET ROLE").expect("the role before");
    // How far it is, and no further.
    let data = world.running.cluster().folder().to_owned();
    let to = data.join("slow");
    let mut slow = Command::new(raid())
        .args(["snapshot", "take", "slow", "--site", "2", "--rate", "1", "--data", text(&data), "--to", text(&to)])
        .spawn()
        .expect("the program runs");
    eventually("a progress that tells how long it takes", || {
        let progress =
            client.query("SELECT name, bytes, bytes_expected, seconds_left FROM raid.snapshot_progress", &[]);
        progress.expect("the table").first().is_some_and(|row| {
            let (name, bytes, expected): (String, i64, i64) = (row.get(0), row.get(1), row.get(2));
            name == "slow" && bytes > 0 && bytes <= expected && row.get::<_, Option<i64>>(3).is_some()
        })
    });
    let pid = Pid::from_raw(slow.id() as i32).expect("a process");
    kill_process(pid, Signal::TERM).expect("it runs");
    assert!(!slow.wait().expect("it ends").success());
    eventually("nothing to be left of it", || std::fs::read_dir(&to).is_ok_and(|entries| entries.count() == 0));
    let none: i64 = client.query_one("SELECT count(*) FROM raid.snapshot_progress", &[]).expect("a count").get(0);
    assert_eq!(none, 0);
    assert!(
        !said(&Command::new(raid()).args(["snapshot", "list", "--data", text(&data)]).output().expect("it runs"))
            .contains("partial")
    );
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// An export must have the rows, be read again as they were, and leave nothing when it fails.
#[test]
fn tables_are_exported() {
    let world = World::start_in(Layout::Merged);
    let mut client = world.connect(2);
    client
        .batch_execute("CREATE TABLE \"Odd\" (k int PRIMARY KEY, t text); INSERT INTO \"Odd\" VALUES (1, 'a,\"b'), (2, NULL), (3, '')")
        .expect("rows");
    let data = world.running.cluster().folder().to_owned();
    let out = data.join("odd.csv");
    let query = "SELECT * FROM \"Odd\" ORDER BY k";
    succeeds(&["export", "--query", query, "--data", text(&data), "--out", text(&out)]);
    assert_eq!(std::fs::read_to_string(&out).expect("the file"), "k,t\n1,\"a,\"\"b\"\n2,\n3,\"\"\n");
    let said = succeeds(&["export", "Odd", "--data", text(&data), "--site", "3"]);
    assert_eq!(said.lines().count(), 4, "{said}");
    fails(&["export", "odd", "--data", text(&data)], "42P01");
    fails(&["export", "Odd", "--data", text(&data), "--out", text(&out)], "is there already");
    fails(&["export", "Odd", "--data", text(&data), "--site", "9"], "has no site 9");
    let entries = std::fs::read_dir(&data).expect("the folder").flatten();
    assert!(entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "partial")).count() == 0);
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// A file of columns must have the values with their types, and nulls where they are.
#[test]
fn tables_are_exported_with_their_types() {
    let world = World::start_in(Layout::Merged);
    let mut client = world.connect(1);
    client
        .batch_execute(
            "CREATE TABLE typed (b boolean, s smallint, i int PRIMARY KEY, l bigint, r real, d double precision, \
             n numeric(12, 2), w numeric(30, 3), f numeric, t text, v varchar(9), y bytea, da date, ti time, ts timestamp, \
             tz timestamptz, u uuid, j jsonb, a int[]); \
             INSERT INTO typed VALUES (true, -7, 1, 1099511627776, 1.5, -2.25, 12345.67, -123456789012345678901234567.125, \
             1.10, 'a\"b', 'wörd', '\\x00ff', '1999-12-31', '12:00:01', '2000-01-01 00:00:01', \
             '1970-01-01 00:00:00+00', '00000000-0000-0000-0000-0000000000ff', '{\"k\": 1}', '{1,NULL}'); \
             INSERT INTO typed (i) VALUES (2); INSERT INTO typed (i) SELECT g FROM generate_series(3, 1000) g",
        )
        .expect("rows");
    let data = world.running.cluster().folder().to_owned();
    let out = data.join("typed.parquet");
    let query = "SELECT * FROM typed ORDER BY i;";
    succeeds(&["export", "--format", "parquet", "--query", query, "--data", text(&data), "--out", text(&out)]);
    let file = SerializedFileReader::try_from(out.as_path()).expect("a Parquet file");
    let mut rows = file.get_row_iter(None).expect("its rows").map(|row| row.expect("a row"));
    let first: Vec<(String, String)> =
        rows.next().expect("a row").into_columns().into_iter().map(|(name, field)| (name, field.to_string())).collect();
    let wanted = [
        ("b", "true"),
        ("s", "-7"),
        ("i", "1"),
        ("l", "1099511627776"),
        ("r", "1.5"),
        ("d", "-2.25E0"),
        ("n", "12345.67"),
        ("w", "-123456789012345678901234567.125"),
        ("f", "\"1.10\""),
        ("t", "\"a\"b\""),
        ("v", "\"wörd\""),
        ("y", "[0, 255]"),
        ("da", "1999-12-31"),
        ("ti", "12:00:01.000000"),
        ("ts", "2000-01-01 00:00:01.000000 +00:00"),
        ("tz", "1970-01-01 00:00:00.000000 +00:00"),
        ("u", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255]"),
        ("j", "\"{\"k\": 1}\""),
        ("a", "\"{1,NULL}\""),
    ];
    assert_eq!(first, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let second = rows.next().expect("a row");
    assert!(second.get_column_iter().all(|(name, field)| name == "i" || *field == Field::Null), "{second}");
    assert_eq!(rows.count(), 998);
    assert_eq!(world.stop(), Vec::<String>::new());
}

/// Whoever cancels the statement must not have a snapshot written on, and not one that only waits for its turn either.
#[test]
fn a_cancelled_statement_gives_its_snapshot_up() {
    let world = World::start_changed(|cluster| {
        for site in cluster.sites().keys() {
            let path = cluster.config_of(ProcessName::Site(*site));
            let config = SiteConfig::read(&path).expect("it was written");
            SiteConfig { snapshot_rate: 1, ..config }.write(&path).expect("the folder can be written");
        }
    });
    let mut client = world.connect(1);
    make_tables(&mut client);
    world.write_rows("wide", 20_000, 1_000);
    let take = |name: &str| {
        let (mut taker, statement) = (world.connect(1), format!("SELECT raid_snapshot('{name}')"));
        let cancel = taker.cancel_token();
        (cancel, std::thread::spawn(move || taker.batch_execute(&statement)))
    };
    let ended = |taker: std::thread::JoinHandle<Result<(), postgres::Error>>| {
        let error = taker.join().expect("no panic").expect_err("it is cancelled");
        error.code().map(|code| code.code().to_owned()).unwrap_or_else(|| panic!("{error}"))
    };
    let mut bytes = || -> Option<i64> {
        let progress = client.query("SELECT bytes FROM raid.snapshot_progress", &[]).expect("the table");
        progress.first().map(|row| row.get(0))
    };
    let (cancel_first, first) = take("first");
    eventually("its first bytes", || bytes().is_some_and(|bytes| bytes > 0));
    let (cancel_second, second) = take("second");
    let mut seen = world.connect(1);
    eventually("the second to wait", || {
        let row = seen.query_one("SELECT count(*) FROM raid.snapshot_progress WHERE name = 'first'", &[]);
        assert_eq!(row.expect("a count").get::<_, i64>(0), 1, "the first is slow");
        cancel_second.cancel_query(postgres::NoTls).is_ok() && second.is_finished()
    });
    assert_eq!(ended(second), "57014");
    cancel_first.cancel_query(postgres::NoTls).expect("the site answers");
    assert_eq!(ended(first), "57014");
    eventually("nothing to be taken", || bytes().is_none());
    let folder = world.running.cluster().folder().join("snapshots");
    eventually("nothing to be left", || std::fs::read_dir(&folder).is_ok_and(|entries| entries.count() == 0));
    assert_eq!(world.stop(), Vec::<String>::new());
}
