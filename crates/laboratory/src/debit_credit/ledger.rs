//! What a client was told of each of its transactions.
//!
//! Invariant: a sequence number stands for one transaction for ever; it is tried again only after it was refused, which means that it
//! can no longer commit.

/// What a client knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The database said that it is committed.
    Acknowledged,
    /// The database said that it is not committed, or never heard of its commit.
    Refused,
    /// The answer to its commit was that nobody knows, or no answer came.
    Unknown,
}

/// One transaction.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What is known.
    pub fate: Fate,
    /// What it added to every balance.
    pub delta: i32,
}

/// The transactions of one client, by sequence number.
#[derive(Clone, Debug)]
pub struct Ledger {
    client: u32,
    entries: Vec<Entry>,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(client: u32) -> Ledger {
        Ledger { client, entries: Vec::new() }
    }

    /// Whose.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The transactions, by sequence number.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The sequence number of the next transaction.
    pub fn next(&self) -> u32 {
        self.entries.len() as u32
    }

    /// What became of the next transaction.
    pub fn note(&mut self, fate: Fate, delta: i32) {
        self.entries.push(Entry { fate, delta });
    }
}

/// The filler of a transaction's history row.
pub fn mark(client: u32, sequence: u32) -> String {
    format!("client {client} #{sequence}")
}

/// The transaction that a filler names; `char(n)` pads it with blanks.
pub fn parse_mark(filler: &str) -> Option<(u32, u32)> {
    let (client, sequence) = filler.trim_end_matches(' ').strip_prefix("client ")?.split_once(" #")?;
    Some((client.parse().ok()?, sequence.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    /// A mark that does not fit into the column, or reads as another transaction, would hide losses.
    #[test]
    fn marks_fit_and_come_back() {
        for (client, sequence) in [(0, 0), (limits::CLIENTS_MAX as u32, 99_999_999), (7, 12)] {
            let mark = mark(client, sequence);
            assert!(mark.len() <= 22, "{mark:?} does not fit into char(22)");
            assert_eq!(parse_mark(&format!("{mark:22}")), Some((client, sequence)));
        }
        for other in ["", "client", "client 3", "client x #3", "client 3 #x", "client 3 #-1"] {
            assert_eq!(parse_mark(other), None, "{other:?} names no transaction");
        }
    }
}
