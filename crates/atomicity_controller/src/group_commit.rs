//! Group commit: transactions of this home that are ready while others are on their way commit together. There is one prepare, one vote of each site, one
//! decision for all of them. To the other sites a group is one transaction; to whoever asked, each is its own.
//!
//! How many rounds may be on their way follows from how long one takes (`GroupCommit::rounds_allowed`): few where a round costs more work than
//! time, many where it is far. So a ready transaction waits for a small part of a round, or not at all; and a round that takes longer than most
//! holds nobody up. When a group may leave, it first takes along what becomes ready in the same turn: the controller sends itself a message behind
//! everything that waits inside the site (`GroupTurn`), for what was asked for together is ready together. A site alone, whose rounds take no time, commits groups
//! by that only. What has lost a conflict before waits for nobody and goes alone: its age must decide, not the company. (Group commit: DeWitt et al.,
//! "Implementation Techniques for Main Memory Database Systems", 1984, section 5.2, there for the log.)
//!
//! Whoever changes something waits here while too much of what was installed is not in the store (`AccessReply::Room`): nobody has heard of it yet,
//! so it holds up no other site and no reader of a snapshot.
//!
//! Invariants: no member of a group uses what another one changes, so each may be taken for the first; nothing is told of a member before the
//! outcome of its group; a group that aborts leaves nothing, and each of its members is then judged alone, under its own identifier.

use crate::limits::{
    GROUP_BYTES_MAX, GROUP_ITEMS_MAX, GROUP_MAX, GROUP_PATIENCE, GROUP_RANGES_MAX, ROUND_SLACK_PARTS, ROUNDS_MAX,
};
use messages::commit::CommitRequest;
use messages::planted;
use messages::planted::Planted;
use messages::{Addends, Age, History, Key, KeyRange, Now, TableId, Timestamp, TransactionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// A transaction that its home site has executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReadyTransaction {
    pub(crate) transaction: TransactionId,
    pub(crate) age: Age,
    pub(crate) history: Arc<History>,
    /// As in [`CommitRequest::Commit`].
    pub(crate) logged_everywhere: bool,
    /// Since when (boot clock).
    pub(crate) since: u64,
}

impl ReadyTransaction {
    /// As it was asked for.
    pub(crate) fn into_request(self) -> CommitRequest {
        let ReadyTransaction { transaction, age, history, logged_everywhere, .. } = self;
        CommitRequest::Commit { transaction, age, history, logged_everywhere }
    }
}

/// Whether what becomes ready together has had the time to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum GroupTurn {
    /// Nobody who could leave has waited for it.
    Unknown,
    /// `CommitRequest::Gathered` is on its way.
    Asked,
    /// It has come back: whoever is ready may leave.
    Over,
}

/// What is ready to be committed and has not been sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GroupCommit {
    ready: VecDeque<ReadyTransaction>,
    /// Those that commit by themselves, at once: too large, or members of a group that has aborted.
    alone: VecDeque<ReadyTransaction>,
    turn: GroupTurn,
    /// Rounds on their way: prepares sent and not decided.
    voting: usize,
    /// The time of a round when little else is under way, nanoseconds.
    round: u64,
    /// The time that half of the rounds take.
    median: u64,
    /// When the last prepare was sent (boot clock).
    sent_at: u64,
    /// How far apart rounds begin, nanoseconds.
    round_pace: u64,
    /// Members of a group, at most: less after each that aborts, more after each that commits.
    group_max: usize,
    /// Bytes that may be written before there is too much that is not in the store,
    room: u64,
    /// and bytes that what is on its way writes.
    on_way: u64,
}

impl GroupCommit {
    /// Nothing is ready. Rounds begin `round_pace` nanoseconds apart while one is on its way.
    pub(crate) fn new(round_pace: u64) -> GroupCommit {
        GroupCommit {
            ready: VecDeque::new(),
            alone: VecDeque::new(),
            turn: GroupTurn::Unknown,
            voting: 0,
            round: 0,
            median: 0,
            sent_at: 0,
            round_pace,
            group_max: GROUP_MAX,
            room: u64::MAX,
            on_way: 0,
        }
    }

    /// A transaction is ready.
    pub(crate) fn add(&mut self, ready: ReadyTransaction) {
        let has_lost = ready.age.first != ready.transaction;
        let is_alone = has_lost || ready.logged_everywhere || !may_join_group(&ready.history);
        let queue = if is_alone { &mut self.alone } else { &mut self.ready };
        queue.push_back(ready);
    }

    /// Takes back one that has not been sent.
    pub(crate) fn take_back(&mut self, transaction: TransactionId) -> Option<ReadyTransaction> {
        [&mut self.alone, &mut self.ready].into_iter().find_map(|queue| {
            let position = queue.iter().position(|ready| ready.transaction == transaction)?;
            queue.remove(position)
        })
    }

    /// Takes back all of them, in the order in which they became ready.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = ReadyTransaction> + use<> {
        std::mem::take(&mut self.alone).into_iter().chain(std::mem::take(&mut self.ready))
    }

    /// A group has aborted: each of its members commits alone, if it can.
    pub(crate) fn part(&mut self, members: Vec<ReadyTransaction>) {
        self.group_max = (self.group_max / 2).max(1);
        self.alone.extend(members);
    }

    /// So many bytes may be written.
    pub(crate) fn set_room(&mut self, bytes: u64) {
        self.room = bytes;
    }

    /// A prepare was sent, of a history that writes so many bytes.
    pub(crate) fn sent(&mut self, now: Now, bytes: u64) {
        self.voting += 1;
        self.on_way += bytes;
        self.sent_at = now.boot;
    }

    /// A transaction, or a group of so many members, which writes so many bytes, has committed, so long after its prepare was sent
    /// (nanoseconds); or it has aborted.
    pub(crate) fn decided(&mut self, members: usize, bytes: u64, committed_after: Option<u64>) {
        self.voting -= 1;
        self.on_way -= bytes;
        if let Some(took) = committed_after {
            let took = took.max(1);
            let known = if self.median == 0 { (took, took) } else { (self.round, self.median) };
            self.round = took.min(known.0 + slack(known.0));
            self.median = if took > known.1 { known.1 + slack(known.1) } else { known.1 - slack(known.1) }.max(1);
            if members >= self.group_max {
                self.group_max = (self.group_max + 1).min(GROUP_MAX);
            }
        }
    }

    /// An epoch change has decided what was on its way.
    pub(crate) fn all_decided(&mut self) {
        (self.voting, self.on_way) = (0, 0);
    }

    /// How many rounds may be on their way: one begins every `round_pace` if all take as long as the last quick one.
    fn rounds_allowed(&self) -> usize {
        (1 + self.round / self.round_pace).min(ROUNDS_MAX) as usize
    }

    /// Whether some that are ready may leave, apart from those that will be ready in the same turn.
    fn is_due(&self, now: Now) -> bool {
        let Some(first) = self.ready.front() else { return false };
        self.voting < self.rounds_allowed()
            || now.boot >= self.sent_at + self.median.max(self.round_pace)
            || now.boot >= first.since + GROUP_PATIENCE
    }

    /// Whether the controller is to send itself `CommitRequest::Gathered` now, after everybody has left who may.
    pub(crate) fn asks_for_turn(&mut self, now: Now) -> bool {
        let asks = self.turn == GroupTurn::Unknown && self.room > self.on_way && self.is_due(now);
        if asks {
            self.turn = GroupTurn::Asked;
        }
        asks
    }

    /// `CommitRequest::Gathered` has come back. Whoever was ready may have been taken back meanwhile.
    pub(crate) fn turn_is_over(&mut self) {
        self.turn = if self.ready.is_empty() { GroupTurn::Unknown } else { GroupTurn::Over };
    }

    /// Whom to send now: one transaction, or several that are independent of each other, and then what they read and wrote together. Empty: nobody.
    pub(crate) fn next(&mut self, now: Now, planted: Planted) -> (Vec<ReadyTransaction>, History) {
        let only = |ready: Option<ReadyTransaction>| (ready.into_iter().collect(), History::default());
        if self.room <= self.on_way {
            return only(self.next_without_changes());
        }
        if let Some(alone) = self.alone.pop_front() {
            return only(Some(alone));
        }
        if self.turn != GroupTurn::Over || !self.is_due(now) {
            return only(None);
        }
        self.turn = GroupTurn::Unknown;
        if self.ready.len() == 1 || self.group_max == 1 {
            return only(self.ready.pop_front());
        }
        let (mut group, mut rest) = (Vec::with_capacity(self.ready.len()), VecDeque::new());
        // Borrowed from here while the group is chosen.
        let ready = std::mem::take(&mut self.ready);
        let mut joined = Joined::default();
        let (mut joins, mut members) = (Vec::with_capacity(ready.len()), 0);
        for ready in &ready {
            let is_full = members >= self.group_max;
            joins.push(!is_full && joined.admit(&ready.history, planted!(planted, GatheredDependent)));
            members += usize::from(joins.last() == Some(&true));
        }
        let mut history = joined.into_history();
        for (ready, joins) in ready.into_iter().zip(joins) {
            match joins {
                true => group.push(ready),
                false => rest.push_back(ready),
            }
        }
        self.ready = rest;
        if planted!(planted, NotificationsOfGroupDropped) {
            let first: usize = group.iter().take(1).map(|ready| ready.history.notifications.len()).sum();
            history.notifications.truncate(first);
        }
        (group, history)
    }

    /// Of those that are ready, the first that needs no room.
    fn next_without_changes(&mut self) -> Option<ReadyTransaction> {
        let changes_nothing = |ready: &ReadyTransaction| ready.history.changed().next().is_none();
        [&mut self.alone, &mut self.ready].into_iter().find_map(|queue| {
            let position = queue.iter().position(changes_nothing)?;
            queue.remove(position)
        })
    }
}

/// A part of a time, by which an estimate follows it.
fn slack(time: u64) -> u64 {
    time.div_ceil(ROUND_SLACK_PARTS).max(1)
}

/// Whether it may commit with others: it is small, and changes rows only.
fn may_join_group(history: &History) -> bool {
    let items = history.reads.len() + history.writes.len() + history.increments.len();
    history.drops.is_empty()
        && items <= GROUP_ITEMS_MAX
        && history.ranges.len() <= GROUP_RANGES_MAX
        && history.bytes() <= GROUP_BYTES_MAX
        && history.writes.iter().all(|write| write.table != TableId::CATALOG)
}

/// How the members of a group use an item.
#[derive(Clone, Copy, Debug)]
enum ItemUse {
    /// Some have read this version.
    Read(Timestamp),
    /// One alone uses it.
    Written,
    /// Some add to it: the place of the sum among the group's increments.
    Added(usize),
}

/// What the members of a group read and wrote, each item once.
#[derive(Debug, Default)]
struct Joined<'a> {
    items: FxHashMap<(TableId, &'a Key), ItemUse>,
    history: History,
    bytes: usize,
}

/// Of a history that depends on no member of a group, what differs from theirs.
#[derive(Debug, Default)]
struct NewInGroup {
    /// Its reads of items that none of them uses, by place in it,
    reads: SmallVec<[usize; 8]>,
    /// its increments of such items, likewise,
    increments: SmallVec<[usize; 4]>,
    /// and the sums of its other increments and theirs, by place among the group's.
    sums: SmallVec<[(usize, Addends); 4]>,
}

impl<'a> Joined<'a> {
    /// The history of the group, in the order that every participant looks for.
    fn into_history(mut self) -> History {
        self.history.increments.sort_unstable_by(|one, other| (one.table, &one.key).cmp(&(other.table, &other.key)));
        self.history
    }

    /// Takes in what one more has read and written. False, and nothing has changed: it depends on what another changes, or the other way round.
    /// `dependent`: it is taken in all the same.
    fn admit(&mut self, history: &'a History, dependent: bool) -> bool {
        let bytes = self.bytes + history.bytes();
        let new = match self.compare(history) {
            Some(new) if bytes <= GROUP_BYTES_MAX => new,
            _ if dependent => NewInGroup {
                reads: (0..history.reads.len()).collect(),
                increments: (0..history.increments.len()).collect(),
                sums: SmallVec::new(),
            },
            _ => return false,
        };
        self.bytes = bytes;
        self.take(history, new);
        true
    }

    /// `None`: it is not independent.
    fn compare(&self, history: &History) -> Option<NewInGroup> {
        let mut new = NewInGroup::default();
        for (place, read) in history.reads.iter().enumerate() {
            match self.items.get(&(read.table, &read.key)) {
                None => new.reads.push(place),
                Some(ItemUse::Read(seen)) if *seen == read.seen => {}
                Some(_) => return None,
            }
        }
        for (place, increment) in history.increments.iter().enumerate() {
            match self.items.get(&(increment.table, &increment.key)) {
                None => new.increments.push(place),
                Some(ItemUse::Added(sums)) => {
                    let both = sum(&self.history.increments[*sums].addends, &increment.addends)?;
                    new.sums.push((*sums, both));
                }
                Some(ItemUse::Read(_) | ItemUse::Written) => return None,
            }
        }
        let in_range =
            |range: &KeyRange, table: TableId, key: &Key| range.table == table && range.contains(key.as_bytes());
        let is_changed = |range: &KeyRange| {
            let mut changed = self.items.iter().filter(|(_, item)| !matches!(item, ItemUse::Read(_)));
            changed.any(|((table, key), _)| in_range(range, *table, key))
        };
        let ranges = &self.history.ranges;
        let independent = history.writes.iter().all(|write| !self.items.contains_key(&(write.table, &write.key)))
            && !history.ranges.iter().any(|read| is_changed(&read.range))
            && !history.changed().any(|(table, key)| ranges.iter().any(|read| in_range(&read.range, table, key)));
        independent.then_some(new)
    }

    fn take(&mut self, history: &'a History, new: NewInGroup) {
        let joined = &mut self.history;
        for read in new.reads.into_iter().map(|place| &history.reads[place]) {
            if let Entry::Vacant(entry) = self.items.entry((read.table, &read.key)) {
                entry.insert(ItemUse::Read(read.seen));
                joined.reads.push(read.clone());
            }
        }
        for write in &history.writes {
            self.items.insert((write.table, &write.key), ItemUse::Written);
        }
        for increment in new.increments.into_iter().map(|place| &history.increments[place]) {
            let place = joined.increments.len();
            match self.items.entry((increment.table, &increment.key)) {
                Entry::Vacant(entry) => {
                    entry.insert(ItemUse::Added(place));
                }
                // Its own read, of a statement that was rolled back: nobody else may use the item.
                Entry::Occupied(mut entry) => {
                    entry.insert(ItemUse::Written);
                }
            }
            joined.increments.push(increment.clone());
        }
        for (place, sums) in new.sums {
            joined.increments[place].addends = sums;
        }
        joined.writes.extend_from_slice(&history.writes);
        joined.ranges.extend_from_slice(&history.ranges);
        joined.notifications.extend_from_slice(&history.notifications);
    }
}

/// Both sums; `None` when a number gets too large, or when one is added and the other subtracted: where the sum of both fits a column, each alone
/// might not, in either order.
fn sum(left: &Addends, right: &Addends) -> Option<Addends> {
    let mut sums = left.clone();
    for addend in right {
        match sums.iter_mut().find(|own| own.column == addend.column) {
            Some(sum) if (sum.number < 0) != (addend.number < 0) => return None,
            Some(sum) => *sum = sum.and(*addend)?,
            None => sums.push(*addend),
        }
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ROUND_PACE;
    use messages::{Incarnation, Increment, ItemRead, RangeRead, SiteId, Write};

    const TABLE: TableId = TableId(20);

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes())
    }

    fn reads(name: &str, clock: u64) -> History {
        let seen = Timestamp { clock, ..Timestamp::ZERO };
        History { reads: vec![ItemRead { table: TABLE, key: key(name), seen }], ..History::default() }
    }

    fn scans(low: &str, high: &str) -> History {
        let range = KeyRange { table: TABLE, low: key(low), high: Some(key(high)) };
        History { ranges: vec![RangeRead { range, as_of: Timestamp::ZERO }], ..History::default() }
    }

    fn writes(name: &str) -> History {
        History { writes: vec![Write { table: TABLE, key: key(name), row: None }], ..History::default() }
    }

    fn with_read(mut history: History, name: &str) -> History {
        history.reads = reads(name, 1).reads;
        history
    }

    fn adds(name: &str, number: i64) -> History {
        let addends = [messages::Addend::whole(1, number)].into_iter().collect();
        History { increments: vec![Increment { table: TABLE, key: key(name), addends }], ..History::default() }
    }

    fn ready(sequence: u64, history: History) -> ReadyTransaction {
        let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(1), sequence };
        let age = Age { clock: sequence, first: transaction };
        ReadyTransaction { transaction, age, history: Arc::new(history), logged_everywhere: false, since: 0 }
    }

    /// Who leaves when nothing else becomes ready in this turn.
    fn leaves(group_commit: &mut GroupCommit, now: Now) -> Vec<ReadyTransaction> {
        if group_commit.asks_for_turn(now) {
            group_commit.turn_is_over();
        }
        group_commit.next(now, Planted::none()).0
    }

    /// Two that commit as one although one of them has read what the other changes could not have run one after the other.
    #[test]
    fn who_depends_on_another_stays_out_of_its_group() {
        let pairs = [
            (reads("a", 1), reads("a", 1), true),
            (reads("a", 1), reads("a", 2), false),
            (reads("a", 1), writes("a"), false),
            (reads("a", 1), adds("a", 1), false),
            (reads("a", 1), writes("b"), true),
            (writes("a"), writes("a"), false),
            (writes("a"), adds("a", 1), false),
            (adds("a", 1), adds("a", 2), true),
            (adds("a", 1), adds("a", -1), false),
            (adds("a", i64::MAX), adds("a", 1), false),
            // A statement has read it and was rolled back; what was added before stands.
            (with_read(adds("a", 1), "a"), adds("a", 1), false),
            (with_read(adds("a", 1), "a"), reads("a", 1), false),
            (with_read(adds("a", 1), "a"), adds("b", 1), true),
            (scans("a", "c"), writes("b"), false),
            (scans("a", "c"), adds("b", 1), false),
            (scans("a", "c"), writes("c"), true),
            (scans("a", "c"), reads("b", 1), true),
            (scans("a", "c"), scans("b", "d"), true),
        ];
        for (left, right, independent) in pairs {
            for (first, second) in [(&left, &right), (&right, &left)] {
                let mut joined = Joined::default();
                assert!(joined.admit(first, false), "whoever comes first depends on nobody");
                assert_eq!(joined.admit(second, false), independent, "{first:?} and {second:?}");
            }
        }
    }

    /// An item named twice in a history would be installed, or added to, twice.
    #[test]
    fn a_group_names_each_item_once() {
        let first = with_read(adds("n", 5), "a");
        let mut second = with_read(adds("n", 6), "a");
        second.increments.insert(0, adds("m", 1).increments.remove(0));
        let mut joined = Joined::default();
        let third = writes("w");
        assert!([&first, &second, &third].into_iter().all(|history| joined.admit(history, false)));
        let joined = joined.into_history();
        assert_eq!(joined.reads, reads("a", 1).reads);
        assert_eq!(joined.writes, writes("w").writes);
        let sums = [adds("m", 1).increments, adds("n", 11).increments].concat();
        assert_eq!(joined.increments, sums);
    }

    /// While one round is on its way the others wait and leave as a group; where a round takes long, more are on their way, so that nobody waits for a whole one.
    #[test]
    fn rounds_that_take_long_overlap() {
        let now = Now { boot: 0, wall_micros: 0 };
        let mut group_commit = GroupCommit::new(ROUND_PACE);
        let send = |group_commit: &mut GroupCommit, name: &str| {
            group_commit.add(ready(1, writes(name)));
            let group = leaves(group_commit, now);
            (!group.is_empty()).then(|| group_commit.sent(now, 1)).is_some()
        };
        assert!(send(&mut group_commit, "a") && !send(&mut group_commit, "b"));
        group_commit.decided(1, 1, Some(10 * ROUND_PACE));
        let sent = (0..12).filter(|number| send(&mut group_commit, &number.to_string())).count();
        assert_eq!(sent, 11, "b and what came next leave together, and then ten more");
        group_commit.add(ready(1, writes("late")));
        assert!(leaves(&mut group_commit, now).is_empty());
        let later = Now { boot: 10 * ROUND_PACE, ..now };
        assert_eq!(leaves(&mut group_commit, later).len(), 2, "a round that takes longer than most holds nobody up");
    }

    /// Who writes while there is no room fills memory; who waits for room that is there, or for room that it does not need, waits for nothing.
    #[test]
    fn who_changes_something_waits_for_room() {
        let now = Now { boot: 0, wall_micros: 0 };
        let mut group_commit = GroupCommit::new(ROUND_PACE);
        let names =
            |group: Vec<ReadyTransaction>| group.iter().map(|ready| ready.transaction.sequence).collect::<Vec<_>>();
        group_commit.set_room(0);
        for (sequence, history) in [(1, writes("a")), (2, adds("b", 1)), (3, reads("c", 1))] {
            group_commit.add(ready(sequence, history));
        }
        let retried = ReadyTransaction { age: ready(9, reads("d", 1)).age, ..ready(4, writes("d")) };
        group_commit.add(retried);
        assert_eq!(names(leaves(&mut group_commit, now)), [3]);
        assert_eq!(names(leaves(&mut group_commit, now)), [0; 0]);
        group_commit.set_room(100);
        assert_eq!(names(leaves(&mut group_commit, now)), [4]);
        group_commit.sent(now, 100);
        assert_eq!(names(leaves(&mut group_commit, now)), [0; 0], "what is on its way needs the room");
        group_commit.decided(1, 100, None);
        group_commit.set_room(0);
        let second = ready(2, History::default()).transaction;
        assert!(group_commit.take_back(second).is_some(), "it can still be taken back");
        group_commit.set_room(u64::MAX);
        assert_eq!(names(leaves(&mut group_commit, now)), [1]);
    }

    /// Whoever leaves before the turn is over commits alone although others are about to be ready; whoever asks for its end twice pays for it twice.
    #[test]
    fn what_becomes_ready_in_one_turn_leaves_together() {
        let now = Now { boot: 0, wall_micros: 0 };
        let mut group_commit = GroupCommit::new(ROUND_PACE);
        let next = |group_commit: &mut GroupCommit| group_commit.next(now, Planted::none()).0.len();
        assert!(!group_commit.asks_for_turn(now), "nobody is ready");
        group_commit.add(ready(1, writes("a")));
        assert_eq!(next(&mut group_commit), 0);
        assert!(group_commit.asks_for_turn(now) && !group_commit.asks_for_turn(now));
        group_commit.add(ready(2, writes("b")));
        assert_eq!(next(&mut group_commit), 0);
        group_commit.turn_is_over();
        assert_eq!(next(&mut group_commit), 2);
        group_commit.sent(now, 2);
        group_commit.add(ready(3, writes("c")));
        assert!(!group_commit.asks_for_turn(now), "it waits for a round");
        group_commit.decided(2, 2, Some(1));
        assert!(group_commit.asks_for_turn(now), "a turn begins with who may leave");
    }
}
