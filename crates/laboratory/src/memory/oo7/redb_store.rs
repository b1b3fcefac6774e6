//! An OO7 database in redb, in a process of its own.
//!
//! Invariant: a traversal that changes something is one write transaction, committed with redb's default durability; one that does not is given up,
//! which writes nothing.

use laboratory_harness::process::say;
use laboratory_harness::{Failure, Outcome};
use redb::backends::FileBackend;
use redb::{Database, ReadableTable, Table, TableDefinition};
use remote_files::FilesOptions;
use remote_redb::RemoteBackend;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use super::design::{Atomic, DOCUMENT_BEGIN, DOCUMENT_BEGIN_REPLACED, Design};
use super::orders::{Answer, STATUS, Settings};
use super::traversal::Traversal;
use crate::memory::disk::Backend;
use crate::memory::limits::MEMORY_TIME;

/// Children of an assembly, and composite parts of a base assembly: four bytes each.
const ASSEMBLIES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("assembly");
const COMPONENTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("component");
/// The root part.
const COMPOSITES: TableDefinition<'_, u32, u32> = TableDefinition::new("composite");
const DOCUMENTS: TableDefinition<'_, u32, &str> = TableDefinition::new("document");
/// Three numbers and two for each connection, four bytes each.
const ATOMICS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("atomic");
const MANUALS: TableDefinition<'_, u32, &str> = TableDefinition::new("manual");

/// Where a part's connections begin.
const HEAD_NUMBERS: usize = 3;

type Result<T> = std::result::Result<T, redb::Error>;

fn to_bytes(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn to_numbers(bytes: &[u8]) -> Vec<u32> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
    bytes.chunks(4).map(number).collect()
}

fn atomic_bytes(atomic: &Atomic) -> Vec<u8> {
    let head = [atomic.x, atomic.y, atomic.build_date].map(i32::cast_unsigned);
    to_bytes(head.into_iter().chain(atomic.connections.iter().flat_map(|&(to, length)| [to, length])))
}

/// Builds the database, and runs the traversals that lines on standard input name.
///
/// # Errors
/// Standard input or output is broken, or the database fails.
pub fn serve(settings: &Settings) -> Outcome<()> {
    match run(settings) {
        Ok(()) => Ok(()),
        Err(failure) => say(&serde_json::to_string(&Answer::Failed(failure.to_string()))?),
    }
}

fn run(settings: &Settings) -> Outcome<()> {
    let path = settings.folder.join("oo7.redb");
    let (database, backend) = if settings.servers.is_empty() {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        let backend = Backend { backend: FileBackend::new(file).map_err(Failure::foreign)?, disk: settings.disk };
        (Database::builder().create_with_backend(backend), None)
    } else {
        let copies = Some(settings.servers.len() as u8);
        let options = FilesOptions { servers: settings.servers.clone(), copies, ..FilesOptions::default() };
        let backend = RemoteBackend::open(&path, &options, Box::new(|text| eprintln!("OO7 on redb: {text}")));
        let backend = backend.map_err(Failure::foreign)?;
        (Database::builder().create_with_backend(backend.clone()), Some(backend))
    };
    let database = database.map_err(Failure::foreign)?;
    build(&database, &Design::new(&settings.parameters)).map_err(Failure::foreign)?;
    let status = || {
        let status = backend.as_ref().and_then(RemoteBackend::status);
        status.map_or_else(|| "redb".to_owned(), |status| format!("redb, {status}"))
    };
    let begun = Instant::now();
    while backend.is_some() && !status().contains("by: memory") {
        if begun.elapsed() > Duration::from_millis(MEMORY_TIME) {
            return Err(Failure::Missing(format!("after {MEMORY_TIME} ms: {}", status())));
        }
        std::thread::yield_now();
    }
    say(&serde_json::to_string(&Answer::Ready(status()))?)?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let answer = if line == STATUS {
            Answer::Ready(status())
        } else {
            let traversal: Traversal = serde_json::from_value(line.into())?;
            let begun = Instant::now();
            let count = traverse(&database, traversal).map_err(Failure::foreign)?;
            Answer::Traversed { nanoseconds: begun.elapsed().as_nanos() as u64, count }
        };
        say(&serde_json::to_string(&answer)?)?;
    }
    Ok(())
}

fn build(database: &Database, design: &Design) -> Result<()> {
    let transaction = database.begin_write()?;
    {
        let mut assemblies = transaction.open_table(ASSEMBLIES)?;
        let mut components = transaction.open_table(COMPONENTS)?;
        for (number, assembly) in (0..).zip(&design.assemblies) {
            assemblies.insert(number, &*to_bytes(assembly.children.iter().copied()))?;
            components.insert(number, &*to_bytes(assembly.components.iter().copied()))?;
        }
        let mut composites = transaction.open_table(COMPOSITES)?;
        let mut documents = transaction.open_table(DOCUMENTS)?;
        for (number, composite) in (0..).zip(&design.composites) {
            composites.insert(number, composite.root)?;
            documents.insert(number, composite.document.as_str())?;
        }
        let mut atomics = transaction.open_table(ATOMICS)?;
        for (number, atomic) in (0..).zip(&design.atomics) {
            atomics.insert(number, &*atomic_bytes(atomic))?;
        }
        transaction.open_table(MANUALS)?.insert(0, design.manual.as_str())?;
    }
    Ok(transaction.commit()?)
}

/// The tables of a traversal.
struct Tables<'a> {
    traversal: Traversal,
    assemblies: Table<'a, u32, &'static [u8]>,
    components: Table<'a, u32, &'static [u8]>,
    composites: Table<'a, u32, u32>,
    documents: Table<'a, u32, &'static str>,
    atomics: Table<'a, u32, &'static [u8]>,
}

/// Runs a traversal and commits it; returns the atomic parts visited, or the documents changed.
fn traverse(database: &Database, traversal: Traversal) -> Result<u64> {
    let transaction = database.begin_write()?;
    let count = Tables {
        traversal,
        assemblies: transaction.open_table(ASSEMBLIES)?,
        components: transaction.open_table(COMPONENTS)?,
        composites: transaction.open_table(COMPOSITES)?,
        documents: transaction.open_table(DOCUMENTS)?,
        atomics: transaction.open_table(ATOMICS)?,
    }
    .assembly(0)?;
    if traversal.is_read_only() {
        transaction.abort()?;
    } else {
        transaction.commit()?;
    }
    Ok(count)
}

/// What a row that the design has comes to.
fn numbers(table: &Table<'_, u32, &'static [u8]>, key: u32) -> Result<Vec<u32>> {
    Ok(table.get(key)?.map_or_else(Vec::new, |row| to_numbers(row.value())))
}

impl Tables<'_> {
    fn assembly(&mut self, number: u32) -> Result<u64> {
        let mut count = 0;
        for child in numbers(&self.assemblies, number)? {
            count += self.assembly(child)?;
        }
        for composite in numbers(&self.components, number)? {
            count += match self.traversal {
                Traversal::T5do => self.document(composite, DOCUMENT_BEGIN, DOCUMENT_BEGIN_REPLACED)?,
                Traversal::T5undo => self.document(composite, DOCUMENT_BEGIN_REPLACED, DOCUMENT_BEGIN)?,
                _ => self.atomics(composite)?,
            };
        }
        Ok(count)
    }

    fn document(&mut self, composite: u32, old: &str, new: &str) -> Result<u64> {
        let changed = self.documents.get(composite)?.and_then(|text| {
            let rest = text.value().strip_prefix(old)?;
            Some(format!("{new}{rest}"))
        });
        let Some(changed) = changed else { return Ok(0) };
        self.documents.insert(composite, changed.as_str())?;
        Ok(1)
    }

    /// Goes through the atomic parts of a composite part, depth first.
    fn atomics(&mut self, composite: u32) -> Result<u64> {
        let Some(root) = self.composites.get(composite)?.map(|root| root.value()) else { return Ok(0) };
        let (mut seen, mut path) = (BTreeSet::new(), vec![root]);
        while let Some(part) = path.pop() {
            if !seen.insert(part) {
                continue;
            }
            let mut atomic = numbers(&self.atomics, part)?;
            for _ in 0..self.traversal.changes(part == root) {
                atomic.swap(0, 1);
                self.atomics.insert(part, &*to_bytes(atomic.iter().copied()))?;
            }
            if self.traversal == Traversal::T6 {
                break;
            }
            path.extend(atomic[HEAD_NUMBERS..].chunks(2).rev().map(|connection| connection[0]));
        }
        Ok(seen.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::oo7::design::Parameters;
    use redb::backends::InMemoryBackend;

    /// If this fails, a traversal does another thing than the OO7 paper's, or leaves the database in another state for the next round.
    #[test]
    fn traversals_change_what_they_should() {
        let parameters = Parameters::SMALLEST;
        let design = Design::new(&parameters);
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).expect("memory");
        build(&database, &design).expect("memory");
        let part = |number: u32| {
            let transaction = database.begin_write().expect("memory");
            let table = transaction.open_table(ATOMICS).expect("it is there");
            numbers(&table, number).expect("memory")[..2].to_vec()
        };
        let run = |traversal| traverse(&database, traversal).expect("memory");
        let all = parameters.visits() * u64::from(parameters.atomics);
        assert_eq!([Traversal::T1, Traversal::T2c, Traversal::T6].map(run), [all, all, parameters.visits()]);
        let visited = &design.assemblies[1].components;
        let root = design.composites[visited[0] as usize].root;
        let [x, y] = [design.atomics[root as usize].x, design.atomics[root as usize].y].map(i32::cast_unsigned);
        assert_eq!(part(root), [x, y], "four changes are none");
        let mut distinct: Vec<u32> =
            design.assemblies.iter().flat_map(|assembly| assembly.components.iter().copied()).collect();
        let times = distinct.iter().filter(|&&composite| composite == visited[0]).count();
        run(Traversal::T2a);
        assert_eq!(part(root), if times % 2 == 1 { [y, x] } else { [x, y] });
        distinct.sort_unstable();
        distinct.dedup();
        let documents = distinct.len() as u64;
        let replaced = [Traversal::T5do, Traversal::T5do, Traversal::T5undo].map(run);
        assert_eq!(replaced, [documents, 0, documents]);
    }
}
