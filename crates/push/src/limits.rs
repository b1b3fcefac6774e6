//! Every bound of the language, and how they hang together.

/// Bytes of a program's text.
pub const TEXT_BYTES_MAX: usize = 65_536;
/// Words of a program's text, of both hooks together.
pub const PROGRAM_WORDS_MAX: usize = 512;
/// Blocks within blocks.
pub const NESTING_MAX: usize = 16;
/// Cells on the stack.
pub const CELLS_MAX: usize = 32;
/// Slots of named values and loops that are alive at once. A name takes one, a loop two.
pub const SLOTS_MAX: usize = 16;
/// Tables of a program.
pub const TABLES_MAX: usize = 8;
/// Fields of a table.
pub const FIELDS_MAX: usize = 16;
/// Bytes of a table, with the count at its begin.
pub const TABLE_BYTES_MAX: usize = 65_536;
/// Rows of a table that `find` may look through: the kernel's verifier follows each row by itself.
pub const FIND_ROWS_MAX: u64 = 1_024;
/// Words that a run may execute. It bounds the time of a run.
pub const WORDS_WORST_MAX: u64 = 16_384;
/// Branches on a path, counted as the compiled program has them. The kernel's verifier remembers 8,192 that it has yet to follow.
pub const BRANCHES_MAX: u64 = 8_000;
/// Copies that a run may send.
pub const CLONES_MAX: u64 = 64;
/// Bytes before a packet's network header: Ethernet's header.
pub const ETHERNET_BYTES: usize = 14;
/// Bytes of a packet that are always known to be there: the headers of IPv4 and UDP.
pub const HEADERS_BYTES: u64 = 28;
/// Bytes of a packet that a load may reach: what IPv4's length can tell.
pub const PACKET_BYTES_MAX: u64 = 65_535;
/// Bytes of a packet that `deliver` takes. What is longer passes.
pub const DELIVERED_BYTES_MAX: usize = 2_048;
/// Characters of a name.
pub const NAME_CHARACTERS_MAX: usize = 32;
/// Instructions of eBPF that a word becomes.
pub const INSTRUCTIONS_PER_WORD_MAX: usize = 60;

const _: () = assert!(
    PROGRAM_WORDS_MAX * INSTRUCTIONS_PER_WORD_MAX < i16::MAX as usize,
    "a jump over the whole program fits into its 16 bits"
);
const _: () = assert!(FIND_ROWS_MAX <= WORDS_WORST_MAX, "one search is always possible");
const _: () = assert!(CLONES_MAX <= WORDS_WORST_MAX, "a copy is a word");
const _: () = assert!(HEADERS_BYTES <= PACKET_BYTES_MAX, "headers are a part of the packet");
