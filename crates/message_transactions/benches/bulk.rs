//! Bulk data between two network namespaces that a pair of virtual Ethernet interfaces joins: `write` and `read` of 16 MB segments
//! against TCP over the same link, without loss and with a tenth of all packets lost.
//!
//! `cargo bench -p message_transactions --bench bulk`. Needs the rights of the superuser, `ip` and `nft`. The program starts itself once
//! more as the other side, in its own namespace; both namespaces vanish at the end.

use message_transactions::ProcessId;
use message_transactions::host::faulty::{FaultyTransport, PacketFaults};
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const BYTES: usize = 16 << 20;
const ROUNDS: usize = 12;
const HERE: &str = "raidcomm-here";
const THERE: &str = "raidcomm-there";

type Outcome<T> = Result<T, Box<dyn Error>>;
type Link = FaultyTransport<UdpTransport>;

fn run(line: &str) -> Outcome<()> {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().ok_or("no command")?).args(words).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}

/// Two namespaces with a link; they vanish when this is dropped.
struct Namespaces;

impl Namespaces {
    fn make() -> Outcome<Namespaces> {
        let namespaces = Namespaces;
        run(&format!("ip netns add {HERE}"))?;
        run(&format!("ip netns add {THERE}"))?;
        run(&format!("ip link add raidcomm0 netns {HERE} type veth peer name raidcomm1 netns {THERE}"))?;
        for (namespace, device, address) in [(HERE, "raidcomm0", "10.77.0.1"), (THERE, "raidcomm1", "10.77.0.2")] {
            run(&format!("ip -n {namespace} address add {address}/24 dev {device}"))?;
            run(&format!("ip -n {namespace} link set {device} up"))?;
        }
        Ok(namespaces)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for namespace in [HERE, THERE] {
            let _ = run(&format!("ip netns delete {namespace}"));
        }
    }
}

fn host(address: &str, peers: Vec<SocketAddr>, loss_percent: u64) -> Outcome<Host<Link>> {
    let udp = UdpTransport::bind(address.parse()?, UdpDomain::Peers(peers))?;
    Ok(Host::start(FaultyTransport::new(udp, PacketFaults { loss_percent, ..PacketFaults::default() }, 1))?)
}

/// The server's side: writes to and reads from what a client lends, and takes and gives as much by TCP.
fn serve(client: SocketAddr, loss_percent: u64) -> Outcome<()> {
    let host = host("10.77.0.2:0", vec![client], loss_percent)?;
    let mut server = host.process()?;
    let listener = TcpListener::bind("10.77.0.2:0")?;
    println!("{} {} {}", listener.local_addr()?, host.transport().place(), server.id().to_bits());
    let mut memory = vec![5; BYTES];
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut order = [0];
    loop {
        let call = server.receive()?;
        match call.message() {
            b"write" => server.write(&call, 0, &memory)?,
            b"read" => server.read(&call, 0, &mut memory)?,
            b"tcp" => {
                server.reply(call, b"")?;
                while stream.read(&mut order)? == 1 {
                    stream.write_all(&memory)?;
                    if order == [0] {
                        break;
                    }
                }
                continue;
            }
            _ => {}
        }
        let (_, bytes) = host.transport().sent();
        server.reply(call, &bytes.to_le_bytes())?;
    }
}

fn rate(seconds: f64) -> f64 {
    BYTES as f64 / seconds / 1e6
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The client's side.
fn ask(loss_percent: u64) -> Outcome<()> {
    let host = host("10.77.0.1:0", Vec::new(), loss_percent)?;
    let place = host.transport().place();
    let mut child: Child = Command::new("ip")
        .args(["netns", "exec", THERE])
        .arg(std::env::current_exe()?)
        .args(["serve", &place.to_string(), &loss_percent.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let outcome = measure(&host, &mut child, loss_percent);
    child.kill()?;
    child.wait()?;
    outcome
}

fn measure(host: &Host<Link>, child: &mut Child, loss_percent: u64) -> Outcome<()> {
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [tcp, place, server] = words.as_slice() else { return Err("the other side says nothing".into()) };
    let server = ProcessId::from_bits(server.parse()?).ok_or("not a process")?;
    host.transport().inner().add_peer(place.parse()?);
    let mut stream = TcpStream::connect(tcp)?;
    stream.set_nodelay(true)?;
    let mut client = host.process()?;
    let mut memory = vec![0; BYTES];
    let (mut writes, mut reads, mut tcps) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = if loss_percent == 0 { ROUNDS } else { 3 };
    let mut sent = 0;
    for _ in 0..rounds {
        let begun = Instant::now();
        let reply = client.send(server, BlockedRequest::exactly_once(b"write").writable(&mut memory))?;
        writes.push(begun.elapsed().as_secs_f64());
        sent = u64::from_le_bytes(reply.message.as_slice().try_into()?);
        let begun = Instant::now();
        client.send(server, BlockedRequest::exactly_once(b"read").readable(&memory))?;
        reads.push(begun.elapsed().as_secs_f64());
        if loss_percent == 0 {
            client.send(server, BlockedRequest::exactly_once(b"tcp"))?;
            let begun = Instant::now();
            stream.write_all(&[0])?;
            stream.read_exact(&mut memory)?;
            tcps.push(begun.elapsed().as_secs_f64());
        }
        if memory.iter().any(|&byte| byte != 5) {
            return Err("the bytes that came are not those that were sent".into());
        }
    }
    let (write, read) = (rate(median(&mut writes)), rate(median(&mut reads)));
    if loss_percent == 0 {
        let tcp = rate(median(&mut tcps));
        println!(
            "no loss: TCP {tcp:.0} MB/s, write {write:.0} MB/s (ratio {:.2}), read {read:.0} MB/s (ratio {:.2})",
            write / tcp,
            read / tcp
        );
        return Ok(());
    }
    // The server's own kernel sends the data of writes; that of reads it asks for.
    let data = (rounds * BYTES) as f64;
    let from_here = host.transport().sent().1 as f64;
    println!(
        "{loss_percent} % loss: write {write:.0} MB/s, {:.3} times the bytes; read {read:.0} MB/s, {:.3} times the bytes (headers and all)",
        sent as f64 / data,
        from_here / data
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", client, loss] => return serve(client.parse()?, loss.parse()?),
        ["ask", loss] => return ask(loss.parse()?),
        _ => {}
    }
    let _namespaces = Namespaces::make()?;
    for loss in ["0", "10"] {
        let program = std::env::current_exe()?;
        let status = Command::new("ip").args(["netns", "exec", HERE]).arg(program).args(["ask", loss]).status()?;
        if !status.success() {
            return Err(format!("the measurement with {loss} % loss failed").into());
        }
    }
    Ok(())
}
