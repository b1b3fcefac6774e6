//! What a closed queueing network answers: how many clients, sites and processors a load needs, and what binds.
//!
//! Demands go in, in microseconds of a transaction; throughput, times and shares come out. Invariant: it computes from what was measured, and knows neither a
//! cluster nor a clock. In reading order:
//!
//! * [`centres`]: where a transaction spends its time; [`mean_value`]: what happens with so many clients;
//! * [`demands`]: what was measured of a transaction; [`capacity`]: what sites and clients make of it, and what binds;
//! * [`thesis`]: the file server of Zwaenepoel's thesis, chapter 4, which the method comes from.

pub mod capacity;
pub mod centres;
pub mod demands;
pub mod mean_value;
pub mod thesis;
