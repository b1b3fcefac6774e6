//! How a transaction lets go of what it holds at the concurrency controller.

use crate::AtomicityController;
use messages::concurrency::ConcurrencyRequest;
use messages::{Message, Outbox, ServerKind, TransactionId};

impl AtomicityController {
    /// One that comes to nothing here, or of which that is not known.
    pub(crate) fn finish_locks(&self, transaction: TransactionId, outbox: &mut Outbox) {
        finish(transaction, false, outbox);
    }

    /// One that has committed.
    pub(crate) fn finish_committed(&self, transaction: TransactionId, outbox: &mut Outbox) {
        finish(transaction, true, outbox);
    }
}

fn finish(transaction: TransactionId, committed: bool, outbox: &mut Outbox) {
    let finish = ConcurrencyRequest::Finish { transaction, committed };
    outbox.local(ServerKind::ConcurrencyController, Message::Concurrency(finish));
}
