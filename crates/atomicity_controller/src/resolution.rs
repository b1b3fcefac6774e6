//! Outcomes of what a sealed epoch left open (rule 8): a pure function of the members' reports, the same at every member.
//!
//! Only copies that took part when a transaction was prepared count. An outcome that one of them knows wins, that of the highest epoch
//! first; a refusal or a missing record aborts; prepared at all of them commits, with the new epoch's clock 0, above
//! everything of the old one. A commit answered to a client had every vote, so it is found; an abort answered to a client is
//! known to every participant, so it is found too.

use crate::AtomicityController;
use messages::access::StaleSet;
use messages::commit::{EpochReply, Outcome, TransactionState, TransactionsReport};
use messages::planted::Planted;
use messages::replication::SiteNotice;
use messages::{Epoch, EpochNumber, Message, Now, Outbox, ServerKind, SiteId, Timestamp, TransactionId};
use messages::{planted, reached};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reports by member.
pub type Reports = BTreeMap<SiteId, Arc<TransactionsReport>>;

/// Whether what a copy says of transactions of that epoch counts: it took part then.
fn counts(report: &TransactionsReport, prepared_in: EpochNumber, planted: Planted) -> bool {
    let took_part = report.joined <= prepared_in;
    if !took_part {
        reached!("resolution-void-passed");
    }
    took_part || planted!(planted, VoidOutcomeWins)
}

/// What becomes of every transaction that any member whose word counts reports, and the epoch that made each outcome. Of what only
/// others report there is no outcome: it was decided without them.
pub fn resolve(epoch: &Epoch, reports: &Reports, planted: Planted) -> BTreeMap<TransactionId, (Outcome, EpochNumber)> {
    let mut everything: BTreeMap<TransactionId, EpochNumber> = BTreeMap::new();
    for report in reports.values() {
        let known = report.transactions.iter().filter(|(_, known)| counts(report, known.epoch, planted));
        everything.extend(known.map(|(transaction, known)| (*transaction, known.epoch)));
    }
    let outcome = |(id, prepared_in)| (id, resolve_one(epoch, reports, id, prepared_in, planted));
    everything.into_iter().map(outcome).collect()
}

fn resolve_one(
    epoch: &Epoch,
    reports: &Reports,
    transaction: TransactionId,
    prepared_in: EpochNumber,
    planted: Planted,
) -> (Outcome, EpochNumber) {
    let mut decided: Option<(Outcome, EpochNumber)> = None;
    let mut all_prepared = true;
    for report in reports.values().filter(|report| counts(report, prepared_in, planted)) {
        match report.transactions.get(&transaction).map(|known| known.state) {
            Some(TransactionState::Decided(outcome, by)) => {
                let better = decided.is_none_or(|(_, before)| match planted!(planted, VoidOutcomeWins) {
                    true => by < before,
                    false => by > before,
                });
                if better {
                    decided = Some((outcome, by));
                }
            }
            Some(TransactionState::Prepared) => {}
            None if planted!(planted, RestartFromAnyLog) && epoch.restart => {}
            Some(TransactionState::Refused) | None => all_prepared = false,
        }
    }
    let stamp = if planted!(planted, TimestampsWithoutEpoch) { prepared_in } else { epoch.number };
    match decided {
        Some(outcome) => {
            reached!("resolution-decision-wins");
            outcome
        }
        None if all_prepared => {
            reached!("resolution-commits");
            (Outcome::Commit(Timestamp { epoch: stamp, clock: 0, transaction }), epoch.number)
        }
        None => {
            reached!("resolution-aborts");
            (Outcome::Abort, epoch.number)
        }
    }
}

/// What commits, with what is stale without it, where some member had not decided it.
fn committed(
    outcomes: &BTreeMap<TransactionId, (Outcome, EpochNumber)>,
    reports: &Reports,
    planted: Planted,
) -> Vec<(Timestamp, StaleSet)> {
    let mut committed = Vec::new();
    for (transaction, (outcome, _)) in outcomes {
        let Outcome::Commit(timestamp) = outcome else { continue };
        let undecided = reports
            .values()
            .filter_map(|report| report.transactions.get(transaction).map(|known| (report, known)))
            .find(|(report, known)| known.state == TransactionState::Prepared && counts(report, known.epoch, planted));
        if let Some((_, known)) = undecided {
            committed.push((*timestamp, known.changes.clone()));
        }
    }
    committed
}

impl AtomicityController {
    pub(crate) fn resolve(
        &mut self,
        now: Now,
        epoch: &Arc<Epoch>,
        reports: &Reports,
        fresh: bool,
        outbox: &mut Outbox,
    ) {
        // Timestamps compare by epoch first, so a member whose clock runs far ahead need not drag the others along.
        for report in reports.values().filter(|report| self.clock.believes(now, report.clock)).collect::<Vec<_>>() {
            self.clock.merge(report.clock);
        }
        let outcomes = resolve(epoch, reports, self.planted);
        let committed = committed(&outcomes, reports, self.planted);
        if fresh {
            self.forget_participations(outbox);
        } else {
            for (transaction, (outcome, by)) in &outcomes {
                if let Err(contradiction) = self.apply_resolved(*transaction, *outcome, *by, outbox) {
                    let reason = format!("the members' reports cannot all be true: {contradiction}");
                    return outbox.local(ServerKind::Site, Message::Site(SiteNotice::Halt { reason }));
                }
            }
        }
        self.home_resolved(|transaction| outcomes.get(&transaction).map_or(Outcome::Abort, |(outcome, _)| *outcome));
        let commits = outcomes.iter().filter(|(_, (outcome, _))| matches!(outcome, Outcome::Commit(_)));
        let commits = commits.map(|(transaction, _)| *transaction).collect();
        let resolved = EpochReply::Resolved { epoch: epoch.number, committed, commits };
        outbox.local(ServerKind::ReplicationController, Message::EpochReply(resolved));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::commit::TransactionReport;
    use messages::epoch::{Member, MemberState, Placement, ProposalId};
    use messages::{Incarnation, OracleLife, SiteId};

    const T: TransactionId = TransactionId { home: SiteId(9), incarnation: Incarnation(1), sequence: 1 };

    fn epoch(number: u64) -> Epoch {
        let member = Member::beginning(Incarnation(1), MemberState::Up);
        Epoch {
            number: EpochNumber(number),
            proposal: ProposalId::default(),
            parent: ProposalId::default(),
            members: [(SiteId(1), member), (SiteId(2), member)].into(),
            sessions: BTreeMap::new(),
            required_copies: 2,
            placement: Placement::Everywhere,
            oracle: OracleLife(1),
            restart: false,
        }
    }

    fn report(joined: u64, state: Option<TransactionState>) -> Arc<TransactionsReport> {
        let participants = vec![SiteId(1), SiteId(2), SiteId(9)];
        let transactions = state
            .map(|state| {
                (
                    T,
                    TransactionReport {
                        epoch: EpochNumber(4),
                        order: 1,
                        participants,
                        changes: StaleSet::default(),
                        state,
                    },
                )
            })
            .into_iter()
            .collect();
        Arc::new(TransactionsReport { joined: EpochNumber(joined), clock: 0, transactions })
    }

    fn outcome(reports: [Arc<TransactionsReport>; 2]) -> (Outcome, EpochNumber) {
        let [first, second] = reports;
        let reports = Reports::from([(SiteId(1), first), (SiteId(2), second)]);
        resolve(&epoch(5), &reports, Planted::none())[&T]
    }

    fn commit(by: u64) -> TransactionState {
        let timestamp = Timestamp { epoch: EpochNumber(by), clock: 7, transaction: T };
        TransactionState::Decided(Outcome::Commit(timestamp), EpochNumber(by))
    }

    #[test]
    fn prepared_everywhere_commits_above_the_old_epoch() {
        let prepared = || report(1, Some(TransactionState::Prepared));
        let (result, by) = outcome([prepared(), prepared()]);
        let Outcome::Commit(timestamp) = result else { panic!("an answered commit would be lost") };
        assert!(timestamp > Timestamp::snapshot(EpochNumber(4), u64::MAX), "it must lie above the whole old epoch");
        assert_eq!(by, EpochNumber(5));
    }

    #[test]
    fn a_missing_record_aborts() {
        let result = outcome([report(1, Some(TransactionState::Prepared)), report(1, None)]);
        assert_eq!(result.0, Outcome::Abort, "a member without the writes could not apply them");
    }

    #[test]
    fn a_refusal_aborts() {
        let result = outcome([report(1, Some(TransactionState::Prepared)), report(1, Some(TransactionState::Refused))]);
        assert_eq!(result.0, Outcome::Abort);
    }

    #[test]
    fn a_decision_wins() {
        let result = outcome([report(1, Some(TransactionState::Prepared)), report(1, Some(commit(4)))]);
        assert!(matches!(result, (Outcome::Commit(_), EpochNumber(4))), "a client may have been told");
    }

    #[test]
    fn the_outcome_of_the_highest_epoch_wins() {
        let abort = TransactionState::Decided(Outcome::Abort, EpochNumber(3));
        let result = outcome([report(1, Some(abort)), report(1, Some(commit(4)))]);
        assert!(matches!(result, (Outcome::Commit(_), EpochNumber(4))), "an outcome of a void epoch must not win");
    }

    /// A site that came back may still have in its log what was decided without it: committing that would bring the dead to life,
    /// at this site alone.
    #[test]
    fn what_only_a_later_copy_reports_has_no_outcome() {
        let reports =
            Reports::from([(SiteId(1), report(5, Some(TransactionState::Prepared))), (SiteId(2), report(5, None))]);
        assert!(resolve(&epoch(6), &reports, Planted::none()).is_empty());
    }

    #[test]
    fn a_copy_that_joined_later_does_not_count() {
        let result = outcome([report(1, Some(TransactionState::Prepared)), report(5, None)]);
        assert!(matches!(result.0, Outcome::Commit(_)), "a joiner's missing record means nothing");
    }
}
