//! The bounds that the house sets itself; `CONTRIBUTING.md` tells people the same figures.

use std::time::Duration;

/// Lines of a source file, tests not counted, above which it must be in the size list.
pub const FILE_LINES_MAX: usize = 600;

/// Lines of a function, from `fn` to its closing brace, above which it must be in the size list.
pub const FUNCTION_LINES_MAX: usize = 70;

/// Files of a crate that may import each other in a circle; a larger circle must be in the list of circles.
pub const CIRCLE_FILES_MAX: usize = 3;

/// Words of a sentence in a page for people, above which the page must be in the list of long sentences.
pub const SENTENCE_WORDS_MAX: usize = 40;

/// Bytes of README.md: what else users need stands in `docs/`.
pub const README_BYTES_MAX: usize = 8_000;

/// Words of ARCHITECTURE.md: how a part works stands in `docs/internals`.
pub const MAP_WORDS_MAX: usize = 1_800;

/// How many lines above an `unsafe` block its `SAFETY:` comment may begin.
pub const SAFETY_DISTANCE_LINES_MAX: usize = 6;

/// How many lines below an attribute an exception from a ban reaches: over the rest of the attributes to the item.
pub const EXCEPTION_REACH_LINES: usize = 3;

/// Files larger than this, in bytes, are data: they are known by name and their text is not checked.
pub const TEXT_BYTES_MAX: u64 = 2 << 20;

/// Ports that examples in pages use. Where they are run, free ones stand for them, with the same distances.
pub const PORTS: [u16; 5] = [5433, 5434, 5435, 7901, 7902];

/// Times that ports are looked for that follow each other.
pub const PORT_TRIES_MAX: usize = 100;

/// How long a command of an example may take, or may take to print what it is to print, or to end. Development programs are slow.
pub const COMMAND_TIME_MAX: Duration = Duration::from_secs(120);

const _: () = assert!(FUNCTION_LINES_MAX < FILE_LINES_MAX, "a function is a part of a file");
