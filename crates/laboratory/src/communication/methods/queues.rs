//! Message queues: System V's, with one for both directions or one for each, and POSIX's.

use crate::communication::limits::QUEUE_BYTES_MAX;
use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use crate::communication::operating_system::{PosixQueue, PosixQueueName, Queue};
use laboratory_harness::{Failure, Outcome};
use std::any::Any;
use std::ffi::{CString, c_int, c_long};

/// Messages to the server and to the client are of different types, so that one queue can carry both.
const TO_SERVER: c_long = 1;
const TO_CLIENT: c_long = 2;
const TYPE_BYTES: usize = size_of::<c_long>();

/// System V queues (msgop(2)).
pub struct SystemV {
    /// A queue for each direction.
    pub both: bool,
}

fn queues(meeting: &Meeting) -> Outcome<[Queue; 2]> {
    let numbers: Result<Vec<c_int>, _> = meeting.address.split(' ').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([requests, replies]) => Ok([Queue(*requests), Queue(*replies)]),
        _ => Err(Failure::Wrong(format!("`{}` names no queues", meeting.address))),
    }
}

fn with_type(kind: c_long, bytes: &[u8], message: &mut Vec<u8>) {
    message.clear();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(bytes);
}

impl Method for SystemV {
    fn name(&self) -> &'static str {
        if self.both { "message queues (2)" } else { "message queue (1)" }
    }

    fn bytes_max(&self) -> usize {
        QUEUE_BYTES_MAX
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        let first = Queue::create()?;
        let second = if self.both { Some(Queue::create()?) } else { None };
        let replies = second.as_ref().unwrap_or(&first).0.0;
        meeting.address = format!("{} {replies}", first.0.0);
        Ok(Box::new((first, second)))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let [requests, replies] = queues(meeting)?;
        ready("")?;
        let mut message = vec![0; TYPE_BYTES + meeting.request_bytes];
        let (mut reply, mut reply_message) = (Vec::new(), Vec::new());
        loop {
            requests.receive(&mut message, TO_SERVER)?;
            reply_to(&message[TYPE_BYTES..], &mut reply, meeting.reply_bytes);
            with_type(TO_CLIENT, &reply, &mut reply_message);
            replies.send(&reply_message)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let [requests, replies] = queues(meeting)?;
        let mut message = Vec::new();
        let mut reply_message = vec![0; TYPE_BYTES + meeting.reply_bytes];
        Ok(Box::new(move |request, reply| {
            with_type(TO_SERVER, request, &mut message);
            requests.send(&message)?;
            replies.receive(&mut reply_message, TO_CLIENT)?;
            reply.clear();
            reply.extend_from_slice(&reply_message[TYPE_BYTES..]);
            Ok(())
        }))
    }
}

/// Two POSIX queues (mq_overview(7)).
pub struct Posix;

fn posix_names(meeting: &Meeting) -> Outcome<[CString; 2]> {
    let name = |end| CString::new(format!("{}{end}", meeting.address)).map_err(Failure::foreign);
    Ok([name("-requests")?, name("-replies")?])
}

fn posix_queues(meeting: &Meeting) -> Outcome<[PosixQueue; 2]> {
    let [requests, replies] = posix_names(meeting)?;
    let open = |name| PosixQueue::open(name, meeting.bytes());
    Ok([open(&requests)?, open(&replies)?])
}

impl Method for Posix {
    fn name(&self) -> &'static str {
        "POSIX message queues"
    }

    fn bytes_max(&self) -> usize {
        QUEUE_BYTES_MAX
    }

    fn prepare(&self, meeting: &mut Meeting) -> Outcome<Box<dyn Any>> {
        meeting.address = format!("/raid-laboratory-{}", std::process::id());
        let names = posix_names(meeting)?.map(PosixQueueName);
        // Of an earlier process of this number, which was killed; none is the rule.
        drop(names);
        let names = posix_names(meeting)?.map(PosixQueueName);
        posix_queues(meeting)?;
        Ok(Box::new(names))
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let [requests, replies] = posix_queues(meeting)?;
        ready("")?;
        let (mut request, mut reply) = (vec![0; meeting.bytes().max(1)], Vec::new());
        loop {
            let length = requests.receive(&mut request)?;
            reply_to(&request[..length], &mut reply, meeting.reply_bytes);
            replies.send(&reply)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let [requests, replies] = posix_queues(meeting)?;
        let bytes = meeting.bytes().max(1);
        Ok(Box::new(move |request, reply| {
            requests.send(request)?;
            reply.resize(bytes, 0);
            let length = replies.receive(reply)?;
            reply.truncate(length);
            Ok(())
        }))
    }
}
