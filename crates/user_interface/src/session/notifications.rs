//! LISTEN and what it brings: the channels of a session, and notifications on their way to its client.
//!
//! Invariants: a client whose connection lasts misses nothing of a channel that it listens on, hears it once, in the order of the commits, and only
//! between its transactions. When the site loses its place among the others, or the client takes nothing, that cannot be kept: then the
//! connection ends with an error, and who connects again knows that it has to look for itself.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{CHANNELS_MAX, OUTPUT_BYTES_HIGH};
use crate::protocol::backend;
use crate::session::listening::ListeningLost;
use crate::session::state::{Block, Cycle, Execution, Phase, Session, Step, Work};
use crate::session::turn::Turn;
use messages::Notification;
use messages::database::DatabaseId;
use messages::program::Program;
use std::sync::Arc;
use values::Value;

impl Turn<'_> {
    /// LISTEN: first finds out whether the site serves, for what is notified at others does not come to one that does not.
    pub fn start_listening(&mut self, mut execution: Box<Execution>) {
        let nothing = Program {
            parameters: Vec::new(),
            actions: Vec::new(),
            columns: Vec::new(),
            relies_on: Arc::default(),
            read_only: true,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        self.execute_program(&mut execution, Arc::new(nothing), Vec::new(), Step::Program);
        self.session.work = Work::Statement(execution);
    }

    /// LISTEN, in a transaction of a site that serves.
    pub fn listen(&mut self, execution: Box<Execution>, channel: Arc<str>) {
        if !self.session.listening.begin(channel) {
            return self.fail(&too_many());
        }
        self.complete(execution);
    }

    /// UNLISTEN, of one channel or of all. Errors: 54000.
    pub fn unlisten(&mut self, channel: Option<Arc<str>>) -> Result<()> {
        if self.session.listening.end(channel) { Ok(()) } else { Err(too_many()) }
    }

    /// The rows of `pg_listening_channels()`.
    pub fn listening_channels(&self) -> Vec<Vec<Value>> {
        self.session.listening.channels().map(|channel| vec![Value::text(&**channel)]).collect()
    }

    /// Tells an idle client what it has to hear.
    pub fn tell_idle_client(&mut self) {
        if self.session.is_between_transactions() {
            self.tell_notifications();
        }
    }

    /// Tells the client what it has to hear, as far as there is room: it is between two transactions.
    pub fn tell_notifications(&mut self) {
        let session = &mut *self.session;
        if let Some(why) = session.listening.lost {
            return self.fatal(&lost(why));
        }
        while session.output.len() < OUTPUT_BYTES_HIGH
            && let Some(Notification { channel, payload, process, .. }) = session.listening.next()
        {
            backend::notification(&mut session.output, process, &channel, &payload);
            session.is_due = true;
            self.shared.counters.notified();
        }
    }
}

impl Session {
    /// Whether the client is between its transactions, and waits for nothing.
    fn is_between_transactions(&self) -> bool {
        let is_idle = matches!((&self.work, &self.cycle), (Work::Idle, Cycle::Idle));
        self.phase == Phase::Ready && self.block == Block::None && is_idle
    }

    /// Whether notifications wait for nothing but room in the output.
    pub fn has_notifications(&self) -> bool {
        !self.listening.waiting.is_empty() && self.is_between_transactions()
    }
}

/// 54000.
fn too_many() -> Box<SqlError> {
    let message = format!("a session listens on at most {CHANNELS_MAX} channels, and a transaction changes as many");
    SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// 57P01.
fn lost(why: ListeningLost) -> Box<SqlError> {
    let detail = match why {
        ListeningLost::NewLife => "The site lost its place among the sites and began a new life.",
        ListeningLost::Overflow => "The client did not take what it was notified of.",
    };
    SqlError::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection because notifications may be lost")
        .with_detail(detail)
        .with_hint("Connect and LISTEN again, then look at what the notifications are about.")
}
