//! Random programs on random packets: what the kernel makes of them, and what the interpreter does. Needs the rights to load programs; else it says so and does nothing.

#[path = "../../push/tests/generator/mod.rs"]
mod generator;

use generator::{Generator, frame};
use push::compile::{ANSWER_DROP, ANSWER_PASS, ANSWER_REDIRECT};
use push::interpret::run;
use push::{PacketInMemory, PushTables, PushVerdict, VerifiedProgram, load, shipped};
use push_kernel::{KernelFailure, KernelProgram};
use rustix::event::{Timespec, epoll};
use seeded_random::SplitMix64;

const PROGRAMS: u64 = 400;
const PACKETS: u64 = 12;

/// A network of this thread's own, so that copies reach nobody. Says whether we may.
fn leave_the_network() -> bool {
    // SAFETY: it changes this thread's network namespace and no memory.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    if answer != 0 {
        println!("skipped: a network namespace needs CAP_SYS_ADMIN: {}", std::io::Error::last_os_error());
    }
    answer == 0
}

fn in_kernel(program: &VerifiedProgram, text: &str) -> Option<KernelProgram> {
    match KernelProgram::load(program) {
        Ok(loaded) => Some(loaded),
        Err(missing @ (KernelFailure::Rights { .. } | KernelFailure::Unknown { .. })) => {
            println!("skipped: {missing}");
            None
        }
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Random bytes, small numbers among them, for a table; its count often too large.
fn fill(random: &mut SplitMix64, bytes: &mut [u8]) {
    for word in bytes.chunks_mut(8) {
        let value = match random.below(3) {
            0 => random.draw(),
            1 => random.below(8),
            _ => 0x1e14,
        };
        word.copy_from_slice(&value.to_ne_bytes()[..word.len()]);
    }
    let count = random.below(30);
    bytes[..8].copy_from_slice(&count.to_ne_bytes());
}

/// If this fails, a program does another thing in the kernel than what tests and simulations have seen, or the kernel refuses what we take for safe.
#[test]
fn the_kernel_does_what_the_interpreter_does() {
    if !leave_the_network() {
        return;
    }
    let mut random = SplitMix64::new(1989);
    let mut seen = [0_u32; 5];
    let mut tried = 0;
    for seed in 0..PROGRAMS {
        let text = Generator::program(seed, seed % 2 == 0);
        // What our verifier refuses has a test of its own.
        let Ok(program) = load(&text, &[]) else { continue };
        let Some(mut loaded) = in_kernel(&program, &text) else { return };
        tried += 1;
        for number in 0..PACKETS {
            let verdict =
                compare(&program, &mut loaded, &mut random, &format!("program {seed}, packet {number}\n{text}"));
            seen[PushVerdict::ALL.iter().position(|known| *known == verdict).expect("all are listed")] += 1;
        }
    }
    assert!(tried >= PROGRAMS * 9 / 10, "{tried} programs were tried");
    println!("{tried} programs, {} packets; verdicts {seen:?}", tried * PACKETS);
    assert!(seen.iter().all(|&count| count > 0), "each verdict is seen: {seen:?}");
}

fn compare(program: &VerifiedProgram, loaded: &mut KernelProgram, random: &mut SplitMix64, name: &str) -> PushVerdict {
    let hook = &program.hooks()[0];
    let mut tables = PushTables::new(program.tables());
    for (number, table) in loaded.tables().iter().enumerate() {
        let bytes = tables.bytes_mut(number).expect("both have it");
        fill(random, bytes);
        table.set_bytes(bytes).expect("it is ours");
    }
    let frame = frame(random);
    let mut packet = PacketInMemory::new(&frame);
    let verdict = run(hook, &mut packet, &mut tables);
    let answer = match verdict {
        PushVerdict::Pass => ANSWER_PASS,
        PushVerdict::Reply => ANSWER_REDIRECT,
        PushVerdict::Drop | PushVerdict::Deliver | PushVerdict::DeliverAndWake => ANSWER_DROP,
    };
    let tested = loaded.test(hook.hook(), &frame, 1).unwrap_or_else(|error| panic!("{error}: {name}"));
    assert_eq!(tested.answer, answer, "{verdict:?}: {name}");
    assert_eq!(tested.frame, packet.frame, "{name}");
    for (number, table) in loaded.tables().iter().enumerate() {
        let bytes = table.bytes().expect("it is ours");
        assert_eq!(Some(bytes.as_slice()), tables.bytes(number), "table {number}: {name}");
    }
    let mut delivered = Vec::new();
    let mut bytes = Vec::new();
    if let Some(ring) = loaded.ring() {
        while ring.read(&mut bytes) {
            delivered.push(bytes.clone());
        }
    }
    let expected: Vec<Vec<u8>> = packet.delivered.into_iter().map(|(bytes, _)| bytes).collect();
    assert_eq!(delivered, expected, "{name}");
    verdict
}

/// If this fails, this kernel refuses a program that is there.
#[test]
fn the_kernel_takes_the_programs_that_are_there() {
    for program in shipped::ALL {
        let verified = load(program.text, &[]).expect("it is safe");
        if in_kernel(&verified, program.text).is_none() {
            return;
        }
    }
}

/// The longest programs that our rules let through are no trouble for the kernel either: loops within loops, searches, and conditions in them.
#[test]
fn the_kernel_takes_long_programs() {
    let head = "program p table t 64 { a u32 b u32 } table u 1000 { k u32 } on send ";
    for words in [
        "60 times i t a 5 = if 1 i t b add discard else i t a 9 < if 2 i t b set end end clone end pass",
        "30 times 40 times i t a i t b < if 7 i t b set end end end pass",
        "source-address u find let row row u k 5 = if 1 row t a set end pass",
        "30 times i t a u find 999 < if 1 i t b set end end pass".replace("u find", "t find").as_str(),
        "0 60 times i t a 3 & if 1 + else 2 + end end 0 t b set pass",
        "300 times udp-source i + set-source-port end pass",
        "700 times udp-source set-source-address udp-source set-source-address udp-source set-source-address i set-source-port
         i set-destination-port end pass",
        "3 times i u find 5 = if 1 i t b add discard end end pass",
    ] {
        let text = format!("{head}{words}");
        let program = load(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if in_kernel(&program, &text).is_none() {
            return;
        }
    }
}

/// If this fails, a site is woken for each datagram, or never.
#[test]
fn who_reads_a_ring_is_woken_when_the_program_says_so() {
    let text = "program p on receive udp-source 1 = if deliver end deliver-and-wake";
    let program = load(text, &[]).expect("it is safe");
    let Some(mut loaded) = in_kernel(&program, text) else { return };
    let hook = program.hooks()[0].hook();
    let datagram = |port| generator::datagram([10, 77, 0, 1], [10, 77, 0, 2], [port, 2], b"vote");
    // Triggered by edges: told of wakes, and not of what lies in the ring.
    let waits = epoll::create(epoll::CreateFlags::CLOEXEC).expect("it can be made");
    let ring = loaded.ring().expect("it delivers").descriptor();
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&waits, ring, epoll::EventData::new_u64(0), flags).expect("it can be waited for");
    let wakes = |seconds| {
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 2];
        let patience = Timespec { tv_sec: seconds, tv_nsec: 0 };
        epoll::wait(&waits, &mut events, Some(&patience)).expect("it can be waited for")
    };
    for _ in 0..3 {
        loaded.test(hook, &datagram(1), 1).expect("it runs");
        assert_eq!(wakes(0), 0, "it is delivered silently");
    }
    loaded.test(hook, &datagram(3), 1).expect("it runs");
    assert_eq!(wakes(60), 1, "now there is a wake");
    let mut bytes = Vec::new();
    let ring = loaded.ring().expect("it delivers");
    assert_eq!((0..5).filter(|_| ring.read(&mut bytes)).count(), 4, "one wake for four datagrams");
}

/// A ring is read over its end, and a table is one for us and the kernel.
#[test]
fn rings_and_tables_are_shared() {
    let text = "program p table t 2 { a u64 } on receive 1 0 t a add discard deliver";
    let program = load(text, &[]).expect("it is safe");
    let Some(mut loaded) = in_kernel(&program, text) else { return };
    let mut frame = generator::datagram([10, 77, 0, 1], [10, 77, 0, 2], [1, 2], &[0; 1400]);
    let hook = program.hooks()[0].hook();
    let mut bytes = Vec::new();
    for round in 0..2_000_u32 {
        frame[42..46].copy_from_slice(&round.to_be_bytes());
        loaded.test(hook, &frame, 1).expect("it runs");
        let ring = loaded.ring().expect("it delivers");
        assert!(ring.read(&mut bytes), "{round}");
        assert_eq!(bytes, frame[14..], "{round}");
        assert!(!ring.read(&mut bytes));
    }
    let table = loaded.table("t").expect("it has one");
    assert_eq!(table.read(0, 0), 2_000);
    assert!(table.add_row(&[5]) && table.add_row(&[6]) && !table.add_row(&[7]));
    assert_eq!((table.count(), table.read(0, 1), table.swap(0, 1, 9), table.read(0, 1)), (2, 6, Some(6), 9));
    assert_eq!((table.read(0, 2), table.write(0, 2, 1), table.swap(1, 0, 1)), (0, false, None));
    // Until it is full: then packets pass to the socket.
    let mut answers = Vec::new();
    for _ in 0..800 {
        answers.push(loaded.test(hook, &frame, 1).expect("it runs").answer);
    }
    assert_eq!((answers[0], answers[799]), (ANSWER_DROP, ANSWER_PASS));
}
