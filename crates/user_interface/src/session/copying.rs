//! How far COPY FROM has come.
//!
//! Invariant: rows that triggers fire for are taken by these, all others by the program.

use crate::protocol::copy::Decoder;
use crate::session::firing::FiringRun;
use messages::program::Program;
use std::sync::Arc;
use values::Value;

/// What rows of COPY FROM STDIN fire.
#[derive(Debug)]
pub struct CopyFiring {
    /// The statement that takes rows; `None` while it waits for some.
    pub run: Option<FiringRun>,
    /// Where the data has each column of the table; `None`: nowhere.
    pub places: Vec<Option<usize>>,
    /// Rows that came before it was known that the functions are what they were; `None`: it is known.
    pub first: Option<Vec<Vec<Value>>>,
}

/// COPY FROM STDIN under way.
#[derive(Debug)]
pub struct CopyIn {
    /// What turns data into rows.
    pub decoder: Decoder,
    /// What takes the rows.
    pub program: Arc<Program>,
    /// The triggers that fire for them, and take them. The program relies on their functions, then.
    pub firing: Option<Box<CopyFiring>>,
    /// The client has sent all its data.
    pub ended: bool,
}
