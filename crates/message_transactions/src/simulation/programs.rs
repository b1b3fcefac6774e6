//! Clients and servers, as small machines over their kernels.
//!
//! A client performs its operations one after the other. A server takes messages, works at them for a while, moves bulk data if it is
//! asked to, and replies or forwards. Each checks what it can see.

use super::ledger::{LedgerFinding, OperationSemantics};
use super::world::{KernelWorld, SERVERS};
use crate::identifier::{MessageDestination, ProcessId};
use crate::kernel::{GatherUntil, Gathering, Kernel, OutgoingMessage, ProcessError};
use crate::memory::OwnedMemory;
use crate::outbox::{Completion, Gathered, MessageExchange, ReceivedMessage, SendFailure};
use crate::packet::WantedReplies;
use raidcomm::limits::{MILLISECOND, SECOND};
use std::collections::BTreeSet;

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramRole {
    Client,
    Server,
}

/// What a client wants of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientWish {
    Count,
    Forward,
    Read,
    Write,
    Data,
}

impl ClientWish {
    const ALL: [ClientWish; 5] =
        [ClientWish::Count, ClientWish::Forward, ClientWish::Read, ClientWish::Write, ClientWish::Data];
}

/// What a server works at.
#[derive(Clone, Debug)]
struct ServerJob {
    operation: u64,
    exchange: MessageExchange,
    wish: ClientWish,
    bytes: u64,
    forwarded: bool,
    /// A transfer is under way.
    moving: bool,
}

/// An operation of a client that is under way.
#[derive(Clone, Debug)]
struct AskedOperation {
    operation: u64,
    wish: ClientWish,
    to: MessageDestination,
    /// Everybody whom it may reach.
    servers: Vec<usize>,
    many: bool,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct SimulatedProgram {
    role: ProgramRole,
    /// Where it is; `None` between two nodes.
    pub at: Option<usize>,
    home: usize,
    pub process: Option<ProcessId>,
    left: u32,
    asked: Option<AskedOperation>,
    job: Option<ServerJob>,
    /// The last group message with many replies, and who has replied to it.
    collecting: Option<(u64, BTreeSet<ProcessId>)>,
    ended: bool,
}

impl SimulatedProgram {
    pub fn new(role: ProgramRole, node: usize, operations: u32) -> SimulatedProgram {
        let left = if role == ProgramRole::Client { operations } else { 0 };
        SimulatedProgram {
            role,
            at: Some(node),
            home: node,
            process: None,
            left,
            asked: None,
            job: None,
            collecting: None,
            ended: false,
        }
    }

    /// The run is over for it.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    pub fn is_finished(&self) -> bool {
        self.role == ProgramRole::Server || (self.left == 0 && self.asked.is_none() && self.at.is_some())
    }
}

/// The bytes of an operation's segment.
fn pattern(operation: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|at| (operation.wrapping_mul(31) ^ at ^ (at >> 8).wrapping_mul(7)) as u8).collect()
}

fn encode(operation: u64, wish: ClientWish, bytes: u64) -> Vec<u8> {
    let mut message = operation.to_le_bytes().to_vec();
    message.push(wish as u8);
    message.extend_from_slice(&bytes.to_le_bytes());
    message
}

/// The operation that a message of a client belongs to.
pub fn operation_of(message: &[u8]) -> Option<u64> {
    (message.len() == 17).then(|| u64::from_le_bytes(message[..8].try_into().expect("eight bytes")))
}

impl KernelWorld {
    /// The program's kernel, if it is at a node.
    fn kernel(&mut self, program: usize) -> Option<(&mut Kernel<u32, OwnedMemory>, ProcessId)> {
        let process = self.programs[program].process?;
        let node = self.programs[program].at?;
        Some((&mut self.nodes[node].kernel, process))
    }

    /// The program's node has crashed.
    pub fn lose(&mut self, number: usize) {
        let program = &mut self.programs[number];
        let process = program.process.take();
        (program.asked, program.job, program.collecting) = (None, None, None);
        process.map(|process| self.by_process.remove(&process));
    }

    pub fn end_program(&mut self, number: usize) {
        let now = self.now;
        self.programs[number].ended = true;
        if let Some((kernel, process)) = self.kernel(number) {
            kernel.end(now, process);
        }
    }

    /// The program does its next step.
    pub fn act(&mut self, number: usize) -> Result<(), LedgerFinding> {
        if self.programs[number].ended {
            return Ok(());
        }
        let Some(node) = self.programs[number].at else {
            self.act_later(number, 5 * MILLISECOND);
            return Ok(());
        };
        if self.programs[number].process.is_none() {
            self.start(number, node);
        } else if self.programs[number].role == ProgramRole::Server {
            self.work(number)?;
        } else if self.programs[number].asked.is_none() && self.programs[number].left > 0 {
            self.ask(number)?;
        }
        match self.programs[number].at {
            Some(node) => self.drain(node),
            None => Ok(()),
        }
    }

    fn start(&mut self, number: usize, node: usize) {
        let role = self.programs[number].role;
        let Ok(process) = self.nodes[node].kernel.create() else {
            return self.act_later(number, 20 * MILLISECOND);
        };
        self.programs[number].process = Some(process);
        self.programs[number].home = node;
        self.by_process.insert(process, number);
        if role == ProgramRole::Server {
            let now = self.now;
            let kernel = &mut self.nodes[node].kernel;
            let _ = kernel.join_group(now, process, SERVERS, process);
        }
        self.act_later(number, 0);
    }

    /// A client begins its next operation.
    fn ask(&mut self, number: usize) -> Result<(), LedgerFinding> {
        self.late_replies(number)?;
        let servers: Vec<usize> = (0..self.programs.len())
            .filter(|&other| self.programs[other].role == ProgramRole::Server && self.programs[other].process.is_some())
            .collect();
        if servers.is_empty() {
            self.act_later(number, 20 * MILLISECOND);
            return Ok(());
        }
        self.programs[number].left -= 1;
        let grouped = self.random.percent(20);
        let once = self.random.percent(70);
        let server = servers[self.random.below(servers.len() as u64) as usize];
        let wish = if grouped { ClientWish::Count } else { ClientWish::ALL[self.random.below(5) as usize] };
        let bytes = 1 + self.random.below(self.profile.bulk_max);
        let operation = self.ledger.begin(self.now, OperationSemantics { once, grouped });
        let message = encode(operation, wish, bytes);
        let message =
            if once { OutgoingMessage::exactly_once(message) } else { OutgoingMessage::at_least_once(message) };
        let message = match wish {
            ClientWish::Read => message.with_segment(OwnedMemory::Readable(pattern(operation, bytes))),
            ClientWish::Write | ClientWish::Data => {
                message.with_segment(OwnedMemory::Writable(vec![0; bytes as usize]))
            }
            ClientWish::Count | ClientWish::Forward => message,
        };
        let process = self.programs[server].process.expect("it was filtered");
        let to: MessageDestination = if grouped { SERVERS.into() } else { process.into() };
        let replies = [WantedReplies::None, WantedReplies::One, WantedReplies::Many][self.random.below(3) as usize];
        let gathers = grouped && self.random.percent(40);
        self.tell(|| format!("client {number} begins {operation}: {wish:?} of {to:?}, once {once}, {bytes} bytes"));
        let asked =
            AskedOperation { operation, wish, to, servers: servers.clone(), many: replies == WantedReplies::Many };
        self.programs[number].asked = Some(asked);
        self.programs[number].collecting = None;
        let expected: Vec<ProcessId> = servers.iter().filter_map(|&server| self.programs[server].process).collect();
        let now = self.now;
        let Some((kernel, by)) = self.kernel(number) else { return Ok(()) };
        let sent = if gathers {
            let (until, deadline) = (GatherUntil::All, now + 2 * SECOND);
            kernel.gather(now, by, message, Gathering { group: SERVERS, expected: &expected, until, deadline })
        } else {
            kernel.send(now, by, to, message.with_replies(replies))
        };
        sent.map_err(|error| format!("client {number} cannot send: {error}"))?;
        if grouped && !gathers && replies == WantedReplies::None {
            self.finish(number, operation, false)?;
        }
        Ok(())
    }

    /// An operation of a client has ended.
    fn finish(&mut self, number: usize, operation: u64, replied: bool) -> Result<(), LedgerFinding> {
        self.tell(|| format!("client {number} ends {operation}, replied {replied}"));
        self.ledger.end(operation, replied)?;
        self.programs[number].asked = None;
        let pause = self.random.below(30 * MILLISECOND);
        self.act_later(number, pause);
        Ok(())
    }

    /// Further replies to a group message belong to the last one, and each member replies once.
    fn late_replies(&mut self, number: usize) -> Result<(), LedgerFinding> {
        while let Some(reply) = self.kernel(number).and_then(|(kernel, by)| kernel.get_reply(by)) {
            let collecting = self.programs[number].collecting.as_mut();
            let operation = operation_of(&reply.message);
            let Some((_, from)) = collecting.filter(|(wanted, _)| Some(*wanted) == operation) else {
                return Err(format!("client {number} got a reply to {operation:?}, which it has done with"));
            };
            if !from.insert(reply.from) {
                return Err(format!("client {number} got two replies of {}", reply.from));
            }
        }
        Ok(())
    }

    /// An operation of a program's kernel has ended.
    pub fn completed(&mut self, number: usize, completion: Completion<OwnedMemory>) -> Result<(), LedgerFinding> {
        if self.programs[number].role == ProgramRole::Server {
            return match completion {
                Completion::Received(delivery) => self.take(number, delivery),
                Completion::Moved { memory, outcome } => self.moved(number, memory.into_bytes(), outcome.is_ok()),
                other => Err(format!("server {number} was told {other:?}")),
            };
        }
        let Some(asked) = self.programs[number].asked.clone() else {
            return Err(format!("client {number} was told {completion:?}, but has nothing under way"));
        };
        match completion {
            Completion::Replied { from, message, segment } => self.replied(number, &asked, from, &message, segment),
            Completion::SendFailed { failure, .. } => {
                self.justified(number, &asked, failure)?;
                self.ledger.given_up += 1;
                self.finish(number, asked.operation, false)
            }
            Completion::Gathered(gathered) => self.gathered(number, &asked, &gathered),
            other => Err(format!("client {number} was told {other:?}")),
        }
    }

    fn replied(
        &mut self,
        number: usize,
        asked: &AskedOperation,
        from: ProcessId,
        message: &[u8],
        segment: Option<OwnedMemory>,
    ) -> Result<(), LedgerFinding> {
        let operation = asked.operation;
        if operation_of(message) != Some(operation) {
            return Err(format!("client {number} waits for the reply to {operation} and got that to {message:?}"));
        }
        let bytes = segment.map(OwnedMemory::into_bytes).unwrap_or_default();
        let right = match asked.wish {
            ClientWish::Write => bytes == pattern(operation, bytes.len() as u64),
            ClientWish::Data => {
                let written = bytes.len().min(100);
                bytes[..written] == pattern(operation, written as u64)
            }
            _ => true,
        };
        if !right {
            return Err(format!("the segment of {operation} is not what the server wrote"));
        }
        if asked.many && matches!(asked.to, MessageDestination::Group(_)) {
            self.programs[number].collecting = Some((operation, BTreeSet::from([from])));
        }
        self.finish(number, operation, true)
    }

    /// Whether it was right to end an exchange without a reply.
    fn justified(&mut self, number: usize, asked: &AskedOperation, failure: SendFailure) -> Result<(), LedgerFinding> {
        let operation = asked.operation;
        let target = match asked.to {
            MessageDestination::Process(process) => process,
            MessageDestination::Group(_) => ProcessId::from_bits(0).expect("no group"),
        };
        let lives = |process: ProcessId| self.by_process.contains_key(&process);
        match failure {
            SendFailure::NoSuchProcess if lives(target) && asked.wish != ClientWish::Forward => {
                Err(format!("client {number} was told that there is no such process as {target}, which lives"))
            }
            SendFailure::GaveUp if self.is_calm() && self.ledger.operation(operation).started > self.trouble => {
                let all = asked.servers.iter().all(|&server| self.programs[server].process.is_some());
                let reachable = match asked.to {
                    MessageDestination::Process(process) => lives(process) && all,
                    MessageDestination::Group(_) => all,
                };
                if reachable {
                    return Err(format!(
                        "client {number} gave {operation} up, though its server lives and is reachable"
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn gathered(&mut self, number: usize, asked: &AskedOperation, gathered: &Gathered) -> Result<(), LedgerFinding> {
        let mut seen = BTreeSet::new();
        for reply in &gathered.replies {
            if operation_of(&reply.message) != Some(asked.operation) || !seen.insert(reply.from) {
                return Err(format!("client {number} gathered a wrong or doubled reply of {}", reply.from));
            }
        }
        for member in gathered.silent.iter().chain(&gathered.running).chain(&gathered.dead) {
            if !seen.insert(*member) {
                return Err(format!("client {number} was told two things of {member}"));
            }
        }
        if let Some(dead) = gathered.dead.iter().find(|dead| self.by_process.contains_key(dead)) {
            return Err(format!("client {number} was told that {dead} is dead, which lives"));
        }
        if gathered.satisfied && gathered.replies.len() < asked.servers.len() {
            return Err(format!("client {number} was told that all have replied: {gathered:?}"));
        }
        self.finish(number, asked.operation, !gathered.replies.is_empty())
    }

    /// A server takes its next message, if it has nothing to do.
    fn next_job(&mut self, number: usize) -> Result<(), LedgerFinding> {
        let now = self.now;
        let Some((kernel, by)) = self.kernel(number) else { return Ok(()) };
        match kernel.receive(now, by) {
            Ok(Some(delivery)) => self.take(number, delivery),
            Ok(None) | Err(ProcessError::Busy) => Ok(()),
            Err(error) => Err(format!("server {number} cannot receive: {error}")),
        }
    }

    fn take(&mut self, number: usize, delivery: ReceivedMessage) -> Result<(), LedgerFinding> {
        let Some(operation) = operation_of(&delivery.message) else {
            return Err(format!("server {number} was given {:?}", delivery.message));
        };
        let process = self.programs[number].process.expect("it receives");
        self.tell(|| format!("server {number} takes {operation}"));
        // A message that found no buffer came later than it looks, as did one that came before its receiver.
        let ordered = self.profile.moves == 0 && self.profile.aliens_max >= 16;
        self.ledger.deliver(operation, number, process, ordered)?;
        let wish = ClientWish::ALL[usize::from(delivery.message[8]) % ClientWish::ALL.len()];
        let bytes = u64::from_le_bytes(delivery.message[9..].try_into().expect("eight bytes"));
        let forwarded = delivery.forwarder.is_some();
        if wish == ClientWish::Read && delivery.data[..] != pattern(operation, bytes)[..delivery.data.len()] {
            return Err(format!("what came with message {operation} is not the start of its segment"));
        }
        let exchange = delivery.exchange;
        self.programs[number].job = Some(ServerJob { operation, exchange, wish, bytes, forwarded, moving: false });
        if wish != ClientWish::Forward || forwarded || self.other_server(number).is_none() {
            self.ledger.execute(operation)?;
        }
        let slow = self.random.percent(self.profile.slow_percent);
        let work = if slow { self.random.below(12 * SECOND) } else { self.random.below(2 * MILLISECOND) };
        self.act_later(number, work);
        Ok(())
    }

    /// Another server, whatever else is under way.
    fn other_server(&self, number: usize) -> Option<ProcessId> {
        let others = self.programs.iter().enumerate().filter(|(other, _)| *other != number);
        others
            .filter(|(_, other)| other.role == ProgramRole::Server && other.process.is_some())
            .find_map(|(_, other)| other.process)
    }

    /// A server goes on with its work.
    fn work(&mut self, number: usize) -> Result<(), LedgerFinding> {
        let Some(job) = self.programs[number].job.clone() else { return self.next_job(number) };
        if job.moving {
            return Ok(());
        }
        let now = self.now;
        let other = self.other_server(number);
        let executed = self.ledger.operation(job.operation).executed > 0;
        let Some((kernel, by)) = self.kernel(number) else { return Ok(()) };
        let begun = match (job.wish, other) {
            (ClientWish::Forward, Some(to)) if !job.forwarded && !executed => {
                let _ = kernel.forward(now, by, &job.exchange, to);
                self.programs[number].job = None;
                return self.next_job(number);
            }
            (ClientWish::Read, _) => {
                let beyond =
                    kernel.move_from(now, by, &job.exchange, 1, OwnedMemory::Writable(vec![0; job.bytes as usize]));
                unbounded(number, beyond)?;
                kernel.move_from(now, by, &job.exchange, 0, OwnedMemory::Writable(vec![0; job.bytes as usize]))
            }
            (ClientWish::Write, _) => {
                let wrong = kernel.move_from(now, by, &job.exchange, 0, OwnedMemory::Writable(vec![0; 1]));
                if wrong.is_ok() {
                    return Err(format!("server {number} may read a segment that is only writable"));
                }
                kernel.move_to(now, by, &job.exchange, 0, OwnedMemory::Readable(pattern(job.operation, job.bytes)))
            }
            _ => return self.answer_job(number, &job),
        };
        match begun {
            Ok(()) => self.programs[number].job = Some(ServerJob { moving: true, ..job }),
            Err(ProcessError::NotAwaitingReply) => {
                self.programs[number].job = None;
                return self.next_job(number);
            }
            Err(error) => return Err(format!("server {number} cannot move: {error}")),
        }
        Ok(())
    }

    /// A transfer of a server has ended.
    fn moved(&mut self, number: usize, bytes: Vec<u8>, whole: bool) -> Result<(), LedgerFinding> {
        let Some(job) = self.programs[number].job.clone() else {
            return Err(format!("server {number} moved without being asked to"));
        };
        if whole && job.wish == ClientWish::Read && bytes != pattern(job.operation, job.bytes) {
            return Err(format!("server {number} read something else than the segment of {}", job.operation));
        }
        if whole {
            self.answer_job(number, &job)
        } else {
            self.programs[number].job = None;
            self.next_job(number)
        }
    }

    fn answer_job(&mut self, number: usize, job: &ServerJob) -> Result<(), LedgerFinding> {
        let now = self.now;
        let data = match job.wish {
            ClientWish::Data => pattern(job.operation, job.bytes.min(100)),
            _ => Vec::new(),
        };
        if self.ledger.operation(job.operation).executed == 0 {
            // There was a server to forward it to, which has crashed since.
            self.ledger.execute(job.operation)?;
        }
        self.programs[number].job = None;
        let Some((kernel, by)) = self.kernel(number) else { return Ok(()) };
        let message = encode(job.operation, job.wish, job.bytes);
        let replied = kernel.reply(now, by, &job.exchange, &message, 0, &data);
        // Whether the sender still waits, it lends its memory no more.
        let after = kernel.move_to(now, by, &job.exchange, 0, OwnedMemory::Readable(vec![9; 1]));
        self.tell(|| format!("server {number} replies to {}: {replied:?}", job.operation));
        match after {
            Err(ProcessError::NotAwaitingReply | ProcessError::NoAccess) => self.next_job(number),
            other => Err(format!("server {number} moves after its reply: {other:?}")),
        }
    }
}

fn unbounded(number: usize, beyond: Result<(), ProcessError>) -> Result<(), LedgerFinding> {
    match beyond {
        Ok(()) => Err(format!("server {number} may read beyond the end of a segment")),
        Err(_) => Ok(()),
    }
}
