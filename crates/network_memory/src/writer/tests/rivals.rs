//! Writers that open one log at the same time, told step by step.

use super::*;
use crate::limits::{BATCH_BYTES, OUTBID_PAUSE_MAX, OUTBID_PAUSE_MIN};

/// On its way: when it arrives, at which writer, from which server.
type Replies = Vec<(u64, usize, ServerId, ToWriter)>;

/// After how long one of two has opened the log that begin at the same time, where a request and its reply take so long together, and the log is read in
/// so many requests, one after the other.
fn opened_beside_another(round_trip: u64, reads: usize) -> u64 {
    let mut net = Net::with(Room { capacity_bytes: 1 << 30, quota_bytes: 1 << 30 });
    let mut old = net.begin(1, Intent::Create, None);
    net.pass(&mut old, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    for _ in 0..reads {
        old.append(net.now, &[7; BATCH_BYTES]).expect("it is open");
    }
    net.pass(&mut old, &[A, B, C], |writer| writer.acknowledged() == writer.end());
    net.pass(&mut old, &[A, B, C], |_| false);
    let mut writers = [net.begin(0x9e37_79b9, Intent::Open, None), net.begin(0x7f4a_7c15, Intent::Open, None)];
    let mut replies: Replies = Vec::new();
    let begun_at = net.now;
    while !writers.iter().any(LogWriter::is_open) {
        assert!(net.now < begun_at + 300 * SECOND, "{writers:?}");
        for (index, writer) in writers.iter_mut().enumerate() {
            let is_due = |(at, to, ..): &mut (u64, usize, ServerId, ToWriter)| *at <= net.now && *to == index;
            for (_, _, server, message) in replies.extract_if(.., is_due) {
                writer.handle(net.now, server, message);
            }
            writer.tick(net.now);
            while let Some((server, request)) = writer.take_requests() {
                let at = usize::from(server.0.port()) - 1;
                let reply = net.servers[at].handle(net.now, LOG, request);
                let message = ToWriter::new(LOG, net.servers[at].incarnation(), reply);
                replies.push((net.now + round_trip, index, server, message));
            }
        }
        net.now += 10 * MILLISECOND;
    }
    net.now - begun_at
}

/// If this failed, two hosts for which opening a log takes longer than a pause could fence each other off for ever.
#[test]
fn one_of_two_opens_the_log_however_long_it_takes() {
    for (round_trip, reads) in [(1, 0), (50, 1), (200, 8), (400, 8)] {
        let time = opened_beside_another(round_trip * MILLISECOND, reads);
        assert!(time < 60 * SECOND, "{time} ns with a round trip of {round_trip} ms and {reads} reads");
    }
}

/// How long a writer waits that is outbid again and again, each time it has sealed the log.
fn pauses(nonce: u64, times: u64) -> Vec<u64> {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, None);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    let mut writer = net.begin(nonce, Intent::Open, None);
    let mut pauses = Vec::new();
    for time in 0..times {
        net.pass(&mut writer, &[A, B, C], |writer| writer.sealing().is_some());
        let epoch = writer.sealing().expect("it seals the log");
        while writer.take_requests().is_some() {}
        let by = WriterEpoch { number: epoch.number + 10 * time, writer: u64::MAX };
        let refused = ServerReply::Refused { epoch, reason: ServerRefusal::Sealed { by } };
        writer.handle(net.now, Net::server(A), ToWriter::new(LOG, Incarnation(1), refused));
        assert!(writer.take_requests().is_none(), "whoever was outbid asks somebody at once: {writer:?}");
        let again_at = writer.next_deadline().expect("it is tried again");
        writer.tick(again_at.saturating_sub(1));
        assert!(writer.take_requests().is_none(), "whoever was outbid does not wait: {writer:?}");
        pauses.push(again_at - net.now);
        net.now = again_at;
    }
    net.pass_long(&mut writer, &[A, B, C], LogWriter::is_open);
    assert!(writer.is_open(), "{writer:?}");
    pauses
}

/// If this failed, a rival who is there for the first time would be waited for as long as one who has come again and again, or two would wait in step.
#[test]
fn whoever_is_outbid_waits_longer_each_time() {
    let longest = |time: u32| OUTBID_PAUSE_MAX.min(OUTBID_PAUSE_MIN << time);
    let drawn: Vec<Vec<u64>> = (2..34).map(|nonce| pauses(nonce << 32, 9)).collect();
    for time in 0..9 {
        let of_all = || drawn.iter().map(|pauses| pauses[time as usize]);
        let (least, most) = (of_all().min().unwrap_or_default(), of_all().max().unwrap_or_default());
        assert!(most < longest(time), "{most} ns, the {time}th time");
        // Of 32 draws some lie in the upper quarter, and some in the lower.
        assert!(most > longest(time) / 4 * 3 && least < longest(time) / 4, "{least} to {most} ns, the {time}th time");
    }
}

/// If this failed, what attempts have left behind that came to nothing, at each server another one, would hold up a writer that has no rival.
#[test]
fn the_seals_of_those_who_are_gone_cost_one_short_pause() {
    for nonce in (2..34).map(|nonce| nonce << 32) {
        let mut net = Net::new();
        let mut old = net.begin(1, Intent::Create, None);
        net.pass(&mut old, &[A, B, C], LogWriter::is_open);
        for (server, number) in [(A, 20), (B, 40), (C, 30)] {
            let epoch = WriterEpoch { number, writer: u64::MAX };
            net.servers[server].handle(net.now, LOG, WriterRequest::Seal { epoch });
        }
        let begun_at = net.now;
        let mut new = net.begin(nonce, Intent::Open, None);
        net.pass_long(&mut new, &[A, B, C], LogWriter::is_open);
        let time = net.now - begun_at;
        assert!(new.is_open() && time < OUTBID_PAUSE_MIN + 50 * MILLISECOND, "{time} ns: {new:?}");
    }
}

/// What becomes of a writer that has opened the log while another one, which it has outbid, waits, and reaches one server alone when it goes on:
/// whether that writer still acknowledges.
fn opened_while_another_waits(planted: Option<PlantedInLog>) -> bool {
    let mut net = Net::new();
    let mut old = net.begin(1, Intent::Create, planted);
    net.pass(&mut old, &[A, B, C], LogWriter::is_open);
    let mut outbid = net.begin(5, Intent::Open, planted);
    net.pass(&mut outbid, &[A, B, C], |writer| writer.sealing().is_some());
    let mut new = net.begin(9, Intent::Open, planted);
    net.pass(&mut new, &[A, B, C], |writer| writer.usable(u64::MAX) == 3);
    net.pass(&mut outbid, &[A, B], |writer| {
        matches!(&writer.phase, WriterPhase::Sealing(_)) && writer.outbid_pause > 0
    });
    assert!(outbid.outbid_pause > 0, "{outbid:?}");
    net.pass_long(&mut outbid, &[C], |_| false);
    new.append(net.now, b"record").expect("it is open");
    net.pass(&mut new, &[A, B, C], |_| false);
    let is_alive = new.stopped().is_none() && new.acknowledged() == RecordNumber(1);
    // Where it gets through it takes the log over.
    net.pass_long(&mut outbid, &[A, B, C], LogWriter::is_open);
    assert!(outbid.is_open() && outbid.end() >= new.acknowledged(), "{outbid:?}");
    is_alive
}

/// If this failed, a log that was opened while another host waited to try again could be stopped by that one, though it reaches too few servers.
#[test]
fn whoever_was_outbid_asks_again_before_the_log_is_sealed() {
    assert!(opened_while_another_waits(None));
    assert!(!opened_while_another_waits(Some(PlantedInLog::SealedUnasked)));
}

/// What comes of it when a writer stands still in the middle of an opening, with the answer of one server of two, which knows of an attempt that came
/// to nothing, and loses its memory then; another writer opens the log meanwhile, with a lower number than that attempt. The records that it has a
/// receipt for, and those that the first finds.
fn opened_meanwhile(planted: Option<PlantedInLog>) -> (RecordNumber, RecordNumber) {
    let mut net = Net::new();
    let begin = |net: &Net, nonce: u64, intent: Intent| {
        let servers = vec![Net::server(A), Net::server(B)];
        let terms = WriterTerms { members: 2, servers, ..net.begin(nonce, intent, planted).terms };
        LogWriter::<MemoryLog>::begin(net.now, terms, nonce, None, intent, planted).expect("terms that make sense")
    };
    let mut old = begin(&net, 1, Intent::Create);
    net.pass(&mut old, &[A, B], |writer| writer.usable(u64::MAX) == 2);
    // The attempt is known to A alone.
    let mut attempt = begin(&net, 7, Intent::Open);
    net.seal(&mut attempt, A);
    assert_eq!((attempt.is_open(), attempt.usable(u64::MAX)), (false, 1), "{attempt:?}");
    // The first has A's answer when it stands still. What it asks B is lost.
    let mut first = begin(&net, 9, Intent::Open);
    net.pass(&mut first, &[A, B], |writer| writer.sealing().is_some());
    net.pass(&mut first, &[A], |_| true);
    net.servers[A] = LogServer::new(Incarnation(11), ROOM);
    let mut second = begin(&net, 5, Intent::Open);
    net.pass(&mut second, &[A, B], LogWriter::is_open);
    second.append(net.now, b"record").expect("it is open");
    net.pass(&mut second, &[A, B], |writer| writer.acknowledged() == RecordNumber(1));
    assert!(second.acknowledged() == RecordNumber(1) && second.epoch() < attempt.epoch(), "{second:?}");
    net.pass(&mut first, &[], |_| false);
    assert!(matches!(first.phase, WriterPhase::Active) && !first.is_open(), "{first:?}");
    net.pass_long(&mut first, &[A, B], LogWriter::is_open);
    assert!(first.is_open(), "{first:?}");
    (second.acknowledged(), first.end())
}

/// If this failed, what was acknowledged could be lost to a writer that has been held up, because it knows of an attempt with a higher number.
#[test]
fn an_epoch_that_was_opened_meanwhile_is_heard_of() {
    assert_eq!(opened_meanwhile(None), (RecordNumber(1), RecordNumber(1)));
    assert_eq!(opened_meanwhile(Some(PlantedInLog::UnknownOverwritten)), (RecordNumber(1), RecordNumber(0)));
}
