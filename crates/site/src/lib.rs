//! The real world: puts servers into processes; loops, sockets, files, clocks, configuration.
//!
//! All servers of a site are wired together by `domain`, under one lock, whatever process they are in. Workers own clients' connections and run
//! the domain on their own thread; the first worker also owns the connections with other sites. In reading order:
//!
//! * [`config`]: what a site or an oracle is told;
//! * [`protection`]: keys, and what may go without them;
//! * [`clock`]: the two clocks; `channels`: by what messages go to other sites;
//! * [`core`]: the domain with its log, store and connections, and its lives; [`site_log`]: the log, on disk or in the memory of servers as well;
//! * [`lease_thread`]: the thread that keeps leases, whatever the others do; `lateness`: how late it was;
//! * `entrance`: how clients come in; `certificates`: what theirs say; [`worker`]: the event loop and the clients; [`shared`]: what its threads share;
//! * [`layout`]: servers in processes of their own;
//! * `query_host`, `query_gate`: queries on threads of their own;
//! * [`site_process`]: a site's own process; [`oracle_process`]: the embedded oracle; `oracle_console`: what it tells;
//! * [`status`]: what `raid status` shows; `measures`: what it tells as metrics, with `process_use` and `disk_room`; `console_host`: who asks for them; [`trace_file`]: where it traces messages; [`store`]: the store on disk; [`repair`]: what becomes of a damaged
//!   copy; [`snapshot`]: copies of a running instance, and new instances made from them; [`open_files`]: how many files may be open; `huge_pages`: whether its memory comes in them; `back_seat`: long work that
//!   others should not notice.

mod audit;
mod back_seat;
mod certificates;
mod channels;
pub mod clock;
pub mod config;
pub mod config_names;
mod console_host;
pub mod core;
mod disk_room;
mod entrance;
mod huge_pages;
mod lateness;
pub mod layout;
pub mod lease_thread;
pub mod limits;
mod measures;
pub mod open_files;
mod oracle_console;
pub mod oracle_process;
pub mod planners;
mod process_use;
pub mod protection;
mod query_failures;
mod query_gate;
mod query_host;
pub mod repair;
pub mod shared;
pub mod site_log;
pub mod site_process;
pub mod snapshot;
pub mod status;
pub mod store;
mod store_files;
mod thread_time;
pub mod trace_file;
pub mod worker;

pub use config::{OracleConfig, SiteConfig};
