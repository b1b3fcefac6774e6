//! Clusters on one machine, loads and experiments.
//!
//! What a person uses to see Raid work and to measure it. It starts the `raid` program's processes and talks to them as anybody does: through
//! their folders, the PostgreSQL protocol and their consoles. It must not know what goes on inside a site.
//!
//! * [`cluster`]: an oracle and some sites on this machine, each a process of its own: files, processes, orders, supervision;
//! * [`debit_credit`]: pgbench's tables, clients that book into them, and the audit that finds every lost or doubled booking;
//! * [`demo`]: a cluster under load that loses a site and takes it back;
//! * [`returning`]: how soon a site that was away answers again; [`interruption`]: how long the others do not when one is killed;
//! * [`dip`]: what a site that comes back costs the clients of the others;
//! * [`first_answer`]: waiting until a site that was just started answers;
//! * [`soak`]: a mixed load and a kill a minute for an hour, and what that costs in memory and disk; * [`machine`]: what figures depend on;
//! * [`larger`]: more rows than memory, and a working set that fits; * [`experiment`]: why any of them ends early;
//! * [`trace`]: what became of each message, read offline;
//! * [`screen`]: what a person sees of long work.

pub mod cluster;
pub mod debit_credit;
pub mod demo;
pub mod dip;
pub mod experiment;
pub mod first_answer;
pub mod interruption;
pub mod larger;
pub mod limits;
pub mod machine;
pub mod returning;
pub mod screen;
pub mod soak;
pub mod trace;
