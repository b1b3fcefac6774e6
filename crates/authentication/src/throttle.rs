//! Guessing takes time: each failed login of a role from an address makes the next ones wait, longer and longer.
//!
//! An attempt that has failed moves the moment from which the next ones of its role and address are looked at, and each that waits moves it further, up to the
//! longest wait. So whoever has many connections tries one password on each of them in that time: the bound of clients that are not let in yet bounds the
//! rate. Other roles, and the same role from other addresses, wait for nothing, until an address has failed with many. Invariant: it remembers a
//! bounded number of failures, the latest.

use crate::limits::{DELAY_FIRST, DELAY_MAX, FAILURES_OF_ADDRESS, FORGET_AFTER, REMEMBERED_MAX};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// What is remembered of failed logins.
#[derive(Debug, Default)]
pub struct Throttle {
    /// By address and role; no role: of the address as a whole.
    failures: BTreeMap<(IpAddr, Option<Arc<str>>), Failures>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    /// When the next attempt is looked at.
    next: u64,
    /// When they are forgotten.
    until: u64,
}

impl Throttle {
    /// When an attempt that begins now is looked at: at once, or later.
    pub fn begin(&mut self, now: u64, address: IpAddr, role: &str) -> u64 {
        let keys = keys(address, role);
        let waits = keys.iter().filter_map(|key| {
            let failures = self.failures.get_mut(key).filter(|failures| failures.until > now)?;
            let weight = if key.1.is_some() { failures.count } else { failures.count / FAILURES_OF_ADDRESS };
            let at = failures.next.max(now);
            // Whoever stands at the end of a long queue waits no longer than the longest wait: the number of connections bounds how many do.
            failures.next = (at + delay(weight)).min(now + DELAY_MAX);
            Some(at)
        });
        waits.max().unwrap_or(now)
    }

    /// An attempt has failed. When the client is told.
    pub fn failed(&mut self, now: u64, address: IpAddr, role: &str) -> u64 {
        let mut told = now;
        for key in keys(address, role) {
            let of_role = key.1.is_some();
            self.make_room(now, &key);
            let failures = self.failures.entry(key).or_insert(Failures { count: 0, next: now, until: 0 });
            failures.count = if failures.until > now { failures.count.saturating_add(1) } else { 1 };
            let weight = if of_role { failures.count } else { failures.count / FAILURES_OF_ADDRESS };
            failures.next = failures.next.max(now + delay(weight));
            failures.until = failures.next + FORGET_AFTER;
            told = told.max(now + delay(weight));
        }
        told
    }

    /// A role has proved itself from an address: what failed there was forgetfulness.
    pub fn succeeded(&mut self, address: IpAddr, role: &str) {
        let [of_role, _] = keys(address, role);
        self.failures.remove(&of_role);
    }

    /// If there are too many, those go that are forgotten anyway, or else the one that will be next.
    fn make_room(&mut self, now: u64, key: &(IpAddr, Option<Arc<str>>)) {
        if self.failures.len() < REMEMBERED_MAX || self.failures.contains_key(key) {
            return;
        }
        self.failures.retain(|_, failures| failures.until > now);
        if self.failures.len() >= REMEMBERED_MAX
            && let Some(first) = self.failures.iter().min_by_key(|(_, failures)| failures.until)
        {
            let first = first.0.clone();
            self.failures.remove(&first);
        }
    }
}

fn keys(address: IpAddr, role: &str) -> [(IpAddr, Option<Arc<str>>); 2] {
    let address = network_of(address);
    [(address, Some(Arc::from(role))), (address, None)]
}

/// What one host has: an IPv4 address, or a network of 64 bits of IPv6 (RFC 6177), in which it may take any address.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        address => address,
    }
}

fn delay(failures: u32) -> u64 {
    match failures {
        0 => 0,
        count => DELAY_FIRST.saturating_mul(1 << (count - 1).min(16)).min(DELAY_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// If this failed, whoever has a network of IPv6 could guess from each of its addresses anew.
    #[test]
    fn a_network_is_one_guesser() {
        let at = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut throttle = Throttle::default();
        throttle.failed(1_000, at("2001:db8::1"), "alice");
        assert!(throttle.begin(1_000, at("2001:db8::ffff:2"), "alice") > 1_000);
        assert_eq!(throttle.begin(1_000, at("2001:db8:0:1::1"), "alice"), 1_000, "that is another one");
        throttle.failed(1_000, at("10.0.0.1"), "alice");
        assert!(throttle.begin(1_000, at("::ffff:10.0.0.1"), "alice") > 1_000, "one address, written in two ways");
        assert_eq!(throttle.begin(1_000, at("10.0.0.2"), "alice"), 1_000);
    }

    /// If this failed, passwords could be guessed as fast as connections can be made, or one guesser would lock a role out everywhere.
    #[test]
    fn guesses_take_longer_and_longer_and_others_do_not_wait() {
        let mut throttle = Throttle::default();
        let mut now = 1_000;
        assert_eq!(throttle.begin(now, HERE, "alice"), now);
        for wait in [DELAY_FIRST, 2 * DELAY_FIRST, 4 * DELAY_FIRST] {
            assert_eq!(throttle.failed(now, HERE, "alice"), now + wait);
            assert!(throttle.begin(now, HERE, "alice") >= now + wait, "another connection is no way around");
            now += 10 * DELAY_FIRST;
        }
        assert_eq!(throttle.begin(now, HERE, "bob"), now);
        assert_eq!(throttle.begin(now, "10.0.0.1".parse().expect("an address"), "alice"), now);
        throttle.succeeded(HERE, "alice");
        assert_eq!(throttle.begin(now, HERE, "alice"), now);
    }

    #[test]
    fn many_connections_at_once_stand_in_one_queue() {
        let mut throttle = Throttle::default();
        throttle.failed(0, HERE, "alice");
        let starts: Vec<u64> = (0..5).map(|_| throttle.begin(0, HERE, "alice")).collect();
        assert_eq!(starts, [1, 2, 3, 4, 5].map(|times| times * DELAY_FIRST));
        assert_eq!(throttle.begin(10 * DELAY_FIRST + FORGET_AFTER, HERE, "alice"), 10 * DELAY_FIRST + FORGET_AFTER);
    }

    #[test]
    fn an_address_that_tries_many_roles_waits_with_all() {
        let mut throttle = Throttle::default();
        for number in 0..FAILURES_OF_ADDRESS {
            throttle.failed(0, HERE, &format!("role {number}"));
        }
        assert!(throttle.begin(0, HERE, "another") > 0);
        assert_eq!(throttle.begin(0, "10.0.0.1".parse().expect("an address"), "another"), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut throttle = Throttle::default();
        for number in 0..2 * REMEMBERED_MAX as u64 {
            throttle.failed(number, HERE, &number.to_string());
        }
        assert!(throttle.failures.len() <= REMEMBERED_MAX);
        let last = (2 * REMEMBERED_MAX - 1).to_string();
        assert!(throttle.begin(2 * REMEMBERED_MAX as u64, HERE, &last) > 2 * REMEMBERED_MAX as u64);
    }
}
