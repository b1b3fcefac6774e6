//! SplitMix64 tables and queries.

use super::calculus::{Datum, Table};
use seeded_random::SplitMix64;

/// Makes them.
pub struct Generator {
    /// What decides.
    pub random: SplitMix64,
}

/// Variables and the columns of numbers that they have.
const VARIABLES: [(&str, [&str; 2]); 5] =
    [("x", ["a", "b"]), ("y", ["a", "d"]), ("z", ["a", "b"]), ("r", ["a", "b"]), ("s", ["a", "d"])];

impl Generator {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// Small ones, with NULLs and equal rows, and now and then without any.
    pub fn tables(&mut self) -> Vec<Table> {
        let number = |generator: &mut Generator| match generator.below(5) {
            0 => Datum::Null,
            other => Datum::Number(other as i64 - 1),
        };
        let mut r = Table { name: "r", rows: Vec::new() };
        for _ in 0..self.below(6) {
            let text = ["ab", "b", "ab%", ""][self.below(4)].to_owned();
            let text = if self.one_in(5) { Datum::Null } else { Datum::Text(text) };
            r.rows.push(vec![number(self), number(self), text]);
        }
        let mut s = Table { name: "s", rows: Vec::new() };
        for _ in 0..self.below(5) {
            s.rows.push(vec![number(self), number(self)]);
        }
        vec![r, s]
    }

    /// A query.
    pub fn query(&mut self) -> String {
        let variables = self.variables();
        let count = 1 + self.below(3);
        let targets: Vec<String> = (0..count).map(|place| self.target(place, &variables)).collect();
        let unique = if self.one_in(5) { "unique " } else { "" };
        let qualification = self.qualification(&variables, 2);
        format!("retrieve {unique}({}){qualification}", targets.join(", "))
    }

    /// One or two of them.
    fn variables(&mut self) -> Vec<usize> {
        let first = self.below(VARIABLES.len());
        if self.one_in(2) { vec![first] } else { vec![first, self.below(VARIABLES.len())] }
    }

    fn target(&mut self, place: usize, variables: &[usize]) -> String {
        if self.one_in(6) {
            let (argument, rest) = (self.number(variables, 0), self.rest(variables, 1));
            let function = ["avg", "avgu"][self.below(2)];
            return format!("t{place} = {function}({argument}{rest})");
        }
        let value = if self.one_in(8) { self.text(variables) } else { self.number(variables, 2) };
        format!("t{place} = {value}")
    }

    fn column(&mut self, variables: &[usize]) -> String {
        let (variable, columns) = VARIABLES[variables[self.below(variables.len())]];
        format!("{variable}.{}", columns[self.below(2)])
    }

    /// A text of a variable over r, whichever: it may be another one than the query's.
    fn text(&mut self, variables: &[usize]) -> String {
        let of_r = variables.iter().find(|place| [0, 2, 3].contains(*place)).map_or("x", |place| VARIABLES[*place].0);
        let column = format!("{of_r}.c");
        match self.below(4) {
            0 => format!("{column} + \"!\""),
            1 => format!("max({column}{})", self.rest(variables, 0)),
            _ => column,
        }
    }

    /// A number, with aggregates up to so many levels.
    fn number(&mut self, variables: &[usize], aggregates: usize) -> String {
        match self.below(if aggregates > 0 { 8 } else { 4 }) {
            0 => self.below(4).to_string(),
            1 => format!("{} {} {}", self.column(variables), ["+", "-", "*"][self.below(3)], self.column(variables)),
            2 | 3 => self.column(variables),
            _ => self.aggregate(variables, aggregates),
        }
    }

    fn aggregate(&mut self, outside: &[usize], levels: usize) -> String {
        let inside = if self.one_in(3) { self.variables() } else { outside.to_vec() };
        let function = ["count", "countu", "sum", "sumu", "min", "max", "any"][self.below(7)];
        let nested = if self.one_in(3) { levels - 1 } else { 0 };
        let argument = self.number(&inside, nested);
        format!("{function}({argument}{})", self.rest(&inside, levels - 1))
    }

    /// What stands behind an aggregate's argument.
    fn rest(&mut self, variables: &[usize], levels: usize) -> String {
        let mut by: Vec<String> = Vec::new();
        if !self.one_in(3) {
            for _ in 0..=self.below(2) {
                let value =
                    if self.one_in(5) { format!("{} + 1", self.column(variables)) } else { self.column(variables) };
                by.push(value);
            }
        }
        let qualification = self.qualification(variables, levels);
        let only = if !by.is_empty() && !qualification.is_empty() && self.one_in(2) { " only" } else { "" };
        let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
        format!("{by}{only}{qualification}")
    }

    fn qualification(&mut self, variables: &[usize], levels: usize) -> String {
        if self.one_in(3) { String::new() } else { format!(" where {}", self.condition(variables, levels)) }
    }

    fn condition(&mut self, variables: &[usize], levels: usize) -> String {
        match self.below(9) {
            0 => format!("({} and {})", self.condition(variables, levels), self.condition(variables, 0)),
            1 => format!("({} or {})", self.condition(variables, levels), self.condition(variables, 0)),
            2 => format!("not ({})", self.condition(variables, levels)),
            3 => format!("{} is {}null", self.column(variables), ["", "not "][self.below(2)]),
            4 => {
                let text = self.text(variables);
                format!(
                    "{text} {} {}",
                    ["=", "!="][self.below(2)],
                    ["\"a*\"", "\"?\"", "\"[a-b]\"", "\"ab\\%\"", "\"*b*\""][self.below(5)]
                )
            }
            _ => {
                let levels = if self.one_in(3) { levels } else { 0 };
                let operator = ["=", "!=", "<", "<=", ">", ">="][self.below(6)];
                format!("{} {operator} {}", self.number(variables, levels), self.number(variables, 0))
            }
        }
    }
}
