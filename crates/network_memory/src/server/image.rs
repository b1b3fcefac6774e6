//! What a server saves when it is told to end, and reloads when it starts: frames, each with a checksum.
//!
//! Invariant: an image is the whole memory of a server or none. Whoever reloads one must see to it that it is never reloaded again: the
//! server keeps its incarnation, and what it then promises stands in no image.

use super::copy::{LogCopy, Permit};
use super::{LogServer, Room};
use crate::limits::{BATCH_BYTES, BATCH_RECORDS_MAX, LEASE, NUMBER_MAX};
use crate::message::{CheckedRecord, check_configuration};
use crate::names::{Configuration, Incarnation, LogId, LogMark, RecordNumber, WriterEpoch};
use crate::planted::PlantedInLog;
use crate::retained::Retained;
use raidcomm::codec::{Codec, CodecError, Compact};
use raidcomm::frame::{self, FrameDecoder, FrameError};
use raidcomm::limits::FRAME_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use thiserror::Error;

/// Of the format below.
const VERSION: u32 = 1;
/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// One frame.
#[derive(Debug, Serialize, Deserialize)]
enum ImageFrame {
    /// The first.
    Head { version: u32, incarnation: Incarnation },
    /// The records that follow are of this log.
    Log {
        log: LogId,
        sealed: WriterEpoch,
        configuration: Option<Configuration>,
        is_established: bool,
        from: LogMark,
        permit: u64,
        /// The writer might acknowledge from its disk: it may for a whole lease more, because nobody knows how long this took.
        is_permitted: bool,
    },
    /// They follow those of the frame before.
    Records { position: RecordNumber, records: Vec<CheckedRecord> },
    /// The last: without it the image is a part of one.
    End { logs: u64, records: u64 },
}

/// Why a file is no image.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The operating system.
    #[error(transparent)]
    System(#[from] io::Error),
    /// It has been damaged.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// It was written by another program.
    #[error("{0}")]
    Codec(#[from] CodecError),
    /// It was written by another version.
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// It ends too soon, or its parts are in a wrong order.
    #[error("it is not whole: {0}")]
    Part(&'static str),
    /// A record does not follow the one before.
    #[error("record {1} of {0} is not in its place")]
    Record(LogId, RecordNumber),
    /// It does not fit any more.
    #[error("it takes {bytes} bytes, more than the capacity of {capacity_bytes}")]
    Capacity {
        /// That it takes.
        bytes: u64,
        /// That there are.
        capacity_bytes: u64,
    },
}

/// Writes one.
///
/// # Errors
/// The operating system refuses.
pub fn save(server: &LogServer, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut put = |part: &ImageFrame| {
        buffer.clear();
        let framed = frame::append_with(&mut buffer, FRAME_BYTES_MAX, |payload| {
            Compact::append(part, payload).expect("memory takes every part");
        });
        framed.map_err(|bytes| io::Error::other(format!("a part of {bytes} bytes")))?;
        to.write_all(&buffer)
    };
    put(&ImageFrame::Head { version: VERSION, incarnation: server.incarnation })?;
    let mut count = 0;
    for (&log, copy) in &server.logs {
        let LogCopy { sealed, configuration, is_established, records, permit, .. } = copy;
        let sealed = if server.planted == Some(PlantedInLog::SealNotSaved) { WriterEpoch::default() } else { *sealed };
        let (configuration, from) = (configuration.clone(), records.start_mark());
        put(&ImageFrame::Log {
            log,
            sealed,
            configuration,
            is_established: *is_established,
            from,
            permit: permit.number,
            is_permitted: permit.until.is_some() && server.planted != Some(PlantedInLog::PermitNotSaved),
        })?;
        let mut position = records.from();
        while position < records.end() {
            let mut bytes = 0;
            let fits = |record: &&CheckedRecord| {
                let fits = bytes < BATCH_BYTES;
                bytes += record.bytes.len();
                fits
            };
            let batch: Vec<CheckedRecord> =
                records.starting_at(position).take(BATCH_RECORDS_MAX).take_while(fits).cloned().collect();
            count += batch.len() as u64;
            let next = position.plus(batch.len());
            put(&ImageFrame::Records { position, records: batch })?;
            position = next;
        }
    }
    put(&ImageFrame::End { logs: server.logs.len() as u64, records: count })
}

/// Reads one, at this time of the server's clock.
///
/// # Errors
/// The file is no whole image.
pub fn load(now: u64, room: Room, from: &mut impl Read) -> Result<LogServer, ImageError> {
    let mut parts = Parts { from, decoder: FrameDecoder::new(FRAME_BYTES_MAX), scratch: vec![0; READ_BYTES] };
    let ImageFrame::Head { version, incarnation } = parts.next()? else {
        return Err(ImageError::Part("it has no head"));
    };
    if version != VERSION {
        return Err(ImageError::Version(version));
    }
    if incarnation == Incarnation::NONE {
        return Err(ImageError::Part("it has no incarnation"));
    }
    let mut server = LogServer::new(incarnation, room);
    let (mut last, mut count) = (None, 0);
    loop {
        match parts.next()? {
            ImageFrame::Head { .. } => return Err(ImageError::Part("it has two heads")),
            ImageFrame::Log { log, sealed, configuration, is_established, from, permit, is_permitted } => {
                if configuration.as_ref().is_some_and(|configuration| check_configuration(configuration).is_err()) {
                    return Err(ImageError::Part("a configuration cannot be"));
                }
                if from.position.0 > NUMBER_MAX || sealed.number > NUMBER_MAX {
                    return Err(ImageError::Part("a number is out of range"));
                }
                let permit = Permit { number: permit, until: is_permitted.then_some(now + LEASE) };
                let copy = LogCopy::saved(sealed, configuration, is_established, Retained::behind(from), permit);
                server.logs.insert(log, copy);
                last = Some(log);
            }
            ImageFrame::Records { position, records } => {
                let log = last.ok_or(ImageError::Part("records are of no log"))?;
                let copy = server.logs.get_mut(&log).expect("it has just been made");
                // A record that had rotted before it was saved is refused when it is read.
                for (index, record) in records.into_iter().enumerate() {
                    let at = position.plus(index);
                    if at != copy.records.end() {
                        return Err(ImageError::Record(log, at));
                    }
                    copy.records.push(record);
                    count += 1;
                }
            }
            ImageFrame::End { logs, records } if logs == server.logs.len() as u64 && records == count => break,
            ImageFrame::End { .. } => return Err(ImageError::Part("logs or records are missing")),
        }
    }
    server.used_bytes = server.logs.values().map(LogCopy::bytes).sum();
    if server.used_bytes > room.capacity_bytes {
        return Err(ImageError::Capacity { bytes: server.used_bytes, capacity_bytes: room.capacity_bytes });
    }
    Ok(server)
}

struct Parts<'a, R> {
    from: &'a mut R,
    decoder: FrameDecoder,
    scratch: Vec<u8>,
}

impl<R: Read> Parts<'_, R> {
    fn next(&mut self) -> Result<ImageFrame, ImageError> {
        loop {
            if let Some(payload) = self.decoder.next_frame()? {
                return Ok(Compact::read(&payload)?);
            }
            match self.from.read(&mut self.scratch) {
                Ok(0) => return Err(ImageError::Part("it ends too soon")),
                Ok(count) => self.decoder.feed(&self.scratch[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
