//! The access manager as other servers see it, message by message.

mod model;
mod site;
mod stale_copies;
