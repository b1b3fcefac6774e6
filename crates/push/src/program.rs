//! A program as its text says it: parameters, tables and hooks with blocks of words.
//!
//! Invariant: it knows names and places, and not yet whether the program is safe: [`crate::verify`] tells.

use crate::limits::{HEADERS_BYTES, TABLE_BYTES_MAX};

/// Where a program stands in the path of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PushHook {
    /// A packet leaves: behind the network layer, before the device.
    Send,
    /// A packet has come: behind the device, before the network layer.
    Receive,
}

impl PushHook {
    /// Both.
    pub const ALL: [PushHook; 2] = [PushHook::Send, PushHook::Receive];

    /// Its name in the text.
    pub const fn name(self) -> &'static str {
        match self {
            PushHook::Send => "send",
            PushHook::Receive => "receive",
        }
    }
}

/// The type of a field: an unsigned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushFieldType {
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes.
    U64,
}

impl PushFieldType {
    /// All, the shortest first.
    pub const ALL: [PushFieldType; 4] = [PushFieldType::U8, PushFieldType::U16, PushFieldType::U32, PushFieldType::U64];

    /// Its bytes.
    pub const fn bytes(self) -> usize {
        match self {
            PushFieldType::U8 => 1,
            PushFieldType::U16 => 2,
            PushFieldType::U32 => 4,
            PushFieldType::U64 => 8,
        }
    }

    /// Its name in the text.
    pub const fn name(self) -> &'static str {
        match self {
            PushFieldType::U8 => "u8",
            PushFieldType::U16 => "u16",
            PushFieldType::U32 => "u32",
            PushFieldType::U64 => "u64",
        }
    }

    /// Its largest value.
    pub const fn value_max(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub shape: PushFieldType,
    /// Bytes from the begin of the row, a multiple of its size.
    pub offset: usize,
}

/// A table: rows of fields, of which the first `count` are in use.
///
/// In memory it is 8 bytes of the count, then the rows, all in the machine's byte order. The kernel's map and [`crate::PushTables`] have the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushTable {
    /// Its name.
    pub name: String,
    /// Rows that it has room for, at least 1.
    pub rows: u64,
    /// Its fields in the order of the text.
    pub fields: Vec<PushField>,
    /// Bytes of a row, a multiple of 8.
    pub row_bytes: usize,
}

impl PushTable {
    /// Bytes of the count at its begin.
    pub const COUNT_BYTES: usize = 8;

    /// A table whose fields are laid out in their order, each at a multiple of its size. `None` if it has more than 64 KiB.
    pub fn new(name: &str, rows: u64, fields: &[(String, PushFieldType)]) -> Option<PushTable> {
        let mut offset = 0_usize;
        let mut laid = Vec::new();
        for (field, shape) in fields {
            offset = offset.next_multiple_of(shape.bytes());
            laid.push(PushField { name: field.clone(), shape: *shape, offset });
            offset += shape.bytes();
        }
        let table = PushTable { name: name.to_owned(), rows, fields: laid, row_bytes: offset.next_multiple_of(8) };
        let bytes = u64::try_from(table.row_bytes).ok()?.checked_mul(rows)?;
        (bytes <= (TABLE_BYTES_MAX - PushTable::COUNT_BYTES) as u64).then_some(table)
    }

    /// Bytes of the whole table, with its count.
    pub fn bytes(&self) -> usize {
        // `new` has made sure that it is at most 64 KiB.
        PushTable::COUNT_BYTES + self.row_bytes * self.rows as usize
    }

    /// The number of a field.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

/// Words that take two cells and leave one. All numbers are unsigned, of 64 bits, and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    ExclusiveOr,
    /// `<<`: by the lowest 6 bits of the upper cell.
    ShiftLeft,
    /// `>>`: by the lowest 6 bits of the upper cell.
    ShiftRight,
    /// `=`: 1 or 0.
    Equal,
    /// `<>`: 1 or 0.
    Differs,
    /// `<`: 1 or 0.
    Less,
    /// `min`
    Minimum,
}

impl PushOperator {
    /// All.
    pub const ALL: [PushOperator; 11] = [
        PushOperator::Add,
        PushOperator::Subtract,
        PushOperator::And,
        PushOperator::Or,
        PushOperator::ExclusiveOr,
        PushOperator::ShiftLeft,
        PushOperator::ShiftRight,
        PushOperator::Equal,
        PushOperator::Differs,
        PushOperator::Less,
        PushOperator::Minimum,
    ];

    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            PushOperator::Add => "+",
            PushOperator::Subtract => "-",
            PushOperator::And => "&",
            PushOperator::Or => "|",
            PushOperator::ExclusiveOr => "^",
            PushOperator::ShiftLeft => "<<",
            PushOperator::ShiftRight => ">>",
            PushOperator::Equal => "=",
            PushOperator::Differs => "<>",
            PushOperator::Less => "<",
            PushOperator::Minimum => "min",
        }
    }

    /// Its value of the lower and the upper cell.
    pub const fn of(self, lower: u64, upper: u64) -> u64 {
        match self {
            PushOperator::Add => lower.wrapping_add(upper),
            PushOperator::Subtract => lower.wrapping_sub(upper),
            PushOperator::And => lower & upper,
            PushOperator::Or => lower | upper,
            PushOperator::ExclusiveOr => lower ^ upper,
            PushOperator::ShiftLeft => lower << (upper & 63),
            PushOperator::ShiftRight => lower >> (upper & 63),
            PushOperator::Equal => (lower == upper) as u64,
            PushOperator::Differs => (lower != upper) as u64,
            PushOperator::Less => (lower < upper) as u64,
            PushOperator::Minimum => {
                if lower < upper {
                    lower
                } else {
                    upper
                }
            }
        }
    }

    /// Whether its value is a truth: 1 or 0.
    pub const fn compares(self) -> bool {
        matches!(self, PushOperator::Equal | PushOperator::Differs | PushOperator::Less)
    }
}

/// Fields of a packet's headers, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushHeader {
    /// `packet-bytes`: bytes of the IPv4 packet that are there.
    PacketBytes,
    /// `source-hardware`: 48 bits.
    SourceHardware,
    /// `destination-hardware`: 48 bits.
    DestinationHardware,
    /// `ip-protocol`: 17, as a program sees UDP only.
    Protocol,
    /// `time-to-live`
    TimeToLive,
    /// `source-address`: 32 bits.
    SourceAddress,
    /// `destination-address`: 32 bits.
    DestinationAddress,
    /// `udp-source`: a port.
    SourcePort,
    /// `udp-destination`: a port.
    DestinationPort,
}

/// Where a field of a header lies in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushHeaderPlace {
    /// Bytes from the begin of the frame.
    pub offset: usize,
    /// 1, 2, 4 or 6.
    pub bytes: usize,
}

impl PushHeader {
    /// All.
    pub const ALL: [PushHeader; 9] = [
        PushHeader::PacketBytes,
        PushHeader::SourceHardware,
        PushHeader::DestinationHardware,
        PushHeader::Protocol,
        PushHeader::TimeToLive,
        PushHeader::SourceAddress,
        PushHeader::DestinationAddress,
        PushHeader::SourcePort,
        PushHeader::DestinationPort,
    ];

    /// The word that reads it.
    pub const fn name(self) -> &'static str {
        match self {
            PushHeader::PacketBytes => "packet-bytes",
            PushHeader::SourceHardware => "source-hardware",
            PushHeader::DestinationHardware => "destination-hardware",
            PushHeader::Protocol => "ip-protocol",
            PushHeader::TimeToLive => "time-to-live",
            PushHeader::SourceAddress => "source-address",
            PushHeader::DestinationAddress => "destination-address",
            PushHeader::SourcePort => "udp-source",
            PushHeader::DestinationPort => "udp-destination",
        }
    }

    /// The word that changes it, if a program may.
    pub const fn setter(self) -> Option<&'static str> {
        match self {
            PushHeader::SourceHardware => Some("set-source-hardware"),
            PushHeader::DestinationHardware => Some("set-destination-hardware"),
            PushHeader::SourceAddress => Some("set-source-address"),
            PushHeader::DestinationAddress => Some("set-destination-address"),
            PushHeader::SourcePort => Some("set-source-port"),
            PushHeader::DestinationPort => Some("set-destination-port"),
            PushHeader::PacketBytes | PushHeader::Protocol | PushHeader::TimeToLive => None,
        }
    }

    /// Where it lies; the packet's bytes are computed and lie nowhere (RFC 791, RFC 768).
    pub const fn place(self) -> Option<PushHeaderPlace> {
        let (offset, bytes) = match self {
            PushHeader::PacketBytes => return None,
            PushHeader::DestinationHardware => (0, 6),
            PushHeader::SourceHardware => (6, 6),
            PushHeader::TimeToLive => (22, 1),
            PushHeader::Protocol => (23, 1),
            PushHeader::SourceAddress => (26, 4),
            PushHeader::DestinationAddress => (30, 4),
            PushHeader::SourcePort => (34, 2),
            PushHeader::DestinationPort => (36, 2),
        };
        Some(PushHeaderPlace { offset, bytes })
    }

    /// Its smallest and largest value in a packet that a program sees.
    pub const fn values(self) -> (u64, u64) {
        match self {
            PushHeader::PacketBytes => (HEADERS_BYTES, u16::MAX as u64),
            PushHeader::Protocol => (17, 17),
            PushHeader::TimeToLive => (0, u8::MAX as u64),
            PushHeader::SourceHardware | PushHeader::DestinationHardware => (0, (1 << 48) - 1),
            PushHeader::SourceAddress | PushHeader::DestinationAddress => (0, u32::MAX as u64),
            PushHeader::SourcePort | PushHeader::DestinationPort => (0, u16::MAX as u64),
        }
    }
}

/// What a run ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushVerdict {
    /// `pass`: the packet goes on as it now is.
    Pass,
    /// `drop`: the packet is gone.
    Drop,
    /// `deliver`: to the port's ring, without waking who reads it. If the ring is full, or the packet has more than 2,048 bytes, it passes.
    Deliver,
    /// `deliver-and-wake`: the same, and who reads the ring is woken.
    DeliverAndWake,
    /// `reply`: back out of the device that it came by, with both ends' addresses swapped. What came to a group passes.
    Reply,
}

impl PushVerdict {
    /// All.
    pub const ALL: [PushVerdict; 5] =
        [PushVerdict::Pass, PushVerdict::Drop, PushVerdict::Deliver, PushVerdict::DeliverAndWake, PushVerdict::Reply];

    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            PushVerdict::Pass => "pass",
            PushVerdict::Drop => "drop",
            PushVerdict::Deliver => "deliver",
            PushVerdict::DeliverAndWake => "deliver-and-wake",
            PushVerdict::Reply => "reply",
        }
    }
}

/// A field of a table, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushPlace {
    /// The table, counted from 0.
    pub table: usize,
    /// The field, counted from 0.
    pub field: usize,
}

/// A word, with the blocks that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushWord {
    /// A number, or the name of a parameter: `-- number`.
    Number(u64),
    /// `lower upper -- value`
    Operator(PushOperator),
    /// `cell --`
    Discard,
    /// `N -- truth`: whether the packet has so many bytes.
    HasBytes,
    /// `offset -- number`: so many bytes of the packet, the highest first, from so far behind the begin of its IPv4 header.
    Load(PushFieldType),
    /// `-- number`
    Header(PushHeader),
    /// `number --`
    SetHeader(PushHeader),
    /// `-- index` of the innermost loop, from 0.
    Index,
    /// `-- nanoseconds` since the machine started.
    Now,
    /// `value --`: gives it a name until the block ends.
    Let(String),
    /// `-- value`
    Named(String),
    /// `index -- number`; 0 behind the last row.
    Read(PushPlace),
    /// `number index --`; nothing behind the last row.
    Set(PushPlace),
    /// `number index -- before`: adds in one step; 0 behind the last row.
    AddTo(PushPlace),
    /// `bits index -- before`: sets bits in one step; 0 behind the last row.
    BitSet(PushPlace),
    /// `-- rows` that are in use.
    Count(usize),
    /// `key -- index` of the first row in use whose first field is the key; the table's length if there is none.
    Find(usize),
    /// `--`: sends a copy of the packet as it now is.
    Clone,
    /// The end of the run.
    Verdict(PushVerdict),
    /// `truth --`
    If(Vec<PushPlacedWord>, Vec<PushPlacedWord>),
    /// `count --`
    Times(Vec<PushPlacedWord>),
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushPlacedWord {
    /// What it is.
    pub word: PushWord,
    /// Its line, counted from 1.
    pub line: usize,
    /// As it stands in the text.
    pub text: String,
}

/// A hook's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushHookBody {
    /// Which hook.
    pub hook: PushHook,
    /// The line of its `on`.
    pub line: usize,
    /// The line of the text's end, or of the next hook.
    pub end_line: usize,
    /// Its words.
    pub words: Vec<PushPlacedWord>,
}

/// A program that has the language's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushProgram {
    /// Its name.
    pub name: String,
    /// Parameters, with their values.
    pub parameters: Vec<(String, u64)>,
    /// Tables, which both hooks share.
    pub tables: Vec<PushTable>,
    /// One or two hooks.
    pub hooks: Vec<PushHookBody>,
}

impl PushProgram {
    /// The number of a table.
    pub fn table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }
}
