//! Transactions per second by their size, one place of the file after the other (figure 1) and at random (figure 4).
//!
//! Sections 3.2 and 3.4: transactions write blocks of a file of 100 Mbytes; the log has 8 Mbytes. "Small" transactions of the text stand at 32
//! bytes, the size of which section 3.4 speaks.

use super::Experiment;
use crate::memory::client::{Data, Places, Turn};
use crate::memory::laboratory::{Laboratory, Point, SOURCE, note_gains};
use crate::memory::limits::LOG_BYTES;
use crate::memory::system::System;
use laboratory_harness::Outcome;
use laboratory_harness::report::{Columns, Table};

/// See the module's description.
pub struct BlockSizes {
    /// Which figure.
    pub name: &'static str,
    /// Where transactions write.
    pub places: Places,
}

/// What the text says of small transactions, in transactions per second.
struct Told {
    rvm: Option<f64>,
    ethernet: f64,
    fddi: f64,
    memory_channel: f64,
    words: &'static str,
}

/// Section 3.2.
const SEQUENTIAL: Told = Told {
    rvm: Some(40.0),
    ethernet: 500.0,
    fddi: 500.0,
    memory_channel: 3000.0,
    words: "the paper's text has small transactions only: RVM at most 40, which stays \"practically the same\" up to 10 Kbytes; RRVM-FDDI and \
            RRVM-ETHERNET \"close to 500\", RRVM-MC \"close to 3,000\" (13x and 75x)",
};
/// Section 3.4.
const RANDOM: Told = Told {
    rvm: None,
    ethernet: 200.0,
    fddi: 200.0,
    memory_channel: 2500.0,
    words: "the paper's text has small transactions only: RRVM-FDDI and RRVM-ETHERNET \"a little less than 200\", RRVM-MC \"around 2,500\"; RVM's \
            figure is not in the text",
};

/// The size that stands for small transactions.
const SMALL_BYTES: u64 = 32;

impl Experiment for BlockSizes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        match self.places {
            Places::Sequential => "transactions per second by block size, one place after the other",
            _ => "transactions per second by block size, random accesses",
        }
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let scale = laboratory.scale;
        let (told, words) = match self.places {
            Places::Sequential => (SEQUENTIAL, "sequential"),
            _ => (RANDOM, "random"),
        };
        let columns =
            Columns::Numbers { unit: "bytes", values: scale.block_bytes.iter().map(|&bytes| bytes as f64).collect() };
        let title = format!("Blocks of a file of {} MiB, {words}, log of 8 MiB", scale.data_bytes >> 20);
        let source = format!("{SOURCE}, {}; beside RRVM k=1 its RRVM-FDDI", self.name);
        let mut table = Table::of_rates(&title, &source, "transactions per second", columns);
        let mut wanted = Vec::new();
        for system in System::all(scale.disks) {
            for (column, &block_bytes) in scale.block_bytes.iter().enumerate() {
                let small = system.paper([told.rvm, Some(told.fddi)]);
                let paper = small.filter(|_| block_bytes == SMALL_BYTES);
                let data = Data::Blocks { block_bytes, data_bytes: scale.data_bytes };
                let turn = Turn { system, log_bytes: LOG_BYTES, data, places: self.places, seed: 0 };
                wanted.push((Point { column, row: system.to_string(), paper }, turn));
            }
        }
        laboratory.one_client(self.name, &mut table, wanted)?;
        table.tell(0, "the paper's RRVM-ETHERNET", Some(told.ethernet));
        table.tell(0, "the paper's RRVM-MC", Some(told.memory_channel));
        note_gains(&mut table, scale.disks, told.words);
        Ok(vec![table])
    }
}
