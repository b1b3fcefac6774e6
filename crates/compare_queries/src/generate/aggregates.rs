//! Aggregates and windows.
//!
//! Invariant: the order in which rows come never shows: what collects rows says in which order, and windows that count rows have a total order.

use super::{Generator, Scope};
use crate::tree::{Node, Part, parts};
use crate::types::Type;

/// Frames of windows that have a total order.
const FRAMES: [&str; 8] = [
    "",
    "",
    "",
    " ROWS UNBOUNDED PRECEDING",
    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS 2 PRECEDING",
];

impl Generator<'_> {
    /// An aggregate that gives this type, if there is one.
    pub fn aggregate(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        let depth = depth + 1;
        let extreme = kind.has_extremes() && self.random.percent(50);
        let mut parts = if extreme {
            let name = *self.random.pick(&["min(", "max("]);
            self.feature("min, max");
            parts![name, self.expression(kind, scope, depth), ")"]
        } else {
            self.other_aggregate(kind, scope, depth)?
        };
        if self.random.percent(12) {
            self.feature("FILTER");
            let condition = self.expression(Type::Bool, scope, depth);
            parts.push(Node::clause(parts![" FILTER (WHERE ", condition, ")"]).into());
        }
        Some(parts)
    }

    fn other_aggregate(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        Some(match kind {
            Type::Int8 => match self.random.below(4) {
                0 => {
                    self.feature("count(*)");
                    parts!["count(*)"]
                }
                1 => {
                    self.feature("count");
                    let of = Type::draw(&mut self.random);
                    parts!["count(", self.expression(of, scope, depth), ")"]
                }
                2 => {
                    self.feature("aggregate DISTINCT");
                    let of = *self.random.pick(&[Type::Int4, Type::Text, Type::Numeric, Type::Bool, Type::Date]);
                    parts!["count(DISTINCT ", self.expression(of, scope, depth), ")"]
                }
                _ => {
                    self.feature("sum");
                    let of = *self.random.pick(&[Type::Int4, Type::Int2]);
                    parts![
                        *self.random.pick(&["sum(", "sum(", "sum(DISTINCT "]),
                        self.expression(of, scope, depth),
                        ")"
                    ]
                }
            },
            Type::Numeric => {
                self.feature("sum, avg of exact numbers");
                let sum = *self.random.pick(&["sum(", "avg("]);
                let integers: &[Type] =
                    if sum == "sum(" { &[Type::Int8] } else { &[Type::Int2, Type::Int4, Type::Int8] };
                let of = if self.random.percent(50) { Type::Numeric } else { *self.random.pick(integers) };
                parts![sum, self.expression(of, scope, depth), ")"]
            }
            Type::Float8 => {
                self.feature("sum, avg of floats");
                parts![*self.random.pick(&["sum(", "avg("]), self.expression(kind, scope, depth), ")"]
            }
            Type::Bool => {
                self.feature("bool_and, bool_or");
                parts![
                    *self.random.pick(&["bool_and(", "bool_or(", "every("]),
                    self.expression(kind, scope, depth),
                    ")"
                ]
            }
            Type::Text => {
                self.feature("string_agg");
                let of = self.leaf(kind, &Scope { grouped: None, ..scope.clone() }, depth).sql();
                parts![format!("string_agg({of}, ',' ORDER BY {of})")]
            }
            Type::Int4Array | Type::TextArray => {
                self.feature("array_agg");
                let element = if kind == Type::Int4Array { Type::Int4 } else { Type::Text };
                let of = self.leaf(element, &Scope { grouped: None, ..scope.clone() }, depth).sql();
                parts![format!("array_agg({of} ORDER BY {of})")]
            }
            _ => return None,
        })
    }

    /// A window function that gives this type, if there is one.
    pub fn window(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        if scope.grouped.is_some() || scope.atoms.is_empty() {
            return None;
        }
        let depth = depth + 1;
        let mut partition = Node::nothing();
        if self.random.percent(60) {
            let by = self.random.pick(&scope.atoms).node();
            partition = Node::clause(parts!["PARTITION BY ", by, " "]);
        }
        let total = scope.total_order.clone().filter(|_| self.random.percent(65));
        let (parts, order) = match total {
            Some(keys) => {
                self.feature("window by a total order");
                let function = self.row_function(kind, scope, depth)?;
                let by = Type::draw(&mut self.random);
                let first = self.expression(by, scope, depth);
                let direction = *self.random.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                let first = Node::clause(parts![first, direction, ", "]);
                let frame = *self.random.pick(&FRAMES);
                if !frame.is_empty() {
                    self.feature("window frame");
                }
                (function, Node::other(parts!["ORDER BY ", first, keys.join(", "), Node::clause(parts![frame])]))
            }
            None => {
                self.feature("window by peers");
                let function = self.peer_function(kind, scope, depth)?;
                let by = Type::draw(&mut self.random);
                let by = self.expression(by, scope, depth);
                let direction = *self.random.pick(&["", " DESC"]);
                (function, Node::other(parts!["ORDER BY ", by, direction]))
            }
        };
        Some(parts![Node::other(parts), " OVER (", partition, order, ")"])
    }

    /// Functions that tell peers apart.
    fn row_function(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        let of = self.expression(kind, scope, depth);
        if self.random.percent(25)
            && let Some(function) = self.peer_function(kind, scope, depth)
        {
            return Some(function);
        }
        Some(match self.random.below(5) {
            0 if kind == Type::Int8 => parts!["row_number()"],
            1 if kind == Type::Int4 => parts!["ntile(3)"],
            0 | 1 => parts!["lag(", of, ")"],
            2 => parts!["lead(", of, ", 2)"],
            3 => parts!["first_value(", of, ")"],
            _ => parts!["last_value(", of, ")"],
        })
    }

    /// Functions that do not.
    fn peer_function(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        if kind == Type::Int8 && self.random.percent(50) {
            return Some(parts![*self.random.pick(&["rank()", "dense_rank()", "count(*)"])]);
        }
        if kind == Type::Float8 && self.random.percent(30) {
            return Some(parts![*self.random.pick(&["percent_rank()", "cume_dist()"])]);
        }
        let of = match kind {
            Type::Int8 => return Some(parts!["sum(", self.expression(Type::Int4, scope, depth), ")"]),
            Type::Bool => return Some(parts!["bool_or(", self.expression(kind, scope, depth), ")"]),
            Type::Numeric if self.random.percent(50) => {
                return Some(parts!["avg(", self.expression(Type::Int4, scope, depth), ")"]);
            }
            kind if kind.has_extremes() => kind,
            _ => return None,
        };
        Some(parts![*self.random.pick(&["min(", "max("]), self.expression(of, scope, depth), ")"])
    }
}
