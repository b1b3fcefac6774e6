//! What a program looks like to people: tables, bounds, bytecode and the kernel's instructions.
//!
//! Invariant: the same program is always shown the same.

use crate::bytecode::VerifiedProgram;
use crate::compile::compile;
use crate::ebpf::disassemble;
use crate::program::PushTable;
use std::fmt::Write;

/// One line for each table and each hook, with its bound.
pub fn summary(program: &VerifiedProgram) -> String {
    let mut text = format!("program {}\n", program.name());
    for (name, value) in program.parameters() {
        let _ = writeln!(text, "parameter {name} {value}");
    }
    for table in program.tables() {
        text += &table_line(table);
    }
    for hook in program.hooks() {
        let _ = writeln!(text, "on {}: {}", hook.hook().name(), hook.bound());
    }
    text
}

fn table_line(table: &PushTable) -> String {
    let rows = if table.rows == 1 { "row" } else { "rows" };
    let fields: Vec<String> =
        table.fields.iter().map(|field| format!("{} {}", field.name, field.shape.name())).collect();
    format!("table {}: {} {rows}, {} bytes: {}\n", table.name, table.rows, table.bytes(), fields.join(", "))
}

/// The summary, and for each hook its bytecode and its instructions.
pub fn whole(program: &VerifiedProgram) -> String {
    let mut text = summary(program);
    for hook in program.hooks() {
        let _ = writeln!(text, "\non {}, bytecode:\nnumber  line  depth  code", hook.hook().name());
        for (number, one) in hook.code().iter().enumerate() {
            let _ = writeln!(text, "{number:>6}  {:>4}  {:>5}  {}", one.line, one.depth, one.code);
        }
        let compiled = compile(program, hook);
        let _ = writeln!(text, "\non {}, eBPF:\nnumber  line  instruction", hook.hook().name());
        for (number, instruction) in compiled.instructions.iter().enumerate() {
            let word = compiled.words.get(number).copied().flatten();
            let line = word.and_then(|word| hook.code().get(word)).map_or("-".to_owned(), |one| one.line.to_string());
            let _ = writeln!(text, "{number:>6}  {line:>4}  {}", disassemble(*instruction));
        }
    }
    text
}
