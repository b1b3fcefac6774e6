//! The stand-in's connections: one thread that sleeps until any of them has something to say (epoll(7)).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};

use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use super::protocol::{Next, Session};
use crate::databases::error::CompareError;

/// How many connections are looked at before the kernel is asked again.
const EVENTS_MAX: usize = 64;

/// Bytes that are read from a connection at once.
const READ_BYTES: usize = 16 << 10;

/// The number of the listening socket among those of connections.
const LISTENER: u64 = 0;

/// Serves until the process is ended.
///
/// # Errors
/// The address cannot be listened at, or the kernel refuses to watch connections.
pub fn serve(listen: SocketAddrV4) -> Result<(), CompareError> {
    let place = listen.to_string();
    attend(listen).map_err(CompareError::system("cannot serve at", place.as_ref()))
}

fn attend(listen: SocketAddrV4) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let watched = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let watch = |socket: &dyn std::os::fd::AsFd, number| {
        epoll::add(&watched, socket, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    };
    watch(&listener, LISTENER)?;
    let mut connections = BTreeMap::new();
    let mut next_number = LISTENER + 1;
    let mut events = Vec::with_capacity(EVENTS_MAX);
    loop {
        events.clear();
        match epoll::wait(&watched, spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                // A client that has hung up meanwhile is no reason to end.
                let Ok((stream, _)) = listener.accept() else { continue };
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                watch(&stream, next_number)?;
                connections.insert(next_number, (stream, Session::default()));
                next_number += 1;
            } else if let Some((stream, session)) = connections.get_mut(&number)
                && exchange(stream, session) == Next::Close
            {
                // Closing the socket ends the watch.
                connections.remove(&number);
            }
        }
    }
}

/// Takes what has come and answers it. A client that leaves answers lying until the kernel's buffer is full is left: nobody who waits
/// for each answer does.
fn exchange(stream: &mut TcpStream, session: &mut Session) -> Next {
    let mut buffer = [0; READ_BYTES];
    let next = match stream.read(&mut buffer) {
        Ok(0) => Next::Close,
        Ok(count) => session.take(&buffer[..count]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Next::Listen,
        Err(_) => Next::Close,
    };
    let sent = stream.write_all(&session.output);
    session.output.clear();
    if sent.is_err() { Next::Close } else { next }
}
