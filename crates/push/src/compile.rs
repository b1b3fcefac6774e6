//! The compiler: from the code of a hook to the kernel's instructions.
//!
//! The depth of the stack is known, so each cell has a place of its own in the frame: the cell k lies 8 (k + 1) bytes below its end, slots lie below all cells, and
//! a copy of the packet's headers below these. Invariant: a compiled hook does what [`crate::interpret`] does.

mod packet_words;

use crate::bytecode::{PushCode, PushInstruction, VerifiedHook, VerifiedProgram};
use crate::ebpf::{
    Assembler, EbpfArithmetic, EbpfComparison, EbpfLabel, EbpfMap, EbpfProgram, EbpfRegister, Helper, R0, R1, R2, R3,
    R4, R5, R6, R7, R10,
};
use crate::limits::{CELLS_MAX, ETHERNET_BYTES, HEADERS_BYTES, INSTRUCTIONS_PER_WORD_MAX, SLOTS_MAX};
use crate::program::{PushFieldType, PushOperator, PushPlace, PushTable};

/// What a copy carries while it leaves, so that no program looks at it again. A packet's own mark comes back behind the copy.
pub const COPY_MARK: i32 = 0x5075_7368;
/// The kernel's answer "whoever comes next decides" (`TCX_NEXT`).
pub const ANSWER_PASS: i32 = -1;
/// The kernel's answer "the packet is gone" (`TCX_DROP`).
pub const ANSWER_DROP: i32 = 2;
/// The kernel's answer "the packet leaves by a device" (`TCX_REDIRECT`).
pub const ANSWER_REDIRECT: i32 = 7;

/// Fields of `struct __sk_buff` (linux/bpf.h).
const CONTEXT_LENGTH: i16 = 0;
const CONTEXT_MARK: i16 = 8;
const CONTEXT_VIRTUAL_NETWORK: i16 = 20;
const CONTEXT_DEVICE: i16 = 40;
const CONTEXT_SEGMENTS: i16 = 164;

const FRAME_BYTES: i32 = (ETHERNET_BYTES as u64 + HEADERS_BYTES) as i32;
const SLOTS_END: i16 = -8 * CELLS_MAX as i16;
/// Where the copy of the headers begins: so that the addresses of IPv4 lie at multiples of 4.
const HEADERS: i16 = SLOTS_END - 8 * SLOTS_MAX as i16 - 46;
const TEMPORARY: i16 = SLOTS_END - 8 * SLOTS_MAX as i16 - 64;
const _: () =
    assert!((HEADERS + 26) % 4 == 0 && HEADERS > TEMPORARY + 8, "loads are aligned, and places do not overlap");
const _: () =
    assert!(HEADERS as i32 + FRAME_BYTES <= SLOTS_END as i32 - 8 * SLOTS_MAX as i32, "headers end below the slots");
const _: () = assert!(TEMPORARY > -512, "the kernel gives a frame 512 bytes");

const U8: PushFieldType = PushFieldType::U8;
const U16: PushFieldType = PushFieldType::U16;
const U32: PushFieldType = PushFieldType::U32;
const U64: PushFieldType = PushFieldType::U64;

/// Compiles a hook of a program.
pub fn compile(program: &VerifiedProgram, hook: &VerifiedHook) -> EbpfProgram {
    let mut assembler = Assembler::default();
    let (pass, drop) = (assembler.label(), assembler.label());
    let labels = (0..hook.code.len()).map(|_| assembler.label()).collect();
    let mut compiler =
        HookCompiler { tables: &program.tables, code: &hook.code, labels, assembler, pass, drop, changed: None };
    compiler.prologue();
    let mut next = 0;
    while next < hook.code.len() {
        let begin = compiler.assembler.len();
        let taken = compiler.instruction(next);
        let length = compiler.assembler.len() - begin;
        assert!(length <= INSTRUCTIONS_PER_WORD_MAX * taken, "a word became {length} instructions");
        next += taken;
    }
    compiler.assembler.of_word(None);
    for (label, answer) in [(pass, ANSWER_PASS), (drop, ANSWER_DROP)] {
        if compiler.assembler.is_used(label) {
            compiler.assembler.bind(label);
            compiler.assembler.exit_with(answer);
        }
    }
    compiler.assembler.finish()
}

struct HookCompiler<'a> {
    tables: &'a [PushTable],
    code: &'a [PushInstruction],
    /// Of each instruction of the code.
    labels: Vec<EbpfLabel>,
    assembler: Assembler,
    pass: EbpfLabel,
    drop: EbpfLabel,
    /// Bytes of the headers that were changed in the frame, and not yet in the packet: the first one, and the one behind the last.
    changed: Option<(usize, usize)>,
}

/// Where a cell lies, below the frame's end.
fn cell(index: usize) -> i16 {
    -8 * (index as i16 + 1)
}

fn slot(index: usize) -> i16 {
    SLOTS_END - 8 * (index as i16 + 1)
}

fn in_headers(offset: usize) -> i16 {
    HEADERS + offset as i16
}

/// Whether the packet's bytes do not matter to an instruction, and the next one always follows.
fn is_quiet(code: PushCode) -> bool {
    !matches!(
        code,
        PushCode::Load(_)
            | PushCode::Clone
            | PushCode::Verdict(_)
            | PushCode::JumpIfZero(_)
            | PushCode::Jump(_)
            | PushCode::LoopBegin(_)
            | PushCode::LoopTest { .. }
            | PushCode::LoopNext { .. }
    )
}

impl HookCompiler<'_> {
    /// Lets pass what no program sees, copies the headers to the frame, and computes the packet's bytes. [`crate::packet::seen_bytes`] does the same.
    fn prologue(&mut self) {
        let (pass, out) = (self.pass, &mut self.assembler);
        out.register(EbpfArithmetic::Move, R6, R1);
        out.load(U32, R2, R6, CONTEXT_VIRTUAL_NETWORK);
        out.jump_if(EbpfComparison::Differs, R2, 0, pass);
        out.load(U32, R2, R6, CONTEXT_SEGMENTS);
        out.jump_if(EbpfComparison::Above, R2, 1, pass);
        if self.code.iter().any(|one| one.code == PushCode::Clone) {
            out.load(U32, R2, R6, CONTEXT_MARK);
            out.jump_if(EbpfComparison::Equal, R2, COPY_MARK, pass);
        }
        out.load(U32, R7, R6, CONTEXT_LENGTH);
        out.jump_if(EbpfComparison::Below, R7, FRAME_BYTES, pass);
        out.register(EbpfArithmetic::Move, R1, R6);
        out.constant(EbpfArithmetic::Move, R2, 0);
        out.register(EbpfArithmetic::Move, R3, R10);
        out.constant(EbpfArithmetic::Add, R3, i32::from(HEADERS));
        out.constant(EbpfArithmetic::Move, R4, FRAME_BYTES);
        out.call(Helper::LoadBytes);
        out.jump_if(EbpfComparison::Differs, R0, 0, pass);
        out.load(U16, R1, R10, in_headers(12));
        out.to_network(R1, U16);
        out.jump_if(EbpfComparison::Differs, R1, 0x0800, pass);
        out.load(U8, R1, R10, in_headers(14));
        out.jump_if(EbpfComparison::Differs, R1, 0x45, pass);
        out.load(U16, R1, R10, in_headers(20));
        out.to_network(R1, U16);
        out.constant(EbpfArithmetic::And, R1, 0x3fff);
        out.jump_if(EbpfComparison::Differs, R1, 0, pass);
        out.load(U8, R1, R10, in_headers(23));
        out.jump_if(EbpfComparison::Differs, R1, 17, pass);
        out.constant(EbpfArithmetic::Subtract, R7, ETHERNET_BYTES as i32);
        out.load(U16, R1, R10, in_headers(16));
        out.to_network(R1, U16);
        let shorter = out.label();
        out.jump_if_register(EbpfComparison::BelowOrEqual, R7, R1, shorter);
        out.register(EbpfArithmetic::Move, R7, R1);
        out.bind(shorter);
        out.jump_if(EbpfComparison::Below, R7, HEADERS_BYTES as i32, pass);
    }

    fn is_target(&self, index: usize) -> bool {
        self.code.iter().any(|one| match one.code {
            PushCode::JumpIfZero(target) | PushCode::Jump(target) => target == index,
            PushCode::LoopTest { end, .. } => end == index,
            PushCode::LoopNext { test, .. } => test == index,
            _ => false,
        })
    }

    /// The code behind an instruction, if no jump leads there.
    fn following(&self, index: usize) -> Option<PushCode> {
        self.code.get(index).filter(|_| !self.is_target(index)).map(|one| one.code)
    }

    fn bind(&mut self, index: usize) {
        // Whoever jumps here has nothing left to bring, so neither may who comes from above.
        if self.is_target(index) {
            self.bring_changes();
        }
        self.assembler.of_word(Some(index));
        self.assembler.bind(self.labels[index]);
    }

    /// Compiles an instruction, and those behind it that it takes along. Says how many.
    fn instruction(&mut self, index: usize) -> usize {
        self.bind(index);
        let PushInstruction { code, depth, .. } = self.code[index];
        // A comparison may take a jump along.
        if ![index, index + 1, index + 2]
            .into_iter()
            .all(|near| self.code.get(near).is_none_or(|one| is_quiet(one.code)))
        {
            self.bring_changes();
        }
        match code {
            PushCode::Number(value) => {
                if let (Ok(constant), Some(PushCode::Operator(operator))) =
                    (i32::try_from(value), self.following(index + 1))
                {
                    self.bind(index + 1);
                    self.assembler.load(U64, R1, R10, cell(depth - 1));
                    return 1 + self.operator(index + 1, operator, depth - 1, Some(constant));
                }
                self.assembler.number(R1, value);
                self.assembler.store(U64, R10, cell(depth), R1);
            }
            PushCode::Operator(operator) => {
                self.assembler.load(U64, R1, R10, cell(depth - 2));
                self.assembler.load(U64, R2, R10, cell(depth - 1));
                return self.operator(index, operator, depth - 2, None);
            }
            PushCode::Discard => {}
            PushCode::Header(header) => self.header(header, depth),
            PushCode::SetHeader(header) => self.set_header(header, depth),
            PushCode::Load(shape) => self.load(shape, depth),
            PushCode::Now => {
                self.assembler.call(Helper::Time);
                self.assembler.store(U64, R10, cell(depth), R0);
            }
            PushCode::Keep(to) => {
                self.assembler.load(U64, R1, R10, cell(depth - 1));
                self.assembler.store(U64, R10, slot(to), R1);
            }
            PushCode::Kept(from) => {
                self.assembler.load(U64, R1, R10, slot(from));
                self.assembler.store(U64, R10, cell(depth), R1);
            }
            PushCode::HasBytes => {
                self.assembler.load(U64, R1, R10, cell(depth - 1));
                if let Some(PushCode::JumpIfZero(target)) = self.following(index + 1) {
                    self.bind(index + 1);
                    self.assembler.jump_if_register(EbpfComparison::Above, R1, R7, self.labels[target]);
                    return 2;
                }
                self.truth(EbpfComparison::BelowOrEqual, R1, None, R7, depth - 1);
            }
            PushCode::Read(_) | PushCode::Set(_) | PushCode::AddTo(_) | PushCode::BitSet(_) => self.row(code, depth),
            PushCode::Count(table) => self.count(table, depth),
            PushCode::Find(table) => self.find(table, depth),
            PushCode::Clone => self.send_copy(),
            PushCode::Verdict(verdict) => self.verdict(verdict),
            _ => self.flow(code, depth),
        }
        1
    }

    /// Jumps and loops.
    fn flow(&mut self, code: PushCode, depth: usize) {
        let out = &mut self.assembler;
        match code {
            PushCode::JumpIfZero(target) => {
                out.load(U64, R1, R10, cell(depth - 1));
                out.jump_if(EbpfComparison::Equal, R1, 0, self.labels[target]);
            }
            PushCode::Jump(target) => out.jump(self.labels[target]),
            PushCode::LoopBegin(index) => {
                out.load(U64, R1, R10, cell(depth - 1));
                out.store(U64, R10, slot(index + 1), R1);
                out.constant(EbpfArithmetic::Move, R1, 0);
                out.store(U64, R10, slot(index), R1);
            }
            PushCode::LoopTest { slot: index, count_max, end } => {
                out.load(U64, R1, R10, slot(index));
                // The kernel's verifier counts rounds by this test.
                out.jump_if(EbpfComparison::AboveOrEqual, R1, count_max as i32, self.labels[end]);
                out.load(U64, R2, R10, slot(index + 1));
                out.jump_if_register(EbpfComparison::AboveOrEqual, R1, R2, self.labels[end]);
            }
            PushCode::LoopNext { slot: index, test } => {
                out.load(U64, R1, R10, slot(index));
                out.constant(EbpfArithmetic::Add, R1, 1);
                out.store(U64, R10, slot(index), R1);
                out.jump(self.labels[test]);
            }
            _ => {}
        }
    }

    /// An operator on the first register and a constant, or the second register. A comparison takes the jump behind it along.
    fn operator(&mut self, index: usize, operator: PushOperator, to: usize, constant: Option<i32>) -> usize {
        let (holds, fails) = match operator {
            PushOperator::Equal => (EbpfComparison::Equal, EbpfComparison::Differs),
            PushOperator::Differs => (EbpfComparison::Differs, EbpfComparison::Equal),
            PushOperator::Less => (EbpfComparison::Below, EbpfComparison::AboveOrEqual),
            PushOperator::Minimum => {
                let below = self.assembler.label();
                self.jump_if(EbpfComparison::BelowOrEqual, R1, constant, R2, below);
                self.arithmetic(EbpfArithmetic::Move, constant);
                self.assembler.bind(below);
                self.assembler.store(U64, R10, cell(to), R1);
                return 1;
            }
            _ => {
                self.plain_operator(operator, constant);
                self.assembler.store(U64, R10, cell(to), R1);
                return 1;
            }
        };
        if let Some(PushCode::JumpIfZero(target)) = self.following(index + 1) {
            self.bind(index + 1);
            self.jump_if(fails, R1, constant, R2, self.labels[target]);
            return 2;
        }
        self.truth(holds, R1, constant, R2, to);
        1
    }

    fn arithmetic(&mut self, operation: EbpfArithmetic, constant: Option<i32>) {
        match constant {
            Some(constant) => self.assembler.constant(operation, R1, constant),
            None => self.assembler.register(operation, R1, R2),
        }
    }

    fn jump_if(
        &mut self,
        comparison: EbpfComparison,
        one: EbpfRegister,
        constant: Option<i32>,
        other: EbpfRegister,
        to: EbpfLabel,
    ) {
        match constant {
            Some(constant) => self.assembler.jump_if(comparison, one, constant, to),
            None => self.assembler.jump_if_register(comparison, one, other, to),
        }
    }

    fn plain_operator(&mut self, operator: PushOperator, constant: Option<i32>) {
        let operation = match operator {
            PushOperator::Add => EbpfArithmetic::Add,
            PushOperator::Subtract => EbpfArithmetic::Subtract,
            PushOperator::And => EbpfArithmetic::And,
            PushOperator::Or => EbpfArithmetic::Or,
            PushOperator::ExclusiveOr => EbpfArithmetic::ExclusiveOr,
            PushOperator::ShiftLeft => EbpfArithmetic::ShiftLeft,
            _ => EbpfArithmetic::ShiftRight,
        };
        let shifts = matches!(operation, EbpfArithmetic::ShiftLeft | EbpfArithmetic::ShiftRight);
        if shifts && constant.is_none() {
            self.assembler.constant(EbpfArithmetic::And, R2, 63);
        }
        self.arithmetic(operation, constant.map(|constant| if shifts { constant & 63 } else { constant }));
    }

    /// 1 or 0 to a cell.
    fn truth(
        &mut self,
        comparison: EbpfComparison,
        one: EbpfRegister,
        constant: Option<i32>,
        other: EbpfRegister,
        to: usize,
    ) {
        let holds = self.assembler.label();
        self.assembler.constant(EbpfArithmetic::Move, R3, 1);
        self.jump_if(comparison, one, constant, other, holds);
        self.assembler.constant(EbpfArithmetic::Move, R3, 0);
        self.assembler.bind(holds);
        self.forget(R3);
        self.assembler.store(U64, R10, cell(to), R3);
    }

    /// Has the kernel's verifier forget what it knows of a number below 2^32: it would follow each value by itself to the program's end.
    /// It remembers numbers that lie at the begin of 8 bytes only.
    fn forget(&mut self, register: EbpfRegister) {
        self.assembler.store(U32, R10, TEMPORARY + 4, register);
        self.assembler.load(U32, register, R10, TEMPORARY + 4);
    }

    /// Words on a row, whose index is the uppermost cell.
    fn row(&mut self, code: PushCode, depth: usize) {
        let (PushCode::Read(place) | PushCode::Set(place) | PushCode::AddTo(place) | PushCode::BitSet(place)) = code
        else {
            return;
        };
        let PushPlace { table, field } = place;
        let (table, shape) = (&self.tables[table], &self.tables[table].fields[field]);
        let offset = (PushTable::COUNT_BYTES + shape.offset) as i16;
        let out = &mut self.assembler;
        let behind = out.label();
        out.load(U64, R1, R10, cell(depth - 1));
        out.constant(EbpfArithmetic::Move, R3, 0);
        out.jump_if(EbpfComparison::AboveOrEqual, R1, table.rows as i32, behind);
        out.constant(EbpfArithmetic::Multiply, R1, table.row_bytes as i32);
        out.map(R2, EbpfMap::Table(place.table));
        out.register(EbpfArithmetic::Add, R2, R1);
        if code == PushCode::Read(place) {
            out.load(shape.shape, R3, R2, offset);
        } else {
            out.load(U64, R3, R10, cell(depth - 2));
            match code {
                PushCode::Set(_) => out.store(shape.shape, R2, offset, R3),
                _ => out.atomic(shape.shape, matches!(code, PushCode::BitSet(_)), R2, offset, R3),
            }
        }
        out.bind(behind);
        match code {
            PushCode::Read(_) => out.store(U64, R10, cell(depth - 1), R3),
            PushCode::Set(_) => {}
            _ => out.store(U64, R10, cell(depth - 2), R3),
        }
    }

    /// The table's count to `to`, its address to `r2`.
    fn rows_in_use(&mut self, table: usize, to: EbpfRegister) {
        let out = &mut self.assembler;
        let within = out.label();
        let rows = self.tables[table].rows as i32;
        out.map(R2, EbpfMap::Table(table));
        out.load(U64, to, R2, 0);
        out.jump_if(EbpfComparison::BelowOrEqual, to, rows, within);
        out.constant(EbpfArithmetic::Move, to, rows);
        out.bind(within);
    }

    fn count(&mut self, table: usize, depth: usize) {
        self.rows_in_use(table, R1);
        self.assembler.store(U64, R10, cell(depth), R1);
    }

    fn find(&mut self, table: usize, depth: usize) {
        self.rows_in_use(table, R4);
        let PushTable { rows, row_bytes, fields, .. } = &self.tables[table];
        let out = &mut self.assembler;
        let (test, none, done) = (out.label(), out.label(), out.label());
        out.load(U64, R1, R10, cell(depth - 1));
        out.constant(EbpfArithmetic::Move, R3, 0);
        out.bind(test);
        out.jump_if(EbpfComparison::AboveOrEqual, R3, *rows as i32, none);
        out.jump_if_register(EbpfComparison::AboveOrEqual, R3, R4, none);
        out.load(fields[0].shape, R5, R2, PushTable::COUNT_BYTES as i16);
        out.jump_if_register(EbpfComparison::Equal, R5, R1, done);
        out.constant(EbpfArithmetic::Add, R2, *row_bytes as i32);
        out.constant(EbpfArithmetic::Add, R3, 1);
        out.jump(test);
        out.bind(none);
        out.constant(EbpfArithmetic::Move, R3, *rows as i32);
        out.bind(done);
        self.forget(R3);
        self.assembler.store(U64, R10, cell(depth - 1), R3);
    }
}
