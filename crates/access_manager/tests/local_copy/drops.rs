//! Dropped storages and copies that are not whole: what others are given of one, and whose drop counts.

use crate::site::{Logged, Site, TABLE, at, epoch_logged, item, key, stale_items, writes};
use access_manager::StoreSettings;
use access_manager::limits::TOMBSTONE_RETENTION;
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest, StaleSet};
use messages::limits::{MILLISECOND, SECOND};
use messages::planted::{Bug, Planted};
use messages::{EpochNumber, History, KeyRange, Message, Row, Timestamp};

fn whole_table() -> StaleSet {
    StaleSet { storages: [TABLE].into(), ..StaleSet::default() }
}

fn everything() -> StaleSet {
    StaleSet { everything: true, ..StaleSet::default() }
}

fn drop_of_table() -> History {
    History { drops: vec![TABLE], ..History::default() }
}

/// One row at 10, and a snapshot at 15 that may read it, however long.
fn with_a_row(settings: StoreSettings) -> Site {
    let mut site = Site::new(settings);
    site.install(10, writes(&[("a", Some("a"))]));
    site.snapshots(vec![at(15)], at(15));
    site
}

/// All of the table, as a copy brings it.
fn brought(rows: &[&'static str]) -> Copies {
    let row = |text: &&'static str| (key(text), at(10), Some(Row::from_static(text.as_bytes())));
    Copies::Range { range: KeyRange::whole(TABLE), rows: rows.iter().map(row).collect() }
}

fn copied(site: &mut Site, wanted: CopyRequest, epoch: u64) -> Copies {
    match site.ask(AccessRequest::ReadCopies { tag: 1, wanted, epoch: EpochNumber(epoch) }) {
        AccessReply::Copies { copies, .. } => (*copies).clone(),
        other => panic!("copies, not {other:?}"),
    }
}

/// Whoever was away when a storage was dropped must not be given the rows that are kept for snapshots: nobody would ever drop them there. Who has
/// taken part since will drop it as well, and may be given what its own snapshots still read.
#[test]
fn what_was_dropped_before_the_epoch_is_not_copied() {
    let mut up = with_a_row(StoreSettings::default());
    up.install(20, drop_of_table());
    let (range, items) =
        (CopyRequest::Range { from: Box::new(KeyRange::whole(TABLE)) }, CopyRequest::Items(vec![item("a")]));
    assert_eq!(copied(&mut up, range.clone(), 1), brought(&["a"]));
    assert_eq!(copied(&mut up, CopyRequest::Storages, 1), Copies::Storages(vec![TABLE]));
    for is_posted in [false, true] {
        if is_posted {
            up.disk_held = true;
            up.snapshots(Vec::new(), at(30));
            up.send(Message::Access(AccessRequest::Post { tag: 9 }));
        }
        assert_eq!(copied(&mut up, range.clone(), 2), brought(&[]));
        assert_eq!(copied(&mut up, items.clone(), 2), Copies::Items(vec![(item("a"), Timestamp::ZERO, None)]));
        assert_eq!(copied(&mut up, CopyRequest::Storages, 2), Copies::Storages(vec![]));
    }
    assert_eq!(up.row("a").map(|(clock, _)| clock), Some(10), "its rows were there all the time");
}

/// A site whose own log has lost a storage that others have must name it all the same: whoever comes with an empty copy would be left without it, and
/// nobody would find that it was left behind.
#[test]
fn a_storage_that_is_still_to_be_copied_is_listed() {
    let mut up = Site::new(StoreSettings::default());
    assert_eq!(copied(&mut up, CopyRequest::Storages, 2), Copies::Storages(vec![]));
    up.mark_stale(stale_items(&["a"]));
    assert_eq!(copied(&mut up, CopyRequest::Storages, 2), Copies::Storages(vec![TABLE]));
    up.copies(Copies::Items(vec![(item("a"), at(10), None)]));
    assert_eq!(copied(&mut up, CopyRequest::Storages, 2), Copies::Storages(vec![TABLE]), "it has a deletion of it");
}

/// Storages that were dropped while a site was away must not stay there for ever by their name, nor by deletions in them. But until the log has on
/// disk that they were stale, all may be as it was before: then they must still be in the store.
#[test]
fn nothing_stays_of_what_nobody_has() {
    let none = Copies::Storages(vec![]);
    let listed = |site: &mut Site| copied(site, CopyRequest::Storages, 0);
    let gone = |site: &mut Site| {
        site.copies(Copies::Range { range: KeyRange::whole(TABLE), rows: vec![] });
        assert_eq!(site.row("a"), None);
    };
    let mut site = Site::new(StoreSettings::default());
    site.install(10, writes(&[("a", Some("a")), ("b", None)]));
    site.post();
    let start = site.log.len();
    site.log.push(Logged::Record(epoch_logged(whole_table())));
    site.mark_stale(whole_table());
    gone(&mut site);
    let end = site.log.len();
    site.restart(usize::MAX, end..end);
    assert_eq!(site.row("a").map(|(clock, _)| clock), Some(10), "as if it had never been stale");
    site.restart(usize::MAX, start..end);
    site.post();
    assert_eq!((listed(&mut site), site.row("a")), (none.clone(), None));
    site.mark_stale(stale_items(&["a"]));
    site.copies(Copies::Items(vec![(item("a"), Timestamp::ZERO, None)]));
    site.post();
    assert_eq!(listed(&mut site), none);
    // Whatever is written since is kept.
    site.install(40, writes(&[("a", Some("again"))]));
    site.mark_stale(stale_items(&["b"]));
    site.copies(Copies::Items(vec![(item("b"), Timestamp::ZERO, None)]));
    site.post();
    assert_eq!(site.row("a").map(|(clock, _)| clock), Some(40));
    site.mark_stale(whole_table());
    gone(&mut site);
    site.install(50, writes(&[("a", Some("later"))]));
    site.post();
    assert_eq!(site.row("a").map(|(clock, _)| clock), Some(50));
}

/// A drop that only this site has known must not take what the others have brought it back: neither when it waits for a snapshot, nor when a
/// post is about to carry it out, nor when the store remembers it over a restart.
#[test]
fn a_void_drop_is_not_carried_out() {
    for stale in [whole_table(), everything()] {
        let again = |site: &mut Site| {
            if stale.everything {
                site.copies(Copies::Storages(vec![TABLE]));
            }
            site.copies(brought(&["a"]));
            site.snapshots(Vec::new(), at(30));
            site.post();
            site.post();
            site.row("a").map(|(clock, _)| clock)
        };
        let mut waits = with_a_row(StoreSettings::default());
        waits.install(20, drop_of_table());
        waits.mark_stale(stale.clone());
        assert_eq!(again(&mut waits), Some(10));

        let mut remembers = with_a_row(StoreSettings::default());
        remembers.install(20, drop_of_table());
        remembers.post();
        let start = remembers.log.len();
        remembers.log.push(Logged::Record(epoch_logged(stale.clone())));
        remembers.restart(usize::MAX, start..start + 1);
        assert_eq!(again(&mut remembers), Some(10));

        let mut begun = with_a_row(StoreSettings::default());
        begun.install(20, drop_of_table());
        begun.snapshots(Vec::new(), at(30));
        begun.disk_held = true;
        begun.send(Message::Access(AccessRequest::Post { tag: 8 }));
        begun.mark_stale(stale.clone());
        begun.disk_held = false;
        begun.sync();
        while begun.tick(1_000_000).is_empty() {}
        assert_eq!(again(&mut begun), Some(10));
    }
    let mut planted =
        with_a_row(StoreSettings { planted: Planted::only(Bug::VoidDropStands), ..StoreSettings::default() });
    planted.install(20, drop_of_table());
    planted.mark_stale(whole_table());
    planted.copies(brought(&["a"]));
    planted.snapshots(Vec::new(), at(30));
    planted.post();
    assert_eq!(planted.row("a"), None, "the test would not notice");
}

/// A site that takes part in the drop of a storage that is stale there can learn no more what the storage held: whoever reads below the drop must
/// be sent away, not shown what is left, and copies that come late must not bring the storage back.
#[test]
fn what_is_stale_when_it_is_dropped_is_not_read_any_more() {
    for stale in [stale_items(&["b"]), whole_table(), everything()] {
        let mut site = with_a_row(StoreSettings::default());
        site.mark_stale(stale.clone());
        assert!(matches!(site.read("b", Some(at(15))), AccessReply::Stale { .. }));
        site.install(20, drop_of_table());
        for text in ["a", "b"] {
            let read = site.read(text, Some(at(15)));
            assert!(matches!(read, AccessReply::SnapshotGone { given_up: false, .. }), "{text}: {read:?}");
        }
        assert_eq!(site.scan(KeyRange::whole(TABLE), Some(at(15)), 10, false), None);
        site.copies(Copies::Storages(vec![TABLE]));
        site.copies(brought(&["a", "b"]));
        let next = site.ask(AccessRequest::NextStale { tag: 1, limit: 10, wanted: None });
        assert!(matches!(next, AccessReply::StaleBatch { wanted: None, left: 0, .. }), "{next:?}");
        site.snapshots(Vec::new(), at(30));
        site.post();
        site.copies(brought(&["a", "b"]));
        assert_eq!(site.scan(KeyRange::whole(TABLE), None, 10, false), Some(vec![]));
        assert_eq!(access_manager::Store::storages(&site.store), Ok(vec![]));
    }
}

/// What was deleted, written again and deleted again must be known as deleted for the whole time: a copier may not have learnt of it before.
#[test]
fn a_row_that_is_deleted_twice_stays_known_as_such() {
    let mut site = Site::new(StoreSettings::default());
    let mut clock = 10;
    let mut delete = |site: &mut Site| {
        site.install(clock, writes(&[("a", Some("a"))]));
        site.install(clock + 1, writes(&[("a", None)]));
        site.oldest(clock + 2);
        site.post();
        clock += 10;
    };
    delete(&mut site);
    site.tick(TOMBSTONE_RETENTION / 2);
    delete(&mut site);
    site.tick(TOMBSTONE_RETENTION / 2);
    let known = |site: &mut Site| copied(site, CopyRequest::Items(vec![item("a")]), 1);
    assert_eq!(known(&mut site), Copies::Items(vec![(item("a"), at(21), None)]), "only the first one's time has come");
    site.tick(TOMBSTONE_RETENTION / 2 + SECOND);
    assert_eq!(known(&mut site), Copies::Items(vec![(item("a"), Timestamp::ZERO, None)]));
}

/// What is on its way to the store must not leave memory before it is there, however short memory is.
#[test]
fn what_the_store_has_not_written_stays() {
    for (planted, expected) in [(Planted::none(), Some(10)), (Planted::only(Bug::EvictedUnwritten), None)] {
        let mut site = Site::new(StoreSettings { memory_bytes_max: 0, planted, ..StoreSettings::default() });
        site.install(10, writes(&[("a", Some("a"))]));
        site.oldest(20);
        site.send(Message::Access(AccessRequest::Post { tag: 1 }));
        site.tick(MILLISECOND);
        site.store.hold(true);
        site.tick(MILLISECOND);
        // A message, with which it is gathered.
        assert_eq!(site.row("b"), None);
        for _ in 0..5 {
            site.tick(MILLISECOND);
        }
        assert_eq!(site.row("a").map(|(clock, _)| clock), expected);
        site.store.hold(false);
        for _ in 0..5 {
            site.tick(MILLISECOND);
        }
        assert!(site.manager.tally().all < 100, "memory is given back then: {:?}", site.manager.tally());
        assert_eq!(site.row("a").map(|(clock, _)| clock), Some(10));
    }
}
