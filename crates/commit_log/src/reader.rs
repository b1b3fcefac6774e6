//! Reads records back, through the file and not through the mapping: a disk that cannot read is an error here, and would
//! be a signal there. The kernel shows both the same bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::error::LogError;
use crate::frame::{Head, frame_bytes};
use crate::limits::{FRAME_HEADER_BYTES, READ_BUFFER_BYTES, SEGMENT_HEADER_BYTES};
use crate::place::Position;
use crate::recovery::KeptSegment;

/// The records from a position to the end of the log as it was when reading began.
pub(crate) struct LogReader<'a> {
    /// The segments of the log, in order and without a gap.
    segments: &'a [KeptSegment],
    position: Position,
    end: Position,
    /// The index of the segment that is being read, and its file at `position`.
    open: Option<(usize, BufReader<File>)>,
    /// No record has been read yet, so `position` is the word of the caller.
    fresh: bool,
}

impl<'a> LogReader<'a> {
    /// `first <= position <= end`, where `first` is the start of the first of `segments`.
    pub(crate) fn new(segments: &'a [KeptSegment], position: Position, end: Position) -> LogReader<'a> {
        LogReader { segments, position, end, open: None, fresh: true }
    }

    fn segment_end(&self, index: usize) -> Position {
        self.segments.get(index + 1).map_or(self.end, |next| next.first)
    }

    /// Opens the file that holds `position`.
    fn seek(&self) -> Result<(usize, BufReader<File>), LogError> {
        // The last segment that starts at or below the position: of segments without records there is at most one, the
        // last, which starts at the end.
        let index = self.segments.partition_point(|segment| segment.first <= self.position) - 1;
        let segment = &self.segments[index];
        let failed = |source| LogError::io("read", &segment.path, 0, source);
        let mut file = File::open(&segment.path).map_err(failed)?;
        let offset = SEGMENT_HEADER_BYTES + self.position.since(segment.first);
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        Ok((index, BufReader::with_capacity(READ_BUFFER_BYTES, file)))
    }

    fn read(&mut self) -> Result<Vec<u8>, LogError> {
        let (index, mut file) = match self.open.take() {
            Some((index, file)) if self.position < self.segment_end(index) => (index, file),
            _ => self.seek()?,
        };
        let room = self.segment_end(index).since(self.position);
        let record = self.read_record(&mut file, room);
        match record {
            Ok(Some(record)) => {
                self.position = self.position.plus(frame_bytes(record.len()) as u64);
                self.open = Some((index, file));
                self.fresh = false;
                Ok(record)
            }
            Ok(None) if self.fresh => Err(LogError::NotARecord { position: self.position }),
            Ok(None) => Err(self.corrupt(index)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.corrupt(index)),
            Err(error) => Err(LogError::io("read", &self.segments[index].path, 0, error)),
        }
    }

    /// `None` if what stands there is not a record of at most `room` bytes that belongs there.
    fn read_record(&self, file: &mut BufReader<File>, room: u64) -> io::Result<Option<Vec<u8>>> {
        let mut head = [0; FRAME_HEADER_BYTES];
        file.read_exact(&mut head)?;
        let head = Head::decode(&head);
        let Some(length) = head.length() else { return Ok(None) };
        let frame = frame_bytes(length);
        if frame as u64 > room {
            return Ok(None);
        }
        let mut record = vec![0; frame - FRAME_HEADER_BYTES];
        file.read_exact(&mut record)?;
        if !head.matches(self.position, &record) {
            return Ok(None);
        }
        record.truncate(length);
        Ok(Some(record))
    }

    fn corrupt(&self, index: usize) -> LogError {
        let segment = &self.segments[index];
        LogError::Corrupt {
            file: segment.path.clone(),
            offset: SEGMENT_HEADER_BYTES + self.position.since(segment.first),
            position: self.position,
            bytes: self.end.since(self.position),
        }
    }
}

impl Iterator for LogReader<'_> {
    type Item = Result<(Position, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position == self.end {
            return None;
        }
        let position = self.position;
        let record = self.read();
        if record.is_err() {
            self.position = self.end;
        }
        Some(record.map(|record| (position, record)))
    }
}
