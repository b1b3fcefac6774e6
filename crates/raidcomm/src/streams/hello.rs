//! The handshake: who is at the two ends of a connection.
//!
//! The side that connects sends a hello in the first frame; the other answers with its own, or says why it refuses.
//! Invariant: magic and version stand first in every version of the protocol, so that sides of different versions can
//! tell each other so.

use crate::shared::door::{DoorName, DoorPass, HostId};
use identifiers::{InstanceId, SiteId};
use thiserror::Error;

/// The version of the protocol between sites that this code speaks.
pub const PROTOCOL_VERSION: u16 = 9;

/// The incarnation of a process that has not been given one yet; it is older than none and newer than none.
pub const INCARNATION_UNKNOWN: u32 = 0;

const MAGIC: [u8; 4] = *b"RAID";
const KIND_HELLO: u8 = 1;
const KIND_REFUSAL: u8 = 2;

/// What a site says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Version of the protocol; both sides must speak the same.
    pub version: u16,
    /// The database; both sides must belong to the same.
    pub instance: InstanceId,
    /// The site that speaks.
    pub site: SiteId,
    /// Which life of that site, counted up, or [`INCARNATION_UNKNOWN`].
    pub incarnation: u32,
}

impl Hello {
    /// What a site says that speaks this version of the protocol.
    pub const fn new(instance: InstanceId, site: SiteId, incarnation: u32) -> Hello {
        Hello { version: PROTOCOL_VERSION, instance, site, incarnation }
    }
}

/// Why one side refuses the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HelloRefusal {
    /// The first bytes are no greeting.
    #[error("it does not speak Raid's protocol between sites")]
    Foreign,
    /// The versions differ: upgrade the older side.
    #[error("it speaks another version of the protocol between sites")]
    Version,
    /// The instances differ: an address in a configuration leads to another database.
    #[error("it belongs to another instance")]
    Instance,
    /// The sites differ: an address in a configuration leads to another site.
    #[error("another site was expected at this address")]
    Site,
    /// The site that speaks is not among the peers of the site that listens.
    #[error("its site is not known here")]
    Unknown,
    /// What was handed in as shared memory is none, or cannot be used here.
    #[error("its shared memory cannot be used")]
    Ring,
    /// A newer incarnation of the site has been seen.
    #[error("a newer incarnation of its site has been seen")]
    Stale,
    /// The side that listens has keys, the side that connects has none.
    #[error("the side that connects has no keys, and the side that listens takes nothing in clear (`raid keys`)")]
    Clear,
    /// The side that connects has keys, the side that listens has none.
    #[error("the side that connects encrypts, and the side that listens has no keys (`raid keys`)")]
    Encrypted,
    /// The certificate is of another site than the greeting says.
    #[error("its certificate is not of the site that it says it is")]
    Certificate,
}

impl HelloRefusal {
    /// The refusals that are told to the other side, with their codes.
    const CODES: [(HelloRefusal, u8); 9] = [
        (HelloRefusal::Version, 1),
        (HelloRefusal::Instance, 2),
        (HelloRefusal::Site, 3),
        (HelloRefusal::Unknown, 4),
        (HelloRefusal::Stale, 5),
        (HelloRefusal::Clear, 6),
        (HelloRefusal::Encrypted, 7),
        (HelloRefusal::Certificate, 8),
        (HelloRefusal::Ring, 9),
    ];
}

/// Where a listener takes the ring of who has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingOffer {
    pub door: DoorName,
    pub pass: DoorPass,
}

/// What a hello says of channels that are faster than the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FasterChannels {
    /// Who connects wants none, or who listens offers none.
    None,
    /// What who connects can use.
    Wanted(WantedChannels),
    /// Who listens is on the same host.
    Ring(RingOffer),
    /// Who listens has datagrams too: the identifier of the association.
    Datagrams(u64),
}

/// Channels that who connects can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantedChannels {
    /// Shared memory, with processes of this host.
    pub host: Option<HostId>,
    /// Datagrams.
    pub datagrams: bool,
}

const FASTER_NONE: u8 = 0;
const FASTER_RING: u8 = 1;
const FASTER_DATAGRAMS: u8 = 2;
/// With the bits of what is wanted.
const FASTER_WANTED: u8 = 4;
const WANTS_RING: u8 = 1;
const WANTS_DATAGRAMS: u8 = 2;

/// The first frame in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Who speaks, and to which site it believes to speak.
    Hello { hello: Hello, to: SiteId, faster: FasterChannels },
    /// The other side refuses the one that connected, and closes.
    Refused(HelloRefusal),
}

impl Greeting {
    /// The payload that carries the greeting. A refusal that is not told, [`HelloRefusal::Foreign`], has none.
    pub(super) fn encode(self, version: u16) -> Option<Vec<u8>> {
        let mut payload = MAGIC.to_vec();
        payload.extend_from_slice(&version.to_le_bytes());
        match self {
            Greeting::Hello { hello, to, faster } => {
                payload.push(KIND_HELLO);
                payload.extend_from_slice(&hello.instance.0.to_le_bytes());
                payload.extend_from_slice(&hello.site.0.to_le_bytes());
                payload.extend_from_slice(&hello.incarnation.to_le_bytes());
                payload.extend_from_slice(&to.0.to_le_bytes());
                match faster {
                    FasterChannels::None => payload.push(FASTER_NONE),
                    FasterChannels::Wanted(WantedChannels { host, datagrams }) => {
                        let ring = if host.is_some() { WANTS_RING } else { 0 };
                        let datagrams = if datagrams { WANTS_DATAGRAMS } else { 0 };
                        payload.push(FASTER_WANTED | ring | datagrams);
                        host.iter().for_each(|host| payload.extend_from_slice(&host.0));
                    }
                    FasterChannels::Ring(offer) => {
                        payload.push(FASTER_RING);
                        payload.extend_from_slice(&offer.door.0);
                        payload.extend_from_slice(&offer.pass.0);
                    }
                    FasterChannels::Datagrams(association) => {
                        payload.push(FASTER_DATAGRAMS);
                        payload.extend_from_slice(&association.to_le_bytes());
                    }
                }
            }
            Greeting::Refused(refusal) => {
                let (_, code) = HelloRefusal::CODES.into_iter().find(|&(told, _)| told == refusal)?;
                payload.extend_from_slice(&[KIND_REFUSAL, code]);
            }
        }
        Some(payload)
    }

    /// Reads a greeting on a side that speaks `version`.
    ///
    /// # Errors
    /// The payload is no greeting, or one of another version.
    pub(super) fn decode(payload: &[u8], version: u16) -> Result<Greeting, HelloRefusal> {
        let mut fields = HelloFields(payload);
        if fields.take::<4>()? != MAGIC {
            return Err(HelloRefusal::Foreign);
        }
        if u16::from_le_bytes(fields.take()?) != version {
            return Err(HelloRefusal::Version);
        }
        let [kind] = fields.take()?;
        let greeting = match kind {
            KIND_HELLO => {
                let instance = InstanceId(u64::from_le_bytes(fields.take()?));
                let site = SiteId(u16::from_le_bytes(fields.take()?));
                let incarnation = u32::from_le_bytes(fields.take()?);
                let to = SiteId(u16::from_le_bytes(fields.take()?));
                let [faster] = fields.take()?;
                let faster = match faster {
                    FASTER_NONE => FasterChannels::None,
                    FASTER_RING => FasterChannels::Ring(RingOffer {
                        door: DoorName(fields.take()?),
                        pass: DoorPass(fields.take()?),
                    }),
                    FASTER_DATAGRAMS => FasterChannels::Datagrams(u64::from_le_bytes(fields.take()?)),
                    wants if wants & !(WANTS_RING | WANTS_DATAGRAMS) == FASTER_WANTED => {
                        let host = if wants & WANTS_RING != 0 { Some(HostId(fields.take()?)) } else { None };
                        FasterChannels::Wanted(WantedChannels { host, datagrams: wants & WANTS_DATAGRAMS != 0 })
                    }
                    _ => return Err(HelloRefusal::Foreign),
                };
                Greeting::Hello { hello: Hello { version, instance, site, incarnation }, to, faster }
            }
            KIND_REFUSAL => {
                let [code] = fields.take()?;
                let known = HelloRefusal::CODES.into_iter().find(|&(_, known)| known == code);
                Greeting::Refused(known.ok_or(HelloRefusal::Foreign)?.0)
            }
            _ => return Err(HelloRefusal::Foreign),
        };
        if fields.0.is_empty() { Ok(greeting) } else { Err(HelloRefusal::Foreign) }
    }
}

/// For fuzz targets: a greeting that can be read is written again as it was.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn read_and_write(payload: &[u8]) {
    if let Ok(greeting) = Greeting::decode(payload, PROTOCOL_VERSION) {
        assert_eq!(greeting.encode(PROTOCOL_VERSION).as_deref(), Some(payload), "it is another greeting");
    }
}

/// The bytes that are still to be read.
struct HelloFields<'a>(&'a [u8]);

impl HelloFields<'_> {
    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], HelloRefusal> {
        let (&field, rest) = self.0.split_first_chunk().ok_or(HelloRefusal::Foreign)?;
        self.0 = rest;
        Ok(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::GREETING_BYTES_MAX;
    use proptest::prelude::*;

    #[test]
    fn greetings_are_read_as_they_were_written_and_fit_their_bound() {
        let hello = Hello::new(InstanceId(u64::MAX), SiteId(3), 9);
        let refusals = HelloRefusal::CODES.into_iter().map(|(refusal, _)| Greeting::Refused(refusal));
        let offer = RingOffer { door: DoorName([3; 16]), pass: DoorPass([4; 16]) };
        let wanted = |host, datagrams| FasterChannels::Wanted(WantedChannels { host, datagrams });
        let host = Some(HostId([5; 16]));
        let fasters =
            [FasterChannels::None, wanted(host, true), wanted(host, false), wanted(None, true), wanted(None, false)];
        let fasters = fasters.into_iter().chain([FasterChannels::Ring(offer), FasterChannels::Datagrams(u64::MAX)]);
        let hellos = fasters.map(|faster| Greeting::Hello { hello, to: SiteId(4), faster });
        for greeting in refusals.chain(hellos) {
            let payload = greeting.encode(PROTOCOL_VERSION).expect("this greeting is told");
            assert!(payload.len() <= GREETING_BYTES_MAX);
            assert_eq!(Greeting::decode(&payload, PROTOCOL_VERSION), Ok(greeting));
            assert_eq!(Greeting::decode(&payload, PROTOCOL_VERSION + 1), Err(HelloRefusal::Version));
            assert_eq!(Greeting::decode(&payload[..payload.len() - 1], PROTOCOL_VERSION), Err(HelloRefusal::Foreign));
        }
    }

    proptest! {
        /// If this failed, whoever reaches the port could stop a site.
        #[test]
        fn arbitrary_greetings_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), prefix in 0usize..8) {
            let mut payload = MAGIC.to_vec();
            payload.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
            payload.push(KIND_HELLO);
            payload.truncate(prefix);
            payload.extend_from_slice(&bytes);
            let greeting = Greeting::decode(&payload, PROTOCOL_VERSION);
            if let Ok(greeting) = greeting {
                prop_assert_eq!(greeting.encode(PROTOCOL_VERSION), Some(payload));
            }
        }
    }
}
