//! What fjall writes checksums for and does not look at when it opens a store.
//!
//! Each keyspace has a folder with a version file, which lists its tables, and a file `current`, which names the version file and its
//! checksum (`lsm_tree::version::persist`): 8 bytes of number, 16 of XXH3, little-endian, and one of the kind of checksum, 0. A damaged
//! version file makes fjall ask for as much memory as its counts say, which ends the process without a word.
//!
//! Invariant: what is not laid out like that is passed over, so that another fjall's layout is fjall's own business.

use std::io::ErrorKind;
use std::path::Path;

/// Bytes of `current`.
const CURRENT_BYTES: usize = 25;

/// Looks at the version files of all keyspaces.
///
/// # Errors
/// What is damaged, in words.
pub(crate) fn check(store: &Path) -> Result<(), String> {
    let Ok(keyspaces) = std::fs::read_dir(store.join("keyspaces")) else { return Ok(()) };
    for keyspace in keyspaces.flatten() {
        check_version(&keyspace.path())?;
    }
    Ok(())
}

fn check_version(keyspace: &Path) -> Result<(), String> {
    let current = keyspace.join("current");
    let bytes = match std::fs::read(&current) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{}: {error}", current.display())),
    };
    let Some(bytes) = bytes.as_array::<CURRENT_BYTES>() else {
        return Err(format!("{} has {} bytes instead of {CURRENT_BYTES}", current.display(), bytes.len()));
    };
    let (number, rest) = bytes.split_at(8);
    let number = u64::from_le_bytes(*number.as_array().expect("split there"));
    let expected = u128::from_le_bytes(*rest[..16].as_array().expect("it has more bytes"));
    let version = keyspace.join(format!("v{number}"));
    match std::fs::read(&version) {
        Ok(bytes) if xxhash_rust::xxh3::xxh3_128(&bytes) == expected => Ok(()),
        Ok(_) => Err(format!("the checksum of {} is not the one in {}", version.display(), current.display())),
        Err(error) => Err(format!("{}: {error}", version.display())),
    }
}
