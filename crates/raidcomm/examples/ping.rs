//! Two processes on this machine that talk over streams: the median round trip of a small frame, and frames per second
//! when many leave in one write.
//!
//! `cargo run --release -p raidcomm --example ping`. The program starts itself once more as the other side.

use mio::{Events, Poll};
use raidcomm::address::{InstanceId, SiteId};
use raidcomm::limits::TOKENS;
use raidcomm::streams::{Hello, Incoming, Streams};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const INSTANCE: InstanceId = InstanceId(1);
const PINGER: SiteId = SiteId(1);
const ECHO: SiteId = SiteId(2);
const ROUND_TRIPS: usize = 20_000;
const BATCH: usize = 200;
const BATCHES: usize = 2_000;
const PAYLOAD: [u8; 64] = [7; 64];

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
    fn new(site: SiteId) -> Outcome<Site> {
        let poll = Poll::new()?;
        let hello = Hello::new(INSTANCE, site, 1);
        let streams = Streams::listen(poll.registry(), 0..TOKENS, hello, SocketAddr::from(([127, 0, 0, 1], 0)), None)?;
        Ok(Site { poll, events: Events::with_capacity(64), streams, incoming: Vec::new(), started: Instant::now() })
    }

    /// Sleeps until something comes, and leaves it in `incoming`.
    fn turn(&mut self) -> Outcome<()> {
        self.streams.flush();
        let now = self.started.elapsed();
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
fn echo(pinger: SocketAddr) -> Outcome<()> {
    let mut site = Site::new(ECHO)?;
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

fn ping() -> Outcome<()> {
    let mut site = Site::new(PINGER)?;
    let mut other = Command::new(std::env::current_exe()?)
        .arg(site.streams.local_address()?.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = measure(&mut site, &mut other);
    drop(site); // the other side ends when it notices
    other.wait()?;
    outcome
}

fn measure(site: &mut Site, other: &mut Child) -> Outcome<()> {
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
        round_trips.push(start.elapsed());
    }
    round_trips.sort_unstable();
    let microseconds = |place: usize| round_trips[place].as_nanos() as f64 / 1e3;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "round trip of {} bytes: median {:.1} us, 99th percentile {:.1} us",
        PAYLOAD.len(),
        microseconds(ROUND_TRIPS / 2),
        microseconds(ROUND_TRIPS * 99 / 100)
    )?;

    let start = Instant::now();
    for _ in 0..BATCHES {
        for _ in 0..BATCH {
            site.streams.send(ECHO, &PAYLOAD)?;
        }
        site.receive(BATCH)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "batches of {BATCH}: {:.0} frames per second to the other side and as many back",
        (BATCH * BATCHES) as f64 / seconds
    )?;
    Ok(())
}

fn main() -> Outcome<()> {
    match std::env::args().nth(1) {
        Some(pinger) => echo(pinger.parse()?),
        None => ping(),
    }
}
