//! What sending one datagram to several destinations costs the sender: processor time for each way, in turns within one run, on a host whose device drops what it is given.
//!
//! Compiled: one sendto(2), and the kernel runs `multicast`. Interpreted: the same program in user space, whose copies are sent by sendto(2). Beside them
//! sendmmsg(2), and sendto(2) for each. Source: Push, figure 3 of the Raid paper of 1992.

use laboratory_harness::machine::Machine;
use laboratory_harness::network::Host;
use push::interpret::run;
use push::packet::{PushPacket, header};
use push::program::PushHeader;
use push::{PushHook, PushTables, PushVerdict, load, shipped};
use push_kernel::KernelProgram;
use rustix::net::netdevice::name_to_index;
use rustix::time::{ClockId, clock_gettime};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

const COUNTS: [usize; 5] = [1, 2, 5, 10, 20];
const WAYS: [&str; 4] = ["compiled", "interpreted", "sendmmsg", "sendto each"];
const PAYLOAD: [u8; 200] = [7; 200];
const ROUNDS: usize = 15;
const DATAGRAMS: u32 = 1_000;
const PORT: u16 = 9000;
const GROUP_PORT: u16 = 7700;

fn main() -> Answer<()> {
    if std::env::args().any(|argument| argument == "as-sender") {
        return measure();
    }
    let host = match Host::with_sink() {
        Ok(host) => host,
        Err(missing) => {
            println!("not measured: {missing}");
            return Ok(());
        }
    };
    println!("{}", Machine::look());
    let status = host.command(&std::env::current_exe()?).arg("as-sender").status()?;
    if status.success() { Ok(()) } else { Err(format!("the measurement ended with {status}").into()) }
}

fn member(index: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 100 + index as u8), PORT + index as u16)
}

/// A number that no device here has.
const HARDWARE: u64 = 0x0200_0000_0001;

struct Sender {
    socket: UdpSocket,
    loaded: KernelProgram,
    program: push::VerifiedProgram,
    tables: PushTables,
    frame: Vec<u8>,
}

/// A packet whose copies are sent as datagrams.
struct SocketPacket<'a> {
    socket: &'a UdpSocket,
    frame: &'a mut [u8],
}

impl PushPacket for SocketPacket<'_> {
    fn frame(&self) -> &[u8] {
        self.frame
    }

    fn frame_mut(&mut self) -> &mut [u8] {
        self.frame
    }

    fn send_copy(&mut self) {
        let address = Ipv4Addr::from(header(self.frame, PushHeader::DestinationAddress) as u32);
        let port = header(self.frame, PushHeader::DestinationPort) as u16;
        let sent = self.socket.send_to(&self.frame[42..], (address, port));
        sent.expect("the sink takes it");
    }

    fn deliver(&mut self, _: usize, _: bool) -> bool {
        false
    }

    fn now_ns(&self) -> u64 {
        0
    }
}

impl Sender {
    fn new() -> Answer<Sender> {
        let program = load(shipped::MULTICAST.text, &[("group-port", GROUP_PORT.into())])?;
        let loaded = KernelProgram::load(&program)?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let mut frame = vec![0; 42];
        frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 228, 0, 0, 0, 0, 64, 17]);
        frame[36..38].copy_from_slice(&GROUP_PORT.to_be_bytes());
        frame.extend(PAYLOAD);
        let tables = PushTables::new(program.tables());
        Ok(Sender { socket, loaded, program, tables, frame })
    }

    fn set_members(&mut self, count: usize) -> Answer<()> {
        let table = self.loaded.table("members").ok_or("it has members")?;
        table.set_count(0);
        self.tables = PushTables::new(self.program.tables());
        for index in 0..count {
            let row = [u32::from(*member(index).ip()).into(), member(index).port().into(), 0, HARDWARE + index as u64];
            assert!(table.add_row(&row) && self.tables.add_row(0, &row));
        }
        Ok(())
    }

    /// Sends one datagram to all.
    fn send(&mut self, way: usize, count: usize, messages: &mut [libc::mmsghdr]) -> Answer<()> {
        match way {
            0 => drop(self.socket.send_to(&PAYLOAD, (*member(0).ip(), GROUP_PORT))?),
            1 => {
                let hook = self.program.hook(PushHook::Send).ok_or("it has one")?;
                self.frame[36..38].copy_from_slice(&GROUP_PORT.to_be_bytes());
                let mut packet = SocketPacket { socket: &self.socket, frame: &mut self.frame };
                if run(hook, &mut packet, &mut self.tables) == PushVerdict::Pass {
                    packet.send_copy();
                }
            }
            2 => {
                // SAFETY: the messages name addresses and bytes that outlive the call, and are as many as is said.
                let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, 0) };
                assert_eq!(sent, count as i32);
            }
            _ => {
                for index in 0..count {
                    self.socket.send_to(&PAYLOAD, member(index))?;
                }
            }
        }
        Ok(())
    }
}

fn processor_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn measure() -> Answer<()> {
    let mut sender = Sender::new()?;
    let device = name_to_index(&sender.socket, "sink")?;
    // The program is at the device for all ways: what it costs the others belongs to its price.
    let _link = sender.loaded.attach(PushHook::Send, device)?;
    let mut addresses: Vec<libc::sockaddr_in> = (0..20).map(|index| address(member(index))).collect();
    let mut bytes = libc::iovec { iov_base: PAYLOAD.as_ptr().cast_mut().cast(), iov_len: PAYLOAD.len() };
    let mut messages: Vec<libc::mmsghdr> = addresses
        .iter_mut()
        .map(|address| {
            // SAFETY: all bytes 0 are a message without anything.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            message.msg_hdr.msg_iov = &raw mut bytes;
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let mut figures = vec![vec![Vec::new(); COUNTS.len()]; WAYS.len()];
    // The first round warms up.
    for round in 0..=ROUNDS {
        for (column, &count) in COUNTS.iter().enumerate() {
            sender.set_members(count)?;
            for (way, row) in figures.iter_mut().enumerate() {
                let begin = processor_ns();
                for _ in 0..DATAGRAMS {
                    sender.send(way, count, &mut messages)?;
                }
                if round > 0 {
                    row[column].push((processor_ns() - begin) as f64 / f64::from(DATAGRAMS) / 1e3);
                }
            }
        }
    }
    tell(&mut figures);
    Ok(())
}

fn address(of: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: all bytes 0 are an address.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = of.port().to_be();
    address.sin_addr.s_addr = u32::from(*of.ip()).to_be();
    address
}

/// Medians, with the quartiles, and ratios of medians.
fn tell(figures: &mut [Vec<Vec<f64>>]) {
    println!("processor time of the sender for one datagram of 200 bytes, us: median of {ROUNDS} rounds (quartiles)");
    let head: String = COUNTS.iter().map(|count| format!("{count:>20}")).collect();
    println!("{:<14}{head}", "destinations");
    let mut medians = Vec::new();
    for (way, row) in WAYS.iter().zip(figures.iter_mut()) {
        let mut line = format!("{way:<14}");
        let mut of_way = Vec::new();
        for values in row.iter_mut() {
            values.sort_by(f64::total_cmp);
            let [low, middle, high] = [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4]);
            line += &format!("{:>20}", format!("{middle:.1} ({low:.1}-{high:.1})"));
            of_way.push(middle);
        }
        println!("{line}");
        medians.push(of_way);
    }
    for (index, way) in WAYS.iter().enumerate().filter(|(index, _)| *index != 2) {
        let ratios: String =
            (0..COUNTS.len()).map(|column| format!("{:>20.2}", medians[index][column] / medians[2][column])).collect();
        println!("{:<14}{ratios}", format!("{way}/mmsg"));
    }
}
