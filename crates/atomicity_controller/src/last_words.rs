//! What this life has sent to be voted for and told nobody, for the next life; and what a member of an epoch knows of all homes, for tables of outcomes.
//!
//! Invariants: whatever of this home may ever commit and was not answered is named, each with the name that others know it by; whatever is not named never
//! left this site, or was answered.

use crate::home::{HomePhase, HomeTransaction};
use crate::{AtomicityController, CommitContinuation};
use messages::TransactionId;
use messages::commit::Outcome;
use messages::last_words::{HomesKnown, OpenTransaction, Testimony};
use messages::planted;

impl AtomicityController {
    /// Transactions of this home that the others may commit, or have committed.
    pub fn open_transactions(&self) -> Vec<OpenTransaction> {
        let open = self.home.iter().flat_map(|(sent_as, home)| self.opened(*sent_as, home));
        open.chain(self.waiting_for_disk()).collect()
    }

    /// Resolved commits whose answer waits for the disk: the home knows nothing else of them any more.
    fn waiting_for_disk(&self) -> impl Iterator<Item = OpenTransaction> {
        let waiting = self.after_sync.values().filter_map(|then| match then {
            CommitContinuation::Answer(transactions, timestamp) => Some((transactions, timestamp)),
            CommitContinuation::Vote(_) | CommitContinuation::Acknowledge(..) => None,
        });
        waiting.flat_map(|(transactions, timestamp)| {
            let (sent_as, epoch) = (timestamp.transaction, timestamp.epoch);
            let committed = move |transaction: &TransactionId| OpenTransaction {
                transaction: *transaction,
                sent_as,
                order: 0,
                epoch,
                testimony: Testimony::Committed,
            };
            transactions.iter().map(committed)
        })
    }

    fn opened(&self, sent_as: TransactionId, home: &HomeTransaction) -> impl Iterator<Item = OpenTransaction> {
        let testimony = match &home.phase {
            HomePhase::Decided { outcome: Outcome::Commit(_), .. } => Testimony::Committed,
            // An abort that not all know yet: those that are left may have voted yes, all of them.
            HomePhase::Voting { .. } | HomePhase::Decided { outcome: Outcome::Abort, .. } => Testimony::Open,
            HomePhase::Resolved(outcome) => Testimony::Resolved { committed: matches!(outcome, Outcome::Commit(_)) },
        };
        let alone = planted!(self.planted, GroupMemberAlone);
        let (order, epoch) = (home.order, home.epoch);
        home.names(sent_as).into_iter().map(move |transaction| {
            let sent_as = if alone { transaction } else { sent_as };
            OpenTransaction { transaction, sent_as, order, epoch, testimony }
        })
    }

    /// What this site knows of the homes in the last epoch that was active here: it has all of their transactions of that epoch that are not
    /// finished everywhere.
    pub(crate) fn homes_known(&self) -> Option<HomesKnown> {
        let epoch = self.epoch.as_ref()?;
        let known = epoch.members.iter().map(|(site, member)| {
            let life = member.incarnation;
            (*site, (life, self.participants.mark_of(*site, life)))
        });
        Some(HomesKnown { epoch: epoch.number, homes: known.collect() })
    }
}
