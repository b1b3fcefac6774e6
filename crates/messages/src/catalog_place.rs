//! Where the catalog has the rows of each database.
//!
//! What is in the first database stands in the catalog under the keys that [`CatalogEntry`] gives. In another one the database's
//! object identifier stands before them. So whoever works for a session sees one database as if there were no other: its rows by their plain keys, and the
//! rows that all databases share, which are roles, settings, the counter of numbers and the databases themselves. Invariant: only [`DatabaseId::placed`] and
//! [`DatabaseId::plain`] know of the numbers before keys.

use crate::database::{DatabaseId, DatabaseSchema};
use crate::key::Key;
use crate::schema::{
    COMMENT, CatalogEntry, CatalogVersions, CommentTarget, DATABASE, EXTENSION, NAMESPACE, PROCEDURE, RELATION, RIGHTS,
    TYPE, WITHIN_DATABASE,
};
use std::borrow::Cow;

const _: () = assert!(DATABASE != WITHIN_DATABASE);

/// Bytes before the keys of what is in a database: the space and the number.
const PREFIX_BYTES: usize = 5;

impl DatabaseId {
    /// Where the catalog has a row of this database. A key that has its place already keeps it, as has one that all databases share.
    pub fn placed(self, key: &Key) -> Key {
        let bytes = key.as_bytes();
        match split(bytes) {
            Some((DatabaseId::FIRST, plain)) => Key::new(plain),
            None if self != DatabaseId::FIRST && is_of_one(bytes) => {
                let mut placed = Vec::with_capacity(bytes.len() + PREFIX_BYTES);
                placed.push(WITHIN_DATABASE);
                placed.extend_from_slice(&self.0.to_be_bytes());
                placed.extend_from_slice(bytes);
                Key::new(&placed)
            }
            _ => key.clone(),
        }
    }

    /// Rows of the catalog with their versions, each where the catalog has it.
    pub fn placed_rows(self, rows: &CatalogVersions) -> CatalogVersions {
        match self {
            DatabaseId::FIRST => rows.clone(),
            _ => rows.iter().map(|(key, version)| (self.placed(key), *version)).collect(),
        }
    }

    /// The same of a database, whatever session writes the key: the first one is named, too.
    pub fn within(self, key: &Key) -> Key {
        let number = self.0.to_be_bytes();
        Key::new(&[&[WITHIN_DATABASE], &number[..], key.as_bytes()].concat())
    }

    /// A key as sessions of its database have it.
    pub fn plain(key: &Key) -> Cow<'_, Key> {
        match split(key.as_bytes()) {
            Some((_, plain)) => Cow::Owned(Key::new(plain)),
            None => Cow::Borrowed(key),
        }
    }
}

/// The database that stands before a key, and the key.
pub(crate) fn split(bytes: &[u8]) -> Option<(DatabaseId, &[u8])> {
    let (number, plain) = bytes.strip_prefix(&[WITHIN_DATABASE])?.split_first_chunk()?;
    Some((DatabaseId(u32::from_be_bytes(*number)), plain))
}

/// Whether a row under this key is of one database, not of all.
fn is_of_one(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((&(RELATION | PROCEDURE | TYPE | EXTENSION | NAMESPACE | RIGHTS), _)) => true,
        Some((&COMMENT, target)) => CommentTarget::of_bytes(target).is_some_and(|target| !target.is_shared()),
        _ => false,
    }
}

impl DatabaseSchema {
    /// Its row in the catalog.
    pub fn key(&self) -> Key {
        CatalogEntry::database_key(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Place;

    /// A statement would read or write a row of another database, or one of all as if it was its own.
    #[test]
    fn keys_have_their_place() {
        let other = DatabaseId(16400);
        let own = [
            CatalogEntry::key("t"),
            CatalogEntry::namespace_key("public"),
            CatalogEntry::rights_key(Place::Database),
            CatalogEntry::comment_key(CommentTarget::relation(7)),
        ];
        for key in own {
            let placed = other.placed(&key);
            assert_ne!(placed, key);
            assert_eq!(other.placed(&placed), placed, "twice is once");
            assert_eq!(DatabaseId(16401).placed(&placed), placed, "it is another's already");
            assert_eq!(*DatabaseId::plain(&placed), key);
            assert_eq!(DatabaseId::FIRST.placed(&key), key);
            assert_eq!(other.placed(&DatabaseId::FIRST.within(&key)), key);
        }
        let shared = [
            CatalogEntry::role_key("r"),
            CatalogEntry::setting_key("s"),
            CatalogEntry::next_key(),
            CatalogEntry::database_key("d"),
            CatalogEntry::comment_key(CommentTarget::new(CommentTarget::ROLES, 10)),
        ];
        for key in shared {
            assert_eq!(other.placed(&key), key);
        }
    }
}
