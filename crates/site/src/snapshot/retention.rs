//! Which files of archives snapshots still need.
//!
//! Invariants: a file is of no use only if a snapshot of its site is there, and no moment behind any snapshot is read from it; the newest archive of a
//! site keeps its last file, which the site may write.

use super::archive::{ArchiveFile, ArchiveFiles};
use super::files::{Manifest, SnapshotError};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// All archives of one site.
#[derive(Debug)]
pub struct ArchivesOfSite {
    /// Where they are.
    pub folder: PathBuf,
    /// The instance, in decimal.
    pub instance: String,
    /// The site.
    pub site: u16,
    files: ArchiveFiles,
}

/// One archive of a site: its log without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveExtent {
    /// Its number, which snapshots name.
    pub number: u32,
    /// Where it begins in the log.
    pub first: u64,
    /// Its files.
    pub files: usize,
    /// All their bytes.
    pub bytes: u64,
}

/// The archives of all sites in the folder that `log_archive` names, by folder.
///
/// # Errors
/// A folder cannot be read.
pub fn list(archive: &Path) -> Result<Vec<ArchivesOfSite>, SnapshotError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(archive).map_err(SnapshotError::file(archive))? {
        let folder = entry.map_err(SnapshotError::file(archive))?.path();
        let Some((instance, site)) = named(&folder) else { continue };
        let files = ArchiveFiles::find(&folder)?;
        found.push(ArchivesOfSite { folder, instance, site, files });
    }
    found.sort_by(|one, other| one.folder.cmp(&other.folder));
    Ok(found)
}

/// The instance and the site of such a folder.
fn named(folder: &Path) -> Option<(String, u16)> {
    let (instance, site) = folder.file_name()?.to_str()?.split_once("-site-")?;
    instance.parse::<u64>().ok()?;
    Some((instance.to_owned(), site.parse().ok()?))
}

impl ArchivesOfSite {
    /// Each of them, the oldest first.
    ///
    /// # Errors
    /// A file cannot be looked at.
    pub fn extents(&self) -> Result<Vec<ArchiveExtent>, SnapshotError> {
        let extent = |(&number, files): (&u32, &Vec<ArchiveFile>)| {
            let bytes = files.iter().map(bytes_of).sum::<Result<u64, _>>()?;
            let first = files.first().map_or(0, |file| file.first.0);
            Ok(ArchiveExtent { number, first, files: files.len(), bytes })
        };
        self.files.by_number.iter().map(extent).collect()
    }

    /// Whether one of these snapshots is of this site, and was taken while it wrote an archive.
    pub fn has_snapshot(&self, snapshots: &[Manifest]) -> bool {
        self.of_this(snapshots).next().is_some()
    }

    /// Files that nothing behind these snapshots is read from, the oldest first; none if no snapshot is of this site.
    pub fn unneeded(&self, snapshots: &[Manifest]) -> Vec<PathBuf> {
        let mut unneeded = Vec::new();
        if !self.has_snapshot(snapshots) {
            return unneeded;
        }
        for (&number, files) in &self.files.by_number {
            let cuts = self.of_this(snapshots).filter(|(of, _)| *of == number).map(|(_, cut)| cut);
            let is_newest = Some(number) == self.files.newest();
            // A restore begins with the last file that begins at the cut or before; several may begin at one place.
            let kept_from =
                cuts.min().map(|cut| files.iter().map(|file| file.first.0).filter(|first| *first <= cut).max());
            let kept_from = match (kept_from, is_newest) {
                (Some(from), _) => from,
                (None, true) => files.last().map(|file| file.first.0),
                (None, false) => Some(u64::MAX),
            };
            let is_old = |file: &&ArchiveFile| kept_from.is_some_and(|from| file.first.0 < from);
            unneeded.extend(files.iter().filter(is_old).map(|file| file.path.clone()));
        }
        unneeded
    }

    /// The archive and the cut of each of these snapshots that is of this site.
    fn of_this<'a>(&'a self, snapshots: &'a [Manifest]) -> impl Iterator<Item = (u32, u64)> + 'a {
        let own = snapshots.iter().filter(|snapshot| snapshot.instance == self.instance && snapshot.site == self.site);
        own.filter_map(|snapshot| Some((snapshot.archive?, snapshot.cut)))
    }
}

fn bytes_of(file: &ArchiveFile) -> Result<u64, SnapshotError> {
    Ok(fs::metadata(&file.path).map_err(SnapshotError::file(&file.path))?.len())
}

/// Takes such a file away, and says how many bytes that were. One that is gone already is no error.
///
/// # Errors
/// The operating system refuses.
pub fn remove(file: &Path) -> Result<u64, SnapshotError> {
    let removed = fs::metadata(file).and_then(|metadata| fs::remove_file(file).map(|()| metadata.len()));
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        removed => removed.map_err(SnapshotError::file(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(u32, u64, u32)]) -> (tempfile::TempDir, ArchivesOfSite) {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path().join("77-site-2");
        fs::create_dir(&folder).expect("a folder");
        for (number, first, sequence) in files {
            fs::write(folder.join(format!("{number:06}-{first:020}-{sequence:04}.log")), b"four").expect("a file");
        }
        fs::create_dir(place.path().join("another")).expect("a folder");
        let mut all = list(place.path()).expect("it can be read");
        assert_eq!(all.len(), 1);
        (place, all.remove(0))
    }

    fn snapshot(site: u16, archive: u32, cut: u64) -> Manifest {
        Manifest {
            format: Manifest::format(),
            name: "one".to_owned(),
            instance: "77".to_owned(),
            site,
            life: 1,
            epoch: 1,
            taken_us: 0,
            log_from: 0,
            cut,
            clock: 0,
            archive: Some(archive),
            base_rows: 0,
            parts: Vec::new(),
        }
    }

    fn names(files: Vec<PathBuf>) -> Vec<(u32, u64, u32)> {
        let parts = |file: PathBuf| {
            let name = file.file_stem().expect("a name").to_str().expect("ASCII").to_owned();
            let numbers: Vec<u64> = name.split('-').map(|number| number.parse().expect("a number")).collect();
            (numbers[0] as u32, numbers[1], numbers[2] as u32)
        };
        files.into_iter().map(parts).collect()
    }

    /// If this fails, log is removed that a restore would have needed, or what nobody needs stays for ever.
    #[test]
    fn files_before_the_oldest_snapshot_are_of_no_use() {
        let files = [(1, 0, 0), (1, 50, 0), (2, 0, 0), (2, 100, 0), (2, 100, 1), (2, 200, 0), (2, 300, 0)];
        let (_place, archive) = archive(&files);
        let unneeded = |snapshots: &[Manifest]| names(archive.unneeded(snapshots));
        assert_eq!(unneeded(&[]), [], "nothing tells what is needed");
        assert_eq!(unneeded(&[snapshot(3, 2, 900)]), [], "of another site");
        assert_eq!(
            unneeded(&[snapshot(2, 2, 250), snapshot(2, 2, 150)]),
            files[..3],
            "the cut lies in a file that stays"
        );
        assert_eq!(unneeded(&[snapshot(2, 2, 100)]), files[..3], "both that begin at the cut stay");
        assert_eq!(unneeded(&[snapshot(2, 2, 250), snapshot(2, 1, 10)]), [(2, 0, 0), (2, 100, 0), (2, 100, 1)]);
        assert_eq!(
            unneeded(&[snapshot(2, 1, 60)]),
            [&files[..1], &files[2..6]].concat(),
            "the site may write the last"
        );
        let extents = archive.extents().expect("they are there");
        assert_eq!(extents[1], ArchiveExtent { number: 2, first: 0, files: 5, bytes: 20 });
        assert_eq!(remove(&archive.unneeded(&[snapshot(2, 2, 100)])[0]).expect("it is there"), 4);
    }
}
