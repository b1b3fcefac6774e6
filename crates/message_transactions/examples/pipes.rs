//! Pipes: a server that keeps blocks between writers and readers, and makes them wait by withholding its reply.
//!
//! `cargo run -p message_transactions --example pipes`. Two writers and a reader on three hosts, with the pipe server on the writers' or the reader's
//! host. Reading from an empty pipe without writers is its end; what writers have left outlives them. After "Pipes" in the thesis.

#[path = "common/hosts.rs"]
mod hosts;

use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess, ReceivedCall};
use message_transactions::{ProcessId, host::ProcessReply};
use std::collections::VecDeque;

const BLOCK_BYTES_MAX: usize = 1_024;
const BLOCKS_MAX: usize = 4;
const BLOCKS_OF_A_WRITER: u32 = 200;
const WRITERS: u8 = 2;
const WRITE: &[u8] = b"write";
const READ: &[u8] = b"read";
const CLOSE: &[u8] = b"close";

/// The server of one pipe.
#[derive(Default)]
struct Pipe {
    blocks: VecDeque<Vec<u8>>,
    /// Writers that wait for room, with what they write.
    writers: VecDeque<(ReceivedCall, Vec<u8>)>,
    /// Readers that wait for a block.
    readers: VecDeque<ReceivedCall>,
    closed: u8,
}

impl Pipe {
    /// Serves until the last writer has closed the pipe and the reader has seen its end.
    fn serve(mut self, server: &mut HostProcess) -> Result<(), HostError> {
        loop {
            let call = server.receive()?;
            match call.message() {
                WRITE => {
                    let mut block = vec![0; (call.rights().bytes as usize).min(BLOCK_BYTES_MAX)];
                    // All of it has travelled with the message, or the rest is fetched.
                    let travelled = call.data().len().min(block.len());
                    block[..travelled].copy_from_slice(&call.data()[..travelled]);
                    if travelled < block.len() {
                        server.read(&call, travelled as u64, &mut block[travelled..])?;
                    }
                    self.writers.push_back((call, block));
                }
                READ => self.readers.push_back(call),
                _ => {
                    self.closed += 1;
                    server.reply(call, b"closed")?;
                }
            }
            if self.go_on(server)? {
                return Ok(());
            }
        }
    }

    /// Lets writers and readers go on that can. True when the end was read.
    fn go_on(&mut self, server: &mut HostProcess) -> Result<bool, HostError> {
        loop {
            if self.blocks.len() < BLOCKS_MAX
                && let Some((call, block)) = self.writers.pop_front()
            {
                self.blocks.push_back(block);
                server.reply(call, b"written")?;
            } else if !self.blocks.is_empty()
                && let Some(call) = self.readers.pop_front()
            {
                let block = self.blocks.pop_front().unwrap_or_default();
                server.reply_with(call, &(block.len() as u64).to_le_bytes(), 0, &block)?;
            } else if self.blocks.is_empty()
                && self.closed == WRITERS
                && let Some(call) = self.readers.pop_front()
            {
                server.reply(call, &0_u64.to_le_bytes())?;
                return Ok(true);
            } else {
                return Ok(false);
            }
        }
    }
}

fn write(writer: &mut HostProcess, pipe: ProcessId, block: &[u8]) -> Result<ProcessReply, HostError> {
    writer.send(pipe, BlockedRequest::exactly_once(WRITE).readable(block))
}

/// One pipe whose server is at the given host: writers at hosts 0 and 1, the reader at host 2.
fn through(hosts: &[Host], at: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut server = hosts[at].process()?;
    let pipe = server.id();
    // When the server has ended, its kernel still answers copies of the last message.
    let served = std::thread::spawn(move || Pipe::default().serve(&mut server).map_err(|error| error.to_string()));
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let mut writer = hosts[usize::from(number)].process()?;
        writers.push(std::thread::spawn(move || -> Result<(), String> {
            for block in 0..BLOCKS_OF_A_WRITER {
                let mut bytes = vec![number; 200 + (block as usize * 37) % 800];
                bytes[1..5].copy_from_slice(&block.to_le_bytes());
                write(&mut writer, pipe, &bytes).map_err(|error| error.to_string())?;
            }
            writer.send(pipe, BlockedRequest::exactly_once(CLOSE)).map(drop).map_err(|error| error.to_string())
        }));
    }
    let mut reader = hosts[2].process()?;
    let mut next = [0_u32; WRITERS as usize];
    loop {
        let mut block = [0; BLOCK_BYTES_MAX];
        let reply = reader.send(pipe, BlockedRequest::exactly_once(READ).writable(&mut block))?;
        let bytes = u64::from_le_bytes(reply.message.as_slice().try_into()?) as usize;
        if bytes == 0 {
            break;
        }
        let number = u32::from_le_bytes(block[1..5].try_into()?);
        let writer = usize::from(block[0]);
        assert_eq!(number, next[writer], "blocks of one writer come in order, each once");
        assert_eq!(bytes, 200 + (number as usize * 37) % 800, "each as long as it was written");
        next[writer] += 1;
    }
    assert_eq!(next, [BLOCKS_OF_A_WRITER; WRITERS as usize], "every block has come before the end");
    for writer in writers {
        writer.join().map_err(|_| "a writer panicked")??;
    }
    served.join().map_err(|_| "the server panicked")??;
    println!("{} blocks through a pipe at host {at}", next.iter().sum::<u32>());
    Ok(())
}

/// A pipe at the host of a writer, then one at that of the reader.
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
    let hosts = hosts::start(3)?;
    through(&hosts, 0)?;
    through(&hosts, 2)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
