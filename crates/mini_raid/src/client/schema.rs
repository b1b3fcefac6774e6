//! What a client does with tables whose schema changes: compiles its steps with what its site has told it, as a user interface does, and compiles
//! again when the schema has changed.
//!
//! Invariant: what a transaction that may still abort has read is held against it only once it has committed.

use super::{ClientAction, ClientWaiting, SimulatedClient};
use crate::families::FamilyPart;
use crate::history::{HistoryWrite, Observation, WriteToken};
use crate::tables::{self, CompiledStep, Knowledge, SimulatedSchemaChange, TABLES, TableStep};
use crate::workload::{Workload, WorkloadStep};
use messages::limits::MILLISECOND;
use messages::schema::Catalog;
use messages::session::{AccessMode, Failure, SessionRequest};
use values::Value;

/// How often a statement is compiled again.
const RECOMPILATIONS_MAX: u32 = 4;
/// What a site has learnt of a schema that has changed it knows soon.
const COMPILED_AGAIN_AFTER: u64 = 2 * MILLISECOND;

/// What a client knows of tables.
#[derive(Debug, Default)]
pub struct KnownTables {
    knowledge: Knowledge,
    /// The program under way.
    compiled: Option<CompiledStep>,
    /// How often the step was compiled again.
    again: u32,
    /// What is wrong, should the transaction commit.
    pub(super) suspicion: Option<String>,
    /// What the programs of the transaction have made and dropped.
    pub changed: Changed,
}

/// Storages that a transaction changes.
#[derive(Debug, Default)]
pub struct Changed {
    /// Whether a program of the transaction was to make any.
    pub has_made: bool,
    /// Made by a program that was sent, whatever became of it.
    pub makes: Vec<messages::TableId>,
    /// Dropped by programs that have run.
    pub drops: Vec<messages::TableId>,
    /// Programs that were compiled again.
    pub again: u64,
}

impl SimulatedClient {
    /// A transaction begins.
    pub(super) fn forget_tables(&mut self) {
        self.tables = KnownTables::default();
    }

    /// The request for a step.
    pub(super) fn table_request(
        &mut self,
        step: TableStep,
        told: &Catalog,
        workload: &Workload,
        time_micros: i64,
    ) -> SessionRequest {
        let catalog = self.tables.knowledge.catalog(told);
        let compiled = self.tables.knowledge.compile(step, &catalog, workload.mix.rows_each);
        let key = TABLES + step.table();
        match step {
            TableStep::Change { token, .. } => self.changes().push(HistoryWrite::Append { key, token }),
            TableStep::AddRow { token, .. } if compiled.before.is_some() => {
                self.changes().push(HistoryWrite::Increment { key, token });
            }
            TableStep::AddRow { .. } | TableStep::Read { .. } | TableStep::Confirm { .. } => {}
        }
        let program = compiled.program.clone();
        self.tables.changed.has_made |= !compiled.makes.is_empty();
        self.tables.changed.makes.extend(&compiled.makes);
        let reads_snapshot = self.transaction.as_ref().is_some_and(|transaction| transaction.read_only);
        if self.explicit && reads_snapshot {
            // A snapshot stays what it is: so does what it says of schemas.
            self.tables.knowledge.pinned.get_or_insert(catalog);
        }
        self.tables.compiled = Some(compiled);
        SessionRequest::Execute {
            program,
            parameters: Vec::new(),
            rows: Vec::new(),
            time_micros,
            zone: values::Zone::UTC,
        }
    }

    /// The program of a step has run. Errors: its answer cannot be.
    pub(super) fn table_taken(
        &mut self,
        step: TableStep,
        rows: &[Vec<Value>],
        workload: &mut Workload,
    ) -> Result<(), String> {
        let compiled = self.tables.compiled.take().expect("it was compiled before it was sent");
        self.tables.again = 0;
        let before = compiled.before.as_deref();
        let changes = tables::changes_of(before);
        workload.saw_table(step.table(), changes.len());
        let key = TABLES + step.table();
        let step_token = match step {
            TableStep::Change { token, .. } => Some(token),
            TableStep::AddRow { .. } | TableStep::Read { .. } | TableStep::Confirm { .. } => None,
        };
        self.observe_changes(key, changes, step_token);
        if let TableStep::Read { .. } = step {
            let added = match tables::rows_added(before, rows, workload.mix.rows_each) {
                Ok(added) => added,
                Err(wrong) => return self.suspect(wrong),
            };
            self.observe_added(key, added)?;
        }
        self.tables.knowledge.ran(&compiled);
        self.tables.changed.drops.extend(&compiled.drops);
        Ok(())
    }

    /// What an answer shows is wrong if its transaction commits; if nothing can abort it any more, it is wrong now.
    fn suspect(&mut self, wrong: String) -> Result<(), String> {
        let reads_snapshot = self.transaction.as_ref().is_some_and(|transaction| transaction.read_only);
        if reads_snapshot || !self.explicit {
            return Err(wrong);
        }
        self.tables.suspicion.get_or_insert(wrong);
        Ok(())
    }

    /// Takes the transaction's own changes off the end, but for the one that a program is about to make.
    fn observe_changes(&mut self, key: u64, mut entries: Vec<WriteToken>, making: Option<WriteToken>) {
        let own = self.own_tokens(|change| match change {
            HistoryWrite::Append { key: own, token } if *own == key && Some(*token) != making => Some(*token),
            _ => None,
        });
        assert!(entries.ends_with(&own), "a catalog row is made from what the transaction has written");
        entries.truncate(entries.len() - own.len());
        self.observe(Observation::List { key, entries });
    }

    /// Leaves the rows out that the transaction has added itself.
    fn observe_added(&mut self, key: u64, mut increments: Vec<WriteToken>) -> Result<(), String> {
        let own = self.own_tokens(|change| match change {
            HistoryWrite::Increment { key: own, token } if *own == key => Some(*token),
            _ => None,
        });
        for token in own {
            let Some(place) = increments.iter().position(|other| *other == token) else {
                return self
                    .suspect(format!("a transaction does not see the row {token} that it has added: {increments:?}"));
            };
            increments.remove(place);
        }
        self.observe(Observation::Counter { key, increments });
        Ok(())
    }

    fn own_tokens(&mut self, wanted: impl Fn(&HistoryWrite) -> Option<WriteToken>) -> Vec<WriteToken> {
        self.changes().iter().filter_map(wanted).collect()
    }

    /// A step has failed. `Some`: it is compiled again, or should not have failed so.
    pub(super) fn table_failed(&mut self, step: TableStep, failure: &Failure) -> Option<ClientAction> {
        match failure {
            Failure::SchemaChanged { .. } if self.tables.again < RECOMPILATIONS_MAX => {
                self.tables.again += 1;
                self.tables.changed.again += 1;
                self.tables.compiled = None;
                if self.transaction.as_ref().is_some_and(|transaction| transaction.observations.is_empty()) {
                    self.tables.knowledge.pinned = None;
                }
                if let TableStep::Change { token, .. } | TableStep::AddRow { token, .. } = step {
                    self.changes().retain(|change| change.token() != token);
                }
                self.plan.push_front(WorkloadStep::Table(step));
                self.waiting = ClientWaiting::No;
                Some(ClientAction::Think(COMPILED_AGAIN_AFTER))
            }
            // What a transaction may say that is over already.
            Failure::Statement(wrong) if wrong.sqlstate == sqlstate::IN_FAILED_SQL_TRANSACTION => None,
            Failure::Statement(_) => {
                let transaction = &self.transaction;
                Some(ClientAction::Wrong(format!("{step:?} failed: {failure:?}, in {transaction:?}")))
            }
            _ => None,
        }
    }
}

/// Transactions about tables.
pub fn plan(workload: &mut Workload, random: &mut crate::random::SeededRandom) -> Vec<WorkloadStep> {
    let change = |workload: &mut Workload, random: &mut crate::random::SeededRandom| {
        let change = if random.one_in(4) { SimulatedSchemaChange::Index } else { SimulatedSchemaChange::Rebuild };
        WorkloadStep::Table(TableStep::Change { table: workload.table(random), token: workload.quiet_token(), change })
    };
    let think = |workload: &Workload, plan: &mut Vec<WorkloadStep>, random: &mut crate::random::SeededRandom| {
        if workload.mix.think > 0 && random.one_in(2) {
            plan.push(WorkloadStep::Think(random.around(workload.mix.think)));
        }
    };
    match random.below(10) {
        0 => vec![workload.table_read(random)],
        1 => vec![workload.row(random)],
        2 | 3 => vec![change(workload, random)],
        // What it is told stands, though its transaction is one that writes and does not commit.
        4 | 5 => {
            vec![WorkloadStep::Begin(AccessMode::ReadWrite), workload.confirmation(random), WorkloadStep::Rollback]
        }
        6 => {
            let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadOnly), workload.table_read(random)];
            let long = if random.one_in(3) { 300 * MILLISECOND } else { workload.mix.think.max(MILLISECOND) };
            for _ in 0..random.between(1, 4) {
                plan.push(WorkloadStep::Think(random.around(long)));
                plan.push(workload.table_read(random));
            }
            plan.push(WorkloadStep::Commit);
            plan
        }
        _ => {
            let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadWrite)];
            for _ in 0..random.between(1, 4) {
                let step = match random.below(6) {
                    0 | 1 => workload.table_read(random),
                    2 => workload.row(random),
                    _ => change(workload, random),
                };
                plan.push(step);
                think(workload, &mut plan, random);
            }
            plan.push(if random.one_in(4) { WorkloadStep::Rollback } else { WorkloadStep::Commit });
            plan
        }
    }
}

/// Transactions about parents and children.
pub fn plan_families(workload: &mut Workload, random: &mut crate::random::SeededRandom) -> Vec<WorkloadStep> {
    let mut known = std::mem::take(&mut workload.families);
    let (most, think) = (workload.mix.families, workload.mix.think);
    let plan = known.plan(most, think, &mut || workload.token(), random);
    workload.families = known;
    let step = |part: FamilyPart| match part {
        FamilyPart::Begin(mode) => WorkloadStep::Begin(mode),
        FamilyPart::Step(step) => WorkloadStep::Family(step),
        FamilyPart::Think(time) => WorkloadStep::Think(time),
        FamilyPart::Commit => WorkloadStep::Commit,
        FamilyPart::Rollback => WorkloadStep::Rollback,
    };
    plan.into_iter().map(step).collect()
}
