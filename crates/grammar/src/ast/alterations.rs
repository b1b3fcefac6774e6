//! Statements that change, rename, describe or drop objects.

use super::{
    At, ColumnDefinition, Constraint, ConstraintAttributes, DefinitionOption, ExpressionId, Name, PartitionBound,
    QualifiedName, RelationName, Role, RoutineParameter, SequenceOption, TypeName,
};

/// ALTER TABLE, and ALTER INDEX, VIEW, SEQUENCE with its actions.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// TABLE, INDEX, VIEW and the like, in capitals.
    pub kind: &'static str,
    /// Which.
    pub name: RelationName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is done.
    pub actions: Vec<AlterAction>,
}

/// What ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few of them")]
pub enum AlterAction {
    /// ADD COLUMN.
    AddColumn {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The column.
        column: ColumnDefinition,
    },
    /// DROP COLUMN.
    DropColumn {
        /// IF EXISTS.
        if_exists: bool,
        /// Which.
        name: Name,
        /// CASCADE.
        cascade: bool,
    },
    /// SET DEFAULT, or DROP DEFAULT as none.
    SetDefault(Name, Option<ExpressionId>),
    /// SET NOT NULL, or DROP NOT NULL.
    SetNotNull(Name, bool),
    /// TYPE.
    SetType {
        /// Of which column.
        name: Name,
        /// The new type.
        of: TypeName,
        /// COLLATE.
        collation: Option<QualifiedName>,
        /// USING.
        using: Option<ExpressionId>,
    },
    /// ADD GENERATED AS IDENTITY.
    AddIdentity {
        /// To which column.
        name: Name,
        /// ALWAYS, else BY DEFAULT.
        always: bool,
        /// Options of its sequence.
        options: Vec<SequenceOption>,
    },
    /// SET GENERATED, RESTART and the like.
    SetIdentity(Name, Vec<SequenceOption>),
    /// DROP IDENTITY; IF EXISTS.
    DropIdentity(Name, bool),
    /// DROP EXPRESSION; IF EXISTS.
    DropExpression(Name, bool),
    /// ADD CONSTRAINT.
    AddConstraint(Constraint),
    /// DROP CONSTRAINT.
    DropConstraint {
        /// IF EXISTS.
        if_exists: bool,
        /// Which.
        name: Name,
        /// CASCADE.
        cascade: bool,
    },
    /// ALTER CONSTRAINT.
    AlterConstraint(Name, ConstraintAttributes),
    /// VALIDATE CONSTRAINT.
    ValidateConstraint(Name),
    /// OWNER TO.
    SetOwner(Role),
    /// SET (..), or RESET (..).
    SetOptions(Vec<DefinitionOption>, bool),
    /// ATTACH PARTITION; an index's has no bound.
    AttachPartition(RelationName, Option<PartitionBound>),
    /// DETACH PARTITION.
    DetachPartition(RelationName),
    /// SET TABLESPACE.
    SetTablespace(Name),
    /// SET LOGGED, or UNLOGGED.
    SetLogged(bool),
    /// INHERIT, or NO INHERIT.
    Inherit(RelationName, bool),
    /// One that has no tree: its words in capitals, and where it begins.
    Other(String, At),
}

/// RENAME TO.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// What kind of object, in capitals; COLUMN and CONSTRAINT are parts of `object`.
    pub kind: String,
    /// Which.
    pub object: ObjectName,
    /// The part of it that is renamed: a column or a constraint.
    pub part: Option<(RenamedPart, Name)>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Its new name.
    pub to: Name,
}

/// What of an object is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum RenamedPart {
    Column,
    Constraint,
}

/// SET SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSchema {
    /// What kind of object, in capitals.
    pub kind: String,
    /// Which.
    pub object: ObjectName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Where it goes.
    pub schema: Name,
}

/// OWNER TO, of what is not ALTER TABLE's.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOwner {
    /// What kind of object, in capitals.
    pub kind: String,
    /// Which.
    pub object: ObjectName,
    /// Whose it becomes.
    pub owner: Role,
}

/// Which object a statement is about.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectName {
    /// By its name.
    Name(QualifiedName),
    /// A table or the like.
    Relation(RelationName),
    /// A type.
    Type(TypeName),
    /// A routine.
    Routine(Signature),
    /// On a table or a type: `name ON table`.
    On(Name, QualifiedName),
    /// One whose name has no tree; where it stands.
    Other(At),
}

/// A routine and its parameters' types.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Its name.
    pub name: QualifiedName,
    /// Its parameters, if they are said.
    pub parameters: Option<Vec<RoutineParameter>>,
}

/// DROP.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What kind of object, in capitals.
    pub kind: String,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// Which.
    pub objects: Vec<ObjectName>,
    /// CASCADE.
    pub cascade: bool,
}

/// DROP FUNCTION, PROCEDURE, ROUTINE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRoutine {
    /// FUNCTION, PROCEDURE or ROUTINE.
    pub kind: String,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Which.
    pub routines: Vec<Signature>,
    /// CASCADE.
    pub cascade: bool,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// Which tables.
    pub tables: Vec<RelationName>,
    /// RESTART IDENTITY.
    pub restart: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// COMMENT ON.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// What kind of object, in capitals.
    pub kind: String,
    /// Which.
    pub object: ObjectName,
    /// What is said; NULL takes it away.
    pub text: Option<String>,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshView {
    /// Which.
    pub name: RelationName,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// Without WITH NO DATA.
    pub with_data: bool,
}
