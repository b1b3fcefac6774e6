//! Disks of one site that are full, read-only or failing: that site stops and says why and where, the others go on, and it comes back when
//! the cause is gone.

use crate::commands::Foreground;
use crate::harness::{World, eventually, said, turn};
use crate::register::Register;
use laboratory::debit_credit::connect;
use local_cluster::ClusterDirectory;
use local_cluster::process::ProcessName;
use site::SiteConfig;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const TWO: ProcessName = ProcessName::Site(2);
/// Megabytes of a disk with room for everything.
const LARGE_MB: u64 = 1_000;

/// A mounted disk; unmounted at the end, however the test ends.
pub(crate) struct Disk {
    place: PathBuf,
    _folder: tempfile::TempDir,
}

impl Disk {
    /// In memory. `None`, said aloud, where mounting is not allowed.
    pub(crate) fn in_memory(megabytes: u64) -> Option<Disk> {
        Disk::mount(&["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "raid-test"])
    }

    /// In a file, by a loop device.
    fn in_file(image: &Path) -> Option<Disk> {
        run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", &image.to_string_lossy()])?;
        Disk::mount(&["-t", "ext4", "-o", "loop", &image.to_string_lossy()])
    }

    fn mount(arguments: &[&str]) -> Option<Disk> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("disk");
        std::fs::create_dir(&place).expect("a new folder");
        run("mount", &[arguments, &[&*place.to_string_lossy()]].concat())?;
        Some(Disk { place, _folder: folder })
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    fn remount(&self, options: &str) {
        let done = run("mount", &["-o", &format!("remount,{options}"), &self.place.to_string_lossy()]);
        assert!(done.is_some(), "what was mounted can be remounted");
    }

    /// Puts a site's data here.
    fn give_to_two(&self, cluster: &ClusterDirectory) {
        let path = cluster.config_of(TWO);
        let config = SiteConfig::read(&path).expect("it was just written");
        SiteConfig { data: self.place.clone(), ..config }.write(&path).expect("the folder can be written");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["--lazy", &self.place.to_string_lossy()]);
    }
}

/// Runs a program; `None`, said aloud: it is missing, or may not.
fn run(program: &str, arguments: &[&str]) -> Option<()> {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => Some(()),
        Ok(output) => {
            eprintln!("{program} {arguments:?}: {}; without it this test does nothing", said(&output).trim());
            None
        }
        Err(error) => {
            eprintln!("{program}: {error}; without it this test does nothing");
            None
        }
    }
}

/// The site has given up with these words, and the others go on.
fn gives_up(world: &mut World, register: &Register, parts: &[&str]) {
    let said = world.wait_until_failed(TWO);
    for part in parts {
        assert!(said.contains(part), "{part:?} is missing:\n{said}");
    }
    world.wait_until_without(&[2]);
    let since = Instant::now();
    register.wait_for_both(world, 1, 50);
    register.wait_for_both(world, 3, 50);
    eprintln!("longest gap since: {} ms", register.longest_gap(&[1, 3], since).as_millis());
}

fn comes_back(mut world: World, register: Register) {
    world.start_again(TWO);
    world.wait_until_repaired();
    register.wait_for_both(&world, 2, 20);
    register.check(&world);
}

/// A full disk must cost its own site only, and be named; with room again the site comes back with all it had.
#[test]
fn a_site_whose_disk_is_full_stops_and_comes_back() {
    let Some(disk) = Disk::in_memory(LARGE_MB) else { return };
    let mut world = World::start_changed(|cluster| disk.give_to_two(cluster));
    let register = Register::start(&world);
    disk.remount(&format!("size={}m", used_mb(&disk.place) + 1));
    world.write_wide_rows();
    gives_up(&mut world, &register, &[&disk.place.to_string_lossy(), "free space"]);
    disk.remount(&format!("size={LARGE_MB}m"));
    comes_back(world, register);
}

/// Under `raid start` a full disk must end nobody but its site, which is back by itself when there is room: a person would have to notice otherwise.
#[test]
fn a_site_whose_disk_was_full_is_started_again_when_there_is_room() {
    let _turn = turn();
    let Some(disk) = Disk::in_memory(LARGE_MB) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // All that the site writes is there: its log texts and the number of its process, too.
    std::os::unix::fs::symlink(&disk.place, folder.path().join("site-2")).expect("a new link");
    let foreground = Foreground::start(folder.path(), &[]);
    foreground.says("All sites serve");
    let cluster = ClusterDirectory::open(folder.path()).expect("it runs");
    let mut client = connect(cluster.sites()[&1].sql).expect("it serves");
    client.batch_execute("CREATE TABLE filling (k int PRIMARY KEY, v text)").expect("a new table");
    disk.remount(&format!("size={}m", used_mb(&disk.place) + 8));
    let mut filler = std::fs::File::create(disk.place.join("filler")).expect("there is room for some");
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    let mut rows = 0;
    let mut fill = |client: &mut postgres::Client| {
        // Refused while the others change their epoch.
        let done = client
            .execute("INSERT INTO filling SELECT $1 + g, repeat('x', 1000) FROM generate_series(1, 100) g", &[&rows]);
        rows += if done.is_ok() { 100 } else { 0 };
        rows
    };
    let state = || site::status::ask(cluster.sites()[&2].console).map(|status| status.state);
    eventually("the site to give up", || {
        fill(&mut client);
        state().is_err()
    });
    let line = foreground.says("site 2 waits: ");
    assert!(line.contains("is full") && line.contains("site-2"), "{line}");
    let all = fill(&mut client);
    drop(filler);
    disk.remount(&format!("size={LARGE_MB}m"));
    foreground.says("site 2 is started again: what it waited for is there");
    eventually("site 2 to be up", || state().is_ok_and(|state| state == "up"));
    let mut other = connect(cluster.sites()[&2].sql).expect("it serves");
    let row = other.query_one("SELECT count(*)::int FROM filling", &[]).expect("it reads");
    assert_eq!(row.get::<_, i32>(0), all, "rows that were committed while it was away");
}

/// A disk that has become read-only must be named at the start, not found out by the first commit.
#[test]
fn a_site_whose_disk_is_read_only_does_not_start() {
    let Some(disk) = Disk::in_memory(LARGE_MB) else { return };
    let mut world = World::start_changed(|cluster| disk.give_to_two(cluster));
    let register = Register::start(&world);
    world.kill(2);
    disk.remount("ro");
    world.start_again(TWO);
    gives_up(&mut world, &register, &[&disk.place.to_string_lossy(), "read-only"]);
    disk.remount("rw");
    comes_back(world, register);
}

/// A disk that fails a sync must end the site at once: what it holds is unknown, and a second sync would only look well.
#[test]
fn a_site_whose_disk_fails_stops_and_comes_back() {
    let Some(backing) = Disk::in_memory(LARGE_MB) else { return };
    let image = backing.place.join("image");
    let made = std::fs::File::create(&image).and_then(|file| file.set_len((2 * LARGE_MB) << 20));
    made.expect("a sparse file takes no room");
    let Some(disk) = Disk::in_file(&image) else { return };
    let mut world = World::start_changed(|cluster| disk.give_to_two(cluster));
    let register = Register::start(&world);
    // The disk under the disk has no more room: every new block is a write error.
    backing.remount(&format!("size={}m", used_mb(&backing.place) + 1));
    world.write_wide_rows();
    gives_up(&mut world, &register, &["disk"]);
    backing.remount(&format!("size={LARGE_MB}m"));
    // As after the exchange of a cable: the file system is checked and mounted again.
    assert!(run("umount", &[&disk.place.to_string_lossy()]).is_some(), "nobody uses it any more");
    let _ = Command::new("e2fsck").args(["-p", &image.to_string_lossy()]).output();
    let image = image.to_string_lossy();
    assert!(run("mount", &["-t", "ext4", "-o", "loop", &image, &disk.place.to_string_lossy()]).is_some());
    comes_back(world, register);
}

/// Megabytes in use on a disk, rounded up.
fn used_mb(place: &Path) -> u64 {
    let status = rustix::fs::statvfs(place).expect("a mounted disk");
    ((status.f_blocks - status.f_bfree) * status.f_frsize).div_ceil(1 << 20)
}
