//! What the oracle keeps through restarts: the epoch and the incarnations; and when it may change the epoch.
//!
//! Invariants: the epoch's number never falls; an epoch in which somebody may have served is never replaced by another of its number; an
//! incarnation is given out once; nothing is swapped while a member of the epoch has not confirmed to this process (rule 13).
//!
//! An oracle that was set back has forgotten epochs that it gave. They come back with the confirmations, and it matters who brings them.
//! An epoch that an up member has *carried*, that is, logged, may be served, and is the only one of its number that is carried: the up
//! members of an epoch are up members of its parent, and confirm before this process lets anything follow the parent. One that was merely
//! *seen* may have been forgotten and made anew by an oracle set back before; so it gives way to a carried one, and does not replace the
//! members that must confirm but adds its own. Until they have, the register is not *settled*: nobody enters what it holds.

use bytes::Bytes;
use messages::epoch::{Epoch, EpochId, Member, MemberState, Placement, ProposalId};
use messages::limits::SITES_MAX;
use messages::planted::Planted;
use messages::{EpochNumber, Incarnation, InstanceId, OracleLife, SiteId};
use messages::{planted, reached};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The last life of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SiteLife {
    incarnation: Incarnation,
    /// With which it was asked for. `None`: known from an epoch only.
    nonce: Option<u64>,
}

/// What is logged after every change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RegisterState {
    instance: InstanceId,
    epoch: Arc<Epoch>,
    /// An up member has told that it has logged the epoch.
    carried: bool,
    /// Who has to confirm to a process that starts with this.
    required: BTreeSet<SiteId>,
    lives: BTreeMap<SiteId, SiteLife>,
}

/// What became of a request to swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The register holds the proposal from now on: log it.
    Won,
    /// It held it already.
    WonBefore,
    /// It holds something else, or the proposal is not a successor of what it holds.
    Lost,
    /// Members have to confirm first.
    Unconfirmed,
}

/// What becomes of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Nothing to log.
    Noted,
    /// The site has taught the oracle something: log it.
    Adopted,
}

/// The register of one instance.
#[derive(Debug)]
pub struct Register {
    state: RegisterState,
    /// The process that keeps it.
    life: OracleLife,
    /// Sites that have confirmed to it.
    confirmed: BTreeSet<SiteId>,
    /// All of them had confirmed once, or there was nothing to confirm.
    trusted: bool,
    planted: Planted,
}

impl Register {
    /// Of a new instance: epoch 0 lists its sites, in a life that none of them has.
    pub fn init(
        instance: InstanceId,
        sites: &[SiteId],
        required_copies: u16,
        life: OracleLife,
        planted: Planted,
    ) -> Register {
        let listed: BTreeSet<SiteId> = sites.iter().copied().collect();
        assert!((1..=SITES_MAX).contains(&sites.len()), "an instance has 1 to {SITES_MAX} sites, not {}", sites.len());
        assert_eq!(listed.len(), sites.len(), "each site is listed once");
        assert!(!listed.contains(&messages::server::ORACLE_SITE), "sites are numbered from 1");
        let member = Member::beginning(Incarnation(0), MemberState::Up);
        let epoch = Epoch {
            number: EpochNumber(0),
            proposal: ProposalId::default(),
            parent: ProposalId::default(),
            oracle: OracleLife(0),
            members: listed.iter().map(|site| (*site, member)).collect(),
            sessions: listed.iter().map(|site| (*site, 0)).collect(),
            required_copies,
            placement: Placement::Everywhere,
            restart: false,
        };
        let (epoch, lives) = (Arc::new(epoch), BTreeMap::new());
        let state = RegisterState { instance, epoch, carried: false, required: listed, lives };
        Register::started(state, life, planted)
    }

    /// What the log of an oracle says whose instance begins with copies that a snapshot has brought: this epoch is the last one of them, its members
    /// have logged it, and no site is given a life again that the snapshot knows of.
    ///
    /// # Panics
    ///
    /// Unless somebody is up in the epoch, and every member is a site.
    pub fn restored(instance: InstanceId, epoch: Arc<Epoch>) -> Bytes {
        assert!(is_sound(&epoch), "a restored instance has a member that is up");
        let required = epoch.members.keys().copied().collect();
        let life = |member: &Member| SiteLife { incarnation: member.incarnation, nonce: None };
        let lives = epoch.members.iter().map(|(site, member)| (*site, life(member))).collect();
        let state = RegisterState { instance, epoch, carried: true, required, lives };
        Bytes::from(postcard::to_stdvec(&state).expect("the oracle's state always encodes"))
    }

    /// As a log has it.
    pub fn decode(bytes: &[u8], life: OracleLife, planted: Planted) -> Result<Register, postcard::Error> {
        Ok(Register::started(postcard::from_bytes(bytes)?, life, planted))
    }

    fn started(state: RegisterState, life: OracleLife, planted: Planted) -> Register {
        Register { life, confirmed: BTreeSet::new(), trusted: state.epoch.number == EpochNumber(0), state, planted }
    }

    /// For the log.
    pub fn encode(&self) -> Bytes {
        let bytes = postcard::to_stdvec(&self.state).expect("the oracle's state always encodes");
        Bytes::from(bytes)
    }

    /// The instance.
    pub fn instance(&self) -> InstanceId {
        self.state.instance
    }

    /// What the register holds.
    pub fn epoch(&self) -> &Arc<Epoch> {
        &self.state.epoch
    }

    /// The highest life that it has given out, or an epoch names.
    pub fn highest_life(&self) -> Incarnation {
        let given = self.state.lives.values().map(|life| life.incarnation);
        let named = self.state.epoch.members.values().map(|member| member.incarnation);
        given.chain(named).max().unwrap_or_default()
    }

    /// Sites that have to confirm before anything is swapped.
    pub fn unconfirmed(&self) -> Vec<SiteId> {
        if self.trusted || planted!(self.planted, RestoredOracleTrusted) {
            return Vec::new();
        }
        self.state.required.difference(&self.confirmed).copied().collect()
    }

    /// Sites that have to confirm before anybody enters the epoch. None: nobody has served in another that this register has forgotten.
    pub fn unsettled(&self) -> Vec<SiteId> {
        if self.state.carried { Vec::new() } else { self.unconfirmed() }
    }

    /// Replaces the epoch that is expected.
    pub fn swap(&mut self, expected: EpochId, epoch: Arc<Epoch>) -> Swap {
        let current = &self.state.epoch;
        let same_number = current.number == epoch.number && planted!(self.planted, SwapSettledByNumber);
        if (current.number, current.proposal) == (epoch.number, epoch.proposal) || same_number {
            reached!("swap-settled-by-reading");
            return if self.unsettled().is_empty() { Swap::WonBefore } else { Swap::Unconfirmed };
        }
        if !self.unconfirmed().is_empty() {
            reached!("oracle-distrusts");
            return Swap::Unconfirmed;
        }
        let successor = current.id() == expected
            && epoch.number.0.checked_sub(1) == Some(current.number.0)
            && epoch.parent == current.proposal
            && epoch.oracle == self.life;
        if !successor || !is_sound(&epoch) {
            return Swap::Lost;
        }
        self.state.required.clear();
        self.take(epoch, false);
        Swap::Won
    }

    fn take(&mut self, epoch: Arc<Epoch>, carried: bool) {
        self.lives_of(&epoch);
        self.state.required.extend(epoch.members.keys());
        self.state.epoch = epoch;
        self.state.carried = carried;
    }

    /// Lives in an epoch have been given out, whatever this copy of the state says.
    fn lives_of(&mut self, epoch: &Epoch) -> bool {
        let mut taught = false;
        for (site, member) in &epoch.members {
            let life = self.state.lives.entry(*site).or_default();
            if life.incarnation < member.incarnation {
                *life = SiteLife { incarnation: member.incarnation, nonce: None };
                taught = true;
            }
        }
        taught
    }

    /// A site tells the highest epoch that it knows, and whether it carries it. A site that knows none has seen none above the register's.
    /// It counts as a confirmation if it is meant for this process.
    pub fn confirm(
        &mut self,
        site: SiteId,
        known: Option<Arc<Epoch>>,
        carried: bool,
        life: Option<OracleLife>,
    ) -> Confirmation {
        let taught = match known {
            Some(known) => match self.learn(site, known, carried) {
                Some(taught) => taught,
                None => return Confirmation::Noted,
            },
            None => false,
        };
        if life == Some(self.life) {
            self.note_confirmed(site);
        }
        if taught { Confirmation::Adopted } else { Confirmation::Noted }
    }

    /// Whether the site has taught the register something. `None`: it does not agree with the register.
    fn learn(&mut self, site: SiteId, known: Arc<Epoch>, carried: bool) -> Option<bool> {
        if !is_sound(&known) {
            tracing::warn!(%site, epoch = %known.number, "an epoch that cannot have been won is not taken");
            return None;
        }
        let current = (self.state.epoch.number, self.state.epoch.proposal);
        let same = current == (known.number, known.proposal);
        let newer = known.number > current.0;
        let other = !same && known.number == current.0;
        if other && (!carried || self.state.carried) {
            if carried {
                tracing::error!(
                    %site, epoch = %known.number,
                    "the site has logged another epoch of this number: it belongs to another history of the instance"
                );
            }
            return None;
        }
        let mut taught = self.lives_of(&known);
        if other || newer {
            tracing::warn!(%site, epoch = %known.number, carried, "the oracle's copy is old: adopting the epoch that the site knows");
            self.trusted = false;
            if carried {
                self.state.required.clear();
            }
            self.take(known, carried);
            taught = true;
        } else if same && carried && !self.state.carried {
            self.state.required.clear();
            self.take(known, true);
            taught = true;
        }
        Some(taught)
    }

    /// A site has confirmed, or will never do so.
    pub fn note_confirmed(&mut self, site: SiteId) {
        if self.state.epoch.sessions.contains_key(&site) {
            self.confirmed.insert(site);
        }
        self.trusted |= self.state.required.is_subset(&self.confirmed);
    }

    /// A new life of a site, and whether it is new; the same one when asked again. `None`: the instance is full.
    pub fn incarnate(&mut self, site: SiteId, nonce: u64) -> Option<(Incarnation, bool)> {
        let life = self.state.lives.get(&site).copied().unwrap_or_default();
        if life.nonce == Some(nonce) {
            return Some((life.incarnation, false));
        }
        let known = self.state.lives.contains_key(&site) || self.state.epoch.sessions.contains_key(&site);
        if !known && self.state.lives.len() >= SITES_MAX {
            return None;
        }
        let incarnation = Incarnation(life.incarnation.0.checked_add(1)?);
        let life = SiteLife { incarnation, nonce: Some(nonce) };
        self.state.lives.insert(site, life);
        Some((incarnation, true))
    }
}

/// What every epoch has, whoever proposes it.
fn is_sound(epoch: &Epoch) -> bool {
    let listed = epoch.members.keys().all(|site| epoch.sessions.contains_key(site));
    epoch.up().next().is_some() && listed && epoch.sessions.len() <= SITES_MAX
}
