//! What `raid push` does: text in, text out. Files and the terminal are the program's.
//!
//! Invariant: whatever the input, the answer is a text or an error that says what was wrong.

use crate::bytecode::VerifiedProgram;
use crate::error::PushError;
use crate::interpret;
use crate::limits::{ETHERNET_BYTES, PACKET_BYTES_MAX};
use crate::packet::{PacketInMemory, seen_bytes};
use crate::parse;
use crate::program::{PushHook, PushPlace};
use crate::shipped;
use crate::show;
use crate::tables::PushTables;
use std::fmt::Write;

/// The programs that are there, one a line.
pub fn list() -> String {
    shipped::ALL.iter().map(|program| format!("{:<12}{}\n", program.name, program.about)).collect()
}

fn loaded(text: &str) -> Result<VerifiedProgram, String> {
    crate::load(text, &[]).map_err(|error| refusal(&error))
}

/// A refusal with its rule, in two lines.
pub fn refusal(error: &PushError) -> String {
    format!("{error}\nthe rule: {}", error.rule.text())
}

/// Whether a program is safe, and what it costs at most.
///
/// # Errors
/// The first word that breaks a rule, with the rule.
pub fn check(text: &str) -> Result<String, String> {
    Ok(show::summary(&loaded(text)?))
}

/// The same, with bytecode and the kernel's instructions.
///
/// # Errors
/// The first word that breaks a rule, with the rule.
pub fn show(text: &str) -> Result<String, String> {
    Ok(show::whole(&loaded(text)?))
}

/// What a program would do with a packet. `packet` is a frame in hexadecimal digits, from Ethernet's header on; `hook` is `send` or `receive`, and may be left out
/// if the program has one; `rows` are rows of tables, each as `TABLE=NUMBER,NUMBER,...`.
///
/// # Errors
/// A word that breaks a rule, or what of the rest is not as it should be.
pub fn try_packet(text: &str, packet: &str, hook: Option<&str>, rows: &[String]) -> Result<String, String> {
    let program = loaded(text)?;
    let frame = frame(packet)?;
    let hook = match hook {
        Some(name) => PushHook::ALL
            .into_iter()
            .find(|hook| hook.name() == name)
            .ok_or_else(|| format!("{name} is no hook: send or receive"))?,
        None => match program.hooks() {
            [one] => one.hook(),
            _ => return Err("the program has two hooks: say with --hook which one, send or receive".to_owned()),
        },
    };
    let hook = program.hook(hook).ok_or_else(|| format!("{} has no hook `on {}`", program.name(), hook.name()))?;
    let mut tables = PushTables::new(program.tables());
    for row in rows {
        add_row(&program, &mut tables, row)?;
    }
    let before = tables.clone();
    let mut packet = PacketInMemory::new(&frame);
    let verdict = interpret::run(hook, &mut packet, &mut tables);
    let mut told = String::new();
    if seen_bytes(&frame).is_none() {
        told += "no program sees this packet: it is not UDP over IPv4 without options and whole\n";
    }
    let _ = writeln!(told, "verdict: {}", verdict.name());
    for copy in &packet.copies {
        let _ = writeln!(told, "copy:    {}", hexadecimal(copy));
    }
    for (bytes, _) in &packet.delivered {
        let _ = writeln!(told, "ring:    {}", hexadecimal(bytes));
    }
    if packet.frame != frame {
        let _ = writeln!(told, "packet:  {}", hexadecimal(&packet.frame));
    }
    told += &differences(&program, &before, &tables);
    Ok(told)
}

/// The fields that a run has changed, one a line.
fn differences(program: &VerifiedProgram, before: &PushTables, after: &PushTables) -> String {
    let mut told = String::new();
    for (table, shape) in program.tables().iter().enumerate() {
        for index in 0..shape.rows {
            for (field, described) in shape.fields.iter().enumerate() {
                let place = PushPlace { table, field };
                let (was, is) = (before.read(place, index), after.read(place, index));
                if was != is {
                    let _ = writeln!(told, "table:   {} {index} {}: {was} -> {is}", shape.name, described.name);
                }
            }
        }
    }
    told
}

fn frame(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = digits.chars().filter(|one| !one.is_whitespace() && *one != ':').collect();
    if digits.len() / 2 > ETHERNET_BYTES + PACKET_BYTES_MAX as usize {
        return Err(format!("the packet has {} bytes, more than a frame of IPv4 can have", digits.len() / 2));
    }
    if !digits.len().is_multiple_of(2) {
        return Err("the packet ends within a byte: two hexadecimal digits make one".to_owned());
    }
    let value = |one: char| one.to_digit(16).ok_or_else(|| format!("{one} in the packet is no hexadecimal digit"));
    digits.chunks(2).map(|pair| Ok((value(pair[0])? << 4 | value(pair[1])?) as u8)).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add_row(program: &VerifiedProgram, tables: &mut PushTables, row: &str) -> Result<(), String> {
    let (name, values) = row.split_once('=').ok_or_else(|| format!("{row} is no row: TABLE=NUMBER,NUMBER,..."))?;
    let table = program.tables().iter().position(|table| table.name == name);
    let table = table.ok_or_else(|| format!("{} has no table {name}", program.name()))?;
    let shape = &program.tables()[table];
    let values: Vec<u64> = values
        .split(',')
        .map(|text| {
            parse::number(text).filter(|_| !text.is_empty()).ok_or_else(|| format!("{text} in {row} is no number"))
        })
        .collect::<Result<_, _>>()?;
    if values.len() != shape.fields.len() {
        return Err(format!("{name} has {} fields, and {row} has {}", shape.fields.len(), values.len()));
    }
    for (value, field) in values.iter().zip(&shape.fields) {
        if *value > field.shape.value_max() {
            return Err(format!("{value} is too large for {} of {name}, a {}", field.name, field.shape.name()));
        }
    }
    if !tables.add_row(table, &values) {
        return Err(format!("{name} has {} rows, and no more", shape.rows));
    }
    Ok(())
}
