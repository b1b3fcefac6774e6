//! Values to bytes.

use super::{ExternalError, filling};
use serde::ser::{self, Serialize};

/// Appends to these.
pub(super) struct ExternalEncoder<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
}

impl ExternalEncoder<'_> {
    fn put(&mut self, item: &[u8]) -> Result<(), ExternalError> {
        self.bytes.extend_from_slice(item);
        Ok(())
    }

    /// Which of several forms follows (RFC 4506, section 4.15).
    fn discriminant(&mut self, place: u32) -> Result<&mut Self, ExternalError> {
        self.put(&place.to_be_bytes())?;
        Ok(self)
    }

    fn length(&mut self, length: usize) -> Result<(), ExternalError> {
        let told = u32::try_from(length).map_err(|_| ExternalError::Long(length))?;
        self.put(&told.to_be_bytes())
    }

    fn opaque(&mut self, value: &[u8]) -> Result<(), ExternalError> {
        self.length(value.len())?;
        self.bytes.extend_from_slice(value);
        let filled = self.bytes.len() + filling(value.len());
        self.bytes.resize(filled, 0);
        Ok(())
    }
}

/// Numbers, each in the item that holds it.
macro_rules! numbers {
    ($($method:ident: $number:ty as $item:ty),*) => {
        $(fn $method(self, value: $number) -> Result<(), ExternalError> {
            self.put(&<$item>::from(value).to_be_bytes())
        })*
    };
}

impl ser::Serializer for &mut ExternalEncoder<'_> {
    type Ok = ();
    type Error = ExternalError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers!(
        serialize_bool: bool as u32, serialize_char: char as u32,
        serialize_i8: i8 as i32, serialize_i16: i16 as i32, serialize_i32: i32 as i32, serialize_i64: i64 as i64,
        serialize_u8: u8 as u32, serialize_u16: u16 as u32, serialize_u32: u32 as u32, serialize_u64: u64 as u64,
        serialize_f32: f32 as f32, serialize_f64: f64 as f64
    );

    fn serialize_i128(self, _value: i128) -> Result<(), ExternalError> {
        Err(ExternalError::NoForm("an integer of 128 bits"))
    }

    fn serialize_u128(self, _value: u128) -> Result<(), ExternalError> {
        Err(ExternalError::NoForm("an integer of 128 bits"))
    }

    fn serialize_str(self, value: &str) -> Result<(), ExternalError> {
        self.opaque(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), ExternalError> {
        self.opaque(value)
    }

    fn serialize_none(self) -> Result<(), ExternalError> {
        self.serialize_bool(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ExternalError> {
        self.put(&1_u32.to_be_bytes())?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ExternalError> {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), ExternalError> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, place: u32, _: &'static str) -> Result<(), ExternalError> {
        self.put(&place.to_be_bytes())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), ExternalError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        place: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), ExternalError> {
        self.put(&place.to_be_bytes())?;
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, ExternalError> {
        self.length(length.ok_or(ExternalError::NoForm("a sequence of unknown length"))?)?;
        Ok(self)
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self, ExternalError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, ExternalError> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        place: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, ExternalError> {
        self.discriminant(place)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, ExternalError> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, ExternalError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        place: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, ExternalError> {
        self.discriminant(place)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What has parts is its parts, one behind the other.
macro_rules! parts {
    ($($kind:ident: $method:ident),*) => {
        $(impl ser::$kind for &mut ExternalEncoder<'_> {
            type Ok = ();
            type Error = ExternalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ExternalError> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), ExternalError> {
                Ok(())
            }
        })*
    };
}

parts!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

macro_rules! named_parts {
    ($($kind:ident),*) => {
        $(impl ser::$kind for &mut ExternalEncoder<'_> {
            type Ok = ();
            type Error = ExternalError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), ExternalError> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), ExternalError> {
                Ok(())
            }
        })*
    };
}

named_parts!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for &mut ExternalEncoder<'_> {
    type Ok = ();
    type Error = ExternalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ExternalError> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ExternalError> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), ExternalError> {
        Ok(())
    }
}
