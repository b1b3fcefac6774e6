//! Snapshots of a running instance, and new instances made from them.
//!
//! One site copies its store and, beside it, its log: what a start would find if the site were killed. A restore is such a start. So what is
//! restored is found by the code that every start runs. Reading order: [`files`], [`desk`], [`take`], [`schedule`], [`archive`], [`retention`], `tables`, [`restore`].
//!
//! What belongs to a snapshot, and why that is a moment of the instance, is decided in [`domain::snapshot`], which the simulator runs, too.

pub mod archive;
pub mod desk;
pub mod files;
pub mod restore;
pub mod retention;
pub mod schedule;
pub(crate) mod tables;
pub mod take;
