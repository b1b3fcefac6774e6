//! The channels of a session, and what its client is to be told of them.
//!
//! Invariant: what a transaction changes of the channels holds once it has committed, and is gone when it has not.

use crate::limits::{CHANNELS_MAX, NOTIFICATIONS_BYTES_MAX};
use messages::Notification;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What a transaction changes of the channels when it commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenChange {
    /// LISTEN.
    Listen(Arc<str>),
    /// UNLISTEN.
    Unlisten(Arc<str>),
    /// UNLISTEN of all.
    UnlistenAll,
}

/// Why a connection that listens has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListeningLost {
    /// The site began a new life.
    NewLife,
    /// More was notified than is kept for a client that does not take it.
    Overflow,
}

/// The channels of a session.
#[derive(Debug, Default)]
pub struct Listening {
    pub(super) channels: BTreeSet<Arc<str>>,
    /// What the transaction under way changes, in order.
    changes: Vec<ListenChange>,
    /// The channels of the LISTENs among them.
    begun: BTreeSet<Arc<str>>,
    /// By savepoint, the outermost first: how many changes there were.
    marks: Vec<usize>,
    /// What its client is to be told.
    pub(super) waiting: VecDeque<Notification>,
    waiting_bytes: usize,
    pub(super) lost: Option<ListeningLost>,
}

impl Listening {
    /// Whether it listens, or is about to: then the session stays where it is, since whoever serves it hears what is notified.
    pub fn is_on(&self) -> bool {
        !self.channels.is_empty() || !self.changes.is_empty() || !self.waiting.is_empty() || self.lost.is_some()
    }

    /// Its channels, by name.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<str>> {
        self.channels.iter()
    }

    /// The transaction under way is to listen. False: to too much.
    pub fn begin(&mut self, channel: Arc<str>) -> bool {
        let is_new = !self.channels.contains(&channel) && !self.begun.contains(&channel);
        if is_new && self.channels.len() + self.begun.len() >= CHANNELS_MAX {
            return false;
        }
        self.change(ListenChange::Listen(channel))
    }

    /// The transaction under way is not to listen any more, to a channel or at all; what is about nothing is forgotten at once, as in PostgreSQL. False: it
    /// has changed too much.
    pub fn end(&mut self, channel: Option<Arc<str>>) -> bool {
        let is_on = match &channel {
            Some(channel) => self.channels.contains(channel) || self.begun.contains(channel),
            None => !self.channels.is_empty() || !self.begun.is_empty(),
        };
        !is_on || self.change(channel.map_or(ListenChange::UnlistenAll, ListenChange::Unlisten))
    }

    fn change(&mut self, change: ListenChange) -> bool {
        if self.changes.len() >= CHANNELS_MAX {
            return false;
        }
        if let ListenChange::Listen(channel) = &change {
            self.begun.insert(channel.clone());
        }
        self.changes.push(change);
        true
    }

    /// A savepoint is set.
    pub fn mark(&mut self) {
        self.marks.push(self.changes.len());
    }

    /// The savepoint at this place, and those set since, are released.
    pub fn release(&mut self, place: usize) {
        self.marks.truncate(place);
    }

    /// Back to the savepoint at this place, which remains.
    pub fn roll_back_to(&mut self, place: usize) {
        self.marks.truncate(place + 1);
        if let Some(mark) = self.marks.last() {
            self.changes.truncate(*mark);
            let begun = self.changes.iter().filter_map(|change| match change {
                ListenChange::Listen(channel) => Some(channel.clone()),
                _ => None,
            });
            self.begun = begun.collect();
        }
    }

    /// The transaction is over.
    pub fn end_block(&mut self, committed: bool) {
        self.marks.clear();
        self.begun.clear();
        if self.changes.is_empty() {
            return;
        }
        for change in std::mem::take(&mut self.changes).into_iter().filter(|_| committed) {
            match change {
                ListenChange::Listen(channel) => drop(self.channels.insert(channel)),
                ListenChange::Unlisten(channel) => drop(self.channels.remove(&channel)),
                ListenChange::UnlistenAll => self.channels.clear(),
            }
        }
        let channels = &self.channels;
        self.waiting.retain(|notification| channels.contains(&notification.channel));
        self.waiting_bytes = self.waiting.iter().map(Notification::bytes).sum();
    }

    /// Something has been notified of. Whether its client is to hear of it, or will if the transaction under way commits.
    pub fn hear(&mut self, notification: &Notification) -> bool {
        if !self.channels.contains(&notification.channel) && !self.begun.contains(&notification.channel) {
            return false;
        }
        self.waiting_bytes += notification.bytes();
        self.waiting.push_back(notification.clone());
        if self.waiting_bytes > NOTIFICATIONS_BYTES_MAX {
            self.lose(ListeningLost::Overflow);
        }
        true
    }

    /// The next of what its client is to be told.
    pub fn next(&mut self) -> Option<Notification> {
        let next = self.waiting.pop_front()?;
        self.waiting_bytes -= next.bytes();
        Some(next)
    }

    fn lose(&mut self, why: ListeningLost) {
        self.lost.get_or_insert(why);
        self.waiting = VecDeque::new();
        self.waiting_bytes = 0;
    }

    /// The site has begun a new life, and has not heard what was notified meanwhile.
    pub fn new_life(&mut self) {
        if !self.channels.is_empty() || !self.changes.is_empty() {
            self.lose(ListeningLost::NewLife);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::database::DatabaseId;

    fn heard(channel: &str) -> Notification {
        Notification { channel: channel.into(), payload: "".into(), process: 1, database: DatabaseId::FIRST }
    }

    /// If this fails, a session listens to what a transaction that was rolled back has named, or not to what a committed one has.
    #[test]
    fn channels_change_with_the_commit() {
        let mut listening = Listening::default();
        assert!(listening.begin("a".into()));
        listening.mark();
        assert!(listening.begin("b".into()));
        assert!(listening.hear(&heard("b")), "it may come to listen there");
        listening.roll_back_to(0);
        assert!(!listening.hear(&heard("b")) && listening.hear(&heard("a")));
        listening.end_block(true);
        assert_eq!(listening.waiting, [heard("a")], "a transaction hears of itself");
        assert!(listening.end(None));
        listening.end_block(false);
        assert!(listening.hear(&heard("a")));
        assert!(listening.end(Some("a".into())));
        listening.end_block(true);
        assert!(!listening.is_on(), "nothing of the channel is told any more");
    }

    /// If this fails, a transaction fills the memory of its site with what it changes of its channels, or a session does with channels.
    #[test]
    fn what_changes_is_bounded() {
        let mut listening = Listening::default();
        for number in 0..CHANNELS_MAX {
            assert!(listening.begin(number.to_string().into()));
        }
        assert!(!listening.begin("another".into()) && !listening.end(Some("0".into())));
        assert!(listening.end(Some("another".into())), "it is about nothing");
        listening.end_block(true);
        assert!(!listening.begin("another".into()));
        for _ in 0..CHANNELS_MAX {
            assert!(listening.begin("0".into()), "it listens there");
        }
        assert!(!listening.begin("0".into()) && !listening.end(None));
        listening.end_block(false);
        assert!(listening.end(Some("0".into())));
        listening.end_block(true);
        assert!(listening.begin("another".into()));
    }

    /// If this fails, a client that takes nothing fills the memory of its site.
    #[test]
    fn what_is_not_taken_is_given_up() {
        let mut listening = Listening::default();
        listening.channels.insert("a".into());
        let long = Notification { payload: "x".repeat(7_999).into(), ..heard("a") };
        while listening.lost.is_none() {
            listening.hear(&long);
        }
        assert!(listening.waiting.is_empty());
    }
}
