//! The calling end.

use super::transport::LineTransport;
use super::{LineIdentity, RemoteError, greeting};
use crate::streams::secure::Secure;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// See the module's description. Of one thread at a time.
#[derive(Debug)]
pub struct RemoteLineClient {
    transport: LineTransport,
    /// An error has come: a reply may still be on its way, to a request that nobody waits for.
    broken: bool,
}

impl RemoteLineClient {
    /// Makes a line with the process that listens at `address`. All of it may take so long, and later every write.
    ///
    /// # Errors
    /// Nobody answers there in time, or one side does not want the other.
    pub fn connect(
        address: SocketAddr,
        identity: &LineIdentity,
        time: Duration,
    ) -> Result<RemoteLineClient, RemoteError> {
        let deadline = Instant::now() + time;
        let stream = TcpStream::connect_timeout(&address, time).map_err(|error| match error.kind() {
            std::io::ErrorKind::TimedOut => RemoteError::Silent,
            _ => RemoteError::System(error),
        })?;
        let secure = identity.keys.as_ref().map(Secure::connecting).transpose()?;
        let mut transport = LineTransport::new(stream, secure, time)?;
        transport.prove(deadline)?;
        if let Some(secure) = transport.secure()
            && !secure.is_of_site(identity.instance, identity.site)
        {
            return Err(RemoteError::Certificate(identity.site));
        }
        transport.send(&greeting::hello(identity))?;
        let mut said = Vec::new();
        transport.receive(&mut said, Some(deadline))?;
        greeting::read_verdict(&said)?;
        transport.greeted();
        Ok(RemoteLineClient { transport, broken: false })
    }

    /// Sends a request and waits for the reply, which replaces what is in `reply`.
    ///
    /// # Errors
    /// There is no reply, and there will be none to any later call.
    pub fn call(&mut self, request: &[u8], reply: &mut Vec<u8>, time: Option<Duration>) -> Result<(), RemoteError> {
        if self.broken {
            return Err(RemoteError::Closed);
        }
        let deadline = time.map(|time| Instant::now() + time);
        let called = self.transport.send(request).and_then(|()| self.transport.receive(reply, deadline));
        self.broken = called.is_err();
        called
    }
}
