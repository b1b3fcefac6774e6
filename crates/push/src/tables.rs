//! Tables in user space, with the bytes that the kernel's maps have.
//!
//! Invariant: a place that no row has reads as 0 and takes nothing, for whoever asks.

use crate::program::{PushPlace, PushTable};

/// The tables of a program that is interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushTables {
    tables: Vec<PushTable>,
    bytes: Vec<Vec<u8>>,
}

impl PushTables {
    /// Tables without a row in use.
    pub fn new(tables: &[PushTable]) -> PushTables {
        PushTables { tables: tables.to_vec(), bytes: tables.iter().map(|table| vec![0; table.bytes()]).collect() }
    }

    /// The bytes of a table: its count, and its rows.
    pub fn bytes(&self, table: usize) -> Option<&[u8]> {
        self.bytes.get(table).map(Vec::as_slice)
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, table: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(table).map(Vec::as_mut_slice)
    }

    /// Rows in use: never more than there are.
    pub fn count(&self, table: usize) -> u64 {
        let (Some(shape), Some(bytes)) = (self.tables.get(table), self.bytes.get(table)) else { return 0 };
        count(shape, bytes)
    }

    /// The number at a place; 0 if there is none.
    pub fn read(&self, place: PushPlace, index: u64) -> u64 {
        let (Some(shape), Some(bytes)) = (self.tables.get(place.table), self.bytes.get(place.table)) else { return 0 };
        read(shape, bytes, place.field, index)
    }

    /// Writes the lowest bytes of a number to a place, if there is one.
    pub fn write(&mut self, place: PushPlace, index: u64, value: u64) {
        if let (Some(shape), Some(bytes)) = (self.tables.get(place.table), self.bytes.get_mut(place.table)) {
            write(shape, bytes, place.field, index, value);
        }
    }

    /// The index of the first row in use whose first field is the key; the number of rows if there is none.
    pub fn find(&self, table: usize, key: u64) -> u64 {
        let rows = self.tables.get(table).map_or(0, |table| table.rows);
        let place = PushPlace { table, field: 0 };
        (0..self.count(table)).find(|&index| self.read(place, index) == key).unwrap_or(rows)
    }

    /// Puts a row behind those in use: one number for each field. Says whether there was room, and the table.
    pub fn add_row(&mut self, table: usize, values: &[u64]) -> bool {
        let (Some(shape), Some(bytes)) = (self.tables.get(table), self.bytes.get_mut(table)) else { return false };
        add_row(shape, bytes, values)
    }
}

/// Rows in use of a table's bytes.
pub fn count(shape: &PushTable, bytes: &[u8]) -> u64 {
    let count = bytes.first_chunk::<{ PushTable::COUNT_BYTES }>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    count.min(shape.rows)
}

/// The number at a place of a table's bytes; 0 if there is none.
pub fn read(shape: &PushTable, bytes: &[u8], field: usize, index: u64) -> u64 {
    let Some(range) = range(shape, field, index) else { return 0 };
    match bytes.get(range) {
        Some(&[value]) => u64::from(value),
        Some(&[one, two]) => u64::from(u16::from_ne_bytes([one, two])),
        Some(bytes) => match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes)) {
            (Ok(bytes), _) => u64::from(u32::from_ne_bytes(bytes)),
            (_, Ok(bytes)) => u64::from_ne_bytes(bytes),
            _ => 0,
        },
        None => 0,
    }
}

/// Writes the lowest bytes of a number to a place of a table's bytes, if there is one.
pub fn write(shape: &PushTable, bytes: &mut [u8], field: usize, index: u64, value: u64) {
    let Some(place) = range(shape, field, index).and_then(|range| bytes.get_mut(range)) else { return };
    match place.len() {
        1 => place.copy_from_slice(&(value as u8).to_ne_bytes()),
        2 => place.copy_from_slice(&(value as u16).to_ne_bytes()),
        4 => place.copy_from_slice(&(value as u32).to_ne_bytes()),
        _ => place.copy_from_slice(&value.to_ne_bytes()),
    }
}

/// Puts a row behind those in use of a table's bytes. Says whether there was room.
pub fn add_row(shape: &PushTable, bytes: &mut [u8], values: &[u64]) -> bool {
    let index = count(shape, bytes);
    let Some(head) = bytes.first_chunk_mut::<{ PushTable::COUNT_BYTES }>() else { return false };
    if index >= shape.rows {
        return false;
    }
    *head = (index + 1).to_ne_bytes();
    for (field, value) in values.iter().enumerate() {
        write(shape, bytes, field, index, *value);
    }
    true
}

fn range(shape: &PushTable, field: usize, index: u64) -> Option<std::ops::Range<usize>> {
    let field = shape.fields.get(field).filter(|_| index < shape.rows)?;
    let begin = PushTable::COUNT_BYTES + index as usize * shape.row_bytes + field.offset;
    Some(begin..begin + field.shape.bytes())
}
