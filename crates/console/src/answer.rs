//! What a console says to a request.

use crate::request::{ConsoleRequest, Page, PageRefusal};
use crate::{ConsoleSource, Health};

const TEXT: &str = "text/plain; charset=utf-8";
/// Of the text format, in the version that all scrapers know.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

/// The answer's bytes; `None`: more has to come first.
pub(crate) fn answer(asked: ConsoleRequest, source: &impl ConsoleSource) -> Option<Vec<u8>> {
    let (page, head_only) = match asked {
        ConsoleRequest::Incomplete => return None,
        // Without a status there is nothing to say.
        ConsoleRequest::Line => return Some(source.status().unwrap_or_default().into_bytes()),
        ConsoleRequest::Http { page, head_only } => (page, head_only),
    };
    let (status, kind, body) = match page {
        Ok(Page::Metrics) => ("200 OK", METRICS, source.metrics()),
        Ok(Page::Live) => health(source.live()),
        Ok(Page::Ready) => health(source.ready()),
        Ok(Page::Status) => match source.status() {
            Some(status) => ("200 OK", JSON, status),
            None => refused(PageRefusal::NoPage),
        },
        Err(refusal) => refused(refusal),
    };
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    if !head_only {
        bytes.extend_from_slice(body.as_bytes());
    }
    Some(bytes)
}

fn health(health: Health) -> (&'static str, &'static str, String) {
    match health {
        Ok(words) => ("200 OK", TEXT, words + "\n"),
        Err(reason) => ("503 Service Unavailable", TEXT, reason + "\n"),
    }
}

fn refused(refusal: PageRefusal) -> (&'static str, &'static str, String) {
    let (status, words) = match refusal {
        PageRefusal::Malformed => ("400 Bad Request", "This is no request of HTTP/1.1, nor the line `status`."),
        PageRefusal::NoPage => {
            ("404 Not Found", "There is /metrics, /health/live, /health/ready and, of a site, /status.")
        }
        PageRefusal::Method => ("405 Method Not Allowed", "Only GET and HEAD: nothing can be changed here."),
        PageRefusal::TooLong => ("431 Request Header Fields Too Large", "The request is too long."),
    };
    (status, TEXT, format!("{words}\n"))
}
