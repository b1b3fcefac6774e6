//! Relational queries over a snapshot, by DataFusion.
