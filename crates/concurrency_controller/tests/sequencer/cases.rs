//! Single cases: waits, upgrades, deadlocks, phantoms, wait-die, doom, readers of snapshots. A transaction is older the lower its number.

use crate::support::{Site, TABLE, THERE, adding, history, item, key, own, range, said, transaction};
use concurrency_controller::limits::{ACCESS_PATIENCE, ALONE_MAX, OWED_TIME, POINTS_MAX};
use messages::concurrency::{AccessKind, AccessTarget, ConcurrencyReply, ConcurrencyRequest, Method};
use messages::item::Write;
use messages::planted::{Bug, Planted};
use messages::{ConflictKind, History, Item, Key, KeyRange};
use std::sync::Arc;

const NOTHING: [&str; 0] = [];

fn locking() -> Site {
    Site::new(Method::Locking)
}

fn optimistic() -> Site {
    Site::new(Method::Optimistic)
}

/// Otherwise readers would exclude each other, or a stream of them would keep a writer out for ever.
#[test]
fn readers_share_and_do_not_overtake_a_writer() {
    let mut site = locking();
    assert_eq!(site.read(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.read(own(2), item(7)), ["2 granted"]);
    assert_eq!(site.write(own(3), item(7)), NOTHING);
    assert_eq!(site.read(own(4), item(7)), NOTHING);
    assert_eq!(site.finish(own(1)), NOTHING);
    assert_eq!(site.finish(own(2)), ["3 granted"]);
    assert_eq!(site.finish(own(3)), ["4 granted"]);
}

/// Otherwise somebody would be granted what a transaction has been granted before there was anybody else, be it little or much.
#[test]
fn what_was_granted_before_others_came_is_found() {
    for number in [2, ALONE_MAX as u8, 2 * ALONE_MAX as u8] {
        let mut site = locking();
        for read in 0..number {
            assert_eq!(site.read(own(1), item(read)), ["1 granted"]);
        }
        assert_eq!(site.write(own(1), item(0)), ["1 granted"]);
        assert_eq!(site.read(own(1), item(0)), ["1 granted"]);
        assert_eq!(site.read(own(1), range(100, 110)), ["1 granted"]);
        assert_eq!(site.read(own(2), item(0)), NOTHING);
        assert_eq!(site.write(own(3), item(number - 1)), NOTHING);
        assert_eq!(site.write(own(4), item(105)), NOTHING);
        assert_eq!(site.finish(own(1)), ["2 granted", "3 granted", "4 granted"]);
        (2..=4).for_each(|ends| assert_eq!(site.finish(own(ends)), NOTHING));
        assert!(site.is_idle());
    }
}

/// Otherwise who asks for several would hold what lies behind one that it has to wait for, and two could wait for each other; or be counted as waiting for
/// what it has not asked for.
#[test]
fn what_is_asked_for_ahead_is_granted_up_to_the_first_that_is_taken() {
    let mut site = locking();
    assert_eq!(site.write(own(1), item(2)), ["1 granted"]);
    assert_eq!(site.write_ahead(own(2), &[1, 1, 2, 3]), ["2 granted 2 ahead"]);
    assert_eq!(site.write(own(3), item(3)), ["3 granted"]);
    assert_eq!(site.write(own(4), item(1)), NOTHING);
    assert_eq!(site.finish(own(1)), NOTHING, "nobody waits for it");
    assert_eq!(site.write(own(2), item(2)), ["2 granted"]);
    assert_eq!(site.finish(own(2)), ["4 granted"]);
    let mut site = optimistic();
    assert_eq!(site.commit_lock(transaction(THERE, 1), history(&[], &[], &[2])), ["1 commit-locks granted"]);
    assert_eq!(site.write_ahead(own(2), &[1, 2, 3]), ["2 granted 1 ahead"]);
    assert_eq!(
        site.commit_lock(transaction(THERE, 3), history(&[], &[], &[1])),
        ["2 doomed: taken elsewhere", "3 commit-locks granted"]
    );
    assert_eq!(site.write_ahead(own(2), &[4]), ["2 granted 0 ahead"]);
}

/// Otherwise additions would wait for each other, or be seen by whoever reads before they are decided.
#[test]
fn additions_share_an_item_that_nobody_reads() {
    for mut site in [locking(), optimistic()] {
        assert_eq!(site.add(own(1), item(7)), ["1 granted"]);
        assert_eq!(site.add(own(2), item(7)), ["2 granted"]);
        let adds = adding(&history(&[], &[], &[]), &[7]);
        assert_eq!(site.commit_lock(transaction(THERE, 50), adds.clone()), ["50 commit-locks granted"]);
        assert_eq!(site.commit_lock(own(1), adds), ["1 commit-locks granted"]);
        assert_eq!(site.read(own(3), item(7)), NOTHING);
        assert_eq!(site.finish(transaction(THERE, 50)), NOTHING);
        assert_eq!(site.finish(own(2)), NOTHING);
        assert_eq!(site.finish(own(1)), ["3 granted"]);
    }
}

/// Otherwise two that have added to a row and now want to read it would wait for each other, or who waits for the row would never get it.
#[test]
fn what_is_only_added_to_can_be_given_up() {
    let mut site = locking();
    for number in [1, 2] {
        assert_eq!(site.add(own(number), item(7)), [format!("{number} granted")]);
        assert_eq!(site.add(own(number), item(8)), [format!("{number} granted")]);
    }
    assert_eq!(site.read(own(3), item(8)), NOTHING);
    assert_eq!(said(&site.give_up(own(1), &[7, 8])), NOTHING);
    assert_eq!(site.write(own(1), item(7)), NOTHING);
    assert_eq!(said(&site.give_up(own(2), &[7, 8, 9])), ["3 granted", "1 granted"]);
    assert_eq!(site.write(own(2), item(7)), NOTHING);
    assert_eq!(said(&site.give_up(own(1), &[7])), NOTHING, "it may do more than add");
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    assert_eq!(said(&site.give_up(own(1), &[7])), NOTHING, "it is not known");
    for number in [2, 3] {
        site.finish(own(number));
    }
    assert!(site.is_idle());
}

/// The same for one that executes alone, of which the table knows nothing.
#[test]
fn one_alone_gives_up_what_it_only_adds_to() {
    let mut site = locking();
    assert_eq!(site.add(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.add(own(1), item(8)), ["1 granted"]);
    assert_eq!(site.write(own(1), item(8)), ["1 granted"]);
    assert_eq!(said(&site.give_up(own(1), &[7, 8])), NOTHING);
    assert_eq!(site.write(own(2), item(7)), ["2 granted"]);
    assert_eq!(site.write(own(2), item(8)), NOTHING);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    site.finish(own(2));
    assert!(site.is_idle());
}

/// Otherwise a storage could be dropped at a site before rows that were written earlier are installed there, and these would stay for good; and
/// who is to be told of them would read nothing.
#[test]
fn a_drop_waits_for_what_is_undecided_on_its_storage() {
    let dropping = Arc::new(History { drops: vec![TABLE], ..History::default() });
    for mut site in [locking(), optimistic()] {
        let (writer, dropper) = (transaction(THERE, 50), transaction(THERE, 40));
        site.commit_lock(writer, history(&[], &[], &[7]));
        assert_eq!(site.commit_lock(dropper, dropping.clone()), NOTHING, "the older waits");
        assert_eq!(site.finish(writer), ["40 commit-locks granted"]);
        assert_eq!(site.read(own(60), item(9)), NOTHING);
        assert_eq!(site.finish(dropper), ["60 granted"]);
    }
    let mut site = Site::planted(Method::Locking, Planted::only(Bug::DropPassesWrites));
    site.commit_lock(transaction(THERE, 50), history(&[], &[], &[7]));
    assert_eq!(site.commit_lock(transaction(THERE, 40), dropping), ["40 commit-locks granted"]);
}

/// Otherwise who must not wait would be listed as waiting, in the way of others, and be granted what it does not expect.
#[test]
fn who_may_not_wait_is_told_that_it_would() {
    for mut site in [locking(), optimistic()] {
        site.commit_lock(transaction(THERE, 50), history(&[], &[], &[7]));
        let busy = |replies: &[ConcurrencyReply], who| matches!(replies, [ConcurrencyReply::LockBusy { transaction }] if *transaction == who);
        assert!(busy(&site.try_write(own(1), item(7)), own(1)), "it is not told");
        assert!(busy(&site.access(own(2), item(7), AccessKind::Write), own(2)), "who waits is told so, too");
        assert_eq!(site.finish(transaction(THERE, 50)), ["2 granted"]);
        // What it wanted in vain it can still want.
        assert_eq!(said(&site.try_write(own(1), item(8))), ["1 granted"]);
    }
}

/// Otherwise two workers would take one job (`SKIP LOCKED`), under the methods that let both execute; or one would skip what nobody has, because another has the
/// turn.
#[test]
fn what_others_have_is_taken_whatever_the_method() {
    for method in Method::ALL {
        let mut site = Site::planted(method, Planted::none());
        assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
        assert_eq!(site.write_unless_taken(own(2), item(7)), ["2 taken"], "{method:?}");
        assert_eq!(site.write_unless_taken(own(2), range(0, 100)), ["2 taken"], "{method:?}");
        let elsewhere = transaction(THERE, 50);
        site.commit_lock(elsewhere, history(&[], &[], &[8]));
        assert_eq!(site.write_unless_taken(own(2), item(8)), ["2 taken"], "{method:?}: it is being prepared");
        site.finish(elsewhere);
        // Where turns are given it waits for its own, and may have come too late by then.
        match method {
            Method::Serial => {
                assert_eq!(site.write_unless_taken(own(2), item(9)), NOTHING);
                assert_eq!(site.finish(own(1)), ["2 granted"]);
                assert_eq!(site.write_unless_taken(own(2), item(7)), ["2 granted"]);
                continue;
            }
            _ => assert_eq!(site.write_unless_taken(own(2), item(9)), ["2 granted"], "{method:?}"),
        }
        assert_eq!(site.write_unless_taken(own(1), item(7)), ["1 granted"], "{method:?}: it has it itself");
        assert_eq!(site.finish(own(1)), NOTHING);
        assert_eq!(site.write_unless_taken(own(2), item(7)), ["2 granted"], "{method:?}");
    }
}

/// Otherwise what a program holds that goes on in another transaction would be lost to others on the way, or be held for ever.
#[test]
fn what_is_handed_over_stays_held() {
    let mut site = locking();
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(8)), ["2 granted"]);
    assert_eq!(site.read(own(2), range(20, 30)), ["2 granted"]);
    assert_eq!(site.write(own(2), item(7)), NOTHING);
    assert_eq!(site.write(own(3), item(7)), NOTHING);
    assert_eq!(site.write(own(4), item(8)), NOTHING);
    assert_eq!(site.write(own(5), item(25)), NOTHING);
    assert_eq!(site.hand_over(own(2), own(1)), NOTHING);
    assert_eq!(said(&site.try_write(own(1), item(8))), ["1 granted"]);
    assert_eq!(site.finish(own(2)), NOTHING);
    assert_eq!(site.finish(own(1)), ["3 granted", "4 granted", "5 granted"]);
    for number in [3, 4, 5] {
        site.finish(own(number));
    }
    assert!(site.is_idle());
}

/// And nobody holds anything by way of a transaction that has lost already.
#[test]
fn what_is_handed_over_to_a_doomed_transaction_is_free() {
    let mut site = locking();
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(8)), ["2 granted"]);
    assert_eq!(site.write(own(3), item(8)), NOTHING);
    let told = site.commit_lock(transaction(THERE, 50), history(&[], &[], &[7]));
    assert_eq!(told, ["1 doomed: taken elsewhere", "50 commit-locks granted"]);
    assert_eq!(site.hand_over(own(2), own(1)), ["3 granted"]);
}

/// Otherwise those that commit together would doom each other; and one whose company is refused would find its rows taken, though it has lost
/// to nobody.
#[test]
fn those_that_commit_together_keep_their_accesses() {
    let mut site = locking();
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(8)), ["2 granted"]);
    assert_eq!(site.write(own(3), item(7)), NOTHING);
    let both = history(&[], &[], &[7, 8]);
    assert_eq!(site.commit_lock_of(own(10), &[own(1), own(2)], both), ["10 commit-locks granted"]);
    assert_eq!(site.finish(own(10)), NOTHING, "refused elsewhere: each of them is judged alone");
    assert_eq!(site.commit_lock(own(1), history(&[], &[], &[7])), ["1 commit-locks granted"]);
    assert_eq!(site.finish(own(1)), ["3 granted"]);
    let told = site.commit_lock(transaction(THERE, 50), history(&[], &[], &[8]));
    assert_eq!(told, ["2 doomed: taken elsewhere", "50 commit-locks granted"]);
    let told = site.commit_lock_of(own(11), &[own(2), own(3)], history(&[], &[], &[7, 8]));
    assert_eq!(told, ["11 commit-locks taken elsewhere"], "one of them is doomed");
    for over in [own(2), own(3), own(11), transaction(THERE, 50)] {
        site.finish(over);
    }
    assert!(site.is_idle());
}

/// A lock for each of a hundred thousand rows takes longer than a site may be silent. What lies between them is locked with them, what lies
/// outside is not, and nothing of it stays.
#[test]
fn a_large_transaction_locks_from_its_first_to_its_last_item() {
    let mut site = locking();
    let mut large = History::clone(&history(&[], &[], &[10, 20]));
    let between = (0..POINTS_MAX as u16).map(|number| Key::new(&[[10].as_slice(), &number.to_be_bytes()].concat()));
    large.writes.extend(between.map(|key| Write { table: TABLE, key, row: None }));
    assert_eq!(site.commit_lock(own(1), Arc::new(large)), ["1 commit-locks granted"]);
    assert_eq!(site.write(own(2), item(15)), NOTHING, "it lies between two of them");
    assert_eq!(site.write(own(3), item(9)), ["3 granted"]);
    assert_eq!(site.write(own(4), item(21)), ["4 granted"]);
    let younger = site.commit_lock(transaction(THERE, 50), history(&[], &[], &[20]));
    assert_eq!(younger, ["50 commit-locks dies"]);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    for over in [2, 3, 4] {
        site.finish(own(over));
    }
    assert!(site.is_idle());
}

/// Otherwise sites that add to an item without a pause would keep out whoever reads it, for ever.
#[test]
fn who_has_waited_long_goes_before_younger_ones_of_other_sites() {
    let mut site = locking();
    let adds = adding(&history(&[], &[], &[]), &[7]);
    let remote = |number| transaction(THERE, number);
    assert_eq!(site.commit_lock(remote(50), adds.clone()), ["50 commit-locks granted"]);
    assert_eq!(site.write(own(9), item(7)), NOTHING);
    // Without a gap: each comes before the last one ends.
    for number in 51..60 {
        site.now += ACCESS_PATIENCE / 10;
        assert_eq!(site.commit_lock(remote(number), adds.clone()), [format!("{number} commit-locks granted")]);
        assert_eq!(site.finish(remote(number - 1)), NOTHING);
    }
    site.now += ACCESS_PATIENCE / 10;
    assert_eq!(site.commit_lock(remote(60), adds.clone()), ["60 commit-locks older waits"]);
    assert_eq!(site.commit_lock(remote(8), adds.clone()), ["8 commit-locks granted"], "an older one is not kept off");
    assert_eq!(site.finish(remote(8)), NOTHING);
    assert_eq!(site.finish(remote(59)), ["9 granted"]);
    assert_eq!(
        site.commit_lock(remote(61), adds.clone()),
        ["61 commit-locks older waits"],
        "nor is what it has taken away"
    );
    site.now += OWED_TIME;
    assert_eq!(
        site.commit_lock(remote(62), adds),
        ["9 doomed: taken elsewhere", "62 commit-locks granted"],
        "but not for ever"
    );
}

/// Otherwise an index of a table that others write would be begun again and again.
#[test]
fn what_takes_precedence_is_not_lost_to_younger_ones() {
    for method in [Method::Locking, Method::Optimistic] {
        let mut site = Site::planted(method, Planted::none());
        let all = |number| history(&[], &[], &[number]);
        let remote = |number| transaction(THERE, number);
        assert_eq!(site.read_before_all(own(9), range(0, 100)), ["9 granted"]);
        assert_eq!(site.commit_lock(remote(50), all(7)), ["50 commit-locks older waits"], "{method:?}");
        site.now += 100 * OWED_TIME;
        assert_eq!(site.commit_lock(remote(51), all(8)), ["51 commit-locks older waits"], "for as long as it takes");
        assert_eq!(site.commit_lock(own(52), all(8)), ["52 commit-locks older waits"], "whoever it is");
        assert_eq!(site.commit_lock(own(9), history(&[], &[(0, 100, 0)], &[])), ["9 commit-locks granted"]);
        site.finish(own(9));
        assert_eq!(site.commit_lock(remote(53), all(7)), ["53 commit-locks granted"], "and no longer");
        site.finish(remote(53));
        assert_eq!(site.read_before_all(own(60), range(0, 100)), ["60 granted"]);
        let doomed = site.commit_lock(remote(54), all(7));
        assert_eq!(doomed, ["60 doomed: taken elsewhere", "54 commit-locks granted"], "an older one passes");
        site.finish(own(60));
        site.finish(remote(54));
        assert!(site.is_idle());
    }
}

/// Otherwise two that read an item for update would need an abort where a wait does.
#[test]
fn a_repeated_or_weaker_access_is_granted_at_once() {
    let mut site = locking();
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(7)), NOTHING);
    assert_eq!(site.read(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
}

/// Otherwise a reader that goes on to write would wait for those who wait for it.
#[test]
fn an_upgrade_goes_before_those_that_wait() {
    let mut site = locking();
    site.read(own(1), item(7));
    site.read(own(2), item(7));
    assert_eq!(site.write(own(3), item(7)), NOTHING);
    assert_eq!(site.write(own(1), item(7)), NOTHING, "it waits for the other reader");
    assert_eq!(site.finish(own(2)), ["1 granted"]);
    assert_eq!(site.finish(own(1)), ["3 granted"]);
}

/// Otherwise two readers that both go on to write would wait for each other for ever.
#[test]
fn two_upgrades_are_a_deadlock_of_the_second() {
    let mut site = locking();
    site.read(own(1), item(7));
    site.read(own(2), item(7));
    assert_eq!(site.write(own(1), item(7)), NOTHING);
    assert_eq!(site.write(own(2), item(7)), ["2 deadlock"]);
    assert_eq!(site.finish(own(2)), ["1 granted"]);
}

/// Otherwise a circle of three would stand for ever; and its error would not say where.
#[test]
fn the_request_that_closes_a_circle_is_the_victim() {
    let mut site = locking();
    for number in 1..=3 {
        site.write(own(number), item(number as u8));
    }
    assert_eq!(site.write(own(1), item(2)), NOTHING);
    assert_eq!(site.write(own(2), item(3)), NOTHING);
    let replies = site.access(own(3), item(1), AccessKind::Write);
    let [ConcurrencyReply::LockReply { conflict: Some(conflict), .. }] = &replies[..] else {
        panic!("{replies:?}");
    };
    assert_eq!(conflict.kind, ConflictKind::Deadlock);
    let expected = Item { table: TABLE, key: key(1) };
    assert_eq!(conflict.item.as_deref(), Some(&expected));
    assert_eq!(site.finish(own(3)), ["2 granted"]);
    assert_eq!(site.finish(own(2)), ["1 granted"]);
}

/// Otherwise a circle that leads through a queue, not only through holders, would stand for ever.
#[test]
fn waits_for_those_that_wait_close_circles_too() {
    let mut site = locking();
    site.read(own(1), item(1));
    site.write(own(2), item(2));
    assert_eq!(site.write(own(3), item(1)), NOTHING);
    assert_eq!(site.read(own(2), item(1)), NOTHING, "behind the writer");
    assert_eq!(site.read(own(1), item(2)), ["1 deadlock"]);
}

/// Otherwise a scan that is repeated would find a row more, or one less.
#[test]
fn a_range_lock_keeps_phantoms_out() {
    let mut site = locking();
    assert_eq!(site.read(own(1), range(10, 20)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(20)), ["2 granted"], "the end is not in it");
    assert_eq!(site.write(own(2), item(15)), NOTHING);
    assert_eq!(site.write(own(3), range(19, 30)), NOTHING);
    assert_eq!(site.read(own(4), range(5, 12)), ["4 granted"]);
    assert_eq!(site.write(own(1), item(11)), NOTHING, "another reads it");
    assert_eq!(site.finish(own(4)), ["1 granted"]);
    assert_eq!(site.finish(own(1)), ["2 granted"]);
    assert_eq!(site.finish(own(2)), ["3 granted"]);
}

/// Otherwise a scan would see a row that is being written.
#[test]
fn a_scan_waits_for_a_writer_in_its_range() {
    let mut site = locking();
    site.write(own(1), item(15));
    assert_eq!(site.read(own(2), range(10, 20)), NOTHING);
    assert_eq!(site.read(own(3), range(20, 10)), ["3 granted"], "no key lies in it");
    assert_eq!(site.finish(own(1)), ["2 granted"]);
}

/// Otherwise validation would make transactions of one site wait for each other.
#[test]
fn validation_lets_everybody_execute() {
    let mut site = optimistic();
    assert_eq!(site.write(own(1), item(7)), ["1 granted"]);
    assert_eq!(site.write(own(2), item(7)), ["2 granted"]);
    assert_eq!(site.read(own(3), range(0, 9)), ["3 granted"]);
    assert_eq!(
        site.commit_lock(own(2), history(&[], &[], &[7])),
        ["1 doomed: stale", "3 doomed: stale", "2 commit-locks granted"]
    );
    assert_eq!(site.read(own(3), item(1)), ["3 stale"], "a doomed one goes nowhere");
    assert_eq!(site.read(own(4), item(7)), NOTHING, "it waits for the outcome");
    assert_eq!(site.finish(own(2)), ["4 granted"]);
}

/// Otherwise what a prepared transaction has merely read would abort writers that may well commit after it.
#[test]
fn validation_does_not_doom_for_a_read() {
    let mut site = optimistic();
    site.write(own(1), item(7));
    let remote = transaction(THERE, 2);
    assert_eq!(site.commit_lock(remote, history(&[(7, 0)], &[], &[8])), ["2 commit-locks granted"]);
}

/// Otherwise a prepared transaction would wait for one that executes, whose client may think for long.
#[test]
fn a_prepare_dooms_whoever_stands_in_its_way_and_nobody_else() {
    let mut site = locking();
    site.read(own(1), item(7));
    site.write(own(2), item(8));
    assert_eq!(site.write(own(3), item(7)), NOTHING, "it waits and holds nothing");
    assert_eq!(site.read(own(4), item(9)), ["4 granted"]);
    let remote = transaction(THERE, 90);
    assert_eq!(
        site.commit_lock(remote, history(&[(9, 0)], &[], &[7])),
        ["1 doomed: taken elsewhere", "90 commit-locks granted"]
    );
    assert_eq!(site.finish(own(1)), NOTHING);
    assert_eq!(site.write(own(4), item(9)), NOTHING, "read by a prepared one");
    assert_eq!(site.finish(remote), ["3 granted", "4 granted"]);
}

/// Otherwise an access under way would stay unanswered, and the action driver hang.
#[test]
fn a_doomed_transaction_that_waits_is_told_both() {
    let mut site = locking();
    site.write(own(1), item(1));
    site.write(own(2), item(2));
    assert_eq!(site.write(own(2), item(1)), NOTHING);
    let remote = transaction(THERE, 90);
    assert_eq!(
        site.commit_lock(remote, history(&[], &[], &[2])),
        ["2 doomed: taken elsewhere", "2 taken elsewhere", "90 commit-locks granted"]
    );
    assert_eq!(site.finish(own(1)), NOTHING);
    assert_eq!(
        site.commit_lock(own(2), history(&[], &[], &[3])),
        ["2 commit-locks taken elsewhere"],
        "a commit that was on its way when it was doomed"
    );
}

/// Otherwise a transaction would wait for itself, or leave its accesses locked beside its commit-locks.
#[test]
fn a_home_transaction_commits_over_its_own_accesses() {
    for mut site in [locking(), optimistic()] {
        site.read(own(1), range(0, 9));
        site.write(own(1), item(7));
        assert_eq!(site.write(own(1), item(5)), ["1 granted"]);
        assert_eq!(site.commit_lock(own(1), history(&[], &[(0, 9, 0)], &[7])), ["1 commit-locks granted"]);
        assert_eq!(site.read(own(2), item(5)), ["2 granted"], "only what its history names stays locked");
        assert_eq!(site.finish(own(1)), NOTHING);
        site.finish(own(2));
        assert!(site.controller.is_idle());
    }
}

/// Rule 3: the older waits, the younger dies; otherwise prepared transactions of two sites could wait for each other.
#[test]
fn of_two_prepared_the_older_waits_and_the_younger_dies() {
    let mut site = locking();
    assert_eq!(site.commit_lock(own(5), history(&[], &[], &[7])), ["5 commit-locks granted"]);
    assert_eq!(site.commit_lock(own(6), history(&[(7, 0)], &[], &[1])), ["6 commit-locks dies"]);
    assert_eq!(site.commit_lock(own(3), history(&[], &[(0, 9, 0)], &[1])), NOTHING);
    assert_eq!(site.commit_lock(own(8), history(&[(2, 0)], &[], &[20])), ["8 commit-locks granted"], "readers share");
    assert_eq!(site.finish(own(5)), ["3 commit-locks granted"]);
}

/// Otherwise a stream of younger transactions could keep an older one waiting for ever.
#[test]
fn a_newcomer_dies_by_an_older_one_that_waits_and_kills_a_younger() {
    let mut site = locking();
    site.commit_lock(own(9), history(&[], &[], &[1]));
    assert_eq!(site.commit_lock(own(5), history(&[], &[], &[1, 2])), NOTHING);
    assert_eq!(site.commit_lock(own(7), history(&[], &[], &[2])), ["7 commit-locks dies"]);
    assert_eq!(site.read(own(20), item(2)), NOTHING, "what executes waits for it, too");
    assert_eq!(
        site.commit_lock(own(4), history(&[(2, 0)], &[], &[3])),
        ["5 commit-locks dies", "4 commit-locks granted", "20 granted"],
        "the reader waited for the dead one alone"
    );
    assert_eq!(site.finish(own(9)), NOTHING);
}

/// Otherwise what wait for different reasons would be granted in an order that differs from site to site.
#[test]
fn those_that_wait_are_granted_oldest_first() {
    let mut site = locking();
    site.commit_lock(own(9), history(&[], &[], &[1, 2, 3]));
    site.commit_lock(own(7), history(&[], &[], &[1]));
    site.commit_lock(own(5), history(&[], &[], &[2]));
    site.commit_lock(own(6), history(&[(3, 0)], &[], &[4]));
    assert_eq!(site.commit_lock(own(7), history(&[], &[], &[1])), NOTHING, "asked again");
    assert_eq!(site.finish(own(9)), ["5 commit-locks granted", "6 commit-locks granted", "7 commit-locks granted"]);
    assert_eq!(site.commit_lock(own(7), history(&[], &[], &[1])), ["7 commit-locks granted"], "asked again");
}

/// The planted bug must overtake the waiter, and still lock nothing twice: the simulator looks for the one, not the other.
#[test]
fn the_planted_overtaking_starves_the_waiter_and_no_more() {
    let mut site = Site::planted(Method::Locking, Planted::only(Bug::WaiterOvertaken));
    site.commit_lock(own(9), history(&[], &[], &[1]));
    assert_eq!(site.commit_lock(own(5), history(&[], &[], &[1, 2])), NOTHING);
    assert_eq!(site.commit_lock(own(7), history(&[], &[], &[2])), ["7 commit-locks granted"]);
    assert_eq!(site.finish(own(9)), NOTHING);
    assert_eq!(site.commit_lock(own(8), history(&[], &[], &[1])), ["8 commit-locks granted"]);
    assert_eq!(site.finish(own(7)), NOTHING);
    assert_eq!(site.finish(own(8)), ["5 commit-locks granted"]);
    site.finish(own(5));
    assert!(site.controller.is_idle());
}

/// Rule 5: otherwise a reader would miss a commit below its snapshot, or wait for what it cannot see.
#[test]
fn a_snapshot_reader_waits_for_what_may_commit_below_it_and_only_for_that() {
    let mut site = locking();
    for (number, proposal) in [(1, 50), (2, 60)] {
        site.commit_lock(own(number), history(&[(number as u8 + 20, 0)], &[], &[number as u8]));
        site.voted(own(number), proposal);
    }
    site.commit_lock(own(3), history(&[], &[], &[3]));
    assert_eq!(site.snapshot(70, item(1), 49), ["reader 70"], "voted for above the snapshot");
    assert_eq!(site.snapshot(71, item(3), 90), ["reader 71"], "not voted for: will be proposed above");
    assert_eq!(site.snapshot(72, item(21), 90), ["reader 72"], "only read");
    assert_eq!(site.snapshot(73, range(0, 9), 90), NOTHING);
    assert_eq!(site.snapshot(74, range(0, 9), 90), NOTHING);
    site.ask(ConcurrencyRequest::ForgetSnapshot { tag: 74 });
    site.voted(own(3), 80);
    assert_eq!(site.finish(own(2)), NOTHING);
    assert_eq!(site.finish(own(1)), ["reader 73"], "what was voted for later is not waited for");
    site.finish(own(3));
    assert!(site.controller.is_idle());
}

/// Otherwise a switch would leave transactions waiting in a circle that only the new method knows.
#[test]
fn a_switch_to_locking_breaks_circles_and_one_to_validation_grants_waits() {
    let mut site = optimistic();
    site.write(own(1), item(1));
    site.write(own(2), item(2));
    let remote = transaction(THERE, 90);
    site.commit_lock(remote, history(&[(11, 0), (12, 0)], &[], &[13]));
    let (both, high) = (range(2, 13), range(1, 2));
    assert_eq!(site.write(own(1), both), NOTHING);
    assert_eq!(site.write(own(2), range(1, 12)), NOTHING);
    assert_eq!(site.read(own(3), high), ["3 granted"]);
    assert_eq!(said(&site.switch(Method::Locking)), ["1 deadlock"]);
    assert_eq!(site.finish(remote), NOTHING);
    assert_eq!(said(&site.switch(Method::Optimistic)), ["2 granted"]);
}

/// Otherwise a load of many rows would stop the site: work must grow with the number of writes, not with its square.
#[test]
fn large_histories_are_locked_in_one_pass() {
    let key = |number: u32| Key::new(&number.to_be_bytes());
    let writes = (0..100_000_u32).map(|number| Write { table: TABLE, key: key(number), row: None });
    let large = Arc::new(History { writes: writes.collect(), ..History::default() });
    let mut site = locking();
    for number in 0..5_000_u32 {
        let range = KeyRange { table: TABLE, low: key(number * 20), high: Some(key(number * 20 + 10)) };
        assert_eq!(site.read(own(1), AccessTarget::Range(Box::new(range))), ["1 granted"]);
    }
    assert_eq!(site.commit_lock(own(9), large.clone()), ["1 doomed: stale", "9 commit-locks granted"]);
    assert_eq!(site.commit_lock(own(3), large), NOTHING);
    assert_eq!(site.finish(own(9)), ["3 commit-locks granted"]);
    site.finish(own(3));
    site.finish(own(1));
    assert!(site.controller.is_idle());
}
