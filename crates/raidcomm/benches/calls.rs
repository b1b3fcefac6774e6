//! A call of 64 bytes to another process of this host and back: through a line of shared memory, a Unix socket, and two pipes, with the two
//! processes on processors of their own, on one, and wherever the kernel puts them, alone and beside a third one that never rests.
//!
//! `cargo bench -p raidcomm --bench calls`. The program starts itself again as the other side. Rounds are interleaved; the figures
//! are medians of the rounds, in microseconds for one call.

use raidcomm::shared::{LineClient, LineListener, Shape};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const CALLS: u32 = 10_000;
const WARM_UP: u32 = 500;
const ROUNDS: usize = 5;
const BYTES: usize = 64;
const SHAPE: Shape = Shape { slots: 1, slot_bytes: 4096 };
const WAYS: [&str; 3] = ["line", "socket", "pipes"];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Where the two sides run, and whether a third process does beside them.
struct Placement {
    name: &'static str,
    client: Option<usize>,
    server: Option<usize>,
    neighbour: Option<usize>,
}

const PLACEMENTS: [Placement; 5] = [
    Placement { name: "a processor each", client: Some(0), server: Some(1), neighbour: None },
    Placement { name: "one processor", client: Some(0), server: Some(0), neighbour: None },
    Placement { name: "wherever", client: None, server: None, neighbour: None },
    Placement { name: "one processor, and a busy third", client: Some(0), server: Some(0), neighbour: Some(0) },
    Placement { name: "wherever, and a busy third", client: None, server: None, neighbour: Some(1) },
];

fn pin(processor: Option<usize>) -> Outcome<()> {
    let mut set = CpuSet::new();
    match processor {
        Some(processor) => set.set(processor),
        None => (0..std::thread::available_parallelism()?.get()).for_each(|processor| set.set(processor)),
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The other side: replies with what it was sent.
fn serve(way: &str, path: &Path) -> Outcome<()> {
    let mut bytes = [0; BYTES];
    match way {
        "line" => {
            let mut server = LineListener::bind(path)?.accept()?;
            server.serve(|request, reply| reply.extend_from_slice(request))?;
        }
        "socket" => {
            let (mut socket, _) = UnixListener::bind(path)?.accept()?;
            while socket.read_exact(&mut bytes).is_ok() {
                socket.write_all(&bytes)?;
            }
        }
        _ => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
            while input.read_exact(&mut bytes).is_ok() {
                output.write_all(&bytes)?;
                output.flush()?;
            }
        }
    }
    Ok(())
}

/// A process that is ended with the value.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn helper(arguments: &[&str], processor: Option<usize>) -> Outcome<Helper> {
    let processor = processor.map_or("any".to_owned(), |processor| processor.to_string());
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(processor).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(Helper(command.spawn()?))
}

fn patiently<T, E: Error + 'static>(mut attempt: impl FnMut() -> Result<T, E>) -> Outcome<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) if begun.elapsed().as_secs() > 5 => return Err(error.into()),
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// Microseconds of one call.
fn measure(mut call: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    for _ in 0..WARM_UP {
        call()?;
    }
    let begun = Instant::now();
    for _ in 0..CALLS {
        call()?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS))
}

fn round(way: &str, placement: &Placement, path: &Path) -> Outcome<f64> {
    let mut server = helper(&[way, &path.display().to_string()], placement.server)?;
    let request = [7; BYTES];
    let mut reply = [0; BYTES];
    match way {
        "line" => {
            let mut client = patiently(|| LineClient::connect(path, SHAPE))?;
            let mut reply = Vec::new();
            measure(|| Ok(client.call(&request, &mut reply, None)?))
        }
        "socket" => {
            let mut socket = patiently(|| UnixStream::connect(path))?;
            measure(|| {
                socket.write_all(&request)?;
                Ok(socket.read_exact(&mut reply)?)
            })
        }
        _ => {
            let mut input = server.0.stdin.take().ok_or("no pipe")?;
            let mut output = server.0.stdout.take().ok_or("no pipe")?;
            measure(|| {
                input.write_all(&request)?;
                Ok(output.read_exact(&mut reply)?)
            })
        }
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [processor, rest @ ..] = arguments.as_slice() {
        pin(processor.parse().ok())?;
        match rest {
            [way, path] => return serve(way, Path::new(path)),
            _ => loop {
                std::hint::spin_loop();
            },
        }
    }
    let folder = tempfile::tempdir()?;
    println!(
        "{} processors; {BYTES} bytes there and back, microseconds a call\n",
        std::thread::available_parallelism()?
    );
    println!("{:<34}{:>10}{:>10}{:>10}   line to the best other", "", WAYS[0], WAYS[1], WAYS[2]);
    for (row, placement) in PLACEMENTS.iter().enumerate() {
        pin(placement.client)?;
        let _neighbour = placement.neighbour.map(|processor| helper(&[], Some(processor))).transpose()?;
        let mut figures = [const { Vec::new() }; WAYS.len()];
        for number in 0..ROUNDS {
            for (way, figures) in WAYS.iter().zip(&mut figures) {
                figures.push(round(way, placement, &folder.path().join(format!("{row}-{number}-{way}")))?);
            }
        }
        let medians = figures.map(|mut figures| {
            figures.sort_by(f64::total_cmp);
            figures[ROUNDS / 2]
        });
        let [line, socket, pipes] = medians;
        let ratio = line / socket.min(pipes);
        println!("{:<34}{line:>10.2}{socket:>10.2}{pipes:>10.2}   {ratio:.2}", placement.name);
    }
    Ok(())
}
