//! What was asked, delivered and answered, as an observer outside sees it, and what must hold of it.
//!
//! A server that is made after a crash is another one: what is to be executed once may be executed by each of them.

use crate::identifier::ProcessId;
use std::collections::BTreeMap;

/// What is wrong with a run.
pub type LedgerFinding = String;

/// What a client asks of the kernels for an operation.
#[derive(Clone, Copy, Debug)]
pub struct OperationSemantics {
    /// It is to be executed exactly once.
    pub once: bool,
    /// It goes to a group of servers.
    pub grouped: bool,
}

/// An operation of a client.
#[derive(Clone, Debug)]
pub struct ClientOperation {
    pub semantics: OperationSemantics,
    pub started: u64,
    /// Deliveries by process.
    pub delivered: BTreeMap<ProcessId, u32>,
    /// Servers that have begun to execute it, rather than forwarded it.
    pub executed: u32,
    pub ended: bool,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct ExchangeLedger {
    operations: BTreeMap<u64, ClientOperation>,
    /// By sender, sequence of operation and receiver: the order of first arrival.
    arrivals: BTreeMap<(u64, ProcessId), u64>,
    arrived: u64,
    /// For each receiver the arrival of what was delivered last.
    last: BTreeMap<ProcessId, u64>,
    next: u64,
    pub given_up: u64,
}

impl ExchangeLedger {
    pub fn begin(&mut self, now: u64, semantics: OperationSemantics) -> u64 {
        self.next += 1;
        let operation =
            ClientOperation { semantics, started: now, delivered: BTreeMap::new(), executed: 0, ended: false };
        self.operations.insert(self.next, operation);
        self.next
    }

    pub fn operation(&self, id: u64) -> &ClientOperation {
        &self.operations[&id]
    }

    pub fn count(&self) -> u64 {
        self.next
    }

    /// A message arrived at the kernel of its receiver.
    pub fn arrive(&mut self, id: u64, receiver: ProcessId) {
        self.arrived += 1;
        self.arrivals.entry((id, receiver)).or_insert(self.arrived);
    }

    /// A server was given a message. Exactly once is exactly once; messages come in the order of their arrival.
    pub fn deliver(&mut self, id: u64, server: usize, receiver: ProcessId, ordered: bool) -> Result<(), LedgerFinding> {
        let Some(operation) = self.operations.get_mut(&id) else {
            return Err(format!("server {server} was given message {id}, which nobody sent"));
        };
        let times = operation.delivered.entry(receiver).or_insert(0);
        *times += 1;
        if operation.semantics.once && *times > 1 {
            return Err(format!("message {id}, to be executed once, was delivered {times} times to server {server}"));
        }
        if let Some(&arrival) = self.arrivals.get(&(id, receiver)).filter(|_| ordered && operation.semantics.once) {
            let last = self.last.entry(receiver).or_insert(0);
            if arrival < *last {
                return Err(format!("message {id} came to server {server} before one that it was delivered after"));
            }
            *last = arrival;
        }
        Ok(())
    }

    /// A server begins to execute a message.
    pub fn execute(&mut self, id: u64) -> Result<(), LedgerFinding> {
        let Some(operation) = self.operations.get_mut(&id) else { return Ok(()) };
        operation.executed += 1;
        if operation.semantics.once && !operation.semantics.grouped && operation.executed > 1 {
            return Err(format!("message {id}, to be executed once, was executed {} times", operation.executed));
        }
        Ok(())
    }

    /// A client was given the outcome of an operation, with a reply or without.
    pub fn end(&mut self, id: u64, replied: bool) -> Result<(), LedgerFinding> {
        let Some(operation) = self.operations.get_mut(&id) else { return Err(format!("there is no operation {id}")) };
        if std::mem::replace(&mut operation.ended, true) {
            return Err(format!("operation {id} ended twice"));
        }
        if replied && operation.executed == 0 {
            return Err(format!("operation {id} was replied to, but no server has executed it"));
        }
        Ok(())
    }
}
