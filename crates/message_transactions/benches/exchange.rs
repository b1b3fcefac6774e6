//! The round trip of a message transaction by every way, beside a bare UDP echo, in one run: both processes on one processor, each on its
//! own, and wherever the system puts them.
//!
//! `cargo bench -p message_transactions --bench exchange [-- ROUND_TRIPS]`. The program starts itself once more for each way as the other side;
//! in memory the other side is a thread. Rounds of all ways alternate, and the medians of all round trips are compared.

#[path = "../examples/common/ways.rs"]
mod ways;

use message_transactions::ProcessId;
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use ways::{Outcome, Way};

const ROUNDS: usize = 10;
const MESSAGE: [u8; 32] = [7; 32];
const HERE: u16 = 1;
const THERE: u16 = 2;

/// Where the two sides run.
#[derive(Clone, Copy, Debug)]
enum Placing {
    OneProcessor,
    OneEach,
    Anywhere,
}

impl Placing {
    fn name(self) -> &'static str {
        match self {
            Placing::OneProcessor => "one processor",
            Placing::OneEach => "one each",
            Placing::Anywhere => "anywhere",
        }
    }

    /// The processor of the other side.
    fn other(self) -> &'static str {
        match self {
            Placing::OneProcessor => "0",
            Placing::OneEach => "1",
            Placing::Anywhere => "any",
        }
    }
}

fn pin(processor: &str) {
    let Ok(processor) = processor.parse() else { return };
    let mut set = CpuSet::new();
    set.set(processor);
    // On a machine with one processor both sides share it.
    let _ = sched_setaffinity(None, &set);
}

/// Replies with what it is sent.
fn serve(server: &mut HostProcess) -> Result<(), HostError> {
    loop {
        let call = server.receive()?;
        let message = call.message().to_vec();
        server.reply(call, &message)?;
    }
}

/// The other side of one way.
fn serve_by(way: Way, processor: &str, client: SocketAddr, keys: &Path) -> Outcome<()> {
    pin(processor);
    let own = way.bind(THERE, keys)?;
    way.introduce(&own, HERE, client)?;
    let address = way.address(&own)?;
    let host = Host::start(own)?;
    let mut server = host.process()?;
    println!("{address} {}", server.id().to_bits());
    Ok(serve(&mut server)?)
}

/// The other side of a bare socket.
fn echo(processor: &str) -> Outcome<()> {
    pin(processor);
    let bare = UdpSocket::bind("127.0.0.1:0")?;
    println!("{} 0", bare.local_addr()?);
    let mut buffer = [0; 2_048];
    loop {
        let (bytes, from) = bare.recv_from(&mut buffer)?;
        bare.send_to(&buffer[..bytes], from)?;
    }
}

/// A process of this program's, which ends with this value.
struct Other(Child);

impl Other {
    /// Starts it, and waits until it has said where it is.
    fn start(arguments: &[&str]) -> Outcome<(Other, SocketAddr, u64)> {
        let program = std::env::current_exe()?;
        let mut other = Other(Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?);
        let mut line = String::new();
        BufReader::new(other.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let (address, process) = line.trim().split_once(' ').ok_or("the other side says nothing")?;
        Ok((other, address.parse()?, process.parse()?))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It has not been waited for, so it can be killed and waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A round trip that can be measured, and what it needs to go on.
struct Trip {
    name: &'static str,
    once: Box<dyn FnMut() -> Outcome<()>>,
    times: Vec<u64>,
}

impl Trip {
    fn new(name: &'static str, once: impl FnMut() -> Outcome<()> + 'static) -> Trip {
        Trip { name, once: Box::new(once), times: Vec::new() }
    }

    fn measure(&mut self, round_trips: usize) -> Outcome<()> {
        for _ in 0..round_trips {
            let begun = Instant::now();
            (self.once)()?;
            self.times.push(begun.elapsed().as_nanos() as u64);
        }
        Ok(())
    }

    /// Microseconds.
    fn median(&mut self) -> f64 {
        self.times.sort_unstable();
        self.times[self.times.len() / 2] as f64 / 1_000.0
    }
}

fn bare(placing: Placing) -> Outcome<Trip> {
    let (other, address, _) = Other::start(&["echo", placing.other()])?;
    let bare = UdpSocket::bind("127.0.0.1:0")?;
    let mut buffer = [0; 2_048];
    Ok(Trip::new("UDP echo", move || {
        let _other = &other;
        bare.send_to(&MESSAGE, address)?;
        bare.recv_from(&mut buffer)?;
        Ok(())
    }))
}

fn in_memory(placing: Placing) -> Outcome<Trip> {
    let host = Host::start_alone()?;
    let (mut client, mut server) = (host.process()?, host.process()?);
    let id = server.id();
    std::thread::spawn(move || {
        pin(placing.other());
        // It ends with this program.
        drop(serve(&mut server));
    });
    Ok(Trip::new("memory", move || {
        let _host = &host;
        client.send(id, BlockedRequest::exactly_once(&MESSAGE))?;
        Ok(())
    }))
}

fn by(way: Way, placing: Placing, keys: &Path) -> Outcome<Trip> {
    let own = way.bind(HERE, keys)?;
    let address = way.address(&own)?.to_string();
    let keys = keys.to_str().ok_or("a folder with a name that is no text")?;
    let (other, address, server) = Other::start(&["serve", way.name(), placing.other(), &address, keys])?;
    way.introduce(&own, THERE, address)?;
    let server = ProcessId::from_bits(server).ok_or("not a process")?;
    let host = Host::start(own)?;
    let mut client = host.process()?;
    let place = way.place(THERE, address);
    Ok(Trip::new(way.name(), move || {
        let _other = &other;
        client.send(server, BlockedRequest::exactly_once(&MESSAGE))?;
        // The first messages may go by another way.
        while !way.is_up(host.transport(), place) {
            client.send(server, BlockedRequest::exactly_once(&MESSAGE))?;
        }
        Ok(())
    }))
}

fn compare(round_trips: usize, placing: Placing, keys: &Path) -> Outcome<()> {
    let all = rustix::thread::sched_getaffinity(None)?;
    if !matches!(placing, Placing::Anywhere) {
        pin("0");
    }
    let mut trips = vec![bare(placing)?, in_memory(placing)?];
    for way in Way::ALL {
        trips.push(by(way, placing, keys)?);
    }
    for round in 0..=ROUNDS {
        for trip in &mut trips {
            trip.measure(round_trips / ROUNDS)?;
        }
        if round == 0 {
            // The first round warms up.
            trips.iter_mut().for_each(|trip| trip.times.clear());
        }
    }
    let echo = trips[0].median();
    println!("{}:", placing.name());
    for trip in &mut trips {
        let median = trip.median();
        println!("  {:<14} {median:>7.2} us, {:>5.2} of the echo", trip.name, median / echo);
    }
    sched_setaffinity(None, &all)?;
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["echo", processor] => return echo(processor),
        ["serve", way, processor, client, keys] => {
            return serve_by(way.parse()?, processor, client.parse()?, Path::new(keys));
        }
        _ => {}
    }
    let round_trips = arguments.first().map_or(Ok(50_000), |text| text.parse())?;
    let keys = tempfile::tempdir()?;
    Way::Tls.make_keys(keys.path())?;
    for placing in [Placing::OneProcessor, Placing::OneEach, Placing::Anywhere] {
        compare(round_trips, placing, keys.path())?;
    }
    Ok(())
}
