//! Blocks through a pipe: table 3-13 of the thesis, between machines of 10 MHz on a network of 3 Mb/s.
//!
//! The pipe is a process: a writer sends it each block, a reader asks it for each, and it makes them wait by withholding its reply. A machine is a
//! kernel: what is on one machine are threads with one kernel. Machines are hosts of their own if this one lets us make them; else kernels
//! of one host. The reader measures: so long for each block, while the writer writes as fast as it can.

use crate::communication::experiment::Experiment;
use crate::communication::job::{Job, Measured, Task, measure};
use crate::communication::laboratory::Laboratory;
use crate::communication::limits::{PIPE_BLOCKS_MAX, ROUND_TIME};
use laboratory_harness::network::{Host as OtherHost, Hosts, Third};
use laboratory_harness::placement;
use laboratory_harness::process::Process as Child;
use laboratory_harness::process::say;
use laboratory_harness::report::{Columns, Table};
use laboratory_harness::{Failure, Outcome};
use message_transactions::ProcessId;
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess, ReceivedCall};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};

/// Bytes of a block, as of the table's.
const BLOCK_BYTES: usize = 1024;
const WRITE: &[u8] = b"write";
const READ: &[u8] = b"read";

/// Where the reader and the writer are.
struct Configuration {
    /// As the thesis calls it: `-` is one machine, `---` two.
    name: &'static str,
    reads_at_pipe: bool,
    writes_at_pipe: bool,
    /// Microseconds for a block.
    paper: f64,
}

const fn configuration(name: &'static str, reads_at_pipe: bool, writes_at_pipe: bool, paper: f64) -> Configuration {
    Configuration { name, reads_at_pipe, writes_at_pipe, paper }
}

const CONFIGURATIONS: [Configuration; 4] = [
    configuration("R-P-W", true, true, 5500.0),
    configuration("R-P---W", true, false, 22_000.0),
    configuration("R---P-W", false, true, 10_100.0),
    configuration("R---P---W", false, false, 18_200.0),
];

/// What a machine has of a pipe.
#[derive(Debug, Serialize, Deserialize)]
enum Part {
    /// The pipe, and who else is with it.
    Pipe { own: Ipv4Addr, reads: bool, writes: bool },
    /// A reader, of the pipe there.
    Read { pipe: Place },
    /// A writer.
    Write { pipe: Place },
    /// A pipe of the operating system's between two threads, to compare with.
    System,
}

/// Where a pipe is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    own: Ipv4Addr,
    kernel: SocketAddr,
    process: u64,
}

/// See the module's description.
pub struct Pipes;

impl Experiment for Pipes {
    fn name(&self) -> &'static str {
        "pipes"
    }

    fn about(&self) -> &'static str {
        "blocks of 1 KB through a pipe, by where its reader, server and writer are (thesis, table 3-13)"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        let names = CONFIGURATIONS.iter().map(|configuration| configuration.name.to_owned()).collect();
        let source = "thesis of 1985, 10 MHz, 3 Mb: table 3-13";
        let mut table = Table::new("A block of 1 KB through a pipe", source, Columns::Names(names));
        let hosts = Hosts::new().and_then(|hosts| Ok((hosts.third()?, hosts)));
        let machines = match &hosts {
            Ok(_) => "a host (network namespace) each".to_owned(),
            Err(failure) => format!("a kernel each, on one host: {failure}"),
        };
        table.notes.push(format!("R: reader, P: pipe, W: writer; `-`: one kernel, `---`: two machines, {machines}"));
        table.notes.push("reader and writer share a processor where neither is with the pipe".to_owned());
        table.notes.push("the thesis's rates: 180, 45, 100 and 55 KB/s".to_owned());
        let hosts = hosts.as_ref().ok();
        let figures = laboratory.in_turns(CONFIGURATIONS.len() + 1, |index| match CONFIGURATIONS.get(index) {
            Some(configuration) => self.through(laboratory, configuration, hosts),
            None => measured(&mut self.start(laboratory, Part::System, false, None)?),
        })?;
        for (index, figure) in figures.into_iter().enumerate() {
            match CONFIGURATIONS.get(index) {
                Some(configuration) => table.put(index, "pipe server", figure, Some(configuration.paper)),
                None => table.put(0, "pipe(2)", figure, None),
            }
        }
        Ok(vec![table])
    }

    fn perform(&self, part: serde_json::Value) -> Outcome<()> {
        match serde_json::from_value(part)? {
            Part::Pipe { own, reads, writes } => serve(own, reads, writes),
            Part::Read { pipe } => {
                let (host, id) = pipe.reach()?;
                read(host.process().map_err(Failure::foreign)?, id)
            }
            Part::Write { pipe } => {
                let (host, id) = pipe.reach()?;
                write(host.process().map_err(Failure::foreign)?, id)
            }
            Part::System => system_pipe(),
        }
    }
}

impl Pipes {
    fn start(&self, laboratory: &Laboratory, part: Part, at_pipe: bool, host: Option<&OtherHost>) -> Outcome<Child> {
        let placement = placement::two(&laboratory.processors);
        let place = if at_pipe { placement.server } else { placement.client };
        let task = Task::Part { experiment: self.name().to_owned(), part: serde_json::to_value(part)? };
        match host {
            Some(host) => laboratory.start_at(&Job { place, task }, host),
            None => laboratory.start(&Job { place, task }),
        }
    }

    /// One round: microseconds for a block.
    fn through(
        &self,
        laboratory: &Laboratory,
        configuration: &Configuration,
        hosts: Option<&(Third, Hosts)>,
    ) -> Outcome<f64> {
        let (reads, writes) = (configuration.reads_at_pipe, configuration.writes_at_pipe);
        let own = if hosts.is_some() { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let host = hosts.map(|(_, hosts)| &hosts.server);
        let mut server = self.start(laboratory, Part::Pipe { own, reads, writes }, true, host)?;
        let line = server.line()?;
        let (port, process) = line.split_once(' ').ok_or_else(|| Failure::Wrong("the pipe is nowhere".to_owned()))?;
        let (port, process): (u16, u64) =
            (port.parse().map_err(Failure::foreign)?, process.parse().map_err(Failure::foreign)?);
        let pipe = |address: Option<Ipv4Addr>| {
            let kernel = SocketAddr::from((address.unwrap_or(Ipv4Addr::LOCALHOST), port));
            Place { own, kernel, process }
        };
        // The writer lives as long as the reader measures.
        let _writer = match writes {
            true => None,
            false => {
                let part = Part::Write { pipe: pipe(hosts.map(|(third, _)| third.server)) };
                Some(self.start(laboratory, part, false, hosts.map(|(third, _)| &third.host))?)
            }
        };
        if reads {
            return measured(&mut server);
        }
        let part = Part::Read { pipe: pipe(hosts.map(|(_, hosts)| hosts.server.address)) };
        measured(&mut self.start(laboratory, part, false, hosts.map(|(_, hosts)| &hosts.client))?)
    }
}

fn measured(reader: &mut Child) -> Outcome<f64> {
    Ok(serde_json::from_str::<Measured>(&reader.line()?)?.microseconds())
}

impl Place {
    /// A kernel of one's own that knows the pipe's.
    fn reach(&self) -> Outcome<(Host<UdpTransport>, ProcessId)> {
        let id = ProcessId::from_bits(self.process);
        let id = id.ok_or_else(|| Failure::Wrong("the pipe is no process".to_owned()))?;
        Ok((kernel(self.own, vec![self.kernel])?, id))
    }
}

fn kernel(own: Ipv4Addr, peers: Vec<SocketAddr>) -> Outcome<Host<UdpTransport>> {
    Host::start(UdpTransport::bind((own, 0).into(), UdpDomain::Peers(peers))?).map_err(Failure::foreign)
}

fn serve(own: Ipv4Addr, reads: bool, writes: bool) -> Outcome<()> {
    let host = kernel(own, Vec::new())?;
    let mut server = host.process().map_err(Failure::foreign)?;
    let id = server.id();
    say(&format!("{} {}", host.transport().place().port(), id.to_bits()))?;
    // The threads end with this process. What they fail by, the one that waits for the reader's figure is told.
    if reads {
        let reader = host.process().map_err(Failure::foreign)?;
        std::thread::spawn(move || end_with(read(reader, id)));
    }
    if writes {
        let writer = host.process().map_err(Failure::foreign)?;
        std::thread::spawn(move || end_with(write(writer, id)));
    }
    Pipe::default().serve(&mut server).map_err(Failure::foreign)
}

fn end_with(outcome: Outcome<()>) {
    if let Err(failure) = outcome {
        eprintln!("a pipe's end: {failure}");
        std::process::exit(1);
    }
}

/// What a pipe has, and who waits for it.
#[derive(Default)]
struct Pipe {
    blocks: VecDeque<Vec<u8>>,
    /// Writers that wait for room, with what they write.
    writers: VecDeque<(ReceivedCall, Vec<u8>)>,
    /// Readers that wait for a block.
    readers: VecDeque<ReceivedCall>,
}

impl Pipe {
    fn serve(mut self, server: &mut HostProcess<UdpTransport>) -> Result<(), HostError> {
        loop {
            let call = server.receive()?;
            match call.message() {
                WRITE => {
                    let mut block = call.data().to_vec();
                    block.truncate(BLOCK_BYTES);
                    // What has not travelled with the message is fetched.
                    let travelled = block.len();
                    block.resize((call.rights().bytes as usize).min(BLOCK_BYTES), 0);
                    if travelled < block.len() {
                        server.read(&call, travelled as u64, &mut block[travelled..])?;
                    }
                    self.writers.push_back((call, block));
                }
                _ => self.readers.push_back(call),
            }
            self.go_on(server)?;
        }
    }

    /// Lets writers and readers go on that can.
    fn go_on(&mut self, server: &mut HostProcess<UdpTransport>) -> Result<(), HostError> {
        loop {
            if self.blocks.len() < PIPE_BLOCKS_MAX
                && let Some((call, block)) = self.writers.pop_front()
            {
                self.blocks.push_back(block);
                server.reply(call, &[])?;
            } else if !self.blocks.is_empty()
                && let Some(call) = self.readers.pop_front()
            {
                let block = self.blocks.pop_front().unwrap_or_default();
                server.reply_with(call, &(block.len() as u64).to_le_bytes(), 0, &block)?;
            } else {
                return Ok(());
            }
        }
    }
}

fn write(mut writer: HostProcess<UdpTransport>, pipe: ProcessId) -> Outcome<()> {
    let block = [7; BLOCK_BYTES];
    loop {
        writer.send(pipe, BlockedRequest::exactly_once(WRITE).readable(&block)).map_err(Failure::foreign)?;
    }
}

fn read(mut reader: HostProcess<UdpTransport>, pipe: ProcessId) -> Outcome<()> {
    let mut block = [0; BLOCK_BYTES];
    let measured = measure(ROUND_TIME, || {
        block.fill(0);
        let reply =
            reader.send(pipe, BlockedRequest::exactly_once(READ).writable(&mut block)).map_err(Failure::foreign)?;
        let whole = reply.message == (BLOCK_BYTES as u64).to_le_bytes() && block == [7; BLOCK_BYTES];
        if whole { Ok(()) } else { Err(Failure::Wrong("a block is not what was written".to_owned())) }
    })?;
    say(&serde_json::to_string(&measured)?)
}

fn system_pipe() -> Outcome<()> {
    let (mut reader, mut writer) = std::io::pipe()?;
    // It ends with this process.
    std::thread::spawn(move || while writer.write_all(&[7; BLOCK_BYTES]).is_ok() {});
    let mut block = [0; BLOCK_BYTES];
    let measured = measure(ROUND_TIME, || Ok(reader.read_exact(&mut block)?))?;
    say(&serde_json::to_string(&measured)?)
}
