//! Long work that others on the same machine should not notice: it is done where a processor has nothing else to do.
//!
//! Only a thread of its own can: whoever has given way to others needs rights to take that back. Being nicer is not enough, because whoever runs,
//! however nice, is left its slice (Linux 6.6 and later), which is long for those who wait: under SCHED_IDLE it is interrupted at once (sched(7)).

use std::panic::resume_unwind;
use thread_priority::ThreadPriority;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// Does this on a thread that gives way to all others, and waits for it. Threads that the work starts give way, too. It may take for ever while the
/// processors are busy, so the work should look at the time.
///
/// # Errors
/// There is no thread to be had.
pub fn work<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, || {
            give_way();
            work()
        })?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// The calling thread gives way from now on. Where that is refused the work is done all the same.
fn give_way() {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
}

#[cfg(test)]
mod tests {
    use super::*;
    use thread_priority::unix::thread_schedule_policy;

    /// A thread that gave way for good would serve clients with what others leave.
    #[test]
    fn only_the_work_gives_way() {
        let before = thread_schedule_policy();
        let meanwhile = work("test", thread_schedule_policy).expect("a thread");
        assert_eq!(meanwhile, Ok(ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle)));
        assert_eq!(thread_schedule_policy(), before);
        assert_ne!(before, meanwhile);
    }
}
