//! Long work that others on the same machine should not notice: it is done where a processor has nothing else to do.
//!
//! Only a thread of its own can: whoever has given way to others needs rights to take that back. Being nicer is not enough, because whoever runs,
//! however nice, is left its slice (Linux 6.6 and later), which is long for those who wait: under SCHED_IDLE it is interrupted at once (sched(7)).

use std::panic::resume_unwind;

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
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live as long as the call, which changes nothing but how the calling thread (0) is scheduled.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: it only tells how the calling thread (0) is scheduled.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// A thread that gave way for good would serve clients with what others leave.
    #[test]
    fn only_the_work_gives_way() {
        let before = policy();
        assert_eq!(work("test", policy).expect("a thread"), libc::SCHED_IDLE);
        assert_eq!(policy(), before);
    }
}
