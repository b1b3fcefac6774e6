//! Which sites there are, and where: `raid.toml` of a cluster on this machine, or a file of the same kind that an operator has written.
//!
//! ```toml
//! [sites.1]
//! console = "10.0.0.1:7501"
//! sql = "10.0.0.1:5433"       # without it no SQL is asked there
//! ```
//!
//! Invariant: a [`ClusterFile`] has 1 to [`SITES_MAX`] sites.

use crate::limits::SITES_MAX;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A cluster on this machine is described in this file of its folder.
pub const DESCRIPTION: &str = "raid.toml";

/// Why there is no cluster to show.
#[derive(Debug, Error)]
pub enum ClusterFileError {
    /// The folder holds none.
    #[error("{path} holds no cluster: name its folder with --data, or its sites with --config", path = .0.display())]
    NoCluster(PathBuf),
    /// The file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The file says something else.
    #[error("{path}: {message}", path = .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong, and what to write.
        message: String,
    },
}

/// Where a site is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ShownSite {
    /// For status and metrics.
    pub console: SocketAddr,
    /// For clients; `None`: no SQL is asked there.
    pub sql: Option<SocketAddr>,
}

/// The sites of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFile {
    /// Where the console keeps its token and its log.
    pub folder: PathBuf,
    /// By number.
    pub sites: BTreeMap<u16, ShownSite>,
    /// Whether the cluster runs from this folder, so that its processes can be killed and started from here.
    pub is_local: bool,
}

/// The part of the file that matters here.
#[derive(Deserialize)]
struct FileContent {
    #[serde(default)]
    sites: BTreeMap<String, ShownSite>,
}

impl ClusterFile {
    /// The cluster that `raid start` keeps in this folder.
    pub fn of_folder(folder: &Path) -> Result<ClusterFile, ClusterFileError> {
        let path = folder.join(DESCRIPTION);
        if !path.exists() {
            return Err(ClusterFileError::NoCluster(folder.to_owned()));
        }
        let folder = folder.canonicalize().map_err(|source| ClusterFileError::File { path: path.clone(), source })?;
        Ok(ClusterFile { folder, sites: sites_in(&path)?, is_local: true })
    }

    /// The sites that an operator has listed in this file; token and log go beside it.
    pub fn of_file(path: &Path) -> Result<ClusterFile, ClusterFileError> {
        let file_error = |source| ClusterFileError::File { path: path.to_owned(), source };
        let whole = path.canonicalize().map_err(file_error)?;
        let folder = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(ClusterFile { folder, sites: sites_in(path)?, is_local: false })
    }
}

fn sites_in(path: &Path) -> Result<BTreeMap<u16, ShownSite>, ClusterFileError> {
    let wrong = |message: String| ClusterFileError::Content { path: path.to_owned(), message };
    let text =
        std::fs::read_to_string(path).map_err(|source| ClusterFileError::File { path: path.to_owned(), source })?;
    let content: FileContent = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let numbered = |(name, site): (&String, &ShownSite)| match name.parse::<u16>() {
        Ok(number) if number > 0 => Ok((number, *site)),
        _ => Err(wrong(format!("{name:?} is no site's number: sites count from 1"))),
    };
    let sites: BTreeMap<u16, ShownSite> = content.sites.iter().map(numbered).collect::<Result<_, _>>()?;
    match sites.len() {
        0 => Err(wrong("it names no site: write `[sites.1]` and below it `console = \"ADDRESS:PORT\"`".to_owned())),
        count if count > SITES_MAX => {
            Err(wrong(format!("it names {count} sites; a console shows {SITES_MAX} at most")))
        }
        _ => Ok(sites),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClusterFile, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("console.toml");
        std::fs::write(&path, text).expect("the folder can be written");
        ClusterFile::of_file(&path).map_err(|error| error.to_string())
    }

    /// A console would show other sites than there are, or end without saying what to write.
    #[test]
    fn sites_are_listed_or_the_reason_is_told() {
        let good = read("encrypt = true\n[sites.2]\nconsole = \"127.0.0.1:7501\"\nlisten = \"127.0.0.1:1\"\n");
        let sites = good.expect("it names a site").sites;
        assert_eq!(sites[&2].console, "127.0.0.1:7501".parse().expect("an address"));
        assert_eq!(sites[&2].sql, None);
        for (text, reason) in [
            ("", "names no site"),
            ("[sites.0]\nconsole = \"127.0.0.1:1\"", "count from 1"),
            ("[sites.one]\nconsole = \"127.0.0.1:1\"", "count from 1"),
            ("[sites.1]\nsql = \"127.0.0.1:1\"", "console"),
            ("[sites.1]\nconsole = \"here\"", "invalid socket address"),
            ("[sites", "TOML parse error"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(reason), "{text:?}: {error}");
        }
        let many: String = (1..=17).map(|n| format!("[sites.{n}]\nconsole = \"127.0.0.1:{n}\"\n")).collect();
        assert!(read(&many).expect_err("too many").contains("16 at most"));
        let nothing = ClusterFile::of_folder(Path::new("/nonexistent")).expect_err("there is none");
        assert!(nothing.to_string().contains("holds no cluster"));
    }
}
