//! DataFusion on a thread of its own.
//!
//! Queries run as tasks of one asynchronous thread; what they read comes through the session's transaction at the action driver, in batches. A
//! session has at most one query, and a query at most one batch under way. A panic inside a query ends that query only.

use crate::clock;
use crate::shared::Shared;
use futures::future::FutureExt;
use futures::stream::{self, BoxStream, StreamExt};
use messages::limits::QUERY_BATCH_ROWS;
use messages::program::ResultColumn;
use messages::query::{QueryReply, QueryRequest, Run};
use messages::schema::{Catalog, CatalogVersions};
use messages::session::{Failure, IndexPath, SessionReply, SessionRequest, StatementFailure};
use messages::{Envelope, EpochNumber, Incarnation, KeyRange, Message, ServerKind, SessionId, SiteId};
use query::{Execution, Prepared, Processor, QueryError, ScanBatch, ScanRequest, SessionFacts, Tables};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::{mpsc, oneshot};
use values::{Type, Value};

/// Microseconds from 1970 to 2000, where SQL's timestamps count from.
const EPOCH_2000_MICROS: i64 = 946_684_800_000_000;

/// What reaches the thread.
enum Order {
    Request(SessionId, Incarnation, QueryRequest),
    Forget(SessionId),
    ForgetAll,
    Stop,
}

/// The door to the thread.
pub struct QueryHost {
    orders: OnceLock<mpsc::UnboundedSender<Order>>,
    scans: Mutex<BTreeMap<SessionId, oneshot::Sender<SessionReply>>>,
}

impl QueryHost {
    /// A host whose thread does not run yet.
    pub(crate) fn new() -> QueryHost {
        QueryHost { orders: OnceLock::new(), scans: Mutex::default() }
    }

    /// Starts the thread.
    pub(crate) fn start(&self, shared: &Arc<Shared>) -> Result<(), String> {
        let processor = Arc::new(Processor::new().map_err(|error| error.to_string())?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
        let (sender, orders) = mpsc::unbounded_channel();
        assert!(self.orders.set(sender).is_ok(), "a host starts once");
        let shared = shared.clone();
        let thread = std::thread::Builder::new().name("query".to_owned()).spawn(move || {
            let tasks = tokio::task::LocalSet::new();
            tasks.block_on(&runtime, serve(orders, shared, processor));
        });
        thread.map(drop).map_err(|error| error.to_string())
    }

    fn order(&self, order: Order) {
        if let Some(orders) = self.orders.get() {
            // The thread has ended only when the site ends.
            let _ = orders.send(order);
        }
    }

    /// A request of the user interface, for this life of the site.
    pub(crate) fn ask(&self, session: SessionId, life: Incarnation, request: QueryRequest) {
        self.order(Order::Request(session, life, request));
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
            Order::Forget(session) => stop(&mut running, &session),
            Order::Request(session, _, QueryRequest::Stop) => {
                stop(&mut running, &session);
                reply(&shared, session, QueryReply::Stopped);
            }
            Order::ForgetAll => {
                for (_, running) in std::mem::take(&mut running) {
                    running.task.abort();
                }
            }
            Order::Request(session, _, QueryRequest::More) => match running.get(&session) {
                Some(running) if running.more.send(()).is_ok() => {}
                _ => reply(&shared, session, QueryReply::Rows { rows: Vec::new(), last: true }),
            },
            Order::Request(session, life, request) => {
                stop(&mut running, &session);
                let (more, wanted) = mpsc::unbounded_channel();
                let job = Job { session, life, shared: shared.clone(), processor: processor.clone(), wanted };
                running.insert(session, Running { task: tokio::task::spawn_local(job.run(request)), more });
            }
        }
    }
}

fn reply(shared: &Shared, session: SessionId, reply: QueryReply) {
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
struct Job {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    processor: Arc<Processor>,
    wanted: mpsc::UnboundedReceiver<()>,
}

impl Job {
    async fn run(mut self, request: QueryRequest) {
        let (session, shared) = (self.session, self.shared.clone());
        let failure = match AssertUnwindSafe(self.serve(request)).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => statement_failure("XX000", "the query processor failed on this statement"),
        };
        reply(&shared, session, QueryReply::Failed(failure));
    }

    async fn serve(&mut self, request: QueryRequest) -> Result<(), Failure> {
        match request {
            QueryRequest::Describe { sql, parameters, catalog, session } => {
                let planned = self.plan(&sql, &parameters, &catalog, &session)?;
                let described = QueryReply::Described {
                    columns: planned.columns.clone(),
                    parameters: planned.parameters().to_vec(),
                };
                reply(&self.shared, self.session, described);
                Ok(())
            }
            QueryRequest::Explain { sql, catalog, session } => {
                let planned = self.plan(&sql, &[], &catalog, &session)?;
                let plan = self
                    .processor
                    .explain(&planned, &self.execution(Vec::new(), clock::wall_micros() as i64))
                    .await
                    .map_err(of_query)?;
                let rows = plan.lines().map(|line| vec![Value::Text(line.into())]).collect();
                reply(&self.shared, self.session, QueryReply::Rows { rows, last: true });
                Ok(())
            }
            QueryRequest::Run(run) => {
                let Run { sql, parameters, parameter_types, columns, catalog, session, time_micros } = *run;
                let planned = self.plan(&sql, &parameter_types, &catalog, &session)?;
                if !same_columns(&planned.columns, &columns) {
                    reply(&self.shared, self.session, QueryReply::Changed);
                    return Ok(());
                }
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
        session: &SessionFacts,
    ) -> Result<Prepared, Failure> {
        self.processor.plan(catalog, session, sql, parameters).map_err(of_query)
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

    async fn stream_rows(&mut self, planned: &Prepared, execution: Execution) -> Result<(), Failure> {
        let tables = Arc::new(SessionTables {
            session: self.session,
            life: self.life,
            shared: self.shared.clone(),
            relies_on: Arc::new(Mutex::new(Arc::clone(&planned.relies_on))),
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
                    reply(&self.shared, self.session, QueryReply::Rows { rows, last: true });
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
            reply(&self.shared, self.session, QueryReply::Rows { rows: batch, last: false });
            if self.wanted.recv().await.is_none() {
                // Aborted: the task ends here.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Whether rows of these columns are what is expected: names and types, as PostgreSQL compares them.
fn same_columns(found: &[ResultColumn], expected: &[ResultColumn]) -> bool {
    let shape = |column: &ResultColumn| (column.name.clone(), column.column_type);
    found.iter().map(shape).eq(expected.iter().map(shape))
}

fn statement_failure(sqlstate: &str, message: &str) -> Failure {
    let (sqlstate, message) = (sqlstate.to_owned(), message.to_owned());
    Failure::Statement(Box::new(StatementFailure { sqlstate, message, detail: None, constraint: None }))
}

fn of_query(error: QueryError) -> Failure {
    statement_failure(&error.sqlstate, &error.message)
}

/// Tables as a session's transaction sees them.
struct SessionTables {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    relies_on: Arc<Mutex<CatalogVersions>>,
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
            relies_on: self.relies_on.clone(),
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
}

/// One scan of a table.
struct Scan {
    session: SessionId,
    life: Incarnation,
    shared: Arc<Shared>,
    relies_on: Arc<Mutex<CatalogVersions>>,
    turn: Arc<tokio::sync::Mutex<()>>,
    failure: Arc<Mutex<Option<Failure>>>,
    through: Option<IndexPath>,
    reverse: bool,
    limit: u32,
}

impl Scan {
    /// The next rows, and what is left of the ranges.
    async fn batch(&self, ranges: Vec<KeyRange>) -> Result<(ScanBatch, Vec<KeyRange>), QueryError> {
        let _turn = self.turn.lock().await;
        let (sender, answer) = oneshot::channel();
        self.shared.query().scans.lock().expect("no holder of this lock panics").insert(self.session, sender);
        let relies_on = std::mem::take(&mut *self.relies_on.lock().expect("no holder of this lock panics"));
        let (through, reverse, limit) = (self.through.clone(), self.reverse, self.limit);
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
            Ok(SessionReply::Scanned { rows, left }) => return Ok((rows, left)),
            Ok(SessionReply::Failed(failure)) => failure,
            Ok(_) => statement_failure("XX000", "the action driver answered a scan with something else"),
            Err(_) => Failure::Unavailable { reason: "the site began a new life during the query".to_owned() },
        };
        *self.failure.lock().expect("no holder of this lock panics") = Some(failure);
        Err(QueryError::new("XX000", "a scan failed"))
    }
}
