//! The experiments, one file each, in the order of the paper's figures:
//!
//! * [`block_sizes`]: transactions per second by their size, one place after the other (figure 1) and at random (figure 4);
//! * [`log_sizes`]: by the size of the log (figures 2 and 3);
//! * [`several_clients`]: pairs of clients and servers on one network (figures 5 and 6), clients of one server (figures 7 and 8);
//! * [`tpc_a`]: TPC-A, sequential, random and localized (figures 9 to 11);
//! * [`object_traversals`]: OO7 (figure 12).
//!
//! The paper's plots have no numbers; beside ours stands only what its text says of them.

pub mod block_sizes;
pub mod log_sizes;
pub mod object_traversals;
pub mod several_clients;
pub mod tpc_a;

use crate::memory::client::Places;
use crate::memory::laboratory::Laboratory;
use laboratory_harness::Outcome;
use laboratory_harness::report::Table;

/// One figure of the paper.
pub trait Experiment: Sync {
    /// As the command line calls it.
    fn name(&self) -> &'static str;

    /// What it measures.
    fn about(&self) -> &'static str;

    /// Measures it.
    ///
    /// # Errors
    /// Nothing could be measured, or somebody asked for an end. What fails alone is noted in the table.
    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>>;
}

/// All of them.
pub const ALL: [&dyn Experiment; 12] = [
    &block_sizes::BlockSizes { name: "figure1", places: Places::Sequential },
    &log_sizes::LogSizes { name: "figure2", block_bytes: 128 },
    &log_sizes::LogSizes { name: "figure3", block_bytes: 512 },
    &block_sizes::BlockSizes { name: "figure4", places: Places::Random },
    &several_clients::SeveralClients { name: "figure5", block_bytes: 32, one_server: false },
    &several_clients::SeveralClients { name: "figure6", block_bytes: 2 << 10, one_server: false },
    &several_clients::SeveralClients { name: "figure7", block_bytes: 32, one_server: true },
    &several_clients::SeveralClients { name: "figure8", block_bytes: 2 << 10, one_server: true },
    &tpc_a::TpcA { name: "figure9", places: Places::Sequential },
    &tpc_a::TpcA { name: "figure10", places: Places::Random },
    &tpc_a::TpcA { name: "figure11", places: Places::Localized },
    &object_traversals::ObjectTraversals,
];

/// The names and what they measure, a line each.
pub fn list() -> String {
    ALL.iter().map(|experiment| format!("{:<9} {}\n", experiment.name(), experiment.about())).collect()
}
