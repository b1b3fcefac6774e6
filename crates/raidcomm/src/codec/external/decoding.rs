//! Bytes to values.

use super::{ExternalError, filling};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

/// Reads from the start of these.
pub(super) struct ExternalDecoder<'de> {
    pub(super) rest: &'de [u8],
}

impl<'de> ExternalDecoder<'de> {
    fn item<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], ExternalError> {
        let short = ExternalError::Short(COUNT.saturating_sub(self.rest.len()));
        let (item, rest) = self.rest.split_first_chunk().ok_or(short)?;
        self.rest = rest;
        Ok(*item)
    }

    fn word(&mut self) -> Result<u32, ExternalError> {
        self.item().map(u32::from_be_bytes)
    }

    fn boolean(&mut self, what: &'static str) -> Result<bool, ExternalError> {
        match self.word()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(ExternalError::Value { what, value }),
        }
    }

    fn opaque(&mut self) -> Result<&'de [u8], ExternalError> {
        let length = self.word()? as usize;
        let missing = |missing: usize| ExternalError::Short(missing);
        let (value, rest) =
            self.rest.split_at_checked(length).ok_or(missing(length.saturating_sub(self.rest.len())))?;
        let filling = filling(length);
        let (zeros, rest) = rest.split_at_checked(filling).ok_or(missing(filling.saturating_sub(rest.len())))?;
        if let Some(&value) = zeros.iter().find(|&&zero| zero != 0) {
            return Err(ExternalError::Value { what: "what fills an item up", value: value.into() });
        }
        self.rest = rest;
        Ok(value)
    }

    fn text(&mut self) -> Result<&'de str, ExternalError> {
        std::str::from_utf8(self.opaque()?).map_err(|_| ExternalError::Text)
    }
}

/// Numbers that are smaller than their items.
macro_rules! narrow {
    ($($method:ident: $visit:ident, $number:ty, $item:ty, $what:literal),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
            let item = <$item>::from_be_bytes(self.item()?);
            let value = <$number>::try_from(item);
            visitor.$visit(value.map_err(|_| ExternalError::Value { what: $what, value: item as u32 })?)
        })*
    };
}

/// Numbers of their items' length.
macro_rules! whole {
    ($($method:ident: $visit:ident, $number:ty),*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
            visitor.$visit(<$number>::from_be_bytes(self.item()?))
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut ExternalDecoder<'de> {
    type Error = ExternalError;

    narrow!(
        deserialize_i8: visit_i8, i8, i32, "an integer of 8 bits",
        deserialize_i16: visit_i16, i16, i32, "an integer of 16 bits",
        deserialize_u8: visit_u8, u8, u32, "an unsigned integer of 8 bits",
        deserialize_u16: visit_u16, u16, u32, "an unsigned integer of 16 bits",
        deserialize_char: visit_char, char, u32, "a character"
    );
    whole!(
        deserialize_i32: visit_i32, i32, deserialize_i64: visit_i64, i64,
        deserialize_u32: visit_u32, u32, deserialize_u64: visit_u64, u64,
        deserialize_f32: visit_f32, f32, deserialize_f64: visit_f64, f64
    );

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, ExternalError> {
        Err(ExternalError::NoForm("a type that the bytes would have to tell"))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_bool(self.boolean("a boolean")?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_borrowed_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_borrowed_bytes(self.opaque()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        match self.boolean("whether optional data is there")? {
            false => visitor.visit_none(),
            true => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ExternalError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        let left = self.word()? as usize;
        visitor.visit_seq(ElementReader { decoder: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ExternalError> {
        visitor.visit_seq(ElementReader { decoder: self, left: length })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ExternalError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        let left = self.word()? as usize;
        visitor.visit_map(ElementReader { decoder: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ExternalError> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ExternalError> {
        visitor.visit_enum(self)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ExternalError> {
        self.deserialize_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Elements, fields or pairs that are still to be read. They promise no length: what a peer claims must not reserve memory.
struct ElementReader<'a, 'de> {
    decoder: &'a mut ExternalDecoder<'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for ElementReader<'_, 'de> {
    type Error = ExternalError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ExternalError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.decoder).map(Some)
    }
}

impl<'de> de::MapAccess<'de> for ElementReader<'_, 'de> {
    type Error = ExternalError;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ExternalError> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ExternalError> {
        seed.deserialize(&mut *self.decoder)
    }
}

impl<'de> de::EnumAccess<'de> for &mut ExternalDecoder<'de> {
    type Error = ExternalError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), ExternalError> {
        let place = self.word()?;
        let variant = seed.deserialize(IntoDeserializer::<ExternalError>::into_deserializer(place))?;
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for &mut ExternalDecoder<'de> {
    type Error = ExternalError;

    fn unit_variant(self) -> Result<(), ExternalError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ExternalError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ExternalError> {
        de::Deserializer::deserialize_tuple(self, length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ExternalError> {
        de::Deserializer::deserialize_tuple(self, fields.len(), visitor)
    }
}
