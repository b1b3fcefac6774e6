//! Instructions of eBPF, an assembler with labels, and how they are shown.
//!
//! Invariant: a label is bound once, and a jump to it fits: the assembler's users keep programs short enough. Source: RFC 9669.

use crate::program::PushFieldType;
use std::fmt;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EbpfRegister(pub u8);

/// What a function returns.
pub const R0: EbpfRegister = EbpfRegister(0);
/// The first argument.
pub const R1: EbpfRegister = EbpfRegister(1);
/// The second argument.
pub const R2: EbpfRegister = EbpfRegister(2);
/// The third argument.
pub const R3: EbpfRegister = EbpfRegister(3);
/// The fourth argument.
pub const R4: EbpfRegister = EbpfRegister(4);
/// The fifth argument.
pub const R5: EbpfRegister = EbpfRegister(5);
/// Kept over calls: the context.
pub const R6: EbpfRegister = EbpfRegister(6);
/// Kept over calls: bytes of the packet.
pub const R7: EbpfRegister = EbpfRegister(7);
/// Kept over calls.
pub const R8: EbpfRegister = EbpfRegister(8);
/// Kept over calls.
pub const R9: EbpfRegister = EbpfRegister(9);
/// The end of the stack's frame.
pub const R10: EbpfRegister = EbpfRegister(10);

/// An instruction as the kernel reads it, but for its layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EbpfInstruction {
    /// Class, operation and source.
    pub code: u8,
    /// The destination's register.
    pub destination: u8,
    /// The source's register, or what kind of constant comes.
    pub source: u8,
    /// A place in memory, or how far to jump.
    pub offset: i16,
    /// A constant.
    pub immediate: i32,
}

impl EbpfInstruction {
    /// Its 8 bytes, in this machine's order.
    pub fn encode(self) -> [u8; 8] {
        let registers = match cfg!(target_endian = "little") {
            true => self.source << 4 | self.destination,
            false => self.destination << 4 | self.source,
        };
        let [low, high] = self.offset.to_ne_bytes();
        let [one, two, three, four] = self.immediate.to_ne_bytes();
        [self.code, registers, low, high, one, two, three, four]
    }
}

/// A map that a program names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EbpfMap {
    /// A table: an array with one value, whose address is meant.
    Table(usize),
    /// The ring.
    Ring,
    /// Room for one packet on each processor: an array with one value.
    Scratch,
}

/// Operations on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EbpfArithmetic {
    /// `+=`
    Add = 0x07,
    /// `-=`
    Subtract = 0x17,
    /// `*=`
    Multiply = 0x27,
    /// `|=`
    Or = 0x47,
    /// `&=`
    And = 0x57,
    /// `<<=`
    ShiftLeft = 0x67,
    /// `>>=`
    ShiftRight = 0x77,
    /// `^=`
    ExclusiveOr = 0xa7,
    /// `=`
    Move = 0xb7,
}

/// Comparisons that jump. Numbers are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EbpfComparison {
    /// `==`
    Equal = 0x15,
    /// `>`
    Above = 0x25,
    /// `>=`
    AboveOrEqual = 0x35,
    /// `!=`
    Differs = 0x55,
    /// `<`
    Below = 0xa5,
    /// `<=`
    BelowOrEqual = 0xb5,
}

/// Functions of the kernel (bpf-helpers(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// The address of a map's value.
    MapLookup = 1,
    /// Nanoseconds since the machine started.
    Time = 5,
    /// Changes bytes of the packet.
    StoreBytes = 9,
    /// Mends the checksum of UDP.
    MendTransport = 11,
    /// Sends a copy.
    CloneRedirect = 13,
    /// Has the packet sent.
    Redirect = 23,
    /// Reads bytes of the packet.
    LoadBytes = 26,
    /// Copies bytes into the ring.
    RingOutput = 130,
}

/// A place that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EbpfLabel(usize);

/// A program for the kernel, in which maps have no descriptors yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EbpfProgram {
    /// The instructions.
    pub instructions: Vec<EbpfInstruction>,
    /// Instructions that name a map.
    pub maps: Vec<(usize, EbpfMap)>,
    /// For each instruction the number of its word in the bytecode; none for what every program has.
    pub words: Vec<Option<usize>>,
}

const LOAD_CONSTANT: u8 = 0x18;
const MAP_DESCRIPTOR: u8 = 1;
const MAP_VALUE: u8 = 2;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP: u8 = 0x05;
const BY_REGISTER: u8 = 0x08;
const TO_NETWORK: u8 = 0xdc;
const FETCH: i32 = 1;
const ATOMIC_OR: i32 = 0x40;

const fn size(shape: PushFieldType) -> u8 {
    match shape {
        PushFieldType::U8 => 0x10,
        PushFieldType::U16 => 0x08,
        PushFieldType::U32 => 0x00,
        PushFieldType::U64 => 0x18,
    }
}

/// Writes a program.
#[derive(Debug, Default)]
pub struct Assembler {
    program: EbpfProgram,
    word: Option<usize>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, EbpfLabel)>,
}

impl Assembler {
    /// Says which word of the bytecode the next instructions are of.
    pub fn of_word(&mut self, word: Option<usize>) {
        self.word = word;
    }

    fn put(&mut self, instruction: EbpfInstruction) {
        self.program.instructions.push(instruction);
        self.program.words.push(self.word);
    }

    /// Instructions so far.
    pub fn len(&self) -> usize {
        self.program.instructions.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.program.instructions.is_empty()
    }

    /// A label that is to be bound.
    pub fn label(&mut self) -> EbpfLabel {
        self.labels.push(None);
        EbpfLabel(self.labels.len() - 1)
    }

    /// Binds a label to the next instruction.
    pub fn bind(&mut self, label: EbpfLabel) {
        let before = self.labels[label.0].replace(self.program.instructions.len());
        assert_eq!(before, None, "a label is one place");
    }

    /// Whether a jump leads there.
    pub fn is_used(&self, label: EbpfLabel) -> bool {
        self.jumps.iter().any(|(_, to)| *to == label)
    }

    /// An operation with a constant.
    pub fn constant(&mut self, operation: EbpfArithmetic, destination: EbpfRegister, immediate: i32) {
        self.put(EbpfInstruction {
            code: operation as u8,
            destination: destination.0,
            immediate,
            ..Default::default()
        });
    }

    /// An operation with a register.
    pub fn register(&mut self, operation: EbpfArithmetic, destination: EbpfRegister, source: EbpfRegister) {
        let code = operation as u8 | BY_REGISTER;
        self.put(EbpfInstruction { code, destination: destination.0, source: source.0, ..Default::default() });
    }

    /// Any number into a register.
    pub fn number(&mut self, destination: EbpfRegister, value: u64) {
        if let Ok(immediate) = i32::try_from(value) {
            return self.constant(EbpfArithmetic::Move, destination, immediate);
        }
        let (low, high) = (value as u32 as i32, (value >> 32) as u32 as i32);
        self.wide(destination, 0, low, high);
    }

    fn wide(&mut self, destination: EbpfRegister, source: u8, low: i32, high: i32) {
        let first =
            EbpfInstruction { code: LOAD_CONSTANT, destination: destination.0, source, offset: 0, immediate: low };
        self.put(first);
        self.put(EbpfInstruction { immediate: high, ..Default::default() });
    }

    /// A map's descriptor, or the address of a table, into a register.
    pub fn map(&mut self, destination: EbpfRegister, map: EbpfMap) {
        self.program.maps.push((self.program.instructions.len(), map));
        // Until there is a descriptor, the number tells which map it is.
        let (kind, number) = match map {
            EbpfMap::Table(table) => (MAP_VALUE, table as i32),
            EbpfMap::Ring => (MAP_DESCRIPTOR, 0),
            EbpfMap::Scratch => (MAP_DESCRIPTOR, 1),
        };
        self.wide(destination, kind, number, 0);
    }

    /// The lowest bytes of a register from the machine's order to the network's, or back; higher ones become 0.
    pub fn to_network(&mut self, destination: EbpfRegister, shape: PushFieldType) {
        let immediate = 8 * shape.bytes() as i32;
        self.put(EbpfInstruction { code: TO_NETWORK, destination: destination.0, immediate, ..Default::default() });
    }

    /// `destination = *(base + offset)`
    pub fn load(&mut self, shape: PushFieldType, destination: EbpfRegister, base: EbpfRegister, offset: i16) {
        let code = 0x61 | size(shape);
        self.put(EbpfInstruction { code, destination: destination.0, source: base.0, offset, immediate: 0 });
    }

    /// `*(base + offset) = source`
    pub fn store(&mut self, shape: PushFieldType, base: EbpfRegister, offset: i16, source: EbpfRegister) {
        let code = 0x63 | size(shape);
        self.put(EbpfInstruction { code, destination: base.0, source: source.0, offset, immediate: 0 });
    }

    /// `*(base + offset) = immediate`
    pub fn store_constant(&mut self, shape: PushFieldType, base: EbpfRegister, offset: i16, immediate: i32) {
        let code = 0x62 | size(shape);
        self.put(EbpfInstruction { code, destination: base.0, source: 0, offset, immediate });
    }

    /// Adds a register to memory, or sets its bits there, in one step; the register then has what was there before. `shape` is of 4 or 8 bytes.
    pub fn atomic(&mut self, shape: PushFieldType, is_or: bool, base: EbpfRegister, offset: i16, source: EbpfRegister) {
        let immediate = FETCH | if is_or { ATOMIC_OR } else { 0 };
        let code = 0xc3 | size(shape);
        self.put(EbpfInstruction { code, destination: base.0, source: source.0, offset, immediate });
    }

    /// A jump.
    pub fn jump(&mut self, to: EbpfLabel) {
        self.jumps.push((self.program.instructions.len(), to));
        self.put(EbpfInstruction { code: JUMP, ..Default::default() });
    }

    /// A jump if a register compares so with a constant.
    pub fn jump_if(&mut self, comparison: EbpfComparison, one: EbpfRegister, immediate: i32, to: EbpfLabel) {
        self.jumps.push((self.program.instructions.len(), to));
        self.put(EbpfInstruction { code: comparison as u8, destination: one.0, immediate, ..Default::default() });
    }

    /// A jump if a register compares so with another.
    pub fn jump_if_register(
        &mut self,
        comparison: EbpfComparison,
        one: EbpfRegister,
        other: EbpfRegister,
        to: EbpfLabel,
    ) {
        self.jumps.push((self.program.instructions.len(), to));
        let code = comparison as u8 | BY_REGISTER;
        self.put(EbpfInstruction { code, destination: one.0, source: other.0, ..Default::default() });
    }

    /// A call of the kernel.
    pub fn call(&mut self, helper: Helper) {
        self.put(EbpfInstruction { code: CALL, immediate: helper as i32, ..Default::default() });
    }

    /// The end, with a number as the answer.
    pub fn exit_with(&mut self, answer: i32) {
        self.constant(EbpfArithmetic::Move, R0, answer);
        self.exit();
    }

    /// The end.
    pub fn exit(&mut self) {
        self.put(EbpfInstruction { code: EXIT, ..Default::default() });
    }

    /// The program, with jumps that lead to their labels.
    pub fn finish(mut self) -> EbpfProgram {
        for (at, to) in self.jumps {
            let target = self.labels[to.0].expect("a label that is used is bound");
            let distance = target as i64 - at as i64 - 1;
            self.program.instructions[at].offset =
                i16::try_from(distance).expect("the language's bounds keep it short");
        }
        self.program
    }
}

/// An instruction as people write it.
pub fn disassemble(instruction: EbpfInstruction) -> String {
    ShownInstruction(instruction).to_string()
}

struct ShownInstruction(EbpfInstruction);

impl fmt::Display for ShownInstruction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EbpfInstruction { code, destination, source, offset, immediate } = self.0;
        let place = |base: u8| match offset {
            0..=i16::MAX => format!("*(r{base} + {offset})"),
            below => format!("*(r{base} - {})", below.unsigned_abs()),
        };
        let bits = match code & 0x18 {
            0x10 => 8,
            0x08 => 16,
            0x00 => 32,
            _ => 64,
        };
        let by = if code & BY_REGISTER != 0 { format!("r{source}") } else { immediate.to_string() };
        match (code, code & 0x07) {
            (LOAD_CONSTANT, _) if source == MAP_VALUE => write!(out, "r{destination} = address of table {immediate}"),
            (LOAD_CONSTANT, _) if source == MAP_DESCRIPTOR && immediate == 0 => write!(out, "r{destination} = ring"),
            (LOAD_CONSTANT, _) if source == MAP_DESCRIPTOR => write!(out, "r{destination} = scratch"),
            (LOAD_CONSTANT, _) => write!(out, "r{destination} = low {:#x}", immediate as u32),
            (0, _) => write!(out, "   high {:#x}", immediate as u32),
            (TO_NETWORK, _) => write!(out, "r{destination} = network{immediate}(r{destination})"),
            (CALL, _) => write!(out, "call {}", helper_name(immediate)),
            (EXIT, _) => write!(out, "exit"),
            (JUMP, _) => write!(out, "go {offset:+}"),
            (_, 0x01) => write!(out, "r{destination} = u{bits} {}", place(source)),
            (_, 0x02) => write!(out, "u{bits} {} = {immediate}", place(destination)),
            (_, 0x03) if code & 0xe0 == 0xc0 => {
                let sign = if immediate & ATOMIC_OR != 0 { '|' } else { '+' };
                write!(out, "r{source} = atomic u{bits} {} {sign}= r{source}", place(destination))
            }
            (_, 0x03) => write!(out, "u{bits} {} = r{source}", place(destination)),
            (_, 0x05) => write!(out, "if r{destination} {} {by} go {offset:+}", comparison_sign(code)),
            (_, 0x07) => write!(out, "r{destination} {} {by}", arithmetic_sign(code)),
            _ => write!(out, "unknown {code:#04x}"),
        }
    }
}

fn comparison_sign(code: u8) -> &'static str {
    match code & !BY_REGISTER {
        0x15 => "==",
        0x25 => ">",
        0x35 => ">=",
        0x55 => "!=",
        0xa5 => "<",
        0xb5 => "<=",
        _ => "?",
    }
}

fn arithmetic_sign(code: u8) -> &'static str {
    match code & !BY_REGISTER {
        0x07 => "+=",
        0x17 => "-=",
        0x27 => "*=",
        0x47 => "|=",
        0x57 => "&=",
        0x67 => "<<=",
        0x77 => ">>=",
        0xa7 => "^=",
        0xb7 => "=",
        _ => "?",
    }
}

fn helper_name(number: i32) -> &'static str {
    match number {
        1 => "map_lookup_elem",
        5 => "ktime_get_ns",
        9 => "skb_store_bytes",
        11 => "l4_csum_replace",
        13 => "clone_redirect",
        23 => "redirect",
        26 => "skb_load_bytes",
        130 => "ringbuf_output",
        _ => "?",
    }
}
