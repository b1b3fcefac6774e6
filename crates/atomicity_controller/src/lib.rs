//! Distributed commit in one round, and resolution after a failure.
