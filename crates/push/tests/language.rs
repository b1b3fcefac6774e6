//! The language from outside: what is refused and how that is told, what words do, what the programs that are there do, and that no text causes a panic.

mod generator;

use generator::{Generator, datagram, frame, sum, transport_sum};
use proptest::prelude::*;
use push::command;
use push::compile::compile;
use push::interpret::run;
use push::program::{PushHook, PushPlace, PushVerdict};
use push::shipped::{self, COLLECT, MULTI_CALL, MULTICAST};
use push::{PacketInMemory, PushRule, PushTables, VerifiedProgram, load};
use seeded_random::SplitMix64;
use std::path::Path;

fn loaded(text: &str) -> VerifiedProgram {
    load(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A program of one hook with these words, and what it is refused for.
fn refused(words: &str) -> (String, PushRule) {
    let text =
        format!("program p\nparameter port 7\ntable t 4 {{ a u32 b u8 }}\ntable wide 2000 {{ a u32 }}\n{words}\n");
    match load(&text, &[]) {
        Ok(_) => panic!("it is taken: {text}"),
        Err(error) => (error.to_string(), error.rule),
    }
}

/// Who writes a program is told line, word and rule: if this fails, somebody is told something else, or nothing is refused any more.
#[test]
fn refusals_name_line_word_and_rule() {
    let cases = [
        (
            "on send\n40 long@ discard pass",
            "line 6: long@ 40 reads to byte 48, only 28 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\n40 has-bytes if 33 long@ discard end pass",
            "line 6: long@ 33 reads to byte 41, only 40 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\n40 has-bytes if else 28 byte@ discard end pass",
            "line 6: byte@ 28 reads to byte 29, only 28 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\n40 has-bytes 60 has-bytes | if 40 byte@ discard end pass",
            "line 6: byte@ 40 reads to byte 41, only 40 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\n30 times i byte@ discard end pass",
            "line 6: byte@ at 0 to 29 reads to byte 30, only 28 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\n0 t a word@ discard pass",
            "line 6: word@ at 0 to 4294967295 reads to byte 4294967299, only 28 are known to be there",
            PushRule::KnownBytes,
        ),
        (
            "on send\nnow byte@ discard pass",
            "line 6: byte@ reads at a place without a bound, only 28 are known to be there",
            PushRule::KnownBytes,
        ),
        ("on send\n+ pass", "line 6: + finds too few cells on the stack", PushRule::Depth),
        (
            "on send\n1 if 2 end pass",
            "line 6: if leaves 1 cells where its condition holds, and 0 where it does not",
            PushRule::EqualDepth,
        ),
        (
            "on send\n3 times 1 end pass",
            "line 6: times begins with 0 cells, and its `end` comes with 1",
            PushRule::EqualDepth,
        ),
        ("on send\nnow times end pass", "line 6: times has a count without a bound", PushRule::BoundedLoop),
        (
            "on send\n0 t a times end pass",
            "line 6: times has a count of up to 4294967295, more than 16384",
            PushRule::BoundedLoop,
        ),
        ("on send\n1 if drop end", "line 6: a path through `on send` ends without a verdict", PushRule::Verdict),
        (
            "on send\npass 1 discard",
            "line 6: 1 is never reached: the words before it end in a verdict",
            PushRule::Unreachable,
        ),
        ("on send\ndeliver", "line 6: deliver is for `on receive`: this packet leaves", PushRule::Hook),
        ("on receive\nclone pass", "line 6: clone is for `on send`: this packet has come", PushRule::Hook),
        (
            "on send\n65 times clone end pass",
            "line 5: the longest path through `on send` sends 65 copies, more than 64",
            PushRule::BoundedTime,
        ),
        (
            "on send\n200 times 200 times end end pass",
            "line 5: the longest path through `on send` has 40603 words, more than 16384",
            PushRule::BoundedTime,
        ),
        (
            "on send\n1 wide find discard pass",
            "line 6: wide find looks through 2000 rows, more than 1024",
            PushRule::BoundedTime,
        ),
        (
            "on send\nflood pass",
            "line 6: flood is no word of the language and no name of the program",
            PushRule::KnownWord,
        ),
        ("on send\n0 t c pass", "line 6: t has no field c", PushRule::KnownWord),
        ("on send\ni pass", "line 6: i stands in no loop", PushRule::KnownWord),
        (
            "on send\n1 if 5 let x end x discard pass",
            "line 6: x is no word of the language and no name of the program",
            PushRule::KnownWord,
        ),
        ("on send\n1 0 t b add discard pass", "line 6: t b add is of u8: one step needs u32 or u64", PushRule::Form),
        ("on send\n1 if pass", "line 6: if has no `end`", PushRule::Form),
        ("on send\nend pass", "line 6: end closes nothing", PushRule::Form),
        ("on send\n5 let port pass", "line 6: port names something already", PushRule::Form),
        (
            "on send\n5 let min pass",
            "line 6: min is a word of the language and cannot be a value's name",
            PushRule::Form,
        ),
        ("on send pass\non send pass", "line 6: the program has a hook `on send` already", PushRule::Form),
        ("on forward pass", "line 5: forward is no hook: `send` or `receive`", PushRule::Form),
        ("", "line 5: the program has no hook: `on send` or `on receive`", PushRule::Form),
        (
            "on send\n18446744073709551616 discard pass",
            "line 6: 18446744073709551616 is larger than 18446744073709551615",
            PushRule::KnownWord,
        ),
        ("table u 9000 { x u64 }\non send pass", "line 5: u has more than 65536 bytes", PushRule::Bounds),
        ("table u 0 { x u64 }\non send pass", "line 5: u has no rows", PushRule::Bounds),
    ];
    for (words, message, rule) in cases {
        assert_eq!(refused(words), (message.to_owned(), rule), "{words}");
    }
    let setters = "udp-source set-source-address ".repeat(5);
    let (text, rule) = refused(&format!("on send 900 times {setters} end pass"));
    assert!(text.ends_with(" branches, more than 8000"), "{text}");
    assert_eq!(rule, PushRule::BoundedTime);
    assert_eq!(refused("table u 900 { k u16 } on send 5 times i u find discard end pass").1, PushRule::BoundedTime);
    let full = format!("on send {} pass", "1 ".repeat(33));
    assert_eq!(refused(&full), ("line 5: 1 finds the stack full: it has 32 cells".to_owned(), PushRule::Depth));
    let deep = format!("on send {} pass", "1 if ".repeat(17));
    assert_eq!(refused(&deep), ("line 5: if is within 16 blocks already".to_owned(), PushRule::Bounds));
    let many = (0..17).map(|name| format!("1 let n{name} ")).collect::<String>();
    let message = "line 5: let n16 is one too many: named values and loops have 16 slots";
    assert_eq!(refused(&format!("on send {many} pass")), (message.to_owned(), PushRule::Bounds));
    let long = format!("on send {} pass", "1 discard ".repeat(300));
    assert_eq!(refused(&long), ("line 5: the program has more than 512 words".to_owned(), PushRule::Bounds));
}

/// What is known on every path may be used behind the join: if this fails, programs have to test again and again.
#[test]
fn what_all_paths_know_is_known() {
    for words in [
        "40 has-bytes if else pass end 32 long@ discard pass",
        "40 has-bytes udp-source 5 = & if 32 long@ discard end pass",
        "40 has-bytes let enough enough if 32 long@ discard end pass",
        "40 has-bytes if 60 has-bytes if 59 byte@ discard end 39 byte@ discard end pass",
        "5 times i 4 << 8 >> 20 + long@ discard end pass",
        "packet-bytes 20 min long@ discard pass",
    ] {
        loaded(&format!("program p on send {words}"));
    }
}

/// Runs words that leave a number in the table's only field.
fn value(words: &str, payload: &[u8]) -> u64 {
    let program = loaded(&format!("program p table t 1 {{ a u64 }} on receive {words} 0 t a set pass"));
    let mut tables = PushTables::new(program.tables());
    let frame = datagram([10, 77, 0, 1], [10, 77, 0, 2], [1000, 7700], payload);
    let verdict = run(&program.hooks()[0], &mut PacketInMemory::new(&frame), &mut tables);
    assert_eq!(verdict, PushVerdict::Pass, "{words}");
    tables.read(PushPlace { table: 0, field: 0 }, 0)
}

/// Each word has the meaning that the manual tells.
#[test]
fn words_mean_what_the_manual_says() {
    for (words, result) in [
        ("1 2 -", u64::MAX),
        ("6 3 & 8 |", 10),
        ("1 65 <<", 2),
        ("0x100 4 >>", 16),
        ("10.77.0.1 source-address =", 1),
        ("udp-source udp-destination <", 1),
        ("7 3 min", 3),
        ("packet-bytes", 32),
        ("28 word@", 0x0102_0304),
        ("29 half@", 0x0203),
        ("33 has-bytes", 0),
        ("32 has-bytes", 1),
        ("source-hardware", 0x0200_0000_0001),
        ("5 times i i - discard end 7", 7),
        ("0 5 times i + end", 10),
        ("1 if 5 else 6 end", 5),
        ("4 let x 3 times i let y x y + discard end x", 4),
        ("99 t find", 1),
        ("t count", 0),
        ("9 t a 5 +", 5),
        ("7 0 t a add 2 +", 2),
        ("7 0 t a set 8 0 t a bit-set", 7),
        ("7 5 t a set 1", 1),
    ] {
        let guarded = match words.split_once('@') {
            Some(_) => format!("32 has-bytes if {words} else 0 end"),
            None => words.to_owned(),
        };
        assert_eq!(value(&guarded, &[1, 2, 3, 4]), result, "{guarded}");
    }
}

/// If this fails, a network sees datagrams whose checksums are wrong, and drops them.
#[test]
fn checksums_are_right_behind_changes() {
    let program = loaded(
        "program p on send 10.1.2.3 set-destination-address 10.9.8.7 set-source-address 1 set-source-port
         65535 set-destination-port clone pass",
    );
    for payload in [&b"odd"[..], b"even", b""] {
        let mut packet = PacketInMemory::new(&datagram([10, 77, 0, 1], [10, 77, 0, 2], [1000, 7700], payload));
        run(&program.hooks()[0], &mut packet, &mut PushTables::new(program.tables()));
        assert_eq!(packet.copies, [packet.frame.clone()]);
        assert_eq!(packet.frame, {
            let mut right = datagram([10, 9, 8, 7], [10, 1, 2, 3], [1, 65535], payload);
            // 0 and its complement are one number.
            right[40..42].copy_from_slice(&packet.frame[40..42]);
            right
        });
        assert_eq!([sum(&packet.frame[14..34], 0), transport_sum(&packet.frame)], [0, 0]);
    }
}

fn multicast_tables(program: &VerifiedProgram, hardware: &[u64]) -> PushTables {
    let mut tables = PushTables::new(program.tables());
    for (index, hardware) in hardware.iter().enumerate() {
        assert!(tables.add_row(0, &[0x0a4d_000a + index as u64, 9000 + index as u64, 0, *hardware]));
    }
    tables
}

/// If this fails, a member gets none, or a datagram of another port is taken away.
#[test]
fn multicast_sends_to_each_member_that_it_knows() {
    let program = loaded(MULTICAST.text);
    let mut tables = multicast_tables(&program, &[0x0200_0000_000a, 0, 0x0200_0000_000c]);
    let frame = datagram([10, 77, 0, 1], [10, 77, 0, 10], [9000, 7700], b"to all");
    let send = program.hook(PushHook::Send).expect("it has one");
    let mut packet = PacketInMemory::new(&frame);
    assert_eq!(run(send, &mut packet, &mut tables), PushVerdict::Pass);
    let expected: Vec<Vec<u8>> = [10, 12]
        .map(|last| {
            let mut frame = datagram([10, 77, 0, 1], [10, 77, 0, last], [9000, 8990 + u16::from(last)], b"to all");
            frame[5] = last;
            frame
        })
        .to_vec();
    assert_eq!([packet.copies, vec![packet.frame]].concat(), expected, "the last one is the packet itself");
    assert_eq!(tables.read(PushPlace { table: 0, field: 2 }, 1), 1, "who is left out is counted");

    let receive = program.hook(PushHook::Receive).expect("it has one");
    let mut hello = datagram([10, 77, 0, 11], [10, 77, 0, 1], [9001, 9000], b"hello");
    hello[11] = 0x0b;
    assert_eq!(run(receive, &mut PacketInMemory::new(&hello), &mut tables), PushVerdict::Pass);
    assert_eq!(tables.read(PushPlace { table: 0, field: 3 }, 1), 0x0200_0000_000b, "an address is learnt");

    let other = datagram([10, 77, 0, 1], [10, 77, 0, 10], [9000, 7701], b"to one");
    let mut packet = PacketInMemory::new(&other);
    assert_eq!(run(send, &mut packet, &mut tables), PushVerdict::Pass);
    assert_eq!((packet.frame, packet.copies.len()), (other, 0));
}

/// If this fails, a caller is woken too early, more than once, or by a reply that was counted already.
#[test]
fn multi_call_wakes_with_as_many_replies_as_are_wanted() {
    let program = loaded(MULTI_CALL.text);
    let mut tables = PushTables::new(program.tables());
    for server in 0..3_u64 {
        assert!(tables.add_row(0, &[0x0a4d_000a + server, 9000, 0, 1 << server, 2]));
    }
    assert!(tables.add_row(1, &[0x0102_0304_0506_0708, 2, 0, 0]));
    let receive = program.hook(PushHook::Receive).expect("it has one");
    let mut hear = |server: u8, number: u8| {
        let payload = [1, 2, 3, 4, 5, 6, 7, number];
        let frame = datagram([10, 77, 0, 10 + server], [10, 77, 0, 1], [9000, 7702], &payload);
        let mut packet = PacketInMemory::new(&frame);
        let verdict = run(receive, &mut packet, &mut tables);
        assert_eq!(packet.delivered.len(), usize::from(!matches!(verdict, PushVerdict::Pass | PushVerdict::Drop)));
        verdict
    };
    assert_eq!(hear(0, 7), PushVerdict::Pass, "another call's reply");
    assert_eq!(hear(9, 8), PushVerdict::Pass, "no server");
    assert_eq!(hear(0, 8), PushVerdict::Deliver);
    assert_eq!(hear(0, 8), PushVerdict::Drop, "the same once more");
    assert_eq!(hear(1, 8), PushVerdict::DeliverAndWake);
    assert_eq!(hear(2, 8), PushVerdict::Deliver, "one more than wanted");
}

/// If this fails, a site is woken for each vote, or sleeps although all have voted.
#[test]
fn collect_wakes_when_all_expected_have_spoken() {
    let program = loaded(COLLECT.text);
    let mut tables = PushTables::new(program.tables());
    for peer in 1..4_u64 {
        assert!(tables.add_row(0, &[peer, 1 << peer]));
    }
    assert!(tables.add_row(1, &[0, 0, 0]));
    let hook = &program.hooks()[0];
    let hear = |peer: u8, tables: &mut PushTables, is_full: bool| {
        let mut payload = [0; 17];
        payload[8] = peer;
        let frame = datagram([10, 77, 0, 10], [10, 77, 0, 1], [7700, 7700], &payload);
        run(hook, &mut PacketInMemory { ring_is_full: is_full, ..PacketInMemory::new(&frame) }, tables)
    };
    assert_eq!(hear(1, &mut tables, false), PushVerdict::DeliverAndWake, "no round is under way");
    assert_eq!(hear(4, &mut tables, false), PushVerdict::Pass, "a stranger goes to the socket");
    for (field, number) in [(0, 1), (1, 0b1110), (2, 0)] {
        tables.write(PushPlace { table: 1, field }, 0, number);
    }
    assert_eq!(hear(1, &mut tables, false), PushVerdict::Deliver);
    assert_eq!(hear(2, &mut tables, true), PushVerdict::Pass, "a full ring loses nothing");
    assert_eq!(hear(1, &mut tables, false), PushVerdict::Deliver);
    assert_eq!(hear(3, &mut tables, false), PushVerdict::DeliverAndWake);
}

/// A reply goes where the packet came from; what was for a group is not answered in the group's name.
#[test]
fn replies_go_back() {
    let program = loaded("program ping on receive reply");
    let mut frame = datagram([10, 77, 0, 1], [10, 77, 0, 2], [1000, 7700], b"ping");
    let mut packet = PacketInMemory::new(&frame);
    assert_eq!(run(&program.hooks()[0], &mut packet, &mut PushTables::new(&[])), PushVerdict::Reply);
    let mut back = datagram([10, 77, 0, 2], [10, 77, 0, 1], [7700, 1000], b"ping");
    (back[5], back[11]) = (1, 2);
    assert_eq!(packet.frame, back);
    frame[0] = 0xff;
    assert_eq!(
        run(&program.hooks()[0], &mut PacketInMemory::new(&frame), &mut PushTables::new(&[])),
        PushVerdict::Pass
    );
}

/// What a person sees changes only on purpose. `BLESS=1` writes the files anew.
#[test]
fn what_is_shown_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = vec![("list".to_owned(), command::list())];
    for program in shipped::ALL {
        let shown = command::show(program.text).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        files.push((program.name.to_owned(), shown));
    }
    for (name, text) in files {
        let path = folder.join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == before, "{name} is shown otherwise now:\n{text}");
    }
}

/// If this fails, `raid push try` tells something else than what the program does.
#[test]
fn a_packet_can_be_tried() {
    let frame = datagram([10, 77, 0, 1], [10, 77, 0, 2], [7700, 7700], &[0; 17]);
    let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let rows = ["peers=0,2".to_owned(), "round=1,6,0".to_owned()];
    let told = command::try_packet(COLLECT.text, &digits, None, &rows).expect("it can be tried");
    let ring: String = frame[14..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(told, format!("verdict: deliver\nring:    {ring}\ntable:   round 0 heard: 0 -> 2\n"));
    let rows: Vec<String> = ["10.77.0.10,9000,0,2", "10.77.0.11,9001,0,0"].map(|row| format!("members={row}")).to_vec();
    let told = command::try_packet(MULTICAST.text, &digits, Some("send"), &rows).expect("it can be tried");
    assert!(told.starts_with("verdict: drop\ncopy:    000000000002"), "{told}");
    assert!(told.ends_with("table:   members 1 left-out: 0 -> 1\n"), "{told}");
    let told = command::try_packet(COLLECT.text, "00", None, &[]).expect("it can be tried");
    assert!(told.starts_with("no program sees this packet") && told.ends_with("verdict: pass\n"), "{told}");
    for (packet, hook, row, wrong) in [
        ("0", Some("send"), "", "the packet ends within a byte: two hexadecimal digits make one"),
        ("0g", Some("send"), "", "g in the packet is no hexadecimal digit"),
        ("00", None, "", "the program has two hooks: say with --hook which one, send or receive"),
        ("00", Some("up"), "", "up is no hook: send or receive"),
        ("00", Some("send"), "members", "members is no row: TABLE=NUMBER,NUMBER,..."),
        ("00", Some("send"), "others=1", "multicast has no table others"),
        ("00", Some("send"), "members=1,2", "members has 4 fields, and members=1,2 has 2"),
        ("00", Some("send"), "members=1,70000,0,0", "70000 is too large for port of members, a u16"),
        ("00", Some("send"), "members=1,,0,0", " in members=1,,0,0 is no number"),
    ] {
        let rows: Vec<String> = if row.is_empty() { Vec::new() } else { vec![row.to_owned()] };
        assert_eq!(command::try_packet(MULTICAST.text, packet, hook, &rows), Err(wrong.to_owned()));
    }
    let wrong = command::check("program p on send +").expect_err("it is refused");
    let rule = "the stack has from 0 to 32 cells, and each word finds what it takes";
    assert_eq!(wrong, format!("line 1: + finds too few cells on the stack\nthe rule: {rule}"));
}

/// A parameter's value can be given; one that the program has not is an error and no silence.
#[test]
fn parameters_are_replaced() {
    let program = load(MULTICAST.text, &[("group-port", 1)]).expect("it is safe");
    assert_eq!(program.parameters(), [("group-port".to_owned(), 1)]);
    let error = load(MULTICAST.text, &[("port", 1)]).expect_err("there is none");
    assert_eq!(error.message, "multicast has no parameter port");
}

/// What the generator of the kernel's tests writes is safe: else these tests would try little.
#[test]
fn generated_programs_are_taken() {
    let taken = (0..400).filter(|&seed| load(&Generator::program(seed, seed % 2 == 0), &[]).is_ok()).count();
    assert!(taken >= 360, "{taken} of 400 were taken");
}

/// A run ends within its bound, and its end is a verdict of the program: if this fails, the bound is none.
#[test]
fn runs_end_on_any_packet() {
    let mut random = SplitMix64::new(5);
    for seed in 0..300 {
        let Ok(program) = load(&Generator::program(seed, seed % 2 == 0), &[]) else { continue };
        let mut tables = PushTables::new(program.tables());
        for _ in 0..5 {
            let mut packet = PacketInMemory::new(&frame(&mut random));
            let length = packet.frame.len();
            run(&program.hooks()[0], &mut packet, &mut tables);
            assert_eq!(packet.frame.len(), length);
            assert!(packet.copies.len() as u64 <= program.hooks()[0].bound().clones);
        }
        assert!(!compile(&program, &program.hooks()[0]).instructions.is_empty());
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "program",
        "p",
        "table",
        "t",
        "3",
        "{",
        "}",
        "a",
        "u8",
        "u64",
        "on",
        "send",
        "receive",
        "if",
        "else",
        "end",
        "times",
        "let",
        "x",
        "i",
        "1",
        "0",
        "40",
        "has-bytes",
        "byte@",
        "long@",
        "+",
        "<",
        "min",
        "t",
        "a",
        "set",
        "add",
        "bit-set",
        "find",
        "count",
        "clone",
        "pass",
        "drop",
        "deliver",
        "reply",
        "discard",
        "now",
        "set-source-port",
        "# no\n",
        "\n",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    /// Text of words in any order is taken or refused at a line that it has.
    #[test]
    fn any_words_are_taken_or_refused(words in prop::collection::vec(word(), 0..80), has_head: bool) {
        let head = if has_head { "program p table t 3 { a u64 } on receive " } else { "" };
        let text = format!("{head}{}", words.join(" "));
        match load(&text, &[]) {
            Ok(program) => {
                for hook in program.hooks() {
                    compile(&program, hook);
                    run(hook, &mut PacketInMemory::new(&datagram([1; 4], [2; 4], [3, 4], &[5; 30])), &mut PushTables::new(program.tables()));
                }
            }
            Err(error) => prop_assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error:?}"),
        }
    }

    /// So is any text.
    #[test]
    fn any_text_is_taken_or_refused(text in ".{0,200}") {
        let lines = text.lines().count().max(1);
        prop_assert!(load(&text, &[]).is_err_and(|error| (1..=lines).contains(&error.line)));
    }
}
