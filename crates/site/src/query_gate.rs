//! What a query passes, and what ends it.

use messages::program::ResultColumn;
use messages::session::Failure;
use query::Interrupt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a query passes when it does anything that others see.
#[derive(Default)]
pub(crate) struct Gate {
    /// Held while something passes.
    is_closed: Mutex<bool>,
    /// Of a life that is over, whose requests nobody takes any more.
    pub(crate) is_past: AtomicBool,
}

impl Gate {
    /// Does it unless the query was stopped.
    pub(crate) fn pass(&self, deed: impl FnOnce()) {
        let is_closed = self.is_closed.lock().expect("what passes does not panic");
        if !*is_closed && !self.is_past.load(Ordering::Relaxed) {
            deed();
        }
    }

    /// From here on nothing passes. The caller must not hold the core's lock.
    pub(crate) fn close(&self) {
        *self.is_closed.lock().expect("what passes does not panic") = true;
    }
}

/// Ends a planning whose result nobody waits for.
pub(crate) struct Awaited(pub(crate) Interrupt);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Whether rows of these columns are what is expected: names and types, as PostgreSQL compares them.
pub(crate) fn same_columns(found: &[ResultColumn], expected: &[ResultColumn]) -> bool {
    let shape = |column: &ResultColumn| (column.name.clone(), column.column_type);
    found.iter().map(shape).eq(expected.iter().map(shape))
}

/// What a query went with that the user interface takes for present still.
pub(crate) fn new_life() -> Failure {
    Failure::Unavailable { reason: "the site began a new life during the query".to_owned() }
}
