//! Raid's messages in the versions of the communication subsystem: figure 11 of the 1992 paper.
//!
//! Like the paper, it measures the processor's time that sending takes, on one host: messages go in bursts, and between two bursts all are
//! acknowledged, which is not counted. A multicast goes to five servers. What V.1 spends on the external data representation (XDR) is measured
//! alone, too: it is in V.1's figure, and V.2's.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Measured, Task, measure, processor_time};
use crate::communication::laboratory::Laboratory;
use crate::communication::limits::{BURST, LOST_TIME, ROUND_TIME, WARM_UP_TIME};
use crate::communication::method::{Meeting, Method, patiently};
use crate::communication::methods::{line::Line, sockets::udp_socket};
use crate::communication::version_one::long_datagrams::LongDatagrams;
use crate::communication::version_one::messages::{Message, SEVEN};
use crate::communication::version_one::raid_datagrams::{Header, RaidDatagrams};
use identifiers::{Address, InstanceId, ServerKind, SiteId};
use laboratory_harness::placement;
use laboratory_harness::process::Process;
use laboratory_harness::process::say;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host, HostError};
use message_transactions::{ProcessGroupId, ProcessId};
use raidcomm::codec::external;
use raidcomm::shared::{LineClient, Shape, Ticket};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of the longest message in either form, with room.
const BYTES_MAX: usize = 512;
const FRAGMENT_BYTES: usize = 8000;
/// Columns that are versions.
const VERSIONS: usize = 3;
const COLUMNS: [&str; VERSIONS + 1] = ["V.1", "V.2", "V.3", "conversion in V.1"];
/// The network of V.2's multicast addresses, and ports for runs that do not meet.
const NETWORK: Ipv4Addr = Ipv4Addr::new(239, 77, 0, 0);
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// The group that V.2 sends to.
const GROUP: u64 = 77;

/// Figure 11, in the order of [`SEVEN`]: V.1, V.2, V.3.
const PAPER: [[f64; VERSIONS]; 7] = [
    [2462.0, 1113.0, 683.0],
    [12_180.0, 1120.0, 782.0],
    [2510.0, 1157.0, 668.0],
    [2652.0, 1407.0, 752.0],
    [12_330.0, 1410.0, 849.0],
    [3864.0, 2665.0, 919.0],
    [3930.0, 2718.0, 1102.0],
];

#[derive(Debug, Serialize, Deserialize)]
enum Part {
    /// Acknowledges datagrams of V.1.
    Receive,
    /// Joins the group of V.2 and acknowledges.
    Join { port: u16 },
    /// Sends in V.2 to the group, and is acknowledged by these processes.
    SendTwo { message: usize, port: u16, to: Vec<u64> },
    /// Sends in V.1 to these.
    SendOne { message: usize, to: Vec<SocketAddr> },
    /// Does V.1's conversion alone.
    Convert { message: usize },
    /// Sends in V.3 to the servers in these folders.
    SendThree { message: usize, to: Vec<PathBuf> },
}

/// See the module's description.
pub struct RaidMessages;

impl Experiment for RaidMessages {
    fn name(&self) -> &'static str {
        "raid_messages"
    }

    fn about(&self) -> &'static str {
        "processor time of sending Raid's messages, by version (1992, figure 11)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let columns = Columns::Names(COLUMNS.map(str::to_owned).to_vec());
        let mut table = Table::new("Sending Raid's messages, processor time", "1992, figure 11", columns);
        table.notes.push("conversion: to the external data representation (XDR), once for each destination; the paper gives it no figures".to_owned());
        let figures = laboratory.in_turns(SEVEN.len() * COLUMNS.len(), |index| {
            self.send(laboratory, index / COLUMNS.len(), index % COLUMNS.len())
        })?;
        for (index, figure) in figures.into_iter().enumerate() {
            let (message, column) = (index / COLUMNS.len(), index % COLUMNS.len());
            let Message { name, bytes, destinations, .. } = SEVEN[message];
            let several = if destinations > 1 { format!(" to {destinations}") } else { String::new() };
            let name = format!("{name}{several}, {bytes} bytes");
            table.put(column, &name, figure, PAPER[message].get(column).copied());
        }
        Ok(vec![table])
    }

    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        match serde_json::from_value(part)? {
            Part::Receive => receive(),
            Part::SendOne { message, to } => send_one(message_at(message)?, to),
            Part::Convert { message } => convert(message_at(message)?),
            Part::Join { port } => join(port),
            Part::SendTwo { message, port, to } => send_two(message_at(message)?, port, &to),
            Part::SendThree { message, to } => send_three(message_at(message)?, &to),
        }
    }
}

fn message_at(index: usize) -> Outcome<&'static Message> {
    SEVEN.get(index).ok_or_else(|| Failure::Wrong(format!("there is no message {index}")))
}

impl RaidMessages {
    /// One round: microseconds of a processor for each message.
    fn send(&self, laboratory: &Laboratory, message: usize, column: usize) -> Outcome<f64> {
        let placement = placement::two(&laboratory.processors);
        let part = |place, part| -> Outcome<Process> {
            let task = Task::Part { experiment: self.name().to_owned(), part: serde_json::to_value(part)? };
            laboratory.start(&Job { place, task })
        };
        let folder = tempfile::Builder::new().prefix("raid-laboratory-").tempdir()?;
        let mut receivers = Vec::new();
        let sending = if column == 0 {
            let mut to = Vec::new();
            for _ in 0..SEVEN[message].destinations {
                let mut receiver = part(placement.server, Part::Receive)?;
                to.push(receiver.line()?.parse().map_err(Failure::foreign)?);
                receivers.push(receiver);
            }
            Part::SendOne { message, to }
        } else if column == 1 {
            let port = PORTS.start + std::process::id() as u16 % (PORTS.end - PORTS.start);
            let mut to = Vec::new();
            for _ in 0..SEVEN[message].destinations {
                let mut receiver = part(placement.server, Part::Join { port })?;
                to.push(receiver.line()?.parse().map_err(Failure::foreign)?);
                receivers.push(receiver);
            }
            Part::SendTwo { message, port, to }
        } else if column == VERSIONS {
            Part::Convert { message }
        } else {
            let mut to = Vec::new();
            for number in 0..SEVEN[message].destinations {
                let own = folder.path().join(number.to_string());
                std::fs::create_dir(&own)?;
                let meeting = meeting(own.clone());
                let task = Task::Serve { method: Line.name().to_owned(), meeting };
                let mut receiver = laboratory.start(&Job { place: placement.server, task })?;
                receiver.line()?;
                to.push(own);
                receivers.push(receiver);
            }
            Part::SendThree { message, to }
        };
        let line = part(placement.client, sending)?.line()?;
        Ok(serde_json::from_str::<Measured>(&line)?.processor_microseconds())
    }
}

fn meeting(folder: PathBuf) -> Meeting {
    Meeting { folder, host: Ipv4Addr::LOCALHOST, address: String::new(), request_bytes: 0, reply_bytes: 0 }
}

fn server(site: u16) -> Address {
    Address { instance: InstanceId(1), site: SiteId(site), kind: ServerKind::AtomicityController, number: 0 }
}

fn header(to: u16) -> Header {
    Header { to: server(to), from: server(0), kind: 1, transaction: 1 }
}

/// Sends bursts until the time is over, and says what they took.
fn in_bursts(mut burst: impl FnMut() -> Outcome<()>, mut acknowledged: impl FnMut() -> Outcome<()>) -> Outcome<()> {
    let (warm_up, time) = (Duration::from_millis(WARM_UP_TIME), Duration::from_millis(ROUND_TIME));
    let begun = Instant::now();
    let mut measured = Measured { count: 0, nanoseconds: 0, processor_nanoseconds: 0 };
    while measured.count == 0 || begun.elapsed() < warm_up + time {
        let counts = begun.elapsed() >= warm_up;
        let (clock, processor) = (Instant::now(), processor_time());
        burst()?;
        if counts {
            measured.processor_nanoseconds += processor_time() - processor;
            measured.nanoseconds += clock.elapsed().as_nanos() as u64;
            measured.count += u64::from(BURST);
        }
        acknowledged()?;
    }
    say(&serde_json::to_string(&measured)?)
}

fn receive() -> Outcome<()> {
    let socket = udp_socket(&meeting(PathBuf::new()))?;
    let own = socket.local_addr()?;
    let mut raid = RaidDatagrams::new(LongDatagrams::new(socket, FRAGMENT_BYTES), HashMap::new());
    say(&own.to_string())?;
    let (mut message, mut bytes) = (Vec::new(), Vec::new());
    loop {
        let from = raid.receive(&mut message, BYTES_MAX)?;
        // Foreign datagrams are passed over.
        let Ok((header, _)) = external::take::<Header>(&message) else { continue };
        raid.learn(header.from, from);
        bytes.clear();
        let header = Header { to: header.from, from: header.to, ..header };
        external::append(&header, &mut bytes).map_err(Failure::foreign)?;
        raid.send(header.to, &bytes)?;
    }
}

fn send_one(message: &Message, to: Vec<SocketAddr>) -> Outcome<()> {
    let socket = udp_socket(&meeting(PathBuf::new()))?;
    socket.set_read_timeout(Some(Duration::from_millis(LOST_TIME)))?;
    let places: HashMap<_, _> = (1..).map(server).zip(to).collect();
    let destinations = places.len() as u16;
    let raid = RaidDatagrams::new(LongDatagrams::new(socket, FRAGMENT_BYTES), places);
    let (raid, mut bytes, mut reply) = (std::cell::RefCell::new(raid), Vec::new(), Vec::new());
    in_bursts(
        || {
            for _ in 0..BURST {
                // The version's multicast is made above the datagrams: each destination is a message of its own.
                for site in 1..=destinations {
                    message.marshal(&header(site), &mut bytes).map_err(Failure::foreign)?;
                    raid.borrow_mut().send(server(site), &bytes)?;
                }
            }
            Ok(())
        },
        || {
            for _ in 0..BURST * u32::from(destinations) {
                match raid.borrow_mut().receive(&mut reply, BYTES_MAX) {
                    Ok(_) => {}
                    // It was lost, as datagrams may be; sending has taken its time all the same.
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        },
    )
}

fn convert(message: &Message) -> Outcome<()> {
    let mut bytes = Vec::new();
    let measured = measure(ROUND_TIME, || {
        for site in 1..=message.destinations as u16 {
            message.marshal(&header(site), &mut bytes).map_err(Failure::foreign)?;
            std::hint::black_box(&bytes);
        }
        Ok(())
    })?;
    say(&serde_json::to_string(&measured)?)
}

fn host(port: u16) -> Result<Host<UdpTransport>, HostError> {
    let interface = Ipv4Addr::LOCALHOST;
    Host::start(UdpTransport::bind((interface, 0).into(), UdpDomain::Multicast { network: NETWORK, port, interface })?)
}

fn join(port: u16) -> Outcome<()> {
    let receive = || -> Result<(), HostError> {
        let host = host(port)?;
        let mut process = host.process()?;
        process.join_group(ProcessGroupId::well_known(GROUP), process.id())?;
        say(&process.id().to_bits().to_string()).map_err(|failure| std::io::Error::other(failure.to_string()))?;
        loop {
            let call = process.receive()?;
            // What is sent to the group wants no reply, and is passed over.
            if call.wants_reply() {
                process.reply(call, &[])?;
            }
        }
    };
    receive().map_err(Failure::foreign)
}

/// A multicast, to however many: the version names hosts by multicast addresses only.
fn send_two(message: &Message, port: u16, to: &[u64]) -> Outcome<()> {
    let host = host(port).map_err(Failure::foreign)?;
    let process = std::cell::RefCell::new(host.process().map_err(Failure::foreign)?);
    let to: Vec<ProcessId> = to.iter().filter_map(|&bits| ProcessId::from_bits(bits)).collect();
    let mut bytes = Vec::new();
    in_bursts(
        || {
            for _ in 0..BURST {
                message.marshal(&header(1), &mut bytes).map_err(Failure::foreign)?;
                process.borrow_mut().notify(ProcessGroupId::well_known(GROUP), &bytes).map_err(Failure::foreign)?;
            }
            Ok(())
        },
        || {
            for &receiver in &to {
                process.borrow_mut().send(receiver, BlockedRequest::exactly_once(&[])).map_err(Failure::foreign)?;
            }
            Ok(())
        },
    )
}

fn send_three(message: &Message, to: &[PathBuf]) -> Outcome<()> {
    let shape = Shape { slots: BURST, slot_bytes: BYTES_MAX as u32 };
    let clients: Outcome<Vec<LineClient>> = to
        .iter()
        .map(|folder| patiently(|| LineClient::connect(&folder.join("line"), shape).map_err(Failure::foreign)))
        .collect();
    let clients = std::cell::RefCell::new(clients?);
    let tickets: std::cell::RefCell<Vec<(usize, Ticket)>> = std::cell::RefCell::default();
    let mut reply = Vec::new();
    in_bursts(
        || {
            let (mut clients, mut tickets) = (clients.borrow_mut(), tickets.borrow_mut());
            for _ in 0..BURST {
                for (index, client) in clients.iter_mut().enumerate() {
                    let ticket = message
                        .as_it_is(&header(index as u16 + 1), |bytes| client.begin(bytes))
                        .map_err(Failure::foreign)?;
                    tickets.push((index, ticket));
                }
            }
            Ok(())
        },
        || {
            for (index, ticket) in tickets.borrow_mut().drain(..) {
                clients.borrow_mut()[index].finish(ticket, &mut reply, None).map_err(Failure::foreign)?;
            }
            Ok(())
        },
    )
}
