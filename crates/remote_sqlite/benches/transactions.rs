//! One-row transactions in a second, through the stock `sqlite3` program, in WAL mode: with the extension and `synchronous=FULL` at k = 2, without it
//! and `NORMAL`, which promises less, and without it and `FULL`; in turns.
//!
//! `cargo bench -p remote_sqlite --bench transactions -- [transactions] [rounds] [folder]`. The program reads a script of so many
//! INSERT statements; opening, recovery and closing are not counted, the program's reading and its checkpoints are. Memory servers are processes
//! of their own on the loopback interface. The time of a disk sync is printed with every round.

use raid_sqlite::stock::{self, MemoryServerProcess, SERVE, extension, uri};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const NAMES: [&str; 3] = ["extension, k = 2, FULL", "stock, NORMAL", "stock, FULL"];
/// Of the last there are fewer: each takes a sync.
const FULL_PARTS: u64 = 20;

fn child() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Ok(words) = std::env::var(SERVE) {
        stock::serve(&words);
        return Ok(());
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let transactions: u64 = words.first().map_or(Ok(100_000), |word| word.parse())?;
    let rounds: usize = words.get(1).map_or(Ok(3), |word| word.parse())?;
    let temporary = tempfile::tempdir()?;
    let folder = words.get(2).map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let servers = MemoryServerProcess::some(child, 2);
    let mut rates: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds {
        println!("a disk sync takes {:.2} ms (median of 25)", sync_ms(&folder)?);
        // Each is first as often as it is last.
        for turn in 0..NAMES.len() {
            let which = (round + turn) % NAMES.len();
            let (rate, status) = measure(which, transactions, &folder, &servers)?;
            println!("{:<24}{rate:>9.0} transactions/s{status}", NAMES[which]);
            rates[which].push(rate);
        }
    }
    let medians = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    let [remote, normal, full] = medians;
    println!(
        "medians: {remote:.0}, {normal:.0}, {full:.0}: {:.2} times NORMAL, {:.1} times FULL",
        remote / normal,
        remote / full
    );
    Ok(())
}

/// Transactions in a second, and what the database says of itself.
fn measure(
    which: usize,
    transactions: u64,
    folder: &Path,
    servers: &[MemoryServerProcess],
) -> Result<(f64, String), Box<dyn Error>> {
    let place = tempfile::tempdir_in(folder)?;
    let database = place.path().join("db");
    let (is_remote, mode) = (which == 0, if which == 1 { "NORMAL" } else { "FULL" });
    let count = if which == 2 { transactions / FULL_PARTS } else { transactions };
    let mut script = String::new();
    if is_remote {
        write!(script, ".load {}\n.open {}\n", extension().with_extension("").display(), uri(&database, servers, ""))?;
    } else {
        writeln!(script, ".open {}", database.display())?;
    }
    writeln!(script, "PRAGMA journal_mode = WAL; PRAGMA synchronous = {mode};")?;
    writeln!(script, "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);")?;
    // Julian days, to the millisecond.
    let clock = "SELECT 'at ' || CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER);\n";
    script.push_str(clock);
    for number in 0..count {
        writeln!(script, "INSERT INTO t VALUES({number}, 'value {number}');")?;
    }
    script.push_str(clock);
    script.push_str("SELECT 'rows ' || count(*) FROM t;\n");
    if is_remote {
        script.push_str("PRAGMA raid_status;\n");
    }
    let path = place.path().join("script");
    fs::write(&path, script)?;
    let output = Command::new("sqlite3").stdin(File::open(&path)?).stderr(Stdio::inherit()).output()?;
    let said = String::from_utf8(output.stdout)?;
    let mut times = said.lines().filter_map(|line| line.strip_prefix("at ")?.parse::<f64>().ok());
    let (Some(begun), Some(ended)) = (times.next(), times.next()) else { return Err(said.into()) };
    if !said.contains(&format!("rows {count}\n")) {
        return Err(format!("not all rows are there: {said}").into());
    }
    let status =
        said.lines().find(|line| line.starts_with("commits are")).map_or(String::new(), |line| format!("; {line}"));
    Ok((count as f64 * 1e3 / (ended - begun).max(1.0), status))
}

fn sync_ms(folder: &Path) -> std::io::Result<f64> {
    let path = folder.join("probe");
    let file = File::create(&path)?;
    let mut times = Vec::new();
    for index in 0..25 {
        file.write_all_at(&[1; 4096], index * 4096)?;
        let begun = Instant::now();
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    fs::remove_file(path)?;
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
