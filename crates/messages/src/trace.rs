//! Traces: what became of each message, with the time, and the file format in which a site keeps them (Raidcomm's logging facility, "Communication
//! in the Raid distributed database system", 1991).
//!
//! A file is a run of records; the first says whose it is. Names stand in a file once, each before the first event that uses it. Times are of the
//! boot clock: processes of one host share it, those of different hosts do not.

use crate::label::Label;
use crate::server::{Envelope, PROTOCOLS};
use identifiers::{Incarnation, ServerKind, SiteId, TransactionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// What happened to a message at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happened {
    /// It left for another site.
    Sent,
    /// Its receiver took it, and was done with it, its records logged and its messages handed on, after so long, in nanoseconds.
    Handled {
        /// How long.
        took: u64,
    },
}

/// A message at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, in nanoseconds of the boot clock: as it left, or as its receiver took it.
    pub at: u64,
    /// What happened to it.
    pub happened: Happened,
    /// Who sent it.
    pub from: (SiteId, ServerKind),
    /// Who receives it.
    pub to: (SiteId, ServerKind),
    /// What it is called, and of what it speaks.
    pub label: Label,
}

impl TraceEvent {
    /// What happens to a message.
    pub fn of(envelope: &Envelope, label: Label, at: u64, happened: Happened) -> TraceEvent {
        let (from, to) = ((envelope.from_site, envelope.from), (envelope.to_site, envelope.to));
        TraceEvent { at, happened, from, to, label }
    }
}

/// Which messages are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// Those of these protocols.
    Protocols(Vec<String>),
}

impl Selection {
    /// From `all`, or names of protocols with commas between them; nothing is none.
    ///
    /// # Errors
    /// A name that is no protocol's, and which ones there are.
    pub fn parse(text: &str) -> Result<Selection, String> {
        let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| **name != "all" && !PROTOCOLS.contains(name)) {
            return Err(format!("{unknown:?} is no kind of message: `all`, or some of {}", PROTOCOLS.join(",")));
        }
        Ok(match names.as_slice() {
            [] => Selection::None,
            names if names.contains(&"all") => Selection::All,
            names => Selection::Protocols(names.iter().map(ToString::to_string).collect()),
        })
    }

    /// Whether messages with this label are traced.
    pub fn has(&self, label: &Label) -> bool {
        match self {
            Selection::None => false,
            Selection::All => true,
            Selection::Protocols(names) => names.iter().any(|name| name == label.protocol),
        }
    }
}

/// Events of messages that are being traced, until the world takes them.
#[derive(Debug, Default)]
pub struct Tracer {
    selection: Selection,
    events: Vec<TraceEvent>,
}

impl Tracer {
    /// Traces these.
    pub fn new(selection: Selection) -> Tracer {
        Tracer { selection, events: Vec::new() }
    }

    /// Whether anything is traced.
    pub fn is_on(&self) -> bool {
        self.selection != Selection::None
    }

    /// The label of a message that is traced.
    pub fn wants(&self, envelope: &Envelope) -> Option<Label> {
        if !self.is_on() {
            return None;
        }
        Some(Label::of(&envelope.message)).filter(|label| self.selection.has(label))
    }

    /// Notes an event.
    pub fn note(&mut self, event: TraceEvent) {
        self.events.push(event);
    }

    /// Takes what was noted since the last call.
    pub fn take(&mut self) -> Vec<TraceEvent> {
        std::mem::take(&mut self.events)
    }
}

/// What stands in a file.
#[derive(Serialize, Deserialize)]
enum Record {
    Site(SiteId, Incarnation),
    Name(u16, String),
    Event {
        at: u64,
        happened: Happened,
        from: (SiteId, ServerKind),
        to: (SiteId, ServerKind),
        protocol: u16,
        name: u16,
        transaction: Option<TransactionId>,
        session: Option<u64>,
    },
}

/// Turns events into the bytes of a file.
#[derive(Debug, Default)]
pub struct TraceEncoder {
    names: BTreeMap<&'static str, u16>,
}

impl TraceEncoder {
    /// The beginning of a file of this life of a site.
    pub fn begin(site: SiteId, incarnation: Incarnation, bytes: &mut Vec<u8>) -> TraceEncoder {
        append(&Record::Site(site, incarnation), bytes);
        TraceEncoder::default()
    }

    /// Appends an event.
    pub fn event(&mut self, event: &TraceEvent, bytes: &mut Vec<u8>) {
        let TraceEvent { at, happened, from, to, label } = *event;
        let (protocol, name) = (self.name(label.protocol, bytes), self.name(label.name, bytes));
        let session = label.session.map(|session| session.0);
        let transaction = label.transaction;
        append(&Record::Event { at, happened, from, to, protocol, name, transaction, session }, bytes);
    }

    fn name(&mut self, name: &'static str, bytes: &mut Vec<u8>) -> u16 {
        let next = self.names.len() as u16;
        *self.names.entry(name).or_insert_with(|| {
            append(&Record::Name(next, name.to_owned()), bytes);
            next
        })
    }
}

fn append(record: &Record, bytes: &mut Vec<u8>) {
    let taken = std::mem::take(bytes);
    *bytes = postcard::to_extend(record, taken).expect("a record always encodes");
}

/// An event as it was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The site whose file it is.
    pub site: SiteId,
    /// As in [`TraceEvent`].
    pub at: u64,
    /// As in [`TraceEvent`].
    pub happened: Happened,
    /// As in [`TraceEvent`].
    pub from: (SiteId, ServerKind),
    /// As in [`TraceEvent`].
    pub to: (SiteId, ServerKind),
    /// The protocol and the message: `Access.Read`.
    pub name: String,
    /// The transaction that it names.
    pub transaction: Option<TransactionId>,
}

/// Why bytes are no trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// Something else stands at the beginning.
    #[error("this is no trace of a site")]
    Foreign,
    /// Damaged, or of another version of Raid.
    #[error("what stands at byte {0} is no event")]
    Damaged(usize),
}

/// Reads a file: the events, and whether its last record is cut off, as it is when the site was killed or still writes.
///
/// # Errors
/// It is no trace, or damaged.
pub fn decode(bytes: &[u8]) -> Result<(Vec<Traced>, bool), TraceError> {
    let Ok((Record::Site(site, _), mut rest)) = postcard::take_from_bytes::<Record>(bytes) else {
        return Err(TraceError::Foreign);
    };
    let mut names = BTreeMap::new();
    let mut events = Vec::new();
    while !rest.is_empty() {
        let damaged = || TraceError::Damaged(bytes.len() - rest.len());
        let (record, after) = match postcard::take_from_bytes::<Record>(rest) {
            Ok(taken) => taken,
            Err(postcard::Error::DeserializeUnexpectedEnd) => return Ok((events, true)),
            Err(_) => return Err(damaged()),
        };
        match record {
            Record::Site(..) => return Err(damaged()),
            Record::Name(number, name) => drop(names.insert(number, name)),
            Record::Event { at, happened, from, to, protocol, name, transaction, .. } => {
                let (Some(protocol), Some(name)) = (names.get(&protocol), names.get(&name)) else {
                    return Err(damaged());
                };
                let name = if name.is_empty() { protocol.clone() } else { format!("{protocol}.{name}") };
                events.push(Traced { site, at, happened, from, to, name, transaction });
            }
        }
        rest = after;
    }
    Ok((events, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::CommitMessage;
    use crate::{EpochNumber, Message};
    use proptest::prelude::*;

    fn envelope(sequence: u64) -> Envelope {
        let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(2), sequence };
        Envelope {
            from_site: SiteId(2),
            from: ServerKind::AtomicityController,
            to_site: SiteId(1),
            to: ServerKind::AtomicityController,
            epoch: EpochNumber(3),
            incarnation: Incarnation(4),
            message: Message::Commit(CommitMessage::Waiting { transaction }),
        }
    }

    fn file(count: u64) -> Vec<u8> {
        let mut tracer = Tracer::new(Selection::All);
        for sequence in 0..count {
            let envelope = envelope(sequence);
            let label = tracer.wants(&envelope).expect("all are wanted");
            tracer.note(TraceEvent::of(&envelope, label, 1_000 + sequence, Happened::Handled { took: sequence }));
        }
        let mut bytes = Vec::new();
        let mut encoder = TraceEncoder::begin(SiteId(1), Incarnation(9), &mut bytes);
        tracer.take().iter().for_each(|event| encoder.event(event, &mut bytes));
        bytes
    }

    #[test]
    fn events_are_read_as_they_were_noted() {
        let bytes = file(3);
        let (events, cut) = decode(&bytes).expect("a trace");
        assert!(!cut);
        for (sequence, event) in (0..).zip(&events) {
            let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(2), sequence };
            let expected = Traced {
                site: SiteId(1),
                at: 1_000 + sequence,
                happened: Happened::Handled { took: sequence },
                from: (SiteId(2), ServerKind::AtomicityController),
                to: (SiteId(1), ServerKind::AtomicityController),
                name: "Commit.Waiting".to_owned(),
                transaction: Some(transaction),
            };
            assert_eq!(*event, expected);
        }
        assert_eq!(events.len(), 3);
    }

    #[test]
    fn only_what_was_selected_is_traced() {
        assert!(Tracer::default().wants(&envelope(1)).is_none());
        let select =
            |text| Tracer::new(Selection::parse(text).expect("names of protocols")).wants(&envelope(1)).is_some();
        assert!(select("all") && select("Access,Commit") && select(" Commit ") && !select("Access") && !select(""));
        let error = Selection::parse("Commit,Comit").expect_err("a slip of the pen");
        assert!(error.contains("\"Comit\"") && error.contains("Concurrency,"), "{error}");
    }

    /// A new protocol must be one that can be selected.
    #[test]
    fn every_protocol_can_be_selected() {
        for count in 0..PROTOCOLS.len() as u32 {
            let known = postcard::to_allocvec(&(count, [0_u8; 32])).expect("numbers encode");
            let Ok((message, _)) = postcard::take_from_bytes::<Message>(&known) else { continue };
            assert_eq!(PROTOCOLS[message.protocol()], Label::of(&message).protocol, "{message:?}");
        }
        let beyond = postcard::to_allocvec(&(PROTOCOLS.len() as u32, [0_u8; 32])).expect("numbers encode");
        assert!(postcard::take_from_bytes::<Message>(&beyond).is_err(), "a protocol that cannot be selected");
    }

    proptest! {
        /// A trace ends where its site was killed, and may have been damaged on the way to who reads it.
        #[test]
        fn cut_and_damaged_files_never_panic(length in 0usize..200, place in 0usize..200, byte in any::<u8>()) {
            let whole = file(5);
            let mut bytes = whole[..length.min(whole.len())].to_vec();
            if let Ok((events, _)) = decode(&bytes) {
                prop_assert!(events.len() <= 5);
            }
            if let Some(damaged) = bytes.get_mut(place) {
                *damaged = byte;
            }
            let _ = decode(&bytes);
        }
    }
}
