//! Accidents so rare that random schedules hardly come to them, told step by step.

mod rivals;

use super::*;
use crate::limits::NUMBER_MAX;
use crate::message::{HeldLog, ServerRefusal};
use crate::names::{CountedServer, DiskId, Incarnation, LogMark};
use crate::server::{LogServer, Room};
use commit_log::MemoryLog;
use raidcomm::limits::{MILLISECOND, SECOND};
use std::net::SocketAddr;

const LOG: LogId = LogId(1);
const ROOM: Room = Room { capacity_bytes: 1 << 20, quota_bytes: 1 << 20 };
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// Three servers on a network that takes no time, and loses what does not go between a writer and the servers that it reaches.
struct Net {
    now: u64,
    servers: Vec<LogServer>,
}

impl Net {
    fn new() -> Net {
        Net::with(ROOM)
    }

    fn with(room: Room) -> Net {
        let server = |index| LogServer::new(Incarnation(index), room);
        Net { now: SECOND, servers: (1..=3).map(server).collect() }
    }

    fn server(index: usize) -> ServerId {
        ServerId(SocketAddr::from(([10, 0, 0, 1], 1 + index as u16)))
    }

    /// A writer without a disk.
    fn begin(&self, nonce: u64, intent: Intent, planted: Option<PlantedInLog>) -> LogWriter<MemoryLog> {
        self.begin_on(None, nonce, intent, planted)
    }

    /// A writer with this disk.
    fn begin_on(
        &self,
        disk: Option<MemoryLog>,
        nonce: u64,
        intent: Intent,
        planted: Option<PlantedInLog>,
    ) -> LogWriter<MemoryLog> {
        let disk = disk.map(|log| WriterDisk { log, name_if_new: DiskId(1), boot: Boot(1), is_cut: false });
        let servers = (0..3).map(Net::server).collect();
        let terms = WriterTerms {
            log: LOG,
            copies: 2,
            members: 3,
            servers,
            restart_on_this_disk: false,
            retained_bytes_max: u64::MAX,
        };
        LogWriter::begin(self.now, terms, nonce, disk, intent, planted).expect("terms that make sense")
    }

    /// Lets time pass for a writer that reaches these servers, until then or for a second.
    fn pass(
        &mut self,
        writer: &mut LogWriter<MemoryLog>,
        reach: &[usize],
        until: impl Fn(&LogWriter<MemoryLog>) -> bool,
    ) {
        let end = self.now + SECOND;
        while self.now < end {
            if let Some(disk) = writer.disk_mut().filter(|disk| disk.sync_requested().is_some()) {
                disk.complete_sync();
            }
            writer.tick(self.now);
            while let Some((server, request)) = writer.take_requests() {
                let index = usize::from(server.0.port()) - 1;
                if reach.contains(&index) {
                    let reply = self.servers[index].handle(self.now, LOG, request);
                    let message = ToWriter::new(LOG, self.servers[index].incarnation(), reply);
                    writer.handle(self.now, server, message);
                }
                if until(writer) {
                    return;
                }
            }
            self.now += 10 * MILLISECOND;
        }
    }
}

impl Net {
    /// As `pass`, for ten seconds.
    fn pass_long(
        &mut self,
        writer: &mut LogWriter<MemoryLog>,
        reach: &[usize],
        until: impl Fn(&LogWriter<MemoryLog>) -> bool,
    ) {
        for _ in 0..10 {
            if until(writer) {
                return;
            }
            self.pass(writer, reach, &until);
        }
    }

    /// A writer has asked all servers, and seals the log at one alone.
    fn seal(&mut self, writer: &mut LogWriter<MemoryLog>, server: usize) {
        self.pass(writer, &[A, B, C], |writer| writer.sealing().is_some());
        self.pass(writer, &[server], |_| false);
    }
}

/// What comes of it when a server forgets for whom it had sealed the log: the records that the old writer has a receipt for, and those
/// that are found at last.
fn forgotten_seal(planted: Option<PlantedInLog>) -> (RecordNumber, RecordNumber) {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    let append = |net: &mut Net, old: &mut LogWriter<MemoryLog>, reach: &[usize]| {
        old.append(net.now, b"record").expect("it is open");
        let end = old.end();
        net.pass(old, reach, |writer| writer.acknowledged() >= end);
    };
    append(&mut net, &mut old, &[A, B, C]);
    assert_eq!(old.acknowledged(), RecordNumber(1));
    // Two others seal the log at B alone, the second with a higher number than the old writer's next.
    let mut first = net.begin(9, Intent::Open, planted);
    net.seal(&mut first, B);
    let mut second = net.begin(8, Intent::Open, planted);
    net.seal(&mut second, B);
    // The first has outbid it.
    net.seal(&mut second, B);
    assert_eq!(second.sealing().map(|epoch| epoch.number), Some(2), "{second:?}");
    // B forgets that. The old writer begins another epoch for it, of which C learns no more than the seal.
    net.servers[B] = LogServer::new(Incarnation(4), ROOM);
    old.disconnected(net.now, Net::server(B));
    net.pass(&mut old, &[A, B, C], |writer| writer.epoch.number > 1 || matches!(writer.phase, WriterPhase::Sealing(_)));
    net.pass(&mut old, &[A, B, C], |writer| matches!(writer.phase, WriterPhase::Active));
    net.pass(&mut old, &[A, B], |writer| writer.usable(u64::MAX) == 2);
    append(&mut net, &mut old, &[A, B]);
    // With B's old answer and C the second has sealed enough. C holds its log.
    net.pass(&mut second, &[C], |writer| writer.usable(u64::MAX) == 1);
    let mut last = net.begin(5, Intent::Open, planted);
    net.pass(&mut last, &[A, B, C], LogWriter::is_open);
    assert!(last.is_open(), "{last:?}");
    (old.acknowledged(), last.end())
}

/// If this failed, what was acknowledged after a server had lost its memory could be lost to an attempt from before that.
#[test]
fn an_epoch_is_not_established_by_servers_that_have_forgotten() {
    let (acknowledged, found) = forgotten_seal(None);
    assert!(found >= acknowledged, "record {found} of {acknowledged} is lost");
    // Without the rule it is: otherwise this test would not come to where it matters.
    let (acknowledged, found) = forgotten_seal(Some(PlantedInLog::NewLivesEstablish));
    assert!(found < acknowledged, "{found} of {acknowledged}");
}

/// What comes of it when an epoch that was begun with a server that had come back empty was never established, and another one was: the
/// records that have a receipt there, and those that are found by whoever knows of the first alone; none if that one does not open.
fn unestablished_epoch(planted: Option<PlantedInLog>) -> (RecordNumber, Option<RecordNumber>) {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    // The first has the answer of C alone, which it keeps.
    let mut first = net.begin(9, Intent::Open, planted);
    net.seal(&mut first, C);
    // The second gets through with A and C.
    let mut second = net.begin(5, Intent::Open, planted);
    net.pass(&mut second, &[A, C], LogWriter::is_open);
    second.append(net.now, b"record").expect("it is open");
    net.pass(&mut second, &[A, C], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!(second.acknowledged(), RecordNumber(1));
    // A forgets that. With A and B the first begins an epoch of which nobody but them knows.
    net.servers[A] = LogServer::new(Incarnation(4), ROOM);
    net.pass(&mut first, &[A, B], |writer| writer.usable(u64::MAX) == 2);
    assert!(!first.is_open(), "{first:?}");
    // Neither does whoever asks these two.
    let mut last = net.begin(7, Intent::Open, planted);
    net.pass(&mut last, &[A, B], LogWriter::is_open);
    let found = last.is_open().then(|| last.end());
    net.pass(&mut last, &[A, B, C], LogWriter::is_open);
    assert!(planted.is_some() || last.end() == second.acknowledged(), "{last:?}");
    (second.acknowledged(), found)
}

/// If this failed, what was acknowledged could be lost to an epoch in which nothing ever was.
#[test]
fn an_epoch_that_was_not_established_is_nobodys_basis() {
    assert_eq!(unestablished_epoch(None), (RecordNumber(1), None));
    // Without the rule the log is opened without the record.
    assert_eq!(unestablished_epoch(Some(PlantedInLog::UnestablishedBasis)), (RecordNumber(1), Some(RecordNumber(0))));
}

/// Where the log ends that is found on its own disk after an attempt that did not get through, when the record is there alone.
fn record_on_the_disk(planted: Option<PlantedInLog>) -> RecordNumber {
    // No server has room for the record.
    let mut net = Net::with(Room { capacity_bytes: 100, quota_bytes: 100 });
    let mut writer = net.begin_on(Some(MemoryLog::new()), 1, Intent::Create, planted);
    net.pass(&mut writer, &[A, B, C], LogWriter::is_open);
    writer.append(net.now, &[7; 200]).expect("it is open");
    net.pass(&mut writer, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!(writer.take_receipts().last(), Some((RecordNumber(1), RecordReceipt::Disk)));
    for nonce in [2, 3] {
        let mut disk = writer.into_disk().expect("it has one");
        disk.restart();
        // The lease of the one before is waited out.
        net.now += 3 * SECOND;
        writer = net.begin_on(Some(disk), nonce, Intent::Open, planted);
        net.pass(&mut writer, &[A, B, C], |_| false);
    }
    writer.end()
}

/// If this failed, a log whose servers are full would be lost by trying to open it twice.
#[test]
fn an_attempt_that_does_not_get_through_leaves_the_disk_what_it_was() {
    assert_eq!(record_on_the_disk(None), RecordNumber(1));
    assert_eq!(record_on_the_disk(Some(PlantedInLog::AttemptForgetsItsLog)), RecordNumber(0));
}

/// If this failed, one memory would count as two copies.
#[test]
fn a_server_is_named_once() {
    let net = Net::new();
    let servers = vec![Net::server(A), Net::server(B), Net::server(A)];
    let terms = WriterTerms { servers, ..net.begin(1, Intent::Create, None).terms };
    let begun = LogWriter::<MemoryLog>::begin(net.now, terms, 1, None, Intent::Create, None);
    assert!(matches!(begun, Err(BeginError::Twice(server)) if server == Net::server(A)));
    // The same server under another address.
    for planted in [None, Some(PlantedInLog::SameServerCounts)] {
        let mut net = Net::new();
        net.servers[B] = LogServer::new(Incarnation(1), ROOM);
        let mut writer = net.begin(1, Intent::Create, planted);
        net.pass(&mut writer, &[A, B, C], LogWriter::is_open);
        let (one, other) = (Net::server(A), Net::server(B));
        let stop = WriterStop::SameServer { one, other };
        assert_eq!(writer.stopped(), planted.is_none().then_some(&stop));
    }
}

/// If this failed, what was acknowledged after a log had gone to another disk would be overwritten by the old one, which has counted
/// further.
#[test]
fn a_disk_whose_loss_was_accepted_does_not_return() {
    assert_eq!(old_disk_returns(None), Some(WriterStop::NeedsDisk(DiskId(2))));
    assert_ne!(old_disk_returns(Some(PlantedInLog::RivalIgnored)), Some(WriterStop::NeedsDisk(DiskId(2))));
}

/// Why the writer of a disk stops whose loss was accepted while it was cut off.
fn old_disk_returns(planted: Option<PlantedInLog>) -> Option<WriterStop> {
    let mut net = Net::new();
    let begin = |net: &Net, disk: MemoryLog, id: u64, nonce: u64, intent: Intent| {
        let terms = WriterTerms { restart_on_this_disk: true, ..net.begin(nonce, intent, None).terms };
        let disk = WriterDisk { log: disk, name_if_new: DiskId(id), boot: Boot(1), is_cut: false };
        LogWriter::begin(net.now, terms, nonce, Some(disk), intent, planted).expect("terms that make sense")
    };
    let mut old = begin(&net, MemoryLog::new(), 1, 9, Intent::Create);
    net.pass(&mut old, &[A, B, C], |writer| writer.is_open() && writer.usable(u64::MAX) == 3);
    // Cut off, it counts on alone, with its disk.
    old.renew(net.now, 100);
    old.append(net.now, b"alone").expect("it is open");
    net.pass(&mut old, &[], |writer| writer.acknowledged() == RecordNumber(1));
    let mut new = begin(&net, MemoryLog::new(), 2, 2, Intent::AcceptLoss);
    net.pass(&mut new, &[A, B, C], |writer| writer.is_open() && writer.usable(u64::MAX) == 3);
    new.append(net.now, b"elsewhere").expect("it is open");
    net.pass(&mut new, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(1));
    // It comes back, and after that is restarted.
    net.pass(&mut old, &[A, B, C], |writer| writer.stopped().is_some());
    let stop = old.stopped().cloned();
    if planted.is_some() {
        return stop;
    }
    let mut disk = old.into_disk().expect("it has one");
    disk.restart();
    let mut again = begin(&net, disk, 1, 10, Intent::Open);
    net.pass(&mut again, &[A, B, C], |writer| writer.stopped().is_some());
    assert_eq!(again.stopped(), Some(&WriterStop::NeedsDisk(DiskId(2))));
    new.append(net.now, b"still").expect("it is open");
    net.pass(&mut new, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(2));
    assert!(new.is_open() && new.acknowledged() == RecordNumber(2), "{new:?}");
    stop
}

/// If this failed, a server that holds an unacknowledged record more than the log could never be restored if the log takes more than half of
/// its memory.
#[test]
fn a_server_with_a_longer_log_needs_no_room_for_two() {
    let mut net = Net::with(Room { capacity_bytes: 2_000, quota_bytes: 2_000 });
    let mut old = net.begin(1, Intent::Create, None);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    for _ in 0..10 {
        old.append(net.now, &[7; 100]).expect("it is open");
    }
    net.pass(&mut old, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(10));
    net.pass(&mut old, &[A, B, C], |_| false);
    old.append(net.now, &[8; 100]).expect("it is open");
    net.pass(&mut old, &[A], |_| false);
    let mut new = net.begin(2, Intent::Open, None);
    net.pass(&mut new, &[B, C], LogWriter::is_open);
    assert_eq!((new.is_open(), new.end()), (true, RecordNumber(10)), "{new:?}");
    net.pass(&mut new, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    assert_eq!(new.usable(u64::MAX), 3, "{new:?}");
}

/// If this failed, logs that are over would fill servers until nobody could make one.
#[test]
fn a_log_that_is_over_leaves_nothing() {
    let mut net = Net::new();
    let mut writer = net.begin(1, Intent::Create, None);
    net.pass(&mut writer, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    writer.append(net.now, b"record").expect("it is open");
    net.pass(&mut writer, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(1));
    writer.remove(net.now).expect("it is open");
    // Whom the request did not reach is asked again.
    net.pass(&mut writer, &[A], |_| false);
    assert_eq!(writer.stopped(), None);
    net.pass(&mut writer, &[A, B, C], |writer| writer.stopped().is_some());
    assert_eq!(writer.stopped(), Some(&WriterStop::Removed));
    assert!(net.servers.iter().all(|server| server.status().logs.is_empty() && server.status().used_bytes == 0));
    // Neither does whoever looks for a log that there is not.
    let mut other = net.begin(2, Intent::Open, None);
    net.pass(&mut other, &[A, B, C], |_| false);
    assert!(!other.is_open() && net.servers.iter().all(|server| server.status().logs.is_empty()));
}

/// What comes of it when a loss is accepted by somebody who hears one server of three alone, while the writer reaches another one, and one copy
/// is enough: whether that somebody opens the log.
fn loss_accepted_nearly_alone(planted: Option<PlantedInLog>) -> bool {
    let mut net = Net::new();
    let begin = |net: &Net, nonce: u64, intent: Intent| {
        let terms = WriterTerms { copies: 1, ..net.begin(nonce, intent, planted).terms };
        LogWriter::<MemoryLog>::begin(net.now, terms, nonce, None, intent, planted).expect("terms that make sense")
    };
    let mut old = begin(&net, 1, Intent::Create);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    let mut new = begin(&net, 2, Intent::AcceptLoss);
    for _ in 0..4 {
        net.pass(&mut new, &[A], LogWriter::is_open);
    }
    old.append(net.now, b"record").expect("it is open");
    net.pass(&mut old, &[C], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!(old.acknowledged(), RecordNumber(1));
    new.is_open()
}

/// If this failed, two writers would acknowledge records of one log, because a loss was accepted while one of them was only cut off.
#[test]
fn lost_memories_are_given_up_and_silent_servers_are_not() {
    assert!(!loss_accepted_nearly_alone(None));
    assert!(loss_accepted_nearly_alone(Some(PlantedInLog::SilentServersGivenUp)));
}

/// What a server says to whoever reads a record that had rotted there, after a recovery that knew.
fn rotten_record(planted: Option<PlantedInLog>) -> ServerReply {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    old.append(net.now, b"record").expect("it is open");
    net.pass(&mut old, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(1));
    net.pass(&mut old, &[A, B, C], |_| false);
    net.servers[A].damage(LOG, RecordNumber(0));
    let mut new = net.begin(2, Intent::Open, planted);
    net.pass(&mut new, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    assert_eq!(new.usable(u64::MAX), 3, "{new:?}");
    let read = WriterRequest::Read { epoch: new.epoch(), position: RecordNumber(0) };
    net.servers[A].handle(net.now, LOG, read)
}

/// If this failed, a server would count as a copy of what it cannot give back.
#[test]
fn a_rotten_record_is_restored() {
    assert!(matches!(rotten_record(None), ServerReply::Records { records, .. } if records.len() == 1));
    let rotten = rotten_record(Some(PlantedInLog::DamagedCounts));
    assert!(matches!(rotten, ServerReply::Refused { .. }), "{rotten:?}");
}

/// What comes of it when a loss is accepted while answers are under way to the old writer, from servers that have lost their memory since: up to
/// where it acknowledges, and whether it may hand that out.
fn answers_from_before(planted: Option<PlantedInLog>) -> (RecordNumber, bool) {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    old.append(net.now, b"record").expect("it is open");
    old.flush(net.now);
    let mut answers = Vec::new();
    while let Some((server, request)) = old.take_requests() {
        let index = usize::from(server.0.port()) - 1;
        if index != C {
            let reply = net.servers[index].handle(net.now, LOG, request);
            answers.push((server, ToWriter::new(LOG, net.servers[index].incarnation(), reply)));
        }
    }
    net.servers[A] = LogServer::new(Incarnation(11), ROOM);
    net.servers[B] = LogServer::new(Incarnation(12), ROOM);
    let mut new = net.begin(2, Intent::AcceptLoss, None);
    net.pass_long(&mut new, &[A, B, C], LogWriter::is_open);
    new.append(net.now, b"elsewhere").expect("it is open");
    net.pass(&mut new, &[A, B, C], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!((new.doubt(), new.acknowledged()), (Some(RecoveryDoubt::LossAccepted), RecordNumber(1)));
    for (server, answer) in answers {
        old.handle(net.now, server, answer);
    }
    let is_vouched = old.vouches(net.now, old.acknowledged());
    let acknowledged = old.acknowledged();
    net.pass(&mut old, &[A, B, C], |writer| writer.stopped().is_some());
    assert!(planted.is_some() || matches!(old.stopped(), Some(WriterStop::Fenced { .. })), "{old:?}");
    (acknowledged, is_vouched)
}

/// If this failed, two writers would acknowledge other records at one place: the first by what servers have told it, and have lost since.
#[test]
fn answers_to_old_questions_do_not_count() {
    assert_eq!(answers_from_before(None), (RecordNumber(0), false));
    assert_eq!(answers_from_before(Some(PlantedInLog::OldAnswersCount)), (RecordNumber(1), true));
}

/// The fourth server, where there are four.
const D: usize = 3;

/// Four servers, of which three must answer.
fn four() -> Net {
    let mut net = Net::new();
    net.servers.push(LogServer::new(Incarnation(4), ROOM));
    net
}

/// A writer without a disk that knows all four.
fn begin_of_four(net: &Net, nonce: u64, intent: Intent, planted: Option<PlantedInLog>) -> LogWriter<MemoryLog> {
    let servers = (0..4).map(Net::server).collect();
    let terms = WriterTerms { members: 4, servers, ..net.begin(nonce, intent, planted).terms };
    LogWriter::begin(net.now, terms, nonce, None, intent, planted).expect("terms that make sense")
}

/// What comes of it when a record is held by B and D, these servers lose their memory, who accepts that gets no further than to D, and the record
/// rots there: where the log ends that is opened then, and with which doubt; none if it is not.
fn acceptance_that_breaks_off(
    lost: &[usize],
    planted: Option<PlantedInLog>,
) -> Option<(RecordNumber, Option<RecoveryDoubt>)> {
    let mut net = four();
    let mut old = begin_of_four(&net, 1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C, D], |writer| writer.usable(u64::MAX) == 4);
    old.append(net.now, b"record").expect("it is open");
    net.pass(&mut old, &[B, D], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!(old.acknowledged(), RecordNumber(1));
    for &server in lost {
        net.servers[server] = LogServer::new(Incarnation(11 + server as u64), ROOM);
    }
    let mut new = begin_of_four(&net, 2, Intent::AcceptLoss, planted);
    net.pass_long(&mut new, &[A, B, C, D], |writer| matches!(writer.phase, WriterPhase::Active));
    net.pass(&mut new, &[D], |writer| writer.usable(u64::MAX) == 1);
    assert_eq!((new.usable(u64::MAX), new.is_open(), new.end()), (1, false, RecordNumber(1)), "{new:?}");
    net.servers[D].damage(LOG, RecordNumber(0));
    let mut last = begin_of_four(&net, 3, Intent::Open, planted);
    net.pass_long(&mut last, &[A, B, C, D], LogWriter::is_open);
    last.is_open().then(|| (last.end(), last.doubt()))
}

/// If this failed, a record could be lost without a word, because somebody has tried to accept a loss that did not stand in his way.
#[test]
fn whoever_accepts_a_loss_gives_up_only_what_is_wanting() {
    assert_eq!(acceptance_that_breaks_off(&[B], None), None);
    let planted = acceptance_that_breaks_off(&[B], Some(PlantedInLog::GivenUpForNothing));
    assert_eq!(planted, Some((RecordNumber(0), None)));
}

/// If this failed, a record could be lost without a word after its loss was accepted by somebody else, who has not opened the log.
#[test]
fn what_an_attempt_has_given_up_is_told() {
    assert_eq!(acceptance_that_breaks_off(&[B, C], None), Some((RecordNumber(0), Some(RecoveryDoubt::LossAccepted))));
    let planted = acceptance_that_breaks_off(&[B, C], Some(PlantedInLog::GivenUpUntold));
    assert_eq!(planted, Some((RecordNumber(0), None)));
}

/// What comes of it when who accepts the loss of one memory gets no further than to that server, and the log is opened without it, used, with it at
/// last or not, and opened once more with it: where the log ends, and with which doubt.
fn opened_after_an_acceptance(is_met: bool, planted: Option<PlantedInLog>) -> (RecordNumber, Option<RecoveryDoubt>) {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    net.servers[B] = LogServer::new(Incarnation(12), ROOM);
    let mut accepting = net.begin(2, Intent::AcceptLoss, planted);
    net.pass_long(&mut accepting, &[A, B], |writer| matches!(writer.phase, WriterPhase::Active));
    net.pass(&mut accepting, &[B], |writer| writer.usable(u64::MAX) == 1);
    assert_eq!((accepting.usable(u64::MAX), accepting.is_open()), (1, false), "{accepting:?}");
    let mut new = net.begin(3, Intent::Open, planted);
    net.pass_long(&mut new, &[A, C], LogWriter::is_open);
    new.append(net.now, b"record").expect("it is open");
    net.pass(&mut new, &[A, C], |writer| writer.acknowledged() == RecordNumber(1));
    assert_eq!((new.acknowledged(), new.doubt()), (RecordNumber(1), None));
    if is_met {
        net.pass_long(&mut new, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
        assert_eq!((new.stopped(), new.usable(u64::MAX)), (None, 3), "{new:?}");
    }
    let mut last = net.begin(5, Intent::Open, planted);
    net.pass_long(&mut last, &[A, B, C], LogWriter::is_open);
    (last.end(), last.doubt())
}

/// If this failed, what was acknowledged could be lost to an attempt to accept a loss that came to nothing, of which nobody knew any more.
#[test]
fn an_acceptance_that_came_to_nothing_takes_nothing() {
    assert_eq!(opened_after_an_acceptance(false, None), (RecordNumber(1), None));
    assert_eq!(opened_after_an_acceptance(true, None), (RecordNumber(1), None));
    let planted = opened_after_an_acceptance(false, Some(PlantedInLog::AcceptedRanksAbove));
    assert_eq!(planted, (RecordNumber(0), Some(RecoveryDoubt::LossAccepted)));
}

/// What comes of it when a loss is accepted by somebody who hears of an early epoch alone, and seals a member of the latest that has not taken
/// part in it yet: what the old writer and the new one acknowledge.
fn member_not_yet_met(planted: Option<PlantedInLog>) -> (RecordNumber, RecordNumber) {
    let mut net = four();
    let mut old = begin_of_four(&net, 9, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C, D], |writer| writer.usable(u64::MAX) == 4);
    old.renew(net.now, 5);
    net.pass(&mut old, &[A, C, D], |writer| writer.usable(u64::MAX) == 3 && writer.established);
    assert_eq!((old.epoch.number, old.usable(u64::MAX)), (5, 3), "{old:?}");
    net.servers[A] = LogServer::new(Incarnation(11), ROOM);
    net.servers[D] = LogServer::new(Incarnation(14), ROOM);
    let mut new = begin_of_four(&net, 2, Intent::AcceptLoss, planted);
    net.pass_long(&mut new, &[A, B, D], |writer| matches!(writer.phase, WriterPhase::Active));
    net.pass(&mut new, &[A, D], LogWriter::is_open);
    new.append(net.now, b"elsewhere").expect("it is open");
    net.pass(&mut new, &[A, D], |writer| writer.acknowledged() == RecordNumber(1));
    old.append(net.now, b"record").expect("it is open");
    net.pass(&mut old, &[B, C], |writer| writer.acknowledged() == RecordNumber(1));
    (old.acknowledged(), new.acknowledged())
}

/// If this failed, a writer could go on with members that have been sealed against it, because it has counted further.
#[test]
fn whoever_accepts_a_loss_counts_further_than_anybody() {
    assert_eq!(member_not_yet_met(None), (RecordNumber(0), RecordNumber(1)));
    assert_eq!(member_not_yet_met(Some(PlantedInLog::AcceptedNearby)), (RecordNumber(1), RecordNumber(1)));
}

/// If this failed, nobody would be told why accepting a loss takes a lease longer than opening a log, or who is waited for.
#[test]
fn whoever_holds_a_seal_says_so() {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, None);
    net.pass(&mut old, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    let mut new = net.begin(2, Intent::AcceptLoss, None);
    net.pass(&mut new, &[A, B, C], LogWriter::is_open);
    let missing = new.missing().map(|missing| missing.servers.len());
    assert_eq!((new.is_open(), missing), (false, Some(3)), "{new:?}");
    net.pass_long(&mut new, &[A, B, C], LogWriter::is_open);
    assert!(new.is_open() && new.missing().is_none(), "{new:?}");
}

/// What is made of a copy of an early epoch, where a member that holds the log of the last one is damaged, and the other has never held it.
fn old_copy(planted: Option<PlantedInLog>) -> judge::Diagnosis {
    let epoch = |number| WriterEpoch { number, writer: 1 };
    let member = |index, life| {
        let incarnation = Incarnation(life);
        CountedServer { server: Net::server(index), incarnation, established: incarnation }
    };
    let configuration = |number| Configuration {
        epoch: epoch(number),
        copies: 2,
        members: vec![member(A, 1), member(B, 2)],
        fallback: Fallback::UnderLease,
        continues: epoch(number - 1),
        generation: 0,
        doubt: None,
    };
    let (own, last) = (configuration(2), configuration(4));
    let damaged = HeldLog { configuration: Some(last), is_established: true, ..HeldLog::default() };
    let answers = [(Net::server(A), (Incarnation(1), damaged)), (Net::server(B), (Incarnation(2), HeldLog::default()))];
    judge::judge(&judge::Evidence {
        own: Some(judge::OwnLog {
            configuration: &own,
            end: LogMark::default(),
            is_complete: false,
            is_established: true,
        }),
        disk: None,
        is_of_this_disk: false,
        asked: &[Net::server(A), Net::server(B)],
        answers: &answers.into_iter().collect(),
        waiting: &BTreeMap::new(),
        damaged: &[Net::server(A)].into_iter().collect(),
        intent: Intent::Open,
        planted,
    })
}

/// If this failed, a copy of an early epoch would be opened in place of a damaged one, and all that came after it would be lost without a word.
#[test]
fn an_old_copy_is_not_opened() {
    assert!(matches!(old_copy(None), judge::Diagnosis::Wait(_)));
    assert!(matches!(old_copy(Some(PlantedInLog::OldCopyChosen)), judge::Diagnosis::Ready(_)));
}

/// What a writer makes of servers that say for whom they have sealed the log: when it is being opened, or, of a disk, when it is open.
fn sealed_by(number: u64, is_open: bool) -> LogWriter<MemoryLog> {
    let mut net = Net::new();
    let terms = WriterTerms { restart_on_this_disk: is_open, ..net.begin(1, Intent::Create, None).terms };
    let disk = WriterDisk { log: MemoryLog::new(), name_if_new: DiskId(1), boot: Boot(1), is_cut: false };
    let mut writer =
        LogWriter::begin(net.now, terms, 1, Some(disk), Intent::Create, None).expect("terms that make sense");
    if is_open {
        net.pass(&mut writer, &[A, B, C], |writer| writer.is_open() && writer.usable(u64::MAX) == 3);
    } else {
        net.pass(&mut writer, &[A, B, C], |writer| writer.sealing().is_some());
    }
    let of = writer.sealing().unwrap_or(writer.epoch());
    let reason = ServerRefusal::Sealed { by: WriterEpoch { number, writer: 2 } };
    let message = ToWriter::new(LOG, Incarnation(1), ServerReply::Refused { epoch: of, reason });
    writer.handle(net.now, Net::server(A), message);
    net.pass(&mut writer, &[A, B, C], |writer| writer.is_open() && writer.usable(u64::MAX) == 3);
    writer
}

/// If this failed, a damaged answer would stop the process, or have the writer begin again at the lowest epoch, below all that servers have sealed.
#[test]
fn a_number_that_nobody_counts_to_is_no_answer() {
    for is_open in [false, true] {
        for number in [NUMBER_MAX + 1, u64::MAX] {
            let writer = sealed_by(number, is_open);
            assert!(writer.is_open() && writer.epoch().number <= 2, "{writer:?}");
        }
        // The highest number can be told, and nothing follows it.
        let writer = sealed_by(NUMBER_MAX, is_open);
        assert_eq!(writer.stopped(), Some(&WriterStop::NumbersUsedUp { number: NUMBER_MAX + 1 }));
        let writer = sealed_by(NUMBER_MAX - 1, is_open);
        assert!(writer.is_open() && writer.epoch().number == NUMBER_MAX, "{writer:?}");
    }
}
