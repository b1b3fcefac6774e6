//! What all user interfaces of a process share about letting clients in: rules, failed logins, connections by role, and chance.
//!
//! Invariant: its lock is held for moments, and for no message to anybody; a connection that is counted is given back once.

use crate::limits::RESERVED_CONNECTIONS;
use crate::sql::roles::Drawn;
use authentication::limits::NONCE_BYTES;
use authentication::{Nonces, Rules, Throttle};
use messages::limits::CLIENTS_MAX;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

/// See the module's description.
#[derive(Debug)]
pub struct Doorkeeper {
    inner: Mutex<Inner>,
    /// What mock verifiers are made of while the catalog has no secret: no role has a password then.
    provisional: [u8; 32],
}

#[derive(Debug)]
struct Inner {
    rules: Arc<Rules>,
    offers_encryption: bool,
    throttle: Throttle,
    nonces: Nonces,
    connections: BTreeMap<Arc<str>, i32>,
    /// Connections of all roles.
    places: usize,
}

/// Why a role that is who it says it is may not come in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// It has as many connections as it may.
    OfRole,
    /// Those that are left are for superusers.
    Reserved,
}

impl Doorkeeper {
    /// With these rules. `secret`: drawn from the operating system for this process.
    pub fn new(rules: Rules, offers_encryption: bool, secret: &[u8; 32]) -> Arc<Doorkeeper> {
        let mut nonces = Nonces::new(secret);
        let provisional = nonces.draw();
        let (throttle, connections) = (Throttle::default(), BTreeMap::new());
        let inner = Inner { rules: Arc::new(rules), offers_encryption, throttle, nonces, connections, places: 0 };
        Arc::new(Doorkeeper { inner: Mutex::new(inner), provisional })
    }

    /// One that lets everybody in.
    pub fn trusting(seed: u64) -> Arc<Doorkeeper> {
        let rules = Rules::parse("host all all all trust").expect("a rule");
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&seed.to_be_bytes());
        Doorkeeper::new(rules, false, &secret)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of this lock panics")
    }

    /// Other rules from now on; connections that are let in stay.
    pub fn change(&self, rules: Rules, offers_encryption: bool) {
        let mut inner = self.inner();
        inner.rules = Arc::new(rules);
        inner.offers_encryption = offers_encryption;
    }

    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.inner().rules.clone()
    }

    pub(crate) fn offers_encryption(&self) -> bool {
        self.inner().offers_encryption
    }

    pub(crate) fn provisional_secret(&self) -> [u8; 32] {
        self.provisional
    }

    pub(crate) fn draw(&self) -> Drawn {
        let mut inner = self.inner();
        Drawn { salt: inner.nonces.draw(), secret: inner.nonces.draw() }
    }

    pub(crate) fn nonce(&self) -> [u8; NONCE_BYTES] {
        self.inner().nonces.draw()
    }

    /// When an attempt that begins now is looked at.
    pub(crate) fn begin(&self, now: u64, address: IpAddr, role: &str) -> u64 {
        self.inner().throttle.begin(now, address, role)
    }

    /// When the client of an attempt that has failed is told.
    pub(crate) fn failed(&self, now: u64, address: IpAddr, role: &str) -> u64 {
        self.inner().throttle.failed(now, address, role)
    }

    pub(crate) fn succeeded(&self, address: IpAddr, role: &str) {
        self.inner().throttle.succeeded(address, role);
    }

    /// Counts a connection of a role, which may have so many; `None`: it is a superuser, and may have all.
    pub(crate) fn enter(&self, role: &Arc<str>, limit: Option<i32>) -> Result<(), NoPlace> {
        let mut inner = self.inner();
        if limit.is_some() && inner.places + RESERVED_CONNECTIONS >= CLIENTS_MAX {
            return Err(NoPlace::Reserved);
        }
        let count = inner.connections.entry(role.clone()).or_insert(0);
        if limit.is_some_and(|limit| limit >= 0 && *count >= limit) {
            return Err(NoPlace::OfRole);
        }
        *count += 1;
        inner.places += 1;
        Ok(())
    }

    /// A connection of a role ends.
    pub(crate) fn leave(&self, role: &Arc<str>) {
        let mut inner = self.inner();
        if let Some(count) = inner.connections.get_mut(role) {
            *count -= 1;
            if *count == 0 {
                inner.connections.remove(role);
            }
            inner.places -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool that has taken all places would keep out who is to look after the server.
    #[test]
    fn the_last_places_are_for_superusers() {
        let door = Doorkeeper::trusting(1);
        let (pool, few, root) = (Arc::from("pool"), Arc::from("few"), Arc::from("root"));
        assert_eq!([door.enter(&few, Some(1)), door.enter(&few, Some(1))], [Ok(()), Err(NoPlace::OfRole)]);
        for _ in 1..CLIENTS_MAX - RESERVED_CONNECTIONS {
            assert_eq!(door.enter(&pool, Some(-1)), Ok(()));
        }
        assert_eq!(door.enter(&pool, Some(-1)), Err(NoPlace::Reserved));
        assert_eq!(door.enter(&root, None), Ok(()));
        door.leave(&pool);
        assert_eq!(door.enter(&pool, Some(-1)), Err(NoPlace::Reserved), "the superuser has that place");
        door.leave(&root);
        assert_eq!(door.enter(&pool, Some(-1)), Ok(()));
    }
}
