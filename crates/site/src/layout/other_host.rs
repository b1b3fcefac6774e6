//! A process on another host that waits for servers of a site: `raid host`.
//!
//! Invariants: only the site that it waits for reaches it; it has the servers of one life of that: a new line ends the one before, and with it the
//! servers that came by it; what it has not replied has not happened.

use crate::config::SiteConfig;
use crate::layout::{line, starting};
use crate::{huge_pages, limits};
use access_manager::{Store, StoreError};
use domain::{ServerHost, Stores};
use raidcomm::remote::{Closer, LineIdentity, RemoteLineListener, RemoteLineServer, Stranger};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What all threads of the process share.
struct OtherHostShared {
    identity: LineIdentity,
    /// Ends the line of the site's current life.
    current: Mutex<Option<Closer>>,
    /// Lines that are served: one, but for a moment.
    lines: AtomicUsize,
    /// Connections whose other ends have not said who they are.
    strangers: AtomicUsize,
}

/// Waits at `listen` for servers of the site with this configuration until `stop` is set. `ready` is told where it listens.
///
/// # Errors
/// It cannot listen there, or must not without keys.
pub fn run(
    config: &SiteConfig,
    listen: SocketAddr,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), String> {
    huge_pages::allow(true);
    let identity = starting::identity(config, ("--listen".to_owned(), listen))?;
    let text = |error: std::io::Error| format!("cannot listen at {listen}: {error}");
    let listener = RemoteLineListener::bind(listen).map_err(text)?;
    ready(listener.address().map_err(text)?);
    let waiting = Arc::new(OtherHostShared {
        identity,
        current: Mutex::default(),
        lines: AtomicUsize::new(0),
        strangers: AtomicUsize::new(0),
    });
    while !stop.load(Ordering::SeqCst) {
        match listener.accept(limits::HOST_LOOK) {
            Ok(Some(stranger)) => waiting.admit(stranger),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Until the operating system has what it lacks.
                std::thread::sleep(limits::HOST_LOOK);
            }
        }
    }
    if waiting.lines.load(Ordering::SeqCst) > 0 {
        tracing::warn!("the site's servers here are gone with this process: the site begins a new life without it");
    }
    Ok(())
}

impl OtherHostShared {
    /// Greets who has come, on a thread of its own.
    fn admit(self: &Arc<Self>, stranger: Stranger) {
        let from = stranger.address();
        if self.strangers.fetch_add(1, Ordering::SeqCst) >= limits::HOST_STRANGERS_MAX {
            self.strangers.fetch_sub(1, Ordering::SeqCst);
            tracing::warn!(%from, "too many connections that have not said who they are: one is closed");
            return;
        }
        let waiting = self.clone();
        let thread = std::thread::Builder::new().name("servers".to_owned()).spawn(move || {
            let greeted = stranger.greet(&waiting.identity, limits::HOST_GREETING_MAX);
            waiting.strangers.fetch_sub(1, Ordering::SeqCst);
            match greeted {
                Ok(server) => waiting.serve(server, from),
                Err(error) => tracing::warn!(%from, %error, "a connection is refused"),
            }
        });
        if let Err(error) = thread {
            self.strangers.fetch_sub(1, Ordering::SeqCst);
            tracing::error!(%error, "no thread for a connection");
        }
    }

    fn serve(&self, mut server: RemoteLineServer, from: SocketAddr) {
        let site = self.identity.site;
        let closer = match server.closer() {
            Ok(closer) => closer,
            Err(error) => return tracing::error!(%error, "a connection could not be kept"),
        };
        let before = self.current.lock().unwrap_or_else(PoisonError::into_inner).replace(closer);
        before.iter().for_each(Closer::close);
        self.lines.fetch_add(1, Ordering::SeqCst);
        tracing::info!(%site, %from, "the site gives servers to this host");
        let mut host = ServerHost::new(Box::new(NoStores));
        let served = line::serve(&mut server, |request, reply| host.execute(request, reply));
        self.lines.fetch_sub(1, Ordering::SeqCst);
        match served {
            Ok(()) => tracing::info!(%site, %from, "the site has taken its servers back, or has ended"),
            Err(error) => tracing::warn!(%site, %from, error, "the site is lost, and its servers here with it"),
        }
    }
}

/// The store of a site is in the site's own folder, on the site's host.
struct NoStores;

impl Stores for NoStores {
    fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
        Err(StoreError::Disk("there is no store of the site on this host".to_owned()))
    }

    fn close(&mut self, _: Box<dyn Store>) -> Result<(), StoreError> {
        Ok(())
    }
}
