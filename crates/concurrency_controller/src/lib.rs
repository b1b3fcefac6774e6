//! The concurrency controller: orders transactions that meet at a site.
//!
//! A *sequencer* in the papers' words: actions in, scheduling out. While a transaction executes at its home site, the method in force
//! says whether its accesses wait for each other; while one is being prepared, wherever its home, its whole history is
//! commit-locked, whatever the method. Prepared beats executing. Rules 1, 3 and 5 of the design; the papers'
//! concurrency controller (Bhargava and Riedl, "A Model for Adaptable Systems for Transaction Processing", 1989).
//!
//! It must not know rows, versions, other sites or why a transaction ends. In reading order:
//!
//! * [`lock_table`] and [`segments`]: who locks which items and ranges;
//! * [`commit_locks`]: transactions that are being prepared, and readers of snapshots;
//! * [`sequencer`]: what a method is; [`executing`]: what all methods have in common;
//! * [`locking`], [`simple_locking`], [`optimistic`], [`serial`], [`timestamp`] with its [`ghosts`]: the methods; [`methods`] lists them;
//! * [`switching`], with [`both`] and [`breakers`]: from one method to another, in three ways; [`setting`]: which one is set, and what is told of it;
//! * [`evidence`]: what the load is like; [`advising`]: what an expert makes of it, and when that is done;
//! * [`limits`] names the bounds.

pub mod advising;
pub mod both;
pub mod breakers;
pub mod commit_locks;
pub mod evidence;
pub mod executing;
pub mod ghosts;
pub mod limits;
pub mod lock_table;
pub mod locking;
pub mod methods;
pub mod optimistic;
pub mod segments;
pub mod sequencer;
pub mod serial;
pub mod setting;
pub mod simple_locking;
pub mod switching;
pub mod timestamp;

use commit_locks::{CommitLockVerdict, CommitLocks, Finished};
use evidence::LoadEvidence;
use executing::{Committing, Doomed, Executing, How, LockOwner, LockReply, WaiterReplies};
use expert_system::{Expert, RuleBook};
use lock_table::{LockPlace, Mode, Placing};
use messages::concurrency::{AccessKind, AccessTarget, AccessWait, ConcurrencyReply, ConcurrencyRequest, Method};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::{
    Conflict, ConflictKind, Envelope, History, Item, Message, Now, Outbox, Server, ServerKind, SiteId, TransactionId,
};
use messages::{planted, reached};
use methods::Ruling;
use serde::{Deserialize, Serialize};
use setting::MethodSetting;
use std::sync::Arc;
use switching::Switching;

/// What the load has come to in this life, whatever the methods were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockCounters {
    /// Accesses asked for.
    pub accesses: u64,
    /// Of them, those that waited.
    pub access_waits: u64,
    /// Of them, those refused because they would have waited in a circle.
    pub deadlocks: u64,
    /// Executing transactions that lost an access to a prepared one.
    pub doomed: u64,
    /// Of the accesses, those refused because they came too late for the order of the method.
    pub late: u64,
    /// Executing transactions that a switch of the method doomed.
    pub doomed_by_switches: u64,
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
    ruling: Ruling,
    /// Which method is to be in force.
    setting: MethodSetting,
    /// The last switch of the method, until nothing executes from before it.
    switching: Option<Switching>,
    executing: Executing,
    commit_locks: CommitLocks,
    counters: LockCounters,
    evidence: LoadEvidence,
    expert: Expert,
    placing: Placing,
}

impl ConcurrencyController {
    /// A controller with nothing under way, which locks so many items of a storage one by one for a commit, at most. The method is in force as long as
    /// none is set.
    pub fn new(method: Method, points_max: usize, planted: Planted) -> ConcurrencyController {
        let placing = Placing { points_max, planted };
        ConcurrencyController {
            ruling: Ruling::new(method, planted),
            setting: MethodSetting::new(method),
            switching: None,
            executing: Executing::default(),
            commit_locks: CommitLocks::new(placing),
            counters: LockCounters::default(),
            evidence: LoadEvidence::default(),
            expert: Expert::new(Arc::new(RuleBook::standard()), planted),
            placing,
        }
    }

    /// The same with other rules than those of the tree.
    pub fn with_rules(self, book: Arc<RuleBook>) -> ConcurrencyController {
        ConcurrencyController { expert: Expert::new(book, self.placing.planted), ..self }
    }

    /// The method in force.
    pub fn method(&self) -> Method {
        self.ruling.sequencer().method()
    }

    /// What the load has come to.
    pub fn counters(&self) -> LockCounters {
        self.counters
    }

    /// Whether nothing is under way: nobody executes, is being prepared or waits.
    pub fn is_idle(&self) -> bool {
        self.executing.is_empty() && self.commit_locks.is_empty()
    }

    fn request(&mut self, now: Now, site: SiteId, request: ConcurrencyRequest, outbox: &mut Outbox) {
        match request {
            ConcurrencyRequest::Lock { transaction, age, target, kind, wait, precedence } => {
                let how = How { mode: Mode::from(kind), wait, precedence };
                self.access(now, LockOwner { transaction, age }, target, how, outbox);
            }
            ConcurrencyRequest::LockPrefetch { transaction, age, accesses } => {
                let granted = self.prefetch(now, LockOwner { transaction, age }, accesses);
                let reply = ConcurrencyReply::LockPrefetchReply { transaction, granted };
                outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
            }
            ConcurrencyRequest::CommitLock { transaction, age, history, gathered } => {
                self.commit_lock(now, LockOwner { transaction, age }, history, &gathered, outbox);
            }
            ConcurrencyRequest::Voted { transaction, proposal } => self.commit_locks.voted(transaction, proposal),
            ConcurrencyRequest::GiveUp { transaction, items } => {
                let freed = self.executing.give_up(transaction, &items);
                self.go_on(now, freed.iter().map(LockPlace::from), outbox);
            }
            ConcurrencyRequest::HandOver { transaction, to } => {
                self.evidence.handed_over(transaction, to);
                let freed = self.executing.hand_over(transaction, to, self.ruling.sequencer_mut());
                self.inherits(transaction, to);
                self.go_on(now, freed.iter().map(LockPlace::from), outbox);
            }
            ConcurrencyRequest::Finish { transaction, committed } => {
                self.evidence.ends(transaction, committed, now.boot);
                self.finish(now, transaction, outbox);
            }
            ConcurrencyRequest::SnapshotAccess { tag, target, snapshot } => {
                if self.commit_locks.snapshot_access(tag, LockPlace::from(&target), snapshot) {
                    reply_snapshot(tag, outbox);
                }
            }
            ConcurrencyRequest::ForgetSnapshot { tag } => self.commit_locks.forget_snapshot(tag),
            ConcurrencyRequest::Settings { rows, begins: true } => self.begin_with(site, &rows),
            ConcurrencyRequest::Settings { rows, begins: false } => self.set(now, site, &rows, outbox),
            ConcurrencyRequest::Method { tag } => {
                let report = Box::new(self.method_report(site));
                let reply = ConcurrencyReply::MethodReply { tag, report };
                outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
            }
        }
    }

    fn access(&mut self, now: Now, owner: LockOwner, target: AccessTarget, how: How, outbox: &mut Outbox) {
        let transaction = owner.transaction;
        self.counters.accesses += 1;
        if planted!(self.placing.planted, RangeNotChecked) && matches!(target, AccessTarget::Range(..)) {
            return reply_access(transaction, None, outbox);
        }
        self.evidence.asks(transaction, &target, how.mode, now.boot);
        let (locks, sequencer) = (&mut self.commit_locks, self.ruling.sequencer_mut());
        let is_told_of_waiting = how.wait == AccessWait::Waits;
        let answer = self.executing.access(owner, target, how, now.boot, locks, sequencer);
        if answer != LockReply::Waits {
            self.evidence.answered(transaction, now.boot);
        }
        match answer {
            LockReply::Granted => reply_access(transaction, None, outbox),
            LockReply::Waits => {
                self.counters.access_waits += 1;
                if is_told_of_waiting {
                    busy(transaction, outbox);
                }
            }
            LockReply::Taken => taken(transaction, outbox),
            LockReply::Busy => busy(transaction, outbox),
            LockReply::Refused(conflict) => {
                self.count_refusal(&conflict);
                reply_access(transaction, Some(conflict), outbox);
            }
        }
    }

    /// Grants accesses up to the first that cannot be had at once. How many.
    fn prefetch(&mut self, now: Now, owner: LockOwner, accesses: Vec<(Item, AccessKind)>) -> u32 {
        let (locks, sequencer) = (&mut self.commit_locks, self.ruling.sequencer_mut());
        let mut granted = 0;
        for (item, kind) in accesses {
            let target = AccessTarget::Item(item);
            self.evidence.asks(owner.transaction, &target, Mode::from(kind), now.boot);
            let how = How { mode: Mode::from(kind), wait: AccessWait::Never, precedence: false };
            match self.executing.access(owner, target, how, now.boot, locks, sequencer) {
                LockReply::Granted => granted += 1,
                LockReply::Waits | LockReply::Busy | LockReply::Taken | LockReply::Refused(_) => break,
            }
        }
        self.evidence.answered(owner.transaction, now.boot);
        self.counters.accesses += u64::from(granted);
        granted
    }

    /// Locks a whole history, or makes it wait, or lets it die (rule 3). A transaction that executed here stops executing: its accesses
    /// give way to its commit-locks, or to nothing if it dies. Those of the transactions that it consists of stay: if it comes to nothing each of
    /// them is judged alone, as if it had not been in company.
    fn commit_lock(
        &mut self,
        now: Now,
        owner: LockOwner,
        history: Arc<History>,
        gathered: &[TransactionId],
        outbox: &mut Outbox,
    ) {
        let LockOwner { transaction, age } = owner;
        match self.commit_locks.holds(transaction) {
            Some(true) => return reply_commit_lock(transaction, None, outbox),
            Some(false) => return,
            None => self.counters.commit_locks += 1,
        }
        std::iter::once(&transaction).chain(gathered).for_each(|one| self.evidence.commits(*one, now.boot));
        let mut executed = std::iter::once(&transaction).chain(gathered);
        if let Some(conflict) = executed.find_map(|&executed| self.executing.doomed(executed)) {
            let conflict = conflict.clone();
            self.evidence.ends(transaction, false, now.boot);
            return reply_commit_lock(transaction, Some(conflict), outbox);
        }
        let committing = Committing { owner, gathered, history: &history, placing: self.placing };
        let first = self.executing.goes_first(now.boot, committing, self.ruling.sequencer());
        if let Some(conflict) = first.filter(|_| !planted!(self.placing.planted, LongWaiterPassed)) {
            reached!("long-waiter-first");
            self.counters.commit_lock_deaths += 1;
            return self.refuse_commit_lock(now, transaction, conflict, outbox);
        }
        let (verdict, killed) = self.commit_locks.lock(transaction, age, history.clone());
        for dead in &killed {
            self.counters.commit_lock_deaths += 1;
            self.refuse_commit_lock(now, dead.transaction, dead.conflict.clone(), outbox);
        }
        let mut freed = self.executing.forget(transaction, self.ruling.sequencer_mut());
        gathered.iter().for_each(|member| self.executing.gather(*member, self.ruling.sequencer_mut()));
        if !matches!(verdict, CommitLockVerdict::Dies(_)) {
            let (doomed, more) = self.executing.doom(committing, self.ruling.sequencer_mut());
            freed.extend(more);
            for loser in doomed {
                reached!("executing-doomed");
                self.counters.doomed += 1;
                self.evidence.loses(loser.transaction, loser.conflict.other);
                tell_doomed(loser, outbox);
            }
        }
        match verdict {
            CommitLockVerdict::Locked => reply_commit_lock(transaction, None, outbox),
            CommitLockVerdict::Waits => self.counters.commit_lock_waits += 1,
            CommitLockVerdict::Dies(conflict) => {
                self.counters.commit_lock_deaths += 1;
                self.refuse_commit_lock(now, transaction, conflict, outbox);
            }
        }
        let placing = self.placing;
        let histories = killed.iter().flat_map(|dead| placing.places(&dead.history)).map(|(place, _)| place);
        self.go_on(now, histories.chain(freed.iter().map(LockPlace::from)), outbox);
    }

    /// Nothing of it is held here any more, and nobody says that it has ended.
    fn refuse_commit_lock(&mut self, now: Now, transaction: TransactionId, conflict: Conflict, outbox: &mut Outbox) {
        self.evidence.loses(transaction, conflict.other);
        self.evidence.ends(transaction, false, now.boot);
        reply_commit_lock(transaction, Some(conflict), outbox);
    }

    fn finish(&mut self, now: Now, transaction: TransactionId, outbox: &mut Outbox) {
        let freed = self.executing.forget(transaction, self.ruling.sequencer_mut());
        self.go_on(now, freed.iter().map(LockPlace::from), outbox);
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

    fn go_on<'a>(&mut self, now: Now, freed: impl Iterator<Item = LockPlace<'a>>, outbox: &mut Outbox) {
        let (locks, sequencer) = (&mut self.commit_locks, self.ruling.sequencer_mut());
        let answers = self.executing.go_on(freed, now.boot, locks, sequencer);
        self.answer(now, answers, outbox);
        self.ends_switch(now, outbox);
    }

    fn answer(&mut self, now: Now, answers: WaiterReplies, outbox: &mut Outbox) {
        for (transaction, answer) in answers {
            self.evidence.answered(transaction, now.boot);
            match answer {
                LockReply::Granted => reply_access(transaction, None, outbox),
                LockReply::Taken => taken(transaction, outbox),
                LockReply::Refused(conflict) => {
                    self.count_refusal(&conflict);
                    reply_access(transaction, Some(conflict), outbox);
                }
                LockReply::Waits | LockReply::Busy => unreachable!("it has waited"),
            }
        }
    }

    fn count_refusal(&mut self, conflict: &Conflict) {
        self.counters.deadlocks += u64::from(conflict.kind == ConflictKind::Deadlock);
        self.counters.late += u64::from(conflict.kind == ConflictKind::LateAccess);
    }
}

fn reply_access(transaction: TransactionId, conflict: Option<Conflict>, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::LockReply { transaction, conflict };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
}

fn tell_doomed(loser: Doomed, outbox: &mut Outbox) {
    let (transaction, conflict) = (loser.transaction, loser.conflict);
    let message = ConcurrencyReply::Doomed { transaction, conflict: conflict.clone() };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(message));
    if loser.waited {
        reply_access(transaction, Some(conflict), outbox);
    }
}

fn busy(transaction: TransactionId, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::LockBusy { transaction };
    outbox.local(ServerKind::ActionDriver, Message::ConcurrencyReply(reply));
}

fn taken(transaction: TransactionId, outbox: &mut Outbox) {
    let reply = ConcurrencyReply::LockTaken { transaction };
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
            Message::Concurrency(request) => self.request(now, envelope.to_site, request, outbox),
            // Nothing here outlives a restart: an epoch change resolves what was prepared before it.
            Message::Checkpoint => {}
            other => tracing::error!(?other, "not a message for a concurrency controller"),
        }
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if self.ruling.sequencer_mut().passes(&self.executing, now.boot) {
            self.go_on(now, std::iter::empty(), outbox);
        }
        self.loses_patience(now, outbox);
        self.takes_advice(now, outbox);
    }

    fn replay(&mut self, _: &LogRecord, _: &mut Outbox) {}
}
