//! Connections, and what is answered at each path.
//!
//! Invariant: every request passes [`guard`] before anything is done for it, and every answer has the headers that protect it.

use crate::actions::{ActionDesk, METHODS, SERVERS, ToolAction, WAYS};
use crate::answers::ToolRefusal;
use crate::files::{FILES, INDEX, LOGIN, PageFile};
use crate::limits::{
    BODY_BYTES_MAX, CONNECTIONS_MAX, HEAD_BYTES_MAX, HEAD_TIME_MAX, KEEP_ALIVE, LOOK_INTERVAL, PAGES_MAX, ROWS_MAX,
    SAMPLES_MAX, SAMPLES_USUAL, SQL_TIME_MAX, STATEMENTS_MAX,
};
use crate::poller::{ShownCluster, poll};
use crate::safety::{LoginGate, check_origin, cookie, has_cookie, protect};
use crate::sql::{SqlPlace, ask};
use crate::token::ConsoleToken;
use crate::views::ViewDesk;
use crate::{ToolAddress, ToolError, ToolOptions};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures::Stream;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What all requests share.
struct ToolState {
    options: ToolOptions,
    port: u16,
    token: ConsoleToken,
    logins: Mutex<LoginGate>,
    cluster: Arc<ShownCluster>,
    views: ViewDesk,
    actions: Arc<ActionDesk>,
    pages: Arc<Semaphore>,
    statements: Arc<Semaphore>,
}

/// The other end of a connection.
#[derive(Clone, Copy)]
struct PageAddress(SocketAddr);

/// Serves until `stop` is set.
pub(crate) fn run(options: ToolOptions, stop: &AtomicBool, ready: impl FnOnce(&ToolAddress)) -> Result<(), ToolError> {
    if !options.listen.ip().is_loopback() {
        return Err(ToolError::NotLoopback(options.listen));
    }
    let token = ConsoleToken::of_folder(&options.cluster.folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ToolError::System)?;
    runtime.block_on(async {
        let listen_error = |source| ToolError::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(listen_error)?;
        let listen = listener.local_addr().map_err(listen_error)?;
        let link = format!("http://{listen}/?token={}", token.text());
        let cluster = Arc::new(ShownCluster::new(options.cluster.sites.clone()));
        let state = Arc::new(ToolState {
            port: listen.port(),
            token,
            logins: Mutex::default(),
            views: ViewDesk::new(),
            actions: Arc::new(ActionDesk::new(options.clone(), cluster.clone())),
            cluster: cluster.clone(),
            pages: Arc::new(Semaphore::new(PAGES_MAX)),
            statements: Arc::new(Semaphore::new(STATEMENTS_MAX)),
            options,
        });
        ready(&ToolAddress { listen, link });
        tokio::select! {
            () = poll(cluster) => {}
            () = accept(listener, router(state)) => {}
            () = until(stop) => {}
        }
        Ok(())
    })
}

async fn until(stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((socket, address)) => {
                let router = router.clone().layer(Extension(PageAddress(address)));
                tokio::spawn(connection(socket, router, permit));
            }
            // No more files can be opened, or the client has gone already.
            Err(_) => tokio::time::sleep(LOOK_INTERVAL).await,
        }
    }
}

/// One connection, to its end. A page that misbehaves loses it, and nobody is told.
async fn connection(socket: TcpStream, router: Router, permit: OwnedSemaphorePermit) {
    let _ = socket.set_nodelay(true);
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).max_buf_size(HEAD_BYTES_MAX);
    let _ = builder.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router)).await;
    drop(permit);
}

fn router(state: Arc<ToolState>) -> Router {
    let router = Router::new()
        .route("/", get(index))
        .route("/login", post(login))
        .route("/api/console", get(console))
        .route("/api/history", get(history))
        .route("/api/view", get(view))
        .route("/api/sql", post(sql))
        .route("/api/actions", get(actions).post(act))
        .route("/events", get(events));
    let files = FILES.iter().fold(router, |router, file| router.route(file.path, get(|| async { whole(file) })));
    files
        .fallback(|| async { ToolRefusal::unknown() })
        .layer(axum::middleware::from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

fn whole(file: &'static PageFile) -> Response {
    ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response()
}

/// Lets a request through, or says why not.
async fn guard(State(state): State<Arc<ToolState>>, request: Request, next: Next) -> Response {
    let mut response = match pass(&state, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    protect(response.headers_mut());
    response
}

async fn pass(state: &ToolState, request: Request) -> Result<Request, ToolRefusal> {
    check_origin(request.method(), request.headers())?;
    let path = request.uri().path();
    // These two say themselves what is to be done without a token.
    let is_open = path == "/" || path == "/login" || FILES.iter().any(|file| file.is_open && file.path == path);
    if !is_open && !has_cookie(request.headers(), state.port, &state.token) {
        return Err(ToolRefusal::stranger());
    }
    if *request.method() != Method::POST {
        return Ok(request);
    }
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(HEAD_TIME_MAX, to_bytes(body, BODY_BYTES_MAX)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let words = format!("A request has at most {} KiB.", BODY_BYTES_MAX >> 10);
            return Err(ToolRefusal::body(StatusCode::PAYLOAD_TOO_LARGE, words));
        }
        Err(_) => return Err(ToolRefusal::body(StatusCode::REQUEST_TIMEOUT, "The request did not come to its end.")),
    };
    Ok(Request::from_parts(head, Body::from(bytes)))
}

/// What may stand in the address of the page.
#[derive(Deserialize)]
struct IndexQuery {
    token: Option<String>,
}

async fn index(State(state): State<Arc<ToolState>>, query: Query<IndexQuery>, request: Request) -> Response {
    match &query.token {
        Some(given) => entered(&state, given),
        None if has_cookie(request.headers(), state.port, &state.token) => whole(&INDEX),
        None => (StatusCode::UNAUTHORIZED, whole(&LOGIN)).into_response(),
    }
}

async fn login(State(state): State<Arc<ToolState>>, body: Bytes) -> Response {
    let text = std::str::from_utf8(&body).unwrap_or_default();
    let given = text.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
    entered(&state, given.trim())
}

/// Gives the cookie to who has the token. The token leaves the browser's address at once.
fn entered(state: &ToolState, given: &str) -> Response {
    let entered =
        state.logins.lock().unwrap_or_else(PoisonError::into_inner).enter(given, &state.token, Instant::now());
    match entered {
        Ok(()) => {
            let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie(state.port, &state.token))];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        // The page says the same to everybody; the words of a gate that is shut say when to come again.
        Err(refusal) if refusal.status() == StatusCode::UNAUTHORIZED => {
            (StatusCode::UNAUTHORIZED, whole(&LOGIN)).into_response()
        }
        Err(refusal) => (refusal.status(), refusal.words().to_owned()).into_response(),
    }
}

async fn console(State(state): State<Arc<ToolState>>) -> Json<Value> {
    let options = &state.options;
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "read_only": options.read_only,
        "local": options.cluster.is_local,
        "folder": options.cluster.folder.display().to_string(),
        "user": options.user,
        "sites": options.cluster.sites.keys().collect::<Vec<_>>(),
        "servers": SERVERS,
        "methods": METHODS,
        "ways": WAYS,
        "rows_max": ROWS_MAX,
    }))
}

/// How much of the past a page wants.
#[derive(Deserialize)]
struct HistoryQuery {
    seconds: Option<usize>,
}

async fn history(State(state): State<Arc<ToolState>>, query: Query<HistoryQuery>) -> Json<Value> {
    Json(state.cluster.columns(query.seconds.unwrap_or(SAMPLES_USUAL).min(SAMPLES_MAX)))
}

async fn events(
    State(state): State<Arc<ToolState>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ToolRefusal> {
    let full = || ToolRefusal::failed(format!("{PAGES_MAX} pages are open, which is all: close one of them."));
    let permit = state.pages.clone().try_acquire_owned().map_err(|_| full())?;
    let mut samples = state.cluster.newest.subscribe();
    samples.mark_changed();
    let events = futures::stream::unfold((samples, permit), next_event);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// The newest sample, once there is one that this page has not had.
async fn next_event(
    (mut samples, permit): (watch::Receiver<Arc<str>>, OwnedSemaphorePermit),
) -> Option<(Result<Event, Infallible>, (watch::Receiver<Arc<str>>, OwnedSemaphorePermit))> {
    loop {
        samples.changed().await.ok()?;
        let sample = samples.borrow_and_update().clone();
        if !sample.is_empty() {
            return Some((Ok(Event::default().event("sample").data(&*sample)), (samples, permit)));
        }
    }
}

/// Which view.
#[derive(Deserialize)]
struct ViewQuery {
    name: String,
}

async fn view(State(state): State<Arc<ToolState>>, query: Query<ViewQuery>) -> Result<Response, ToolRefusal> {
    let shown = state.views.show(&query.name, &state.cluster.sites, &state.options.user).await;
    let text = shown.ok_or_else(ToolRefusal::unknown)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text.to_string()).into_response())
}

/// SQL, and the site that is to be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqlRequest {
    site: u16,
    text: String,
}

fn read_document<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ToolRefusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| ToolRefusal::malformed(format!("The request cannot be read: {error}")))
}

async fn sql(State(state): State<Arc<ToolState>>, body: Bytes) -> Result<Response, ToolRefusal> {
    if state.options.read_only {
        return Err(ToolRefusal::read_only());
    }
    let asked: SqlRequest = read_document(&body)?;
    let site = state.cluster.sites.get(&asked.site);
    let site = site.ok_or_else(|| ToolRefusal::malformed(format!("There is no site {}.", asked.site)))?;
    let without = || ToolRefusal::failed(format!("No address for SQL is known of site {}.", asked.site));
    let address = site.sql.ok_or_else(without)?;
    if asked.text.contains('\0') {
        return Err(ToolRefusal::malformed("SQL has no null character."));
    }
    let full = || ToolRefusal::busy(format!("{STATEMENTS_MAX} texts of SQL run already: wait for one of them."));
    let _permit = state.statements.clone().try_acquire_owned().map_err(|_| full())?;
    match ask(SqlPlace { address, user: &state.options.user }, &asked.text, SQL_TIME_MAX).await {
        Ok(answer) => Ok(Json(answer).into_response()),
        Err(failure) if failure.is_answer => Ok((StatusCode::BAD_REQUEST, Json(failure)).into_response()),
        Err(failure) => Err(ToolRefusal::failed(failure.error)),
    }
}

async fn actions(State(state): State<Arc<ToolState>>) -> Json<Value> {
    Json(json!({ "done": state.actions.done() }))
}

async fn act(
    State(state): State<Arc<ToolState>>,
    Extension(PageAddress(who)): Extension<PageAddress>,
    body: Bytes,
) -> Result<Response, ToolRefusal> {
    if state.options.read_only {
        return Err(ToolRefusal::read_only());
    }
    let action: ToolAction = read_document(&body)?;
    state.actions.clone().carry_out(action, who).await.map(|done| Json(done).into_response())
}
