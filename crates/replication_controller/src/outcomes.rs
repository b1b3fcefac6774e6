//! What became of the transactions of lives that epochs have lost, for the clients whose sites live on (rule 14).
//!
//! An epoch that lacks the life of a home which was in the last active one has resolved everything of that home. Its members make a table of that, each
//! the same from the same reports: what has committed. Whoever was in the active epoch is among those whose votes each of that life's prepares needed,
//! has kept all of them that are not finished everywhere, and votes in that epoch no more. So what is covered and not named will never commit.
//!
//! Tables are handed on through reports and are no part of the log: with a total failure what was never told is lost, and clients are told
//! so. A table goes once the home has been active in a later life, which then has read it; or after `limits::OUTCOMES_KEPT`.
//!
//! Invariants: tables are made of the reports of those only who carry the epoch before on; a table that is there is whole.

use crate::fail_locks::carries;
use crate::{ReplicationController, limits};
use messages::last_words::{HomesKnown, OutcomeTable};
use messages::planted::Planted;
use messages::replication::{MemberReport, ServiceReply};
use messages::{Epoch, Incarnation, Message, Now, Outbox, ServerKind, SiteId, TransactionId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

type Reports = BTreeMap<SiteId, Arc<MemberReport>>;

/// Tables of lives that epochs have lost.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct LostLifeOutcomes {
    /// With when each came here (boot clock).
    tables: BTreeMap<(SiteId, Incarnation), (OutcomeTable, u64)>,
}

impl LostLifeOutcomes {
    /// For a report.
    pub(crate) fn tables(&self) -> Vec<OutcomeTable> {
        self.tables.values().map(|(table, _)| table.clone()).collect()
    }

    /// An epoch has made these.
    pub(crate) fn replace(&mut self, now: Now, tables: Vec<OutcomeTable>) {
        let before = std::mem::take(&mut self.tables);
        let since = |key: &(SiteId, Incarnation)| before.get(key).map_or(now.boot, |(_, since)| *since);
        let keyed = tables.into_iter().map(|table| ((table.home, table.life), table));
        self.tables = keyed.map(|(key, table)| (key, (table, since(&key)))).collect();
    }

    /// What nobody has asked for in all that time nobody will.
    pub(crate) fn forget_old(&mut self, now: Now) {
        self.tables.retain(|_, (_, since)| now.boot < *since + limits::OUTCOMES_KEPT);
    }
}

/// The tables of an epoch, made of its members' reports and of what has committed by them.
pub(crate) fn tables_of(
    epoch: &Epoch,
    reports: &Reports,
    commits: &[TransactionId],
    planted: Planted,
) -> Vec<OutcomeTable> {
    let carriers: Vec<&MemberReport> =
        reports.values().filter(|report| carries(report, epoch)).map(|report| &**report).collect();
    let Some(active) = carriers.iter().filter_map(|report| Some(report.homes.as_ref()?.epoch)).max() else {
        return Vec::new();
    };
    // Who was in the last active epoch: others only know what these told them before it.
    let knows = |report: &&MemberReport| report.homes.as_ref().filter(|homes| homes.epoch == active).cloned();
    let knowing: Vec<(&MemberReport, HomesKnown)> =
        carriers.iter().filter_map(|report| Some((*report, knows(report)?))).collect();
    let mut tables: BTreeMap<(SiteId, Incarnation), OutcomeTable> = BTreeMap::new();
    for table in knowing.iter().flat_map(|(report, _)| &report.outcomes) {
        tables.entry((table.home, table.life)).or_insert_with(|| table.clone());
    }
    for (home, (life, _)) in knowing.iter().flat_map(|(_, known)| &known.homes) {
        let marks = knowing.iter().filter_map(|(_, known)| known.homes.get(home)).map(|(_, mark)| *mark);
        let named = commits.iter().filter(|commit| (commit.home, commit.incarnation) == (*home, *life));
        let table = OutcomeTable {
            home: *home,
            life: *life,
            epoch: active,
            finished_below: marks.min().unwrap_or_default(),
            commits: named.map(|commit| commit.sequence).collect(),
        };
        tables.insert((*home, *life), table);
    }
    let has_read = |home: SiteId, life: Incarnation| match planted!(planted, OutcomesForgottenEarly) {
        true => epoch.members.contains_key(&home),
        // It was active itself in the epoch that it was taken in with, or a later one.
        false => reports.get(&home).is_some_and(|report| {
            let homes = report.homes.as_ref().filter(|homes| carries(report, epoch) && homes.epoch == active);
            homes.and_then(|homes| homes.homes.get(&home)).is_some_and(|(present, _)| *present > life)
        }),
    };
    let mut kept: Vec<OutcomeTable> = tables
        .into_values()
        .filter(|table| !epoch.has(table.home, table.life) && !has_read(table.home, table.life))
        .collect();
    // The oldest go first, whole: of what is not there nobody claims anything.
    kept.sort_by_key(|table| (table.epoch, table.home, table.life));
    let mut named: usize = kept.iter().map(|table| table.commits.len()).sum();
    let mut surplus = 0;
    while named > limits::OUTCOMES_MAX || kept.len() - surplus > limits::OUTCOME_TABLES_MAX {
        reached!("outcomes-surplus");
        named -= kept[surplus].commits.len();
        surplus += 1;
    }
    kept.split_off(surplus)
}

impl ReplicationController {
    /// What the others know of this site's earlier lives, for their clients: when this life is taken in, and serves.
    pub(crate) fn tell_outcomes(&self, outbox: &mut Outbox) {
        let mut tables = self.outcomes.tables();
        tables.retain(|table| table.home == self.site && table.life < self.incarnation);
        outbox.local(ServerKind::ActionDriver, Message::ServiceReply(ServiceReply::Outcomes { tables }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::EpochNumber;
    use messages::OracleLife;
    use messages::commit::TransactionsReport;
    use messages::epoch::{Member, MemberState, Placement, ProposalId};
    use messages::planted::Bug;

    fn epoch(number: u64, members: &[(u16, u32)]) -> Epoch {
        let member =
            |(site, life): &(u16, u32)| (SiteId(*site), Member::beginning(Incarnation(*life), MemberState::Up));
        Epoch {
            number: EpochNumber(number),
            proposal: ProposalId::default(),
            parent: ProposalId::default(),
            members: members.iter().map(member).collect(),
            sessions: BTreeMap::new(),
            required_copies: 2,
            placement: Placement::Everywhere,
            oracle: OracleLife(1),
            restart: false,
        }
    }

    /// Of a member that has taken part since epoch `joined`, and was last active in `active`, in which site 1 lived its life `life` and had finished
    /// everything below `mark`.
    fn report(joined: u64, active: u64, life: u32, mark: u64, outcomes: Vec<OutcomeTable>) -> Arc<MemberReport> {
        let homes = [(SiteId(1), (Incarnation(life), mark)), (SiteId(2), (Incarnation(1), 1))].into();
        Arc::new(MemberReport {
            transactions: Arc::new(TransactionsReport { joined: EpochNumber(joined), ..TransactionsReport::default() }),
            homes: Some(HomesKnown { epoch: EpochNumber(active), homes }),
            outcomes,
            ..MemberReport::default()
        })
    }

    fn fresh(joined: u64) -> Arc<MemberReport> {
        let transactions = TransactionsReport { joined: EpochNumber(joined), ..TransactionsReport::default() };
        Arc::new(MemberReport { transactions: Arc::new(transactions), ..MemberReport::default() })
    }

    fn commit(home: u16, life: u32, sequence: u64) -> TransactionId {
        TransactionId { home: SiteId(home), incarnation: Incarnation(life), sequence }
    }

    fn tables(epoch: &Epoch, reports: Reports, planted: Planted) -> Vec<OutcomeTable> {
        tables_of(epoch, &reports, &[commit(1, 1, 7), commit(1, 1, 9), commit(2, 1, 8)], planted)
    }

    /// If this fails, an epoch that has lost a home does not know what became of its transactions; or takes what only one member has forgotten for unknown.
    #[test]
    fn a_life_that_is_lost_leaves_a_table() {
        let next = epoch(5, &[(2, 1), (3, 1)]);
        let reports = [(SiteId(2), report(1, 4, 1, 6, vec![])), (SiteId(3), report(1, 4, 1, 4, vec![]))].into();
        let tables = tables(&next, reports, Planted::none());
        let [table] = &tables[..] else { panic!("{tables:?}") };
        assert_eq!((table.home, table.life, table.epoch), (SiteId(1), Incarnation(1), EpochNumber(4)));
        assert_eq!((table.finished_below, &table.commits), (4, &[7, 9].into()));
    }

    /// If this fails, what a member knows that was not active in the last epoch stands for those who were: what committed there would count as failed.
    #[test]
    fn only_who_was_active_last_covers_what_was_sent_there() {
        let next = epoch(6, &[(2, 1), (3, 1)]);
        let early = OutcomeTable {
            home: SiteId(1),
            life: Incarnation(1),
            epoch: EpochNumber(3),
            finished_below: 0,
            commits: [].into(),
        };
        let reports = [(SiteId(2), report(1, 5, 1, 6, vec![])), (SiteId(3), report(1, 4, 1, 0, vec![early]))].into();
        let tables = tables(&next, reports, Planted::none());
        let [table] = &tables[..] else { panic!("{tables:?}") };
        assert_eq!((table.epoch, table.finished_below), (EpochNumber(5), 6));
    }

    /// If this fails, sites that restart from their logs, or that nobody of the last epoch is among, answer for what they cannot know.
    #[test]
    fn nobody_knows_after_a_total_failure() {
        let next = epoch(6, &[(2, 2), (3, 2)]);
        let reports: Reports = [(SiteId(2), fresh(1)), (SiteId(3), fresh(1))].into();
        assert!(tables(&next, reports, Planted::none()).is_empty());
        let joined = [(SiteId(2), report(6, 5, 1, 6, vec![]))].into();
        assert!(tables(&next, joined, Planted::none()).is_empty(), "what a joiner knows counts for nothing");
    }

    /// If this fails, a site that is taken in and falls out before it has read what became of its clients' commits finds nothing any more; or the
    /// tables of lives that nobody asks for stay for ever.
    #[test]
    fn a_table_stays_until_its_home_has_been_active() {
        let lost = |reports, number, planted| tables(&epoch(number, &[(1, 2), (2, 1)]), reports, planted);
        let begins = || [(SiteId(1), fresh(5)), (SiteId(2), report(1, 4, 1, 6, vec![]))].into();
        let kept = lost(begins(), 5, Planted::none());
        assert_eq!(kept.len(), 1, "it is only being taken in: it reads the table once the epoch is active");
        assert!(lost(begins(), 5, Planted::only(Bug::OutcomesForgottenEarly)).is_empty());
        let falls_out = [(SiteId(2), report(1, 5, 2, 0, kept.clone()))].into();
        let still = tables(&epoch(6, &[(2, 1)]), falls_out, Planted::none());
        assert!(still.iter().any(|table| table.life == Incarnation(1)), "it may have fallen out before it was active");
        let both = [(SiteId(1), report(5, 5, 2, 0, kept.clone())), (SiteId(2), report(1, 5, 2, 0, kept))].into();
        assert!(lost(both, 6, Planted::none()).is_empty(), "it was active, and has read it");
    }

    /// If this fails, tables that nobody asks for grow without a bound.
    #[test]
    fn the_oldest_tables_go_whole() {
        let table = |life: u32, commits: u64| OutcomeTable {
            home: SiteId(3),
            life: Incarnation(life),
            epoch: EpochNumber(u64::from(life)),
            finished_below: 0,
            commits: (0..commits).collect(),
        };
        let most = limits::OUTCOMES_MAX as u64;
        let outcomes = vec![table(1, 10), table(2, most - 5), table(3, 3)];
        let reports = [(SiteId(1), report(1, 4, 1, 6, vec![])), (SiteId(2), report(1, 4, 1, 6, outcomes))].into();
        let kept = tables(&epoch(5, &[(1, 1), (2, 1)]), reports, Planted::none());
        assert_eq!(kept.iter().map(|table| table.life.0).collect::<Vec<_>>(), [2, 3]);
    }
}
