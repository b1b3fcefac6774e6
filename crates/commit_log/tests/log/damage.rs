//! Opening a log after a crash or on a bad disk. Two stories: what had never been synced may go, quietly; what had been
//! synced may not, and if it has, nobody shall learn it by accident.

use std::fs;
use std::ops::Range;

use crate::common::{HEADER, Image, append, first_of, open, read_all, record, records, segments, try_open};
use commit_log::{Cut, CutReason, Log, LogError, MappedLog, Position, Repair};
use proptest::prelude::*;

/// A crash with the records `0..synced` on disk and `synced..appended` in memory, and where each record starts.
fn crashed(synced: u64, appended: u64) -> (Image, Vec<Position>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path());
    let mut positions = append(&mut log, 0..synced);
    log.sync_now().unwrap();
    positions.extend(append(&mut log, synced..appended));
    positions.push(log.appended());
    // All records fit into the first segment: one that fills up would be synced by itself.
    assert!(log.appended() < Position(4096) || appended > 50);
    (Image::of(folder.path()), positions)
}

/// A closed log of several segments, where each record starts, and its end.
fn closed(appended: u64) -> (Image, Vec<Position>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path());
    let mut positions = append(&mut log, 0..appended);
    positions.push(log.appended());
    log.close().unwrap();
    (Image::of(folder.path()), positions)
}

/// The file and the offset of a position.
fn place(image: &Image, position: Position) -> (usize, usize) {
    let mut used = image.files.iter().enumerate().filter_map(|(index, (_, bytes))| Some((index, first_of(bytes)?)));
    let (index, first) = used.rfind(|(_, first)| *first <= position).unwrap();
    (index, (HEADER + position.since(first)) as usize)
}

/// Opens a log that must be cut to `kept`, appends to it, and opens it again.
fn check_goes_on(folder: &std::path::Path, repair: Repair, kept: Range<u64>) -> Option<Cut> {
    let (mut log, opened) = try_open(folder, repair).unwrap();
    assert_eq!(opened.records, kept.end);
    assert_eq!(read_all(&log), records(kept.clone()));
    let mut expected = records(kept);
    expected.extend(records(1000..1003));
    append(&mut log, 1000..1003);
    drop(log);
    let (log, again) = open(folder);
    assert_eq!((again.records, again.cut), (expected.len() as u64, None));
    assert_eq!(read_all(&log), expected);
    opened.cut
}

/// If this fails, a loss of power in the middle of a write stops the site or costs more than the torn record.
#[test]
fn a_tail_torn_at_any_byte_is_cut_at_the_last_whole_record() {
    let (image, positions) = crashed(10, 13);
    let (index, from) = place(&image, positions[10]);
    let bytes = &image.files[index].1;
    let offset_of = |number: usize| place(&image, positions[number]).1;
    let to = offset_of(13);
    for torn in from..to {
        let zeroed = [&bytes[..torn], &vec![0; bytes.len() - torn]].concat();
        let short = bytes[..torn].to_vec();
        let garbage = [&bytes[..torn], &vec![0xd7; bytes.len() - torn]].concat();
        for damaged in [zeroed, short, garbage] {
            let is_whole = |&number: &usize| {
                let range = offset_of(number)..offset_of(number + 1);
                damaged.get(range.clone()) == bytes.get(range)
            };
            let kept = 10 + (10..13).take_while(is_whole).count();
            let start = offset_of(kept);
            let left_over = damaged.get(start..).unwrap_or(&[]).iter().rposition(|&byte| byte != 0);
            let mut image = image.clone();
            image.files[index].1 = damaged;
            let cut = check_goes_on(image.restore().path(), Repair::Refuse, 0..kept as u64);
            let expected =
                left_over.map(|last| (CutReason::TornTail, start as u64, positions[kept], last as u64 + 1, None));
            let found = cut.map(|cut| (cut.reason, cut.offset, cut.position, cut.bytes, cut.later_record));
            assert_eq!(found, expected, "torn at {torn}");
        }
    }
}

/// If this fails, a site refuses to start after an ordinary loss of power: the kernel writes pages in any order, so a
/// record that was never synced can be missing although a later one is there.
#[test]
fn pages_written_out_of_order_are_a_torn_tail() {
    let (image, positions) = crashed(10, 16);
    let (index, from) = place(&image, positions[12]);
    let (_, to) = place(&image, positions[13]);
    let mut damaged = image.clone();
    damaged.files[index].1[from..to].fill(0);
    let cut = check_goes_on(damaged.restore().path(), Repair::Refuse, 0..12).unwrap();
    assert_eq!((cut.reason, cut.position, cut.later_record), (CutReason::TornTail, positions[12], Some(positions[13])));
}

/// If this fails, a record that was cut off comes back behind a new one of the same length.
#[test]
fn what_was_cut_off_never_comes_back() {
    let (image, positions) = crashed(10, 16);
    let (index, from) = place(&image, positions[12]);
    let mut damaged = image.clone();
    damaged.files[index].1[from] ^= 1;
    let folder = damaged.restore();
    let (mut log, _) = open(folder.path());
    // The very record that was lost, at the very place: the old ones behind it would fit on again.
    log.append(&record(12)).unwrap();
    drop(log);
    assert_eq!(read_all(&open(folder.path()).0), records(0..13));
}

/// If this fails, the loss of records that were on disk passes for a crash.
#[test]
fn a_tail_that_was_synced_is_not_cut_by_itself() {
    let (image, positions) = crashed(12, 12);
    for (number, &expected) in positions[..12].iter().enumerate() {
        let (index, start) = place(&image, expected);
        let mut damaged = image.clone();
        damaged.files[index].1[start..].fill(0);
        let folder = damaged.restore();
        match try_open(folder.path(), Repair::Refuse) {
            Err(LogError::Corrupt { offset, position, .. }) => {
                assert_eq!((offset, position), (start as u64, expected));
            }
            other => panic!("record {number}: {other:?}"),
        }
        let cut = check_goes_on(folder.path(), Repair::CutAtCorruption, 0..number as u64).unwrap();
        assert_eq!((cut.reason, cut.bytes), (CutReason::Corruption, 0));
    }
}

/// If this fails, damage in the middle costs the good records behind it without anybody being told.
#[test]
fn a_damaged_byte_in_the_middle_stops_the_open_and_is_cut_on_request() {
    const RECORDS: u64 = 200;
    let (image, positions) = closed(RECORDS);
    let end = positions[RECORDS as usize];
    for at in (0..end.0).step_by(97) {
        let number = positions.partition_point(|position| position.0 <= at) - 1;
        let (index, start) = place(&image, positions[number]);
        let mut damaged = image.clone();
        damaged.files[index].1[start + (at - positions[number].0) as usize] ^= 0x20;
        let folder = damaged.restore();
        let before = Image::of(folder.path());
        let Err(error) = try_open(folder.path(), Repair::Refuse) else { panic!("damage at {at} was not seen") };
        assert_eq!(Image::of(folder.path()).files, before.files, "a refusal changes nothing");
        let LogError::Corrupt { file, offset, position, bytes } = error else { panic!("{error}") };
        assert_eq!(file, folder.path().join(&image.files[index].0));
        assert_eq!((offset, position), (start as u64, positions[number]));
        assert!(bytes > 0 && bytes <= end.since(position));

        let cut = check_goes_on(folder.path(), Repair::CutAtCorruption, 0..number as u64).unwrap();
        assert_eq!((cut.reason, cut.bytes, cut.position), (CutReason::Corruption, bytes, position));
        let next = (number as u64 + 1 < RECORDS).then(|| positions[number + 1]);
        assert_eq!(cut.later_record, next);
    }
}

/// If this fails, a damaged or missing segment makes the log skip its records.
#[test]
fn a_lost_segment_or_header_is_corruption() {
    let (image, positions) = closed(300);
    let used = image.files.iter().filter(|(_, bytes)| first_of(bytes).is_some()).count();
    assert!(used >= 4);
    for index in 0..used {
        let first = first_of(&image.files[index].1).unwrap();
        let records_before = positions.partition_point(|&position| position < first) as u64;
        for (offset, flip) in [(0, 1), (20, 1), (41, 1), (64, 1), (72, 0xff), (76, 0xff)] {
            let mut damaged = image.clone();
            damaged.files[index].1[offset] ^= flip;
            let folder = damaged.restore();
            let refused = try_open(folder.path(), Repair::Refuse).err();
            let path = folder.path().join(&image.files[index].0);
            assert!(matches!(&refused, Some(LogError::Corrupt { file, .. }) if *file == path), "{offset}: {refused:?}");
            let (log, opened) = try_open(folder.path(), Repair::CutAtCorruption).unwrap();
            assert_eq!((opened.records, opened.created), (records_before, false));
            assert_eq!(read_all(&log), records(0..records_before));
        }
        // Without the first segment the log looks truncated, and without the last one shorter; those in between leave a gap.
        if index > 0 && index + 1 < used {
            let mut missing = image.clone();
            missing.files.remove(index);
            let folder = missing.restore();
            let refused = try_open(folder.path(), Repair::Refuse).err();
            assert!(matches!(&refused, Some(LogError::Corrupt { position, .. }) if *position == first), "{refused:?}");
            check_goes_on(folder.path(), Repair::CutAtCorruption, 0..records_before);
        }
    }
}

/// If this fails, positions that other sites remember are given to other records when the whole log was lost.
#[test]
fn positions_are_not_used_again_when_nothing_can_be_kept() {
    let (image, positions) = closed(100);
    let mut damaged = image.clone();
    damaged.files[0].1[0] ^= 1;
    let folder = damaged.restore();
    let (mut log, opened) = try_open(folder.path(), Repair::CutAtCorruption).unwrap();
    assert_eq!((opened.records, opened.end), (0, positions[100]));
    assert_eq!(append(&mut log, 0..1), vec![positions[100]]);
}

/// If this fails, damage that appears while the log is open is handed out as a record.
#[test]
fn reading_damage_is_an_error_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, _) = open(folder.path());
    let positions = append(&mut log, 0..10);
    let path = segments(folder.path()).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(HEADER + positions[5].0) as usize + 17] ^= 4;
    fs::write(&path, bytes).unwrap();
    let mut read: Vec<_> = log.read_from(log.first()).collect();
    assert_eq!(read.len(), 6);
    let Some(Err(LogError::Corrupt { file, offset, position, .. })) = read.pop() else { panic!("damage was not seen") };
    assert_eq!((file, offset, position), (path, HEADER + positions[5].0, positions[5]));
}

/// Whatever is done to the files: opening gives an error or a log that is a beginning of what was written.
fn check_survives(image: &Image, written: &[Vec<u8>]) -> Result<(), TestCaseError> {
    for repair in [Repair::Refuse, Repair::CutAtCorruption] {
        let folder = image.restore();
        let (log, opened): (MappedLog, _) = match try_open(folder.path(), repair) {
            Ok(log) => log,
            Err(LogError::Corrupt { .. }) if repair == Repair::Refuse => continue,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let read = read_all(&log);
        prop_assert_eq!(read.len() as u64, opened.records);
        prop_assert!(written.starts_with(&read));
        drop(log);
        let (_, again) = open(folder.path());
        prop_assert_eq!((again.records, again.end, again.cut), (opened.records, opened.end, None));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// If this fails, a bad disk makes the site panic, or makes it believe bytes that nobody has written.
    #[test]
    fn opening_survives_any_bytes_in_a_segment(
        file in any::<prop::sample::Index>(),
        start in prop_oneof![0..120_usize, 0..9000_usize],
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        length in prop_oneof![3 => Just(usize::MAX), 1 => 0..9000_usize],
        is_closed in any::<bool>(),
    ) {
        let (mut image, _) = if is_closed { closed(150) } else { crashed(100, 150) };
        let index = file.index(image.files.len());
        let content = &mut image.files[index].1;
        content.truncate(length);
        for (index, byte) in bytes.iter().enumerate() {
            if let Some(place) = content.get_mut(start + index) {
                *place = *byte;
            }
        }
        check_survives(&image, &records(0..150))?;
    }

    /// If this fails, a file that is not a segment at all, under the name of one, makes the site panic.
    #[test]
    fn opening_survives_a_segment_of_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
        let name = format!("{:020}.log", 0);
        check_survives(&Image { files: vec![(name, bytes)] }, &[])?;
    }
}
