//! The option that names a cluster's folder, the same for all commands.

use clap::Args;
use std::path::PathBuf;

/// Where a cluster on this machine keeps everything.
#[derive(Args)]
pub struct ClusterFolder {
    /// The cluster's folder.
    #[arg(long, value_name = "DIR", default_value = "./raid-data")]
    pub data: PathBuf,
}
