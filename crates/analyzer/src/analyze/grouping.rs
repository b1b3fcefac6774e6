//! GROUP BY with its sets.

use grammar::ast::{ExpressionId, ExpressionNode as Syntax, Grouping, GroupingId};

use super::levels::Place;
use super::sorting::reference_of;
use super::{Analyzer, Result, error_at};
use crate::limits::GROUPING_SETS_MAX;
use crate::tree::{SortGroup, Target};

/// A set of GROUP BY as it is written: references of targets, and what is made of them.
enum Sets {
    /// One set.
    Simple(Vec<u32>),
    /// All beginnings of the lists.
    Rollup(Vec<Vec<u32>>),
    /// All choices of the lists.
    Cube(Vec<Vec<u32>>),
    /// These.
    Several(Vec<Sets>),
}

/// What GROUP BY comes to.
#[derive(Default)]
pub struct Grouped {
    /// What is grouped by.
    pub group: Vec<SortGroup>,
    /// Its sets, if it has any.
    pub sets: Option<Vec<Vec<u32>>>,
}

impl<'a> Analyzer<'a> {
    /// GROUP BY.
    pub fn group_clause(
        &mut self,
        list: &'a [GroupingId],
        distinct: bool,
        targets: &mut Vec<Target>,
        order: &[SortGroup],
    ) -> Result<Grouped> {
        let mut group = Vec::new();
        let mut all = Vec::new();
        let mut plain = Vec::new();
        let mut has_sets = false;
        for element in self.flat(list) {
            match element {
                Flat::Expression(value) => {
                    let reference = self.grouped(value, targets, &mut group, order, Place::GroupBy)?;
                    // What is written twice counts once.
                    if !plain.contains(&reference) {
                        plain.push(reference);
                        all.push(Sets::Simple(vec![reference]));
                    }
                }
                Flat::Sets(number) => {
                    has_sets = true;
                    all.push(self.sets(number, targets, &mut group, order)?);
                }
            }
        }
        let sets = if has_sets { Some(expand(&all, distinct)?) } else { None };
        Ok(Grouped { group, sets })
    }

    /// PARTITION BY.
    pub fn partition_clause(
        &mut self,
        list: &[ExpressionId],
        targets: &mut Vec<Target>,
        order: &[SortGroup],
    ) -> Result<Vec<SortGroup>> {
        let mut group = Vec::new();
        for value in list {
            let index = self.target_of_expression(*value, targets, Place::WindowPartition)?;
            self.add_grouped(index, *value, targets, &mut group, order)?;
        }
        Ok(group)
    }

    /// Elements without the rows around them: `(a, b)` is two.
    fn flat(&self, list: &'a [GroupingId]) -> Vec<Flat> {
        let mut flat = Vec::new();
        for number in list {
            match &self.arena[*number] {
                Grouping::Expression(value) => self.flat_expression(*value, &mut flat),
                _ => flat.push(Flat::Sets(*number)),
            }
        }
        flat
    }

    fn flat_expression(&self, value: ExpressionId, flat: &mut Vec<Flat>) {
        match &self.arena[value].node {
            Syntax::Row { fields, explicit: false } => {
                fields.iter().for_each(|field| self.flat_expression(*field, flat));
            }
            _ => flat.push(Flat::Expression(value)),
        }
    }

    fn grouped(
        &mut self,
        value: ExpressionId,
        targets: &mut Vec<Target>,
        group: &mut Vec<SortGroup>,
        order: &[SortGroup],
        place: Place,
    ) -> Result<u32> {
        let index = self.target_of(value, targets, place)?;
        self.add_grouped(index, value, targets, group, order)?;
        Ok(reference_of(targets, index))
    }

    fn add_grouped(
        &mut self,
        index: usize,
        value: ExpressionId,
        targets: &mut [Target],
        group: &mut Vec<SortGroup>,
        order: &[SortGroup],
    ) -> Result<()> {
        let reference = targets[index].reference;
        if reference != 0 && !group.iter().any(|before| before.target == reference) {
            // What is sorted by, too, is grouped by the same operators.
            if let Some(sorted) = order.iter().find(|sorted| sorted.target == reference) {
                group.push(*sorted);
                return Ok(());
            }
        }
        let at = self.raw_location(value);
        self.add_group(index, targets, group, Some(at))
    }

    fn sets(
        &mut self,
        number: GroupingId,
        targets: &mut Vec<Target>,
        group: &mut Vec<SortGroup>,
        order: &[SortGroup],
    ) -> Result<Sets> {
        let arena = self.arena;
        Ok(match &arena[number] {
            Grouping::Empty(_) => Sets::Simple(Vec::new()),
            Grouping::Expression(value) => Sets::Simple(self.set_of(*value, targets, group, order)?),
            Grouping::Rollup(list, _) | Grouping::Cube(list, _) => {
                let mut lists = Vec::with_capacity(list.len());
                for value in list {
                    lists.push(self.set_of(*value, targets, group, order)?);
                }
                if matches!(&arena[number], Grouping::Rollup(..)) {
                    Sets::Rollup(lists)
                } else {
                    if lists.len() > 12 {
                        return error_at(crate::error::TOO_MANY_COLUMNS, "CUBE is limited to 12 elements", None);
                    }
                    Sets::Cube(lists)
                }
            }
            Grouping::Sets(list, _) => {
                let mut sets = Vec::with_capacity(list.len());
                for inner in list {
                    sets.push(self.deeper(|analyzer| analyzer.sets(*inner, targets, group, order))?);
                }
                Sets::Several(sets)
            }
        })
    }

    /// One set: an expression, or a row of them.
    fn set_of(
        &mut self,
        value: ExpressionId,
        targets: &mut Vec<Target>,
        group: &mut Vec<SortGroup>,
        order: &[SortGroup],
    ) -> Result<Vec<u32>> {
        let mut flat = Vec::new();
        self.flat_expression(value, &mut flat);
        let mut set = Vec::new();
        for element in flat {
            if let Flat::Expression(value) = element {
                let reference = self.grouped(value, targets, group, order, Place::GroupBy)?;
                if !set.contains(&reference) {
                    set.push(reference);
                }
            }
        }
        Ok(set)
    }
}

/// An element of GROUP BY.
enum Flat {
    Expression(ExpressionId),
    Sets(GroupingId),
}

/// All sets: each choice of one from each element, together.
fn expand(all: &[Sets], distinct: bool) -> Result<Vec<Vec<u32>>> {
    let mut sets: Vec<Vec<u32>> = vec![Vec::new()];
    for element in all {
        let choices = choices(element);
        if sets.len() * choices.len() > GROUPING_SETS_MAX {
            let message = format!("too many grouping sets present (maximum {GROUPING_SETS_MAX})");
            return error_at(sqlstate::STATEMENT_TOO_COMPLEX, message, None);
        }
        let joined = sets.iter().flat_map(|before| {
            choices.iter().map(|choice| {
                let mut set = before.clone();
                set.extend(choice.iter().filter(|reference| !before.contains(reference)));
                set
            })
        });
        sets = joined.collect();
    }
    if distinct {
        let mut kept: Vec<Vec<u32>> = Vec::new();
        for mut set in sets {
            set.sort_unstable();
            if !kept.contains(&set) {
                kept.push(set);
            }
        }
        sets = kept;
    }
    Ok(sets)
}

fn choices(element: &Sets) -> Vec<Vec<u32>> {
    match element {
        Sets::Simple(set) => vec![set.clone()],
        Sets::Rollup(lists) => (0..=lists.len()).rev().map(|count| lists[..count].concat()).collect(),
        Sets::Cube(lists) => (0..1usize << lists.len())
            .rev()
            .map(|bits| {
                let chosen = lists.iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0);
                chosen.flat_map(|(_, list)| list.iter().copied()).collect()
            })
            .collect(),
        Sets::Several(sets) => sets.iter().flat_map(choices).collect(),
    }
}
