//! Two processes on this machine that talk over streams, in clear and encrypted in turns: the median round trip of a small
//! frame, frames per second when many leave in one write, and bytes per second of large frames.
//!
//! `cargo bench -p raidcomm --bench ping`. The program starts itself once more as the other side.

use identifiers::{InstanceId, SiteId};
use mio::{Events, Poll};
use raidcomm::keys::{Keys, authority};
use raidcomm::limits::TOKENS;
use raidcomm::streams::{Hello, Incoming, Streams};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const INSTANCE: InstanceId = InstanceId(1);
const PINGER: SiteId = SiteId(1);
const ECHO: SiteId = SiteId(2);
/// Measurements of each kind; the median of each figure counts.
const ROUNDS: usize = 5;
const ROUND_TRIPS: usize = 10_000;
const BATCH: usize = 200;
const BATCHES: usize = 1_000;
const PAYLOAD: [u8; 64] = [7; 64];
const LARGE_BYTES: usize = 1 << 20;
const LARGE_FRAMES: usize = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One process's event loop.
struct Site {
    poll: Poll,
    events: Events,
    streams: Streams,
    incoming: Vec<Incoming>,
    started: Instant,
}

impl Site {
    fn new(site: SiteId, keys: Option<&Path>) -> Outcome<Site> {
        let poll = Poll::new()?;
        let hello = Hello::new(INSTANCE, site, 1);
        let keys = keys.map(|folder| Keys::read(folder, INSTANCE, site)).transpose()?;
        let streams = Streams::listen(poll.registry(), 0..TOKENS, hello, SocketAddr::from(([127, 0, 0, 1], 0)), keys)?;
        Ok(Site { poll, events: Events::with_capacity(64), streams, incoming: Vec::new(), started: Instant::now() })
    }

    /// Sleeps until something comes, and leaves it in `incoming`.
    fn turn(&mut self) -> Outcome<()> {
        let now = self.started.elapsed();
        self.streams.flush(now.as_nanos() as u64);
        let due = self.streams.next_deadline().map(|due| Duration::from_nanos(due).saturating_sub(now));
        self.poll.poll(&mut self.events, due)?;
        let now = self.started.elapsed().as_nanos() as u64;
        self.incoming.clear();
        for event in &self.events {
            self.streams.ready(now, event, &mut self.incoming);
        }
        self.streams.tick(now, &mut self.incoming);
        Ok(())
    }

    /// Waits until so many frames have come.
    fn receive(&mut self, count: usize) -> Outcome<()> {
        let mut received = 0;
        while received < count {
            self.turn()?;
            for incoming in &self.incoming {
                match incoming {
                    Incoming::Message { .. } => received += 1,
                    Incoming::Connected { .. } => {}
                    Incoming::Disconnected { site, reason } => return Err(format!("{site}: {reason}").into()),
                }
            }
        }
        Ok(())
    }
}

/// The other side: sends back whatever comes, until the pinger is gone.
fn echo(pinger: SocketAddr, keys: Option<&Path>) -> Outcome<()> {
    let mut site = Site::new(ECHO, keys)?;
    site.streams.set_peer(PINGER, pinger)?;
    println!("{}", site.streams.local_address()?);
    loop {
        site.turn()?;
        for incoming in std::mem::take(&mut site.incoming) {
            match incoming {
                Incoming::Message { from, payload, .. } => site.streams.send(from, &payload)?,
                Incoming::Connected { .. } => {}
                Incoming::Disconnected { .. } => return Ok(()),
            }
        }
    }
}

/// What was measured once.
struct Figures {
    /// Microseconds, the median.
    round_trip: f64,
    frames_per_second: f64,
    megabytes_per_second: f64,
}

fn ping(keys: Option<&Path>) -> Outcome<Figures> {
    let mut site = Site::new(PINGER, keys)?;
    let mut other = Command::new(std::env::current_exe()?)
        .arg(site.streams.local_address()?.to_string())
        .args(keys)
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = measure(&mut site, &mut other);
    drop(site); // the other side ends when it notices
    other.wait()?;
    outcome
}

fn measure(site: &mut Site, other: &mut Child) -> Outcome<Figures> {
    let mut line = String::new();
    BufReader::new(other.stdout.take().ok_or("no output of the other side")?).read_line(&mut line)?;
    site.streams.set_peer(ECHO, line.trim().parse()?)?;
    while !site.streams.is_connected(ECHO) {
        site.turn()?;
    }

    let mut round_trips = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        site.streams.send(ECHO, &PAYLOAD)?;
        site.receive(1)?;
        round_trips.push(start.elapsed().as_nanos() as f64 / 1e3);
    }

    let start = Instant::now();
    for _ in 0..BATCHES {
        for _ in 0..BATCH {
            site.streams.send(ECHO, &PAYLOAD)?;
        }
        site.receive(BATCH)?;
    }
    let frames_per_second = (BATCH * BATCHES) as f64 / start.elapsed().as_secs_f64();

    let large = vec![7; LARGE_BYTES];
    let start = Instant::now();
    for _ in 0..LARGE_FRAMES {
        site.streams.send(ECHO, &large)?;
        site.receive(1)?;
    }
    let bytes = (LARGE_BYTES * LARGE_FRAMES) as f64;
    let megabytes_per_second = bytes / 1e6 / start.elapsed().as_secs_f64();
    Ok(Figures { round_trip: median(round_trips), frames_per_second, megabytes_per_second })
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn compare() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    authority::make(folder.path(), INSTANCE, &[PINGER, ECHO])?;
    let mut clear = Vec::new();
    let mut encrypted = Vec::new();
    for _ in 0..ROUNDS {
        clear.push(ping(None)?);
        encrypted.push(ping(Some(folder.path()))?);
    }
    let mut out = std::io::stdout().lock();
    let mut line = |what: &str, figure: fn(&Figures) -> f64| -> Outcome<()> {
        let [clear, encrypted] = [&clear, &encrypted].map(|all| median(all.iter().map(figure).collect()));
        let ratio = encrypted / clear;
        writeln!(out, "{what}: {clear:.1} in clear, {encrypted:.1} encrypted, {ratio:.2} times")?;
        Ok(())
    };
    line("round trip of 64 bytes, microseconds", |figures| figures.round_trip)?;
    line("frames per second to the other side and as many back, 200 at once", |figures| figures.frames_per_second)?;
    line("megabytes per second to the other side and as many back, 1 MiB at once", |figures| {
        figures.megabytes_per_second
    })
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    match arguments.next() {
        Some(pinger) => echo(pinger.parse()?, arguments.next().as_deref().map(Path::new)),
        None => compare(),
    }
}
