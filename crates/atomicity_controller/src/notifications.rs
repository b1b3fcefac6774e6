//! What committed transactions notify of, on its way to who listens at this site (rule 4).
//!
//! Sites install what does not conflict in different orders. Who listens at either of two sites hears the same order all the same: that of the timestamps. So a
//! notification waits here while this site has voted for another notifying transaction that may still commit below it. What is voted for later is proposed above
//! every timestamp that this site has seen, so nothing else can. It costs no message: whoever is waited for is decided by its own commit or resolution.
//!
//! Invariant: within a life of the site what is handed on ascends, and names each commit once.

use crate::{AtomicityController, VotingState};
use messages::planted;
use messages::{History, Message, Notification, Outbox, ServerKind, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Commits that notify, and wait for what may commit below them.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct HeldNotifications {
    held: BTreeMap<Timestamp, Vec<Notification>>,
}

impl HeldNotifications {
    /// This copy takes part from now on: what it has heard of before others tell those who listen there.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
    }
}

impl AtomicityController {
    /// A transaction has committed here.
    pub(crate) fn hold_notifications(&mut self, timestamp: Timestamp, history: &History) {
        if !history.notifications.is_empty() && !planted!(self.planted, NotifiedAtVote) {
            self.notifications.held.insert(timestamp, history.notifications.clone());
        }
    }

    /// A transaction was decided, or an epoch is active: hands on whatever nothing undecided can precede any more. What a resolution has found waits until its
    /// epoch is active (rule 14): another one may take its place.
    pub(crate) fn hand_on_notifications(&mut self, outbox: &mut Outbox) {
        if self.notifications.held.is_empty() || self.standing == VotingState::Stopped {
            return;
        }
        let lowest = match planted!(self.planted, NotificationPassesLower) {
            true => None,
            false => self.participants.lowest_notifying(),
        };
        let mut told = Vec::new();
        while let Some(first) = self.notifications.held.first_entry() {
            if lowest.is_some_and(|lowest| lowest <= (first.key().epoch, first.key().clock)) {
                messages::reached!("notification-held");
                break;
            }
            told.extend(first.remove());
        }
        if !told.is_empty() {
            outbox.local(ServerKind::UserInterface, Message::Notified(Arc::new(told)));
        }
    }

    /// The planted bugs: who listens is told of this whatever becomes of it, or has become.
    pub(crate) fn notify_anyhow(&self, history: &History, outbox: &mut Outbox) {
        if !history.notifications.is_empty() {
            let told = Arc::new(history.notifications.clone());
            outbox.local(ServerKind::UserInterface, Message::Notified(told));
        }
    }
}
