//! What pages are told: JSON, or why not, in words.
//!
//! Invariant: no refusal is a bare number; each says what to do, as far as that is known.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why something is not done.
#[derive(Debug)]
pub(crate) struct ToolRefusal {
    status: StatusCode,
    words: String,
}

impl ToolRefusal {
    /// 400: what was asked for is none of the things that there are.
    pub(crate) fn malformed(words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status: StatusCode::BAD_REQUEST, words: words.into() }
    }

    /// 401: no token.
    pub(crate) fn stranger() -> ToolRefusal {
        let words = "This page is not logged in: open the address that `raid console` has printed.".to_owned();
        ToolRefusal { status: StatusCode::UNAUTHORIZED, words }
    }

    /// 403: it may not be asked from there, or of this console.
    pub(crate) fn forbidden(words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status: StatusCode::FORBIDDEN, words: words.into() }
    }

    /// 403: nothing may be changed.
    pub(crate) fn read_only() -> ToolRefusal {
        ToolRefusal::forbidden(
            "This console was started with --read-only: it changes nothing and asks no SQL but its own.",
        )
    }

    /// 404: nothing has this name.
    pub(crate) fn unknown() -> ToolRefusal {
        ToolRefusal { status: StatusCode::NOT_FOUND, words: "There is nothing of this name here.".to_owned() }
    }

    /// 409: something else is under way.
    pub(crate) fn busy(words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status: StatusCode::CONFLICT, words: words.into() }
    }

    /// 413 or 408: the request is too long, or too slow.
    pub(crate) fn body(status: StatusCode, words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status, words: words.into() }
    }

    /// 429: too often.
    pub(crate) fn too_often(words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status: StatusCode::TOO_MANY_REQUESTS, words: words.into() }
    }

    /// 503: whoever should have done it says why it is not done.
    pub(crate) fn failed(words: impl Into<String>) -> ToolRefusal {
        ToolRefusal { status: StatusCode::SERVICE_UNAVAILABLE, words: words.into() }
    }

    /// The words.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// The status of HTTP.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for ToolRefusal {
    fn into_response(self) -> Response {
        (self.status, axum::Json(json!({ "error": self.words }))).into_response()
    }
}
