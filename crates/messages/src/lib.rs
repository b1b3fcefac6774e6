//! Epochs, items, actions and every message between servers.
//!
//! The contract that lets servers know each other's messages and never each other's code. Types and their codecs
//! only: nothing here decides anything. In reading order:
//!
//! * [`timestamp`], [`key`], [`item`], [`item_set`], [`epoch`]: the nouns;
//! * [`schema`], [`role`], [`program`]: tables, roles, and the action programs that statements compile to;
//! * [`session`], [`query`], [`access`], [`concurrency`], [`commit`], [`replication`], [`oracle`]: one file per protocol;
//! * [`log_record`]: what a site writes to its log;
//! * [`server`]: the machine interface that all servers have, their outbox and envelopes; [`remaining`]: for the codecs of their states;
//! * [`label`], [`trace`]: what messages are called, and what became of them, for who measures;
//! * [`settings`], [`method`], [`concurrency_report`]: what all sites are told by rows of the catalog, and the method in force; [`advisory`]: advisory locks as rows; [`conflict`], [`contention`]: why transactions lost, and on what; [`item_name`]: what clients call that; [`database`], [`catalog_place`]: databases, and where the catalog has what is in each; [`expression_sql`]: expressions as SQL; [`limits`]: every shared bound; [`lease`]: how long leases last, and what follows from it; [`lineage`]: how a log is known again; [`last_words`]: what a life leaves open; [`notification`]: what NOTIFY says; [`planted`](mod@planted): the simulator's switches; [`probes`]: what it must have gone through.

pub mod access;
pub mod advisory;
mod catalog;
pub mod catalog_place;
mod comment_target;
pub mod commit;
pub mod concurrency;
pub mod concurrency_report;
pub mod conflict;
pub mod contention;
pub mod database;
mod database_id;
mod domain_schema;
pub mod epoch;
mod expression_parts;
pub mod expression_sql;
mod expression_types;
mod extension_schema;
mod index_schema;
pub mod item;
pub mod item_name;
pub mod item_set;
pub mod key;
pub mod label;
pub mod last_words;
pub mod lease;
pub mod limits;
pub mod lineage;
pub mod log_record;
pub mod method;
pub mod namespace;
pub mod notification;
pub mod oracle;
pub mod planted;
mod policy_schema;
pub mod privilege;
pub mod probes;
pub mod program;
mod program_text;
pub mod query;
pub mod remaining;
pub mod replication;
pub mod role;
mod routine_schema;
pub mod schema;
pub mod server;
pub mod session;
pub mod settings;
pub mod snapshot_report;
mod table_kinds;
pub mod timestamp;
pub mod trace;
mod trigger_schema;
mod view_options;

pub use conflict::{Conflict, ConflictKind};
pub use epoch::{Epoch, Member, MemberState};
pub use identifiers::{
    Address, EpochNumber, Incarnation, InstanceId, OracleLife, ServerKind, SessionId, SiteId, TableId, TransactionId,
};
pub use item::{Addends, ChangedRows, History, Increment, Item, ItemRead, KeyRange, RangeRead, Row, Write};
pub use item_name::ItemName;
pub use item_set::ItemSet;
pub use key::Key;
pub use last_words::LastWords;
pub use lease::LeaseLength;
pub use lineage::{KnownMarks, Lineage, LogPoint};
pub use notification::Notification;
pub use server::{Envelope, Message, Now, Outbox, Server};
pub use timestamp::{Age, Timestamp};
pub use values::Addend;
