//! Opening a log that nothing has happened to: everything is there, and nobody else can have it.

use std::fs;
use std::sync::mpsc;

use crate::common::{append, first_of, open, options, read_all, record, records, segments, try_open};
use commit_log::{Log, LogError, LogIdentity, LogOptions, MappedLog, Position, Repair};

/// If this fails, a restart loses records or repeats positions.
#[test]
fn a_log_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let nested = folder.path().join("deep/log");
    let mut end = Position::START;
    for round in 0..6 {
        let (mut log, opened) = open(&nested);
        assert_eq!((opened.created, opened.cut), (round == 0, None));
        assert_eq!((opened.end, opened.records, opened.first), (end, round * 100, Position::START));
        assert_eq!((log.synced(), log.appended()), (end, end));
        append(&mut log, round * 100..(round + 1) * 100);
        assert_eq!(read_all(&log), records(0..(round + 1) * 100));
        end = log.appended();
        if round % 2 == 0 {
            log.close().unwrap();
        }
    }
}

/// If this fails, two processes write into the same log.
#[test]
fn an_open_log_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = open(folder.path());
    assert!(matches!(try_open(folder.path(), Repair::Refuse), Err(LogError::Locked { .. })));
    drop(log);
    open(folder.path());
}

/// If this fails, a site takes up the log of another one, or loses it by trying.
#[test]
fn a_foreign_log_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path());
    append(&mut log, 0..100);
    drop(log);
    for repair in [Repair::Refuse, Repair::CutAtCorruption] {
        let stranger = LogOptions { identity: LogIdentity { instance: 0xfeed, site: 3 }, ..options(repair) };
        assert!(matches!(MappedLog::open(folder.path(), stranger), Err(LogError::WrongIdentity { .. })));
    }
    assert_eq!(read_all(&open(folder.path()).0), records(0..100));
}

/// If this fails, a long record is lost, or the small ones around it are.
#[test]
fn a_record_longer_than_a_segment_gets_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = [10, 5_000, 1 << 20, 20, 4096 - 16, 4096 - 15, 4096, 3 << 20, 7];
    let written: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(index, &n)| vec![index as u8 + 1; n]).collect();
    let (mut log, _) = open(folder.path());
    for record in &written {
        log.append(record).unwrap();
    }
    assert_eq!(read_all(&log), written);
    log.sync_now().unwrap();
    drop(log);
    let (mut log, opened) = open(folder.path());
    assert_eq!((opened.records, opened.cut), (written.len() as u64, None));
    assert_eq!(read_all(&log), written);
    append(&mut log, 0..50);
    drop(log);
    assert_eq!(read_all(&open(folder.path()).0)[written.len()..], records(0..50));
}

/// If this fails, segments of another size than the present setting cannot be read.
#[test]
fn the_segment_size_may_change() {
    let folder = tempfile::tempdir().unwrap();
    for (round, segment_bytes) in [8192, 4096, 65536, 4097].into_iter().enumerate() {
        let (mut log, _) =
            MappedLog::open(folder.path(), LogOptions { segment_bytes, ..options(Repair::Refuse) }).unwrap();
        append(&mut log, round as u64 * 200..(round as u64 + 1) * 200);
        assert_eq!(read_all(&log), records(0..(round as u64 + 1) * 200));
    }
    for segment_bytes in [0, 4095, u64::MAX] {
        let refused = MappedLog::open(folder.path(), LogOptions { segment_bytes, ..options(Repair::Refuse) });
        assert!(matches!(refused, Err(LogError::SegmentSize { .. })));
    }
}

/// If this fails, a log that goes on from another one has other positions, and nobody finds his place in it.
#[test]
fn a_new_log_may_begin_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let options = |begins_at| LogOptions { begins_at, ..options(Repair::Refuse) };
    let (mut log, opened) = MappedLog::open(folder.path(), options(Position(4_000_008))).unwrap();
    assert!(opened.created);
    assert_eq!((log.first(), log.synced(), log.appended()), (Position(4_000_008), log.first(), log.first()));
    assert_eq!(append(&mut log, 0..200)[0], Position(4_000_008));
    drop(log);
    let (log, opened) = MappedLog::open(folder.path(), options(Position(8))).unwrap();
    assert_eq!((opened.created, opened.first, opened.records), (false, Position(4_000_008), 200));
    assert_eq!(read_all(&log), records(0..200));
}

/// If this fails, an event loop that sleeps is not woken when the disk has been reached.
#[test]
fn the_callback_tells_of_progress() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, receiver) = mpsc::channel();
    let on_synced: commit_log::mapped::OnSynced = Box::new(move || sender.send(()).unwrap_or_default());
    let with_callback = LogOptions { on_synced: Some(on_synced), ..options(Repair::Refuse) };
    let (mut log, _) = MappedLog::open(folder.path(), with_callback).unwrap();
    log.append(&record(1)).unwrap();
    log.request_sync();
    receiver.recv().unwrap();
    assert_eq!(log.poll_synced().unwrap(), log.appended());
    let status = log.status();
    assert_eq!((status.syncs, status.bytes_appended), (1, log.appended().0));
    assert_eq!(status.sync_latency_us_last, status.sync_latency_us_max);
}

/// If this fails, records that nobody needs fill the disk, or come back wrong after a restart.
#[test]
fn truncated_segments_leave_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path());
    let positions = append(&mut log, 0..1000);
    assert!(segments(folder.path()).len() > 10);
    log.truncate_before(positions[900]).unwrap();
    let first = log.first();
    assert!(first > positions[700] && first <= positions[900]);
    // The thread removes one old segment after each sync.
    let old = |path: &std::path::PathBuf| first_of(&fs::read(path).unwrap_or_default()).is_some_and(|it| it < first);
    for _ in 0..1000 {
        log.append(b"x").unwrap();
        log.sync_now().unwrap();
        if !segments(folder.path()).iter().any(old) {
            break;
        }
    }
    drop(log);
    let (log, opened) = open(folder.path());
    assert_eq!((opened.first, log.first(), opened.cut), (first, first, None));
    let kept: Vec<Vec<u8>> = log.read_from(positions[900]).take(100).map(|record| record.unwrap().1).collect();
    assert_eq!(kept, records(900..1000));
}
