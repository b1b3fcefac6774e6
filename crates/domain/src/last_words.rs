//! The end of a life whose clients stay: what it leaves open goes to the next one.
//!
//! Invariants: whatever was answered inside the site leaves it, before anybody hears of another life; a commit that the action driver has not heard of
//! yet counts as heard; what is said of a request to be undone, no server of this life has done, and none ever will.

use crate::place::{SERVERS, ServerAnswer, ServerQuestion};
use crate::{Domain, index};
use commit_log::Log;
use messages::commit::CommitReply;
use messages::last_words::{LastWords, LeftRequest, LeftSession, OpenTransaction, Testimony};
use messages::{Incarnation, Message, ServerKind, SessionId, TransactionId, planted};
use std::collections::{BTreeMap, BTreeSet};

impl<L: Log> Domain<L> {
    /// Ends this life: what it leaves open, and what earlier ones did. `None`: a server is lost, and with it what it knew. Answers that were still on
    /// their way inside the site are among the effects.
    pub fn last_words(&mut self) -> Option<LastWords> {
        if self.effects.failed.is_some() {
            return None;
        }
        let mut committed = BTreeSet::new();
        self.inbox.clear();
        for envelope in std::mem::take(&mut self.queue) {
            match &envelope.message {
                Message::CommitReply(CommitReply::Committed { transaction, .. }) => {
                    committed.insert(*transaction);
                }
                Message::SessionReply(..) if !SERVERS.contains(&envelope.to) => self.effects.local.push(envelope),
                _ => {}
            }
        }
        let open = match self.places[index(ServerKind::AtomicityController)].ask(ServerQuestion::Open) {
            Ok(ServerAnswer::Open(open)) => open,
            _ => return None,
        };
        let open = open.into_iter().map(|open| (open.transaction, open)).collect();
        let (mut left, mut words) = match self.places[index(ServerKind::ActionDriver)].ask(ServerQuestion::Left) {
            Ok(ServerAnswer::Left(left, earlier)) => (left, earlier),
            _ => return None,
        };
        left.values_mut().for_each(|left| settle(left, &open, &committed));
        if planted!(self.settings.planted, RepeatedLifeSpeaks) {
            words.lives.insert(self.settings.incarnation, left);
        } else if !self.is_repeated {
            leave(&mut words, self.settings.incarnation, left);
        }
        Some(words)
    }

    /// What earlier lives have left open. Before anything is asked of this one, and before its servers are moved.
    pub fn take_over(&mut self, words: LastWords) {
        self.machine(ServerKind::ActionDriver).take_over(words);
    }
}

/// With an oracle that was set back a life may have the number of an earlier one. It falls as soon as the replication controller looks, so the earlier one is
/// the one that has done something.
fn leave(words: &mut LastWords, life: Incarnation, left: BTreeMap<SessionId, LeftSession>) {
    words.lives.entry(life).or_insert(left);
}

/// What was never sent is undone.
fn settle(
    left: &mut LeftSession,
    open: &BTreeMap<TransactionId, OpenTransaction>,
    committed: &BTreeSet<TransactionId>,
) {
    let LeftRequest::Doubt(doubt) = &mut left.request else { return };
    doubt.sent = open.get(&doubt.transaction).cloned();
    if committed.contains(&doubt.transaction) {
        // It may be finished, so that nobody else knows it any more.
        let finished = OpenTransaction {
            transaction: doubt.transaction,
            sent_as: doubt.transaction,
            order: 0,
            epoch: messages::EpochNumber(0),
            testimony: Testimony::Committed,
        };
        doubt.sent = Some(finished);
    }
    if doubt.sent.is_none() {
        left.request = LeftRequest::Undone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::last_words::InDoubtCommit;
    use messages::session::{CommitReceipt, SessionReply};
    use messages::{EpochNumber, SiteId};

    fn id(sequence: u64) -> TransactionId {
        TransactionId { home: SiteId(1), incarnation: Incarnation(2), sequence }
    }

    fn sent(testimony: Testimony) -> OpenTransaction {
        OpenTransaction { transaction: id(3), sent_as: id(5), order: 4, epoch: EpochNumber(7), testimony }
    }

    fn settled(open: &[OpenTransaction], committed: &[u64]) -> LeftRequest {
        let reply = SessionReply::Committed { receipt: CommitReceipt::Disk };
        let doubt = Box::new(InDoubtCommit { transaction: id(3), changed: None, reply, sent: None });
        let mut left = LeftSession { taken: 1, request: LeftRequest::Doubt(doubt) };
        let open = open.iter().map(|open| (open.transaction, open.clone())).collect();
        settle(&mut left, &open, &committed.iter().copied().map(id).collect());
        left.request
    }

    fn known(request: &LeftRequest) -> Option<(TransactionId, Testimony)> {
        let LeftRequest::Doubt(doubt) = request else { return None };
        doubt.sent.as_ref().map(|sent| (sent.sent_as, sent.testimony))
    }

    /// If this fails, a commit of a life counts as one that never came, because an oracle that was set back has given out the life's number again.
    #[test]
    fn a_life_that_bears_an_earlier_ones_number_takes_nothing_back() {
        let request = LeftRequest::Undone;
        let mut words = LastWords::default();
        leave(&mut words, Incarnation(6), [(SessionId(1), LeftSession { taken: 42, request })].into());
        let first = words.clone();
        leave(&mut words, Incarnation(6), BTreeMap::new());
        assert_eq!(words, first);
    }

    /// If this fails, a commit that its own site has found counts as never sent, because the answer had not got from one server to the next.
    #[test]
    fn what_was_never_sent_is_undone_and_nothing_else() {
        assert_eq!(settled(&[], &[]), LeftRequest::Undone);
        assert_eq!(settled(&[], &[5]), LeftRequest::Undone, "that is another one");
        assert_eq!(
            known(&settled(&[sent(Testimony::Open)], &[])),
            Some((id(5), Testimony::Open)),
            "by its group's name"
        );
        for open in [vec![], vec![sent(Testimony::Open)]] {
            assert_eq!(known(&settled(&open, &[3])).map(|known| known.1), Some(Testimony::Committed));
        }
    }
}
