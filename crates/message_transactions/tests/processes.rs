//! Message transactions between processes of the operating system, by every way: a server that is killed, and one that moves to and fro.
//!
//! The program starts itself as the other processes, so it has no harness: each check is a function that `main` calls.

#[path = "../examples/common/ways.rs"]
mod ways;

use message_transactions::ProcessId;
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess};
use message_transactions::identifier::LogicalHostId;
use message_transactions::limits::GIVE_UP;
use message_transactions::outbox::SendFailure;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use ways::{Outcome, Way};

const PARENT: u16 = 1;
const CLIENTS: u64 = 3;
/// Between two moves, of all clients together.
const CALLS: u64 = 60;
const MOVES: u64 = 12;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["child", way, number, keys, parent] => child(way, number, keys, parent).expect("the parent is there"),
        // The harness' own options mean nothing here.
        _ => {
            let keys = tempfile::tempdir().expect("a folder");
            Way::Tls.make_keys(keys.path()).expect("keys");
            for way in Way::ALL {
                a_killed_server_is_given_up(way, keys.path()).unwrap_or_else(|error| panic!("{way:?}: {error}"));
                a_counter_that_moves_is_exact(way, keys.path()).unwrap_or_else(|error| panic!("{way:?}: {error}"));
            }
        }
    }
}

/// Says something to whoever started this process.
fn say(words: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{words}")?;
    Ok(out.flush()?)
}

/// Does what its standard input says.
fn child(way: &str, number: &str, keys: &str, parent: &str) -> Outcome<()> {
    let way: Way = way.parse()?;
    let own = way.bind(number.parse()?, Path::new(keys))?;
    way.introduce(&own, PARENT, parent.parse()?)?;
    say(&way.address(&own)?.to_string())?;
    let mut host = Err(own);
    for line in std::io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &mut host) {
            (["peer", number, address], Err(own)) => way.introduce(own, number.parse()?, address.parse()?)?,
            (["start"], _) => {
                let started = Host::start(host.map_err(Some).err().flatten().ok_or("it has started")?)?;
                say(&started.id().ok_or("it has an identifier")?.to_bits().to_string())?;
                host = Ok(started);
            }
            (["make"], Ok(host)) => serve(host.process()?, 0)?,
            (["take", bytes, count], Ok(host)) => serve(host.attach(&from_hexadecimal(bytes)?)?, count.parse()?)?,
            _ => return Err(format!("what is {line:?}?").into()),
        }
    }
    Ok(())
}

/// Counts until it is told to move.
fn serve(mut server: HostProcess, mut count: u64) -> Outcome<()> {
    say(&server.id().to_bits().to_string())?;
    loop {
        let call = server.receive()?;
        match call.message().split_first() {
            Some((b'c', _)) => {
                count += 1;
                server.reply(call, &count.to_le_bytes())?;
            }
            Some((b'w', _)) => {
                say("waits")?;
                drop(call);
            }
            Some((b'm', host)) => {
                let to = u32::from_le_bytes(host.try_into()?);
                let to = LogicalHostId::from_bits(to).ok_or("no host")?;
                server.reply(call, b"")?;
                let bytes = server.detach(to).map_err(|(error, _)| error)?;
                return say(&format!("{} {count}", hexadecimal(&bytes)));
            }
            _ => return Err("an unknown message".into()),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Outcome<Vec<u8>> {
    let byte = |at: usize| Ok(u8::from_str_radix(text.get(at..at + 2).ok_or("an odd number of digits")?, 16)?);
    (0..text.len()).step_by(2).map(byte).collect()
}

/// A process that this program has started; it ends with this value.
struct Other {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
    host: u32,
}

impl Other {
    fn start(way: Way, number: u16, keys: &Path, parent: SocketAddr) -> Outcome<Other> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["child", way.name(), &number.to_string()])
            .arg(keys)
            .arg(parent.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        let output = BufReader::new(output).lines();
        let mut other = Other { child, input, output, address: parent, host: 0 };
        other.address = other.hear()?.parse()?;
        Ok(other)
    }

    fn tell(&mut self, words: &str) -> Outcome<()> {
        Ok(writeln!(self.input, "{words}")?)
    }

    fn hear(&mut self) -> Outcome<String> {
        Ok(self.output.next().ok_or("it has ended")??)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It was not waited for before, so both concern the same process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A host in this process, and others in theirs, which know each other.
fn start(way: Way, keys: &Path, count: u16) -> Outcome<(Host, Vec<Other>)> {
    let own = way.bind(PARENT, keys)?;
    let address = way.address(&own)?;
    let numbers = PARENT + 1..=PARENT + count;
    let others = numbers.clone().map(|number| Other::start(way, number, keys, address));
    let mut others = others.collect::<Outcome<Vec<Other>>>()?;
    let addresses: Vec<SocketAddr> = others.iter().map(|other| other.address).collect();
    for (number, other) in numbers.clone().zip(&mut others) {
        way.introduce(&own, number, other.address)?;
        for (peer, address) in numbers.clone().zip(&addresses).filter(|(peer, _)| *peer != number) {
            other.tell(&format!("peer {peer} {address}"))?;
        }
        other.tell("start")?;
        other.host = other.hear()?.parse()?;
    }
    let host = Host::start(own)?;
    Ok((host, others))
}

fn identifier(said: &str) -> Outcome<ProcessId> {
    Ok(ProcessId::from_bits(said.parse()?).ok_or("no process")?)
}

/// Calls until calls go by this way, and not by another one.
fn settle(way: Way, host: &Host, address: SocketAddr, number: u16, server: ProcessId) -> Outcome<u64> {
    let mut client = host.process()?;
    let mut calls = 0;
    let until = Instant::now() + Duration::from_secs(20);
    while calls == 0 || !way.is_up(host.transport(), way.place(number, address)) {
        client.send(server, BlockedRequest::exactly_once(b"c"))?;
        calls += 1;
        if Instant::now() > until {
            return Err("calls go by another way".into());
        }
    }
    Ok(calls)
}

/// If this failed, a client would wait for ever for a server that was killed; or, where its death can be seen, as long as for one that is
/// merely silent.
fn a_killed_server_is_given_up(way: Way, keys: &Path) -> Outcome<()> {
    let (host, mut others) = start(way, keys, 1)?;
    let other = &mut others[0];
    other.tell("make")?;
    let server = identifier(&other.hear()?)?;
    settle(way, &host, other.address, PARENT + 1, server)?;
    let mut client = host.process()?;
    let waiting = std::thread::spawn(move || {
        let failure = client.send(server, BlockedRequest::exactly_once(b"w"));
        (failure, Instant::now(), client.send(server, BlockedRequest::exactly_once(b"c")))
    });
    assert_eq!(other.hear()?, "waits");
    other.child.kill()?;
    let killed = Instant::now();
    let (first, failed, second) = waiting.join().map_err(|_| "the client panicked")?;
    let elapsed = failed - killed;
    let gave_up = |outcome: &Result<_, HostError>| matches!(outcome, Err(HostError::Send(SendFailure::GaveUp)));
    assert!(gave_up(&first), "{way:?}: {first:?}");
    assert!(gave_up(&second), "{way:?}: {second:?}");
    // The last sign of life came before the death.
    let seen = elapsed < Duration::from_nanos(GIVE_UP - GIVE_UP / 4);
    assert!(seen || way != Way::SharedMemory, "the death of the server was not seen: {elapsed:?}");
    println!("{way:?}: given up {elapsed:.2?} after the death");
    Ok(())
}

/// If this failed, a call would be executed twice, or not at all, because its server has moved.
fn a_counter_that_moves_is_exact(way: Way, keys: &Path) -> Outcome<()> {
    let (host, mut others) = start(way, keys, 2)?;
    others[0].tell("make")?;
    let server = identifier(&others[0].hear()?)?;
    let settled = settle(way, &host, others[0].address, PARENT + 1, server)?;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = host.process().expect("room");
            std::thread::spawn(move || -> Result<Vec<u64>, HostError> {
                let mut numbers = Vec::new();
                for _ in 0..CALLS * MOVES / CLIENTS {
                    let reply = client.send(server, BlockedRequest::exactly_once(b"c"))?;
                    numbers.push(u64::from_le_bytes(reply.message.try_into().expect("a number")));
                }
                Ok(numbers)
            })
        })
        .collect();
    let mut mover = host.process()?;
    for turn in 0..MOVES as usize {
        let (from, to) = (turn % 2, 1 - turn % 2);
        let mut order = vec![b'm'];
        order.extend_from_slice(&others[to].host.to_le_bytes());
        mover.send(server, BlockedRequest::exactly_once(&order))?;
        let state = others[from].hear()?;
        others[to].tell(&format!("take {state}"))?;
        assert_eq!(identifier(&others[to].hear()?)?, server, "it keeps its identifier");
    }
    let mut numbers = Vec::new();
    for client in clients {
        numbers.extend(client.join().map_err(|_| "a client panicked")??);
    }
    numbers.sort_unstable();
    let expected = settled + 1..=settled + CALLS * MOVES;
    assert!(numbers.iter().copied().eq(expected), "{way:?}: each call is counted once: {numbers:?}");
    println!("{way:?}: {} calls during {MOVES} moves, each counted once", CALLS * MOVES);
    Ok(())
}
