//! Calls of functions that may do something, made while a row is computed.
//!
//! What is computed of a row is begun anew after each stop. A call that was made before must not be made again then: its value is taken from here. Invariants:
//! an evaluation that is begun anew makes the same calls in the same order; the calls of an evaluation are forgotten when it is done, and those of one within
//! another are before the outer goes on.

use values::Value;

/// The calls of what is being computed, outermost first.
#[derive(Default)]
pub struct MadeCalls {
    made: Vec<MadeCall>,
    /// Which one comes next.
    next: usize,
    /// Something of a row is being computed.
    is_within: bool,
}

struct MadeCall {
    subplan: usize,
    arguments: Vec<Value>,
    value: Value,
}

/// Where an evaluation has begun.
pub struct BegunEvaluation {
    next: usize,
    was_within: bool,
}

impl MadeCalls {
    /// All that was stopped is begun anew.
    pub fn resume(&mut self) {
        self.next = 0;
    }

    /// Something of a row is computed now.
    pub fn begin(&mut self) -> BegunEvaluation {
        let was_within = std::mem::replace(&mut self.is_within, true);
        BegunEvaluation { next: self.next, was_within }
    }

    /// It is done, or stopped.
    pub fn end(&mut self, begun: BegunEvaluation, is_done: bool) {
        self.is_within = begun.was_within;
        if is_done {
            self.made.drain(begun.next..self.next);
            self.next = begun.next;
        }
    }

    /// An operator goes on within an expression: it keeps its own progress.
    pub fn step_out(&mut self) -> bool {
        std::mem::replace(&mut self.is_within, false)
    }

    /// It has gone on.
    pub fn step_in(&mut self, was_within: bool) {
        self.is_within = was_within;
    }

    /// Whether a call that is made now is known when it comes again.
    pub fn is_within(&self) -> bool {
        self.is_within
    }

    /// The value of a call that was made before.
    pub fn again(&mut self, subplan: usize, arguments: &[Value]) -> Option<Value> {
        let made = self.made.get(self.next).filter(|made| made.subplan == subplan && made.arguments == arguments)?;
        self.next += 1;
        Some(made.value.clone())
    }

    /// A call was made.
    pub fn add(&mut self, subplan: usize, arguments: Vec<Value>, value: Value) {
        self.made.insert(self.next, MadeCall { subplan, arguments, value });
        self.next += 1;
    }
}
