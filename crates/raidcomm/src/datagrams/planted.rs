//! Bugs that the simulator plants, each of which leaves out one clause where the clause is kept: its checkers must find them.

/// A clause that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedInDatagrams {
    /// A datagram that comes again is taken again.
    TakenTwice,
    /// Nothing is sent again.
    LossUnnoticed,
    /// What has not come is acknowledged if something after it has.
    GapAcknowledged,
    /// Half of each piece is forgotten.
    PieceCut,
    /// A datagram is taken before those with lower numbers have come.
    Overtaken,
    /// What is lost of the group's datagrams is not sent again.
    GroupNotRepeated,
    /// The group is used although a member is spoken to over the connection.
    GroupBesideConnection,
    /// A member is told the number after the first that it will be sent.
    InvitedLate,
    /// An association that has ended is still listened to.
    EndedAssociationHeard,
    /// A number is used for two datagrams.
    NumberTwice,
}

impl PlantedInDatagrams {
    /// All of them.
    pub const ALL: [PlantedInDatagrams; 10] = [
        PlantedInDatagrams::TakenTwice,
        PlantedInDatagrams::LossUnnoticed,
        PlantedInDatagrams::GapAcknowledged,
        PlantedInDatagrams::PieceCut,
        PlantedInDatagrams::Overtaken,
        PlantedInDatagrams::GroupNotRepeated,
        PlantedInDatagrams::GroupBesideConnection,
        PlantedInDatagrams::InvitedLate,
        PlantedInDatagrams::EndedAssociationHeard,
        PlantedInDatagrams::NumberTwice,
    ];

    /// Its name on a command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}
