//! Control only: what it costs to let another process run and to be let run by it again.

use crate::communication::limits::HEAD_BYTES;
use crate::communication::method::{Caller, Meeting, Method, Ready};
use crate::communication::operating_system::{AwaitedSignal, SharedMemory};
use laboratory_harness::{Failure, Outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::any::Any;
use std::sync::atomic::Ordering;

/// Signals there and back (kill(2), sigwaitinfo(2)).
pub struct Signals;

fn process(number: i32) -> Outcome<Pid> {
    Pid::from_raw(number).ok_or_else(|| Failure::Wrong("a signal from nobody".to_owned()))
}

impl Method for Signals {
    fn name(&self) -> &'static str {
        "signals"
    }

    fn bytes_max(&self) -> usize {
        0
    }

    fn serve(&self, _meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let signal = AwaitedSignal::keep()?;
        ready(&std::process::id().to_string())?;
        loop {
            kill_process(process(signal.wait()?)?, Signal::USR1)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let server = process(meeting.address.parse().unwrap_or_default())?;
        let signal = AwaitedSignal::keep()?;
        Ok(Box::new(move |_, reply| {
            kill_process(server, Signal::USR1)?;
            signal.wait()?;
            reply.clear();
            Ok(())
        }))
    }
}

/// A word in shared memory says whose turn it is; who has not the turn yields the processor (sched_yield(2)): the least that the operating
/// system lets two processes do.
pub struct Yields;

const TURN_AT: usize = 0;

impl Method for Yields {
    fn name(&self) -> &'static str {
        "yielding only"
    }

    fn bytes_max(&self) -> usize {
        0
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        SharedMemory::create(&meeting.folder.join("memory"), HEAD_BYTES)?;
        Ok(Box::new(()))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let memory = SharedMemory::open(&meeting.folder.join("memory"))?;
        ready("")?;
        loop {
            while memory.word(TURN_AT).load(Ordering::Acquire) == 0 {
                rustix::thread::sched_yield();
            }
            memory.word(TURN_AT).store(0, Ordering::Release);
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let memory = SharedMemory::open(&meeting.folder.join("memory"))?;
        Ok(Box::new(move |_, reply| {
            memory.word(TURN_AT).store(1, Ordering::Release);
            while memory.word(TURN_AT).load(Ordering::Acquire) == 1 {
                rustix::thread::sched_yield();
            }
            reply.clear();
            Ok(())
        }))
    }
}
