//! Loads and experiments.
//!
//! What a person uses to see Raid work and to measure it: `raid-lab`, and `raid bench`, which calls it. Most experiments talk to a cluster on this machine
//! (`local_cluster`) as anybody does: through the PostgreSQL protocol and its consoles. They must not know what goes on inside a site. What all use
//! beside that is in `laboratory_harness`.
//!
//! On clusters:
//!
//! * [`debit_credit`]: pgbench's tables, clients that book into them, and the audit that finds every lost or doubled booking;
//! * [`demo`]: a cluster under load that loses a site and takes it back;
//! * [`returning`]: how soon a site that was away answers again; [`interruption`]: how long the others do not when one is killed;
//! * [`dip`]: what a site that comes back costs the clients of the others;
//! * [`adapting`]: methods of concurrency control under several loads, and the choice among them;
//! * [`first_answer`]: waiting until a site that was just started answers;
//! * [`soak`]: a mixed load and a kill a minute for an hour, and what that costs in memory and disk;
//! * [`machine`]: what figures depend on;
//! * [`larger`]: more rows than memory, and a working set that fits; * [`experiment`]: why any of them ends early;
//! * [`limits`]: every bound of these.
//!
//! Below clusters, each with a list of experiments and bounds of its own:
//!
//! * [`communication`]: calls and messages between processes and hosts;
//! * [`memory`]: recoverable memory and databases over the memory of other hosts.

pub mod adapting;
pub mod communication;
pub mod debit_credit;
pub mod demo;
pub mod dip;
pub mod experiment;
pub mod first_answer;
pub mod interruption;
pub mod larger;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod returning;
pub mod soak;
