//! The PostgreSQL protocol, version 3: bytes to messages and back (PostgreSQL 15, chapter 55).
//!
//! Invariant: decoding borrows from the input and believes no length or count in it; encoding writes straight into the
//! output buffer, one pass, no copy of a row. Nothing here knows sessions. (The `pgwire` crate's codecs were considered:
//! they read past a message's own end, replace text that is not UTF-8, and take one allocation a field.)

pub mod backend;
pub mod copy;
pub mod format;
pub mod frontend;
