//! Plans of programs, of readers, and of changes of the set of members.
//!
//! Invariant: a member is looked for before it is changed, and a list tells of each change.

use super::{Workload, WorkloadStep};
use crate::random::SeededRandom;
use messages::limits::MILLISECOND;
use messages::session::{AccessMode, Isolation};

impl Workload {
    /// A program that appends to the list that all want; with another list before it or behind, so that some wait for that, too.
    pub(super) fn crowding(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let wanted = self.rounds.get(&0).copied().unwrap_or(0) * 100;
        let other = self.list(random);
        let (one, two) = (self.quiet_token(), self.quiet_token());
        match random.below(4) {
            0 => vec![WorkloadStep::AppendTwo([(wanted, one), (other, two)])],
            1 => vec![WorkloadStep::AppendTwo([(other, one), (wanted, two)])],
            _ => vec![WorkloadStep::Append(wanted, one)],
        }
    }

    /// A plan, at a weaker level if it is a transaction that writes. Without registers at READ COMMITTED, where who overwrites one has not read what it
    /// overwrites.
    pub(super) fn weakened(
        &mut self,
        plan: fn(&mut Workload, &mut SeededRandom) -> Vec<WorkloadStep>,
        random: &mut SeededRandom,
    ) -> Vec<WorkloadStep> {
        let mut plan = plan(self, random);
        let writes = plan.first() == Some(&WorkloadStep::Begin(AccessMode::ReadWrite));
        if self.mix.levels == 0 || !writes || !random.one_in(self.mix.levels) {
            return plan;
        }
        let isolation = *random.pick(&[Isolation::ReadCommitted, Isolation::RepeatableRead]);
        plan[0] = WorkloadStep::BeginAt(isolation);
        for step in &mut plan {
            if let WorkloadStep::Scan { low, high, reverse } = *step {
                *step = WorkloadStep::Batches { low, high, reverse };
            }
        }
        plan.retain(|step| isolation != Isolation::ReadCommitted || !matches!(step, WorkloadStep::WriteRegister(..)));
        plan
    }

    /// A program of two appends, now and then to one list.
    pub(super) fn procedure(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let (first, second) = (self.list(random), self.list(random));
        let (one, two) = (self.quiet_token(), self.quiet_token());
        vec![WorkloadStep::AppendTwo([(first, one), (second, two)])]
    }

    pub(super) fn reader(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadOnly)];
        let long = random.one_in(self.mix.long_reader);
        for _ in 0..random.between(1, self.mix.statements + 1) {
            plan.push(self.read(random));
            let think = if long { 200 * MILLISECOND } else { self.mix.think };
            if think > 0 {
                plan.push(WorkloadStep::Think(random.around(think)));
            }
        }
        plan.push(WorkloadStep::Commit);
        plan
    }

    pub(super) fn membership(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let member = self.member(random);
        let token = self.token();
        let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadWrite)];
        if random.one_in(3) {
            plan.push(WorkloadStep::ReadList(self.list(random)));
        }
        plan.push(WorkloadStep::Scan { low: member, high: member + 1, reverse: false });
        plan.push(WorkloadStep::Toggle(member, token));
        plan.push(WorkloadStep::Companion(member, token));
        plan.push(WorkloadStep::Commit);
        plan
    }
}
