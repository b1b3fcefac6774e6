//! What it costs to let the other process run and to be let run by it again, on one processor: figure 9 of the 1992 paper.
//!
//! The paper's direct control passing was a system call of its own kernel. A line has none: on one processor its waiting side yields, which brings
//! the other side to run if nobody else wants to; a call without bytes shows what that comes to.

use crate::communication::experiment::Experiment;
use crate::communication::laboratory::{Calls, Laboratory};
use crate::communication::method::Method;
use crate::communication::methods::control::{Signals, Yields};
use crate::communication::methods::line::Line;
use crate::communication::methods::memory::{Memory, Wake};
use laboratory_harness::Outcome;
use laboratory_harness::placement;
use laboratory_harness::report::{Columns, Table};

/// As the figure calls them, or as we do where it has none.
const WAYS: [(&str, &dyn Method); 6] = [
    ("semaphores", &Memory(Wake::Semaphores)),
    ("signals", &Signals),
    ("direct: a line, no bytes", &Line),
    ("futex", &Memory(Wake::Futex)),
    ("eventfd", &Memory(Wake::Eventfd)),
    ("yielding only", &Yields),
];

/// See the module's description.
pub struct ContextSwitches;

impl Experiment for ContextSwitches {
    fn name(&self) -> &'static str {
        "context_switches"
    }

    fn about(&self) -> &'static str {
        "control there and back: semaphores, signals, direct passing (1992, figure 9)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let placement = placement::one(&laboratory.processors);
        let columns = Columns::Names(vec![placement.name.to_owned()]);
        let mut table = Table::new("Context switches there and back", "1992, figure 9", columns);
        table.notes.push("the paper shows its figures as bars only, and tells none of them in words".to_owned());
        let figures = laboratory.in_turns(WAYS.len(), |index| {
            let method = WAYS[index].1;
            let calls = Calls { method, request_bytes: 0, reply_bytes: 0, placement, hosts: None };
            Ok(laboratory.call(&calls)?.microseconds())
        })?;
        for ((name, _), figure) in WAYS.iter().zip(figures) {
            table.put(0, name, figure, None);
        }
        if let (Some(semaphores), Some(direct)) = (table.median(WAYS[0].0, 0), table.median(WAYS[2].0, 0)) {
            table.notes.push(format!("direct passing takes {:.2} of what semaphores take", direct / semaphores));
        }
        Ok(vec![table])
    }
}
