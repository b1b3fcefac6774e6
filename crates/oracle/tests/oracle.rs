//! The promises of `EpochStore`, asked of the embedded oracle by its messages alone.

use identifiers::Pattern;
use messages::epoch::{Epoch, Member, MemberState, ProposalId};
use messages::log_record::LogRecord;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::{Bug, Planted};
use messages::server::ORACLE_SITE;
use messages::{
    Address, Envelope, EpochNumber, Incarnation, InstanceId, Message, Now, OracleLife, Outbox, Server, ServerKind,
    SiteId,
};
use oracle::Oracle;
use oracle::epoch_store::EpochStore;
use std::sync::Arc;

const INSTANCE: InstanceId = InstanceId(77);
const A: SiteId = SiteId(1);
const B: SiteId = SiteId(2);
const C: SiteId = SiteId(3);

/// An oracle, its log, and what of it is not synced yet.
struct World {
    oracle: Oracle,
    log: Vec<LogRecord>,
    syncs: Vec<u64>,
    life: OracleLife,
}

impl World {
    fn with(life: u64, planted: Planted) -> World {
        let life = OracleLife(life);
        World { oracle: Oracle::init(INSTANCE, &[A, B, C], 2, life, planted), log: Vec::new(), syncs: Vec::new(), life }
    }

    fn new() -> World {
        World::with(1, Planted::none())
    }

    /// A process that starts with the first records of this one's log.
    fn restarted(&self, records: usize, planted: Planted) -> World {
        let mut world = World::with(self.life.0 + 1, planted);
        world.log = self.log[..records].to_vec();
        for record in &world.log {
            let mut outbox = Outbox::default();
            world.oracle.replay(record, &mut outbox);
            assert!(outbox.is_empty());
        }
        world
    }

    fn give(&mut self, site: SiteId, message: Message) -> Vec<(SiteId, OracleReply)> {
        let envelope = Envelope {
            from_site: site,
            from: ServerKind::ReplicationController,
            to_site: ORACLE_SITE,
            to: ServerKind::Oracle,
            epoch: EpochNumber(0),
            incarnation: Incarnation(0),
            message,
        };
        let now = Now { boot: 0, wall_micros: 0 };
        let mut outbox = Outbox::default();
        self.oracle.handle(now, envelope, &mut outbox);
        self.log.extend(outbox.records);
        self.syncs.extend(outbox.syncs);
        let replies = outbox.messages.into_iter().map(|outgoing| {
            assert_eq!(outgoing.to, ServerKind::ReplicationController, "it answers the server that asked");
            let Message::OracleReply(reply) = outgoing.message else {
                panic!("not a reply: {:?}", outgoing.message);
            };
            (*outgoing.sites.first().expect("sites are remote to the oracle"), reply)
        });
        replies.collect()
    }

    /// Asks, lets the disk do its work, and returns the answer to the asker.
    fn ask(&mut self, site: SiteId, request: OracleRequest) -> OracleReply {
        let mut replies = self.give(site, Message::Oracle(request));
        replies.extend(self.sync());
        let own = replies.into_iter().filter(|(to, _)| *to == site).map(|(_, reply)| reply);
        own.last().expect("an answer")
    }

    fn sync(&mut self) -> Vec<(SiteId, OracleReply)> {
        let mut replies = Vec::new();
        for token in std::mem::take(&mut self.syncs) {
            replies.extend(self.give(ORACLE_SITE, Message::Synced(token)));
        }
        replies
    }

    fn epoch(&self) -> Arc<Epoch> {
        self.oracle.epoch().expect("it has a register").clone()
    }

    /// Whether the swap was won, the number in the register, and who has to confirm.
    fn swap(&mut self, site: SiteId, expected: &Epoch, epoch: &Arc<Epoch>) -> (bool, u64, Vec<SiteId>) {
        let epoch = Arc::new(Epoch { oracle: self.life, ..Epoch::clone(epoch) });
        let request = OracleRequest::SwapEpoch { tag: 4, expected: expected.id(), epoch };
        match self.ask(site, request) {
            OracleReply::EpochSwapped { tag: 4, won, epoch, unconfirmed } => (won, epoch.number.0, unconfirmed),
            other => panic!("{other:?}"),
        }
    }

    /// The number and the proposer of the epoch that is answered to a site that carries this one.
    fn confirm(&mut self, site: SiteId, epoch: Option<&Arc<Epoch>>) -> (u64, SiteId) {
        self.confirm_as(site, epoch, true, self.life)
    }

    fn confirm_as(
        &mut self,
        site: SiteId,
        epoch: Option<&Arc<Epoch>>,
        carried: bool,
        life: OracleLife,
    ) -> (u64, SiteId) {
        let request = OracleRequest::Confirm { tag: 5, epoch: epoch.cloned(), carried, oracle: Some(life) };
        match self.ask(site, request) {
            OracleReply::EpochRead { tag: 5, epoch, .. } => (epoch.number.0, epoch.proposal.site),
            other => panic!("{other:?}"),
        }
    }

    /// Who has to confirm before the site may enter the epoch.
    fn unsettled(&mut self, site: SiteId) -> Vec<SiteId> {
        match self.ask(site, OracleRequest::ReadEpoch { tag: 6 }) {
            OracleReply::EpochRead { tag: 6, unconfirmed, .. } => unconfirmed,
            other => panic!("{other:?}"),
        }
    }

    fn incarnate(&mut self, site: SiteId, nonce: u64) -> u32 {
        match self.ask(site, OracleRequest::Incarnate { nonce, site }) {
            OracleReply::Incarnated { nonce: echoed, incarnation } if echoed == nonce => incarnation.0,
            other => panic!("{other:?}"),
        }
    }

    /// Epochs 1 to `last`, each of the members given, proposed by the first of them.
    fn advance(&mut self, last: u64, members: &[SiteId]) -> Arc<Epoch> {
        while self.epoch().number.0 < last {
            let (before, next) = (self.epoch(), successor(&self.epoch(), members[0], members));
            assert_eq!(self.swap(members[0], &before, &next), (true, next.number.0, vec![]));
        }
        self.epoch()
    }
}

/// A sound proposal to follow an epoch.
fn successor(parent: &Epoch, proposer: SiteId, members: &[SiteId]) -> Arc<Epoch> {
    let member = Member::beginning(Incarnation(1), MemberState::Up);
    Arc::new(Epoch {
        number: parent.number.next(),
        proposal: ProposalId { site: proposer, incarnation: Incarnation(1), sequence: parent.number.0 + 1 },
        parent: parent.proposal,
        oracle: OracleLife(1),
        members: members.iter().map(|site| (*site, member)).collect(),
        ..parent.clone()
    })
}

/// Otherwise sites could not tell a new instance from one that has run.
#[test]
fn a_new_instance_lists_its_sites_in_a_life_that_none_has() {
    let world = World::new();
    let epoch = world.epoch();
    assert_eq!((epoch.number, epoch.proposal), (EpochNumber(0), ProposalId::default()));
    assert_eq!(epoch.up().collect::<Vec<_>>(), [A, B, C]);
    assert!(epoch.members.values().all(|member| member.incarnation == Incarnation(0)));
    assert_eq!(epoch.sessions.values().copied().collect::<Vec<u64>>(), [0, 0, 0]);
    assert_eq!((epoch.required_copies, epoch.restart), (2, false));
    assert_eq!(world.oracle.instance(), INSTANCE);
}

/// Otherwise two sites could form two epochs of one number, each without the other.
#[test]
fn of_two_swaps_one_wins_and_wins_again_when_its_answer_was_lost() {
    let mut world = World::new();
    let start = world.epoch();
    let (first, second) = (successor(&start, A, &[A, B]), successor(&start, C, &[C]));
    assert_eq!(world.swap(A, &start, &first), (true, 1, vec![]));
    assert_eq!(world.swap(C, &start, &second), (false, 1, vec![]));
    assert_eq!(world.swap(A, &start, &first), (true, 1, vec![]), "a lost answer, asked again");
    assert_eq!(world.epoch(), first);
    let next = successor(&first, B, &[A, B, C]);
    assert_eq!(world.swap(B, &first, &next), (true, 2, vec![]));
    assert_eq!(world.swap(A, &start, &first), (false, 2, vec![]), "it is history");
}

/// Otherwise a proposer in error would break the chain of epochs for everybody.
#[test]
fn only_a_sound_successor_is_taken() {
    let mut world = World::new();
    let start = world.epoch();
    let good = successor(&start, A, &[A, B]);
    let mut late = Epoch::clone(&good);
    late.number = EpochNumber(3);
    let mut orphan = Epoch::clone(&good);
    orphan.parent.sequence = 9;
    let mut unlisted = Epoch::clone(&good);
    unlisted.sessions.remove(&B);
    let mut nobody = Epoch::clone(&good);
    nobody.members.values_mut().for_each(|member| member.state = MemberState::Recovering);
    for bad in [late, orphan, unlisted, nobody] {
        assert_eq!(world.swap(A, &start, &Arc::new(bad)), (false, 0, vec![]));
    }
    assert_eq!(world.swap(A, &start, &good), (true, 1, vec![]));
}

/// Otherwise a power failure would take back an epoch that sites already serve in.
#[test]
fn nothing_about_the_register_is_said_before_the_log_is_synced() {
    let mut world = World::new();
    let start = world.epoch();
    let epoch = successor(&start, A, &[A, B]);
    let swap = OracleRequest::SwapEpoch { tag: 1, expected: start.id(), epoch };
    assert_eq!(world.give(A, Message::Oracle(swap.clone())).len(), 0);
    assert_eq!(world.give(B, Message::Oracle(OracleRequest::ReadEpoch { tag: 2 })).len(), 0, "a read would show it");
    assert_eq!(world.give(A, Message::Oracle(swap)).len(), 0, "asked again");
    let incarnate = OracleRequest::Incarnate { nonce: 8, site: C };
    assert_eq!(world.give(C, Message::Oracle(incarnate.clone())).len(), 0);
    assert_eq!(world.give(C, Message::Oracle(incarnate)).len(), 0, "asked again");
    assert_eq!(world.log.len(), 2);
    let first = world.syncs.remove(0);
    let to: Vec<SiteId> = world.give(ORACLE_SITE, Message::Synced(first)).into_iter().map(|(to, _)| to).collect();
    assert_eq!(to, [A, B, A]);
    assert_eq!(world.sync().len(), 2);
    assert_eq!(world.give(B, Message::Oracle(OracleRequest::ReadEpoch { tag: 3 })).len(), 1, "all is synced");
}

/// Otherwise two lives of a site would bear one number, and one be taken for the other.
#[test]
fn an_incarnation_is_given_out_once_and_repeated_to_its_nonce() {
    let mut world = World::new();
    assert_eq!(world.incarnate(A, 50), 1);
    assert_eq!(world.incarnate(A, 50), 1);
    assert_eq!(world.incarnate(B, 50), 1);
    assert_eq!(world.incarnate(A, 51), 2);
    let mut after = world.restarted(world.log.len(), Planted::none());
    assert_eq!(after.incarnate(A, 51), 2, "its answer was lost in the restart");
    assert_eq!(after.incarnate(A, 50), 3);
    assert_eq!(after.give(A, Message::Oracle(OracleRequest::Incarnate { nonce: 1, site: B })).len(), 0);
}

/// Rule 13: otherwise an oracle restored from an old copy would let an evicted site form an epoch beside the living ones.
#[test]
fn a_started_oracle_swaps_nothing_until_its_members_have_confirmed() {
    let mut world = World::new();
    let last = world.advance(2, &[A, B]);
    let mut after = world.restarted(world.log.len(), Planted::none());
    let next = successor(&last, A, &[A]);
    assert_eq!(after.swap(A, &last, &last), (false, 2, vec![A, B]), "it may have been forgotten and made anew");
    assert_eq!(after.swap(A, &last, &next), (false, 2, vec![A, B]));
    assert_eq!(after.confirm(A, Some(&last)), (2, A));
    assert_eq!(after.confirm(C, None), (2, A));
    assert_eq!(after.swap(A, &last, &next), (false, 2, vec![B]));
    assert_eq!(after.oracle.unconfirmed(), [B]);
    let before = after.log.len();
    assert_eq!(after.confirm(B, None), (2, A), "it has not heard of the epoch yet");
    assert_eq!(after.log.len(), before, "a confirmation changes nothing");
    assert_eq!(after.swap(A, &last, &next), (true, 3, vec![]));
    assert_eq!(after.swap(A, &next, &successor(&next, A, &[A, B])), (true, 4, vec![]), "and it stays confirmed");
}

/// Rule 13: otherwise the epochs since the copy was made would be lost.
#[test]
fn an_old_copy_adopts_what_its_members_have_logged() {
    let mut world = World::new();
    world.advance(1, &[A, B]);
    let copied = world.log.len();
    let last = world.advance(4, &[B, C]);
    let mut old = world.restarted(copied, Planted::none());
    assert_eq!(old.epoch().number, EpochNumber(1));
    assert_eq!(old.confirm(B, Some(&last)), (4, B));
    assert_eq!(old.oracle.unconfirmed(), [C], "the members of the adopted epoch count, not those of the old one");
    let next = successor(&last, B, &[B]);
    assert_eq!(old.swap(B, &last, &next), (false, 4, vec![C]));
    let mut again = old.restarted(old.log.len(), Planted::none());
    assert_eq!(again.epoch(), last, "what was adopted is logged");
    assert_eq!(again.oracle.unconfirmed(), [B, C]);
    assert_eq!(old.confirm(C, Some(&last)), (4, B));
    assert_eq!(old.swap(B, &last, &next), (true, 5, vec![]));
    assert_eq!(again.confirm(A, Some(&next)), (5, B), "whoever brings it");
    assert_eq!(again.incarnate(C, 90), 2, "life 1 of this site is in an epoch, whatever the copy counted");
}

/// Otherwise a site of another history would pull the instance over to its own.
#[test]
fn another_epoch_of_the_same_number_is_neither_adopted_nor_a_confirmation() {
    let mut world = World::new();
    let start = world.epoch();
    let last = world.advance(1, &[A, B]);
    let other = successor(&start, C, &[A, B, C]);
    let mut after = world.restarted(world.log.len(), Planted::none());
    assert_eq!(after.confirm(B, Some(&last)), (1, A));
    assert_eq!(after.confirm(A, Some(&other)), (1, A), "the site sees the difference and halts");
    assert_eq!(after.epoch(), last);
    assert_eq!(after.oracle.unconfirmed(), [A]);
}

/// Rule 13: an oracle that was set back twice may have forgotten an epoch and made another in its place.
#[test]
fn an_epoch_that_was_merely_seen_gives_way_to_one_that_is_carried() {
    let mut world = World::new();
    let base = world.advance(1, &[A, B]);
    let copied = world.log.len();
    let seen = successor(&base, A, &[A, C]);
    let carried = successor(&base, B, &[B]);
    let mut old = world.restarted(copied, Planted::none());
    let life = old.life;
    assert_eq!(old.confirm_as(C, Some(&seen), false, life), (2, A));
    assert_eq!(old.oracle.unconfirmed(), [A, B], "members of the one that it replaces are asked, too");
    let again = old.restarted(old.log.len(), Planted::none());
    assert_eq!(again.oracle.unconfirmed(), [A, B, C], "and that is not forgotten");
    assert_eq!(old.confirm_as(A, Some(&base), true, life), (2, A));
    assert_eq!(old.unsettled(A), [B], "nobody enters it before all have been heard");
    assert_eq!(old.confirm_as(B, Some(&carried), true, life), (2, B), "somebody may have served in it");
    assert_eq!(old.oracle.unconfirmed(), [], "and nobody in another");
    assert_eq!(old.unsettled(A), []);
    assert_eq!(old.confirm_as(C, Some(&seen), false, life), (2, B));
    assert_eq!(old.swap(B, &carried, &successor(&carried, B, &[A, B])), (true, 3, vec![]));
}

/// Rule 13: otherwise a site could confirm to one process, and go on into what an earlier one has given.
#[test]
fn only_confirmations_and_proposals_for_this_very_process_count() {
    let mut world = World::new();
    let last = world.advance(1, &[A]);
    let mut after = world.restarted(world.log.len(), Planted::none());
    assert_eq!(after.confirm_as(A, Some(&last), true, world.life), (1, A));
    assert_eq!(after.oracle.unconfirmed(), [A]);
    assert_eq!(after.confirm(A, Some(&last)), (1, A));
    assert_eq!(after.oracle.unconfirmed(), []);
    let late = OracleRequest::SwapEpoch { tag: 9, expected: last.id(), epoch: successor(&last, A, &[A, B]) };
    match after.ask(A, late) {
        OracleReply::EpochSwapped { won, unconfirmed, .. } => assert!(!won && unconfirmed.is_empty()),
        other => panic!("{other:?}"),
    }
    assert_eq!(after.epoch(), last);
}

/// Otherwise an instance that loses a site for good while its oracle is started anew could never change again.
#[test]
fn the_operator_may_give_up_a_site() {
    let mut world = World::new();
    let last = world.advance(2, &[A, B]);
    let mut after = world.restarted(world.log.len(), Planted::none());
    after.oracle.give_up([B].into_iter());
    assert_eq!(after.oracle.unconfirmed(), [A]);
    assert_eq!(after.confirm(A, Some(&last)), (2, A));
    assert_eq!(after.swap(A, &last, &successor(&last, A, &[A])), (true, 3, vec![]));
}

/// The simulator must be able to plant what rule 13 forbids.
#[test]
fn a_planted_bug_trusts_old_oracles() {
    let mut world = World::new();
    let last = world.advance(2, &[A, B]);
    let mut trusted = world.restarted(world.log.len(), Planted::only(Bug::RestoredOracleTrusted));
    assert_eq!(trusted.swap(A, &last, &successor(&last, A, &[A])), (true, 3, vec![]));
}

/// Otherwise a site that was away brings its own epoch into an oracle that has none.
#[test]
fn an_empty_oracle_waits_for_every_member_of_the_epoch_that_it_is_told() {
    let mut world = World::new();
    let last = world.advance(2, &[A, B]);
    let mut empty = World::new();
    assert_eq!(empty.confirm(A, Some(&last)), (2, A));
    assert_eq!(empty.oracle.unconfirmed(), [B]);
}

/// Otherwise an oracle whose log has rotted would start the instance over.
#[test]
fn an_oracle_that_cannot_read_its_log_answers_nothing() {
    let mut world = World::new();
    world.advance(1, &[A]);
    let mut rotten = world.restarted(1, Planted::none());
    let record = LogRecord::Oracle { state: vec![0xff; 7].into() };
    rotten.oracle.replay(&record, &mut Outbox::default());
    assert_eq!(rotten.give(A, Message::Oracle(OracleRequest::ReadEpoch { tag: 1 })).len(), 0);
    rotten.oracle.replay(&world.log[0], &mut Outbox::default());
    assert_eq!(rotten.give(A, Message::Oracle(OracleRequest::ReadEpoch { tag: 1 })).len(), 1);
    let mut foreign = Oracle::init(InstanceId(5), &[A], 1, OracleLife(1), Planted::none());
    foreign.replay(&world.log[0], &mut Outbox::default());
    assert!(foreign.epoch().is_none());
}

/// Otherwise a checkpoint would give up the log's only copy of the register.
#[test]
fn a_checkpoint_repeats_the_register() {
    let mut world = World::new();
    let last = world.advance(1, &[A, B]);
    world.incarnate(A, 3);
    world.log.clear();
    assert_eq!(world.give(ORACLE_SITE, Message::Checkpoint).len(), 0);
    let mut after = world.restarted(1, Planted::none());
    assert_eq!(after.epoch(), last);
    assert_eq!(after.incarnate(A, 3), 2, "life 1 is in the epoch");
}

fn register(world: &mut World, site: SiteId, location: &str) -> Vec<(SiteId, OracleReply)> {
    let address = Address { instance: INSTANCE, site, kind: ServerKind::ActionDriver, number: 0 };
    let location = location.to_string();
    world.give(site, Message::Oracle(OracleRequest::Register { tag: 6, address, location }))
}

fn told(replies: &[(SiteId, OracleReply)]) -> Vec<String> {
    let one = |(to, reply): &(SiteId, OracleReply)| match reply {
        OracleReply::Registered { .. } => format!("{to}: registered"),
        OracleReply::Watching { .. } => format!("{to}: watching"),
        OracleReply::Changed { address, location } => format!("{to}: {} at {location:?}", address.site),
        OracleReply::Found { locations, .. } => {
            let found: Vec<&str> = locations.iter().map(|(_, location)| location.as_str()).collect();
            format!("{to}: found {}", found.join(" "))
        }
        other => panic!("{other:?}"),
    };
    replies.iter().map(one).collect()
}

/// Otherwise servers that move would not be found again.
#[test]
fn servers_are_found_and_their_watchers_told_of_each_change() {
    let mut world = World::new();
    let pattern = Pattern::ANY.of_kind(ServerKind::ActionDriver);
    let watch = Message::Oracle(OracleRequest::Watch { tag: 7, pattern });
    assert_eq!(told(&world.give(C, watch.clone())), ["site 3: watching"]);
    assert_eq!(told(&world.give(C, watch)), ["site 3: watching"], "asked again");
    assert_eq!(told(&register(&mut world, A, "here:1")), ["site 3: site 1 at Some(\"here:1\")", "site 1: registered"]);
    assert_eq!(told(&register(&mut world, A, "here:1")), ["site 1: registered"], "nothing has changed");
    assert_eq!(told(&register(&mut world, B, "there:2"))[0], "site 3: site 2 at Some(\"there:2\")");
    let lookup = Message::Oracle(OracleRequest::Lookup { tag: 8, pattern });
    assert_eq!(told(&world.give(B, lookup.clone())), ["site 2: found here:1 there:2"]);
    assert_eq!(told(&register(&mut world, A, ""))[0], "site 3: site 1 at None");
    assert_eq!(told(&world.give(B, lookup)), ["site 2: found there:2"]);
    let narrow = Pattern::ANY.at_site(A);
    let lookup = Message::Oracle(OracleRequest::Lookup { tag: 9, pattern: narrow });
    assert_eq!(told(&world.give(B, lookup)), ["site 2: found "]);
    assert_eq!(world.log.len(), 0, "names are not logged");
}

/// Otherwise a site could take over the name of another, or fill the oracle's memory.
#[test]
fn a_site_registers_its_own_servers_in_bounds() {
    let mut world = World::new();
    let address = Address { instance: INSTANCE, site: B, kind: ServerKind::ActionDriver, number: 0 };
    let stolen = OracleRequest::Register { tag: 1, address, location: "mine".to_string() };
    assert_eq!(world.give(A, Message::Oracle(stolen)).len(), 0);
    assert_eq!(register(&mut world, A, &"x".repeat(oracle::limits::LOCATION_BYTES_MAX + 1)).len(), 0);
}
