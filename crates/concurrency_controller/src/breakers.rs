//! Who has what contradicts a locking method: the younger of each two whose accesses conflict.

use crate::executing::Executing;
use crate::lock_table::{Holder, LockPlace, Mode};
use crate::sequencer::Breaker;
use messages::concurrency::AccessTarget;
use messages::{Age, Conflict, ConflictKind, Item, TransactionId};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Visits every access of another transaction that conflicts with one of this transaction, and with which, until told to stop. With a mode, as if all
/// accesses of this transaction were in that mode.
pub fn conflicts_of(
    executing: &Executing,
    transaction: TransactionId,
    all_in: Option<Mode>,
    visit: &mut dyn FnMut(&AccessTarget, Mode, Holder) -> ControlFlow<()>,
) -> ControlFlow<()> {
    executing.holds_of(transaction).try_for_each(|(target, mode)| {
        let (place, wanted) = (LockPlace::from(target), all_in.unwrap_or(mode));
        executing.held().conflicts(place, transaction, wanted, |other| visit(target, mode, other))
    })
}

/// Of these transactions, oldest first, those that conflict with an older one that stays.
pub fn younger_of_pairs(executing: &Executing, who: &[(Age, TransactionId)], all_in: Option<Mode>) -> Vec<Breaker> {
    let mut stay = BTreeSet::new();
    let mut breakers = Vec::new();
    for (_, transaction) in who {
        let mut found: Option<(Item, TransactionId)> = None;
        let _ = conflicts_of(executing, *transaction, all_in, &mut |target, _, other| {
            if !stay.contains(&other.transaction) {
                return ControlFlow::Continue(());
            }
            found = Some((LockPlace::from(target).item(), other.transaction));
            ControlFlow::Break(())
        });
        match found {
            Some((item, other)) => breakers.push(breaker(*transaction, item, other)),
            None => {
                stay.insert(*transaction);
            }
        }
    }
    breakers
}

/// A transaction that has to go for what another has.
pub fn breaker(transaction: TransactionId, item: Item, other: TransactionId) -> Breaker {
    Breaker { transaction, conflict: Conflict::on(item, ConflictKind::LateAccess, Some(other)) }
}
