//! Kills a process again and again while it books, and looks at the books: `cargo run --release -p recoverable_memory --example memory_kills
//! -- [kills] [folder]`.
//!
//! The process that is killed is this program itself, started with the word `book`. It tells of each booking that is durable. After
//! each kill nothing that it told may be missing, and accounts, tellers and branches must have equal sums.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use recoverable_memory::load::{AccessPattern, DebitCreditLoad, LoadSettings, LoadWork};
use recoverable_memory::{CommitMode, Durability, Memory, RecoverableMemoryOptions};

/// A small log, so that many a kill hits a truncation.
const LOG_BYTES: u64 = 64 << 10;
const SETTINGS: LoadSettings = LoadSettings {
    work: LoadWork::TpcA { accounts: 10_000 },
    pattern: AccessPattern::Random,
    commit: CommitMode::NoFlush,
    restore: true,
    seed: 1,
};
/// A process lives at most so long after its first word.
const LIFE_US_MAX: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, folder] = arguments.as_slice()
        && word == "book"
    {
        return book(Path::new(folder));
    }
    let kills: u64 = arguments.first().map_or(Ok(1000), |text| text.parse())?;
    let temporary = tempfile::tempdir()?;
    let folder = arguments.get(1).map_or_else(|| temporary.path().join("kills"), PathBuf::from);
    let memory = Memory::open_or_create(&folder, options())?;
    let mut booked = DebitCreditLoad::new(&memory, SETTINGS)?.transactions();
    memory.close()?;
    let (begin, mut recovered, mut records) = (Instant::now(), 0, 0);
    for kill in 1..=kills {
        let told = one_life(&folder, kill)?;
        let memory = Memory::open(&folder, options())?;
        let load = DebitCreditLoad::new(&memory, SETTINGS)?;
        load.audit()?;
        if load.transactions() < told || load.transactions() < booked {
            return Err(format!("kill {kill}: {told} bookings were told, {} are there", load.transactions()).into());
        }
        booked = load.transactions();
        recovered += memory.recovered().transactions;
        records += memory.recovered().records;
        if kill % 100 == 0 {
            println!("{kill} kills, {booked} bookings, {:.0} s", begin.elapsed().as_secs_f64());
        }
    }
    println!(
        "{kills} kills: {booked} bookings, nothing acknowledged is lost, the books balance; \
         {recovered} bookings in {records} records were brought back from logs"
    );
    Ok(())
}

fn options() -> RecoverableMemoryOptions {
    RecoverableMemoryOptions { log_bytes: LOG_BYTES, ..RecoverableMemoryOptions::default() }
}

/// Starts a process, kills it at some moment, and returns how many bookings it has told of as durable.
fn one_life(folder: &Path, kill: u64) -> Result<u64, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.arg("book").arg(folder).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("the process has no output")?);
    let mut told = String::new();
    let first = lines.read_line(&mut told)?;
    // Spread evenly over a life, without a pattern.
    let life = Duration::from_micros(kill.wrapping_mul(0x9e37_79b9_7f4a_7c15) % LIFE_US_MAX);
    let begin = Instant::now();
    while begin.elapsed() < life {
        std::hint::spin_loop();
    }
    child.kill()?;
    child.wait()?;
    if first == 0 {
        return Err("the process died by itself".into());
    }
    lines.read_to_string(&mut told)?;
    let whole = &told[..told.rfind('\n').map_or(0, |end| end + 1)];
    Ok(whole.lines().last().unwrap_or("0").parse()?)
}

fn book(folder: &Path) -> Result<(), Box<dyn Error>> {
    let memory = Memory::open(folder, options())?;
    let mut load = DebitCreditLoad::new(&memory, SETTINGS)?;
    let mut output = std::io::stdout().lock();
    loop {
        // Some that are flushed together, told when they are durable.
        for _ in 0..1 + load.transactions() % 5 {
            load.transaction(&memory)?;
        }
        memory.flush(Durability::Disk)?;
        writeln!(output, "{}", load.transactions())?;
    }
}
