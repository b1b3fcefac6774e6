//! The keeper of leases beside the servers: what it is told, what it tells, and who drives it.
//!
//! Invariant: the replication controller knows all that the keeper knows before it is asked whether the site may serve, and before it ticks.

use crate::{Clock, Domain, Remote, index};
use commit_log::Log;
use leases::{Keeper, LeaseSaid, MessageTaken};
use messages::lease::LeaseOrder;
use messages::{Envelope, EpochNumber, Message, ServerKind};

impl<L: Log> Domain<L> {
    /// A keeper of this life's leases for a thread that drives it from now on. The domain goes on taking what comes by its own channels.
    pub fn hand_out_leases(&mut self) -> Keeper {
        self.leases_are_driven = true;
        Keeper::clone(&self.leases)
    }

    /// How long the leases are that this site asks for now.
    pub fn lease(&self) -> messages::LeaseLength {
        self.leases.length()
    }

    /// How long the leases still last that the other members of the epoch have granted this site, in nanoseconds.
    pub fn leases_left(&self, now: u64) -> Vec<(messages::SiteId, u64)> {
        self.leases.left(now).collect()
    }

    /// This site's host was late by so many nanoseconds: for the simulated world, whose keeper the domain drives.
    pub fn was_late(&mut self, clock: &mut Clock<'_>, late: u64) {
        self.leases.was_late(clock().boot, late);
    }

    /// Takes a message between keepers; `Some`: it is for the replication controller.
    pub(crate) fn lease_came(&mut self, clock: &mut Clock<'_>, envelope: Envelope) -> Option<Envelope> {
        let is_from_other = envelope.from_site != self.settings.site;
        if !is_from_other || !Keeper::is_for_keepers(&envelope.message) {
            return Some(envelope);
        }
        let now = clock().boot;
        self.leases.turned(now);
        let mut said = LeaseSaid::new();
        let taken = self.leases.handle(now, &envelope, &mut said);
        self.send_leases(said);
        (taken == MessageTaken::Stray).then_some(envelope)
    }

    pub(crate) fn tick_leases(&mut self, clock: &mut Clock<'_>) {
        let now = clock().boot;
        self.leases.turned(now);
        if !self.leases_are_driven {
            self.drive_leases(now);
        }
        self.tell_leases(clock);
    }

    fn drive_leases(&mut self, now: u64) {
        let mut said = LeaseSaid::new();
        self.leases.tick(now, &mut said);
        self.send_leases(said);
    }

    fn send_leases(&mut self, said: LeaseSaid) {
        for (site, message) in said {
            let envelope = self.of_keeper(site, self.leases.epoch(), Message::Replication(message));
            self.effects.remote.push(Remote { sites: [site].into_iter().collect(), envelope });
        }
    }

    fn of_keeper(&self, to_site: messages::SiteId, epoch: EpochNumber, message: Message) -> Envelope {
        let kind = ServerKind::ReplicationController;
        let (from_site, incarnation) = (self.settings.site, self.settings.incarnation);
        Envelope { from_site, from: kind, to_site, to: kind, epoch, incarnation, message }
    }

    /// What the replication controller orders.
    pub(crate) fn lease_order(&mut self, clock: &mut Clock<'_>, order: LeaseOrder) {
        match order {
            LeaseOrder::Open { epoch } => {
                let now = clock().boot;
                self.leases.open(&epoch, now);
                if !self.leases_are_driven {
                    self.drive_leases(now);
                }
            }
            LeaseOrder::Close => self.leases.close(),
            LeaseOrder::Refuse { site } => self.leases.refuse(site),
        }
        self.tell_leases(clock);
    }

    /// Tells the replication controller what is new, ahead of everything that waits.
    pub(crate) fn tell_leases(&mut self, clock: &mut Clock<'_>) {
        let Some(news) = self.leases.news() else { return };
        let kind = ServerKind::ReplicationController;
        let envelope = self.inside(ServerKind::Site, kind, Message::LeaseNews(Box::new(news)));
        let handled = self.places[index(kind)].handle(clock(), envelope, |_| {}, &mut self.outbox);
        if self.has(kind, handled) {
            self.collect(kind);
        }
    }
}
