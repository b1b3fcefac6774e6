//! What rules speak of: numbers about one window of a site's load.
//!
//! Invariant: most of them do not depend on the method in force. Waits would: under `serial` and `optimistic` nothing ever meets, and advice that
//! counts waits goes to and fro. [`Fact::DeathsElsewhere`] and [`Fact::Wasted`] do depend on it, and are for rules that want that.

use serde::{Deserialize, Serialize};

/// A number about a load. Shares are in per mille.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fact {
    /// Accesses that conflict with one of another session's transaction that overlapped this one, waits included; of all.
    Near,
    /// Accesses that only read; of all.
    Reads,
    /// Accesses that only add; of all.
    Increments,
    /// Transactions that write what they have read before; of all.
    ReadThenWrite,
    /// Transactions whose clients have not thought in between; of all.
    OneShot,
    /// Time in which clients thought, of the time in which their transactions were open.
    Thinking,
    /// Accesses of a transaction, on average.
    Length,
    /// Transactions with more than `MIDDLE_MAX` accesses; of all.
    Long,
    /// Transactions that read a range of rows; of all.
    Ranges,
    /// Near accesses on the eight items that have most of them; of all near ones.
    Hot,
    /// Pairs of transactions that met twice, in both orders; of all near accesses.
    Crossing,
    /// Transactions that were open at the same time, on average, times 1,000.
    Together,
    /// Transactions that ended because another site prepared what they had accessed; of all.
    DeathsElsewhere,
    /// Accesses of transactions that came to nothing; of all.
    Wasted,
}

impl Fact {
    /// All of them.
    pub const ALL: [Fact; 14] = [
        Fact::Near,
        Fact::Reads,
        Fact::Increments,
        Fact::ReadThenWrite,
        Fact::OneShot,
        Fact::Thinking,
        Fact::Length,
        Fact::Long,
        Fact::Ranges,
        Fact::Hot,
        Fact::Crossing,
        Fact::Together,
        Fact::DeathsElsewhere,
        Fact::Wasted,
    ];

    /// As rules write it.
    pub fn name(self) -> &'static str {
        match self {
            Fact::Near => "near",
            Fact::Reads => "reads",
            Fact::Increments => "increments",
            Fact::ReadThenWrite => "read-then-write",
            Fact::OneShot => "one-shot",
            Fact::Thinking => "thinking",
            Fact::Length => "length",
            Fact::Long => "long",
            Fact::Ranges => "ranges",
            Fact::Hot => "hot",
            Fact::Crossing => "crossing",
            Fact::Together => "together",
            Fact::DeathsElsewhere => "deaths-elsewhere",
            Fact::Wasted => "wasted",
        }
    }

    /// What it says, with its unit, as users are told.
    pub fn meaning(self) -> &'static str {
        match self {
            Fact::Near => {
                "of 1,000 accesses, those that conflict with one of a transaction that was open at the same time"
            }
            Fact::Reads => "of 1,000 accesses, those that only read",
            Fact::Increments => "of 1,000 accesses, those that only add",
            Fact::ReadThenWrite => "of 1,000 transactions, those that write what they have read before",
            Fact::OneShot => "of 1,000 transactions, those whose clients have not thought in between",
            Fact::Thinking => "of 1,000 ms in which a transaction is open, those in which its client thinks",
            Fact::Length => "accesses of a transaction, on average",
            Fact::Long => "of 1,000 transactions, those with more than 64 accesses",
            Fact::Ranges => "of 1,000 transactions, those that read a range of rows",
            Fact::Hot => "of 1,000 near accesses, those on the eight items that have most",
            Fact::Crossing => "of 1,000 near accesses, those to a transaction that was met before in the other order",
            Fact::Together => "transactions that are open at the same time, on average, times 1,000",
            Fact::DeathsElsewhere => "of 1,000 transactions, those that lost to what other sites prepared",
            Fact::Wasted => "of 1,000 accesses, those of transactions that came to nothing",
        }
    }

    /// The fact of this name.
    pub fn of_name(name: &str) -> Option<Fact> {
        Fact::ALL.into_iter().find(|fact| fact.name() == name)
    }
}

/// A value of every fact, for one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings([u64; Fact::ALL.len()]);

impl Findings {
    /// The value of a fact; 0 unless it was set.
    pub fn get(&self, fact: Fact) -> u64 {
        self.0[fact as usize]
    }

    /// Sets it.
    pub fn set(&mut self, fact: Fact, value: u64) {
        self.0[fact as usize] = value;
    }

    /// The same with one more.
    pub fn with(mut self, fact: Fact, value: u64) -> Findings {
        self.set(fact, value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a rule speaks of another fact than the one that was found.
    #[test]
    fn each_fact_has_a_name_and_a_place_of_its_own() {
        let mut findings = Findings::default();
        for (fact, value) in Fact::ALL.into_iter().zip(1..) {
            assert_eq!(Fact::of_name(fact.name()), Some(fact));
            findings.set(fact, value);
        }
        let values: Vec<u64> = Fact::ALL.map(|fact| findings.get(fact)).to_vec();
        assert_eq!(values, (1..=Fact::ALL.len() as u64).collect::<Vec<_>>());
    }
}
