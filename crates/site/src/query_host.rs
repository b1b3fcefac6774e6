//! DataFusion on a thread of its own, and short queries where they are asked for.
//!
//! Queries run as tasks of one asynchronous thread; what they read comes through the session's transaction at the action driver, in batches. A
//! session has at most one query, and a query at most one batch under way. A panic inside a query ends that query only.
//!
//! A query that is planned already, and small by its plan, begins on the asker's thread: two threads that wake each other take longer than
//! most such queries run. When it has read more than a few rows, or has to wait, it goes on among the others.
//!
//! Invariant: a session's orders are obeyed one after the other. A query begins with the asker only if none of its session's is with the thread.

use crate::clock;
use crate::limits::SHORT_QUERY_ROWS;
use crate::shared::Shared;
use futures::future::{self, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use messages::limits::QUERY_BATCH_ROWS;
use messages::query::{QueryReply, QueryRequest};
use messages::schema::Catalog;
use messages::session::{Failure, IndexPath, SessionReply, SessionRequest};
use messages::{Envelope, EpochNumber, Incarnation, Key, KeyRange, Message, ServerKind, SessionId, SiteId, Timestamp};
use query::{Execution, Planned, Processor, QueryError, ScanBatch, ScanRequest, SessionFacts, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use tokio::sync::{mpsc, oneshot};
use values::{Type, Value};

/// Microseconds from 1970 to 2000, where SQL's timestamps count from.
const EPOCH_2000_MICROS: i64 = 946_684_800_000_000;

/// What reaches the thread.
enum Order {
    Request(SessionId, Incarnation, QueryRequest),
    /// A query that began with its asker.
    GoOn(SessionId, Begun),
    Forget(SessionId),
    ForgetAll,
    Stop,
}

/// The door to the thread.
pub struct QueryHost {
    thread: OnceLock<Thread>,
    scans: Mutex<BTreeMap<SessionId, oneshot::Sender<SessionReply>>>,
    /// Sessions of which the thread has something to do.
    busy: Mutex<BTreeSet<SessionId>>,
}

struct Thread {
    orders: mpsc::UnboundedSender<Order>,
    processor: Arc<Processor>,
    /// Where parts of a query run that are tasks of their own, wherever the query does.
    runtime: tokio::runtime::Handle,
}

impl QueryHost {
    /// A host whose thread does not run yet.
    pub(crate) fn new() -> QueryHost {
        QueryHost { thread: OnceLock::new(), scans: Mutex::default(), busy: Mutex::default() }
    }

    /// Starts the thread.
    pub(crate) fn start(&self, shared: &Arc<Shared>) -> Result<(), String> {
        let processor = Arc::new(Processor::new().map_err(|error| error.to_string())?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
        let (sender, orders) = mpsc::unbounded_channel();
        let thread = Thread { orders: sender, processor: processor.clone(), runtime: runtime.handle().clone() };
        assert!(self.thread.set(thread).is_ok(), "a host starts once");
        let shared = shared.clone();
        let thread = std::thread::Builder::new().name("query".to_owned()).spawn(move || {
            let tasks = tokio::task::LocalSet::new();
            tasks.block_on(&runtime, serve(orders, shared, processor));
        });
        thread.map(drop).map_err(|error| error.to_string())
    }

    fn order(&self, order: Order) {
        if let Some(thread) = self.thread.get() {
            // The thread has ended only when the site ends.
            let _ = thread.orders.send(order);
        }
    }

    fn busy(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.busy.lock().expect("no holder of this lock panics")
    }

    /// A request of the user interface, for this life of the site.
    pub(crate) fn ask(&self, session: SessionId, life: Incarnation, request: QueryRequest) {
        self.busy().insert(session);
        self.order(Order::Request(session, life, request));
    }

    /// The same for an asker who has the time to begin a short query. Returns what is answered already.
    pub(crate) fn begin(
        &self,
        shared: &Arc<Shared>,
        session: SessionId,
        life: Incarnation,
        request: QueryRequest,
    ) -> Vec<Envelope> {
        let is_short = |thread: &&Thread| is_short(&thread.processor, &request) && !self.busy().contains(&session);
        let Some(thread) = self.thread.get().filter(is_short) else {
            self.ask(session, life, request);
            return Vec::new();
        };
        let _runtime = thread.runtime.enter();
        let processor = thread.processor.clone();
        let (more, wanted) = mpsc::unbounded_channel();
        let place = Arc::new(Place::at_asker());
        let job = Job { session, life, shared: shared.clone(), processor, wanted, place: place.clone() };
        let mut job: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(job.run(request));
        // Whoever polls it next does so at once.
        let polled = job.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let answered = place.leave();
        if polled == Poll::Pending {
            self.busy().insert(session);
            self.order(Order::GoOn(session, Begun { job, more }));
        }
        answered
    }

    /// The session is gone.
    pub(crate) fn forget(&self, session: SessionId) {
        self.order(Order::Forget(session));
    }

    /// The site has begun a new life.
    pub(crate) fn forget_all(&self) {
        self.scans.lock().expect("no holder of this lock panics").clear();
        self.order(Order::ForgetAll);
    }

    pub(crate) fn stop(&self) {
        self.order(Order::Stop);
    }

    /// The action driver's answer to a scan.
    pub(crate) fn scanned(&self, session: SessionId, message: Message) {
        let waiting = self.scans.lock().expect("no holder of this lock panics").remove(&session);
        if let (Some(waiting), Message::SessionReply(_, reply)) = (waiting, message) {
            // Nobody listens any more when the query was cancelled.
            let _ = waiting.send(reply);
        }
    }
}

/// Whether a query is planned and likely to end soon.
fn is_short(processor: &Processor, request: &QueryRequest) -> bool {
    match request {
        QueryRequest::Run { sql, parameter_types, catalog, .. } => {
            processor.kept(catalog, sql, parameter_types).is_some_and(|planned| planned.is_short())
        }
        QueryRequest::Describe { sql, parameters, catalog } => processor.kept(catalog, sql, parameters).is_some(),
        _ => false,
    }
}

/// A query under way that its asker hands over.
struct Begun {
    job: Pin<Box<dyn Future<Output = ()> + Send>>,
    more: mpsc::UnboundedSender<()>,
}

/// Where a query runs.
struct Place {
    is_asker: AtomicBool,
    /// Rows that it may still read there.
    rows_left: AtomicUsize,
    /// What it has answered there.
    answers: Mutex<Vec<Envelope>>,
}

impl Place {
    fn at_asker() -> Place {
        let rows_left = AtomicUsize::new(SHORT_QUERY_ROWS);
        Place { is_asker: AtomicBool::new(true), rows_left, answers: Mutex::default() }
    }

    fn on_thread() -> Place {
        Place { is_asker: AtomicBool::new(false), rows_left: AtomicUsize::new(0), answers: Mutex::default() }
    }

    /// Not with the asker any more.
    fn leave(&self) -> Vec<Envelope> {
        self.is_asker.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.answers.lock().expect("no holder of this lock panics"))
    }

    /// How many rows a scan of so many may ask for; 0: not here.
    fn rows(&self, wanted: usize) -> usize {
        match self.is_asker.load(Ordering::Relaxed) {
            true => wanted.min(self.rows_left.load(Ordering::Relaxed)),
            false => wanted,
        }
    }

    fn has_read(&self, rows: usize) {
        let left = self.rows_left.load(Ordering::Relaxed);
        self.rows_left.store(left.saturating_sub(rows), Ordering::Relaxed);
    }
}

/// A query that has more rows: its task waits for `More`.
struct Running {
    task: tokio::task::JoinHandle<()>,
    more: mpsc::UnboundedSender<()>,
}

async fn serve(mut orders: mpsc::UnboundedReceiver<Order>, shared: Arc<Shared>, processor: Arc<Processor>) {
    let mut running: BTreeMap<SessionId, Running> = BTreeMap::new();
    let stop = |running: &mut BTreeMap<SessionId, Running>, session: &SessionId| {
        if let Some(running) = running.remove(session) {
            running.task.abort();
        }
    };
    while let Some(order) = orders.recv().await {
        match order {
            Order::Stop => return,
            Order::Request(session, _, QueryRequest::Stop) => {
                stop(&mut running, &session);
                reply(&shared, session, QueryReply::Stopped);
            }
            Order::Forget(session) => {
                stop(&mut running, &session);
                shared.query().busy().remove(&session);
            }
            Order::ForgetAll => {
                for (_, running) in std::mem::take(&mut running) {
                    running.task.abort();
                }
                shared.query().busy().clear();
            }
            Order::Request(session, _, QueryRequest::More) => match running.get(&session) {
                Some(running) if running.more.send(()).is_ok() => {}
                _ => reply(&shared, session, QueryReply::Rows { rows: Vec::new(), last: true }),
            },
            Order::Request(session, life, request) => {
                stop(&mut running, &session);
                let (more, wanted) = mpsc::unbounded_channel();
                let place = Arc::new(Place::on_thread());
                let job = Job { session, life, shared: shared.clone(), processor: processor.clone(), wanted, place };
                running.insert(session, Running { task: tokio::task::spawn_local(job.run(request)), more });
            }
            Order::GoOn(session, Begun { job, more }) => {
                stop(&mut running, &session);
                running.insert(session, Running { task: tokio::task::spawn_local(job), more });
            }
        }
    }
}

/// An answer of the thread.
fn reply(shared: &Shared, session: SessionId, reply: QueryReply) {
    if !matches!(reply, QueryReply::Rows { last: false, .. }) {
        shared.query().busy().remove(&session);
    }
    shared.answer(answer(session, reply));
}

fn answer(session: SessionId, reply: QueryReply) -> Envelope {
    Envelope {
        from_site: SiteId(0),
        from: ServerKind::Query,
        to_site: SiteId(0),
        to: ServerKind::UserInterface,
        epoch: EpochNumber(0),
        incarnation: Incarnation(0),
        message: Message::QueryReply(session, reply),
    }
}

/// One request under way.
struct Job {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    processor: Arc<Processor>,
    wanted: mpsc::UnboundedReceiver<()>,
    place: Arc<Place>,
}

impl Job {
    fn reply(&self, told: QueryReply) {
        if self.place.is_asker.load(Ordering::Relaxed) {
            let mut answers = self.place.answers.lock().expect("no holder of this lock panics");
            answers.push(answer(self.session, told));
        } else {
            reply(&self.shared, self.session, told);
        }
    }

    async fn run(mut self, request: QueryRequest) {
        let failure = match AssertUnwindSafe(self.serve(request)).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => statement_failure("XX000", "the query processor failed on this statement"),
        };
        self.reply(QueryReply::Failed(failure));
    }

    async fn serve(&mut self, request: QueryRequest) -> Result<(), Failure> {
        match request {
            QueryRequest::Describe { sql, parameters, catalog } => {
                let planned = self.plan(&sql, &parameters, &catalog)?;
                let described =
                    QueryReply::Described { columns: planned.columns.clone(), parameters: planned.parameters.clone() };
                self.reply(described);
                Ok(())
            }
            QueryRequest::Explain { sql, catalog } => {
                let planned = self.plan(&sql, &[], &catalog)?;
                let plan = self
                    .processor
                    .explain(&planned, &self.execution(Vec::new(), clock::wall_micros() as i64))
                    .await
                    .map_err(of_query)?;
                let rows = plan.lines().map(|line| vec![Value::Text(line.into())]).collect();
                self.reply(QueryReply::Rows { rows, last: true });
                Ok(())
            }
            QueryRequest::Run { sql, parameters, parameter_types, catalog, time_micros } => {
                let planned = self.plan(&sql, &parameter_types, &catalog)?;
                self.stream_rows(&planned, self.execution(parameters, time_micros)).await
            }
            QueryRequest::More | QueryRequest::Stop => Ok(()),
        }
    }

    fn plan(
        &self,
        sql: &Arc<str>,
        parameters: &[Option<Type>],
        catalog: &Arc<Catalog>,
    ) -> Result<Arc<Planned>, Failure> {
        let facts = SessionFacts { user: "raid".to_owned(), database: "raid".to_owned() };
        self.processor.plan(catalog, &facts, sql, parameters).map_err(of_query)
    }

    /// `time_micros`: when the transaction began. Each execution draws its own random numbers.
    fn execution(&self, parameters: Vec<Value>, time_micros: i64) -> Execution {
        Execution {
            parameters,
            now: time_micros - EPOCH_2000_MICROS,
            seed: clock::wall_micros(),
            backend_pid: (self.session.0 & 0x7fff_ffff) as i32,
        }
    }

    async fn stream_rows(&mut self, planned: &Planned, execution: Execution) -> Result<(), Failure> {
        let tables = Arc::new(SessionTables {
            session: self.session,
            life: self.life,
            shared: self.shared.clone(),
            place: self.place.clone(),
            relies_on: Arc::new(Mutex::new(planned.relies_on.clone())),
            turn: Arc::default(),
            failure: Arc::default(),
        });
        let failure = tables.failure.clone();
        let handed_through = |error: QueryError| {
            let scan = failure.lock().expect("no holder of this lock panics").take();
            scan.unwrap_or_else(|| of_query(error))
        };
        let mut batches = self.processor.execute(planned, &execution, tables).await.map_err(&handed_through)?;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        loop {
            match batches.next().await {
                Some(batch) => rows.append(&mut batch.map_err(&handed_through)?),
                None => {
                    self.send_all_but_last(&mut rows).await;
                    self.reply(QueryReply::Rows { rows, last: true });
                    return Ok(());
                }
            }
            if rows.len() > QUERY_BATCH_ROWS {
                self.send_all_but_last(&mut rows).await;
            }
        }
    }

    /// Hands out full batches, each when it is wanted, until less than one is left.
    async fn send_all_but_last(&mut self, rows: &mut Vec<Vec<Value>>) {
        while rows.len() > QUERY_BATCH_ROWS {
            let rest = rows.split_off(QUERY_BATCH_ROWS);
            let batch = std::mem::replace(rows, rest);
            self.reply(QueryReply::Rows { rows: batch, last: false });
            if self.wanted.recv().await.is_none() {
                // Aborted: the task ends here.
                std::future::pending::<()>().await;
            }
        }
    }
}

fn statement_failure(sqlstate: &str, message: &str) -> Failure {
    Failure::Statement { sqlstate: sqlstate.to_owned(), message: message.to_owned(), detail: None, constraint: None }
}

fn of_query(error: QueryError) -> Failure {
    statement_failure(&error.sqlstate, &error.message)
}

/// Tables as a session's transaction sees them.
struct SessionTables {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    place: Arc<Place>,
    relies_on: Arc<Mutex<Vec<(Key, Timestamp)>>>,
    /// A session asks for one batch at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Why a scan failed, in the action driver's words.
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Tables for SessionTables {
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, Result<ScanBatch, QueryError>> {
        let scan = Scan {
            session: self.session,
            life: self.life,
            shared: self.shared.clone(),
            place: self.place.clone(),
            relies_on: self.relies_on.clone(),
            turn: self.turn.clone(),
            failure: self.failure.clone(),
            through: request.index.map(|index| IndexPath { table: request.table, index }),
            reverse: request.reverse,
            limit: request.batch_rows.min(request.limit.unwrap_or(usize::MAX)).max(1),
        };
        stream::try_unfold((scan, request.ranges), |(scan, left)| async move {
            if left.is_empty() {
                return Ok(None);
            }
            let (batch, left) = scan.batch(left).await?;
            Ok(Some((batch, (scan, left))))
        })
        .boxed()
    }
}

/// One scan of a table.
struct Scan {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    place: Arc<Place>,
    relies_on: Arc<Mutex<Vec<(Key, Timestamp)>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
    failure: Arc<Mutex<Option<Failure>>>,
    through: Option<IndexPath>,
    reverse: bool,
    limit: usize,
}

impl Scan {
    /// The next rows, and what is left of the ranges.
    async fn batch(&self, ranges: Vec<KeyRange>) -> Result<(ScanBatch, Vec<KeyRange>), QueryError> {
        let _turn = self.turn.lock().await;
        let limit = future::poll_fn(|_| match self.place.rows(self.limit) {
            // With the asker: who polls it next is the thread.
            0 => Poll::Pending,
            rows => Poll::Ready(rows),
        });
        let limit = limit.await;
        let (sender, answer) = oneshot::channel();
        self.shared.query().scans.lock().expect("no holder of this lock panics").insert(self.session, sender);
        let relies_on = std::mem::take(&mut *self.relies_on.lock().expect("no holder of this lock panics"));
        let (through, reverse, limit) = (self.through.clone(), self.reverse, limit as u32);
        let request = SessionRequest::Scan { ranges, through, reverse, limit, relies_on };
        self.shared.submit([Envelope {
            from_site: SiteId(0),
            from: ServerKind::Query,
            to_site: SiteId(0),
            to: ServerKind::ActionDriver,
            epoch: EpochNumber(0),
            incarnation: self.life,
            message: Message::SessionRequest(self.session, request),
        }]);
        let failure = match answer.await {
            Ok(SessionReply::Scanned { rows, left }) => {
                self.place.has_read(rows.len());
                return Ok((rows, left));
            }
            Ok(SessionReply::Failed(failure)) => failure,
            Ok(_) => statement_failure("XX000", "the action driver answered a scan with something else"),
            Err(_) => Failure::Unavailable { reason: "the site began a new life during the query".to_owned() },
        };
        *self.failure.lock().expect("no holder of this lock panics") = Some(failure);
        Err(QueryError::new("XX000", "a scan failed"))
    }
}
