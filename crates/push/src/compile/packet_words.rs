//! Words of the packet: headers, loads, copies, and verdicts.
//!
//! Invariant: before anything that shows the packet, or leads elsewhere, the changes of its headers are in it.

use super::{
    ANSWER_DROP, ANSWER_PASS, CONTEXT_DEVICE, CONTEXT_MARK, COPY_MARK, HookCompiler, TEMPORARY, U8, U16, U32, U64,
    cell, in_headers,
};
use crate::ebpf::{EbpfArithmetic, EbpfComparison, EbpfMap, Helper, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use crate::limits::{DELIVERED_BYTES_MAX, ETHERNET_BYTES};
use crate::program::{PushFieldType, PushHeader, PushHeaderPlace, PushVerdict};

const UDP_CHECKSUM: i32 = 40;
const IP_CHECKSUM: usize = 24;
/// Sums of 0 mean none, and the sum covers the addresses (bpf-helpers(7)).
const SUM_ZERO_IS_NONE: i32 = 0x20;
const SUM_COVERS_IT: i32 = 0x10;
const RING_SILENTLY: i32 = 1;
const RING_WAKING: i32 = 2;

impl HookCompiler<'_> {
    pub(super) fn header(&mut self, header: PushHeader, depth: usize) {
        let out = &mut self.assembler;
        match header.place() {
            None => out.register(EbpfArithmetic::Move, R1, R7),
            Some(PushHeaderPlace { offset, bytes: 1 }) => out.load(U8, R1, R10, in_headers(offset)),
            Some(PushHeaderPlace { offset, bytes: 2 }) => {
                out.load(U16, R1, R10, in_headers(offset));
                out.to_network(R1, U16);
            }
            Some(PushHeaderPlace { offset, bytes: 4 }) => {
                out.load(U32, R1, R10, in_headers(offset));
                out.to_network(R1, U32);
            }
            Some(PushHeaderPlace { offset, .. }) => {
                // Three parts of 2 bytes: so aligned they are wherever the field lies.
                out.load(U16, R1, R10, in_headers(offset));
                out.to_network(R1, U16);
                for part in [2, 4] {
                    out.constant(EbpfArithmetic::ShiftLeft, R1, 16);
                    out.load(U16, R2, R10, in_headers(offset + part));
                    out.to_network(R2, U16);
                    out.register(EbpfArithmetic::Or, R1, R2);
                }
            }
        }
        out.store(U64, R10, cell(depth), R1);
    }

    pub(super) fn set_header(&mut self, header: PushHeader, depth: usize) {
        let Some(PushHeaderPlace { offset, bytes }) = header.place() else { return };
        self.assembler.load(U64, R9, R10, cell(depth - 1));
        match bytes {
            2 => {
                self.assembler.to_network(R9, U16);
                self.assembler.load(U16, R8, R10, in_headers(offset));
                self.assembler.store(U16, R10, in_headers(offset), R9);
                self.mend_transport(SUM_ZERO_IS_NONE | 2);
            }
            4 => {
                self.assembler.to_network(R9, U32);
                self.assembler.load(U32, R8, R10, in_headers(offset));
                self.assembler.store(U32, R10, in_headers(offset), R9);
                self.mend_transport(SUM_ZERO_IS_NONE | SUM_COVERS_IT | 4);
                self.mend_network();
            }
            _ => {
                for (part, shift) in [(0, 32), (2, 16), (4, 0)] {
                    self.assembler.register(EbpfArithmetic::Move, R1, R9);
                    self.assembler.constant(EbpfArithmetic::ShiftRight, R1, shift);
                    self.assembler.to_network(R1, U16);
                    self.assembler.store(U16, R10, in_headers(offset + part), R1);
                }
            }
        }
        // Addresses change the checksum of IPv4, which lies before them.
        let begin = if bytes == 4 { IP_CHECKSUM } else { offset };
        let (first, end) = self.changed.unwrap_or((begin, offset + bytes));
        self.changed = Some((first.min(begin), end.max(offset + bytes)));
    }

    /// Brings what was changed in the frame to the packet, by one call for all of it: what lies between is there as it is in the packet.
    pub(super) fn bring_changes(&mut self) {
        if let Some((first, end)) = self.changed.take() {
            self.store_headers(first, end - first);
        }
    }

    /// Mends the checksum of IPv4 in the frame over what was `r8` and is `r9` (RFC 1624).
    fn mend_network(&mut self) {
        let out = &mut self.assembler;
        out.load(U16, R1, R10, in_headers(IP_CHECKSUM));
        for from in [R1, R8] {
            // The complement in 32 bits.
            out.number(R3, u64::from(u32::MAX));
            out.register(EbpfArithmetic::ExclusiveOr, from, R3);
        }
        out.register(EbpfArithmetic::Add, R1, R8);
        out.register(EbpfArithmetic::Add, R1, R9);
        // Three numbers of 32 bits: what is above goes around, then the same for 16.
        for _ in 0..2 {
            out.register(EbpfArithmetic::Move, R2, R1);
            out.constant(EbpfArithmetic::ShiftRight, R2, 32);
            out.register(EbpfArithmetic::And, R1, R3);
            out.register(EbpfArithmetic::Add, R1, R2);
        }
        for _ in 0..2 {
            out.register(EbpfArithmetic::Move, R2, R1);
            out.constant(EbpfArithmetic::ShiftRight, R2, 16);
            out.constant(EbpfArithmetic::And, R1, 0xffff);
            out.register(EbpfArithmetic::Add, R1, R2);
        }
        out.constant(EbpfArithmetic::ExclusiveOr, R1, 0xffff);
        out.store(U16, R10, in_headers(IP_CHECKSUM), R1);
    }

    /// Mends the checksum of UDP over what was `r8` and is `r9`. The kernel alone knows whether the device is yet to compute it.
    fn mend_transport(&mut self, flags: i32) {
        let out = &mut self.assembler;
        out.register(EbpfArithmetic::Move, R1, R6);
        out.constant(EbpfArithmetic::Move, R2, UDP_CHECKSUM);
        out.register(EbpfArithmetic::Move, R3, R8);
        out.register(EbpfArithmetic::Move, R4, R9);
        out.constant(EbpfArithmetic::Move, R5, flags);
        out.call(Helper::MendTransport);
        out.jump_if(EbpfComparison::Differs, R0, 0, self.drop);
    }

    /// Copies a part of the headers from the frame to the packet. A packet that the kernel cannot change is half changed: it is dropped.
    fn store_headers(&mut self, offset: usize, bytes: usize) {
        let out = &mut self.assembler;
        out.register(EbpfArithmetic::Move, R1, R6);
        out.constant(EbpfArithmetic::Move, R2, offset as i32);
        out.register(EbpfArithmetic::Move, R3, R10);
        out.constant(EbpfArithmetic::Add, R3, i32::from(in_headers(offset)));
        out.constant(EbpfArithmetic::Move, R4, bytes as i32);
        out.constant(EbpfArithmetic::Move, R5, 0);
        out.call(Helper::StoreBytes);
        out.jump_if(EbpfComparison::Differs, R0, 0, self.drop);
    }

    pub(super) fn load(&mut self, shape: PushFieldType, depth: usize) {
        let out = &mut self.assembler;
        out.register(EbpfArithmetic::Move, R1, R6);
        out.load(U64, R2, R10, cell(depth - 1));
        out.constant(EbpfArithmetic::Add, R2, ETHERNET_BYTES as i32);
        out.register(EbpfArithmetic::Move, R3, R10);
        out.constant(EbpfArithmetic::Add, R3, i32::from(TEMPORARY));
        out.constant(EbpfArithmetic::Move, R4, shape.bytes() as i32);
        out.call(Helper::LoadBytes);
        out.jump_if(EbpfComparison::Differs, R0, 0, self.pass);
        out.load(shape, R1, R10, TEMPORARY);
        if shape != U8 {
            out.to_network(R1, shape);
        }
        out.store(U64, R10, cell(depth - 1), R1);
    }

    pub(super) fn send_copy(&mut self) {
        let out = &mut self.assembler;
        out.load(U32, R8, R6, CONTEXT_MARK);
        out.constant(EbpfArithmetic::Move, R1, COPY_MARK);
        out.store(U32, R6, CONTEXT_MARK, R1);
        out.register(EbpfArithmetic::Move, R1, R6);
        out.load(U32, R2, R6, CONTEXT_DEVICE);
        out.constant(EbpfArithmetic::Move, R3, 0);
        out.call(Helper::CloneRedirect);
        out.store(U32, R6, CONTEXT_MARK, R8);
    }

    pub(super) fn verdict(&mut self, verdict: PushVerdict) {
        match verdict {
            PushVerdict::Pass => self.assembler.exit_with(ANSWER_PASS),
            PushVerdict::Drop => self.assembler.exit_with(ANSWER_DROP),
            PushVerdict::Deliver => self.deliver(RING_SILENTLY),
            PushVerdict::DeliverAndWake => self.deliver(RING_WAKING),
            PushVerdict::Reply => self.reply(),
        }
    }

    /// Copies the packet by way of the scratch, as the ring takes no packets.
    fn deliver(&mut self, flags: i32) {
        let (pass, out) = (self.pass, &mut self.assembler);
        out.jump_if(EbpfComparison::Above, R7, DELIVERED_BYTES_MAX as i32, pass);
        out.store_constant(U32, R10, TEMPORARY, 0);
        out.map(R1, EbpfMap::Scratch);
        out.register(EbpfArithmetic::Move, R2, R10);
        out.constant(EbpfArithmetic::Add, R2, i32::from(TEMPORARY));
        out.call(Helper::MapLookup);
        out.jump_if(EbpfComparison::Equal, R0, 0, pass);
        out.register(EbpfArithmetic::Move, R8, R0);
        out.register(EbpfArithmetic::Move, R1, R6);
        out.constant(EbpfArithmetic::Move, R2, ETHERNET_BYTES as i32);
        out.register(EbpfArithmetic::Move, R3, R8);
        out.register(EbpfArithmetic::Move, R4, R7);
        out.call(Helper::LoadBytes);
        out.jump_if(EbpfComparison::Differs, R0, 0, pass);
        out.map(R1, EbpfMap::Ring);
        out.register(EbpfArithmetic::Move, R2, R8);
        out.register(EbpfArithmetic::Move, R3, R7);
        out.constant(EbpfArithmetic::Move, R4, flags);
        out.call(Helper::RingOutput);
        out.jump_if(EbpfComparison::Differs, R0, 0, pass);
        out.exit_with(ANSWER_DROP);
    }

    /// Both ends change places: hardware, addresses and ports. Checksums stay, as their sums do.
    fn reply(&mut self) {
        let (pass, out) = (self.pass, &mut self.assembler);
        out.load(U8, R1, R10, in_headers(0));
        out.constant(EbpfArithmetic::And, R1, 1);
        out.jump_if(EbpfComparison::Differs, R1, 0, pass);
        let pairs = [(0, 6, U16), (2, 8, U16), (4, 10, U16), (26, 30, U32), (34, 36, U16)];
        for (one, other, shape) in pairs {
            out.load(shape, R1, R10, in_headers(one));
            out.load(shape, R2, R10, in_headers(other));
            out.store(shape, R10, in_headers(one), R2);
            out.store(shape, R10, in_headers(other), R1);
        }
        self.store_headers(0, 12);
        self.store_headers(26, 12);
        let out = &mut self.assembler;
        out.load(U32, R1, R6, CONTEXT_DEVICE);
        out.constant(EbpfArithmetic::Move, R2, 0);
        out.call(Helper::Redirect);
        out.exit();
    }
}
