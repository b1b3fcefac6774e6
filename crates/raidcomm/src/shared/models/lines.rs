//! What a line keeps: calls and replies match, a slot is handed out once, fates are true whoever dies when, and nobody sleeps for what is there.

use super::memory::{Flaw, MemoryPlan, ModelMemory};
use super::{must_find, try_all};
use crate::shared::Shape;
use crate::shared::calls::{self, ClientCalls, Requests};
use crate::shared::client::{LineCallError, RequestFate, Ticket};
use crate::shared::mapping::{HEAD_BYTES, LINE_BYTES};
use crate::shared::place::Word;
use crate::shared::segment::{LENGTH_AT, LineSegment, LineSide, POSTED_AT, STATE_AT, SlotPhase, WAITING_AT};
use crate::shared::waiting::{self, Waited};
use loom::sync::atomic::AtomicBool;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One slot of one byte: every call has to use it again.
const SHAPE: Shape = Shape { slots: 1, slot_bytes: 1 };
const STATE: usize = HEAD_BYTES + STATE_AT;
const LENGTH: usize = HEAD_BYTES + LENGTH_AT;

/// What both threads have: the segment, and whether the watcher has marked the other side as gone.
struct ModelLine {
    segment: LineSegment<Arc<ModelMemory>>,
    gone: AtomicBool,
}

impl ModelLine {
    fn new(flaw: Option<Flaw>) -> Arc<ModelLine> {
        let [client, server] = POSTED_AT;
        let [client_waits, server_waits] = WAITING_AT;
        let plan = MemoryPlan {
            words: &[client, server, client_waits, server_waits, STATE, LENGTH],
            counts: &[],
            bytes: HEAD_BYTES + LINE_BYTES..HEAD_BYTES + LINE_BYTES + 1,
            length: HEAD_BYTES + 2 * LINE_BYTES,
        };
        Arc::new(ModelLine {
            segment: LineSegment::of(ModelMemory::new(&plan, flaw), SHAPE),
            gone: AtomicBool::new(false),
        })
    }

    /// As an end does, but it sleeps at once: how long it looks before changes nothing.
    fn take_posted(&self, side: LineSide) -> Result<u32, Waited> {
        let wait = || {
            let slept = waiting::sleep(&self.segment, side, 0, None);
            self.segment.waiting(side).store(0, Ordering::Relaxed);
            slept
        };
        waiting::take_posted(&self.segment, side, || self.gone.load(Ordering::SeqCst), wait)
    }

    /// What the watcher does when the other side of this one is gone.
    fn lose(&self, side: LineSide) {
        self.gone.store(true, Ordering::SeqCst);
        self.segment.post_nobody(side);
    }

    fn finish(&self, calls: &mut ClientCalls, ticket: &Ticket) -> Result<u8, LineCallError> {
        let mut reply = Vec::new();
        while !calls.has_reply(ticket) {
            match self.take_posted(LineSide::Client) {
                Ok(posted) => calls.sort(&self.segment, posted),
                Err(_) => {
                    calls.finish_alone(&self.segment, ticket, &mut reply)?;
                    return Ok(reply[0]);
                }
            }
        }
        calls.take_reply(&self.segment, ticket, &mut reply)?;
        Ok(reply[0])
    }

    /// Serves until the client is gone: each request is replied to by ten more. What was served comes back.
    fn serve(&self) -> Vec<u8> {
        let (mut requests, mut request, mut served) = (Requests::default(), Vec::new(), Vec::new());
        loop {
            if let Some(call) = requests.take(&self.segment, &mut request).expect("the client keeps to the protocol") {
                served.push(request[0]);
                calls::reply(&self.segment, call, &[request[0] + 10]).expect("the client keeps to the protocol");
                continue;
            }
            match self.take_posted(LineSide::Server) {
                Ok(posted) => requests.add(posted),
                Err(_) => return served,
            }
        }
    }
}

/// A call, and another in the same slot, while both sides sleep when they can.
fn calls_have_their_replies(flaw: Option<Flaw>) {
    let line = ModelLine::new(flaw);
    let server = line.clone();
    let serving = thread::spawn(move || {
        let (mut requests, mut request) = (Requests::default(), Vec::new());
        for expected in [1, 2] {
            let call = loop {
                if let Some(call) =
                    requests.take(&server.segment, &mut request).expect("the client keeps to the protocol")
                {
                    break call;
                }
                requests.add(server.take_posted(LineSide::Server).expect("the client is there"));
            };
            assert_eq!(request, [expected], "another request than was made");
            calls::reply(&server.segment, call, &[expected + 10]).expect("the client keeps to the protocol");
        }
    });
    let mut calls = ClientCalls::new(SHAPE.slots);
    for request in [1, 2] {
        let ticket = calls.begin(&line.segment, &[request]).expect("a slot");
        assert_eq!(line.finish(&mut calls, &ticket), Ok(request + 10), "the reply of another call");
    }
    serving.join().expect("it ends");
}

/// A call that is given up while the server may be taking it, then another one.
fn given_up_calls_have_true_fates(flaw: Option<Flaw>) {
    let line = ModelLine::new(flaw);
    let server = line.clone();
    let serving = thread::spawn(move || server.serve());
    let mut calls = ClientCalls::new(SHAPE.slots);
    let ticket = calls.begin(&line.segment, &[1]).expect("a slot");
    let fate = calls.abandon(&line.segment, &ticket);
    let second = calls.begin(&line.segment, &[2]);
    let second = second.map(|ticket| line.finish(&mut calls, &ticket));
    line.lose(LineSide::Server);
    let served = serving.join().expect("it ends");
    match fate {
        RequestFate::NotExecuted => assert!(!served.contains(&1), "it was executed after all"),
        RequestFate::Unknown => assert_eq!(served.first(), Some(&1), "it was taken, and by nobody"),
    }
    let made = usize::from(second.is_ok());
    match second {
        Ok(reply) => assert_eq!(reply, Ok(12), "the reply of another call"),
        Err(error) => {
            assert_eq!((error, fate), (LineCallError::Full, RequestFate::Unknown), "the slot is the server's still")
        }
    }
    let executed = served.iter().filter(|&&request| request == 2).count();
    assert_eq!(executed, made, "executed otherwise than asked for");
    assert_eq!(calls.free_slots(&line.segment), 1, "the slot was lost");
}

/// How far a server gets with a request before its process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    Before,
    Serving,
    /// The reply is there, and the client was not told.
    Untold,
    After,
}

/// A server that dies with, or before, a request that is being made. Whether it had taken it comes back.
fn die(line: &ModelLine, death: Death) -> bool {
    let (mut requests, mut request) = (Requests::default(), Vec::new());
    let mut taken = false;
    if death != Death::Before {
        requests.add(line.segment.take_posted(LineSide::Server));
        if let Some(call) = requests.take(&line.segment, &mut request).expect("the client keeps to the protocol") {
            taken = true;
            match death {
                Death::Before | Death::Serving => {}
                Death::Untold => {
                    line.segment.write(call.slot, &[11]);
                    assert!(line.segment.advance(call.slot, call.state, call.state.to(SlotPhase::Replied)));
                }
                Death::After => calls::reply(&line.segment, call, &[11]).expect("the client keeps to the protocol"),
            }
        }
    }
    line.lose(LineSide::Client);
    taken
}

fn a_dead_servers_slot_tells_the_fate(flaw: Option<Flaw>, death: Death) {
    let line = ModelLine::new(flaw);
    let server = line.clone();
    let dying = thread::spawn(move || die(&server, death));
    let mut calls = ClientCalls::new(SHAPE.slots);
    let ticket = calls.begin(&line.segment, &[1]).expect("a slot");
    let outcome = line.finish(&mut calls, &ticket);
    let taken = dying.join().expect("it ends");
    let (expected, phase) = match (taken, death) {
        (false, _) => (Err(LineCallError::Gone(RequestFate::NotExecuted)), SlotPhase::Free),
        (true, Death::Before | Death::Serving) => (Err(LineCallError::Gone(RequestFate::Unknown)), SlotPhase::Serving),
        (true, Death::Untold | Death::After) => (Ok(11), SlotPhase::Free),
    };
    assert_eq!(outcome, expected, "{death:?}");
    let state = line.segment.state(0);
    assert_eq!(state.phase(), phase, "a slot that the dead server had is not used again, any other is");
    assert!(!line.segment.advance(0, ticket.used, ticket.used.to(SlotPhase::Serving)), "the call is still there");
    assert_eq!(phase == SlotPhase::Free, state == ticket.used.next(), "it was not given back once");
}

/// If this failed, requests or replies would be lost, or be those of another call, or one side would sleep for what the other has posted.
#[test]
fn calls_have_their_replies_and_no_wake_up_is_lost() {
    try_all(|| calls_have_their_replies(None));
}

/// If this failed, a request would be executed that its client was told is not, or two calls would have one slot.
#[test]
fn calls_that_are_given_up_have_true_fates_and_give_their_slots_back_once() {
    try_all(|| given_up_calls_have_true_fates(None));
}

/// If this failed, a client would wait for a dead server, or repeat what that has done.
#[test]
fn a_dead_server_leaves_true_fates_and_its_slot_is_taken_back_once() {
    for death in [Death::Before, Death::Serving, Death::Untold, Death::After] {
        try_all(move || a_dead_servers_slot_tells_the_fate(None, death));
    }
}

/// If this failed, the models above would not see what they are for.
#[test]
fn the_models_of_a_line_find_their_flaws() {
    for at in POSTED_AT {
        must_find(Flaw::Relaxed(at), calls_have_their_replies);
        must_find(Flaw::AcquireRelease(at), calls_have_their_replies);
        must_find(Flaw::NotWoken(at), calls_have_their_replies);
    }
    for at in WAITING_AT {
        must_find(Flaw::AcquireRelease(at), calls_have_their_replies);
        must_find(Flaw::Late(at), calls_have_their_replies);
    }
    must_find(Flaw::Relaxed(STATE), given_up_calls_have_true_fates);
    must_find(Flaw::NotWoken(POSTED_AT[0]), |flaw| a_dead_servers_slot_tells_the_fate(flaw, Death::Serving));
}
