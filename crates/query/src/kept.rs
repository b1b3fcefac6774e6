//! Plans that are kept, and run again with other values.
//!
//! Planning a query takes longer than running most. So a statement is planned once, without the values of its parameters: a
//! function stands in the place of each, a [`Slot`], which says what the execution under way was given. An execution takes a plan that is idle, or
//! has one made, and gives it back when its rows have been read.
//!
//! Invariant: no choice in such a plan that its rows depend on follows from the values of one execution. Parameters of LIMIT and OFFSET, which
//! plans need to know, are put in as they are, and the plan serves executions with the same. Whatever else wants to know a value while it is planned
//! is refused, and its statement planned at each execution.

use crate::limits::IDLE_PLANS_MAX;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use std::collections::{BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The plans of one statement.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Parameters that plans have to know, counted from 0.
    fixed: BTreeSet<usize>,
    idle: Mutex<VecDeque<Ready>>,
    /// The statement as its plans are made of, where they need not know any parameter.
    optimized: OnceLock<LogicalPlan>,
    /// It cannot be planned without values.
    is_refused: AtomicBool,
}

/// A plan that can run.
#[derive(Debug)]
struct Ready {
    plan: Arc<dyn ExecutionPlan>,
    slots: Arc<Slots>,
    /// The values that it was made for, of the fixed parameters.
    fixed: Vec<ScalarValue>,
}

/// A plan that one execution has; idle again when this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    kept: Arc<Kept>,
    ready: Ready,
    state: Arc<SessionState>,
}

impl Kept {
    /// Of a statement without any plan yet.
    pub(crate) fn new(statement: &LogicalPlan) -> Result<Kept> {
        Ok(Kept {
            fixed: limiting_parameters(statement)?,
            idle: Mutex::default(),
            optimized: OnceLock::new(),
            is_refused: AtomicBool::new(false),
        })
    }

    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// A plan of the statement with these values, idle or new; `None` where it has to be planned with them.
    pub(crate) async fn take(
        self: &Arc<Kept>,
        state: &Arc<SessionState>,
        statement: &LogicalPlan,
        values: &[ScalarValue],
    ) -> Option<Taken> {
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let fixed: Vec<ScalarValue> = self.fixed.iter().map(|place| values[*place].clone()).collect();
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let found = idle.iter().position(|ready| ready.fixed == fixed);
            found.and_then(|found| idle.remove(found))
        };
        let ready = match idle {
            Some(ready) => ready,
            // What is chosen with NULL in mind serves other values badly.
            None if values.iter().any(ScalarValue::is_null) => return None,
            None => match self.make(state, statement, values, fixed).await {
                Ok(ready) => ready,
                Err(_) => {
                    self.is_refused.store(true, Ordering::Relaxed);
                    return None;
                }
            },
        };
        ready.slots.run_with(values);
        Some(Taken { kept: Arc::clone(self), ready, state: Arc::clone(state) })
    }

    async fn make(
        &self,
        state: &SessionState,
        statement: &LogicalPlan,
        values: &[ScalarValue],
        fixed: Vec<ScalarValue>,
    ) -> Result<Ready> {
        let optimized = match self.optimized.get() {
            Some(optimized) => optimized.clone(),
            None if self.fixed.is_empty() => {
                let optimized = state.optimize(statement)?;
                self.optimized.get_or_init(|| optimized).clone()
            }
            None => state.optimize(&with_limits(statement.clone(), values)?)?,
        };
        let slots = Arc::new(Slots { values: RwLock::new(values.into()), is_planned: AtomicBool::new(false) });
        let open = with_slots(optimized, &slots)?;
        let plan = state.query_planner().create_physical_plan(&open, state).await?;
        if plan.exists(|node| Ok(node.name() == "RecursiveQueryExec"))? {
            return Err(DataFusionError::Plan("a recursive plan runs once".into()));
        }
        slots.is_planned.store(true, Ordering::Relaxed);
        Ok(Ready { plan, slots, fixed })
    }
}

impl Taken {
    pub(crate) fn plan(&self) -> Arc<dyn ExecutionPlan> {
        Arc::clone(&self.ready.plan)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // What operators keep of a run goes, and joins tell scans anew what they look for.
        let fresh = reset_plan_states(self.plan());
        let fresh =
            fresh.and_then(|plan| FilterPushdown::new_post_optimization().optimize(plan, self.state.config_options()));
        let Ok(plan) = fresh else { return };
        let mut idle = self.kept.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() == IDLE_PLANS_MAX {
            idle.pop_front();
        }
        let fixed = std::mem::take(&mut self.ready.fixed);
        idle.push_back(Ready { plan, slots: Arc::clone(&self.ready.slots), fixed });
    }
}

/// The values of one plan's slots.
#[derive(Debug)]
struct Slots {
    values: RwLock<Arc<[ScalarValue]>>,
    /// Until then values only show what is to be expected.
    is_planned: AtomicBool,
}

impl Slots {
    fn run_with(&self, values: &[ScalarValue]) {
        *self.values.write().unwrap_or_else(PoisonError::into_inner) = values.into();
    }

    fn value(&self, place: usize) -> ScalarValue {
        self.values.read().unwrap_or_else(PoisonError::into_inner)[place].clone()
    }
}

/// A parameter in a plan: says the value of the execution under way.
#[derive(Debug)]
struct Slot {
    slots: Arc<Slots>,
    place: usize,
    name: String,
    data_type: DataType,
    signature: Signature,
}

impl PartialEq for Slot {
    fn eq(&self, other: &Slot) -> bool {
        Arc::ptr_eq(&self.slots, &other.slots) && self.place == other.place
    }
}

impl Eq for Slot {}

impl Hash for Slot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place.hash(state);
    }
}

impl ScalarUDFImpl for Slot {
    fn name(&self) -> &str {
        &self.name
    }

    fn display_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if !self.slots.is_planned.load(Ordering::Relaxed) {
            return Err(DataFusionError::Plan(format!("the value of {} is wanted for a plan", self.name)));
        }
        Ok(ColumnarValue::Scalar(self.slots.value(self.place)))
    }
}

fn slot_of(expression: &Expr) -> Option<&Slot> {
    match expression {
        Expr::ScalarFunction(call) => call.func.inner().downcast_ref::<Slot>(),
        _ => None,
    }
}

/// Whether the expression is a parameter of a plan that is kept.
pub(crate) fn is_slot(expression: &Expr) -> bool {
    slot_of(expression).is_some()
}

/// Whether such a parameter is part of the expression.
pub(crate) fn has_slot(expression: &Expr) -> bool {
    expression.exists(|part| Ok(is_slot(part))).unwrap_or(true)
}

/// The expression with the present values in the place of parameters.
pub(crate) fn with_present_values(expression: &Expr) -> Result<Expr> {
    let bound = expression.clone().transform_up(|part| match slot_of(&part) {
        Some(slot) => Ok(Transformed::yes(Expr::Literal(slot.slots.value(slot.place), None))),
        None => Ok(Transformed::no(part)),
    });
    Ok(bound?.data)
}

/// The place of a parameter among all, counted from 0.
fn place_of(placeholder: &Placeholder) -> Result<usize> {
    let number = placeholder.id.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
    number
        .and_then(|number| number.checked_sub(1))
        .ok_or_else(|| DataFusionError::Plan(format!("there is no parameter {}", placeholder.id)))
}

/// The plan with what `other` makes of its placeholders, in nodes of the kind that is meant.
fn with_placeholders(
    plan: LogicalPlan,
    is_meant: impl Fn(&LogicalPlan) -> bool,
    other: impl Fn(usize, &Placeholder) -> Expr,
) -> Result<LogicalPlan> {
    let replaced = plan.transform_up_with_subqueries(|node| {
        if !is_meant(&node) {
            return Ok(Transformed::no(node));
        }
        node.map_expressions(|expression| {
            expression.transform_up(|part| match &part {
                Expr::Placeholder(placeholder) => Ok(Transformed::yes(other(place_of(placeholder)?, placeholder))),
                _ => Ok(Transformed::no(part)),
            })
        })
    });
    Ok(replaced?.data)
}

/// The statement with the values of what limits it.
fn with_limits(statement: LogicalPlan, values: &[ScalarValue]) -> Result<LogicalPlan> {
    let is_limit = |node: &LogicalPlan| matches!(node, LogicalPlan::Limit(_));
    with_placeholders(statement, is_limit, |place, _| Expr::Literal(values[place].clone(), None))
}

/// The plan with slots in the place of parameters.
fn with_slots(plan: LogicalPlan, slots: &Arc<Slots>) -> Result<LogicalPlan> {
    with_placeholders(
        plan,
        |_| true,
        |place, placeholder| {
            let slot = Slot {
                slots: Arc::clone(slots),
                place,
                name: placeholder.id.clone(),
                data_type: slots.value(place).data_type(),
                signature: Signature::nullary(Volatility::Volatile),
            };
            Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(slot)), vec![]))
        },
    )
}

/// The parameters in LIMIT and OFFSET.
fn limiting_parameters(statement: &LogicalPlan) -> Result<BTreeSet<usize>> {
    let mut found = BTreeSet::new();
    statement.apply_with_subqueries(|node| {
        if let LogicalPlan::Limit(limit) = node {
            for bound in limit.skip.iter().chain(&limit.fetch) {
                bound.apply(|part| {
                    if let Expr::Placeholder(placeholder) = part {
                        found.insert(place_of(placeholder)?);
                    }
                    Ok(TreeNodeRecursion::Continue)
                })?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
