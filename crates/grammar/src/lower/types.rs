//! Names of types. SQL's own words mean types of `pg_catalog`.

use super::{Lower, Lowered};
use crate::ast::{At, ExpressionNode, IntervalFields, Name, TypeName};
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn system_type(&self, name: &str, at: At) -> TypeName {
        TypeName {
            names: ["pg_catalog", name].map(|text| Name { text: text.to_string(), at }).to_vec(),
            set_of: false,
            of_column: false,
            modifiers: Vec::new(),
            fields: None,
            bounds: Vec::new(),
            at,
        }
    }

    /// `Typename`.
    pub(super) fn type_name(&mut self, node: Node) -> Lowered<TypeName> {
        let simple = self.part(node, g::SimpleTypename).ok_or_else(|| self.unexpected(node))?;
        let mut of = self.simple_type(simple)?;
        of.set_of = self.has(node, g::SETOF);
        if let Some(bounds) = self.part(node, g::opt_array_bounds) {
            for bound in self.chain(bounds) {
                match *self.children(bound) {
                    [_, _, number, _] => of.bounds.push(Some(self.integer(number))),
                    [_, _, _] => of.bounds.push(None),
                    _ => {}
                }
            }
        } else {
            of.bounds.push(self.part(node, g::Iconst).map(|number| self.integer(number)));
        }
        Ok(of)
    }

    pub(super) fn type_names(&mut self, list: Node) -> Lowered<Vec<TypeName>> {
        self.list(list).into_iter().map(|node| self.type_name(node)).collect()
    }

    /// `func_type`, which may be a column's.
    pub(super) fn function_type(&mut self, node: Node) -> Lowered<TypeName> {
        let (shape, children) = self.parts(node);
        if let ([g::Typename], [of]) = (shape, children) {
            return self.type_name(*of);
        }
        let set_of = shape[0] == g::SETOF;
        let first = usize::from(set_of);
        let mut of = self.system_type("", self.at(node));
        of.names = vec![self.name(children[first])];
        of.names.extend(self.names(children[first + 1]));
        (of.set_of, of.of_column) = (set_of, true);
        Ok(of)
    }

    pub(super) fn simple_type(&mut self, node: Node) -> Lowered<TypeName> {
        let (shape, children) = self.parts(node);
        match (shape, children) {
            ([g::GenericType], &[generic]) => self.generic_type(generic),
            ([g::ConstInterval, g::opt_interval], &[_, fields]) => self.interval_type(node, Some(fields), None),
            ([g::ConstInterval, ..], &[_, _, precision, _]) => self.interval_type(node, None, Some(precision)),
            (_, &[only]) => self.word_type(only, true),
            _ => Err(self.unexpected(node)),
        }
    }

    /// `ConstTypename`: a type whose length is open unless it is said.
    pub(super) fn constant_type_name(&mut self, node: Node) -> Lowered<TypeName> {
        self.word_type(self.children(node)[0], false)
    }

    fn word_type(&mut self, node: Node, has_default_length: bool) -> Lowered<TypeName> {
        match self.tree.symbol(node) {
            g::Numeric => self.numeric_type(node),
            g::ConstDatetime => self.time_type(node),
            g::Bit | g::ConstBit | g::Character | g::ConstCharacter => {
                self.text_type(self.children(node)[0], has_default_length)
            }
            _ => Err(self.unexpected(node)),
        }
    }

    fn generic_type(&mut self, node: Node) -> Lowered<TypeName> {
        let mut of = self.system_type("", self.at(node));
        of.names = vec![self.name(node)];
        if let Some(attributes) = self.part(node, g::attrs) {
            of.names.extend(self.names(attributes));
        }
        self.modifiers(node, &mut of);
        Ok(of)
    }

    /// `opt_type_modifiers`, and the length of a bit string.
    fn modifiers(&mut self, node: Node, of: &mut TypeName) {
        let list = self.part(node, g::opt_type_modifiers).and_then(|modifiers| self.part(modifiers, g::expr_list));
        if let Some(list) = list.or(self.part(node, g::expr_list)) {
            of.modifiers = self.exprs(list);
        }
    }

    fn numeric_type(&mut self, node: Node) -> Lowered<TypeName> {
        let name = match self.shape(node)[0] {
            g::INT_P | g::INTEGER => "int4",
            g::SMALLINT => "int2",
            g::BIGINT => "int8",
            g::REAL => "float4",
            g::DOUBLE_P => "float8",
            g::BOOLEAN_P => "bool",
            g::FLOAT_P => self.float(self.children(node)[1]),
            _ => "numeric",
        };
        let mut of = self.system_type(name, self.at(node));
        self.modifiers(node, &mut of);
        Ok(of)
    }

    /// Bits of precision, as has been checked, say which of the two types is meant.
    fn float(&self, node: Node) -> &'static str {
        match self.part(node, g::Iconst).map(|precision| self.integer(precision)) {
            Some(..25) => "float4",
            _ => "float8",
        }
    }

    /// A character or a bit unless a length is said; of constants any length.
    fn text_type(&mut self, node: Node, has_default_length: bool) -> Lowered<TypeName> {
        let at = self.at(node);
        let (name, length) = match self.tree.symbol(node) {
            g::BitWithLength | g::BitWithoutLength => {
                let varying = !self.is_empty(self.children(node)[1]);
                (if varying { "varbit" } else { "bit" }, None)
            }
            _ => {
                let word = self.children(node)[0];
                let varying = self.has(word, g::VARCHAR) || self.filled(word, g::opt_varying).is_some();
                (if varying { "varchar" } else { "bpchar" }, self.part(node, g::Iconst))
            }
        };
        let mut of = self.system_type(name, at);
        self.modifiers(node, &mut of);
        let length = match length {
            Some(length) => Some((self.integer(length), self.at(length))),
            None if of.modifiers.is_empty() && has_default_length && matches!(name, "bit" | "bpchar") => Some((1, at)),
            None => None,
        };
        if let Some((length, at)) = length {
            of.modifiers.push(self.add(ExpressionNode::Integer(length), at));
        }
        Ok(of)
    }

    fn time_type(&mut self, node: Node) -> Lowered<TypeName> {
        let has_zone = self.part(node, g::opt_timezone).is_some_and(|zone| self.has(zone, g::WITH_LA));
        let name = match (self.shape(node)[0], has_zone) {
            (g::TIMESTAMP, true) => "timestamptz",
            (g::TIMESTAMP, false) => "timestamp",
            (_, true) => "timetz",
            (_, false) => "time",
        };
        let mut of = self.system_type(name, self.at(node));
        if let Some(precision) = self.part(node, g::Iconst) {
            let digits = self.integer(precision);
            of.modifiers.push(self.add(ExpressionNode::Integer(digits), self.at(precision)));
        }
        Ok(of)
    }

    pub(super) fn interval_type(
        &mut self,
        node: Node,
        fields: Option<Node>,
        precision: Option<Node>,
    ) -> Lowered<TypeName> {
        let mut of = self.system_type("interval", self.at(node));
        let mut precision = precision;
        if let Some(fields) = fields {
            of.fields = self.interval_fields(fields)?;
            let seconds = self.part(fields, g::interval_second);
            precision = precision.or(seconds.and_then(|seconds| self.part(seconds, g::Iconst)));
        }
        if let Some(precision) = precision {
            let digits = self.integer(precision);
            of.modifiers.push(self.add(ExpressionNode::Integer(digits), self.at(precision)));
        }
        Ok(of)
    }

    fn interval_fields(&self, node: Node) -> Lowered<Option<IntervalFields>> {
        use IntervalFields as F;
        Ok(Some(match self.shape(node) {
            [] => return Ok(None),
            [g::YEAR_P] => F::Year,
            [g::MONTH_P] => F::Month,
            [g::DAY_P] => F::Day,
            [g::HOUR_P] => F::Hour,
            [g::MINUTE_P] => F::Minute,
            [g::interval_second] => F::Second,
            [g::YEAR_P, _, g::MONTH_P] => F::YearToMonth,
            [g::DAY_P, _, g::HOUR_P] => F::DayToHour,
            [g::DAY_P, _, g::MINUTE_P] => F::DayToMinute,
            [g::DAY_P, _, _] => F::DayToSecond,
            [g::HOUR_P, _, g::MINUTE_P] => F::HourToMinute,
            [g::HOUR_P, _, _] => F::HourToSecond,
            [g::MINUTE_P, _, _] => F::MinuteToSecond,
            _ => return Err(self.unexpected(node)),
        }))
    }
}
