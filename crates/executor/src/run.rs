//! What the operators and expressions of one execution share.
//!
//! Everything that survives a wait lies here or in an operator, so that either can be asked again: an operator keeps
//! its progress before it propagates a stop, an expression is evaluated anew.

use crate::access::{CallOrder, RowNeed, ScanId, ScanOrder};
use crate::error::{ExecutionError, Interruption};
use crate::hashing::{KeyHashing, KeyMap};
use crate::made_calls::MadeCalls;
use crate::plan::{PlanNode, QueryPlan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::Value;

/// One row of an operator.
pub type RowValues = Vec<Value>;

/// What an execution may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionLimits {
    /// Bytes of rows that are held at a time.
    pub memory_bytes: usize,
}

/// What makes an operator of a plan, at its beginning.
pub type OperatorBuilder = fn(&Arc<PlanNode>) -> Box<dyn RowOperator>;

/// An operator of an execution.
pub trait RowOperator: Send {
    /// The next rows, one at least and `want` at most; none at the end.
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption>;
    /// Those it reads from.
    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        Vec::new()
    }
    /// What it counts its memory with.
    fn memory(&mut self) -> Option<&mut HeldBytes> {
        None
    }
    /// Ends what is open below it, and gives back what it holds. It is not asked again.
    fn close(&mut self, state: &mut ExecutionState) {
        if let Some(memory) = self.memory() {
            memory.release_all(state);
        }
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}

/// How many rows are asked for where all are needed.
pub const MANY: usize = 1_024;

pub use sqlstate::OUT_OF_MEMORY;

/// A scan under way.
#[derive(Default)]
struct ScanUnderWay {
    batches: VecDeque<Vec<RowValues>>,
    last: bool,
    asked: bool,
}

/// Rows that are computed once and read several times.
#[derive(Default)]
pub struct SharedRows {
    /// What computes them, while that is under way.
    pub source: Option<Box<dyn RowOperator>>,
    /// Those that are there.
    pub rows: Vec<RowValues>,
    /// Whether these are all.
    pub complete: bool,
    /// The outer values for which they were computed.
    pub outer: Option<RowValues>,
}

/// Rows that are read once and found by their keys.
#[derive(Default)]
pub struct KeyedRows {
    /// What they come from, while it is read.
    pub source: Option<Box<dyn RowOperator>>,
    /// Those whose keys are still to be computed.
    pub arrived: VecDeque<RowValues>,
    pub rows: Vec<RowValues>,
    /// Which of them have a key, once there is one.
    pub places: Option<KeyMap<Vec<usize>>>,
    /// Whether all are there.
    pub is_full: bool,
    /// Bytes that are held for them.
    pub memory: HeldBytes,
    /// How many rows around have asked.
    pub asked: usize,
    /// Whether there is no memory for all.
    pub is_too_large: bool,
}

/// A subquery of an expression under way, or its result for the last outer values.
#[derive(Default)]
pub struct Subplan {
    /// The outer values.
    pub outer: Option<RowValues>,
    /// What runs.
    pub operator: Option<Box<dyn RowOperator>>,
    /// Its rows so far.
    pub rows: Vec<RowValues>,
    /// Whether these are all that are needed.
    pub complete: bool,
    /// Keys of the first columns of all rows without nulls in them, for IN; and whether a row has a null.
    pub hashed: Option<(BTreeSet<Vec<u8>>, bool)>,
    /// Bytes that are held for its rows and their keys.
    pub memory: HeldBytes,
}

/// What lasts as long as an execution.
pub struct ExecutionState {
    pub parameters: Vec<Value>,
    /// For subqueries and whatever else begins while rows are computed.
    pub build: OperatorBuilder,
    pub hashing: KeyHashing,
    limits: ExecutionLimits,
    pub memory_used: usize,
    /// Bytes of large values that were computed since a row was begun.
    passing: usize,
    needs: VecDeque<RowNeed>,
    scans: BTreeMap<ScanId, ScanUnderWay>,
    next_scan: u32,
    /// Rows of queries around, outermost first.
    pub frames: Vec<RowValues>,
    /// Operands of the CASEs around.
    pub cases: Vec<Value>,
    /// Elements of the arrays that are converted around.
    pub elements: Vec<Value>,
    /// Rows of the subqueries whose test is evaluated.
    pub sublinks: Vec<RowValues>,
    pub subplans: Vec<Subplan>,
    pub shared: Vec<SharedRows>,
    pub keyed: Vec<KeyedRows>,
    /// Working tables of recursive queries.
    pub working: Vec<Arc<Vec<RowValues>>>,
    /// Calls that must not be made again.
    pub made: MadeCalls,
}

impl ExecutionState {
    pub fn new(
        parameters: Vec<Value>,
        limits: ExecutionLimits,
        plan: &QueryPlan,
        build: OperatorBuilder,
        seed: u64,
    ) -> ExecutionState {
        let mut state = ExecutionState {
            parameters,
            build,
            hashing: KeyHashing::of_seed(seed),
            limits,
            memory_used: 0,
            passing: 0,
            needs: VecDeque::new(),
            scans: BTreeMap::new(),
            next_scan: 0,
            frames: Vec::new(),
            cases: Vec::new(),
            elements: Vec::new(),
            sublinks: Vec::new(),
            subplans: Vec::new(),
            shared: Vec::new(),
            keyed: Vec::new(),
            working: Vec::new(),
            made: MadeCalls::default(),
        };
        state.subplans.resize_with(plan.subplans as usize, Subplan::default);
        state.shared.resize_with(plan.shared as usize, SharedRows::default);
        state.keyed.resize_with(plan.keyed as usize, KeyedRows::default);
        state.working.resize_with(plan.working as usize, Arc::default);
        state
    }

    pub fn next_need(&mut self) -> Option<RowNeed> {
        self.needs.pop_front()
    }

    /// Begins a scan.
    pub fn open(&mut self, order: ScanOrder) -> ScanId {
        let scan = ScanId(self.next_scan);
        self.next_scan += 1;
        self.scans.insert(scan, ScanUnderWay { asked: true, ..ScanUnderWay::default() });
        self.needs.push_back(RowNeed::Open(scan, order));
        scan
    }

    /// Has a function run; its rows are fetched as those of a scan.
    pub fn call(&mut self, order: CallOrder) -> ScanId {
        let call = ScanId(self.next_scan);
        self.next_scan += 1;
        self.scans.insert(call, ScanUnderWay { asked: true, ..ScanUnderWay::default() });
        self.needs.push_back(RowNeed::Call(call, order));
        call
    }

    /// The next rows of a scan that are there; none at its end.
    pub fn fetch(&mut self, scan: ScanId) -> Result<Option<Vec<RowValues>>, Interruption> {
        let Some(open) = self.scans.get_mut(&scan) else { return Ok(None) };
        if let Some(rows) = open.batches.pop_front() {
            return Ok(Some(rows));
        }
        if open.last {
            self.scans.remove(&scan);
            return Ok(None);
        }
        if !open.asked {
            open.asked = true;
            self.needs.push_back(RowNeed::More(scan));
        }
        Err(Interruption::Wait)
    }

    pub fn answer(&mut self, scan: ScanId, rows: Vec<RowValues>, last: bool) {
        if let Some(open) = self.scans.get_mut(&scan) {
            open.asked = false;
            open.last = last;
            if !rows.is_empty() {
                open.batches.push_back(rows);
            }
        }
    }

    /// Ends a scan early.
    pub fn close(&mut self, scan: ScanId) {
        if let Some(open) = self.scans.remove(&scan) {
            let is_opening = |need: &RowNeed| matches!(need, RowNeed::Open(opening, _) | RowNeed::Call(opening, _) if *opening == scan);
            if let Some(place) = self.needs.iter().position(is_opening) {
                self.needs.remove(place);
            } else if !open.last {
                self.needs.retain(|need| !matches!(need, RowNeed::More(more) if *more == scan));
                self.needs.push_back(RowNeed::Close(scan));
            }
        }
    }

    pub fn close_all(&mut self) {
        let open: Vec<ScanId> = self.scans.keys().copied().collect();
        open.into_iter().for_each(|scan| self.close(scan));
    }

    /// Counts bytes that are held from now on.
    pub fn hold(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.memory_used += bytes;
        self.check()
    }

    /// Counts bytes of a value that may be gone with its row.
    pub fn pass(&mut self, bytes: usize) -> Result<(), Interruption> {
        self.passing += bytes;
        self.check()
    }

    fn check(&self) -> Result<(), Interruption> {
        if self.memory_used.saturating_add(self.passing) <= self.limits.memory_bytes {
            return Ok(());
        }
        let message = format!("a statement may hold {} bytes", self.limits.memory_bytes);
        Err(ExecutionError::new(OUT_OF_MEMORY, message).into())
    }

    pub fn release(&mut self, bytes: usize) {
        self.memory_used = self.memory_used.saturating_sub(bytes);
    }
}

/// Bytes that one operator holds. It gives them back when it is closed, since it may run anew for every row around.
#[derive(Default)]
pub struct HeldBytes(usize);

impl HeldBytes {
    pub fn hold(&mut self, bytes: usize, state: &mut ExecutionState) -> Result<(), Interruption> {
        self.0 += bytes;
        state.hold(bytes)
    }

    pub fn release(&mut self, bytes: usize, state: &mut ExecutionState) {
        self.0 = self.0.saturating_sub(bytes);
        state.release(bytes);
    }

    pub fn release_all(&mut self, state: &mut ExecutionState) {
        state.release(std::mem::take(&mut self.0));
    }
}

/// Bytes of a row, roughly.
pub fn size_of_row(row: &[Value]) -> usize {
    size_of::<RowValues>() + row.iter().map(Value::size_in_memory).sum::<usize>()
}

/// One call of `resume`.
pub struct RunState<'run, 'environment> {
    pub state: &'run mut ExecutionState,
    pub environment: &'run mut evaluation::CallEnvironment<'environment>,
    pub budget: usize,
}

impl RunState<'_, '_> {
    /// Computes something of a row. Nothing of it is kept if it stops: it is begun anew then, and calls that it has made are not made again.
    pub fn settled<T>(
        &mut self,
        compute: impl FnOnce(&mut Self) -> Result<T, Interruption>,
    ) -> Result<T, Interruption> {
        let begun = self.state.made.begin();
        let result = compute(self);
        self.state.made.end(begun, result.is_ok());
        result
    }

    /// Counts a row that is worked on. Nothing may be lost if this stops.
    pub fn spend(&mut self) -> Result<(), Interruption> {
        match self.budget.checked_sub(1) {
            Some(left) => {
                self.budget = left;
                self.state.passing = 0;
                Ok(())
            }
            None => Err(Interruption::Yield),
        }
    }
}
