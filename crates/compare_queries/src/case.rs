//! A case: tables, and what is done with them step by step, decided by a seed and a number.

use std::collections::BTreeSet;

use crate::generate::{Generator, TopQuery, changes};
use crate::limits::STEPS_MAX;
use crate::minimise::Shrink;
use crate::random::Random;
use crate::tables::{self, Table};
use crate::tree::Node;
use crate::types::Type;
use crate::wire::{Parameter, Path};

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Asks a query.
    Query {
        /// The query and what orders its rows.
        query: TopQuery,
        /// By which way.
        path: Path,
    },
    /// Prepares a query under a name.
    Prepare {
        /// The name.
        name: String,
        /// The query and what orders its rows.
        query: TopQuery,
    },
    /// Executes what was prepared.
    Execute {
        /// The name.
        name: String,
        /// Values of its parameters.
        parameters: Vec<Parameter>,
        /// Whether rows come in binary.
        binary: bool,
        /// What orders its rows.
        keys: Vec<usize>,
    },
    /// Changes rows, and looks at the whole table then.
    Change {
        /// The statement.
        node: Node,
        /// The table.
        table: String,
        /// By which way.
        path: Path,
    },
    /// Changes tables.
    Define {
        /// The statements.
        statements: Vec<String>,
        /// The table that stands in the place of the one of its name then, if it was made anew.
        anew: Option<Table>,
    },
}

/// A step of a case.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// What it uses, by the names of the summary.
    pub features: BTreeSet<&'static str>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The tables to begin with.
    pub tables: Vec<Table>,
    /// What is done.
    pub steps: Vec<Step>,
}

impl Case {
    /// The case of a number.
    pub fn draw(seed: u64, number: u64) -> Case {
        let mut random = Random::of_case(seed, number);
        let first = tables::draw(&mut random);
        let mut maker = Maker { random, tables: first.clone(), prepared: Vec::new(), steps: Vec::new() };
        let count = maker.random.between(STEPS_MAX / 2, STEPS_MAX);
        while maker.steps.len() < count {
            maker.step();
        }
        Case { tables: first, steps: maker.steps }
    }
}

impl Shrink for Case {
    fn tables(&mut self) -> &mut Vec<Table> {
        &mut self.tables
    }

    fn nodes(&mut self) -> Vec<&mut Node> {
        let nodes = self.steps.iter_mut().filter_map(|step| match &mut step.action {
            Action::Query { query, .. } | Action::Prepare { query, .. } => Some(&mut query.node),
            Action::Change { node, .. } => Some(node),
            Action::Execute { .. } | Action::Define { .. } => None,
        });
        nodes.collect()
    }

    fn without_step(&self, number: usize) -> Option<Case> {
        if number + 1 >= self.steps.len() {
            return None;
        }
        // What is executed must have been prepared.
        if let Action::Prepare { name: prepared, .. } = &self.steps[number].action {
            let uses = |step: &Step| matches!(&step.action, Action::Execute { name, .. } if name == prepared);
            if self.steps[number..].iter().any(uses) {
                return None;
            }
        }
        let mut smaller = self.clone();
        // A table that is made anew can be there from the beginning.
        if let Action::Define { anew: Some(table), .. } = smaller.steps.remove(number).action {
            smaller.tables.retain(|other| other.name != table.name);
            smaller.tables.push(table);
            smaller.tables.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Some(smaller)
    }

    fn steps(&self) -> usize {
        self.steps.len()
    }
}

/// A statement that was prepared.
struct Prepared {
    name: String,
    keys: Vec<usize>,
    kinds: Vec<Type>,
    features: BTreeSet<&'static str>,
}

struct Maker {
    random: Random,
    tables: Vec<Table>,
    prepared: Vec<Prepared>,
    steps: Vec<Step>,
}

impl Maker {
    fn step(&mut self) {
        match self.random.below(100) {
            0..=54 => self.query(),
            55..=64 => self.prepare(),
            65..=84 if !self.prepared.is_empty() => self.execute(),
            85..=93 => self.change(),
            94..=99 => self.define(),
            _ => self.query(),
        }
    }

    /// Makes a statement with choices of its own, so that what is drawn for one step says nothing of the next.
    fn with<T>(
        &mut self,
        parameters: bool,
        make: impl FnOnce(&mut Generator<'_>) -> T,
    ) -> (T, Vec<Type>, BTreeSet<&'static str>) {
        let random = Random::new(self.random.next());
        let mut generator = Generator::new(random, &self.tables);
        generator.parameters = parameters.then(Vec::new);
        let made = make(&mut generator);
        let kinds = generator.parameters.take().unwrap_or_default();
        (made, kinds, generator.features)
    }

    fn query(&mut self) {
        let path = *self.random.pick(&Path::ALL);
        let (query, _, mut features) = self.with(false, |generator| generator.statement());
        features.insert(path.name());
        self.steps.push(Step { action: Action::Query { query, path }, features });
    }

    fn prepare(&mut self) {
        let name = format!("p{}", self.prepared.len());
        let (mut query, mut kinds, mut features) = self.with(true, |generator| generator.statement());
        // A parameter that the text does not have has no type.
        while (1..=kinds.len()).any(|number| !query.node.sql().contains(&format!("${number}"))) {
            (query, kinds, features) = self.with(true, |generator| generator.statement());
        }
        let keys = query.keys.clone();
        features.insert("prepared");
        self.steps.push(Step { action: Action::Prepare { name: name.clone(), query }, features: features.clone() });
        self.prepared.push(Prepared { name, keys, kinds, features });
        for _ in 0..self.random.between(1, 3) {
            self.execute();
        }
    }

    fn execute(&mut self) {
        let at = self.random.below(self.prepared.len());
        let prepared = &self.prepared[at];
        let random = &mut self.random;
        let value = |kind: &Type| (!random.percent(15)).then(|| kind.value(random));
        let parameters = prepared.kinds.iter().map(value).collect();
        let binary = self.random.percent(50);
        let action = Action::Execute { name: prepared.name.clone(), parameters, binary, keys: prepared.keys.clone() };
        self.steps.push(Step { action, features: prepared.features.clone() });
    }

    fn change(&mut self) {
        let path = *self.random.pick(&Path::ALL);
        let ((node, table), _, mut features) = self.with(false, |generator| generator.change());
        features.insert("change of rows");
        let table = self.tables[table].name.clone();
        self.steps.push(Step { action: Action::Change { node, table, path }, features });
    }

    fn define(&mut self) {
        let number = self.steps.len();
        let (statements, anew, feature) = changes::definition(&mut self.random, &mut self.tables, number);
        self.steps.push(Step { action: Action::Define { statements, anew }, features: BTreeSet::from([feature]) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A difference that was seen once must be seen again by its seed and number.
    #[test]
    fn a_number_decides_a_case_wholly() {
        let text = |number| format!("{:?}", Case::draw(11, number));
        assert_eq!(text(3), text(3));
        assert_ne!(text(3), text(4));
    }
}
