//! Faults: what goes wrong, where, for how long.
//!
//! Invariant: whatever a fault takes away comes back, unless another fault takes it again: a dead process is started, a cut mended, a
//! disk repaired; so a run whose faults have stopped can recover.

use messages::replication::SiteNotice;

/// What is put back of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPart {
    /// All.
    Whole,
    /// The log only.
    Log,
    /// The store only.
    Store,
}

/// A kind of fault, as a profile weighs it and a summary counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A process is killed.
    Kill,
    /// All processes of a majority, or all, are killed.
    KillMany,
    /// A machine loses power.
    PowerLoss,
    /// All machines lose power at once.
    PowerLossEverywhere,
    /// One site after another goes, until one is left, and that one loses power, too.
    SoleSurvivor,
    /// A process is stopped for a while.
    Pause,
    /// A link is cut, in one direction or both.
    Cut,
    /// The sites are split in two.
    Partition,
    /// Sites lose contact with all others and are given up at once, one or two after another.
    Isolate,
    /// What others say reaches a site late, and what it says reaches nobody: leases outlive their grants on the way.
    LateLeases,
    /// A joiner dies as soon as it was taken in by an epoch that has just evicted somebody else.
    JoinerDies,
    /// A link becomes slow.
    SlowLink,
    /// A connection breaks for a moment.
    Reset,
    /// Somebody sets a wall clock.
    ClockJump,
    /// A disk refuses to sync.
    SyncFailure,
    /// A disk is full.
    DiskFull,
    /// A disk is slow.
    SlowDisk,
    /// The oracle's process is killed.
    OracleKill,
    /// The oracle's answers are lost for a while.
    OracleMute,
    /// The oracle is started over an old copy of its state.
    OracleRestore,
    /// A site checkpoints its log.
    Checkpoint,
    /// Something happens to the sender or receiver of one chosen message.
    Trap,
    /// Traps one after another along an epoch change.
    ChainedTraps,
    /// A client cancels, or goes.
    Client,
    /// Somebody makes a copy of a disk, or puts one back.
    DiskBack,
    /// A site sleeps, or hears late, while the others give it up, and reads under the leases that it holds.
    Outsider,
    /// All but one site go in the middle of a commit.
    LeaveOne,
    /// A home site loses contact in the middle of a commit, and lives.
    HomeCutOff,
    /// A checkpoint is interrupted, or something happens soon after it; the store may be slow meanwhile.
    PostInterrupted,
    /// A site comes back, and copies reach it late.
    CopiesLate,
    /// One site is away for long; meanwhile another comes back, is made up, and is left alone.
    Relay,
    /// All but one die in the middle of a commit; its disk is slow, and it loses power once it serves alone.
    UnsyncedSurvivor,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: &[FaultKind] = &[
        FaultKind::Kill,
        FaultKind::KillMany,
        FaultKind::PowerLoss,
        FaultKind::PowerLossEverywhere,
        FaultKind::SoleSurvivor,
        FaultKind::Pause,
        FaultKind::Cut,
        FaultKind::Partition,
        FaultKind::Isolate,
        FaultKind::LateLeases,
        FaultKind::JoinerDies,
        FaultKind::SlowLink,
        FaultKind::Reset,
        FaultKind::ClockJump,
        FaultKind::SyncFailure,
        FaultKind::DiskFull,
        FaultKind::SlowDisk,
        FaultKind::OracleKill,
        FaultKind::OracleMute,
        FaultKind::OracleRestore,
        FaultKind::Checkpoint,
        FaultKind::Trap,
        FaultKind::ChainedTraps,
        FaultKind::Client,
        FaultKind::DiskBack,
        FaultKind::Outsider,
        FaultKind::LeaveOne,
        FaultKind::HomeCutOff,
        FaultKind::PostInterrupted,
        FaultKind::CopiesLate,
        FaultKind::Relay,
        FaultKind::UnsyncedSurvivor,
    ];

    /// Whether it belongs to no situation, and may be chosen for any run.
    pub fn is_for_any_run(self) -> bool {
        !matches!(
            self,
            FaultKind::DiskBack
                | FaultKind::Outsider
                | FaultKind::LeaveOne
                | FaultKind::HomeCutOff
                | FaultKind::PostInterrupted
                | FaultKind::CopiesLate
                | FaultKind::Relay
                | FaultKind::UnsyncedSurvivor
        )
    }

    /// How often it happens, compared to others that a profile has chosen.
    pub fn weight(self) -> u64 {
        match self {
            FaultKind::Kill | FaultKind::Pause | FaultKind::Trap | FaultKind::Client | FaultKind::Isolate => 8,
            FaultKind::DiskBack
            | FaultKind::ChainedTraps
            | FaultKind::Partition
            | FaultKind::Cut
            | FaultKind::Checkpoint
            | FaultKind::JoinerDies => 5,
            FaultKind::KillMany
            | FaultKind::PowerLoss
            | FaultKind::SoleSurvivor
            | FaultKind::LateLeases
            | FaultKind::OracleRestore => 3,
            FaultKind::PowerLossEverywhere => 1,
            _ => 2,
        }
    }

    /// Its name in a summary.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::KillMany => "kill many",
            FaultKind::PowerLoss => "power loss",
            FaultKind::PowerLossEverywhere => "power loss everywhere",
            FaultKind::SoleSurvivor => "sole survivor",
            FaultKind::Pause => "pause",
            FaultKind::Cut => "cut",
            FaultKind::Partition => "partition",
            FaultKind::Isolate => "isolation",
            FaultKind::LateLeases => "late leases",
            FaultKind::JoinerDies => "joiner dies",
            FaultKind::SlowLink => "slow link",
            FaultKind::Reset => "connection reset",
            FaultKind::ClockJump => "clock jump",
            FaultKind::SyncFailure => "sync failure",
            FaultKind::DiskFull => "disk full",
            FaultKind::SlowDisk => "slow disk",
            FaultKind::OracleKill => "oracle kill",
            FaultKind::OracleMute => "oracle answers lost",
            FaultKind::OracleRestore => "oracle restored",
            FaultKind::Checkpoint => "checkpoint",
            FaultKind::Trap => "trap",
            FaultKind::ChainedTraps => "chained traps",
            FaultKind::Client => "client cancels or goes",
            FaultKind::DiskBack => "disk goes back",
            FaultKind::Outsider => "outsider reads",
            FaultKind::LeaveOne => "one site left",
            FaultKind::HomeCutOff => "home site cut off",
            FaultKind::PostInterrupted => "post interrupted",
            FaultKind::CopiesLate => "copies late",
            FaultKind::Relay => "relay",
            FaultKind::UnsyncedSurvivor => "survivor loses power unsynced",
        }
    }
}

/// Something that is done to the world.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Kills a process; it is started again after so long.
    Kill {
        /// Which site.
        site: usize,
        /// Until it is started.
        dead_for: u64,
    },
    /// Cuts the power of machines at once.
    LosePower {
        /// Of which sites, and until each is started again.
        sites: Vec<(usize, u64)>,
    },
    /// A process ends; before it is started again after so long its disk goes back to a copy.
    DiskBack {
        /// Which site.
        site: usize,
        /// Which of its copies.
        copy: usize,
        /// How much of it.
        part: CopyPart,
        /// Until it is started.
        dead_for: u64,
    },
    /// Starts a process, if there is none.
    Start {
        /// Which site.
        site: usize,
    },
    /// Stops a process for a while.
    Pause {
        /// Which site.
        site: usize,
        /// For how long.
        length: u64,
    },
    /// Cuts or mends links.
    Cut {
        /// From, to.
        links: Vec<(usize, usize)>,
        /// Whether they are cut.
        cut: bool,
    },
    /// Cuts a site off from all others, who notice at once; the oracle too, if so.
    Isolate {
        /// Which site.
        site: usize,
        /// Whether it reaches the oracle no more.
        oracle: bool,
        /// For how long.
        length: u64,
    },
    /// Slows a link down, or makes it fast again.
    Slow {
        /// From.
        from: usize,
        /// To.
        to: usize,
        /// By how much.
        by: u64,
    },
    /// A disk becomes fast or slow.
    SlowDisk {
        /// Which site.
        site: usize,
        /// By how much.
        by: u64,
    },
    /// Leases that a site is granted from now on come late by so much.
    LateGrants {
        /// To which site.
        site: usize,
        /// By how much; 0: no more.
        by: u64,
    },
    /// A site checkpoints its log.
    Checkpoint {
        /// Which site.
        site: usize,
    },
    /// A store finishes nothing more, or goes on.
    HoldStore {
        /// Which site.
        site: usize,
        /// Whether it stands still.
        held: bool,
    },
    /// The oracle starts, if it does not run.
    StartOracle,
    /// Tells a site something that need not be true.
    Notice {
        /// Which site.
        site: usize,
        /// What.
        notice: SiteNotice,
    },
    /// A client loses its patience with a request.
    Impatience {
        /// Which client.
        client: usize,
        /// With which request.
        request: u64,
        /// Whether it goes; otherwise it cancels.
        goes: bool,
    },
}

impl Fault {
    /// Whether it makes something better.
    pub fn mends(&self) -> bool {
        matches!(
            self,
            Fault::Start { .. }
                | Fault::StartOracle
                | Fault::Cut { cut: false, .. }
                | Fault::Slow { by: 0, .. }
                | Fault::SlowDisk { by: 0, .. }
                | Fault::HoldStore { held: false, .. }
                | Fault::LateGrants { by: 0, .. }
        )
    }
}

/// What a trap does when a message of its kind is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The sender dies; the message is still sent.
    KillSender,
    /// The sender dies and the message is lost with it.
    KillSenderBefore,
    /// The receiver dies before it arrives.
    KillReceiver,
    /// Both die.
    KillBoth,
    /// Every other site dies.
    KillOthers,
    /// The sender is stopped.
    PauseSender,
    /// The receiver is stopped before it arrives.
    PauseReceiver,
    /// The message is late.
    Delay,
    /// The message is lost, and whatever follows it on this link for a while.
    CutLink,
    /// The sender loses power.
    PowerSender,
    /// The receiver loses power.
    PowerReceiver,
    /// Somebody else loses contact with all others and is given up at once.
    IsolateThird,
    /// The receiver does, and the message is lost.
    IsolateReceiver,
    /// All sites but the receiver die, and the message is lost.
    LeaveReceiver,
    /// All sites but one that is neither die, and the message is lost.
    LeaveThird,
}

impl Blow {
    /// Those that may befall any message.
    pub const ALL: [Blow; 12] = [
        Blow::KillSender,
        Blow::KillSenderBefore,
        Blow::KillReceiver,
        Blow::KillBoth,
        Blow::KillOthers,
        Blow::PauseSender,
        Blow::PauseReceiver,
        Blow::Delay,
        Blow::CutLink,
        Blow::PowerSender,
        Blow::PowerReceiver,
        Blow::IsolateThird,
    ];
}

impl Blow {
    /// Its name in a summary.
    pub fn name(self) -> &'static str {
        match self {
            Blow::KillSender => "sender killed after a message",
            Blow::KillSenderBefore => "sender killed before a message",
            Blow::KillReceiver => "receiver killed before a message",
            Blow::KillBoth => "sender and receiver killed at a message",
            Blow::KillOthers => "all others killed at a message",
            Blow::PauseSender => "sender stopped after a message",
            Blow::PauseReceiver => "receiver stopped before a message",
            Blow::Delay => "message late",
            Blow::CutLink => "link cut at a message",
            Blow::PowerSender => "sender loses power at a message",
            Blow::PowerReceiver => "receiver loses power at a message",
            Blow::IsolateThird => "a third site isolated at a message",
            Blow::IsolateReceiver => "receiver isolated before a message",
            Blow::LeaveReceiver => "only the receiver left before a message",
            Blow::LeaveThird => "only a third site left before a message",
        }
    }

    /// Whether the sender dies.
    pub fn fells_sender(self) -> bool {
        matches!(
            self,
            Blow::KillSender
                | Blow::KillSenderBefore
                | Blow::KillBoth
                | Blow::PowerSender
                | Blow::LeaveReceiver
                | Blow::LeaveThird
        )
    }

    /// Whether the receiver dies.
    pub fn fells_receiver(self) -> bool {
        matches!(self, Blow::KillReceiver | Blow::KillBoth | Blow::PowerReceiver)
    }
}

/// A fault that waits for a message.
#[derive(Clone, Debug)]
pub struct Trap {
    /// For a message of this kind.
    pub kind: &'static str,
    /// From this site only, if any is named.
    pub from: Option<usize>,
    /// For so many of them.
    pub count: u32,
    /// What then happens.
    pub blow: Blow,
    /// For how long.
    pub length: u64,
    /// Traps that are set when this one has struck, if any.
    pub then: Vec<Trap>,
    /// It is taken away at this true time.
    pub until: u64,
}
