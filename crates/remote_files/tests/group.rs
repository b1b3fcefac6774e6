//! A group of files over servers of this process, as a program uses it.

use network_memory::host::local_servers::LocalServers;
use remote_files::{FileNumber, FilesOptions, RemoteFiles};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const FILE: FileNumber = FileNumber(0);
const MIB: usize = 1 << 20;

fn server() -> LocalServers {
    LocalServers::start(1, 64 << 20).expect("it starts")
}

fn options(served: &LocalServers) -> FilesOptions {
    FilesOptions {
        servers: served.addresses().to_vec(),
        copies: Some(1),
        settle_bytes: MIB as u64,
        ..FilesOptions::default()
    }
}

fn open(path: &Path, options: &FilesOptions) -> RemoteFiles {
    let folder = PathBuf::from(format!("{}-raid", path.display()));
    RemoteFiles::open(&[path.to_path_buf()], &folder, options, Box::new(|_| {})).expect("it opens")
}

fn write(files: &RemoteFiles, file: &File, bytes: &[u8]) {
    file.write_all_at(bytes, 0).expect("a disk");
    files.wrote(FILE, 0, bytes).expect("the log is there");
}

/// If this failed, a program that names its file without a folder could not open it.
#[test]
fn a_name_alone_is_enough() {
    let (served, place) = (server(), tempfile::tempdir().expect("a folder"));
    // No other test of this program depends on it.
    std::env::set_current_dir(place.path()).expect("it is there");
    let files = open(Path::new("alone"), &options(&served));
    write(&files, &File::create("alone").expect("a disk"), b"bytes");
    files.close().expect("it is brought to disk");
}

/// If this failed, whoever writes would wait for ever after nobody could be told that a server is away.
#[test]
fn a_listener_that_panics_does_not_end_the_settler() {
    let (served, place) = (server(), tempfile::tempdir().expect("a folder"));
    let (path, told) = (place.path().join("file"), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&told);
    let notify = move |_: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        panic!("nobody listens");
    };
    let (paths, folder) = ([path.clone()], place.path().join("file-raid"));
    let files = RemoteFiles::open(&paths, &folder, &options(&served), Box::new(notify)).expect("it opens");
    let file = File::create(&path).expect("a disk");
    drop(served);
    while told.load(Ordering::Relaxed) == 0 {
        write(&files, &file, b"what makes the loss of the server known");
        files.sync().expect("the disk is there");
    }
    // Many times what the log may hold before it is emptied.
    for _ in 0..8 {
        write(&files, &file, &vec![1; MIB]);
        files.sync().expect("the disk is there");
    }
    files.close().expect("it is brought to disk");
}

/// If this failed, a write that is longer than a record may be would end the group.
#[test]
fn a_write_of_any_length_is_taken() {
    let (served, place) = (server(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("file");
    let files = open(&path, &options(&served));
    let bytes: Vec<u8> = (0..20 * MIB).map(|at| (at / 4096) as u8).collect();
    write(&files, &File::create(&path).expect("a disk"), &bytes);
    files.sync().expect("a receipt");
    files.close().expect("it is brought to disk");
    assert!(std::fs::read(&path).expect("a disk") == bytes);
}

/// If this failed, changes would be given up without a word, or what was shipped would be lost with the process.
#[test]
fn what_was_shipped_is_found_or_given_up_with_a_number() {
    let (served, place) = (server(), tempfile::tempdir().expect("a folder"));
    let path = place.path().join("file");
    let files = open(&path, &options(&served));
    let file = File::create(&path).expect("a disk");
    write(&files, &file, b"shipped");
    files.ship().expect("the log is there");
    write(&files, &file, b"only told");
    drop(files);
    let files = open(&path, &options(&served));
    assert_eq!((files.opened().replayed.records, files.opened().given_up), (1, 0));
    assert!(std::fs::read(&path).expect("a disk").starts_with(b"shipped"));
    write(&files, &file, b"newer");
    files.ship().expect("the log is there");
    drop(files);
    let files = open(&path, &FilesOptions { discard: true, ..options(&served) });
    assert_eq!((files.opened().replayed.records, files.opened().given_up), (0, 1));
}
