//! The grammar of paths.
//!
//! Invariant: a path that nests deeper than [`DEPTH_MAX`] is refused, so that whoever walks one may call himself.

use super::lexer::{PathToken, syntax, tokens};
use super::tree::{JsonPath, PathMethod, PathNode, PathPredicate, PathStep};
use values::error::sqlstate;
use values::operators::BinaryOperator;
use values::{Jsonb, Type, Value, ValueError, text};

/// How deep parentheses, filters and signs may stand within each other.
const DEPTH_MAX: usize = 100;

struct PathParser {
    tokens: Vec<PathToken>,
    at: usize,
    depth: usize,
    /// Subscripts and filters around: `last` stands in the former, `@` in the latter.
    subscripts: usize,
    filters: usize,
}

type ParsedPath = Result<PathNode, ValueError>;

/// Reads a path. Errors: 42601, 54001, and 0A000 for what is not built.
pub(crate) fn parse(text: &str) -> Result<JsonPath, ValueError> {
    let mut parser = PathParser { tokens: tokens(text)?, at: 0, depth: 0, subscripts: 0, filters: 0 };
    if *parser.token() == PathToken::End {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(ValueError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
    }
    let is_strict = parser.takes_word("strict");
    if !is_strict {
        parser.takes_word("lax");
    }
    let root = parser.alternatives()?;
    if *parser.token() != PathToken::End {
        return Err(parser.unexpected());
    }
    Ok(JsonPath { is_strict, root })
}

impl PathParser {
    fn token(&self) -> &PathToken {
        self.tokens.get(self.at).unwrap_or(&PathToken::End)
    }

    fn unexpected(&self) -> ValueError {
        match self.token() {
            PathToken::Word(found) | PathToken::String(found) | PathToken::Number(found) => {
                syntax("syntax error", Some(found))
            }
            PathToken::Variable(name) => syntax("syntax error", Some(&format!("${name}"))),
            PathToken::Symbol(symbol) => syntax("syntax error", Some(symbol)),
            PathToken::End => syntax("syntax error", None),
        }
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let found = matches!(self.token(), PathToken::Symbol(known) if *known == symbol);
        self.at += usize::from(found);
        found
    }

    /// A word of the language, in any case; true, false and null are written in small letters.
    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), PathToken::Word(known) if known.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ValueError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, ValueError>) -> Result<T, ValueError> {
        if self.depth == DEPTH_MAX {
            return Err(ValueError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        self.depth += 1;
        let parsed = inner(self);
        self.depth -= 1;
        parsed
    }

    fn predicate_of(&self, node: PathNode) -> Result<PathPredicate, ValueError> {
        match node {
            PathNode::Predicate(predicate) => Ok(*predicate),
            _ => Err(self.unexpected()),
        }
    }

    fn value_of(&self, node: PathNode) -> ParsedPath {
        match node {
            PathNode::Predicate(_) => Err(self.unexpected()),
            value => Ok(value),
        }
    }

    fn alternatives(&mut self) -> ParsedPath {
        let mut left = self.conjunction()?;
        let mut count = 0;
        while *self.token() == PathToken::Symbol("||") {
            self.count(&mut count)?;
            let one = self.predicate_of(left)?;
            self.at += 1;
            let right = self.conjunction()?;
            let other = self.predicate_of(right)?;
            left = PathNode::Predicate(Box::new(PathPredicate::Or(Box::new(one), Box::new(other))));
        }
        Ok(left)
    }

    /// What stands side by side is a tree that is as deep as there are parts.
    fn count(&self, count: &mut usize) -> Result<(), ValueError> {
        *count += 1;
        if *count > DEPTH_MAX {
            return Err(ValueError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        Ok(())
    }

    fn conjunction(&mut self) -> ParsedPath {
        let mut left = self.negation()?;
        let mut count = 0;
        while *self.token() == PathToken::Symbol("&&") {
            self.count(&mut count)?;
            let one = self.predicate_of(left)?;
            self.at += 1;
            let right = self.negation()?;
            let other = self.predicate_of(right)?;
            left = PathNode::Predicate(Box::new(PathPredicate::And(Box::new(one), Box::new(other))));
        }
        Ok(left)
    }

    fn negation(&mut self) -> ParsedPath {
        if !self.takes("!") {
            return self.comparison();
        }
        let of = match self.token() {
            PathToken::Symbol("(") => {
                self.at += 1;
                let inner = self.nested(Self::alternatives)?;
                self.expect(")")?;
                self.predicate_of(inner)?
            }
            _ => self.exists()?.ok_or_else(|| self.unexpected())?,
        };
        Ok(PathNode::Predicate(Box::new(PathPredicate::Not(Box::new(of)))))
    }

    fn exists(&mut self) -> Result<Option<PathPredicate>, ValueError> {
        if !self.takes_word("exists") {
            return Ok(None);
        }
        self.expect("(")?;
        let inner = self.nested(Self::sum)?;
        self.expect(")")?;
        Ok(Some(PathPredicate::Exists(self.value_of(inner)?)))
    }

    fn comparison(&mut self) -> ParsedPath {
        if let Some(exists) = self.exists()? {
            return Ok(PathNode::Predicate(Box::new(exists)));
        }
        let left = self.sum()?;
        let operators = [
            ("==", BinaryOperator::Equal),
            ("!=", BinaryOperator::NotEqual),
            ("<>", BinaryOperator::NotEqual),
            ("<=", BinaryOperator::LessOrEqual),
            (">=", BinaryOperator::GreaterOrEqual),
            ("<", BinaryOperator::Less),
            (">", BinaryOperator::Greater),
            ("=", BinaryOperator::Equal),
        ];
        let predicate = if let Some((_, operator)) = operators.into_iter().find(|(symbol, _)| self.takes(symbol)) {
            let left = self.value_of(left)?;
            let right = self.sum()?;
            PathPredicate::Compare(operator, left, self.value_of(right)?)
        } else if self.takes_word("starts") {
            if !self.takes_word("with") {
                return Err(self.unexpected());
            }
            let initial = match self.token().clone() {
                PathToken::String(string) => PathNode::Literal(Jsonb::string(string)),
                PathToken::Variable(name) => PathNode::Variable(name),
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            PathPredicate::StartsWith(self.value_of(left)?, initial)
        } else if self.takes_word("like_regex") {
            let of = self.value_of(left)?;
            let pattern = self.string()?;
            let flags = if self.takes_word("flag") { self.string()? } else { String::new() };
            if flags.chars().any(|flag| flag != 'i') {
                let message = "flags of like_regex other than i are not supported";
                return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            PathPredicate::LikeRegex { of, pattern, ignore_case: !flags.is_empty() }
        } else {
            return Ok(left);
        };
        Ok(PathNode::Predicate(Box::new(predicate)))
    }

    fn string(&mut self) -> Result<String, ValueError> {
        let PathToken::String(string) = self.token().clone() else { return Err(self.unexpected()) };
        self.at += 1;
        Ok(string)
    }

    fn sum(&mut self) -> ParsedPath {
        self.chained(&[("+", BinaryOperator::Add), ("-", BinaryOperator::Subtract)], Self::product)
    }

    fn product(&mut self) -> ParsedPath {
        let operators = [("*", BinaryOperator::Multiply), ("/", BinaryOperator::Divide), ("%", BinaryOperator::Modulo)];
        self.chained(&operators, Self::signed)
    }

    fn chained(&mut self, operators: &[(&str, BinaryOperator)], part: fn(&mut Self) -> ParsedPath) -> ParsedPath {
        let mut left = part(self)?;
        let mut count = 0;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.takes(symbol)) {
            self.count(&mut count)?;
            let right = part(self)?;
            let (one, other) = (self.value_of(left)?, self.value_of(right)?);
            left = PathNode::Arithmetic(*operator, Box::new(one), Box::new(other));
        }
        Ok(left)
    }

    fn signed(&mut self) -> ParsedPath {
        let negative = self.takes("-");
        if !negative && !self.takes("+") {
            return self.accessed();
        }
        let of = self.nested(Self::signed)?;
        Ok(PathNode::Sign { negative, of: Box::new(self.value_of(of)?) })
    }

    fn accessed(&mut self) -> ParsedPath {
        let base = self.primary()?;
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        if let PathNode::Predicate(_) = &base
            && steps.is_empty()
            && self.takes_word("is")
        {
            if !self.takes_word("unknown") {
                return Err(self.unexpected());
            }
            let of = self.predicate_of(base)?;
            return Ok(PathNode::Predicate(Box::new(PathPredicate::IsUnknown(Box::new(of)))));
        }
        Ok(if steps.is_empty() { base } else { PathNode::Chain(Box::new(base), steps) })
    }

    fn primary(&mut self) -> ParsedPath {
        let token = self.token().clone();
        let node = match &token {
            PathToken::Symbol("$") => PathNode::Root,
            PathToken::Symbol("@") if self.filters == 0 => {
                return Err(ValueError::new(sqlstate::SYNTAX_ERROR, "@ is not allowed in root expressions"));
            }
            PathToken::Symbol("@") => PathNode::Current,
            PathToken::Symbol("(") => {
                self.at += 1;
                let inner = self.nested(Self::alternatives)?;
                self.expect(")")?;
                return Ok(inner);
            }
            PathToken::Variable(name) => PathNode::Variable(name.clone()),
            PathToken::String(string) => PathNode::Literal(Jsonb::string(string.as_str())),
            PathToken::Number(written) => match text::parse(written, Type::Numeric(None))? {
                Value::Numeric(number) => PathNode::Literal(Jsonb::Number((*number).clone())),
                _ => return Err(self.unexpected()),
            },
            PathToken::Word(word) => match word.as_str() {
                "true" => PathNode::Literal(Jsonb::Boolean(true)),
                "false" => PathNode::Literal(Jsonb::Boolean(false)),
                "null" => PathNode::Literal(Jsonb::Null),
                _ if word.eq_ignore_ascii_case("last") && self.subscripts == 0 => {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(ValueError::new(sqlstate::SYNTAX_ERROR, message));
                }
                _ if word.eq_ignore_ascii_case("last") => PathNode::Last,
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(node)
    }

    fn step(&mut self) -> Result<Option<PathStep>, ValueError> {
        if self.takes("?") {
            self.expect("(")?;
            self.filters += 1;
            let inner = self.nested(Self::alternatives);
            self.filters -= 1;
            let predicate = self.predicate_of(inner?)?;
            self.expect(")")?;
            return Ok(Some(PathStep::Filter(predicate)));
        }
        if self.takes("[") {
            return self.subscript().map(Some);
        }
        if self.takes(".") {
            return self.member().map(Some);
        }
        Ok(None)
    }

    fn subscript(&mut self) -> Result<PathStep, ValueError> {
        if self.takes("*") {
            self.expect("]")?;
            return Ok(PathStep::AnyElement);
        }
        let mut elements = Vec::new();
        self.subscripts += 1;
        loop {
            let from = self.nested(Self::sum)?;
            let from = self.value_of(from)?;
            let to = match self.takes_word("to") {
                true => {
                    let to = self.nested(Self::sum)?;
                    Some(self.value_of(to)?)
                }
                false => None,
            };
            elements.push((from, to));
            if !self.takes(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(PathStep::Elements(elements))
    }

    fn member(&mut self) -> Result<PathStep, ValueError> {
        if self.takes("**") {
            return self.levels();
        }
        if self.takes("*") {
            return Ok(PathStep::AnyKey);
        }
        let token = self.token().clone();
        self.at += 1;
        let name = match token {
            PathToken::String(name) => return Ok(PathStep::Key(name)),
            PathToken::Word(name) => name,
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        if !self.takes("(") {
            return Ok(PathStep::Key(name));
        }
        let methods = [
            PathMethod::Type,
            PathMethod::Size,
            PathMethod::Double,
            PathMethod::Ceiling,
            PathMethod::Floor,
            PathMethod::Abs,
        ];
        match methods.into_iter().find(|method| name.eq_ignore_ascii_case(method.name())) {
            Some(method) => {
                self.expect(")")?;
                Ok(PathStep::Method(method))
            }
            None if ["datetime", "keyvalue"].iter().any(|known| name.eq_ignore_ascii_case(known)) => {
                let message = format!("jsonpath item method .{}() is not supported", name.to_ascii_lowercase());
                Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
            None => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn levels(&mut self) -> Result<PathStep, ValueError> {
        if !self.takes("{") {
            return Ok(PathStep::AnyLevel { first: Some(0), last: None });
        }
        let first = self.level()?;
        let last = if self.takes_word("to") { self.level()? } else { first };
        self.expect("}")?;
        Ok(PathStep::AnyLevel { first, last })
    }

    fn level(&mut self) -> Result<Option<u32>, ValueError> {
        if self.takes_word("last") {
            return Ok(None);
        }
        let PathToken::Number(written) = self.token().clone() else { return Err(self.unexpected()) };
        let level = written.parse().map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(Some(level))
    }
}
