//! May the site serve now? Asked by the action driver before and after every read.
//!
//! Invariant: yes only in an active, unsealed epoch, under an unexpired lease from every other member.

use crate::{MembershipState, ReplicationController};
use messages::replication::{Increments, Service, ServiceReply, ServiceRequest};
use messages::{EpochNumber, Item, MemberState, Message, Now, Outbox, ServerKind, SiteId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};

/// Questions that wait for the answer yes.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Questions {
    /// Tag and deadline (boot clock).
    waiting: Vec<(u64, u64)>,
}

impl ReplicationController {
    pub(crate) fn service_asked(&mut self, now: Now, request: ServiceRequest, outbox: &mut Outbox) {
        match request {
            ServiceRequest::Check { tag, deadline } => match self.service(now) {
                Ok(service) => service_reply(tag, Ok(service), outbox),
                Err(_) => self.questions.waiting.push((tag, deadline)),
            },
            ServiceRequest::CheckAfter { tag, epoch } => {
                let verdict = match self.service(now) {
                    Ok(present) if present.epoch == epoch => Ok(present),
                    Ok(present) => Err(format!("the epoch changed from {} to {}", epoch.0, present.epoch.0)),
                    Err(reason) => Err(reason),
                };
                service_reply(tag, verdict, outbox);
            }
            ServiceRequest::Increments { tag, items } => {
                let lacking = self.service(now).map(|_| self.lacking(items));
                let reply = ServiceReply::Lacking { tag, lacking };
                outbox.local(ServerKind::ActionDriver, Message::ServiceReply(reply));
            }
            ServiceRequest::Refresh { tag, range, deadline } => {
                self.refresh_asked(now, tag, *range, deadline, outbox);
            }
        }
    }

    /// Why the site may not serve now; `None`: it may.
    pub fn refusal(&self, now: Now) -> Option<String> {
        self.may_serve(now).err()
    }

    fn service(&self, now: Now) -> Result<Service, String> {
        let epoch = self.may_serve(now)?;
        let increments = match &self.state {
            MembershipState::Member(epoch) if epoch.is_whole() => Increments::ToAll,
            _ if planted!(self.planted, IncrementsWhileJoining) => Increments::ToAll,
            MembershipState::Member(epoch) if epoch.members[&self.site].state == MemberState::Up => {
                Increments::ToWhatIsThere
            }
            _ => Increments::ToNothing,
        };
        Ok(Service { epoch, increments })
    }

    /// Which of these a member that is being repaired may lack.
    fn lacking(&self, mut items: Vec<Item>) -> Vec<Item> {
        if let MembershipState::Member(epoch) = &self.state {
            let is_repaired = |site: &SiteId| epoch.members[site].state == MemberState::Recovering;
            let repaired: Vec<SiteId> = epoch.others(self.site).filter(is_repaired).collect();
            items.retain(|item| repaired.iter().any(|site| self.fail_locks.covers(*site, item)));
            if !items.is_empty() {
                reached!("joining-refuses-increment");
            }
        }
        items
    }

    /// The epoch in which the site may serve, or why it may not.
    pub(crate) fn may_serve(&self, now: Now) -> Result<EpochNumber, String> {
        if self.halted {
            return Err("this site has lost its place among the sites and starts again".to_owned());
        }
        if self.disk_stalled {
            return Err("this site's disk does not finish a sync: it serves again when that does".to_owned());
        }
        match &self.state {
            MembershipState::Joining => Err(self.joining_reason(now)),
            MembershipState::Changing(change) => Err(format!("{} is being set up", change.epoch().number)),
            MembershipState::Member(epoch) if epoch.number <= self.sealed_through => {
                Err(match self.proposals.lacks_oracle(now) {
                    true => format!(
                        "{} is sealed, and the oracle, which must set up the next, does not answer",
                        epoch.number
                    ),
                    false => format!("{} is sealed: the set of sites is being changed", epoch.number),
                })
            }
            MembershipState::Member(epoch) if self.leases.hold_all(now) || planted!(self.planted, NoLeaseCheck) => {
                Ok(epoch.number)
            }
            MembershipState::Member(_) => {
                let missing: Vec<String> = self.leases.missing(now).iter().map(|site| site.to_string()).collect();
                let missing = missing.join(", ");
                // Without its oracle a set of sites cannot shed a member, and without that member's lease it cannot serve.
                Err(match self.proposals.lacks_oracle(now) {
                    true => {
                        format!("no lease from {missing}, and the oracle, which could leave it out, does not answer")
                    }
                    false => format!("no lease from {missing}"),
                })
            }
        }
    }

    /// Answers those that may go on, and those whose patience is over.
    pub(crate) fn answer_questions(&mut self, now: Now, outbox: &mut Outbox) {
        if self.questions.waiting.is_empty() {
            return;
        }
        let verdict = self.service(now);
        self.questions.waiting.retain(|(tag, deadline)| match &verdict {
            Ok(service) => {
                service_reply(*tag, Ok(*service), outbox);
                false
            }
            Err(reason) if now.boot >= *deadline => {
                service_reply(*tag, Err(reason.clone()), outbox);
                false
            }
            Err(_) => true,
        });
    }
}

/// A short answer to the action driver.
fn service_reply(tag: u64, verdict: Result<Service, String>, outbox: &mut Outbox) {
    let reply = ServiceReply::ServiceReply { tag, verdict };
    outbox.local(ServerKind::ActionDriver, Message::ServiceReply(reply));
}
