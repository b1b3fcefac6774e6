//! Expressions by their type.

use super::{Atom, Generator, Scope};
use crate::tree::{Label, Node, Part, parts};
use crate::types::Type;

impl Generator<'_> {
    /// An expression of a type.
    pub fn expression(&mut self, kind: Type, scope: &Scope, depth: usize) -> Node {
        if !self.spend(depth) || self.random.percent(30) {
            return self.leaf(kind, scope, depth);
        }
        if kind == Type::Bool && self.random.percent(80) {
            return self.condition(scope, depth);
        }
        let parts = if self.random.percent(35) {
            self.of_any_type(kind, scope, depth)
        } else {
            self.of_its_type(kind, scope, depth)
        };
        match parts {
            Some(parts) => Node::new(Label::Value(kind), parts).or(kind.simplest()),
            None => self.leaf(kind, scope, depth),
        }
    }

    /// An expression without parts.
    pub fn leaf(&mut self, kind: Type, scope: &Scope, depth: usize) -> Node {
        if let Some(arguments) = &scope.grouped
            && self.random.percent(55)
        {
            let inner = Scope { atoms: arguments.clone(), ..Scope::default() };
            if let Some(parts) = self.aggregate(kind, &inner, depth) {
                return Node::new(Label::Value(kind), parts).or(kind.simplest());
            }
        }
        let own = self.random.percent(80);
        let first = if own { &scope.atoms } else { &scope.outer };
        let second = if own { &scope.outer } else { &scope.atoms };
        let of = |atoms: &[Atom]| -> Vec<Atom> { atoms.iter().filter(|atom| atom.kind == kind).cloned().collect() };
        let found = [of(first), of(second)].into_iter().find(|atoms| !atoms.is_empty());
        if let Some(atoms) = found
            && self.random.percent(85)
        {
            let atom = self.random.pick(&atoms).clone();
            if scope.outer.contains(&atom) {
                self.feature("correlated");
            }
            return atom.node();
        }
        if self.random.percent(30)
            && let Some(parameter) = self.parameter(kind)
        {
            return Node::new(Label::Value(kind), parts![format!("{parameter}::{}", kind.name())]).or(kind.simplest());
        }
        let text = if self.random.percent(12) {
            self.feature("NULL");
            format!("NULL::{}", kind.name())
        } else {
            kind.literal(&mut self.random)
        };
        Node::new(Label::Value(kind), vec![Part::Text(text)]).or(kind.simplest())
    }

    /// What there is for every type.
    fn of_any_type(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        let deeper = depth + 1;
        Some(match self.random.below(7) {
            0 | 1 => {
                self.feature("CASE");
                let condition = self.expression(Type::Bool, scope, deeper);
                let (then, otherwise) = (self.expression(kind, scope, deeper), self.expression(kind, scope, deeper));
                parts!["CASE WHEN ", condition, " THEN ", then, " ELSE ", otherwise, " END"]
            }
            2 => {
                self.feature("COALESCE");
                let list = (0..self.random.between(2, 3)).map(|_| self.expression(kind, scope, deeper)).collect();
                vec!["COALESCE(".into(), Part::List(list, ", ", 2), ")".into()]
            }
            3 => {
                self.feature("NULLIF");
                parts!["NULLIF(", self.expression(kind, scope, deeper), ", ", self.expression(kind, scope, deeper), ")"]
            }
            4 if kind.has_extremes() => {
                self.feature("GREATEST");
                let name = *self.random.pick(&["GREATEST(", "LEAST("]);
                parts![name, self.expression(kind, scope, deeper), ", ", self.expression(kind, scope, deeper), ")"]
            }
            _ => {
                self.feature("scalar subquery");
                return self.scalar_query(kind, scope, depth);
            }
        })
    }

    /// What there is for this type alone.
    fn of_its_type(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        match kind {
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric | Type::Float8 => self.number(kind, scope, depth + 1),
            Type::Text => Some(self.text(scope, depth + 1)),
            Type::Date | Type::Timestamp | Type::Timestamptz | Type::Interval => self.time(kind, scope, depth + 1),
            Type::Int4Array => Some(self.array(Type::Int4, kind, scope, depth + 1)),
            Type::TextArray => Some(self.array(Type::Text, kind, scope, depth + 1)),
            Type::Inet | Type::Cidr | Type::Macaddr => self.address(kind, scope, depth + 1),
            Type::Bool | Type::Bytea | Type::Uuid => None,
        }
    }

    fn address(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        self.feature("addresses");
        Some(match kind {
            Type::Cidr => match self.random.below(2) {
                0 => parts!["network(", self.expression(Type::Inet, scope, depth), ")"],
                _ => parts!["CAST(", self.expression(Type::Inet, scope, depth), " AS cidr)"],
            },
            Type::Macaddr => match self.random.below(2) {
                0 => parts!["trunc(", self.expression(kind, scope, depth), ")"],
                _ => parts!["(~ ", self.expression(kind, scope, depth), ")"],
            },
            _ => match self.random.below(4) {
                0 => parts!["broadcast(", self.expression(kind, scope, depth), ")"],
                1 => parts!["netmask(", self.expression(kind, scope, depth), ")"],
                2 => parts!["(~ ", self.expression(kind, scope, depth), ")"],
                _ => parts!["set_masklen(", self.expression(kind, scope, depth), ", 16)"],
            },
        })
    }

    fn number(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        self.feature("arithmetic");
        let divisor = match kind {
            Type::Numeric => *self.random.pick(&["3", "'7'::numeric", "0.5"]),
            Type::Float8 => *self.random.pick(&["'2'::float8", "'-4'::float8"]),
            Type::Int2 => *self.random.pick(&["'2'::int2", "'-3'::int2"]),
            _ => *self.random.pick(&["2", "3", "(-3)"]),
        };
        Some(match self.random.below(10) {
            0..=2 => {
                let operator = *self.random.pick(&[" + ", " - ", " + ", " * "]);
                parts!["(", self.expression(kind, scope, depth), operator, self.expression(kind, scope, depth), ")"]
            }
            3 => parts!["(", self.expression(kind, scope, depth), " / ", divisor, ")"],
            4 if kind != Type::Float8 => parts!["(", self.expression(kind, scope, depth), " % ", divisor, ")"],
            5 => parts!["abs(", self.expression(kind, scope, depth), ")"],
            6 => parts!["(- ", self.expression(kind, scope, depth), ")"],
            7 if kind == Type::Int4 => {
                let name = *self.random.pick(&["length(", "octet_length(", "ascii("]);
                parts![name, self.expression(Type::Text, scope, depth), ")"]
            }
            7 if kind == Type::Numeric => match self.random.below(3) {
                0 => parts!["round(", self.expression(kind, scope, depth), ", 1)"],
                1 => parts!["trunc(", self.expression(kind, scope, depth), ")"],
                _ => {
                    let field = *self.random.pick(&["year", "month", "day", "dow", "doy"]);
                    parts![format!("extract({field} FROM "), self.expression(Type::Date, scope, depth), ")"]
                }
            },
            7 if kind == Type::Float8 => {
                let name = *self.random.pick(&["floor(", "ceil(", "round(", "sign("]);
                parts![name, self.expression(kind, scope, depth), ")"]
            }
            _ => {
                let from = match kind {
                    Type::Int2 => Type::Bool,
                    Type::Int4 => Type::Int2,
                    Type::Int8 => Type::Int4,
                    Type::Numeric => *self.random.pick(&[Type::Int4, Type::Int8]),
                    _ => *self.random.pick(&[Type::Int4, Type::Numeric]),
                };
                if from == Type::Bool {
                    return None;
                }
                self.feature("cast");
                parts!["CAST(", self.expression(from, scope, depth), format!(" AS {})", kind.name())]
            }
        })
    }

    fn text(&mut self, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("text functions");
        let operand = self.expression(Type::Text, scope, depth);
        match self.random.below(9) {
            0 | 1 => parts!["(", operand, " || ", self.expression(Type::Text, scope, depth), ")"],
            2 => parts![*self.random.pick(&["lower(", "upper(", "reverse("]), operand, ")"],
            3 => parts!["substring(", operand, *self.random.pick(&[" FROM 2)", " FROM 1 FOR 2)", " FROM 0 FOR 2)"])],
            4 => parts![*self.random.pick(&["trim(", "ltrim(", "btrim("]), operand, ")"],
            5 => parts!["replace(", operand, ", 'a', 'bb')"],
            6 => {
                parts![*self.random.pick(&["left(", "right("]), operand, *self.random.pick(&[", 2)", ", -1)", ", 0)"])]
            }
            7 => parts!["lpad(", operand, ", 4, '-')"],
            _ => {
                self.feature("cast");
                let kinds = [
                    Type::Int4,
                    Type::Int8,
                    Type::Numeric,
                    Type::Bool,
                    Type::Date,
                    Type::Uuid,
                    Type::Inet,
                    Type::Float8,
                ];
                let from = *self.random.pick(&kinds);
                parts!["CAST(", self.expression(from, scope, depth), " AS text)"]
            }
        }
    }

    fn time(&mut self, kind: Type, scope: &Scope, depth: usize) -> Option<Vec<Part>> {
        self.feature("dates and times");
        let small = *self.random.pick(&["1", "30", "(-1)"]);
        let step = *self.random.pick(&["1 day", "36 hours", "1 mon", "-1 year", "00:00:01"]);
        let unit = *self.random.pick(&["year", "month", "day", "hour", "week"]);
        Some(match (kind, self.random.below(3)) {
            (Type::Date, 0 | 1) => parts!["(", self.expression(kind, scope, depth), format!(" + {small})")],
            (Type::Date, _) => parts!["CAST(", self.expression(Type::Timestamp, scope, depth), " AS date)"],
            (Type::Timestamp, 2) => parts!["CAST(", self.expression(Type::Date, scope, depth), " AS timestamp)"],
            (Type::Timestamp | Type::Timestamptz, 0) => {
                parts!["(", self.expression(kind, scope, depth), format!(" + '{step}'::interval)")]
            }
            (Type::Timestamp | Type::Timestamptz, _) => {
                parts![format!("date_trunc('{unit}', "), self.expression(kind, scope, depth), ")"]
            }
            (Type::Interval, 0) => {
                let (left, right) = (Type::Timestamp, Type::Timestamp);
                parts!["(", self.expression(left, scope, depth), " - ", self.expression(right, scope, depth), ")"]
            }
            (Type::Interval, 1) => parts!["(", self.expression(kind, scope, depth), " * 2)"],
            (Type::Interval, _) => parts!["(", self.expression(kind, scope, depth), format!(" + '{step}'::interval)")],
            _ => return None,
        })
    }

    fn array(&mut self, element: Type, kind: Type, scope: &Scope, depth: usize) -> Vec<Part> {
        self.feature("arrays");
        match self.random.below(3) {
            0 => {
                let list = (0..self.random.between(1, 3)).map(|_| self.expression(element, scope, depth)).collect();
                vec!["ARRAY[".into(), Part::List(list, ", ", 1), "]".into()]
            }
            1 => parts!["(", self.expression(kind, scope, depth), " || ", self.expression(kind, scope, depth), ")"],
            _ => {
                parts![
                    "array_append(",
                    self.expression(kind, scope, depth),
                    ", ",
                    self.expression(element, scope, depth),
                    ")"
                ]
            }
        }
    }
}
