//! What a path is.

use values::Jsonb;
use values::operators::BinaryOperator;

/// A path with its mode.
#[derive(Debug)]
pub(crate) struct JsonPath {
    /// What is not there is an error, and arrays are not unwrapped by themselves.
    pub is_strict: bool,
    pub(super) root: PathNode,
}

/// An expression or a predicate.
#[derive(Debug)]
pub(super) enum PathNode {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `$name`
    Variable(String),
    /// A scalar.
    Literal(Jsonb),
    /// What accessors reach from something, in turn.
    Chain(Box<PathNode>, Vec<PathStep>),
    Arithmetic(BinaryOperator, Box<PathNode>, Box<PathNode>),
    /// `-` or `+` before something.
    Sign {
        negative: bool,
        of: Box<PathNode>,
    },
    Predicate(Box<PathPredicate>),
}

/// An accessor.
#[derive(Debug)]
pub(super) enum PathStep {
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[1, 3 to last]`
    Elements(Vec<(PathNode, Option<PathNode>)>),
    /// `.**{first to last}`; `None` stands for `last`.
    AnyLevel {
        first: Option<u32>,
        last: Option<u32>,
    },
    Method(PathMethod),
    Filter(PathPredicate),
}

impl PathStep {
    /// Whether a path that is not strict goes to the elements of an array instead.
    pub(super) fn unwraps(&self) -> bool {
        !matches!(
            self,
            PathStep::AnyElement
                | PathStep::Elements(_)
                | PathStep::AnyLevel { .. }
                | PathStep::Method(PathMethod::Type | PathMethod::Size)
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathMethod {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
}

impl PathMethod {
    pub(super) fn name(self) -> &'static str {
        match self {
            PathMethod::Type => "type",
            PathMethod::Size => "size",
            PathMethod::Double => "double",
            PathMethod::Ceiling => "ceiling",
            PathMethod::Floor => "floor",
            PathMethod::Abs => "abs",
        }
    }
}

/// What is true, false or unknown.
#[derive(Debug)]
pub(super) enum PathPredicate {
    And(Box<PathPredicate>, Box<PathPredicate>),
    Or(Box<PathPredicate>, Box<PathPredicate>),
    Not(Box<PathPredicate>),
    IsUnknown(Box<PathPredicate>),
    Exists(PathNode),
    Compare(BinaryOperator, PathNode, PathNode),
    StartsWith(PathNode, PathNode),
    LikeRegex { of: PathNode, pattern: String, ignore_case: bool },
}
