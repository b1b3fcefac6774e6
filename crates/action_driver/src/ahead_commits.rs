//! What a transaction has committed ahead of itself: rows of storages that nobody else can see yet, the row of numbers, and blocks of sequences.
//!
//! Invariant: rows of a lost try are never left in storages that a later one fills.

use crate::exchange::SessionExchange;
use crate::need::{ExecutorNeed, catalog_item};
use crate::transaction::ExecutingTransaction;
use crate::work::{DriverRequest, RequestedJob, Waits};
use messages::commit::CommitRequest;
use messages::conflict::Conflict;
use messages::item::{ItemRead, Write};
use messages::planted;
use messages::planted::Planted;
use messages::schema::CatalogEntry;
use messages::session::Failure;
use messages::{History, Item, Row, TableId, Timestamp};
use std::sync::Arc;

/// What a need has committed before its transaction goes on.
pub(crate) fn committed_ahead(need: ExecutorNeed, transaction: &mut ExecutingTransaction, planted: Planted) -> History {
    match need {
        ExecutorNeed::Claim(seen, row) => claim(catalog_item(&CatalogEntry::next_key()), seen, row),
        ExecutorNeed::Block(item, seen, row) => {
            let mut block = claim(item, seen, row);
            if planted!(planted, BlockTakenUnread) {
                block.reads.clear();
            }
            block
        }
        _ => History { writes: transaction.take_chunk(), ..History::default() },
    }
}

/// The row of numbers, or of a sequence, committed ahead where it still has this version.
fn claim(item: Item, seen: Timestamp, row: Row) -> History {
    let Item { table, key } = item;
    let read = ItemRead { table, key: key.clone(), seen };
    History { reads: vec![read], writes: vec![Write { table, key, row: Some(row) }], ..History::default() }
}

/// Rows are committed ahead without having been read.
pub(crate) fn is_claim(chunk: &History) -> bool {
    !chunk.reads.is_empty()
}

/// Whether a claim is of the row of numbers, not of a sequence.
pub(crate) fn is_of_numbers(claim: &History) -> bool {
    claim.writes.iter().any(|write| write.table == TableId::CATALOG)
}

/// Somebody else has taken the numbers that a program was compiled with.
pub(crate) fn numbers_taken() -> Failure {
    Failure::SchemaChanged { key: CatalogEntry::next_key() }
}

pub(crate) fn begin_chunk(work: &mut DriverRequest, chunk: Arc<History>, exchange: &mut SessionExchange) {
    let tag = exchange.tag();
    work.waits = Waits::ChunkBegin { tag, chunk };
    exchange.commit(CommitRequest::Begin { tag });
}

/// The storages that a program was compiled with hold rows of a lost try, so it cannot be tried again with them; compiled again,
/// it gets new ones.
pub(crate) fn storages_used_up(work: &DriverRequest, conflict: Conflict) -> Failure {
    match work.job {
        RequestedJob::Execute(_) => Failure::SchemaChanged { key: CatalogEntry::next_key() },
        RequestedJob::Scan(_) | RequestedJob::Commit => Failure::Conflict { conflict },
    }
}
