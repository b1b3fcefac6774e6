//! What the operating system offers between two processes of a host: table V of the 1989 paper, and the null messages of the 1991 one.
//!
//! The papers' machine had one processor, and so have both sides here.

use crate::communication::experiment::Experiment;
use crate::communication::laboratory::{Calls, Laboratory};
use crate::communication::methods::CARRIERS;
use laboratory_harness::Outcome;
use laboratory_harness::placement;
use laboratory_harness::report::{Columns, Table};

/// Bytes there and back. A message of no bytes does not exist for all methods: one byte stands for it.
const BYTES: [usize; 3] = [1, 10, 1000];

/// The papers' figures in microseconds: null message (1991), 10 and 1000 bytes (1989).
const PAPERS: [(&str, [Option<f64>; 3]); 6] = [
    ("message queues (2)", [Some(1700.0), Some(2000.0), Some(2900.0)]),
    ("message queue (1)", [None, Some(2000.0), Some(2900.0)]),
    ("named pipes", [Some(1800.0), Some(2300.0), Some(3900.0)]),
    ("shared memory, semaphores", [Some(2500.0), Some(5100.0), Some(5500.0)]),
    ("UDP", [Some(4400.0), Some(4300.0), Some(9600.0)]),
    ("Unix datagram socket", [Some(3600.0), None, None]),
];

/// See the module's description.
pub struct LocalMethods;

impl Experiment for LocalMethods {
    fn name(&self) -> &'static str {
        "local_methods"
    }

    fn about(&self) -> &'static str {
        "round trips by local methods (1989, table V; 1991, null messages)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let placement = placement::one(&laboratory.processors);
        let source = "1989, table V (10 and 1000 bytes); 1991, null messages (1 byte)";
        let mut table = Table::new("Local methods, round trip, one processor", source, Columns::bytes(&BYTES));
        let count = CARRIERS.len();
        let figures = laboratory.in_turns(count * BYTES.len(), |index| {
            let (method, bytes) = (CARRIERS[index % count], BYTES[index / count]);
            let calls = Calls { method, request_bytes: bytes, reply_bytes: bytes, placement, hosts: None };
            Ok(laboratory.call(&calls)?.microseconds())
        })?;
        for (index, figure) in figures.into_iter().enumerate() {
            let (name, column) = (CARRIERS[index % count].name(), index / count);
            let paper = PAPERS.iter().find(|(of, _)| *of == name).and_then(|(_, figures)| figures[column]);
            table.put(column, name, figure, paper);
        }
        Ok(vec![table])
    }
}
