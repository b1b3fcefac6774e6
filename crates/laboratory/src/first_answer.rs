//! The first answer of a site that was just started: a read is tried again and again, on a thread of its own, until the site answers it.
//!
//! Invariant: a try that hangs holds nobody up. Whoever waits hears of the end of the site's process, of a stop, and of the end of its patience
//! all the same, and once nobody waits any more no try is begun.

use crate::debit_credit::{connect, explain};
use crate::limits;
use local_cluster::process::ProcessName;
use local_cluster::running::{ClusterRunError, RunningCluster};
use postgres::Client;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a site answered, and when.
#[derive(Clone, Copy, Debug)]
pub struct Answer<T> {
    /// What was read.
    pub found: T,
    /// When the site first took a client.
    pub connected_at: Instant,
    /// When this answer was there.
    pub answered_at: Instant,
}

/// Why the last try failed, if one has since the site took a client.
type Refusal = Arc<Mutex<Option<String>>>;

/// The question under way.
#[derive(Debug)]
pub struct Asking<T> {
    site: u16,
    begun: Instant,
    answer: Receiver<Answer<T>>,
    refusal: Refusal,
    /// Gone with whoever waits: nothing is ever sent.
    _waiting: Sender<Infallible>,
}

impl<T: Send + 'static> Asking<T> {
    /// Begins to ask a site of this cluster, whose process has just been started. Each try has a connection of its own.
    pub fn start(
        running: &RunningCluster,
        site: u16,
        read: impl FnMut(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Asking<T> {
        Asking::start_at(running.cluster().sites()[&site].sql, site, read)
    }

    fn start_at(
        sql: SocketAddr,
        site: u16,
        read: impl FnMut(&mut Client) -> Result<T, postgres::Error> + Send + 'static,
    ) -> Asking<T> {
        let (sender, answer) = channel();
        let (waiting, waits) = channel();
        let refusal = Refusal::default();
        let refused = refusal.clone();
        std::thread::spawn(move || {
            if let Some(answer) = ask(sql, read, &refused, &waits) {
                // Nobody listens any more when the experiment has ended.
                let _ = sender.send(answer);
            }
        });
        Asking { site, begun: Instant::now(), answer, refusal, _waiting: waiting }
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// The site's process has ended, `stop` is set, or [`limits::RETURN_TIME_MAX`] has passed since it was first asked.
    pub fn wait(self, running: &mut RunningCluster, stop: &AtomicBool) -> Result<Answer<T>, ClusterRunError> {
        let name = ProcessName::Site(self.site);
        self.wait_while(limits::RETURN_TIME_MAX, || match stop.load(Ordering::SeqCst) {
            true => Err(ClusterRunError::Stopped),
            false => running.check_alive(name),
        })
    }

    /// Waits for the answer as long as `goes_on` has no objection.
    fn wait_while(
        &self,
        patience: Duration,
        mut goes_on: impl FnMut() -> Result<(), ClusterRunError>,
    ) -> Result<Answer<T>, ClusterRunError> {
        loop {
            match self.answer.recv_timeout(local_cluster::limits::LOOK_INTERVAL) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => goes_on()?,
                Err(RecvTimeoutError::Disconnected) => panic!("the thread that asks has panicked"),
            }
            if self.begun.elapsed() > patience {
                let refusal = self.refusal.lock().expect("nobody panics with it").take();
                let refusal = refusal.unwrap_or_else(|| "none, it takes connections and does not answer".to_owned());
                return Err(ClusterRunError::NoAnswer { site: self.site, waited_s: patience.as_secs(), refusal });
            }
        }
    }
}

/// Tries until the site answers. `None`: nobody waits any more.
fn ask<T>(
    sql: SocketAddr,
    mut read: impl FnMut(&mut Client) -> Result<T, postgres::Error>,
    refusal: &Mutex<Option<String>>,
    waits: &Receiver<Infallible>,
) -> Option<Answer<T>> {
    let mut first_connected_at = None;
    loop {
        let tried = connect(sql).and_then(|mut client| {
            let connected_at = *first_connected_at.get_or_insert_with(Instant::now);
            *refusal.lock().expect("nobody panics with it") = None;
            let found = read(&mut client)?;
            Ok(Answer { found, connected_at, answered_at: Instant::now() })
        });
        match tried {
            Ok(answer) => return Some(answer),
            Err(error) => *refusal.lock().expect("nobody panics with it") = Some(explain(&error)),
        }
        if waits.recv_timeout(limits::ASK_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// AuthenticationOk and ReadyForQuery (PostgreSQL, Frontend/Backend Protocol, Message Formats): all that a client needs to be connected.
    const WELCOME: [u8; 15] = *b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

    /// Takes a client as a site does.
    fn welcome(listener: &TcpListener) -> TcpStream {
        let (mut client, _) = listener.accept().expect("a client");
        let mut length = [0; 4];
        client.read_exact(&mut length).expect("a start-up message");
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - length.len()];
        client.read_exact(&mut rest).expect("the rest of it");
        client.write_all(&WELCOME).expect("it listens");
        client
    }

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        (listener, address)
    }

    /// A site that sends its first clients away must be asked again, and the times be those of the first client that it took.
    #[test]
    fn a_refused_read_is_tried_again() {
        let (listener, address) = listener();
        let site = std::thread::spawn(move || {
            drop(listener.accept().expect("the first client"));
            let mut second = welcome(&listener);
            second.read_exact(&mut [0]).expect("its read");
            drop(second);
            // The third one has its answer from the closure below, and leaves.
            let _ = welcome(&listener).read_to_end(&mut Vec::new());
        });
        let (begun, mut reads) = (Instant::now(), 0);
        let asking = Asking::start_at(address, 1, move |client| {
            reads += 1;
            if reads == 1 { client.simple_query("SELECT 1").map(|_| reads) } else { Ok(reads) }
        });
        let answer = asking.wait_while(limits::RETURN_TIME_MAX, || Ok(())).expect("the third try is answered");
        assert_eq!(answer.found, 2, "one read was refused");
        assert!(begun < answer.connected_at && answer.connected_at < answer.answered_at);
        site.join().expect("it has seen three clients");
    }

    /// A site that takes a client and then hangs would otherwise keep its waiter from seeing Ctrl-C, or that the site has died.
    #[test]
    fn a_try_that_hangs_holds_nobody_up() {
        let (_listener, address) = listener();
        let asking = Asking::start_at(address, 1, |_| Ok(()));
        let error = asking.wait_while(limits::RETURN_TIME_MAX, || Err(ClusterRunError::Stopped)).expect_err("a stop");
        assert!(matches!(error, ClusterRunError::Stopped), "{error}");
        let asking = Asking::start_at(address, 1, |_| Ok(()));
        let error = asking.wait_while(Duration::ZERO, || Ok(())).expect_err("no patience").to_string();
        assert!(error.contains("site 1") && error.contains("does not answer"), "{error}");
    }

    /// Without the refusal nobody would know why a site did not come back.
    #[test]
    fn the_last_refusal_is_told() {
        let (listener, address) = listener();
        drop(listener);
        let asking = Asking::start_at(address, 3, |_| Ok(()));
        let refused = asking.refusal.clone();
        let until_refused = || match refused.lock().expect("nobody panics with it").is_some() {
            true => Err(ClusterRunError::Stopped),
            false => Ok(()),
        };
        assert!(asking.wait_while(limits::RETURN_TIME_MAX, until_refused).is_err());
        let error = asking.wait_while(Duration::ZERO, || Ok(())).expect_err("no patience").to_string();
        assert!(error.contains("site 3") && error.contains("refused"), "{error}");
    }
}
