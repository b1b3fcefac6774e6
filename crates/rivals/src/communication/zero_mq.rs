//! ZeroMQ: a request socket and a reply socket over a Unix socket, by its own library.

use laboratory::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use zmq::{Context, SocketType};

/// See the module's description.
pub struct ZeroMq;

fn endpoint(meeting: &Meeting) -> String {
    format!("ipc://{}", meeting.folder.join("zeromq").display())
}

impl Method for ZeroMq {
    fn name(&self) -> &'static str {
        "ZeroMQ REQ/REP"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let socket = Context::new().socket(SocketType::REP).map_err(Failure::foreign)?;
        socket.bind(&endpoint(meeting)).map_err(Failure::foreign)?;
        ready("")?;
        let (mut request, mut reply) = (zmq::Message::new(), Vec::new());
        loop {
            socket.recv(&mut request, 0).map_err(Failure::foreign)?;
            reply_to(&request, &mut reply, meeting.reply_bytes);
            socket.send(&reply, 0).map_err(Failure::foreign)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let socket = Context::new().socket(SocketType::REQ).map_err(Failure::foreign)?;
        socket.connect(&endpoint(meeting)).map_err(Failure::foreign)?;
        let mut message = zmq::Message::new();
        Ok(Box::new(move |request, reply| {
            socket.send(request, 0).map_err(Failure::foreign)?;
            socket.recv(&mut message, 0).map_err(Failure::foreign)?;
            reply.clear();
            reply.extend_from_slice(&message);
            Ok(())
        }))
    }
}
