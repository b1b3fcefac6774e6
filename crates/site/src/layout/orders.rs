//! What `raid move`, `raid snapshot take` and sessions that take snapshots ask of a site: one line of text to a socket in the
//! site's folder, one JSON document back.
//!
//! Invariant: only who may enter the site's folder can ask.

use crate::config::SiteConfig;
use crate::layout::starting::Starter;
use crate::layout::{Meeting, ProcessPlace, name_of, server};
use crate::limits;
use crate::shared::SiteShared;
use crate::snapshot::desk::SnapshotProgress;
use crate::snapshot::take::{self, SnapshotRefusal, Taken, Wish};
use messages::ServerKind;
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The name of the socket.
const NAME: &str = "orders";
/// Begins the order for a snapshot; the wish follows as JSON. Who hangs up before the answer has given it up.
const SNAPSHOT: &str = "snapshot ";
/// The order that tells how far it is.
const PROGRESS: &str = "progress";

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
    if line.trim_end() == PROGRESS {
        let progress: Result<_, String> = Ok(shared.snapshots().progress());
        return socket.write_all(serde_json::to_string(&progress).expect("progress always encodes").as_bytes());
    }
    let outcome = execute(line.trim_end(), shared);
    let text = serde_json::to_string(&outcome).expect("an outcome always encodes");
    socket.write_all(text.as_bytes())
}

/// Takes a snapshot, on a thread of its own: that takes long, and others may have orders meanwhile.
fn snapshot(mut socket: UnixStream, wish: &str, config: SiteConfig, shared: Arc<SiteShared>) -> std::io::Result<()> {
    let wish: Result<Wish, SnapshotRefusal> =
        serde_json::from_str(wish).map_err(|error| unanswered(format!("no order: {error}")));
    let work = move || {
        let outcome = wish.and_then(|wish| take::take(&config, &shared, &wish, &|| has_hung_up(&socket)));
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
pub fn take_snapshot(data: &Path, wish: &Wish) -> Result<Taken, SnapshotRefusal> {
    order_snapshot(data, wish).and_then(SnapshotOrder::wait)
}

/// A snapshot that a site has been asked for. Dropped before the answer, it is given up.
pub(crate) struct SnapshotOrder {
    socket: UnixStream,
}

/// Has the site with this data folder begin a snapshot.
pub(crate) fn order_snapshot(data: &Path, wish: &Wish) -> Result<SnapshotOrder, SnapshotRefusal> {
    let wish = serde_json::to_string(wish).map_err(|error| unanswered(error.to_string()))?;
    let socket = begin(data, &format!("{SNAPSHOT}{wish}")).map_err(unanswered)?;
    Ok(SnapshotOrder { socket })
}

impl SnapshotOrder {
    /// What gives it up.
    pub(crate) fn hanger(&self) -> std::io::Result<SnapshotHanger> {
        self.socket.try_clone().map(SnapshotHanger)
    }

    /// Waits until it is permanent, or is not taken.
    pub(crate) fn wait(mut self) -> Result<Taken, SnapshotRefusal> {
        let mut answer = String::new();
        let read = self.socket.read_to_string(&mut answer);
        read.map_err(|error| unanswered(format!("the site does not answer: {error}")))?;
        let outcome = serde_json::from_str(&answer);
        outcome.map_err(|_| unanswered("the site has ended, or does not answer like one".to_owned()))?
    }
}

/// Gives a snapshot up when it is dropped.
pub(crate) struct SnapshotHanger(UnixStream);

impl Drop for SnapshotHanger {
    fn drop(&mut self) {
        // It has ended if that fails.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// The snapshot that the site with this data folder takes now.
///
/// # Errors
/// The site does not run, or does not answer.
pub fn snapshot_progress(data: &Path) -> Result<Option<SnapshotProgress>, String> {
    ask(data, PROGRESS)
}

fn unanswered(message: String) -> SnapshotRefusal {
    SnapshotRefusal { sqlstate: "58000".to_owned(), message }
}

/// Whether the other end is closed. It says nothing but its order.
fn has_hung_up(socket: &UnixStream) -> bool {
    let mut rest = [0; 1];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match rustix::net::recv(socket, &mut rest, flags) {
        Ok((read, _)) => read == 0,
        Err(error) => error != rustix::io::Errno::AGAIN,
    }
}

/// Moves a server of the site with this data folder to another of its processes, or to one on another host.
///
/// # Errors
/// The site does not run, or does not do it; the text says why.
pub fn move_server(data: &Path, kind: ServerKind, to: ProcessPlace) -> Result<Moved, String> {
    ask(data, &format!("{} {to}", name_of(kind)))
}

fn silent(data: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("the site in {} does not answer: {error}", data.display())
}

fn begin(data: &Path, order: &str) -> Result<UnixStream, String> {
    let text = silent(data);
    let mut socket = UnixStream::connect(Meeting::open(data).map_err(&text)?.path(NAME)).map_err(&text)?;
    socket.write_all(format!("{order}\n").as_bytes()).map_err(&text)?;
    Ok(socket)
}

fn ask<T: serde::de::DeserializeOwned>(data: &Path, order: &str) -> Result<T, String> {
    let (mut socket, text) = (begin(data, order)?, silent(data));
    let mut answer = String::new();
    socket.read_to_string(&mut answer).map_err(text)?;
    let outcome: Result<T, String> =
        serde_json::from_str(&answer).map_err(|error| format!("the site does not answer like one: {error}"))?;
    outcome
}
