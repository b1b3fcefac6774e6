//! Every kind of nesting, from shallow to absurd: it is answered or refused, in bounded time, and the process survives.

use crate::memory::World;
use sql_syntax::nestings::{CHAINS, NESTED, Nesting};
use std::sync::{Arc, Mutex};

/// What the nestings are over.
const TABLE: &str = "table n\ncolumn id integer not null\ncolumn v integer\ncolumn t text\nkey id\nrow 1\t1\ta\nrow 2\t2\tb\nrow 3\t\\N\tc\n";
/// As a site's threads that plan have it.
const STACK_BYTES: usize = 2 * sql_syntax::limits::STACK_BYTES;

fn try_all(all: &'static [Nesting], times: &'static [usize]) -> Vec<String> {
    let show = std::env::var("SHOW").unwrap_or_default();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&answers);
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let world = World::with_tables(TABLE);
        for (name, text) in all.iter().filter(|(name, _)| show.is_empty() || name.starts_with(&show)) {
            for times in times {
                let text = text(*times);
                if !show.is_empty() {
                    eprintln!("{name} {times}");
                }
                #[expect(clippy::disallowed_methods)]
                let began = std::time::Instant::now();
                let answer = world.answer(&text);
                if std::env::var("SHOW").is_ok() {
                    eprintln!(
                        "{name} {times}: {:?} {}",
                        began.elapsed(),
                        &answer[0].chars().take(100).collect::<String>()
                    );
                }
                told.lock().expect("no panic").push(format!("{name} {times}: {}", answer[0]));
            }
        }
    });
    thread.expect("a thread").join().expect("no panic");
    Arc::try_unwrap(answers).expect("the thread has ended").into_inner().expect("no panic")
}

#[test]
fn every_nesting_is_answered_or_refused() {
    try_all(NESTED, &[4]);
}

#[test]
fn every_chain_is_answered_or_refused() {
    // What is named twice grows twofold with each link, and here nothing ends a planning that takes long.
    try_all(CHAINS, &[4]);
}
