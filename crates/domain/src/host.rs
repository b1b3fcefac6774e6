//! Servers of a domain in a process that the domain calls.
//!
//! Invariant: a request that cannot be executed is replied to with the reason, whatever its bytes; the servers here do nothing that is not in a
//! reply, so what the domain was not told has not happened.

use crate::calls::{self, ReceivedRequest};
use crate::place::{Lost, Machine, Stores, settle};
use messages::{Outbox, ServerKind};
use std::collections::BTreeMap;

/// See the module's description.
pub struct ServerHost {
    machines: BTreeMap<ServerKind, Box<dyn Machine>>,
    stores: Box<dyn Stores>,
    outbox: Outbox,
}

impl ServerHost {
    /// A process without servers. `stores` opens the store when the access manager comes.
    pub fn new(stores: Box<dyn Stores>) -> ServerHost {
        ServerHost { machines: BTreeMap::new(), stores, outbox: Outbox::default() }
    }

    /// Executes a call: the reply replaces what is in `reply`.
    pub fn execute(&mut self, request: &[u8], reply: &mut Vec<u8>) {
        calls::encode_reply(reply, |body| {
            let (kind, wanted, state) = calls::decode_request(request)?;
            self.run(kind, wanted, state, body)
        });
    }

    fn run(&mut self, kind: ServerKind, wanted: ReceivedRequest, state: &[u8], body: &mut Vec<u8>) -> Result<(), Lost> {
        if let ReceivedRequest::Put = wanted {
            // The one before it, of an earlier life of the site, goes first: only one may have the store open.
            self.machines.remove(&kind);
            self.machines.insert(kind, settle(kind, state, &mut *self.stores)?);
            return Ok(());
        }
        let machine = self.machines.get_mut(&kind);
        let machine = machine.ok_or_else(|| Lost::Process(format!("the process that is called has no {kind}")))?;
        match wanted {
            ReceivedRequest::Handle(now, envelopes) => {
                for envelope in envelopes {
                    machine.handle(now, envelope, &mut self.outbox);
                }
                calls::encode_outbox(&mut self.outbox, body);
            }
            ReceivedRequest::Tick(now) => {
                machine.tick(now, &mut self.outbox);
                calls::encode_outbox(&mut self.outbox, body);
            }
            ReceivedRequest::Ask(question) => calls::encode_answer(&machine.ask(question), body),
            ReceivedRequest::CheckpointFrom(position) => machine.checkpoint_from(position),
            ReceivedRequest::Take => {
                if let Some(store) = machine.detach() {
                    self.stores.close(store)?;
                }
                body.extend_from_slice(&machine.state());
                self.machines.remove(&kind);
            }
            ReceivedRequest::Put => unreachable!("it was put above"),
        }
        Ok(())
    }
}
