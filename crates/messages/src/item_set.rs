//! Sets of items that are told as wholes: a hundred thousand of them in one report or log record.
//!
//! Such a set has two forms, of which each is made when it is first needed: a tree, in which single items are found and changed, and packed
//! bytes, which are sent, logged, compared and walked through. A set that came in a message stays packed until somebody changes it, so that
//! whoever passes it on, or has the same one, pays for no tree. Invariants: one form is there; if both are, they hold the same items.
//!
//! Packed are the number of items; then, for each storage in ascending order, its number, how many items are in it, and their keys in ascending
//! order, each as what it does not share with the one before it: a byte of 16 times the bytes shared (at most 15) plus the bytes that follow
//! (15: a number follows, that many more), and these. Numbers are in groups of seven bits, the lowest first.

use crate::item::Item;
use crate::key::Key;
use bytes::Bytes;
use identifiers::TableId;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use thiserror::Error;

/// The most that half a byte says: bytes shared with the key before, and bytes that follow without a number of their own.
const NIBBLE_MAX: usize = 15;

/// A set of items, present or not.
#[derive(Clone)]
pub struct ItemSet {
    tree: OnceLock<BTreeSet<Item>>,
    packed: OnceLock<Bytes>,
}

/// Why bytes are no packed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnpackError {
    /// They end too early, or too late.
    #[error("a packed set of items has another length than it says")]
    Length,
    /// An item does not come after the one before it.
    #[error("the items of a packed set are not in ascending order")]
    Order,
    /// More is shared than there is.
    #[error("a packed key shares more than the one before it has")]
    Shared,
}

impl ItemSet {
    /// What these name, in whatever order and however often; packed.
    pub fn packed_of<'a>(items: impl Iterator<Item = (TableId, &'a Key)>) -> ItemSet {
        let mut items: Vec<(TableId, &Key)> = items.collect();
        // Commits mostly write in the order of keys.
        items.sort();
        items.dedup();
        ItemSet { tree: OnceLock::new(), packed: OnceLock::from(pack(items.into_iter())) }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self.tree.get() {
            Some(tree) => tree.len(),
            None => Unpacked::of(self.packed()).left,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Item> + '_ {
        let tree = self.tree.get();
        let packed = if tree.is_none() { self.packed.get() } else { None };
        tree.into_iter().flatten().cloned().chain(packed.into_iter().flat_map(|packed| Unpacked::of(packed)))
    }

    /// As a tree, in which an item is looked for.
    pub fn tree(&self) -> &BTreeSet<Item> {
        self.tree.get_or_init(|| Unpacked::of(self.packed()).collect())
    }

    /// As a tree that may be changed.
    pub fn tree_mut(&mut self) -> &mut BTreeSet<Item> {
        self.tree();
        self.packed = OnceLock::new();
        self.tree.get_mut().expect("it was made above")
    }

    /// What is in either set, but for whole storages; packed. Linear in both, and no tree is made.
    pub fn union(&self, other: &ItemSet, without: impl Fn(TableId) -> bool) -> ItemSet {
        let (mut one, mut two) = (Unpacked::of(self.packed()), Unpacked::of(other.packed()));
        let (mut more_of_one, mut more_of_two) = (one.goes_on(), two.goes_on());
        let mut packer = Packer::default();
        while more_of_one || more_of_two {
            let order = match (more_of_one, more_of_two) {
                (true, true) => one.here().cmp(&two.here()),
                (true, false) => Ordering::Less,
                (false, _) => Ordering::Greater,
            };
            let (table, key) = if order.is_le() { one.here() } else { two.here() };
            if !without(table) {
                packer.push(table, key);
            }
            if order.is_le() {
                more_of_one = one.goes_on();
            }
            if order.is_ge() {
                more_of_two = two.goes_on();
            }
        }
        ItemSet { tree: OnceLock::new(), packed: OnceLock::from(packer.finish()) }
    }

    fn packed(&self) -> &Bytes {
        self.packed.get_or_init(|| {
            let tree = self.tree.get().expect("a set that is not packed is a tree");
            pack(tree.iter().map(|item| (item.table, &item.key)))
        })
    }
}

/// Items in ascending order, each once.
fn pack<'a>(items: impl Iterator<Item = (TableId, &'a Key)>) -> Bytes {
    let mut packer = Packer::default();
    for (table, key) in items {
        packer.push(table, key.as_bytes());
    }
    packer.finish()
}

/// Packs items that come in ascending order.
#[derive(Default)]
struct Packer {
    /// Whole storages, and how many items they have.
    storages: Vec<u8>,
    items: usize,
    /// The present storage: its items, and how many.
    table: TableId,
    keys: Vec<u8>,
    keys_len: usize,
    before: Vec<u8>,
}

impl Packer {
    fn push(&mut self, table: TableId, key: &[u8]) {
        if table != self.table {
            self.end_storage();
            self.table = table;
        }
        let shared = self.before.iter().zip(key).take(NIBBLE_MAX).take_while(|(one, other)| one == other).count();
        let rest = &key[shared..];
        self.keys.push((shared << 4 | rest.len().min(NIBBLE_MAX)) as u8);
        if rest.len() >= NIBBLE_MAX {
            put_number(&mut self.keys, rest.len() - NIBBLE_MAX);
        }
        self.keys.extend_from_slice(rest);
        self.keys_len += 1;
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
    }

    fn end_storage(&mut self) {
        if self.keys_len > 0 {
            put_number(&mut self.storages, self.table.0 as usize);
            put_number(&mut self.storages, self.keys_len);
            self.storages.append(&mut self.keys);
            self.items += std::mem::take(&mut self.keys_len);
            self.before.clear();
        }
    }

    fn finish(mut self) -> Bytes {
        self.end_storage();
        let mut packed = Vec::with_capacity(self.storages.len() + size_of::<u64>());
        put_number(&mut packed, self.items);
        packed.append(&mut self.storages);
        packed.into()
    }
}

fn put_number(packed: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        packed.push(number as u8 | 0x80);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Walks through packed items.
struct Unpacked<'a> {
    bytes: &'a [u8],
    /// Items that are still to come, and those of the present storage among them.
    left: usize,
    left_in_storage: usize,
    /// The item that it is at, once it has begun.
    begun: bool,
    table: TableId,
    key: Vec<u8>,
}

impl<'a> Unpacked<'a> {
    fn of(packed: &'a [u8]) -> Unpacked<'a> {
        Unpacked::begin(packed).expect("what is packed was checked when it came")
    }

    fn begin(packed: &'a [u8]) -> Result<Unpacked<'a>, UnpackError> {
        let mut unpacked =
            Unpacked { bytes: packed, left: 0, left_in_storage: 0, begun: false, table: TableId(0), key: Vec::new() };
        unpacked.left = unpacked.number()?;
        Ok(unpacked)
    }

    /// Bytes of somebody else: whether they are a packed set.
    fn check(packed: &[u8]) -> Result<(), UnpackError> {
        let mut unpacked = Unpacked::begin(packed)?;
        while unpacked.advance()? {}
        if unpacked.bytes.is_empty() { Ok(()) } else { Err(UnpackError::Length) }
    }

    fn byte(&mut self) -> Result<u8, UnpackError> {
        let (byte, rest) = self.bytes.split_first().ok_or(UnpackError::Length)?;
        self.bytes = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<usize, UnpackError> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).map(|number| number as usize).map_err(|_| UnpackError::Length);
            }
        }
        Err(UnpackError::Length)
    }

    /// Goes to the next item, if there is one.
    fn advance(&mut self) -> Result<bool, UnpackError> {
        if self.left == 0 {
            return Ok(false);
        }
        let begins = self.left_in_storage == 0;
        if begins {
            let table = TableId(self.number()? as u32);
            if self.begun && table <= self.table {
                return Err(UnpackError::Order);
            }
            self.table = table;
            self.begun = true;
            self.left_in_storage = self.number()?;
            self.key.clear();
            if self.left_in_storage == 0 {
                return Err(UnpackError::Length);
            }
        }
        let lengths = usize::from(self.byte()?);
        let (shared, mut rest) = (lengths >> 4, lengths & NIBBLE_MAX);
        if rest == NIBBLE_MAX {
            rest += self.number()?;
        }
        let before = self.key.get(shared..).ok_or(UnpackError::Shared)?;
        let (rest, behind) = self.bytes.split_at_checked(rest).ok_or(UnpackError::Length)?;
        if !begins && rest <= before {
            return Err(UnpackError::Order);
        }
        self.bytes = behind;
        self.key.truncate(shared);
        self.key.extend_from_slice(rest);
        self.left = self.left.checked_sub(1).ok_or(UnpackError::Length)?;
        self.left_in_storage -= 1;
        Ok(true)
    }

    /// The same, of what was checked.
    fn goes_on(&mut self) -> bool {
        self.advance().expect("what is packed was checked when it came")
    }

    /// The item that it has gone to.
    fn here(&self) -> (TableId, &[u8]) {
        (self.table, &self.key)
    }
}

impl Iterator for Unpacked<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        self.goes_on().then(|| Item { table: self.table, key: Key::new(&self.key) })
    }
}

impl Default for ItemSet {
    fn default() -> ItemSet {
        ItemSet::from(BTreeSet::new())
    }
}

impl From<BTreeSet<Item>> for ItemSet {
    fn from(tree: BTreeSet<Item>) -> ItemSet {
        ItemSet { tree: OnceLock::from(tree), packed: OnceLock::new() }
    }
}

impl<const N: usize> From<[Item; N]> for ItemSet {
    fn from(items: [Item; N]) -> ItemSet {
        items.into_iter().collect()
    }
}

impl FromIterator<Item> for ItemSet {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> ItemSet {
        BTreeSet::from_iter(items).into()
    }
}

/// Whoever has packed the same items in another way has another set: it is walked through then, which does no harm.
impl PartialEq for ItemSet {
    fn eq(&self, other: &ItemSet) -> bool {
        match (self.tree.get(), other.tree.get()) {
            (Some(one), Some(other)) => one == other,
            _ => self.packed() == other.packed(),
        }
    }
}

impl Eq for ItemSet {}

impl fmt::Debug for ItemSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for ItemSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.packed())
    }
}

impl<'de> Deserialize<'de> for ItemSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ItemSet, D::Error> {
        struct Packed;
        impl Visitor<'_> for Packed {
            type Value = ItemSet;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a packed set of items")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<ItemSet, E> {
                Unpacked::check(bytes).map_err(E::custom)?;
                Ok(ItemSet { tree: OnceLock::new(), packed: OnceLock::from(Bytes::copy_from_slice(bytes)) })
            }
        }
        deserializer.deserialize_bytes(Packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_item() -> impl Strategy<Value = Item> {
        // Few bytes, so that keys share some; many, so that lengths need numbers of their own.
        let key = proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..40);
        (prop_oneof![Just(1u32), Just(300), Just(u32::MAX)], key)
            .prop_map(|(table, key)| Item { table: TableId(table), key: Key::new(&key) })
    }

    fn sent(set: &ItemSet) -> ItemSet {
        let bytes = postcard::to_allocvec(set).expect("it always encodes");
        postcard::from_bytes(&bytes).expect("it was just encoded")
    }

    proptest! {
        /// An item lost on its way would be read stale; and each way to a set must make the same one.
        #[test]
        fn a_set_arrives_as_it_was(items in proptest::collection::vec(any_item(), 0..60), more in any_item()) {
            let tree: BTreeSet<Item> = items.iter().cloned().collect();
            let set = ItemSet::from(tree.clone());
            let packed = ItemSet::packed_of(items.iter().map(|item| (item.table, &item.key)));
            let mut arrived = sent(&set);
            prop_assert_eq!((arrived.len(), &arrived, &packed), (tree.len(), &set, &set));
            prop_assert!(arrived.iter().eq(tree.iter().cloned()) && arrived.tree() == &tree);
            // A change must not leave the old bytes behind.
            arrived.tree_mut().insert(more.clone());
            prop_assert_eq!(sent(&arrived).tree().contains(&more), true);
            prop_assert_eq!(sent(&arrived) == set, tree.contains(&more));
        }

        /// As trees would be united.
        #[test]
        fn a_union_has_what_either_has(
            one in proptest::collection::btree_set(any_item(), 0..30),
            two in proptest::collection::btree_set(any_item(), 0..30),
            without in prop_oneof![Just(1u32), Just(2)],
        ) {
            let kept = |item: &&Item| item.table != TableId(without);
            let expected: ItemSet = one.union(&two).filter(kept).cloned().collect();
            let united = ItemSet::from(one).union(&ItemSet::from(two), |table| table == TableId(without));
            prop_assert_eq!((united.len(), &united), (expected.len(), &expected));
            prop_assert_eq!(sent(&united), expected);
        }

        /// Whatever a peer or a disk brings must be an error or a set.
        #[test]
        fn bytes_are_a_set_or_an_error(bytes in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..40)) {
            if Unpacked::check(&bytes).is_ok() {
                prop_assert_eq!(Unpacked::of(&bytes).collect::<BTreeSet<Item>>().len(), Unpacked::of(&bytes).left);
            }
        }
    }

    /// What is no set is told apart from damage that passes for one: a set out of order would be compared and united wrongly.
    #[test]
    fn what_is_wrong_is_named() {
        let check = Unpacked::check;
        assert_eq!(check(&[2, 7, 2, 0x01, b'a', 0x01, b'b']), Ok(()));
        assert_eq!(check(&[2, 7, 2, 0x01, b'b', 0x01, b'a']), Err(UnpackError::Order));
        assert_eq!(check(&[2, 7, 2, 0x01, b'b', 0x10]), Err(UnpackError::Order), "the same again");
        assert_eq!(check(&[2, 7, 1, 0x01, b'b', 3, 1, 0x01, b'b']), Err(UnpackError::Order), "storages, too");
        assert_eq!(check(&[1, 7, 1, 0x11, b'a']), Err(UnpackError::Shared));
        assert_eq!(check(&[2, 7, 2, 0x01, b'a']), Err(UnpackError::Length));
        assert_eq!(check(&[1, 7, 1, 0x01, b'a', 0]), Err(UnpackError::Length));
        assert_eq!(check(&[1, 7, 0]), Err(UnpackError::Length));
        assert_eq!(check(&[0xff, 0xff, 0xff, 0xff, 0xff]), Err(UnpackError::Length));
        assert_eq!(check(&[]), Err(UnpackError::Length));
    }
}
