//! A process of an experiment: does the job that it was started for.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Measured, Task, measure};
use crate::communication::method::{Meeting, Method, reply_to};
use laboratory_harness::placement::settle;
use laboratory_harness::process::{end_with_parent, say};
use laboratory_harness::{Failure, Outcome};

/// Does the job that this process was started for.
///
/// # Errors
/// The text is no job, or the job fails.
pub fn perform(text: &str, methods: &[&dyn Method], experiments: &[&dyn Experiment]) -> Outcome<()> {
    let job: Job = serde_json::from_str(text)?;
    end_with_parent()?;
    settle(job.place)?;
    let find = |name: &str| {
        let found = methods.iter().find(|method| method.name() == name);
        found.ok_or_else(|| Failure::Wrong(format!("there is no method `{name}`")))
    };
    match job.task {
        Task::Neighbour => loop {
            std::hint::spin_loop();
        },
        Task::Serve { method, meeting } => {
            find(&method)?.serve(&meeting, &mut |address| say(&format!("ready {address}")))
        }
        Task::Call { method, meeting, milliseconds } => {
            let measured = call(*find(&method)?, &meeting, milliseconds)?;
            say(&serde_json::to_string(&measured)?)
        }
        Task::Part { experiment, part } => {
            let found = experiments.iter().find(|known| known.name() == experiment);
            found.ok_or_else(|| Failure::Wrong(format!("there is no experiment `{experiment}`")))?.perform(part)
        }
    }
}

fn call(method: &dyn Method, meeting: &Meeting, milliseconds: u64) -> Outcome<Measured> {
    let mut caller = method.caller(meeting)?;
    let request: Vec<u8> = (0..meeting.request_bytes).map(|index| index as u8 | 1).collect();
    let (mut reply, mut expected) = (Vec::new(), Vec::new());
    let measured = measure(milliseconds, || caller(&request, &mut reply))?;
    reply_to(&request, &mut expected, meeting.reply_bytes);
    if reply != expected {
        return Err(Failure::Wrong(format!("{}: the reply is not what the server sends", method.name())));
    }
    Ok(measured)
}
