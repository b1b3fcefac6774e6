//! LISTEN and what it brings: the channels of a session, and notifications on their way to its client.
//!
//! Invariants: a client whose connection lasts misses nothing of a channel that it listens on, hears it once, in the order of the commits, and only
//! between its transactions. When the site loses its place among the others, or the client takes nothing, that cannot be kept: then the
//! connection ends with an error, and who connects again knows that it has to look for itself.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{CHANNELS_MAX, NOTIFICATIONS_BYTES_MAX, NOTIFIED_OUTPUT_MAX};
use crate::protocol::backend;
use crate::session::state::{Block, Cycle, Execution, Phase, Work};
use crate::session::turn::Turn;
use messages::Notification;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use values::Value;

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
    channels: BTreeSet<Arc<str>>,
    /// What the transaction under way changes, in order.
    changes: Vec<ListenChange>,
    /// By savepoint, the outermost first: how many changes there were.
    marks: Vec<usize>,
    /// What its client is to be told.
    waiting: VecDeque<Notification>,
    waiting_bytes: usize,
    lost: Option<ListeningLost>,
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
        }
    }

    /// The transaction is over.
    pub fn end_block(&mut self, committed: bool) {
        self.marks.clear();
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
        let begins = |change: &ListenChange| *change == ListenChange::Listen(notification.channel.clone());
        if !self.channels.contains(&notification.channel) && !self.changes.iter().any(begins) {
            return false;
        }
        self.waiting_bytes += notification.bytes() + size_of::<Notification>();
        self.waiting.push_back(notification.clone());
        if self.waiting_bytes > NOTIFICATIONS_BYTES_MAX {
            self.lose(ListeningLost::Overflow);
        }
        true
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

impl Turn<'_> {
    /// LISTEN, in a transaction of a site that serves.
    pub fn listen(&mut self, execution: Box<Execution>, channel: Arc<str>) -> Result<()> {
        let listening = &mut self.session.listening;
        if listening.channels.len() + listening.changes.len() >= CHANNELS_MAX {
            let message = format!("a session listens on at most {CHANNELS_MAX} channels");
            return Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        listening.changes.push(ListenChange::Listen(channel));
        self.complete(execution);
        Ok(())
    }

    /// UNLISTEN, of one channel or of all.
    pub fn unlisten(&mut self, channel: Option<Arc<str>>) {
        let listening = &mut self.session.listening;
        // PostgreSQL, too, forgets at once what is about nothing.
        if listening.is_on() {
            listening.changes.push(channel.map_or(ListenChange::UnlistenAll, ListenChange::Unlisten));
        }
    }

    /// The rows of `pg_listening_channels()`.
    pub fn listening_channels(&self) -> Vec<Vec<Value>> {
        self.session.listening.channels().map(|channel| vec![Value::text(&**channel)]).collect()
    }

    /// Whether the client is between its transactions, and waits for nothing.
    fn is_between_transactions(&self) -> bool {
        let session = &*self.session;
        let is_idle = matches!((&session.work, &session.cycle), (Work::Idle, Cycle::Idle));
        session.phase == Phase::Ready && session.block == Block::None && is_idle
    }

    /// Tells an idle client what it has to hear.
    pub fn tell_idle_client(&mut self) {
        if self.is_between_transactions() {
            self.tell_notifications();
        }
    }

    /// Tells the client what it has to hear: it is between two transactions.
    pub fn tell_notifications(&mut self) {
        let session = &mut *self.session;
        if session.output.len() > NOTIFIED_OUTPUT_MAX && !session.listening.waiting.is_empty() {
            session.listening.lose(ListeningLost::Overflow);
        }
        if let Some(why) = session.listening.lost {
            return self.fatal(&lost(why));
        }
        if session.listening.waiting.is_empty() {
            return;
        }
        for Notification { channel, payload, process } in std::mem::take(&mut session.listening.waiting) {
            backend::notification(&mut session.output, process, &channel, &payload);
        }
        session.listening.waiting_bytes = 0;
        session.is_due = true;
    }
}

/// 57P01.
fn lost(why: ListeningLost) -> Box<SqlError> {
    let detail = match why {
        ListeningLost::NewLife => "The site lost its place among the sites and began a new life.",
        ListeningLost::Overflow => "The client did not take what it was notified of.",
    };
    SqlError::new("57P01", "terminating connection because notifications may be lost")
        .with_detail(detail)
        .with_hint("Connect and LISTEN again, then look at what the notifications are about.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(channel: &str) -> Notification {
        Notification { channel: channel.into(), payload: "".into(), process: 1 }
    }

    /// If this fails, a session listens to what a transaction that was rolled back has named, or not to what a committed one has.
    #[test]
    fn channels_change_with_the_commit() {
        let mut listening = Listening::default();
        listening.changes.push(ListenChange::Listen("a".into()));
        listening.mark();
        listening.changes.push(ListenChange::Listen("b".into()));
        assert!(listening.hear(&heard("b")), "it may come to listen there");
        listening.roll_back_to(0);
        assert!(!listening.hear(&heard("b")) && listening.hear(&heard("a")));
        listening.end_block(true);
        assert_eq!(listening.waiting, [heard("a")], "a transaction hears of itself");
        listening.changes.push(ListenChange::UnlistenAll);
        listening.end_block(false);
        assert!(listening.hear(&heard("a")));
        listening.changes.push(ListenChange::Unlisten("a".into()));
        listening.end_block(true);
        assert!(!listening.is_on(), "nothing of the channel is told any more");
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
