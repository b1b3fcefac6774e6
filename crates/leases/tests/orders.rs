//! Every order in which a grant and the end of granting can meet.

use leases::promise::{self, Flag, PromisedEnd};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

struct Open(AtomicBool);
struct Until(AtomicU64);

impl Flag for Open {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn clear(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    fn fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

impl PromisedEnd for Until {
    fn raise(&self, until: u64) {
        self.0.fetch_max(until, Ordering::SeqCst);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs a grantor beside somebody who ends the epoch, in every order. `grant` is how the grantor does it.
fn in_every_order(grant: fn(&Open, &Until, u64) -> bool) {
    loom::model(move || {
        let words = Arc::new((Open(AtomicBool::new(true)), Until(AtomicU64::new(0))));
        let theirs = words.clone();
        let grantor = loom::thread::spawn(move || grant(&theirs.0, &theirs.1, 7));
        promise::close(&words.0);
        let owed = words.1.read();
        let was_sent = grantor.join().expect("it does not panic");
        assert!(!was_sent || owed == 7, "a lease was granted that nobody waits out");
    });
}

/// If this failed, a member of the old epoch could read while the new one commits.
#[test]
fn what_is_granted_is_waited_out() {
    in_every_order(promise::grant);
}

/// The model must notice the grantor that looks first and writes down afterwards.
#[test]
#[should_panic(expected = "nobody waits out")]
fn a_promise_that_is_noted_late_is_noticed() {
    in_every_order(|open, end, until| {
        let may = open.is_set();
        end.raise(until);
        may
    });
}
