//! Push: what the verifier takes runs to a verdict on any packet, within its bounds, and compiles.
#![no_main]

use libfuzzer_sys::fuzz_target;
use push::compile::compile;
use push::interpret::run;
use push::{PacketInMemory, PushTables};

const HEAD: &str = "program p table t 3 { a u64 b u8 } table u 9 { a u16 b u32 } on ";

fuzz_target!(|input: &[u8]| {
    // The packet is what comes before the first 0.
    let split = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (packet, words) = input.split_at(split);
    let mut frame = vec![0; 14];
    frame[12] = 8;
    frame.extend([0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17]);
    frame.extend(packet);
    let Ok(program) = push::load(&format!("{HEAD}{}", String::from_utf8_lossy(words.get(1..).unwrap_or_default())), &[])
    else {
        return;
    };
    for hook in program.hooks() {
        let mut packet = PacketInMemory::new(&frame);
        run(hook, &mut packet, &mut PushTables::new(program.tables()));
        assert!(packet.copies.len() as u64 <= hook.bound().clones);
        assert_eq!(packet.frame.len(), frame.len());
        assert!(!compile(&program, hook).instructions.is_empty());
    }
});
