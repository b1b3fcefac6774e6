//! Memory of one statement, taken from what all statements of a process share.

use datafusion::common::DataFusionError;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives one statement so much and no more, as long as the shared pool has it.
#[derive(Debug)]
pub(crate) struct StatementPool {
    shared: Arc<dyn MemoryPool>,
    used: AtomicUsize,
    bytes_max: usize,
}

impl StatementPool {
    pub(crate) fn new(shared: Arc<dyn MemoryPool>, bytes_max: usize) -> StatementPool {
        StatementPool { shared, used: AtomicUsize::new(0), bytes_max }
    }
}

impl fmt::Display for StatementPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one statement's, {} of {} bytes used", self.reserved(), self.bytes_max)
    }
}

impl MemoryPool for StatementPool {
    fn name(&self) -> &str {
        "statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.shared.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shared.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.shared.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
        self.shared.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = |used: usize| used.checked_add(additional).filter(|used| *used <= self.bytes_max);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        if taken.is_err() {
            let message = format!("a statement may hold {} bytes", self.bytes_max);
            return Err(DataFusionError::ResourcesExhausted(message));
        }
        let shared = self.shared.try_grow(reservation, additional);
        if shared.is_err() {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        }
        shared
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::GreedyMemoryPool;

    /// If this failed, one statement would take what all others need, or what it was refused would be lost to them.
    #[test]
    fn a_statement_is_bounded_and_so_are_all() {
        let shared: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(150));
        let pool = || -> Arc<dyn MemoryPool> { Arc::new(StatementPool::new(Arc::clone(&shared), 100)) };
        let (one, other) = (pool(), pool());
        let first = MemoryConsumer::new("one").register(&one);
        let second = MemoryConsumer::new("other").register(&other);
        first.try_grow(90).expect("within its bound");
        assert!(first.try_grow(20).is_err(), "beyond its bound");
        second.try_grow(60).expect("what is left for all");
        assert!(second.try_grow(10).is_err(), "beyond what all may have");
        assert_eq!((one.reserved(), other.reserved(), shared.reserved()), (90, 60, 150));
        drop(first);
        second.try_grow(40).expect("it is free again");
        drop(second);
        assert_eq!((one.reserved(), other.reserved(), shared.reserved()), (0, 0, 0));
    }
}
