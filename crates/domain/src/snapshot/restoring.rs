//! How an instance begins that is made from a snapshot.
//!
//! The snapshot is started once as the site that has written it would start: what its log has goes to its store. That
//! store is the copy of every new site. What is undecided in the snapshot is in no store, so it is left out.
//!
//! The new instance goes on behind the old one. Its last epoch follows all epochs of the snapshot, and its sites have had
//! lives that follow all that are found there. So new versions of rows are above the old ones, and no identifier or hidden
//! key is given out twice. Its sites start as after a total failure, all of them up and current.

use crate::{Clock, Domain, DomainSettings};
use commit_log::{Log, Position};
use messages::epoch::{Member, MemberState, Placement, ProposalId};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::replication::SiteNotice;
use messages::{Epoch, EpochNumber, Incarnation, LeaseLength, LogPoint, OracleLife, SiteId, Timestamp, planted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The highest numbers that are found in a snapshot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Highest {
    life: Incarnation,
    epoch: Option<Arc<Epoch>>,
    number: EpochNumber,
    version: Option<Timestamp>,
}

impl Highest {
    /// What is known of it without its contents: the life of its site, and the epoch at the cut.
    pub fn of(life: Incarnation, epoch: EpochNumber) -> Highest {
        Highest { life, epoch: None, number: epoch, version: None }
    }

    /// What goes on is to follow this epoch and this life, too: those of the instance that is rolled back.
    pub fn follow(&mut self, number: EpochNumber, life: Incarnation) {
        self.number = self.number.max(number);
        self.life = self.life.max(life);
    }

    /// A row has this version.
    pub fn version(&mut self, version: &Timestamp) {
        self.version = self.version.max(Some(*version));
        self.number = self.number.max(version.epoch);
        self.life = self.life.max(version.transaction.incarnation);
    }

    fn epoch(&mut self, epoch: &Arc<Epoch>) {
        self.number = self.number.max(epoch.number);
        self.life = epoch.members.values().fold(self.life, |life, member| life.max(member.incarnation));
        if self.epoch.as_ref().is_none_or(|known| known.number < epoch.number) {
            self.epoch = Some(epoch.clone());
        }
    }

    /// The log has this record.
    pub fn record(&mut self, record: &LogRecord) {
        match record {
            LogRecord::EpochSeen { epoch } | LogRecord::EpochLogged { epoch, .. } => self.epoch(epoch),
            LogRecord::Prepared { transaction, epoch, .. } => {
                self.number = self.number.max(*epoch);
                self.life = self.life.max(transaction.incarnation);
            }
            LogRecord::Marked { mark } => self.life = self.life.max(mark.life),
            _ => {}
        }
    }

    /// The last epoch that its log names, if it names one.
    pub fn last_epoch(&self) -> Option<&Arc<Epoch>> {
        self.epoch.as_ref()
    }

    /// The latest version of a row.
    pub fn last_version(&self) -> Option<Timestamp> {
        self.version
    }

    /// The highest life.
    pub fn life(&self) -> Incarnation {
        self.life
    }

    /// The number of the last epoch.
    pub fn number(&self) -> EpochNumber {
        self.number
    }

    /// The epoch that these sites take for their last one: it follows all that the snapshot knows, and was logged by all of them. `None`: its log names
    /// no epoch.
    pub fn first_epoch(&self, sites: &[SiteId], planted: Planted) -> Option<Arc<Epoch>> {
        let last = self.epoch.as_ref()?;
        let incarnation = self.life;
        let number = if planted!(planted, RestoredEpochLow) { EpochNumber(1) } else { self.number.next() };
        let member = Member::beginning(incarnation, MemberState::Up);
        Some(Arc::new(Epoch {
            number,
            proposal: ProposalId { site: *sites.first()?, incarnation, sequence: 1 },
            parent: ProposalId::default(),
            oracle: OracleLife(0),
            members: sites.iter().map(|site| (*site, member)).collect(),
            sessions: sites.iter().map(|site| (*site, 0)).collect(),
            required_copies: last.required_copies,
            placement: Placement::Everywhere,
            restart: false,
        }))
    }

    /// What the log of a new site begins with.
    pub fn first_records(&self, epoch: &Arc<Epoch>) -> [LogRecord; 3] {
        [
            LogRecord::EpochSeen { epoch: epoch.clone() },
            LogRecord::Marked { mark: LogPoint { life: self.life, number: 0 } },
            LogRecord::EpochLogged {
                epoch: epoch.clone(),
                incarnation: self.life,
                joined: epoch.number,
                chain: vec![epoch.id()],
                fail_locks: BTreeMap::new(),
                stale: Arc::default(),
            },
        ]
    }
}

/// How a domain is set up that only brings a snapshot's log to its store, with so many bytes of memory.
pub fn settings(site: SiteId, life: Incarnation, memory_bytes: usize) -> DomainSettings {
    DomainSettings {
        method: messages::concurrency::Method::default(),
        site,
        incarnation: Incarnation(life.0 + 1),
        sites: vec![site],
        lease: LeaseLength::DEFAULT,
        points_max: crate::POINTS_MAX,
        rules: Arc::default(),
        chunk_rows: messages::limits::PRIVATE_CHUNK_ROWS,
        memory_bytes_max: memory_bytes,
        unposted_bytes_max: access_manager::unposted_bytes_max(memory_bytes),
        old_version_bytes_max: memory_bytes / access_manager::limits::OLD_VERSIONS_SHARE,
        recent_writes_max: access_manager::limits::RECENT_WRITES_MAX,
        touched_max: access_manager::limits::TOUCHED_MAX,
        round_pace: crate::ROUND_PACE,
        seed: 0,
        planted: Planted::none(),
    }
}

/// One turn of such a domain, whose checkpoint has begun. Says from where log is needed once the store has all.
///
/// # Errors
/// What is wrong with the log, the store or their disk.
pub fn turn<L: Log>(domain: &mut Domain<L>, clock: &mut Clock<'_>) -> Result<Option<Position>, String> {
    domain.tick(clock);
    domain.poll_log(clock);
    let effects = domain.take_effects();
    if let Some(failure) = effects.failed {
        return Err(failure.to_string());
    }
    // Its disk may be full.
    let halted = effects.notices.into_iter().find_map(|notice| match notice {
        SiteNotice::Halt { reason } => Some(reason),
        _ => None,
    });
    if let Some(reason) = halted {
        return Err(reason);
    }
    let end = Position(domain.log().appended().0 - domain.bytes_to_replay());
    Ok((!domain.is_checkpointing()).then_some(end))
}
