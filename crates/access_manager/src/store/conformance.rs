//! What every store must do, as one suite: each implementation's tests run it.

use super::{Store, StoreRows, StoreWrite};
use bytes::Bytes;
use messages::{EpochNumber, Key, KeyRange, Row, TableId, Timestamp, TransactionId};

const TABLE: TableId = TableId(20);
const OTHER: TableId = TableId(21);
const BYTES_MAX: usize = 1 << 20;

fn key(number: u16) -> Key {
    Key::new(&number.to_be_bytes())
}

fn version(clock: u64) -> Timestamp {
    Timestamp { epoch: EpochNumber(1), clock, transaction: TransactionId::ZERO }
}

fn write(table: TableId, number: u16, clock: u64, row: Option<&'static [u8]>) -> StoreWrite {
    StoreWrite { table, key: key(number), version: version(clock), row: row.map(Row::from_static) }
}

fn settle(store: &mut dyn Store) {
    while !store.is_idle().expect("a sound store reports no error") {
        std::hint::spin_loop();
    }
}

fn rows(store: &dyn Store, range: &KeyRange, reverse: bool, rows_max: usize) -> StoreRows {
    store.scan(range, reverse, rows_max, BYTES_MAX).expect("a sound store can be scanned")
}

fn numbers(found: &StoreRows) -> Vec<u16> {
    let number = |key: &Key| u16::from_be_bytes(key.as_bytes().try_into().expect("keys of this suite have two bytes"));
    found.rows.iter().map(|(key, _, _)| number(key)).collect()
}

/// Runs the suite on an empty store.
///
/// # Panics
/// When the store does not do what [`Store`] says.
pub fn check(store: &mut dyn Store) {
    starts_empty(store);
    keeps_newest_and_removes(store);
    scans_both_ways(store);
    edge_keys(store);
    forgets_storages(store);
}

fn starts_empty(store: &mut dyn Store) {
    assert_eq!(store.metadata(), Ok(None), "no metadata before the first write");
    assert_eq!(store.storages(), Ok(vec![]), "no storages before the first write");
    assert_eq!(store.get(TABLE, &key(1)), Ok(None), "an unknown storage has no rows");
    assert_eq!(rows(store, &KeyRange::whole(TABLE), false, 10), StoreRows::default());
}

fn keeps_newest_and_removes(store: &mut dyn Store) {
    store.write(
        vec![write(TABLE, 1, 10, Some(b"one")), write(OTHER, 1, 10, Some(b"other"))],
        Bytes::from_static(b"first"),
    );
    settle(store);
    store.write(vec![write(TABLE, 1, 20, Some(b"uno")), write(TABLE, 2, 20, Some(b""))], Bytes::from_static(b"second"));
    settle(store);
    assert_eq!(store.metadata(), Ok(Some(Bytes::from_static(b"second"))));
    assert_eq!(store.storages(), Ok(vec![TABLE, OTHER]), "storages come in order");
    let found = store.get(TABLE, &key(1));
    assert_eq!(found, Ok(Some((version(20), Row::from_static(b"uno")))), "the last write stands");
    assert_eq!(store.get(TABLE, &key(2)), Ok(Some((version(20), Row::new()))), "an empty row is a row");
    store.write(vec![write(TABLE, 1, 30, None)], Bytes::from_static(b"third"));
    settle(store);
    assert_eq!(store.get(TABLE, &key(1)), Ok(None), "a deletion removes the key");
    assert_eq!(store.get(OTHER, &key(1)), Ok(Some((version(10), Row::from_static(b"other")))));
}

fn scans_both_ways(store: &mut dyn Store) {
    let writes = (10..20).map(|number| write(TABLE, number, 40, Some(b"0123456789"))).collect();
    store.write(writes, Bytes::from_static(b"fourth"));
    settle(store);
    let range = KeyRange { table: TABLE, low: key(12), high: Some(key(15)) };
    assert_eq!(numbers(&rows(store, &range, false, 10)), [12, 13, 14], "low is in, high is not");
    assert_eq!(numbers(&rows(store, &range, true, 10)), [14, 13, 12]);
    let first = rows(store, &range, false, 2);
    assert_eq!((numbers(&first), first.more), (vec![12, 13], true));
    let last = rows(store, &range, true, 2);
    assert_eq!((numbers(&last), last.more), (vec![14, 13], true));
    assert!(!rows(store, &range, false, 4).more, "a range that ended has nothing more");
    let narrow = store.scan(&KeyRange::whole(TABLE), true, 10, 1).expect("a sound store can be scanned");
    assert_eq!((numbers(&narrow), narrow.more), (vec![19], true), "one row however small the bound");
    let empty = KeyRange { table: TABLE, low: key(15), high: Some(key(15)) };
    assert_eq!(rows(store, &empty, false, 10), StoreRows::default());
}

fn edge_keys(store: &mut dyn Store) {
    let long = Key::new(&[0xff; 3_000]);
    let mut writes = vec![write(OTHER, 2, 50, Some(b"row"))];
    for key in [Key::lowest(), long.clone()] {
        let row = Some(Row::from_static(b"edge"));
        let version = version(50);
        writes.push(StoreWrite { table: OTHER, key, version, row });
    }
    store.write(writes, Bytes::from_static(b"fifth"));
    settle(store);
    let edge = Ok(Some((version(50), Row::from_static(b"edge"))));
    assert_eq!(store.get(OTHER, &Key::lowest()), edge, "the empty key is a key");
    assert_eq!(store.get(OTHER, &long), edge, "a key of kilobytes is a key");
    let found = rows(store, &KeyRange::whole(OTHER), false, 10);
    let keys: Vec<Key> = found.rows.into_iter().map(|(key, _, _)| key).collect();
    assert_eq!(keys, [Key::lowest(), key(1), key(2), long]);
}

fn forgets_storages(store: &mut dyn Store) {
    store.remove_storage(TABLE);
    assert_eq!(store.get(TABLE, &key(12)), Ok(None), "a removed storage is empty at once");
    assert_eq!(rows(store, &KeyRange::whole(TABLE), false, 10), StoreRows::default());
    store.write(vec![write(TABLE, 1, 60, Some(b"again"))], Bytes::from_static(b"sixth"));
    store.persist();
    settle(store);
    let found = rows(store, &KeyRange::whole(TABLE), false, 10);
    assert_eq!(numbers(&found), [1], "a storage begins anew after its removal");
    store.remove_storage(TableId(99));
    store.remove_storage(OTHER);
    settle(store);
    assert_eq!(store.storages(), Ok(vec![TABLE]));
}
