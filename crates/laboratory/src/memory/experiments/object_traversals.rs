//! OO7 on SQLite and on redb, with commits that wait for the disk and with commits that wait for memory servers (figure 12).
//!
//! Section 3.8: the paper's storage manager is EXODUS. Of the plot the text says that REX, its version over network memory, is faster in all
//! traversals, and over FDDI "sometimes more than 3 times", with t5do and t6 as examples. A traversal is one transaction with one commit, so most of
//! its time is the database's own.

use super::Experiment;
use crate::memory::disk::Disk;
use crate::memory::hosts::Hosts;
use crate::memory::laboratory::{Laboratory, Point, SOURCE};
use crate::memory::limits::COPIES_MAX;
use crate::memory::oo7::orders::Settings;
use crate::memory::oo7::store::{Store, start_redb, start_sqlite};
use crate::memory::oo7::traversal::Traversal;
use laboratory_harness::figure::short;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};
use std::net::SocketAddr;
use std::path::Path;

/// See the module's description.
pub struct ObjectTraversals;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    Sqlite,
    Redb,
}

/// A database, and what its commits wait for: so many servers, or a disk.
#[derive(Clone, Copy, Debug)]
struct Kind {
    library: Library,
    copies: u8,
    disk: Disk,
}

impl Kind {
    fn name(self) -> String {
        let library = match self.library {
            Library::Sqlite => "SQLite",
            Library::Redb => "redb",
        };
        match self.copies {
            0 => format!("{library}, {}", self.disk),
            copies => format!("{library}, memory k={copies}"),
        }
    }

    fn all(disks: &[Disk]) -> Vec<Kind> {
        let of = |library, copies, disk| Kind { library, copies, disk };
        let on_disks = disks.iter().map(|&disk| of(Library::Redb, 0, disk));
        let in_memory = |library| (1..=COPIES_MAX).map(move |copies| of(library, copies, Disk::This));
        let sqlite = [of(Library::Sqlite, 0, Disk::This)].into_iter().chain(in_memory(Library::Sqlite));
        sqlite.chain(on_disks).chain(in_memory(Library::Redb)).collect()
    }

    fn start(self, laboratory: &Laboratory, hosts: &Hosts, folder: &Path, servers: &[SocketAddr]) -> Outcome<Store> {
        let servers = &servers[..usize::from(self.copies)];
        match self.library {
            Library::Sqlite => start_sqlite(laboratory, hosts, 0, folder, servers),
            Library::Redb => {
                let (folder, servers) = (folder.to_path_buf(), servers.to_vec());
                let settings = Settings { folder, servers, disk: self.disk, parameters: laboratory.scale.design };
                start_redb(laboratory, hosts, 0, settings)
            }
        }
    }
}

/// A database that runs, or why it does not.
type Started = std::result::Result<Store, String>;

impl Experiment for ObjectTraversals {
    fn name(&self) -> &'static str {
        "figure12"
    }

    fn about(&self) -> &'static str {
        "OO7 on SQLite and redb, with and without network memory"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let servers = usize::from(COPIES_MAX);
        let (folder, hosts) = (laboratory.folder()?, Hosts::new(1 + servers));
        let served = laboratory.servers(&hosts, 1..=servers)?;
        let addresses: Vec<_> = served.iter().map(|server| server.address).collect();
        let kinds = Kind::all(laboratory.scale.disks);
        let start = |(number, kind): (usize, &Kind)| -> Started {
            let folder = folder.path().join(format!("database-{number}"));
            kind.start(laboratory, &hosts, &folder, &addresses).map_err(|failure| failure.to_string())
        };
        eprintln!("{}: building {} databases", self.name(), kinds.len());
        let mut stores: Vec<Started> = kinds.iter().enumerate().map(start).collect();

        let names = Traversal::MEASURED.map(|traversal| traversal.to_string());
        let columns = Columns::Names(names.to_vec());
        let parameters = laboratory.scale.design;
        let title = format!(
            "OO7, {} atomic parts, a transaction for each traversal",
            parameters.composites * parameters.atomics
        );
        let mut table = Table::new(&title, &format!("{SOURCE}, {}", self.name()), columns);
        table.unit = "milliseconds";
        let count = names.len();
        let point = |index: usize| Point { column: index % count, row: kinds[index / count].name(), paper: None };
        let points = (0..kinds.len() * count).map(point).collect();
        let mut counts = [None; Traversal::MEASURED.len()];
        laboratory.fill(self.name(), &mut table, points, folder.path(), &hosts, |index, _| {
            let (column, traversal) = (index % count, Traversal::MEASURED[index % count]);
            let store = stores[index / count].as_mut().map_err(|reason| Failure::Missing(reason.clone()))?;
            let (milliseconds, parts) = store.run(traversal)?;
            if let Some(undo) = traversal.undone_by() {
                store.run(undo)?;
            }
            match counts[column].replace(parts) {
                Some(others) if others != parts => {
                    Err(Failure::Wrong(format!("{traversal} has come to {parts} parts, and elsewhere to {others}")))
                }
                _ => Ok(milliseconds),
            }
        })?;
        note(&mut table, &kinds, &mut stores, &counts);
        Ok(vec![table])
    }
}

/// Notes what the figures are of, and what network memory gains.
fn note(table: &mut Table, kinds: &[Kind], stores: &mut [Started], counts: &[Option<u64>]) {
    let counted =
        Traversal::MEASURED.iter().zip(counts).filter_map(|(name, count)| Some(format!("{name} {}", (*count)?)));
    let parts = counted.collect::<Vec<_>>().join(", ");
    table.notes.push(format!(
        "atomic parts visited (T5do: documents changed): {parts}; caches are warm, undoing T5do is not counted"
    ));
    for kind in kinds.iter().filter(|kind| kind.copies == 0) {
        let (on_disk, in_memory) = (kind.name(), Kind { copies: 1, ..*kind }.name());
        let names = table.columns.names();
        let gain = |column: usize| {
            let ratio = table.median(&on_disk, column)? / table.median(&in_memory, column)?;
            Some(format!("{} {}x", names[column], short(ratio)))
        };
        let gains: Vec<_> = (0..names.len()).filter_map(gain).collect();
        if !gains.is_empty() {
            table.notes.push(format!("{in_memory} over {on_disk}: {}", gains.join(", ")));
        }
    }
    table.notes.push(
        "the paper's numbers are not in the text, which says: REX-FDDI \"sometimes more than 3 times faster\" than EXODUS (t5do, t6), faster in all cases"
            .to_owned(),
    );
    table.notes.push(
        "SQLite is the stock library in a stock Python, in WAL mode with synchronous=FULL, and on this disk only: its syncs cannot be lengthened"
            .to_owned(),
    );
    for (kind, store) in kinds.iter().zip(stores).filter(|(kind, _)| kind.copies > 0) {
        // One that has failed has told why in its row.
        if let Ok(status) = store.as_mut().map_or_else(|reason| Err(Failure::Missing(reason.clone())), Store::status) {
            table.notes.push(format!("{}: {status}", kind.name()));
        }
    }
}
