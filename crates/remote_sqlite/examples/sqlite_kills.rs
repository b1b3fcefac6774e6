//! Kills a stock Python that commits through the extension at random points, and looks whether every acknowledged commit is back.
//!
//! `cargo run --release -p remote_sqlite --example sqlite_kills -- [kills] [seed]`. Two memory servers run as processes of their own. Of three kills
//! one is a loss of power as well: of what was written since the database was opened, which was never synced, any half is gone, and so is what no
//! sync of the local log has covered: those commits come back from remote memory alone.

use raid_sqlite::stock::{self, MemoryServerProcess, PythonWriter, SERVE, ask, lose_unsynced, snapshot, uri};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const JOURNALS: [&str; 4] = ["wal", "delete", "truncate", "persist"];
/// Commits that a writer may make before it is killed.
const COMMITS: u64 = 1_000_000;
/// Acknowledged commits that are waited for at most before it is.
const SEEN_MAX: u64 = 100;
const PROGRESS: Duration = Duration::from_secs(10);
const FOUND: &str =
    "SELECT max(number) || ' ' || count(*) FROM entry; SELECT sum(balance) FROM account; PRAGMA integrity_check;";

/// SplitMix64 (G. Steele and others, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn child() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

/// One database, which is killed again and again.
struct Victim<'a> {
    python: &'a str,
    servers: &'a [MemoryServerProcess],
    database: &'a Path,
    journal: &'a str,
    /// The number of the present run of the kernel, as far as the log knows.
    boot: u64,
    /// The last commit that was found.
    last: u64,
}

/// What came of one kill.
struct Outcome {
    is_power: bool,
    /// The last commit that was acknowledged, and the last one that was found.
    known: u64,
    found: u64,
    /// What is wrong, if anything is.
    wrong: Option<String>,
}

impl Victim<'_> {
    fn uri(&self) -> String {
        uri(self.database, self.servers, &format!("&boot={}", self.boot))
    }

    fn kill(&mut self, random: &mut Random) -> Outcome {
        let is_power = random.below(3) == 0;
        // With commits of the disk a loss of power loses nothing but what was under way.
        let mut writer = PythonWriter::start(self.python, &self.uri(), self.journal, is_power);
        writer.order(COMMITS);
        let first = writer.line().and_then(|line| line.parse().ok()).expect("a commit");
        assert!(first == self.last + 1, "commit {first} follows {}", self.last);
        let before = is_power.then(|| snapshot(self.database));
        let (begun, seen) = (Instant::now(), 1 + random.below(SEEN_MAX));
        let last = (0..seen).map(|_| writer.line().and_then(|line| line.parse().ok()).expect("a commit")).last();
        // At any moment of the next commit.
        let (now, commit) = (Instant::now(), begun.elapsed() / seen as u32);
        while now.elapsed() < commit.mul_f64(random.below(1_000) as f64 / 1e3) {
            std::hint::spin_loop();
        }
        let known = writer.kill(last.unwrap_or(first));
        if let Some(files) = before {
            files.tear(|| random.below(2) == 0).expect("a disk");
            lose_unsynced(self.database);
            self.boot += 1;
        }
        let said = ask(&self.uri(), FOUND);
        let lines: Vec<&str> = said.lines().collect();
        let (end, count) = lines[0].split_once(' ').expect("two numbers");
        let (found, count): (u64, u64) = (end.parse().expect("a number"), count.parse().expect("a number"));
        self.last = found;
        let is_right = found >= known && found == count && lines[1..] == ["0", "ok"];
        Outcome { is_power, known, found, wrong: (!is_right).then_some(said) }
    }
}

fn main() -> ExitCode {
    if let Ok(words) = std::env::var(SERVE) {
        stock::serve(&words);
        return ExitCode::SUCCESS;
    }
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let (kills, seed) = (words.next().unwrap_or(1_000), words.next().unwrap_or(1));
    let Some(python) = stock::python() else {
        eprintln!("kills: no Python here has an sqlite3 that loads extensions");
        return ExitCode::FAILURE;
    };
    let mut random = Random(seed);
    let (begun, mut told) = (Instant::now(), Instant::now());
    let (mut acknowledged, mut losses_of_power, mut extra) = (0, 0, 0);
    let servers = MemoryServerProcess::some(child, 2);
    for (index, journal) in JOURNALS.into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("db");
        let mut victim = Victim { python, servers: &servers, database: &database, journal, boot: 1, last: 0 };
        for kill in (index as u64..kills).step_by(JOURNALS.len()) {
            let last = victim.last;
            let Outcome { is_power, known, found, wrong } = victim.kill(&mut random);
            if let Some(said) = wrong {
                println!("kill {kill} ({journal}, loss of power: {is_power}): {known} acknowledged, found {said}");
                println!("again: cargo run --release -p remote_sqlite --example sqlite_kills -- {kills} {seed}");
                return ExitCode::FAILURE;
            }
            acknowledged += known - last;
            extra += found - known;
            losses_of_power += u64::from(is_power);
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                let seconds = begun.elapsed().as_secs_f64();
                println!("{journal}: kill {kill} of {kills}, {acknowledged} commits, {seconds:.0} s");
            }
        }
    }
    println!(
        "{kills} kills, {losses_of_power} of them with a loss of power: all of {acknowledged} acknowledged commits were back, and {extra} \
         that were under way; {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
