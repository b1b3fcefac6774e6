//! Who listens at a site hears each commit that notifies once, in the order that every other site tells, and nothing of what does not commit.
//!
//! A site that loses its place ends the connections that listen there. So what is looked at is one life of a site: it hears everything that commits between
//! the first and the last time that it is known to have been in its place. What it has told after that may have been told the others in another order, as
//! its successors decide what was left open.

use crate::history::{HistoryWrite, RunHistory, TransactionFate, WriteToken};
use std::collections::{BTreeMap, BTreeSet};

/// Whether the append of this entry notifies who listens of it.
pub fn is_notified(token: WriteToken) -> bool {
    token.is_multiple_of(3)
}

/// What was told at a site in one of its lives.
#[derive(Clone, Debug, Default)]
struct Told {
    /// When it served for the first and for the last time in a new epoch (true times).
    serving: Option<(u64, u64)>,
    /// Restarts after total failures before that.
    losses: usize,
    /// When, and of which entry.
    tokens: Vec<(u64, WriteToken)>,
}

/// What was told at all sites.
#[derive(Clone, Debug, Default)]
pub struct ToldListeners {
    lives: BTreeMap<(usize, u32), Told>,
}

impl ToldListeners {
    /// A site serves in an epoch, in the life that began with this start.
    pub fn serves(&mut self, site: usize, start: u32, now: u64, losses: usize) {
        let told = self.lives.entry((site, start)).or_default();
        if told.serving.is_none() {
            told.losses = losses;
        }
        told.serving = Some((told.serving.map_or(now, |(first, _)| first), now));
    }

    /// Who listens at a site is told of this entry.
    pub fn told(&mut self, site: usize, start: u32, now: u64, token: WriteToken) {
        self.lives.entry((site, start)).or_default().tokens.push((now, token));
    }

    /// Looks at everything, at the end of a run. `living`: the lives that go on. Errors: what was told twice, in two orders, for nothing, or not.
    pub fn check(&self, history: &RunHistory, living: &BTreeSet<(usize, u32)>) -> Result<(), String> {
        let fates = fates_of(history);
        let mut all: Vec<((usize, u32), &Told, Vec<WriteToken>)> = Vec::new();
        for (life, told) in &self.lives {
            check_once(*life, told, &fates)?;
            let Some((first, last)) = told.serving else { continue };
            let last = if living.contains(life) { u64::MAX } else { last };
            let known: BTreeSet<WriteToken> = told.tokens.iter().map(|(_, token)| *token).collect();
            for (token, (fate, begun, ended)) in &fates {
                if *fate == TransactionFate::Committed && *begun >= first && *ended <= last && !known.contains(token) {
                    return Err(format!("who listens at {} was not told of entry {token}", in_words(*life)));
                }
            }
            let settled = told.tokens.iter().filter(|(when, _)| *when < last).map(|(_, token)| *token).collect();
            all.push((*life, told, settled));
        }
        for (place, (life, told, tokens)) in all.iter().enumerate() {
            for (other, other_told, others) in &all[place + 1..] {
                if told.losses == other_told.losses {
                    check_order((*life, tokens), (*other, others))?;
                }
            }
        }
        Ok(())
    }
}

/// The entries that were to be notified of: what became of the transaction, when it began and when its client knew.
fn fates_of(history: &RunHistory) -> BTreeMap<WriteToken, (TransactionFate, u64, u64)> {
    let mut fates = BTreeMap::new();
    for transaction in &history.transactions {
        for change in &transaction.changes {
            if let HistoryWrite::Append { token, .. } = change
                && is_notified(*token)
            {
                fates.insert(*token, (transaction.fate, transaction.begun, transaction.ended));
            }
        }
    }
    fates
}

fn check_once(
    life: (usize, u32),
    told: &Told,
    fates: &BTreeMap<WriteToken, (TransactionFate, u64, u64)>,
) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for (_, token) in &told.tokens {
        if !known.insert(*token) {
            return Err(format!("who listens at {} was told twice of entry {token}", in_words(life)));
        }
        let wrong = match fates.get(token) {
            Some((TransactionFate::Aborted, ..)) => "which did not commit",
            None => "which nobody has written",
            Some(_) => continue,
        };
        return Err(format!("who listens at {} was told of entry {token}, {wrong}", in_words(life)));
    }
    Ok(())
}

/// What both were told, they were told in one order; and between two such entries neither was told of one that the other was not.
fn check_order(one: ((usize, u32), &Vec<WriteToken>), other: ((usize, u32), &Vec<WriteToken>)) -> Result<(), String> {
    let in_both: BTreeSet<WriteToken> = {
        let of_other: BTreeSet<WriteToken> = other.1.iter().copied().collect();
        one.1.iter().copied().filter(|token| of_other.contains(token)).collect()
    };
    let between = |tokens: &[WriteToken]| -> Vec<WriteToken> {
        let first = tokens.iter().position(|token| in_both.contains(token)).unwrap_or(0);
        let behind = tokens.iter().rposition(|token| in_both.contains(token)).map_or(0, |last| last + 1);
        tokens[first..behind].to_vec()
    };
    let (left, right) = (between(one.1), between(other.1));
    if left == right {
        return Ok(());
    }
    let place = left.iter().zip(&right).position(|(left, right)| left != right).unwrap_or(left.len().min(right.len()));
    Err(format!(
        "who listens at {} was told of {:?}, where who listens at {} was told of {:?}",
        in_words(one.0),
        &left[place..left.len().min(place + 4)],
        in_words(other.0),
        &right[place..right.len().min(place + 4)]
    ))
}

fn in_words((site, start): (usize, u32)) -> String {
    format!("site {site} (start {start})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::ObservedTransaction;

    /// A run of two sites, each in one life, in which these entries were told.
    fn outcome(fates: &[(WriteToken, TransactionFate)], told: [&[WriteToken]; 2]) -> Result<(), String> {
        let mut listeners = ToldListeners::default();
        for (site, tokens) in told.iter().enumerate() {
            listeners.serves(site, 1, 5, 0);
            tokens.iter().for_each(|token| listeners.told(site, 1, 30, *token));
        }
        let of = |(token, fate): &(WriteToken, TransactionFate)| {
            let changes = vec![HistoryWrite::Append { key: 1, token: *token }];
            ObservedTransaction { changes, ..ObservedTransaction::of_fate(*fate) }
        };
        let history = RunHistory { transactions: fates.iter().map(of).collect(), losses: Vec::new() };
        listeners.check(&history, &[(0, 1), (1, 1)].into())
    }

    /// If this fails, what is told twice, too few, in vain or in another order goes unnoticed.
    #[test]
    fn what_is_told_wrongly_is_found() {
        let committed =
            [(3, TransactionFate::Committed), (6, TransactionFate::Committed), (4, TransactionFate::Committed)];
        assert_eq!(outcome(&committed, [&[3, 6], &[3, 6]]), Ok(()));
        assert!(outcome(&committed, [&[3, 6], &[6, 3]]).is_err());
        assert!(outcome(&committed, [&[3, 6], &[3, 6, 3]]).is_err());
        assert!(outcome(&committed, [&[3, 6], &[3]]).is_err());
        assert!(outcome(&[(3, TransactionFate::Aborted)], [&[3], &[3]]).is_err());
        assert!(outcome(&committed, [&[3, 6, 12], &[3, 6, 12]]).is_err());
        let unknown = [(3, TransactionFate::Committed), (6, TransactionFate::Unknown), (9, TransactionFate::Committed)];
        assert!(outcome(&unknown, [&[3, 6, 9], &[3, 9]]).is_err());
    }
}
