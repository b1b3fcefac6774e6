//! Enum types: ordered sets of labels, which users define.
//!
//! A value says everything of itself: its type's object identifier, its place in the type's order, and its label. So it prints, compares and is stored
//! without a look into a catalog. What reads labels needs the type's definition, which an [`EnumType`] refers to.
//!
//! Types of users have the numbers from [`FIRST_NUMBER_OF_USERS`] on; that of an enum is even, and that of its arrays the next one. So a number alone says what of the two
//! a type is ([`Type::numbered`]).
//!
//! Invariants: the place of a label never changes, and a place is found between, before and behind any others ([`EnumOrder`]), so a new label leaves all rows and
//! keys as they are. A definition that was made once stays in memory, and the same one is made once only: [`Type`] can be copied.

use crate::error::{ValueError, sqlstate};
use crate::limits::{DEFINITIONS_BYTES_MAX, ENUM_LABEL_BYTES_MAX, ENUM_ORDER_BYTES_MAX};
use crate::types::Type;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// A label's place in the order of its type: bytes that compare as the labels do. It is a number of `NUMBER_BYTES` bytes, big end first, and behind it, for what
/// was put between two neighbours, digits to the base 256 of which the last is not 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EnumOrder(Box<[u8]>);

/// The first object identifier that a user's type can have (PostgreSQL's `FirstNormalObjectId`).
pub const FIRST_NUMBER_OF_USERS: u32 = 16_384;
/// No type of a user has this object identifier or a higher one.
pub const END_OF_NUMBERS: u32 = 1 << 31;

/// Bytes of the number that a place begins with.
const NUMBER_BYTES: usize = size_of::<u32>();
/// The number of a type's first label: as many fit before it as behind it.
const FIRST_NUMBER: u32 = 1 << 31;

impl EnumOrder {
    /// The places of a new type's labels.
    pub fn sequence() -> impl Iterator<Item = Self> {
        (FIRST_NUMBER..).map(Self::of_number)
    }

    fn of_number(number: u32) -> Self {
        Self(number.to_be_bytes().into())
    }

    /// As it is stored. Errors: XX001 for bytes that are no place.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Self, ValueError> {
        if !(NUMBER_BYTES..=ENUM_ORDER_BYTES_MAX).contains(&bytes.len()) {
            return Err(ValueError::corrupt("the place of an enum's label"));
        }
        Ok(Self(bytes.into()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn number(&self) -> u32 {
        self.0.first_chunk().map_or(FIRST_NUMBER, |number| u32::from_be_bytes(*number))
    }

    /// A place between two neighbours, or beyond the one that is given. Errors: 54000 where there is no room any more.
    pub fn between(low: Option<&Self>, high: Option<&Self>) -> Result<Self, ValueError> {
        let full =
            || ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "an enum type has no room for another label there");
        match (low, high) {
            (None, None) => Ok(Self::of_number(FIRST_NUMBER)),
            (Some(last), None) => last.number().checked_add(1).map(Self::of_number).ok_or_else(full),
            (None, Some(first)) => first.number().checked_sub(1).map(Self::of_number).ok_or_else(full),
            (Some(low), Some(high)) => {
                let middle = middle(&low.0, &high.0);
                if middle.len() > ENUM_ORDER_BYTES_MAX { Err(full()) } else { Ok(Self(middle.into())) }
            }
        }
    }
}

/// The digits of a fraction between two, the first of which is less; of few digits, the last not 0 unless it belongs to the number.
fn middle(low: &[u8], high: &[u8]) -> Vec<u8> {
    let mut middle = Vec::new();
    // Once a digit is below that of `high`, everything behind it is.
    let mut is_below = false;
    for place in 0.. {
        let least = low.get(place).copied().map_or(0, u16::from);
        let end = if is_below { 256 } else { high.get(place).copied().map_or(0, u16::from) };
        if end > least + 1 && place >= NUMBER_BYTES {
            middle.push(((least + end) / 2) as u8);
            break;
        }
        middle.push(least as u8);
        is_below |= least < end;
    }
    middle
}

/// A value of an enum type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumValue {
    type_oid: u32,
    order: EnumOrder,
    label: Box<str>,
}

impl EnumValue {
    /// A value of the type with this object identifier.
    pub(crate) fn new(type_oid: u32, order: EnumOrder, label: &str) -> Self {
        Self { type_oid, order, label: label.into() }
    }

    /// The object identifier of its type.
    pub fn type_oid(&self) -> u32 {
        self.type_oid
    }

    /// Its place in the order of its type.
    pub fn order(&self) -> &EnumOrder {
        &self.order
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// What an enum type is at one time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EnumDefinition {
    /// Its object identifier, an even number. That of its arrays is the next one.
    pub oid: u32,
    /// Its name as statements write it, quoted where it has to be.
    pub name: String,
    /// Its name in `pg_type`.
    pub catalog_name: String,
    /// Places and labels, in the order of the places.
    pub labels: Vec<(EnumOrder, String)>,
}

/// A definition in memory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeptDefinition {
    definition: EnumDefinition,
    array_name: String,
    array_catalog_name: String,
}

/// An enum type: equal to itself whatever labels it has. One that comes from a value only knows its object identifier.
#[derive(Clone, Copy, Debug)]
pub struct EnumType {
    oid: u32,
    kept: Option<&'static KeptDefinition>,
}

/// The definitions that are in memory, and their bytes.
static KEPT: Mutex<(BTreeSet<&'static KeptDefinition>, usize)> = Mutex::new((BTreeSet::new(), 0));

impl EnumDefinition {
    fn size(&self) -> usize {
        let labels =
            self.labels.iter().map(|(order, label)| size_of::<(EnumOrder, String)>() + order.0.len() + label.len());
        size_of::<KeptDefinition>() + 3 * (self.name.len() + self.catalog_name.len()) + labels.sum::<usize>()
    }

    /// The type of this definition. Errors: 54000 if those that were ever made fill the memory that is set aside for them, and for labels that are too long.
    pub fn keep(self) -> Result<EnumType, ValueError> {
        if self.labels.iter().any(|(order, label)| {
            label.len() > ENUM_LABEL_BYTES_MAX || !(NUMBER_BYTES..=ENUM_ORDER_BYTES_MAX).contains(&order.0.len())
        }) {
            return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a label of an enum type is too long"));
        }
        let oid = self.oid;
        let size = self.size();
        let array_name = format!("{}[]", self.name);
        let array_catalog_name = format!("_{}", self.catalog_name);
        let wanted = KeptDefinition { definition: self, array_name, array_catalog_name };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.0.get(&wanted) {
            return Ok(EnumType { oid, kept: Some(known) });
        }
        if kept.1 + size > DEFINITIONS_BYTES_MAX {
            let message = "this process has seen too many definitions of enum types";
            return Err(ValueError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let known: &'static KeptDefinition = Box::leak(Box::new(wanted));
        kept.0.insert(known);
        kept.1 += size;
        Ok(EnumType { oid, kept: Some(known) })
    }
}

impl Type {
    /// The user's type with this object identifier, of which nothing else is known; `None` for a number that none has.
    pub fn numbered(oid: u32) -> Option<Self> {
        if !(FIRST_NUMBER_OF_USERS..END_OF_NUMBERS).contains(&oid) {
            return None;
        }
        let labels = Self::Enum(EnumType::numbered(oid & !1));
        Some(if oid & 1 == 0 { labels } else { labels.array() })
    }
}

impl EnumType {
    /// The type with this object identifier, of which nothing else is known.
    pub(crate) fn numbered(oid: u32) -> Self {
        Self { oid, kept: None }
    }

    /// Its object identifier.
    pub fn oid(&self) -> u32 {
        self.oid
    }

    /// The object identifier of its arrays.
    pub fn array_oid(&self) -> u32 {
        self.oid.saturating_add(1)
    }

    /// Its definition; `None` for what comes from a value.
    pub fn definition(&self) -> Option<&'static EnumDefinition> {
        self.kept.map(|kept| &kept.definition)
    }

    /// Its name as statements write it.
    pub(crate) fn name(&self) -> &'static str {
        self.kept.map_or("enum", |kept| &kept.definition.name)
    }

    /// Its name in `pg_type`.
    pub(crate) fn catalog_name(&self) -> &'static str {
        self.kept.map_or("enum", |kept| &kept.definition.catalog_name)
    }

    /// The name of its arrays as statements write it.
    pub(crate) fn array_name(&self) -> &'static str {
        self.kept.map_or("enum[]", |kept| &kept.array_name)
    }

    /// The name of its arrays in `pg_type`.
    pub(crate) fn array_catalog_name(&self) -> &'static str {
        self.kept.map_or("_enum", |kept| &kept.array_catalog_name)
    }

    /// Its values, in their order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Arc<EnumValue>> {
        let labels = self.definition().map_or(&[][..], |definition| &definition.labels);
        let oid = self.oid;
        labels.iter().map(move |(order, label)| Arc::new(EnumValue::new(oid, order.clone(), label)))
    }

    /// A value of the type with the label that its place has now.
    pub(crate) fn relabelled(&self, value: &Arc<EnumValue>) -> Arc<EnumValue> {
        let labels = self.definition().map_or(&[][..], |definition| &definition.labels);
        let found = labels.binary_search_by(|(order, _)| order.cmp(&value.order)).ok().map(|place| &labels[place].1);
        match found.filter(|label| ***label != *value.label) {
            Some(label) => Arc::new(EnumValue::new(self.oid, value.order.clone(), label)),
            None => Arc::clone(value),
        }
    }

    /// The value with this label. Errors: 22P02; 0A000 where only the type's number is known.
    pub fn parse(&self, label: &str) -> Result<Arc<EnumValue>, ValueError> {
        let Some(definition) = self.definition() else {
            return Err(ValueError::unsupported("reading a label of an enum type in this place is not supported"));
        };
        match definition.labels.iter().find(|(_, known)| known == label) {
            Some((order, label)) => Ok(Arc::new(EnumValue::new(self.oid, order.clone(), label))),
            None => Err(ValueError::new(
                sqlstate::INVALID_TEXT_REPRESENTATION,
                format!("invalid input value for enum {}: \"{label}\"", self.name()),
            )),
        }
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

impl Serialize for EnumType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.oid, self.definition()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EnumType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <(u32, Option<EnumDefinition>)>::deserialize(deserializer)? {
            (oid, None) => Ok(Self::numbered(oid)),
            (oid, Some(definition)) if definition.oid == oid => {
                definition.keep().map_err(|error| D::Error::custom(error.message))
            }
            _ => Err(D::Error::custom("an enum type has two object identifiers")),
        }
    }
}

impl Serialize for EnumValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.type_oid, &self.order, &self.label).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EnumValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (type_oid, order, label) = <(u32, Box<[u8]>, Box<str>)>::deserialize(deserializer)?;
        let order = EnumOrder::of_bytes(&order).map_err(|error| D::Error::custom(error.message))?;
        Ok(Self { type_oid, order, label })
    }
}

#[cfg(test)]
pub(crate) fn for_tests() -> EnumType {
    let labels = ["sad", "ok", "a, \"b\"", "", "NULL"].map(String::from);
    let labels = EnumOrder::sequence().zip(labels).collect();
    let definition = EnumDefinition { oid: 16_400, name: "mood".into(), catalog_name: "mood".into(), labels };
    definition.keep().expect("a definition")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use proptest::prelude::*;

    proptest! {
        /// A label that is put between two others would sort elsewhere, and rows would be found in the wrong order or not at all.
        #[test]
        fn there_is_a_place_between_any_two(places in prop::collection::vec(any::<prop::sample::Index>(), 1..200)) {
            let mut all: Vec<EnumOrder> = EnumOrder::sequence().take(2).collect();
            for place in places {
                let at = place.index(all.len() + 1);
                let new = EnumOrder::between(at.checked_sub(1).map(|low| &all[low]), all.get(at)).unwrap();
                all.insert(at, new);
                prop_assert!(all.is_sorted_by(|left, right| left < right), "{all:?}");
            }
        }
    }

    /// Places would grow with each label until there is no room.
    #[test]
    fn places_grow_slowly() {
        let mut all: Vec<EnumOrder> = EnumOrder::sequence().take(2).collect();
        for _ in 0..1000 {
            let new = EnumOrder::between(Some(&all[0]), Some(&all[1])).unwrap();
            all.insert(1, new);
        }
        assert!(all.iter().all(|place| place.0.len() < 150), "{:?}", all[1]);
        for _ in 0..1000 {
            all.push(EnumOrder::between(all.last(), None).unwrap());
        }
        assert_eq!(all.last().map(|place| place.0.len()), Some(NUMBER_BYTES));
    }

    fn definition_order(of: &EnumType, place: usize) -> EnumOrder {
        of.definition().unwrap().labels[place].0.clone()
    }

    /// Two definitions of one type would be two types, or a definition that is read again would fill the memory.
    #[test]
    fn a_type_is_one_whatever_labels_it_has() {
        let first = for_tests();
        let definition = first.definition().unwrap().clone();
        let bytes = KEPT.lock().unwrap().1;
        let again = definition.clone().keep().unwrap();
        assert_eq!(KEPT.lock().unwrap().1, bytes);
        assert!(std::ptr::eq(first.definition().unwrap(), again.definition().unwrap()));
        let more = EnumDefinition { labels: definition.labels[..1].to_vec(), ..definition };
        let other = more.keep().unwrap();
        assert_eq!((other, other.values().count()), (first, 1));
        let message = other.parse("ok").unwrap_err();
        let renamed = vec![(definition_order(&first, 1), "fine".to_owned())];
        let later = EnumDefinition { labels: renamed, ..first.definition().unwrap().clone() }.keep().unwrap();
        let ok = Value::Enum(first.parse("ok").unwrap());
        let fine = crate::cast::assign(&Value::array(Type::Enum(first), vec![ok]), Type::Enum(later).array()).unwrap();
        assert_eq!(crate::text::to_string(&fine).as_deref(), Some("{fine}"));
        assert_eq!((message.sqlstate, &*message.message), ("22P02", "invalid input value for enum mood: \"ok\""));
        let read: EnumType = postcard::from_bytes(&postcard::to_stdvec(&first).unwrap()).unwrap();
        assert!(std::ptr::eq(first.definition().unwrap(), read.definition().unwrap()));
    }
}
