//! What `raid move` and `raid snapshot take` ask of a site: one line of text to a socket in the site's folder, one JSON document back.
//!
//! Invariant: only who may enter the site's folder can ask.

use crate::config::SiteConfig;
use crate::layout::starting::Starter;
use crate::layout::{Meeting, ProcessPlace, name_of, server};
use crate::limits;
use crate::shared::SiteShared;
use crate::snapshot::take::{self, Taken, Wish};
use messages::ServerKind;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The name of the socket.
const NAME: &str = "orders";
/// Begins the order for a snapshot; the wish follows as JSON.
const SNAPSHOT: &str = "snapshot ";

/// What a move has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Which server.
    pub server: String,
    /// In which process it was.
    pub from: String,
    /// In which process it is.
    pub to: String,
    /// Bytes of its state.
    pub bytes: usize,
    /// How long the site stood still, in microseconds.
    pub pause_us: u64,
}

/// Serves orders until the process ends.
pub(crate) fn serve(config: &SiteConfig, shared: &Arc<SiteShared>) -> Result<(), String> {
    let text = |error: std::io::Error| format!("site {} cannot take orders: {error}", config.id);
    let listener = UnixListener::bind(Meeting::open(&config.data).map_err(text)?.path(NAME)).map_err(text)?;
    let (config, shared) = (config.clone(), shared.clone());
    let thread = std::thread::Builder::new().name("orders".to_owned()).spawn(move || {
        for socket in listener.incoming().flatten() {
            // Who asked may be gone.
            let _ = answer(socket, &config, &shared);
        }
    });
    thread.map(drop).map_err(text)
}

fn answer(mut socket: UnixStream, config: &SiteConfig, shared: &Arc<SiteShared>) -> std::io::Result<()> {
    socket.set_read_timeout(Some(limits::ORDER_TIME_MAX))?;
    let mut line = String::new();
    BufReader::new(Read::by_ref(&mut socket).take(limits::ORDER_BYTES_MAX)).read_line(&mut line)?;
    if let Some(wish) = line.strip_prefix(SNAPSHOT) {
        return snapshot(socket, wish, config.clone(), shared.clone());
    }
    let outcome = execute(line.trim_end(), shared);
    let text = serde_json::to_string(&outcome).expect("an outcome always encodes");
    socket.write_all(text.as_bytes())
}

/// Takes a snapshot, on a thread of its own: that takes long, and others may have orders meanwhile.
fn snapshot(mut socket: UnixStream, wish: &str, config: SiteConfig, shared: Arc<SiteShared>) -> std::io::Result<()> {
    let wish: Result<Wish, String> = serde_json::from_str(wish).map_err(|error| format!("no order: {error}"));
    let work = move || {
        let outcome = wish.and_then(|wish| take::take(&config, &shared, &wish));
        // Who asked may be gone.
        let _ = socket.write_all(serde_json::to_string(&outcome).expect("an outcome always encodes").as_bytes());
    };
    std::thread::Builder::new().name("snapshot".to_owned()).spawn(work).map(drop)
}

fn execute(line: &str, shared: &SiteShared) -> Result<Moved, String> {
    let (kind, to) = line.split_once(' ').ok_or("an order is a server and a process")?;
    let (kind, to): (ServerKind, ProcessPlace) = (server(kind)?, to.parse()?);
    let begun = Instant::now();
    shared.core().ok_or("this process takes no orders")?.may_move(kind, to)?;
    let prepare = |begins| {
        let mut core = shared.core().ok_or("this process takes no orders")?;
        let prepared = core.prepare_move(kind, begins);
        core.settle();
        drop(core);
        shared.wake(0);
        Ok::<_, String>(prepared)
    };
    let mut prepared = prepare(true)?;
    // Without that it takes longer, and is done all the same.
    while !prepared && begun.elapsed() < limits::PREPARE_TIME_MAX {
        std::thread::sleep(limits::PREPARE_LOOK);
        prepared = prepare(false)?;
    }
    let starter = shared.core().ok_or("this process takes no orders")?.starter_for(to);
    let started = starter.map(Starter::start).transpose()?;
    let mut core = shared.core().ok_or("this process takes no orders")?;
    let moved = core.move_server(kind, to, started);
    core.settle();
    drop(core);
    // What the site now has to say goes out with its next turn.
    shared.wake(0);
    let moved = moved?;
    Ok(Moved {
        server: name_of(kind),
        from: moved.from.to_string(),
        to: to.to_string(),
        bytes: moved.bytes,
        pause_us: u64::try_from(moved.pause.as_micros()).unwrap_or(u64::MAX),
    })
}

/// Has the site with this data folder take a snapshot, and waits until it is permanent.
///
/// # Errors
/// The site does not run, or does not do it; the text says why.
pub fn take_snapshot(data: &Path, wish: &Wish) -> Result<Taken, String> {
    ask(data, &format!("{SNAPSHOT}{}", serde_json::to_string(wish).map_err(|error| error.to_string())?))
}

/// Moves a server of the site with this data folder to another of its processes, or to one on another host.
///
/// # Errors
/// The site does not run, or does not do it; the text says why.
pub fn move_server(data: &Path, kind: ServerKind, to: ProcessPlace) -> Result<Moved, String> {
    ask(data, &format!("{} {to}", name_of(kind)))
}

fn ask<T: serde::de::DeserializeOwned>(data: &Path, order: &str) -> Result<T, String> {
    let text = |error: std::io::Error| format!("the site in {} does not answer: {error}", data.display());
    let mut socket = UnixStream::connect(Meeting::open(data).map_err(text)?.path(NAME)).map_err(text)?;
    socket.write_all(format!("{order}\n").as_bytes()).map_err(text)?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).map_err(text)?;
    let outcome: Result<T, String> =
        serde_json::from_str(&answer).map_err(|error| format!("the site does not answer like one: {error}"))?;
    outcome
}
