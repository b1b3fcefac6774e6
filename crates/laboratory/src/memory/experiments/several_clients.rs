//! One to four clients at a time: each with a server of its own on one network (figures 5 and 6), or all with one server (figures 7 and 8); blocks of
//! 32 bytes and of 2 Kbytes.
//!
//! Sections 3.5 and 3.6. Figures 5 and 6 tell what each client comes to. Of figures 7 and 8 the text tells what all of them come to together, and so does
//! our table.

use super::Experiment;
use crate::memory::client::{Data, Places, Ran, Turn};
use crate::memory::hosts::Hosts;
use crate::memory::laboratory::{Laboratory, Point, Receipts, SOURCE, note_gains};
use crate::memory::limits::{LOG_BYTES, PAIRS_MAX};
use crate::memory::processes::together;
use crate::memory::system::System;
use laboratory_harness::Outcome;
use laboratory_harness::report::{Columns, Table};

/// See the module's description.
pub struct SeveralClients {
    /// Which figure.
    pub name: &'static str,
    /// Bytes of a transaction.
    pub block_bytes: u64,
    /// All clients have one server, instead of one each.
    pub one_server: bool,
}

const PAIRS: &str = "the paper: RRVM-ETHERNET falls from close to 500 to close to 150, RRVM-FDDI is \"practically constant\", and so is RVM; with four pairs \
                     RRVM-ETHERNET has 3 to 4 times RVM's, RRVM-FDDI 5 to 7 times (section 5)";
const PAIRS_LARGE: &str = "the paper's numbers are not in the text, which says: RRVM-FDDI stays the same, RRVM-ETHERNET falls and stays \"much \
                           better\" than RVM";
const SERVER: &str = "the paper, all clients together, both block sizes: RRVM-FDDI 712 to 1,076, RRVM-ETHERNET 352 to 544, RVM at most 128";

impl SeveralClients {
    /// What the text says of RVM, RRVM-FDDI and RRVM-ETHERNET with so many clients.
    fn told(&self, clients: usize) -> [Option<f64>; 3] {
        match (self.one_server, self.block_bytes, clients) {
            // With FDDI that is said in section 3.2.
            (false, 32, 1) => [None, Some(500.0), Some(500.0)],
            (false, 32, 4) => [None, None, Some(150.0)],
            // At most, and at either size.
            (true, 32, 4) => [Some(128.0), None, None],
            _ => [None; 3],
        }
    }
}

impl Experiment for SeveralClients {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        match (self.one_server, self.block_bytes) {
            (false, 32) => "1 to 4 pairs of client and server on one network, blocks of 32 bytes",
            (false, _) => "1 to 4 pairs of client and server on one network, blocks of 2 Kbytes",
            (true, 32) => "1 to 4 clients of one server, blocks of 32 bytes",
            (true, _) => "1 to 4 clients of one server, blocks of 2 Kbytes",
        }
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let scale = laboratory.scale;
        let values = scale.clients.iter().map(|&clients| clients as f64).collect();
        let columns = Columns::Numbers { unit: "at a time", values };
        let (title, unit) = match self.one_server {
            false => ("each with a server of its own", "transactions per second of each client"),
            true => ("all with one server", "transactions per second of all clients"),
        };
        let title = format!("Clients at a time, {title}; blocks of {} bytes, sequential", self.block_bytes);
        let source = format!("{SOURCE}, {}; beside RRVM k=1 its RRVM-FDDI", self.name);
        let mut table = Table::of_rates(&title, &source, unit, columns);
        let systems = System::with_one_server(scale.shared_disks);
        let wanted: Vec<(usize, System)> =
            systems.iter().flat_map(|&system| (0..scale.clients.len()).map(move |column| (column, system))).collect();
        let point = |&(column, system): &(usize, System)| {
            let [rvm, fddi, _] = self.told(scale.clients[column]);
            Point { column, row: system.to_string(), paper: system.paper([rvm, fddi]) }
        };

        let (folder, hosts) = (laboratory.folder()?, Hosts::new(2 * PAIRS_MAX));
        let most = scale.clients.iter().copied().max().unwrap_or(1).min(PAIRS_MAX);
        let servers = if self.one_server { 1 } else { most };
        let served = laboratory.servers(&hosts, (0..servers).map(|index| PAIRS_MAX + index))?;
        let client = |index: usize| {
            let server = served[index % servers].address;
            laboratory.client(&hosts, index, folder.path(), vec![server])
        };
        let mut clients = (0..most).map(client).collect::<Outcome<Vec<_>>>()?;
        let mut receipts = Receipts::default();
        let points = wanted.iter().map(point).collect();
        laboratory.fill(self.name, &mut table, points, folder.path(), &hosts, |index, round| {
            let (column, system) = wanted[index];
            let count = scale.clients[column].min(most);
            let data = Data::Blocks { block_bytes: self.block_bytes, data_bytes: scale.data_bytes };
            let turn = Turn { system, log_bytes: LOG_BYTES, data, places: Places::Sequential, seed: round.into() };
            let ran = together(&mut clients[..count], turn, scale.turn_time)?;
            receipts.count(system, &ran);
            let all: f64 = ran.iter().map(Ran::rate).sum();
            Ok(if self.one_server { all } else { all / count as f64 })
        })?;
        receipts.note(&mut table);
        for (column, &count) in scale.clients.iter().enumerate() {
            if let [_, _, Some(ethernet)] = self.told(count) {
                table.tell(column, "the paper's RRVM-ETHERNET", Some(ethernet));
            }
        }
        let words = match (self.one_server, self.block_bytes) {
            (false, 32) => PAIRS,
            (false, _) => PAIRS_LARGE,
            (true, _) => SERVER,
        };
        note_gains(&mut table, scale.shared_disks, words);
        table.notes.push(
            "clients and servers share the processors, and clients this disk, where the paper's had a workstation each; a model's clients have a disk each"
                .to_owned(),
        );
        Ok(vec![table])
    }
}
