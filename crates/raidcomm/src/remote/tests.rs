//! Lines over connections: calls come through, strangers do not, and nobody waits for ever.

use super::*;
use crate::frame;
use crate::keys::Authority;
use crate::keys::tests::Said;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

const INSTANCE: InstanceId = InstanceId(0xdb);
const SITE: SiteId = SiteId(1);
/// Nothing that should come takes longer, on whatever machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is not to come is not waited for any longer.
const SHORT: Duration = Duration::from_millis(50);

fn clear() -> LineIdentity {
    LineIdentity { instance: INSTANCE, site: SITE, program: "test 1", keys: None }
}

/// With the keys of a site that may be another one than it says.
fn with_keys(authority: &Authority, holder: SiteId) -> LineIdentity {
    LineIdentity { keys: Some(authority.keys(INSTANCE, holder, Said::of(INSTANCE, holder))), ..clear() }
}

/// Greets one who comes and replies with each request and its mirror image.
fn listening(identity: LineIdentity) -> (SocketAddr, JoinHandle<Result<(), RemoteError>>) {
    let listener = RemoteLineListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = listener.address().expect("an address");
    let serving = std::thread::spawn(move || {
        let stranger = listener.accept(PATIENCE).expect("it listens").expect("somebody comes");
        let mut server = stranger.greet(&identity, PATIENCE)?;
        server.serve(|request, reply| reply.extend(request.iter().rev().chain(request)))
    });
    (address, serving)
}

/// If this fails, a server that was moved to another host is called wrongly, or everything about it can be read on the way.
#[test]
fn calls_of_any_length_come_through_in_clear_and_encrypted() {
    let authority = Authority::new(INSTANCE).expect("an authority");
    for identity in [clear(), with_keys(&authority, SITE)] {
        let (address, serving) = listening(identity.clone());
        let mut client = RemoteLineClient::connect(address, &identity, PATIENCE).expect("a line");
        let mut reply = Vec::new();
        for length in [0, 1, 1_000, READ_BOUNDARY, 3 << 20, 2] {
            let request: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            client.call(&request, &mut reply, Some(PATIENCE)).expect("a reply");
            let expected: Vec<u8> = request.iter().rev().chain(&request).copied().collect();
            assert!(reply == expected, "{length} bytes");
        }
        drop(client);
        serving.join().expect("it ends").expect("the client has gone in order");
    }
}

const READ_BOUNDARY: usize = crate::limits::READ_BYTES - frame::HEADER_BYTES;

/// Both ends must say why there is no line. If one of them did not, anybody who reaches the port could execute, or take over, a site's servers.
#[track_caller]
fn strangers_are(calling: &LineIdentity, called: LineIdentity, caller_says: &str, called_says: &str) {
    let (address, serving) = listening(called);
    let mut reply = Vec::new();
    // In TLS 1.3 the side that connects is done before the other has judged it.
    let made = RemoteLineClient::connect(address, calling, PATIENCE)
        .and_then(|mut client| client.call(b"x", &mut reply, None));
    let error = made.expect_err("a stranger").to_string();
    assert!(error.contains(caller_says), "the caller says: {error}");
    let error = serving.join().expect("it ends").expect_err("a stranger").to_string();
    assert!(error.contains(called_says), "the called says: {error}");
}

#[test]
fn strangers_are_refused_and_told_why() {
    let authority = Authority::new(INSTANCE).expect("an authority");
    let ours = || with_keys(&authority, SITE);
    let other = "another site";
    strangers_are(&clear(), ours(), "it encrypts, and there are no keys here", "not TLS 1.3");
    strangers_are(&ours(), clear(), "before it had proved who it is", "it encrypts, and there are no keys here");
    strangers_are(&with_keys(&authority, SiteId(2)), ours(), other, other);
    strangers_are(&ours(), with_keys(&authority, SiteId(2)), other, other_end());
    let foreign = Authority::new(INSTANCE).expect("an authority");
    strangers_are(&with_keys(&foreign, SITE), ours(), "authority", "it did not accept our certificate");
    strangers_are(
        &clear(),
        LineIdentity { instance: InstanceId(7), ..clear() },
        "another instance",
        "another instance",
    );
    strangers_are(&clear(), LineIdentity { site: SiteId(7), ..clear() }, "another site", "another site");
    strangers_are(&clear(), LineIdentity { program: "test 2", ..clear() }, "another version", "another version");
}

/// What the called end says when the caller has gone because of its certificate: that is judged first by who connects.
const fn other_end() -> &'static str {
    "closed"
}

/// If this fails, whoever reaches the port can end the process with nonsense, or hold it up without saying anything.
#[test]
fn nonsense_and_silence_are_no_greeting() {
    let authority = Authority::new(INSTANCE).expect("an authority");
    for identity in [clear(), with_keys(&authority, SITE)] {
        for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 200], &[0; 200], &[22, 3, 1, 0, 5, 1, 2, 3, 4, 5]] {
            let (address, serving) = listening(identity.clone());
            let mut stream = TcpStream::connect(address).expect("it listens");
            stream.write_all(said).expect("it takes them");
            stream.shutdown(std::net::Shutdown::Write).expect("it is open");
            assert!(serving.join().expect("it does not panic").is_err());
        }
        let listener = RemoteLineListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let _silent = TcpStream::connect(listener.address().expect("an address")).expect("it listens");
        let stranger = listener.accept(PATIENCE).expect("it listens").expect("somebody has come");
        assert!(matches!(stranger.greet(&identity, SHORT), Err(RemoteError::Silent)));
        assert!(listener.accept(SHORT).expect("it listens").is_none(), "nobody else has come");
    }
}

/// If this fails, a host that hangs holds the site up for ever; or its reply, when it comes after all, is taken for that of another call.
#[test]
fn a_silent_server_is_given_up_for_good() {
    let socket = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = socket.local_addr().expect("an address");
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = socket.accept().expect("a client");
        let mut hello = [0; 8 + 16 + 6];
        stream.read_exact(&mut hello).expect("a greeting");
        let mut bytes = Vec::new();
        frame::append(&mut bytes, &greeting::verdict(Ok(())));
        stream.write_all(&bytes).expect("it takes them");
        stream
    });
    let mut client = RemoteLineClient::connect(address, &clear(), PATIENCE).expect("a line");
    let mut stream = answering.join().expect("it has greeted");
    let mut reply = Vec::new();
    assert!(matches!(client.call(b"first", &mut reply, Some(SHORT)), Err(RemoteError::Silent)));
    let mut late = Vec::new();
    frame::append(&mut late, b"late");
    stream.write_all(&late).expect("it takes them");
    assert!(client.call(b"second", &mut reply, Some(PATIENCE)).is_err(), "there is no reply to that one");
    assert_ne!(reply, b"late");
}

/// If this fails, a process that is to end, or that a new life of the site has called, goes on for the one before.
#[test]
fn a_line_is_closed_from_another_thread() {
    let listener = RemoteLineListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = listener.address().expect("an address");
    let connecting = std::thread::spawn(move || RemoteLineClient::connect(address, &clear(), PATIENCE));
    let stranger = listener.accept(PATIENCE).expect("it listens").expect("somebody comes");
    let mut server = stranger.greet(&clear(), PATIENCE).expect("one of ours");
    let mut client = connecting.join().expect("it connects").expect("a line");
    let closer = server.closer().expect("a handle");
    let serving = std::thread::spawn(move || server.serve(|_, _| ()));
    client.call(b"x", &mut Vec::new(), Some(PATIENCE)).expect("a reply");
    closer.close();
    serving.join().expect("it ends").expect("that is no error");
    assert!(client.call(b"x", &mut Vec::new(), Some(PATIENCE)).is_err());
}
