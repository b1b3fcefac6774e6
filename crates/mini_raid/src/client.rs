//! A simulated client: one session after another at one site or another, one transaction after another.
//!
//! Invariants: it has one request under way at most; it calls a transaction committed only when it was told so, aborted only when it
//! was told what rule 14 lets a server say only of what can no longer commit, and unknown otherwise.

mod batches;
mod levels;
mod schema;

use crate::checkers::notifications::is_notified;
use crate::families::{FamilyStep, FamilyView};
use crate::history::{
    HistoryWrite, Observation, ObservedTransaction, TakenList, TransactionFate, WriteToken, companion,
};
use crate::programs::{self, Programs, counted, entries_of, token_of};
use crate::random::SeededRandom;
use crate::tables::TableStep;
use crate::workload::{Workload, WorkloadStep};
use messages::program::Program;
use messages::schema::Catalog;
use messages::session::{AccessMode, Failure, Isolation, SessionReply, SessionRequest};
use messages::{Key, KeyRange, Row, SessionId};
pub use schema::{Changed, plan as plan_tables, plan_families};
use std::collections::VecDeque;
use std::sync::Arc;
use values::{Value, Zone};

/// What a client does next.
#[derive(Debug)]
pub enum ClientAction {
    /// Sends this.
    Send(SessionRequest),
    /// Thinks for so long.
    Think(u64),
    /// The transaction is over.
    Over(ObservedTransaction),
    /// An answer is impossible, whatever happened.
    Wrong(String),
}

/// What the client waits for.
#[derive(Clone, Debug)]
enum ClientWaiting {
    /// Nothing.
    No,
    /// The answer to a step.
    Step(WorkloadStep),
    /// The answer to the rollback after a failure.
    Rollback,
}

/// One client.
#[derive(Debug)]
pub struct SimulatedClient {
    /// Its number.
    pub number: usize,
    /// The site it talks to.
    pub site: usize,
    /// Its session there, when it has one.
    pub session: Option<SessionId>,
    /// Since when it waits for an answer (true time).
    pub waiting_since: Option<u64>,
    /// Counted up with every request: an old time-out means nothing.
    pub request: u64,
    plan: VecDeque<WorkloadStep>,
    waiting: ClientWaiting,
    transaction: Option<ObservedTransaction>,
    explicit: bool,
    levels: levels::SnapshotReads,
    batches: batches::Batches,
    tables: schema::KnownTables,
}

impl SimulatedClient {
    /// A client that has done nothing.
    pub fn new(number: usize, site: usize) -> SimulatedClient {
        SimulatedClient {
            number,
            site,
            session: None,
            waiting_since: None,
            request: 0,
            plan: VecDeque::new(),
            waiting: ClientWaiting::No,
            transaction: None,
            explicit: false,
            levels: levels::SnapshotReads::default(),
            batches: batches::Batches::default(),
            tables: schema::KnownTables::default(),
        }
    }

    /// Whether a transaction is under way.
    pub fn is_busy(&self) -> bool {
        self.transaction.is_some()
    }

    /// Begins a transaction with this plan.
    pub fn begin(&mut self, now: u64, plan: Vec<WorkloadStep>) {
        assert!(self.transaction.is_none(), "a client has one transaction at a time");
        self.explicit = matches!(plan.first(), Some(WorkloadStep::Begin(_) | WorkloadStep::BeginAt(_)));
        self.levels = levels::SnapshotReads::at(match plan.first() {
            Some(WorkloadStep::BeginAt(isolation)) => *isolation,
            _ => Isolation::Serializable,
        });
        let read_only = match plan.as_slice() {
            [WorkloadStep::Begin(_), WorkloadStep::Table(TableStep::Confirm { .. }), ..] => true,
            [WorkloadStep::Begin(mode), ..] => *mode == AccessMode::ReadOnly,
            [step, ..] => step.is_read(),
            [] => true,
        };
        self.plan = plan.into();
        self.forget_tables();
        self.transaction = Some(ObservedTransaction {
            client: self.number,
            site: self.site,
            begun: now,
            ended: now,
            fate: TransactionFate::Open,
            read_only,
            observations: Vec::new(),
            changes: Vec::new(),
            family: FamilyView::default(),
            taken: Vec::new(),
            committing: None,
            snapshots: Vec::new(),
        });
    }

    /// Goes on with the plan.
    pub fn go_on(
        &mut self,
        now: u64,
        programs: &Programs,
        told: &Catalog,
        workload: &mut Workload,
        random: &mut SeededRandom,
    ) -> ClientAction {
        let Some(step) = self.plan.pop_front() else {
            return self.over(now, TransactionFate::Committed);
        };
        if let WorkloadStep::Think(time) = step {
            return ClientAction::Think(time);
        }
        let request = match step {
            WorkloadStep::Table(step) => self.table_request(step, told, workload, (now / 1_000) as i64),
            WorkloadStep::Family(step) => self.family_request(step, programs, (now / 1_000) as i64),
            _ => self.request_of(&step, now, programs, workload, random),
        };
        if let (WorkloadStep::Commit, Some(transaction)) = (&step, &mut self.transaction) {
            transaction.committing = Some(now);
        }
        self.waiting = ClientWaiting::Step(step);
        self.send(now, request)
    }

    fn send(&mut self, now: u64, request: SessionRequest) -> ClientAction {
        self.request += 1;
        self.waiting_since = Some(now);
        ClientAction::Send(request)
    }

    fn changes(&mut self) -> &mut Vec<HistoryWrite> {
        &mut self.transaction.as_mut().expect("a step belongs to a transaction").changes
    }

    fn family(&mut self) -> &mut FamilyView {
        &mut self.transaction.as_mut().expect("a step belongs to a transaction").family
    }

    fn family_request(&mut self, step: FamilyStep, programs: &Programs, time_micros: i64) -> SessionRequest {
        self.family().asks(step);
        let (program, [key, other]) = programs.families.of(step);
        let values = [key, other].map(|key| [Value::BigInt(key.into()), Value::text(format!("{key},"))]);
        let (program, parameters, rows) = (program.clone(), values.concat(), Vec::new());
        SessionRequest::Execute { program, parameters, rows, time_micros, zone: Zone::UTC }
    }

    fn request_of(
        &mut self,
        step: &WorkloadStep,
        now: u64,
        programs: &Programs,
        workload: &mut Workload,
        random: &mut SeededRandom,
    ) -> SessionRequest {
        let time_micros = (now / 1_000) as i64;
        let execute = |program: &Arc<Program>, keys: [u64; 2], tokens: [WriteToken; 2]| SessionRequest::Execute {
            program: program.clone(),
            parameters: [0, 1]
                .map(|at| [Value::BigInt(keys[at] as i64), Value::text(format!("{},", tokens[at]))])
                .concat(),
            rows: Vec::new(),
            time_micros,
            zone: Zone::UTC,
        };
        match *step {
            WorkloadStep::Begin(mode) => begin(mode, Isolation::Serializable, time_micros),
            WorkloadStep::BeginAt(isolation) => begin(AccessMode::ReadWrite, isolation, time_micros),
            WorkloadStep::ReadList(key) => execute(&programs.read_list, [key, 0], [0, 0]),
            WorkloadStep::ReadListForUpdate(key) => execute(&programs.read_list_for_update, [key, 0], [0, 0]),
            WorkloadStep::TakeList { low, high } => execute(&programs.take_list, [low, high], [0, 0]),
            WorkloadStep::ReadTwoLists(first, second) => execute(&programs.read_two_lists, [first, second], [0, 0]),
            WorkloadStep::Append(key, token) => {
                self.changes().push(HistoryWrite::Append { key, token });
                let update = random.one_in(3) && workload.exists(key);
                execute(append_of(programs, update, token), [key, 0], [token, 0])
            }
            WorkloadStep::AppendTwo([first, second]) => {
                self.changes().push(HistoryWrite::Append { key: first.0, token: first.1 });
                self.changes().push(HistoryWrite::Append { key: second.0, token: second.1 });
                execute(&programs.append_two, [first.0, second.0], [first.1, second.1])
            }
            WorkloadStep::ReadRegister(key) => execute(&programs.read_register, [key, 0], [0, 0]),
            WorkloadStep::WriteRegister(key, token) => {
                let before = self.register_seen(key);
                self.changes().push(HistoryWrite::Register { key, before, token });
                execute(&programs.write_register, [key, 0], [token, 0])
            }
            WorkloadStep::Scan { low, high, reverse } => {
                let program = if reverse { &programs.scan_members_back } else { &programs.scan_members };
                execute(program, [low, high], [0, 0])
            }
            WorkloadStep::Batches { low, high, reverse } => self.batches.begin(low, high, reverse),
            WorkloadStep::NextBatch => self.batches.next(),
            WorkloadStep::Toggle(member, token) => {
                let program = match self.member_seen(member) {
                    true => &programs.delete_member,
                    false => &programs.insert_member,
                };
                execute(program, [member, 0], [token, 0])
            }
            WorkloadStep::Companion(member, token) => execute(&programs.append, [companion(member), 0], [token, 0]),
            WorkloadStep::Increment(key, token) => {
                self.changes().push(HistoryWrite::Increment { key, token });
                let program = if random.one_in(workload.mix.making) { &programs.make_counter } else { &programs.add };
                execute(program, [key, workload.addend(key, token) as u64], [0, 0])
            }
            WorkloadStep::ReadCounter(key) => execute(&programs.read_counter, [key, 0], [0, 0]),
            WorkloadStep::ScanCounters { low, high } => execute(&programs.scan_counters, [low, high], [0, 0]),
            WorkloadStep::MakeSequence => execute(&programs.make_sequence, [0, 0], [0, 0]),
            WorkloadStep::Draw => execute(&programs.draw, [0, 0], [0, 0]),
            WorkloadStep::Set(of, site, value) => executed(programs::setting(of, site, value), time_micros),
            WorkloadStep::Commit => SessionRequest::Commit,
            WorkloadStep::Rollback => SessionRequest::Rollback,
            WorkloadStep::Think(_) | WorkloadStep::Table(_) | WorkloadStep::Family(_) => unreachable!("not here"),
        }
    }

    /// A batch of a query came: the next one is asked for after a while, or all rows are there.
    fn batch(&mut self, rows: Vec<(Key, Row)>, left: Vec<KeyRange>, asked: u64, now: u64) -> Option<ClientAction> {
        match self.batches.take(rows, left, asked) {
            Err(wrong) => return Some(ClientAction::Wrong(wrong)),
            Ok(None) => {
                self.plan.push_front(WorkloadStep::NextBatch);
                self.plan.push_front(WorkloadStep::Think(batches::BETWEEN_BATCHES));
            }
            Ok(Some((observation, asked))) => {
                self.levels.answered(true, asked, now);
                self.observe(observation);
            }
        }
        None
    }

    fn register_seen(&self, wanted: u64) -> WriteToken {
        let observations = self.transaction.iter().flat_map(|transaction| &transaction.observations);
        let mut seen = self.levels.observations().chain(observations).filter_map(|observation| match observation {
            Observation::Register { key, value } if *key == wanted => Some(*value),
            _ => None,
        });
        seen.next_back().expect("a register is read before it is written")
    }

    fn member_seen(&self, member: u64) -> bool {
        let observations = self.transaction.iter().flat_map(|transaction| &transaction.observations);
        observations.into_iter().any(|observation| match observation {
            Observation::Members { present, .. } => present.iter().any(|(key, _)| *key == member),
            _ => false,
        })
    }

    /// An answer came.
    pub fn answered(&mut self, now: u64, reply: SessionReply, workload: &mut Workload) -> Option<ClientAction> {
        let asked = self.waiting_since.take().unwrap_or(now);
        match std::mem::replace(&mut self.waiting, ClientWaiting::No) {
            ClientWaiting::No => Some(ClientAction::Wrong(format!("an answer that nobody asked for: {reply:?}"))),
            ClientWaiting::Rollback => match reply {
                SessionReply::RolledBack => {
                    let fate =
                        self.transaction.as_ref().map_or(TransactionFate::Aborted, |transaction| transaction.fate);
                    Some(self.over(now, fate))
                }
                other => Some(ClientAction::Wrong(format!("a rollback was answered {other:?}"))),
            },
            ClientWaiting::Step(step) => {
                if let SessionReply::Scanned { rows, left } = reply {
                    return self.batch(rows, left, asked, now);
                }
                if !matches!(step, WorkloadStep::BeginAt(_)) {
                    self.levels.answered(step.is_read(), asked, now);
                }
                self.take_reply(step, reply, asked, now, workload)
            }
        }
    }

    fn take_reply(
        &mut self,
        step: WorkloadStep,
        reply: SessionReply,
        asked: u64,
        now: u64,
        workload: &mut Workload,
    ) -> Option<ClientAction> {
        match reply {
            SessionReply::Failed(failure) => Some(self.failed(now, &step, &failure)),
            SessionReply::Executed { rows, .. } if matches!(step, WorkloadStep::TakeList { .. }) => {
                self.took(&rows, asked, now, workload).err().map(ClientAction::Wrong)
            }
            reply => match self.take(now, &step, reply, workload) {
                Ok(()) if matches!(step, WorkloadStep::Rollback) => Some(self.rolled_back(now)),
                Ok(()) => None,
                Err(wrong) => Some(ClientAction::Wrong(wrong)),
            },
        }
    }

    /// At most one list that nobody else had. Errors: it cannot be.
    fn took(&mut self, rows: &[Vec<Value>], asked: u64, told: u64, workload: &mut Workload) -> Result<(), String> {
        let Some(row) = rows.first() else { return Ok(()) };
        let key = row[0].as_integer().ok_or("a key that is no number")? as u64;
        self.observe_list(key, entries_of(&row[1])?, workload)?;
        let transaction = self.transaction.as_mut().expect("a step belongs to a transaction");
        transaction.taken.push(TakenList { key, asked, told });
        Ok(())
    }

    fn rolled_back(&mut self, now: u64) -> ClientAction {
        let transaction = self.transaction.as_ref().expect("a step belongs to a transaction");
        let fate = if transaction.has_told() { TransactionFate::Committed } else { TransactionFate::Aborted };
        self.over(now, fate)
    }

    fn failed(&mut self, now: u64, step: &WorkloadStep, failure: &Failure) -> ClientAction {
        if let WorkloadStep::Table(step) = step
            && let Some(next) = self.table_failed(*step, failure)
        {
            return next;
        }
        let fate = match failure {
            Failure::Unknown { .. } => TransactionFate::Unknown,
            Failure::Conflict { .. }
            | Failure::Statement(_)
            | Failure::SchemaChanged { .. }
            | Failure::Cancelled
            | Failure::Unavailable { .. } => TransactionFate::Aborted,
        };
        let transaction = self.transaction.as_mut().expect("a step belongs to a transaction");
        transaction.fate = if transaction.has_told() { TransactionFate::Committed } else { fate };
        self.plan.clear();
        if self.explicit && !matches!(step, WorkloadStep::Commit) {
            self.waiting = ClientWaiting::Rollback;
            return self.send(now, SessionRequest::Rollback);
        }
        let fate = transaction.fate;
        self.over(now, fate)
    }

    /// Notes what an answer says. Errors: it cannot be.
    fn take(
        &mut self,
        now: u64,
        step: &WorkloadStep,
        reply: SessionReply,
        workload: &mut Workload,
    ) -> Result<(), String> {
        let (rows, affected) = match (step, reply) {
            (WorkloadStep::Begin(_) | WorkloadStep::BeginAt(_), SessionReply::Begun)
            | (WorkloadStep::Commit, SessionReply::Committed { .. })
            | (WorkloadStep::Rollback, SessionReply::RolledBack) => return Ok(()),
            (_, SessionReply::Executed { rows, affected }) => (rows, affected),
            (step, other) => return Err(format!("{step:?} was answered {other:?}")),
        };
        match *step {
            WorkloadStep::ReadList(key) | WorkloadStep::ReadListForUpdate(key) => {
                let entries = rows.first().map(|row| entries_of(&row[0])).transpose()?.unwrap_or_default();
                self.observe_list(key, entries, workload)?;
            }
            WorkloadStep::ReadTwoLists(first, second) => {
                for key in [first, second] {
                    let row = rows.iter().find(|row| row[0].as_integer() == Some(key as i64));
                    let entries = row.map(|row| entries_of(&row[1])).transpose()?.unwrap_or_default();
                    self.observe_list(key, entries, workload)?;
                }
            }
            WorkloadStep::Append(key, token) => self.appended(key, token, &rows, workload)?,
            WorkloadStep::AppendTwo([_, (key, token)]) => self.appended(key, token, &rows, workload)?,
            WorkloadStep::Companion(member, token) => self.appended(companion(member), token, &rows, workload)?,
            WorkloadStep::ReadRegister(key) => {
                let value = rows.first().map(|row| token_of(&row[0])).transpose()?.unwrap_or(0);
                self.observe(Observation::Register { key, value });
            }
            WorkloadStep::Scan { low, high, reverse } => {
                let mut present = Vec::new();
                for row in &rows {
                    let key = row[0].as_integer().ok_or("a key that is no number")? as u64;
                    present.push((key, token_of(&row[1])?));
                }
                if reverse {
                    present.reverse();
                }
                if !present.is_sorted_by(|left, right| left.0 < right.0) {
                    return Err(format!("a scan came out of order: {present:?}"));
                }
                self.observe(Observation::Members { low, high, present });
            }
            WorkloadStep::Toggle(member, token) => self.toggled(member, token, &rows)?,
            WorkloadStep::Increment(key, token) if affected == 0 => {
                // The counter is not there: nothing was added.
                self.changes().retain(|change| change.token() != token);
                self.observe_counter(key, 0, workload)?;
            }
            WorkloadStep::Family(step) => self.family().answered(step, &rows, affected)?,
            WorkloadStep::Table(step) => self.table_taken(step, &rows, workload)?,
            WorkloadStep::ReadCounter(key) => {
                let number = rows.first().map_or(Ok(0), |row| counted(row))?;
                self.observe_counter(key, number, workload)?;
            }
            WorkloadStep::MakeSequence => workload.has_sequence = true,
            WorkloadStep::Draw => {
                let value = rows.first().and_then(|row| row[0].as_integer());
                workload.drawn.note(value.ok_or("a sequence gave out nothing")?, now);
            }
            WorkloadStep::ScanCounters { low, high } => {
                let counters: Vec<u64> = workload.counters().filter(|key| (low..high).contains(key)).collect();
                for key in counters {
                    let row = rows.iter().find(|row| row[0].as_integer() == Some(key as i64));
                    let number = row.map_or(Ok(0), |row| counted(&row[1..]))?;
                    self.observe_counter(key, number, workload)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn toggled(&mut self, member: u64, token: WriteToken, rows: &[Vec<Value>]) -> Result<(), String> {
        if !self.member_seen(member) {
            self.changes().push(HistoryWrite::Insert { member, token });
            return Ok(());
        }
        match rows.first() {
            Some(row) => {
                let present = vec![(member, token_of(&row[0])?)];
                self.observe(Observation::Members { low: member, high: member + 1, present });
                self.changes().push(HistoryWrite::Delete { member, token });
            }
            // It went between the scan and the deletion: the commit would find out.
            None => {
                self.plan.clear();
                self.plan.push_back(WorkloadStep::Rollback);
            }
        }
        Ok(())
    }

    /// The answer to an append: the whole list, with the new entry at its end.
    fn appended(
        &mut self,
        key: u64,
        token: WriteToken,
        rows: &[Vec<Value>],
        workload: &mut Workload,
    ) -> Result<(), String> {
        let Some(row) = rows.first() else {
            // An update of a list that is not there: nothing was written.
            self.changes().retain(|change| change.token() != token);
            return self.observe_list(key, Vec::new(), workload);
        };
        let entries = entries_of(&row[0])?;
        if entries.last() != Some(&token) {
            return Err(format!("an append of {token} to list {key} returned {entries:?}"));
        }
        self.observe_list(key, entries, workload)
    }

    /// Takes the transaction's own entries off the end.
    fn observe_list(&mut self, key: u64, mut entries: Vec<WriteToken>, workload: &mut Workload) -> Result<(), String> {
        workload.saw(key, entries.len());
        let own: Vec<WriteToken> = self
            .changes()
            .iter()
            .filter(|change| match change {
                HistoryWrite::Append { key: own, .. } => *own == key,
                HistoryWrite::Insert { member, .. } | HistoryWrite::Delete { member, .. } => companion(*member) == key,
                HistoryWrite::Register { .. } | HistoryWrite::Increment { .. } => false,
            })
            .map(HistoryWrite::token)
            .collect();
        if !entries.ends_with(&own) {
            return Err(format!("a transaction does not see its own entries {own:?} of list {key} in {entries:?}"));
        }
        entries.truncate(entries.len() - own.len());
        self.observe(Observation::List { key, entries });
        Ok(())
    }

    /// Leaves the transaction's own increments out.
    fn observe_counter(&mut self, key: u64, number: i64, workload: &Workload) -> Result<(), String> {
        let mut increments = workload.increments(key, number)?;
        for change in self.changes().iter() {
            let HistoryWrite::Increment { key: own, token } = change else { continue };
            if *own == key {
                let Some(place) = increments.iter().position(|other| other == token) else {
                    return Err(format!(
                        "a transaction does not see its own addition {token} in counter {key}: {number}"
                    ));
                };
                increments.remove(place);
            }
        }
        self.observe(Observation::Counter { key, increments });
        Ok(())
    }

    fn observe(&mut self, observation: Observation) {
        let transaction = self.transaction.as_mut().expect("an answer belongs to a transaction");
        self.levels.observe(transaction, observation);
    }

    fn over(&mut self, now: u64, fate: TransactionFate) -> ClientAction {
        if let (TransactionFate::Committed, Some(wrong)) = (fate, self.tables.suspicion.take()) {
            return ClientAction::Wrong(wrong);
        }
        self.plan.clear();
        self.waiting = ClientWaiting::No;
        self.waiting_since = None;
        let mut transaction = self.transaction.take().expect("what is over was under way");
        transaction.ended = now;
        transaction.fate = fate;
        self.levels.end(&mut transaction);
        ClientAction::Over(transaction)
    }

    /// What the programs of its transaction have done to storages, less what has been taken out.
    pub fn changed(&mut self) -> &mut Changed {
        &mut self.tables.changed
    }

    /// The session is gone: with its site, or because the client has gone.
    pub fn lost(&mut self, now: u64) -> Option<ObservedTransaction> {
        self.session = None;
        self.request += 1;
        let transaction = self.transaction.as_ref()?;
        let fate = if transaction.read_only {
            match transaction.observations.is_empty() {
                true => TransactionFate::Aborted,
                false => TransactionFate::Committed,
            }
        } else if transaction.fate != TransactionFate::Open {
            transaction.fate
        } else {
            // Only a commit, or a statement that commits by itself, may have had an effect.
            match &self.waiting {
                ClientWaiting::Step(WorkloadStep::Commit) => TransactionFate::Unknown,
                ClientWaiting::Step(_) if !self.explicit => TransactionFate::Unknown,
                _ => TransactionFate::Aborted,
            }
        };
        match self.over(now, fate) {
            ClientAction::Over(transaction) => Some(transaction),
            _ => None,
        }
    }
}

fn begin(mode: AccessMode, isolation: Isolation, time_micros: i64) -> SessionRequest {
    SessionRequest::Begin { mode, isolation, time_micros }
}

/// The program that appends an entry: to a list that is there, or not.
fn append_of(programs: &Programs, update: bool, token: WriteToken) -> &Arc<Program> {
    match update {
        _ if is_notified(token) => &programs.append_and_notify,
        true => &programs.append_update,
        false => &programs.append,
    }
}

/// A program without parameters, as a request.
fn executed(program: Arc<Program>, time_micros: i64) -> SessionRequest {
    SessionRequest::Execute { program, parameters: Vec::new(), rows: Vec::new(), time_micros, zone: Zone::UTC }
}
