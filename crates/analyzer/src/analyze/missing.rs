//! What is said of a table or column that is not there: whether something like it is (`parse_relation` of PostgreSQL says the same).

use grammar::ast::Name;

use super::{Analyzer, Result, error_at};
use crate::error::{AMBIGUOUS_COLUMN, AnalysisError, UNDEFINED_COLUMN, UNDEFINED_TABLE};
use crate::tree::EntryKind;

/// More changes than that, and two names are not alike.
const DISTANCE_MAX: usize = 3;

/// The closest columns so far: open query, entry, column.
struct Closest {
    distance: usize,
    first: Option<(usize, usize, Option<usize>)>,
    second: Option<(usize, usize, usize)>,
}

/// Names with dots between them.
pub fn written(names: &[Name]) -> String {
    names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(".")
}

/// How many characters have to be put in, taken out or changed; counted up to a bound.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (index, against) in other.iter().enumerate() {
            let changed = corner + usize::from(letter != *against);
            corner = row[index + 1];
            row[index + 1] = changed.min(row[index] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

impl Closest {
    fn update(&mut self, penalty: usize, place: (usize, usize), column: (usize, &str), wanted: &str) {
        if penalty > self.distance || column.1.is_empty() {
            return;
        }
        let found = distance(column.1, wanted);
        if found > wanted.len() / 2 {
            return;
        }
        let found = found + penalty;
        if found < self.distance {
            self.distance = found;
            self.first = Some((place.0, place.1, Some(column.0)));
            self.second = None;
        } else if found == self.distance {
            if self.second.is_some() {
                // Too many to name any.
                (self.first, self.second) = (None, None);
                self.distance = found.saturating_sub(1);
            } else if self.first.is_some() {
                self.second = Some((place.0, place.1, column.0));
            } else if self.distance <= DISTANCE_MAX {
                self.first = Some((place.0, place.1, Some(column.0)));
            }
        }
    }
}

impl Analyzer<'_> {
    /// 42703, with what might be meant.
    pub fn missing_column(&mut self, relation: Option<&str>, column: &str, at: u32) -> Result<AnalysisError> {
        let message = match relation {
            Some(relation) => format!("column {relation}.{column} does not exist"),
            None => format!("column \"{column}\" does not exist"),
        };
        let error = AnalysisError::new(UNDEFINED_COLUMN, message).at(at);
        let closest = self.closest(relation, column, at)?;
        let name = |depth: usize, entry: usize, column: usize| {
            let entry = &self.levels[depth].entries[entry];
            format!("\"{}.{}\"", entry.name, entry.columns[column].name)
        };
        Ok(match (closest.first, closest.second) {
            (Some((depth, entry, None)), _) => {
                let table = &self.levels[depth].entries[entry].name;
                error.with_hint(format!(
                    "There is a column named \"{column}\" in table \"{table}\", but it cannot be referenced from this part of the query."
                ))
            }
            (Some((depth, entry, Some(column))), None) => {
                error.with_hint(format!("Perhaps you meant to reference the column {}.", name(depth, entry, column)))
            }
            (Some((depth, entry, Some(column))), Some(second)) => error.with_hint(format!(
                "Perhaps you meant to reference the column {} or the column {}.",
                name(depth, entry, column),
                name(second.0, second.1, second.2)
            )),
            (None, _) => error,
        })
    }

    fn closest(&self, relation: Option<&str>, wanted: &str, at: u32) -> Result<Closest> {
        let mut closest = Closest { distance: DISTANCE_MAX + 1, first: None, second: None };
        for depth in (0..self.levels.len()).rev() {
            for (index, entry) in self.levels[depth].entries.iter().enumerate() {
                if matches!(entry.kind, EntryKind::Join { .. }) {
                    continue;
                }
                let penalty = relation.map_or(0, |relation| distance(relation, &entry.name).min(DISTANCE_MAX + 2));
                let mut exact = 0;
                for (number, column) in entry.columns.iter().enumerate() {
                    exact += usize::from(column.name == wanted && !wanted.is_empty());
                    if exact > 1 {
                        let message = format!("column reference \"{wanted}\" is ambiguous");
                        return error_at(AMBIGUOUS_COLUMN, message, at);
                    }
                    closest.update(penalty, (depth, index), (number, &column.name), wanted);
                }
                let there = exact > 0 || self.system_column(depth, index as u32, wanted).is_some();
                if there && penalty == 0 {
                    closest.first = Some((depth, index, None));
                    closest.second = None;
                    return Ok(closest);
                }
            }
        }
        Ok(closest)
    }

    /// 42P01 for a table that FROM does not have.
    pub fn missing_relation(&mut self, schema: Option<&str>, name: &str, at: u32) -> AnalysisError {
        let Some((depth, index)) = self.entry_like(schema, name) else {
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            return AnalysisError::new(UNDEFINED_TABLE, message).at(at);
        };
        let entry = &self.levels[depth].entries[index];
        let alias = entry.name.clone();
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let error = AnalysisError::new(UNDEFINED_TABLE, message).at(at);
        let mut renamed = false;
        if entry.has_alias && alias != name {
            let found = self.item_named(None, &alias, at).ok().flatten();
            renamed = found.is_some_and(|found| {
                found.item.entry as usize == index && self.levels.len() - 1 - found.levels_up as usize == depth
            });
        }
        if renamed {
            error.with_hint(format!("Perhaps you meant to reference the table alias \"{alias}\"."))
        } else {
            error.with_hint(format!(
                "There is an entry for table \"{alias}\", but it cannot be referenced from this part of the query."
            ))
        }
    }

    /// An entry that a name could mean if it were visible: of that table, or of that name.
    fn entry_like(&self, schema: Option<&str>, name: &str) -> Option<(usize, usize)> {
        let common = if schema.is_none() { self.common_table_named(name) } else { None };
        let relation = match common {
            Some(_) => None,
            None => self.catalog.relation_named(schema, name).map(|relation| relation.id),
        };
        for depth in (0..self.levels.len()).rev() {
            for (index, entry) in self.levels[depth].entries.iter().enumerate() {
                let fits = match entry.kind {
                    EntryKind::Relation { relation: id, .. } | EntryKind::Excluded(id) => relation == Some(id),
                    EntryKind::Common { levels_up, number, .. } => {
                        common.is_some_and(|(of, wanted)| depth - levels_up as usize == of && number as usize == wanted)
                    }
                    _ => false,
                };
                if fits || entry.name == name {
                    return Some((depth, index));
                }
            }
        }
        None
    }
}
