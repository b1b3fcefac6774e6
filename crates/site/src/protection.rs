//! What protects the messages between hosts: keys of the instance, or that they never leave the host.
//!
//! Invariant: without keys a site or an oracle neither listens at nor connects to an address of another host, unless its
//! configuration says so in a word of its own. What was refused for want of trust is logged, at most once in
//! [`limits::DISTRUST_LOG_INTERVAL`].

use crate::limits;
use messages::{InstanceId, SiteId};
use raidcomm::keys::Keys;
use raidcomm::streams::Streams;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub use raidcomm::keys::KeysError;
pub use raidcomm::keys::authority::make as make_keys;
pub use raidcomm::keys::clients::{ForClients, make as make_client_keys};

/// Why a process must not talk with others.
#[derive(Debug, Error)]
pub enum ProtectionError {
    /// The keys.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// Whoever is in between could read and forge everything.
    #[error(
        "{what} {address} is not on this host only, and without keys everything there would go in clear: make keys with `raid keys` and \
         name their folder in the configuration (keys = \"FOLDER\"), or say clear = true if nobody else can reach that network"
    )]
    Bare {
        /// Whose address.
        what: String,
        /// Where.
        address: SocketAddr,
    },
}

/// What a configuration says of it.
#[derive(Clone, Copy, Debug)]
pub struct WantedProtection<'a> {
    /// The folder of the keys.
    pub keys: Option<&'a PathBuf>,
    /// Whether addresses of other hosts may be used without.
    pub clear: bool,
}

/// The keys of a process that uses these addresses; none if it may do without.
///
/// # Errors
/// The keys cannot be used, or are missing.
pub fn keys(
    wanted: WantedProtection<'_>,
    instance: InstanceId,
    site: SiteId,
    addresses: impl IntoIterator<Item = (String, SocketAddr)>,
) -> Result<Option<Keys>, ProtectionError> {
    if let Some(folder) = wanted.keys {
        return Ok(Some(Keys::read(Path::new(folder), instance, site)?));
    }
    let is_elsewhere = |(_, address): &(String, SocketAddr)| !address.ip().to_canonical().is_loopback();
    match addresses.into_iter().find(is_elsewhere) {
        Some((what, address)) if !wanted.clear => Err(ProtectionError::Bare { what, address }),
        Some((what, address)) => {
            tracing::warn!(%address, "{what} is used in clear, as the configuration wants: whoever is in between can read and forge");
            Ok(None)
        }
        None => Ok(None),
    }
}

/// What has been logged of refusals for want of trust.
#[derive(Debug, Default)]
pub struct Watch {
    due: u64,
    strangers: u64,
    peers: BTreeMap<SiteId, u64>,
}

impl Watch {
    /// Logs what is new, if it is time to.
    pub fn look(&mut self, now: u64, streams: &Streams) {
        if now < self.due {
            return;
        }
        let strangers = streams.strangers();
        let mut told = false;
        if let Some(reason) = strangers.last_distrust
            && strangers.distrusted > self.strangers
        {
            let count = strangers.distrusted - self.strangers;
            tracing::warn!(count, %reason, "connections from strangers were closed");
            told = true;
        }
        self.strangers = strangers.distrusted;
        for peer in streams.status() {
            let before = self.peers.insert(peer.site, peer.counters.refusals).unwrap_or_default();
            if let Some(reason) = peer.last_failure.filter(|reason| reason.is_distrust())
                && peer.counters.refusals > before
            {
                tracing::warn!(site = peer.site.0, address = %peer.address, %reason, "no connection with a peer");
                told = true;
            }
        }
        let pause = if told { limits::DISTRUST_LOG_INTERVAL } else { limits::DISTRUST_LOOK_INTERVAL };
        self.due = now.saturating_add(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTANCE: InstanceId = InstanceId(5);
    const SITE: SiteId = SiteId(1);

    fn judged(wanted: WantedProtection<'_>, addresses: &[&str]) -> Result<Option<Keys>, ProtectionError> {
        let addresses = addresses.iter().map(|text| ("an address".to_owned(), text.parse().expect("an address")));
        keys(wanted, INSTANCE, SITE, addresses)
    }

    /// If this failed, a configuration without a word about keys would put a database on the network for everybody.
    #[test]
    fn only_loopback_goes_without_keys_unless_the_configuration_says_so() {
        let silent = WantedProtection { keys: None, clear: false };
        for local in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(matches!(judged(silent, &[local]), Ok(None)), "{local}");
        }
        for elsewhere in ["10.0.0.1:7401", "0.0.0.0:7401", "[::]:7401", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            let error = judged(silent, &["127.0.0.1:1", elsewhere]).expect_err(elsewhere).to_string();
            for part in ["an address", "raid keys", "keys = ", "clear = true"] {
                assert!(error.contains(part), "{part:?} is missing: {error}");
            }
            assert!(
                matches!(judged(WantedProtection { clear: true, ..silent }, &[elsewhere]), Ok(None)),
                "{elsewhere}"
            );
        }
    }

    #[test]
    fn keys_that_are_wanted_are_used_or_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_owned();
        let wanted = WantedProtection { keys: Some(&path), clear: false };
        assert!(matches!(judged(wanted, &["127.0.0.1:1"]), Err(ProtectionError::Keys(_))), "there are none yet");
        make_keys(&path, INSTANCE, &[SITE]).expect("an empty folder");
        let keys = judged(wanted, &["10.0.0.1:1"]).expect("good keys").expect("keys");
        assert_eq!((keys.instance(), keys.site()), (INSTANCE, SITE));
        assert_eq!(raidcomm::keys::ORACLE, messages::server::ORACLE_SITE, "the oracle's keys are those of its number");
    }
}
