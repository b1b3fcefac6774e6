//! How a transaction that does not commit lets go of what it holds.

use crate::companions::Errand;
use crate::exchange::SessionExchange;
use crate::transaction::ExecutingTransaction;
use messages::concurrency::ConcurrencyRequest;
use messages::planted;
use messages::{Conflict, ConflictKind};

/// Gives up all that a transaction holds at other servers.
pub(crate) fn release(transaction: &mut ExecutingTransaction, exchange: &mut SessionExchange) {
    if let Some((id, _)) = transaction.identity.take() {
        exchange.unfollow(id);
        exchange.concurrency(ConcurrencyRequest::Finish { transaction: id, committed: false });
    }
    leave_snapshots(transaction, exchange);
    exchange.drop_storages(transaction.take_ahead());
}

/// A transaction reads its snapshots no more.
pub(crate) fn leave_snapshots(transaction: &mut ExecutingTransaction, exchange: &mut SessionExchange) {
    transaction.leave_snapshots().for_each(|snapshot| exchange.shared.snapshots.leave(snapshot));
}

/// A guest has left the transaction. What the last of several guests has written cannot be undone once a later one has left: then all is
/// lost.
pub(crate) fn give_back(mut transaction: ExecutingTransaction, exchange: &mut SessionExchange) {
    if !transaction.can_be_left() {
        exchange.shared.companions.lost(&mut transaction, &Conflict::of(ConflictKind::CompanionGone));
        return release(&mut transaction, exchange);
    }
    if let Some((id, _)) = transaction.identity {
        exchange.unfollow(id);
    }
    if !planted!(exchange.shared.planted, GuestLeavesWrites) {
        transaction.fail_statement();
    }
    exchange.shared.companions.errands.push_back(Errand::TakeBack(Box::new(transaction)));
}
