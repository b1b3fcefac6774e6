//! What a message is called, and of which transaction or session it speaks: for traces.
//!
//! Found by walking over the message as its encoding does (serde), but no further than names and identifiers, so that there is no second list
//! of messages to keep true.

use crate::server::Message;
use identifiers::{Incarnation, SessionId, SiteId, TransactionId};
use serde::Serialize;
use serde::ser::{self, Impossible, Serializer};
use std::fmt;

/// What a message is called, and of what it speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The protocol: a variant of [`Message`].
    pub protocol: &'static str,
    /// Which of its messages; empty if the protocol has only one.
    pub name: &'static str,
    /// The transaction that it names first.
    pub transaction: Option<TransactionId>,
    /// The session that it names.
    pub session: Option<SessionId>,
}

impl Label {
    /// Of a message.
    pub fn of(message: &Message) -> Label {
        let mut finder = Finder::default();
        // It stops at what it does not want to see; what was found until then is the answer.
        let _ = message.serialize(&mut finder);
        finder.label
    }
}

/// Walks over a message.
#[derive(Default)]
struct Finder {
    label: Label,
    /// Numbers of the identifier that is being read.
    numbers: Option<Vec<u64>>,
}

impl Finder {
    fn note(&mut self, variant: &'static str) {
        if self.label.protocol.is_empty() {
            self.label.protocol = variant;
        } else if self.label.name.is_empty() {
            self.label.name = variant;
        }
    }

    /// Notes a variant, whose fields are walked over.
    fn variant(&mut self, variant: &'static str) -> LabelFields<'_> {
        self.note(variant);
        LabelFields { finder: self, kind: FieldsOf::Variant }
    }

    fn number(&mut self, number: u64) {
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
    }

    /// Reads the numbers of one identifier.
    fn read(&mut self, read: impl FnOnce(&mut Finder) -> Result<(), NothingMore>) -> Result<Vec<u64>, NothingMore> {
        let outer = self.numbers.replace(Vec::new());
        read(self)?;
        Ok(std::mem::replace(&mut self.numbers, outer).unwrap_or_default())
    }
}

/// There is nothing more to find. It never reaches anybody.
#[derive(Debug)]
struct NothingMore;

impl fmt::Display for NothingMore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nothing more to find")
    }
}

impl std::error::Error for NothingMore {}

impl ser::Error for NothingMore {
    fn custom<T: fmt::Display>(_: T) -> NothingMore {
        NothingMore
    }
}

/// The fields of something that has several.
struct LabelFields<'a> {
    finder: &'a mut Finder,
    kind: FieldsOf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldsOf {
    /// A message, or a variant in one: identifiers are wanted.
    Variant,
    /// A transaction's identifier.
    Transaction,
    /// Anything else: passed over.
    Other,
}

impl LabelFields<'_> {
    fn field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), NothingMore> {
        match self.kind {
            FieldsOf::Variant | FieldsOf::Transaction => value.serialize(&mut *self.finder),
            FieldsOf::Other => Ok(()),
        }
    }

    fn finish(self) {
        if self.kind == FieldsOf::Transaction
            && let Some(&[home, incarnation, sequence]) = self.finder.numbers.take().as_deref()
        {
            let (home, incarnation) = (SiteId(home as u16), Incarnation(incarnation as u32));
            self.finder.label.transaction.get_or_insert(TransactionId { home, incarnation, sequence });
        }
    }
}

macro_rules! fields {
    ($trait:ident, $method:ident $(, $key:ty)?) => {
        impl ser::$trait for LabelFields<'_> {
            type Ok = ();
            type Error = NothingMore;

            fn $method<T: ?Sized + Serialize>(&mut self, $(_: $key,)? value: &T) -> Result<(), NothingMore> {
                self.field(value)
            }

            fn end(self) -> Result<(), NothingMore> {
                self.finish();
                Ok(())
            }
        }
    };
}
fields!(SerializeStruct, serialize_field, &'static str);
fields!(SerializeStructVariant, serialize_field, &'static str);
fields!(SerializeTupleVariant, serialize_field);
fields!(SerializeTupleStruct, serialize_field);
fields!(SerializeTuple, serialize_element);

/// Values that are passed over.
macro_rules! passed_over {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, _: $type) -> Result<(), NothingMore> {
            Ok(())
        })*
    };
}

macro_rules! numbers {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, number: $type) -> Result<(), NothingMore> {
            self.number(u64::from(number));
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Finder {
    type Ok = ();
    type Error = NothingMore;
    type SerializeSeq = Impossible<(), NothingMore>;
    type SerializeMap = Impossible<(), NothingMore>;
    type SerializeTuple = LabelFields<'a>;
    type SerializeTupleStruct = LabelFields<'a>;
    type SerializeTupleVariant = LabelFields<'a>;
    type SerializeStruct = LabelFields<'a>;
    type SerializeStructVariant = LabelFields<'a>;

    passed_over!(serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64));
    passed_over!(serialize_f32(f32), serialize_f64(f64), serialize_char(char), serialize_str(&str));
    passed_over!(serialize_bytes(&[u8]), serialize_unit_struct(&'static str));
    numbers!(serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64));

    fn serialize_none(self) -> Result<(), NothingMore> {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), NothingMore> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NothingMore> {
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<(), NothingMore> {
        if name == "SessionId" {
            let numbers = self.read(|finder| value.serialize(finder))?;
            self.label.session = numbers.first().copied().map(SessionId);
            Ok(())
        } else if self.numbers.is_some() {
            value.serialize(self)
        } else {
            Ok(())
        }
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), NothingMore> {
        self.note(variant);
        Ok(())
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NothingMore> {
        self.note(variant);
        value.serialize(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<LabelFields<'a>, NothingMore> {
        Ok(self.variant(variant))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<LabelFields<'a>, NothingMore> {
        Ok(self.variant(variant))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<LabelFields<'a>, NothingMore> {
        if name == "TransactionId" {
            self.numbers = Some(Vec::with_capacity(3));
            return Ok(LabelFields { finder: self, kind: FieldsOf::Transaction });
        }
        Ok(LabelFields { finder: self, kind: FieldsOf::Other })
    }

    fn serialize_tuple(self, _: usize) -> Result<LabelFields<'a>, NothingMore> {
        Ok(LabelFields { finder: self, kind: FieldsOf::Other })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<LabelFields<'a>, NothingMore> {
        Ok(LabelFields { finder: self, kind: FieldsOf::Other })
    }

    // Many of something: identifiers come before them.

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, NothingMore> {
        Err(NothingMore)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, NothingMore> {
        Err(NothingMore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::AccessRequest;
    use crate::commit::{CommitMessage, Outcome};
    use crate::session::SessionRequest;
    use crate::{Key, TableId};

    fn transaction() -> TransactionId {
        TransactionId { home: SiteId(2), incarnation: Incarnation(7), sequence: 99 }
    }

    fn of(message: &Message) -> (&'static str, &'static str, Option<u64>, Option<u64>) {
        let label = Label::of(message);
        let transaction = label.transaction.inspect(|found| assert_eq!(*found, transaction()));
        (label.protocol, label.name, transaction.map(|id| id.sequence), label.session.map(|id| id.0))
    }

    /// If this failed, traces would call messages by wrong names, or give a transaction's time to another one.
    #[test]
    fn messages_are_called_by_their_variants_and_identifiers() {
        let key = Key::new(&[1]);
        let read = AccessRequest::Read { tag: 3, table: TableId(4), key, snapshot: None };
        assert_eq!(of(&Message::Access(read)), ("Access", "Read", None, None));
        let waiting = CommitMessage::Waiting { transaction: transaction() };
        assert_eq!(of(&Message::Commit(waiting)), ("Commit", "Waiting", Some(99), None));
        let decide = CommitMessage::Decide { transaction: transaction(), order: 1, outcome: Outcome::Abort };
        assert_eq!(of(&Message::Commit(decide)), ("Commit", "Decide", Some(99), None));
        let several = CommitMessage::DecideAck { transactions: vec![transaction()] };
        assert_eq!(of(&Message::Commit(several)), ("Commit", "DecideAck", None, None), "it may speak of many");
        let close = Message::SessionRequest(SessionId(8), SessionRequest::Close);
        assert_eq!(of(&close), ("SessionRequest", "Close", None, Some(8)));
        assert_eq!(of(&Message::Synced(4)), ("Synced", "", None, None));
        assert_eq!(of(&Message::Checkpoint), ("Checkpoint", "", None, None));
    }
}
