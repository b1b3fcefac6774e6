//! Lines of shared memory whose other process is killed with SIGKILL in the middle of calls.
//!
//! The program starts itself as the other process, so it has no harness: each check is a function that `main` calls.

use raidcomm::shared::{LineCallError, LineClient, LineError, LineListener, LineServeError, RequestFate, Shape};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const SHAPE: Shape = Shape { slots: 4, slot_bytes: 256 };
const ROUNDS: u32 = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["server", path] => server(Path::new(path)),
        ["client", path] => client(Path::new(path)),
        // The harness' own options mean nothing here.
        _ => {
            a_killed_server_ends_its_calls();
            a_killed_client_frees_its_server();
        }
    }
}

/// Replies with what it is sent, but to `wait` never.
fn server(path: &Path) {
    let mut server = LineListener::bind(path).expect("it listens").accept().expect("a client");
    let (mut request, mut kept) = (Vec::new(), Vec::new());
    while let Ok(call) = server.receive(&mut request, None) {
        match request.as_slice() {
            b"wait" => kept.push(call),
            _ => server.reply(call, &request).expect("a reply"),
        }
    }
}

/// Calls without end.
fn client(path: &Path) {
    let mut client = LineClient::connect(path, SHAPE).expect("a line");
    let mut reply = Vec::new();
    while client.call(b"again", &mut reply, None).is_ok() {}
}

fn process(role: &str, path: &Path) -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).arg(role).arg(path).spawn().expect("it starts")
}

fn connect(path: &Path) -> LineClient {
    loop {
        match LineClient::connect(path, SHAPE) {
            Ok(client) => return client,
            // It does not listen yet.
            Err(LineError::System(_)) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn path(folder: &tempfile::TempDir, round: u32) -> PathBuf {
    folder.path().join(round.to_string())
}

/// If this fails, the death of a server is not noticed, or only once its parent has taken notice; or the fate of a call is told wrongly.
fn a_killed_server_ends_its_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..ROUNDS {
        let path = path(&folder, round);
        let mut other = process("server", &path);
        let mut client = connect(&path);
        let mut reply = Vec::new();
        for call in 0..25 * round {
            client.call(b"echo", &mut reply, None).unwrap_or_else(|error| panic!("call {call}: {error}"));
        }
        let waits = client.begin(b"wait").expect("a slot");
        client.call(b"echo", &mut reply, None).expect("it has taken the call before this one");
        other.kill().expect("it can be killed");
        assert_eq!(
            client.finish(waits, &mut reply, None),
            Err(LineCallError::Gone(RequestFate::Unknown)),
            "round {round}"
        );
        assert_eq!(client.begin(b"echo"), Err(LineCallError::Gone(RequestFate::NotExecuted)), "round {round}");
        other.wait().expect("it has ended");
    }
}

/// If this fails, a server hangs on a line whose client was killed, or takes half a request for one.
fn a_killed_client_frees_its_server() {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..ROUNDS {
        let path = path(&folder, round);
        let listener = LineListener::bind(&path).expect("it listens");
        let mut other = process("client", &path);
        let mut server = listener.accept().expect("a client");
        let mut request = Vec::new();
        for number in 0.. {
            match server.receive(&mut request, None) {
                Ok(call) => {
                    assert_eq!(request, b"again");
                    if number == 50 * round {
                        other.kill().expect("it can be killed");
                    }
                    server.reply(call, &request).expect("a reply, whoever takes it");
                }
                Err(error) => {
                    assert_eq!(error, LineServeError::Gone);
                    break;
                }
            }
        }
        other.wait().expect("it has ended");
    }
}
