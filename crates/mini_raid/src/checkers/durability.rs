//! Durability: every acknowledged write is there at the end, exactly once; nothing is there that was refused; whoever's outcome is
//! unknown is there wholly or not at all.
//!
//! The one exception (rule 15): when all sites of an epoch are gone at once and some of them have lost power, a commit whose home site is among
//! these may be gone: as a whole, and only if that site acknowledged it within the window. The decision is in the log of its home
//! site, so if only others lost power, it survives.

use crate::history::{
    HistoryWrite, Loss, Observation, ObservedTransaction, RunHistory, TransactionFate, WriteToken, companion,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the last snapshot of a run saw.
#[derive(Debug, Default)]
pub struct LastLook {
    /// Entries that are in a list.
    pub entries: BTreeSet<WriteToken>,
    /// Register writes that the present values rest on.
    pub registers: BTreeSet<WriteToken>,
}

impl LastLook {
    /// From the last transaction of a history, which has read everything. Errors: an entry is there twice, or a member and its
    /// companion list disagree.
    pub fn of(history: &RunHistory) -> Result<LastLook, String> {
        let mut look = LastLook::default();
        let Some(last) = history.transactions.last() else { return Ok(look) };
        let before = overwritten(history);
        let mut lists: BTreeMap<u64, &[WriteToken]> = BTreeMap::new();
        let mut present = BTreeMap::new();
        for observation in &last.observations {
            match observation {
                Observation::List { key, entries } => {
                    lists.insert(*key, entries);
                    for entry in entries {
                        if !look.entries.insert(*entry) {
                            return Err(format!("entry {entry} is there twice: list {key} is {entries:?}"));
                        }
                    }
                }
                Observation::Counter { increments, .. } => look.entries.extend(increments),
                Observation::Register { value, .. } => {
                    let mut value = *value;
                    while value != 0 && look.registers.insert(value) {
                        value = before.get(&value).copied().unwrap_or(0);
                    }
                }
                Observation::Members { present: all, .. } => present.extend(all.iter().copied()),
            }
        }
        check_members(history, &lists, &present)?;
        Ok(look)
    }

    /// Whether a change is there.
    pub fn has(&self, change: &HistoryWrite) -> bool {
        match change {
            HistoryWrite::Register { token, .. } => self.registers.contains(token),
            other => self.entries.contains(&other.token()),
        }
    }
}

/// For each register write, the one that it overwrote.
fn overwritten(history: &RunHistory) -> BTreeMap<WriteToken, WriteToken> {
    let changes = history.transactions.iter().flat_map(|transaction| &transaction.changes);
    changes
        .filter_map(|change| match change {
            HistoryWrite::Register { before, token, .. } => Some((*token, *before)),
            _ => None,
        })
        .collect()
}

/// A member is there exactly if the last entry of its companion list is its insertion.
fn check_members(
    history: &RunHistory,
    lists: &BTreeMap<u64, &[WriteToken]>,
    present: &BTreeMap<u64, WriteToken>,
) -> Result<(), String> {
    let mut inserts = BTreeMap::new();
    let mut members = BTreeSet::new();
    for change in history.transactions.iter().flat_map(|transaction| &transaction.changes) {
        if let HistoryWrite::Insert { member, token } = change {
            inserts.insert(*token, *member);
            members.insert(*member);
        }
    }
    for member in members {
        let last = lists.get(&companion(member)).and_then(|entries| entries.last()).copied();
        let expected = last.filter(|token| inserts.contains_key(token));
        let found = present.get(&member).copied();
        if expected != found {
            return Err(format!("member {member} is {found:?}, its companion list says {expected:?}"));
        }
    }
    Ok(())
}

fn overlaps(transaction: &ObservedTransaction, (since, moment): &(u64, u64)) -> bool {
    transaction.ended >= *since && transaction.begun <= *moment
}

/// Whether a loss of power excuses the loss of this transaction.
pub fn is_excused(history: &RunHistory, transaction: &ObservedTransaction) -> bool {
    let home = |loss: &Loss| loss.windows.get(&transaction.site).is_some_and(|window| overlaps(transaction, window));
    history.losses.iter().any(home)
}

/// Whether some commit whose loss is excused was under way with this transaction.
pub fn saw_a_window(history: &RunHistory, transaction: &ObservedTransaction) -> bool {
    history.losses.iter().flat_map(|loss| loss.windows.values()).any(|window| overlaps(transaction, window))
}

/// Errors: the first write that is missing or should not be there.
pub fn check(history: &RunHistory) -> Result<(), String> {
    let look = LastLook::of(history)?;
    for transaction in &history.transactions {
        let there = transaction.changes.iter().filter(|change| look.has(change)).count();
        let all = transaction.changes.len();
        if there != 0 && there != all {
            return Err(format!("of the writes of one transaction only {there} are there: {transaction:?}"));
        }
        match transaction.fate {
            TransactionFate::Committed if there < all && !is_excused(history, transaction) => {
                let losses = &history.losses;
                return Err(format!(
                    "an acknowledged transaction is lost: {transaction:?} (losses of power: {losses:?})"
                ));
            }
            TransactionFate::Aborted if there > 0 => {
                return Err(format!("a transaction that was said to have failed is there: {transaction:?}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(fate: TransactionFate, tokens: &[WriteToken]) -> ObservedTransaction {
        let changes = tokens.iter().map(|token| HistoryWrite::Append { key: u64::from(*token) % 2, token: *token });
        ObservedTransaction { changes: changes.collect(), ..ObservedTransaction::of_fate(fate) }
    }

    fn history(fates: &[(TransactionFate, &[WriteToken])], last: [&[WriteToken]; 2]) -> RunHistory {
        let mut transactions: Vec<ObservedTransaction> =
            fates.iter().map(|(fate, tokens)| transaction(*fate, tokens)).collect();
        let mut reader = transaction(TransactionFate::Committed, &[]);
        for (key, entries) in last.iter().enumerate() {
            reader.observations.push(Observation::List { key: key as u64, entries: entries.to_vec() });
        }
        transactions.push(reader);
        RunHistory { transactions, losses: Vec::new() }
    }

    /// If this fails, lost, doubled, half and ghost writes go unnoticed.
    #[test]
    fn finds_what_is_missing_and_what_is_too_much() {
        use TransactionFate::{Aborted, Committed, Unknown};
        assert_eq!(check(&history(&[(Committed, &[1, 2])], [&[2], &[1]])), Ok(()));
        assert_eq!(check(&history(&[(Unknown, &[1]), (Aborted, &[3])], [&[], &[]])), Ok(()));
        for (fates, last) in [
            (vec![(Committed, &[1u32][..])], [&[][..], &[][..]]),
            (vec![(Committed, &[1])], [&[], &[1, 1]]),
            (vec![(Unknown, &[1, 2])], [&[2], &[]]),
            (vec![(Aborted, &[1])], [&[], &[1]]),
        ] {
            assert!(check(&history(&fates, last)).is_err(), "{fates:?} {last:?}");
        }
    }

    /// If this fails, the window of a total loss of power is not granted, or is taken for a licence.
    #[test]
    fn a_total_loss_of_power_excuses_its_window_only() {
        let mut history = history(&[(TransactionFate::Committed, &[1])], [&[], &[]]);
        history.losses.push(Loss { windows: BTreeMap::from([(1, (15, 30))]) });
        assert_eq!(check(&history), Ok(()));
        history.losses[0] = Loss { windows: BTreeMap::from([(1, (21, 30))]) };
        assert!(check(&history).is_err(), "it was acknowledged before the window");
        history.losses[0] = Loss { windows: BTreeMap::from([(2, (15, 30))]) };
        assert!(check(&history).is_err(), "its home site still has the decision");
    }
}
