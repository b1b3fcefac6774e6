//! The contract of [`Log`], run on the real log and on its twin: what the simulator proves with the one must hold for the
//! other.

use crate::common::{open, record};
use commit_log::{Log, LogError, MemoryLog, Position};

/// Runs `check` on an empty log of each kind.
fn on_each(check: impl Fn(&mut dyn Log)) {
    check(&mut MemoryLog::new());
    let folder = tempfile::tempdir().unwrap();
    check(&mut open(folder.path()).0);
}

fn read(log: &dyn Log, from: Position) -> Vec<(Position, Vec<u8>)> {
    log.read_from(from).map(|record| record.unwrap()).collect()
}

/// If this fails, records come back changed, in another order or from the wrong place.
#[test]
fn what_is_appended_is_read_from_every_position() {
    on_each(|log| {
        assert_eq!((log.first(), log.synced(), log.appended()), (Position::START, Position::START, Position::START));
        assert_eq!(read(log, Position::START), vec![]);
        let mut expected = Vec::new();
        for number in 0..300 {
            let position = log.append(&record(number)).unwrap();
            expected.push((position, record(number)));
            assert!(position < log.appended());
        }
        for index in 0..expected.len() {
            assert_eq!(read(log, expected[index].0), expected[index..]);
        }
        assert_eq!(read(log, log.appended()), vec![]);
    });
}

/// If this fails, a run in the simulator has other positions than a real one.
#[test]
fn both_logs_give_the_same_positions() {
    let folder = tempfile::tempdir().unwrap();
    let (mut mapped, _) = open(folder.path());
    let mut memory = MemoryLog::new();
    for number in 0..500 {
        assert_eq!(mapped.append(&record(number)).unwrap(), memory.append(&record(number)).unwrap());
    }
    assert_eq!(mapped.appended(), memory.appended());
    assert_eq!(mapped.status().bytes_appended, memory.status().bytes_appended);
}

/// If this fails, a caller waits for a disk that has long been reached, or trusts one that has not.
#[test]
fn sync_now_reaches_the_end() {
    on_each(|log| {
        for number in 0..200 {
            log.append(&record(number)).unwrap();
            if number % 50 == 0 {
                log.sync_now().unwrap();
                assert_eq!((log.synced(), log.poll_synced().unwrap()), (log.appended(), log.appended()));
            }
            assert!(log.first() <= log.synced() && log.synced() <= log.appended());
        }
        assert!(log.status().syncs >= 4);
    });
}

/// If this fails, a wrong position gives somebody else's bytes instead of an error.
#[test]
fn wrong_positions_are_errors() {
    on_each(|log| {
        let position = log.append(&record(1)).unwrap();
        let end = log.appended();
        for inside in [1, 8, 16] {
            let first = log.read_from(Position(position.0 + inside)).next();
            assert!(matches!(first, Some(Err(LogError::NotARecord { .. }))), "{first:?}");
        }
        let mut beyond = log.read_from(Position(end.0 + 8));
        assert!(matches!(beyond.next(), Some(Err(LogError::BeyondEnd { .. }))));
        assert!(beyond.next().is_none());
    });
}

/// If this fails, an empty record cannot be told from the end of the log, or a huge one breaks it.
#[test]
fn records_out_of_range_are_refused() {
    on_each(|log| {
        assert!(matches!(log.append(b""), Err(LogError::RecordSize { bytes: 0 })));
        let huge = vec![1; commit_log::limits::RECORD_BYTES_MAX + 1];
        assert!(matches!(log.append(&huge), Err(LogError::RecordSize { .. })));
        assert_eq!(log.appended(), Position::START);
        log.append(b"x").unwrap();
    });
}

/// If this fails, truncation drops records that are needed, or an endless log needs an endless disk.
#[test]
fn truncation_drops_only_what_is_below() {
    on_each(|log| {
        let positions: Vec<Position> = (0..400).map(|number| log.append(&record(number)).unwrap()).collect();
        for keep in [0, 1, 100, 250, 399] {
            log.truncate_before(positions[keep]).unwrap();
            assert!(log.first() <= positions[keep]);
            assert_eq!(read(log, positions[keep]).len(), 400 - keep);
        }
        assert!(log.first() > positions[200]);
        let gone = log.read_from(positions[0]).next();
        assert!(matches!(gone, Some(Err(LogError::Truncated { .. }))), "{gone:?}");
        log.truncate_before(log.appended()).unwrap();
        let next = log.append(b"still appends").unwrap();
        assert_eq!(read(log, next), vec![(next, b"still appends".to_vec())]);
    });
}
