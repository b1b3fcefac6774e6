//! The round trip of a message transaction against a bare UDP echo over the same link, in one run: both processes on one
//! processor, each on its own, and wherever the system puts them.
//!
//! `cargo run --release -p raidcomm --example exchange [-- ROUND_TRIPS]`. The program starts itself once more as the other side.
//! Rounds of both kinds alternate, and the medians of all round trips are compared.

use raidcomm::transaction::ProcessId;
use raidcomm::transaction::host::transport::Transport;
use raidcomm::transaction::host::udp::{Domain, Udp};
use raidcomm::transaction::host::{Host, Process, Request};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 10;
const MESSAGE: [u8; 32] = [7; 32];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Where the two sides run.
#[derive(Clone, Copy, Debug)]
enum Placing {
    OneProcessor,
    OneEach,
    Anywhere,
}

fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    // On a machine with one processor both sides share it.
    let _ = sched_setaffinity(None, &set);
}

/// The other side: an echo on a bare socket, and a server that replies with what it is sent.
fn echo(processor: &str, client: SocketAddr) -> Outcome<()> {
    if let Ok(processor) = processor.parse() {
        pin(processor);
    }
    let bare = UdpSocket::bind("127.0.0.1:0")?;
    let host = Host::start(Udp::bind("127.0.0.1:0".parse()?, Domain::Peers(vec![client]))?)?;
    let mut server = host.process()?;
    println!("{} {} {}", bare.local_addr()?, host.transport().place(), server.id().to_bits());
    std::thread::spawn(move || {
        let mut buffer = [0; 2_048];
        while let Ok((bytes, from)) = bare.recv_from(&mut buffer) {
            let _ = bare.send_to(&buffer[..bytes], from);
        }
    });
    loop {
        let call = server.receive()?;
        let message = call.message().to_vec();
        server.reply(call, &message)?;
    }
}

fn median(times: &mut [u64]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64 / 1_000.0
}

fn measure(round_trips: usize, times: &mut Vec<u64>, mut round_trip: impl FnMut() -> Outcome<()>) -> Outcome<()> {
    for _ in 0..round_trips {
        let begun = Instant::now();
        round_trip()?;
        times.push(begun.elapsed().as_nanos() as u64);
    }
    Ok(())
}

fn compare(round_trips: usize, placing: Placing) -> Outcome<()> {
    let all = rustix::thread::sched_getaffinity(None)?;
    if !matches!(placing, Placing::Anywhere) {
        pin(0);
    }
    let udp = Udp::bind("127.0.0.1:0".parse()?, Domain::Peers(Vec::new()))?;
    let address = udp.place();
    let host = Host::start(udp)?;
    let mut client: Process = host.process()?;
    let processor = match placing {
        Placing::OneProcessor => "0",
        Placing::OneEach => "1",
        Placing::Anywhere => "any",
    };
    let mut child: Child = Command::new(std::env::current_exe()?)
        .args(["echo", processor, &address.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = (|| {
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [bare_address, place, server] = words.as_slice() else { return Err("the other side says nothing".into()) };
        let server = ProcessId::from_bits(server.parse()?).ok_or("not a process")?;
        let bare = UdpSocket::bind("127.0.0.1:0")?;
        let bare_address: SocketAddr = bare_address.parse()?;
        // The first message goes to all peers; its reply tells where the server is.
        host.transport().add_peer(place.parse()?);
        let (mut bare_times, mut times) = (Vec::new(), Vec::new());
        let mut buffer = [0; 2_048];
        for round in 0..=ROUNDS {
            measure(round_trips / ROUNDS, &mut bare_times, || {
                bare.send_to(&MESSAGE, bare_address)?;
                bare.recv_from(&mut buffer)?;
                Ok(())
            })?;
            measure(round_trips / ROUNDS, &mut times, || {
                client.send(server, Request::exactly_once(&MESSAGE))?;
                Ok(())
            })?;
            if round == 0 {
                // The first round warms up.
                (bare_times, times) = (Vec::new(), Vec::new());
            }
        }
        let (bare, exchange) = (median(&mut bare_times), median(&mut times));
        println!("{placing:?}: echo {bare:.2} us, exchange {exchange:.2} us, ratio {:.3}", exchange / bare);
        Ok(())
    })();
    child.kill()?;
    child.wait()?;
    sched_setaffinity(None, &all)?;
    outcome
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, processor, client] = arguments.as_slice()
        && role == "echo"
    {
        return echo(processor, client.parse()?);
    }
    let round_trips = arguments.first().map_or(Ok(100_000), |text| text.parse())?;
    for placing in [Placing::OneProcessor, Placing::OneEach, Placing::Anywhere] {
        compare(round_trips, placing)?;
    }
    Ok(())
}
