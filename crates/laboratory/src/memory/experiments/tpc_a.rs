//! TPC-A on recoverable memory by the number of accounts: sequential (figure 9), random (figure 10) and localized accesses (figure 11).
//!
//! Section 3.7, whose tables are complete. The books are audited after every turn.

use super::Experiment;
use crate::memory::client::{Data, Places, Turn};
use crate::memory::laboratory::{Laboratory, Point, SOURCE, note_gains};
use crate::memory::limits::LOG_BYTES;
use crate::memory::system::System;
use laboratory_harness::Outcome;
use laboratory_harness::figure::short;
use laboratory_harness::report::{Columns, Table};

/// See the module's description.
pub struct TpcA {
    /// Which figure.
    pub name: &'static str,
    /// Which accounts transactions take.
    pub places: Places,
}

/// A line of the paper's tables: accounts in units of 1,024, then RVM, RRVM-ETHER and RRVM-FDDI in transactions per second.
type Line = (u64, [f64; 3]);

const SEQUENTIAL: [Line; 4] = [
    (32, [44.24, 203.0, 262.0]),
    (128, [44.41, 201.0, 261.0]),
    (512, [44.35, 199.0, 260.0]),
    (1024, [31.08, 193.0, 250.0]),
];
const RANDOM: [Line; 4] =
    [(32, [43.2, 182.0, 230.0]), (128, [40.4, 144.0, 171.0]), (512, [41.6, 89.0, 96.0]), (1024, [21.6, 53.0, 67.0])];
const LOCALIZED: [Line; 4] =
    [(32, [43.4, 186.0, 239.0]), (128, [41.8, 159.0, 197.0]), (512, [41.9, 127.0, 154.0]), (1024, [28.7, 84.0, 93.0])];

impl TpcA {
    fn told(&self) -> ([Line; 4], &'static str) {
        match self.places {
            Places::Sequential => (SEQUENTIAL, "sequential"),
            Places::Random => (RANDOM, "random"),
            Places::Localized => (LOCALIZED, "localized"),
        }
    }
}

impl Experiment for TpcA {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        match self.places {
            Places::Sequential => "TPC-A, sequential accesses, by accounts",
            Places::Random => "TPC-A, random accesses",
            Places::Localized => "TPC-A, localized accesses",
        }
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let scale = laboratory.scale;
        let (lines, words) = self.told();
        let told = |accounts: u64| lines.iter().find(|(told, _)| *told == accounts).map(|(_, figures)| figures);
        let values = scale.accounts.iter().map(|&accounts| accounts as f64).collect();
        let columns = Columns::Numbers { unit: "Ki accounts", values };
        let source = format!("{SOURCE}, {}; beside RRVM k=1 its RRVM-FDDI", self.name);
        let title = format!("TPC-A, {words} accesses, log of 8 MiB");
        let mut table = Table::of_rates(&title, &source, "transactions per second", columns);
        let mut wanted = Vec::new();
        for system in System::all(scale.disks) {
            for (column, &accounts) in scale.accounts.iter().enumerate() {
                let paper = told(accounts).and_then(|[rvm, _, fddi]| system.paper([Some(*rvm), Some(*fddi)]));
                let data = Data::Accounts { accounts: accounts << 10 };
                let turn = Turn { system, log_bytes: LOG_BYTES, data, places: self.places, seed: 0 };
                wanted.push((Point { column, row: system.to_string(), paper }, turn));
            }
        }
        laboratory.one_client(self.name, &mut table, wanted)?;
        for (column, &accounts) in scale.accounts.iter().enumerate() {
            table.tell(column, "the paper's RRVM-ETHER", told(accounts).map(|[_, ethernet, _]| *ethernet));
        }
        let gain = |(accounts, [rvm, _, fddi]): Line| format!("{}x at {accounts} Ki accounts", short(fddi / rvm));
        let [fewest, .., most] = lines;
        let gains = format!("the paper's RRVM-FDDI over its RVM: {}, {}", gain(fewest), gain(most));
        note_gains(&mut table, scale.disks, &gains);
        table.notes.push(
            "the paper's log and data were on two disks; here both are on one, and the data is in memory at every size"
                .to_owned(),
        );
        Ok(vec![table])
    }
}
