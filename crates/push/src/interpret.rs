//! The interpreter: runs a verified hook on a packet. It is the fall-back where the kernel takes no programs, and the oracle of tests.
//!
//! Invariant: verdict, bytes and tables are those of the compiled program.

use crate::bytecode::{PushCode, VerifiedHook};
use crate::limits::{CELLS_MAX, DELIVERED_BYTES_MAX, ETHERNET_BYTES, SLOTS_MAX};
use crate::packet::{self, PushPacket};
use crate::program::{PushPlace, PushVerdict};
use crate::tables::PushTables;

struct PushMachine<'a> {
    cells: [u64; CELLS_MAX],
    depth: usize,
    slots: [u64; SLOTS_MAX],
    /// Bytes of the packet.
    bytes: u64,
    tables: &'a mut PushTables,
}

/// Runs a hook on a packet. What no program sees passes: see [`packet::seen_bytes`].
///
/// The verdict is what happened: where the ring is full, `deliver` has become `pass`.
pub fn run<P: PushPacket>(hook: &VerifiedHook, packet: &mut P, tables: &mut PushTables) -> PushVerdict {
    let Some(bytes) = packet::seen_bytes(packet.frame()) else { return PushVerdict::Pass };
    let mut machine = PushMachine { cells: [0; CELLS_MAX], depth: 0, slots: [0; SLOTS_MAX], bytes, tables };
    let mut next = 0;
    while let Some(instruction) = hook.code.get(next) {
        next += 1;
        match instruction.code {
            PushCode::Verdict(verdict) => return machine.end(verdict, packet),
            PushCode::JumpIfZero(target) => {
                if machine.pop() == 0 {
                    next = target;
                }
            }
            PushCode::Jump(target) => next = target,
            PushCode::LoopBegin(slot) => {
                machine.slots[slot + 1] = machine.pop();
                machine.slots[slot] = 0;
            }
            PushCode::LoopTest { slot, count_max, end } => {
                if machine.slots[slot] >= machine.slots[slot + 1].min(count_max) {
                    next = end;
                }
            }
            PushCode::LoopNext { slot, test } => {
                machine.slots[slot] += 1;
                next = test;
            }
            PushCode::Load(shape) => {
                let offset = machine.pop();
                // The verifier has seen that it is there.
                if offset.saturating_add(shape.bytes() as u64) > bytes {
                    return PushVerdict::Pass;
                }
                let place = ETHERNET_BYTES + offset as usize;
                machine.push(packet::number_at(packet.frame(), place, shape.bytes()));
            }
            PushCode::Clone => packet.send_copy(),
            PushCode::Now => machine.push(packet.now_ns()),
            PushCode::Header(header) => machine.push(packet::header(packet.frame(), header)),
            PushCode::SetHeader(header) => {
                let value = machine.pop();
                packet::set_header(packet.frame_mut(), header, value);
            }
            code => machine.plain(code),
        }
    }
    PushVerdict::Pass
}

impl PushMachine<'_> {
    fn push(&mut self, value: u64) {
        self.cells[self.depth] = value;
        self.depth += 1;
    }

    fn pop(&mut self) -> u64 {
        self.depth -= 1;
        self.cells[self.depth]
    }

    /// An instruction that needs no packet.
    fn plain(&mut self, code: PushCode) {
        match code {
            PushCode::Number(value) => self.push(value),
            PushCode::Operator(operator) => {
                let upper = self.pop();
                let lower = self.pop();
                self.push(operator.of(lower, upper));
            }
            PushCode::Discard => {
                self.pop();
            }
            PushCode::HasBytes => {
                let wanted = self.pop();
                self.push(u64::from(wanted <= self.bytes));
            }
            PushCode::Keep(slot) => self.slots[slot] = self.pop(),
            PushCode::Kept(slot) => self.push(self.slots[slot]),
            PushCode::Read(place) => {
                let index = self.pop();
                self.push(self.tables.read(place, index));
            }
            PushCode::Set(place) => {
                let index = self.pop();
                let value = self.pop();
                self.tables.write(place, index, value);
            }
            PushCode::AddTo(place) => self.update(place, u64::wrapping_add),
            PushCode::BitSet(place) => self.update(place, |before, bits| before | bits),
            PushCode::Count(table) => self.push(self.tables.count(table)),
            PushCode::Find(table) => {
                let key = self.pop();
                self.push(self.tables.find(table, key));
            }
            // The rest is of the packet, or goes elsewhere: `run` has done it.
            _ => {}
        }
    }

    fn update(&mut self, place: PushPlace, how: fn(u64, u64) -> u64) {
        let index = self.pop();
        let value = self.pop();
        let before = self.tables.read(place, index);
        self.tables.write(place, index, how(before, value));
        self.push(before);
    }

    fn end<P: PushPacket>(&self, verdict: PushVerdict, packet: &mut P) -> PushVerdict {
        match verdict {
            PushVerdict::Pass | PushVerdict::Drop => verdict,
            PushVerdict::Deliver | PushVerdict::DeliverAndWake => {
                let bytes = self.bytes as usize;
                let is_taken = bytes <= DELIVERED_BYTES_MAX && packet.deliver(bytes, verdict != PushVerdict::Deliver);
                if is_taken { verdict } else { PushVerdict::Pass }
            }
            PushVerdict::Reply => match packet::turn_around(packet.frame_mut()) {
                true => verdict,
                false => PushVerdict::Pass,
            },
        }
    }
}
