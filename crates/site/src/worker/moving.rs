//! Sessions on their way between workers: to those for long messages, and back.
//!
//! A session moves while nothing of it is under way. Invariant: where it is is noted before it is posted, so its next answer goes to the worker that
//! gets it; and a session that missed the beginning of a life on its way hears of it when it arrives.

use super::{ConnectedClient, Worker, token_of};
use crate::limits;
use crate::shared::first_worker_of;
use messages::{Now, SessionId};
use mio::Interest;
use user_interface::Moving;

/// A client on its way.
pub(crate) struct MovedClient {
    pub(crate) session: SessionId,
    client: ConnectedClient,
    moving: Moving,
}

impl Worker {
    /// Whether this worker is for long messages.
    fn takes_long(&self) -> bool {
        self.number >= self.shared.short_workers()
    }

    /// Hands a session over whose next message is long, unless this worker is for such.
    pub(super) fn hand_over_long(&mut self, session: SessionId) {
        let Some(client) = self.clients.get(&session) else { return };
        if !self.takes_long() && self.user_interface.is_about_to_be_long(session, &client.input) {
            let long_workers = self.shared.workers() - self.shared.short_workers();
            let worker = self.shared.short_workers() + session.0 as usize % long_workers;
            self.hand_over(session, worker);
        }
    }

    /// Whether a session that this worker has been handed goes back: its messages have been short for a while.
    pub(super) fn goes_back(&mut self, now: Now, session: SessionId) -> bool {
        if !self.takes_long() {
            return false;
        }
        let Some(client) = self.clients.get_mut(&session) else { return false };
        if user_interface::announces_long(&client.input) {
            client.long_at = now.boot;
        }
        let is_short = now.boot > client.long_at + limits::LONG_REST && !client.input.is_empty();
        is_short && self.user_interface.is_at_rest(session)
    }

    /// Gives a session to another worker.
    pub(super) fn hand_over(&mut self, session: SessionId, worker: usize) {
        let Some(mut client) = self.clients.remove(&session) else { return };
        drop(self.poll.registry().deregister(&mut client.socket));
        let Some(moving) = self.user_interface.take_out(session) else { return };
        self.shared.move_client(worker, MovedClient { session, client, moving });
    }

    /// Takes a session that another worker has given away.
    pub(super) fn take_in(&mut self, now: Now, moved: MovedClient) {
        let MovedClient { session, mut client, moving } = moved;
        self.user_interface.take_in(moving);
        self.user_interface.new_life_of(session, &mut self.outbox);
        let both = Interest::READABLE | Interest::WRITABLE;
        let registered = self.poll.registry().register(&mut client.socket, token_of(session), both);
        (client.readable, client.writable, client.long_at) = (true, true, now.boot);
        client.ended |= registered.is_err();
        self.clients.insert(session, client);
        self.touched.push(session);
        debug_assert!(self.takes_long() || first_worker_of(session) == self.number);
    }
}
