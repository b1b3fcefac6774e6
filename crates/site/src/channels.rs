//! By what channels a site's messages go to other processes: the connections, and what is faster beside them.

use crate::config::{Channels, SiteConfig};
use mio::Registry;
use raidcomm::datagrams::faults::FaultRates;
use raidcomm::keys::Keys;
use raidcomm::streams::{DatagramOptions, Hello, Streams, StreamsError};
use std::ops::Range;

/// Listens for other sites, with the channels that the configuration allows. What the operating system refuses of the faster ones is said
/// in the log; messages then go over connections.
pub(crate) fn open(
    registry: &Registry,
    tokens: Range<usize>,
    hello: Hello,
    config: &SiteConfig,
    keys: Option<Keys>,
) -> Result<Streams, StreamsError> {
    let mut streams = Streams::listen(registry, tokens, hello, config.listen, keys)?;
    if config.channels == Channels::Fastest
        && let Err(error) = streams.use_shared_memory()
    {
        tracing::warn!(%error, "no shared memory with other processes of this host: messages go over streams");
    }
    if matches!(config.channels, Channels::Fastest | Channels::Datagrams)
        && let Err(error) = streams.use_datagrams(options(config))
    {
        tracing::warn!(%error, "no datagrams to other sites of this network: messages go over streams");
    }
    Ok(streams)
}

fn options(config: &SiteConfig) -> DatagramOptions {
    let faults = config.datagram_faults.0;
    if faults != FaultRates::default() {
        tracing::warn!(?faults, "datagrams leave this site as over a bad network: so says its configuration");
    }
    DatagramOptions { datagram_bytes: config.datagram_bytes, faults }
}
