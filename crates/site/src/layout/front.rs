//! The user interface, with the query processor, in a process of its own: the workers of [`crate::worker`] without the core.
//!
//! Each worker, and the query processor, has a line to the site's process (`door`); one more brings what comes later. Invariant: outputs are
//! taken in the order of their numbers, so that a session never sees an answer before what preceded it.

use crate::config::SiteConfig;
use crate::core::CoreOutput;
use crate::layout::Meeting;
use crate::layout::door::{self, Knock, Parcel, Parcels};
use crate::layout::line::CallLine;
use crate::worker::{self, PreparedWorkers};
use crate::{clock, limits};
use messages::Envelope;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;
use std::time::Instant;

/// The way to the site's process.
pub(crate) struct Front {
    lines: Vec<Mutex<CallLine>>,
    order: Mutex<Order>,
}

/// Outputs that came, and that must come before them.
struct Order {
    next: u64,
    held: BTreeMap<u64, Parcel>,
}

impl Front {
    /// One line for each worker and for the query processor.
    fn connect(meeting: &Meeting, workers: usize) -> Result<Front, String> {
        let line = || CallLine::connect(meeting, door::NAME).map(Mutex::new);
        let lines = (0..=workers).map(|_| line()).collect::<Result<_, _>>();
        let lines = lines.map_err(|error| format!("the site's process cannot be reached: {error}"))?;
        Ok(Front { lines, order: Mutex::new(Order { next: 1, held: BTreeMap::new() }) })
    }

    /// Makes requests by the line of this worker, and takes what came of them, or of others before.
    pub(crate) fn submit(
        &self,
        worker: Option<usize>,
        envelopes: Vec<Envelope>,
        clients: usize,
        take: impl FnMut(CoreOutput),
    ) {
        let line = &self.lines[worker.unwrap_or(self.lines.len() - 1)];
        let parcels = call(&mut line.lock().expect("no holder of a line panics"), &Knock::Submit(envelopes, clients));
        self.arrive(parcels, take);
    }

    fn arrive(&self, parcels: Parcels, mut take: impl FnMut(CoreOutput)) {
        let mut order = self.order.lock().expect("no holder of this lock panics");
        let Order { next, held } = &mut *order;
        held.extend(parcels.into_iter().map(|parcel| (parcel.number, parcel)));
        if held.len() > limits::OUTPUTS_WAITING_MAX {
            tracing::error!(
                held = held.len(),
                next,
                "an output of the site's process does not come: the user interface's ends"
            );
            std::process::exit(1);
        }
        while let Some(Parcel { number, local, new_life }) = held.remove(next) {
            *next += 1;
            take(CoreOutput { number, local, new_life, over: None });
        }
    }
}

/// Calls the site's process. Without it this one ends.
fn call(line: &mut CallLine, knock: &Knock) -> Parcels {
    let request = postcard::to_stdvec(knock).expect("a request always encodes");
    let mut reply = Vec::new();
    if let Err(error) = line.call(&request, &mut reply, None) {
        tracing::info!(%error, "the user interface's process ends with the site's");
        std::process::exit(0);
    }
    postcard::from_bytes(&reply).unwrap_or_else(|error| {
        tracing::error!(%error, "the site's process said what cannot be read: the user interface's ends");
        std::process::exit(1);
    })
}

/// Reaches the site's process and listens for clients.
pub(crate) fn start(config: SiteConfig, meeting: &Meeting) -> Result<PreparedWorkers, String> {
    let front = Front::connect(meeting, config.workers + limits::LONG_WORKERS)?;
    let mut waiting = CallLine::connect(meeting, door::NAME).map_err(|error| error.to_string())?;
    let listener = listen(config.sql)?;
    let prepared = worker::prepare_front(config, front, listener)?;
    let shared = prepared.shared();
    let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(move || {
        let mut told_at = 0;
        loop {
            let now = clock::boot();
            let counts = (now >= told_at + limits::COUNTS_TOLD).then(|| Box::new(shared.interface_counts()));
            told_at = if counts.is_some() { now } else { told_at };
            let parcels = call(&mut waiting, &Knock::Wait(shared.clients(), counts));
            if let Some(front) = shared.front() {
                front.arrive(parcels, |output| shared.route(output, None, &mut Vec::new()));
            }
        }
    });
    thread.map(|_| prepared).map_err(|error| error.to_string())
}

/// The process before this one may still be ending.
fn listen(address: SocketAddr) -> Result<TcpListener, String> {
    let begun = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error)
                if error.kind() == std::io::ErrorKind::AddrInUse && begun.elapsed() < limits::PROCESS_END_MAX =>
            {
                std::thread::sleep(limits::PROCESS_LOOK);
            }
            Err(error) => return Err(format!("cannot listen at {address}: {error}")),
        }
    }
}
