//! Kills a stock Python that commits through the extension at random points, and looks whether every acknowledged commit is back.
//!
//! `cargo run --release -p sqlite_extension --example kills -- [kills] [seed]`. Two memory servers run as processes of their own. Of three kills
//! one is a loss of power as well: of what was written since the database was opened, which was never synced, any half is gone, and so is what no
//! sync of the local log has covered: those commits come back from remote memory alone.

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/stock/harness.rs"]
mod harness;

use harness::{SERVE, Served, Writer, ask, lose_unsynced, snapshot, uri};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const JOURNALS: [&str; 4] = ["wal", "delete", "truncate", "persist"];
/// Commits that a writer may make before it is killed.
const COMMITS: u64 = 1_000_000;
/// How long a writer lives at most after its first commit.
const LIFE_US_MAX: u64 = 60_000;
const PROGRESS: Duration = Duration::from_secs(10);

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

fn main() -> ExitCode {
    if let Ok(words) = std::env::var(SERVE) {
        harness::serve(&words);
        return ExitCode::SUCCESS;
    }
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let (kills, seed) = (words.next().unwrap_or(1_000), words.next().unwrap_or(1));
    let Some(python) = harness::python() else {
        eprintln!("kills: no Python here has an sqlite3 that loads extensions");
        return ExitCode::FAILURE;
    };
    let mut random = Random(seed);
    let (begun, mut told) = (Instant::now(), Instant::now());
    let (mut acknowledged, mut losses_of_power, mut extra) = (0, 0, 0);
    let servers = Served::some(child, 2);
    for (index, journal) in JOURNALS.into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("db");
        let mut last = 0;
        // The number of the present run of the kernel, as far as the log knows.
        let mut boot = 1;
        for kill in (index as u64..kills).step_by(JOURNALS.len()) {
            let open = uri(&database, &servers, &format!("&boot={boot}"));
            let is_power = random.below(3) == 0;
            // With commits of the disk a loss of power loses nothing but what was under way.
            let mut writer = Writer::start(python, &open, journal, is_power);
            writer.order(COMMITS);
            let first = writer.line().and_then(|line| line.parse().ok()).expect("a commit");
            assert!(first == last + 1, "commit {first} follows {last}");
            let before = is_power.then(|| snapshot(&database));
            std::thread::sleep(Duration::from_micros(random.below(LIFE_US_MAX)));
            let known = writer.kill(first);
            if let Some(files) = before {
                files.tear(|| random.below(2) == 0).expect("a disk");
                lose_unsynced(&database);
                boot += 1;
                losses_of_power += 1;
            }
            let open = uri(&database, &servers, &format!("&boot={boot}"));
            let found = ask(
                &open,
                "SELECT max(number) || ' ' || count(*) FROM entry; SELECT sum(balance) FROM account; PRAGMA integrity_check;",
            );
            let lines: Vec<&str> = found.lines().collect();
            let (end, count) = lines[0].split_once(' ').expect("two numbers");
            let (end, count): (u64, u64) = (end.parse().expect("a number"), count.parse().expect("a number"));
            let is_whole = end == count && lines[2..] == ["ok"];
            if end < known || !is_whole {
                println!("kill {kill} ({journal}, loss of power: {is_power}): {known} acknowledged, found {found}");
                println!("again: cargo run --release -p sqlite_extension --example kills -- {kills} {seed}");
                return ExitCode::FAILURE;
            }
            acknowledged += known - last;
            extra += end - known;
            last = end;
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                println!(
                    "{journal}: kill {kill} of {kills}, {acknowledged} commits, {:.0} s",
                    begun.elapsed().as_secs_f64()
                );
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
