//! All connections of a console, on one thread.

use crate::ConsoleSource;
use crate::answer::answer;
use crate::connection::{ConnectionTurn, ConsoleConnection};
use crate::limits::{CONNECTIONS_MAX, LOOK};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::time::Instant;

const LISTENER: Token = Token(usize::MAX);

/// All is well, in words; or the reason why not.
pub type Health = Result<String, String>;

/// Tells whoever connects until `stops` says that it is enough.
///
/// # Errors
/// The operating system has no poll.
pub fn serve(listener: std::net::TcpListener, source: &impl ConsoleSource, stops: &dyn Fn() -> bool) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(listener);
    let poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(2 * CONNECTIONS_MAX);
    let mut console = Console { poll, listener, connections: BTreeMap::new(), next: 0 };
    while !stops() {
        match console.poll.poll(&mut events, Some(LOOK)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        for event in events.iter().filter(|event| event.token() != LISTENER) {
            console.turn(event.token().0, source);
        }
        console.accept(source);
        let now = Instant::now();
        console.connections.retain(|_, connection| now < connection.deadline);
    }
    Ok(())
}

struct Console {
    poll: Poll,
    listener: TcpListener,
    /// By the order in which they came.
    connections: BTreeMap<usize, ConsoleConnection>,
    next: usize,
}

impl Console {
    /// As many as may come in one turn: others have theirs.
    fn accept(&mut self, source: &impl ConsoleSource) {
        for _ in 0..CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((mut socket, _)) => {
                    self.make_room();
                    let number = self.next;
                    self.next += 1;
                    let both = Interest::READABLE | Interest::WRITABLE;
                    if self.poll.registry().register(&mut socket, Token(number), both).is_ok() {
                        self.connections.insert(number, ConsoleConnection::new(socket, Instant::now()));
                        self.turn(number, source);
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, "the console cannot take a connection");
                    return;
                }
            }
        }
    }

    /// The one that has waited longest for its client to speak goes; if all have spoken, the oldest.
    fn make_room(&mut self) {
        if self.connections.len() < CONNECTIONS_MAX {
            return;
        }
        let silent = self.connections.iter().find(|(_, connection)| connection.is_silent());
        let oldest = silent.or(self.connections.iter().next()).map(|(number, _)| *number);
        if let Some(number) = oldest {
            self.connections.remove(&number);
        }
    }

    fn turn(&mut self, number: usize, source: &impl ConsoleSource) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut turned = connection.turn();
        if let ConnectionTurn::Asks(asked) = turned {
            let answer = answer(asked, source).unwrap_or_default();
            turned = connection.say(answer, Instant::now());
        }
        if turned == ConnectionTurn::Over {
            self.connections.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{CONNECTION_TIME_MAX, REQUEST_BYTES_MAX};
    use crate::{Exposition, STATUS_LINE};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::JoinHandle;

    /// What a client of the tests waits for at most.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
    /// Much more than a socket takes at once.
    const STATUS_BYTES: usize = 8 << 20;

    struct Told;

    impl ConsoleSource for Told {
        fn status(&self) -> Option<String> {
            Some("s".repeat(STATUS_BYTES))
        }

        fn metrics(&self) -> String {
            let mut exposition = Exposition::default();
            exposition.gauge("raid_up", "Up.", 1.0);
            exposition.text()
        }

        fn live(&self) -> Health {
            Ok("live".to_owned())
        }

        fn ready(&self) -> Health {
            Err("it recovers: 7 rows are left".to_owned())
        }
    }

    struct Running {
        address: SocketAddr,
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<io::Result<()>>>,
    }

    impl Running {
        fn start() -> Running {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
            let address = listener.local_addr().expect("an address");
            let stop = Arc::<AtomicBool>::default();
            let told = stop.clone();
            let thread = std::thread::spawn(move || serve(listener, &Told, &|| told.load(Ordering::SeqCst)));
            Running { address, stop, thread: Some(thread) }
        }

        fn connect(&self) -> TcpStream {
            let socket = TcpStream::connect(self.address).expect("it listens");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket
        }

        fn ask(&self, request: &[u8]) -> String {
            let mut socket = self.connect();
            socket.write_all(request).expect("it takes it");
            let mut said = String::new();
            socket.read_to_string(&mut said).expect("it answers and ends");
            said
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            self.stop.store(true, Ordering::SeqCst);
            let ended = self.thread.take().expect("it was started").join();
            assert!(ended.is_ok_and(|ended| ended.is_ok()), "the console ends well");
        }
    }

    /// A scraper or a probe would be told something else, or something that it cannot read.
    #[test]
    fn each_page_has_its_answer() {
        let console = Running::start();
        let metrics = console.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
        assert!(metrics.ends_with("\r\n\r\n# HELP raid_up Up.\n# TYPE raid_up gauge\nraid_up 1\n"), "{metrics}");
        let ready = console.ask(b"GET /health/ready HTTP/1.1\r\n\r\n");
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.ends_with("\r\n\r\nit recovers: 7 rows are left\n"));
        assert!(console.ask(b"GET /health/live HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        assert!(console.ask(b"HEAD /health/live HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(console.ask(b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(console.ask(b"PUT /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").starts_with("HTTP/1.1 405 "));
        assert!(console.ask(b"nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let long = [b"GET /".as_slice(), &vec![b'x'; 4 * REQUEST_BYTES_MAX]].concat();
        let mut socket = console.connect();
        // It may close before it has all.
        drop(socket.write_all(&long));
        let mut said = Vec::new();
        drop(socket.read_to_end(&mut said));
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&said));
    }

    /// A status that does not fit into a socket would reach its reader cut off.
    #[test]
    fn an_answer_longer_than_a_socket_takes_comes_whole() {
        let console = Running::start();
        assert_eq!(console.ask(STATUS_LINE).len(), STATUS_BYTES);
    }

    /// Clients that say nothing, or a byte at a time, or read nothing, would keep others from being told.
    #[test]
    fn others_are_told_while_clients_are_slow() {
        let console = Running::start();
        let idle: Vec<TcpStream> = (0..3 * CONNECTIONS_MAX).map(|_| console.connect()).collect();
        let mut unread = console.connect();
        unread.write_all(STATUS_LINE).expect("it takes it");
        let mut slow = console.connect();
        for byte in b"GET /metr" {
            slow.write_all(&[*byte]).expect("it takes it");
            let begun = Instant::now();
            assert!(console.ask(b"GET /health/live HTTP/1.1\r\n\r\n").ends_with("live\n"));
            assert!(begun.elapsed() < CONNECTION_TIME_MAX, "nobody else's time was waited for");
        }
        drop(idle);
    }

    /// A client that holds its connection without end would hold memory, too.
    #[test]
    fn who_says_nothing_is_left() {
        let console = Running::start();
        let (begun, mut silent) = (Instant::now(), console.connect());
        assert_eq!(silent.read(&mut [0; 1]).expect("it is closed in order"), 0);
        assert!(begun.elapsed() >= CONNECTION_TIME_MAX);
    }
}
