//! What a snapshot has, and how an instance made from one begins: decided here for both worlds, which keep the files.
//!
//! Reading order: [`taking`], with the argument for the cut, and [`restoring`].

pub mod restoring;
pub mod taking;
