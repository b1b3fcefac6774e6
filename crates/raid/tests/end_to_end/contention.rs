//! What clients are told of lost conflicts: each error names the row and says what to do, and `raid.contention` counts.

use crate::harness::{World, eventually};
use laboratory::debit_credit::explain;
use local_cluster::ClusterWish;
use postgres::error::DbError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

fn refused<T>(result: Result<T, postgres::Error>) -> DbError {
    let error = result.err().expect("it has lost a conflict");
    error.as_db_error().unwrap_or_else(|| panic!("{}", explain(&error))).clone()
}

/// Whoever has to make an application retry less could not find out where it loses.
#[test]
fn a_lost_conflict_names_its_row_and_is_counted() {
    let world = World::start();
    let (mut one, mut other) = (world.connect(1), world.connect(1));
    one.batch_execute("CREATE TABLE seat (row text, number int, taken_by text, PRIMARY KEY (row, number))").unwrap();
    one.batch_execute("INSERT INTO seat VALUES ('A', 7, NULL), ('A', 8, NULL)").unwrap();
    // Each holds what the other wants: a deadlock under locking, a stale read without.
    let mut lost = None;
    eventually("one of two that cross loses", || {
        for (client, number) in [(&mut one, 7), (&mut other, 8)] {
            client.batch_execute("BEGIN").unwrap();
            client.execute("UPDATE seat SET taken_by = 'me' WHERE row = 'A' AND number = $1", &[&number]).unwrap();
        }
        let ends = std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                other.execute("UPDATE seat SET taken_by = 'me' WHERE row = 'A' AND number = 7", &[])?;
                other.batch_execute("COMMIT")
            });
            let first = one
                .execute("UPDATE seat SET taken_by = 'me' WHERE row = 'A' AND number = 8", &[])
                .and_then(|_| one.batch_execute("COMMIT"));
            [first, second.join().unwrap()]
        });
        for client in [&mut one, &mut other] {
            client.batch_execute("ROLLBACK").unwrap();
        }
        lost = ends.into_iter().find(Result::is_err);
        lost.is_some()
    });
    let error = refused(lost.expect("one has lost"));
    assert!(["40001", "40P01"].contains(&error.code().code()), "{error:?}");
    let detail = error.detail().expect("there is more to say");
    assert!(detail.contains("in table \"seat\", key (row, number)=(A, "), "{detail}");
    assert!(error.hint().is_some_and(|hint| hint.contains("retried")), "{:?}", error.hint());
    let counted = "SELECT cause, table_name, index_name, key, count, count_error_max, waited_ms, last_seen IS NOT NULL
                   FROM raid.contention WHERE table_name = 'seat' AND cause <> 'long wait' ORDER BY count DESC";
    let rows = one.query(counted, &[]).unwrap_or_else(|error| panic!("{}", explain(&error)));
    let row = rows.first().expect("it was counted");
    let key: String = row.get("key");
    assert!(key.starts_with("(row, number)=(A, "), "{key}");
    assert_eq!((row.get::<_, Option<String>>("index_name"), row.get::<_, i64>("count_error_max")), (None, 0));
    assert!(row.get::<_, i64>("count") >= 1 && row.get::<_, bool>(7));
    let elsewhere = world.connect(2).query("SELECT * FROM raid.contention", &[]).expect("it can be read anywhere");
    assert!(elsewhere.iter().all(|row| row.get::<_, String>("cause") != "deadlock"), "each site counts its own");
    let written = refused(one.execute("DELETE FROM raid.contention", &[]));
    assert!(written.code().code() != "XX000", "{written:?}");
}

/// A number that is given out twice, or one that is lost, would mean that programs which commit together do not see each other; if they did
/// not commit together, a row that all want would cost each of them a round of messages.
#[test]
fn a_row_that_all_want_gives_each_another_number() {
    const CLIENTS: usize = 12;
    const EACH: usize = 60;
    let mut world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE ticket (name text PRIMARY KEY, next bigint)").unwrap();
    client.batch_execute("INSERT INTO ticket VALUES ('all', 0)").unwrap();
    let clients: Vec<_> = (0..CLIENTS).map(|number| world.connect(if number % 4 == 0 { 2 } else { 1 })).collect();
    let draw = |mut client: postgres::Client| -> Vec<i64> {
        let next = client.prepare("UPDATE ticket SET next = next + 1 WHERE name = 'all' RETURNING next").unwrap();
        let mut drawn = Vec::new();
        while drawn.len() < EACH {
            match client.query_one(&next, &[]) {
                Ok(row) => drawn.push(row.get(0)),
                // It was tried again for long, and nothing of it remains.
                Err(error) => assert_eq!(refused::<()>(Err(error)).code().code(), "40001"),
            }
        }
        drawn
    };
    let mut drawn: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(|| draw(client))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a client ends well")).collect()
    });
    drawn.sort_unstable();
    assert_eq!(drawn, (1..=(CLIENTS * EACH) as i64).collect::<Vec<_>>());
    world.wait("some have committed with others", |statuses| {
        let together = statuses.values().map(|status| status.commits.committed_together);
        together.sum::<u64>() > 0
    });
}

/// A reader that stays for long must end with an error that says why, not with rows of another moment, nor hold up who writes.
#[test]
fn a_reader_that_costs_too_much_memory_is_told_so() {
    let world = World::start_as(ClusterWish { memory_mb: Some(4), ..ClusterWish::default() });
    let (mut reader, mut writer) = (world.connect(1), world.connect(1));
    writer.batch_execute("CREATE TABLE note (id int PRIMARY KEY, body text)").unwrap();
    let parts: Vec<(i32, i32)> = (0..12).map(|part| (250 * part, 250 * part + 249)).collect();
    for (low, high) in &parts {
        let fill = format!("INSERT INTO note SELECT n, repeat('x', 500) FROM generate_series({low}, {high}) AS n");
        writer.batch_execute(&fill).unwrap_or_else(|error| panic!("{}", explain(&error)));
    }
    reader.batch_execute("BEGIN READ ONLY").unwrap();
    let first: String = reader.query_one("SELECT body FROM note WHERE id = 1", &[]).unwrap().get(0);
    let mut round = 0;
    let mut error = None;
    eventually("the reader is given up", || {
        round += 1;
        let body = format!("{round}").repeat(300);
        for (low, high) in &parts {
            let updated = writer.execute("UPDATE note SET body = $1 WHERE id BETWEEN $2 AND $3", &[&body, low, high]);
            updated.unwrap_or_else(|error| panic!("{}", explain(&error)));
        }
        match reader.query_one("SELECT body FROM note WHERE id = 1", &[]) {
            Ok(row) => assert_eq!(row.get::<_, String>(0), first, "a snapshot does not move"),
            Err(refusal) => error = Some(refusal),
        }
        error.is_some()
    });
    let error = refused::<()>(Err(error.expect("it was refused")));
    assert_eq!(error.code().code(), "72000", "{error:?}");
    assert!(error.detail().is_some_and(|detail| detail.contains("took more memory")), "{error:?}");
    assert!(error.hint().is_some_and(|hint| hint.contains("memory_mb")), "{error:?}");
    reader.batch_execute("ROLLBACK").unwrap();
    assert_eq!(reader.query_one("SELECT count(*) FROM note", &[]).unwrap().get::<_, i64>(0), 3_000);
}

/// An index that is begun again whenever somebody writes would never be there; and one that misses what was written meanwhile would hide rows.
#[test]
fn an_index_is_made_at_once_while_others_write() {
    const ROWS: i32 = 3_000;
    let world = World::start();
    let mut client = world.connect(1);
    client.batch_execute("CREATE TABLE hot (k int PRIMARY KEY, v int)").unwrap();
    client.batch_execute(&format!("INSERT INTO hot SELECT g, 0 FROM generate_series(1, {ROWS}) g")).unwrap();
    let stop = AtomicBool::new(false);
    let writers: Vec<_> = [1, 1, 2, 2, 3, 3].into_iter().map(|site| world.connect(site)).collect();
    let write = |number: i32, mut client: postgres::Client| {
        let (mut written, mut at) = (0, number);
        while !stop.load(Ordering::SeqCst) {
            at = (at * 31 + 7) % ROWS + 1;
            match client.execute("UPDATE hot SET v = (v + 1) % 20 WHERE k = $1", &[&at]) {
                Ok(_) => written += 1,
                Err(error) => assert_eq!(refused::<()>(Err(error)).code().code(), "40001"),
            }
        }
        written
    };
    std::thread::scope(|scope| {
        let write = &write;
        let writing: Vec<_> =
            (1..).zip(writers).map(|(number, client)| scope.spawn(move || write(number, client))).collect();
        for time in 1..=10 {
            let concurrently = if time % 2 == 0 { "CONCURRENTLY" } else { "" };
            if time > 1 {
                let dropped = client.batch_execute(&format!("DROP INDEX {concurrently} hot_v"));
                dropped.unwrap_or_else(|error| panic!("drop {time}: {}", explain(&error)));
            }
            let begun = Instant::now();
            let made = client.batch_execute(&format!("CREATE INDEX {concurrently} hot_v ON hot (v)"));
            made.unwrap_or_else(|error| panic!("index {time}: {}", explain(&error)));
            eprintln!("index {time} after {} ms", begun.elapsed().as_millis());
        }
        stop.store(true, Ordering::SeqCst);
        let written: i32 = writing.into_iter().map(|writer| writer.join().expect("no other error")).sum();
        assert!(written > 0, "somebody must have written");
    });
    for site in 1..=3 {
        let mut client = world.connect(site);
        let mut keys = |condition: &str, value: i32| -> Vec<i32> {
            let rows = client.query(&format!("SELECT k FROM hot WHERE {condition} = $1 ORDER BY k"), &[&value]);
            rows.unwrap_or_else(|error| panic!("{}", explain(&error))).iter().map(|row| row.get(0)).collect()
        };
        for value in 0..20 {
            assert_eq!(keys("v", value), keys("v + 0", value), "by the index and without it, at site {site}");
        }
    }
    for (statement, name) in [("CREATE", "ON hot (v)"), ("DROP", "")] {
        client.batch_execute("BEGIN").unwrap();
        let error = refused(client.batch_execute(&format!("{statement} INDEX CONCURRENTLY hot_v {name}")));
        assert_eq!(error.code().code(), "25001", "{error:?}");
        assert_eq!(error.message(), format!("{statement} INDEX CONCURRENTLY cannot run inside a transaction block"));
        client.batch_execute("ROLLBACK").unwrap();
    }
}
