//! Clusters as they were at one moment: a snapshot, and the archive of a site's log behind it.

use crate::harness::{World, eventually};
use crate::snapshots::{Writer, fails, make_tables, succeeds, text};
use local_cluster::ClusterDirectory;
use local_cluster::process::ProcessName;
use site::SiteConfig;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_micros() as u64
}

/// All sites archive their logs here.
pub fn archive_to(cluster: &ClusterDirectory, archive: &Path) {
    for site in cluster.sites().keys() {
        let path = cluster.config_of(ProcessName::Site(*site));
        let config = SiteConfig::read(&path).expect("it was written");
        SiteConfig { log_archive: Some(archive.to_owned()), ..config }.write(&path).expect("the folder can be written");
    }
}

/// What a moment must have: single rows up to this one, and what others had been told of, and had begun, around it.
struct Moment {
    at_micros: u64,
    rows: i64,
    between: Vec<(u16, i64, i64)>,
}

/// How many rows a cluster has that was restored to a moment.
fn restored(snapshot: &Path, archive: &Path, to: &[&str], check: impl FnOnce(&mut postgres::Client)) {
    let new = tempfile::tempdir().expect("a temporary folder");
    let data = new.path().join("restored");
    let mut arguments = vec!["restore", "--from", text(snapshot), "--data", text(&data), "--port", "0"];
    arguments.extend(["--archive", text(archive)]);
    arguments.extend(to);
    succeeds(&arguments);
    let mut world = World::start_made(new, &data);
    world.wait_until_repaired();
    check(&mut world.connect(2));
    assert_eq!(world.stop(), Vec::<String>::new());
}

fn count(client: &mut postgres::Client) -> i64 {
    client.query_one("SELECT count(*) FROM single", &[]).expect("a count").get(0)
}

/// A restore must stop exactly at the moment, whatever else was going on, also when the site's process was killed in between; and say so when nobody
/// can know how the instance was.
#[test]
fn a_cluster_is_restored_to_a_moment() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (archive, snapshots) = (place.path().join("archive"), place.path().join("snapshots"));
    let mut world = World::start_changed(|cluster| archive_to(cluster, &archive));
    let mut client = world.connect(1);
    make_tables(&mut client);
    client.batch_execute("CREATE TABLE single (n int PRIMARY KEY)").expect("a table");
    eventually("an archive at every site", || {
        world.running.status(1).is_ok_and(|status| status.archive.is_some_and(|archive| archive.number.is_some()))
    });
    let data = world.running.cluster().folder().to_owned();
    succeeds(&["snapshot", "take", "base", "--site", "1", "--data", text(&data), "--to", text(&snapshots)]);
    let base = snapshots.join("base");
    let writers = [Writer::start_at(world.sql(2), 2), Writer::start_at(world.sql(3), 3)];
    let mut moments: Vec<Moment> = Vec::new();
    let mut rows = 0;
    let insert = |world: &World, rows: &mut i64| {
        for _ in 0..5 {
            *rows += 1;
            let statement = format!("INSERT INTO single VALUES ({rows})");
            // The set of sites may change meanwhile, and the answer be lost: then the row is there at the next try, or is not.
            eventually("a row", || match world.connect(2).batch_execute(&statement) {
                Ok(()) => true,
                Err(error) => error.code().is_some_and(|code| code.code() == "23505"),
            });
        }
    };
    let mut note = |rows: i64| {
        let before: Vec<i64> = writers.iter().map(Writer::acknowledged).collect();
        let at_micros = now_micros();
        let between = writers.iter().zip(before).map(|(writer, before)| (writer.site(), before, writer.begun()));
        moments.push(Moment { at_micros, rows, between: between.collect() });
    };
    insert(&world, &mut rows);
    note(rows);
    insert(&world, &mut rows);
    note(rows);
    // What comes behind the moment tells that the site was there.
    insert(&world, &mut rows);
    let before_death = now_micros();
    eventually("the archive to have what came behind the snapshot", || {
        world
            .running
            .status(1)
            .is_ok_and(|status| status.archive.is_some_and(|archive| archive.known_to_us > before_death))
    });
    // The site that archives dies, misses some, and comes back.
    world.kill(1);
    writers[0].wait_for(20);
    insert(&world, &mut rows);
    let while_out = now_micros();
    insert(&world, &mut rows);
    world.start_again(ProcessName::Site(1));
    world.wait_until_repaired();
    insert(&world, &mut rows);
    // Known to the archive: the site has been current for a while.
    let current_from = now_micros();
    eventually("the archive to go on", || {
        world
            .running
            .status(1)
            .is_ok_and(|status| status.archive.is_some_and(|archive| archive.known_to_us > current_from))
    });
    insert(&world, &mut rows);
    note(rows);
    insert(&world, &mut rows);
    let last = now_micros();
    drop(writers);
    insert(&world, &mut rows);
    eventually("all to be archived", || {
        world.running.status(1).is_ok_and(|status| {
            status.archive.is_some_and(|archive| archive.known_to_us > last + 1_000_000 && archive.left == 0)
        })
    });
    assert_eq!(world.stop(), Vec::<String>::new());
    for moment in &moments {
        let to = moment.at_micros.to_string();
        restored(&base, &archive, &["--to-timestamp", &to], |client| {
            assert_eq!(count(client), moment.rows, "at {to}");
            let mut total = 0;
            for &(writer, at_least, at_most) in &moment.between {
                let row = client
                    .query_one(
                        "SELECT count(*), COALESCE(max(n), 0)::bigint FROM rows WHERE site = $1",
                        &[&i32::from(writer)],
                    )
                    .expect("a count");
                let (count, highest): (i64, i64) = (row.get(0), row.get(1));
                assert_eq!(count, highest, "rows of writer {writer} without a gap");
                assert!((at_least..=at_most).contains(&count), "{count} of {at_least} to {at_most}");
                total += count;
            }
            let balance: i32 = client.query_one("SELECT v FROM balances WHERE k = 1", &[]).expect("a row").get(0);
            let sum: i64 = client.query_one("SELECT sum(v) FROM balances", &[]).expect("a sum").get(0);
            assert_eq!((i64::from(balance), sum), (total, 0), "books balance");
        });
    }
    restored(&base, &archive, &["--to-time", "latest"], |client| assert_eq!(count(client), rows));
    let refused = |to: &[&str], part: &str| {
        let new = place.path().join("refused");
        let mut arguments = vec!["restore", "--from", text(&base), "--data", text(&new), "--port", "0"];
        arguments.extend(["--archive", text(&archive)]);
        arguments.extend(to);
        fails(&arguments, part);
        let _ = std::fs::remove_dir_all(&new);
    };
    refused(&["--to-timestamp", &while_out.to_string()], "no current copy");
    refused(&["--to-timestamp", &(last + 3_600_000_000).to_string()], "does not reach so far");
    refused(&["--to-time", "2020-01-01 00:00:00+00"], "take an earlier snapshot");
    refused(&["--to-time", "yesterday-ish"], "is no moment");
    // A gap is named.
    let folder = std::fs::read_dir(&archive)
        .expect("archives")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| text(path).ends_with("site-1"))
        .expect("that of site 1");
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("files").flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(files.len() > 1, "each process has its own: {files:?}");
    std::fs::remove_file(&files[0]).expect("it is there");
    refused(&["--to-time", "latest"], "lacks the log from");
}
