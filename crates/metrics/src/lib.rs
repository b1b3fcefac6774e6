//! What is counted on the paths of statements and commits: events, and how long things took.
//!
//! A count has one writer, so that counting is a load, an addition and a store, without a lock and without a locked instruction; anybody may read it
//! meanwhile. Invariants: what is read of a count never goes back; a histogram holds each observation in exactly one bucket, so that its parts add up
//! whenever it is read. It must not know what is counted, nor how that is shown.
//!
//! In reading order: [`EventCounter`], [`LatencyHistogram`], [`LatencyRecorder`].

mod counter;
mod latency;

pub use counter::EventCounter;
pub use latency::{BUCKETS, LatencyHistogram, LatencyRecorder, bound_nanoseconds};
