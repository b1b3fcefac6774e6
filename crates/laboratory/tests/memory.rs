//! Every figure in its smallest form. The program starts itself again, so it has no test harness around it.

use laboratory::memory::disk::Disk;
use laboratory::memory::experiments::ALL;
use laboratory::memory::laboratory::Laboratory;
use laboratory::memory::scale::SMALLEST;
use laboratory::memory::system::System;
use laboratory::memory::{Failure, Options, Program, job, run};
use laboratory_harness::plot::draw;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::rounds::Rounds;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const JOB: &str = "--job";

fn program() -> Program {
    Program { path: std::env::current_exe().expect("this program has a file"), arguments: vec![JOB.into()] }
}

/// Cargo puts the extension beside the tests.
fn remote_sqlite() -> std::path::PathBuf {
    program().path.with_file_name("libraid_sqlite.so")
}

fn laboratory(folder: &Path, sqlite_extension: &Path, stop: Arc<AtomicBool>) -> Laboratory {
    Laboratory {
        program: program(),
        rounds: Rounds::new(1, stop),
        scale: SMALLEST,
        folder: folder.to_path_buf(),
        sqlite_extension: sqlite_extension.to_path_buf(),
    }
}

/// A table without figures of what was to be measured, or without what they depend on, tells nothing.
fn check_table(table: &Table, is_paper_row: impl Fn(&str) -> bool) {
    let rows: Vec<_> = table.rows.iter().filter(|row| !is_paper_row(&row.name)).collect();
    assert!(rows.len() >= 2, "{table}");
    for row in rows {
        let positive = |cell: &laboratory_harness::report::Cell| cell.ours.is_some_and(|ours| ours.median > 0.0);
        assert!(row.cells.iter().all(positive), "{}: {table}", row.name);
    }
    let text = table.to_string();
    for words in ["a sync of this disk took", "99th percentile", "processors for all of it", "clients and servers"] {
        assert!(text.contains(words), "no `{words}`: {text}");
    }
    check_plot(&draw(table, "a machine"));
}

/// Every element ends, in the order in which they began; all attributes have quotes.
fn check_plot(plot: &str) {
    let mut open = Vec::new();
    for tag in plot.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {tag}"));
        assert!(!text.contains('>') && tag.matches('\'').count() % 2 == 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{plot}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && plot.starts_with("<svg xmlns="), "{open:?}: {plot}");
}

/// If this fails, a figure of recoverable memory lacks a system or a point, or the model of a slow disk is passed by.
fn figures_of_recoverable_memory_are_complete(laboratory: &Laboratory) {
    for experiment in ALL.iter().filter(|experiment| experiment.name() != "figure12") {
        let tables = experiment.run(laboratory).expect("an experiment");
        assert_eq!(tables.len(), 1);
        let table = &tables[0];
        check_table(table, |row| row.starts_with("the paper's"));
        let Columns::Numbers { values, .. } = &table.columns else { panic!("points over numbers: {table}") };
        let disk = Disk::Model(4);
        let each = disk.rate_max().expect("a model has a rate");
        for (column, clients) in values.iter().enumerate() {
            let clients = if table.unit.contains("all clients") { *clients } else { 1.0 };
            let rate = table.median(&System::rvm(disk).to_string(), column).expect("it was measured");
            assert!(rate <= each * clients, "each commit waits for a sync of 4 ms: {table}");
        }
        assert!(table.notes.iter().any(|note| note.starts_with("RRVM k=1 over RVM, ")), "{table}");
    }
}

/// If this fails, databases do not come to the same traversals, or one that cannot be had takes the others' figures with it.
fn traversals_of_databases_are_complete(laboratory: &Laboratory) {
    let figure = ALL.iter().find(|experiment| experiment.name() == "figure12").expect("it is there");
    let table = figure.run(laboratory).expect("an experiment").remove(0);
    if table.notes.iter().any(|note| note.contains("there is no Python 3 whose sqlite3 module loads extensions")) {
        println!("figures: no Python that loads extensions; SQLite is left out");
        check_table(&table, |row| row.starts_with("SQLite"));
        return;
    }
    check_table(&table, |_| false);
    let visits = SMALLEST.design.visits();
    let all = visits * u64::from(SMALLEST.design.atomics);
    let counted = format!("T1 {all}, T2a {all}, T2b {all}, T2c {all}, T5do ");
    assert!(
        table.notes.iter().any(|note| note.contains(&counted) && note.contains(&format!("T6 {visits};"))),
        "{table}"
    );
    for memory in ["SQLite, memory k=2: SQLite ", "redb, memory k=2: redb, commits are durable by: memory"] {
        assert!(table.notes.iter().any(|note| note.starts_with(memory)), "{table}");
    }
}

/// If this fails, who has no extension gets no figure at all, or is not told how to get it.
fn a_missing_extension_is_told_and_the_rest_measured(folder: &Path) {
    let nowhere = laboratory(folder, Path::new("/nowhere/libraid_sqlite.so"), Arc::default());
    let figure = ALL.iter().find(|experiment| experiment.name() == "figure12").expect("it is there");
    let table = figure.run(&nowhere).expect("an experiment").remove(0);
    assert!(
        table.rows.iter().filter(|row| row.name.starts_with("redb")).all(|row| row.cells[0].ours.is_some()),
        "{table}"
    );
    assert_eq!(table.median("SQLite, memory k=1", 0), None);
    let is_told = |note: &String| note.contains("/nowhere/libraid_sqlite.so") && note.contains("cargo build");
    assert!(table.notes.iter().any(is_told) || table.notes.iter().any(|note| note.contains("Python")), "{table}");
}

/// If this fails, a run leaves no files, or not those of the figures that were asked for.
fn a_run_writes_what_it_has_measured(folder: &Path) {
    let output = folder.join("output");
    let options = Options {
        only: vec!["figure9".to_owned()],
        scale: SMALLEST,
        rounds: 2,
        data: Some(folder.to_path_buf()),
        sqlite_extension: None,
        output: Some(output.clone()),
    };
    let mut printed = String::new();
    run(&options, program(), Arc::default(), |text| printed += text).expect("a run");
    let json = std::fs::read_to_string(output.join("memory.json")).expect("a file");
    assert!(
        json.contains("\"rounds\": 2")
            && json.contains("RRVM k=2, this disk")
            && json.contains("\"faster\": \"Higher\"")
    );
    let plot = std::fs::read_to_string(output.join("figure9.svg")).expect("a file");
    check_plot(&plot);
    assert!(plot.contains("a sync of this disk took") && plot.contains("RVM, modelled 4 ms disk"), "{plot}");
    assert!(printed.contains("measuring figure9") && printed.contains("2 files written"), "{printed}");
}

/// If this fails, Ctrl-C leaves the user waiting for the rest of the rounds.
fn who_is_asked_to_stop_measures_nothing_more(folder: &Path) {
    let laboratory = laboratory(folder, &remote_sqlite(), Arc::new(AtomicBool::new(true)));
    assert!(matches!(ALL[0].run(&laboratory), Err(Failure::Stopped)));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [JOB, text] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        if let Err(failure) = job::perform(text) {
            eprintln!("{failure}");
            std::process::exit(1);
        }
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let whole = laboratory(folder.path(), &remote_sqlite(), Arc::default());
    figures_of_recoverable_memory_are_complete(&whole);
    traversals_of_databases_are_complete(&whole);
    a_missing_extension_is_told_and_the_rest_measured(folder.path());
    a_run_writes_what_it_has_measured(folder.path());
    who_is_asked_to_stop_measures_nothing_more(folder.path());
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["output"], "an experiment takes its files with it");
    println!("figures: all is well");
}
