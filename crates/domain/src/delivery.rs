//! Delivering: messages inside a site, in the order in which they were sent, on the caller's thread.
//!
//! A message takes microseconds, but one of a large transaction, or a call to another process, takes many, and one statement can take many of either: so
//! the caller is given its turn after [`limits::RUN_TIME_MAX`], for leases are among what waits in other queues, and comes back for the rest, if
//! it has said that it will. Invariants: that changes no order, neither of messages nor of records; what has come from outside is taken in after
//! [`limits::INSIDE_MAX`] calls of servers, whatever goes on inside.

use crate::place::{SERVERS, ServerPlace};
use crate::{Clock, Domain, Remote, index, limits};
use commit_log::{Log, LogError};
use messages::access::AccessReply;
use messages::replication::SiteNotice;
use messages::server::{Outgoing, SEVERAL_SITES};
use messages::trace::{Happened, TraceEvent, Tracer};
use messages::{Envelope, Message, Outbox, ServerKind};
use messages::{planted, reached};

/// When the caller has its turn before everything is delivered: after [`limits::RUN_TIME_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// The domain is never behind.
    Never,
    /// Wherever servers are.
    Always,
}

impl<L: Log> Domain<L> {
    /// Delivers a message from another site, from a session of this site, or from the world.
    pub fn deliver(&mut self, clock: &mut Clock<'_>, envelope: Envelope) {
        if self.effects.failed.is_none()
            && self.is_for_this_life(&envelope)
            && let Some(envelope) = self.lease_came(clock, envelope)
        {
            match self.is_behind() {
                true => self.inbox.push(envelope),
                false => self.queue.push_back(envelope),
            }
            self.run(clock);
        }
    }

    /// What a session asked of an earlier life is not for this one: its transaction is gone, and a COMMIT would find nothing to do and be answered.
    /// Whoever serves the session hears of this life, and fails what was asked of the other.
    fn is_for_this_life(&self, envelope: &Envelope) -> bool {
        !matches!(envelope.message, Message::SessionRequest(..))
            || envelope.incarnation == self.settings.incarnation
            || planted!(self.settings.planted, OldLifeServed)
    }

    /// Delivers messages that came together, under way at once: what they mean for the same server goes to it in the same calls where it is called,
    /// and transactions that are asked for together are ready together, and can commit as one. Where none is called, so many at once that what they need
    /// stays in the processor's caches.
    pub fn deliver_all(&mut self, clock: &mut Clock<'_>, envelopes: impl IntoIterator<Item = Envelope>) {
        for envelope in envelopes {
            if self.effects.failed.is_some() {
                return;
            }
            if !self.is_for_this_life(&envelope) {
                reached!("request-of-earlier-life");
                continue;
            }
            if let Some(envelope) = self.lease_came(clock, envelope) {
                self.inbox.push(envelope);
            }
        }
        self.run(clock);
    }

    /// Takes in what is most urgent of what came from outside, as much as may be under way at once.
    fn take_in(&mut self) {
        self.inside = 0;
        let at_once = if self.calls_out() { usize::MAX } else { limits::TOGETHER_MAX };
        for _ in 0..at_once.saturating_sub(self.queue.len()).max(1) {
            let Some(envelope) = self.inbox.pop() else { return };
            self.queue.push_back(envelope);
        }
    }

    /// Who may be kept waiting from now on. Whoever has turns comes back while the domain is behind.
    pub fn give_turns(&mut self, turns: Turns) {
        self.turns = turns;
    }

    /// Whether messages wait that there was no time for: [`Domain::go_on`] delivers them.
    pub fn is_behind(&self) -> bool {
        !self.queue.is_empty() || !self.inbox.is_empty()
    }

    /// Delivers what there was no time for.
    pub fn go_on(&mut self, clock: &mut Clock<'_>) {
        self.run(clock);
    }

    /// Whether a server is in another process.
    fn calls_out(&self) -> bool {
        self.places.iter().any(|place| matches!(place, ServerPlace::Elsewhere(_)))
    }

    /// Delivers until nothing is left to deliver inside the site, or its time is over.
    pub(crate) fn run(&mut self, clock: &mut Clock<'_>) {
        self.run_for(clock, (self.turns == Turns::Always).then_some(limits::RUN_TIME_MAX));
    }

    /// Delivers until nothing is left to deliver inside the site, or this time is over; one message at least.
    pub(crate) fn run_for(&mut self, clock: &mut Clock<'_>, time: Option<u64>) {
        let (mut delivered, mut until) = (0, None);
        loop {
            let waits = self.inside >= limits::INSIDE_MAX && !planted!(self.settings.planted, StatementKeepsInbox);
            if self.queue.is_empty() || waits {
                self.take_in();
            }
            let Some(envelope) = self.queue.pop_front() else { return };
            delivered += 1;
            assert!(delivered < limits::MESSAGES_PER_CALL_MAX, "servers of a site send each other messages for ever");
            let kind = envelope.to;
            if !SERVERS.contains(&kind) {
                self.leave(clock, envelope);
                continue;
            }
            if matches!(envelope.message, Message::Service(_)) {
                self.tell_leases(clock);
                if self.effects.failed.is_some() {
                    return;
                }
            }
            let now = clock();
            if until.is_some_and(|until| now.boot >= until) {
                reached!("turn-ended");
                self.queue.push_front(envelope);
                if planted!(self.settings.planted, LateMessagesForgotten) {
                    self.inbox.clear();
                    self.queue.clear();
                }
                return;
            }
            until = until.or_else(|| Some(now.boot + time?));
            self.inside += 1;
            self.now = now.boot;
            let event = trace_of(&self.tracer, &envelope, now.boot, Happened::Handled { took: 0 });
            let traces = self.tracer.is_on();
            let (taken, queue) = (&mut self.taken[index(kind)], &mut self.queue);
            taken[envelope.message.protocol()] += 1;
            let more = |envelopes: &mut Vec<Envelope>| {
                // What would come next anyway, so one call does for all of it; but messages that are traced have a time of their own.
                while let Some(next) = queue.pop_front_if(|next| next.to == kind && !traces) {
                    taken[next.message.protocol()] += 1;
                    envelopes.push(next);
                }
            };
            let handled = self.places[index(kind)].handle(now, envelope, more, &mut self.outbox);
            if !self.has(kind, handled) {
                return;
            }
            self.collect(kind);
            if let Some(event) = event {
                let took = clock().boot.saturating_sub(event.at);
                self.tracer.note(TraceEvent { happened: Happened::Handled { took }, ..event });
            }
        }
    }

    /// A message inside the site that is for none of the servers here.
    fn leave(&mut self, clock: &mut Clock<'_>, envelope: Envelope) {
        match envelope.message {
            Message::Lease(order) => self.lease_order(clock, order),
            Message::Site(notice) => {
                self.is_repeated |= matches!(notice, SiteNotice::StartAgain { repeated: true, .. });
                self.effects.notices.push(notice);
            }
            Message::AccessReply(AccessReply::Posted { tag }) => self.posted(tag),
            Message::AccessReply(AccessReply::Room { bytes }) => self.post_is_urgent = bytes < u64::MAX,
            _ => self.effects.local.push(envelope),
        }
    }

    /// Empties the outbox of a server: records first, then messages, then requests for a sync.
    pub(crate) fn collect(&mut self, from: ServerKind) {
        if !self.outbox.records.is_empty()
            && let Err(error) = self.append()
        {
            self.outbox = Outbox::default();
            return self.fail(error.into());
        }
        let (site, incarnation) = (self.settings.site, self.settings.incarnation);
        for Outgoing { sites, to, epoch, message } in self.outbox.messages.drain(..) {
            let to_site = match *sites {
                [] => site,
                [other] => other,
                [..] => SEVERAL_SITES,
            };
            let envelope = Envelope { from_site: site, from, to_site, to, epoch, incarnation, message };
            if sites.is_empty() {
                self.queue.push_back(envelope);
                continue;
            }
            if let Some(event) = trace_of(&self.tracer, &envelope, self.now, Happened::Sent) {
                let to = sites.iter().map(|to_site| (*to_site, event.to.1));
                to.for_each(|to| self.tracer.note(TraceEvent { to, ..event }));
            }
            self.effects.remote.push(Remote { sites, envelope });
        }
        for token in self.outbox.syncs.drain(..) {
            self.syncs.push_back((self.log.appended(), from, token));
            self.log.request_sync();
        }
    }

    /// Appends the records of the outbox to the log.
    fn append(&mut self) -> Result<(), LogError> {
        for record in self.outbox.records.drain(..) {
            self.buffer.clear();
            record.encode_into(&mut self.buffer);
            self.log.append(&self.buffer)?;
        }
        Ok(())
    }
}

fn trace_of(tracer: &Tracer, envelope: &Envelope, at: u64, happened: Happened) -> Option<TraceEvent> {
    let label = tracer.wants(envelope)?;
    Some(TraceEvent::of(envelope, label, at, happened))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DomainSettings;
    use access_manager::MemoryStore;
    use commit_log::MemoryLog;
    use messages::access::AccessRequest;
    use messages::concurrency::Method;
    use messages::planted::{Bug, Planted};
    use messages::session::SessionRequest;
    use messages::{EpochNumber, History, Incarnation, Key, Now, SessionId, SiteId, TableId, Timestamp, Write};
    use std::sync::Arc;

    /// Rows of a commit that is installed one by one.
    const ROWS: u64 = 1_000;

    fn envelope(from: ServerKind, to: ServerKind, message: Message) -> Envelope {
        let (site, epoch, incarnation) = (SiteId(1), EpochNumber(0), Incarnation(2));
        Envelope { from_site: site, from, to_site: site, to, epoch, incarnation, message }
    }

    fn domain(planted: Planted) -> Domain<MemoryLog> {
        let settings = DomainSettings {
            site: SiteId(1),
            incarnation: Incarnation(2),
            sites: vec![SiteId(1)],
            lease: messages::LeaseLength::DEFAULT,
            method: Method::Locking,
            points_max: crate::POINTS_MAX,
            rules: Arc::default(),
            chunk_rows: messages::limits::PRIVATE_CHUNK_ROWS,
            memory_bytes_max: 1 << 20,
            unposted_bytes_max: 1 << 19,
            old_version_bytes_max: 1 << 18,
            recent_writes_max: 100,
            touched_max: 1,
            round_pace: crate::ROUND_PACE,
            seed: 1,
            planted,
        };
        let mut domain = Domain::start(settings, MemoryLog::new(), Box::new(MemoryStore::new())).expect("an empty log");
        domain.give_turns(Turns::Always);
        domain
    }

    /// Calls of the access manager for a large commit before what a session asks in the meantime comes to the action driver.
    fn waited(planted: Planted) -> u64 {
        let mut domain = domain(planted);
        let mut boot = 0;
        let clock = &mut || {
            boot += limits::RUN_TIME_MAX / 10;
            Now { boot, wall_micros: 1 }
        };
        let row = |number: u64| Write {
            table: TableId(1_000),
            key: Key::from(&number.to_be_bytes()[..]),
            row: Some(b"row".to_vec().into()),
        };
        let history = Arc::new(History { writes: (0..ROWS).map(row).collect(), ..History::default() });
        let install = AccessRequest::Install { timestamp: Timestamp::ZERO, history, in_steps: true };
        domain.deliver(
            clock,
            envelope(ServerKind::AtomicityController, ServerKind::AccessManager, Message::Access(install)),
        );
        let close = Message::SessionRequest(SessionId(1), SessionRequest::Close);
        domain.deliver(clock, envelope(ServerKind::UserInterface, ServerKind::ActionDriver, close));
        let taken = |domain: &Domain<MemoryLog>, kind| domain.taken[index(kind)].iter().sum::<u64>();
        while taken(&domain, ServerKind::ActionDriver) == 0 && domain.is_behind() {
            domain.go_on(clock);
        }
        taken(&domain, ServerKind::AccessManager)
    }

    /// If this fails, a site that is busy with one large transaction votes for nobody and cancels nothing until that has ended, and is excluded.
    #[test]
    fn what_comes_meanwhile_does_not_wait_for_a_large_transaction() {
        assert!(waited(Planted::none()) <= 2 * limits::INSIDE_MAX as u64);
        assert!(waited(Planted::only(Bug::StatementKeepsInbox)) >= ROWS);
    }
}
