//! Two keepers with nothing but a network between them, and what a clause of the rules is worth.

use leases::{Keeper, LeaseSaid, MessageTaken};
use messages::epoch::{Member, MemberState, Placement, ProposalId};
use messages::lease::MemberLease;
use messages::limits::{MILLISECOND, SECOND};
use messages::planted::{Bug, Planted};
use messages::replication::ReplicationMessage;
use messages::{Envelope, Epoch, EpochNumber, Incarnation, LeaseLength, Message, OracleLife, ServerKind, SiteId};

const A: SiteId = SiteId(1);
const B: SiteId = SiteId(2);
const LIFE: Incarnation = Incarnation(3);
const START: u64 = 100 * SECOND;

fn epoch(number: u64) -> Epoch {
    let member = Member::beginning(LIFE, MemberState::Up);
    Epoch {
        number: EpochNumber(number),
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        members: [(A, member), (B, member)].into(),
        sessions: [(A, 0), (B, 0)].into(),
        required_copies: 1,
        placement: Placement::Everywhere,
        oracle: OracleLife(1),
        restart: false,
    }
}

fn length(milliseconds: u64) -> LeaseLength {
    LeaseLength::from_milliseconds(milliseconds).expect("it is in range")
}

fn keeper(site: SiteId, planted: Planted) -> Keeper {
    let mut keeper = Keeper::new(site, length(400), planted);
    keeper.turned(START);
    keeper.open(&epoch(7), START);
    keeper
}

fn from(site: SiteId, number: u64, message: ReplicationMessage) -> Envelope {
    let kind = ServerKind::ReplicationController;
    let (message, epoch) = (Message::Replication(message), EpochNumber(number));
    Envelope { from_site: site, from: kind, to_site: A, to: kind, epoch, incarnation: LIFE, message }
}

fn asks(sent_at: u64, milliseconds: u64) -> ReplicationMessage {
    ReplicationMessage::LeaseRequest { sent_at, length: length(milliseconds) }
}

/// What A grants B when B asks.
fn grants(keeper: &Keeper, now: u64, milliseconds: u64) -> bool {
    let mut said = LeaseSaid::new();
    keeper.handle(now, &from(B, 7, asks(1, milliseconds)), &mut said);
    said.iter().any(|(site, message)| *site == B && matches!(message, ReplicationMessage::LeaseGrant { .. }))
}

fn of_b(keeper: &mut Keeper) -> MemberLease {
    keeper.news().expect("something has happened").members[0].clone()
}

/// If this failed, a site would not learn that it may read, or until when.
#[test]
fn a_lease_runs_from_when_it_was_asked_for() {
    let mut a = keeper(A, Planted::none());
    let mut said = LeaseSaid::new();
    a.tick(START, &mut said);
    assert!(matches!(said[..], [(B, ReplicationMessage::LeaseRequest { sent_at: START, .. })]));
    let grant = |sent_at| ReplicationMessage::LeaseGrant { sent_at, length: length(400) };
    let answered = START + 30 * MILLISECOND;
    assert_eq!(a.handle(answered, &from(B, 7, grant(START)), &mut said), MessageTaken::Yes);
    let lease = of_b(&mut a);
    assert_eq!((lease.held_until, lease.heard_at), (START + 400 * MILLISECOND, answered));
    assert_eq!((lease.unanswered_since, lease.round_trip), (None, Some(30 * MILLISECOND)));
    // From the future: nobody can have been asked for it.
    a.handle(answered, &from(B, 7, grant(answered + SECOND)), &mut said);
    assert_eq!(of_b(&mut a).held_until, START + 400 * MILLISECOND);
    // Of another epoch, or another life.
    assert_eq!(a.handle(answered, &from(B, 6, grant(answered)), &mut said), MessageTaken::Stray);
    let other = Envelope { incarnation: Incarnation(4), ..from(B, 7, grant(answered)) };
    assert_eq!(a.handle(answered, &other, &mut said), MessageTaken::Stray);
    assert_eq!(a.news(), None, "strays tell of nothing");
}

/// If this failed, the next epoch could commit while a member of this one reads.
#[test]
fn nothing_is_granted_once_the_epoch_is_over() {
    for (planted, sent) in [(Planted::none(), false), (Planted::only(Bug::GrantAfterSeal), true)] {
        let mut a = keeper(A, planted);
        assert!(grants(&a, START, 400));
        a.close();
        let news = a.news().expect("it is closed");
        assert!(news.closed);
        assert_eq!(news.members[0].granted_until, START + length(400).waited_out());
        assert_eq!(grants(&a, START + SECOND, 400), sent, "the planted keeper must be seen through");
    }
}

/// If this failed, a site whose leases have become shorter would be waited for too short a time.
#[test]
fn what_was_promised_stays_promised() {
    for (planted, forgets) in [(Planted::none(), false), (Planted::only(Bug::ShrinkForgetsLonger), true)] {
        let mut a = keeper(A, planted);
        assert!(grants(&a, START, 1_000) && grants(&a, START + MILLISECOND, 200));
        let promised = START + length(1_000).waited_out();
        assert_eq!(of_b(&mut a).granted_until < promised, forgets, "the planted keeper must be seen through");
    }
}

/// If this failed, a site that answers nobody would keep the others from reading, or keep its own leases for ever.
#[test]
fn a_site_whose_servers_stand_still_grants_nothing() {
    let mut a = keeper(A, Planted::none());
    let late = START + leases::limits::SERVERS_SILENT;
    assert!(!grants(&a, late, 400), "they have had no turn");
    a.turned(late);
    assert!(grants(&a, late, 400));
    a.stalled(true);
    assert!(!grants(&a, late, 400), "the disk has stalled");
    a.stalled(false);
    a.refuse(B);
    assert!(!grants(&a, late, 400), "it is to be left out");
    a.open(&epoch(8), late);
    let mut said = LeaseSaid::new();
    assert_eq!(a.handle(late, &from(B, 8, asks(late, 400)), &mut said), MessageTaken::Yes);
    assert_eq!(said.len(), 2, "a grant, and a request that need not wait: {said:?}");
}

/// If this failed, a site that was stopped would accuse the others of its own silence.
#[test]
fn who_was_away_accuses_nobody() {
    let mut a = keeper(A, Planted::none());
    let mut said = LeaseSaid::new();
    a.tick(START, &mut said);
    assert_eq!(of_b(&mut a).unanswered_since, Some(START));
    let back = START + 5 * SECOND;
    a.turned(back);
    a.tick(back, &mut said);
    let lease = of_b(&mut a);
    assert_eq!((lease.heard_at, lease.unanswered_since), (back, Some(back)), "its time begins anew");
}
