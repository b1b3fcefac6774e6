//! What a statement of several parts has found, keeps and returns.
//!
//! Invariant: no key is supplied to the programs of a part twice.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::{SUPPLIED_BYTES, SUPPLIED_ROWS};
use crate::session::kept::{bytes_of, check_kept};
use crate::sql::modify::supplied_row;
use crate::sql::parts::{StatementPart, Taker};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::Value;

/// How far a statement of several parts has come.
#[derive(Debug, Default)]
pub struct PartsProgress {
    pub(super) stage: PartStage,
    /// Rows of the query at hand.
    pub(super) found: Vec<Vec<Value>>,
    /// What all rows took that were found, returned or kept by other parts. Nothing is taken from it before the statement ends.
    bytes: usize,
    /// How many these were.
    rows: usize,
    /// What is still to be supplied to the program at hand.
    pub(super) left: VecDeque<Vec<Value>>,
    /// Keys that were supplied to programs of the part at hand.
    pub(super) keys: BTreeSet<Arc<[u8]>>,
    /// Rows that other parts read.
    pub(super) kept: BTreeMap<usize, Vec<Vec<Value>>>,
    /// Rows that the client gets.
    pub(super) output: Vec<Vec<Value>>,
    /// Rows that the statement itself has changed.
    pub(super) affected: u64,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PartStage {
    /// The first edge.
    #[default]
    Begin,
    /// The query of this part.
    Query(usize),
    /// This taker of this part.
    Taking(usize, usize),
    /// The last edge.
    End,
}

impl PartsProgress {
    /// Takes rows of the query at hand. Errors: 54000.
    pub(super) fn find(&mut self, rows: Vec<Vec<Value>>) -> Result<()> {
        self.count(&rows)?;
        self.found.extend(rows);
        Ok(())
    }

    fn count(&mut self, rows: &[Vec<Value>]) -> Result<()> {
        self.rows += rows.len();
        self.bytes += bytes_of(rows);
        check_kept(self.rows, self.bytes)
    }

    /// Takes what a program of a part has returned. Errors: 54000.
    pub(super) fn returned(&mut self, part: &StatementPart, rows: Vec<Vec<Value>>, affected: u64) -> Result<()> {
        self.count(&rows)?;
        self.take(part, rows, affected);
        Ok(())
    }

    /// Takes what a part returns.
    pub(super) fn take(&mut self, part: &StatementPart, rows: Vec<Vec<Value>>, affected: u64) {
        if part.is_main && !(part.is_merge && part.takers.is_empty()) {
            self.affected += affected;
            self.output.extend(rows);
        } else if let Some(number) = part.kept {
            self.kept.entry(number).or_default().extend(rows);
        }
    }

    /// The next rows for the program at hand; none: it has had all.
    pub(super) fn supply(&mut self) -> Vec<Vec<Value>> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while rows.len() < SUPPLIED_ROWS
            && bytes < SUPPLIED_BYTES
            && let Some(row) = self.left.pop_front()
        {
            bytes += row.iter().map(Value::size_in_memory).sum::<usize>();
            rows.push(row);
        }
        rows
    }

    /// Chooses the rows for a program: each key once. Errors: 21000 for a MERGE with a key that comes again.
    pub(super) fn choose(&mut self, part: &StatementPart, taker: &Taker) -> Result<()> {
        self.left.clear();
        for row in &self.found {
            let behind = match (taker.number, row.first()) {
                (None, _) => &row[..],
                (Some(number), Some(Value::Integer(of_row))) if number == *of_row => &row[1..],
                _ => continue,
            };
            let (key, values) = behind.split_at(taker.key_types.len());
            let values = match &taker.values {
                Some(range) => &values[range.clone()],
                None => values,
            };
            if key.is_empty() {
                self.left.push_back(values.to_vec());
                continue;
            }
            let row = supplied_row([key, values].concat(), &taker.key_types)?;
            let Some(Value::Bytea(key)) = row.first() else { continue };
            if self.keys.insert(Arc::clone(key)) {
                self.left.push_back(row);
            } else if part.is_merge {
                let message = "MERGE command cannot affect row a second time";
                return Err(SqlError::new(sqlstate::CARDINALITY_VIOLATION, message)
                    .with_hint("Ensure that not more than one source row matches any one target row."));
            }
        }
        Ok(())
    }
}
