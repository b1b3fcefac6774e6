//! Lines and rings under loom: every order in which two threads can do what they do to shared memory is tried, and every value that the
//! memory model lets them see.
//!
//! What runs is the code that runs on mapped memory; only the [`Place`](super::place::SharedPlace) is another. Each property is checked of the
//! code as it is, and again with each of its [flaws](memory::Flaw): a model that does not find a flaw proves nothing.

mod lines;
mod memory;
mod rings;

use memory::Flaw;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Switches of threads where none has to wait, in one execution: errors in the order of a few words need no more than this.
/// `LOOM_MAX_PREEMPTIONS` asks for another number.
const PREEMPTIONS_MAX: usize = 3;

/// Tries all executions. They end, without a deadlock, a race for bytes, or a failed assertion.
fn try_all(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(PREEMPTIONS_MAX);
    builder.check(model);
}

/// Tries executions with a flaw, until one goes wrong.
fn must_find(flaw: Flaw, model: impl Fn(Option<Flaw>) + Send + Sync + 'static) {
    let found = catch_unwind(AssertUnwindSafe(|| try_all(move || model(Some(flaw)))));
    assert!(found.is_err(), "a model has not found {flaw:?}");
}
