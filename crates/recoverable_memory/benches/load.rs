//! The papers' load generator: `cargo bench -p recoverable_memory --bench load -- --help`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use recoverable_memory::load::{AccessPattern, DebitCreditLoad, LoadSettings, LoadWork, sync_latencies};
use recoverable_memory::{CommitMode, Memory, RecoverableMemoryOptions};

const HELP: &str = "\
Runs a load of the papers on recoverable memory and prints how fast it was.

  --folder PATH         where log and segment are; a temporary one by default
  --blocks BYTES        write blocks of so many bytes (default: 128)
  --data MIB            in a file of so many MiB (default: 100)
  --tpc-a ACCOUNTS      TPC-A with so many accounts instead; 32K and 1M are understood
  --pattern PATTERN     sequential (default), random or localized
  --commit HOW          flush (default) or no-flush
  --no-restore          keep no old values
  --transactions COUNT  (default: 10000)
  --log KIB             size of the log (default: 8192); only for a new folder
  --seed SEED           (default: 1)
";

struct Arguments {
    folder: Option<PathBuf>,
    settings: LoadSettings,
    transactions: u64,
    log_bytes: u64,
}

fn main() -> ExitCode {
    match start() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<ExitCode, Box<dyn Error>> {
    let Some(arguments) = parse(std::env::args().skip(1).filter(|word| word != "--bench"))? else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let temporary = tempfile::tempdir()?;
    let folder = arguments.folder.unwrap_or_else(|| temporary.path().join("load"));
    let options = RecoverableMemoryOptions { log_bytes: arguments.log_bytes, ..RecoverableMemoryOptions::default() };
    let memory = Memory::open_or_create(&folder, options)?;
    let mut load = DebitCreditLoad::new(&memory, arguments.settings)?;
    let latencies = sync_latencies(&folder, 200)?;
    let outcome = load.run(&memory, arguments.transactions)?;
    load.audit()?;
    let statistics = memory.statistics();
    let us = |index: usize| latencies[index].as_secs_f64() * 1e6;
    println!(
        "{} transactions in {:.2} s: {:.0} a second\ndurable by: {} (last flush {:.2} ms; {} flushes, longest {:.2} ms)\n\
         disk sync: {:.0} us median, {:.0} us at the 99th percentile\n\
         log: {} bytes capacity, {} bytes appended, {} truncations, {} of them waited for",
        outcome.transactions,
        outcome.elapsed.as_secs_f64(),
        outcome.rate(),
        outcome.receipt,
        outcome.last_flush.as_secs_f64() * 1e3,
        statistics.flushes,
        statistics.flush_us_max as f64 / 1e3,
        us(latencies.len() / 2),
        us(latencies.len() * 99 / 100),
        memory.query().log_bytes_capacity,
        statistics.log_bytes,
        statistics.truncations,
        statistics.truncations_forced,
    );
    drop(load);
    memory.close()?;
    Ok(ExitCode::SUCCESS)
}

/// `None`: the help was asked for.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Arguments>, Box<dyn Error>> {
    let (mut block_bytes, mut data_mib, mut accounts) = (128, 100, None);
    let (mut pattern, mut commit, mut restore, mut seed) = (AccessPattern::Sequential, CommitMode::Flush, true, 1);
    let (mut folder, mut transactions, mut log_kib) = (None, 10_000, 8192);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--folder" => folder = Some(PathBuf::from(value()?)),
            "--blocks" => block_bytes = number(&value()?)?,
            "--data" => data_mib = number(&value()?)?,
            "--tpc-a" => accounts = Some(number(&value()?)?),
            "--pattern" => {
                pattern = match value()?.as_str() {
                    "sequential" => AccessPattern::Sequential,
                    "random" => AccessPattern::Random,
                    "localized" => AccessPattern::Localized,
                    other => return Err(format!("`{other}` is no pattern; see --help").into()),
                }
            }
            "--commit" => {
                commit = match value()?.as_str() {
                    "flush" => CommitMode::Flush,
                    "no-flush" => CommitMode::NoFlush,
                    other => return Err(format!("`{other}` is no commit; see --help").into()),
                }
            }
            "--no-restore" => restore = false,
            "--transactions" => transactions = number(&value()?)?,
            "--log" => log_kib = number(&value()?)?,
            "--seed" => seed = number(&value()?)?,
            other => return Err(format!("unknown argument `{other}`; see --help").into()),
        }
    }
    let work = match accounts {
        Some(accounts) => LoadWork::TpcA { accounts },
        None => LoadWork::Blocks { block_bytes, data_bytes: data_mib << 20 },
    };
    let settings = LoadSettings { work, pattern, commit, restore, seed };
    Ok(Some(Arguments { folder, settings, transactions, log_bytes: log_kib << 10 }))
}

/// A number, perhaps in units of 1,024 (`K`) or 1,048,576 (`M`). Bounded, so that units of it can be counted.
fn number(text: &str) -> Result<u64, Box<dyn Error>> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|error| format!("`{text}` is no number: {error}"))?;
    if number >= 1 << 32 {
        return Err(format!("{text} is too large").into());
    }
    Ok(number << shift)
}
