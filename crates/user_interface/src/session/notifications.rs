//! LISTEN and what it brings: the channels of a session, and notifications on their way to its client.
//!
//! Invariants: a client whose connection lasts misses nothing of a channel that it listens on, hears it once, in the order of the commits, and only
//! between its transactions. When the site loses its place among the others, or the client takes nothing, that cannot be kept: then the
//! connection ends with an error, and who connects again knows that it has to look for itself.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{CHANNELS_MAX, NOTIFIED_OUTPUT_MAX};
use crate::protocol::backend;
use crate::session::listening::{ListenChange, ListeningLost};
use crate::session::state::{Block, Cycle, Execution, Phase, Work};
use crate::session::turn::Turn;
use messages::Notification;
use std::sync::Arc;
use values::Value;

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
