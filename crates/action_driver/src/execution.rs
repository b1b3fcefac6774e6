//! A program being executed: one action after the other, each an executor that suspends whenever it needs something.
//!
//! Invariant: an executor never blocks and never sends; it says what it needs, and is resumed with the event that answers it.

use crate::catalog::CatalogRun;
use crate::delete::DeleteRun;
use crate::expression::Scope;
use crate::failure;
use crate::generator::Generator;
use crate::hidden_keys::HiddenKeys;
use crate::insert::InsertRun;
use crate::limits::RESULT_BYTES_MAX;
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
    action: usize,
    running: Option<Running>,
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
            action: 0,
            running: None,
            results: Results::default(),
            has_numbers: false,
        }
    }

    /// Back to the beginning.
    pub fn start_over(&mut self) {
        self.relies_on = Reliance::default();
        self.bound = None;
        self.action = 0;
        self.running = None;
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

    /// What it returns.
    pub fn into_results(self) -> Results {
        self.results
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
        let confirms = self.is_confirmation() && !rules.planted.is(Bug::ErrorsUnconfirmed);
        if let Some(need) = self.relies_on.resume(&self.program.relies_on, confirms, transaction, &mut event)? {
            return Ok(Step::Need(need));
        }
        let program = Arc::clone(&self.program);
        let time_micros = transaction.time_micros;
        if let (0, Some(Action::Bind { arguments })) = (self.action, program.actions.first()) {
            let scope = Scope { parameters: &self.parameters, time_micros, generator };
            self.bound = Some(scope.evaluate_all(arguments, &[])?);
            self.action = 1;
        }
        let parameters = self.bound.as_ref().unwrap_or(&self.parameters);
        let mut scene = Scene {
            scope: Scope { parameters, time_micros, generator },
            supplied: &self.supplied,
            transaction,
            results: &mut self.results,
            hidden_keys,
            sums,
            has_numbers: &mut self.has_numbers,
            rules,
        };
        while let Some(action) = program.actions.get(self.action) {
            let running = match &mut self.running {
                Some(running) => running,
                None => self.running.insert(Running::begin(action, &mut scene)?),
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
                Event::Unchanged(true) => {
                    transaction.note_unchanged(relies_on)?;
                    transaction.relied_on(key)
                }
                Event::Unchanged(false) => {
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
                None => return Ok(Some(Need::Unchanged(Arc::clone(relies_on)))),
                Some(version) if version == *relied => self.checked += 1,
                Some(_) => return Err(Failure::SchemaChanged { key: key.clone() }),
            }
        }
        Ok(None)
    }
}

impl Results {
    /// An action begins; its rows, if it returns any, take the place of the last one's.
    fn begin_action(&mut self, returns_rows: bool) {
        self.affected = 0;
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
        scene.results.begin_action(match action {
            Action::Select { .. } => true,
            Action::Insert { returning, .. } | Action::Update { returning, .. } | Action::Delete { returning, .. } => {
                !returning.is_empty()
            }
            Action::Bind { .. } | Action::Catalog { .. } | Action::Rebuild { .. } => false,
        });
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
