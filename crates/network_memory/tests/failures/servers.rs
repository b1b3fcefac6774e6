//! The servers: some lost, all lost, full, stopped, saved, and with damaged images.

use crate::processes::{
    CAPACITY, PATIENCE, Served, append_until, check_records, create, has_happened, is_disk, is_memory, open, record,
    serve,
};
use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions, Reloaded, ServeError, read_status};
use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::names::RecordReceipt;
use network_memory::writer::LogEvent;
use std::net::SocketAddr;
use std::time::Instant;

fn terms(addresses: Vec<SocketAddr>, folder: &tempfile::TempDir) -> LogTerms {
    let log = RemoteLog::draw_log().expect("a name");
    LogTerms::new(log, 2, addresses, Some(folder.path().join("log")))
}

/// If this fails, the loss of fewer servers than copies slows commits down to the disk, or loses some.
#[test]
fn fewer_than_k_lost_servers_change_nothing() {
    let (mut servers, addresses) = serve(3);
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(terms(addresses, &folder));
    append_until(&mut log, is_memory);
    servers[1].kill();
    append_until(&mut log, is_memory);
    servers[1].restart();
    append_until(&mut log, is_memory);
    check_records(&log);
}

/// If this fails, a program whose servers are all lost stops, or goes on without telling, or never gets memory back.
#[test]
fn with_all_servers_lost_the_disk_takes_over_until_they_are_back() {
    let (mut servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(terms(addresses, &folder));
    append_until(&mut log, is_memory);
    log.events();
    servers.iter_mut().for_each(Served::kill);
    append_until(&mut log, is_disk);
    append_until(&mut log, is_disk);
    assert!(has_happened(&mut log, |event| matches!(event, LogEvent::MemoryLost { .. })));
    servers.iter_mut().for_each(Served::restart);
    append_until(&mut log, is_memory);
    assert!(has_happened(&mut log, |event| *event == LogEvent::MemoryBack));
    check_records(&log);
    let status = read_status(servers[0].address, None, PATIENCE).expect("a status");
    assert_eq!(status.logs.len(), 1, "{status:?}");
    assert!(status.logs[0].end >= log.status().acknowledged, "{status:?}");
}

/// If this fails, a lost member is never replaced though there is another server.
#[test]
fn a_spare_takes_the_place_of_a_lost_member() {
    let (mut servers, addresses) = serve(3);
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(LogTerms { members: 2, ..terms(addresses, &folder) });
    append_until(&mut log, is_memory);
    log.events();
    servers[0].kill();
    append_until(&mut log, is_disk);
    append_until(&mut log, is_memory);
    assert!(has_happened(&mut log, |event| matches!(event, LogEvent::SpareTaken { .. })));
    check_records(&log);
}

/// If this fails, a full server is not told of, or stays full for this log when there is room again.
#[test]
fn a_full_server_says_so_and_takes_more_after_a_truncation() {
    let full = |_| Served::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), 4_000, None);
    let servers: Vec<Served> = (0..2).map(full).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(terms(servers.iter().map(|server| server.address).collect(), &folder));
    append_and_truncate_until_memory(&mut log);
    log.events();
    append_until(&mut log, is_disk);
    while !has_happened(&mut log, |event| matches!(event, LogEvent::ServerFull(_))) {
        append_until(&mut log, |_| true);
    }
    let status = read_status(servers[0].address, None, PATIENCE).expect("a status");
    assert!(status.refusals_full > 0 && status.used_bytes <= status.capacity_bytes, "{status:?}");
    log.truncate_before(log.status().acknowledged).expect("all has receipts");
    append_and_truncate_until_memory(&mut log);
}

/// As long as the disk is faster than the servers are met, a log would outgrow small servers.
fn append_and_truncate_until_memory(log: &mut RemoteLog) {
    let begun = std::time::Instant::now();
    loop {
        let (position, receipt) = log.append(&record(log.extent().1), PATIENCE).expect("a receipt");
        log.truncate_before(position).expect("it has a receipt");
        if is_memory(receipt) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still {receipt}: {:?}, {:?}", log.status(), log.events());
    }
}

/// If this fails, one slow server holds up every commit.
#[test]
fn a_stopped_server_is_not_waited_for() {
    let (servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(terms(addresses, &folder));
    append_until(&mut log, is_memory);
    servers[1].stop();
    let (_, receipt) = log.append(&record(log.extent().1), PATIENCE).expect("a receipt");
    assert_eq!(receipt, RecordReceipt::Disk, "only one server can have answered");
    servers[1].go_on();
    append_until(&mut log, is_memory);
    check_records(&log);
}

/// If this fails, servers that are told to end lose what they could have saved.
#[test]
fn what_servers_have_saved_is_there_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |index: usize| {
        let save = folder.path().join(format!("server-{index}"));
        std::fs::create_dir(&save).expect("a folder");
        Served::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), CAPACITY, Some(&save))
    };
    let mut servers: Vec<Served> = (0..2).map(start).collect();
    let addresses = servers.iter().map(|server| server.address).collect();
    // No disk: the servers have all there is.
    let terms = LogTerms::new(RemoteLog::draw_log().expect("a name"), 2, addresses, None);
    let mut log = create(terms.clone());
    for _ in 0..50 {
        append_until(&mut log, is_memory);
    }
    drop(log);
    servers.iter_mut().for_each(Served::end);
    servers.iter_mut().for_each(Served::restart);
    assert!(servers[0].started.contains("Image"), "{}", servers[0].started);
    let log = open(terms.clone());
    assert_eq!(log.extent().1.0, 50);
    check_records(&log);
    drop(log);
    // One image is damaged: that server is empty and counts for nothing, and the other is enough.
    servers.iter_mut().for_each(Served::end);
    let image = folder.path().join("server-0").join("memory.image");
    let mut bytes = std::fs::read(&image).expect("an image");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&image, bytes).expect("a damaged image");
    servers.iter_mut().for_each(Served::restart);
    assert!(servers[0].started.contains("Damaged"), "{}", servers[0].started);
    let log = open(terms);
    assert_eq!(log.extent().1.0, 50);
    check_records(&log);
}

/// If this fails, a server counts for what it held long ago, because an image came back, or makes the folder in which its image should be.
#[test]
fn an_image_counts_once_and_only_where_it_belongs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (save, kept) = (folder.path().join("server"), folder.path().join("kept"));
    // A process that another test starts has all that is open here, locks too, until it becomes another program.
    let begun = Instant::now();
    let start = || loop {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let save = Some(save.clone());
        let options = MemoryServerOptions { listen, capacity_bytes: CAPACITY, quota_bytes: None, save, keys: None };
        match MemoryServer::start(options) {
            Err(ServeError::Locked(_)) if begun.elapsed() < PATIENCE => std::thread::yield_now(),
            started => break started,
        }
    };
    assert!(matches!(start(), Err(ServeError::Missing(_))), "a folder was made");
    std::fs::create_dir(&save).expect("a folder");
    let is_over = std::sync::atomic::AtomicBool::new(true);
    start().expect("it starts").serve_until(&is_over).expect("it saves");
    let image = save.join("memory.image");
    std::fs::copy(&image, &kept).expect("an image");
    let server = start().expect("it starts");
    assert_eq!(*server.reloaded(), Reloaded::Image);
    // It is killed, and somebody puts the image back.
    drop(server);
    std::fs::rename(&kept, &image).expect("an old image");
    let server = start().expect("it starts");
    assert_eq!(*server.reloaded(), Reloaded::Old);
    server.serve_until(&is_over).expect("it saves");
    assert_eq!(*start().expect("it starts").reloaded(), Reloaded::Image);
}

/// If this fails, a log that is over takes room for ever.
#[test]
fn a_log_that_was_removed_takes_no_room() {
    let (servers, addresses) = serve(2);
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = create(terms(addresses, &folder));
    append_until(&mut log, is_memory);
    log.remove(PATIENCE).expect("both forget it");
    for server in &servers {
        let status = read_status(server.address, None, PATIENCE).expect("a status");
        assert!(status.logs.is_empty() && status.used_bytes == 0, "{status:?}");
    }
}
