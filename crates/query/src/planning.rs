//! Planning that can be ended from outside.
//!
//! The library plans without asking anybody. So its rules are wrapped: before a rule looks at a plan, or at the next node of it, it is looked whether
//! the planning is still wanted. Invariant: what is planned within [`Interrupt::watch`] ends with 57014 at its next step once
//! the interrupt is set. Planning happens on one thread, which is why the interrupt is a thread's.

use crate::error::QueryError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

/// Ends a planning that nobody waits for any more.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

thread_local! {
    static WATCHED: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

impl Interrupt {
    /// Ends what is planned under it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `plan`, which ends early when this is set.
    pub fn watch<T>(&self, plan: impl FnOnce() -> T) -> T {
        struct Before(Option<Interrupt>);
        impl Drop for Before {
            fn drop(&mut self) {
                WATCHED.set(self.0.take());
            }
        }
        let _before = Before(WATCHED.replace(Some(self.clone())));
        plan()
    }
}

/// An error if the planning that is under way is no longer wanted.
pub(crate) fn go_on() -> Result<()> {
    let is_over = WATCHED.with_borrow(|watched| watched.as_ref().is_some_and(Interrupt::is_set));
    match is_over {
        true => Err(QueryError::new("57014", "canceling statement due to user request").into_datafusion()),
        false => Ok(()),
    }
}

/// The result of a future that waits for nobody else: planning is one.
pub(crate) fn settle<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // It gives way to others now and then, who are not here.
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// A rule that is not applied to what nobody wants.
#[derive(Debug)]
pub(crate) struct Watched<T: ?Sized>(Arc<T>);

impl Watched<dyn AnalyzerRule + Send + Sync> {
    /// The same rules, watched.
    pub(crate) fn analyzers(rules: &[Arc<dyn AnalyzerRule + Send + Sync>]) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        let mut watched: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = Vec::with_capacity(rules.len());
        for rule in rules {
            watched.push(Arc::new(Watched(Arc::clone(rule))));
        }
        watched
    }
}

impl AnalyzerRule for Watched<dyn AnalyzerRule + Send + Sync> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        go_on()?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl Watched<dyn OptimizerRule + Send + Sync> {
    /// The same rules, watched.
    pub(crate) fn optimizers(
        rules: &[Arc<dyn OptimizerRule + Send + Sync>],
    ) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
        let mut watched: Vec<Arc<dyn OptimizerRule + Send + Sync>> = Vec::with_capacity(rules.len());
        for rule in rules {
            watched.push(Arc::new(Watched(Arc::clone(rule))));
        }
        watched
    }
}

impl OptimizerRule for Watched<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        go_on()?;
        self.0.rewrite(plan, config)
    }
}

impl Watched<dyn PhysicalOptimizerRule + Send + Sync> {
    /// The same rules, watched.
    pub(crate) fn physical(
        rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        let mut watched: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = Vec::with_capacity(rules.len());
        for rule in rules {
            watched.push(Arc::new(Watched(rule)));
        }
        watched
    }
}

impl PhysicalOptimizerRule for Watched<dyn PhysicalOptimizerRule + Send + Sync> {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        go_on()?;
        self.0.optimize(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, a planning that nobody wants would go on, or one would end because another was cancelled.
    #[test]
    fn only_what_is_watched_is_ended() {
        let (one, other) = (Interrupt::default(), Interrupt::default());
        assert!(go_on().is_ok());
        one.watch(|| {
            assert!(go_on().is_ok());
            other.set();
            assert!(go_on().is_ok());
            one.set();
            assert!(go_on().is_err());
            Interrupt::default().watch(|| assert!(go_on().is_ok()));
            assert!(go_on().is_err());
        });
        assert!(go_on().is_ok());
        assert!(std::panic::catch_unwind(|| one.watch::<()>(|| panic!("a panic of a test"))).is_err());
        assert!(go_on().is_ok());
    }
}
