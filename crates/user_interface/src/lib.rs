//! PostgreSQL protocol sessions; SQL compiled to action programs.
//!
//! A pure machine: a client's bytes and the other servers' messages in, bytes and messages out. It knows the protocol, SQL and the
//! catalog's definitions; it knows no socket, no clock, no row that is stored, and none of the servers that it asks. A process may
//! hold several, one for each group of clients. In reading order:
//!
//! * [`config`]: who it is; [`user_interface`]: the server, what its caller drives;
//! * [`protocol`]: bytes to messages and back; [`session`]: what each client has set up and under way;
//! * [`locks`]: advisory locks;
//! * [`sql`]: text to programs, queries and schema changes;
//! * [`errors`]: what the client is told; [`counters`]: what is counted; [`activity`]: what sessions are doing; [`events`]: what is noted; [`limits`]: every bound.

pub mod activity;
pub mod config;
pub mod counters;
pub mod errors;
pub mod events;
pub mod limits;
pub mod locks;
pub mod protocol;
pub mod session;
pub mod sql;
pub mod user_interface;

pub use activity::ActivityBoard;
pub use config::Config;
pub use events::{EventKind, EventSelection, SessionEvent};
pub use protocol::frontend::announces_long;
pub use session::doorkeeper::Doorkeeper;
pub use session::login::{Encryption, Peer};
pub use sql::effects::SentSignal;
pub use user_interface::{CancelKey, Moving, UserInterface};
