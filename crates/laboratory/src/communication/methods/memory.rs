//! Memory that both sides map, and one of the operating system's ways to sleep and to wake.
//!
//! Invariant: the two sides take turns: whoever is woken owns the bytes until it wakes the other.

use crate::communication::limits::HEAD_BYTES;
use crate::communication::method::{Caller, Meeting, Method, Ready, patiently, reply_to};
use crate::communication::operating_system::{Semaphores, SharedMemory};
use laboratory_harness::{Failure, Outcome};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::thread::futex;
use std::any::Any;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::Ordering;

/// How a side is woken.
#[derive(Clone, Copy, Debug)]
pub enum Wake {
    /// futex(2), without a look at the word before.
    Futex,
    /// eventfd(2).
    Eventfd,
    /// Two System V semaphores, as the papers measured it.
    Semaphores,
}

/// See the module's description.
pub struct Memory(pub Wake);

/// Where the word is on which a side of the futex waits: 0 is the server.
const WORDS_AT: [usize; 2] = [0, 64];

/// One side's way to wake the other, and to be woken.
enum Bell {
    Futex { memory: SharedMemory, own: usize, rounds: u32 },
    Eventfd { own: OwnedFd, others: OwnedFd },
    Semaphores { set: Semaphores, own: u16 },
}

impl Bell {
    fn ring(&mut self) -> Outcome<()> {
        match self {
            Bell::Futex { memory, own, .. } => {
                let word = memory.word(WORDS_AT[1 - *own]);
                word.fetch_add(1, Ordering::Release);
                futex::wake(word, futex::Flags::empty(), 1)?;
            }
            Bell::Eventfd { others, .. } => drop(rustix::io::write(&*others, &1_u64.to_ne_bytes())?),
            Bell::Semaphores { set, own } => set.add(1 - *own, 1)?,
        }
        Ok(())
    }

    fn wait(&mut self) -> Outcome<()> {
        match self {
            Bell::Futex { memory, own, rounds } => {
                let word = memory.word(WORDS_AT[*own]);
                while word.load(Ordering::Acquire) == *rounds {
                    // Changed before it began, or interrupted: the loop looks again.
                    let _ = futex::wait(word, futex::Flags::empty(), *rounds, None);
                }
                *rounds = rounds.wrapping_add(1);
            }
            Bell::Eventfd { own, .. } => drop(rustix::io::read(&*own, &mut [0; 8])?),
            Bell::Semaphores { set, own } => set.add(*own, -1)?,
        }
        Ok(())
    }
}

impl Memory {
    fn memory(meeting: &Meeting) -> Outcome<SharedMemory> {
        Ok(SharedMemory::open(&meeting.folder.join("memory"))?)
    }

    fn bell(&self, meeting: &Meeting, own: usize, eventfds: impl FnOnce() -> Outcome<[OwnedFd; 2]>) -> Outcome<Bell> {
        Ok(match self.0 {
            Wake::Futex => Bell::Futex { memory: Memory::memory(meeting)?, own, rounds: 0 },
            Wake::Eventfd => {
                let [servers, clients] = eventfds()?;
                if own == 0 {
                    Bell::Eventfd { own: servers, others: clients }
                } else {
                    Bell::Eventfd { own: clients, others: servers }
                }
            }
            Wake::Semaphores => {
                let set = meeting.address.parse().map_err(|_| Failure::Wrong("no set of semaphores".to_owned()))?;
                Bell::Semaphores { set: Semaphores(set), own: own as u16 }
            }
        })
    }
}

impl Method for Memory {
    fn name(&self) -> &'static str {
        match self.0 {
            Wake::Futex => "shared memory, futex",
            Wake::Eventfd => "shared memory, eventfd",
            Wake::Semaphores => "shared memory, semaphores",
        }
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        SharedMemory::create(&meeting.folder.join("memory"), HEAD_BYTES + meeting.bytes())?;
        if !matches!(self.0, Wake::Semaphores) {
            return Ok(Box::new(()));
        }
        let set = Semaphores::create()?;
        meeting.address = set.0.0.to_string();
        Ok(Box::new(set))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let memory = Memory::memory(meeting)?;
        let mut bell = match self.0 {
            Wake::Eventfd => {
                let listener = UnixListener::bind(meeting.folder.join("eventfds"))?;
                ready("")?;
                self.bell(meeting, 0, || pass_eventfds(&listener.accept()?.0))?
            }
            _ => {
                let bell = self.bell(meeting, 0, || unreachable!("these have none"))?;
                ready("")?;
                bell
            }
        };
        let (mut request, mut reply) = (vec![0; meeting.request_bytes], Vec::new());
        loop {
            bell.wait()?;
            memory.read(HEAD_BYTES, &mut request);
            reply_to(&request, &mut reply, meeting.reply_bytes);
            memory.write(HEAD_BYTES, &reply);
            bell.ring()?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let memory = Memory::memory(meeting)?;
        let mut bell = self
            .bell(meeting, 1, || take_eventfds(&patiently(|| UnixStream::connect(meeting.folder.join("eventfds")))?))?;
        let reply_bytes = meeting.reply_bytes;
        Ok(Box::new(move |request, reply| {
            memory.write(HEAD_BYTES, request);
            bell.ring()?;
            bell.wait()?;
            reply.resize(reply_bytes, 0);
            memory.read(HEAD_BYTES, reply);
            Ok(())
        }))
    }
}

/// Makes the server's and the client's, and gives the other side both.
fn pass_eventfds(socket: &UnixStream) -> Outcome<[OwnedFd; 2]> {
    let both = [eventfd(0, EventfdFlags::CLOEXEC)?, eventfd(0, EventfdFlags::CLOEXEC)?];
    let borrowed = [both[0].as_fd(), both[1].as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&borrowed)), "there is room for two");
    rustix::net::sendmsg(socket, &[IoSlice::new(b"2")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(both)
}

fn take_eventfds(socket: &UnixStream) -> Outcome<[OwnedFd; 2]> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let files: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        })
        .flatten()
        .collect();
    files.try_into().map_err(|_| Failure::Wrong("the server passed no eventfds".to_owned()))
}
