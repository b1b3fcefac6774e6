//! Tables of a case: what they are made of and what is in them, in a form that can be made smaller.

use crate::limits::{COLUMNS_MAX, ROWS_MAX, TABLES_MAX};
use crate::random::Random;
use crate::types::Type;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// What expressions over it are.
    pub kind: Type,
    /// Its type as it is declared, with a length.
    pub declared: &'static str,
    /// Whether it is the table's key.
    pub is_key: bool,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its columns, by name, each perhaps with `DESC`.
    pub columns: Vec<String>,
}

/// A table and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns; the first is the key, if there is one.
    pub columns: Vec<TableColumn>,
    /// Its rows: a value for each column, as text, or nothing for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Its indexes.
    pub indexes: Vec<Index>,
}

/// Percent of all values that are NULL.
const NULLS: usize = 18;

/// The tables of a case. Columns of one name have one type in all of them, so that tables can be joined by them.
pub fn draw(random: &mut Random) -> Vec<Table> {
    const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
    let pool: Vec<(&str, Type)> = NAMES.map(|name| (name, Type::draw(random))).to_vec();
    let count = random.between(1, TABLES_MAX);
    (0..count).map(|number| draw_table(random, &format!("t{number}"), &pool)).collect()
}

fn draw_table(random: &mut Random, name: &str, pool: &[(&str, Type)]) -> Table {
    let mut columns = Vec::new();
    if random.percent(80) {
        columns.push(TableColumn { name: "id".to_string(), kind: Type::Int4, declared: "int4", is_key: true });
    }
    let mut pool = pool.to_vec();
    random.shuffle(&mut pool);
    let count = random.between(1, COLUMNS_MAX);
    for &(name, kind) in &pool[..count] {
        let declared = kind.declared(random);
        columns.push(TableColumn { name: name.to_string(), kind, declared, is_key: false });
    }
    let mut indexes = Vec::new();
    while random.percent(35) && indexes.len() < 2 {
        if let Some(columns) = draw_index(random, &columns) {
            indexes.push(Index { name: format!("{name}_i{}", indexes.len()), columns });
        }
    }
    let rows = (0..random.below(ROWS_MAX + 1)).map(|row| draw_row(random, &columns, row)).collect();
    Table { name: name.to_string(), columns, rows, indexes }
}

/// Columns for an index, if any can be in one.
pub fn draw_index(random: &mut Random, columns: &[TableColumn]) -> Option<Vec<String>> {
    let mut able: Vec<&TableColumn> = columns.iter().filter(|column| column.kind.can_be_key()).collect();
    if able.is_empty() {
        return None;
    }
    random.shuffle(&mut able);
    let count = random.between(1, able.len().min(2));
    let name = |column: &&TableColumn| {
        let order = if random.percent(20) { " DESC" } else { "" };
        format!("{}{order}", column.name)
    };
    Some(able[..count].iter().map(name).collect())
}

fn draw_row(random: &mut Random, columns: &[TableColumn], number: usize) -> Vec<Option<String>> {
    let value = |column: &TableColumn| {
        if column.is_key {
            return Some((number + 1).to_string());
        }
        (!random.percent(NULLS)).then(|| column.kind.value(random))
    };
    columns.iter().map(value).collect()
}

impl Table {
    /// Statements that make and fill it.
    pub fn statements(&self) -> Vec<String> {
        let column = |column: &TableColumn| {
            let key = if column.is_key { " PRIMARY KEY" } else { "" };
            format!("{} {}{key}", column.name, column.declared)
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let mut statements = vec![format!("CREATE TABLE {} ({})", self.name, columns.join(", "))];
        let index =
            |index: &Index| format!("CREATE INDEX {} ON {} ({})", index.name, self.name, index.columns.join(", "));
        statements.extend(self.indexes.iter().map(index));
        if !self.rows.is_empty() {
            let rows: Vec<String> = self.rows.iter().map(|row| row_text(row)).collect();
            statements.push(format!("INSERT INTO {} VALUES {}", self.name, rows.join(", ")));
        }
        statements
    }

    /// The same table under another name.
    pub fn renamed(mut self, name: &str) -> Table {
        for (number, index) in self.indexes.iter_mut().enumerate() {
            index.name = format!("{name}_i{number}");
        }
        self.name = name.to_string();
        self
    }

    /// The same table without one column, or nothing if that is its last.
    pub fn without_column(&self, number: usize) -> Option<Table> {
        if self.columns.len() < 2 {
            return None;
        }
        let mut table = self.clone();
        let gone = table.columns.remove(number).name;
        table.rows.iter_mut().for_each(|row| drop(row.remove(number)));
        table.indexes.retain(|index| !index.columns.iter().any(|column| column.trim_end_matches(" DESC") == gone));
        Some(table)
    }
}

/// `(1, 'a', NULL)`.
fn row_text(row: &[Option<String>]) -> String {
    let value = |value: &Option<String>| match value {
        Some(value) => format!("'{}'", value.replace('\'', "''")),
        None => "NULL".to_string(),
    };
    format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table that lost a column must lose its values and indexes, or nothing of it can be made.
    #[test]
    fn a_column_goes_with_its_values_and_indexes() {
        let mut random = Random::new(5);
        for _ in 0..50 {
            let table = draw(&mut random).remove(0);
            let Some(smaller) = table.without_column(table.columns.len() - 1) else { continue };
            let gone = &table.columns[table.columns.len() - 1].name;
            assert!(smaller.rows.iter().all(|row| row.len() == smaller.columns.len()));
            assert!(!smaller.indexes.iter().any(|index| index.columns.iter().any(|column| column == gone)));
        }
    }
}
