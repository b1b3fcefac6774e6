//! Transactions per second by the size of the log, with blocks of 128 bytes (figure 2) and of 512 (figure 3).
//!
//! Section 3.3. The text has no numbers, but two claims: logs of a few Kbytes make all systems slow, and from 32 Kbytes on the size hardly matters.

use super::Experiment;
use crate::memory::client::{Data, Places, Turn};
use crate::memory::laboratory::{Laboratory, Point, SOURCE, note_gains};
use crate::memory::system::System;
use laboratory_harness::Outcome;
use laboratory_harness::report::{Columns, Table};

/// See the module's description.
pub struct LogSizes {
    /// Which figure.
    pub name: &'static str,
    /// Bytes of a transaction.
    pub block_bytes: u64,
}

const WORDS: &str = "the paper's numbers are not in the text, which says: \"almost constant\" for logs larger than 32 Kbytes, and RRVM \"between one \
                     and two orders of magnitude\" above RVM for small transactions";

impl Experiment for LogSizes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        match self.block_bytes {
            128 => "transactions per second by log size, blocks of 128 bytes",
            _ => "transactions per second by log size, blocks of 512 bytes",
        }
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let scale = laboratory.scale;
        let values = scale.log_bytes.iter().map(|&bytes| (bytes >> 10) as f64).collect();
        let title = format!("Blocks of {} bytes, sequential, by the size of the log", self.block_bytes);
        let source = format!("{SOURCE}, {}", self.name);
        let columns = Columns::Numbers { unit: "KiB", values };
        let mut table = Table::of_rates(&title, &source, "transactions per second", columns);
        let mut wanted = Vec::new();
        for system in System::all(scale.disks) {
            for (column, &log_bytes) in scale.log_bytes.iter().enumerate() {
                let data = Data::Blocks { block_bytes: self.block_bytes, data_bytes: scale.data_bytes };
                let turn = Turn { system, log_bytes, data, places: Places::Sequential, seed: 0 };
                wanted.push((Point { column, row: system.to_string(), paper: None }, turn));
            }
        }
        laboratory.one_client(self.name, &mut table, wanted)?;
        note_gains(&mut table, scale.disks, WORDS);
        Ok(vec![table])
    }
}
