//! Bounds of the replication controller; times in nanoseconds of the boot clock.

use messages::LeaseLength;
use messages::lease::{OWN_PAUSE, SEAL_ANSWER};
use messages::limits::{MILLISECOND, RESEND, SECOND, SYNC_STALL};

/// A broken connection counts as a death when it has not come back by then.
pub const LOST_PATIENCE: u64 = 10 * MILLISECOND;
/// The next member in order proposes when the one before it has not within this time.
pub const PROPOSE_STAGGER: u64 = 40 * MILLISECOND;
/// A member that sees no more than half of the epoch lets others propose first: those who hear it, but are not answered by it, take up to
/// a renewal longer to suspect it than it takes to suspect them, and then seal and sync. `longest` is the longest lease that any of them asks for.
pub const fn minority_patience(longest: LeaseLength) -> u64 {
    2 * longest.renewal() + 50 * MILLISECOND
}
/// How often the oracle is asked for the epoch, at most.
pub const ORACLE_READ_INTERVAL: u64 = RESEND;
/// How often the oracle is told the epoch that this site knows, when nothing else asks it.
pub const CONFIRM_INTERVAL: u64 = SECOND;
/// A change that is not complete by then goes on without those who have not logged it. A member may be slow because its disk is; who is
/// silent, or has a disk that has stalled, is not waited for so long.
pub const CHANGE_PATIENCE: u64 = SYNC_STALL + SEAL_ANSWER;
/// A restart of the instance that has lost a member for this long begins again.
pub const RESTART_PATIENCE: u64 = SECOND;
/// A site that was told to restart the instance without the others looks out for them this long: longer than any lease of theirs.
pub const RESTART_ALONE: u64 = 2 * SECOND;
/// How often the log is told how far every member has synced.
pub const SYNCED_NOTE_INTERVAL: u64 = 500 * MILLISECOND;
/// A proposal that got nowhere is tried again after this time.
pub const PROPOSE_AGAIN: u64 = 100 * MILLISECOND;
/// A site heard from within this time is reachable.
pub const REACHABLE: u64 = SECOND;
/// A site that was taken in once is taken in again at once; after that it waits at least this long, and each time twice as long,
pub const JOIN_PAUSE_MIN: u64 = 100 * MILLISECOND;
/// but no longer than this,
pub const JOIN_PAUSE_MAX: u64 = 3 * SECOND;
/// until it was not taken in for this long.
pub const JOIN_FORGET: u64 = 10 * SECOND;
/// A copier that was not answered asks another member after this time.
pub const COPY_ANSWER: u64 = 200 * MILLISECOND;
/// After a background copier a recovering site rests for so many times as long as it took, if others have committed meanwhile: it takes one part in
/// one more of what the copying of one after the other would take of the members' time,
pub const COPY_REST: u64 = 3;
/// but rests no longer than this: over a slow network it is not work that takes long.
pub const COPY_REST_MAX: u64 = 50 * MILLISECOND;
/// How often a recovering site whose copy is current says so, until the next epoch has it up.
pub const CURRENT_INTERVAL: u64 = 100 * MILLISECOND;
/// How often a recovering site tells the others which items are refreshed and synced.
pub const REFRESHED_INTERVAL: u64 = 50 * MILLISECOND;
/// Copiers that reads wait for and that are under way at once; more queue.
pub const WANTED_COPIES_MAX: usize = 64;
/// Epochs of the chain that are remembered; whoever last belonged to an older one is fail-locked entirely.
pub const CHAIN_MAX: usize = 1_024;
/// Commits remembered because some member has not synced them; beyond it they turn into fail-locks of that member. They are more than
/// commit within `SYNC_STALL`, after which a member that does not sync is none.
pub const RECENT_MAX: usize = 200_000;

/// Commits that tables of lost lives name, all in all;
pub const OUTCOMES_MAX: usize = 100_000;
/// tables;
pub const OUTCOME_TABLES_MAX: usize = 256;
/// and how long each is kept, at a site.
pub const OUTCOMES_KEPT: u64 = 3_600 * SECOND;

const _: () = assert!(LOST_PATIENCE < LeaseLength::MIN.renewal() && PROPOSE_STAGGER < SEAL_ANSWER);
const _: () = assert!(
    OWN_PAUSE < LeaseLength::MIN.suspicion(),
    "what a site does not take for a pause of its own costs nobody else"
);
const _: () = assert!(LeaseLength::MAX.waited_out() < RESTART_ALONE && REACHABLE < RESTART_ALONE);
const _: () = assert!(4 * LeaseLength::MAX.renewal() < REACHABLE, "who holds a lease and asks for it is heard of");
const _: () = assert!(COPY_ANSWER < SECOND && JOIN_PAUSE_MIN < JOIN_PAUSE_MAX && JOIN_PAUSE_MAX < JOIN_FORGET);
