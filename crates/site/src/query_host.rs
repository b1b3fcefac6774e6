//! DataFusion on threads of its own.
//!
//! A statement is planned on one of many threads (`planners`), and runs as a task of one of a few asynchronous ones, the executors; what it
//! reads comes through the session's transaction at the action driver, in batches. A session has at most one query that runs, and a query at most one batch under way:
//! others of the session wait for functions that it runs. A panic inside a query ends that query only.
//!
//! Invariant: once a session's query was stopped, nothing of it reaches the session or the action driver any more ([`Gate`]), however long it takes until its
//! threads have noticed. Locks, outermost first: a gate's, the core's, those of this file's tables.

use crate::config::SiteConfig;
use crate::layout::orders;
use crate::planners::{Planners, within_budget};
use crate::query_failures::{failed, of_query, statement_failure};
use crate::query_gate::{Awaited, Gate, new_life, same_columns};
use crate::shared::SiteShared;
use crate::snapshot::take::{SnapshotRefusal, Wish};
use crate::thread_time::ThreadTime;
use crate::{clock, limits};
use futures::future::{AbortHandle, Abortable, BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use messages::limits::QUERY_BATCH_ROWS;
use messages::query::{QueryReply, QueryRequest, Run};
use messages::schema::CatalogVersions;
use messages::session::{Failure, IndexPath, SessionReply, SessionRequest};
use messages::snapshot_report;
use messages::{Envelope, EpochNumber, Incarnation, KeyRange, Message, ServerKind, SessionId, SiteId};
use query::{Execution, Interrupt, Prepared, Processor, QueryError, RandomKeys, Ready, ScanBatch, ScanRequest, Tables};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use tokio::sync::{mpsc, oneshot};
use values::Value;

/// Microseconds from 1970 to 2000, where SQL's timestamps count from.
const EPOCH_2000_MICROS: i64 = 946_684_800_000_000;

/// The door to the threads.
pub struct QueryHost {
    threads: OnceLock<Threads>,
    /// Of each session, those that wait for a function first; each runs within those before it.
    running: Mutex<BTreeMap<SessionId, Vec<RunningQuery>>>,
    scans: Mutex<BTreeMap<SessionId, oneshot::Sender<SessionReply>>>,
}

struct Threads {
    config: Arc<SiteConfig>,
    shared: Weak<SiteShared>,
    processor: Arc<Processor>,
    planners: Arc<Planners>,
    random: Arc<RandomKeys>,
    executors: Vec<Executor>,
}

/// A thread that runs queries.
struct Executor {
    work: mpsc::UnboundedSender<Option<Assigned>>,
    /// Queries that it has under way.
    load: Arc<AtomicUsize>,
}

/// A query for an executor.
struct Assigned {
    job: QueryJob,
    request: QueryRequest,
    abort: futures::future::AbortRegistration,
    load: QueryLoad,
}

/// One query under way.
struct QueryLoad(Arc<AtomicUsize>);

impl Drop for QueryLoad {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A query that may have more rows: its task waits for `More`, or for the rows of a function.
struct RunningQuery {
    gate: Arc<Gate>,
    abort: AbortHandle,
    interrupt: Interrupt,
    more: mpsc::UnboundedSender<()>,
    called: mpsc::UnboundedSender<Vec<Vec<Value>>>,
}

impl RunningQuery {
    fn stop(self) {
        self.gate.close();
        self.abort.abort();
        self.interrupt.set();
    }
}

impl QueryHost {
    /// A host whose threads do not run yet.
    pub(crate) fn new() -> QueryHost {
        QueryHost { threads: OnceLock::new(), running: Mutex::default(), scans: Mutex::default() }
    }

    /// Starts the threads.
    pub(crate) fn start(&self, shared: &Arc<SiteShared>, config: &Arc<SiteConfig>) -> Result<(), String> {
        let processor = Processor::with_memory(limits::query_memory_bytes()).map_err(|error| error.to_string())?;
        let executors = (0..limits::EXECUTORS).map(|_| Executor::start()).collect::<Result<_, String>>()?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| error.to_string())?;
        let threads = Threads {
            config: config.clone(),
            shared: Arc::downgrade(shared),
            processor: Arc::new(processor),
            planners: Arc::default(),
            random: Arc::new(RandomKeys::new(secret)),
            executors,
        };
        assert!(self.threads.set(threads).is_ok(), "a host starts once");
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<SessionId, Vec<RunningQuery>>> {
        self.running.lock().expect("no holder of this lock panics")
    }

    /// Stops the queries of a session but so many.
    fn stop_queries(&self, session: SessionId, but: usize) {
        let stopped = match self.running().get_mut(&session) {
            Some(all) => all.split_off(but.min(all.len())),
            None => Vec::new(),
        };
        stopped.into_iter().for_each(RunningQuery::stop);
    }

    /// Has a query of a session go on; its task has ended if it cannot.
    fn goes_on(&self, session: SessionId, within: usize, how: impl FnOnce(&RunningQuery) -> bool) -> bool {
        self.running().get(&session).and_then(|all| all.get(within)).is_some_and(how)
    }

    /// A request of the user interface, for this life of the site. `within`: how many queries of the session wait for functions.
    pub(crate) fn ask(&self, session: SessionId, within: u32, life: Incarnation, request: QueryRequest) {
        let within = within as usize;
        let Some(threads) = self.threads.get() else { return };
        // The threads end only when the site ends.
        let Some(shared) = threads.shared.upgrade() else { return };
        match request {
            QueryRequest::Stop => {
                self.stop_queries(session, within);
                reply(&shared, session, QueryReply::Stopped);
            }
            QueryRequest::More if self.goes_on(session, within, |running| running.more.send(()).is_ok()) => {}
            QueryRequest::Called { rows } => {
                self.stop_queries(session, within + 1);
                if !self.goes_on(session, within, |running| running.called.send(rows).is_ok()) {
                    reply(&shared, session, QueryReply::Failed(new_life()));
                }
            }
            QueryRequest::More => reply(&shared, session, QueryReply::Failed(new_life())),
            request => {
                self.stop_queries(session, within);
                let (more, wanted) = mpsc::unbounded_channel();
                let (called, returned) = mpsc::unbounded_channel();
                let returned = Arc::new(tokio::sync::Mutex::new(returned));
                let (abort, registration) = AbortHandle::new_pair();
                let (gate, interrupt) = (Arc::<Gate>::default(), Interrupt::default());
                let (processor, planners) = (threads.processor.clone(), threads.planners.clone());
                let (own_gate, own_interrupt) = (gate.clone(), interrupt.clone());
                let (config, random) = (threads.config.clone(), threads.random.clone());
                let job = QueryJob {
                    session,
                    life,
                    config,
                    shared,
                    processor,
                    planners,
                    random,
                    gate,
                    interrupt,
                    wanted,
                    returned,
                };
                let running = RunningQuery { gate: own_gate, abort, interrupt: own_interrupt, more, called };
                self.running().entry(session).or_default().push(running);
                threads.assign(job, request, registration);
            }
        }
    }

    /// The session is gone.
    pub(crate) fn forget(&self, session: SessionId) {
        self.stop_queries(session, 0);
        self.running().remove(&session);
    }

    /// The site has begun a new life. The caller holds the core's lock.
    pub(crate) fn forget_all(&self) {
        self.scans.lock().expect("no holder of this lock panics").clear();
        for running in std::mem::take(&mut *self.running()).into_values().flatten() {
            running.gate.is_past.store(true, Ordering::Relaxed);
            running.abort.abort();
            running.interrupt.set();
        }
    }

    pub(crate) fn stop(&self) {
        if let Some(threads) = self.threads.get() {
            threads.planners.stop();
            for executor in &threads.executors {
                let _ = executor.work.send(None);
            }
        }
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

impl Threads {
    /// Gives a query to the executor that has the fewest.
    fn assign(&self, job: QueryJob, request: QueryRequest, abort: futures::future::AbortRegistration) {
        let least = self.executors.iter().min_by_key(|executor| executor.load.load(Ordering::Relaxed));
        let Some(executor) = least else { return };
        executor.load.fetch_add(1, Ordering::Relaxed);
        let assigned = Assigned { job, request, abort, load: QueryLoad(executor.load.clone()) };
        // The thread has ended only when the site ends.
        let _ = executor.work.send(Some(assigned));
    }
}

impl Executor {
    fn start() -> Result<Executor, String> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
        let (work, assigned) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("query".to_owned()).stack_size(limits::QUERY_STACK_BYTES);
        let thread = thread.spawn(move || tokio::task::LocalSet::new().block_on(&runtime, serve(assigned)));
        thread.map_err(|error| error.to_string())?;
        Ok(Executor { work, load: Arc::default() })
    }
}

async fn serve(mut work: mpsc::UnboundedReceiver<Option<Assigned>>) {
    while let Some(Some(Assigned { job, request, abort, load })) = work.recv().await {
        tokio::task::spawn_local(async move {
            let _load = load;
            let _ = Abortable::new(job.run(request), abort).await;
        });
    }
}

fn reply(shared: &SiteShared, session: SessionId, reply: QueryReply) {
    shared.answer(Envelope {
        from_site: SiteId(0),
        from: ServerKind::Query,
        to_site: SiteId(0),
        to: ServerKind::UserInterface,
        epoch: EpochNumber(0),
        incarnation: Incarnation(0),
        message: Message::QueryReply(session, reply),
    });
}

/// One request under way.
struct QueryJob {
    session: SessionId,
    life: Incarnation,
    config: Arc<SiteConfig>,
    shared: Arc<SiteShared>,
    processor: Arc<Processor>,
    planners: Arc<Planners>,
    random: Arc<RandomKeys>,
    gate: Arc<Gate>,
    interrupt: Interrupt,
    wanted: mpsc::UnboundedReceiver<()>,
    returned: ReturnedRows,
}

/// Rows of functions that a query has called.
type ReturnedRows = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Vec<Vec<Value>>>>>;

impl QueryJob {
    async fn run(mut self, request: QueryRequest) {
        let done = AssertUnwindSafe(self.serve(request)).catch_unwind().await;
        let failure = match done {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => {
                self.processor.forget_plans();
                failed()
            }
        };
        self.reply(QueryReply::Failed(failure));
    }

    fn reply(&self, answer: QueryReply) {
        self.gate.pass(|| reply(&self.shared, self.session, answer));
    }

    async fn serve(&mut self, request: QueryRequest) -> Result<(), Failure> {
        match request {
            QueryRequest::Describe { sql, parameters, catalog, session } => {
                let planned =
                    self.planned(move |processor| processor.plan(&catalog, &session, &sql, &parameters)).await?;
                let described = QueryReply::Described {
                    columns: planned.columns.clone(),
                    parameters: planned.parameters().to_vec(),
                };
                self.reply(described);
                Ok(())
            }
            QueryRequest::Explain { sql, catalog, session } => {
                let execution = self.execution(Vec::new(), clock::wall_micros() as i64, session.process);
                let explained = move |processor: &Processor| {
                    let planned = processor.plan(&catalog, &session, &sql, &[])?;
                    processor.explain(&planned, &execution)
                };
                let plan = self.planned(explained).await?;
                let rows = plan.lines().map(|line| vec![Value::Text(line.into())]).collect();
                self.reply(QueryReply::Rows { rows, last: true });
                Ok(())
            }
            QueryRequest::Run(run) => {
                let Run { sql, parameters, parameter_types, columns, catalog, relies_on, query, session, time_micros } =
                    *run;
                let execution = self.execution(parameters, time_micros, session.process);
                let ready = move |processor: &Processor, planned: Prepared| {
                    if !same_columns(&planned.columns, &columns) {
                        return Ok(None);
                    }
                    let ready = processor.ready(&planned, &execution)?;
                    Ok(Some((planned, ready)))
                };
                // What is planned already keeps nobody waiting.
                let found = match self.processor.known(&catalog, &session, &sql, &parameter_types) {
                    Some(planned) => ready(&self.processor, planned).map_err(of_query)?,
                    None => {
                        let plan = move |processor: &Processor| {
                            ready(processor, processor.plan(&catalog, &session, &sql, &parameter_types)?)
                        };
                        self.planned(plan).await?
                    }
                };
                match found {
                    Some((planned, ready)) => self.stream_rows(&planned, ready, &relies_on, query).await,
                    None => {
                        self.reply(QueryReply::Changed);
                        Ok(())
                    }
                }
            }
            QueryRequest::Snapshot { name } => self.take_snapshot(name).await,
            QueryRequest::More | QueryRequest::Called { .. } | QueryRequest::Stop => Ok(()),
        }
    }

    /// Has the site's process take a snapshot. Whoever stops the query gives it up.
    async fn take_snapshot(&self, name: String) -> Result<(), Failure> {
        let folder = std::path::absolute(self.config.snapshot_folder());
        let folder = folder.map_err(|error| statement_failure("58030", &error.to_string()))?;
        let wish = Wish { name, folder, rate_mb: self.config.snapshot_rate };
        let refused = |refusal: SnapshotRefusal| statement_failure(&refusal.sqlstate, &refusal.message);
        let order = orders::order_snapshot(&self.config.data, &wish).map_err(refused)?;
        let _hanger = order.hanger().map_err(|error| statement_failure("58000", &error.to_string()))?;
        let (sender, answer) = oneshot::channel();
        let waiting = std::thread::Builder::new().name("snapshot-wait".to_owned());
        // Nobody waits any more when the query was stopped.
        let waits = waiting.spawn(move || drop(sender.send(order.wait())));
        waits.map_err(|error| statement_failure("53000", &error.to_string()))?;
        let taken = answer.await.map_err(|_| failed())?.map_err(refused)?;
        let rows = vec![vec![Value::text(taken.folder.display().to_string())]];
        self.reply(QueryReply::Rows { rows, last: true });
        Ok(())
    }

    /// What a planner makes of it, within the time that planning may take.
    async fn planned<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Processor) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, Failure> {
        let (interrupt, processor) = (self.interrupt.clone(), self.processor.clone());
        let awaited = Awaited(interrupt.clone());
        let (sender, answer) = oneshot::channel();
        let time = Arc::new(OnceLock::new());
        let begun = Arc::clone(&time);
        self.planners.run(Box::new(move || {
            if interrupt.is_set() {
                return;
            }
            let _ = begun.set(ThreadTime::begin());
            let done = std::panic::catch_unwind(AssertUnwindSafe(|| interrupt.watch(|| work(&processor))));
            if done.is_err() {
                processor.forget_plans();
            }
            // Nobody waits any more when the query was stopped.
            let _ = sender.send(done.map_err(|_| failed()));
        }));
        let done = within_budget(answer, &time).await;
        drop(awaited);
        match done {
            Some(Ok(done)) => done?.map_err(of_query),
            Some(Err(_)) => Err(failed()),
            None => {
                let seconds = limits::PLANNING_TIME_MAX.as_secs();
                let message =
                    format!("the statement is too complex: planning it takes more than {seconds} s of a processor");
                Err(statement_failure("54001", &message))
            }
        }
    }

    /// `time_micros`: when the transaction began. Each execution draws its own random numbers.
    fn execution(&self, parameters: Vec<Value>, time_micros: i64, process: i32) -> Execution {
        let random_key = self.random.draw();
        Execution {
            parameters,
            random_key,
            now: time_micros - EPOCH_2000_MICROS,
            seed: clock::wall_micros(),
            backend_pid: process,
        }
    }

    /// `rights`: catalog rows that decide that the session may read what it asks for.
    async fn stream_rows(
        &mut self,
        planned: &Prepared,
        ready: Ready,
        rights: &CatalogVersions,
        query: Option<u64>,
    ) -> Result<(), Failure> {
        let relies_on = match rights.is_empty() {
            true => Arc::clone(&planned.relies_on),
            false => planned.relies_on.iter().chain(rights.iter()).cloned().collect(),
        };
        let tables = Arc::new(SessionTables {
            config: self.config.clone(),
            session: self.session,
            life: self.life,
            shared: self.shared.clone(),
            gate: self.gate.clone(),
            relies_on: Arc::new(Mutex::new(relies_on)),
            query,
            turn: Arc::default(),
            failure: Arc::default(),
            returned: self.returned.clone(),
        });
        let failure = tables.failure.clone();
        let handed_through = |error: QueryError| {
            let scan = failure.lock().expect("no holder of this lock panics").take();
            scan.unwrap_or_else(|| of_query(error))
        };
        let mut batches = self.processor.run(ready, tables).map_err(&handed_through)?;
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

/// Tables as a session's transaction sees them.
struct SessionTables {
    config: Arc<SiteConfig>,
    session: SessionId,
    life: Incarnation,
    shared: Arc<SiteShared>,
    gate: Arc<Gate>,
    relies_on: Arc<Mutex<CatalogVersions>>,
    /// See [`Run::query`].
    query: Option<u64>,
    /// A session asks for one batch at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Why a scan failed, in the action driver's words.
    failure: Arc<Mutex<Option<Failure>>>,
    returned: ReturnedRows,
}

impl Tables for SessionTables {
    fn scan(&self, request: ScanRequest) -> BoxStream<'static, Result<ScanBatch, QueryError>> {
        if snapshot_report::is_of(request.table.storage) {
            // No transaction has a part in what is in files.
            let rows = crate::snapshot::tables::rows(request.table.storage, &self.config);
            let rows = rows.map_err(|message| QueryError::new("58030", message));
            return stream::once(std::future::ready(rows)).boxed();
        }
        let scan = HostedScan {
            session: self.session,
            life: self.life,
            shared: self.shared.clone(),
            gate: self.gate.clone(),
            relies_on: self.relies_on.clone(),
            query: self.query,
            turn: self.turn.clone(),
            failure: self.failure.clone(),
            through: request.index.map(|index| IndexPath { table: request.table, index }),
            reverse: request.reverse,
            limit: request.batch_rows.min(request.limit.unwrap_or(usize::MAX)).max(1) as u32,
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

    fn call(&self, function: u32, arguments: Vec<Value>) -> BoxFuture<'static, Result<Vec<Vec<Value>>, QueryError>> {
        let (session, shared, gate, returned) =
            (self.session, self.shared.clone(), self.gate.clone(), self.returned.clone());
        async move {
            gate.pass(|| reply(&shared, session, QueryReply::Call { function, arguments }));
            match returned.lock().await.recv().await {
                Some(rows) => Ok(rows),
                // Aborted: the task ends here.
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

/// One scan of a table.
struct HostedScan {
    session: SessionId,
    life: Incarnation,
    shared: Arc<SiteShared>,
    gate: Arc<Gate>,
    relies_on: Arc<Mutex<CatalogVersions>>,
    /// See [`Run::query`].
    query: Option<u64>,
    turn: Arc<tokio::sync::Mutex<()>>,
    failure: Arc<Mutex<Option<Failure>>>,
    through: Option<IndexPath>,
    reverse: bool,
    limit: u32,
}

impl HostedScan {
    /// The next rows, and what is left of the ranges.
    async fn batch(&self, ranges: Vec<KeyRange>) -> Result<(ScanBatch, Vec<KeyRange>), QueryError> {
        let _turn = self.turn.lock().await;
        let (sender, answer) = oneshot::channel();
        let relies_on = std::mem::take(&mut *self.relies_on.lock().expect("no holder of this lock panics"));
        let (through, reverse, limit) = (self.through.clone(), self.reverse, self.limit);
        let request = SessionRequest::Scan { ranges, through, reverse, limit, relies_on, query: self.query };
        let envelope = Envelope {
            from_site: SiteId(0),
            from: ServerKind::Query,
            to_site: SiteId(0),
            to: ServerKind::ActionDriver,
            epoch: EpochNumber(0),
            incarnation: self.life,
            message: Message::SessionRequest(self.session, request),
        };
        self.gate.pass(|| {
            self.shared.query().scans.lock().expect("no holder of this lock panics").insert(self.session, sender);
            self.shared.submit([envelope]);
        });
        let failure = match answer.await {
            Ok(SessionReply::Scanned { rows, left }) => return Ok((rows, left)),
            Ok(SessionReply::Failed(failure)) => failure,
            Ok(_) => statement_failure("XX000", "the action driver answered a scan with something else"),
            Err(_) => new_life(),
        };
        *self.failure.lock().expect("no holder of this lock panics") = Some(failure);
        Err(QueryError::new("XX000", "a scan failed"))
    }
}
