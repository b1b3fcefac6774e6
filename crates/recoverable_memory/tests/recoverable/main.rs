//! Tests of recoverable memory as its users see it, on a disk that fails on demand, on a real one, and in a process that is
//! killed.

mod borrows;
mod common;
mod crashes;
mod damage;
mod devices;
#[cfg(not(miri))]
mod kill;
mod optimisations;
mod properties;
mod threads;
