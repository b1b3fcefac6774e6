//! The answering end.

use super::transport::LineTransport;
use super::{GreetingRefusal, LineIdentity, RemoteError, greeting};
use crate::streams::secure::Secure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Where lines are made.
#[derive(Debug)]
pub struct RemoteLineListener {
    socket: TcpListener,
}

impl RemoteLineListener {
    /// Listens at an address.
    ///
    /// # Errors
    /// It is taken, or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<RemoteLineListener> {
        let socket = TcpListener::bind(address)?;
        // Whoever was reported may be gone again.
        socket.set_nonblocking(true)?;
        Ok(RemoteLineListener { socket })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Waits so long for somebody.
    ///
    /// # Errors
    /// The operating system refuses; others may come.
    pub fn accept(&self, time: Duration) -> io::Result<Option<Stranger>> {
        let wait = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait)) {
            Err(rustix::io::Errno::INTR) | Ok(0) => return Ok(None),
            other => other?,
        };
        match self.socket.accept() {
            Ok((stream, address)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(Stranger { stream, address }))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Somebody who has not said who it is.
#[derive(Debug)]
pub struct Stranger {
    stream: TcpStream,
    address: SocketAddr,
}

impl Stranger {
    /// From where it came.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets it say, and prove, who it is. All of it may take so long, and later every write.
    ///
    /// # Errors
    /// It is none of ours.
    pub fn greet(self, identity: &LineIdentity, time: Duration) -> Result<RemoteLineServer, RemoteError> {
        let deadline = Instant::now() + time;
        let secure = identity.keys.as_ref().map(Secure::accepting).transpose()?;
        let mut transport = LineTransport::new(self.stream, secure, time)?;
        transport.prove(deadline)?;
        let mut said = Vec::new();
        transport.receive(&mut said, Some(deadline))?;
        if transport.secure().is_some_and(|secure| !secure.is_of_site(identity.instance, identity.site)) {
            transport.send(&greeting::verdict(Err(GreetingRefusal::Site)))?;
            return Err(RemoteError::Certificate(identity.site));
        }
        let judged = greeting::judge(identity, &said);
        transport.send(&greeting::verdict(judged))?;
        judged?;
        transport.greeted();
        Ok(RemoteLineServer { transport })
    }
}

/// See the module's description. Of one thread at a time.
#[derive(Debug)]
pub struct RemoteLineServer {
    transport: LineTransport,
}

impl RemoteLineServer {
    /// What ends it from another thread.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn closer(&self) -> io::Result<Closer> {
        self.transport.stream().try_clone().map(Closer)
    }

    /// Serves until the client is gone: `execute` is given a request and fills in the reply.
    ///
    /// # Errors
    /// The connection breaks, or what came is none of a client.
    pub fn serve(&mut self, mut execute: impl FnMut(&[u8], &mut Vec<u8>)) -> Result<(), RemoteError> {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        loop {
            match self.transport.receive(&mut request, None) {
                Err(RemoteError::Closed) => return Ok(()),
                received => received?,
            }
            reply.clear();
            execute(&request, &mut reply);
            self.transport.send(&reply)?;
        }
    }
}

/// Ends a line from another thread.
#[derive(Debug)]
pub struct Closer(TcpStream);

impl Closer {
    /// Ends it: whoever waits at either end is told. A line that has ended already stays so.
    pub fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
