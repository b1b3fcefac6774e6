//! What lives that are over have left behind: which storages go, and which must not.

use crate::world::{NOTES, World, accounts};
use messages::epoch::{Placement, ProposalId};
use messages::limits::SECOND;
use messages::planted::{Bug, Planted};
use messages::replication::ServiceReply;
use messages::schema::{CatalogEntry, TableSchema};
use messages::{
    ConflictKind, Epoch, EpochNumber, Incarnation, Item, Key, KeyRange, Member, MemberState, Message, OracleLife, Row,
    ServerKind, SiteId, TableId, Timestamp, TransactionId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const EPOCH: EpochNumber = EpochNumber(5);

/// Sites 1 and 2 in their fourth lives; site 3 is away.
fn epoch() -> Arc<Epoch> {
    let member = Member::beginning(Incarnation(4), MemberState::Up);
    Arc::new(Epoch {
        number: EPOCH,
        proposal: ProposalId::default(),
        parent: ProposalId::default(),
        oracle: OracleLife(1),
        members: [(SiteId(1), member), (SiteId(2), member)].into(),
        sessions: BTreeMap::new(),
        required_copies: 1,
        placement: Placement::Everywhere,
        restart: false,
    })
}

fn made(number: u32) -> TableId {
    TableId(TableId::FIRST_CREATED.0 + number)
}

/// Puts a row into a storage, as written by this life in that epoch.
fn put(world: &mut World, table: TableId, key: Key, row: Row, (site, life, epoch): (u16, u32, u64)) {
    let transaction = TransactionId { home: SiteId(site), incarnation: Incarnation(life), sequence: 1 };
    let version = Timestamp { epoch: EpochNumber(epoch), clock: 1, transaction };
    world.store.insert(Item { table, key }, vec![(version, Some(row))]);
}

fn fill(world: &mut World, table: TableId, life: (u16, u32, u64)) {
    put(world, table, Key::new(b"k"), Row::from_static(b"row"), life);
}

/// A table and its index that the catalog names, beside what should go and what should not.
fn world(planted: Planted) -> World {
    let mut world = World::planted(planted);
    world.epoch = EPOCH;
    let mut named = TableSchema { storage: made(1), ..TableSchema::clone(&accounts()) };
    named.indexes[0].storage = made(2);
    let (key, entry) = (CatalogEntry::key(&named.name), CatalogEntry::Table(Arc::new(named)));
    put(&mut world, TableId::CATALOG, key, entry.encode(), (2, 3, 4));
    put(&mut world, TableId::CATALOG, CatalogEntry::next_key(), CatalogEntry::Next(20_000).encode(), (2, 3, 4));
    let earlier_life = (2, 3, 4);
    for table in [made(1), made(2), made(3), NOTES] {
        fill(&mut world, table, earlier_life);
    }
    fill(&mut world, made(4), (3, 4, 5));
    fill(&mut world, made(5), (2, 4, 4));
    fill(&mut world, made(6), (3, 5, 6));
    world
}

fn begin(world: &mut World) {
    let reply = ServiceReply::DropLeftovers { epoch: epoch() };
    world.tell(ServerKind::ReplicationController, Message::ServiceReply(reply));
    world.pass(1);
}

/// If this fails, a table goes that the catalog names or a life is loading: one of this epoch, or one that has come into a later one. Or what nobody can
/// reach stays for good: rows of a site's earlier life, and of a site that is away.
#[test]
fn only_what_is_left_behind_goes() {
    let mut world = world(Planted::none());
    begin(&mut world);
    assert_eq!(world.drops, [made(3), made(4)]);
    let (_, history) = world.histories.last().expect("it has committed");
    let read: Vec<&KeyRange> = history.ranges.iter().map(|read| &read.range).collect();
    assert_eq!(read, [&KeyRange::whole(TableId::CATALOG)], "a schema that changes meanwhile makes it lose");
    world.pass(10 * SECOND);
    assert_eq!(world.histories.len(), 1, "once");
    let mut planted = self::world(Planted::only(Bug::LivingLeftovers));
    begin(&mut planted);
    assert_eq!(planted.drops, [3, 4, 5].map(made), "the test would not notice");
}

/// If this fails, a catalog that was read too early, or not all of it, decides what goes; or a lost conflict is the end of it.
#[test]
fn the_search_begins_again() {
    let mut world = world(Planted::none());
    let item = Item { table: TableId::CATALOG, key: CatalogEntry::next_key() };
    world.stale.insert(item);
    begin(&mut world);
    assert!(world.histories.is_empty(), "part of the catalog is stale");
    world.stale.clear();
    world.commits.push_back(Some(ConflictKind::StaleRead));
    world.pass(2 * SECOND);
    assert!(world.histories.is_empty(), "it has lost");
    // By now the catalog names one of them.
    let named = Arc::new(TableSchema { storage: made(3), name: "late".to_owned(), ..TableSchema::clone(&accounts()) });
    let key = CatalogEntry::key(&named.name);
    put(&mut world, TableId::CATALOG, key, CatalogEntry::Table(named).encode(), (1, 4, 5));
    world.pass(2 * SECOND);
    assert_eq!(world.drops, [made(4)]);
}
