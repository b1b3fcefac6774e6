//! Processes over real sockets.

use super::faulty::{FaultyTransport, PacketFaults};
use super::udp::UdpTransport;
use super::*;
use crate::kernel::{GatherUntil, NameScope, OutgoingMessage};
use crate::limits::WAIT_SHORT;
use crate::memory::OwnedMemory;
use crate::outbox::SendFailure;
use std::future::Future;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Two hosts on the loopback interface that know each other.
fn pair(faults: PacketFaults) -> (Host<FaultyTransport<UdpTransport>>, Host<FaultyTransport<UdpTransport>>) {
    let bind = |seed| {
        let udp = UdpTransport::bind("127.0.0.1:0".parse().expect("an address"), UdpDomain::Peers(Vec::new()))
            .expect("a socket");
        FaultyTransport::new(udp, faults, seed)
    };
    let (one, other) = (bind(1), bind(2));
    let (one_place, other_place) = (one.place(), other.place());
    one.inner().add_peer(other_place);
    other.inner().add_peer(one_place);
    (Host::start(one).expect("a host"), Host::start(other).expect("a host"))
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// If an exchange over sockets lost, doubled or mixed up anything, nothing could be built on it.
#[test]
fn a_counter_is_exact_in_spite_of_faults() {
    const CALLS: u64 = 100;
    let (here, there) = pair(PacketFaults { loss_percent: 20, duplicate_percent: 10, reorder_percent: 10 });
    let mut server = there.process().expect("a process");
    let receiver = server.id();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut client = here.process().expect("a process");
            std::thread::spawn(move || {
                for call in 0..CALLS {
                    let request = call.to_le_bytes();
                    let reply = client.send(receiver, BlockedRequest::exactly_once(&request)).expect("a reply");
                    assert_eq!(reply.message, request, "the reply belongs to the request");
                }
            })
        })
        .collect();
    for _ in 0..3 * CALLS {
        let call = server.receive().expect("a message");
        let message = call.message().to_vec();
        server.reply(call, &message).expect("the client waits");
    }
    // Copies of the last request are answered from memory while the clients still wait.
    threads.into_iter().for_each(|thread| thread.join().expect("no client fails"));
    let counted = here.shared.with(|kernel, _| kernel.process_count());
    assert_eq!(counted, 0, "dropped processes have ended");
}

/// Bulk data that is cut, shifted or written elsewhere would be corruption that nobody notices.
/// A process that waits for one of its own host must not learn only at the end of a wait for packets that it has its answer.
#[test]
fn processes_of_one_host_do_not_wait_for_the_network() {
    const CALLS: u64 = 300;
    let (here, _there) = pair(PacketFaults::default());
    let (mut client, mut server) = (here.process().expect("a process"), here.process().expect("a process"));
    let receiver = server.id();
    let serving = std::thread::spawn(move || {
        for _ in 0..CALLS {
            let call = server.receive().expect("a message");
            server.reply(call, b"yes").expect("the sender waits");
        }
    });
    let begun = std::time::Instant::now();
    for _ in 0..CALLS {
        client.send(receiver, BlockedRequest::exactly_once(b"there?")).expect("a reply");
    }
    let each = begun.elapsed().as_nanos() as u64 / CALLS;
    serving.join().expect("it has served");
    assert!(each < WAIT_SHORT / 2, "{each} ns for an exchange: somebody slept until the end of a wait");
}

#[test]
fn bulk_data_arrives_whole_both_ways() {
    let (here, there) = pair(PacketFaults { loss_percent: 5, duplicate_percent: 2, reorder_percent: 5 });
    let mut server = there.process().expect("a process");
    let receiver = server.id();
    let served = std::thread::spawn(move || {
        let call = server.receive().expect("a message");
        let mut bytes = vec![0; call.rights().bytes as usize - 5];
        server.read(&call, 5, &mut bytes).expect("it may be read");
        bytes.reverse();
        server.write(&call, 3, &bytes[..bytes.len() - 1]).expect("it may be written");
        assert!(server.write(&call, 4, &vec![0; bytes.len() + 5]).is_err(), "beyond the end");
        server.reply(call, b"done").expect("the client waits");
    });
    let mut client = here.process().expect("a process");
    let mut segment = pattern(1_000_000);
    let request = BlockedRequest::exactly_once(b"turn it").readable_and_writable(&mut segment);
    client.send(receiver, request).expect("a reply");
    served.join().expect("the server does not fail");
    let mut expected = pattern(1_000_000);
    let mut turned = expected[5..].to_vec();
    turned.reverse();
    expected[3..3 + turned.len() - 1].copy_from_slice(&turned[..turned.len() - 1]);
    assert!(segment == expected);
}

/// A server that takes long would be taken for dead if nobody answered for it meanwhile.
#[test]
fn the_keeper_answers_while_a_server_works() {
    let (here, there) = pair(PacketFaults::default());
    let mut server = there.process().expect("a process");
    let receiver = server.id();
    let (finish, finished) = std::sync::mpsc::channel();
    let served = std::thread::spawn(move || {
        let call = server.receive().expect("a message");
        // Works without the network until the client was told to keep waiting.
        finished.recv().expect("a signal");
        server.reply(call, b"done").expect("the client waits");
    });
    let mut client = here.process().expect("a process");
    let id = client.id();
    let sender = std::thread::spawn(move || client.send(receiver, BlockedRequest::exactly_once(b"slow")).map(|_| ()));
    while here.transport().sent().0 < 4 || there.transport().sent().0 < 3 {
        std::thread::yield_now();
    }
    assert!(here.shared.with(|kernel, _| kernel.has_process(id)), "it still waits");
    finish.send(()).expect("the server waits");
    sender.join().expect("no panic").expect("a reply");
    served.join().expect("the server does not fail");
}

/// A reply that is awaited must come without a thread that blocks for it, and lent memory must come back with it.
#[test]
fn messages_can_be_awaited() {
    let (here, there) = pair(PacketFaults { loss_percent: 10, ..PacketFaults::default() });
    let mut server = there.process().expect("a process");
    let receiver = server.id();
    let served = std::thread::spawn(move || {
        for _ in 0..20 {
            let call = block_on(server.receive_async()).expect("a message");
            server.reply_with(call, b"written", 2, b"xyz").expect("the client waits");
        }
        server
    });
    let mut client = here.process().expect("a process");
    for _ in 0..20 {
        let message = OutgoingMessage::exactly_once(b"write".to_vec()).with_segment(OwnedMemory::Writable(vec![0; 6]));
        let (reply, segment) = block_on(client.send_async(receiver, message));
        assert_eq!(reply.expect("a reply").message, b"written");
        assert_eq!(segment, Some(OwnedMemory::Writable(b"\0\0xyz\0".to_vec())));
    }
    let server = served.join().expect("the server does not fail");
    drop(client.send_async(server.id(), OutgoingMessage::exactly_once(b"never mind".to_vec())));
    drop(server);
    let (reply, _) = block_on(client.send_async(receiver, OutgoingMessage::exactly_once(b"anybody?".to_vec())));
    assert!(matches!(reply, Err(HostError::Send(SendFailure::NoSuchProcess))));
}

/// Bytes of a process come from outside: whatever it was doing, whoever has it now can go on, and bytes that are none are an error.
#[test]
fn a_process_goes_on_where_it_is_attached() {
    let (here, there) = pair(PacketFaults::default());
    let mut server = here.process().expect("a process");
    let receiver = server.id();
    let mut client = there.process().expect("a process");
    let sending = std::thread::spawn(move || client.send(receiver, BlockedRequest::exactly_once(b"wait for it")));
    let call = server.receive().expect("a message");
    assert_eq!(call.message(), b"wait for it");
    drop(call);
    // Forgotten, so that the kernel believes that it still waits.
    std::mem::forget(server.receive_async());
    let bytes = server.detach(there.id().expect("it has one")).map_err(|(error, _)| error).expect("it may go");
    let damaged = there.attach(&bytes[1..]);
    assert!(matches!(damaged, Err(HostError::Decode(DecodeError::Foreign))), "{damaged:?}");
    assert!(matches!(here.attach(&bytes), Err(HostError::Relocation(RelocationError::Elsewhere(_)))));
    let mut server = there.attach(&bytes).expect("it left for there");
    assert!(matches!(there.attach(&bytes), Err(HostError::Relocation(RelocationError::Again))));
    let unanswered = server.unanswered().pop().expect("it has not replied");
    server.reply(unanswered, b"at last").expect("the sender waits");
    assert_eq!(sending.join().expect("no panic").expect("a reply").message, b"at last");
}

/// If groups or names did not reach other hosts, servers could not be found.
#[test]
fn groups_and_names_reach_other_hosts() {
    let (here, there) = pair(PacketFaults::default());
    let mut client = here.process().expect("a process");
    let group = client.allocate_group().expect("a group");
    let servers: Vec<_> = (0..3)
        .map(|number: u8| {
            let mut server = there.process().expect("a process");
            client.join_group(group, server.id()).expect("its kernel lets it join");
            if number == 0 {
                server.set_pid(7, NameScope::Any).expect("room for a name");
            }
            let id = server.id();
            let thread = std::thread::spawn(move || {
                let call = server.receive().expect("a message");
                server.reply(call, &[number]).expect("the client waits");
                // It stays until the client has gathered.
                let call = server.receive().expect("a message");
                server.reply(call, b"bye").expect("the client waits");
            });
            (id, thread)
        })
        .collect();
    let expected: Vec<_> = servers.iter().map(|(id, _)| *id).collect();
    let request = BlockedRequest::exactly_once(b"who is there?");
    let time = Duration::from_secs(20);
    let gathered = client.gather(group, &expected, request, GatherUntil::All, time).expect("it was sent");
    let mut replies: Vec<_> = gathered.replies.iter().map(|reply| reply.message[0]).collect();
    replies.sort_unstable();
    assert!(gathered.satisfied && replies == [0, 1, 2], "{gathered:?}");
    assert_eq!(client.get_pid(7, NameScope::Any).expect("an answer"), Some(expected[0]));
    for (id, thread) in servers {
        client.send(id, BlockedRequest::exactly_once(b"bye")).expect("a reply");
        thread.join().expect("the server does not fail");
    }
}

/// If group addresses were not computed alike everywhere, or not listened to, servers would have to be listed at each host.
#[test]
fn a_multicast_domain_needs_no_list_of_hosts() {
    let interface = std::net::Ipv4Addr::LOCALHOST;
    // A port that nobody has, so that this test does not hear another one.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket").local_addr().expect("an address").port();
    let start = || {
        let domain =
            UdpDomain::Multicast { network: "239.192.0.0".parse().expect("an address"), port: free, interface };
        Host::start(UdpTransport::bind("127.0.0.1:0".parse().expect("an address"), domain).expect("a socket"))
            .expect("a host")
    };
    let (here, there) = (start(), start());
    let mut client = here.process().expect("a process");
    let mut server = there.process().expect("a process");
    let group = server.allocate_group().expect("a group");
    let receiver = server.id();
    let served = std::thread::spawn(move || {
        for _ in 0..2 {
            let call = server.receive().expect("a message");
            let message = call.message().to_vec();
            server.reply(call, &message).expect("the client waits");
        }
    });
    let reply = client.send(group, BlockedRequest::exactly_once(b"to the group")).expect("a reply");
    assert_eq!((reply.from, &reply.message[..]), (receiver, &b"to the group"[..]));
    let reply = client.send(receiver, BlockedRequest::exactly_once(b"to the process")).expect("a reply");
    assert_eq!(reply.message, b"to the process");
    served.join().expect("the server does not fail");
}
