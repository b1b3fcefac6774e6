//! What sessions have done, for an operator: the audit log, and slow statements among the log lines.
//!
//! The audit log is a file of JSON objects, one to a line, in the folder that `audit_log` names. A thread writes it. Invariants: a disk that is slow, full or
//! away holds no client up; what is lost by that is counted, and the count stands in the log; the files never take more than [`limits::AUDIT_FILES`] times
//! [`limits::AUDIT_FILE_BYTES`].

use crate::clock::date;
use crate::limits;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;
use user_interface::{EventKind, EventSelection, SessionEvent};

/// The file that is being written; those before it have a number behind.
const FILE: &str = "audit.jsonl";

/// Takes what user interfaces note.
#[derive(Debug)]
pub(crate) struct EventLog {
    site: u16,
    audit: Option<SyncSender<Value>>,
    writer: Option<JoinHandle<()>>,
    lost: Arc<AtomicU64>,
    selection: EventSelection,
}

impl EventLog {
    /// With the audit log in this folder, if there is to be one, and statements told that take so many milliseconds.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be opened.
    pub(crate) fn open(site: u16, folder: Option<&Path>, slow_ms: Option<u64>) -> Result<EventLog, String> {
        let selection = EventSelection { audit: folder.is_some(), slow_ms };
        let lost = Arc::<AtomicU64>::default();
        let served = folder.map(|folder| serve(site, folder, lost.clone())).transpose()?;
        let (audit, writer) = served.unzip();
        Ok(EventLog { site, audit, writer, lost, selection })
    }

    /// What is wanted.
    pub(crate) fn selection(&self) -> EventSelection {
        self.selection
    }

    /// Takes it.
    pub(crate) fn take(&self, event: &SessionEvent) {
        if let EventKind::Slow { statement, took_us, sqlstate } = &event.kind {
            let SessionEvent { process, user, database, application, .. } = event;
            let took_ms = *took_us as f64 / 1_000.0;
            let sqlstate = sqlstate.as_deref();
            tracing::info!(process, user, database, application, took_ms, sqlstate, statement, "slow statement");
            return;
        }
        let Some(audit) = &self.audit else { return };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = audit.try_send(line(self.site, event)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What was noted before an orderly end is written.
impl Drop for EventLog {
    fn drop(&mut self) {
        self.audit = None;
        if let Some(Err(_)) = self.writer.take().map(JoinHandle::join) {
            tracing::error!("the thread of the audit log had panicked");
        }
    }
}

fn line(site: u16, event: &SessionEvent) -> Value {
    let mut line = json!({
        "at": at(event.at_micros),
        "site": site,
        "process": event.process,
        "user": event.user,
        "database": event.database,
        "address": event.address.to_canonical(),
        "application": event.application,
    });
    let mut put = |name: &str, value: Value| drop(line.as_object_mut().map(|line| line.insert(name.to_owned(), value)));
    match &event.kind {
        EventKind::LoggedIn { encrypted } => {
            put("event", json!("login"));
            put("encrypted", json!(encrypted));
        }
        EventKind::Refused { sqlstate, message } => {
            put("event", json!("login refused"));
            put("sqlstate", json!(sqlstate));
            put("message", json!(message));
        }
        EventKind::Left => put("event", json!("logout")),
        EventKind::Changed { statement, sqlstate } => {
            put("event", json!(if sqlstate.is_some() { "change refused" } else { "change" }));
            put("role", json!(event.role));
            put("statement", json!(statement));
            if let Some(sqlstate) = sqlstate {
                put("sqlstate", json!(sqlstate));
            }
        }
        EventKind::Slow { .. } => unreachable!("it goes to the log lines"),
    }
    line
}

/// RFC 3339, in UTC.
fn at(micros: i64) -> String {
    let micros = u64::try_from(micros).unwrap_or(0);
    format!("{}.{:06}Z", date(micros).replace(' ', "T"), micros % 1_000_000)
}

/// Opens the file, and has a thread write it until the process ends.
fn serve(site: u16, folder: &Path, lost: Arc<AtomicU64>) -> Result<(SyncSender<Value>, JoinHandle<()>), String> {
    let mut files = AuditFiles::open(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (sender, receiver) = sync_channel(limits::AUDIT_EVENTS_MAX);
    let run = move || files.write_all_of(site, &receiver, &lost);
    let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(run);
    let thread = thread.map_err(|error| format!("no thread for the audit log: {error}"))?;
    Ok((sender, thread))
}

struct AuditFiles {
    folder: PathBuf,
    file: File,
    bytes: u64,
    /// When its failure was told last.
    told: Option<Instant>,
}

impl AuditFiles {
    fn open(folder: &Path) -> io::Result<AuditFiles> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(FILE))?;
        let bytes = file.metadata()?.len();
        Ok(AuditFiles { folder: folder.to_owned(), file, bytes, told: None })
    }

    fn write_all_of(&mut self, site: u16, receiver: &Receiver<Value>, lost: &AtomicU64) {
        while let Ok(event) = receiver.recv() {
            let missed = lost.swap(0, Ordering::Relaxed);
            if let Err((unwritten, error)) = self.write_behind(site, missed, &event) {
                lost.fetch_add(unwritten, Ordering::Relaxed);
                self.tell(&error);
            }
        }
    }

    /// Writes an event, and before it how many are missing. Errors: with how many were not written.
    fn write_behind(&mut self, site: u16, missed: u64, event: &Value) -> Result<(), (u64, io::Error)> {
        if missed > 0 {
            let note = json!({ "at": event["at"], "site": site, "event": "events lost", "count": missed });
            self.write(&note).map_err(|error| (missed + 1, error))?;
        }
        self.write(event).map_err(|error| (1, error))
    }

    fn tell(&mut self, error: &io::Error) {
        if self.told.is_none_or(|told| told.elapsed() > limits::AUDIT_COMPLAINTS) {
            self.told = Some(Instant::now());
            tracing::error!(folder = %self.folder.display(), %error, "the audit log cannot be written; what is missing is counted");
        }
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        let line = format!("{event}\n");
        if self.bytes > 0 && self.bytes + line.len() as u64 > limits::AUDIT_FILE_BYTES {
            self.rotate()?;
        }
        // In one piece: no reader finds half a line.
        self.file.write_all(line.as_bytes())?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// The file gets the number 1, that one 2, and so on; the oldest goes.
    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let numbered = |number: u32| self.folder.join(format!("{FILE}.{number}"));
        for number in (1..limits::AUDIT_FILES - 1).rev() {
            match fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(self.folder.join(FILE), numbered(1))?;
        let AuditFiles { file, bytes, .. } = AuditFiles::open(&self.folder)?;
        (self.file, self.bytes) = (file, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn event(kind: EventKind) -> SessionEvent {
        SessionEvent {
            at_micros: 1_709_210_096_000_012,
            process: 7,
            user: "ann\n".to_owned(),
            role: "boss".to_owned(),
            database: "raid".to_owned(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            application: "psql".to_owned(),
            kind,
        }
    }

    /// A program that reads the log would miss what happened, or take one event for two.
    #[test]
    fn an_event_is_one_line() {
        let statement = "GRANT ALL\nON t TO \"x\"".to_owned();
        let line = line(3, &event(EventKind::Changed { statement: statement.clone(), sqlstate: None })).to_string();
        assert!(!line.contains('\n'));
        let read: Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(read["at"], "2024-02-29T12:34:56.000012Z");
        assert_eq!((&read["event"], &read["role"], &read["site"]), (&json!("change"), &json!("boss"), &json!(3)));
        assert_eq!(read["statement"], statement);
    }

    /// The log would fill the disk, or be lost when the process starts again.
    #[test]
    fn files_are_bounded_and_go_on() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let long = json!({ "statement": "x".repeat(limits::AUDIT_FILE_BYTES as usize / 3) });
        for number in 0..3 * limits::AUDIT_FILES {
            // Another process each time.
            let mut files = AuditFiles::open(folder.path()).expect("it can be opened");
            files.write(&json!({ "number": number })).expect("there is room");
            files.write(&long).expect("there is room");
        }
        let sizes = fs::read_dir(folder.path()).expect("the folder").flatten();
        let sizes: Vec<u64> = sizes.map(|entry| entry.metadata().expect("a file").len()).collect();
        assert_eq!(sizes.len(), limits::AUDIT_FILES as usize);
        assert!(sizes.iter().all(|size| *size <= limits::AUDIT_FILE_BYTES), "{sizes:?}");
        let newest = fs::read_to_string(folder.path().join(FILE)).expect("it is there");
        assert!(newest.contains(&format!("{{\"number\":{}}}", 3 * limits::AUDIT_FILES - 1)));
    }
}
