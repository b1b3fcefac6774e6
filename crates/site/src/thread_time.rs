//! How much processor time a thread has spent, read from another one (`/proc/self/task/[tid]/schedstat`; Linux, Documentation/scheduler/sched-stats).
//!
//! Work without pauses is bounded by what it costs and not by how long it takes: on a busy machine a thread waits for a processor most of the time.

use crate::clock;
use std::time::{Duration, Instant};

/// The processor time that a thread spends from a moment on.
#[derive(Debug)]
pub(crate) struct ThreadTime {
    thread: i32,
    /// What it had spent.
    before: Duration,
    since: Instant,
}

impl ThreadTime {
    /// Of the calling thread, from now on. Its own time a thread is told without a file.
    pub(crate) fn begin() -> ThreadTime {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        ThreadTime { thread, before: Duration::from_nanos(clock::of_thread()), since: Instant::now() }
    }

    /// How much it has spent. The time that has passed where the system does not tell.
    pub(crate) fn spent(&self) -> Duration {
        time_of(self.thread).map_or_else(|| self.since.elapsed(), |now| now.saturating_sub(self.before))
    }
}

/// Of a thread of this process, in its own code and in the system's.
fn time_of(thread: i32) -> Option<Duration> {
    parse(&std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
}

/// The first field, in nanoseconds.
fn parse(schedstat: &str) -> Option<Duration> {
    schedstat.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a thread that waits for a processor counts as one that works.
    #[test]
    fn waiting_costs_nothing_and_work_does() {
        let time = ThreadTime::begin();
        let began = Instant::now();
        while time.spent() < Duration::from_millis(50) {
            std::hint::black_box(0);
        }
        assert!(began.elapsed() >= Duration::from_millis(30), "a thread cannot spend more than passes");
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let time = ThreadTime::begin();
            let _ = receiver.recv();
            time.spent()
        });
        while time.spent() < Duration::from_millis(150) {
            std::hint::black_box(0);
        }
        drop(sender);
        assert!(other.join().expect("it ends") < Duration::from_millis(50));
    }
}
