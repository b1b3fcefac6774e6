//! Bytes that nobody guesses, from the kernel.

use std::io;

/// So many of them.
///
/// # Errors
/// The operating system has none.
pub(crate) fn draw<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
