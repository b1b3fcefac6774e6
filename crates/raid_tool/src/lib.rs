//! RaidTool: a live console of a cluster in the browser, which shows it and reconfigures it (Bhargava and Riedl, "The Raid Distributed Database System",
//! 1989, I.B).
//!
//! It is a process of its own beside the sites, and it must not know their inside: it asks their consoles once a second, speaks SQL as any client does, and has
//! everything else done by the commands of the `raid` program. However many pages are open, a site is asked once.
//!
//! In reading order: [`cluster_file`], which sites there are; `ask`, `site_view`, `exposition_text`, what one says; `figures`, what two answers say
//! together; `history`, an hour of that; `poller`, who asks; [`token`], `safety`, who may look; `files`, the pages; `sql`, `views`, `actions`, what pages ask
//! for; `answers`, `server`, how they are told; [`limits`], every bound.
//!
//! Invariants: nothing is said to whoever lacks the token, nothing is changed while the console is read-only, and no answer of a site is trusted.

mod actions;
mod answers;
mod ask;
pub mod cluster_file;
mod exposition_text;
mod figures;
mod files;
mod history;
pub mod limits;
mod poller;
mod safety;
mod server;
mod site_view;
mod sql;
pub mod token;
mod views;

use cluster_file::{ClusterFile, ClusterFileError};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// What a console is started with.
#[derive(Clone, Debug)]
pub struct ToolOptions {
    /// The sites that it shows.
    pub cluster: ClusterFile,
    /// Where pages are served; a port of 0 takes a free one.
    pub listen: SocketAddr,
    /// Nothing may be changed, and no SQL be asked.
    pub read_only: bool,
    /// The `raid` program, whose commands carry out what is asked for.
    pub program: PathBuf,
    /// The role that the console is to the sites; its password is in `PGPASSWORD`.
    pub user: String,
}

/// Why a console does not run.
#[derive(Debug, Error)]
pub enum ToolError {
    /// Others on the network would read what passes.
    #[error(
        "{0} is not on loopback, and the console does not encrypt: listen on 127.0.0.1, and reach it from elsewhere with `ssh -L {port}:127.0.0.1:{port} HOST`",
        port = .0.port()
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("the console cannot listen at {address}: {source}. Give another address with --listen")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The list of the sites.
    #[error(transparent)]
    Cluster(#[from] ClusterFileError),
    /// The operating system.
    #[error("the console cannot run: {0}")]
    System(std::io::Error),
}

/// A console that is about to serve.
#[derive(Clone, Debug)]
pub struct ToolAddress {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The address for a browser, with the token.
    pub link: String,
}

/// Serves pages until `stop` is set. `ready` is told the address once connections are taken.
///
/// It has threads of its own and returns when they have ended.
pub fn run(options: ToolOptions, stop: &AtomicBool, ready: impl FnOnce(&ToolAddress)) -> Result<(), ToolError> {
    server::run(options, stop, ready)
}
