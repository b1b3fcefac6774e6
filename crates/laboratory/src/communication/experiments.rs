//! The experiments, one file each: what it measures, the paper's figures, and what only its processes do.
//!
//! In the order of the list:
//!
//! * [`calls`]: 64 bytes between two processes of a host by every method, at every place;
//! * [`local_methods`]: table V of 1989, and the null messages of 1991;
//! * [`round_trips`]: by size, on one host and between two: figures 6 and 12 of 1992;
//! * [`long_datagrams`]: table I of 1989;
//! * [`context_switches`]: figure 9 of 1992;
//! * [`multicasts`]: table VI of 1989, figure 3 of 1992;
//! * [`raid_messages`]: figure 11 of 1992;
//! * [`send_layers`]: figure 1 of 1991;
//! * [`message_transactions`]: the thesis's tables of exchanges, pages and moves;
//! * [`pipes`]: the thesis's table of pipes.

pub mod calls;
pub mod context_switches;
pub mod local_methods;
pub mod long_datagrams;
pub mod message_transactions;
pub mod multicasts;
pub mod pipes;
pub mod raid_messages;
pub mod round_trips;
pub mod send_layers;

use crate::communication::experiment::Experiment;
use crate::communication::methods::CARRIERS;

/// All experiments of this crate.
pub const ALL: [&dyn Experiment; 10] = [
    &calls::Calls { methods: &CARRIERS, sizes: &[64] },
    &local_methods::LocalMethods,
    &round_trips::RoundTrips,
    &long_datagrams::LongDatagrams,
    &context_switches::ContextSwitches,
    &multicasts::Multicasts,
    &raid_messages::RaidMessages,
    &send_layers::SendLayers,
    &message_transactions::MessageTransactions,
    &pipes::Pipes,
];

/// The names and what they measure, a line each.
pub fn list(experiments: &[&dyn Experiment]) -> String {
    let width = experiments.iter().map(|experiment| experiment.name().len()).max().unwrap_or(0);
    let lines = experiments.iter().map(|experiment| format!("{:width$}  {}\n", experiment.name(), experiment.about()));
    lines.collect()
}
