//! The tests of the log from outside: `conformance` runs on both logs, the others on files. One program, so that the
//! modules share what is in `common`.

mod common;
mod conformance;
mod damage;
mod disk_full;
mod kill;
mod opening;
