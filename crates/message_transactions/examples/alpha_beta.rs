//! Parallel alpha-beta search of a game tree: searchers on several hosts tell each other of better bounds.
//!
//! `cargo run -p message_transactions --example alpha_beta`. A manager gives out the moves at the root and is the publisher of bounds: a searcher that
//! has found a better one sends it to the group of all, and only the manager replies. So the manager has it for certain; a searcher
//! that misses it does needless work, and never gets a wrong result.

#[path = "common/hosts.rs"]
mod hosts;

use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess};
use message_transactions::{ProcessGroupId, ProcessId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

const BOUNDS: ProcessGroupId = ProcessGroupId::well_known(2);
const BRANCHES: u64 = 9;
const DEPTH: u32 = 6;
const SEARCHERS: usize = 3;
const NEXT: &[u8] = b"next";
const DONE: &[u8] = b"done";

/// What a leaf is worth to the player who moves there: made of its path.
fn worth(path: u64) -> i64 {
    let mixed = path.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as i64 % 10_000
}

/// The worth of a node, if it lies between the bounds; looked at again with each leaf, `bound` is what others have found for the
/// player at the root.
fn search(path: u64, depth: u32, mut low: i64, high: i64, bound: &dyn Fn() -> i64, leaves: &mut u64) -> i64 {
    if depth == 0 {
        *leaves += 1;
        return worth(path);
    }
    // A bound of the root holds where the same player moves from the other side.
    let high = if (DEPTH - depth).is_multiple_of(2) { high } else { high.min(-bound()) };
    for branch in 0..BRANCHES {
        let value = -search(path * BRANCHES + branch + 1, depth - 1, -high, -low, bound, leaves);
        low = low.max(value);
        if low >= high {
            break;
        }
    }
    low
}

/// Gives out moves until there are none, and answers for bounds; the best.
fn manage(manager: &mut HostProcess) -> Result<i64, HostError> {
    let (mut moves, mut best, mut gone) = (0..BRANCHES, i64::MIN / 2, 0);
    while gone < SEARCHERS {
        let call = manager.receive()?;
        match call.message() {
            NEXT => {
                let given = moves.next();
                gone += usize::from(given.is_none());
                manager.reply(call, &given.map_or(Vec::new(), |given| given.to_le_bytes().to_vec()))?;
            }
            bound => {
                best = bound.try_into().map_or(best, |bytes| best.max(i64::from_le_bytes(bytes)));
                manager.reply(call, b"published")?;
            }
        }
    }
    Ok(best)
}

/// Listens to bounds of others until it is told that the search is done.
fn listen(listener: &mut HostProcess, best: &AtomicI64) -> Result<(), HostError> {
    loop {
        let call = listener.receive()?;
        match call.message() {
            DONE => return listener.reply(call, b""),
            // Only the publisher replies.
            bound => {
                if let Ok(bytes) = bound.try_into() {
                    best.fetch_max(i64::from_le_bytes(bytes), Ordering::Relaxed);
                }
            }
        }
    }
}

/// Searches moves of the manager's until there are none; how many leaves it looked at.
fn search_moves(host: &Host, manager: ProcessId) -> Result<u64, HostError> {
    let (mut searcher, mut listener) = (host.process()?, host.process()?);
    let ears = listener.id();
    listener.join_group(BOUNDS, ears)?;
    let best = Arc::new(AtomicI64::new(i64::MIN / 2));
    let heard = best.clone();
    let listening = std::thread::spawn(move || listen(&mut listener, &heard).is_ok());
    let mut leaves = 0;
    loop {
        let reply = searcher.send(manager, BlockedRequest::exactly_once(NEXT))?.message;
        let Ok(branch) = reply.try_into().map(u64::from_le_bytes) else { break };
        let low = best.load(Ordering::Relaxed);
        let bound = || best.load(Ordering::Relaxed);
        let value = -search(branch + 1, DEPTH - 1, i64::MIN / 2, -low, &bound, &mut leaves);
        if value > best.fetch_max(value, Ordering::Relaxed) {
            searcher.send(BOUNDS, BlockedRequest::exactly_once(&value.to_le_bytes()))?;
        }
    }
    searcher.send(ears, BlockedRequest::exactly_once(DONE))?;
    assert!(listening.join().unwrap_or(false), "the listener heard until the end");
    Ok(leaves)
}

/// Searches in parallel, and compares with a search by one.
pub fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut alone = 0;
    let expected = search(0, DEPTH, i64::MIN / 2, i64::MAX / 2, &|| i64::MIN / 2, &mut alone);
    let hosts = hosts::start(SEARCHERS + 1)?;
    let mut manager = hosts[0].process()?;
    let id = manager.id();
    manager.join_group(BOUNDS, id)?;
    let (leaves, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let best = std::thread::scope(|scope| {
        for host in &hosts[1..] {
            let (leaves, failed) = (&leaves, &failed);
            scope.spawn(move || match search_moves(host, id) {
                Ok(looked_at) => drop(leaves.fetch_add(looked_at, Ordering::Relaxed)),
                Err(_) => failed.store(true, Ordering::Relaxed),
            });
        }
        manage(&mut manager)
    })?;
    assert!(!failed.load(Ordering::Relaxed), "every searcher came to the end");
    assert_eq!(best, expected, "in parallel as alone");
    let leaves = leaves.load(Ordering::Relaxed);
    println!("worth {best}: {alone} leaves alone, {leaves} by {SEARCHERS} searchers");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run()
}
