//! Stale copies: what is refused, what refreshes it, what copiers bring, and what a restart finds again.

use crate::site::{Logged, Site, TABLE, at, epoch_logged, item, key, range, stale_items, writes};
use access_manager::limits::COPY_WORK_MAX;
use access_manager::{StoreError, StoreSettings};
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest, StaleSet};
use messages::limits::MILLISECOND;
use messages::log_record::LogRecord;
use messages::planted::{Bug, Planted};
use messages::replication::SiteNotice;
use messages::{
    ConflictKind, EpochNumber, History, Item, ItemRead, KeyRange, Message, RangeRead, Row, ServerKind, TableId,
    Timestamp,
};
use messages::{Key, Outbox, Server, Write};

fn planted(bug: Bug) -> StoreSettings {
    StoreSettings { planted: Planted::only(bug), ..StoreSettings::default() }
}

fn row(text: &'static str) -> Option<Row> {
    Some(Row::from_static(text.as_bytes()))
}

fn whole_table() -> StaleSet {
    StaleSet { storages: [TABLE].into(), ..StaleSet::default() }
}

fn everything() -> StaleSet {
    StaleSet { everything: true, ..StaleSet::default() }
}

fn next_stale(site: &mut Site, wanted: Option<KeyRange>) -> (Option<CopyRequest>, u64) {
    match site.ask(AccessRequest::NextStale { tag: 1, limit: 10, wanted: wanted.map(Box::new) }) {
        AccessReply::StaleBatch { wanted, left, .. } => (wanted, left),
        other => panic!("a batch, not {other:?}"),
    }
}

fn refreshed(said: &[(ServerKind, Message)]) -> (Vec<Item>, Vec<TableId>) {
    let told = said.iter().find_map(|(to, message)| match message {
        Message::AccessReply(AccessReply::Refreshed { items, storages }) => {
            assert_eq!(*to, ServerKind::ReplicationController);
            Some((items.clone(), storages.clone()))
        }
        _ => None,
    });
    told.unwrap_or_default()
}

fn is_stale(reply: &AccessReply) -> bool {
    matches!(reply, AccessReply::Stale { .. })
}

fn is_gone(reply: &AccessReply) -> bool {
    matches!(reply, AccessReply::SnapshotGone { .. })
}

/// Rows a to e at 10, of which b and the absent c are stale.
fn recovering(settings: StoreSettings) -> Site {
    let mut site = Site::new(settings);
    site.install(10, writes(&[("a", Some("a")), ("b", Some("b")), ("d", Some("d")), ("e", Some("e"))]));
    site.mark_stale(stale_items(&["b", "c"]));
    site
}

/// A client must not see an item that changed while the site was away, present or not.
#[test]
fn stale_items_are_refused() {
    let mut site = recovering(StoreSettings::default());
    assert!(is_stale(&site.read("b", None)) && is_stale(&site.read("c", None)));
    assert_eq!(site.row("a"), Some((10, Row::from_static(b"a"))));
    assert_eq!(site.scan(range("a", None), None, 10, false), None);
    assert_eq!(site.scan(range("a", None), None, 10, true), None);
    assert_eq!(site.scan(range("c", Some("d")), None, 10, false), None, "an absent item is stale too");
    assert_eq!(site.scan(range("d", None), None, 10, true).map(|rows| rows.len()), Some(2));
}

/// What lies before the first stale key is served, so that a small read does not wait for all copies.
#[test]
fn a_scan_goes_as_far_as_the_first_stale_key() {
    let mut site = recovering(StoreSettings::default());
    let all = Box::new(range("a", None));
    let scan = |reverse| AccessRequest::Scan { tag: 1, range: all.clone(), snapshot: None, limit: 10, reverse };
    let AccessReply::ScanReply { rows, next, .. } = site.ask(scan(false)) else {
        panic!("the first row is not stale");
    };
    assert_eq!((rows.len(), next), (1, Some(Box::new(key("b")))));
    let AccessReply::ScanReply { rows, next, .. } = site.ask(scan(true)) else {
        panic!("the last rows are not stale");
    };
    assert_eq!((rows.len(), next), (2, Some(Box::new(key("c").successor()))));
}

/// The simulator's checkers are worth nothing if these bugs do nothing.
#[test]
fn planted_bugs_serve_stale_items() {
    let mut site = recovering(planted(Bug::StaleServed));
    assert_eq!(site.row("b"), Some((10, Row::from_static(b"b"))));
    let mut site = recovering(planted(Bug::ScanIgnoresAbsentLocks));
    assert!(is_stale(&site.read("c", None)));
    assert!(site.scan(range("c", None), None, 10, false).is_some());
    assert!(site.scan(range("b", None), None, 10, false).is_none());
}

/// A write makes an item current, with nothing known before it; the others are told, once.
#[test]
fn a_write_refreshes() {
    let mut site = recovering(StoreSettings::default());
    let said = site.install(20, writes(&[("b", Some("new")), ("a", Some("new"))]));
    assert_eq!(refreshed(&said), (vec![item("b")], vec![]));
    assert_eq!(site.row("b").map(|(clock, _)| clock), Some(20));
    assert!(is_gone(&site.read("b", Some(at(15)))), "its older versions are not read");
    assert!(matches!(site.read("a", Some(at(15))), AccessReply::ReadReply { row: Some(_), .. }));
    let (_, left) = next_stale(&mut site, None);
    assert_eq!(left, 1);
    let mut site = recovering(planted(Bug::ReadBelowFloor));
    site.install(20, writes(&[("b", Some("new"))]));
    assert!(matches!(site.read("b", Some(at(15))), AccessReply::ReadReply { row: None, .. }));
}

/// A decision that is applied again says nothing about what came while the site was away.
#[test]
fn a_repeated_write_does_not_refresh() {
    let mut site = recovering(StoreSettings::default());
    let said = site.install(10, writes(&[("b", Some("b"))]));
    assert_eq!(refreshed(&said).0, vec![]);
    assert!(is_stale(&site.read("b", None)));
}

/// Copies replace what is stale, whatever version this copy has; what has been written since is newer than any copy under way.
#[test]
fn copies_go_only_where_stale() {
    let copies = Copies::Items(vec![
        (item("a"), at(5), row("old")),
        (item("b"), at(5), row("copied")),
        (item("c"), at(7), None),
    ]);
    let mut site = recovering(StoreSettings::default());
    let said = site.copies(copies.clone());
    assert_eq!(refreshed(&said).0, vec![item("b"), item("c")]);
    assert_eq!(site.row("a").map(|(clock, _)| clock), Some(10));
    assert_eq!(site.row("b").map(|(clock, _)| clock), Some(5), "unconditionally");
    assert_eq!(site.row("c"), None);
    assert!(is_gone(&site.read("b", Some(at(4)))) && is_gone(&site.read("c", Some(at(6)))));
    let logged = site.log.iter().any(|logged| {
        matches!(logged, Logged::Record(LogRecord::Copied { copies })
            if matches!(&**copies, Copies::Items(items) if items.len() == 2))
    });
    assert!(logged, "what was installed is logged, and nothing else");
    assert!(refreshed(&site.copies(copies.clone())).0.is_empty(), "a repeated copy changes nothing");
    let mut site = recovering(planted(Bug::ClearedByOlderVersion));
    site.copies(copies);
    assert_eq!(site.row("a").map(|(clock, _)| clock), Some(5));
}

/// Up members judge what is stale here; what is not must be judged here.
#[test]
fn checks_pass_over_stale_items() {
    let mut site = recovering(StoreSettings::default());
    let read = |text: &str, clock: u64| ItemRead { table: TABLE, key: key(text), seen: at(clock) };
    assert_eq!(site.check(vec![read("b", 99), read("c", 99), read("a", 10)], vec![]), None);
    let conflict = site.check(vec![read("a", 9)], vec![]);
    assert_eq!(
        conflict.map(|conflict| (conflict.kind, conflict.item.as_deref().cloned())),
        Some((ConflictKind::StaleRead, Some(item("a"))))
    );
    let ranges = |low: &str, high: &str| RangeRead { range: range(low, Some(high)), as_of: at(9) };
    assert_eq!(site.check(vec![], vec![ranges("b", "d")]), None);
    assert!(site.check(vec![], vec![ranges("b", "e")]).is_some(), "d is not stale and was written at 10");
}

/// A storage that is stale as a whole is copied range by range; rows that the others do not have must go.
#[test]
fn a_storage_is_copied_range_by_range() {
    let mut site = recovering(StoreSettings::default());
    site.oldest(10);
    site.post();
    site.mark_stale(whole_table());
    site.install(30, writes(&[("d", Some("written"))]));
    let wanted = Some(KeyRange::point(TABLE, key("a")));
    assert_eq!(next_stale(&mut site, wanted).0, Some(CopyRequest::Items(vec![item("a")])));
    assert_eq!(next_stale(&mut site, None), (Some(CopyRequest::Range { from: Box::new(KeyRange::whole(TABLE)) }), 1));
    let said = site.copies(Copies::Range {
        range: range("", Some("e")),
        rows: vec![(key("b"), at(20), row("copied")), (key("c"), at(25), None), (key("d"), at(20), row("late"))],
    });
    assert!(refreshed(&said).1.is_empty());
    let rows = site.scan(range("", Some("e")), None, 10, false);
    let rows: Vec<_> = rows.into_iter().flatten().map(|(key, version, _)| (key, version.clock)).collect();
    assert_eq!(rows, [(key("b"), 20), (key("d"), 30)], "a is gone, d keeps what was written");
    let from = range("e", None);
    assert_eq!(next_stale(&mut site, None).0, Some(CopyRequest::Range { from: Box::new(from.clone()) }));
    let said = site.copies(Copies::Range { range: from, rows: vec![] });
    assert_eq!(refreshed(&said).1, vec![TABLE]);
    assert_eq!(next_stale(&mut site, None), (None, 0));
    assert_eq!(site.row("e"), None);
}

/// What was fresh when copies came must not be touched by their replay, even if the restart has to take the whole storage for stale.
#[test]
fn a_replay_of_copies_leaves_alone_what_they_left_alone() {
    let mut site = Site::new(StoreSettings::default());
    site.mark_stale(whole_table());
    site.install(30, writes(&[("d", Some("written"))]));
    site.post();
    let start = site.log.len();
    site.send(Message::Checkpoint);
    site.copies(Copies::Range {
        range: KeyRange::whole(TABLE),
        rows: vec![(key("b"), at(20), row("copied")), (key("d"), at(20), row("late"))],
    });
    // Whoever is told that nothing is stale any more has that in the log; this log ends before.
    let end = site.log.len();
    assert_eq!(next_stale(&mut site, None), (None, 0));
    assert!(site.log.len() > end, "it is logged that nothing is stale");
    site.restart(0, start..end);
    assert_eq!(site.row("b").map(|(clock, _)| clock), Some(20));
    assert_eq!(next_stale(&mut site, None).0, Some(CopyRequest::Items(vec![item("d")])), "copied once more");
}

/// A restart must not forget what is stale, nor ask again for what the log has.
#[test]
fn a_restart_finds_the_stale_set_again() {
    let mut site = recovering(StoreSettings::default());
    let start = site.log.len();
    site.send(Message::Checkpoint);
    site.copies(Copies::Items(vec![(item("b"), at(20), row("copied"))]));
    site.post();
    let end = site.log.len();
    site.restart(0, start..end);
    assert!(is_stale(&site.read("c", None)));
    assert_eq!(site.row("b").map(|(clock, _)| clock), Some(20));
    assert_eq!(site.row("e").map(|(clock, _)| clock), Some(10));
}

/// An empty or foreign copy serves nothing that it was not given, and drops what the instance does not have.
#[test]
fn a_foreign_copy_is_replaced() {
    let mut site = recovering(StoreSettings::default());
    site.post();
    site.mark_stale(everything());
    assert!(is_stale(&site.read("a", None)) && is_stale(&site.read("zzz", None)));
    assert_eq!(next_stale(&mut site, None).0, Some(CopyRequest::Storages));
    site.copies(Copies::Storages(vec![TableId(21)]));
    assert_eq!(site.row("a"), None, "a storage that the others do not have");
    let from = KeyRange::whole(TableId(21));
    assert_eq!(next_stale(&mut site, None).0, Some(CopyRequest::Range { from: Box::new(from.clone()) }));
    let said = site.copies(Copies::Range { range: from, rows: vec![] });
    assert_eq!(refreshed(&said).1, vec![TableId(21)]);
    assert_eq!(next_stale(&mut site, None), (None, 0));
}

/// An up member hands out everything exactly once, deletions included, in messages of bounded size.
#[test]
fn copies_are_read_in_bounded_messages() {
    let mut up = Site::new(StoreSettings::default());
    let rows = 5_000;
    let mut history = History::default();
    for number in 0..rows {
        history.writes.extend(writes(&[(&format!("k{number:05}"), Some("row"))]).writes);
    }
    up.install(10, history);
    up.install(20, writes(&[("k00003", None)]));
    up.post();
    let mut site = Site::new(StoreSettings::default());
    site.mark_stale(whole_table());
    let mut messages = 0;
    while let (Some(wanted), _) = next_stale(&mut site, None) {
        let AccessReply::Copies { copies, .. } =
            up.ask(AccessRequest::ReadCopies { tag: 1, wanted, epoch: EpochNumber(1) })
        else {
            panic!("copies");
        };
        site.copies((*copies).clone());
        messages += 1;
        assert!(messages < 10, "every message makes progress");
    }
    let copied = site.scan(KeyRange::whole(TABLE), None, 1_000, false);
    assert_eq!(copied, up.scan(KeyRange::whole(TABLE), None, 1_000, false));
    assert!(is_gone(&site.read("k00003", Some(at(15)))), "the deletion came with its version");
}

/// A table that the others have emptied must not take the site's thread for as long as it was large.
#[test]
fn a_large_own_storage_is_removed_bit_by_bit() {
    let mut site = Site::new(StoreSettings::default());
    let mut history = History::default();
    for number in 0..2 * COPY_WORK_MAX {
        history.writes.extend(writes(&[(&format!("k{number:05}"), Some("row"))]).writes);
    }
    site.install(10, history);
    site.mark_stale(whole_table());
    site.install(30, writes(&[("z", Some("written"))]));
    for message in 0.. {
        let (wanted, _) = next_stale(&mut site, None);
        let from = match wanted {
            Some(CopyRequest::Range { from }) => from,
            None => {
                assert!(message >= 2, "one message does not do it all");
                break;
            }
            other => panic!("a range, not {other:?}"),
        };
        assert!(message < 10, "every message makes progress");
        site.copies(Copies::Range { range: *from, rows: vec![] });
    }
    let rows = site.scan(KeyRange::whole(TABLE), None, 1_000, false).expect("nothing is stale");
    assert_eq!(rows.into_iter().map(|(key, ..)| key).collect::<Vec<_>>(), [key("z")]);
}

/// The rows of a large table that was dropped, or emptied, while a site was away must not be taken away one by one; and none may come back from
/// the store, whatever is written there later, wherever the power goes.
#[test]
fn a_storage_of_which_nothing_is_left_goes_at_once() {
    let kept = |planted: Planted, posts: bool, restarts: bool| {
        let mut site = Site::new(StoreSettings { memory_bytes_max: 0, planted, ..StoreSettings::default() });
        site.install(10, writes(&[("a", Some("a")), ("z", Some("z"))]));
        site.oldest(20);
        site.post();
        let mut start = site.log.len();
        let stale = whole_table();
        site.log.push(Logged::Record(epoch_logged(stale.clone())));
        site.mark_stale(stale);
        let said = site.copies(Copies::Range { range: KeyRange::whole(TABLE), rows: vec![] });
        assert_eq!(refreshed(&said).1, vec![TABLE], "one message does it all");
        assert_eq!(site.scan(KeyRange::whole(TABLE), None, 10, false), Some(vec![]));
        site.install(30, writes(&[("z", Some("written"))]));
        site.oldest(40);
        if posts {
            site.post();
            start = site.log.len();
        }
        if restarts {
            let log = start..site.log.len();
            site.restart(if posts { usize::MAX } else { 0 }, log);
        }
        let rows = site.scan(KeyRange::whole(TABLE), None, 10, false).expect("nothing is stale");
        rows.into_iter().map(|(key, ..)| key).collect::<Vec<_>>()
    };
    for (posts, restarts) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(kept(Planted::none(), posts, restarts), [key("z")], "posts: {posts}, restarts: {restarts}");
    }
    let planted = Planted::only(Bug::VoidedRowsReturn);
    assert_eq!(kept(planted, true, true), [key("a"), key("z")], "the test would not notice");
}

/// A dropped storage is kept while a snapshot may read it, and goes from the store by a post only.
#[test]
fn dropped_storages_go_when_nobody_can_see_them() {
    let mut site = Site::new(StoreSettings::default());
    site.install(10, writes(&[("a", Some("a"))]));
    let drops = vec![TABLE];
    site.install(20, History { drops, ..History::default() });
    site.oldest(15);
    site.post();
    assert!(matches!(site.read("a", Some(at(15))), AccessReply::ReadReply { row: Some(_), .. }));
    // The log's part with the drop has gone; the store remembers it.
    let end = site.log.len();
    site.restart(0, end..end);
    site.oldest(30);
    assert!(matches!(site.read("a", None), AccessReply::ReadReply { row: Some(_), .. }), "not before the next post");
    site.post();
    assert_eq!(site.row("a"), None);
    assert_eq!(access_manager::Store::storages(&site.store), Ok(vec![]));
}

/// If this fails, what a post has gathered in earlier ticks brings a removed storage back, or hides a change that came meanwhile.
#[test]
fn a_post_of_many_ticks_minds_what_happens_meanwhile() {
    let mut site = Site::new(StoreSettings::default());
    let (first, gone) = ("first", TableId(21));
    let rows = (0..2_000_u32).map(|number| Write {
        table: gone,
        key: Key::new(&number.to_be_bytes()),
        row: Some(Row::from_static(b"row")),
    });
    let mut history = writes(&[(first, Some("old"))]);
    history.writes.extend(rows);
    site.install(10, history);
    site.send(Message::Access(AccessRequest::Post { tag: 9 }));
    site.tick(MILLISECOND);
    assert_eq!(access_manager::Store::storages(&site.store), Ok(vec![]), "it still gathers");
    site.install(20, writes(&[(first, Some("new"))]));
    site.mark_stale(StaleSet { everything: true, ..StaleSet::default() });
    site.copies(Copies::Storages(vec![TABLE]));
    let mut said = Vec::new();
    while said.is_empty() {
        said = site.tick(MILLISECOND);
    }
    let stored =
        |site: &Site| access_manager::Store::get(&site.store, TABLE, &key(first)).map(|found| found.unwrap().0);
    assert_eq!(access_manager::Store::storages(&site.store), Ok(vec![TABLE]));
    assert_eq!(stored(&site), Ok(at(10)), "the newer version is the next post's");
    site.post();
    assert_eq!(stored(&site), Ok(at(20)));
}

/// If this fails, a loss of power leaves rows in the store whose commits the log has lost.
#[test]
fn nothing_is_posted_before_the_log_is_synced() {
    let mut site = Site::new(StoreSettings::default());
    site.install(10, writes(&[("a", Some("a"))]));
    site.disk_held = true;
    site.send(Message::Access(AccessRequest::Post { tag: 9 }));
    let said: usize = (0..100).map(|_| site.tick(1_000_000).len()).sum();
    assert_eq!((said, access_manager::Store::storages(&site.store)), (0, Ok(vec![])));
    site.disk_held = false;
    let mut said: Vec<Message> = site.sync().into_iter().map(|(_, said)| said).collect();
    said.extend((0..100).flat_map(|_| site.tick(1_000_000)));
    assert!(matches!(said.as_slice(), [Message::AccessReply(AccessReply::Posted { tag: 9 })]), "{said:?}");
    assert_eq!(access_manager::Store::storages(&site.store), Ok(vec![TABLE]));
}

/// A full disk must stop the site, once, with words for the operator; a wrong answer would be worse than none.
#[test]
fn a_failing_store_halts_the_site() {
    let mut site = Site::new(StoreSettings::default());
    site.install(10, writes(&[("a", Some("a"))]));
    site.store.fail_with(Some(StoreError::Disk("no space left".into())));
    let said = site.send(Message::Access(AccessRequest::Post { tag: 1 }));
    let reason = match said.as_slice() {
        [(ServerKind::Site, Message::Site(SiteNotice::Halt { reason }))] => reason.clone(),
        other => panic!("one halt, not {other:?}"),
    };
    assert!(reason.contains("no space left"), "{reason}");
    assert!(site.tick(1).is_empty());
    let read = AccessRequest::Read { tag: 1, table: TABLE, key: key("a"), snapshot: None };
    assert!(site.send(Message::Access(read)).is_empty());
}

/// The user interface plans with the catalog: it must hear of every change and get all of it at the start.
#[test]
fn catalog_rows_are_told() {
    let mut site = Site::new(StoreSettings::default());
    let mut history = writes(&[("users", Some("definition"))]);
    history.writes[0].table = TableId::CATALOG;
    let said = site.install(10, history);
    let rows = match said.as_slice() {
        [(ServerKind::UserInterface, Message::AccessReply(AccessReply::CatalogRows { rows }))] => rows.clone(),
        other => panic!("catalog rows, not {other:?}"),
    };
    assert_eq!(rows, [(key("users"), at(10), row("definition"))]);
    site.post();
    let end = site.log.len();
    site.restart(0, end..end);
    assert_eq!(site.manager.catalog_rows(), Ok(rows));
}

/// A statement compiled for a table that is another one by now, or that a stale catalog describes, must not run.
#[test]
fn what_a_statement_relies_on_is_compared() {
    let mut site = Site::new(StoreSettings::default());
    let mut history = writes(&[("users", Some("a table")), ("old", Some("a table")), ("gone", None)]);
    history.writes.iter_mut().for_each(|write| write.table = TableId::CATALOG);
    site.install(10, history.clone());
    history.writes.retain(|write| write.key == key("old"));
    site.install(20, history);
    let mut compare = |rows: &[(&str, Timestamp)]| {
        let rows = rows.iter().map(|(name, version)| (key(name), *version)).collect();
        match site.ask(AccessRequest::Compare { tag: 1, rows, ahead: Vec::new() }) {
            AccessReply::Compared { tag: 1, are_equal, .. } => are_equal,
            other => panic!("a comparison, not {other:?}"),
        }
    };
    let absent = [("gone", Timestamp::ZERO), ("never", Timestamp::ZERO)];
    assert!(compare(&[]) && compare(&absent) && compare(&[("users", at(10)), absent[0], ("old", at(20))]));
    for row in [("old", at(10)), ("users", Timestamp::ZERO), ("never", at(10))] {
        assert!(!compare(&[row]) && !compare(&[("users", at(10)), row]), "{row:?}");
    }
    let users = Item { table: TableId::CATALOG, key: key("users") };
    let items = [users].into_iter().collect();
    site.mark_stale(StaleSet { items, ..StaleSet::default() });
    let rows = [(key("users"), at(10))].into();
    let reply = site.ask(AccessRequest::Compare { tag: 2, rows, ahead: Vec::new() });
    assert!(matches!(reply, AccessReply::Compared { tag: 2, are_equal: false, .. }), "what it is nobody knows here");
}

/// A program would run on rows that are stale here, or on those of another schema.
#[test]
fn rows_are_read_ahead_up_to_the_first_that_is_stale() {
    let mut site = Site::new(StoreSettings::default());
    site.install(10, writes(&[("a", Some("one")), ("c", Some("three")), ("d", Some("four"))]));
    let item = |name: &str| Item { table: TABLE, key: key(name) };
    let read = |site: &mut Site, seen: Timestamp, names: &[&str]| {
        let (rows, ahead) = ([(key("users"), seen)].into(), names.iter().map(|name| item(name)).collect());
        match site.ask(AccessRequest::Compare { tag: 1, rows, ahead }) {
            AccessReply::Compared { ahead, .. } => ahead,
            other => panic!("a comparison, not {other:?}"),
        }
    };
    let [one, three] = ["one", "three"].map(|row| (at(10), Some(messages::Row::from_static(row.as_bytes()))));
    assert_eq!(read(&mut site, Timestamp::ZERO, &["a", "b", "c"]), [one.clone(), (Timestamp::ZERO, None), three]);
    assert_eq!(read(&mut site, at(10), &["a"]), [], "the catalog is not as named");
    let items = [item("c")].into_iter().collect();
    site.mark_stale(StaleSet { items, ..StaleSet::default() });
    assert_eq!(read(&mut site, Timestamp::ZERO, &["a", "c", "d"]), [one]);
}

/// That a row of the catalog stood must be forgotten when it changes, in whatever way, and however soon: else a statement runs that was compiled for
/// another table.
#[test]
fn what_stood_is_compared_again_when_it_has_changed() {
    let mut site = Site::new(StoreSettings::default());
    let catalog = |name: &str, row: Option<&'static str>| {
        let mut history = writes(&[(name, row)]);
        history.writes[0].table = TableId::CATALOG;
        history
    };
    let are_equal = |site: &mut Site, version: Timestamp| {
        let reply =
            site.ask(AccessRequest::Compare { tag: 1, rows: [(key("users"), version)].into(), ahead: Vec::new() });
        let seen = vec![ItemRead { table: TableId::CATALOG, key: key("users"), seen: version }];
        let stands = site.check(seen, Vec::new()).is_none();
        assert!(matches!(reply, AccessReply::Compared { are_equal, .. } if are_equal == stands));
        stands
    };
    assert!(are_equal(&mut site, Timestamp::ZERO));
    site.install(10, catalog("users", Some("a table")));
    assert!(!are_equal(&mut site, Timestamp::ZERO) && are_equal(&mut site, at(10)));
    site.install(20, writes(&[("users", Some("a row"))]));
    assert!(are_equal(&mut site, at(10)), "of another storage");
    site.install(30, catalog("users", Some("another table")));
    assert!(!are_equal(&mut site, at(10)) && are_equal(&mut site, at(30)));
    site.install(40, catalog("users", None));
    assert!(!are_equal(&mut site, at(30)) && are_equal(&mut site, Timestamp::ZERO));
}

/// A user interface that has begun with all rows of the catalog must not be told of older ones afterwards: a replay comes by versions that copies of
/// other sites have replaced, and a copy that replaces one is told, whatever its version.
#[test]
fn a_replay_tells_nothing_of_the_catalog() {
    let mut site = Site::new(StoreSettings::default());
    let mut history = writes(&[("users", Some("definition"))]);
    history.writes[0].table = TableId::CATALOG;
    site.install(10, history);
    let users = Item { table: TableId::CATALOG, key: key("users") };
    let stale = StaleSet { items: [users.clone()].into_iter().collect(), ..StaleSet::default() };
    site.log.push(Logged::Record(LogRecord::Stale { stale: std::sync::Arc::new(stale.clone()) }));
    site.mark_stale(stale);
    let said = site.copies(Copies::Items(vec![(users, Timestamp::ZERO, None)]));
    let gone = vec![(key("users"), Timestamp::ZERO, None)];
    let tells = |(_, message): &(ServerKind, Message)| match message {
        Message::AccessReply(AccessReply::CatalogRows { rows }) => Some(rows.clone()),
        _ => None,
    };
    assert_eq!(said.iter().find_map(tells), Some(gone));
    let end = site.log.len();
    let replayed = site.restart(0, 0..end);
    assert_eq!(replayed.iter().find_map(tells), None);
    assert_eq!(site.manager.catalog_rows(), Ok(Vec::new()));
}

/// A range that was read before a restart may have lost deletions that only memory knew.
#[test]
fn ranges_read_before_a_restart_are_too_old() {
    for (settings, expected) in
        [(StoreSettings::default(), Some(ConflictKind::TooOld)), (planted(Bug::RangeNotChecked), None)]
    {
        let mut site = Site::new(settings);
        site.install(10, writes(&[("a", Some("a"))]));
        site.install(20, writes(&[("a", None)]));
        site.post();
        let end = site.log.len();
        site.restart(0, end..end);
        let read = |clock| RangeRead { range: range("", None), as_of: at(clock) };
        assert_eq!(site.check(vec![], vec![read(15)]).map(|conflict| conflict.kind), expected);
        assert_eq!(site.check(vec![], vec![read(20)]), None);
    }
}

/// Sites that forget a deletion at different times must agree on a read that found nothing.
#[test]
fn absence_is_the_same_everywhere() {
    let mut site = Site::new(StoreSettings::default());
    let read = |seen| ItemRead { table: TABLE, key: key("a"), seen };
    assert_eq!(site.check(vec![read(Timestamp::ZERO)], vec![]), None);
    site.install(10, writes(&[("a", Some("a"))]));
    assert!(site.check(vec![read(Timestamp::ZERO)], vec![]).is_some());
    site.install(20, writes(&[("a", None)]));
    assert_eq!(site.check(vec![read(Timestamp::ZERO)], vec![]), None);
    assert!(site.check(vec![read(at(10))], vec![]).is_some());
    assert!(matches!(site.read("a", None), AccessReply::ReadReply { version: Timestamp::ZERO, row: None, .. }));
}

/// With this bug a lost update passes, which the checkers must find.
#[test]
fn a_planted_bug_checks_the_first_version() {
    for (settings, expected) in [(StoreSettings::default(), true), (planted(Bug::DuplicateInstall), false)] {
        let mut site = Site::new(settings);
        site.install(10, writes(&[("a", Some("a"))]));
        site.install(20, writes(&[("a", Some("b"))]));
        let read = ItemRead { table: TABLE, key: key("a"), seen: at(10) };
        assert_eq!(site.check(vec![read], vec![]).is_some(), expected);
    }
}

/// Nothing of this protocol may come from another site.
#[test]
fn other_sites_are_not_listened_to() {
    let mut site = recovering(StoreSettings::default());
    let envelope = messages::Envelope {
        from_site: messages::SiteId(2),
        from: ServerKind::ReplicationController,
        to_site: messages::SiteId(1),
        to: ServerKind::AccessManager,
        epoch: messages::EpochNumber(1),
        incarnation: messages::Incarnation(1),
        message: Message::Checkpoint,
    };
    let mut outbox = Outbox::default();
    let now = site.now();
    site.manager.handle(now, envelope, &mut outbox);
    assert!(outbox.is_empty());
}
