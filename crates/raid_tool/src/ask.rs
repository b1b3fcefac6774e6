//! One question to a site's console, and its answer.
//!
//! Invariant: it ends after [`ANSWER_TIME_MAX`] and keeps at most [`ANSWER_BYTES_MAX`], whatever the other side says or leaves unsaid.

use crate::limits::{ANSWER_BYTES_MAX, ANSWER_TIME_MAX};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a console says of this path; the error says in words why nothing came.
pub(crate) async fn get(console: SocketAddr, path: &str) -> Result<String, String> {
    match tokio::time::timeout(ANSWER_TIME_MAX, exchange(console, path)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer from {console} within {} ms", ANSWER_TIME_MAX.as_millis())),
    }
}

async fn exchange(console: SocketAddr, path: &str) -> Result<String, String> {
    // The kind is in words alone; the whole error has a number of the operating system.
    let told = |error: std::io::Error| format!("no answer from {console}: {}", error.kind());
    let mut socket = TcpStream::connect(console).await.map_err(told)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {console}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.map_err(told)?;
    let mut bytes = Vec::new();
    socket.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).await.map_err(told)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{console} does not answer with text"))?;
    body(&text).map(str::to_owned).ok_or_else(|| format!("{console} does not answer like a site's console"))
}

/// The body of an answer of HTTP/1.1 that says 200.
fn body(answer: &str) -> Option<&str> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error's text would pass for a status.
    #[test]
    fn only_what_is_well_answered_counts() {
        assert_eq!(body("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}\r\n\r\n"), Some("{}\r\n\r\n"));
        assert_eq!(body("HTTP/1.1 404 Not Found\r\n\r\nx"), None);
        assert_eq!(body("HTTP/1.1 200 OK\r\n"), None);
        assert_eq!(body(""), None);
    }
}
