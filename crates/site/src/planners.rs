//! Threads that plan queries.
//!
//! Planning is work without pauses, short for most statements and seconds for some. Invariant: as long as fewer than [`limits::PLANNERS_MAX`] statements are being
//! planned, one more is planned at once, on a thread of its own, and the operating system divides the processors fairly; none waits behind another.

use crate::limits;
use crate::thread_time::ThreadTime;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use tokio::sync::oneshot;

/// One planning.
pub(crate) type PlanningTask = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    waiting: VecDeque<PlanningTask>,
    threads: usize,
    idle: usize,
    is_over: bool,
}

/// The threads and what waits for one.
#[derive(Default)]
pub(crate) struct Planners {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Planners {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder of this lock panics")
    }

    /// Has a thread do it, soon. It is dropped undone when there is no thread and none can be had, or the site ends.
    pub(crate) fn run(self: &Arc<Planners>, work: PlanningTask) {
        let mut queue = self.queue();
        if queue.is_over {
            return;
        }
        queue.waiting.push_back(work);
        if queue.idle >= queue.waiting.len() {
            self.changed.notify_one();
        } else if queue.threads < limits::PLANNERS_MAX {
            let planners = Arc::clone(self);
            let thread = std::thread::Builder::new().name("planner".to_owned()).stack_size(limits::QUERY_STACK_BYTES);
            match thread.spawn(move || planners.serve()) {
                Ok(_) => queue.threads += 1,
                // Whoever is there already comes to it.
                Err(_) if queue.threads > 0 => {}
                Err(error) => {
                    tracing::error!(%error, "no thread can be had to plan a query");
                    queue.waiting.clear();
                }
            }
        }
    }

    /// Threads end when they have done what they do.
    pub(crate) fn stop(&self) {
        let mut queue = self.queue();
        queue.is_over = true;
        queue.waiting.clear();
        self.changed.notify_all();
    }

    fn serve(&self) {
        // Of this thread alone. Who serves clients and speaks with other sites goes before it; a system that refuses keeps its own order.
        let _ = rustix::process::nice(limits::PLANNER_NICE);
        let mut queue = self.queue();
        loop {
            if let Some(work) = queue.waiting.pop_front() {
                drop(queue);
                if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
                    tracing::error!("a planning has failed");
                }
                queue = self.queue();
                continue;
            }
            if queue.is_over {
                break;
            }
            queue.idle += 1;
            let waited = self.changed.wait_timeout(queue, limits::PLANNER_IDLE_TIME);
            let (again, time) = waited.expect("no holder of this lock panics");
            queue = again;
            queue.idle -= 1;
            if time.timed_out() && queue.waiting.is_empty() && queue.threads > limits::PLANNERS_KEPT {
                break;
            }
        }
        queue.threads -= 1;
    }
}

/// What a planner answers; `None` once it has spent the processor time that planning may take.
pub(crate) async fn within_budget<T>(
    mut answer: oneshot::Receiver<T>,
    time: &OnceLock<ThreadTime>,
) -> Option<Result<T, oneshot::error::RecvError>> {
    loop {
        if let Ok(done) = tokio::time::timeout(limits::PLANNING_LOOK, &mut answer).await {
            return Some(done);
        }
        if time.get().is_some_and(|time| time.spent() > limits::PLANNING_TIME_MAX) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// If this failed, a statement that is planned for seconds would hold up those of all other clients, or a panic take a thread with it.
    #[test]
    fn long_work_holds_up_nobody_and_panics_stay_where_they_are() {
        let planners = Arc::<Planners>::default();
        let (ended, end) = mpsc::channel::<()>();
        let end = Arc::new(Mutex::new(end));
        let (sender, receiver) = mpsc::channel();
        for _ in 0..limits::PLANNERS_MAX - 1 {
            let (end, sender) = (Arc::clone(&end), sender.clone());
            planners.run(Box::new(move || {
                let _ = end.lock().expect("nobody panics with it").recv();
                let _ = sender.send("long");
            }));
        }
        for _ in 0..3 {
            planners.run(Box::new(|| {
                panic!("a panic of a test");
            }));
            let sender = sender.clone();
            planners.run(Box::new(move || sender.send("short").expect("the test waits")));
            assert_eq!(receiver.recv().expect("it was done"), "short");
        }
        drop(ended);
        for _ in 0..limits::PLANNERS_MAX - 1 {
            assert_eq!(receiver.recv().expect("it was done"), "long");
        }
        planners.stop();
    }
}
