//! What memory holds: rows that are not in the store yet, and rows that come from it.

use crate::site::{Site, range, writes};
use access_manager::StoreSettings;
use messages::Message;
use messages::access::{AccessReply, AccessRequest};
use messages::limits::MILLISECOND;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// What was told of room in one tick.
fn room(site: &mut Site) -> Vec<u64> {
    let said = site.tick(MILLISECOND);
    let room = said.into_iter().filter_map(|message| match message {
        Message::AccessReply(AccessReply::Room { bytes }) => Some(bytes),
        _ => None,
    });
    room.collect()
}

/// Rows that wait for the store must be counted until it has them, else memory fills with them; and no longer, else nobody writes any more.
#[test]
fn room_ends_with_rows_that_wait_for_the_store() {
    let mut site = Site::new(StoreSettings { unposted_bytes_max: 2_000, ..StoreSettings::default() });
    let mut last = u64::MAX;
    for (clock, name) in NAMES.into_iter().enumerate() {
        site.install(10 + clock as u64, writes(&[(name, Some("a row of some bytes"))]));
        last = room(&mut site).last().copied().unwrap_or(last);
        assert_eq!(last < u64::MAX, site.manager.tally().unposted > 1_000, "{last} after {name}");
    }
    assert!(last < 1_000 && room(&mut site).is_empty(), "it is told when it changes: {last}");
    site.post();
    assert_eq!(site.manager.tally().unposted, 0);
    assert!(site.manager.tally().all > 1_000, "they are still in memory");
}

/// A row that is written again while it waits counts once, and one whose storage is dropped no longer.
#[test]
fn what_waits_is_counted_once() {
    let mut site = Site::new(StoreSettings { unposted_bytes_max: 2_000, ..StoreSettings::default() });
    site.install(10, writes(&[("a", Some("row"))]));
    let once = site.manager.tally().unposted;
    site.oldest(11);
    site.install(12, writes(&[("a", Some("ROW"))]));
    site.oldest(13);
    site.tick(MILLISECOND);
    assert_eq!(site.manager.tally().unposted, once);
    site.post();
    assert_eq!(site.manager.tally().unposted, 0);
}

/// While much waits the post does not rest: writers wait for it.
#[test]
fn a_post_that_is_urgent_does_not_rest() {
    let ticks = |unposted_bytes_max| {
        let mut site = Site::new(StoreSettings { unposted_bytes_max, ..StoreSettings::default() });
        for (clock, name) in NAMES.into_iter().enumerate() {
            site.install(10 + clock as u64, writes(&[(name, Some("row"))]));
        }
        let begun = site.boot;
        site.send(Message::Access(AccessRequest::Post { tag: 9 }));
        // Which the post under way does not bring to the store.
        site.install(30, writes(&[("later", Some("row"))]));
        // The store is handed its write, which it takes long for.
        site.tick(MILLISECOND);
        site.store.hold(true);
        for _ in 0..50 {
            site.tick(MILLISECOND);
        }
        site.store.hold(false);
        let is_posted =
            |said: &[Message]| said.iter().any(|said| matches!(said, Message::AccessReply(AccessReply::Posted { .. })));
        while !is_posted(&site.tick(MILLISECOND)) {
            assert!(site.boot < begun + 1_000 * MILLISECOND, "a post ends");
        }
        site.boot - begun
    };
    let (urgent, leisurely) = (ticks(100), ticks(1 << 20));
    assert!(urgent + 50 * MILLISECOND < leisurely, "{urgent} ns and {leisurely} ns");
}

/// A scan of a table that memory cannot hold must not fill memory, however few ticks there are meanwhile.
#[test]
fn a_scan_of_more_than_memory_keeps_to_its_bound() {
    const ROWS: u64 = 4_000;
    let mut site = Site::new(StoreSettings { memory_bytes_max: 20_000, ..StoreSettings::default() });
    for number in 0..ROWS {
        let name = format!("{number:06}");
        site.install(10 + number, writes(&[(&name, Some("row"))]));
    }
    site.oldest(10 + ROWS);
    site.post();
    for round in 0..50 {
        site.tick(MILLISECOND);
        assert!(round < 49 || site.manager.tally().all <= 20_000, "{} bytes", site.manager.tally().all);
    }
    let mut most = 0;
    for first in (0..ROWS).step_by(100) {
        let (low, high) = (format!("{first:06}"), format!("{:06}", first + 100));
        let rows = site.scan(range(&low, Some(&high)), None, 1_000, false).expect("nothing is stale");
        assert_eq!(rows.len(), 100);
        most = most.max(site.manager.tally().all);
    }
    assert!(most <= 2 * 20_000, "{most} bytes of rows in memory, of 20,000");
}
