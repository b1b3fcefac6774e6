//! What counting costs: nanoseconds for an event, beside those of a locked addition.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use metrics::{EventCounter, LatencyHistogram, LatencyRecorder};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const EVENTS: u64 = 50_000_000;

fn measured(what: &str, mut event: impl FnMut(u64)) {
    let begun = Instant::now();
    for number in 0..EVENTS {
        event(black_box(number * 37));
    }
    println!("{what:<40} {:>6.2} ns", begun.elapsed().as_nanos() as f64 / EVENTS as f64);
}

fn main() {
    let (counter, recorder, locked) = (EventCounter::default(), LatencyRecorder::default(), AtomicU64::new(0));
    let mut histogram = LatencyHistogram::default();
    measured("nothing", |number| _ = black_box(number));
    measured("an event counted", |_| counter.add(1));
    measured("a latency recorded", |number| recorder.observe(number));
    measured("a latency observed in a value", |number| histogram.observe(number));
    measured("beside it: a locked addition", |_| _ = locked.fetch_add(1, Ordering::Relaxed));
    measured("beside it: a clock read", |_| _ = black_box(Instant::now()));
    black_box((counter.get(), recorder.read(), histogram.count(), locked.load(Ordering::Relaxed)));
}
