//! Which records of the log belong to a snapshot: what the copy of the store needs, up to the cut, and what became of all that was open there.
//!
//! A snapshot has the transactions whose yes vote is in the site's log before one position, the *cut*, and that have committed. Four facts make
//! that a moment of the instance:
//!
//! * A transaction is acknowledged only when every member has logged its yes vote. So what was acknowledged before the cut is in it, and of
//!   two transactions, of which one ended before the other began, the other is never in it alone. The site is a member then: it may serve.
//! * Of two transactions in conflict the later gets its vote only when the earlier is decided here. So what a transaction has read is in it.
//! * What is undecided at the cut is waited for, and only what was voted for before the cut is kept of the log behind it.
//! * The cut comes when the store has been copied, so all that the copy has was voted for before the cut.
//!
//! Invariant: the log is held from before the store is copied, so that nothing is given up that the copy lacks.

use crate::Domain;
use commit_log::{Log, Position};
use messages::epoch::MemberState;
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::{EpochNumber, Incarnation, Now, TransactionId, planted};
use std::collections::BTreeSet;

/// A snapshot that is being taken, in one life of a site.
#[derive(Clone, Debug)]
pub struct Taking {
    life: Incarnation,
    epoch: EpochNumber,
    from: Position,
    cut: Position,
    next: Position,
    open: BTreeSet<TransactionId>,
    /// The hybrid clock at the cut.
    clock: u64,
    planted: Planted,
}

/// The life and the epoch in which a site serves with a current copy.
///
/// # Errors
/// Why it does not.
pub fn serving<L: Log>(domain: &Domain<L>, now: Now) -> Result<(Incarnation, EpochNumber), String> {
    if let Some(refusal) = domain.refusal(now) {
        return Err(refusal);
    }
    let (site, replication) = (domain.settings().site, domain.replication());
    let epoch = replication.epoch.ok_or("the site knows no epoch")?;
    match epoch.members.get(&site) {
        Some(member) if member.state == MemberState::Up && replication.is_current => {
            Ok((domain.settings().incarnation, epoch.number))
        }
        _ => Err("this site's copy is being repaired: take the snapshot at another site".to_owned()),
    }
}

impl Taking {
    /// Holds the log. The store is copied next.
    ///
    /// # Errors
    /// Why the site does not serve.
    pub fn begin<L: Log>(domain: &mut Domain<L>, now: Now) -> Result<Taking, String> {
        let (life, epoch) = serving(domain, now)?;
        let planted = domain.settings().planted;
        if !planted!(planted, TruncatedUnderSnapshot) {
            domain.hold_log();
        }
        let end = domain.log().appended();
        Ok(Taking { life, epoch, from: end, cut: end, next: end, open: BTreeSet::new(), clock: 0, planted })
    }

    /// The store has begun to be copied: from here on the copy needs log, as [`access_manager::needs_log_from`] says of its metadata.
    pub fn based<L: Log>(&mut self, needed: Option<u64>, log: &L) {
        self.from = needed.map_or(Position::START, Position);
        if planted!(self.planted, TailFromPostEnd) {
            self.from = log.appended();
        }
        if planted!(self.planted, TruncatedUnderSnapshot) {
            self.from = self.from.max(log.first());
        }
        self.next = self.from;
    }

    /// The store has been copied: here is the cut.
    ///
    /// # Errors
    /// Why the site does not serve any more.
    pub fn cut<L: Log>(&mut self, domain: &Domain<L>, now: Now) -> Result<(), String> {
        self.epoch = serving(domain, now)?.1;
        self.clock = domain.clock().ok_or("the site's clock is lost")?;
        if !planted!(self.planted, CutBeforeBase) {
            self.cut = domain.log().appended();
        }
        Ok(())
    }

    /// From where on the log is to be read; `None`: the snapshot is whole.
    pub fn reads_from(&self) -> Option<Position> {
        let is_open = !self.open.is_empty() && !planted!(self.planted, TailBeforeDecided);
        (self.next < self.cut || is_open).then_some(self.next)
    }

    /// Whether this record belongs to the snapshot. They come in the order of the log.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn takes(&mut self, position: Position, record: &[u8]) -> Result<bool, String> {
        if position >= self.cut && self.open.is_empty() {
            return Ok(false);
        }
        let is_before = position < self.cut || planted!(self.planted, TailPassesCut);
        if let Some((transaction, _)) = LogRecord::prepared_in(record) {
            if is_before {
                self.open.insert(transaction);
            }
            return Ok(is_before);
        }
        let decoded = LogRecord::decode(record);
        let decoded = decoded.map_err(|error| format!("a record of the log cannot be read: {error}"))?;
        let settles = matches!(decoded, LogRecord::Decided { transaction, .. } if self.open.remove(&transaction));
        Ok(is_before || settles)
    }

    /// What stands before this position has been read.
    pub fn read_up_to(&mut self, behind: Position) {
        self.next = behind;
    }

    /// Whoever fell out meanwhile may not have heard what became of what was open.
    ///
    /// # Errors
    /// Why the site does not serve any more.
    pub fn end<L: Log>(&self, domain: &Domain<L>, now: Now) -> Result<(), String> {
        serving(domain, now).map(drop)
    }

    /// The life in which it is taken.
    pub fn life(&self) -> Incarnation {
        self.life
    }

    /// The epoch at the cut.
    pub fn epoch(&self) -> EpochNumber {
        self.epoch
    }

    /// Where its records of the log begin.
    pub fn log_from(&self) -> Position {
        self.from
    }

    /// The cut.
    pub fn cut_at(&self) -> Position {
        self.cut
    }

    /// The hybrid clock at the cut: what was decided before has no higher one.
    pub fn clock_at_cut(&self) -> u64 {
        self.clock
    }

    /// How much is undecided of what is in it.
    pub fn open(&self) -> usize {
        self.open.len()
    }
}
