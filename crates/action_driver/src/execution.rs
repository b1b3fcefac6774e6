//! A program being executed: one action after the other, each an executor that suspends whenever it needs something.
//!
//! Invariant: an executor never blocks and never sends; it says what it needs, and is resumed with the event that answers it.

use crate::ahead::{Access, Ahead};
use crate::catalog::CatalogRun;
use crate::delete::DeleteRun;
use crate::expression::Scope;
use crate::failure;
use crate::generator::Generator;
use crate::hidden_keys::HiddenKeys;
use crate::insert::InsertRun;
use crate::limits::{AHEAD_ACTIONS_MAX, RESULT_BYTES_MAX};
use crate::reads::{Event, Need};
use crate::rebuild::RebuildRun;
use crate::select::SelectRun;
use crate::sums::Sums;
use crate::transaction::Transaction;
use crate::update::UpdateRun;
use messages::planted::{Bug, Planted};
use messages::program::{Action, Program};
use messages::schema::CatalogVersions;
use messages::session::Failure;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use values::Value;

/// A request to run a program, and how far it has come.
#[derive(Debug, Serialize, Deserialize)]
pub struct Execution {
    program: Arc<Program>,
    parameters: Vec<Value>,
    /// Values of a procedure's parameters, once it is called.
    bound: Option<Vec<Value>>,
    supplied: Vec<Vec<Value>>,
    relies_on: Reliance,
    /// Nothing has been done yet.
    is_fresh: bool,
    action: usize,
    running: Option<Running>,
    /// The next actions, begun ahead: what they access was asked for.
    begun: VecDeque<Running>,
    ahead: Ahead,
    results: Results,
    /// Whether the numbers that it takes are its own: a try that is lost does not give them back.
    has_numbers: bool,
}

/// What a program returns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// Rows of the last action that returns rows.
    pub rows: Vec<Vec<Value>>,
    /// Rows touched by the last action.
    pub affected: u64,
    bytes: usize,
}

/// What is the same for all programs of a site.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// Rows committed ahead at a time into a storage that its transaction made itself.
    pub chunk_rows: usize,
    /// Which clause the simulator leaves out.
    pub planted: Planted,
}

/// What an executor works with.
pub struct Scene<'a> {
    /// What expressions may refer to.
    pub scope: Scope<'a>,
    /// Rows that came with the execution.
    pub supplied: &'a [Vec<Value>],
    /// The transaction.
    pub transaction: &'a mut Transaction,
    /// What the program returns.
    pub results: &'a mut Results,
    /// Keys for rows without a primary key.
    pub hidden_keys: &'a mut HiddenKeys,
    /// Where rows are added to without being read.
    pub sums: &'a Sums,
    /// Whether the numbers that the program takes are its own, whatever becomes of it.
    pub has_numbers: &'a mut bool,
    /// What is the same for all programs.
    pub rules: Rules,
}

/// How an executor comes to rest.
#[derive(Debug)]
pub enum Step {
    /// Until this is answered.
    Need(Need),
    /// For good.
    Done,
}

/// One file each.
#[derive(Debug, Serialize, Deserialize)]
enum Running {
    Select(SelectRun),
    Insert(InsertRun),
    Update(UpdateRun),
    Delete(DeleteRun),
    Catalog(CatalogRun),
    Rebuild(RebuildRun),
}

impl Execution {
    /// A program at its beginning.
    pub fn new(program: Arc<Program>, parameters: Vec<Value>, supplied: Vec<Vec<Value>>) -> Execution {
        Execution {
            program,
            parameters,
            bound: None,
            supplied,
            relies_on: Reliance::default(),
            is_fresh: true,
            action: 0,
            running: None,
            begun: VecDeque::new(),
            ahead: Ahead::default(),
            results: Results::default(),
            has_numbers: false,
        }
    }

    /// Back to the beginning.
    pub fn start_over(&mut self) {
        self.relies_on = Reliance::default();
        self.bound = None;
        self.is_fresh = true;
        self.action = 0;
        self.running = None;
        self.begun.clear();
        self.ahead = Ahead::default();
        self.results = Results::default();
    }

    /// Whether it neither writes nor locks.
    pub fn is_read_only(&self) -> bool {
        self.program.read_only
    }

    /// Whether it does nothing but confirm what the schema is: the client is told then, and no commit checks it.
    pub fn is_confirmation(&self) -> bool {
        self.program.actions.is_empty() && !self.program.relies_on.is_empty()
    }

    /// Whether it uses nothing but its parameters, so that it needs no transaction, not even a site that may serve.
    pub fn is_pure(&self) -> bool {
        let is_pure = |action: &Action| matches!(action, Action::Select { source: None, .. } | Action::Bind { .. });
        self.program.relies_on.is_empty() && self.program.actions.iter().all(is_pure)
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
    pub fn answer_ahead(&mut self, need: &Need, transaction: &mut Transaction) -> Result<Option<Event>, Failure> {
        self.ahead.answer(need, transaction)
    }

    /// Goes on until something is needed or all is done. `event` answers the last need, or is [`Event::Go`].
    pub fn resume(
        &mut self,
        transaction: &mut Transaction,
        generator: &Generator,
        hidden_keys: &mut HiddenKeys,
        sums: &Sums,
        rules: Rules,
        event: Event,
    ) -> Result<Step, Failure> {
        let mut event = event;
        if let Event::Unchanged(_, ahead) = &mut event {
            self.ahead = std::mem::take(ahead);
        }
        let confirms = self.is_confirmation() && !rules.planted.is(Bug::ErrorsUnconfirmed);
        let need = self.relies_on.resume(&self.program.relies_on, confirms, transaction, &mut event)?;
        let may_ask_ahead = std::mem::take(&mut self.is_fresh) && !confirms && !transaction.is_snapshot();
        let program = Arc::clone(&self.program);
        let time_micros = transaction.time_micros;
        let mut scope = Scope { parameters: &self.parameters, time_micros, generator };
        if let (None, Some(Action::Bind { arguments })) = (&self.bound, program.actions.first())
            && (need.is_none() || may_ask_ahead)
        {
            match scope.evaluate_all(arguments, &[]) {
                Ok(bound) => (self.bound, self.action) = (Some(bound), 1),
                Err(failure) if need.is_none() => return Err(failure),
                // It may be of a program that is not to be executed.
                Err(_) => {}
            }
        }
        scope.parameters = self.bound.as_ref().unwrap_or(&self.parameters);
        let mut scene = Scene {
            scope,
            supplied: &self.supplied,
            transaction,
            results: &mut self.results,
            hidden_keys,
            sums,
            has_numbers: &mut self.has_numbers,
            rules,
        };
        if may_ask_ahead {
            let actions = program.actions[self.action..].iter();
            let accesses = begin_ahead(actions, &mut scene, &mut self.begun);
            // One access goes along with a question about the catalog; by itself it costs no less so.
            match need {
                Some(Need::Unchanged(rows, _)) => return Ok(Step::Need(Need::Unchanged(rows, accesses))),
                None if accesses.len() > 1 => return Ok(Step::Need(Need::Unchanged(Arc::default(), accesses))),
                _ => {}
            }
        }
        if let Some(need) = need {
            return Ok(Step::Need(need));
        }
        if let Event::Unchanged(..) = event {
            event = Event::Go;
        }
        while let Some(action) = program.actions.get(self.action) {
            let running = match &mut self.running {
                Some(running) => running,
                None => {
                    scene.results.begin_action(action);
                    let begun = self.begun.pop_front().map_or_else(|| Running::begin(action, &mut scene), Ok)?;
                    self.running.insert(begun)
                }
            };
            match running.resume(action, &mut scene, event)? {
                Step::Need(need) => return Ok(Step::Need(need)),
                Step::Done => event = Event::Go,
            }
            self.running = None;
            self.action += 1;
        }
        Ok(Step::Done)
    }
}

/// Begins actions before their turn, as far as what they access by key follows from parameters alone. What they will ask for, in that order. One
/// whose expressions fail is left for its turn, which may never come.
fn begin_ahead<'a>(
    actions: impl Iterator<Item = &'a Action>,
    scene: &mut Scene,
    begun: &mut VecDeque<Running>,
) -> Vec<Access> {
    let mut accesses = Vec::new();
    for action in actions.take(AHEAD_ACTIONS_MAX) {
        let Ok(Some(running)) = Running::begin_ahead(action, scene, &mut accesses) else { break };
        begun.push_back(running);
    }
    accesses
}

/// The check that catalog rows are those that a program was compiled with, before anything else is done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reliance {
    checked: usize,
    /// They were asked for together, and one of them has changed or is not known here.
    one_by_one: bool,
}

impl Reliance {
    /// What to read of the catalog next; `None` when all is as relied on. `confirms`: once all is decided there, whatever was found before. Takes the
    /// event, if it answers the last need. Errors: the schema has changed, a lost conflict, 54000.
    pub fn resume(
        &mut self,
        relies_on: &CatalogVersions,
        confirms: bool,
        transaction: &mut Transaction,
        event: &mut Event,
    ) -> Result<Option<Need>, Failure> {
        while let Some((key, relied)) = relies_on.get(self.checked) {
            let found = match std::mem::replace(event, Event::Go) {
                Event::Unchanged(true, _) => {
                    transaction.note_unchanged(relies_on)?;
                    transaction.relied_on(key)
                }
                Event::Unchanged(false, _) => {
                    self.one_by_one = true;
                    None
                }
                Event::Relied(version) => {
                    transaction.note_relied_on(key.clone(), version);
                    Some(version)
                }
                _ if confirms => None,
                _ => transaction.relied_on(key),
            };
            match found {
                None if confirms => return Ok(Some(Need::Confirmed(key.clone()))),
                None if self.one_by_one || transaction.is_snapshot() => return Ok(Some(Need::Relied(key.clone()))),
                None => return Ok(Some(Need::Unchanged(Arc::clone(relies_on), Vec::new()))),
                Some(version) if version == *relied => self.checked += 1,
                Some(_) => return Err(Failure::SchemaChanged { key: key.clone() }),
            }
        }
        Ok(None)
    }
}

impl Results {
    /// An action begins; its rows, if it returns any, take the place of the last one's.
    fn begin_action(&mut self, action: &Action) {
        self.affected = 0;
        let returns_rows = match action {
            Action::Select { .. } => true,
            Action::Insert { returning, .. } | Action::Update { returning, .. } | Action::Delete { returning, .. } => {
                !returning.is_empty()
            }
            Action::Bind { .. } | Action::Catalog { .. } | Action::Rebuild { .. } => false,
        };
        if returns_rows {
            self.rows.clear();
            self.bytes = 0;
        }
    }

    /// Returns one more row. Errors: 54000 when they are too many for one answer.
    pub fn push(&mut self, row: Vec<Value>) -> Result<(), Failure> {
        self.bytes += row.iter().map(Value::size_in_memory).sum::<usize>();
        if self.bytes > RESULT_BYTES_MAX {
            return Err(failure::statement_with_detail(
                "54000",
                format!("the result is larger than {} MiB", RESULT_BYTES_MAX >> 20),
                "Ask for fewer rows at a time, by a condition on the key and LIMIT.",
            ));
        }
        self.rows.push(row);
        Ok(())
    }
}

impl Running {
    fn begin(action: &Action, scene: &mut Scene) -> Result<Running, Failure> {
        Ok(match action {
            Action::Bind { .. } => {
                return Err(failure::statement("XX000", "parameters are bound in the middle of a program"));
            }
            Action::Select { .. } => Running::Select(SelectRun::begin(action, scene)?),
            Action::Insert { .. } => Running::Insert(InsertRun::default()),
            Action::Update { .. } => Running::Update(UpdateRun::begin(action, scene)?),
            Action::Delete { .. } => Running::Delete(DeleteRun::begin(action, scene)?),
            Action::Catalog { .. } => Running::Catalog(CatalogRun::default()),
            Action::Rebuild { from, .. } => Running::Rebuild(RebuildRun::begin(from)),
        })
    }

    /// Begins an action that may have others before it, and adds what it accesses. `None`: it has to wait for its turn.
    fn begin_ahead(action: &Action, scene: &mut Scene, accesses: &mut Vec<Access>) -> Result<Option<Running>, Failure> {
        if matches!(action, Action::Bind { .. } | Action::Catalog { .. } | Action::Rebuild { .. }) {
            return Ok(None);
        }
        let mut running = Running::begin(action, scene)?;
        match &mut running {
            Running::Select(run) => accesses.extend(run.access(action)),
            Running::Insert(run) => accesses.extend(run.begin_ahead(action, scene)?),
            Running::Update(run) => accesses.extend(run.access(action)),
            Running::Delete(run) => accesses.extend(run.access(action)),
            Running::Catalog(_) | Running::Rebuild(_) => {}
        }
        Ok(Some(running))
    }

    fn resume(&mut self, action: &Action, scene: &mut Scene, event: Event) -> Result<Step, Failure> {
        match self {
            Running::Select(run) => run.resume(action, scene, event),
            Running::Insert(run) => run.resume(action, scene, event),
            Running::Update(run) => run.resume(action, scene, event),
            Running::Delete(run) => run.resume(action, scene, event),
            Running::Catalog(run) => run.resume(action, scene, event),
            Running::Rebuild(run) => run.resume(action, scene, event),
        }
    }
}
