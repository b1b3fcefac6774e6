//! Datagrams of any length, and where they are cut: table I of the 1989 paper.
//!
//! Between two hosts, as the paper's were, if this machine lets us make them; else on one.

use crate::communication::experiment::Experiment;
use crate::communication::laboratory::{Calls, Laboratory};
use crate::communication::limits::DATAGRAM_BYTES_MAX;
use crate::communication::method::Method;
use crate::communication::methods::{self, raidcomm_one::RaidcommOne, sockets::Udp};
use laboratory_harness::Outcome;
use laboratory_harness::network::Hosts;
use laboratory_harness::placement;
use laboratory_harness::report::{Columns, Table};

const BYTES: [usize; 6] = [64, 512, 2048, 8192, 32768, 500_000];

/// Table I in microseconds; its last column is in seconds.
const PAPER: [[Option<f64>; 6]; 4] = [
    [Some(7200.0), Some(10_600.0), Some(16_500.0), Some(48_800.0), None, None],
    [Some(10_200.0), Some(17_200.0), Some(41_900.0), Some(147_400.0), Some(550_000.0), Some(8_630_000.0)],
    [Some(9600.0), Some(12_800.0), Some(19_200.0), Some(65_100.0), Some(224_800.0), Some(3_200_000.0)],
    [Some(11_900.0), Some(20_100.0), Some(46_700.0), Some(153_300.0), None, None],
];

/// See the module's description.
pub struct LongDatagrams;

impl Experiment for LongDatagrams {
    fn name(&self) -> &'static str {
        "long_datagrams"
    }

    fn about(&self) -> &'static str {
        "datagrams by length and by the length of fragments (1989, table I)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let methods: [&dyn Method; 4] = [
            &Udp,
            &methods::raidcomm_one::LongDatagrams { fragment_bytes: 512 },
            &methods::raidcomm_one::LongDatagrams { fragment_bytes: 8000 },
            &RaidcommOne,
        ];
        let (hosts, note) = match Hosts::new() {
            Ok(hosts) => (Some(hosts), "between two hosts (network namespaces), a processor each".to_owned()),
            Err(failure) => (None, format!("on one host, a processor each: {failure}")),
        };
        let placement = placement::two(&laboratory.processors);
        let mut table = Table::new("Datagrams by length, round trip", "1989, table I", Columns::bytes(&BYTES));
        table.notes.push(note);
        let wanted: Vec<_> = (0..BYTES.len())
            .flat_map(|column| (0..methods.len()).map(move |row| (column, row)))
            .filter(|&(column, row)| row > 0 || BYTES[column] <= DATAGRAM_BYTES_MAX)
            .collect();
        let figures = laboratory.in_turns(wanted.len(), |index| {
            let (column, row) = wanted[index];
            let (method, bytes) = (methods[row], BYTES[column]);
            let calls = Calls { method, request_bytes: bytes, reply_bytes: bytes, placement, hosts: hosts.as_ref() };
            Ok(laboratory.call(&calls)?.microseconds())
        })?;
        for ((column, row), figure) in wanted.into_iter().zip(figures) {
            table.put(column, methods[row].name(), figure, PAPER[row][column]);
        }
        Ok(vec![table])
    }
}
