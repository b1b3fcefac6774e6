//! Kernels that reach each other by one way, which is chosen by its name.

use identifiers::{InstanceId, SiteId};
use message_transactions::host::udp::UdpDomain;
use message_transactions::host::ways::{KernelPlace, StreamOptions, Ways};
use raidcomm::keys::{Keys, authority};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

const INSTANCE: InstanceId = InstanceId(1);
/// Sites that keys are made for.
pub const SITES_MAX: u16 = 16;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// By what packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    SharedMemory,
    Udp,
    Tcp,
    Tls,
}

impl Way {
    pub const ALL: [Way; 4] = [Way::SharedMemory, Way::Udp, Way::Tcp, Way::Tls];

    pub fn name(self) -> &'static str {
        match self {
            Way::SharedMemory => "shared-memory",
            Way::Udp => "udp",
            Way::Tcp => "tcp",
            Way::Tls => "tls",
        }
    }

    fn is_stream(self) -> bool {
        matches!(self, Way::Tcp | Way::Tls)
    }

    /// Keys for all sites, if this way needs them, in an empty folder.
    pub fn make_keys(self, folder: &Path) -> Outcome<()> {
        if self == Way::Tls {
            let sites: Vec<SiteId> = (1..=SITES_MAX).map(SiteId).collect();
            authority::make(folder, INSTANCE, &sites)?;
        }
        Ok(())
    }

    /// The end of a kernel with this number, from 1 on, on the loopback interface.
    pub fn bind(self, number: u16, keys: &Path) -> Outcome<Ways> {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let domain = UdpDomain::Peers(Vec::new());
        if self == Way::SharedMemory {
            return Ok(Ways::bind(loopback, domain)?);
        }
        let ways = Ways::without_shared_memory(loopback, domain)?;
        if !self.is_stream() {
            return Ok(ways);
        }
        let site = SiteId(number);
        let keys = if self == Way::Tls { Some(Keys::read(keys, INSTANCE, site)?) } else { None };
        Ok(ways.with_streams(StreamOptions { listen: loopback, instance: INSTANCE, site, keys })?)
    }

    /// What the others have to know of a kernel.
    pub fn address(self, ways: &Ways) -> Outcome<SocketAddr> {
        let stream = if self.is_stream() { ways.stream_address()? } else { None };
        Ok(stream.unwrap_or(ways.address()))
    }

    /// Makes the kernel with that number and address known to this one.
    pub fn introduce(self, ways: &Ways, number: u16, address: SocketAddr) -> Outcome<()> {
        if self.is_stream() {
            ways.add_stream_peer(SiteId(number), address)?;
        } else {
            ways.add_peer(address);
        }
        Ok(())
    }

    /// Where that kernel is for this one.
    pub fn place(self, number: u16, address: SocketAddr) -> KernelPlace {
        if self.is_stream() { KernelPlace::Site(SiteId(number)) } else { KernelPlace::Network(address) }
    }

    /// Whether packets go by this way now, rather than not at all or by another.
    pub fn is_up(self, ways: &Ways, place: KernelPlace) -> bool {
        match place {
            KernelPlace::Site(site) => ways.is_connected(site),
            KernelPlace::Network(_) => self == Way::Udp || ways.is_by_shared_memory(place),
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(name: &str) -> Result<Way, String> {
        Way::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| format!("there is no way {name:?}"))
    }
}
