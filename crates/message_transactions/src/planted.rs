//! Bugs that the simulator plants, each of which leaves out one clause where the clause is kept: its checkers must find them.

/// A clause that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
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

impl Planted {
    /// All of them.
    pub const ALL: [Planted; 16] = [
        Planted::ReplyNotKept,
        Planted::DuplicateDelivered,
        Planted::PendingIgnored,
        Planted::DuplicateUnanswered,
        Planted::NoBufferSilent,
        Planted::StaleHintBelieved,
        Planted::ForwardNotKept,
        Planted::BitVectorShifted,
        Planted::RightsSurvive,
        Planted::BoundsUnchecked,
        Planted::ReplyUnmatched,
        Planted::LastInFirstOut,
        Planted::AlienStays,
        Planted::HistoryLeftBehind,
        Planted::TakenInAgain,
        Planted::OldRepliesKept,
    ];

    /// Its name on a command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}
