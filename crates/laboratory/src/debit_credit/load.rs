//! Makes and fills the tables as `pgbench -i` does: CREATE TABLE, COPY in one transaction, ALTER TABLE ADD PRIMARY KEY.

use super::{ACCOUNTS, BRANCHES, TELLERS, connect};
use crate::limits;
use local_cluster::screen::{Screen, grouped};
use postgres::Client;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thiserror::Error;

const TABLES: &str = "\
DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers;
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE TABLE pgbench_tellers (tid int not null, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int not null, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_branches (bid int not null, bbalance int, filler char(88))";

const KEYS: [&str; 3] = [
    "ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid)",
    "ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid)",
    "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)",
];

/// Why the tables could not be filled.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The database refused, or the connection is gone.
    #[error("the tables could not be filled: {what}: {}", super::explain(.error))]
    Database {
        /// At which step.
        what: &'static str,
        /// What it said.
        error: postgres::Error,
    },
    /// The connection broke during COPY.
    #[error("the tables could not be filled: {0}")]
    Copy(#[from] std::io::Error),
    /// The person at the terminal asked for an end.
    #[error("stopped")]
    Stopped,
}

fn at(what: &'static str) -> impl Fn(postgres::Error) -> LoadError {
    move |error| LoadError::Database { what, error }
}

impl LoadError {
    /// Whether another attempt may go well: the site was evicted or lost, or another transaction won.
    fn is_passing(&self) -> bool {
        match self {
            LoadError::Database { error, .. } => {
                error.code().is_none_or(|code| matches!(code.code().get(..2), Some("08" | "40" | "57")))
            }
            LoadError::Copy(_) => true,
            LoadError::Stopped => false,
        }
    }
}

/// Fills the tables, through the first site. Should that be lost meanwhile, begins again through the next one.
pub fn load(sites: &[(u16, SocketAddr)], scale: u32, stop: &AtomicBool, screen: &mut Screen) -> Result<(), LoadError> {
    let begun = Instant::now();
    let mut progress = |step: &str, rows: u32, total: u32| {
        screen.progress(|| format!("  {step}: {} of {}", grouped(rows.into()), grouped(total.into())));
    };
    let mut attempt = 0;
    loop {
        let (_, sql) = sites[attempt % sites.len()];
        let loaded =
            connect(sql).map_err(at("connecting")).and_then(|mut client| fill(&mut client, scale, stop, &mut progress));
        attempt += 1;
        match loaded {
            Err(error) if error.is_passing() && attempt < limits::LOAD_ATTEMPTS_MAX => {
                progress(&format!("beginning again after {error}"), 0, 0);
            }
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    let rows = grouped(u64::from(scale) * u64::from(BRANCHES + TELLERS + ACCOUNTS));
    screen.line(&format!("DebitCredit at scale {scale}: {rows} rows in {:.1} s", begun.elapsed().as_secs_f64()));
    Ok(())
}

fn fill(
    client: &mut Client,
    scale: u32,
    stop: &AtomicBool,
    progress: &mut impl FnMut(&str, u32, u32),
) -> Result<(), LoadError> {
    assert!((1..=limits::SCALE_MAX).contains(&scale), "the scale was checked when it was read");
    client.batch_execute(TABLES).map_err(at("CREATE TABLE"))?;
    let mut transaction = client.transaction().map_err(at("BEGIN"))?;
    transaction
        .batch_execute("TRUNCATE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")
        .map_err(at("TRUNCATE"))?;
    let total = (BRANCHES + TELLERS + ACCOUNTS) * scale;
    let mut copied = 0;
    for (statement, rows, of_one) in [
        ("COPY pgbench_branches (bid, bbalance) FROM STDIN", BRANCHES, None),
        ("COPY pgbench_tellers (tid, bid, tbalance) FROM STDIN", TELLERS, Some(TELLERS)),
        // pgbench leaves blanks in the filler of accounts.
        ("COPY pgbench_accounts (aid, bid, abalance, filler) FROM STDIN", ACCOUNTS, Some(ACCOUNTS)),
    ] {
        let filler = if rows == ACCOUNTS { "\t" } else { "" };
        let mut copy = transaction.copy_in(statement).map_err(at("COPY"))?;
        let mut text = String::with_capacity(limits::COPY_BYTES + 64);
        for row in 0..rows * scale {
            let number = row + 1;
            let written = match of_one {
                None => writeln!(text, "{number}\t0"),
                Some(of_one) => writeln!(text, "{number}\t{}\t0{filler}", row / of_one + 1),
            };
            written.expect("a string takes any text");
            copied += 1;
            if text.len() >= limits::COPY_BYTES {
                copy.write_all(text.as_bytes())?;
                text.clear();
                progress("copying rows", copied, total);
                if stop.load(Ordering::SeqCst) {
                    return Err(LoadError::Stopped);
                }
            }
        }
        copy.write_all(text.as_bytes())?;
        copy.finish().map_err(at("COPY"))?;
    }
    progress("committing", total, total);
    transaction.commit().map_err(at("COMMIT"))?;
    for statement in KEYS {
        progress("adding primary keys", total, total);
        client.batch_execute(statement).map_err(at(statement))?;
    }
    Ok(())
}
