//! Advisory locks of all sites: who gets one, and the transactions that a session takes and gives them back by.
//!
//! A lock is a row of [`messages::advisory::table`]. A session reads the row and writes it anew in a transaction of its own, which commits like any other:
//! so no two sites ever see different holders. Invariants: whoever holds a lock stands in its row until its session gives it back, or its site's life is
//! out of the epoch; who gives one back hands it to those next in line in the same transaction, and tells them by a notification; what is
//! written is the same however often it is tried.
//!
//! In reading order: [`queue`]: the rules of one lock; [`deadlocks`]: who waits for whom; [`programs`]: the row read and written; [`held`]: what a session
//! has, as its transaction and savepoints have it; [`errands`]: its transactions of locks, one after the other.

pub mod deadlocks;
pub mod errands;
pub mod held;
pub mod programs;
pub mod queue;
