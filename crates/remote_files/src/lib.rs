//! Files of a program that exists and stays as it is, with syncs that are durable in the memory of k servers instead of on a disk.
//!
//! After the paper's REX (S. Ioannidis, E. Markatos and J. Sevaslidou, 1997, section 3): below an existing database, what it writes is put
//! into a remote log, and its syncs wait for servers. The database's own files are written as ever, and brought to disk in the background. It
//! knows nothing of what the files hold.
//!
//! # Promise
//!
//! After a crash of any kind the files are as after a loss of power that has spared everything up to the last sync that returned: every byte that was
//! written before it is there, and of what was written later any part may be. A program that bears losing power on its own disk bears that. One that
//! relies on more when only its process dies, such as the order of its writes, asks for it ([`RemoteFiles::ship`]). The
//! tables of [`network_memory`] say what is lost when; every recovery has this disk ([`network_memory::names::Fallback::RestartOnThisDisk`]).
//!
//! # How
//!
//! * One log for each group of files, one record for each sync, with every write since the last one as it was made: replayed in order, they
//!   mend whatever a loss of power has torn since the files were last brought to disk ([`recovery`]).
//! * What takes something away, a shorter file or none, waits for its receipt before it is made. Every other change is made at once: it may be
//!   there after a crash or not, like any write before a sync.
//! * A sync that is there for order only, such as that of a rollback journal before the database is written, waits as well: if the
//!   database's pages reached the disk and the journal reached nobody, nothing could mend them.
//! * When the log has grown long, the files are synced, a record says so, and what lies before is given up (`settling`). The same is done at
//!   an opening, before the first change, and at a close: a group that was closed in order needs no log to be opened.
//! * One process at a time has a group, by a lock on the folder of its log; a second one is told which. A program that does not go through
//!   this crate is not noticed: whatever it changes while a group is open, or after a crash and before the log was replayed, may be overwritten.
//! * A forked child is no such process: it is refused.
//!
//! In reading order: [`change`] is what a record says, [`remembered`] makes it short, [`recovery`] replays it, [`group`] takes changes and syncs, `settling` empties the
//! log, `opening` begins, [`options`] and [`status`] are what a user sees, [`power_loss`] is for
//! tests, [`limits`] holds every bound.

pub mod change;
pub mod error;
pub mod group;
pub mod limits;
mod opening;
pub mod options;
pub mod power_loss;
pub mod recovery;
pub mod remembered;
mod settling;
mod shared;
pub mod status;

pub use change::FileNumber;
pub use group::RemoteFiles;
pub use opening::OpenedFiles;
pub use options::FilesOptions;
