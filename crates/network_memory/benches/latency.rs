//! What a commit to two memory servers costs beside a bare exchange with two servers in parallel, in turns.
//!
//! `cargo bench -p network_memory --bench latency -- [rounds] [folder]`. Servers are processes; with the rights of the
//! superuser each is in a network namespace of its own, otherwise on the loopback interface. The folder holds the local log, which the
//! disk follows in the background; without one it is temporary.

#[path = "common/spread.rs"]
mod spread;

use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::names::RecordReceipt;
use network_memory::writer::Intent;
use spread::Spread;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const RECORD: [u8; 128] = [0x5a; 128];
/// What stands around a record in a request, and in a reply: the bare exchange carries as much.
const REQUEST_BYTES: usize = 128 + 56;
const REPLY_BYTES: usize = 40;
const PATIENCE: Duration = Duration::from_secs(30);
const SERVERS: usize = 2;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [serve, address] = &words[..]
        && serve == "--serve"
    {
        return serve_both(address.parse()?);
    }
    let rounds: usize = words.first().map_or(Ok(20_000), |word| word.parse())?;
    let temporary = tempfile::tempdir()?;
    let folder = words.get(1).map_or_else(|| temporary.path().join("log"), PathBuf::from);
    let namespaces = (0..SERVERS).map(Namespace::make).collect::<Result<Vec<_>, _>>();
    let namespaces = namespaces.ok();
    println!(
        "servers: {}",
        if namespaces.is_some() { "in network namespaces of their own" } else { "on the loopback interface" }
    );
    let mut servers = Vec::new();
    for index in 0..SERVERS {
        servers.push(Served::start(namespaces.as_ref().map(|namespaces| &namespaces[index]))?);
    }
    measure(rounds, &servers, folder)
}

fn measure(rounds: usize, servers: &[Served], folder: PathBuf) -> Result<(), Failure> {
    let mut bare: Vec<TcpStream> =
        servers.iter().map(|server| TcpStream::connect(server.echo)).collect::<Result<_, _>>()?;
    bare.iter().try_for_each(|stream| stream.set_nodelay(true))?;
    let addresses = servers.iter().map(|server| server.memory).collect();
    let terms =
        LogTerms { intent: Intent::Create, ..LogTerms::new(RemoteLog::draw_log()?, 2, addresses, Some(folder)) };
    let mut log = RemoteLog::open(terms)?;
    while !matches!(log.append(&RECORD, PATIENCE)?.1, RecordReceipt::Memory { .. }) {}
    let (mut exchanges, mut commits, mut disk) = (Vec::new(), Vec::new(), 0);
    for round in 0..rounds {
        exchanges.push(exchange(&mut bare)?);
        let begun = Instant::now();
        let (position, receipt) = log.append(&RECORD, PATIENCE)?;
        commits.push(begun.elapsed());
        disk += usize::from(receipt == RecordReceipt::Disk);
        if round % 1_000 == 999 {
            log.truncate_before(position)?;
        }
    }
    let status = log.status();
    let (bare, commit) = (Spread::of(exchanges), Spread::of(commits));
    println!("bare exchange with {SERVERS} servers: {bare}");
    println!("commit of {} bytes at k = 2:   {commit}", RECORD.len());
    println!("ratio of the medians: {:.2}", commit.median / bare.median);
    println!("receipts for the disk: {disk} of {rounds}; hedge after {:.0} us", status.hedge as f64 / 1e3);
    Ok(())
}

/// Sends to all, then waits for all.
fn exchange(streams: &mut [TcpStream]) -> Result<Duration, Failure> {
    let begun = Instant::now();
    for stream in streams.iter_mut() {
        stream.write_all(&[0; REQUEST_BYTES])?;
    }
    for stream in streams.iter_mut() {
        stream.read_exact(&mut [0; REPLY_BYTES])?;
    }
    Ok(begun.elapsed())
}

/// The process of one server: memory, and a bare exchange beside it.
fn serve_both(listen: SocketAddr) -> Result<(), Failure> {
    let echo = TcpListener::bind(listen)?;
    let options = MemoryServerOptions { listen, capacity_bytes: 1 << 30, quota_bytes: None, save: None, keys: None };
    let server = MemoryServer::start(options)?;
    println!("{} {}", server.address()?, echo.local_addr()?);
    std::thread::spawn(move || {
        for stream in echo.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.set_nodelay(true);
            let mut request = [0; REQUEST_BYTES];
            while stream.read_exact(&mut request).is_ok() && stream.write_all(&[0; REPLY_BYTES]).is_ok() {}
        }
    });
    Ok(server.serve()?)
}

struct Served {
    child: Child,
    memory: SocketAddr,
    echo: SocketAddr,
}

impl Served {
    fn start(namespace: Option<&Namespace>) -> Result<Served, Failure> {
        let program = std::env::current_exe()?;
        let mut command = match namespace {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &namespace.name]).arg(program);
                command.args(["--serve", &format!("{}:0", namespace.address)]);
                command
            }
            None => {
                let mut command = Command::new(program);
                command.args(["--serve", "127.0.0.1:0"]);
                command
            }
        };
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        let mut addresses = line.split_whitespace().map(str::parse);
        let mut next = || addresses.next().ok_or("the server has not started");
        Ok(Served { child, memory: next()??, echo: next()?? })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A network namespace of one server, and a pair of interfaces that leads there.
struct Namespace {
    name: String,
    address: String,
}

impl Namespace {
    fn make(index: usize) -> Result<Namespace, Failure> {
        let process = std::process::id();
        let name = format!("memory-{process}-{index}");
        let (here, there) = (format!("m{process}h{index}"), format!("m{process}t{index}"));
        let net = format!("10.{}.{}", 64 + process % 64, 2 * index + 1);
        run(&["netns", "add", &name])?;
        let namespace = Namespace { name: name.clone(), address: format!("{net}.2") };
        run(&["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", &name])?;
        run(&["addr", "add", &format!("{net}.1/24"), "dev", &here])?;
        run(&["link", "set", &here, "up"])?;
        run(&["-n", &name, "addr", "add", &format!("{net}.2/24"), "dev", &there])?;
        run(&["-n", &name, "link", "set", &there, "up"])?;
        run(&["-n", &name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }
}

/// With the namespace its interfaces go.
impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = run(&["netns", "del", &self.name]);
    }
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    let output = Command::new("ip").args(arguments).stderr(Stdio::null()).stdout(Stdio::null()).status()?;
    if output.success() { Ok(()) } else { Err(format!("ip {} has failed", arguments.join(" ")).into()) }
}
