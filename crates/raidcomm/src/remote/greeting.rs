//! What the two ends of a line say first: whose they are and what they speak.
//!
//! Invariant: a greeting is none of a stream between sites, nor the other way round, so that an address of the wrong kind in an order does no harm.

use super::LineIdentity;
use crate::limits::{GREETING_BYTES_MAX, LINE_PROGRAM_BYTES_MAX};
use thiserror::Error;

/// The version of what stands in this file.
const VERSION: u16 = 1;
const MAGIC: [u8; 4] = *b"RLIN";
/// Bytes of a greeting before the program.
const FIXED_BYTES: usize = 4 + 2 + 8 + 2;

const _: () = assert!(FIXED_BYTES + LINE_PROGRAM_BYTES_MAX <= GREETING_BYTES_MAX);

/// Why one side refuses the other. It says so with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GreetingRefusal {
    /// What came is no greeting.
    #[error("it is no process that servers can be moved to or from")]
    Foreign,
    /// The greetings are of two versions, or what is called.
    #[error("it runs another version of the program: both ends must run the same")]
    Program,
    /// Another database.
    #[error("it belongs to another instance")]
    Instance,
    /// Another site of it.
    #[error("it belongs to another site")]
    Site,
}

/// In the order of their numbers, from 1.
const REFUSALS: [GreetingRefusal; 4] =
    [GreetingRefusal::Foreign, GreetingRefusal::Program, GreetingRefusal::Instance, GreetingRefusal::Site];

/// What the side says that connects.
pub(super) fn hello(identity: &LineIdentity) -> Vec<u8> {
    let program = identity.program.as_bytes();
    assert!(program.len() <= LINE_PROGRAM_BYTES_MAX, "the name of a program is short");
    let mut bytes = Vec::with_capacity(FIXED_BYTES + program.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&identity.instance.0.to_le_bytes());
    bytes.extend_from_slice(&identity.site.0.to_le_bytes());
    bytes.extend_from_slice(program);
    bytes
}

/// What the side thinks of it that listens.
pub(super) fn judge(identity: &LineIdentity, said: &[u8]) -> Result<(), GreetingRefusal> {
    let own = hello(identity);
    let differs = |range: std::ops::Range<usize>| said.get(range.clone()) != own.get(range);
    if differs(0..4) {
        Err(GreetingRefusal::Foreign)
    } else if differs(4..6) || said.get(FIXED_BYTES..) != own.get(FIXED_BYTES..) {
        Err(GreetingRefusal::Program)
    } else if differs(6..14) {
        Err(GreetingRefusal::Instance)
    } else if differs(14..FIXED_BYTES) {
        Err(GreetingRefusal::Site)
    } else {
        Ok(())
    }
}

/// How it says that.
pub(super) fn verdict(judged: Result<(), GreetingRefusal>) -> Vec<u8> {
    let number = |refusal| REFUSALS.iter().position(|known| *known == refusal).expect("all of them have a number") + 1;
    let mut bytes = MAGIC.to_vec();
    bytes.push(judged.map_or_else(number, |()| 0) as u8);
    bytes
}

/// What was said.
pub(super) fn read_verdict(said: &[u8]) -> Result<(), GreetingRefusal> {
    match said.strip_prefix(&MAGIC) {
        Some([0]) => Ok(()),
        Some([number]) => Err(REFUSALS.get(usize::from(*number) - 1).copied().unwrap_or(GreetingRefusal::Foreign)),
        _ => Err(GreetingRefusal::Foreign),
    }
}
