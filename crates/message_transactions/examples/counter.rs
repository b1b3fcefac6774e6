//! A counter that is exact: many clients call it through a network that loses a fifth of all packets, doubles and reorders.
//!
//! `cargo run --release -p message_transactions --example counter [-- CALLS CLIENTS]`. Two hosts in this process, over the loopback interface; the
//! faults are made where packets leave. The counter must end at the number of calls, and every client must have been given each of its
//! numbers once.

use message_transactions::host::faulty::{FaultyTransport, PacketFaults};
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FAULTS: PacketFaults = PacketFaults { loss_percent: 20, duplicate_percent: 10, reorder_percent: 10 };
/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(2);
/// Said by the last client, to end the server.
const STOP: u64 = u64::MAX;

/// Counts until it is told to stop.
fn serve(server: &mut HostProcess<FaultyTransport<UdpTransport>>) -> Result<u64, HostError> {
    let mut count = 0_u64;
    loop {
        let call = server.receive()?;
        let stop = call.message() == STOP.to_le_bytes();
        count += u64::from(!stop);
        server.reply(call, &count.to_le_bytes())?;
        if stop {
            // If the reply is lost, its kernel still answers the copies that come.
            return Ok(count);
        }
    }
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let calls: u64 = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let clients: u64 = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let here = UdpTransport::bind("127.0.0.1:0".parse()?, UdpDomain::Peers(Vec::new()))?;
    let there = UdpTransport::bind("127.0.0.1:0".parse()?, UdpDomain::Peers(vec![here.place()]))?;
    here.add_peer(there.place());
    let here = Host::start(FaultyTransport::new(here, FAULTS, 1))?;
    let there = Host::start(FaultyTransport::new(there, FAULTS, 2))?;
    let mut server = there.process()?;
    let receiver = server.id();
    let served = std::thread::spawn(move || serve(&mut server).map_err(|error| error.to_string()));
    let (left, done) = (AtomicU64::new(calls), AtomicU64::new(0));
    let begun = Instant::now();
    let mut numbers: Vec<u64> = std::thread::scope(|scope| -> Outcome<Vec<u64>> {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                let (here, left, done) = (&here, &left, &done);
                scope.spawn(move || -> Result<Vec<u64>, String> {
                    let mut process = here.process().map_err(|error| error.to_string())?;
                    let mut numbers = Vec::new();
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                        let request = client.to_le_bytes();
                        let reply = process.send(receiver, BlockedRequest::exactly_once(&request));
                        let message = reply.map_err(|error| error.to_string())?.message;
                        numbers.push(u64::from_le_bytes(message.try_into().map_err(|_| "a short reply")?));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(numbers)
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::park_timeout(PROGRESS);
            println!("{} of {calls} calls after {:.0} s", done.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
        }
        let mut numbers = Vec::new();
        for thread in threads {
            numbers.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Ok(numbers)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut last = here.process()?;
    last.send(receiver, BlockedRequest::exactly_once(&STOP.to_le_bytes()))?;
    let counted = served.join().map_err(|_| "the server panicked")??;
    numbers.sort_unstable();
    let exact = counted == calls && numbers.iter().copied().eq(1..=calls);
    let packets = here.transport().sent().0 + there.transport().sent().0;
    println!(
        "{calls} calls of {clients} clients in {seconds:.1} s, {:.2} packets each: counted {counted}, {}",
        packets as f64 / calls as f64,
        if exact { "exact" } else { "WRONG" }
    );
    if exact { Ok(()) } else { Err("the counter is not exact".into()) }
}
