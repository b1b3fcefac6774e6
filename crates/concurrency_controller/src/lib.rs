//! The concurrency controller: orders transactions that meet at a site.
//!
//! A *sequencer* in the papers' words: actions in, scheduling out. While a transaction executes at its home site, the method in force
//! says whether its accesses wait for each other; while one is being prepared, wherever its home, its whole history is
//! commit-locked, whatever the method. Prepared beats executing. Rules 1, 3 and 5 of the design; the papers'
//! concurrency controller (Bhargava and Riedl, "A Model for Adaptable Systems for Transaction Processing", 1989).
//!
//! It must not know rows, versions, sites or why a transaction ends. In reading order:
//!
//! * [`lock_table`] and [`segments`]: who locks which items and ranges;
//! * [`commit_locks`]: transactions that are being prepared, and readers of snapshots;
//! * [`sequencer`]: what a method is; [`executing`]: what all methods have in common;
//! * [`locking`], [`optimistic`]: the methods; [`recommend`]: which to choose when;
//! * [`limits`] names the bounds.

pub mod commit_locks;
pub mod executing;
pub mod limits;
pub mod lock_table;
pub mod locking;
pub mod methods;
pub mod optimistic;
pub mod recommend;
pub mod segments;
pub mod sequencer;

use commit_locks::{CommitLocks, Finished, Verdict};
use executing::{Answer, Executing, How};
use lock_table::{Mode, Place, Placing};
use messages::concurrency::{AccessKind, ConcurrencyReply, ConcurrencyRequest, Target};
use messages::epoch::Method;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::{Age, Conflict, Envelope, History, Item, Message, Now, Outbox, Server, ServerKind, TransactionId};
use messages::{planted, reached};
use methods::sequencer_of;
use sequencer::Sequencer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the load has come to, for status and [`recommend`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Accesses asked for.
    pub accesses: u64,
    /// Of them, those that waited.
    pub access_waits: u64,
    /// Of them, those refused because they would have waited in a circle.
    pub deadlocks: u64,
    /// Executing transactions that lost an access to a prepared one.
    pub doomed: u64,
    /// Histories to commit-lock.
    pub commit_locks: u64,
    /// Of them, those that waited.
    pub commit_lock_waits: u64,
    /// Of them, those that died, at once or while they waited.
    pub commit_lock_deaths: u64,
}

/// The concurrency controller of one site.
#[derive(Serialize, Deserialize)]
pub struct ConcurrencyController {
    #[serde(with = "methods::by_name")]
    sequencer: Box<dyn Sequencer + Send>,
    executing: Executing,
    commit_locks: CommitLocks,
    counters: Counters,
    placing: Placing,
}

impl ConcurrencyController {
    /// A controller with nothing under way, which locks so many items of a storage one by one for a commit, at most.
    pub fn new(method: Method, points_max: usize, planted: Planted) -> ConcurrencyController {
        let placing = Placing { points_max, planted };
        ConcurrencyController {
            sequencer: sequencer_of(method),
            executing: Executing::default(),
            commit_locks: CommitLocks::new(placing),
            counters: Counters::default(),
            placing,
        }
    }

    /// The method in force.
    pub fn method(&self) -> Method {
        self.sequencer.method()
    }

    /// What the load has come to.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether nothing is under way: nobody executes, is being prepared or waits.
    pub fn is_idle(&self) -> bool {
        self.executing.is_empty() && self.commit_locks.is_empty()
    }

    /// Goes on with another method. Nothing stops: what is under way is kept, what now waits for nobody is granted, and what now
    /// waits in a circle is refused.
    pub fn switch(&mut self, now: Now, method: Method, outbox: &mut Outbox) {
        if method == self.method() {
            return;
        }
        self.sequencer = sequencer_of(method);
        for (transaction, conflict) in self.executing.method_changed(now.boot, &mut self.commit_locks, &*self.sequencer)
        {
            self.counters.deadlocks += u64::from(conflict.is_some());
            reply_access(transaction, conflict, outbox);
        }
    }

    fn request(&mut self, now: Now, request: ConcurrencyRequest, outbox: &mut Outbox) {
        match request {
            ConcurrencyRequest::Access { transaction, age, target, kind, may_wait, precedence } => {
                let how = How { mode: Mode::from(kind), may_wait, precedence };
                self.access(now, (transaction, age), target, how, outbox);
            }
            ConcurrencyRequest::AccessAhead { transaction, age, accesses } => {
                let granted = self.access_ahead(now, (transaction, age), accesses);
                let reply = ConcurrencyReply::AccessAheadReply { transaction, granted };
                outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
            }
            ConcurrencyRequest::CommitLock { transaction, age, history, gathered } => {
                self.commit_lock(now, (transaction, age), history, &gathered, outbox);
            }
            ConcurrencyRequest::Voted { transaction, proposal } => self.commit_locks.voted(transaction, proposal),
            ConcurrencyRequest::GiveUp { transaction, items } => {
                let freed = self.executing.give_up(transaction, &items);
                self.go_on(now, freed.iter().map(Place::from), outbox);
            }
            ConcurrencyRequest::HandOver { transaction, to } => {
                let freed = self.executing.hand_over(transaction, to);
                self.go_on(now, freed.iter().map(Place::from), outbox);
            }
            ConcurrencyRequest::Finish { transaction } => self.finish(now, transaction, outbox),
            ConcurrencyRequest::SnapshotAccess { tag, target, snapshot } => {
                if self.commit_locks.snapshot_access(tag, Place::from(&target), snapshot) {
                    reply_snapshot(tag, outbox);
                }
            }
            ConcurrencyRequest::ForgetSnapshot { tag } => self.commit_locks.forget_snapshot(tag),
        }
    }

    fn access(
        &mut self,
        now: Now,
        (transaction, age): (TransactionId, Age),
        target: Target,
        how: How,
        outbox: &mut Outbox,
    ) {
        self.counters.accesses += 1;
        if planted!(self.placing.planted, RangeNotChecked) && matches!(target, Target::Range(..)) {
            return reply_access(transaction, None, outbox);
        }
        let (locks, sequencer) = (&mut self.commit_locks, &*self.sequencer);
        match self.executing.access((transaction, age), target, how, now.boot, locks, sequencer) {
            Answer::Granted => reply_access(transaction, None, outbox),
            Answer::Waits => {
                self.counters.access_waits += 1;
                busy(transaction, outbox);
            }
            Answer::Busy => busy(transaction, outbox),
            Answer::Refused(conflict) => {
                self.counters.deadlocks += u64::from(conflict.kind == messages::ConflictKind::Deadlock);
                reply_access(transaction, Some(conflict), outbox);
            }
        }
    }

    /// Grants accesses up to the first that cannot be had at once. How many.
    fn access_ahead(
        &mut self,
        now: Now,
        (transaction, age): (TransactionId, Age),
        accesses: Vec<(Item, AccessKind)>,
    ) -> u32 {
        let (locks, sequencer) = (&mut self.commit_locks, &*self.sequencer);
        let mut granted = 0;
        for (item, kind) in accesses {
            let target = Target::Item(item);
            let how = How { mode: Mode::from(kind), may_wait: false, precedence: false };
            match self.executing.access((transaction, age), target, how, now.boot, locks, sequencer) {
                Answer::Granted => granted += 1,
                Answer::Waits | Answer::Busy | Answer::Refused(_) => break,
            }
        }
        self.counters.accesses += u64::from(granted);
        granted
    }

    /// Locks a whole history, or makes it wait, or lets it die (rule 3). A transaction that executed here stops executing: its accesses
    /// give way to its commit-locks, or to nothing if it dies. Those of the transactions that it consists of stay: if it comes to nothing each of
    /// them is judged alone, as if it had not been in company.
    fn commit_lock(
        &mut self,
        now: Now,
        (transaction, age): (TransactionId, Age),
        history: Arc<History>,
        gathered: &[TransactionId],
        outbox: &mut Outbox,
    ) {
        match self.commit_locks.holds(transaction) {
            Some(true) => return reply_commit_lock(transaction, None, outbox),
            Some(false) => return,
            None => self.counters.commit_locks += 1,
        }
        let mut executed = std::iter::once(&transaction).chain(gathered);
        if let Some(conflict) = executed.find_map(|&executed| self.executing.doomed(executed)) {
            return reply_commit_lock(transaction, Some(conflict.clone()), outbox);
        }
        let first = self.executing.goes_first(
            now.boot,
            (transaction, age, gathered),
            (self.placing, &history),
            &*self.sequencer,
        );
        if let Some(conflict) = first.filter(|_| !planted!(self.placing.planted, LongWaiterPassed)) {
            reached!("long-waiter-first");
            self.counters.commit_lock_deaths += 1;
            return reply_commit_lock(transaction, Some(conflict), outbox);
        }
        let (verdict, killed) = self.commit_locks.lock(transaction, age, history.clone());
        for dead in &killed {
            self.counters.commit_lock_deaths += 1;
            reply_commit_lock(dead.transaction, Some(dead.conflict.clone()), outbox);
        }
        let mut freed = self.executing.forget(transaction);
        if !matches!(verdict, Verdict::Dies(_)) {
            let (doomed, more) = self.executing.doom(transaction, gathered, (self.placing, &history), &*self.sequencer);
            freed.extend(more);
            for loser in doomed {
                reached!("executing-doomed");
                self.counters.doomed += 1;
                let (transaction, conflict) = (loser.transaction, loser.conflict);
                let message = ConcurrencyReply::Doomed { transaction, conflict: conflict.clone() };
                outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(message));
                if loser.waited {
                    reply_access(transaction, Some(conflict), outbox);
                }
            }
        }
        match verdict {
            Verdict::Locked => reply_commit_lock(transaction, None, outbox),
            Verdict::Waits => self.counters.commit_lock_waits += 1,
            Verdict::Dies(conflict) => {
                self.counters.commit_lock_deaths += 1;
                reply_commit_lock(transaction, Some(conflict), outbox);
            }
        }
        let placing = self.placing;
        let histories = killed.iter().flat_map(|dead| placing.places(&dead.history)).map(|(place, _)| place);
        self.go_on(now, histories.chain(freed.iter().map(Place::from)), outbox);
    }

    fn finish(&mut self, now: Now, transaction: TransactionId, outbox: &mut Outbox) {
        let freed = self.executing.forget(transaction);
        self.go_on(now, freed.iter().map(Place::from), outbox);
        let Some(Finished { history, granted, readers }) = self.commit_locks.finish(transaction) else {
            return;
        };
        for transaction in granted {
            reply_commit_lock(transaction, None, outbox);
        }
        for tag in readers {
            reply_snapshot(tag, outbox);
        }
        self.go_on(now, self.placing.places(&history).map(|(place, _)| place), outbox);
    }

    fn go_on<'a>(&mut self, now: Now, freed: impl Iterator<Item = Place<'a>>, outbox: &mut Outbox) {
        for transaction in self.executing.go_on(freed, now.boot, &mut self.commit_locks, &*self.sequencer) {
            reply_access(transaction, None, outbox);
        }
    }
}

fn reply_access(transaction: TransactionId, conflict: Option<Conflict>, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::AccessReply { transaction, conflict };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
}

fn busy(transaction: TransactionId, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::AccessBusy { transaction };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
}

fn reply_commit_lock(transaction: TransactionId, conflict: Option<Conflict>, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::CommitLockReply { transaction, conflict };
    outbox.local(ServerKind::AtomicityController, Message::ConcurrencyReply(reply));
}

fn reply_snapshot(tag: u64, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::SnapshotReply { tag };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
}

impl Server for ConcurrencyController {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        match envelope.message {
            Message::Concurrency(request) => self.request(now, request, outbox),
            // Nothing here outlives a restart: an epoch change resolves what was prepared before it.
            Message::Checkpoint => {}
            other => tracing::error!(?other, "not a message for a concurrency controller"),
        }
    }

    fn tick(&mut self, _: Now, _: &mut Outbox) {}

    fn replay(&mut self, _: &LogRecord, _: &mut Outbox) {}
}
