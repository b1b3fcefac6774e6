//! Moving a server while the site runs.
//!
//! A domain delivers on its caller's thread: between two deliveries nothing is under way inside a server, and its whole state is a value. So a
//! move is: take the state here, put it there. Invariant: when it fails half-way the domain has failed, and the site begins a new life from
//! its log; no server ever goes on in two places.

use crate::place::{Elsewhere, SERVERS, settle};
use crate::{Call, Domain, Failure, Lost, Place, Stores, index};
use commit_log::Log;
use messages::ServerKind;
use std::cell::RefCell;

/// How a server is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Which server.
    pub kind: ServerKind,
    /// Messages that it has taken in this life of the site.
    pub messages: u64,
    /// Calls made for it since it is in another process; 0 when it is here.
    pub calls: u64,
}

impl<L: Log> Domain<L> {
    /// How often each server was called.
    pub fn calls(&self) -> Vec<Calls> {
        let calls = |kind: ServerKind| {
            let (place, messages) = (&self.places[index(kind)], self.taken[index(kind)]);
            Calls { kind, messages, calls: place.calls() }
        };
        SERVERS.into_iter().map(calls).collect()
    }

    /// Gives a server to another process, with everything that it knows. Returns the bytes of its state.
    ///
    /// # Errors
    /// It is lost, and the domain has failed.
    pub fn give(&mut self, kind: ServerKind, call: Box<dyn Call>, stores: &mut dyn Stores) -> Result<usize, Lost> {
        let mut elsewhere = Elsewhere::new(kind, call);
        self.move_by(kind, |place| {
            let state = place.take(stores)?;
            elsewhere.put(&state)?;
            *place = Place::Elsewhere(RefCell::new(elsewhere));
            Ok(state.len())
        })
    }

    /// Takes a server into this process, wherever it was. Returns the bytes of its state.
    ///
    /// # Errors
    /// It is lost, and the domain has failed.
    pub fn fetch(&mut self, kind: ServerKind, stores: &mut dyn Stores) -> Result<usize, Lost> {
        self.move_by(kind, |place| {
            let state = place.take(stores)?;
            *place = Place::Here(settle(kind, &state, stores)?);
            Ok(state.len())
        })
    }

    fn move_by(
        &mut self,
        kind: ServerKind,
        act: impl FnOnce(&mut Place) -> Result<usize, Lost>,
    ) -> Result<usize, Lost> {
        if let Some(failure) = &self.effects.failed {
            return Err(Lost(format!("the site ends this life: {failure}")));
        }
        act(&mut self.places[index(kind)]).inspect_err(|lost| self.fail(Failure::Server { kind, lost: lost.clone() }))
    }
}
