//! Conditions: comparisons, three-valued logic, and queries within them.

use super::{Generator, Scope};
use crate::limits::QUERY_DEPTH_MAX;
use crate::tree::{Label, Node, Part, parts};
use crate::types::Type;

impl Generator<'_> {
    /// A condition that is made of something.
    pub fn condition(&mut self, scope: &Scope, depth: usize) -> Node {
        let deeper = depth + 1;
        let parts = match self.random.below(20) {
            0..=5 => self.comparison(scope, deeper),
            6..=8 => self.logic(scope, deeper),
            9 | 10 => {
                self.feature("IS NULL");
                let kind = Type::draw(&mut self.random);
                let test = *self.random.pick(&[" IS NULL", " IS NOT NULL"]);
                parts!["(", self.expression(kind, scope, deeper), test, ")"]
            }
            11 => {
                self.feature("IS DISTINCT FROM");
                let kind = Type::draw(&mut self.random);
                let test = *self.random.pick(&[" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "]);
                parts!["(", self.expression(kind, scope, deeper), test, self.expression(kind, scope, deeper), ")"]
            }
            12 => {
                self.feature("IS TRUE");
                let test =
                    *self.random.pick(&[" IS TRUE", " IS NOT TRUE", " IS FALSE", " IS UNKNOWN", " IS NOT FALSE"]);
                parts!["(", self.expression(Type::Bool, scope, deeper), test, ")"]
            }
            13 => self.between_values(scope, deeper),
            14 | 15 => self.in_list(scope, deeper),
            16 => self.pattern(scope, deeper),
            _ => self.over_query(scope, depth),
        };
        Node::new(Label::Value(Type::Bool), parts).or(Type::Bool.simplest())
    }

    fn comparison(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("comparison");
        let kind = match self.random.percent(70) && !scope.atoms.is_empty() {
            true => self.random.pick(&scope.atoms).kind,
            false => Type::draw(&mut self.random),
        };
        let operator = *self.random.pick(&[" = ", " = ", " <> ", " < ", " <= ", " > ", " >= "]);
        let left = self.expression(kind, scope, depth);
        if self.random.percent(25)
            && let Some(parameter) = self.parameter(kind)
        {
            return parts!["(", left, operator, parameter, ")"];
        }
        if self.random.percent(12) && kind != Type::Bool {
            self.feature("literal without a type");
            let value = kind.value(&mut self.random).replace('\'', "''");
            return parts!["(", left, operator, format!("'{value}')")];
        }
        // Numbers of two types meet, too.
        let other = match kind.is_number() && self.random.percent(20) {
            true => *self.random.pick(&[Type::Int2, Type::Int4, Type::Int8, Type::Numeric]),
            false => kind,
        };
        let other = if kind == Type::Float8 { kind } else { other };
        parts!["(", left, operator, self.expression(other, scope, depth), ")"]
    }

    fn logic(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("AND, OR, NOT");
        if self.random.percent(30) {
            return parts!["(NOT ", self.expression(Type::Bool, scope, depth), ")"];
        }
        let operator = *self.random.pick(&[" AND ", " OR "]);
        let list = (0..self.random.between(2, 3)).map(|_| self.expression(Type::Bool, scope, depth)).collect();
        vec!["(".into(), Part::List(list, operator, 1), ")".into()]
    }

    fn between_values(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("BETWEEN");
        let kind = Type::draw(&mut self.random);
        let word = *self.random.pick(&[" BETWEEN ", " NOT BETWEEN ", " BETWEEN "]);
        let (low, high) = (self.expression(kind, scope, depth), self.expression(kind, scope, depth));
        parts!["(", self.expression(kind, scope, depth), word, low, " AND ", high, ")"]
    }

    fn in_list(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("IN list");
        let kind = Type::draw(&mut self.random);
        let operand = self.expression(kind, scope, depth);
        if self.random.percent(20) && matches!(kind, Type::Int4 | Type::Text) {
            self.feature("= ANY(array)");
            let array = if kind == Type::Int4 { Type::Int4Array } else { Type::TextArray };
            let test = *self.random.pick(&[" = ANY(", " <> ALL(", " <> ANY(", " > ALL("]);
            return parts!["(", operand, test, self.expression(array, scope, depth), "))"];
        }
        let word = *self.random.pick(&[" IN (", " NOT IN ("]);
        let list = (0..self.random.between(1, 4)).map(|_| self.leaf(kind, scope, depth)).collect();
        vec!["(".into(), operand.into(), word.into(), Part::List(list, ", ", 1), "))".into()]
    }

    fn pattern(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("LIKE");
        let word = *self.random.pick(&[" LIKE ", " NOT LIKE ", " ILIKE "]);
        let pattern = *self.random.pick(&["'a%'", "'%b'", "'_'", "'%'", "''", "'%a%'", "'a_c'", "'x\\%'"]);
        parts!["(", self.expression(Type::Text, scope, depth), word, pattern, ")"]
    }

    /// EXISTS, IN, ANY and ALL.
    fn over_query(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        let nested = scope.outer.len() / 4;
        if nested > QUERY_DEPTH_MAX || self.fuel < 3 {
            return self.comparison(scope, depth + 1);
        }
        let inside = scope.inside();
        if self.random.percent(45) {
            self.feature("EXISTS");
            let word = *self.random.pick(&["(EXISTS (", "(NOT EXISTS ("]);
            let kinds = [Type::draw(&mut self.random)];
            let query = self.query(&kinds, &inside, depth + 1);
            return parts![word, query.node, "))"];
        }
        let kind = match self.random.percent(70) && !scope.atoms.is_empty() {
            true => self.random.pick(&scope.atoms).kind,
            false => Type::draw(&mut self.random),
        };
        let operand = self.expression(kind, scope, depth + 1);
        let query = self.query(&[kind], &inside, depth + 1).node;
        let word = match self.random.below(10) {
            0..=3 => {
                self.feature("IN subquery");
                " IN ("
            }
            4..=6 => {
                self.feature("NOT IN subquery");
                " NOT IN ("
            }
            _ => {
                self.feature("ANY and ALL of a subquery");
                *self.random.pick(&[" = ANY (", " <> ALL (", " < ANY (", " >= ALL (", " > ANY ("])
            }
        };
        parts!["(", operand, word, query, "))"]
    }
}
