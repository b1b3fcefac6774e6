//! Where a server of the domain is: here, or in another process that is called for everything that goes into it.
//!
//! Invariants: a server is in one place at a time; its outbox comes to the domain, wherever it is, before anything of it takes effect, so the order
//! that servers rely on is the same in every layout. What another process replies is checked: it is a lost server at worst.

use crate::calls::{self, ServerRequest};
use access_manager::{AccessManager, Store, StoreError};
use action_driver::ActionDriver;
use atomicity_controller::AtomicityController;
use concurrency_controller::ConcurrencyController;
use messages::last_words::{LastWords, LeftSession, OpenTransaction};
use messages::method::MethodReport;
use messages::{Envelope, Item, Key, Now, Outbox, Row, Server, ServerKind, SessionId, SiteId, Timestamp};
use replication_controller::ReplicationController;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use thiserror::Error;

/// The servers of a domain, in the order in which they tick and replay: whoever installs before whoever reads.
pub const SERVERS: [ServerKind; 5] = [
    ServerKind::ReplicationController,
    ServerKind::AtomicityController,
    ServerKind::ConcurrencyController,
    ServerKind::AccessManager,
    ServerKind::ActionDriver,
];

/// Why a server is not asked again: the domain fails.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Lost {
    /// Its process does not answer, or not what it may. The site begins a new life from its log.
    #[error("{0}")]
    Process(String),
    /// It cannot be without its store, which a new life would not find in a better state: the site stops.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A way to a process that has servers of this domain: a line of shared memory, or a connection.
pub trait ProcessConnection: Send {
    /// Makes a call: the reply replaces what is in `reply`.
    ///
    /// # Errors
    /// There is no reply, and nobody knows whether the call was executed.
    fn call(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Lost>;
}

/// What the domain asks of a server besides what all servers have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServerQuestion {
    /// Of the replication controller: why the site may not serve now.
    Refusal(Now),
    /// Of the replication controller: what replication looks like.
    Replication,
    /// Of the atomicity controller: what commits and aborts have come to.
    Commits,
    /// Of the atomicity controller: the last value of its clock.
    Clock,
    /// Of the action driver: which programs have committed in the transaction of another.
    Companions,
    /// Of the action driver: how long commits took, and what conflicts were lost.
    Work,
    /// Of the access manager: what it keeps in memory.
    Memory,
    /// Of the access manager: whether its copy of this item is stale.
    Stale(Item),
    /// Of the concurrency controller: whether nobody holds or waits for anything.
    Idle,
    /// Of the concurrency controller: which method is in force at this site.
    Method(SiteId),
    /// Of the atomicity controller: what it has sent to be voted for and told nobody.
    Open,
    /// Of the action driver: what it has not answered.
    Left,
}

/// Rows of the catalog, as a user interface takes them.
pub type CatalogRows = Vec<(Key, Timestamp, Option<Row>)>;

/// What a server answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ServerAnswer {
    /// To [`ServerQuestion::Refusal`].
    Refusal(Option<String>),
    /// To [`ServerQuestion::Replication`].
    Replication(Box<replication_controller::ReplicationStatus>),
    /// To [`ServerQuestion::Commits`].
    Commits(atomicity_controller::CommitCounters),
    /// To [`ServerQuestion::Clock`].
    Clock(u64),
    /// To [`ServerQuestion::Companions`].
    Companions(action_driver::CompanionCounters),
    /// To [`ServerQuestion::Work`].
    Work(Box<action_driver::WorkCounts>),
    /// To [`ServerQuestion::Memory`].
    Memory(access_manager::Tally),
    /// To [`ServerQuestion::Stale`].
    Stale(bool),
    /// To [`ServerQuestion::Idle`].
    Idle(bool),
    /// To [`ServerQuestion::Method`]: the report, and whether the method's property is true of what executes.
    Method(Box<MethodReport>, bool),
    /// To [`ServerQuestion::Open`].
    Open(Vec<OpenTransaction>),
    /// To [`ServerQuestion::Left`]: of this life, and of those before.
    Left(BTreeMap<SessionId, LeftSession>, LastWords),
    /// That is nothing this server knows.
    Unknown,
}

/// A server in the process that holds it: what goes in besides messages, and its whole state, which can be moved.
pub trait Machine: Server + Send {
    /// Answers a question.
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        let _ = question;
        ServerAnswer::Unknown
    }

    /// For the access manager: the next post covers everything that the log says before this position.
    fn checkpoint_from(&mut self, position: u64) {
        let _ = position;
    }

    /// For the action driver: what earlier lives of the site have left open.
    fn take_over(&mut self, words: LastWords) {
        let _ = words;
    }

    /// The log has been replayed.
    ///
    /// # Errors
    /// The store cannot be read.
    fn replay_ends(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Of the access manager: all rows of the catalog.
    ///
    /// # Errors
    /// The store cannot be read.
    fn catalog_rows(&mut self) -> Result<CatalogRows, StoreError> {
        Ok(Vec::new())
    }

    /// Of the access manager: the settings among them.
    ///
    /// # Errors
    /// The store cannot be read.
    fn setting_rows(&mut self) -> Result<CatalogRows, StoreError> {
        Ok(Vec::new())
    }

    /// Everything that it is, but for the store.
    fn state(&self) -> Vec<u8>;

    /// Takes the store away from the server that has one; the server is dropped next, or gets it back.
    fn detach(&mut self) -> Option<Box<dyn Store>> {
        None
    }

    /// Gives the server that needs one its store. Before anything else.
    fn attach(&mut self, store: Box<dyn Store>) {
        drop(store);
    }
}

/// The server whose state this is.
///
/// # Errors
/// The bytes are no state of such a server.
fn machine(kind: ServerKind, state: &[u8]) -> Result<Box<dyn Machine>, Lost> {
    fn of<M: Machine + for<'a> Deserialize<'a> + 'static>(state: &[u8]) -> Result<Box<dyn Machine>, postcard::Error> {
        postcard::from_bytes::<M>(state).map(|machine| Box::new(machine) as Box<dyn Machine>)
    }
    let machine = match kind {
        ServerKind::ActionDriver => of::<ActionDriver>(state),
        ServerKind::AtomicityController => of::<AtomicityController>(state),
        ServerKind::ConcurrencyController => of::<ConcurrencyController>(state),
        ServerKind::ReplicationController => of::<ReplicationController>(state),
        ServerKind::AccessManager => of::<AccessManager>(state),
        other => return Err(Lost::Process(format!("the {other} is no server that can be moved"))),
    };
    machine.map_err(|error| Lost::Process(format!("{} bytes are no state of the {kind}: {error}", state.len())))
}

fn bytes_of(state: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(state).expect("a state always encodes")
}

impl Machine for ActionDriver {
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        match question {
            ServerQuestion::Companions => ServerAnswer::Companions(self.companions()),
            ServerQuestion::Work => ServerAnswer::Work(Box::new(self.work_counts())),
            ServerQuestion::Left => {
                let (left, earlier) = self.left_behind();
                ServerAnswer::Left(left, earlier)
            }
            _ => ServerAnswer::Unknown,
        }
    }

    fn take_over(&mut self, words: LastWords) {
        ActionDriver::take_over(self, words);
    }

    fn state(&self) -> Vec<u8> {
        bytes_of(self)
    }
}

impl Machine for AtomicityController {
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        match question {
            ServerQuestion::Commits => ServerAnswer::Commits(self.counters()),
            ServerQuestion::Clock => ServerAnswer::Clock(self.clock()),
            ServerQuestion::Open => ServerAnswer::Open(self.open_transactions()),
            _ => ServerAnswer::Unknown,
        }
    }

    fn state(&self) -> Vec<u8> {
        bytes_of(self)
    }
}

impl Machine for ConcurrencyController {
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        match question {
            ServerQuestion::Idle => ServerAnswer::Idle(self.is_idle()),
            ServerQuestion::Method(site) => {
                ServerAnswer::Method(Box::new(self.method_report(site)), self.property_holds())
            }
            _ => ServerAnswer::Unknown,
        }
    }

    fn state(&self) -> Vec<u8> {
        bytes_of(self)
    }
}

impl Machine for ReplicationController {
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        match question {
            ServerQuestion::Refusal(now) => ServerAnswer::Refusal(self.refusal(now)),
            ServerQuestion::Replication => ServerAnswer::Replication(Box::new(self.status())),
            _ => ServerAnswer::Unknown,
        }
    }

    fn state(&self) -> Vec<u8> {
        bytes_of(self)
    }
}

impl Machine for AccessManager {
    fn ask(&self, question: ServerQuestion) -> ServerAnswer {
        match question {
            ServerQuestion::Memory => ServerAnswer::Memory(self.tally()),
            ServerQuestion::Stale(item) => ServerAnswer::Stale(self.is_stale(&item)),
            _ => ServerAnswer::Unknown,
        }
    }

    fn replay_ends(&mut self) -> Result<(), StoreError> {
        AccessManager::replay_ends(self)
    }

    fn catalog_rows(&mut self) -> Result<CatalogRows, StoreError> {
        AccessManager::catalog_rows(self)
    }

    fn setting_rows(&mut self) -> Result<CatalogRows, StoreError> {
        AccessManager::setting_rows(self)
    }

    fn checkpoint_from(&mut self, position: u64) {
        AccessManager::checkpoint_from(self, position);
    }

    fn state(&self) -> Vec<u8> {
        bytes_of(self)
    }

    fn detach(&mut self) -> Option<Box<dyn Store>> {
        Some(AccessManager::detach(self))
    }

    fn attach(&mut self, store: Box<dyn Store>) {
        AccessManager::attach(self, store);
    }
}

/// A server in another process.
pub(crate) struct Elsewhere {
    kind: ServerKind,
    call: Box<dyn ProcessConnection>,
    request: Vec<u8>,
    reply: Vec<u8>,
    /// Calls made, whatever for.
    calls: u64,
}

impl Elsewhere {
    pub(crate) fn new(kind: ServerKind, call: Box<dyn ProcessConnection>) -> Elsewhere {
        Elsewhere { kind, call, request: Vec::new(), reply: Vec::new(), calls: 0 }
    }

    /// Calls, and returns the checked reply's body.
    pub(crate) fn call(&mut self, request: &ServerRequest<'_>) -> Result<&[u8], Lost> {
        self.calls += 1;
        calls::encode_request(self.kind, request, &mut self.request);
        self.call.call(&self.request, &mut self.reply)?;
        calls::body(&self.reply)
    }

    /// Gives the server to the other process.
    pub(crate) fn put(&mut self, state: &[u8]) -> Result<(), Lost> {
        self.calls += 1;
        calls::encode_request(self.kind, &ServerRequest::Put, &mut self.request);
        self.request.extend_from_slice(state);
        let put = self.call.call(&self.request, &mut self.reply).and_then(|()| calls::body(&self.reply).map(drop));
        // A state may be large, and is not needed again.
        (self.request, self.reply) = (Vec::new(), Vec::new());
        put
    }

    fn run(&mut self, request: &ServerRequest<'_>, outbox: &mut Outbox) -> Result<(), Lost> {
        let body = self.call(request)?;
        calls::decode_outbox(body, outbox)
    }
}

/// See the module's description.
pub(crate) enum ServerPlace {
    Here(Box<dyn Machine>),
    /// Behind a cell, because who only looks asks, too.
    Elsewhere(RefCell<Elsewhere>),
}

impl ServerPlace {
    pub(crate) fn here(machine: impl Machine + 'static) -> ServerPlace {
        ServerPlace::Here(Box::new(machine))
    }

    /// Calls made to the other process since the server went there.
    pub(crate) fn calls(&self) -> u64 {
        match self {
            ServerPlace::Here(_) => 0,
            ServerPlace::Elsewhere(elsewhere) => elsewhere.borrow().calls,
        }
    }

    /// Hands over a message. For another process, those in `more` go along.
    pub(crate) fn handle(
        &mut self,
        now: Now,
        envelope: Envelope,
        more: impl FnOnce(&mut Vec<Envelope>),
        outbox: &mut Outbox,
    ) -> Result<(), Lost> {
        match self {
            ServerPlace::Here(machine) => {
                machine.handle(now, envelope, outbox);
                Ok(())
            }
            ServerPlace::Elsewhere(elsewhere) => {
                let mut envelopes = vec![envelope];
                more(&mut envelopes);
                elsewhere.get_mut().run(&ServerRequest::Handle(now, &envelopes), outbox)
            }
        }
    }

    pub(crate) fn tick(&mut self, now: Now, outbox: &mut Outbox) -> Result<(), Lost> {
        match self {
            ServerPlace::Here(machine) => {
                machine.tick(now, outbox);
                Ok(())
            }
            ServerPlace::Elsewhere(elsewhere) => elsewhere.get_mut().run(&ServerRequest::Tick(now), outbox),
        }
    }

    pub(crate) fn ask(&self, question: ServerQuestion) -> Result<ServerAnswer, Lost> {
        match self {
            ServerPlace::Here(machine) => Ok(machine.ask(question)),
            ServerPlace::Elsewhere(elsewhere) => {
                calls::decode_answer(elsewhere.borrow_mut().call(&ServerRequest::Ask(question))?)
            }
        }
    }

    pub(crate) fn checkpoint_from(&mut self, position: u64) -> Result<(), Lost> {
        match self {
            ServerPlace::Here(machine) => {
                machine.checkpoint_from(position);
                Ok(())
            }
            ServerPlace::Elsewhere(elsewhere) => {
                elsewhere.get_mut().call(&ServerRequest::CheckpointFrom(position)).map(drop)
            }
        }
    }

    /// Ends the server here, and returns its state. Its store is closed, with everything written.
    pub(crate) fn take(&mut self, stores: &mut dyn Stores) -> Result<Vec<u8>, Lost> {
        match self {
            ServerPlace::Here(machine) => {
                if let Some(store) = machine.detach() {
                    stores.close(store)?;
                }
                Ok(machine.state())
            }
            ServerPlace::Elsewhere(elsewhere) => elsewhere.get_mut().call(&ServerRequest::Take).map(<[u8]>::to_vec),
        }
    }
}

/// Opens and closes the store of an access manager, in the process that has the access manager.
pub trait Stores: Send {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be read.
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError>;

    /// Brings everything written to disk and closes it, so that another process can open it.
    ///
    /// # Errors
    /// The disk fails.
    fn close(&mut self, store: Box<dyn Store>) -> Result<(), StoreError>;
}

/// The server whose state this is, in this process, with its store.
///
/// # Errors
/// The bytes are no state of such a server, or the store cannot be opened.
pub(crate) fn settle(kind: ServerKind, state: &[u8], stores: &mut dyn Stores) -> Result<Box<dyn Machine>, Lost> {
    let mut machine = machine(kind, state)?;
    if kind == ServerKind::AccessManager {
        machine.attach(stores.open()?);
    }
    Ok(machine)
}
