//! The file in which a site traces its messages, if the environment asks for it.
//!
//! Invariant: a trace that cannot be written ends, with a line in the log; it never holds the site up for long, and never ends it.

use crate::config::SiteConfig;
use crate::limits::{TRACE_BUFFER_BYTES, TRACE_BYTES_MAX};
use messages::Incarnation;
use messages::trace::{Selection, TraceEncoder, TraceEvent};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// What its name ends in.
pub const SUFFIX: &str = ".trace";

/// Environment variable with the kinds of messages to be traced: `all`, or their names with commas.
pub const VARIABLE: &str = "RAID_TRACE";

/// See the module's description.
#[derive(Debug, Default)]
pub struct TraceFile {
    selection: Selection,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    encoder: TraceEncoder,
    buffer: Vec<u8>,
    written: u64,
}

/// What the environment asks for.
///
/// # Errors
/// It names kinds of messages that there are not.
pub fn selection() -> Result<Selection, String> {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    Selection::parse(&text).map_err(|error| format!("{VARIABLE}: {error}"))
}

impl TraceFile {
    /// Of a life of a site.
    pub fn begin(config: &SiteConfig, incarnation: Incarnation) -> TraceFile {
        let selection = match selection() {
            Ok(Selection::None) => return TraceFile::default(),
            Ok(selection) => selection,
            Err(error) => {
                tracing::warn!(error, "nothing is traced");
                return TraceFile::default();
            }
        };
        let path = config.data.join(format!("life-{}{SUFFIX}", incarnation.0));
        let mut buffer = Vec::new();
        let encoder = TraceEncoder::begin(config.site(), incarnation, &mut buffer);
        match File::create(&path) {
            Ok(file) => {
                tracing::info!(file = %path.display(), "messages are traced");
                let mut trace = TraceFile { selection, open: Some(Open { path, file, encoder, buffer, written: 0 }) };
                // Whatever becomes of the site, the file says whose trace it is.
                trace.flush();
                trace
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "nothing is traced");
                TraceFile::default()
            }
        }
    }

    /// Which messages are traced.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Whether events are kept.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Keeps events.
    pub fn write(&mut self, events: Vec<TraceEvent>) {
        let Some(open) = &mut self.open else { return };
        for event in &events {
            open.encoder.event(event, &mut open.buffer);
        }
        if open.buffer.len() >= TRACE_BUFFER_BYTES {
            self.flush();
        }
    }

    /// Gives the operating system what is kept.
    pub fn flush(&mut self) {
        let Some(open) = &mut self.open else { return };
        let path = open.path.display();
        if let Err(error) = open.file.write_all(&open.buffer) {
            tracing::warn!(file = %path, %error, "the trace ends");
            self.open = None;
            return;
        }
        open.written += open.buffer.len() as u64;
        open.buffer.clear();
        if open.written >= TRACE_BYTES_MAX {
            tracing::warn!(file = %path, bytes = open.written, "the trace is as long as it may be, and ends");
            self.open = None;
        }
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        self.flush();
    }
}
