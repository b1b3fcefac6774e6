//! What each method promises, checked from outside: by what the controller has answered, not by what it knows.

use crate::model::{Running, Stage, Use, World};
use concurrency_controller::limits::SERIAL_IDLE;
use messages::concurrency::{AccessKind, ConcurrencyReply, Method, SwitchStrategy};
use messages::{Conflict, ConflictKind, TransactionId};
use std::collections::{BTreeMap, BTreeSet};

/// What has been seen of one method, since it came into force.
#[derive(Debug, Default)]
pub struct Era {
    /// How it came into force, and who had been granted something then and has not ended, lost or been prepared since. `None`: nobody any more.
    pub switch: Option<(SwitchStrategy, BTreeSet<TransactionId>)>,
    /// Stamps, of whom has ended, too.
    stamps: BTreeMap<TransactionId, u64>,
    /// What was granted in the order of stamps.
    granted: Vec<(TransactionId, Use)>,
}

impl Era {
    /// A doomed transaction has lost what it was granted.
    pub fn forget(&mut self, transaction: TransactionId) {
        self.granted.retain(|(other, _)| *other != transaction);
    }
}

/// Whether it goes on with what it has been granted.
fn goes_on(running: &Running) -> bool {
    let stage = matches!(running.stage, Stage::Executing | Stage::AccessUnderWay | Stage::Lost);
    stage && !running.doomed && !running.prepared && !running.granted.is_empty()
}

fn conflict_in(method: Method, one: Use, two: Use) -> bool {
    match method {
        Method::SimpleLocking => one.low < two.high && two.low < one.high,
        _ => one.conflicts(two),
    }
}

/// What a use comes to: who adds to what it has read, or reads what it has added to, changes what it knows.
fn joined(wanted: Use, granted: &[Use]) -> Use {
    let (point, adds) = (wanted.high == wanted.low + 1, wanted.kind == AccessKind::Increment);
    let mixes =
        |has: &Use| has.low < wanted.high && wanted.low < has.high && adds != (has.kind == AccessKind::Increment);
    match point && granted.iter().any(mixes) {
        true => Use { kind: AccessKind::Write, ..wanted },
        false => wanted,
    }
}

impl World<'_> {
    fn going_on(&self) -> BTreeSet<TransactionId> {
        self.running.iter().filter(|(_, running)| goes_on(running)).map(|(one, _)| *one).collect()
    }

    /// Who has ended, or given up all that it had, is not from before the switch any more. Those that go on.
    pub fn forget_who_has_nothing_from_before(&mut self) -> BTreeSet<TransactionId> {
        let going_on = self.going_on();
        if let Some((_, before)) = &mut self.era.switch {
            before.retain(|one| going_on.contains(one));
        }
        going_on
    }

    pub fn before_switch(&mut self, method: Method, way: SwitchStrategy) {
        if method != self.site.controller.method() {
            let before = self.going_on();
            self.era = Era { switch: Some((way, before)), ..Era::default() };
        }
    }

    /// Who is doomed by a switch: nobody, but by a conversion, and then nobody that has sent its prepare.
    pub fn after_switch(&mut self, way: SwitchStrategy, replies: &[ConcurrencyReply]) {
        let before = self.era.switch.as_ref().map(|(_, before)| before.clone()).unwrap_or_default();
        for reply in replies {
            if let ConcurrencyReply::Doomed { transaction, conflict } = reply {
                assert!(way == SwitchStrategy::Converting, "a switch without a conversion dooms {transaction}");
                assert!(before.contains(transaction), "a switch dooms what has sent its prepare: {transaction}");
                assert!(conflict.other.is_some_and(|other| before.contains(&other)), "nothing breaks: {transaction}");
            }
        }
        // A conversion gives stamps by what was read and written, not in the order of asking.
        if self.site.controller.method() == Method::Timestamp {
            let stamp = |one: &TransactionId| Some((*one, self.site.controller.stamp_of(*one)?));
            self.era.stamps.extend(self.running.keys().filter_map(stamp));
        }
    }

    /// A transaction may have got its stamp.
    pub fn notes_stamp(&mut self, transaction: TransactionId) {
        let Some(stamp) = self.site.controller.stamp_of(transaction) else { return };
        if self.site.controller.method() != Method::Timestamp || self.era.stamps.contains_key(&transaction) {
            return;
        }
        assert!(self.era.stamps.values().all(|other| *other < stamp), "{transaction} has an old stamp");
        self.era.stamps.insert(transaction, stamp);
    }

    fn stamp_for(&self, transaction: TransactionId, used: Use) -> Option<u64> {
        let is_ordered = used.kind != AccessKind::Increment;
        self.era.stamps.get(&transaction).copied().filter(|_| is_ordered)
    }

    /// A transaction comes too late only for what one with a larger stamp has read or written.
    pub fn check_refusal(&self, transaction: TransactionId, wanted: Use, granted: &[Use], conflict: &Conflict) {
        let wanted = joined(wanted, granted);
        if conflict.kind != ConflictKind::LateAccess || self.site.controller.method() != Method::Timestamp {
            return;
        }
        if self.running.get(&transaction).is_some_and(|running| running.doomed) {
            return;
        }
        let Some(other) = conflict.other else { return };
        let both = self.era.switch.as_ref().is_some_and(|(way, _)| *way != SwitchStrategy::Generic);
        // Who has read or written besides what it adds to has changed what it knows.
        let uses = || self.era.granted.iter().filter(|(one, _)| *one == other).map(|(_, used)| *used);
        let known = |added: Use| {
            uses().any(|used| used.kind != AccessKind::Increment && used.low < added.high && added.low < used.high)
        };
        let before = uses().any(|used| {
            let kind = if used.kind == AccessKind::Increment && known(used) { AccessKind::Write } else { used.kind };
            let (used, own) = (Use { kind, ..used }, self.stamp_for(transaction, wanted));
            used.conflicts(wanted) && self.stamp_for(other, used).is_some_and(|stamp| Some(stamp) > own)
        });
        assert!(before && wanted.kind != AccessKind::Increment || both, "{transaction} does not come too late");
    }

    /// What a method promises of every grant. Who has it already, by what it was granted before, is given nothing new: after a conversion a reader may go
    /// on reading what a later one writes, since it sees what it saw.
    pub fn check_grant(&mut self, transaction: TransactionId, used: Use, granted: &[Use]) {
        self.notes_stamp(transaction);
        match self.site.controller.method() {
            Method::Serial => {
                let before = self.era.switch.as_ref().map(|(_, before)| before.clone()).unwrap_or_default();
                let has_turn = |(other, running): &(&TransactionId, &Running)| {
                    let is_idle = self.site.now >= running.granted_at + SERIAL_IDLE;
                    **other != transaction && goes_on(running) && !is_idle && !before.contains(other)
                };
                let other = self.running.iter().find(has_turn).map(|(other, _)| *other);
                assert_eq!(other, None, "{transaction} goes on without the turn");
            }
            Method::Timestamp => {
                let is_new = (used.low..used.high).any(|key| !granted.iter().any(|has| has.covers(key, used.kind)));
                let own = joined(used, granted);
                if let Some(stamp) = self.stamp_for(transaction, own).filter(|_| is_new) {
                    let later = self.era.granted.iter().find(|(other, earlier)| {
                        let is_later = self.stamp_for(*other, *earlier).is_some_and(|other| other > stamp);
                        is_later && earlier.conflicts(own) && *other != transaction
                    });
                    assert!(later.is_none(), "{transaction} comes too late after {later:?}");
                }
                self.era.granted.push((transaction, used));
            }
            _ => {}
        }
    }

    /// What a method promises at any time, and that a switch ends with the last from before it.
    pub fn check_properties(&mut self) {
        let going_on = self.forget_who_has_nothing_from_before();
        let is_over = self.era.switch.as_ref().is_none_or(|(_, before)| before.is_empty());
        assert_eq!(
            self.site.controller.switching().is_none(),
            is_over,
            "a switch lasts as long as who was there before"
        );
        if is_over {
            self.era.switch = None;
        }
        let converted =
            !matches!(self.era.switch, Some((SwitchStrategy::Generic | SwitchStrategy::SuffixSufficient, _)));
        assert!(
            !converted || self.site.controller.property_holds(),
            "the property does not hold: {:?}, {:?}, {going_on:?}",
            self.site.controller.method(),
            self.era.switch
        );
        let method = self.site.controller.method();
        match method {
            Method::Locking | Method::SimpleLocking | Method::Timestamp => self.check_pairs(method, &going_on),
            Method::Optimistic if !self.is_over_to_two() => self.check_waits(),
            Method::Optimistic | Method::Serial => {}
        }
    }

    /// Whether the old method judges, too.
    fn is_over_to_two(&self) -> bool {
        matches!(self.era.switch, Some((SwitchStrategy::SuffixSufficient, _)))
    }

    /// No two that go on have what conflicts, but those that had it before the switch.
    fn check_pairs(&self, method: Method, going_on: &BTreeSet<TransactionId>) {
        let exempt = |one: &TransactionId, two: &TransactionId| match &self.era.switch {
            None | Some((SwitchStrategy::Converting, _)) => false,
            Some((_, before)) => before.contains(one) && before.contains(two),
        };
        for one in going_on {
            for two in going_on.iter().filter(|two| one < *two && !exempt(one, two)) {
                for used in &self.running[one].granted {
                    for other in &self.running[two].granted {
                        let conflict = conflict_in(method, *used, *other);
                        let in_order = || method == Method::Timestamp && self.in_order((*one, *used), (*two, *other));
                        assert!(!conflict || in_order(), "{one} and {two} both go on with {used:?} and {other:?}");
                    }
                }
            }
        }
    }

    /// Who has read comes before who has written.
    fn in_order(&self, (one, used): (TransactionId, Use), (two, other): (TransactionId, Use)) -> bool {
        let stamp = |transaction| self.site.controller.stamp_of(transaction);
        // Who has read or written besides what it adds to has changed what it knows.
        let kind = |transaction: TransactionId, used: Use| {
            let knows =
                |known: &Use| known.kind != AccessKind::Increment && known.low < used.high && used.low < known.high;
            match used.kind == AccessKind::Increment && self.running[&transaction].granted.iter().any(knows) {
                true => AccessKind::Write,
                false => used.kind,
            }
        };
        match (kind(one, used), kind(two, other), stamp(one), stamp(two)) {
            (AccessKind::Read, AccessKind::Write, Some(one), Some(two)) => one < two,
            (AccessKind::Write, AccessKind::Read, Some(one), Some(two)) => two < one,
            _ => false,
        }
    }

    /// Who waits, waits for a commit-lock.
    fn check_waits(&self) {
        for (one, running) in self.running.iter().filter(|(_, running)| running.stage == Stage::AccessUnderWay) {
            let commits =
                |other: &Running| matches!(other.stage, Stage::CommitLockUnderWay | Stage::CommitLocked | Stage::Voted);
            let in_the_way = |(other, locked): (&TransactionId, &Running)| {
                other != one && commits(locked) && locked.locks().iter().any(|lock| lock.conflicts(running.plan[0]))
            };
            assert!(self.running.iter().any(in_the_way), "{one} waits for nobody that commits");
        }
    }
}
