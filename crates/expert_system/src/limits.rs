//! Bounds of the expert system.

use messages::limits::SECOND;

/// Bytes of a file of rules.
pub const BOOK_BYTES_MAX: usize = 256 << 10;
/// Rules of a file.
pub const RULES_MAX: usize = 256;
/// Conditions of a rule.
pub const CONDITIONS_MAX: usize = 16;
/// Bytes of a rule's name.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes of the sentence that a rule gives as its reason.
pub const SENTENCE_BYTES_MAX: usize = 400;
/// What a fact may be compared with, at most.
pub const OPERAND_MAX: u64 = 1_000_000_000;

/// Certainty of what is certain; the opposite is as far below 0.
pub const CERTAIN: i64 = 1_000;

/// So many accesses count half as much as very many.
pub const ACCESSES_HALF: u64 = 1_000;

/// Who believes in another method by so much more than in the one in force wants it.
pub const MARGIN_MIN: i64 = 250;
/// In so many windows, one after another.
pub const WINDOWS_WANTED: u32 = 3;

/// From one switch to the next, at least.
pub const PAUSE_MIN: u64 = 30 * SECOND;
/// After each method that has not stood its probation the pause doubles, up to this.
pub const PAUSE_MAX: u64 = 600 * SECOND;

/// Switches in any hour, those back included.
pub const SWITCHES_PER_HOUR_MAX: usize = 12;
/// An hour, for that bound.
pub const HOUR: u64 = 3_600 * SECOND;
/// Rules that have led to a method which has not stood its probation count half for so long.
pub const DISTRUST_TIME: u64 = HOUR;

/// Windows of a probation: what runs in the last of them is compared with what ran before the switch.
pub const PROBATION_WINDOWS: u32 = 2;
/// Windows before a switch that stand for what ran then.
pub const WINDOWS_BEFORE: usize = 3;
/// A commit may cost so many per mille of what it cost before the switch, at most.
pub const COST_PER_MILLE_MAX: u64 = 1_100;
/// Of so many tries of a class one must commit, at least.
pub const TRIES_PER_COMMIT_MAX: u64 = 10;
/// Fewer tries of a class in a window say nothing.
pub const CLASS_TRIES_MIN: u64 = 20;
/// Loads are alike if accesses of a transaction differ by less than this factor.
pub const ALIKE_FACTOR: u64 = 2;
/// And the share of reads by less than this, in per mille.
pub const ALIKE_READS: u64 = 250;

/// A transaction of at most so many accesses is short.
pub const SHORT_MAX: u64 = 8;
/// One of at most so many is of middle length; beyond it, long.
pub const MIDDLE_MAX: u64 = 64;

// A switch is done only if its way back has room, too.
const _: () = assert!(SWITCHES_PER_HOUR_MAX >= 2);
const _: () = assert!(PAUSE_MIN <= PAUSE_MAX && PAUSE_MAX < HOUR);
const _: () = assert!(SHORT_MAX < MIDDLE_MAX);
