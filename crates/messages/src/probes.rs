//! Probes: rare branches of the servers that the simulator must have gone through, or its verdict says nothing of them.
//!
//! A probe counts how often its branch was taken, by all machines of the process, and changes nothing else. `raid sim --probes` lists them with
//! what a sweep has reached. Invariant: no server reads a count.

use std::sync::atomic::{AtomicU64, Ordering};

/// A branch that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name, as [`reached!`](crate::reached) has it.
    pub name: &'static str,
    /// What has happened when it is reached.
    pub what: &'static str,
}

macro_rules! probes {
    ($($name:literal: $what:literal;)*) => {
        /// All of them.
        pub const ALL: &[Probe] = &[$(Probe { name: $name, what: $what }),*];
    };
}

probes! {
    "resolution-decision-wins": "a member brings the decision of a transaction that others only know as prepared";
    "resolution-aborts": "a member has refused a transaction, or does not know it, and nobody has decided it";
    "resolution-commits": "all members hold a transaction as prepared, and nobody its decision: it commits";
    "resolution-void-passed": "what a member says of an epoch that it came to later is passed over";
    "change-replaced": "an epoch fails before it is active, and another one takes its place";
    "epoch-of-one": "a member enters an epoch in which it is alone";
    "restart-proposed": "after a total failure a member proposes to restart the last epoch";
    "restart-waits": "after a total failure a member waits for others that it must not restart without";
    "leases-waited-out": "a member that could serve waits until leases of outsiders are over";
    "set-back-found": "a copy was put back from an older one, and its members know";
    "fail-locks-overflow": "a storage is locked as a whole, since too many of its items would be named";
    "recent-overflow": "more commits are remembered than may be, and the oldest become fail-locks";
    "own-tail-locked": "a joiner locks what it had voted for in an earlier life and does not know the outcome of";
    "joiner-locks-everything": "nobody can say what a joiner lacks: everything is stale";
    "refreshed-in-replay": "a replay refreshes items, which says nothing of this life";
    "silent-voter": "a member that renews its leases does not vote";
    "outcomes-surplus": "more outcomes of lives that are over are known than may be kept";
    "joining-refuses-increment": "no increment is made to what a member that is being repaired may lack";
    "copier-meets-drop": "a copy of a storage that was dropped is asked for";
    "copier-meets-newer": "a copy comes of an item that was written here meanwhile";
    "urgent-goes-first": "a message from outside is taken before one that came earlier and is less urgent";
    "switched-by-itself": "a site goes over to another method of concurrency control by its own rules";
    "stale-read": "a read meets an item that is stale here";
    "stale-in-scan": "a scan ends at an item that is stale here";
    "below-floor": "a snapshot is below what is known of a refreshed item's past";
    "snapshot-gone": "a snapshot's versions are not kept any more";
    "oldest-snapshot-given-up": "the oldest snapshot is given up for want of memory";
    "needed-version-kept": "a version that was replaced is kept for a snapshot in use";
    "drop-waits-for-readers": "a dropped storage stays for a snapshot that may read it";
    "hollow-storage": "a storage turns out to have nothing but absences";
    "increment-to-stale": "an increment meets an item that is stale here";
    "readded-in-replay": "a replay adds what was added before";
    "no-room": "a site has installed so much that its store lacks that transactions must wait";
    "swap-settled-by-reading": "an oracle is asked again for what it has done";
    "oracle-distrusts": "an oracle that was set back changes nothing";
    "shorter-lease-asked": "a member asks for a shorter lease than it was granted before";
    "grant-refused": "a sealed member is asked for a lease";
    "store-of-another-log": "a site's store and log do not belong together";
    "request-of-earlier-life": "a client's request was for a life that is over";
    "turn-ended": "a site has no time left with messages to deliver";
    "long-waiter-first": "a commit-lock gives way to an access that has waited long";
    "younger-dies": "a transaction dies at an older one's commit-lock";
    "younger-waiter-killed": "a transaction that waits for commit-locks is killed by an older one";
    "executing-doomed": "a commit-lock ends a transaction that still executes";
    "notification-held": "who listens is not told of a commit yet, because something may commit below it";
    "deadlock": "an access would wait for itself";
}

static REACHED: [AtomicU64; ALL.len()] = [const { AtomicU64::new(0) }; ALL.len()];

/// The place of a probe in [`ALL`].
///
/// # Panics
/// There is none of that name; [`reached!`](crate::reached) finds that when it is compiled.
pub const fn index(name: &str) -> usize {
    let mut index = 0;
    while index < ALL.len() {
        if equal(ALL[index].name.as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("no probe has this name: list it in messages::probes")
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Counts a branch that was taken.
pub fn note(index: usize) {
    REACHED[index].fetch_add(1, Ordering::Relaxed);
}

/// All probes, and how often each was reached by this process.
pub fn counts() -> impl Iterator<Item = (Probe, u64)> {
    ALL.iter().zip(&REACHED).map(|(probe, count)| (*probe, count.load(Ordering::Relaxed)))
}

/// Says that a rare branch was taken; see [`probes`](crate::probes).
#[macro_export]
macro_rules! reached {
    ($name:literal) => {{
        const PROBE: usize = $crate::probes::index($name);
        $crate::probes::note(PROBE);
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two probes of one name would be counted as one.
    #[test]
    fn names_are_unique_and_branches_are_counted() {
        for (index, probe) in ALL.iter().enumerate() {
            assert_eq!(self::index(probe.name), index, "{}", probe.name);
        }
        let before = counts().find(|(probe, _)| probe.name == "deadlock").map(|(_, count)| count);
        crate::reached!("deadlock");
        let after = counts().find(|(probe, _)| probe.name == "deadlock").map(|(_, count)| count);
        assert_eq!(after, before.map(|count| count + 1));
    }
}
