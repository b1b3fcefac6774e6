//! Servers that are moved while their site runs: between two steps one of them becomes bytes, and goes on from them, in the domain or as if in
//! another process.
//!
//! Invariant: its chance is its own, and a moved server behaves as one that was not, so the run of a seed is the same with it and without it.
//! Only pauses inside a step fall elsewhere when calls take several messages at once.

use crate::random::SeededRandom;
use access_manager::{Store, StoreError};
use commit_log::Log;
use domain::{Domain, Lost, ProcessConnection, SERVERS, ServerHost, Stores};
use std::sync::{Arc, Mutex};

/// Which moves there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Mean number of steps of a site from one to the next; 0: nothing moves.
    pub every: u64,
    /// Half of them go to a process of the server's own, which is called from then on.
    pub elsewhere: bool,
}

/// See the module's description.
pub struct Mover {
    random: SeededRandom,
    moves: Moves,
    /// Moves so far.
    pub moved: u64,
    store: Kept,
}

impl Mover {
    /// The seed gives what moves when.
    pub fn new(seed: u64, moves: Moves) -> Mover {
        Mover { random: SeededRandom::new(seed.rotate_left(17)), moves, moved: 0, store: Kept::default() }
    }

    /// Between two steps of a site.
    pub fn step<L: Log>(&mut self, domain: &mut Domain<L>) {
        if self.moves.every == 0 || self.random.below(self.moves.every) > 0 {
            return;
        }
        let kind = SERVERS[self.random.index(SERVERS.len())];
        let moved = match self.moves.elsewhere && self.random.below(2) == 0 {
            true => {
                let process = CalledProcess(ServerHost::new(Box::new(self.store.clone())));
                domain.give(kind, Box::new(process), &mut self.store)
            }
            false => domain.fetch(kind, &mut self.store),
        };
        self.moved += u64::from(moved.is_ok());
    }
}

/// A process that is called, without the process.
struct CalledProcess(ServerHost);

impl ProcessConnection for CalledProcess {
    fn call(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Lost> {
        self.0.execute(request, reply);
        Ok(())
    }
}

/// The store stays open: what it has under way goes on.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<Box<dyn Store>>>>);

impl Stores for Kept {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Ok(self.0.lock().expect("one thread").take().expect("a store is taken out before it is put back"))
    }

    fn close(&mut self, store: Box<dyn Store>) -> Result<(), StoreError> {
        *self.0.lock().expect("one thread") = Some(store);
        Ok(())
    }
}
