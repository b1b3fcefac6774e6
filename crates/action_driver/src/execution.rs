//! A program being executed: one action after the other, each an executor that suspends whenever it needs something.
//!
//! Invariant: an executor never blocks and never sends; it says what it needs, and is resumed with the event that answers it.

use crate::executors::RunningAction;
use crate::expression::ExpressionScope;
use crate::increments::IncrementWorth;
use crate::limits::AHEAD_ACTIONS_MAX;
use crate::need::{Access, Ahead, ExecutorEvent, ExecutorNeed};
use crate::reference_keys::PendingReference;
use crate::references::ReferenceRun;
use crate::reliance::Reliance;
use crate::scene::{ExecutorStep, NumberSources, Results, Scene, SiteRules};
use crate::sequences::{self, BlockTaking, Given, SequenceState, Sequences};
use crate::transaction::ExecutingTransaction;
use messages::database::DatabaseId;
use messages::planted;
use messages::program::{Action, Program, StatementEdge};
use messages::schema::{CatalogEntry, TableSchema};
use messages::session::{Failure, Isolation};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use values::{Value, Zone};

/// A request to run a program, and how far it has come.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramExecution {
    program: Arc<Program>,
    parameters: Vec<Value>,
    /// Values of a procedure's parameters, once it is called.
    bound: Option<Vec<Value>>,
    /// What actions have gathered, by its place.
    gathered: Vec<Value>,
    supplied: Vec<Vec<Value>>,
    zone: Zone,
    relies_on: Reliance,
    /// Nothing has been done yet.
    is_fresh: bool,
    action: usize,
    running: Option<RunningAction>,
    /// The next actions, begun ahead: what they access was asked for.
    begun: VecDeque<RunningAction>,
    ahead: Ahead,
    results: Results,
    /// Whether the numbers that it takes are its own: a try that is lost does not give them back.
    has_numbers: bool,
    /// The sequence of which a block is wanted, and the block while it is committed.
    wanted: Option<(Arc<TableSchema>, Option<BlockTaking>)>,
    /// What the action at hand has changed that foreign keys concern.
    changes: Vec<PendingReference>,
    references: ReferenceRun,
    /// The action at hand is done, and what it has changed is looked at.
    is_checking: bool,
    /// It is not done: it goes on when that is looked at.
    is_paused: bool,
}

impl ProgramExecution {
    /// A program at its beginning.
    pub fn new(
        program: Arc<Program>,
        parameters: Vec<Value>,
        supplied: Vec<Vec<Value>>,
        zone: Zone,
    ) -> ProgramExecution {
        ProgramExecution {
            program,
            parameters,
            bound: None,
            gathered: Vec::new(),
            supplied,
            zone,
            relies_on: Reliance::default(),
            is_fresh: true,
            action: 0,
            running: None,
            begun: VecDeque::new(),
            ahead: Ahead::default(),
            results: Results::default(),
            has_numbers: false,
            wanted: None,
            changes: Vec::new(),
            references: ReferenceRun::default(),
            is_checking: false,
            is_paused: false,
        }
    }

    /// What the transaction has put off, looked at before it commits.
    pub fn of_deferred() -> ProgramExecution {
        let program = Program {
            parameters: Vec::new(),
            actions: vec![Action::Defer(false)],
            columns: Vec::new(),
            relies_on: Arc::default(),
            read_only: false,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        ProgramExecution::new(Arc::new(program), Vec::new(), Vec::new(), Zone::UTC)
    }

    /// Back to the beginning.
    pub fn start_over(&mut self) {
        self.relies_on = Reliance::default();
        self.bound = None;
        self.gathered.clear();
        self.is_fresh = true;
        self.action = 0;
        self.running = None;
        self.begun.clear();
        self.ahead = Ahead::default();
        self.results = Results::default();
        self.wanted = None;
        self.changes.clear();
        self.references = ReferenceRun::default();
        self.is_checking = false;
        self.is_paused = false;
    }

    /// Whether it neither writes nor locks.
    pub fn is_read_only(&self) -> bool {
        self.program.read_only
    }

    /// Whether it does nothing but confirm what the schema is: the client is told then, and no commit checks it.
    pub fn is_confirmation(&self) -> bool {
        self.program.actions.is_empty() && !self.program.relies_on.is_empty()
    }

    /// Whether it uses nothing but its parameters, so that it needs no transaction, not even a site that may serve. One that does nothing is there to find
    /// out whether that may.
    pub fn is_pure(&self) -> bool {
        let is_pure = |action: &Action| matches!(action, Action::Select { source: None, .. } | Action::Bind { .. });
        // Whoever takes values of sequences writes.
        let Program { read_only, relies_on, actions, .. } = &*self.program;
        *read_only && relies_on.is_empty() && !actions.is_empty() && actions.iter().all(is_pure)
    }

    /// Whether it locks tables.
    pub fn locks_tables(&self) -> bool {
        self.program.actions.iter().any(|action| matches!(action, Action::LockTable { .. }))
    }

    /// Whether it copies all of a table, for an index or in another layout.
    pub fn rebuilds(&self) -> bool {
        self.program.actions.iter().any(|action| matches!(action, Action::Rebuild { .. }))
    }

    /// What it returns.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// The same, for the answer.
    pub fn into_results(self) -> Results {
        self.results
    }

    /// Answers a need with what was read before the first action began. Errors: a lost conflict, or a transaction that has become too large.
    pub fn answer_ahead(
        &mut self,
        need: &ExecutorNeed,
        transaction: &mut ExecutingTransaction,
    ) -> Result<Option<ExecutorEvent>, Failure> {
        self.ahead.answer(need, transaction)
    }

    /// Goes on until something is needed or all is done. `event` answers the last need, or is [`ExecutorEvent::Go`].
    pub fn resume(
        &mut self,
        transaction: &mut ExecutingTransaction,
        given: &mut Given,
        numbers: NumberSources,
        increment_worth: &IncrementWorth,
        rules: SiteRules,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let NumberSources { generator, hidden_keys, sequences } = numbers;
        sequences.exchange(&mut transaction.sequences, given);
        let mut step = match self.take_block(sequences, event) {
            Ok(event) => {
                let numbers = NumberSources { generator, hidden_keys, sequences };
                self.go_on(transaction, numbers, increment_worth, rules, event)
            }
            Err(step) => step,
        };
        while let Ok(ExecutorStep::Gathered) = step {
            let numbers = NumberSources { generator, hidden_keys, sequences };
            step = self.go_on(transaction, numbers, increment_worth, rules, ExecutorEvent::Go);
        }
        let step = match step {
            Err(failure) => self.want_block(sequences).map_or(Err(failure), |need| Ok(ExecutorStep::Need(need))),
            step => {
                sequences.settle();
                step
            }
        };
        sequences.exchange(&mut transaction.sequences, given);
        step
    }

    /// Has a block of a sequence that evaluation has lacked read and committed. What to go on with, or what is needed for it.
    fn take_block(
        &mut self,
        sequences: &mut Sequences,
        event: ExecutorEvent,
    ) -> Result<ExecutorEvent, Result<ExecutorStep, Failure>> {
        let Some((sequence, taking)) = &mut self.wanted else { return Ok(event) };
        match event {
            ExecutorEvent::Sequence(seen, Some(row)) => {
                let begun = SequenceState::decode(&row).and_then(|state| sequences.begin_taking(sequence, state));
                if let Some((block, row)) = begun.map_err(Err)? {
                    *taking = Some(block);
                    return Err(Ok(ExecutorStep::Need(ExecutorNeed::Block(sequences::item(sequence), seen, row))));
                }
            }
            ExecutorEvent::Sequence(_, None) => {
                return Err(Err(Failure::SchemaChanged { key: CatalogEntry::key(&sequence.name) }));
            }
            ExecutorEvent::ChunkCommitted => sequences.taken(taking.as_ref().expect("a block was committed")),
            _ => {}
        }
        self.wanted = None;
        Ok(ExecutorEvent::Go)
    }

    /// Evaluation has failed: for want of a block of a sequence, what is needed for one.
    fn want_block(&mut self, sequences: &Sequences) -> Option<ExecutorNeed> {
        let sequence = sequences.take_wanted()?;
        let item = sequences::item(&sequence);
        self.wanted = Some((sequence, None));
        Some(ExecutorNeed::Sequence(item))
    }

    fn go_on(
        &mut self,
        transaction: &mut ExecutingTransaction,
        numbers: NumberSources,
        increment_worth: &IncrementWorth,
        rules: SiteRules,
        event: ExecutorEvent,
    ) -> Result<ExecutorStep, Failure> {
        let NumberSources { generator, hidden_keys, sequences } = numbers;
        let sequences = &*sequences;
        let mut event = event;
        if let ExecutorEvent::Unchanged(_, ahead) = &mut event {
            self.ahead = std::mem::take(ahead);
        }
        let confirms = self.is_confirmation() && !planted!(rules.planted, ErrorsUnconfirmed);
        let need = self.relies_on.resume(&self.program.relies_on, confirms, transaction, &mut event)?;
        // At REPEATABLE READ each is looked at in the snapshot, too.
        let reads_twice = transaction.isolation() == Isolation::RepeatableRead;
        let may_ask_ahead =
            std::mem::take(&mut self.is_fresh) && !confirms && !transaction.reads_snapshot() && !reads_twice;
        let program = Arc::clone(&self.program);
        let time_micros = transaction.time_micros;
        let zone = &self.zone;
        let gathered = &self.gathered;
        let mut scope =
            ExpressionScope { parameters: &self.parameters, gathered, time_micros, zone, generator, sequences };
        if let (None, Some(Action::Bind { arguments })) = (&self.bound, program.actions.first())
            && (need.is_none() || may_ask_ahead)
        {
            match scope.evaluate_all(arguments, &[]) {
                Ok(bound) => (self.bound, self.action) = (Some(bound), 1),
                Err(failure) if need.is_none() => return Err(failure),
                // It may be of a program that is not to be executed.
                Err(_) => drop(sequences.take_wanted()),
            }
        }
        scope.parameters = self.bound.as_ref().unwrap_or(&self.parameters);
        let mut scene = Scene {
            scope,
            supplied: &self.supplied,
            transaction,
            results: &mut self.results,
            hidden_keys,
            increment_worth,
            has_numbers: &mut self.has_numbers,
            rules,
            references: &program.references,
            changes: &mut self.changes,
        };
        if may_ask_ahead {
            let actions = program.actions[self.action..].iter();
            let accesses = begin_ahead(actions, &mut scene, &mut self.begun);
            drop(sequences.take_wanted());
            // One access goes along with a question about the catalog; by itself it costs no less so.
            match need {
                Some(ExecutorNeed::Unchanged(rows, _)) => {
                    return Ok(ExecutorStep::Need(ExecutorNeed::Unchanged(rows, accesses)));
                }
                None if accesses.len() > 1 => {
                    return Ok(ExecutorStep::Need(ExecutorNeed::Unchanged(Arc::default(), accesses)));
                }
                _ => {}
            }
        }
        if let Some(need) = need {
            return Ok(ExecutorStep::Need(need));
        }
        if let ExecutorEvent::Unchanged(..) = event {
            event = ExecutorEvent::Go;
        }
        while let Some(action) = program.actions.get(self.action) {
            let running = match &mut self.running {
                Some(running) => running,
                None => {
                    scene.results.begin_action(action);
                    let begun = self.begun.pop_front().map_or_else(|| RunningAction::begin(action, &mut scene), Ok)?;
                    self.running.insert(begun)
                }
            };
            if !self.is_checking {
                match running.resume(action, &mut scene, event)? {
                    ExecutorStep::Need(need) => return Ok(ExecutorStep::Need(need)),
                    ExecutorStep::Gathered => {
                        let Some(RunningAction::Gather(run)) = self.running.take() else { unreachable!("it runs") };
                        self.action += 1;
                        run.keep(action, &mut self.gathered);
                        return Ok(ExecutorStep::Gathered);
                    }
                    ExecutorStep::Check => self.is_paused = true,
                    ExecutorStep::Done => self.is_paused = false,
                }
                event = ExecutorEvent::Go;
                self.is_checking = true;
                self.references.begin_action();
                match action {
                    Action::Defer(is_deferred) => {
                        self.references.take_deferred(scene.transaction.set_deferral(*is_deferred));
                    }
                    Action::Statement(StatementEdge::Begin) => scene.transaction.begin_view(),
                    Action::Statement(StatementEdge::End) => {
                        self.references.take_deferred(scene.transaction.end_view());
                    }
                    _ => {}
                }
            }
            match self.references.resume(&program.references, &mut scene, event)? {
                ExecutorStep::Need(need) => return Ok(ExecutorStep::Need(need)),
                ExecutorStep::Check | ExecutorStep::Gathered | ExecutorStep::Done => event = ExecutorEvent::Go,
            }
            self.is_checking = false;
            if self.is_paused {
                continue;
            }
            self.running = None;
            self.action += 1;
        }
        Ok(ExecutorStep::Done)
    }
}

/// Begins actions before their turn, as far as what they access by key follows from parameters alone. What they will ask for, in that order. One
/// whose expressions fail is left for its turn, which may never come.
fn begin_ahead<'a>(
    actions: impl Iterator<Item = &'a Action>,
    scene: &mut Scene,
    begun: &mut VecDeque<RunningAction>,
) -> Vec<Access> {
    let mut accesses = Vec::new();
    for action in actions.take(AHEAD_ACTIONS_MAX) {
        let Ok(Some(running)) = RunningAction::begin_ahead(action, scene, &mut accesses) else { break };
        begun.push_back(running);
    }
    accesses
}
