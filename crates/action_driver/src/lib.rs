//! Executes action programs over the local copy.
