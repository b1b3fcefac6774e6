//! The sequencer: one file per concurrency-control method.
