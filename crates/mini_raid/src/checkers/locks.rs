//! Whoever takes a row because nobody else has it (`SKIP LOCKED`) is the only one of its site that has it, until its transaction ends.
//!
//! Looked at are clients: who was told of a row, and commits later, has it from then on until it sends its commit. Who asks and is told in between at the
//! same site was given what was taken. A transaction that does not commit may have lost what it had without knowing. Two sites know nothing of each other's
//! locks: of those one has to lose, which is serializability's to check.

use crate::history::{RunHistory, TransactionFate};
use std::collections::BTreeMap;

/// When it was asked for and told, and by which transaction.
type TakenAt = (u64, u64, usize);

/// Looks at everything, at the end of a run. Errors: what was given to two.
pub fn check(history: &RunHistory) -> Result<(), String> {
    let mut asked: BTreeMap<(usize, u64), Vec<TakenAt>> = BTreeMap::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for taken in &transaction.taken {
            asked.entry((transaction.site, taken.key)).or_default().push((taken.asked, taken.told, number));
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        let Some(committing) = transaction.committing.filter(|_| transaction.fate == TransactionFate::Committed) else {
            continue;
        };
        for taken in &transaction.taken {
            let others = asked.get(&(transaction.site, taken.key)).into_iter().flatten();
            let within = |(asked, told, other): &&(u64, u64, usize)| {
                *other != number && *asked > taken.told && *told < committing
            };
            if let Some((_, told, other)) = others.into_iter().find(within) {
                let (first, second) = (transaction.client, history.transactions[*other].client);
                return Err(format!(
                    "list {} of site {} was taken by client {first} at {}, and by client {second} at {told}, before the first one's commit",
                    taken.key, transaction.site, taken.told
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{ObservedTransaction, TakenList};

    fn taken(asked: u64, told: u64, committing: u64, fate: TransactionFate) -> ObservedTransaction {
        let taken = vec![TakenList { key: 7, asked, told }];
        ObservedTransaction { taken, committing: Some(committing), ..ObservedTransaction::of_fate(fate) }
    }

    fn verdict(transactions: [ObservedTransaction; 2]) -> Result<(), String> {
        check(&RunHistory { transactions: transactions.to_vec(), losses: Vec::new() })
    }

    /// Otherwise two workers that have one job would not be noticed; or those would be blamed that came one after the other.
    #[test]
    fn what_two_have_is_found() {
        let (committed, aborted) = (TransactionFate::Committed, TransactionFate::Aborted);
        assert!(verdict([taken(10, 12, 20, committed), taken(13, 15, 30, committed)]).is_err());
        assert!(verdict([taken(10, 12, 20, committed), taken(13, 15, 30, aborted)]).is_err());
        assert_eq!(verdict([taken(10, 12, 20, aborted), taken(13, 15, 30, committed)]), Ok(()));
        assert_eq!(verdict([taken(10, 12, 20, committed), taken(13, 22, 30, committed)]), Ok(()));
        assert_eq!(verdict([taken(10, 12, 20, committed), taken(11, 15, 30, committed)]), Ok(()));
        let elsewhere = ObservedTransaction { site: 2, ..taken(13, 15, 30, committed) };
        assert_eq!(verdict([taken(10, 12, 20, committed), elsewhere]), Ok(()));
    }
}
