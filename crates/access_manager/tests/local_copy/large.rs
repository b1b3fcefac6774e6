//! Large transactions: what others see between two steps of one.

use crate::site::{Site, TABLE, at, item, key, range, writes};
use access_manager::{Store, StoreSettings};
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest};
use messages::limits::MILLISECOND;
use messages::planted::{Bug, Planted};
use messages::{EpochNumber, History, ItemRead, Message, Row, ServerKind, Write};
use std::sync::Arc;

/// Rows of a large transaction.
const ROWS: u64 = 2_000;

fn name(number: u64) -> String {
    format!("{number:05}")
}

fn written(number: u64, row: &'static [u8]) -> Write {
    Write { table: TABLE, key: key(&name(number)), row: Some(Row::from_static(row)) }
}

fn many(row: &'static [u8]) -> Arc<History> {
    Arc::new(History { writes: (0..ROWS).map(|number| written(number, row)).collect(), ..History::default() })
}

fn large_site(settings: StoreSettings) -> Site {
    let mut site = Site::new(StoreSettings { touched_max: 100, ..settings });
    site.steps_held = true;
    site
}

/// Begins to install a large commit, which goes on step by step.
fn begin_install(site: &mut Site, clock: u64, history: &Arc<History>) {
    let (timestamp, history) = (at(clock), history.clone());
    let said = site.send(Message::Access(AccessRequest::Install { timestamp, history, in_steps: true }));
    assert!(said.is_empty() && site.has_step(), "it begins in a step of its own: {said:?}");
}

fn is_installed((to, message): &(ServerKind, Message)) -> bool {
    *to == ServerKind::Console && matches!(message, Message::AccessReply(AccessReply::Installed { .. }))
}

fn is_posted(message: &Message) -> bool {
    matches!(message, Message::AccessReply(AccessReply::Posted { .. }))
}

/// Rows in the store.
fn stored(site: &Site) -> u64 {
    let found = site.store.scan(&range("0", None), false, usize::MAX, usize::MAX).expect("the store is sound");
    found.rows.len() as u64
}

/// Goes on to the end; returns the number of steps and what was said.
fn finish(site: &mut Site) -> (usize, Vec<(ServerKind, Message)>) {
    let (mut steps, mut said) = (0, Vec::new());
    while site.has_step() {
        said.extend(site.step());
        steps += 1;
    }
    (steps, said)
}

/// A transaction of many rows that are not in memory must not keep its site busy; and what is given up meanwhile must not be expected to come.
#[test]
fn a_large_check_goes_step_by_step() {
    let mut site = large_site(StoreSettings { memory_bytes_max: 0, ..StoreSettings::default() });
    site.install(10, History::clone(&many(b"row")));
    site.oldest(20);
    site.post();
    while site.manager.tally().all > 0 {
        site.tick(MILLISECOND);
    }
    let read = |number| ItemRead { table: TABLE, key: key(&name(number)), seen: at(10) };
    let history = History { reads: (0..ROWS).map(read).collect(), ..History::clone(&many(b"new")) };
    let (transaction, history) = (at(30).transaction, Arc::new(history));
    let check = AccessRequest::Check { transaction, history: history.clone() };
    let answers = |said: &[(ServerKind, Message)]| {
        let is_answer = |said: &&(ServerKind, Message)| {
            matches!(said.1, Message::AccessReply(AccessReply::CheckReply { conflict: None, .. }))
        };
        said.iter().filter(is_answer).count()
    };
    assert!(site.send(Message::Access(check.clone())).is_empty());
    let small = History { writes: vec![written(0, b"row")], ..History::default() };
    let reply = site.ask(AccessRequest::Check { transaction, history: Arc::new(small) });
    assert!(matches!(reply, AccessReply::CheckReply { conflict: None, .. }), "a small one passes: {reply:?}");
    let (steps, said) = finish(&mut site);
    assert_eq!(answers(&said), 1);
    assert!(steps > 20, "{steps} steps for {ROWS} rows");
    for end in [
        Message::Access(AccessRequest::Abandon { transaction, history: history.clone() }),
        Message::Access(AccessRequest::NothingUndecided),
    ] {
        site.send(Message::Access(check.clone()));
        site.step();
        site.send(end);
        assert_eq!(answers(&finish(&mut site).1), 0, "nobody waits for it any more");
    }
    let history = History { reads: vec![ItemRead { seen: at(9), ..read(ROWS - 1) }], ..History::clone(&history) };
    site.send(Message::Access(AccessRequest::Check { transaction, history: Arc::new(history) }));
    assert_eq!(answers(&finish(&mut site).1), 0, "a read that does not stand is found in whichever step it is");
}

/// Snapshots below a large commit must see nothing of it at any time, and what others commit beside it must be there at once.
#[test]
fn a_large_installation_is_passed() {
    let mut site = large_site(StoreSettings::default());
    site.install(10, History::clone(&many(b"old")));
    site.snapshots(vec![at(15)], at(16));
    begin_install(&mut site, 20, &many(b"new"));
    let (mut steps, mut ends) = (0, 0);
    while site.has_step() {
        ends += site.step().iter().filter(|said| is_installed(said)).count();
        steps += 1;
        let before = site.scan(range("0", None), Some(at(15)), 2_000, false).expect("the snapshot is in use");
        assert!(before.iter().all(|(_, version, row)| *version == at(10) && row.as_ref() == b"old"));
        let name = format!("x{steps}");
        site.install(20 + steps, writes(&[(&name, Some("small"))]));
        assert_eq!(site.row(&name), Some((20 + steps, Row::from_static(b"small"))));
    }
    assert_eq!(ends, 1, "its end is told once");
    assert!(steps >= ROWS / 256, "{steps} steps for {ROWS} rows");
    let rows = site.scan(range("0", Some("9")), None, 2_000, false).expect("nothing is stale");
    assert_eq!(rows.len() as u64, ROWS);
    assert!(rows.iter().all(|(_, version, row)| *version == at(20) && row.as_ref() == b"new"));
}

/// A post tells how much of the log may go: it must not begin in the middle of a commit that stands before it in the log.
#[test]
fn a_post_waits_for_a_large_installation() {
    for (planted, goes) in [(Planted::none(), false), (Planted::only(Bug::PostPassesInstall), true)] {
        let mut site = large_site(StoreSettings { planted, ..StoreSettings::default() });
        begin_install(&mut site, 20, &many(b"new"));
        site.step();
        let mut said: Vec<Message> =
            site.send(Message::Access(AccessRequest::Post { tag: 9 })).into_iter().map(|(_, said)| said).collect();
        (0..100).for_each(|_| said.extend(site.tick(MILLISECOND)));
        assert_eq!(said.iter().any(is_posted), goes, "{planted:?}: before all is there");
        said.extend(finish(&mut site).1.into_iter().map(|(_, said)| said));
        (0..1_000).for_each(|_| said.extend(site.tick(MILLISECOND)));
        assert!(said.iter().any(is_posted), "{planted:?}: in the end");
        assert_eq!(stored(&site) == ROWS, !goes, "{planted:?}: what is in the store");
    }
}

/// Who looks at a copy without locks (a copier, a new epoch) must find all of what has committed.
#[test]
fn who_has_no_locks_finds_all_installed() {
    for (planted, whole) in [(Planted::none(), true), (Planted::only(Bug::EpochPassesInstall), false)] {
        let mut site = large_site(StoreSettings { planted, ..StoreSettings::default() });
        begin_install(&mut site, 20, &many(b"new"));
        site.send(Message::Access(AccessRequest::NothingUndecided));
        assert_eq!(site.row(&name(ROWS - 1)).is_some(), whole, "{planted:?}");
    }
    let mut site = large_site(StoreSettings::default());
    let last = CopyRequest::Items(vec![item(&name(ROWS - 1))]);
    begin_install(&mut site, 20, &many(b"new"));
    let said = site.send(Message::Access(AccessRequest::ReadCopies { tag: 7, wanted: last, epoch: EpochNumber(1) }));
    let copies = said.iter().find_map(|(_, message)| match message {
        Message::AccessReply(AccessReply::Copies { copies, .. }) => Some(copies.clone()),
        _ => None,
    });
    let Some(Copies::Items(items)) = copies.as_deref() else { panic!("copies, not {said:?}") };
    assert_eq!(items[0].1, at(20), "the copier brings the commit");
    assert_eq!(said.iter().filter(|said| is_installed(said)).count(), 1);
    assert_eq!(finish(&mut site).1.len(), 0, "and it is told once");
    begin_install(&mut site, 30, &many(b"newer"));
    let said = site.send(Message::Access(AccessRequest::NothingUndecided));
    assert_eq!(said.iter().filter(|said| is_installed(said)).count(), 1);
    assert_eq!(site.row(&name(ROWS - 1)).map(|(version, _)| version), Some(30));
}
