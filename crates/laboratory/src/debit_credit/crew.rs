//! Many clients, each on a thread of its own, over all sites.
//!
//! Invariant: a crew that is dropped has told its clients to stop; one that is gathered has heard from all of them.

use super::client::{Account, Shared, run};
use super::pace::Pace;
use crate::limits;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// See the module's description.
#[derive(Debug)]
pub struct Crew {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Account>>,
}

/// Counts since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions acknowledged.
    pub acknowledged: u64,
    /// Attempts refused for a conflict.
    pub conflicts: u64,
    /// Attempts sent to another site.
    pub moved: u64,
    /// Transactions of unknown outcome.
    pub unknown: u64,
}

impl Crew {
    /// Sets clients to work, their homes being the sites in turn, each as fast as it can.
    pub fn start(sites: Vec<(u16, SocketAddr)>, scale: u32, clients: usize) -> Crew {
        Crew::start_paced(sites, scale, clients, None)
    }

    /// As [`Crew::start`], but all together make no more than `rate` transactions a second.
    pub fn start_paced(sites: Vec<(u16, SocketAddr)>, scale: u32, clients: usize, rate: Option<u32>) -> Crew {
        assert!((1..=limits::CLIENTS_MAX).contains(&clients), "the number of clients was checked when it was read");
        assert!(!sites.is_empty(), "clients need a site");
        let shared = Arc::new(Shared {
            sites,
            scale,
            begun: Instant::now(),
            pace: rate.map(Pace::new),
            stop: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
        });
        let start = |number: usize| {
            let shared = shared.clone();
            std::thread::spawn(move || run(&shared, number as u32))
        };
        let clients = (0..clients).map(start).collect();
        Crew { shared, clients }
    }

    /// Counts since the beginning.
    pub fn counts(&self) -> Counts {
        Counts {
            acknowledged: self.shared.acknowledged.load(Ordering::Relaxed),
            conflicts: self.shared.conflicts.load(Ordering::Relaxed),
            moved: self.shared.moved.load(Ordering::Relaxed),
            unknown: self.shared.unknown.load(Ordering::Relaxed),
        }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.shared.begun.elapsed()
    }

    /// Lets every client end its transaction and takes what they have to show, and the last counts. `Err`: this many did not end in time.
    pub fn gather(mut self) -> Result<(Vec<Account>, Counts), usize> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + limits::CLIENTS_END_TIME_MAX;
        while self.clients.iter().any(|client| !client.is_finished()) {
            if Instant::now() > deadline {
                return Err(self.clients.iter().filter(|client| !client.is_finished()).count());
            }
            std::thread::sleep(local_cluster::limits::LOOK_INTERVAL);
        }
        let clients = std::mem::take(&mut self.clients);
        let accounts = clients.into_iter().map(|client| client.join().expect("a client panicked")).collect();
        Ok((accounts, self.counts()))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}
