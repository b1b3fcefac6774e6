//! Servers that are killed with SIGKILL in the middle of calls: is every call ended with its true fate, how soon, and is anything left behind?
//!
//! `cargo run --release -p raidcomm --example kills -- 10000`. The program starts itself as the servers. Times are from the kill to the
//! error in the client's hands. Exit status 1: a fate was wrong, or files or mappings were left.

use raidcomm::shared::{LineCallError, LineClient, LineError, LineListener, RequestFate, Shape};
use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape { slots: 8, slot_bytes: 256 };

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Takes all calls, and never replies to the first byte 1.
fn serve(path: &Path) -> Outcome<()> {
    let mut server = LineListener::bind(path)?.accept()?;
    let (mut request, mut kept) = (Vec::new(), Vec::new());
    while let Ok(call) = server.receive(&mut request, None) {
        match request.first() {
            Some(1) => kept.push(call),
            _ => server.reply(call, &request).map_err(|(error, _)| error)?,
        }
    }
    Ok(())
}

fn connect(path: &Path) -> Outcome<LineClient> {
    loop {
        match LineClient::connect(path, SHAPE) {
            Ok(client) => return Ok(client),
            // It does not listen yet.
            Err(LineError::System(_)) => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
}

/// One kill: with calls that were replied to, taken, and not taken. The time until the last of them had its error.
fn kill(child: &mut Child, path: &Path) -> Outcome<Duration> {
    let mut client = connect(path)?;
    let mut reply = Vec::new();
    for number in 0..20 {
        client.call(&[2, number], &mut reply, None)?;
    }
    let replied = client.begin(&[2])?;
    let taken = client.begin(&[1])?;
    client.call(&[2], &mut reply, None)?;
    child.kill()?;
    let killed = Instant::now();
    let wrong = |what: &str, found: Result<(), LineCallError>| format!("{what}: {found:?}");
    let end = client.finish(taken, &mut reply, None);
    let noticed = killed.elapsed();
    if end != Err(LineCallError::Gone(RequestFate::Unknown)) {
        return Err(wrong("a call that was taken", end).into());
    }
    let end = client.finish(replied, &mut reply, None);
    if end != Ok(()) {
        return Err(wrong("a call that was replied to", end).into());
    }
    match client.begin(&[2]) {
        Err(LineCallError::Gone(RequestFate::NotExecuted)) => Ok(noticed),
        other => Err(format!("a call after the end: {other:?}").into()),
    }
}

/// Open files and mapped pieces of memory of this process.
fn belongings() -> Outcome<(usize, usize)> {
    let files = std::fs::read_dir("/proc/self/fd")?.count();
    let lines = std::fs::read_to_string("/proc/self/maps")?;
    Ok((files, lines.lines().filter(|line| line.contains("raidcomm line")).count()))
}

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path] = arguments.as_slice()
        && role == "serve"
    {
        serve(Path::new(path))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kills: u32 = arguments.first().map_or(Ok(1_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("line");
    let mut times = Vec::new();
    let mut before = None;
    for number in 1..=kills {
        let mut child = Command::new(std::env::current_exe()?).arg("serve").arg(&path).spawn()?;
        let time = kill(&mut child, &path);
        // Only now: a death must be noticed before anybody has reaped the process.
        child.wait()?;
        times.push(time?);
        // The watcher of this process has come with the first line.
        before.get_or_insert(belongings()?);
        if number % 1_000 == 0 {
            println!("{number} killed");
        }
    }
    times.sort_unstable();
    let place = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{kills} servers killed, every call with its fate; error after {:.3} ms (median), {:.3} ms (99%), {:.3} ms (longest)",
        place(0.5),
        place(0.99),
        place(1.0)
    );
    let after = belongings()?;
    println!("open files and mapped lines after the first kill and after the last: {before:?}, {after:?}");
    Ok(if before == Some(after) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
