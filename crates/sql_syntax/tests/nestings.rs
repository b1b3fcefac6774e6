//! Every kind of nesting, from shallow to absurd, on the smallest stack that parses: the counters hold, or the process of the test does not survive.

use sql_syntax::nestings::{CHAINS, NESTED, Nesting};
use sql_syntax::{Deep, Unread, limits, statement};
use sqlparser::ast::Statement;

/// Threads have this much unless they ask for more.
const STACK_BYTES: usize = 2 << 20;
const TIMES: [usize; 5] = [1, 20, 500, 3_000, 20_000];

fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread");
    thread.join().expect("no panic")
}

fn try_all(
    all: &'static [Nesting],
    is_right: impl Fn(&str, usize, &Result<Deep<Statement>, Unread>) -> bool + Send + Copy + 'static,
) {
    let wrong = on_small_stack(move || {
        let mut wrong = Vec::new();
        let wanted = std::env::var("SHOW").unwrap_or_default();
        for (name, text) in all.iter().filter(|(name, _)| name.starts_with(&wanted)) {
            for times in TIMES {
                if std::env::var("SHOW").is_ok() {
                    eprintln!("{name} {times}");
                }
                let text = text(times);
                let read = statement(&text);
                if let Ok(tree) = &read {
                    // Walks and copies of it, and their ends.
                    assert!(tree.depths().levels <= limits::DEPTH_MAX, "{name} {times}");
                    if times <= 3_000 {
                        let copy = tree.clone();
                        assert!(tree.with(|tree| copy.with(|copy| tree == copy)), "{name} {times}");
                        assert!(!tree.with(|tree| tree.to_string()).is_empty());
                    }
                }
                if !is_right(name, times, &read) {
                    wrong.push(format!("{name} x{times}: {:?}", read.map(|tree| tree.depths())));
                }
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// If this failed, a text could end a site's process, or what applications write were refused.
#[test]
fn every_nesting_is_read_or_refused_as_too_deep() {
    try_all(NESTED, |name, times, read| match read {
        Ok(_) => true,
        Err(Unread::TooDeep) => {
            times >= 250
                || times >= 10 && name == "EXPLAIN"
                || name.contains("around derived tables")
                || name == "INTERVAL"
        }
        // It is wrong at every depth, or is read elsewhere.
        Err(Unread::Syntax(_) | Unread::Unsupported(_)) => {
            ["INTERVAL", "rows", "procedures within procedures"].contains(&name)
        }
    });
}

/// If this failed, a chain as long as applications write it would be refused, or a long one take the stack that it is deep.
#[test]
fn every_chain_is_read_or_refused_as_too_deep() {
    try_all(CHAINS, |name, times, read| match read {
        Ok(tree) => {
            let is_tree = name.starts_with("AND") || name.starts_with("OR") || name.starts_with("UNION");
            !is_tree || tree.depths().levels < 32
        }
        Err(Unread::TooDeep) => times >= if name == "dimensions" { 65 } else { 1_000 },
        Err(Unread::Syntax(_) | Unread::Unsupported(_)) => false,
    });
}
