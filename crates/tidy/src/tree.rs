//! The working tree in memory: the path of every file, and the text of every file that is text.
//!
//! Paths are relative to the root and use `/`. Rules read only this, so a test builds a tree from strings.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use crate::limits::TEXT_BYTES_MAX;
use crate::source::SourceFile;

/// One finding. Displayed as `file:line: message`; the message says what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path relative to the root.
    pub file: String,
    /// Counted from one.
    pub line: usize,
    /// What is wrong, what to do.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl Violation {
    /// `line` counts from one.
    pub fn new(file: &str, line: usize, message: impl Into<String>) -> Violation {
        Violation { file: file.to_string(), line, message: message.into() }
    }
}

/// One file of the tree.
#[derive(Default)]
struct TreeFile {
    /// None when the file is not text, or too large to be worth judging.
    text: Option<String>,
    /// Present for Rust files.
    source: Option<SourceFile>,
}

/// All files of a working tree.
#[derive(Default)]
pub struct WorkTree {
    files: BTreeMap<String, TreeFile>,
}

/// A Rust file of one of our crates.
pub struct RustFile<'a> {
    /// Path relative to the root.
    pub path: &'a str,
    /// The crate that it belongs to: the folder below `crates/`.
    pub krate: &'a str,
    /// The file as it stands.
    pub text: &'a str,
    /// The file without strings and comments.
    pub source: &'a SourceFile,
}

impl WorkTree {
    /// Reads everything below `root` except version control, build output and hidden caches.
    pub fn read(root: &Path) -> io::Result<WorkTree> {
        let mut tree = WorkTree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == ".git" || name == "target" {
                continue;
            }
            let path = format!("{prefix}{name}");
            // Follows links: a linked clippy.toml counts as its target's text.
            let Ok(metadata) = fs::metadata(entry.path()) else {
                continue;
            };
            if metadata.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if metadata.is_file() && metadata.len() <= TEXT_BYTES_MAX {
                match String::from_utf8(fs::read(entry.path())?) {
                    Ok(text) => self.insert(&path, &text),
                    Err(_) => self.insert_data(&path),
                }
            } else {
                self.insert_data(&path);
            }
        }
        Ok(())
    }

    /// Adds or replaces a text file.
    pub fn insert(&mut self, path: &str, text: &str) {
        let source = path.ends_with(".rs").then(|| SourceFile::parse(text, is_test_path(path)));
        self.files.insert(path.to_string(), TreeFile { text: Some(text.to_string()), source });
    }

    fn insert_data(&mut self, path: &str) {
        self.files.insert(path.to_string(), TreeFile::default());
    }

    /// A tree of the given files.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> WorkTree {
        let mut tree = WorkTree::default();
        for (path, text) in files {
            tree.insert(path, text);
        }
        tree
    }

    /// The text of a file; none if there is no such text file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Whether a file or a folder of this name exists.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder))
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// All text files, sorted by path.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, file)| Some((path.as_str(), file.text.as_deref()?)))
    }

    /// The names of the crates: the folders of `crates/` with a manifest, sorted.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.paths().filter_map(|path| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some(name)
        })
    }

    /// All Rust files of our crates, sorted by path.
    pub fn rust_files(&self) -> impl Iterator<Item = RustFile<'_>> {
        self.files.iter().filter_map(|(path, file)| {
            let (krate, _) = path.strip_prefix("crates/")?.split_once('/')?;
            Some(RustFile { path, krate, text: file.text.as_deref()?, source: file.source.as_ref()? })
        })
    }
}

/// Whether everything in the file is test code: it lies in `tests/` or `benches/`, or is named `tests.rs` or `..._tests.rs`.
fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs") || part.ends_with("_tests.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that asked for a folder would otherwise be told that it is missing, or that a mere name prefix is a folder.
    #[test]
    fn files_and_folders_are_found() {
        let tree = WorkTree::of(&[("crates/site/Cargo.toml", ""), ("README.md", "")]);
        assert!(tree.has("README.md"));
        assert!(tree.has("crates/site"));
        assert!(tree.has("crates/site/"));
        assert!(!tree.has("crates/sit"));
        assert!(!tree.has("READ"));
    }

    /// A nested manifest (a fixture, say) must not be taken for a crate.
    #[test]
    fn crates_are_the_folders_with_a_manifest() {
        let tree =
            WorkTree::of(&[("crates/a/Cargo.toml", ""), ("crates/b/x/Cargo.toml", ""), ("crates/c/src/lib.rs", "")]);
        assert_eq!(tree.crates().collect::<Vec<_>>(), ["a"]);
    }

    /// If test files were judged as server code, golden scripts could not be read from disk.
    #[test]
    fn test_files_are_known_by_their_path() {
        assert!(is_test_path("crates/a/tests/golden.rs"));
        assert!(is_test_path("crates/a/src/tests.rs"));
        assert!(is_test_path("crates/a/src/machine_tests.rs"));
        assert!(!is_test_path("crates/a/src/contests.rs"));
    }
}
