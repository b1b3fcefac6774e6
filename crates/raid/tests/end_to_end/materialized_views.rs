//! Materialized views at several sites: who reads one while it is refreshed.

use crate::harness::World;
use postgres::error::SqlState;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often it is refreshed.
const REFRESHES: i64 = 20;

/// If this fails, a reader finds a view empty that is being refreshed, or finds it older than before, or is told of an error that it can do nothing about.
#[test]
fn readers_of_all_sites_see_a_refresh_whole() {
    let world = World::start();
    let mut owner = world.connect(1);
    owner
        .batch_execute(
            "CREATE TABLE sale (id int PRIMARY KEY, n int NOT NULL); INSERT INTO sale SELECT g, 1 FROM generate_series(1, 100) g; \
             CREATE MATERIALIZED VIEW total AS SELECT id, n FROM sale; CREATE INDEX total_n ON total (n)",
        )
        .expect("a view");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (1..=3)
            .map(|site| {
                let (world, over) = (&world, &over);
                scope.spawn(move || {
                    let mut client = world.connect(site);
                    let (mut last, mut read) = (0_i64, 0_u64);
                    while !over.load(Ordering::SeqCst) {
                        match client.query_one("SELECT count(*), min(n), max(n) FROM total", &[]) {
                            Ok(row) => {
                                let (count, low, high): (i64, i32, i32) = (row.get(0), row.get(1), row.get(2));
                                assert_eq!((count, low), (100, high), "rows of two refreshes at site {site}");
                                assert!(i64::from(low) >= last, "site {site} went back from {last} to {low}");
                                (last, read) = (i64::from(low), read + 1);
                            }
                            Err(error) => {
                                assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error}");
                            }
                        }
                    }
                    read
                })
            })
            .collect();
        for refresh in 0..REFRESHES {
            owner.batch_execute("UPDATE sale SET n = n + 1").expect("rows change");
            let statement = match refresh % 2 {
                0 => "REFRESH MATERIALIZED VIEW total",
                _ => "BEGIN; REFRESH MATERIALIZED VIEW total; COMMIT",
            };
            owner.batch_execute(statement).expect("a refresh");
        }
        over.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().expect("a reader was disturbed") > 0);
        }
    });
    for site in 1..=3 {
        let row = world.connect(site).query_one("SELECT min(n), max(n) FROM total", &[]).expect("it is there");
        assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (REFRESHES as i32 + 1, REFRESHES as i32 + 1));
    }
}
