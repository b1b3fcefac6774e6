//! What a snapshot has, and how an instance made from one begins: decided here for both worlds, which keep the files.
//!
//! Reading order: [`taking`], with the argument for the cut, [`restoring`], and [`archive`], for any moment behind a snapshot.

pub mod archive;
pub mod restoring;
pub mod taking;
