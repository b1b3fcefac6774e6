//! A console of the cluster in a folder, without the rest of the `raid` program: for work on the pages, and to measure it.
//!
//! `cargo run -p raid_tool --example console -- FOLDER RAID [read-only]`

use raid_tool::ToolOptions;
use raid_tool::cluster_file::ClusterFile;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), raid_tool::ToolError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, program, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: console FOLDER RAID [read-only]");
        std::process::exit(2);
    };
    let options = ToolOptions {
        cluster: ClusterFile::of_folder(Path::new(folder))?,
        listen: ([127, 0, 0, 1], 7400).into(),
        read_only: rest.iter().any(|word| word == "read-only"),
        program: PathBuf::from(program),
        user: "postgres".to_owned(),
    };
    raid_tool::run(options, &AtomicBool::new(false), |address| println!("{}", address.link))
}
