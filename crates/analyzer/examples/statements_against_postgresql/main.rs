//! Holds analysis against PostgreSQL 15: each statement of its regression suite that reads or changes rows is described there and here.
//!
//! `cargo run -p analyzer --example statements_against_postgresql -- FOLDER [FILE..]`: FOLDER is PostgreSQL's source. A server of its own is started, if PostgreSQL 15 is
//! installed. Each file of the suite is played in a database of its own. Before a statement is executed, PostgreSQL parses and describes it, and names, types and modifiers
//! of the columns, types of the parameters, or SQLSTATE, message, detail, hint and place of the error are compared with ours.
//!
//! What differs must stand in `statements.txt`, which may only shrink; with `BLESS=1` in the environment it is written anew.
#![expect(clippy::disallowed_methods, reason = "only the crate is pure; this program measures time")]

#[path = "../../tests/support/mod.rs"]
mod support;

mod compare;
mod objects;
mod play;
mod rows;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use compare_queries::regression::Suite;
use play::Player;
use support::server::Server;
use support::throwaway::Throwaway;

/// What was found so far.
#[derive(Default, Clone, Copy)]
pub struct Counts {
    /// The same columns and parameters.
    pub described: usize,
    /// The same error.
    pub refused: usize,
    /// A literal that PostgreSQL cannot read as its type, which is not this crate's to say.
    pub literals: usize,
    /// Something that is not built yet.
    pub not_built: usize,
    /// Anything else.
    pub differ: usize,
    /// Trees in which types do not follow from their parts.
    pub faults: usize,
    /// SELECTs that were timed.
    pub timed: usize,
    /// Nanoseconds that they took.
    pub time_ns: u128,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.described += other.described;
        self.refused += other.refused;
        self.literals += other.literals;
        self.not_built += other.not_built;
        self.differ += other.differ;
        self.faults += other.faults;
        self.timed += other.timed;
        self.time_ns += other.time_ns;
    }

    fn told(&self) -> String {
        format!(
            "{} described alike, {} refused alike, {} literals, {} not built, {} differ, {} faults",
            self.described, self.refused, self.literals, self.not_built, self.differ, self.faults
        )
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Analysis recurses as deep as a statement does.
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(|| run().map_err(|error| error.to_string()))?
        .join()
        .map_err(|_| "it has failed")??;
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: statements_against_postgresql FOLDER [FILE..]")?;
    let wanted: Vec<String> = arguments.collect();
    let suite = Suite::below(Path::new(&folder))?;
    let Some(throwaway) = Throwaway::start() else { return Ok(()) };
    let mut admin = Server::connect(&throwaway.address, "raid")?;
    admin.rows("create database prepared template template0")?;
    let mut differences = BTreeSet::new();
    {
        let mut player = Player::open(&throwaway.address, "prepared", &suite)?;
        player.play(&suite.text("test_setup")?, None)?;
    }
    let files = if wanted.is_empty() { suite.files()? } else { wanted.clone() };
    let mut all = Counts::default();
    for file in &files {
        // Files that make or drop roles and databases for all others, or wait for hours.
        if matches!(file.as_str(), "tablespace" | "database" | "infinite_recurse") {
            continue;
        }
        let database = format!("suite_{file}");
        admin.rows(&format!("create database \"{database}\" template prepared"))?;
        let mut counts = Counts::default();
        let mut player = Player::open(&throwaway.address, &database, &suite)?;
        for needed in Suite::needed(file) {
            player.play(&suite.text(needed)?, None)?;
        }
        player.play(&suite.text(file)?, Some((file, &mut counts, &mut differences)))?;
        drop(player);
        admin.run(&format!("drop database \"{database}\" with (force)"), "")?;
        println!("{file}: {}", counts.told());
        all.add(counts);
    }
    println!("{} files: {}", files.len(), all.told());
    if all.timed > 0 {
        println!("{} SELECTs analyzed, {} microseconds each", all.timed, all.time_ns / 1000 / all.timed as u128);
    }
    settle(&differences, wanted.is_empty())
}

/// Holds the differences against those that are known.
fn settle(differences: &BTreeSet<String>, whole: bool) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("statements.txt");
    if std::env::var_os("BLESS").is_some() && whole {
        let lines: String = differences.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines)?;
        return Ok(());
    }
    let known: BTreeSet<String> =
        std::fs::read_to_string(&path).unwrap_or_default().lines().map(str::to_string).collect();
    let mut new = 0;
    for line in differences.difference(&known) {
        new += 1;
        println!("new: {line}");
    }
    if whole {
        for line in known.difference(differences) {
            println!("gone, take it out of statements.txt: {line}");
        }
    }
    if new == 0 { Ok(()) } else { Err("there are differences that statements.txt does not have".into()) }
}
