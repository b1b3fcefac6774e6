//! The loads: tables, what each client does, and what must be true of the books afterwards.

use super::clients::Count;
use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use crate::limits::{ADAPT_ROWS, ADAPT_SCANNED, ADAPT_THINK_TIME};
use postgres::{Client, Error, Statement};
use seeded_random::SplitMix64;
use std::net::SocketAddr;

/// What a client does in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Changes the one row that all change.
    HotRow,
    /// Reads one of four rows and then writes it.
    ReadThenWrite,
    /// Reads many rows, thinks, and writes another one.
    Thinks,
    /// Changes one of those rows.
    SmallWrite,
    /// Calls a procedure that moves something from one row to another.
    Calls,
    /// Sums up some rows, and writes the sum into a row of its own.
    Scans,
}

/// A load.
#[derive(Debug)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// Its groups of clients, each a column of the table.
    pub groups: &'static [&'static str],
    /// What the clients do, in turns: the group, and the deed.
    pub deeds: &'static [(usize, Deed)],
}

/// All of them, in order.
pub static PHASES: [Phase; 6] = [
    Phase { name: "a hot row", groups: &["hot row"], deeds: &[(0, Deed::HotRow)] },
    Phase { name: "read, then write", groups: &["read, then write"], deeds: &[(0, Deed::ReadThenWrite)] },
    Phase {
        name: "thinkers beside small writers",
        groups: &["thinkers", "small writers"],
        deeds: &[(0, Deed::Thinks), (1, Deed::SmallWrite)],
    },
    Phase { name: "one-shot calls", groups: &["calls"], deeds: &[(0, Deed::Calls)] },
    Phase {
        name: "scans and updates",
        groups: &["scans", "updates"],
        deeds: &[(0, Deed::Scans), (1, Deed::SmallWrite)],
    },
    Phase {
        name: "a mixture",
        groups: &["mixture"],
        deeds: &[
            (0, Deed::HotRow),
            (0, Deed::Scans),
            (0, Deed::ReadThenWrite),
            (0, Deed::Calls),
            (0, Deed::SmallWrite),
        ],
    },
];

impl Deed {
    /// How much the sum of all rows grows with each commit.
    pub fn adds(self) -> i64 {
        match self {
            Deed::HotRow | Deed::ReadThenWrite | Deed::SmallWrite | Deed::Thinks => 1,
            Deed::Calls | Deed::Scans => 0,
        }
    }
}

/// Makes the tables.
///
/// # Errors
/// A statement fails.
pub fn load(sql: SocketAddr) -> Result<(), ExperimentError> {
    let mut client = connect(sql).map_err(failed("connecting"))?;
    let statements = [
        "CREATE TABLE adapt (id int PRIMARY KEY, n bigint NOT NULL)".to_owned(),
        "CREATE TABLE adapt_sum (id int PRIMARY KEY, n bigint NOT NULL)".to_owned(),
        format!("INSERT INTO adapt SELECT i, 0 FROM generate_series(0, {}) AS i", ADAPT_ROWS - 1),
        "CREATE PROCEDURE adapt_move(a int, b int) LANGUAGE SQL AS $$ UPDATE adapt SET n = n * 1 - 1 WHERE id = a; \
         UPDATE adapt SET n = n * 1 + 1 WHERE id = b $$"
            .to_owned(),
        "INSERT INTO adapt_sum SELECT i, 0 FROM generate_series(0, 999) AS i".to_owned(),
    ];
    statements.into_iter().try_for_each(|text| client.batch_execute(&text).map_err(failed(text)))
}

/// Begins with empty books.
///
/// # Errors
/// A statement fails.
pub fn reset(sql: SocketAddr) -> Result<(), ExperimentError> {
    let text = "UPDATE adapt SET n = 0 WHERE n <> 0";
    let mut client = connect(sql).map_err(failed("connecting"))?;
    client.batch_execute(text).map_err(failed(text))
}

/// Errors: what is in the rows is not what clients were told.
pub fn audit(sql: SocketAddr, phase: &Phase, counts: &[Count]) -> Result<(), ExperimentError> {
    let text = "SELECT coalesce(sum(n), 0)::bigint FROM adapt";
    let row = connect(sql).map_err(failed("connecting"))?.query_one(text, &[]).map_err(failed(text))?;
    let (found, told): (i64, i64) = (row.get(0), counts.iter().map(|count| count.added).sum());
    match found == told {
        true => Ok(()),
        false => {
            Err(ExperimentError::Wrong(format!("{}: clients have added {told}, and rows hold {found}", phase.name)))
        }
    }
}

/// A client's statements.
pub struct Statements {
    hot: Statement,
    read: Statement,
    write: Statement,
    scan: Statement,
    sum: Statement,
    call: Statement,
}

impl Statements {
    /// Prepared.
    ///
    /// # Errors
    /// The site refuses.
    pub fn of(client: &mut Client) -> Result<Statements, Error> {
        Ok(Statements {
            // Read, as nothing that is only added would meet.
            hot: client.prepare("UPDATE adapt SET n = n * 1 + 1 WHERE id = $1")?,
            read: client.prepare("SELECT n FROM adapt WHERE id = $1")?,
            write: client.prepare("UPDATE adapt SET n = $2 WHERE id = $1")?,
            scan: client.prepare("SELECT coalesce(sum(n), 0)::bigint FROM adapt WHERE id >= $1 AND id < $2")?,
            sum: client.prepare("UPDATE adapt_sum SET n = $2 WHERE id = $1")?,
            call: client.prepare("CALL adapt_move($1, $2)")?,
        })
    }

    /// One try.
    ///
    /// # Errors
    /// What the site says.
    pub fn attempt(&self, client: &mut Client, deed: Deed, number: i32, random: &mut SplitMix64) -> Result<(), Error> {
        let row = |random: &mut SplitMix64, count: u64| random.below(count) as i32;
        match deed {
            Deed::HotRow => client.execute(&self.hot, &[&0]).map(drop),
            Deed::SmallWrite => client.execute(&self.hot, &[&row(random, ADAPT_SCANNED)]).map(drop),
            Deed::Calls => {
                let (from, to) = (row(random, ADAPT_ROWS), row(random, ADAPT_ROWS));
                client.execute(&self.call, &[&from, &to]).map(drop)
            }
            Deed::ReadThenWrite => {
                let row = row(random, 4);
                let mut transaction = client.transaction()?;
                let n: i64 = transaction.query_one(&self.read, &[&row])?.get(0);
                transaction.execute(&self.write, &[&row, &(n + 1)])?;
                transaction.commit()
            }
            Deed::Thinks => {
                let own = (ADAPT_ROWS - 1) as i32 - number;
                let mut transaction = client.transaction()?;
                transaction.query_one(&self.scan, &[&0, &(ADAPT_SCANNED as i32)])?;
                std::thread::sleep(ADAPT_THINK_TIME);
                transaction.execute(&self.hot, &[&own])?;
                transaction.commit()
            }
            Deed::Scans => {
                let low = row(random, ADAPT_SCANNED - 200);
                let mut transaction = client.transaction()?;
                let sum: i64 = transaction.query_one(&self.scan, &[&low, &(low + 200)])?.get(0);
                transaction.execute(&self.sum, &[&number, &sum])?;
                transaction.commit()
            }
        }
    }
}
