//! Temporary schemas of sessions that have gone: which go, and which must not.

use crate::world::{World, accounts};
use messages::database::DatabaseId;
use messages::epoch::{Placement, ProposalId};
use messages::limits::SECOND;
use messages::planted::Planted;
use messages::privilege::Rights;
use messages::replication::ServiceReply;
use messages::schema::{CatalogEntry, NamespaceSchema, TableSchema, TemporaryOwner};
use messages::session::SessionRequest;
use messages::{
    ConflictKind, Epoch, EpochNumber, Incarnation, Item, Key, Member, MemberState, Message, OracleLife, Row,
    ServerKind, SessionId, SiteId, TableId, Timestamp, TransactionId, namespace,
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

fn owner(site: u16, life: u32, session: u64) -> TemporaryOwner {
    TemporaryOwner { site: SiteId(site), life: Incarnation(life), session: SessionId(session) }
}

fn put(world: &mut World, key: Key, row: Option<Row>, epoch: u64) {
    let transaction = TransactionId { home: SiteId(1), incarnation: Incarnation(4), sequence: 1 };
    let version = Timestamp { epoch: EpochNumber(epoch), clock: 1, transaction };
    world.store.insert(Item { table: TableId::CATALOG, key }, vec![(version, row)]);
}

/// A schema with a table and its index in it.
fn schema(world: &mut World, oid: u32, owner: TemporaryOwner, epoch: u64) {
    let name = format!("pg_temp_{oid}");
    let known = NamespaceSchema { temporary: Some(owner), ..NamespaceSchema::new(&name, oid, Rights::of(10)) };
    put(world, CatalogEntry::namespace_key(&name), Some(CatalogEntry::Namespace(Arc::new(known)).encode()), epoch);
    table(world, oid, epoch);
}

fn table(world: &mut World, schema: u32, epoch: u64) {
    let mut table = TableSchema::clone(&accounts());
    table.name = namespace::within("t", schema);
    table.storage = TableId(schema + 1);
    table.indexes[0].storage = TableId(schema + 2);
    table.indexes[0].name = namespace::within("i", schema);
    let index = CatalogEntry::IndexOf(table.name.clone()).encode();
    put(world, CatalogEntry::key(&table.indexes[0].name), Some(index), epoch);
    let key = CatalogEntry::key(&table.name);
    put(world, key, Some(CatalogEntry::Table(Arc::new(table)).encode()), epoch);
}

/// Deletes what the driver's transactions have deleted.
fn install(world: &mut World) {
    for (_, history) in std::mem::take(&mut world.histories) {
        for write in &history.writes {
            world.store.remove(&Item { table: write.table, key: write.key.clone() });
        }
    }
}

fn storages(schemas: &[u32]) -> Vec<TableId> {
    schemas.iter().flat_map(|oid| [oid + 1, oid + 2]).map(TableId).collect()
}

/// Rows of a living session would go, or those of one that has closed would stay; and a table that comes late would stay in a schema that is gone.
#[test]
fn what_a_closed_session_had_goes() {
    let mut world = World::planted(Planted::none());
    world.epoch = EPOCH;
    schema(&mut world, 20_100, owner(1, 4, 7), 5);
    schema(&mut world, 20_200, owner(1, 4, 8), 5);
    schema(&mut world, 20_300, owner(2, 4, 7), 5);
    put(&mut world, CatalogEntry::key("accounts"), Some(CatalogEntry::Table(accounts()).encode()), 5);
    world.ask_as(7, SessionRequest::Close);
    world.ask_as(7, SessionRequest::ForsakeTemporary { owner: owner(1, 4, 7) });
    world.commits.push_back(Some(ConflictKind::StaleRead));
    world.pass(1);
    world.pass(2 * SECOND);
    assert_eq!(world.drops, storages(&[20_100]), "once the lost conflict is over");
    let (_, history) = world.histories.last().expect("it has committed");
    assert_eq!(history.reads.len(), 3, "whoever changes one of its rows meanwhile makes it lose");
    install(&mut world);
    // A commit that nobody waited for.
    table(&mut world, 20_100, 5);
    world.pass(1);
    assert_eq!(world.drops, storages(&[20_100, 20_100]));
    install(&mut world);
    // One that makes the schema after all.
    world.pass(1);
    schema(&mut world, 20_400, owner(1, 4, 7), 5);
    world.pass(11 * SECOND);
    assert_eq!(world.drops, storages(&[20_100, 20_100, 20_400]));
    install(&mut world);
    world.pass(11 * SECOND);
    world.pass(11 * SECOND);
    schema(&mut world, 20_500, owner(1, 4, 7), 5);
    world.pass(60 * SECOND);
    assert!(world.histories.is_empty(), "it is not looked for any more");
}

/// What dead sites leave would stay, or what a life has that came into a later epoch would go.
#[test]
fn what_lives_have_left_goes() {
    let mut world = World::planted(Planted::none());
    world.epoch = EPOCH;
    schema(&mut world, 20_100, owner(1, 3, 7), 4);
    // So far all is in another database than the first.
    let database = DatabaseId(16_400);
    let moved = std::mem::take(&mut world.store).into_iter();
    world.store = moved.map(|(item, rows)| (Item { key: database.placed(&item.key), ..item }, rows)).collect();
    schema(&mut world, 20_200, owner(3, 4, 8), 5);
    schema(&mut world, 20_300, owner(2, 4, 7), 5);
    schema(&mut world, 20_400, owner(3, 5, 7), 6);
    let reply = ServiceReply::DropLeftovers { epoch: epoch() };
    world.tell(ServerKind::ReplicationController, Message::ServiceReply(reply));
    world.pass(1);
    let mut dropped = world.drops.clone();
    dropped.sort();
    assert_eq!(dropped, storages(&[20_100, 20_200]));
    install(&mut world);
    assert!(
        world.store.keys().all(|item| *DatabaseId::plain(&item.key) == item.key),
        "nothing is left of the other one"
    );
}
