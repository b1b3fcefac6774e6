//! The channel between threads of one process: a bounded queue that hands values over as they are.
//!
//! Invariant: what was accepted is received, once, in the order of acceptance; a receiver that is asleep while
//! something waits has been woken, and one that is awake is never woken (a wake-up across cores costs more than the
//! message).

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Why a value was not accepted; it comes back.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
pub enum Rejected<T> {
    /// As many values wait as the channel may hold. Retry when the receiver has taken some.
    #[error("the queue is full")]
    Full(T),
    /// The receiver is gone; a retry is pointless.
    #[error("the receiver is gone")]
    Closed(T),
}

/// Values are not asked to be printable.
impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Rejected::Full(_) => "Full",
            Rejected::Closed(_) => "Closed",
        })
    }
}

struct ChannelState<T> {
    queue: VecDeque<T>,
    asleep: bool,
    closed: bool,
}

struct ChannelShared<T> {
    state: Mutex<ChannelState<T>>,
    capacity: usize,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl<T> ChannelShared<T> {
    /// No code of others runs under the lock, so a poisoned one still guards a whole state.
    fn state(&self) -> MutexGuard<'_, ChannelState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A channel for at most `capacity` waiting values. `wake` interrupts the receiver's sleep; it is called on the
/// sender's thread, and only when the receiver has announced by [`ChannelReceiver::doze`] that it goes to sleep.
pub fn channel<T>(capacity: usize, wake: impl Fn() + Send + Sync + 'static) -> (Sender<T>, ChannelReceiver<T>) {
    assert!(capacity > 0, "a channel that holds nothing hands nothing over");
    let state = Mutex::new(ChannelState { queue: VecDeque::new(), asleep: false, closed: false });
    let shared = Arc::new(ChannelShared { state, capacity, wake: Box::new(wake) });
    (Sender { shared: Arc::clone(&shared) }, ChannelReceiver { shared })
}

/// The end that gives values; as many as wanted.
pub struct Sender<T> {
    shared: Arc<ChannelShared<T>>,
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Sender<T> {
    /// Hands a value over. Never blocks for longer than another sender or the receiver moves values.
    ///
    /// # Errors
    /// The value comes back when the queue is full or the receiver is gone.
    pub fn send(&self, value: T) -> Result<(), Rejected<T>> {
        let mut state = self.shared.state();
        if state.closed {
            return Err(Rejected::Closed(value));
        }
        if state.queue.len() >= self.shared.capacity {
            return Err(Rejected::Full(value));
        }
        state.queue.push_back(value);
        let wake = std::mem::take(&mut state.asleep);
        drop(state);
        if wake {
            (self.shared.wake)();
        }
        Ok(())
    }
}

/// The end that takes values.
pub struct ChannelReceiver<T> {
    shared: Arc<ChannelShared<T>>,
}

impl<T> ChannelReceiver<T> {
    /// Appends everything that waits to `values`, in order, and says how many that were.
    pub fn drain(&mut self, values: &mut Vec<T>) -> usize {
        let mut state = self.shared.state();
        state.asleep = false;
        let count = state.queue.len();
        values.extend(state.queue.drain(..));
        count
    }

    /// Called before the receiver goes to sleep. `true`: nothing waits, and the next value wakes it. `false`: something
    /// waits, do not sleep.
    pub fn doze(&mut self) -> bool {
        let mut state = self.shared.state();
        state.asleep = state.queue.is_empty();
        state.asleep
    }
}

impl<T> Drop for ChannelReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        let left = std::mem::take(&mut state.queue);
        drop(state);
        drop(left); // outside the lock: a value's destructor may be another's code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    fn counted<T>(capacity: usize) -> (Sender<T>, ChannelReceiver<T>, Arc<AtomicUsize>) {
        let wakes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&wakes);
        let (sender, receiver) = channel(capacity, move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        (sender, receiver, wakes)
    }

    #[test]
    fn only_a_sleeper_is_woken_and_only_once() {
        let (sender, mut receiver, wakes) = counted(8);
        sender.send(1).expect("room");
        assert_eq!(wakes.load(Ordering::Relaxed), 0, "the receiver was awake");
        assert!(!receiver.doze(), "a value waits: sleeping now would be for ever");
        assert_eq!(receiver.drain(&mut Vec::new()), 1);
        assert!(receiver.doze());
        sender.send(2).expect("room");
        sender.send(3).expect("room");
        assert_eq!(wakes.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_full_or_closed_channel_gives_the_value_back() {
        let (sender, mut receiver, _) = counted(1);
        sender.send("first").expect("room");
        assert_eq!(sender.send("second"), Err(Rejected::Full("second")));
        assert_eq!(receiver.drain(&mut Vec::new()), 1);
        sender.send("third").expect("room again");
        drop(receiver);
        assert_eq!(sender.send("fourth"), Err(Rejected::Closed("fourth")));
    }

    #[test]
    fn values_cross_threads_in_order_and_no_wake_up_is_lost() {
        let (wake, sleep) = std::sync::mpsc::channel();
        let (sender, mut receiver) = channel(1_000, move || wake.send(()).expect("the receiver waits"));
        // An interpreter is slow, and tells races from few.
        const COUNT: u32 = if cfg!(miri) { 200 } else { 20_000 };
        let giver = thread::spawn(move || {
            for value in 0..COUNT {
                let mut value = value;
                while let Err(Rejected::Full(back)) = sender.send(value) {
                    value = back;
                    thread::yield_now();
                }
            }
            sender
        });
        let mut values = Vec::new();
        while values.len() < COUNT as usize {
            if receiver.drain(&mut values) == 0 && receiver.doze() {
                sleep.recv().expect("a lost wake-up would hang here");
            }
        }
        assert!(values.into_iter().eq(0..COUNT));
        drop(giver.join());
    }
}
