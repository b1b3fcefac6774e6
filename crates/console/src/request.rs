//! What somebody asks a console for: from the bytes that have come.
//!
//! Invariant: no bytes make it fail in another way than by an answer that says what was wrong.

use crate::limits::{HEADERS_MAX, REQUEST_BYTES_MAX};
use httparse::{EMPTY_HEADER, Error, Request, Status};

/// What `raid status` says.
pub const STATUS_LINE: &[u8] = b"status\n";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The metrics.
    Metrics,
    /// Whether the process does its work.
    Live,
    /// Whether clients are to be sent here.
    Ready,
    /// The status as JSON.
    Status,
}

/// Why there is no such page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageRefusal {
    /// It is no request.
    Malformed,
    /// There is nothing at this path.
    NoPage,
    /// Only GET and HEAD.
    Method,
    /// It is too long, or has too many headers.
    TooLong,
}

/// What has come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleRequest {
    /// Not all of it.
    Incomplete,
    /// The line `status`: an answer without a head.
    Line,
    /// A request of HTTP.
    Http {
        /// What is asked for.
        page: Result<Page, PageRefusal>,
        /// Only the head of the answer is wanted.
        head_only: bool,
    },
}

/// Looks at what has come. `ended`: nothing more will.
pub(crate) fn look(input: &[u8], ended: bool) -> ConsoleRequest {
    let word = STATUS_LINE.trim_ascii_end();
    if let Some(rest) = input.strip_prefix(word)
        && (rest.starts_with(b"\n") || rest.starts_with(b"\r\n") || ended && rest.trim_ascii().is_empty())
    {
        return ConsoleRequest::Line;
    }
    let refused = |refusal| ConsoleRequest::Http { page: Err(refusal), head_only: false };
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = Request::new(&mut headers);
    match request.parse(input) {
        Ok(Status::Complete(_)) => {
            let method = request.method.unwrap_or_default();
            let page = match method {
                "GET" | "HEAD" => page_at(request.path.unwrap_or_default()),
                _ => Err(PageRefusal::Method),
            };
            ConsoleRequest::Http { page, head_only: method == "HEAD" }
        }
        Ok(Status::Partial) if input.len() >= REQUEST_BYTES_MAX => refused(PageRefusal::TooLong),
        Ok(Status::Partial) if ended => refused(PageRefusal::Malformed),
        Ok(Status::Partial) => ConsoleRequest::Incomplete,
        Err(Error::TooManyHeaders) => refused(PageRefusal::TooLong),
        // `status` and the end of its line may come apart.
        Err(_) if !ended && STATUS_LINE.starts_with(input.strip_suffix(b"\r").unwrap_or(input)) => {
            ConsoleRequest::Incomplete
        }
        Err(_) => refused(PageRefusal::Malformed),
    }
}

fn page_at(path: &str) -> Result<Page, PageRefusal> {
    match path.split('?').next().unwrap_or_default() {
        "/metrics" => Ok(Page::Metrics),
        "/health/live" => Ok(Page::Live),
        "/health/ready" => Ok(Page::Ready),
        "/status" => Ok(Page::Status),
        _ => Err(PageRefusal::NoPage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(page: Result<Page, PageRefusal>) -> ConsoleRequest {
        ConsoleRequest::Http { page, head_only: false }
    }

    /// Who asks in a way that HTTP allows would be told something else than what was asked for.
    #[test]
    fn requests_are_known_by_their_method_and_path() {
        let get = |path: &str| look(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes(), false);
        assert_eq!(get("/metrics"), http(Ok(Page::Metrics)));
        assert_eq!(get("/metrics?name[]=up"), http(Ok(Page::Metrics)));
        assert_eq!(get("/health/live"), http(Ok(Page::Live)));
        assert_eq!(get("/health/ready"), http(Ok(Page::Ready)));
        assert_eq!(get("/status"), http(Ok(Page::Status)));
        assert_eq!(get("/metricsx"), http(Err(PageRefusal::NoPage)));
        assert_eq!(get("/../metrics"), http(Err(PageRefusal::NoPage)));
        assert_eq!(
            look(b"HEAD /metrics HTTP/1.0\n\n", false),
            ConsoleRequest::Http { page: Ok(Page::Metrics), head_only: true }
        );
        assert_eq!(look(b"POST /metrics HTTP/1.1\r\n\r\n", false), http(Err(PageRefusal::Method)));
        assert_eq!(look(b"GET /metrics HTTP/1.1\r\nHost: x\r\n", false), ConsoleRequest::Incomplete);
        assert_eq!(look(b"GET /metrics HTTP/1.1\r\nHost: x\r\n", true), http(Err(PageRefusal::Malformed)));
        assert_eq!(
            look(b"\x16\x03\x01\x02\x00\x01\x00", false),
            http(Err(PageRefusal::Malformed)),
            "it begins with TLS"
        );
    }

    /// `raid status` would wait for ever, or an HTTP client be given JSON without a head.
    #[test]
    fn the_line_is_known_however_it_comes() {
        for said in ["status\n", "status\r\n", "status\nmore"] {
            assert_eq!(look(said.as_bytes(), false), ConsoleRequest::Line, "{said:?}");
        }
        assert_eq!(look(b"status", true), ConsoleRequest::Line);
        for begun in ["", "s", "statu", "status", "status\r"] {
            assert_eq!(look(begun.as_bytes(), false), ConsoleRequest::Incomplete, "{begun:?}");
        }
        for other in ["statuses\n", "Status\n", "stat\n"] {
            assert_eq!(look(other.as_bytes(), true), http(Err(PageRefusal::Malformed)), "{other:?}");
        }
    }

    /// A client that never ends its request would fill memory.
    #[test]
    fn what_is_too_long_is_refused() {
        let many = (0..=HEADERS_MAX).map(|number| format!("H{number}: x\r\n"));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", many.collect::<String>());
        assert_eq!(look(many.as_bytes(), false), http(Err(PageRefusal::TooLong)));
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(REQUEST_BYTES_MAX));
        assert_eq!(look(&long.as_bytes()[..REQUEST_BYTES_MAX], false), http(Err(PageRefusal::TooLong)));
    }
}
