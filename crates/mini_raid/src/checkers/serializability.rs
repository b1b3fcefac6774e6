//! Strict serializability of what clients saw, as a graph of dependencies without a cycle.
//!
//! Every read shows what it depends on: a list shows all entries in the order of their transactions, a register the write that it holds, a
//! scan the insertion of each member, whose companion list shows all its comings and goings, a counter all increments, in no order. From
//! that follow the edges
//!
//! * *ww*: who wrote the next version,
//! * *wr*: who read a version,
//! * *rw*: who overwrote what one has read,
//! * *real time*: who began after the other had ended.
//!
//! A cycle has no order. (Kingsbury and Alvaro, Elle, 2020, with lists as there; ranges by companion lists.)

mod graph;
mod versions;

use super::durability::{LastLook, is_excused, saw_a_window};
use crate::history::{Loss, Observation, RunHistory, TransactionFate, WriteToken, companion};
use graph::Graph;
use std::collections::BTreeSet;
use versions::Versions;

/// All lists that anybody wrote or read.
pub fn lists_of(history: &RunHistory) -> BTreeSet<u64> {
    let mut lists = BTreeSet::new();
    for transaction in &history.transactions {
        for observation in &transaction.observations {
            if let Observation::List { key, .. } = observation {
                lists.insert(*key);
            }
        }
        for change in &transaction.changes {
            lists.insert(match change {
                crate::history::HistoryWrite::Append { key, .. } => *key,
                crate::history::HistoryWrite::Insert { member, .. }
                | crate::history::HistoryWrite::Delete { member, .. } => companion(*member),
                crate::history::HistoryWrite::Register { .. } | crate::history::HistoryWrite::Increment { .. } => {
                    continue;
                }
            });
        }
    }
    lists
}

/// Errors: an anomaly, with the transactions that show it.
pub fn check(history: &RunHistory) -> Result<(), String> {
    let seen = tokens_seen(history);
    let took_place: Vec<bool> = (history.transactions.iter())
        .map(|transaction| match transaction.fate {
            TransactionFate::Committed => true,
            TransactionFate::Aborted => false,
            TransactionFate::Unknown | TransactionFate::Open => {
                transaction.changes.iter().any(|change| seen.contains(&change.token()))
            }
        })
        .collect();
    // Before each total loss of power the transactions of that time are judged by themselves.
    let mut from = 0;
    for moment in history.losses.iter().map(Loss::moment) {
        let era = |place: usize| {
            let transaction = &history.transactions[place];
            took_place[place] && transaction.begun >= from && transaction.ended <= moment
        };
        // What was lost nobody may have seen but by what it took away.
        let hidden = |place: usize| {
            matches!(history.transactions[place].fate, TransactionFate::Unknown | TransactionFate::Open) && !era(place)
        };
        check_some(history, &era, &hidden)?;
        from = moment + 1;
    }
    let lost = lost_tokens(history)?;
    let survived = |place: usize| {
        let transaction = &history.transactions[place];
        let own = transaction.changes.iter().any(|change| lost.contains(&change.token()));
        let read = transaction.observations.iter().any(|observation| tokens_of(observation).any(|t| lost.contains(&t)));
        // Who only read in the window may have missed a member whose deletion is lost; it was judged above.
        let only_read = transaction.changes.is_empty() && saw_a_window(history, transaction);
        took_place[place] && !own && !read && !only_read
    };
    check_some(history, &survived, &|place| took_place[place] && !survived(place))
}

/// Judges the transactions that are `included`; those that are `hidden` may have deleted what the others missed.
fn check_some(
    history: &RunHistory,
    included: &dyn Fn(usize) -> bool,
    hidden: &dyn Fn(usize) -> bool,
) -> Result<(), String> {
    let versions = Versions::of(history, included)?;
    let mut graph = Graph::new(history, included);
    versions.edges(history, included, hidden, &mut graph)?;
    graph.real_time(history);
    match graph.cycle(history) {
        None => Ok(()),
        Some(cycle) => Err(cycle),
    }
}

fn tokens_of(observation: &Observation) -> impl Iterator<Item = WriteToken> + '_ {
    let (list, value, members) = match observation {
        Observation::List { entries, .. } => (&entries[..], None, &[][..]),
        Observation::Counter { increments, .. } => (&increments[..], None, &[][..]),
        Observation::Register { value, .. } => (&[][..], Some(*value), &[][..]),
        Observation::Members { present, .. } => (&[][..], None, &present[..]),
    };
    list.iter().copied().chain(value).chain(members.iter().map(|(_, token)| *token))
}

/// Whatever anybody saw whose reads count.
fn tokens_seen(history: &RunHistory) -> BTreeSet<WriteToken> {
    let counts = history.transactions.iter().filter(|transaction| transaction.fate == TransactionFate::Committed);
    let mut seen: BTreeSet<WriteToken> =
        counts.flat_map(|transaction| &transaction.observations).flat_map(tokens_of).collect();
    // Whoever overwrote something has seen it, and counts if its own write was seen.
    loop {
        let before = seen.len();
        for transaction in &history.transactions {
            let took_place = transaction.changes.iter().any(|change| seen.contains(&change.token()));
            if transaction.fate == TransactionFate::Unknown && took_place {
                seen.extend(transaction.observations.iter().flat_map(tokens_of));
            }
        }
        if seen.len() == before {
            return seen;
        }
    }
}

/// Writes that a total loss of power took.
fn lost_tokens(history: &RunHistory) -> Result<BTreeSet<WriteToken>, String> {
    if history.losses.is_empty() {
        return Ok(BTreeSet::new());
    }
    let look = LastLook::of(history)?;
    let lost = history.transactions.iter().filter(|transaction| {
        let there = transaction.changes.iter().any(|change| look.has(change));
        transaction.fate != TransactionFate::Aborted && !there && is_excused(history, transaction)
    });
    Ok(lost.flat_map(|transaction| &transaction.changes).map(|change| change.token()).collect())
}

#[cfg(test)]
mod tests;
