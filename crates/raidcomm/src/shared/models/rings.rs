//! What a ring keeps: bytes come out as they went in, no byte is used by both sides at once, and nobody sleeps for what is there.

use super::memory::{Flaw, MemoryPlan, ModelMemory};
use super::{must_find, try_all};
use crate::shared::mapping::HEAD_BYTES;
use crate::shared::ring::counts::{READ_AT, READER_WAITS_AT, WRITER_WAITS_AT, WRITTEN_AT};
use crate::shared::ring::{Inlet, Outlet};
use bytes::BytesMut;
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;

/// Bytes of the ring, and those that go through it, in two pieces: the ring is full while the reader may be awake, begins anew, and is emptied.
const CAPACITY: usize = 2;
const PIECES: [&[u8]; 2] = [&[1, 2], &[3]];
const BYTES: &[u8] = &[1, 2, 3];

/// A writer that has more than fits and a reader; both sleep when they can.
fn bytes_go_through(flaw: Option<Flaw>) {
    let plan = MemoryPlan {
        words: &[READER_WAITS_AT, WRITER_WAITS_AT],
        counts: &[READ_AT, WRITTEN_AT],
        bytes: HEAD_BYTES..HEAD_BYTES + CAPACITY,
        length: HEAD_BYTES + CAPACITY,
    };
    let memory = ModelMemory::new(&plan, flaw);
    // The bells.
    let (data, room) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut inlet = Inlet::new(memory.clone());
    let (reader_bell, writer_bell) = (data.clone(), room.clone());
    let writing = thread::spawn(move || {
        for mut rest in PIECES {
            while !rest.is_empty() {
                let moved = inlet.write(rest).expect("the reader keeps to the protocol");
                rest = &rest[moved.bytes..];
                if moved.ring {
                    reader_bell.notify();
                }
                if !rest.is_empty() {
                    writer_bell.wait();
                }
            }
        }
    });
    let mut outlet = Outlet::new(memory);
    let mut read = BytesMut::new();
    while read.len() < BYTES.len() {
        let moved = outlet.read(&mut read, BYTES.len()).expect("the writer keeps to the protocol");
        if moved.ring {
            room.notify();
        }
        if moved.bytes == 0 && outlet.sleep() {
            data.wait();
            outlet.wake();
        }
    }
    assert_eq!(read, BYTES, "bytes were lost, doubled or mixed up");
    writing.join().expect("the writer ends");
}

/// If this failed, a site would take bytes that are not written yet, or wait for ever for a frame that is there or for room that is there.
#[test]
fn bytes_come_out_as_they_went_in_and_no_wake_up_is_lost() {
    try_all(|| bytes_go_through(None));
}

/// If this failed, the model above would not see what it is for.
#[test]
fn the_model_of_a_ring_finds_its_flaws() {
    for at in [WRITTEN_AT, READ_AT] {
        must_find(Flaw::Relaxed(at), bytes_go_through);
        must_find(Flaw::NotPublished(at), bytes_go_through);
        must_find(Flaw::AcquireRelease(at), bytes_go_through);
    }
    for at in [READER_WAITS_AT, WRITER_WAITS_AT] {
        must_find(Flaw::AcquireRelease(at), bytes_go_through);
        must_find(Flaw::Late(at), bytes_go_through);
    }
}
