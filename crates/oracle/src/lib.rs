//! The oracle: name service and keeper of the epoch.
//!
//! One register holds the epoch, changed by compare-and-swap; beside it the incarnation of every site, and where servers are.
//! The data path never needs it: sites that agree go on while it is away, and nobody can change the epoch meanwhile. Rules 7
//! and 13 of the design; the papers' oracle (Raid 1989, II-B).
//!
//! It must not know what an epoch means beyond being a sound successor, nor who may propose one when: members seal, lease and
//! resolve among themselves. In reading order:
//!
//! * [`epoch_store`]: what any keeper of the epoch promises;
//! * [`register`]: the epoch and the incarnations, logged after every change;
//! * [`names`]: registrations and notifier sets, in memory;
//! * [`limits`] names the bounds.
//!
//! This crate is the embedded oracle: one process with a log. An oracle that is backed by etcd will be another server of kind
//! `Oracle` in the worlds' crates, because it owns a connection, and sites will not see the difference: the register is one
//! etcd key, `SwapEpoch` a transaction that compares the key's revision, `ReadEpoch` a linearizable read, an incarnation a key
//! for each site that is swapped likewise, with the nonce in its value; registrations are keys under a prefix, and watches
//! etcd's own. Each answer is sent when etcd's comes; a request whose answer is lost is resent by the site. Since etcd itself
//! cannot be rolled back behind an answer, it counts as confirmed unless it was restored from a backup.

pub mod epoch_store;
pub mod limits;
pub mod names;
pub mod register;

use epoch_store::EpochStore;
use messages::log_record::LogRecord;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::Planted;
use messages::{Envelope, Epoch, EpochNumber, InstanceId, Message, Now, OracleLife, Outbox, Server, SiteId};
use names::{Names, Watcher};
use register::{Confirmation, Register, Swap};
use std::collections::VecDeque;
use std::sync::Arc;

/// The embedded oracle.
pub struct Oracle {
    /// `None`: the newest record of the log could not be read.
    register: Option<Register>,
    instance: InstanceId,
    life: OracleLife,
    names: Names,
    /// Answers about the register that wait for the log: the token of the sync, to whom, what. Tokens rise.
    unsynced: VecDeque<(u64, Watcher, OracleReply)>,
    /// The last sync asked for, and the last that is done.
    syncs: (u64, u64),
    planted: Planted,
}

impl Oracle {
    /// The oracle of a new instance, by the operator's explicit wish; or of an old one, once its log is replayed. Epoch 0 lists all
    /// sites as up, in life 0, which none of them has. `life` is new for every process.
    ///
    /// # Panics
    ///
    /// Unless there are between 1 and `SITES_MAX` sites, each listed once, none numbered 0: configurations are checked before.
    pub fn init(
        instance: InstanceId,
        sites: &[SiteId],
        required_copies: u16,
        life: OracleLife,
        planted: Planted,
    ) -> Oracle {
        Oracle {
            register: Some(Register::init(instance, sites, required_copies, life, planted)),
            instance,
            life,
            names: Names::default(),
            unsynced: VecDeque::new(),
            syncs: (0, 0),
            planted,
        }
    }

    /// The epoch that the register holds, if there is one that can be read.
    pub fn epoch(&self) -> Option<&Arc<Epoch>> {
        self.register.as_ref().map(Register::epoch)
    }

    /// These sites are lost for good, as the operator says: their confirmations are not waited for.
    pub fn give_up(&mut self, lost: impl Iterator<Item = SiteId>) {
        if let Some(register) = &mut self.register {
            lost.for_each(|site| register.note_confirmed(site));
        }
    }

    /// Logs the register and asks for a sync, which all later answers about it wait for.
    fn log(&mut self, outbox: &mut Outbox) {
        let register = self.register.as_ref().expect("only a register changes");
        outbox.append(LogRecord::Oracle { state: register.encode() });
        self.syncs.0 += 1;
        outbox.sync(self.syncs.0);
    }

    /// Answers about the register, once everything that it holds is durable.
    fn answer(&mut self, to: Watcher, reply: OracleReply, outbox: &mut Outbox) {
        if self.syncs.0 == self.syncs.1 {
            send(to, reply, outbox);
        } else {
            self.unsynced.push_back((self.syncs.0, to, reply));
        }
    }

    fn synced(&mut self, token: u64, outbox: &mut Outbox) {
        self.syncs.1 = self.syncs.1.max(token.min(self.syncs.0));
        while let Some((waits_for, ..)) = self.unsynced.front() {
            if *waits_for > self.syncs.1 {
                break;
            }
            let (_, to, reply) = self.unsynced.pop_front().expect("there is a first");
            send(to, reply, outbox);
        }
    }

    fn request(&mut self, from: Watcher, request: OracleRequest, outbox: &mut Outbox) {
        let Some(register) = &mut self.register else {
            tracing::error!(
                "this oracle cannot read its log and answers nothing: restore the log from a copy, even an old one"
            );
            return;
        };
        match request {
            OracleRequest::Incarnate { nonce, site } => self.incarnate(from, site, nonce, outbox),
            OracleRequest::Confirm { tag, epoch, carried, oracle } => {
                if register.confirm(from.0, epoch, carried, oracle) == Confirmation::Adopted {
                    self.log(outbox);
                }
                self.read_epoch(from, tag, outbox);
            }
            OracleRequest::ReadEpoch { tag } => self.read_epoch(from, tag, outbox),
            OracleRequest::SwapEpoch { tag, expected, epoch } => {
                let swap = register.swap(expected, epoch.clone());
                let reply = OracleReply::EpochSwapped {
                    tag,
                    won: matches!(swap, Swap::Won | Swap::WonBefore),
                    epoch: match swap {
                        Swap::WonBefore => epoch,
                        _ => register.epoch().clone(),
                    },
                    unconfirmed: match swap {
                        Swap::Unconfirmed => register.unconfirmed(),
                        _ => Vec::new(),
                    },
                };
                if swap == Swap::Won {
                    self.log(outbox);
                }
                self.answer(from, reply, outbox);
            }
            OracleRequest::Register { tag, address, location } => {
                if address.instance != self.instance || address.site != from.0 {
                    tracing::warn!(%address, site = %from.0, "a site registers its own servers only");
                    return;
                }
                let Some(watchers) = self.names.register(address, &location) else {
                    tracing::warn!(%address, "too many servers or too long a location: not registered");
                    return;
                };
                let location = Some(location).filter(|location| !location.is_empty());
                for watcher in watchers {
                    let location = location.clone();
                    send(watcher, OracleReply::Changed { address, location }, outbox);
                }
                send(from, OracleReply::Registered { tag }, outbox);
            }
            OracleRequest::Lookup { tag, pattern } => {
                let locations = self.names.lookup(pattern);
                send(from, OracleReply::Found { tag, locations }, outbox);
            }
            OracleRequest::Watch { tag, pattern } => {
                if self.names.watch(pattern, from) {
                    send(from, OracleReply::Watching { tag }, outbox);
                } else {
                    tracing::warn!(site = %from.0, "too many watches: not joined");
                }
            }
        }
    }

    fn incarnate(&mut self, from: Watcher, site: SiteId, nonce: u64, outbox: &mut Outbox) {
        let register = self.register.as_mut().expect("requests come to a register");
        if site != from.0 {
            tracing::warn!(%site, sender = %from.0, "a site takes an incarnation for itself only");
            return;
        }
        let Some((incarnation, new)) = register.incarnate(site, nonce) else {
            tracing::warn!(%site, "the instance is full: no incarnation for a further site");
            return;
        };
        if new {
            self.log(outbox);
        }
        self.answer(from, OracleReply::Incarnated { nonce, incarnation }, outbox);
    }

    fn read_epoch(&mut self, from: Watcher, tag: u64, outbox: &mut Outbox) {
        let register = self.register.as_ref().expect("requests come to a register");
        let (epoch, unconfirmed) = (register.epoch().clone(), register.unsettled());
        self.answer(from, OracleReply::EpochRead { tag, epoch, unconfirmed, oracle: self.life }, outbox);
    }
}

fn send(to: Watcher, reply: OracleReply, outbox: &mut Outbox) {
    outbox.remote(to.0, to.1, EpochNumber(0), Message::OracleReply(reply));
}

impl Server for Oracle {
    fn handle(&mut self, _: Now, envelope: Envelope, outbox: &mut Outbox) {
        match envelope.message {
            Message::Oracle(request) => self.request((envelope.from_site, envelope.from), request, outbox),
            Message::Synced(token) => self.synced(token, outbox),
            Message::Checkpoint => {
                if let Some(register) = &self.register {
                    let state = register.encode();
                    outbox.append(LogRecord::Oracle { state });
                }
            }
            other => tracing::error!(?other, "not a message for an oracle"),
        }
    }

    fn tick(&mut self, _: Now, _: &mut Outbox) {}

    fn replay(&mut self, record: &LogRecord, _: &mut Outbox) {
        let LogRecord::Oracle { state } = record else { return };
        self.register = match Register::decode(state, self.life, self.planted) {
            Ok(register) if register.instance() == self.instance => Some(register),
            Ok(register) => {
                tracing::error!(logged = %register.instance(), own = %self.instance, "the oracle's log is of another instance");
                None
            }
            Err(error) => {
                tracing::error!(%error, "a record of the oracle's log cannot be read");
                None
            }
        };
    }
}

impl EpochStore for Oracle {
    fn instance(&self) -> InstanceId {
        self.instance
    }

    fn epoch(&self) -> Option<&Arc<Epoch>> {
        self.register.as_ref().map(Register::epoch)
    }

    fn unconfirmed(&self) -> Vec<SiteId> {
        self.register.as_ref().map_or_else(Vec::new, Register::unconfirmed)
    }
}
