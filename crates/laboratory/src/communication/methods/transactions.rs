//! The message transaction of the V kernel over datagrams: Raidcomm V.2's lightweight protocol, and the operations that the thesis measures.
//!
//! In V the kernel of a machine serves all of its processes. Here a kernel serves one process of the operating system, so there are two cases
//! on one host: both sides within one kernel, and a kernel each.
//!
//! Invariant: whatever the operation, a call leaves with the client what [`reply_to`] makes of what was sent.

use super::sockets::{reached_at, server_of};
use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use message_transactions::ProcessId;
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess, ReceivedCall};
use message_transactions::limits::MESSAGE_BYTES_MAX;
use std::net::{Ipv4Addr, SocketAddr};

/// What one call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A message and its reply; what is longer than a message is lent, and moved.
    Exchange,
    /// A page of the server's comes with the reply.
    ReadPage,
    /// A page goes to the server with the message.
    WritePage,
    /// The client, which the server has sent a message to, moves from the server's memory.
    MoveFrom,
    /// The client moves to the server's memory.
    MoveTo,
    /// The server moves as much as is asked for to the client, in units of so many bytes, and replies.
    ReadInUnits(usize),
}

/// See the module's description.
pub struct Transactions {
    /// As tables call it.
    pub name: &'static str,
    /// What one call is.
    pub operation: Operation,
    /// Both sides are processes of one kernel.
    pub one_kernel: bool,
}

/// Raidcomm V.2.
pub const VERSION_TWO: Transactions =
    Transactions { name: "message transaction (V.2)", operation: Operation::Exchange, one_kernel: false };

fn foreign(error: HostError) -> Failure {
    Failure::foreign(error)
}

/// A kernel on this host, which knows that other one, if any.
fn host(meeting: &Meeting, peers: Vec<SocketAddr>) -> Outcome<Host<UdpTransport>> {
    let own = if meeting.host.is_loopback() { meeting.host } else { Ipv4Addr::UNSPECIFIED };
    Host::start(UdpTransport::bind(SocketAddr::from((own, 0)), UdpDomain::Peers(peers))?).map_err(foreign)
}

impl Method for Transactions {
    fn name(&self) -> &'static str {
        self.name
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        if self.one_kernel {
            // The client has a thread for it.
            ready("")?;
            loop {
                std::thread::park();
            }
        }
        let host = host(meeting, Vec::new())?;
        let mut server = host.process().map_err(foreign)?;
        let place =
            reached_at(meeting, message_transactions::host::transport::PacketTransport::place(host.transport()));
        ready(&format!("{place} {}", server.id().to_bits()))?;
        serve(self.operation, &mut server, meeting)
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let (host, server) = if self.one_kernel {
            let host = host(meeting, Vec::new())?;
            let mut server = host.process().map_err(foreign)?;
            let (id, operation, meeting) = (server.id(), self.operation, meeting.clone());
            // It ends with this process.
            std::thread::spawn(move || serve(operation, &mut server, &meeting));
            (host, id)
        } else {
            let (place, id) = meeting.address.split_once(' ').unwrap_or_default();
            let place = server_of(&Meeting { address: place.to_owned(), ..meeting.clone() })?;
            let id = id.parse().ok().and_then(ProcessId::from_bits);
            let id = id.ok_or_else(|| Failure::Wrong("the server names no process".to_owned()))?;
            (self::host(meeting, vec![place])?, id)
        };
        let client = host.process().map_err(foreign)?;
        caller(self.operation, host, client, server, meeting.reply_bytes)
    }
}

fn serve(operation: Operation, server: &mut HostProcess<UdpTransport>, meeting: &Meeting) -> Outcome<()> {
    let (mut request, mut reply) = (vec![0; meeting.request_bytes], Vec::new());
    loop {
        let call = server.receive().map_err(foreign)?;
        // Any other error: the client has ended, or it was a copy of a request whose reply is there already, and nothing is lent any more.
        if let Err(HostError::System(error)) = serve_one(operation, server, call, meeting, &mut request, &mut reply) {
            return Err(error.into());
        }
    }
}

fn serve_one(
    operation: Operation,
    server: &mut HostProcess<UdpTransport>,
    call: ReceivedCall,
    meeting: &Meeting,
    request: &mut [u8],
    reply: &mut Vec<u8>,
) -> Result<(), HostError> {
    match operation {
        Operation::MoveFrom | Operation::MoveTo => {
            let mover = call.sender();
            server.reply(call, &[])?;
            // Blocked, and its memory lent, until the client ends.
            let mut memory = vec![0; meeting.bytes()];
            server.send(mover, BlockedRequest::exactly_once(&[]).readable_and_writable(&mut memory)).map(drop)
        }
        Operation::Exchange if call.rights().bytes == 0 => {
            reply_to(call.message(), reply, meeting.reply_bytes);
            server.reply(call, reply)
        }
        Operation::Exchange => {
            server.read(&call, 0, request)?;
            reply_to(request, reply, meeting.reply_bytes);
            server.write(&call, 0, reply)?;
            server.reply(call, &[])
        }
        Operation::ReadPage => {
            reply_to(call.message(), reply, meeting.reply_bytes);
            server.reply_with(call, &[], 0, reply)
        }
        Operation::WritePage => {
            if call.data().len() < meeting.request_bytes {
                server.read(&call, 0, request)?;
            }
            server.reply(call, &[])
        }
        Operation::ReadInUnits(unit) => {
            reply.resize(meeting.reply_bytes, 0);
            for (index, part) in reply.chunks(unit).enumerate() {
                server.write(&call, (index * unit) as u64, part)?;
            }
            server.reply(call, &[])
        }
    }
}

fn caller(
    operation: Operation,
    host: Host<UdpTransport>,
    mut client: HostProcess<UdpTransport>,
    server: ProcessId,
    reply_bytes: usize,
) -> Outcome<Caller> {
    let mut memory = Vec::new();
    let mut lender: Option<ReceivedCall> = None;
    if matches!(operation, Operation::MoveFrom | Operation::MoveTo) {
        client.send(server, BlockedRequest::exactly_once(&[])).map_err(foreign)?;
        lender = Some(client.receive().map_err(foreign)?);
    }
    Ok(Box::new(move |request, reply| {
        let _kernel = &host;
        reply.resize(reply_bytes, 0);
        match (operation, &lender) {
            (Operation::MoveFrom, Some(lender)) => client.read(lender, 0, reply).map_err(foreign),
            (Operation::MoveTo, Some(lender)) => client.write(lender, 0, request).map_err(foreign),
            (Operation::ReadPage, _) => {
                client.send(server, BlockedRequest::at_least_once(request).writable(reply)).map_err(foreign).map(drop)
            }
            (Operation::ReadInUnits(_), _) => {
                client.send(server, BlockedRequest::exactly_once(request).writable(reply)).map_err(foreign).map(drop)
            }
            (Operation::WritePage, _) => {
                client.send(server, BlockedRequest::exactly_once(&[]).readable(request)).map_err(foreign).map(drop)
            }
            (_, _) if request.len().max(reply_bytes) <= MESSAGE_BYTES_MAX => {
                let replied = client.send(server, BlockedRequest::exactly_once(request)).map_err(foreign)?;
                *reply = replied.message;
                Ok(())
            }
            (_, _) => {
                memory.clear();
                memory.extend_from_slice(request);
                memory.resize(request.len().max(reply_bytes), 0);
                let lent = BlockedRequest::exactly_once(&[]).readable_and_writable(&mut memory);
                client.send(server, lent).map_err(foreign)?;
                reply.copy_from_slice(&memory[..reply_bytes]);
                Ok(())
            }
        }
    }))
}
