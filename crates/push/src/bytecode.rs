//! The code of a verified program: instructions over cells and slots, with jumps.
//!
//! Invariant: [`crate::verify`] alone makes it, so that each instruction finds its cells, each jump an instruction, and each run an end.

use crate::program::{PushFieldType, PushHeader, PushHook, PushOperator, PushPlace, PushTable, PushVerdict};
use std::fmt;

/// An instruction. The comment is what it takes from the stack and what it leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushCode {
    /// `-- number`
    Number(u64),
    /// `lower upper -- value`
    Operator(PushOperator),
    /// `cell --`
    Discard,
    /// `N -- truth`
    HasBytes,
    /// `offset -- number`
    Load(PushFieldType),
    /// `-- number`
    Header(PushHeader),
    /// `number --`
    SetHeader(PushHeader),
    /// `-- nanoseconds`
    Now,
    /// `value --` into a slot.
    Keep(usize),
    /// `-- value` of a slot.
    Kept(usize),
    /// `index -- number`
    Read(PushPlace),
    /// `number index --`
    Set(PushPlace),
    /// `number index -- before`
    AddTo(PushPlace),
    /// `bits index -- before`
    BitSet(PushPlace),
    /// `-- rows`
    Count(usize),
    /// `key -- index`
    Find(usize),
    /// `--`
    Clone,
    /// The end of the run.
    Verdict(PushVerdict),
    /// `truth --`: goes on elsewhere if it is 0.
    JumpIfZero(usize),
    /// Goes on elsewhere.
    Jump(usize),
    /// `count --`: begins a loop, whose index is in the slot, and the count in the next one.
    LoopBegin(usize),
    /// Goes on behind the loop if the index has reached the count, or its bound.
    LoopTest {
        /// The slot of the index.
        slot: usize,
        /// The largest count that is possible.
        count_max: u64,
        /// The instruction behind the loop.
        end: usize,
    },
    /// Adds 1 to the index and goes back to the test.
    LoopNext {
        /// The slot of the index.
        slot: usize,
        /// The test.
        test: usize,
    },
}

impl fmt::Display for PushCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushCode::Number(value) => write!(out, "number {value}"),
            PushCode::Operator(operator) => write!(out, "{}", operator.name()),
            PushCode::Discard => write!(out, "discard"),
            PushCode::HasBytes => write!(out, "has-bytes"),
            PushCode::Load(shape) => write!(out, "load {}", shape.name()),
            PushCode::Header(header) => write!(out, "{}", header.name()),
            PushCode::SetHeader(header) => write!(out, "{}", header.setter().unwrap_or_default()),
            PushCode::Now => write!(out, "now"),
            PushCode::Keep(slot) => write!(out, "keep {slot}"),
            PushCode::Kept(slot) => write!(out, "kept {slot}"),
            PushCode::Read(PushPlace { table, field }) => write!(out, "read {table}.{field}"),
            PushCode::Set(PushPlace { table, field }) => write!(out, "set {table}.{field}"),
            PushCode::AddTo(PushPlace { table, field }) => write!(out, "add {table}.{field}"),
            PushCode::BitSet(PushPlace { table, field }) => write!(out, "bit-set {table}.{field}"),
            PushCode::Count(table) => write!(out, "count {table}"),
            PushCode::Find(table) => write!(out, "find {table}"),
            PushCode::Clone => write!(out, "clone"),
            PushCode::Verdict(verdict) => write!(out, "{}", verdict.name()),
            PushCode::JumpIfZero(target) => write!(out, "if 0 go to {target}"),
            PushCode::Jump(target) => write!(out, "go to {target}"),
            PushCode::LoopBegin(slot) => write!(out, "begin loop {slot}"),
            PushCode::LoopTest { slot, count_max, end } => {
                write!(out, "if loop {slot} is over, at most {count_max} times, go to {end}")
            }
            PushCode::LoopNext { slot, test } => write!(out, "next of loop {slot}, go to {test}"),
        }
    }
}

/// An instruction and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushInstruction {
    /// What it does.
    pub code: PushCode,
    /// Cells on the stack before it.
    pub depth: usize,
    /// The word's line, counted from 1.
    pub line: usize,
    /// The word.
    pub text: String,
}

/// A hook that was found safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedHook {
    pub(crate) hook: PushHook,
    pub(crate) code: Vec<PushInstruction>,
    pub(crate) bound: PushBound,
}

impl VerifiedHook {
    /// Which hook.
    pub fn hook(&self) -> PushHook {
        self.hook
    }

    /// Its instructions. The last one on every path is a verdict.
    pub fn code(&self) -> &[PushInstruction] {
        &self.code
    }

    /// What a run costs at most.
    pub fn bound(&self) -> PushBound {
        self.bound
    }
}

/// What a run costs at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushBound {
    /// Words that it executes; a search counts as one for each row.
    pub words: u64,
    /// Branches that the compiled program comes by.
    pub branches: u64,
    /// Copies that it sends.
    pub clones: u64,
    /// Nanoseconds, estimated from the words.
    pub time_ns: u64,
}

impl fmt::Display for PushBound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PushBound { words, clones, time_ns, .. } = self;
        let copies = if *clones == 1 { "copy" } else { "copies" };
        write!(out, "at most {words} words, {clones} {copies}, about {:.1} us", *time_ns as f64 / 1e3)
    }
}

/// A program that was found safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedProgram {
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, u64)>,
    pub(crate) tables: Vec<PushTable>,
    pub(crate) hooks: Vec<VerifiedHook>,
}

impl VerifiedProgram {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, with their values.
    pub fn parameters(&self) -> &[(String, u64)] {
        &self.parameters
    }

    /// Its tables, which both hooks share.
    pub fn tables(&self) -> &[PushTable] {
        &self.tables
    }

    /// Its hooks: one or two.
    pub fn hooks(&self) -> &[VerifiedHook] {
        &self.hooks
    }

    /// A hook, if the program has it.
    pub fn hook(&self, hook: PushHook) -> Option<&VerifiedHook> {
        self.hooks.iter().find(|known| known.hook == hook)
    }

    /// Whether it delivers packets, and so needs a ring.
    pub fn delivers(&self) -> bool {
        let mut code = self.hooks.iter().flat_map(|hook| &hook.code);
        code.any(|one| {
            matches!(one.code, PushCode::Verdict(PushVerdict::Deliver) | PushCode::Verdict(PushVerdict::DeliverAndWake))
        })
    }
}
