//! The one race between who grants leases and who ends an epoch: two words, and the order in which they are touched.
//!
//! The grantor writes down what it is about to promise, *then* looks whether granting has ended, and says nothing if it has. Who ends it says so,
//! *then* reads what was promised. A fence stands between the two steps of each, so of the two that meet at least one sees the other: a grant that is
//! sent was read. It is written over traits, so that a model tries every order (`tests/orders.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// Whether granting goes on.
pub trait Flag {
    /// Reads it.
    fn is_set(&self) -> bool;
    /// For ever.
    fn clear(&self);
    /// What stands before it happens before what stands behind it, in the one order that all threads agree on.
    fn fence();
}

/// The latest end that was promised.
pub trait PromisedEnd {
    /// Raises it to this, if it is earlier.
    fn raise(&self, until: u64);
    /// Reads it.
    fn read(&self) -> u64;
}

impl Flag for AtomicBool {
    fn is_set(&self) -> bool {
        self.load(Ordering::SeqCst)
    }

    fn clear(&self) {
        self.store(false, Ordering::SeqCst);
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

impl PromisedEnd for AtomicU64 {
    fn raise(&self, until: u64) {
        self.fetch_max(until, Ordering::SeqCst);
    }

    fn read(&self) -> u64 {
        self.load(Ordering::SeqCst)
    }
}

/// Promises a lease until this time; `false`: granting has ended, and nothing may be said.
pub fn grant<F: Flag>(open: &F, end: &impl PromisedEnd, until: u64) -> bool {
    end.raise(until);
    F::fence();
    open.is_set()
}

/// Ends granting. What was promised is read after it.
pub fn close<F: Flag>(open: &F) {
    open.clear();
    F::fence();
}
