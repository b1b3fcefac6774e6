//! The access manager as other servers see it, message by message.

mod additions;
mod backlog;
mod drops;
mod large;
mod model;
mod site;
mod stale_copies;
