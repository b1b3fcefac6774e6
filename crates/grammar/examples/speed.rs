//! Prints how long a statement takes to parse, for some kinds of statement: `cargo run --release -p grammar --example speed`. With files as arguments, for all
//! statements of each.
#![expect(clippy::disallowed_methods, reason = "only the crate is pure; this program measures")]

use std::time::Instant;

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=$1"),
    ("update", "UPDATE accounts SET balance = balance + 100 WHERE aid = 17"),
    ("insert", "INSERT INTO history (tid, bid, aid, delta, mtime) VALUES (1, 2, 3, 4, CURRENT_TIMESTAMP)"),
    (
        "join",
        "SELECT o.id, c.name, sum(l.price * (1 - l.discount)) AS total FROM orders o JOIN customers c ON o.customer = c.id JOIN lines l ON l.order_id = o.id \
         WHERE o.day BETWEEN DATE '2020-01-01' AND DATE '2020-12-31' AND c.region IN ('a', 'b', 'c') GROUP BY o.id, c.name HAVING sum(l.price) > 100 \
         ORDER BY total DESC NULLS LAST LIMIT 10",
    ),
];

fn main() {
    for (name, text) in STATEMENTS {
        measure(name, text);
    }
    for file in std::env::args().skip(1) {
        match std::fs::read_to_string(&file) {
            Ok(text) => measure(&file, &text),
            Err(error) => println!("{file}: {error}"),
        }
    }
}

fn measure(name: &str, text: &str) {
    let rounds = (20_000_000 / (text.len() * 20 + 1)).clamp(3, 200_000);
    let begin = Instant::now();
    let mut statements = 0;
    for _ in 0..rounds {
        statements += grammar::parse(std::hint::black_box(text)).map_or(1, |script| script.statements.len());
    }
    let microseconds = begin.elapsed().as_secs_f64() * 1e6;
    println!(
        "{name}: {:.2} us a statement, {:.1} MB/s",
        microseconds / statements as f64,
        (rounds * text.len()) as f64 / microseconds
    );
}
