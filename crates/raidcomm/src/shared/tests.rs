//! What a line keeps: calls and replies match, fates are true, and nothing that the other side writes does harm. (Killed processes are in
//! `tests/killed_processes.rs`.)

use super::segment::{LineSegment, SlotPhase};
use super::*;
use crate::limits::{SLOT_BYTES_MAX, SLOTS_MAX};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SHAPE: Shape = Shape { slots: 4, slot_bytes: 256 };

fn ends(shape: Shape) -> (LineClient, LineServer) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line");
    let listener = LineListener::bind(&path).expect("it listens");
    let client = std::thread::spawn(move || LineClient::connect(&path, shape).expect("a line"));
    let server = listener.accept().expect("a client");
    (client.join().expect("it connects"), server)
}

/// If this fails, requests or replies get lost, or are those of another call.
#[test]
fn every_call_has_its_reply() {
    let (mut client, mut server) = ends(SHAPE);
    let serving = std::thread::spawn(move || {
        server.serve(|request, reply| {
            reply.extend_from_slice(request);
            reply.reverse();
        })
    });
    let mut reply = vec![1; 7];
    for round in 0..20_000_usize {
        let request: Vec<u8> = (0..round % 257).map(|place| (place * round) as u8).collect();
        client.call(&request, &mut reply, None).expect("a reply");
        reply.reverse();
        assert_eq!(reply, request, "round {round}");
    }
    drop(client);
    assert_eq!(serving.join().expect("it ends"), Ok(()));
}

/// If this fails, one slow call holds up all others of its line.
#[test]
fn several_calls_are_under_way_and_end_in_any_order() {
    let (mut client, mut server) = ends(SHAPE);
    let tickets: Vec<Ticket> = (0..4_u8).map(|number| client.begin(&[number]).expect("a slot")).collect();
    assert_eq!(client.begin(&[9]), Err(LineCallError::Full));
    let (mut request, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let call = server.receive(&mut request, None).expect("a request");
        calls.push((request[0], call));
    }
    for (number, call) in calls.into_iter().rev() {
        server.reply(call, &[number, number]).expect("a reply");
    }
    let mut reply = Vec::new();
    for (number, ticket) in tickets.into_iter().enumerate().rev() {
        client.finish(ticket, &mut reply, None).expect("its reply");
        assert_eq!(reply, [number as u8; 2]);
    }
    assert_eq!(client.free_slots(), 4);
}

/// If this fails, calls that nobody waits for use a line up, or their replies are taken for those of later calls.
#[test]
fn abandoned_calls_give_their_slots_back() {
    let (mut client, mut server) = ends(SHAPE);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    for round in 0..100_u8 {
        let taken = client.begin(&[round]).expect("a slot");
        let call = server.receive(&mut request, None).expect("a request");
        let not_taken = client.begin(&[200]).expect("a slot");
        assert_eq!(client.abandon(not_taken), RequestFate::NotExecuted);
        let late = client.finish(taken, &mut reply, Some(Duration::from_millis(1)));
        let Err(LineCallError::TimedOut(taken)) = late else { panic!("{late:?}") };
        assert_eq!(client.abandon(taken), RequestFate::Unknown);
        server.reply(call, &[round]).expect("the slot is still the server's");
        assert_eq!(
            server.receive(&mut request, Some(Duration::ZERO)),
            Err(LineServeError::TimedOut),
            "it was taken back"
        );
        let given_up = client.call(&[round], &mut reply, Some(Duration::ZERO));
        assert_eq!(given_up, Err(LineCallError::GivenUp(RequestFate::NotExecuted)), "nobody has taken it");
    }
    assert_eq!(client.free_slots(), 4);
}

/// If this fails, a client repeats what has been done, or does not repeat what has not.
#[test]
fn the_end_of_the_server_tells_what_it_had_taken() {
    let (mut client, mut server) = ends(SHAPE);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    let replied = client.begin(b"a").expect("a slot");
    let call = server.receive(&mut request, None).expect("a request");
    server.reply(call, b"done").expect("a reply");
    let taken = client.begin(b"b").expect("a slot");
    let _kept = server.receive(&mut request, None).expect("a request");
    let not_taken = client.begin(b"c").expect("a slot");
    drop(server);
    assert_eq!(client.finish(not_taken, &mut reply, None), Err(LineCallError::Gone(RequestFate::NotExecuted)));
    assert_eq!(client.finish(taken, &mut reply, None), Err(LineCallError::Gone(RequestFate::Unknown)));
    assert_eq!(client.finish(replied, &mut reply, None), Ok(()));
    assert_eq!(reply, b"done");
    assert_eq!(client.begin(b"d"), Err(LineCallError::Gone(RequestFate::NotExecuted)));
}

/// If this fails, a server waits for a client that will never ask again.
#[test]
fn the_end_of_the_client_ends_the_wait_for_it() {
    let (client, mut server) = ends(SHAPE);
    let waiting = std::thread::spawn(move || server.receive(&mut Vec::new(), None));
    drop(client);
    assert_eq!(waiting.join().expect("it ends"), Err(LineServeError::Gone));
}

#[test]
fn what_does_not_fit_is_refused_and_harms_nothing() {
    let (mut client, mut server) = ends(SHAPE);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    assert_eq!(client.begin(&[0; 257]), Err(LineCallError::TooLong { bytes: 257, bytes_max: 256 }));
    let ticket = client.begin(&[5; 256]).expect("it fits");
    let call = server.receive(&mut request, None).expect("a request");
    let (error, call) = server.reply(call, &[0; 300]).expect_err("it is too long");
    assert_eq!(error, LineServeError::TooLong { bytes: 300, bytes_max: 256 });
    server.reply(call, &request).expect("a reply");
    client.finish(ticket, &mut reply, None).expect("its reply");
    assert_eq!(reply, [5; 256]);
    let huge = Shape { slots: SLOTS_MAX, slot_bytes: SLOT_BYTES_MAX };
    for shape in
        [huge, Shape { slots: 0, ..SHAPE }, Shape { slots: SLOTS_MAX + 1, ..SHAPE }, Shape { slot_bytes: 0, ..SHAPE }]
    {
        assert!(matches!(LineSegment::create(shape), Err(LineError::Shape(wrong)) if wrong == shape));
    }
}

/// If this fails, a process is ended by what another one has written, or believes it.
#[test]
fn a_hostile_client_is_an_error_at_most() {
    let (mut client, mut server) = ends(SHAPE);
    let (mut request, mut reply) = (Vec::new(), Vec::new());
    // Slots that are not requested, and that there are not.
    client.end.segment.posted(LineSide::Server).store(u32::MAX, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(server.receive(&mut request, Some(Duration::ZERO)), Err(LineServeError::TimedOut));
    // A length beyond the slot.
    let ticket = client.begin(b"x").expect("a slot");
    client.end.segment.lie_about_length(0, u32::MAX);
    assert_eq!(server.receive(&mut request, None), Err(LineServeError::Broken));
    drop(ticket);
    // A state that changes under the server's hands.
    let ticket = client.begin(b"y").expect("a slot");
    let call = server.receive(&mut request, None).expect("a request");
    let serving = client.end.segment.state(1);
    assert!(client.end.segment.advance(1, serving, serving.to(SlotPhase::Free)));
    assert!(matches!(server.reply(call, b"y"), Err((LineServeError::Broken, _))));
    drop((ticket, server));
    // And the other way round: a reply to what was not asked, and one of any length.
    let (mut client, server) = ends(SHAPE);
    server.end.segment.posted(LineSide::Client).store(u32::MAX, std::sync::atomic::Ordering::SeqCst);
    let ticket = client.begin(b"z").expect("a slot");
    server.end.segment.lie_about_length(0, 257);
    let requested = server.end.segment.state(0);
    assert!(server.end.segment.advance(0, requested, requested.to(SlotPhase::Replied)));
    server.end.segment.post(LineSide::Client, 0);
    assert_eq!(client.finish(ticket, &mut reply, None), Err(LineCallError::Broken));
}

/// If this fails, a client could take the memory away under the server, which would end it by a signal.
#[test]
fn only_a_sealed_segment_is_mapped() {
    let (_, file) = LineSegment::create(SHAPE).expect("a segment");
    assert_eq!(LineSegment::open(&file).expect("it is sound").shape(), SHAPE);
    let open = memfd_create("open", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a file");
    ftruncate(&open, 1 << 20).expect("its length");
    assert!(matches!(LineSegment::open(&open), Err(LineError::NotSealed)));
    rustix::fs::fcntl_add_seals(&open, rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW).expect("sealed");
    assert!(matches!(LineSegment::open(&open), Err(LineError::Foreign)));
}

/// If this fails, whoever connects by mistake stops the server.
#[test]
fn a_stranger_is_refused_and_the_next_client_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line");
    let listener = LineListener::bind(&path).expect("it listens");
    let stranger = UnixStream::connect(&path).expect("anybody may connect");
    std::io::Write::write_all(&mut &stranger, b"GET / HTTP/1.0\r\n\r\n").expect("it is taken");
    assert!(matches!(listener.accept(), Err(LineError::Foreign)));
    drop(UnixStream::connect(&path));
    assert!(listener.accept().is_err());
    let client = std::thread::spawn(move || LineClient::connect(&path, SHAPE).map(drop));
    listener.accept().expect("a client");
    client.join().expect("it ends").expect("a line");
}
