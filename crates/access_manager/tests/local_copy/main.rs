//! The access manager as other servers see it, message by message.

mod backlog;
mod drops;
mod increments;
mod large;
mod model;
mod site;
mod stale_copies;
