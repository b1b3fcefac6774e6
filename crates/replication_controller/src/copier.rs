//! Copiers: refreshing what is stale in the own copy, from members whose copy is current (rule 11).
//!
//! Two steps at once: what a read waits for is fetched first and at once (step one), everything else in batches behind it, one under way
//! at a time (step two), with a rest after each while others commit: what is copied in haste is taken from the clients of all members. The access
//! manager knows what is stale; this file only moves requests and copies.

use crate::{EpochContinuation, MembershipState, ReplicationController, limits};
use messages::access::{AccessReply, AccessRequest, Copies, CopyRequest};
use messages::limits::COPY_ITEMS_MAX;
use messages::replication::{ReplicationMessage, ServiceReply};
use messages::{
    Epoch, EpochNumber, Item, KeyRange, LogPoint, MemberState, Message, Now, Outbox, ServerKind, SiteId, TableId,
};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Who waits for a fetch.
#[derive(Clone, Serialize, Deserialize)]
struct FetchWaiter {
    tag: u64,
    range: KeyRange,
    deadline: u64,
}

/// One copier.
#[derive(Serialize, Deserialize)]
struct CopierFetch {
    /// `None`: the background batch.
    question: Option<FetchWaiter>,
    /// Since when it is under way.
    begun: u64,
    /// What was asked of another member, and when.
    asked: Option<(CopyRequest, u64)>,
}

/// All copiers of this site, and those of others that it serves.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Copiers {
    /// Something may be stale here.
    active: bool,
    /// Nothing is stale here, and that is synced.
    current: bool,
    /// It became so in this epoch.
    became_current: bool,
    fetches: BTreeMap<u64, CopierFetch>,
    waiting: VecDeque<FetchWaiter>,
    background: Option<u64>,
    /// Until when no other background batch begins.
    rests_until: u64,
    /// Something has committed since the last background batch was installed.
    clients_commit: bool,
    left: u64,
    bytes: u64,
    next_source: usize,
    refreshed: (Vec<Item>, Vec<TableId>),
    refreshed_at: u64,
    current_told_at: u64,
    current_asked: bool,
    /// Copies being read for other sites: whom to answer, with which tag.
    serving: BTreeMap<u64, (SiteId, u64)>,
}

impl Copiers {
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_current(&self) -> bool {
        self.current
    }

    /// The epoch changes: what is under way is asked for again in the next one.
    pub(crate) fn stop(&mut self) {
        let fetches = std::mem::take(&mut self.fetches);
        self.waiting.extend(fetches.into_values().filter_map(|fetch| fetch.question));
        self.background = None;
        self.serving.clear();
    }

    pub(crate) fn enter(&mut self, may_be_stale: bool) {
        self.active = may_be_stale;
        self.current = !may_be_stale;
        self.became_current = false;
        self.current_asked = false;
        // What was replayed, and what the change of epochs has settled, is no client's.
        self.clients_commit = false;
    }

    /// Whether fail-locks that others may still keep of this site are void.
    pub(crate) fn became_current(&self) -> bool {
        self.became_current
    }

    /// Something has committed.
    pub(crate) fn committed(&mut self) {
        self.clients_commit = true;
    }

    /// A change has found out that this copy lacks something.
    pub(crate) fn lacks_something(&mut self) {
        self.current = false;
        self.became_current = false;
    }
}

impl ReplicationController {
    pub(crate) fn refresh_asked(&mut self, now: Now, tag: u64, range: KeyRange, deadline: u64, outbox: &mut Outbox) {
        self.copiers.waiting.push_back(FetchWaiter { tag, range, deadline });
        self.copiers.active = true;
        self.start_fetches(now, outbox);
    }

    fn start_fetches(&mut self, now: Now, outbox: &mut Outbox) {
        if self.serving().is_none() || !self.copiers.active {
            return;
        }
        while self.copiers.fetches.len() < limits::WANTED_COPIES_MAX {
            let Some(question) = self.copiers.waiting.pop_front() else { break };
            self.start_fetch(now, Some(question), outbox);
        }
        let rests = now.boot < self.copiers.rests_until;
        if self.copiers.background.is_none() && !rests && !self.copiers.current && !self.copiers.current_asked {
            let tag = self.start_fetch(now, None, outbox);
            self.copiers.background = Some(tag);
        }
    }

    fn start_fetch(&mut self, now: Now, question: Option<FetchWaiter>, outbox: &mut Outbox) -> u64 {
        let tag = self.token();
        let wanted = question.as_ref().map(|question| Box::new(question.range.clone()));
        self.copiers.fetches.insert(tag, CopierFetch { question, begun: now.boot, asked: None });
        let request = AccessRequest::NextStale { tag, limit: COPY_ITEMS_MAX as u32, wanted };
        outbox.local(ServerKind::AccessManager, Message::Access(request));
        tag
    }

    pub(crate) fn access_reply(&mut self, now: Now, reply: AccessReply, outbox: &mut Outbox) {
        match reply {
            AccessReply::StaleBatch { tag, wanted, left } => self.stale_batch(now, tag, wanted, left, outbox),
            AccessReply::CopiesInstalled { tag, bytes } => self.copies_installed(now, tag, bytes, outbox),
            AccessReply::Copies { tag, copies } => {
                if let Some((site, theirs)) = self.copiers.serving.remove(&tag) {
                    self.to_peer(site, ReplicationMessage::CopyReply { tag: theirs, copies }, outbox);
                }
            }
            // A replay says what was so in an earlier life.
            AccessReply::Refreshed { .. }
                if matches!(self.state, MembershipState::Joining) && !planted!(self.planted, RefreshedByReplay) =>
            {
                reached!("refreshed-in-replay");
            }
            AccessReply::Refreshed { items, storages } => {
                if planted!(self.planted, ClearedBeforeSynced) {
                    self.tell_refreshed(items, storages, self.marks.on_disk(), outbox);
                } else {
                    self.copiers.refreshed.0.extend(items);
                    self.copiers.refreshed.1.extend(storages);
                }
            }
            other => tracing::error!(?other, "not an answer for a replication controller"),
        }
    }

    fn stale_batch(&mut self, now: Now, tag: u64, wanted: Option<CopyRequest>, left: u64, outbox: &mut Outbox) {
        self.copiers.left = left;
        let Some(fetch) = self.copiers.fetches.get_mut(&tag) else { return };
        match wanted {
            Some(wanted) => {
                fetch.asked = Some((wanted, now.boot));
                self.ask_copies(tag, outbox);
            }
            None => {
                let question = self.copiers.fetches.remove(&tag).and_then(|fetch| fetch.question);
                match question {
                    Some(question) => refresh_reply(question.tag, None, outbox),
                    None => {
                        self.copiers.background = None;
                        let epoch = self.serving().map(|epoch| epoch.number);
                        if let Some(epoch) = epoch.filter(|_| left == 0 && !self.copiers.current_asked) {
                            self.copiers.current_asked = true;
                            // The next epoch may have this copy up, and fail before it is logged here.
                            self.note_whole();
                            outbox.append(self.marks.record());
                            let mark = self.set_mark(outbox);
                            self.sync_then(EpochContinuation::Current(epoch, mark), outbox);
                        }
                    }
                }
                self.start_fetches(now, outbox);
            }
        }
    }

    /// Asks the other members in turn, first those whose copy is current: what an up member lost in a total failure may be current
    /// at a recovering one only. Nobody gives away what is stale.
    fn ask_copies(&mut self, tag: u64, outbox: &mut Outbox) {
        let Some(epoch) = self.serving().cloned() else { return };
        let Some((wanted, _)) = self.copiers.fetches.get(&tag).and_then(|fetch| fetch.asked.clone()) else { return };
        let mut sources: Vec<SiteId> = epoch.others(self.site).collect();
        let up = |site: &SiteId| epoch.members[site].state == MemberState::Up;
        if epoch.members[&self.site].state == MemberState::Recovering {
            sources.retain(up);
        }
        if sources.is_empty() {
            return;
        }
        self.copiers.next_source = (self.copiers.next_source + 1) % sources.len();
        let source = sources[self.copiers.next_source];
        self.to_peer(source, ReplicationMessage::CopyRequest { tag, wanted }, outbox);
    }

    pub(crate) fn copy_asked(&mut self, from: SiteId, theirs: u64, wanted: CopyRequest, outbox: &mut Outbox) {
        let Some(epoch) = self.serving().map(|epoch| epoch.number) else { return };
        let tag = self.token();
        self.copiers.serving.insert(tag, (from, theirs));
        outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::ReadCopies { tag, wanted, epoch }));
    }

    pub(crate) fn copies_came(&mut self, _now: Now, tag: u64, copies: Arc<Copies>, outbox: &mut Outbox) {
        let Some(fetch) = self.copiers.fetches.get_mut(&tag) else { return };
        if brings_nothing(&copies) {
            // It is stale there, too: another member is asked in a while.
            return;
        }
        if fetch.asked.take().is_some() {
            outbox.local(ServerKind::AccessManager, Message::Access(AccessRequest::InstallCopies { tag, copies }));
        }
    }

    fn copies_installed(&mut self, now: Now, tag: u64, bytes: u64, outbox: &mut Outbox) {
        self.copiers.bytes += bytes;
        let Some(fetch) = self.copiers.fetches.remove(&tag) else { return };
        match fetch.question {
            // More of the same may be stale: ask until nothing is.
            Some(question) => _ = self.start_fetch(now, Some(question), outbox),
            None => {
                self.copiers.background = None;
                self.copiers.rests_until = now.boot + self.rest_after(now.boot.saturating_sub(fetch.begun));
            }
        }
        self.start_fetches(now, outbox);
    }

    /// How long this copy leaves the others to their clients after a batch that took so long. While votes wait for disks, or there is only one whole
    /// copy or perhaps none, nothing is more urgent; and while nobody commits there is nobody to leave them to, as far as this site can see.
    fn rest_after(&mut self, took: u64) -> u64 {
        let clients = std::mem::take(&mut self.copiers.clients_commit);
        let enough = |epoch: &Arc<Epoch>| epoch.up().count() >= usize::from(epoch.required_copies).max(2);
        match clients && self.serving().is_some_and(enough) && self.restarted_in.is_none() {
            true => took.saturating_mul(limits::COPY_REST).min(limits::COPY_REST_MAX),
            false => 0,
        }
    }

    pub(crate) fn tick_copiers(&mut self, now: Now, outbox: &mut Outbox) {
        self.give_up_questions(now, outbox);
        let Some(epoch) = self.serving().cloned() else { return };
        let late: Vec<u64> = (self.copiers.fetches.iter_mut())
            .filter_map(|(tag, fetch)| match &mut fetch.asked {
                Some((_, at)) if now.boot >= *at + limits::COPY_ANSWER => {
                    *at = now.boot;
                    Some(*tag)
                }
                _ => None,
            })
            .collect();
        for tag in late {
            self.ask_copies(tag, outbox);
        }
        self.start_fetches(now, outbox);
        let something = !self.copiers.refreshed.0.is_empty() || !self.copiers.refreshed.1.is_empty();
        if something && now.boot >= self.copiers.refreshed_at + limits::REFRESHED_INTERVAL {
            self.copiers.refreshed_at = now.boot;
            let (items, storages) = std::mem::take(&mut self.copiers.refreshed);
            let mark = self.set_mark(outbox);
            self.sync_then(EpochContinuation::Refreshed(items, storages, mark), outbox);
        }
        let recovering = epoch.members[&self.site].state == MemberState::Recovering;
        if recovering && self.copiers.current && now.boot >= self.copiers.current_told_at + limits::CURRENT_INTERVAL {
            self.copiers.current_told_at = now.boot;
            for site in epoch.up().filter(|site| *site != self.site) {
                self.to_peer(site, ReplicationMessage::Current, outbox);
            }
        }
    }

    fn give_up_questions(&mut self, now: Now, outbox: &mut Outbox) {
        let reason = || Some("no member with a current copy has answered in time".to_owned());
        self.copiers.waiting.retain(|question| {
            let over = now.boot >= question.deadline;
            if over {
                refresh_reply(question.tag, reason(), outbox);
            }
            !over
        });
        self.copiers.fetches.retain(|_, fetch| match &fetch.question {
            Some(question) if now.boot >= question.deadline => {
                refresh_reply(question.tag, reason(), outbox);
                false
            }
            _ => true,
        });
    }

    /// Something is stale in this copy from now on: what was written here before, in an earlier epoch or by its change, may be stale again. Who told the
    /// others of it would have them clear fail-locks of what it lacks.
    pub(crate) fn forget_refreshed(&mut self) {
        if !planted!(self.planted, RefreshedByReplay) {
            self.copiers.refreshed = Default::default();
            self.after_sync.retain(|_, then| !matches!(then, EpochContinuation::Refreshed(..)));
        }
    }

    pub(crate) fn tell_refreshed(
        &mut self,
        items: Vec<Item>,
        storages: Vec<TableId>,
        mark: LogPoint,
        outbox: &mut Outbox,
    ) {
        self.mark_is_synced(mark);
        let Some(epoch) = self.serving().cloned() else { return };
        let message = ReplicationMessage::Refreshed { items, storages, everything: false, mark };
        self.to_peers(epoch.others(self.site), message, outbox);
    }

    /// Nothing was stale when the sync was asked for, and nothing becomes stale within an epoch.
    pub(crate) fn tell_current(&mut self, asked_in: EpochNumber, mark: LogPoint, outbox: &mut Outbox) {
        self.mark_is_synced(mark);
        // A disk that has stalled tells of its sync before it is known to go on, so this site may not serve at this moment.
        let MembershipState::Member(epoch) = &self.state else { return };
        if epoch.number != asked_in {
            return;
        }
        let epoch = epoch.clone();
        self.copiers.current = true;
        self.copiers.became_current = true;
        self.copiers.active = false;
        self.restarted_in = None;
        self.marks.set_back = false;
        let (items, storages) = (Vec::new(), Vec::new());
        let message = ReplicationMessage::Refreshed { items, storages, everything: true, mark };
        self.to_peers(epoch.others(self.site), message, outbox);
    }
}

/// What was asked for is stale at the member that was asked.
fn brings_nothing(copies: &Copies) -> bool {
    match copies {
        Copies::Items(items) => items.is_empty(),
        Copies::Range { range, .. } => range.is_empty(),
        Copies::Storages(_) => false,
    }
}

fn refresh_reply(tag: u64, failure: Option<String>, outbox: &mut Outbox) {
    let reply = ServiceReply::RefreshReply { tag, failure };
    outbox.local(ServerKind::ActionDriver, Message::ServiceReply(reply));
}
