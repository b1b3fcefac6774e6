//! A session's transactions of locks, one after the other: what it has no more is given back, what it wants is asked for.
//!
//! They run beside the client's own transaction, in the session's deputy at the action driver. Invariants: at most one is under way; what is to be given back goes before what
//! is wanted; what is wanted no more is given back, whether it was got or not; nothing that is told to a client rests on a row that was read without a commit that
//! checks it, but that the session holds a lock, which only the session itself ends.

use crate::limits::{
    ADVISORY_DELAY_MAX, ADVISORY_GIVEN_BACK, ADVISORY_TRIES_AT_ONCE, DEADLOCK_PERIOD, GIVING_BACK_PATIENCE,
    GIVING_BACK_PERIOD,
};
use crate::locks::deadlocks::{AdvisoryWaits, described};
use crate::locks::held::{HeldLock, HeldLocks, LockScope};
use crate::locks::programs;
use crate::locks::queue::{self, ClaimStanding};
use messages::advisory::{AdvisoryClaim, AdvisoryKey, AdvisoryMode, AdvisoryOwner, AdvisoryQueue};
use messages::limits::MILLISECOND;
use messages::program::Program;
use messages::session::{AccessMode, Failure, Isolation, SessionReply, SessionRequest, StatementFailure};
use messages::{Epoch, EpochNumber, Message, Now, Outbox, ServerKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{Value, ValueError, Zone};

/// What a session's locks see of the world.
pub struct LockScene<'a> {
    /// The time.
    pub now: Now,
    /// Where requests go.
    pub outbox: &'a mut Outbox,
    /// Whose they are.
    pub owner: AdvisoryOwner,
    /// The process id of the session.
    pub process: i32,
    /// The epoch that the site has heard of last.
    pub epoch: Option<&'a Epoch>,
}

/// What a session waits to be given.
#[derive(Debug)]
struct WantedLock {
    lock: HeldLock,
    scope: LockScope,
    may_wait: bool,
    /// The number of the wish: what comes of an earlier one is nothing to it.
    number: u64,
    /// It stands in the queue, as far as is known.
    is_queued: bool,
    /// It may have got it.
    is_woken: bool,
    /// When to look for a deadlock, by the boot clock.
    look_at: u64,
    /// When to give up, by the boot clock.
    deadline: Option<u64>,
}

/// How long a session waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPatience {
    /// Not at all.
    None,
    /// As long as it takes.
    Endless,
    /// Until this time, by the boot clock.
    Until(u64),
}

/// What a transaction is for.
#[derive(Debug)]
enum ErrandGoal {
    /// To get what is wanted by the wish of this number.
    Take(u64),
    /// To give these back; so many of them are done.
    GiveBack(Vec<HeldLock>, usize),
    /// To see whether the wish of this number waits in a circle.
    Look(u64),
}

/// What a transaction waits for.
#[derive(Debug)]
enum ErrandStage {
    /// Its begin.
    Beginning,
    /// The row.
    Reading,
    /// The row written.
    Writing(Option<ClaimStanding>),
    /// Its commit.
    Committing(Option<ClaimStanding>),
    /// Its end without one, after that or for that reason.
    Ending(Result<Option<ClaimStanding>, Failure>),
}

#[derive(Debug)]
struct LockErrand {
    goal: ErrandGoal,
    stage: ErrandStage,
}

/// What a statement that waits is to hear.
#[derive(Debug)]
pub enum LockNews {
    /// The session has the lock.
    Held,
    /// It does not, and does not wait.
    Refused,
    /// It would wait for ever: for whom, in words, if that is known.
    Deadlock(Option<String>),
    /// There are too many claims on the lock.
    Full,
    /// The session's `lock_timeout` is over.
    TimedOut,
    /// Something else is wrong.
    Failed(Failure),
}

/// The advisory locks of a session.
#[derive(Debug, Default)]
pub struct SessionLocks {
    /// What it has.
    pub held: HeldLocks,
    /// What it has no more, and others do not know yet.
    to_give_back: BTreeSet<HeldLock>,
    wanted: Option<WantedLock>,
    wishes: u64,
    errand: Option<LockErrand>,
    /// How often the errand has lost a conflict.
    tries: u32,
    /// When the next one begins, by the boot clock.
    rests_until: Option<u64>,
    /// Until when the client waits for what is given back, by the boot clock.
    client_waits_until: Option<u64>,
    /// The action driver has heard of the deputy.
    has_deputy: bool,
}

/// Locks of a session that has ended.
pub struct LeavingLocks {
    /// What is left of them.
    pub locks: SessionLocks,
    /// The session's process id.
    pub process: i32,
}

impl SessionLocks {
    /// Whether there is anything: then the session stays where it is.
    pub fn is_on(&self) -> bool {
        !self.held.is_empty() || self.wanted.is_some() || !self.is_over()
    }

    /// Whether nothing is left to be done.
    pub fn is_over(&self) -> bool {
        self.errand.is_none() && self.to_give_back.is_empty()
    }

    /// Whether its client is to be told nothing yet, for others do not know what it has given back.
    pub fn holds_client(&self) -> bool {
        self.client_waits_until.is_some()
    }

    /// Wants a lock.
    pub fn want(&mut self, lock: HeldLock, scope: LockScope, patience: LockPatience, scene: &mut LockScene) {
        self.wishes += 1;
        let (may_wait, deadline) = match patience {
            LockPatience::None => (false, None),
            LockPatience::Endless => (true, None),
            LockPatience::Until(deadline) => (true, Some(deadline)),
        };
        self.wanted = Some(WantedLock {
            lock,
            scope,
            may_wait,
            number: self.wishes,
            is_queued: false,
            is_woken: false,
            look_at: scene.now.boot.saturating_add(DEADLOCK_PERIOD),
            deadline,
        });
        self.go_on(scene);
    }

    /// Wants it no more.
    pub fn give_up(&mut self, scene: &mut LockScene) {
        if let Some(wanted) = self.wanted.take() {
            self.to_give_back.insert(wanted.lock);
            self.go_on(scene);
        }
    }

    /// These are to be given back.
    pub fn give_back(&mut self, locks: Vec<HeldLock>, scene: &mut LockScene) {
        if locks.is_empty() {
            return;
        }
        self.to_give_back.extend(locks);
        self.client_waits_until.get_or_insert(scene.now.boot.saturating_add(GIVING_BACK_PATIENCE));
        self.go_on(scene);
    }

    /// The session ends.
    pub fn leave(&mut self, scene: &mut LockScene) {
        self.client_waits_until = None;
        let held = self.held.take_all();
        self.to_give_back.extend(held);
        self.to_give_back.extend(self.wanted.take().map(|wanted| wanted.lock));
        self.go_on(scene);
    }

    /// All is given back, and nobody waits for more: the action driver may forget the deputy.
    pub fn dismiss(&mut self, scene: &mut LockScene) {
        if std::mem::take(&mut self.has_deputy) {
            ask(SessionRequest::Close, scene);
        }
    }

    /// It may have been given what it waits for, or may get it now that a site is gone.
    pub fn wake(&mut self, scene: &mut LockScene) {
        if let Some(wanted) = &mut self.wanted {
            wanted.is_woken = true;
            self.go_on(scene);
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, scene: &mut LockScene) -> Option<LockNews> {
        let now = scene.now.boot;
        if self.client_waits_until.is_some_and(|until| until <= now) {
            self.client_waits_until = None;
        }
        let is_late = |wanted: &WantedLock| wanted.deadline.is_some_and(|deadline| deadline <= now);
        if self.wanted.as_ref().is_some_and(is_late) {
            self.give_up(scene);
            return Some(LockNews::TimedOut);
        }
        self.go_on(scene);
        None
    }

    /// Whether a tick would do anything.
    pub fn is_due(&self, now: Now) -> bool {
        let is_due = |at: u64| at <= now.boot;
        let wants = self.wanted.as_ref();
        self.client_waits_until.is_some_and(is_due)
            || wants.and_then(|wanted| wanted.deadline).is_some_and(is_due)
            || self.errand.is_none()
                && (self.rests_until.is_some_and(is_due) || wants.is_some_and(|wanted| is_due(wanted.look_at)))
    }

    /// Begins the next transaction, if none is under way.
    fn go_on(&mut self, scene: &mut LockScene) {
        let rests = self.rests_until.is_some_and(|until| until > scene.now.boot);
        if self.errand.is_some() || rests {
            return;
        }
        self.rests_until = None;
        let goal = match &mut self.wanted {
            _ if !self.to_give_back.is_empty() => {
                let locks = self.to_give_back.iter().copied().take(ADVISORY_GIVEN_BACK).collect();
                ErrandGoal::GiveBack(locks, 0)
            }
            // A claim names an epoch that has its owner: others would take it for one of a life that is over.
            Some(_) if scene.epoch.is_none() => return,
            Some(wanted) if !wanted.is_queued || wanted.is_woken => {
                wanted.is_woken = false;
                ErrandGoal::Take(wanted.number)
            }
            Some(wanted) if wanted.look_at <= scene.now.boot => ErrandGoal::Look(wanted.number),
            _ => return,
        };
        let stage = match goal {
            // A transaction by itself, of one moment.
            ErrandGoal::Look(_) => {
                execute(programs::read_all(), scene);
                ErrandStage::Reading
            }
            _ => {
                let time_micros = i64::try_from(scene.now.wall_micros).unwrap_or(i64::MAX);
                ask(
                    SessionRequest::Begin {
                        mode: AccessMode::ReadWrite,
                        isolation: Isolation::Serializable,
                        time_micros,
                    },
                    scene,
                );
                ErrandStage::Beginning
            }
        };
        self.has_deputy = true;
        self.errand = Some(LockErrand { goal, stage });
    }

    /// The action driver has answered.
    pub fn replied(&mut self, reply: SessionReply, scene: &mut LockScene) -> Option<LockNews> {
        let LockErrand { goal, stage } = self.errand.take()?;
        let is_look = matches!(goal, ErrandGoal::Look(_));
        let news = match (stage, reply) {
            (ErrandStage::Beginning, SessionReply::Begun) => self.read_next(goal, scene),
            (ErrandStage::Reading, SessionReply::Executed { rows, .. }) => match (queues(&rows), goal) {
                (Ok(queues), ErrandGoal::Look(number)) => self.looked(number, queues, scene),
                (Ok(queues), goal) => self.was_read(goal, queues.into_iter().next(), scene),
                (Err(error), goal) => self.end(goal, Err(of_value(error)), scene),
            },
            (ErrandStage::Writing(standing), SessionReply::Executed { .. }) => self.go_further(goal, standing, scene),
            (ErrandStage::Committing(standing), SessionReply::Committed { .. })
            | (ErrandStage::Ending(Ok(standing)), SessionReply::RolledBack) => self.done(goal, standing, scene),
            (ErrandStage::Ending(Err(failure)), SessionReply::RolledBack)
            | (ErrandStage::Committing(_), SessionReply::Failed(failure)) => self.failed(&goal, failure, scene),
            (_, SessionReply::Failed(failure)) if is_look => self.failed(&goal, failure, scene),
            (_, SessionReply::Failed(failure)) => self.end(goal, Err(failure), scene),
            (stage, reply) => unreachable!("{reply:?} while a transaction of locks waits at {stage:?}"),
        };
        if self.to_give_back.is_empty() {
            self.client_waits_until = None;
        }
        self.go_on(scene);
        news
    }

    /// The wish of this number, if it still is one.
    fn wish(&mut self, number: u64) -> Option<&mut WantedLock> {
        self.wanted.as_mut().filter(|wanted| wanted.number == number)
    }

    /// The lock that a transaction is about next.
    fn next_lock(&mut self, goal: &ErrandGoal) -> Option<HeldLock> {
        match goal {
            ErrandGoal::Take(number) => self.wish(*number).map(|wanted| wanted.lock),
            ErrandGoal::GiveBack(locks, done) => locks.get(*done).copied(),
            ErrandGoal::Look(_) => None,
        }
    }

    fn continue_with(&mut self, goal: ErrandGoal, stage: ErrandStage) -> Option<LockNews> {
        self.errand = Some(LockErrand { goal, stage });
        None
    }

    /// Ends a transaction without a commit.
    fn end(
        &mut self,
        goal: ErrandGoal,
        result: Result<Option<ClaimStanding>, Failure>,
        scene: &mut LockScene,
    ) -> Option<LockNews> {
        ask(SessionRequest::Rollback, scene);
        self.continue_with(goal, ErrandStage::Ending(result))
    }

    fn commit(&mut self, goal: ErrandGoal, standing: Option<ClaimStanding>, scene: &mut LockScene) -> Option<LockNews> {
        ask(SessionRequest::Commit, scene);
        self.continue_with(goal, ErrandStage::Committing(standing))
    }

    /// Reads the next row, or ends a transaction that has no more to read.
    fn read_next(&mut self, goal: ErrandGoal, scene: &mut LockScene) -> Option<LockNews> {
        match (self.next_lock(&goal), &goal) {
            (Some(lock), _) => {
                execute(programs::read(lock.key), scene);
                self.continue_with(goal, ErrandStage::Reading)
            }
            (None, ErrandGoal::GiveBack(..)) => self.commit(goal, None, scene),
            (None, _) => self.end(goal, Ok(None), scene),
        }
    }

    /// The row of the lock is there, or there is none.
    fn was_read(
        &mut self,
        goal: ErrandGoal,
        row: Option<(AdvisoryKey, AdvisoryQueue)>,
        scene: &mut LockScene,
    ) -> Option<LockNews> {
        let Some(lock) = self.next_lock(&goal) else { return self.end(goal, Ok(None), scene) };
        let was_there = row.is_some();
        let before = row.map(|(_, queue)| queue).unwrap_or_default();
        let mut queue = before.clone();
        let mut given = Vec::new();
        if scene.epoch.is_some_and(|epoch| queue::bury(&mut queue, epoch)) {
            given = queue::hand_on(&mut queue);
        }
        let standing = match &goal {
            ErrandGoal::Take(number) => {
                let may_wait = self.wish(*number).is_some_and(|wanted| wanted.may_wait);
                Some(queue::ask(&mut queue, scene.claim(lock.mode), may_wait))
            }
            _ => {
                if queue::leave(&mut queue, scene.owner, lock.mode) {
                    given.extend(queue::hand_on(&mut queue));
                }
                None
            }
        };
        if queue != before {
            given.retain(|owner| *owner != scene.owner);
            execute(programs::write(lock.key, &queue, was_there, &given), scene);
            return self.continue_with(goal, ErrandStage::Writing(standing));
        }
        match standing {
            // What the session has, and that it waits, no other can change but by giving it more.
            Some(ClaimStanding::Held | ClaimStanding::Waits) => self.end(goal, Ok(standing), scene),
            _ => self.go_further(goal, standing, scene),
        }
    }

    /// A lock is done with, as far as the commit holds.
    fn go_further(
        &mut self,
        mut goal: ErrandGoal,
        standing: Option<ClaimStanding>,
        scene: &mut LockScene,
    ) -> Option<LockNews> {
        if let ErrandGoal::GiveBack(_, done) = &mut goal {
            *done += 1;
            return self.read_next(goal, scene);
        }
        self.commit(goal, standing, scene)
    }

    /// A transaction has come to its end.
    fn done(&mut self, goal: ErrandGoal, standing: Option<ClaimStanding>, scene: &LockScene) -> Option<LockNews> {
        self.tries = 0;
        let number = match goal {
            ErrandGoal::GiveBack(locks, _) => {
                self.to_give_back.retain(|lock| !locks.contains(lock));
                return None;
            }
            ErrandGoal::Take(number) | ErrandGoal::Look(number) => number,
        };
        let wanted = self.wish(number)?;
        let news = match standing? {
            ClaimStanding::Waits => {
                wanted.is_queued = true;
                wanted.look_at = wanted.look_at.max(scene.now.boot);
                return None;
            }
            ClaimStanding::Held => {
                let (lock, scope) = (wanted.lock, wanted.scope);
                self.held.note(lock, scope);
                LockNews::Held
            }
            ClaimStanding::Refused => LockNews::Refused,
            ClaimStanding::Deadlock => LockNews::Deadlock(None),
            ClaimStanding::Full => LockNews::Full,
        };
        self.wanted = None;
        Some(news)
    }

    /// All locks are known, as they were at one moment.
    fn looked(
        &mut self,
        number: u64,
        queues: Vec<(AdvisoryKey, AdvisoryQueue)>,
        scene: &LockScene,
    ) -> Option<LockNews> {
        let (owner, epoch) = (scene.owner, scene.epoch);
        let wanted = self.wish(number)?;
        wanted.look_at = scene.now.boot.saturating_add(DEADLOCK_PERIOD);
        let lock = wanted.lock;
        let buried = queues.into_iter().map(|(key, mut queue)| {
            let is_changed = epoch.is_some_and(|epoch| queue::bury(&mut queue, epoch));
            (key, queue, is_changed)
        });
        let buried: Vec<_> = buried.collect();
        let waits_on = |(key, queue, is_changed): &(AdvisoryKey, AdvisoryQueue, bool)| {
            let waits = queue.waiters.iter().any(|claim| claim.owner == owner && claim.mode == lock.mode);
            *key == lock.key && waits && !is_changed
        };
        if !buried.iter().any(waits_on) {
            // It may have got it, or may get it by asking again.
            wanted.is_woken = true;
            return None;
        }
        let circle = AdvisoryWaits::of(buried.into_iter().map(|(key, queue, _)| (key, queue))).circle_of(owner)?;
        self.to_give_back.insert(lock);
        self.wanted = None;
        Some(LockNews::Deadlock(Some(described(&circle))))
    }

    /// Nothing has come of a transaction, or nobody knows what: it is tried again, for twice is once.
    fn failed(&mut self, goal: &ErrandGoal, failure: Failure, scene: &LockScene) -> Option<LockNews> {
        if let Failure::Conflict { .. } | Failure::Unknown { .. } | Failure::SchemaChanged { .. } = failure {
            self.tries += 1;
            if let Some(doublings) = self.tries.checked_sub(ADVISORY_TRIES_AT_ONCE + 1) {
                let delay = (MILLISECOND << doublings.min(16)).min(ADVISORY_DELAY_MAX);
                self.rests_until = Some(scene.now.boot.saturating_add(delay));
            }
            if let ErrandGoal::Take(number) = goal
                && let Some(wanted) = self.wish(*number)
            {
                wanted.is_woken = true;
            }
            return None;
        }
        self.client_waits_until = None;
        self.rests_until = Some(scene.now.boot.saturating_add(GIVING_BACK_PERIOD));
        let wanted = self.wanted.as_mut()?;
        if wanted.is_queued {
            // The site may serve again while it waits.
            wanted.is_woken = true;
            return None;
        }
        self.to_give_back.insert(wanted.lock);
        self.wanted = None;
        Some(LockNews::Failed(failure))
    }
}

impl LockScene<'_> {
    fn claim(&self, mode: AdvisoryMode) -> AdvisoryClaim {
        let epoch = self.epoch.map_or(EpochNumber(0), |epoch| epoch.number);
        assert!(epoch > EpochNumber(0), "nothing is asked for before the epoch is known");
        AdvisoryClaim { owner: self.owner, mode, process: self.process, epoch }
    }
}

fn ask(request: SessionRequest, scene: &mut LockScene) {
    let message = Message::SessionRequest(scene.owner.session.of_locks(), request);
    scene.outbox.local(ServerKind::ActionDriver, message);
}

fn execute(program: Arc<Program>, scene: &mut LockScene) {
    let time_micros = i64::try_from(scene.now.wall_micros).unwrap_or(i64::MAX);
    ask(
        SessionRequest::Execute { program, parameters: Vec::new(), rows: Vec::new(), time_micros, zone: Zone::UTC },
        scene,
    );
}

fn queues(rows: &[Vec<Value>]) -> Result<Vec<(AdvisoryKey, AdvisoryQueue)>, ValueError> {
    rows.iter().map(|row| AdvisoryQueue::decode(row)).collect()
}

fn of_value(error: ValueError) -> Failure {
    Failure::Statement(Box::new(StatementFailure {
        sqlstate: error.sqlstate.to_owned(),
        message: error.message,
        detail: None,
        hint: None,
        constraint: None,
    }))
}
