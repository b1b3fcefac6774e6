//! The console of a process: an address where operators, Prometheus and probes ask how it is.
//!
//! It has a thread of its own, so that nobody who connects is in anybody's way. A connection says one thing, gets one answer, and ends: the line
//! `status`, or a request of HTTP/1.1 for `/metrics`, `/health/live`, `/health/ready` or `/status`. Invariant: however many connect, and whatever they say or
//! leave unsaid, the memory, the time and the connections that they get are bounded ([`limits`]). It must not know what it tells.
//!
//! In reading order: [`Exposition`], families of metrics as text; [`ConsoleSource`], what there is to tell; `request`, what somebody asks for; `answer`,
//! what is said; `connection`, one of them; [`serve`], all of them.

mod answer;
mod connection;
mod exposition;
pub mod limits;
mod request;
mod server;

pub use exposition::{Exposition, LabelValues};
pub use request::STATUS_LINE;
pub use server::{Health, serve};

/// What a console tells. Each call is made for one who has asked, on the console's thread.
pub trait ConsoleSource {
    /// One JSON document; `None`: this process has none.
    fn status(&self) -> Option<String>;

    /// All metrics, in Prometheus' text format.
    fn metrics(&self) -> String;

    /// Whether the process does its work at all. Whoever looks after processes ends one that does not.
    fn live(&self) -> Health;

    /// Whether clients are to be sent here.
    fn ready(&self) -> Health;
}
