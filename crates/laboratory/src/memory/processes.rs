//! The processes of an experiment, seen from the one that measures.
//!
//! Invariant: clients that are compared with each other's company run their transactions at the same time: all are prepared before any goes.

use laboratory_harness::process::Process;
use laboratory_harness::{Failure, Outcome};
use std::net::SocketAddr;

use crate::memory::client::{Order, Ran, Reply, Turn};

/// A memory server.
#[derive(Debug)]
pub struct Served {
    _process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Served {
    /// That of a process which has just been started.
    ///
    /// # Errors
    /// It has not come so far.
    pub fn of(mut process: Process) -> Outcome<Served> {
        let line = process.line()?;
        let address = line.parse().map_err(|_| Failure::Wrong(format!("the memory server says `{line}`")))?;
        Ok(Served { _process: process, address })
    }
}

/// A client.
#[derive(Debug)]
pub struct ClientProcess(Process);

impl ClientProcess {
    /// That of a process which has just been started.
    ///
    /// # Errors
    /// It has not come so far.
    pub fn of(process: Process) -> Outcome<ClientProcess> {
        let mut client = ClientProcess(process);
        client.reply()?;
        Ok(client)
    }

    fn reply(&mut self) -> Outcome<Reply> {
        match serde_json::from_str(&self.0.line()?)? {
            Reply::Failed(reason) => Err(Failure::Wrong(reason)),
            reply => Ok(reply),
        }
    }
}

/// Gives an order to all, and hears all.
fn all(clients: &mut [ClientProcess], order: Order) -> Outcome<Vec<Reply>> {
    let line = serde_json::to_string(&order)?;
    clients.iter_mut().try_for_each(|client| client.0.order(&line))?;
    // All are heard, even if one has failed: an answer that nobody has taken would be taken for the next one's.
    let replies: Vec<_> = clients.iter_mut().map(ClientProcess::reply).collect();
    replies.into_iter().collect()
}

/// Lets clients have a turn of so many milliseconds together.
///
/// # Errors
/// One of them fails.
pub fn together(clients: &mut [ClientProcess], turn: Turn, milliseconds: u64) -> Outcome<Vec<Ran>> {
    let ran = all(clients, Order::Prepare(turn)).and_then(|_| all(clients, Order::Go(milliseconds)));
    let rested = all(clients, Order::Rest);
    let ran = ran?.into_iter().map(|reply| match reply {
        Reply::Ran(ran) if ran.transactions > 0 => Ok(ran),
        reply => Err(Failure::Wrong(format!("a client that was to run transactions says {reply:?}"))),
    });
    rested.and(ran.collect())
}
