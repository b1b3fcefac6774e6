//! Following a path: each thing found goes to whoever asked, who may have enough.

use super::tree::{JsonPath, PathMethod, PathNode, PathStep};
use crate::pattern_cache::PatternCache;
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use values::error::sqlstate;
use values::operators::{BinaryOperator, binary};
use values::{Jsonb, Type, Value, ValueError, cast, text};

/// Whether more is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathFlow {
    On,
    Enough,
}

/// Why a path leads nowhere.
pub(super) enum PathFailure {
    /// An error of the value, which a predicate takes for unknown, and a silent function for nothing.
    Suppressible(Box<ValueError>),
    /// One that nothing passes over.
    Final(Box<ValueError>),
}

pub(super) type Followed = Result<PathFlow, PathFailure>;

pub(super) fn failure(sqlstate: &'static str, message: impl Into<String>) -> PathFailure {
    PathFailure::Suppressible(Box::new(ValueError::new(sqlstate, message)))
}

/// An error of computing with numbers.
fn of_number(error: ValueError) -> PathFailure {
    PathFailure::Suppressible(Box::new(error))
}

/// Where a step stands: how much was found goes to the sink.
pub(super) type PathSink<'s> = &'s mut dyn FnMut(&Jsonb) -> Result<PathFlow, PathFailure>;

pub(super) struct PathExecution<'a> {
    path: &'a JsonPath,
    target: &'a Jsonb,
    variables: Option<&'a Jsonb>,
    pub(super) patterns: &'a mut PatternCache,
    /// What is not there is an error.
    pub(super) is_strict: bool,
    /// The same, but for `.**`, within which nothing is.
    tells_missing: bool,
    /// Lengths of the arrays whose subscripts are computed.
    lengths: Vec<usize>,
}

impl<'a> PathExecution<'a> {
    pub(super) fn new(
        path: &'a JsonPath,
        target: &'a Jsonb,
        variables: Option<&'a Jsonb>,
        patterns: &'a mut PatternCache,
    ) -> PathExecution<'a> {
        let is_strict = path.is_strict;
        PathExecution { path, target, variables, patterns, is_strict, tells_missing: is_strict, lengths: Vec::new() }
    }

    /// All that the path leads to.
    pub(super) fn run(&mut self, each: &mut dyn FnMut(&Jsonb) -> PathFlow) -> Followed {
        let (path, target) = (self.path, self.target);
        self.node(&path.root, target, &mut |json| Ok(each(json)))
    }

    /// What an expression yields, where `@` is `current`.
    pub(super) fn node(&mut self, node: &PathNode, current: &Jsonb, sink: PathSink<'_>) -> Followed {
        match node {
            PathNode::Root => sink(self.target),
            PathNode::Current => sink(current),
            PathNode::Literal(json) => sink(json),
            PathNode::Variable(name) => match self.variables.and_then(Jsonb::as_object).and_then(|all| all.get(name)) {
                Some(value) => sink(value),
                None => {
                    let message = format!("could not find jsonpath variable \"{name}\"");
                    Err(PathFailure::Final(Box::new(ValueError::new(sqlstate::UNDEFINED_OBJECT, message))))
                }
            },
            PathNode::Last => {
                let last = self.lengths.last().map_or(0, |length| *length as i64) - 1;
                sink(&Jsonb::Number(BigDecimal::from(last)))
            }
            PathNode::Chain(base, steps) => {
                match **base {
                    PathNode::Root => return self.steps(steps, self.target, true, current, sink),
                    PathNode::Current => return self.steps(steps, current, true, current, sink),
                    _ => {}
                }
                // What the base yields is kept: the steps need all of the execution.
                let found = self.list(base, current)?;
                for json in &found {
                    if self.steps(steps, json, true, current, sink)? == PathFlow::Enough {
                        return Ok(PathFlow::Enough);
                    }
                }
                Ok(PathFlow::On)
            }
            PathNode::Predicate(predicate) => {
                let json = match self.predicate(predicate, current)? {
                    Some(truth) => Jsonb::Boolean(truth),
                    None => Jsonb::Null,
                };
                sink(&json)
            }
            PathNode::Arithmetic(operator, left, right) => {
                let left = self.operand(left, current, "left", *operator)?;
                let right = self.operand(right, current, "right", *operator)?;
                let result = binary(*operator, &Value::numeric(left), &Value::numeric(right)).map_err(of_number)?;
                sink(&number_of(&result))
            }
            PathNode::Sign { negative, of } => {
                for json in self.unwrapped(of, current)? {
                    let Jsonb::Number(number) = json else {
                        let sign = if *negative { '-' } else { '+' };
                        let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                        return Err(failure(sqlstate::SQL_JSON_NUMBER_NOT_FOUND, message));
                    };
                    let signed = if *negative { -number } else { number };
                    if sink(&Jsonb::Number(signed))? == PathFlow::Enough {
                        return Ok(PathFlow::Enough);
                    }
                }
                Ok(PathFlow::On)
            }
        }
    }

    /// All that an expression yields.
    pub(super) fn list(&mut self, node: &PathNode, current: &Jsonb) -> Result<Vec<Jsonb>, PathFailure> {
        let mut all = Vec::new();
        self.node(node, current, &mut |json| {
            all.push(json.clone());
            Ok(PathFlow::On)
        })?;
        Ok(all)
    }

    /// The same, with the elements of arrays in their place unless the path is strict.
    pub(super) fn unwrapped(&mut self, node: &PathNode, current: &Jsonb) -> Result<Vec<Jsonb>, PathFailure> {
        let all = self.list(node, current)?;
        if self.is_strict {
            return Ok(all);
        }
        let parts = all.into_iter().flat_map(|json| match json {
            Jsonb::Array(elements) => elements,
            other => vec![other],
        });
        Ok(parts.collect())
    }

    fn operand(
        &mut self,
        node: &PathNode,
        current: &Jsonb,
        side: &str,
        operator: BinaryOperator,
    ) -> Result<BigDecimal, PathFailure> {
        match <[Jsonb; 1]>::try_from(self.unwrapped(node, current)?) {
            Ok([Jsonb::Number(number)]) => Ok(number),
            _ => {
                let symbol = operator.symbol();
                let message = format!("{side} operand of jsonpath operator {symbol} is not a single numeric value");
                Err(failure("22038", message))
            }
        }
    }

    /// What steps lead to from a value. `unwrap`: a step that is not for arrays goes to the elements of one, once.
    fn steps(
        &mut self,
        steps: &[PathStep],
        json: &Jsonb,
        unwrap: bool,
        current: &Jsonb,
        sink: PathSink<'_>,
    ) -> Followed {
        let Some((step, rest)) = steps.split_first() else { return sink(json) };
        if let Jsonb::Array(elements) = json
            && unwrap
            && step.unwraps()
            && !self.is_strict
        {
            for element in elements {
                if self.steps(steps, element, false, current, sink)? == PathFlow::Enough {
                    return Ok(PathFlow::Enough);
                }
            }
            return Ok(PathFlow::On);
        }
        match step {
            PathStep::Key(key) => match json.as_object() {
                Some(object) => match object.get(key) {
                    Some(value) => self.steps(rest, value, true, current, sink),
                    None => self.missing(sqlstate::SQL_JSON_MEMBER_NOT_FOUND, || {
                        format!("JSON object does not contain key \"{key}\"")
                    }),
                },
                None => self.missing(sqlstate::SQL_JSON_MEMBER_NOT_FOUND, || {
                    "jsonpath member accessor can only be applied to an object".into()
                }),
            },
            PathStep::AnyKey => match json.as_object() {
                Some(object) => self.each(rest, object.iter().map(|(_, value)| value), current, sink),
                None => {
                    let message = "jsonpath wildcard member accessor can only be applied to an object";
                    self.missing(sqlstate::SQL_JSON_OBJECT_NOT_FOUND, || message.into())
                }
            },
            PathStep::AnyElement => match json {
                Jsonb::Array(elements) => self.each(rest, elements.iter(), current, sink),
                scalar if !self.is_strict => self.steps(rest, scalar, true, current, sink),
                _ => {
                    let message = "jsonpath wildcard array accessor can only be applied to an array";
                    self.missing(sqlstate::SQL_JSON_ARRAY_NOT_FOUND, || message.into())
                }
            },
            PathStep::Elements(subscripts) => self.elements(subscripts, rest, json, current, sink),
            PathStep::AnyLevel { first, last } => {
                if *first == Some(0) {
                    let flow = self.without_missing(|own| own.steps(rest, json, true, current, sink))?;
                    if flow == PathFlow::Enough {
                        return Ok(flow);
                    }
                }
                self.levels((*first, *last), 1, rest, json, current, sink)
            }
            PathStep::Method(method) => {
                let Some(result) = self.method(*method, json)? else { return Ok(PathFlow::On) };
                self.steps(rest, &result, true, current, sink)
            }
            PathStep::Filter(predicate) => match self.predicate(predicate, json)? {
                Some(true) => self.steps(rest, json, true, current, sink),
                _ => Ok(PathFlow::On),
            },
        }
    }

    fn each<'j>(
        &mut self,
        rest: &[PathStep],
        all: impl Iterator<Item = &'j Jsonb>,
        current: &Jsonb,
        sink: PathSink<'_>,
    ) -> Followed {
        for json in all {
            if self.steps(rest, json, true, current, sink)? == PathFlow::Enough {
                return Ok(PathFlow::Enough);
            }
        }
        Ok(PathFlow::On)
    }

    fn missing(&self, sqlstate: &'static str, message: impl FnOnce() -> String) -> Followed {
        if self.tells_missing { Err(failure(sqlstate, message())) } else { Ok(PathFlow::On) }
    }

    fn without_missing(&mut self, inner: impl FnOnce(&mut Self) -> Followed) -> Followed {
        let before = std::mem::replace(&mut self.tells_missing, false);
        let followed = inner(self);
        self.tells_missing = before;
        followed
    }

    fn levels(
        &mut self,
        (first, last): (Option<u32>, Option<u32>),
        level: u32,
        rest: &[PathStep],
        json: &Jsonb,
        current: &Jsonb,
        sink: PathSink<'_>,
    ) -> Followed {
        if last.is_some_and(|last| level > last) {
            return Ok(PathFlow::On);
        }
        let parts: Vec<&Jsonb> = match json {
            Jsonb::Array(elements) => elements.iter().collect(),
            Jsonb::Object(object) => object.iter().map(|(_, value)| value).collect(),
            _ => return Ok(PathFlow::On),
        };
        for part in parts {
            let is_wanted = match first {
                Some(first) => level >= first,
                // Only what has no parts of its own.
                None => last.is_none() && part.is_scalar(),
            };
            if is_wanted && self.without_missing(|own| own.steps(rest, part, true, current, sink))? == PathFlow::Enough
            {
                return Ok(PathFlow::Enough);
            }
            if self.levels((first, last), level + 1, rest, part, current, sink)? == PathFlow::Enough {
                return Ok(PathFlow::Enough);
            }
        }
        Ok(PathFlow::On)
    }

    fn elements(
        &mut self,
        subscripts: &[(PathNode, Option<PathNode>)],
        rest: &[PathStep],
        json: &Jsonb,
        current: &Jsonb,
        sink: PathSink<'_>,
    ) -> Followed {
        let elements = match json {
            Jsonb::Array(elements) => elements.as_slice(),
            other if !self.is_strict => std::slice::from_ref(other),
            _ => {
                return self.missing(sqlstate::SQL_JSON_ARRAY_NOT_FOUND, || {
                    "jsonpath array accessor can only be applied to an array".into()
                });
            }
        };
        let length = elements.len() as i64;
        for (from, to) in subscripts {
            self.lengths.push(elements.len());
            let from = self.index(from, json);
            let to = from.and_then(|from| match to {
                Some(to) => Ok((from, self.index(to, json)?)),
                None => Ok((from, from)),
            });
            self.lengths.pop();
            let (from, to) = to?;
            if self.tells_missing && (from < 0 || from > to || to >= length) {
                return Err(failure("22033", "jsonpath array subscript is out of bounds"));
            }
            for place in from.max(0)..=to.min(length - 1) {
                if self.steps(rest, &elements[place as usize], true, current, sink)? == PathFlow::Enough {
                    return Ok(PathFlow::Enough);
                }
            }
        }
        Ok(PathFlow::On)
    }

    fn index(&mut self, node: &PathNode, json: &Jsonb) -> Result<i64, PathFailure> {
        match <[Jsonb; 1]>::try_from(self.list(node, json)?) {
            Ok([Jsonb::Number(number)]) => {
                let whole = number.with_scale_round(0, RoundingMode::Down).to_i32();
                whole.map(i64::from).ok_or_else(|| failure("22033", "jsonpath array subscript is out of integer range"))
            }
            _ => Err(failure("22033", "jsonpath array subscript is not a single numeric value")),
        }
    }

    fn method(&self, method: PathMethod, json: &Jsonb) -> Result<Option<Jsonb>, PathFailure> {
        let name = method.name();
        let rounded = |mode: RoundingMode| match json {
            Jsonb::Number(number) => Ok(Some(Jsonb::Number(number.with_scale_round(0, mode)))),
            _ => {
                Err(failure("22036", format!("jsonpath item method .{name}() can only be applied to a numeric value")))
            }
        };
        match method {
            PathMethod::Type => Ok(Some(Jsonb::string(json.type_name()))),
            PathMethod::Size => match json {
                Jsonb::Array(elements) => Ok(Some(Jsonb::Number(BigDecimal::from(elements.len() as u64)))),
                _ if !self.is_strict => Ok(Some(Jsonb::Number(BigDecimal::from(1)))),
                _ => {
                    let message = format!("jsonpath item method .{name}() can only be applied to an array");
                    self.missing(sqlstate::SQL_JSON_ARRAY_NOT_FOUND, || message).map(|_| None)
                }
            },
            PathMethod::Ceiling => rounded(RoundingMode::Ceiling),
            PathMethod::Floor => rounded(RoundingMode::Floor),
            PathMethod::Abs => match json {
                Jsonb::Number(number) => Ok(Some(Jsonb::Number(number.abs()))),
                _ => rounded(RoundingMode::Down),
            },
            PathMethod::Double => double(json).map(Some),
        }
    }
}

/// `.double()`: a number stays as it is, if a double can hold it; a string is read as one.
fn double(json: &Jsonb) -> Result<Jsonb, PathFailure> {
    let is_finite = |text: &str| match text::parse(text, Type::Double) {
        Ok(Value::Double(number)) if number.is_finite() => Some(number),
        _ => None,
    };
    match json {
        Jsonb::Number(_) => match is_finite(&values::json::write::to_string(json)) {
            Some(_) => Ok(json.clone()),
            None => {
                let message =
                    "numeric argument of jsonpath item method .double() is out of range for type double precision";
                Err(failure("22036", message))
            }
        },
        Jsonb::String(string) => {
            let number = is_finite(string).ok_or_else(|| {
                let message =
                    "string argument of jsonpath item method .double() is not a valid representation of a double precision number";
                failure("22036", message)
            })?;
            let exact = cast::explicit(&Value::Double(number), Type::Numeric(None)).map_err(of_number)?;
            Ok(number_of(&exact))
        }
        _ => Err(failure("22036", "jsonpath item method .double() can only be applied to a string or numeric value")),
    }
}

fn number_of(value: &Value) -> Jsonb {
    match value {
        Value::Numeric(number) => Jsonb::Number((**number).clone()),
        other => panic!("{other:?} is no numeric"),
    }
}

impl From<ValueError> for PathFailure {
    fn from(error: ValueError) -> PathFailure {
        PathFailure::Final(Box::new(error))
    }
}
