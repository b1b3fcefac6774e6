//! Several threads over the servers of one site: what each does by itself, what it does under their lock, and what that bounds on more
//! processors than this machine has.
//!
//! Each worker has clients and a user interface of its own, as in a site's process; what its clients ask in a turn runs under the lock at once.
//! What a worker does is counted by its processor time, so that other programs of the machine do not count; how long it waits for the lock, by
//! the boot clock. The model is a closed queueing network of one server, the lock, and as many customers as workers, solved by mean value
//! analysis (Reiser and Lavenberg, Journal of the ACM 27, 1980). Its times are those of the most workers measured, because what one has just used
//! moves to the other's caches.

use crate::client::{Client, Door};
use crate::cluster::LIFE;
use bytes::BytesMut;
use commit_log::MemoryLog;
use domain::Domain;
use messages::access::AccessReply;
use messages::limits::MILLISECOND;
use messages::{
    Envelope, EpochNumber, Key, Message, Now, Outbox, Row, Server, ServerKind, SessionId, SiteId, Timestamp,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
use user_interface::UserInterface;

/// The site.
const SITE: SiteId = SiteId(1);
/// A session's number says above these bits whose it is.
const SESSION_BITS: u32 = 48;
/// Sessions of the one before have smaller numbers.
const FIRST_SESSION: u64 = 1_000;
/// Nanoseconds between two ticks.
const TICK: u64 = 5 * MILLISECOND;
/// Numbers of processors that the model tells of.
const MODELLED: [u32; 5] = [1, 2, 4, 8, 16];
/// Wake-ups that are measured.
const WAKE_UPS: u32 = 2_000;

/// All rows of the catalog.
type Catalog = Vec<(Key, Timestamp, Option<Row>)>;

/// What the workers share.
struct Shared {
    domain: Mutex<Domain<MemoryLog>>,
    /// Answers that another worker's turn has brought.
    mail: Vec<Mutex<Vec<Envelope>>>,
    begun: Instant,
    /// What the boot clock said then.
    boot: u64,
    ends: AtomicBool,
}

impl Shared {
    fn now(&self) -> Now {
        let boot = self.boot + self.begun.elapsed().as_nanos() as u64;
        Now { boot, wall_micros: 1_700_000_000_000_000 + boot / 1_000 }
    }
}

/// Where the time of a worker goes.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    transactions: u64,
    /// From the common begin to its end.
    all: Duration,
    /// For the lock, asleep or not.
    waiting: Duration,
    /// Processor time outside of the lock.
    own: Duration,
    /// Processor time under the lock.
    holding: Duration,
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

struct Worker {
    number: usize,
    shared: Arc<Shared>,
    user_interface: UserInterface,
    outbox: Outbox,
    requests: Vec<Envelope>,
    ticked_at: u64,
    times: Times,
    /// Its processor time when it last let go of the lock.
    free_since: Duration,
}

impl Worker {
    fn new(number: usize, shared: Arc<Shared>, catalog: Catalog) -> Worker {
        let mut user_interface =
            UserInterface::new(user_interface::Config::new(SITE, "example", "0", number as u32 + 1, number as u64 + 1));
        user_interface.load_catalog(catalog);
        Worker {
            number,
            shared,
            user_interface,
            outbox: Outbox::default(),
            requests: Vec::new(),
            ticked_at: 0,
            times: Times::default(),
            free_since: Duration::ZERO,
        }
    }

    fn collect(&mut self) {
        for outgoing in self.outbox.messages.drain(..) {
            self.requests.push(Envelope {
                from_site: SITE,
                from: ServerKind::UserInterface,
                to_site: SITE,
                to: outgoing.to,
                epoch: EpochNumber(0),
                incarnation: LIFE,
                message: outgoing.message,
            });
        }
    }

    /// Runs what was asked, if anything was. Returns the answers.
    fn exchange(&mut self) -> Vec<Envelope> {
        let shared = self.shared.clone();
        let mut clock = || shared.now();
        let ticks = self.number == 0 && clock().boot >= self.ticked_at + TICK;
        if self.requests.is_empty() && !ticks {
            std::thread::yield_now();
            return Vec::new();
        }
        self.times.own += processor_time() - self.free_since;
        let asked = Instant::now();
        let mut domain = shared.domain.lock().expect("no holder of this lock panics");
        self.times.waiting += asked.elapsed();
        let taken = processor_time();
        domain.deliver_all(&mut clock, self.requests.drain(..));
        if ticks {
            self.ticked_at = clock().boot;
            domain.log_mut().complete_sync();
            domain.poll_log(&mut clock);
            domain.tick(&mut clock);
        }
        let effects = domain.take_effects();
        drop(domain);
        self.free_since = processor_time();
        self.times.holding += self.free_since - taken;
        assert!(effects.failed.is_none(), "nothing can fail here: {:?}", effects.failed);
        effects.local
    }

    fn route(&mut self, answers: Vec<Envelope>) {
        for answer in answers {
            match &answer.message {
                Message::SessionReply(session, _) => {
                    let worker = (session.0 >> SESSION_BITS) as usize;
                    if worker == self.number {
                        self.user_interface.handle(self.shared.now(), answer, &mut self.outbox);
                    } else {
                        self.shared.mail[worker].lock().expect("no holder of this lock panics").push(answer);
                    }
                }
                Message::AccessReply(AccessReply::CatalogRows { .. }) => {
                    unreachable!("the tables stay what they are")
                }
                _ => {}
            }
        }
        self.collect();
    }
}

impl Door for Worker {
    fn open(&mut self, session: SessionId) {
        self.user_interface.open(session);
    }

    fn receive(&mut self, session: SessionId, input: &mut BytesMut) {
        self.user_interface.receive(self.shared.now(), session, input, &mut self.outbox);
        self.collect();
    }

    fn answer(&mut self, session: SessionId, into: &mut BytesMut) {
        if let Some(output) = self.user_interface.output(session) {
            into.extend_from_slice(output);
            output.clear();
        }
    }

    fn pass_time(&mut self) {
        let mail = std::mem::take(&mut *self.shared.mail[self.number].lock().expect("no holder of this lock panics"));
        self.route(mail);
        let answers = self.exchange();
        self.route(answers);
        self.user_interface.pending().for_each(drop);
    }
}

/// Runs `transactions` by one worker, and by more up to `workers`, and prints what each takes and what the model makes of it.
pub fn compare(
    mut domain: Domain<MemoryLog>,
    boot: u64,
    workers: u32,
    clients: u64,
    accounts: i64,
    calls: bool,
    transactions: u64,
) -> Result<(), String> {
    println!(
        "one site, {clients} clients, {} processors; microseconds of a transaction\n{:>8} {:>12} {:>10} {:>12} {:>12}",
        std::thread::available_parallelism().map_or(0, usize::from),
        "workers",
        "transactions",
        "by itself",
        "under lock",
        "wait for it"
    );
    let (mut alone, mut together) = ((0.0, 0.0), (0.0, 0.0));
    for number in 1..=workers {
        let begun = Instant::now();
        let shared = Shared {
            mail: (0..number).map(|_| Mutex::default()).collect(),
            boot: boot + u64::from(number) * 60_000 * MILLISECOND,
            begun,
            ends: AtomicBool::new(false),
            domain: Mutex::new(domain),
        };
        let (rate, [own, held, waited], returned) = run(shared, number, clients, accounts, calls, transactions)?;
        domain = returned;
        println!("{number:>8} {rate:>12.0} {own:>10.2} {held:>12.2} {waited:>12.2}");
        if number == 1 {
            alone = (own, held);
        }
        together = (own, held);
    }
    let wake = wake_up();
    println!("waking a sleeping thread: {wake:.1} us");
    println!("model{:>15} {:>34}", "transactions", "if each sleeps before its turn");
    for processors in MODELLED {
        let (own, held) = if processors == 1 { alone } else { together };
        // A turn of a worker has as many transactions as it has clients, at most.
        let slept = wake * f64::from(processors) / clients as f64;
        println!("{processors:>5} {:>14.0} {:>34.0}", rate(processors, own, held), rate(processors, own + slept, held));
    }
    println!("bound {:>14.0} {:>34.0}: one after the other under the lock", 1e6 / together.1, 1e6 / together.1);
    Ok(())
}

/// The rate, the times of a transaction (by itself, under the lock, waiting for it), and the servers.
type Ran = (f64, [f64; 3], Domain<MemoryLog>);

fn run(
    shared: Shared,
    workers: u32,
    clients: u64,
    accounts: i64,
    calls: bool,
    transactions: u64,
) -> Result<Ran, String> {
    let shared = Arc::new(shared);
    let catalog = shared.domain.lock().map_err(|error| error.to_string())?.catalog_rows();
    let catalog = catalog.map_err(|error| error.to_string())?;
    let barrier = Arc::new(Barrier::new(workers as usize));
    let share = transactions / u64::from(workers);
    let threads: Vec<_> = (0..workers as usize)
        .map(|number| {
            let worker = Worker::new(number, shared.clone(), catalog.clone());
            let of_worker = (0..clients).filter(|client| client % u64::from(workers) == number as u64);
            // Sessions of each run are new ones.
            let first = FIRST_SESSION * u64::from(workers);
            let sessions = of_worker.map(|client| ((number as u64) << SESSION_BITS) | (first + client));
            let all: Vec<Client> = sessions.map(|session| Client::new(session, accounts, calls)).collect();
            let barrier = barrier.clone();
            std::thread::spawn(move || work(worker, all, share, &barrier))
        })
        .collect();
    let mut sums = Times::default();
    for thread in threads {
        let times = thread.join().map_err(|_| "a worker has panicked".to_owned())??;
        sums.transactions += times.transactions;
        sums.all += times.all;
        sums.waiting += times.waiting;
        sums.own += times.own;
        sums.holding += times.holding;
    }
    let per = |time: Duration| time.as_secs_f64() * 1e6 / sums.transactions as f64;
    let rate = sums.transactions as f64 / (sums.all.as_secs_f64() / f64::from(workers));
    let shared = Arc::into_inner(shared).ok_or("a worker has not ended")?;
    let domain = shared.domain.into_inner().map_err(|error| error.to_string())?;
    Ok((rate, [per(sums.own), per(sums.holding), per(sums.waiting)], domain))
}

/// A worker: warms up, then all begin together, and end together, because one has done its share or has failed.
fn work(mut worker: Worker, mut clients: Vec<Client>, transactions: u64, barrier: &Barrier) -> Result<Times, String> {
    let ready = clients.iter_mut().try_for_each(|client| {
        client.connect(&mut worker)?;
        client.prepare(&mut worker)
    });
    barrier.wait();
    let shared = worker.shared.clone();
    worker.times = Times::default();
    worker.free_since = processor_time();
    let begun = Instant::now();
    let done = |clients: &[Client]| clients.iter().map(Client::done).sum::<u64>();
    let run = || {
        ready?;
        while !shared.ends.load(Ordering::Relaxed) && done(&clients) < transactions {
            clients.iter_mut().try_for_each(|client| client.go_on(&mut worker))?;
            worker.pass_time();
        }
        Ok::<(), String>(())
    };
    let ran = run();
    shared.ends.store(true, Ordering::Relaxed);
    ran?;
    Ok(Times { all: begun.elapsed(), transactions: done(&clients), ..worker.times })
}

/// Transactions a second of so many workers.
fn rate(workers: u32, own: f64, held: f64) -> f64 {
    let (mut queue, mut rate) = (0.0, 0.0);
    for customers in 1..=workers {
        let stay = held * (1.0 + queue);
        rate = f64::from(customers) / (own + stay);
        queue = rate * stay;
    }
    rate * 1e6
}

/// Microseconds from waking a thread that sleeps until it runs: half of a round between two.
fn wake_up() -> f64 {
    let main = std::thread::current();
    let turn = Arc::new(AtomicBool::new(false));
    let told = turn.clone();
    let other = std::thread::spawn(move || {
        for _ in 0..WAKE_UPS {
            while !told.swap(false, Ordering::AcqRel) {
                std::thread::park();
            }
            main.unpark();
        }
    });
    let begun = Instant::now();
    for _ in 0..WAKE_UPS {
        turn.store(true, Ordering::Release);
        other.thread().unpark();
        std::thread::park();
    }
    let us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(WAKE_UPS) / 2.0;
    drop(other.join());
    us
}
