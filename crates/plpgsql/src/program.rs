//! What a body becomes: operations, one after the other, that jump, and the variables that they change.
//!
//! Invariant: each number in an operation is that of an operation, variable, loop or guard of the same program.

use crate::sql_text::RoutineText;
use sqlstate::conditions;
use std::sync::Arc;
use values::Type;

/// A body, read.
#[derive(Clone, Debug, Default)]
pub struct RoutineProgram {
    /// In their order; behind the last one the routine is over.
    pub operations: Vec<RoutineOperation>,
    /// All variables, parameters first.
    pub variables: Vec<RoutineVariable>,
    /// How many loops it has.
    pub loops: usize,
    /// Handlers of blocks with EXCEPTION.
    pub guards: Vec<Vec<HandlerArm>>,
    /// What it gives back.
    pub returns: Returns,
}

/// What a routine gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// Nothing but its INOUT and OUT parameters: DO, or a procedure.
    #[default]
    Nothing,
    /// Nothing: a function that returns `void`.
    Void,
    /// A value of this type.
    Value(Type),
    /// Its INOUT and OUT parameters: a function.
    Outputs,
    /// A row of the table whose trigger it is, or NULL.
    Row,
    /// Rows.
    Set {
        /// Types of their columns.
        columns: Vec<Type>,
        /// Whether the columns are variables.
        has_outputs: bool,
    },
}

/// An operation.
#[derive(Clone, Debug)]
pub struct RoutineOperation {
    /// The line of its statement.
    pub line: u32,
    /// What messages call its statement; nothing: it belongs to none.
    pub statement: &'static str,
    /// What it does.
    pub instruction: Instruction,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct RoutineVariable {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub declared: DeclaredType,
    /// It cannot be assigned to.
    pub is_constant: bool,
    /// It is never NULL.
    pub is_not_null: bool,
}

/// The type of a variable, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredType {
    /// That.
    Known(Type),
    /// A type, or what a row of a table is, as it is written.
    Named(String),
    /// `t.a%TYPE`.
    OfColumn(Vec<String>),
    /// `t%ROWTYPE`.
    OfTable(Vec<String>),
    /// That of another variable.
    OfVariable(usize),
    /// Any row.
    Record,
    /// Whatever value it gets: what CASE compares with.
    Any,
}

/// WHEN .. THEN of EXCEPTION.
#[derive(Clone, Debug)]
pub struct HandlerArm {
    /// What it is for.
    pub conditions: Vec<HandledCondition>,
    /// Its first operation.
    pub at: usize,
    /// The variables SQLSTATE and SQLERRM of it.
    pub variables: (usize, usize),
}

/// What a handler is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandledCondition {
    /// All but two.
    Others,
    /// That code, or its class.
    Code(Arc<str>),
}

impl HandledCondition {
    /// Whether it covers an error.
    pub fn covers(&self, code: &str) -> bool {
        match self {
            HandledCondition::Others => code != sqlstate::QUERY_CANCELED && code != sqlstate::ASSERT_FAILURE,
            HandledCondition::Code(known) => conditions::covers(known, code),
        }
    }
}

/// What is assigned to.
#[derive(Clone, Debug)]
pub enum AssignmentTarget {
    /// A variable.
    Variable(usize),
    /// A field of a record.
    Field(usize, String),
    /// An element of an array; its subscript is the operation's first expression.
    Element(usize),
    /// Several, which get a row.
    Several(Vec<AssignmentTarget>),
}

/// INTO.
#[derive(Clone, Debug)]
pub struct IntoTarget {
    /// What gets the row.
    pub target: AssignmentTarget,
    /// STRICT: there is exactly one.
    pub is_strict: bool,
}

/// How loud RAISE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum NoticeLevel {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

/// What USING of RAISE gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum RaiseOption {
    Code,
    Message,
    Detail,
    Hint,
    Column,
    Constraint,
    DataType,
    Table,
    Schema,
}

/// RAISE.
#[derive(Clone, Debug)]
pub struct Raise {
    /// How loud.
    pub level: NoticeLevel,
    /// The condition by its name or code.
    pub condition: Option<String>,
    /// The format.
    pub format: Option<String>,
    /// How many of the operands are for the format; the others are those of `options`.
    pub arguments: usize,
    /// USING.
    pub options: Vec<RaiseOption>,
}

/// What GET DIAGNOSTICS gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum DiagnosticsItem {
    RowCount,
    Context,
    ErrorContext,
    ErrorDetail,
    ErrorHint,
    ReturnedCode,
    ColumnName,
    ConstraintName,
    DataTypeName,
    MessageText,
    TableName,
    SchemaName,
}

/// What an operation does, its expressions being computed first.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// Goes there.
    Jump(usize),
    /// Goes there unless the expression is true.
    Unless(Box<RoutineText>, usize),
    /// Gives a variable of a block its first value.
    Declare(usize, Option<Box<RoutineText>>),
    /// Assigns.
    Assign(AssignmentTarget, Vec<RoutineText>),
    /// Runs a statement.
    Execute(Box<RoutineText>, Option<IntoTarget>),
    /// Runs a query whose rows nobody gets.
    Perform(Box<RoutineText>),
    /// EXECUTE: the text and USING.
    ExecuteText(Vec<RoutineText>, Option<IntoTarget>),
    /// Begins a loop over whole numbers: bounds and, if it is written, the step.
    BeginCount {
        /// The loop.
        number: usize,
        /// Bounds and step.
        bounds: Vec<RoutineText>,
        /// Downwards.
        reverse: bool,
    },
    /// The next number, or on to behind the loop.
    NextCount(usize, usize, usize),
    /// Begins a loop over rows of a query.
    BeginRows(usize, Box<RoutineText>),
    /// Begins a loop over rows of EXECUTE: the text and USING.
    BeginTextRows(usize, Vec<RoutineText>),
    /// The next row, or on to behind the loop.
    NextRow(usize, AssignmentTarget, usize),
    /// Begins a loop over the elements of an array; whether they go into an array.
    BeginElements(usize, Box<RoutineText>),
    /// The next element, or on to behind the loop.
    NextElement(usize, AssignmentTarget, usize),
    /// A loop is over, by EXIT as well: FOUND tells whether it ran.
    EndLoop(usize),
    /// A block with EXCEPTION begins.
    Guard(usize),
    /// It ends without an error.
    Unguard,
    /// A handler is over.
    Handled,
    /// RAISE.
    Raise(Box<Raise>, Vec<RoutineText>),
    /// RAISE alone: the error that is handled goes on.
    RaiseAgain,
    /// GET DIAGNOSTICS; true: STACKED.
    Diagnostics(bool, Vec<(AssignmentTarget, DiagnosticsItem)>),
    /// ASSERT has found its condition false; its message.
    AssertFails(Option<Box<RoutineText>>),
    /// CASE has found nothing.
    CaseNotFound,
    /// RETURN, its value being kept.
    Return,
    /// Keeps the value of RETURN.
    SetResult(Box<RoutineText>),
    /// RETURN NEXT: of a value, or of the INOUT and OUT parameters.
    ReturnNext(Option<Box<RoutineText>>),
    /// RETURN QUERY.
    ReturnQuery(Box<RoutineText>),
    /// RETURN QUERY EXECUTE: the text and USING.
    ReturnTextQuery(Vec<RoutineText>),
    /// The end of a function that has to give a value back.
    NothingReturned,
}

impl Instruction {
    /// The expressions that are computed before it does anything.
    pub fn operands(&self) -> &[RoutineText] {
        match self {
            Instruction::Unless(condition, _) => std::slice::from_ref(condition),
            Instruction::Declare(_, Some(value)) => std::slice::from_ref(value),
            Instruction::AssertFails(Some(message)) => std::slice::from_ref(message),
            Instruction::SetResult(value) | Instruction::ReturnNext(Some(value)) => std::slice::from_ref(value),
            Instruction::BeginElements(_, array) => std::slice::from_ref(array),
            Instruction::Assign(_, all)
            | Instruction::ExecuteText(all, _)
            | Instruction::BeginCount { bounds: all, .. }
            | Instruction::BeginTextRows(_, all)
            | Instruction::ReturnTextQuery(all)
            | Instruction::Raise(_, all) => all,
            _ => &[],
        }
    }

    /// The target of a jump, to be set once it is known.
    pub(crate) fn target(&mut self) -> Option<&mut usize> {
        match self {
            Instruction::Jump(to)
            | Instruction::Unless(_, to)
            | Instruction::NextCount(_, _, to)
            | Instruction::NextRow(_, _, to)
            | Instruction::NextElement(_, _, to) => Some(to),
            _ => None,
        }
    }
}
