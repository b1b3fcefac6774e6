//! What a client calls an item: table, index, and key as SQL text, as far as a catalog knows them.

use crate::expression_sql::SqlStyle;
use crate::item::Item;
use crate::namespace;
use crate::schema::Catalog;
use identifiers::TableId;
use values::{Type, Value, key};

/// What a client calls an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemName {
    /// The table; none for the catalog, and for a storage that the catalog does not know (any more).
    pub table: Option<String>,
    /// The index, if it is an entry of one.
    pub index: Option<String>,
    /// `(a, b)=(1, x)`; none for a hidden key, and for the beginning or end of a range that is no key.
    pub key: Option<String>,
}

impl ItemName {
    /// What this catalog calls the item.
    pub fn of(item: &Item, catalog: &Catalog) -> ItemName {
        if item.table == TableId::CATALOG {
            return ItemName::default();
        }
        let tables = catalog.tables.values().map(|versioned| versioned.table.as_ref());
        for table in tables {
            let bytes = item.key.as_bytes();
            let schema = |oid| catalog.namespace_numbered(oid).map(|schema| schema.name.clone());
            let name = || Some(namespace::named(&table.name, schema).into_owned());
            if table.storage == item.table {
                let names = table.primary_key.iter().map(|column| table.columns[*column].name.clone()).collect();
                let types = table.primary_key.iter().map(|column| table.columns[*column].column_type).collect();
                return ItemName { table: name(), index: None, key: key_text(names, types, bytes) };
            }
            if let Some(index) = table.indexes.iter().find(|index| index.storage == item.table) {
                let names = (0..index.keys.len()).map(|place| index.key_sql(table, place, SqlStyle::Pretty));
                let key = key_text(names.collect(), index.key_types(table), bytes);
                return ItemName { table: name(), index: Some(namespace::bare(&index.name).to_owned()), key };
            }
        }
        ItemName::default()
    }
}

fn key_text(names: Vec<String>, types: Vec<Type>, bytes: &[u8]) -> Option<String> {
    let (values, _) = key::decode_prefix(bytes, &types).ok()?;
    if values.is_empty() {
        return None;
    }
    // Of the beginning of a range only some of them may be there.
    let names = &names[..values.len()];
    let texts: Vec<String> = values.iter().zip(&types).map(|(value, data_type)| text_of(value, *data_type)).collect();
    Some(format!("({})=({})", names.join(", "), texts.join(", ")))
}

fn text_of(value: &Value, data_type: Type) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let mut text = Vec::new();
    values::text::write(value, data_type, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
