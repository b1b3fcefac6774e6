//! Bugs that the simulator plants, each of which leaves out one clause where the clause is kept: its checkers must find them.

/// A clause that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedInKernel {
    /// A reply is not kept until its sender acknowledges it.
    ReplyNotKept,
    /// A message that comes again while it waits or is executed is delivered again.
    DuplicateDelivered,
    /// *Reply pending* does not restart the timer of giving up.
    PendingIgnored,
    /// A message that comes again is dropped instead of being answered *reply pending*.
    DuplicateUnanswered,
    /// A message without a buffer is dropped in silence.
    NoBufferSilent,
    /// *No such process* is believed of a kernel that a stale hint led to.
    StaleHintBelieved,
    /// A forwarding is not kept like a reply.
    ForwardNotKept,
    /// The bit vector asks for the chunk after the missing one.
    BitVectorShifted,
    /// Data is moved to a segment after the reply.
    RightsSurvive,
    /// The bounds of a segment are not checked.
    BoundsUnchecked,
    /// Any reply is taken, whatever its sequence number.
    ReplyUnmatched,
    /// A message is taken from the queue's end.
    LastInFirstOut,
    /// An alien whose sender is silent stays.
    AlienStays,
    /// A moved process forgets what it has replied to.
    HistoryLeftBehind,
    /// What left a kernel is taken in as often as it comes.
    TakenInAgain,
    /// Replies to an earlier group message stay in the queue.
    OldRepliesKept,
}

impl PlantedInKernel {
    /// All of them.
    pub const ALL: [PlantedInKernel; 16] = [
        PlantedInKernel::ReplyNotKept,
        PlantedInKernel::DuplicateDelivered,
        PlantedInKernel::PendingIgnored,
        PlantedInKernel::DuplicateUnanswered,
        PlantedInKernel::NoBufferSilent,
        PlantedInKernel::StaleHintBelieved,
        PlantedInKernel::ForwardNotKept,
        PlantedInKernel::BitVectorShifted,
        PlantedInKernel::RightsSurvive,
        PlantedInKernel::BoundsUnchecked,
        PlantedInKernel::ReplyUnmatched,
        PlantedInKernel::LastInFirstOut,
        PlantedInKernel::AlienStays,
        PlantedInKernel::HistoryLeftBehind,
        PlantedInKernel::TakenInAgain,
        PlantedInKernel::OldRepliesKept,
    ];

    /// Its name on a command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}
