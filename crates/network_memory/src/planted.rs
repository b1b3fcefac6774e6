//! Bugs that the simulator plants, each of which leaves out one clause where the clause is kept: its checkers must find them.

/// A clause that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedInLog {
    /// The writer acknowledges from its disk without looking at its lease.
    LeaseIgnored,
    /// A server answers a seal while another's lease is live.
    LeaseNotWaitedFor,
    /// A sealed server takes records of lower epochs.
    SealWithoutFence,
    /// A seal takes effect only after it has been answered.
    ReadBeforeSeal,
    /// k - 1 copies are enough.
    OneCopyLess,
    /// A server acknowledges what it holds behind a gap.
    GapAcknowledged,
    /// A server that has lost its memory counts for a seal.
    EmptyServerCounts,
    /// A server that starts empty takes its last life's name.
    IncarnationKept,
    /// A recovered log is open before k servers hold it.
    RestoreSkipped,
    /// k members are enough for a new epoch, though some of them have lost their memory since the last one.
    NewLivesEstablish,
    /// An epoch that was never established is enough to know of for the next one.
    UnestablishedBasis,
    /// The own disk is no copy of the log any more after an attempt that has come to nothing.
    AttemptForgetsItsLog,
    /// What is laid beside the log for an epoch that has not begun counts as its log.
    PartialRestoreCounts,
    /// A recovery takes the longest log, of whatever epoch.
    LongestWins,
    /// A receipt for the disk is given when the sync begins.
    ReceiptBeforeSync,
    /// Memory is gone back to before the disk says so.
    StandingNotSynced,
    /// Records that are read are believed.
    ChecksumIgnored,
    /// A log of another disk is recovered without that disk.
    DiskNotAskedFor,
    /// A recovery that lacks the disk does not say so.
    DoubtUntold,
    /// A receipt for the disk is given to the program though the lease has ended since the writer looked at the clock.
    ReceiptAfterLease,
    /// Who accepts a loss opens the log though servers that do not answer are enough for another writer.
    SilentServersGivenUp,
    /// A log is sealed before it is known whether it can be opened.
    SealedUnasked,
    /// A disk whose sync has failed is taken for whole.
    CutForgotten,
    /// What was laid beside the log behind another base takes its place.
    StagedElsewhere,
    /// An attempt that has come to nothing is taken for the same writer as the next one.
    NonceKept,
    /// A server with a damaged record keeps what it holds, and counts as a copy.
    DamagedCounts,
    /// Who accepts a loss opens the log as soon as it is sealed, though what servers have forgotten may count for a lease.
    SealNotHeld,
    /// What members have answered counts for a receipt, however long ago they were asked.
    OldAnswersCount,
    /// An epoch whose basis was not established takes the place of one that it does not know of.
    UnknownOverwritten,
    /// Who accepts a loss takes the next number that he knows of.
    AcceptedNearby,
    /// A writer goes on though a server says that the log has gone to another disk.
    RivalIgnored,
    /// One server under two names counts twice.
    SameServerCounts,
    /// An epoch that began with a doubt does not say so to the next one.
    DoubtForgotten,
    /// A lease is counted from when it was granted, not from when it was asked for.
    LeaseFromAnswer,
    /// An answer to an earlier question counts for the lease that is asked for now.
    OldPermitBelieved,
    /// A saved memory does not say for whom the log is sealed.
    SealNotSaved,
    /// A saved memory does not say that the writer may acknowledge from its disk.
    PermitNotSaved,
    /// A saved memory is reloaded a second time.
    ImageKept,
    /// An epoch begins behind records that are not those of its writer.
    MarkUnchecked,
    /// A server takes an epoch in which another life of it counts.
    StrangerActivates,
    /// Servers are told that what was just appended is not needed any more.
    TruncatedTooFar,
    /// A writer that another one has sealed off goes on asking.
    FencedIgnored,
    /// One server less than needed is enough for a seal.
    SealQuorumLess,
    /// A log is opened before servers that could say that it is another's have answered.
    NotWaitedFor,
    /// A log counts as closed before the disk says that it is enough.
    ClosedTooSoon,
    /// An older copy of the own disk is opened when whoever holds the last epoch's log is damaged.
    OldCopyChosen,
    /// Who accepts a loss gives up what counted before though nothing is wanting.
    GivenUpForNothing,
    /// A log that is found by what an attempt has left of those that count is opened without a word on what that attempt has given up.
    GivenUpUntold,
    /// An accepted loss that came to nothing ranks above an epoch that was opened since.
    AcceptedRanksAbove,
}

impl PlantedInLog {
    /// All of them.
    pub const ALL: [PlantedInLog; 49] = [
        PlantedInLog::LeaseIgnored,
        PlantedInLog::LeaseNotWaitedFor,
        PlantedInLog::SealWithoutFence,
        PlantedInLog::ReadBeforeSeal,
        PlantedInLog::OneCopyLess,
        PlantedInLog::GapAcknowledged,
        PlantedInLog::EmptyServerCounts,
        PlantedInLog::IncarnationKept,
        PlantedInLog::RestoreSkipped,
        PlantedInLog::NewLivesEstablish,
        PlantedInLog::UnestablishedBasis,
        PlantedInLog::AttemptForgetsItsLog,
        PlantedInLog::PartialRestoreCounts,
        PlantedInLog::LongestWins,
        PlantedInLog::ReceiptBeforeSync,
        PlantedInLog::StandingNotSynced,
        PlantedInLog::ChecksumIgnored,
        PlantedInLog::DiskNotAskedFor,
        PlantedInLog::DoubtUntold,
        PlantedInLog::ReceiptAfterLease,
        PlantedInLog::SilentServersGivenUp,
        PlantedInLog::SealedUnasked,
        PlantedInLog::CutForgotten,
        PlantedInLog::StagedElsewhere,
        PlantedInLog::NonceKept,
        PlantedInLog::DamagedCounts,
        PlantedInLog::SealNotHeld,
        PlantedInLog::OldAnswersCount,
        PlantedInLog::UnknownOverwritten,
        PlantedInLog::AcceptedNearby,
        PlantedInLog::RivalIgnored,
        PlantedInLog::SameServerCounts,
        PlantedInLog::DoubtForgotten,
        PlantedInLog::LeaseFromAnswer,
        PlantedInLog::OldPermitBelieved,
        PlantedInLog::SealNotSaved,
        PlantedInLog::PermitNotSaved,
        PlantedInLog::ImageKept,
        PlantedInLog::MarkUnchecked,
        PlantedInLog::StrangerActivates,
        PlantedInLog::TruncatedTooFar,
        PlantedInLog::FencedIgnored,
        PlantedInLog::SealQuorumLess,
        PlantedInLog::NotWaitedFor,
        PlantedInLog::ClosedTooSoon,
        PlantedInLog::OldCopyChosen,
        PlantedInLog::GivenUpForNothing,
        PlantedInLog::GivenUpUntold,
        PlantedInLog::AcceptedRanksAbove,
    ];

    /// Whether random schedules come to it so rarely that it has a test of its own, which tells the accident step by step.
    pub fn is_rare(self) -> bool {
        use PlantedInLog as P;
        matches!(
            self,
            P::NewLivesEstablish
                | P::UnestablishedBasis
                | P::AttemptForgetsItsLog
                | P::SilentServersGivenUp
                | P::RivalIgnored
                | P::SameServerCounts
                | P::DamagedCounts
                | P::OldCopyChosen
                | P::SealNotHeld
                | P::OldAnswersCount
                | P::AcceptedNearby
                | P::UnknownOverwritten
                | P::GivenUpForNothing
                | P::GivenUpUntold
                | P::AcceptedRanksAbove
        )
    }

    /// Its name on a command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}
