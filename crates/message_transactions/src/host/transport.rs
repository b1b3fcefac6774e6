//! What carries packets: a datagram socket, or anything else that can say where a packet came from.
//!
//! Invariant: a transport may lose, double and reorder packets, and nothing else.

use crate::identifier::ProcessGroupId;
use crate::outbox::GroupMembership;
use std::fmt::Debug;
use std::io;
use std::time::Duration;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<P> {
    /// So many bytes, of one packet or of several behind each other, from there.
    Packets(usize, P),
    /// The kernel that was there has ended: what is sent there is lost.
    Gone(P),
}

/// A receiver of packets that come by another way than those to this place alone.
pub type PacketReceiver<P> = Box<dyn FnMut(&mut [u8], Duration) -> io::Result<Option<(usize, P)>> + Send>;

/// See the module's description.
pub trait PacketTransport: Debug + Send + Sync + 'static {
    /// Where kernels are.
    type Place: Copy + Ord + Debug + Send + Sync + 'static;

    /// Where this kernel is.
    fn place(&self) -> Self::Place;

    /// Bits that differ between kernels of one machine.
    fn seed(&self) -> u64;

    /// Sends packets that stand behind each other: each but the last has `packet_bytes` bytes. What cannot be sent is lost. Some of
    /// it may wait for [`PacketTransport::flush`].
    fn send(&self, to: Self::Place, train: &[u8], packet_bytes: usize);

    /// Sends a packet to all kernels with members of a group, or to all kernels.
    fn multicast(&self, group: Option<ProcessGroupId>, packet: &[u8]);

    /// What was sent leaves now.
    fn flush(&self) {}

    /// Waits for packets. `None`: none came in time, or what came was not for the kernel. Called by one thread at a time.
    ///
    /// # Errors
    /// The operating system refused.
    fn receive(&self, buffer: &mut [u8], wait: Duration) -> io::Result<Option<Arrival<Self::Place>>>;

    /// Ends a wait in [`PacketTransport::receive`] of another thread, soon.
    fn wake(&self);

    /// What receives broadcasts and packets of groups, if that is not [`PacketTransport::receive`]. Asked for once; a thread of its own
    /// calls it.
    ///
    /// # Errors
    /// The operating system refused.
    fn multicast_receiver(&self) -> io::Result<Option<PacketReceiver<Self::Place>>> {
        Ok(None)
    }

    /// Begins or ends to listen to a group. In force when it returns.
    fn membership(&self, membership: GroupMembership);
}
