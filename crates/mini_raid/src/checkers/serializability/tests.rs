//! Histories that are known to be right or wrong: if one is judged otherwise, the checker is blind or cries wolf.

use super::*;
use crate::history::{HistoryWrite, ObservedTransaction};

fn transaction(times: (u64, u64), observations: &[Observation], changes: &[HistoryWrite]) -> ObservedTransaction {
    ObservedTransaction {
        begun: times.0,
        ended: times.1,
        read_only: changes.is_empty(),
        observations: observations.to_vec(),
        changes: changes.to_vec(),
        ..ObservedTransaction::of_fate(TransactionFate::Committed)
    }
}

fn list(key: u64, entries: &[WriteToken]) -> Observation {
    Observation::List { key, entries: entries.to_vec() }
}

fn append(key: u64, token: WriteToken) -> HistoryWrite {
    HistoryWrite::Append { key, token }
}

fn judge(transactions: Vec<ObservedTransaction>) -> Result<(), String> {
    check(&RunHistory { transactions, losses: Vec::new() })
}

#[test]
fn an_order_of_appends_and_reads_is_right() {
    let history = vec![
        transaction((0, 10), &[list(1, &[])], &[append(1, 1)]),
        transaction((5, 15), &[list(1, &[1])], &[append(1, 2)]),
        transaction((8, 30), &[list(1, &[1])], &[]),
        transaction((40, 50), &[list(1, &[1, 2])], &[]),
    ];
    assert_eq!(judge(history), Ok(()));
}

#[test]
fn a_stale_read_is_wrong() {
    let history =
        vec![transaction((0, 10), &[list(1, &[])], &[append(1, 1)]), transaction((20, 30), &[list(1, &[])], &[])];
    assert!(judge(history).unwrap_err().contains("RealTime"));
}

#[test]
fn write_skew_is_wrong() {
    let history = vec![
        transaction((0, 10), &[list(1, &[]), list(2, &[])], &[append(2, 1)]),
        transaction((0, 10), &[list(2, &[]), list(1, &[])], &[append(1, 2)]),
        transaction((20, 30), &[list(1, &[2]), list(2, &[1])], &[]),
    ];
    assert!(judge(history).unwrap_err().contains("a cycle of 2"));
}

#[test]
fn a_long_fork_is_wrong() {
    let history = vec![
        transaction((0, 10), &[list(1, &[])], &[append(1, 1)]),
        transaction((0, 10), &[list(2, &[])], &[append(2, 2)]),
        transaction((0, 40), &[list(1, &[1]), list(2, &[])], &[]),
        transaction((0, 40), &[list(1, &[]), list(2, &[2])], &[]),
    ];
    assert!(judge(history).is_err());
}

#[test]
fn reads_that_fork_a_list_are_wrong() {
    let history = vec![
        transaction((0, 10), &[], &[append(1, 1)]),
        transaction((0, 10), &[], &[append(1, 2)]),
        transaction((20, 30), &[list(1, &[1, 2])], &[]),
        transaction((20, 30), &[list(1, &[2])], &[]),
    ];
    assert!(judge(history).unwrap_err().contains("first part"));
}

#[test]
fn a_lost_update_of_a_register_is_wrong() {
    let write = |token| HistoryWrite::Register { key: 3, before: 0, token };
    let read = Observation::Register { key: 3, value: 0 };
    let history = vec![
        transaction((0, 10), std::slice::from_ref(&read), &[write(1)]),
        transaction((0, 10), &[read], &[write(2)]),
    ];
    assert!(judge(history).unwrap_err().contains("lost update"));
}

#[test]
fn an_aborted_write_that_is_read_is_wrong() {
    let mut aborted = transaction((0, 10), &[], &[append(1, 1)]);
    aborted.fate = TransactionFate::Aborted;
    let history = vec![aborted, transaction((0, 10), &[list(1, &[1])], &[])];
    assert!(judge(history).unwrap_err().contains("aborted"));
}

fn members(present: &[(u64, WriteToken)]) -> Observation {
    Observation::Members { low: 0, high: 10, present: present.to_vec() }
}

#[test]
fn a_phantom_is_wrong() {
    // The first scans and then writes 1; the second reads list 1 before that and inserts a member that the scan missed.
    let history = vec![
        transaction((0, 10), &[members(&[]), list(1, &[])], &[append(1, 1)]),
        transaction(
            (0, 10),
            &[list(1, &[1]), list(companion(4), &[])],
            &[HistoryWrite::Insert { member: 4, token: 2 }],
        ),
        transaction((20, 30), &[members(&[(4, 2)]), list(companion(4), &[2]), list(1, &[1])], &[]),
    ];
    assert_eq!(judge(history), Ok(()), "the scan comes first");
    let history = vec![
        transaction((0, 10), &[list(companion(4), &[])], &[HistoryWrite::Insert { member: 4, token: 2 }]),
        transaction((20, 30), &[members(&[])], &[]),
        transaction((20, 30), &[list(companion(4), &[2])], &[]),
    ];
    assert!(judge(history).unwrap_err().contains("missed"));
    let history = vec![
        transaction((0, 30), &[list(1, &[]), members(&[])], &[append(2, 1)]),
        transaction((0, 30), &[list(2, &[]), list(companion(4), &[])], &[HistoryWrite::Insert { member: 4, token: 2 }]),
        transaction((40, 50), &[list(2, &[1]), list(companion(4), &[2]), members(&[(4, 2)])], &[]),
    ];
    assert!(judge(history).is_err(), "each came before the other");
}

#[test]
fn what_a_total_loss_took_is_judged_by_itself() {
    let history = RunHistory {
        transactions: vec![
            transaction((0, 10), &[list(1, &[])], &[append(1, 1)]),
            transaction((11, 12), &[list(1, &[1])], &[]),
            transaction((30, 40), &[list(1, &[])], &[append(1, 2)]),
            transaction((50, 60), &[list(1, &[2])], &[]),
        ],
        losses: vec![Loss { windows: [(1, (5, 20))].into() }],
    };
    assert_eq!(check(&history), Ok(()));
    let strict = RunHistory { losses: Vec::new(), ..history };
    assert!(check(&strict).is_err());
}

/// Who deletes a member and is told nothing until after the loss is not judged with those before it, who may have missed the member.
#[test]
fn a_deletion_that_nobody_was_told_of_may_be_missed() {
    let deletion = ObservedTransaction {
        fate: TransactionFate::Unknown,
        ..transaction((11, 60), &[list(companion(4), &[1])], &[HistoryWrite::Delete { member: 4, token: 2 }])
    };
    let history = RunHistory {
        transactions: vec![
            transaction((0, 10), &[list(companion(4), &[])], &[HistoryWrite::Insert { member: 4, token: 1 }]),
            deletion,
            transaction((20, 30), &[members(&[])], &[]),
            transaction((70, 80), &[list(companion(4), &[1, 2])], &[]),
        ],
        losses: vec![Loss { windows: [(1, (35, 40))].into() }],
    };
    assert_eq!(check(&history), Ok(()));
    let mut late = history;
    late.transactions[1].begun = 31;
    assert!(check(&late).unwrap_err().contains("missed"), "it had not begun yet");
}
