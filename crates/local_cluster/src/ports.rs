//! Free ports on loopback.
//!
//! Invariant: all ports of one call are different, because each stays bound until the last one is found.

use crate::limits;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};

/// As many free ports. The search begins anywhere, so that clusters created at the same time hardly meet.
pub fn free(count: usize) -> Result<Vec<u16>, Error> {
    let width = limits::PORTS.len();
    let first = RandomState::new().build_hasher().finish() as usize % width;
    let mut bound = Vec::with_capacity(count);
    for step in 0..width {
        if bound.len() == count {
            break;
        }
        let port = limits::PORTS.start + ((first + step) % width) as u16;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            bound.push((port, listener));
        }
    }
    if bound.len() < count {
        let message =
            format!("{count} wanted, {} free from {} to {}", bound.len(), limits::PORTS.start, limits::PORTS.end);
        return Err(Error::new(ErrorKind::AddrInUse, message));
    }
    Ok(bound.into_iter().map(|(port, _)| port).collect())
}
