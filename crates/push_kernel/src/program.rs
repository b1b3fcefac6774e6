//! A program in the kernel: its tables, its ring, and one loaded program for each hook.
//!
//! Invariant: all hooks share the tables, and what is loaded is what [`push::compile`] made of a verified program.

use crate::call::{self, BpfCommand};
use crate::failure::KernelFailure;
use crate::limits::{REFUSAL_BYTES_MAX, TESTED_BYTES_MAX};
use crate::links::DeviceLink;
use crate::ring::PacketRing;
use crate::table::KernelTable;
use push::compile::compile;
use push::ebpf::{EbpfMap, EbpfProgram};
use push::limits::DELIVERED_BYTES_MAX;
use push::{PushHook, VerifiedHook, VerifiedProgram};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

const KIND_ARRAY_OF_PROCESSORS: u32 = 6;
/// `BPF_PROG_TYPE_SCHED_CLS`
const KIND_CLASSIFIER: u32 = 3;
const LICENSE: &std::ffi::CStr = c"Apache-2.0";

/// See the module's description.
#[derive(Debug)]
pub struct KernelProgram {
    name: String,
    tables: Vec<KernelTable>,
    ring: Option<PacketRing>,
    hooks: Vec<(PushHook, OwnedFd)>,
    /// Room for one packet on each processor, if the program delivers. It is the program's alone.
    _scratch: Option<OwnedFd>,
}

/// What a program made of a packet that it was tried on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestedPacket {
    /// Its answer, as [`push::compile`] names them.
    pub answer: i32,
    /// The frame, as it now is.
    pub frame: Vec<u8>,
    /// How long a run took, in nanoseconds: the mean, if there were several.
    pub duration_ns: u32,
}

impl KernelProgram {
    /// Makes the tables and loads all hooks. It takes milliseconds, and on busy processors up to half a second: programs are loaded at a start.
    ///
    /// # Errors
    /// Rights or a newer kernel are missing, or the kernel's verifier refuses a word.
    pub fn load(program: &VerifiedProgram) -> Result<KernelProgram, KernelFailure> {
        let tables = program.tables().iter().map(KernelTable::new).collect::<Result<Vec<_>, _>>()?;
        let (ring, scratch) = match program.delivers() {
            true => (Some(PacketRing::new()?), Some(scratch()?)),
            false => (None, None),
        };
        let mut hooks = Vec::new();
        for hook in program.hooks() {
            let compiled = compile(program, hook);
            let code = linked(&compiled, &tables, ring.as_ref(), scratch.as_ref());
            let loaded = load_code(program.name(), &code);
            let loaded = loaded.map_err(|why| explained(program, hook, &compiled, &code, why))?;
            hooks.push((hook.hook(), loaded));
        }
        Ok(KernelProgram { name: program.name().to_owned(), tables, ring, hooks, _scratch: scratch })
    }

    /// Its tables, in the order of its text.
    pub fn tables(&self) -> &[KernelTable] {
        &self.tables
    }

    /// A table by its name.
    pub fn table(&self, name: &str) -> Option<&KernelTable> {
        self.tables.iter().find(|table| table.shape().name == name)
    }

    /// What it delivers, if it does.
    pub fn ring(&mut self) -> Option<&mut PacketRing> {
        self.ring.as_mut()
    }

    fn hook(&self, hook: PushHook) -> Result<BorrowedFd<'_>, KernelFailure> {
        let found = self.hooks.iter().find(|(known, _)| *known == hook);
        let missing = || KernelFailure::NoHook { program: self.name.clone(), hook: hook.name() };
        found.map(|(_, loaded)| loaded.as_fd()).ok_or_else(missing)
    }

    /// Attaches a hook to a device, by its number in this thread's network namespace. It stays until the link is dropped or the process ends.
    ///
    /// # Errors
    /// There is no such hook or device, or rights or a newer kernel are missing.
    pub fn attach(&self, hook: PushHook, device: u32) -> Result<DeviceLink, KernelFailure> {
        DeviceLink::new(self.hook(hook)?, hook, device)
    }

    /// Runs a hook on a frame, so many times in a row, without a device. Copies leave by this network namespace's loopback device.
    ///
    /// # Errors
    /// There is no such hook, the frame is shorter than Ethernet's header or longer than [`TESTED_BYTES_MAX`], or rights are missing.
    pub fn test(&self, hook: PushHook, frame: &[u8], repeat: u32) -> Result<TestedPacket, KernelFailure> {
        const DOING: &str = "try a program";
        if frame.len() > TESTED_BYTES_MAX {
            let why = io::Error::new(io::ErrorKind::InvalidInput, format!("more than {TESTED_BYTES_MAX} bytes"));
            return Err(KernelFailure::of(DOING, why));
        }
        let mut out = vec![0; frame.len()];
        let mut arguments = call::TestRun {
            program: call::raw(self.hook(hook)?),
            bytes_in: frame.len() as u32,
            bytes_out: out.len() as u32,
            data_in: call::address(frame.as_ptr()),
            data_out: call::address(out.as_mut_ptr()),
            repeat,
            ..Default::default()
        };
        // SAFETY: both buffers are as long as is said, and the second one is writable.
        unsafe { call::bpf(BpfCommand::TestRun, &mut arguments) }.map_err(|why| KernelFailure::of(DOING, why))?;
        out.truncate(arguments.bytes_out as usize);
        Ok(TestedPacket { answer: arguments.answer as i32, frame: out, duration_ns: arguments.duration_ns })
    }
}

fn scratch() -> Result<OwnedFd, KernelFailure> {
    let mut arguments = call::MapCreate {
        kind: KIND_ARRAY_OF_PROCESSORS,
        key_bytes: 4,
        value_bytes: DELIVERED_BYTES_MAX as u32,
        entries: 1,
        flags: 0,
    };
    // SAFETY: the arguments have no address.
    let made = unsafe { call::descriptor(BpfCommand::MapCreate, &mut arguments) };
    made.map_err(|why| KernelFailure::of("make room for packets", why))
}

/// The instructions as bytes, with descriptors where they name maps.
fn linked(
    compiled: &EbpfProgram,
    tables: &[KernelTable],
    ring: Option<&PacketRing>,
    scratch: Option<&OwnedFd>,
) -> Vec<[u8; 8]> {
    let mut instructions = compiled.instructions.clone();
    for &(at, map) in &compiled.maps {
        let descriptor = match map {
            EbpfMap::Table(table) => tables.get(table).map(KernelTable::descriptor),
            EbpfMap::Ring => ring.map(PacketRing::descriptor),
            EbpfMap::Scratch => scratch.map(AsFd::as_fd),
        };
        // A program that names a map has it: else the kernel refuses the descriptor 0 or takes no harm.
        instructions[at].immediate = descriptor.map_or(-1, |descriptor| call::raw(descriptor) as i32);
    }
    instructions.into_iter().map(|instruction| instruction.encode()).collect()
}

/// Small letters of the name: what the kernel shows beside a program.
fn shown_name(name: &str) -> [u8; 16] {
    let mut shown = [0; 16];
    for (to, from) in shown[..15].iter_mut().zip(name.bytes()) {
        *to = if from.is_ascii_alphanumeric() { from } else { b'_' };
    }
    shown
}

fn load_arguments(name: &str, code: &[[u8; 8]]) -> call::ProgramLoad {
    call::ProgramLoad {
        kind: KIND_CLASSIFIER,
        instructions_count: code.len() as u32,
        instructions: call::address(code.as_ptr()),
        license: call::address(LICENSE.as_ptr()),
        name: shown_name(name),
        ..Default::default()
    }
}

fn load_code(name: &str, code: &[[u8; 8]]) -> io::Result<OwnedFd> {
    let mut arguments = load_arguments(name, code);
    // SAFETY: the instructions are as many as is said, and the license ends with a 0.
    unsafe { call::descriptor(BpfCommand::ProgramLoad, &mut arguments) }
}

/// Why the kernel refused, by asking once more for its words.
fn explained(
    program: &VerifiedProgram,
    hook: &VerifiedHook,
    compiled: &EbpfProgram,
    code: &[[u8; 8]],
    why: io::Error,
) -> KernelFailure {
    if why.raw_os_error() == Some(libc::EPERM) {
        return KernelFailure::of("load a program", why);
    }
    let mut log = vec![0_u8; REFUSAL_BYTES_MAX];
    let mut arguments = load_arguments(program.name(), code);
    arguments.log_level = 1;
    arguments.log_bytes = log.len() as u32;
    arguments.log = call::address(log.as_mut_ptr());
    // SAFETY: as of `load_code`; and there is as much room for words as is said.
    let again = unsafe { call::descriptor(BpfCommand::ProgramLoad, &mut arguments) };
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let told = refusal(&String::from_utf8_lossy(&log[..end]));
    match (again, told) {
        (Err(_), Some((at, words))) => {
            let word = at.and_then(|at| compiled.words.get(at).copied().flatten());
            let word = word.and_then(|word| hook.code().get(word));
            let (line, word) =
                word.map_or((0, "what every program begins with".to_owned()), |word| (word.line, word.text.clone()));
            KernelFailure::Refused { line, word, why: words }
        }
        _ => KernelFailure::System { doing: "load a program", why },
    }
}

/// The last instruction that the kernel's verifier looked at, and its last sentence.
fn refusal(log: &str) -> Option<(Option<usize>, String)> {
    let instruction = |line: &str| {
        let (number, rest) = line.split_once(": (")?;
        rest.starts_with(|digit: char| digit.is_ascii_hexdigit()).then(|| number.parse::<usize>().ok())?
    };
    let said = |line: &&str| {
        !line.trim().is_empty() && !line.starts_with("processed ") && !line.starts_with("verification time")
    };
    let words = log.lines().rev().find(said)?.trim().to_owned();
    Some((log.lines().rev().find_map(instruction), words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, who writes a program that the kernel refuses is not told where.
    #[test]
    fn a_refusal_is_told_with_our_word() {
        let program = push::load("program p\non send\n  udp-source discard\n  time-to-live discard pass", &[]);
        let program = program.expect("it is safe");
        let hook = &program.hooks()[0];
        let compiled = compile(&program, hook);
        let mut code = linked(&compiled, &[], None, None);
        let broken = compiled.words.iter().position(|word| *word == Some(2)).expect("the third word is compiled");
        // A load by a register that nobody has set.
        code[broken][1] = 0x91;
        let why = load_code("p", &code).expect_err("it reads what it may not");
        match explained(&program, hook, &compiled, &code, why) {
            KernelFailure::Rights { doing } => println!("skipped: {doing} is not permitted"),
            KernelFailure::Refused { line, word, why } => {
                assert_eq!((line, word.as_str()), (4, "time-to-live"), "{why}");
                assert!(why.contains("R9"), "{why}");
            }
            other => panic!("{other}"),
        }
    }

    /// If this fails, a refusal by the kernel names a wrong word, or none.
    #[test]
    fn the_last_words_of_a_log_are_told() {
        let log = "0: R1=ctx() R10=fp0\n0: (bf) r6 = r1\n17: (71) r1 = *(u8 *)(r2 +9)\ninvalid access to map value\n\
                   processed 18 insns (limit 1000000)\n";
        assert_eq!(refusal(log), Some((Some(17), "invalid access to map value".to_owned())));
        assert_eq!(refusal("processed 18 insns\n"), None);
        assert_eq!(refusal("too large\n"), Some((None, "too large".to_owned())));
    }
}
