//! What planted bugs do instead of the clauses that they leave out, where that is more than a line. Only the simulator comes here.

use crate::{MembershipState, ReplicationController};
use messages::commit::EpochRequest;
#[cfg(doc)]
use messages::planted::Bug;
use messages::{Epoch, EpochNumber, MemberState, Message, Now, Outbox, ServerKind, SiteId};

/// [`Bug::SealedUnseals`]: transactions are sealed only when they are resolved.
pub(crate) fn seal_late(epoch: &Epoch, outbox: &mut Outbox) {
    let seal = EpochRequest::Seal { epoch: EpochNumber(epoch.number.0 - 1) };
    outbox.local(ServerKind::AtomicityController, Message::EpochRequest(seal));
}

/// [`Bug::RecoveringFormsEpoch`]: this site counts as up in the epoch that it proposes.
pub(crate) fn take_for_up(epoch: &mut Epoch, own: SiteId) {
    if let Some(own) = epoch.members.get_mut(&own) {
        own.state = MemberState::Up;
    }
}

impl ReplicationController {
    /// [`Bug::SealedUnseals`]: a sealed member goes on after a time-out, though it has told what it knows.
    pub(crate) fn unseal(&mut self, now: Now, outbox: &mut Outbox) {
        if now.boot < self.sealed_at + self.lease.seal_patience() / 8 {
            return;
        }
        let epoch = match &self.state {
            MembershipState::Member(epoch) if epoch.number <= self.sealed_through => epoch.clone(),
            MembershipState::Changing(change) => match change.left() {
                Some(epoch) => epoch.clone(),
                None => return,
            },
            _ => return,
        };
        self.sealed_at = u64::MAX - self.lease.seal_patience();
        if let MembershipState::Member(epoch) = &self.state {
            self.sealed_through = EpochNumber(epoch.number.0 - 1);
        }
        self.open_leases(&epoch, outbox);
        let activate = EpochRequest::Activate { epoch };
        outbox.local(ServerKind::AtomicityController, Message::EpochRequest(activate));
    }
}
