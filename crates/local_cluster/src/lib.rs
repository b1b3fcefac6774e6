//! A cluster on one machine, as `raid start` runs it: an oracle and some sites, each a process of its own.
//!
//! It starts the `raid` program's processes and talks to them as anybody does: through their folders and their consoles. It must not know what
//! goes on inside a site.
//!
//! * [`cluster`]: what a cluster is, and its folder; * [`process`]: one process; * `restoring`: its data come from a snapshot; * [`running`]: all of them;
//! * [`orders`]: what others ask of whoever runs it; * [`supervisor`]: a cluster in the foreground;
//! * [`screen`]: what a person sees of long work; * [`trace`]: what became of each message, read offline;
//! * [`stop`]: a flag that Ctrl-C sets; * [`limits`]: every bound.

pub mod cluster;
pub mod limits;
pub mod orders;
mod ports;
pub mod process;
mod restoring;
pub mod rollback;
pub mod running;
pub mod screen;
pub mod stop;
pub mod supervisor;
pub mod trace;

pub use cluster::{
    ClusterDirectory, ClusterError, ClusterWish, DESCRIPTION_FILE, KEYS_FOLDER, SiteAddresses, file_error,
};
pub use restoring::RestoringFolder;
