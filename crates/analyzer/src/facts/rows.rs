//! The rows of the facts, and how each is read from its line. A field bears the name of what it says; the column of PostgreSQL's catalog stands behind it where it differs.

use std::borrow::Cow;

use super::read::Fields;
use crate::types::{CollationId, FunctionId, OperatorId, TypeId, TypeKind};

/// Text that is compiled in, or a user's.
pub type Text = Cow<'static, str>;

/// A type (`pg_type`).
#[derive(Clone, Debug)]
pub struct TypeRow {
    /// Its number.
    pub id: TypeId,
    /// Its name, which is not always the one that is printed.
    pub name: Text,
    /// The schema to print before the name; `None` where the name alone finds the type.
    pub schema: Option<Text>,
    /// Bytes; -1 if it varies, -2 if a zero ends it.
    pub length: i16,
    /// Whether PostgreSQL passes it by value.
    pub by_value: bool,
    /// What it is made of.
    pub kind: TypeKind,
    /// A letter; types of one category are alike.
    pub category: char,
    /// Whether it is preferred in its category.
    pub preferred: bool,
    /// What stands between elements of its arrays as text.
    pub delimiter: char,
    /// The relation whose rows these are, or zero.
    pub relation: u32,
    /// The type of what subscripts reach, or none.
    pub element: TypeId,
    /// The type of its arrays, or none.
    pub array: TypeId,
    /// Whether it is an array, as opposed to a fixed-length type with subscripts.
    pub is_array: bool,
    /// The function that reads its text (`typinput`), by name.
    pub input: Text,
    /// The function that writes its text (`typoutput`).
    pub output: Text,
    /// The function that reads its binary form, or `-`.
    pub receive: Text,
    /// The function that writes its binary form, or `-`.
    pub send: Text,
    /// The function that reads a modifier, or `-`.
    pub modifier_input: Text,
    /// The function that prints a modifier, or `-`.
    pub modifier_output: Text,
    /// How it is aligned in PostgreSQL's rows.
    pub alignment: char,
    /// How PostgreSQL stores it.
    pub storage: char,
    /// What a domain is over, or none.
    pub base: TypeId,
    /// The modifier that a domain gives its base.
    pub base_modifier: i32,
    /// Its collation, or none.
    pub collation: CollationId,
}

pub fn type_row(fields: &mut Fields) -> TypeRow {
    TypeRow {
        id: TypeId(fields.number()),
        name: fields.text(),
        schema: None,
        length: fields.number(),
        by_value: fields.flag(),
        kind: match fields.letter() {
            'b' => TypeKind::Base,
            'c' => TypeKind::Composite,
            'd' => TypeKind::Domain,
            'e' => TypeKind::Enum,
            'm' => TypeKind::Multirange,
            'p' => TypeKind::Pseudo,
            'r' => TypeKind::Range,
            other => panic!("no kind of type is {other}"),
        },
        category: fields.letter(),
        preferred: fields.flag(),
        delimiter: fields.letter(),
        relation: fields.number(),
        element: TypeId(fields.number()),
        array: TypeId(fields.number()),
        is_array: fields.flag(),
        input: fields.text(),
        output: fields.text(),
        receive: fields.text(),
        send: fields.text(),
        modifier_input: fields.text(),
        modifier_output: fields.text(),
        alignment: fields.letter(),
        storage: fields.letter(),
        base: TypeId(fields.number()),
        base_modifier: fields.number(),
        collation: CollationId(fields.number()),
    }
}

/// What a function is (`pg_proc.prokind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A function.
    Function,
    /// A procedure, which CALL calls.
    Procedure,
    /// An aggregate.
    Aggregate,
    /// A window function.
    Window,
}

/// How far a function's result depends on anything but its arguments (`pg_proc.provolatile`). A tree's volatility is the largest in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Not at all.
    Immutable,
    /// The same throughout a statement.
    Stable,
    /// It may differ with every call, or do something.
    Volatile,
}

/// What a parameter is for (`pg_proc.proargmodes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// It goes in.
    In,
    /// It comes out.
    Out,
    /// It goes in and comes out.
    InOut,
    /// It takes the rest of the arguments as an array.
    Variadic,
    /// It is a column of the result.
    Table,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name; empty if it has none.
    pub name: Text,
    /// What it is for.
    pub mode: ParameterMode,
    /// Its type.
    pub type_id: TypeId,
}

impl Parameter {
    /// Whether a caller gives it.
    pub fn is_input(&self) -> bool {
        matches!(self.mode, ParameterMode::In | ParameterMode::InOut | ParameterMode::Variadic)
    }
}

/// A function (`pg_proc`).
#[derive(Clone, Debug)]
pub struct Function {
    /// Its number.
    pub id: FunctionId,
    /// Its name.
    pub name: Text,
    /// What it is written in: `internal`, `sql`, ...
    pub language: Text,
    /// Estimated cost of a call.
    pub cost: f32,
    /// Estimated rows of a call.
    pub rows: f32,
    /// The type of each of the arguments that a last parameter takes; `any` if that takes them as they are; none otherwise.
    pub variadic: TypeId,
    /// What it is.
    pub kind: FunctionKind,
    /// Whether it tells nothing of its arguments but its result.
    pub leakproof: bool,
    /// Whether it is NULL as soon as an argument is.
    pub strict: bool,
    /// Whether it yields a set.
    pub returns_set: bool,
    /// What its result depends on.
    pub volatility: Volatility,
    /// Whether parallel workers may call it.
    pub parallel: char,
    /// How many parameters, the last ones, have defaults.
    pub defaults: usize,
    /// The type of its result.
    pub result: TypeId,
    /// The types of its input parameters.
    pub arguments: Vec<TypeId>,
    /// All parameters; empty if all go in and none has a name.
    pub parameters: Vec<Parameter>,
    /// The defaults as SQL, commas between them.
    pub default_text: Text,
    /// What it is called in its language: of an internal one, the name by which it is implemented (`prosrc`).
    pub source: Text,
    /// Its body if that is kept as SQL (`prosqlbody`).
    pub body: Option<Text>,
}

pub fn function(fields: &mut Fields) -> Function {
    let mut row = Function {
        id: FunctionId(fields.number()),
        name: fields.text(),
        language: fields.text(),
        cost: fields.number(),
        rows: fields.number(),
        variadic: TypeId(fields.number()),
        kind: match fields.letter() {
            'f' => FunctionKind::Function,
            'p' => FunctionKind::Procedure,
            'a' => FunctionKind::Aggregate,
            'w' => FunctionKind::Window,
            other => panic!("no kind of function is {other}"),
        },
        leakproof: fields.flag(),
        strict: fields.flag(),
        returns_set: fields.flag(),
        volatility: match fields.letter() {
            'i' => Volatility::Immutable,
            's' => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        parallel: fields.letter(),
        defaults: fields.number(),
        result: TypeId(fields.number()),
        arguments: numbers(&fields.words()),
        parameters: Vec::new(),
        default_text: Text::Borrowed(""),
        source: Text::Borrowed(""),
        body: None,
    };
    let all = numbers(&fields.words());
    let types = if all.is_empty() { &row.arguments } else { &all };
    let (modes, names) = (fields.words(), fields.words());
    if !modes.is_empty() || !names.is_empty() {
        row.parameters = types.iter().enumerate().map(|(index, id)| parameter(*id, index, &modes, &names)).collect();
    }
    row.default_text = fields.text();
    row.source = fields.text();
    row.body = fields.optional();
    row
}

fn parameter(type_id: TypeId, index: usize, modes: &[&'static str], names: &[&'static str]) -> Parameter {
    let mode = match modes.get(index) {
        None | Some(&"i") => ParameterMode::In,
        Some(&"o") => ParameterMode::Out,
        Some(&"b") => ParameterMode::InOut,
        Some(&"v") => ParameterMode::Variadic,
        Some(_) => ParameterMode::Table,
    };
    Parameter { name: Text::Borrowed(names.get(index).unwrap_or(&"")), mode, type_id }
}

fn numbers(words: &[&str]) -> Vec<TypeId> {
    words.iter().map(|word| TypeId(word.parse().unwrap_or_else(|_| panic!("{word} is no number")))).collect()
}

/// An operator (`pg_operator`).
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its number.
    pub id: OperatorId,
    /// Its name.
    pub name: Text,
    /// The type of its left side; none before a prefix operator.
    pub left: TypeId,
    /// The type of its right side.
    pub right: TypeId,
    /// The type of its result.
    pub result: TypeId,
    /// Whether a merge join may use it.
    pub merges: bool,
    /// Whether a hash join may use it.
    pub hashes: bool,
    /// The operator for exchanged sides, or zero.
    pub commutator: OperatorId,
    /// The operator for the opposite, or zero.
    pub negator: OperatorId,
    /// What computes it (`oprcode`).
    pub function: FunctionId,
    /// What estimates how many rows it leaves (`oprrest`), or `-`.
    pub restriction_estimator: Text,
    /// What estimates how many pairs it leaves (`oprjoin`), or `-`.
    pub join_estimator: Text,
}

pub fn operator(fields: &mut Fields) -> Operator {
    let (id, name) = (OperatorId(fields.number()), fields.text());
    let _kind = fields.letter(); // follows from the left side
    let (merges, hashes) = (fields.flag(), fields.flag());
    Operator {
        id,
        name,
        left: TypeId(fields.number()),
        right: TypeId(fields.number()),
        result: TypeId(fields.number()),
        merges,
        hashes,
        commutator: OperatorId(fields.number()),
        negator: OperatorId(fields.number()),
        function: FunctionId(fields.number()),
        restriction_estimator: fields.text(),
        join_estimator: fields.text(),
    }
}

/// Where a cast may be used; each may be where those after it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// Where a value is assigned to a column.
    Assignment,
    /// Where it is written down.
    Explicit,
}

/// How a cast is done (`pg_cast.castmethod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// By a function.
    Function(FunctionId),
    /// Not at all: the bytes are the same.
    Relabel,
    /// By output and input as text.
    ThroughText,
}

/// A cast (`pg_cast`).
#[derive(Clone, Debug)]
pub struct Cast {
    /// From which type.
    pub source: TypeId,
    /// To which type.
    pub target: TypeId,
    /// Where it may be used.
    pub context: CastContext,
    /// How it is done.
    pub method: CastMethod,
}

pub fn cast(fields: &mut Fields) -> Cast {
    let (source, target) = (TypeId(fields.number()), TypeId(fields.number()));
    let function = FunctionId(fields.number());
    Cast {
        source,
        target,
        context: match fields.letter() {
            'i' => CastContext::Implicit,
            'a' => CastContext::Assignment,
            _ => CastContext::Explicit,
        },
        method: match fields.letter() {
            'f' => CastMethod::Function(function),
            'b' => CastMethod::Relabel,
            _ => CastMethod::ThroughText,
        },
    }
}

/// What makes a function an aggregate (`pg_aggregate`).
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The function.
    pub function: FunctionId,
    /// `n` for a plain one, `o` for one of an ordered set, `h` for one of a hypothetical set.
    pub kind: char,
    /// How many arguments stand before WITHIN GROUP.
    pub direct_arguments: usize,
    /// What takes a row in.
    pub transition: FunctionId,
    /// What makes the result of the state, or zero.
    pub last: FunctionId,
    /// Whether that also takes the arguments, for their types.
    pub last_takes_arguments: bool,
    /// The operator by whose order the result is the first, or zero.
    pub sort_operator: OperatorId,
    /// The type of the state.
    pub state: TypeId,
    /// The first state as text; NULL without.
    pub initial: Option<Text>,
}

pub fn aggregate(fields: &mut Fields) -> Aggregate {
    Aggregate {
        function: FunctionId(fields.number()),
        kind: fields.letter(),
        direct_arguments: fields.number(),
        transition: FunctionId(fields.number()),
        last: FunctionId(fields.number()),
        last_takes_arguments: fields.flag(),
        sort_operator: OperatorId(fields.number()),
        state: TypeId(fields.number()),
        initial: fields.optional(),
    }
}

/// A type of ranges (`pg_range`).
#[derive(Clone, Debug)]
pub struct Range {
    /// The type.
    pub id: TypeId,
    /// The type of its bounds.
    pub element: TypeId,
    /// The type of sets of its values.
    pub multirange: TypeId,
    /// By what the bounds are ordered.
    pub collation: CollationId,
    /// The operator class that orders them.
    pub operator_class: u32,
    /// What brings a range to its usual form, or `-`.
    pub canonical: Text,
    /// What gives the distance between two bounds, or `-`.
    pub difference: Text,
}

pub fn range(fields: &mut Fields) -> Range {
    Range {
        id: TypeId(fields.number()),
        element: TypeId(fields.number()),
        multirange: TypeId(fields.number()),
        collation: CollationId(fields.number()),
        operator_class: fields.number(),
        canonical: fields.text(),
        difference: fields.text(),
    }
}

/// How an access method treats a type (`pg_opclass`).
#[derive(Clone, Debug)]
pub struct OperatorClass {
    /// Its number.
    pub id: u32,
    /// The access method, such as `btree`.
    pub method: Text,
    /// Its name.
    pub name: Text,
    /// The family that it belongs to.
    pub family: u32,
    /// The type.
    pub input: TypeId,
    /// Whether it is the type's own if none is named.
    pub default: bool,
    /// The type that is stored, or none if that is the same.
    pub key: TypeId,
}

pub fn operator_class(fields: &mut Fields) -> OperatorClass {
    OperatorClass {
        id: fields.number(),
        method: fields.text(),
        name: fields.text(),
        family: fields.number(),
        input: TypeId(fields.number()),
        default: fields.flag(),
        key: TypeId(fields.number()),
    }
}

/// Operator classes that agree across types (`pg_opfamily`).
#[derive(Clone, Debug)]
pub struct OperatorFamily {
    /// Its number.
    pub id: u32,
    /// The access method.
    pub method: Text,
    /// Its name.
    pub name: Text,
}

pub fn operator_family(fields: &mut Fields) -> OperatorFamily {
    OperatorFamily { id: fields.number(), method: fields.text(), name: fields.text() }
}

/// An operator of a family (`pg_amop`).
#[derive(Clone, Debug)]
pub struct FamilyOperator {
    /// The family.
    pub family: u32,
    /// The type of the left side.
    pub left: TypeId,
    /// The type of the right side.
    pub right: TypeId,
    /// What it means there: of `btree`, 1 to 5 for `<`, `<=`, `=`, `>=`, `>`.
    pub strategy: i16,
    /// `s` to search, `o` to order.
    pub purpose: char,
    /// The operator.
    pub operator: OperatorId,
    /// The family that orders the result, or zero.
    pub sort_family: u32,
}

pub fn family_operator(fields: &mut Fields) -> FamilyOperator {
    FamilyOperator {
        family: fields.number(),
        left: TypeId(fields.number()),
        right: TypeId(fields.number()),
        strategy: fields.number(),
        purpose: fields.letter(),
        operator: OperatorId(fields.number()),
        sort_family: fields.number(),
    }
}

/// A support function of a family (`pg_amproc`).
#[derive(Clone, Debug)]
pub struct FamilyFunction {
    /// The family.
    pub family: u32,
    /// The type of the left side.
    pub left: TypeId,
    /// The type of the right side.
    pub right: TypeId,
    /// What it does there: of `btree`, 1 compares.
    pub number: i16,
    /// The function.
    pub function: FunctionId,
}

pub fn family_function(fields: &mut Fields) -> FamilyFunction {
    FamilyFunction {
        family: fields.number(),
        left: TypeId(fields.number()),
        right: TypeId(fields.number()),
        number: fields.number(),
        function: FunctionId(fields.number()),
    }
}

/// What the grammar knows of a word (`pg_get_keywords`).
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// `U` if it may be any name, `C` if a column's, `T` if a type's or a function's, `R` if none.
    pub category: char,
    /// Whether it may be a column's label without AS.
    pub bare_label: bool,
}

pub fn keyword(fields: &mut Fields) -> (&'static str, Keyword) {
    (fields.raw(), Keyword { category: fields.letter(), bare_label: fields.flag() })
}
