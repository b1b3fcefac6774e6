//! A server that keeps one block of data for its clients: they lend it memory, from which it takes and to which it moves the block.
//!
//! `cargo run -p message_transactions --example put_get_data`. The server is found by a logical identifier; the request stands in one byte, the block
//! in the client's segment. After "PutData and GetData" in the thesis.

#[path = "common/hosts.rs"]
mod hosts;

use message_transactions::ProcessId;
use message_transactions::host::{BlockedRequest, HostError, HostProcess};
use message_transactions::kernel::NameScope;

const DATA_SERVER: u32 = 1;
const BLOCK_BYTES_MAX: usize = 1 << 20;
const PUT: &[u8] = b"put";
const GET: &[u8] = b"get";
const STOP: &[u8] = b"stop";
const TOO_BIG: &[u8] = b"too big";
const NOT_IMPLEMENTED: &[u8] = b"not implemented";

/// Serves until it is told to stop.
fn serve(server: &mut HostProcess) -> Result<(), HostError> {
    let mut block = Vec::new();
    loop {
        let call = server.receive()?;
        let bytes = call.rights().bytes as usize;
        let replied = match call.message() {
            PUT if bytes > BLOCK_BYTES_MAX => server.reply(call, TOO_BIG),
            PUT => {
                let mut taken = vec![0; bytes];
                // A client that is gone, or lends nothing to read, changes nothing.
                if server.read(&call, 0, &mut taken).is_ok() {
                    block = taken;
                }
                server.reply(call, &(block.len() as u64).to_le_bytes())
            }
            GET => {
                let moved = block.len().min(bytes);
                let given = server.write(&call, 0, &block[..moved]).map_or(0, |()| moved as u64);
                server.reply(call, &given.to_le_bytes())
            }
            STOP => return server.reply(call, b"stopped"),
            _ => server.reply(call, NOT_IMPLEMENTED),
        };
        // Any other error: it was a copy of a request whose sender has its reply already.
        if let Err(HostError::System(_)) = replied {
            return replied;
        }
    }
}

fn put(client: &mut HostProcess, server: ProcessId, block: &[u8]) -> Result<Vec<u8>, HostError> {
    // To put the same block twice is to put it once.
    Ok(client.send(server, BlockedRequest::at_least_once(PUT).readable(block))?.message)
}

fn get(client: &mut HostProcess, server: ProcessId, block: &mut [u8]) -> Result<Vec<u8>, HostError> {
    Ok(client.send(server, BlockedRequest::at_least_once(GET).writable(block))?.message)
}

/// Puts and gets blocks of several sizes from another host, and checks them.
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
    let hosts = hosts::start(2)?;
    let mut server = hosts[1].process()?;
    server.set_pid(DATA_SERVER, NameScope::Any)?;
    let served = std::thread::spawn(move || serve(&mut server).map_err(|error| error.to_string()));
    let mut client = hosts[0].process()?;
    let server = client.get_pid(DATA_SERVER, NameScope::Any)?.ok_or("nobody serves data")?;
    for bytes in [1, 1_000, 100_000, BLOCK_BYTES_MAX] {
        let block: Vec<u8> = (0..bytes).map(|at| (at * 5 + bytes) as u8).collect();
        assert_eq!(put(&mut client, server, &block)?, (bytes as u64).to_le_bytes());
        let mut back = vec![0; bytes + 10];
        assert_eq!(get(&mut client, server, &mut back)?, (bytes as u64).to_le_bytes());
        assert!(back[..bytes] == block && back[bytes..] == [0; 10], "the block came back as it was");
        println!("{bytes} bytes there and back");
    }
    assert_eq!(put(&mut client, server, &vec![0; BLOCK_BYTES_MAX + 1])?, TOO_BIG);
    assert_eq!(client.send(server, BlockedRequest::at_least_once(b"sing"))?.message, NOT_IMPLEMENTED);
    client.send(server, BlockedRequest::exactly_once(STOP))?;
    Ok(served.join().map_err(|_| "the server panicked")??)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
