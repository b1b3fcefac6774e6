//! `unsafe` stands only in the crates that cannot do without it, and each use says why it is sound.

use crate::limits::SAFETY_DISTANCE_LINES_MAX;
use crate::source::words;
use crate::tree::{Violation, WorkTree};

/// The crates that may use `unsafe`: those that map memory, the one that loads programs into the kernel, the one that SQLite calls, and the one that measures system calls which no crate offers safely.
const CRATES: [&str; 8] = [
    "commit_log",
    "laboratory",
    "message_transactions",
    "network_memory",
    "push_kernel",
    "raidcomm",
    "recoverable_memory",
    "remote_sqlite",
];

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust_files() {
        let lines = &file.source.lines;
        for (index, line) in lines.iter().enumerate() {
            for (start, _) in words(&line.code).filter(|&(_, word)| word == "unsafe") {
                let rest = line.code[start + "unsafe".len()..].trim_start();
                let message = if !CRATES.contains(&file.krate) {
                    format!("`unsafe` is for {} only; find a safe way", CRATES.join(", "))
                } else if (rest.starts_with('{') || rest.starts_with("impl")) && !has_reason(lines, index) {
                    format!(
                        "say in a `SAFETY:` comment, at most {SAFETY_DISTANCE_LINES_MAX} lines above, why this is sound"
                    )
                } else {
                    continue;
                };
                violations.push(Violation::new(file.path, index + 1, message));
            }
        }
    }
    violations
}

fn has_reason(lines: &[crate::source::SourceLine], index: usize) -> bool {
    let first = index.saturating_sub(SAFETY_DISTANCE_LINES_MAX);
    lines[first..=index].iter().any(|line| line.comment.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(krate: &str, text: &str) -> usize {
        check(&WorkTree::of(&[(&format!("crates/{krate}/src/lib.rs"), text)])).len()
    }

    /// Undefined behaviour in a server would make the simulator's verdicts worthless.
    #[test]
    fn unsafe_outside_the_memory_crates_is_found() {
        assert_eq!(found("site", "// SAFETY: no\nunsafe { x }"), 1);
        assert_eq!(found("site", "unsafe fn f() {}"), 1);
        assert_eq!(found("site", "// unsafe\nlet x = \"unsafe\"; unsafety();"), 0);
    }

    /// A block without a reason cannot be reviewed; a reason far away is no reason.
    #[test]
    fn each_block_needs_a_reason_nearby() {
        assert_eq!(found("commit_log", "// SAFETY: mapped\nunsafe { x }"), 0);
        assert_eq!(found("commit_log", "unsafe { x } // SAFETY: mapped"), 0);
        assert_eq!(found("commit_log", "unsafe { x }"), 1);
        assert_eq!(found("commit_log", "unsafe impl Send for X {}"), 1);
        assert_eq!(found("commit_log", &format!("// SAFETY: far{}unsafe {{ x }}", "\n".repeat(7))), 1);
    }
}
