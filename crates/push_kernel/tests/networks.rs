//! Programs at devices, on hosts of this test's own: multicast arrives everywhere, and a process that is killed leaves no link behind.
//!
//! It starts itself again on these hosts. Needs the superuser's rights and `ip`; else it says so and does nothing.

use laboratory_harness::network::{Host, Switched};
use push::{PushHook, load, shipped};
use push_kernel::{KernelProgram, links};
use rustix::net::netdevice::name_to_index;
use std::io::{BufRead, BufReader, Lines};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

type Answer<T> = Result<T, Box<dyn std::error::Error>>;

const PORT: u16 = 9000;
const GROUP_PORT: u16 = 7700;
const RECEIVERS: u8 = 5;
/// After which something that should come is missing.
const PATIENCE: Duration = Duration::from_secs(60);
const PAYLOAD: &[u8] = b"to all of you";

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["as-sender", ..] => sender(&arguments[1..]),
        ["as-receiver", address] => receiver(address.parse()?),
        _ => everything(),
    }
}

/// A process on a host. It is killed with its value.
struct Role {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Role {
    fn start(host: &Host, arguments: &[String]) -> Answer<Role> {
        let mut command: Command = host.command(&std::env::current_exe()?);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("it was asked for")?;
        Ok(Role { child, lines: BufReader::new(output).lines() })
    }

    fn line(&mut self) -> Answer<String> {
        Ok(self.lines.next().ok_or("a process of the test ended early")??)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn everything() -> Answer<()> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: hosts of our own need the superuser's rights");
        return Ok(());
    }
    let switched = match Switched::new(1 + RECEIVERS) {
        Ok(switched) => switched,
        Err(missing) => {
            println!("skipped: {missing}");
            return Ok(());
        }
    };
    let (first, others) = switched.hosts.split_first().ok_or("there are hosts")?;
    let mut arguments = vec!["as-sender".to_owned()];
    arguments.extend(others.iter().map(|host| host.address.to_string()));
    let mut sender = Role::start(first, &arguments)?;
    let told = sender.line()?;
    if let Some(why) = told.strip_prefix("skipped: ") {
        println!("skipped: {why}");
        return Ok(());
    }
    let ids = told.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
    let mut receivers = Vec::new();
    for host in others {
        receivers.push(Role::start(host, &["as-receiver".to_owned(), first.address.to_string()])?);
    }
    assert_eq!(sender.line()?, "sent 1, left out 0");
    for receiver in &mut receivers {
        let expected = format!("{} from {}:{PORT}", String::from_utf8_lossy(PAYLOAD), first.address);
        assert_eq!(receiver.line()?, expected, "each member has it, by a datagram whose checksum is right");
    }
    println!("multicast: {RECEIVERS} of {RECEIVERS} members have it");
    no_link_stays(&mut sender, &ids)
}

/// If this fails, a program goes on taking packets away from a host whose site is gone.
fn no_link_stays(sender: &mut Role, ids: &[u32]) -> Answer<()> {
    let left =
        || Ok::<_, push_kernel::KernelFailure>(links::all()?.iter().filter(|link| ids.contains(&link.id)).count());
    assert_eq!(left()?, ids.len(), "both links are there while the process is");
    sender.child.kill()?;
    sender.child.wait()?;
    // The kernel takes links away behind the end of the process.
    let begin = Instant::now();
    while left()? > 0 {
        assert!(begin.elapsed() < PATIENCE, "links {ids:?} are still there");
        std::thread::yield_now();
    }
    println!("SIGKILL: no link is left");
    Ok(())
}

/// Says the links' numbers; sends one datagram when all members are known; stays.
fn sender(members: &[String]) -> Answer<()> {
    let program = load(shipped::MULTICAST.text, &[("group-port", GROUP_PORT.into())])?;
    let loaded = match KernelProgram::load(&program) {
        Err(missing) if missing.is_missing() => {
            println!("skipped: {missing}");
            return Ok(());
        }
        loaded => loaded?,
    };
    let table = loaded.table("members").ok_or("it has members")?;
    let field = |name: &str| table.shape().field(name).ok_or("it has the field");
    let (hardware, left_out) = (field("hardware")?, field("left-out")?);
    for member in members {
        let address: Ipv4Addr = member.parse()?;
        assert!(table.add_row(&[u32::from(address).into(), PORT.into(), 0, 0]));
    }
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let device = name_to_index(&socket, "ether")?;
    let links = [loaded.attach(PushHook::Send, device)?, loaded.attach(PushHook::Receive, device)?];
    println!("{} {}", links[0].id()?, links[1].id()?);
    // Members say hello until then; what they say passes.
    socket.set_read_timeout(Some(PATIENCE))?;
    let rows = 0..table.count();
    while rows.clone().any(|row| table.read(hardware, row) == 0) {
        socket.recv(&mut [0; 64])?;
    }
    let sent = socket.send_to(PAYLOAD, (members[0].as_str(), GROUP_PORT))?;
    assert_eq!(sent, PAYLOAD.len());
    let left_out: u64 = rows.map(|row| table.read(left_out, row)).sum();
    println!("sent 1, left out {left_out}");
    // Until it is killed, or the test has gone.
    std::io::stdin().lines().for_each(drop);
    Ok(())
}

/// Says hello until a datagram comes, and tells it.
fn receiver(sender: Ipv4Addr) -> Answer<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    let begin = Instant::now();
    let mut bytes = [0; 64];
    while begin.elapsed() < PATIENCE {
        socket.send_to(b"hello", (sender, PORT))?;
        if let Ok((length, from)) = socket.recv_from(&mut bytes) {
            println!("{} from {from}", String::from_utf8_lossy(&bytes[..length]));
            return Ok(());
        }
    }
    Err("nothing came".into())
}
