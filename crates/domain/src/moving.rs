//! Moving a server while the site runs.
//!
//! A domain delivers on its caller's thread: between two deliveries nothing is under way inside a server, and its whole state is a value. So a
//! move is: take the state here, put it there. Invariant: when it fails half-way the domain has failed, and the site begins a new life from
//! its log; no server ever goes on in two places.

use crate::place::{Elsewhere, SERVERS, settle};
use crate::{
    Domain, DomainFailure, DomainSettings, Lost, MessageCounts, ProcessConnection, ServerPlace, Stores, index,
};
use commit_log::Log;
use concurrency_controller::ConcurrencyController;
use messages::ServerKind;
use messages::planted;
use std::cell::RefCell;

/// How a server is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Which server.
    pub kind: ServerKind,
    /// Messages that it has taken in this life of the site.
    pub messages: u64,
    /// The same, by protocol.
    pub by_protocol: MessageCounts,
    /// Calls made for it since it is in another process; 0 when it is here.
    pub calls: u64,
}

impl<L: Log> Domain<L> {
    /// How often each server was called.
    pub fn calls(&self) -> Vec<Calls> {
        let calls = |kind: ServerKind| {
            let (place, by_protocol) = (&self.places[index(kind)], self.taken[index(kind)]);
            Calls { kind, messages: by_protocol.iter().sum(), by_protocol, calls: place.calls() }
        };
        SERVERS.into_iter().map(calls).collect()
    }

    /// Gives a server to another process, with everything that it knows. Returns the bytes of its state.
    ///
    /// # Errors
    /// It is lost, and the domain has failed.
    pub fn give(
        &mut self,
        kind: ServerKind,
        call: Box<dyn ProcessConnection>,
        stores: &mut dyn Stores,
    ) -> Result<usize, Lost> {
        let mut elsewhere = Elsewhere::new(kind, call);
        self.move_by(kind, |place| {
            let state = place.take(stores)?;
            elsewhere.put(&state)?;
            *place = ServerPlace::Elsewhere(RefCell::new(elsewhere));
            Ok(state.len())
        })
    }

    /// Takes a server into this process, wherever it was. Returns the bytes of its state.
    ///
    /// # Errors
    /// It is lost, and the domain has failed.
    pub fn fetch(&mut self, kind: ServerKind, stores: &mut dyn Stores) -> Result<usize, Lost> {
        let DomainSettings { method, points_max, planted, .. } = self.settings;
        let leaves_locks = kind == ServerKind::ConcurrencyController && planted!(planted, MoveLeavesLocks);
        self.move_by(kind, |place| {
            let state = place.take(stores)?;
            *place = match leaves_locks {
                true => ServerPlace::here(ConcurrencyController::new(method, points_max, planted)),
                false => ServerPlace::Here(settle(kind, &state, stores)?),
            };
            Ok(state.len())
        })
    }

    fn move_by(
        &mut self,
        kind: ServerKind,
        act: impl FnOnce(&mut ServerPlace) -> Result<usize, Lost>,
    ) -> Result<usize, Lost> {
        if let Some(failure) = &self.effects.failed {
            return Err(Lost::Process(format!("the site ends this life: {failure}")));
        }
        act(&mut self.places[index(kind)])
            .inspect_err(|lost| self.fail(DomainFailure::Server { kind, lost: lost.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerHost;
    use access_manager::{MemoryStore, Store, StoreError};
    use commit_log::MemoryLog;
    use messages::concurrency::Method;
    use messages::planted::Planted;
    use messages::session::SessionRequest;
    use messages::{Envelope, EpochNumber, Incarnation, Message, Now, SessionId, SiteId};
    use std::sync::Arc;

    struct NoStores;

    impl Stores for NoStores {
        fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
            Ok(Box::new(MemoryStore::new()))
        }

        fn close(&mut self, _: Box<dyn Store>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// On a damaged disk.
    struct DamagedStores;

    impl Stores for DamagedStores {
        fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
            Err(StoreError::Damaged("a checksum differs".to_owned()))
        }

        fn close(&mut self, _: Box<dyn Store>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// Another process, in this one.
    struct Here(ServerHost);

    impl ProcessConnection for Here {
        fn call(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Lost> {
            self.0.execute(request, reply);
            Ok(())
        }
    }

    const LIFE: Incarnation = Incarnation(2);

    fn close(session: u64) -> Envelope {
        Envelope {
            from_site: SiteId(1),
            from: ServerKind::UserInterface,
            to_site: SiteId(1),
            to: ServerKind::ActionDriver,
            epoch: EpochNumber(0),
            incarnation: LIFE,
            message: Message::SessionRequest(SessionId(session), SessionRequest::Close),
        }
    }

    fn domain() -> Domain<MemoryLog> {
        let settings = DomainSettings {
            site: SiteId(1),
            incarnation: LIFE,
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
            touched_max: 5_000,
            round_pace: crate::ROUND_PACE,
            seed: 1,
            planted: Planted::none(),
        };
        let mut domain = Domain::start(settings, MemoryLog::new(), Box::new(MemoryStore::new())).expect("an empty log");
        let process = Here(ServerHost::new(Box::new(NoStores)));
        domain.give(ServerKind::ActionDriver, Box::new(process), &mut NoStores).expect("it is taken");
        domain
    }

    /// Messages that the action driver has taken, and calls for it.
    fn driver(domain: &Domain<MemoryLog>) -> (u64, u64) {
        let calls = domain.calls().into_iter().find(|calls| calls.kind == ServerKind::ActionDriver);
        calls.map(|calls| (calls.messages, calls.calls)).expect("it is there")
    }

    /// If this fails, a site whose store is damaged begins one life after the other, instead of stopping and saying what to do.
    #[test]
    fn a_store_that_cannot_be_opened_elsewhere_is_told() {
        let mut domain = domain();
        let process = Here(ServerHost::new(Box::new(DamagedStores)));
        let error = StoreError::Damaged("a checksum differs".to_owned());
        let given = domain.give(ServerKind::AccessManager, Box::new(process), &mut NoStores);
        assert_eq!(given, Err(Lost::Store(error.clone())));
        let failed = domain.take_effects().failed;
        assert!(matches!(failed, Some(DomainFailure::Server { lost: Lost::Store(told), .. }) if told == error));
    }

    /// If this fails, a COMMIT that was on its way when its life ended is answered by the next one, which has none of its writes.
    #[test]
    fn what_a_session_asked_of_an_earlier_life_is_not_done() {
        let mut domain = domain();
        let clock = &mut || Now { boot: 1, wall_micros: 1 };
        let (before, _) = driver(&domain);
        let late = || Envelope { incarnation: Incarnation(LIFE.0 - 1), ..close(1) };
        domain.deliver(clock, late());
        domain.deliver_all(clock, [late(), close(2)]);
        let (after, _) = driver(&domain);
        assert_eq!(after, before + 1, "only what was asked of this life");
    }

    /// If this fails, a long statement, or a machine that has no time, keeps a site with servers in other processes from renewing its leases; or
    /// what it had no time for is forgotten, or done in another order.
    #[test]
    fn the_caller_has_its_turn_while_servers_are_called() {
        let mut domain = domain();
        let mut boot = 1;
        let mut slow = || {
            boot += crate::limits::RUN_TIME_MAX;
            Now { boot, wall_micros: 1 }
        };
        // Two that cannot go in one call.
        let notice = Message::Site(messages::replication::SiteNotice::RestartAlone);
        let other =
            Envelope { to: ServerKind::ReplicationController, from: ServerKind::Site, message: notice, ..close(0) };
        let (_, before) = driver(&domain);
        domain.deliver_all(&mut slow, [close(1), other.clone(), close(2)]);
        assert_eq!(driver(&domain), (2, before + 2), "nobody has said that he will come back");
        assert!(!domain.is_behind());
        domain.give_turns(crate::Turns::Always);
        domain.deliver_all(&mut slow, [close(3), other, close(4)]);
        assert_eq!(driver(&domain), (3, before + 3), "its time is over");
        let mut turns = 0;
        while domain.is_behind() {
            turns += 1;
            domain.go_on(&mut slow);
        }
        assert_eq!(driver(&domain), (4, before + 4));
        assert!(turns >= 2, "one message in each turn");
    }

    /// If this fails, what many clients want of a server elsewhere costs a call each, and a site with servers in processes of their own is slower
    /// the more clients it has.
    #[test]
    fn what_comes_together_goes_in_one_call() {
        let mut domain = domain();
        let clock = &mut || Now { boot: 1, wall_micros: 1 };
        let (_, before) = driver(&domain);
        domain.deliver_all(clock, (1..=8).map(close));
        assert_eq!(driver(&domain), (8, before + 1));
        (1..=8).for_each(|session| domain.deliver(clock, close(session)));
        assert_eq!(driver(&domain), (16, before + 9), "each by itself");
    }
}
