//! The network: cut and whole again, and a writer that was cut off while another took over.

use crate::processes::{PATIENCE, append_until, check_records, create, is_disk, is_memory, open, record, serve};
use network_memory::host::remote_log::{LogTerms, RemoteLog, RemoteLogError};
use network_memory::writer::WriterStop;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// What lies between a writer and a server: passes bytes on, or holds them as a cut network does.
struct Way {
    address: SocketAddr,
    is_open: Arc<(Mutex<bool>, Condvar)>,
}

impl Way {
    fn to(server: SocketAddr) -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let way = Way {
            address: listener.local_addr().expect("an address"),
            is_open: Arc::new((Mutex::new(true), Condvar::new())),
        };
        let gate = Arc::clone(&way.is_open);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                let both = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
                for (from, to) in both {
                    let (Ok(from), Ok(to), gate) = (from, to, Arc::clone(&gate)) else { continue };
                    std::thread::spawn(move || pass(from, to, &gate));
                }
            }
        });
        way
    }

    fn set(&self, is_open: bool) {
        *self.is_open.0.lock().expect("a lock") = is_open;
        self.is_open.1.notify_all();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, (is_open, changed): &(Mutex<bool>, Condvar)) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let open = changed.wait_while(is_open.lock().expect("a lock"), |is_open| !*is_open);
        drop(open);
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Passes on the datagrams of one client of a way, each way, and counts them, or loses them.
struct Datagrams {
    passed: Arc<AtomicU64>,
    are_lost: Arc<AtomicBool>,
}

impl Datagrams {
    fn beside(way: &Way, server: SocketAddr) -> Datagrams {
        let here = UdpSocket::bind(way.address).expect("the port of the way");
        let there = UdpSocket::bind("127.0.0.1:0").expect("a port");
        there.connect(server).expect("an address");
        let datagrams = Datagrams { passed: Arc::default(), are_lost: Arc::default() };
        let (passed, are_lost) = (Arc::clone(&datagrams.passed), Arc::clone(&datagrams.are_lost));
        std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while let Ok((count, client)) = here.recv_from(&mut bytes) {
                if are_lost.load(Ordering::Relaxed) {
                    continue;
                }
                let answer = there.send(&bytes[..count]).and_then(|_| there.recv(&mut bytes));
                let Ok(count) = answer else { return };
                passed.fetch_add(1, Ordering::Relaxed);
                let _ = here.send_to(&bytes[..count], client);
            }
        });
        datagrams
    }
}

/// If this fails, records do not go as datagrams, or a network that loses all of those stops commits.
#[test]
fn lost_datagrams_hold_up_nothing() {
    let (_servers, addresses) = serve(2);
    let ways: Vec<Way> = addresses.iter().copied().map(Way::to).collect();
    let beside: Vec<Datagrams> =
        ways.iter().zip(addresses).map(|(way, server)| Datagrams::beside(way, server)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let through = ways.iter().map(|way| way.address).collect();
    let log = RemoteLog::draw_log().expect("a name");
    let mut log = create(LogTerms::new(log, 2, through, Some(folder.path().join("log"))));
    let has_passed = || beside.iter().all(|datagrams| datagrams.passed.load(Ordering::Relaxed) >= 20);
    while !has_passed() {
        append_until(&mut log, is_memory);
    }
    for are_lost in [true, false, true] {
        beside.iter().for_each(|datagrams| datagrams.are_lost.store(are_lost, Ordering::Relaxed));
        for _ in 0..50 {
            append_until(&mut log, is_memory);
        }
    }
    // One behind the other, without a receipt between them.
    for _ in 0..50 {
        log.append_no_wait(&record(log.extent().1)).expect("it is taken");
    }
    assert!(log.flush(PATIENCE).expect("a receipt").is_some());
    check_records(&log);
}

/// If this fails, a cut network stops commits, or makes them durable nowhere.
#[test]
fn while_the_network_is_cut_the_disk_takes_over() {
    let (_servers, addresses) = serve(2);
    let ways: Vec<Way> = addresses.into_iter().map(Way::to).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let through = ways.iter().map(|way| way.address).collect();
    let log = RemoteLog::draw_log().expect("a name");
    let mut log = create(LogTerms::new(log, 2, through, Some(folder.path().join("log"))));
    append_until(&mut log, is_memory);
    ways.iter().for_each(|way| way.set(false));
    append_until(&mut log, is_disk);
    ways.iter().for_each(|way| way.set(true));
    append_until(&mut log, is_memory);
    check_records(&log);
}

/// If this fails, a writer that was cut off goes on writing a log that another has taken over.
#[test]
fn a_writer_that_was_cut_off_is_fenced() {
    let (_servers, addresses) = serve(2);
    let ways: Vec<Way> = addresses.iter().copied().map(Way::to).collect();
    let id = RemoteLog::draw_log().expect("a name");
    let folder = tempfile::tempdir().expect("a folder");
    // The servers are known by their addresses: the way there is the name here, for both writers.
    let through: Vec<SocketAddr> = ways.iter().map(|way| way.address).collect();
    let terms = |name: &str| LogTerms {
        restart_on_this_disk: false,
        ..LogTerms::new(id, 2, through.clone(), Some(folder.path().join(name)))
    };
    let mut old = create(terms("old"));
    for _ in 0..10 {
        append_until(&mut old, is_memory);
    }
    let told = old.extent().1;
    ways.iter().for_each(|way| way.set(false));
    let late = old.append(&record(told), std::time::Duration::from_millis(300));
    assert!(matches!(late, Err(RemoteLogError::Late)), "no server and no lease: {late:?}");
    ways.iter().for_each(|way| way.set(true));
    let mut new = open(terms("new"));
    assert!(new.extent().1 >= told);
    check_records(&new);
    append_until(&mut new, is_memory);
    let fenced = old.append(&record(old.extent().1), PATIENCE);
    assert!(matches!(fenced, Err(RemoteLogError::Stopped(WriterStop::Fenced { .. }))), "{fenced:?}");
    append_until(&mut new, is_memory);
    check_records(&new);
}
