//! What was acknowledged and shown, and what must hold of it:
//! * a receipt is true: k members of the epoch hold the record, in the lives of their memory that count; or the disk has synced it;
//! * every record with a receipt, and every record that an opened log has shown, is in each log that is opened later, unless that
//!   opening says of which kind it may miss some, and this one is of that kind and can really have been lost;
//! * two writers never acknowledge different records at one place, and none acknowledges what a later writer's log does not have.

use crate::names::{Configuration, Incarnation, RecordNumber, RecordReceipt, RecoveryDoubt, ServerId, WriterEpoch};
use std::collections::{BTreeMap, BTreeSet};

/// A record that must not be lost.
#[derive(Clone, Debug)]
struct KeptRecord {
    bytes: Vec<u8>,
    receipt: RecordReceipt,
    host: usize,
    /// In which it was acknowledged.
    epoch: WriterEpoch,
}

/// A receipt, and what stood behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenReceipt<'a> {
    pub(super) host: usize,
    pub(super) epoch: WriterEpoch,
    pub(super) position: RecordNumber,
    pub(super) bytes: &'a [u8],
    pub(super) receipt: RecordReceipt,
    /// k.
    pub(super) copies: u8,
    /// The disk really holds it.
    pub(super) is_synced: bool,
}

/// What a writer displayed when its host crashed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Displayed {
    pub(super) synced: RecordNumber,
}

/// How an opening came about.
#[derive(Clone, Copy, Debug)]
pub(super) struct LedgerOpening {
    pub(super) host: usize,
    pub(super) epoch: WriterEpoch,
    pub(super) from: RecordNumber,
    pub(super) doubt: Option<RecoveryDoubt>,
    /// Every recovery of the log has the disk of this host.
    pub(super) has_disk: bool,
    /// As many memories as copies were lost or have not answered, or the disk is another one.
    pub(super) is_lossy: bool,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct LogLedger {
    kept: BTreeMap<RecordNumber, KeptRecord>,
    /// Below, the application has given everything up.
    truncated: RecordNumber,
    opened: Option<(usize, WriterEpoch)>,
    /// By host: what it displayed at its last crash.
    displayed: BTreeMap<usize, Displayed>,
    /// Up to where each life of a server has really held the log of an epoch.
    held: BTreeMap<(WriterEpoch, ServerId, Incarnation), RecordNumber>,
    configurations: BTreeMap<WriterEpoch, Configuration>,
    /// A server has let a writer acknowledge from its disk.
    pub(super) is_granted: bool,
    pub(super) acknowledged: u64,
    pub(super) openings: u64,
    pub(super) lost: u64,
}

impl LogLedger {
    /// A writer has begun an epoch with this configuration; says whether that was not known.
    pub(super) fn begins(&mut self, configuration: &Configuration) -> bool {
        let is_known = self.configurations.contains_key(&configuration.epoch);
        if !is_known {
            self.configurations.insert(configuration.epoch, configuration.clone());
        }
        !is_known
    }

    /// A life of a server holds the log of this epoch up to there.
    pub(super) fn holds(&mut self, server: ServerId, incarnation: Incarnation, epoch: WriterEpoch, end: RecordNumber) {
        let held = self.held.entry((epoch, server, incarnation)).or_default();
        *held = end.max(*held);
    }

    /// How many members have held a record of an epoch, each memory counted once.
    fn copies(&self, epoch: WriterEpoch, position: RecordNumber) -> usize {
        let Some(configuration) = self.configurations.get(&epoch) else { return 0 };
        let first = (epoch, ServerId(([0, 0, 0, 0], 0).into()), Incarnation::NONE);
        let held = self.held.range(first..).take_while(|((of, ..), _)| *of == epoch);
        let members = held
            .filter(|((_, server, incarnation), end)| **end > position && configuration.counts(*server, *incarnation));
        members.map(|((_, _, incarnation), _)| *incarnation).collect::<BTreeSet<_>>().len()
    }

    /// A host has crashed, and this is what its log displayed.
    pub(super) fn crashed(&mut self, host: usize, displayed: Displayed) {
        self.displayed.insert(host, displayed);
    }

    pub(super) fn truncated(&mut self, position: RecordNumber) {
        self.truncated = self.truncated.max(position);
        self.kept = self.kept.split_off(&self.truncated);
    }

    /// A receipt was given.
    pub(super) fn receipt(&mut self, given: GivenReceipt<'_>) -> Result<(), String> {
        let GivenReceipt { host, epoch, position, bytes, receipt, copies, is_synced } = given;
        self.acknowledged += 1;
        match receipt {
            RecordReceipt::Memory { .. } => {
                let held = self.copies(epoch, position);
                if held < usize::from(copies) {
                    return Err(format!(
                        "record {position} got a receipt for memory, and {held} servers hold it in {epoch}"
                    ));
                }
            }
            RecordReceipt::Disk if !is_synced => {
                return Err(format!("record {position} got a receipt for the disk, which has not synced it"));
            }
            RecordReceipt::Disk => {}
        }
        if position < self.truncated {
            return Ok(());
        }
        let is_superseded = self.opened.is_some_and(|(_, opened)| opened > epoch);
        match self.kept.get(&position) {
            Some(kept) if kept.bytes != bytes => Err(format!(
                "fork: host {host} in {epoch} acknowledged another record {position} than was acknowledged before"
            )),
            Some(_) => Ok(()),
            None if is_superseded => Err(format!(
                "fork: host {host} in {epoch} acknowledged record {position} ({receipt}), which the log opened in {:?} has not",
                self.opened
            )),
            None => {
                self.kept.insert(position, KeptRecord { bytes: bytes.to_vec(), receipt, host, epoch });
                Ok(())
            }
        }
    }

    /// A log was opened. `read` gives its records, up to `end`. `copies` is k.
    pub(super) fn opened<'a>(
        &mut self,
        opening: LedgerOpening,
        end: RecordNumber,
        copies: u8,
        read: impl Fn(RecordNumber) -> Option<&'a [u8]>,
    ) -> Result<(), String> {
        let LedgerOpening { host, epoch, from, doubt, .. } = opening;
        if from > self.truncated {
            return Err(format!(
                "the log opened in {epoch} begins at {from}, and only what is below {} was given up",
                self.truncated
            ));
        }
        if doubt == Some(RecoveryDoubt::DiskAlone) && !self.is_granted {
            return Err(format!("host {host} doubts in {epoch} what no disk was ever allowed to acknowledge alone"));
        }
        // Who accepts every loss may not know how far the epochs had gone.
        if doubt != Some(RecoveryDoubt::LossAccepted) && self.opened.is_some_and(|(_, last)| last > epoch) {
            // Its servers had answered before they were sealed: it will learn that it is late before it gets a receipt. What it shows
            // is a beginning of the later log.
            let other = self.kept.range(from..end).find(|(position, kept)| read(**position) != Some(&kept.bytes));
            return other.map_or(Ok(()), |(position, _)| {
                Err(format!("host {host} opened the log late in {epoch} with another record {position}"))
            });
        }
        self.check_losses(&opening, end, copies, &read)?;
        for position in from.0..end.0 {
            let position = RecordNumber(position);
            let bytes = read(position).ok_or(format!("an opened log lacks record {position}"))?.to_vec();
            // What is shown must not be lost any more, by whatever the log was opened.
            self.kept.insert(position, KeptRecord { bytes, receipt: RecordReceipt::Memory { copies: 0 }, host, epoch });
        }
        self.kept = self.kept.split_off(&self.truncated);
        self.opened = Some((host, epoch));
        self.openings += 1;
        Ok(())
    }

    /// Whether each record that is not in a log which is opened can have been lost, and may be.
    fn check_losses<'a>(
        &mut self,
        opening: &LedgerOpening,
        end: RecordNumber,
        copies: u8,
        read: &impl Fn(RecordNumber) -> Option<&'a [u8]>,
    ) -> Result<(), String> {
        let LedgerOpening { host, epoch, doubt, has_disk, is_lossy, .. } = *opening;
        let displayed = self.displayed.get(&host).copied().unwrap_or_default();
        let lost = self.kept.iter().filter(|(position, kept)| read(**position) != Some(&kept.bytes));
        let mut first_lost = None;
        for (&position, kept) in lost {
            first_lost.get_or_insert(position);
            // What a disk alone had: of another host, or of this one, if a recovery elsewhere has begun an epoch since.
            let is_of_disk = || {
                let was_copied = self.copies(kept.epoch, position) >= usize::from(copies);
                kept.receipt == RecordReceipt::Disk && (is_lossy || !was_copied)
            };
            let is_told = match doubt {
                None => false,
                Some(RecoveryDoubt::DiskAlone) => is_of_disk(),
                // What the log displayed as not on disk, when it is opened with that disk.
                Some(RecoveryDoubt::LossAccepted) => {
                    is_lossy && (position >= displayed.synced || !has_disk) || !has_disk && is_of_disk()
                }
            };
            if !is_told {
                return Err(format!(
                    "record {position} of host {} ({}) is not in the log that host {host} opened in {epoch} up to {end} with doubt {doubt:?}; displayed {displayed:?}, lossy {is_lossy}",
                    kept.host, kept.receipt
                ));
            }
        }
        if let Some(position) = first_lost {
            self.lost += self.kept.split_off(&position).len() as u64;
        }
        Ok(())
    }
}
