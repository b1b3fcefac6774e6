//! The operations of the V kernel: tables 3-7 to 3-12 of the thesis, between machines of 10 MHz on a network of 10 Mb/s.
//!
//! Within one kernel the two sides are threads; between two hosts each has a kernel and a processor.

use crate::communication::experiment::Experiment;
use crate::communication::laboratory::{Calls, Laboratory};
use crate::communication::methods::transactions::{Operation, Transactions};
use laboratory_harness::Outcome;
use laboratory_harness::network::Hosts;
use laboratory_harness::placement;
use laboratory_harness::report::{Columns, Table};

/// One operation in both cases, and the thesis's figures in microseconds.
struct Measured {
    name: &'static str,
    local: Transactions,
    remote: Transactions,
    request_bytes: usize,
    reply_bytes: usize,
    paper: [f64; 2],
}

macro_rules! measured {
    ($name:literal, $operation:expr, $request:literal, $reply:literal, $paper:expr) => {
        Measured {
            name: $name,
            local: Transactions { name: concat!($name, ", one kernel"), operation: $operation, one_kernel: true },
            remote: Transactions { name: $name, operation: $operation, one_kernel: false },
            request_bytes: $request,
            reply_bytes: $reply,
            paper: $paper,
        }
    };
}

/// Tables 3-8 (message, moves), 3-10 (pages), 3-12 (64 KB by unit).
static MEASURED: [Measured; 9] = [
    measured!("send, receive, reply, 32 bytes", Operation::Exchange, 32, 32, [940.0, 2230.0]),
    measured!("move from, 1 KB", Operation::MoveFrom, 0, 1024, [1190.0, 5830.0]),
    measured!("move to, 1 KB", Operation::MoveTo, 1024, 0, [1190.0, 5860.0]),
    measured!("read a page of 512 bytes", Operation::ReadPage, 8, 512, [1690.0, 4540.0]),
    measured!("write a page of 512 bytes", Operation::WritePage, 512, 0, [1680.0, 4540.0]),
    measured!("read 64 KB in units of 1 KB", Operation::ReadInUnits(1 << 10), 0, 65536, [71_700.0, 376_100.0]),
    measured!("read 64 KB in units of 4 KB", Operation::ReadInUnits(4 << 10), 0, 65536, [62_500.0, 241_100.0]),
    measured!("read 64 KB in units of 16 KB", Operation::ReadInUnits(16 << 10), 0, 65536, [60_200.0, 206_700.0]),
    measured!("read 64 KB in units of 64 KB", Operation::ReadInUnits(64 << 10), 0, 65536, [59_700.0, 198_000.0]),
];

/// All that this experiment calls by.
pub fn methods() -> impl Iterator<Item = &'static dyn crate::communication::method::Method> {
    MEASURED
        .iter()
        .flat_map(|measured| [&measured.local as &dyn crate::communication::method::Method, &measured.remote])
}

/// See the module's description.
pub struct MessageTransactions;

impl Experiment for MessageTransactions {
    fn name(&self) -> &'static str {
        "message_transactions"
    }

    fn about(&self) -> &'static str {
        "exchanges, pages and moves of the V kernel, within a kernel and between hosts (thesis, tables 3-8, 3-10, 3-12)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let (hosts, remote) = match Hosts::new() {
            Ok(hosts) => (Some(hosts), "two hosts (network namespaces)".to_owned()),
            Err(failure) => (None, format!("a kernel each, on one host: {failure}")),
        };
        let columns = Columns::Names(vec!["one kernel".to_owned(), "two kernels".to_owned()]);
        let source = "thesis of 1985, 10 MHz, 10 Mb: tables 3-8, 3-10, 3-12";
        let mut table = Table::new("Message transactions", source, columns);
        table.notes.push(format!("one kernel: on one processor; two kernels: {remote}, a processor each"));
        let figures = laboratory.in_turns(2 * MEASURED.len(), |index| {
            let measured = &MEASURED[index / 2];
            let local = index % 2 == 0;
            let processors = &laboratory.processors;
            let calls = Calls {
                method: if local { &measured.local } else { &measured.remote },
                request_bytes: measured.request_bytes,
                reply_bytes: measured.reply_bytes,
                placement: if local { placement::one(processors) } else { placement::two(processors) },
                hosts: if local { None } else { hosts.as_ref() },
            };
            Ok(laboratory.call(&calls)?.microseconds())
        })?;
        for (index, figure) in figures.into_iter().enumerate() {
            let measured = &MEASURED[index / 2];
            table.put(index % 2, measured.name, figure, Some(measured.paper[index % 2]));
        }
        Ok(vec![table])
    }
}
