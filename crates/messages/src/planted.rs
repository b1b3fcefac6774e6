//! Planted bugs: clauses of the correctness rules that the simulator can leave out, to prove that its checkers would notice.
//!
//! Outside the simulator there is only [`Planted::none`].

use serde::{Deserialize, Serialize};

/// Which clause is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planted(Option<Bug>);

impl Planted {
    /// Every clause is kept.
    pub const fn none() -> Planted {
        Planted(None)
    }

    /// One clause is left out. For the simulator only.
    pub const fn only(bug: Bug) -> Planted {
        Planted(Some(bug))
    }

    /// Whether a clause about isolation levels is left out.
    pub fn is_of_levels(self) -> bool {
        self.0.is_some_and(|bug| bug.rule() == 17)
    }

    /// Whether this clause is left out.
    pub fn is(self, bug: Bug) -> bool {
        self.0 == Some(bug)
    }
}

/// Whether a clause is left out: `planted!(self.planted, NoLeaseCheck)`. The one way in which servers ask. What more than a line does instead of the
/// clause stands in the server's `plants.rs`, so that the code can be read without it.
#[macro_export]
macro_rules! planted {
    ($switch:expr, $bug:ident) => {
        $switch.is($crate::planted::Bug::$bug)
    };
}

macro_rules! bugs {
    ($($variant:ident = $name:literal, rule $rule:literal: $breaks:literal;)*) => {
        /// A clause that can be left out, named by what goes wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Bug {
            $(#[doc = $breaks] $variant,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &'static [Bug] = &[$(Bug::$variant),*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Bug::$variant => $name),* }
            }

            /// The rule that it breaks.
            pub fn rule(self) -> u8 {
                match self { $(Bug::$variant => $rule),* }
            }

            /// What the code then does.
            pub fn breaks(self) -> &'static str {
                match self { $(Bug::$variant => $breaks),* }
            }
        }
    };
}

bugs! {
    ReaderIgnoresUndecided = "reader-ignores-undecided", rule 5: "a snapshot begins without waiting for what the site has voted for";
    SnapshotMovesUp = "snapshot-moves-up", rule 5: "a snapshot reader reads each item at the clock of that moment";
    StatementSnapshotKept = "statement-snapshot-kept", rule 17: "at READ COMMITTED every statement reads the snapshot of the first";
    FirstCommitterPassed = "first-committer-passed", rule 17: "at REPEATABLE READ what was committed since the snapshot is overwritten";
    QueryMovesOn = "query-moves-on", rule 17: "at READ COMMITTED each batch of a query reads a snapshot of its own";
    ReadSnapshotUnconfirmed = "read-snapshot-unconfirmed", rule 17: "a statement within a transaction reads its snapshot without a lease, before and after";
    SnapshotTakenAnew = "snapshot-taken-anew", rule 17: "at REPEATABLE READ each statement reads a snapshot of its own";
    NoLeaseCheck = "no-lease-check", rule 6: "a site reads without a lease, before and after";
    LeaseFromReceipt = "lease-from-receipt", rule 6: "a lease runs from the grant's receipt";
    GrantAfterSeal = "grant-after-seal", rule 7: "a sealed member goes on granting leases that nobody waits out";
    ShrinkForgetsLonger = "shrink-forgets-longer", rule 6: "a request for a shorter lease shortens what was promised before";
    OwnLeaseWaitedOut = "own-lease-waited-out", rule 7: "a grantor waits out leases of the length that it asks for itself";
    ReadBelowFloor = "read-below-floor", rule 10: "a snapshot below a refreshed item's floor is read as if nothing were there";
    RangeNotChecked = "range-not-checked", rule 3: "what was read as a range is neither guarded at home nor checked for rows that came since";
    VoteBeforeLog = "vote-before-log", rule 3: "a yes vote leaves without a prepared record";
    NoBecomesYes = "no-becomes-yes", rule 3: "a repeated prepare is judged again after a no";
    OldMessagesCount = "old-messages-count", rule 0: "prepares, votes and decisions of an older epoch count, those of finished transactions too";
    SealedMemberVotes = "sealed-member-votes", rule 7: "a sealed member goes on voting";
    AbortAnsweredEarly = "abort-answered-early", rule 4: "an abort is answered before every participant knows";
    AbortNotToNoVoters = "abort-not-to-no-voters", rule 4: "an abort is not waited for at those who voted no";
    LateVotesAbort = "late-votes-abort", rule 4: "the home site aborts when votes are late";
    DuplicatePrepareExecuted = "duplicate-prepare-executed", rule 2: "a prepare below the mark is executed again";
    DecisionForgotten = "decision-forgotten", rule 4: "the home site forgets a decision after its own commit";
    DecisionAppliedTwice = "decision-applied-twice", rule 4: "a repeated decision is applied again with a new version";
    LocksDroppedAtVote = "locks-dropped-at-vote", rule 3: "commit-locks go when the vote leaves";
    LocksReleasedBeforeDecision = "locks-released-before-decision", rule 4: "the home site releases its locks before the decision is logged and installed";
    WaiterOvertaken = "waiter-overtaken", rule 3: "a younger prepare overtakes an older waiter";
    AgeRenewed = "age-renewed", rule 3: "a retry takes a new age";
    RebootKeepsIncarnation = "reboot-keeps-incarnation", rule 0: "a restarted site keeps its incarnation";
    SealOnlyInMemory = "seal-only-in-memory", rule 7: "a seal is forgotten by a restart that keeps its incarnation";
    SealedUnseals = "sealed-unseals", rule 7: "a sealed member goes on after a time-out";
    ServeWithoutLeaseWait = "serve-without-lease-wait", rule 7: "a new epoch serves without waiting out the leases of non-members";
    WaitOnlyForLatestEvictee = "wait-only-for-latest-evictee", rule 7: "only the leases of those the last change evicted are waited out";
    ServeBeforeAllLogged = "serve-before-all-logged", rule 8: "a member serves before every member has logged the outcomes";
    VoidOutcomeWins = "void-outcome-wins", rule 8: "the outcome of the lowest epoch wins";
    TimestampsWithoutEpoch = "timestamps-without-epoch", rule 0: "a resolution stamps its commits with the old epoch";
    SwapSettledByNumber = "swap-settled-by-number", rule 7: "whoever asks for an epoch number that exists is told to have won it";
    PromotedDecidesAlone = "promoted-decides-alone", rule 8: "a member that an epoch makes up ends it before it has logged what the up members know";
    RecoveringFormsEpoch = "recovering-forms-epoch", rule 7: "a recovering member forms an epoch in which it is up";
    RestoredOracleTrusted = "restored-oracle-trusted", rule 13: "an oracle changes its epoch before its members have confirmed";
    SilentVoterKept = "silent-voter-kept", rule 6: "a member that renews its leases but never votes is not evicted";
    NoFailLocksInResolution = "no-fail-locks-in-resolution", rule 10: "what a resolution commits sets no fail-locks";
    JoinerLocksBeforeResolution = "joiner-locks-before-resolution", rule 10: "a joiner's stale items are taken before the resolution";
    PromotedLacksTables = "promoted-lacks-tables", rule 10: "a member does not take over the others' fail-lock tables";
    ClearedAtPrepare = "cleared-at-prepare", rule 10: "a fail-lock goes when a write is prepared";
    ClearedByOlderVersion = "cleared-by-older-version", rule 10: "a copy older than the own version is installed over a fresh one";
    ClearedBeforeSynced = "cleared-before-synced", rule 10: "fail-locks are cleared before the copy is synced, and a restart forgets its own stale items";
    ScanIgnoresAbsentLocks = "scan-ignores-absent-locks", rule 10: "a scan looks only at fail-locks of present rows";
    OverflowDropsEntries = "overflow-drops-entries", rule 10: "a full fail-lock table drops entries";
    DropsNotLocked = "drops-not-locked", rule 10: "a site that was away is not told of storages that were dropped";
    DroppedCopied = "dropped-copied", rule 10: "rows of a storage that was dropped are copied as long as they are there";
    VoidedRowsReturn = "voided-rows-return", rule 10: "the store keeps what a storage held of which copies have left nothing";
    EmptiedStay = "emptied-stay", rule 10: "a storage of which copies have left nothing stays at a site by its name";
    EmptyUnlooked = "empty-unlooked", rule 10: "a storage is taken for empty though its rows are in the store";
    VoidDropStands = "void-drop-stands", rule 11: "a storage that only a returning site had dropped goes from its copy, though that was brought again";
    TailNotLocked = "tail-not-locked", rule 11: "what a returning site wrote or prepared by itself is not fail-locked";
    StaleServed = "stale-served", rule 11: "a recovering site serves fail-locked items";
    RestartFromAnyLog = "restart-from-any-log", rule 12: "after a total failure whatever any log holds is committed";
    RestartFromOneLog = "restart-from-one-log", rule 12: "one member of the last epoch restarts it alone";
    NoSyncOnSoleSurvivor = "no-sync-on-sole-survivor", rule 9: "an epoch with too few copies serves before its log is synced";
    SyncErrorRetried = "sync-error-retried", rule 9: "a failed sync is taken for a success later";
    MoveLeavesLocks = "move-leaves-locks", rule 3: "a concurrency controller that is moved forgets its locks";
    LateMessagesForgotten = "late-messages-forgotten", rule 3: "messages inside a site that there was no time for in a step are lost";
    IncrementsPassReaders = "increments-pass-readers", rule 3: "what is only added to is not commit-locked";
    IncrementsNotRebased = "increments-not-rebased", rule 3: "an increment that commits below a newer version is not added to that";
    IncrementsWhileJoining = "increments-while-joining", rule 10: "increments commit of what is stale in a member's copy";
    RefreshedByReplay = "refreshed-by-replay", rule 10: "what a replay wrote over stale rows is told as refreshed, though it is stale again";
    MarkIgnored = "mark-ignored", rule 11: "a site whose data were put back counts as having all that it once told the others";
    MarkApartFromBase = "mark-apart-from-base", rule 10: "what another site has on disk is logged without the mark by which its log is known again";
    MarkUnnamed = "mark-unnamed", rule 12: "an epoch does not name the marks of its members' logs, only their lives";
    WholeAtBirth = "whole-at-birth", rule 12: "a life that begins takes its copy for whole, though the log may have been put back";
    SetBackTestifies = "set-back-testifies", rule 12: "after a total failure a log that was put back counts as whole";
    StoreNotChecked = "store-not-checked", rule 11: "a store and a log of different age are taken for one copy";
    LifeNotSynced = "life-not-synced", rule 11: "a life asks to be taken in before its beginning is on disk";
    IncrementsReplayedTwice = "increments-replayed-twice", rule 15: "a replay adds to a row what the store had with it";
    UnsettledNotLogged = "unsettled-not-logged", rule 15: "a post does not log rows to which something undecided is added";
    PostForgetsIncrements = "post-forgets-increments", rule 15: "a row is taken for stored that was added to while it was being posted";
    EvictedUnwritten = "evicted-unwritten", rule 15: "what is on its way to the store leaves memory before the store has written it";
    FloorOutlivesCopy = "floor-outlives-copy", rule 15: "a replay takes increments for stored that came after a copy had replaced the row";
    IncrementsToStaleSkipped = "increments-to-stale-skipped", rule 15: "a replay skips what is added to rows whose storage the log names as stale, though only parts of it were";
    LongWaiterPassed = "long-waiter-passed", rule 3: "younger prepares of other sites pass an access however long it has waited";
    CompanionAnsweredEarly = "companion-answered-early", rule 4: "a program that commits in the transaction of another is answered before that has committed";
    AloneUnlisted = "alone-unlisted", rule 3: "what was commit-locked while nobody else was is not compared with who comes next";
    ValidatedRemembered = "validated-remembered", rule 3: "a row of the catalog that stood once is taken to stand though it has changed";
    ReadsNotRepeated = "reads-not-repeated", rule 1: "a commit that is tried again forgets what its transaction has read";
    OwnWritesPassed = "own-writes-passed", rule 1: "a row that was read before its program began is taken for what the program has written there since";
    GuestLeavesWrites = "guest-leaves-writes", rule 4: "what a program has written that starts over by itself is committed with those before it";
    LocksPassInstall = "locks-pass-install", rule 3: "the commit-locks of a large transaction go before all of it is installed";
    PostPassesInstall = "post-passes-install", rule 15: "a post begins in the middle of a large commit, and the log of what is not yet installed goes";
    EpochPassesInstall = "epoch-passes-install", rule 8: "an epoch begins, and copies are made, in the middle of a large commit";
    SpanEndsEarly = "span-ends-early", rule 3: "a storage of which a transaction names many items is commit-locked up to the first of them only";
    OldLifeServed = "old-life-served", rule 4: "what a session asked of a life that is over is done in the next one";
    RoomNotTold = "room-not-told", rule 16: "who waits for room in memory is not told that there is room again";
    GatheredDependent = "gathered-dependent", rule 3: "transactions commit as one although one of them uses what another changes";
    NeededVersionPruned = "needed-version-pruned", rule 5: "of the snapshots in use only the oldest keeps versions from being pruned";
    NumbersNotClaimed = "numbers-not-claimed", rule 1: "the number of a storage is taken only when the transaction that fills it commits";
    SchemaUnchecked = "schema-unchecked", rule 3: "a catalog row is written whatever version it was made from";
    CleanerHurries = "cleaner-hurries", rule 4: "what was committed ahead is dropped when nobody waits for the outcome any more, not when it is an abort";
    LeftoversStay = "leftovers-stay", rule 4: "what lives that are over have filled, and nobody names, is not dropped";
    LivingLeftovers = "living-leftovers", rule 4: "what nobody names yet is taken for left behind though the life that fills it goes on";
    ErrorsUnconfirmed = "errors-unconfirmed", rule 5: "what the schema was is told from a catalog row that an undecided transaction may change";
    DropPassesReaders = "drop-passes-readers", rule 5: "the rows of a dropped storage go though a snapshot in use may read them";
    ToldBeforeLogged = "told-before-logged", rule 15: "a storage is named before the rows committed ahead into it are in every participant's log";
    UsedStoragesFilled = "used-storages-filled", rule 4: "a program that is lost while it commits rows ahead begins again with the same storages";
    DropPassesWrites = "drop-passes-writes", rule 3: "the drop of a storage does not wait for what is undecided on it";
    GroupMemberAlone = "group-member-alone", rule 14: "what became of a transaction that was sent in a group is looked up by its own name";
    AbsentTakenForAbort = "absent-taken-for-abort", rule 14: "a client's transaction counts as failed where nobody knows of its site's life any more";
    OutcomesForgottenEarly = "outcomes-forgotten-early", rule 14: "the others forget what became of a life when its site is taken in, not when it has heard";
    ToldBeforeServing = "told-before-serving", rule 14: "a returning site tells outcomes before the epoch that has found them is active";
    RepeatedLifeSpeaks = "repeated-life-speaks", rule 14: "the last words of a life take the place of those of an earlier one with its number";
    BlockTakenUnread = "block-taken-unread", rule 1: "a block of a sequence is taken whatever has become of the row that it was made from";
    ParentUnread = "parent-unread", rule 3: "a row that a foreign key refers to is looked for without being read";
    CascadeMissesLateChild = "cascade-misses-late-child", rule 3: "the rows that refer to one that goes are looked for without being read as a range";
    CascadeEndsEarly = "cascade-ends-early", rule 1: "of the rows that refer to one that goes or changes only the first is changed with it";
    DeferredCheckSkipped = "deferred-check-skipped", rule 1: "a foreign key that is put off is not looked at when the transaction commits";
    TailFromPostEnd = "tail-from-post-end", rule 15: "a snapshot has the log from where its base was copied, not from where the store needs it";
    TruncatedUnderSnapshot = "truncated-under-snapshot", rule 15: "log that a snapshot needs is given up while its base is copied";
    CutBeforeBase = "cut-before-base", rule 15: "the cut of a snapshot comes before its base has been copied";
    TailBeforeDecided = "tail-before-decided", rule 15: "a snapshot does not wait for what is undecided at its cut";
    TailPassesCut = "tail-passes-cut", rule 15: "what is voted for behind the cut of a snapshot is in it as long as something from before is waited for";
    TruncatedBeforeArchived = "truncated-before-archived", rule 15: "log is given up before the archive has it";
    MomentPassed = "moment-passed", rule 15: "what committed behind the moment that is restored is in it, if it was voted for before";
    SettledTwice = "settled-twice", rule 15: "what was decided behind the cut of a snapshot is taken from the snapshot and from the archive";
    StaleMomentRestored = "stale-moment-restored", rule 15: "a moment is restored from the log of a site that was out of the instance then";
    UndecidedMomentRestored = "undecided-moment-restored", rule 15: "a moment is restored although the archive does not say what became of what was voted for before it";
    RestoredEpochLow = "restored-epoch-low", rule 7: "an instance that is restored from a snapshot begins with the first epoch again";
    DuplicateInstall = "duplicate-install", rule 3: "a read is validated against the first version instead of the newest";
    SwitchDropsCommitLocks = "switch-drops-commit-locks", rule 3: "a switch of the method forgets the commit-locks";
    SwitchAnswersTwice = "switch-answers-twice", rule 1: "an access that a switch of the method grants is answered again";
    SwitchForgetsWaiter = "switch-forgets-waiter", rule 1: "what waits is not judged again when the method is switched";
    ConversionDoomsPrepared = "conversion-dooms-prepared", rule 4: "a conversion dooms what has sent its prepare as the member of a group";
    ConversionKeepsBreaker = "conversion-keeps-breaker", rule 1: "a conversion lets go on what contradicts the new method";
    SuffixEndsEarly = "suffix-ends-early", rule 1: "the old method goes while transactions from before the switch execute";
    SuffixNeverEnds = "suffix-never-ends", rule 1: "the old method stays when the transactions from before the switch have ended";
    UnionCircleMissed = "union-circle-missed", rule 1: "circles of waits that a second method closes are not looked for";
    GhostDropped = "ghost-dropped", rule 1: "what an ended transaction has accessed is forgotten while an older one executes";
    StampKeptOnRetry = "stamp-kept-on-retry", rule 1: "a retry keeps the stamp with which it came too late";
    IncrementStamped = "increment-stamped", rule 1: "what is only added to is ordered by stamps";
    SerialTurnLost = "serial-turn-lost", rule 1: "the turn of a transaction that ends goes to nobody";
    TakenRowsGranted = "taken-rows-granted", rule 1: "who wants a row only if nobody else has it gets it, where the method lets both execute";
    HomeCheckSkipped = "home-check-skipped", rule 3: "the home site takes what its method lets execute for a check of versions";
    SettingFromFile = "setting-from-file", rule 11: "a returning site runs the method of its file, whatever is set";
    SettingNotFollowed = "setting-not-followed", rule 11: "a setting that comes as a copy is installed and not followed";
    NotificationPassesLower = "notification-passes-lower", rule 4: "who listens is told of a commit though one below it is undecided";
    NotifiedAtVote = "notified-at-vote", rule 4: "who listens is told when this site votes, whatever becomes of the transaction";
    NotifiedAgain = "notified-again", rule 4: "a decision that comes twice is told twice to who listens";
    ResolvedNotNotified = "resolved-not-notified", rule 8: "who listens is not told of what commits by a resolution";
    NotificationsOfGroupDropped = "notifications-of-group-dropped", rule 4: "of what commits as one only the first tells who listens";
    PriorityReordersPair = "priority-reorders-pair", rule 16: "what is urgent goes before what the same server has sent earlier";
    BackgroundStarves = "background-starves", rule 16: "what is not urgent waits as long as anything urgent comes";
    StatementKeepsInbox = "statement-keeps-inbox", rule 16: "what comes from outside waits until a statement has ended";
    ExpertWithoutPause = "expert-without-pause", rule 16: "the expert switches as often as its advice changes";
    ProbationIgnored = "probation-ignored", rule 16: "a method that makes things worse stays when its probation is over";
    ParkedNotChecked = "parked-not-checked", rule 3: "who has left its turn is not doomed by a prepare that takes what it has read";
}

impl Bug {
    /// Found by the conformance suite of the concurrency controller, and not by the simulator: a method decides who waits and who begins again,
    /// never what is correct. Whatever it lets pass, every vote checks the versions of the whole history.
    pub const OF_METHODS: &'static [Bug] = &[
        Bug::SwitchDropsCommitLocks,
        Bug::SwitchAnswersTwice,
        Bug::SwitchForgetsWaiter,
        Bug::ConversionDoomsPrepared,
        Bug::ConversionKeepsBreaker,
        Bug::SuffixEndsEarly,
        Bug::SuffixNeverEnds,
        Bug::UnionCircleMissed,
        Bug::GhostDropped,
        Bug::StampKeptOnRetry,
        Bug::IncrementStamped,
        Bug::SerialTurnLost,
        Bug::TakenRowsGranted,
        Bug::ParkedNotChecked,
    ];

    /// Found by the tests of the domain: who waits for ever waits for longer than the simulator runs, and the network may reorder more than a pair.
    pub const OF_DELIVERY: &'static [Bug] =
        &[Bug::PriorityReordersPair, Bug::BackgroundStarves, Bug::StatementKeepsInbox];

    /// Found by the tests of the expert system: hours of load are none of the simulator's, and no choice of a method makes anything wrong.
    pub const OF_EXPERT: &'static [Bug] = &[Bug::ExpertWithoutPause, Bug::ProbationIgnored];
}
