//! Indexes as the catalog keeps them.
//!
//! The way of an entry: the site that executes a statement computes the entry of each row that it writes, once, from the row's own
//! values, and writes it in the same transaction as the row. Other sites, copiers and restored snapshots carry its bytes and compute
//! nothing. So an entry can be found, and taken away, only if computing it from the row again gives the same bytes: expressions and
//! predicates are immutable in PostgreSQL's sense. What rewrites a table computes all entries anew into new storages.

use crate::program::Expression;
use crate::schema::TableSchema;
use identifiers::TableId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use values::Type;

/// An index: a storage whose keys are the index's keys, followed by the table's key unless it is unique. Only rows that satisfy its
/// predicate have an entry.
///
/// * unique, no key NULL: key = (keys), row = (the table's key columns' values);
/// * otherwise: key = (keys, table's key), empty row. (NULLs are distinct, so they never clash.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "StoredIndex", into = "StoredIndex")]
pub struct IndexSchema {
    /// Its name.
    pub name: String,
    /// Its object identifier.
    pub oid: u32,
    /// Its storage.
    pub storage: TableId,
    /// What it is over, in order.
    pub keys: Vec<IndexKey>,
    /// Whether two of its rows may not agree in all its keys (NULLs never agree).
    pub unique: bool,
    /// Whether it was made by a UNIQUE constraint.
    pub constraint: bool,
    /// INCLUDE: positions of columns that are shown as part of it. Rows are looked up in the table all the same.
    pub included: Vec<usize>,
    /// Which rows are in it; `None`: all.
    pub predicate: Option<Arc<RowExpression>>,
    /// How it was asked for.
    pub method: IndexMethod,
    /// Its options as given (`fillfactor=70`), shown and otherwise ignored.
    pub options: Vec<String>,
}

/// A key of an index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexKey {
    /// What it is.
    pub part: IndexKeyPart,
    /// DESC. It is shown: entries are in ascending order, NULLs last, and are read both ways.
    pub descending: bool,
    /// Where NULLs were asked for, likewise.
    pub nulls_first: bool,
    /// An operator class that is not the type's own (`text_pattern_ops`), likewise.
    pub operator_class: Option<String>,
    /// A collation that is not the column's own, likewise: all are C.
    pub collation: Option<String>,
}

/// What a key of an index is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum IndexKeyPart {
    /// The column at this position in the table.
    Column(usize),
    /// What is computed of a row.
    Expression(Arc<RowExpression>),
}

/// An immutable expression over a table's columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowExpression {
    /// The expression; its columns are those of the table.
    pub expression: Expression,
    /// The type of its values.
    pub result: Type,
    /// The columns that it names, each once, in ascending order.
    pub columns: Vec<usize>,
}

/// The access method that an index was asked for with. Only the first two have entries; for the others the table is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexMethod {
    /// `btree`.
    #[default]
    Btree,
    /// `hash`.
    Hash,
    /// `gin`.
    Gin,
    /// `gist`.
    Gist,
    /// `brin`.
    Brin,
}

impl IndexMethod {
    /// Each.
    pub const ALL: [IndexMethod; 5] =
        [IndexMethod::Btree, IndexMethod::Hash, IndexMethod::Gin, IndexMethod::Gist, IndexMethod::Brin];

    /// As SQL names it.
    pub fn name(self) -> &'static str {
        match self {
            IndexMethod::Btree => "btree",
            IndexMethod::Hash => "hash",
            IndexMethod::Gin => "gin",
            IndexMethod::Gist => "gist",
            IndexMethod::Brin => "brin",
        }
    }
}

impl RowExpression {
    /// An expression with what it names.
    pub fn new(expression: Expression, result: Type) -> RowExpression {
        let mut columns = Vec::new();
        expression.visit(&mut |part| {
            if let Expression::Column(column) = part {
                columns.push(usize::from(*column));
            }
        });
        columns.sort_unstable();
        columns.dedup();
        RowExpression { expression, result, columns }
    }
}

impl IndexKey {
    /// A column in ascending order.
    pub fn column(position: usize) -> IndexKey {
        IndexKey::of(IndexKeyPart::Column(position))
    }

    /// A key in ascending order.
    pub fn of(part: IndexKeyPart) -> IndexKey {
        IndexKey { part, descending: false, nulls_first: false, operator_class: None, collation: None }
    }

    /// Whether it says nothing but its column.
    fn plain(&self) -> Option<usize> {
        match self.part {
            IndexKeyPart::Column(column)
                if !self.descending
                    && !self.nulls_first
                    && self.operator_class.is_none()
                    && self.collation.is_none() =>
            {
                Some(column)
            }
            _ => None,
        }
    }

    /// The columns that it names.
    fn columns_used(&self) -> &[usize] {
        match &self.part {
            IndexKeyPart::Column(column) => std::slice::from_ref(column),
            IndexKeyPart::Expression(own) => &own.columns,
        }
    }

    /// The column, if it is one.
    pub fn as_column(&self) -> Option<usize> {
        match self.part {
            IndexKeyPart::Column(column) => Some(column),
            IndexKeyPart::Expression(_) => None,
        }
    }
}

impl IndexSchema {
    /// An index over these columns of all rows.
    pub fn new(name: impl Into<String>, oid: u32, storage: TableId, columns: &[usize], unique: bool) -> IndexSchema {
        IndexSchema {
            name: name.into(),
            oid,
            storage,
            keys: columns.iter().copied().map(IndexKey::column).collect(),
            unique,
            constraint: false,
            included: Vec::new(),
            predicate: None,
            method: IndexMethod::Btree,
            options: Vec::new(),
        }
    }

    /// Whether rows have entries in it. If not, nothing is found by it.
    pub fn has_entries(&self) -> bool {
        matches!(self.method, IndexMethod::Btree | IndexMethod::Hash)
    }

    /// Whether all rows of the table have an entry.
    pub fn is_whole(&self) -> bool {
        self.predicate.is_none() && self.has_entries()
    }

    /// Its columns, if its keys are nothing else and all rows are in it.
    pub fn whole_columns(&self) -> Option<Vec<usize>> {
        self.keys.iter().map(IndexKey::as_column).collect::<Option<_>>().filter(|_| self.is_whole())
    }

    /// The columns that its keys begin with, if all rows are in it.
    pub fn leading_columns(&self) -> Vec<usize> {
        let keys = self.keys.iter().filter(|_| self.is_whole());
        keys.map_while(IndexKey::as_column).collect()
    }

    /// Whether an entry, or that there is one, depends on this column.
    pub fn depends_on(&self, column: usize) -> bool {
        self.has_entries()
            && (self.keys.iter().any(|key| key.columns_used().contains(&column))
                || self.predicate.as_ref().is_some_and(|own| own.columns.contains(&column)))
    }

    /// Whether it names this column at all.
    pub fn names(&self, column: usize) -> bool {
        self.columns_used().any(|own| own == column)
    }

    /// The columns that it names; some perhaps twice.
    pub fn columns_used(&self) -> impl Iterator<Item = usize> {
        let predicate = self.predicate.iter().flat_map(|own| own.columns.iter());
        self.keys.iter().flat_map(IndexKey::columns_used).chain(&self.included).chain(predicate).copied()
    }

    /// The type of the key at this place.
    pub fn key_type(&self, table: &TableSchema, place: usize) -> Type {
        match &self.keys[place].part {
            IndexKeyPart::Column(column) => table.columns[*column].column_type,
            IndexKeyPart::Expression(own) => own.result,
        }
    }

    /// The types of its keys.
    pub fn key_types(&self, table: &TableSchema) -> Vec<Type> {
        (0..self.keys.len()).map(|place| self.key_type(table, place)).collect()
    }
}

/// An index as rows of the catalog hold it. One over columns of all rows is as earlier versions wrote it.
#[derive(Clone, Serialize, Deserialize)]
struct StoredIndex {
    name: String,
    oid: u32,
    storage: TableId,
    /// Of the first two forms.
    columns: Vec<usize>,
    unique: bool,
    form: StoredForm,
}

/// Earlier versions had a flag in its place, whose bytes are those of the first two.
#[derive(Clone, Serialize, Deserialize)]
enum StoredForm {
    Plain,
    Constraint,
    Detailed {
        constraint: bool,
        keys: Vec<IndexKey>,
        included: Vec<usize>,
        predicate: Option<Arc<RowExpression>>,
        method: IndexMethod,
        options: Vec<String>,
    },
}

impl From<IndexSchema> for StoredIndex {
    fn from(index: IndexSchema) -> StoredIndex {
        let IndexSchema { name, oid, storage, keys, unique, constraint, included, predicate, method, options } = index;
        let plain = included.is_empty() && predicate.is_none() && method == IndexMethod::Btree && options.is_empty();
        let columns = keys.iter().map(IndexKey::plain).collect::<Option<Vec<_>>>().filter(|_| plain);
        let (columns, form) = match columns {
            Some(columns) if constraint => (columns, StoredForm::Constraint),
            Some(columns) => (columns, StoredForm::Plain),
            None => {
                let form = StoredForm::Detailed { constraint, keys, included, predicate, method, options };
                (Vec::new(), form)
            }
        };
        StoredIndex { name, oid, storage, columns, unique, form }
    }
}

impl From<StoredIndex> for IndexSchema {
    fn from(stored: StoredIndex) -> IndexSchema {
        let StoredIndex { name, oid, storage, columns, unique, form } = stored;
        let plain = IndexSchema::new(name, oid, storage, &columns, unique);
        match form {
            StoredForm::Plain => plain,
            StoredForm::Constraint => IndexSchema { constraint: true, ..plain },
            StoredForm::Detailed { constraint, keys, included, predicate, method, options } => {
                IndexSchema { constraint, keys, included, predicate, method, options, ..plain }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::BinaryOperator;
    use crate::schema::{CatalogEntry, Column};
    use values::Value;

    /// As earlier versions had it.
    #[derive(Serialize)]
    struct EarlierIndex {
        name: String,
        oid: u32,
        storage: TableId,
        columns: Vec<usize>,
        unique: bool,
        constraint: bool,
    }

    fn table(index: IndexSchema) -> TableSchema {
        let columns = ["a", "b"].map(|name| Column::new(name, Type::Integer, false)).to_vec();
        let mut table = TableSchema::new("t", TableId(9), columns);
        table.indexes.push(index);
        table
    }

    /// After an upgrade a site could not read its catalog, or the sites that have not been upgraded could not.
    #[test]
    fn plain_indexes_are_as_earlier_versions_wrote_them() {
        for constraint in [false, true] {
            let earlier = EarlierIndex {
                name: "i".into(),
                oid: 7,
                storage: TableId(8),
                columns: vec![1, 0],
                unique: true,
                constraint,
            };
            let bytes = postcard::to_stdvec(&earlier).expect("encodes");
            let index: IndexSchema = postcard::from_bytes(&bytes).expect("an earlier index");
            assert_eq!((index.whole_columns(), index.constraint, index.unique), (Some(vec![1, 0]), constraint, true));
            assert_eq!(postcard::to_stdvec(&index).expect("encodes"), bytes);
        }
    }

    /// Entries would be computed by another expression than the one that was asked for.
    #[test]
    fn a_detailed_index_comes_back_from_the_catalog() {
        let column = |place| Box::new(Expression::Column(place));
        let sum = Expression::Binary(BinaryOperator::Add, column(0), column(1));
        let positive =
            Expression::Binary(BinaryOperator::Greater, column(1), Box::new(Expression::Constant(Value::Integer(0))));
        let mut index = IndexSchema::new("i", 7, TableId(8), &[], true);
        let key = IndexKey::of(IndexKeyPart::Expression(Arc::new(RowExpression::new(sum, Type::Integer))));
        index.keys = vec![IndexKey { descending: true, nulls_first: true, ..key }, IndexKey::column(0)];
        index.predicate = Some(Arc::new(RowExpression::new(positive, Type::Boolean)));
        index.included = vec![0];
        index.method = IndexMethod::Hash;
        let encoded = CatalogEntry::Table(Arc::new(table(index.clone()))).encode();
        let Ok(CatalogEntry::Table(read)) = CatalogEntry::decode(&encoded) else { panic!("no table") };
        assert_eq!(format!("{:?}", read.indexes), format!("{:?}", [&index]));
        assert_eq!(read.indexes[0].key_types(&read), [Type::Integer, Type::Integer]);
        let depends = |column| read.indexes[0].depends_on(column);
        assert_eq!((depends(0), depends(1), depends(2)), (true, true, false));
        assert_eq!((read.indexes[0].whole_columns(), read.indexes[0].leading_columns()), (None, Vec::new()));
        // A version that knows no such index has to refuse it, rather than not maintain it.
        type Earlier = (String, u32, TableId, Vec<usize>, bool, bool);
        let bytes = postcard::to_stdvec(&index).expect("encodes");
        assert!(postcard::from_bytes::<Earlier>(&bytes).is_err());
    }
}
