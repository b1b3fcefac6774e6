//! How one end learns that the other is gone: its process has ended, reaped or not, or it has closed the line.
//!
//! One thread of this process waits for all of that, on the control sockets and on descriptors of the peers' processes (pidfd_open(2)), so that
//! an end that waits for its peer waits for one word of memory and nothing else. Invariant: an end that is told is marked gone first,
//! then woken; it looks at the mark each time before it sleeps.

use super::segment::{LineSegment, LineSide};
use super::shape::LineError;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What the watcher knows of one line.
#[derive(Debug)]
struct WatchedLine {
    gone: Arc<AtomicBool>,
    segment: Arc<LineSegment>,
    side: LineSide,
}

/// Waits for all lines of this process.
#[derive(Debug)]
struct LineWatcher {
    epoll: OwnedFd,
    watched: Mutex<(u64, BTreeMap<u64, WatchedLine>)>,
}

impl LineWatcher {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, WatchedLine>)> {
        // Nothing that holds it leaves it half changed.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut events = Vec::with_capacity(64);
        loop {
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                // Its descriptor lives as long as the process.
                Err(error) => panic!("lines can no longer be watched: {error}"),
            }
            for event in events.drain(..) {
                let mut lines = self.lock();
                // Once is enough: what a peer that lives sends besides is not read, and would be told again and again.
                if let Some(line) = lines.1.remove(&event.data.u64()) {
                    line.gone.store(true, Ordering::SeqCst);
                    line.segment.post_nobody(line.side);
                }
            }
        }
    }
}

/// The watcher of this process, started when the first line needs it.
fn watcher() -> Result<&'static LineWatcher, LineError> {
    static WATCHER: OnceLock<LineWatcher> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(watcher) = WATCHER.get() {
        return Ok(watcher);
    }
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let watcher = WATCHER.get_or_init(|| LineWatcher { epoll, watched: Mutex::default() });
    std::thread::Builder::new().name("lifelines".to_owned()).spawn(|| watcher.watch())?;
    Ok(watcher)
}

/// See the module's description. Dropped, it tells the other side.
#[derive(Debug)]
pub(super) struct Lifeline {
    gone: Arc<AtomicBool>,
    number: u64,
    watcher: &'static LineWatcher,
    socket: UnixStream,
    process: OwnedFd,
}

impl Lifeline {
    /// Of the end at `side`, whose peer is at the other end of the socket.
    pub(super) fn new(socket: UnixStream, segment: Arc<LineSegment>, side: LineSide) -> Result<Lifeline, LineError> {
        let watcher = watcher()?;
        let process = pidfd_open(socket_peercred(&socket)?.pid, PidfdFlags::empty())?;
        let gone = Arc::new(AtomicBool::new(false));
        let number = {
            let mut lines = watcher.lock();
            lines.0 += 1;
            let number = lines.0;
            lines.1.insert(number, WatchedLine { gone: gone.clone(), segment, side });
            number
        };
        // Whatever fails from here on, the drop takes it back.
        let lifeline = Lifeline { gone, number, watcher, socket, process };
        let once = EventFlags::ONESHOT;
        let data = EventData::new_u64(number);
        epoll::add(&watcher.epoll, &lifeline.socket, data, once | EventFlags::IN | EventFlags::RDHUP)?;
        epoll::add(&watcher.epoll, &lifeline.process, data, once | EventFlags::IN)?;
        Ok(lifeline)
    }

    /// Whether the peer is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // They may not have been added; closing them takes them off, too, unless a child of this process has them.
        let _ = epoll::delete(&self.watcher.epoll, &self.socket);
        let _ = epoll::delete(&self.watcher.epoll, &self.process);
        self.watcher.lock().1.remove(&self.number);
    }
}
