//! The port: the one interface through which the servers of a process send. The destination picks the channel.
//!
//! What leaves the process has the port's codec: the compact one, unless its owner wants what programs of others read.
//!
//! Invariant: a message is encoded only if it leaves the process, and then once, and handed over as a value inside it. A
//! message that cannot be delivered is dropped and counted, whatever the channel: protocols above send again what must
//! arrive.

use crate::codec::{Codec, CodecError, Compact};
use crate::directory::{Destination, Directory, DirectoryError, MessageRoute, ServerEndpoint};
use crate::memory::Sender;
use crate::streams::{SendError, Streams};
use identifiers::{Address, SiteId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use thiserror::Error;

/// A channel to other processes; in the simulator, to other simulated ones.
pub trait Network {
    /// Sends the payload once to each site, and says to how many it could not be sent.
    ///
    /// # Errors
    /// The payload is too large for the channel.
    fn multicast(&mut self, sites: &[SiteId], payload: &[u8]) -> Result<usize, SendError>;
}

impl Network for Streams {
    fn multicast(&mut self, sites: &[SiteId], payload: &[u8]) -> Result<usize, SendError> {
        Streams::multicast(self, sites, payload)
    }
}

/// A message as a server receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<M> {
    /// Who sent it.
    pub from: Address,
    /// Which server it is for: one of those that share the inbox.
    pub to: Address,
    /// What was sent.
    pub message: M,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendFate {
    /// Servers of this process that have it.
    pub delivered: usize,
    /// Sites that it is on the way to.
    pub sites: usize,
    /// Servers and sites that it was dropped for: no place, no connection, no inbox, or too much waiting.
    pub dropped: usize,
}

/// Why a message goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PortError {
    /// The directory does not know the destination.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The channel does not take it.
    #[error(transparent)]
    Send(#[from] SendError),
    /// It cannot be encoded, or what came in is no message.
    #[error("not a message: {0}")]
    Codec(#[from] CodecError),
    /// A site may speak for its own servers only.
    #[error("{site} sent a message in the name of {from}")]
    Forged {
        /// Who sent it.
        site: SiteId,
        /// In whose name.
        from: Address,
    },
}

/// How a message looks between processes.
#[derive(Serialize, Deserialize)]
struct Packet<M> {
    from: Address,
    to: Destination,
    message: M,
}

/// The sending side of all servers of a process, and their inboxes. Ports that send to each other have one codec.
pub struct Port<M, C = Compact> {
    /// Where servers are; the owner changes it as the oracle tells.
    pub directory: Directory,
    inboxes: BTreeMap<Address, Sender<Delivery<M>>>,
    route: MessageRoute,
    packet: Vec<u8>,
    codec: PhantomData<C>,
}

impl<M, C> Default for Port<M, C> {
    fn default() -> Port<M, C> {
        Port {
            directory: Directory::default(),
            inboxes: BTreeMap::new(),
            route: MessageRoute::default(),
            packet: Vec::new(),
            codec: PhantomData,
        }
    }
}

impl<M: Clone + Serialize + DeserializeOwned, C: Codec> Port<M, C> {
    /// Places a server in this process. Servers of one thread may share an inbox.
    ///
    /// # Errors
    /// The directory is full.
    pub fn attach(&mut self, address: Address, inbox: Sender<Delivery<M>>) -> Result<(), DirectoryError> {
        self.directory.place(address, ServerEndpoint::Memory)?;
        self.inboxes.insert(address, inbox);
        Ok(())
    }

    /// Takes a server out of this process, and says whether it was there.
    pub fn detach(&mut self, address: Address) -> bool {
        if self.directory.endpoint(address) == Some(ServerEndpoint::Memory) {
            self.directory.remove(address);
        }
        self.inboxes.remove(&address).is_some()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The destination is not known, or the message cannot leave the process; then other processes do not get it, and
    /// neither does this one.
    pub fn send(
        &mut self,
        network: &mut impl Network,
        from: Address,
        to: Destination,
        message: M,
    ) -> Result<SendFate, PortError> {
        self.directory.route(to, &mut self.route)?;
        let mut sent = SendFate { dropped: self.route.unplaced.len(), ..SendFate::default() };
        if !self.route.streams.is_empty() {
            self.packet.clear();
            C::append(&Packet { from, to, message: &message }, &mut self.packet)?;
            let dropped = network.multicast(&self.route.streams, &self.packet)?;
            sent.sites = self.route.streams.len() - dropped;
            sent.dropped += dropped;
        }
        self.deliver(from, message, &mut sent);
        Ok(sent)
    }

    /// Takes a payload that came from another site, and hands the message to the servers of this process that it is
    /// for.
    ///
    /// # Errors
    /// It is no message, or nobody that it is for is known here.
    pub fn arrived(&mut self, site: SiteId, payload: &[u8]) -> Result<SendFate, PortError> {
        let Packet { from, to, message } = C::read::<Packet<M>>(payload)?;
        if from.site != site {
            return Err(PortError::Forged { site, from });
        }
        self.directory.route(to, &mut self.route)?;
        let mut sent = SendFate::default();
        if let Destination::One(address) = to
            && self.route.memory.is_empty()
        {
            // It has moved on since the sender looked. The sender learns by silence and asks the oracle.
            return Err(DirectoryError::Unknown(address.into()).into());
        }
        self.deliver(from, message, &mut sent);
        Ok(sent)
    }

    /// Hands a message to every server of the route that is in this process; the last one gets the value itself.
    fn deliver(&self, from: Address, message: M, sent: &mut SendFate) {
        let mut hand_over = |to: Address, message: M| {
            let inbox = self.inboxes.get(&to);
            let taken = inbox.is_some_and(|inbox| inbox.send(Delivery { from, to, message }).is_ok());
            *(if taken { &mut sent.delivered } else { &mut sent.dropped }) += 1;
        };
        if let Some((&last, others)) = self.route.memory.split_last() {
            others.iter().for_each(|&to| hand_over(to, message.clone()));
            hand_over(last, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::External;
    use crate::directory::GroupId;
    use crate::memory::{self, ChannelReceiver};
    use identifiers::{InstanceId, ServerKind};
    use std::net::SocketAddr;
    use std::sync::Arc;

    const GROUP: GroupId = GroupId(3);

    type Text = Arc<String>;

    fn server(site: u16, number: u16) -> Address {
        Address { instance: InstanceId(1), site: SiteId(site), kind: ServerKind::AtomicityController, number }
    }

    /// Keeps what is sent; site 9 cannot be reached.
    #[derive(Default)]
    struct Wire(Vec<(SiteId, Vec<u8>)>);

    impl Network for Wire {
        fn multicast(&mut self, sites: &[SiteId], payload: &[u8]) -> Result<usize, SendError> {
            let reached = sites.iter().filter(|site| site.0 != 9);
            let before = self.0.len();
            self.0.extend(reached.map(|&site| (site, payload.to_vec())));
            Ok(sites.len() - (self.0.len() - before))
        }
    }

    /// The process of a site with two servers, which knows three other sites with one each, all in one group.
    fn process<C: Codec>(site: u16) -> (Port<Text, C>, ChannelReceiver<Delivery<Text>>) {
        let mut port = Port::default();
        let (sender, receiver) = memory::channel(3, || ());
        for number in 0..2 {
            port.attach(server(site, number), sender.clone()).expect("room");
            port.directory.join(GROUP, server(site, number)).expect("room");
        }
        for other in [1, 2, 9].into_iter().filter(|&other| other != site) {
            let endpoint = ServerEndpoint::Stream(SocketAddr::from(([127, 0, 0, 1], 7_000 + other)));
            for number in 0..2 {
                port.directory.place(server(other, number), endpoint).expect("room");
                port.directory.join(GROUP, server(other, number)).expect("room");
            }
        }
        (port, receiver)
    }

    fn received(receiver: &mut ChannelReceiver<Delivery<Text>>) -> Vec<(Address, Text)> {
        let mut deliveries = Vec::new();
        receiver.drain(&mut deliveries);
        deliveries.into_iter().map(|delivery| (delivery.to, delivery.message)).collect()
    }

    #[test]
    fn a_message_inside_the_process_is_handed_over_not_encoded() {
        let (mut port, mut receiver) = process::<Compact>(1);
        let mut wire = Wire::default();
        let message = Arc::new("hello".to_string());
        let sent = port.send(&mut wire, server(1, 0), server(1, 1).into(), Arc::clone(&message));
        assert_eq!(sent, Ok(SendFate { delivered: 1, ..SendFate::default() }));
        assert!(wire.0.is_empty());
        let deliveries = received(&mut receiver);
        assert!(Arc::ptr_eq(&deliveries[0].1, &message), "the value itself, not a copy");
    }

    #[test]
    fn a_message_to_a_group_reaches_every_server_with_one_frame_per_site() {
        let (mut sender, mut sender_receiver) = process::<Compact>(1);
        let (mut other, mut other_receiver) = process::<Compact>(2);
        let mut wire = Wire::default();
        let message = Arc::new("to all".to_string());
        let sent = sender.send(&mut wire, server(1, 0), GROUP.into(), Arc::clone(&message));
        assert_eq!(sent, Ok(SendFate { delivered: 2, sites: 1, dropped: 1 }));
        let [(site, payload)] = &wire.0[..] else { panic!("one frame for one reachable site") };
        assert_eq!(*site, SiteId(2));
        assert_eq!(other.arrived(SiteId(1), payload), Ok(SendFate { delivered: 2, ..SendFate::default() }));
        for (site, receiver) in [(1, &mut sender_receiver), (2, &mut other_receiver)] {
            let expected = [(server(site, 0), Arc::clone(&message)), (server(site, 1), Arc::clone(&message))];
            assert_eq!(received(receiver), expected);
        }
    }

    #[test]
    fn ports_speak_what_their_owners_have_chosen() {
        let (mut sender, _sender_receiver) = process::<External>(1);
        let (mut other, mut receiver) = process::<External>(2);
        let mut wire = Wire::default();
        let message = Arc::new("in units of four bytes".to_string());
        sender.send(&mut wire, server(1, 0), server(2, 1).into(), Arc::clone(&message)).expect("a known server");
        let (_, payload) = &wire.0[0];
        assert!(payload.ends_with(b"\0\0\0\x16in units of four bytes\0\0"), "a string of the standard");
        assert_eq!(other.arrived(SiteId(1), payload), Ok(SendFate { delivered: 1, ..SendFate::default() }));
        assert_eq!(received(&mut receiver), [(server(2, 1), message)]);
        let (mut compact, _compact_receiver) = process::<Compact>(2);
        assert!(compact.arrived(SiteId(1), payload).is_err(), "one of another codec does not take it for a message");
    }

    #[test]
    fn what_cannot_be_delivered_is_counted_or_named() {
        let (mut port, receiver) = process::<Compact>(1);
        let mut wire = Wire::default();
        let message = Arc::new(String::new());
        let mut send =
            |port: &mut Port<_>, to: Address| port.send(&mut wire, server(1, 0), to.into(), Arc::clone(&message));
        let dropped = Ok(SendFate { dropped: 1, ..SendFate::default() });
        assert_eq!(send(&mut port, server(9, 0)), dropped, "not connected");
        assert_eq!(send(&mut port, server(5, 0)), Err(DirectoryError::Unknown(server(5, 0).into()).into()));
        for _ in 0..3 {
            assert_eq!(send(&mut port, server(1, 1)), Ok(SendFate { delivered: 1, ..SendFate::default() }));
        }
        assert_eq!(send(&mut port, server(1, 1)), dropped, "the inbox is full");
        drop(receiver);
        assert_eq!(send(&mut port, server(1, 1)), dropped, "the inbox is closed");
        assert!(port.detach(server(1, 1)));
        assert_eq!(send(&mut port, server(1, 1)), Err(DirectoryError::Unknown(server(1, 1).into()).into()));
    }

    #[test]
    fn bad_packets_are_errors() {
        let (mut sender, _sender_receiver) = process::<Compact>(1);
        let (mut port, mut receiver) = process::<Compact>(2);
        let mut wire = Wire::default();
        sender.send(&mut wire, server(1, 0), server(2, 0).into(), Arc::new("x".to_string())).expect("a known server");
        let (_, payload) = &wire.0[0];
        let forged = PortError::Forged { site: SiteId(9), from: server(1, 0) };
        assert_eq!(port.arrived(SiteId(9), payload), Err(forged));
        assert!(matches!(port.arrived(SiteId(1), &payload[..payload.len() - 1]), Err(PortError::Codec(_))));
        port.detach(server(2, 0));
        let unknown = DirectoryError::Unknown(server(2, 0).into());
        assert_eq!(port.arrived(SiteId(1), payload), Err(unknown.into()));
        assert!(received(&mut receiver).is_empty());
    }
}
