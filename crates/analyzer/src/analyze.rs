//! From the syntax tree of a statement to its typed query tree: names, scopes, types (PostgreSQL's manual, chapters 4, 7 and 10).
//!
//! A statement is read in the order in which PostgreSQL reads it, for that order decides which of several errors is told. `levels` holds one `Level` for each query
//! that is open: what a name can mean at a place, from the innermost outwards. Reading order: `levels`, `columns`, `expressions` and what it calls, `from`, `select`,
//! `sets`, `with`, and the statements that change rows.

mod aggregates;
mod arrays;
mod assignment;
mod calls;
mod casts;
mod collations;
mod column_names;
mod columns;
mod conflicts;
mod expressions;
mod from;
mod functions_of_from;
mod grouped;
mod grouping;
mod insert;
mod joins;
mod levels;
mod locks;
mod merge;
mod missing;
mod operations;
mod recursion;
mod routines;
mod rows;
mod select;
mod sets;
mod sort_operators;
mod sorting;
mod subqueries;
mod targets;
mod type_modifiers;
mod type_names;
mod update;
mod values;
mod windows;
mod with;

use grammar::ast::{Arena, Statement};
pub use routines::{Routine, RoutineForm, analyze_routine};

use crate::catalog::Catalog;
use crate::error::{AnalysisError, FEATURE_NOT_SUPPORTED, QUERY_CANCELED, STACK_DEPTH_EXCEEDED};
use crate::limits::{DEPTH_MAX, STEPS_UNASKED};
use crate::parameters::Parameters;
use crate::reliance::{LookUp, Noting};
use crate::tree::{Command, Constant, Expr, ExprId, Form, Node, Query, QueryId, Target, Tree};
use crate::types::{CollationId, NO_MODIFIER, TypeId, Typed, UNKNOWN};
use levels::Level;

/// What analysis yields, or an error.
type Result<T> = std::result::Result<T, AnalysisError>;

/// A statement that has a meaning.
#[derive(Clone, Debug)]
pub struct Analyzed {
    /// All nodes.
    pub tree: Tree,
    /// The statement's own query.
    pub query: QueryId,
    /// Types of its parameters.
    pub parameters: Vec<TypeId>,
    /// What was looked up by name, with its version; zero for what was not there.
    pub relies_on: Vec<(LookUp, u64)>,
    /// How deep what it is made of stands within each other.
    pub depth: u32,
}

impl Analyzed {
    /// Gives everything that has a domain's type that which its values are held as. Each cast to a domain goes on naming it, and a parameter is one.
    ///
    /// # Errors
    /// 0A000 for arrays of a domain that are read from a text, which nobody looks at.
    pub fn forget_domains(&mut self, catalog: &dyn Catalog) -> Result<()> {
        for number in 0..self.tree.expressions.len() {
            let Expr { node, typed, at, first } = self.tree.expressions[number].clone();
            let is_read = matches!(node, Node::Parameter(_) | Node::Constant(Constant::Text(_)));
            let held = catalog.held(typed);
            if !is_read || held == typed {
                continue;
            }
            if catalog.base_type(typed.id) == typed.id {
                return not_built("a text as an array of a domain", at);
            }
            let value = self.tree.add(Expr { node, typed: held, at, first });
            let node = Node::Domain { value, domain: typed.id, form: Form::Implicit };
            self.tree.expressions[number].node = node;
        }
        self.tree.retype(&|typed| catalog.held(typed));
        Ok(())
    }

    /// The columns of its result: names and types.
    pub fn columns(&self) -> Vec<(&str, Typed)> {
        let query = &self.tree[self.query];
        let targets = if query.command == Command::Select { &query.targets } else { &query.returning };
        let shown = targets.iter().filter(|target| !target.junk);
        shown.map(|target| (target.name.as_str(), self.tree[target.value].typed)).collect()
    }
}

/// Whether a statement is one that this crate gives a meaning: SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE.
pub fn is_analyzed(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
    )
}

/// Gives a statement its meaning. Zero or unknown among `declared` leaves a parameter's type open.
///
/// # Errors
/// What PostgreSQL says where the statement has none. What is not built yet is 0A000.
pub fn analyze(
    catalog: &dyn Catalog,
    parsed: &grammar::Parsed,
    declared: &[TypeId],
) -> std::result::Result<Analyzed, AnalysisError> {
    let noting = Noting::new(catalog);
    let mut analyzer = Analyzer::new(&noting, &parsed.arena, Parameters::open(declared));
    let query = analyzer.statement(&parsed.statement, true)?;
    analyzer.check_parameters()?;
    let parameters = analyzer.parameters.settled()?.to_vec();
    let (tree, depth) = (analyzer.tree, analyzer.deepest);
    Ok(Analyzed { tree, query, parameters, relies_on: noting.into_notes(), depth })
}

/// An analysis under way.
struct Analyzer<'a> {
    catalog: &'a dyn Catalog,
    arena: &'a Arena,
    tree: Tree,
    parameters: Parameters,
    levels: Vec<Level<'a>>,
    depth: u32,
    /// The greatest depth so far.
    deepest: u32,
    steps: u32,
    /// Operators of the chains that are open.
    chains: usize,
    /// The function whose body it is.
    routine: Option<&'a Routine<'a>>,
}

/// 54001
fn too_deep() -> AnalysisError {
    let hint = "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth \
                limit is adequate.";
    AnalysisError::new(STACK_DEPTH_EXCEEDED, "stack depth limit exceeded").with_hint(hint)
}

fn error<T>(sqlstate: &'static str, message: impl Into<String>) -> Result<T> {
    Err(AnalysisError::new(sqlstate, message))
}

fn error_at<T>(sqlstate: &'static str, message: impl Into<String>, at: impl Into<Option<u32>>) -> Result<T> {
    Err(AnalysisError { at: at.into(), ..AnalysisError::new(sqlstate, message) })
}

/// 0A000 of ours, for what PostgreSQL has and this crate does not have yet.
fn not_built<T>(what: impl std::fmt::Display, at: impl Into<Option<u32>>) -> Result<T> {
    error_at(FEATURE_NOT_SUPPORTED, format!("{what} is not supported yet"), at)
}

impl<'a> Analyzer<'a> {
    fn new(catalog: &'a dyn Catalog, arena: &'a Arena, parameters: Parameters) -> Analyzer<'a> {
        Analyzer {
            catalog,
            arena,
            tree: Tree::default(),
            parameters,
            levels: Vec::new(),
            depth: 0,
            deepest: 0,
            steps: 0,
            chains: 0,
            routine: None,
        }
    }

    /// A statement, the outermost or one of WITH.
    fn statement(&mut self, statement: &'a Statement, resolve: bool) -> Result<QueryId> {
        match statement {
            Statement::Query(query) => self.subquery(*query, resolve),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            _ => not_built("this statement", None),
        }
    }

    /// Goes one level deeper, in what `inside` does.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(too_deep());
        }
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_UNASKED) && self.catalog.is_cancelled() {
            return Err(AnalysisError::new(QUERY_CANCELED, "canceling statement due to user request"));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// A node with its type, where it stands, and where it begins.
    fn add(&mut self, node: Node, typed: Typed, at: Option<u32>) -> ExprId {
        let mut first = None;
        let mut place = at;
        match &node {
            Node::Subscript { container: value, .. } | Node::Field { value, .. } | Node::Collate { value, .. } => {
                (first, place) = (self.tree.location(*value), None);
            }
            Node::RowComparison { left, .. } => first = left.first().and_then(|left| self.tree.location(*left)),
            Node::ArrayConversion { value, .. } => first = self.tree.location(*value),
            Node::Function { .. }
            | Node::Operator { .. }
            | Node::Distinct { .. }
            | Node::NullIf { .. }
            | Node::ArrayOperator { .. }
            | Node::And(_)
            | Node::Or(_)
            | Node::Not(_)
            | Node::NullTest { .. }
            | Node::BooleanTest { .. }
            | Node::Relabel { .. }
            | Node::ThroughText { .. }
            | Node::ParentRow { .. }
            | Node::Domain { .. }
            | Node::SubLink { .. } => {
                first = node.parts().into_iter().filter_map(|part| self.tree.location(part)).min();
            }
            _ => {}
        }
        self.tree.add(Expr { node, typed, at: place, first })
    }

    /// A node of a type without a modifier.
    fn plain(&mut self, node: Node, id: TypeId, at: Option<u32>) -> ExprId {
        let typed = self.typed(id, NO_MODIFIER);
        self.add(node, typed, at)
    }

    /// A type with its own collation.
    fn typed(&self, id: TypeId, modifier: i32) -> Typed {
        let collation = self.catalog.type_row(id).map_or(CollationId(0), |row| row.collation);
        Typed { id, modifier, collation }
    }

    fn type_of(&self, of: ExprId) -> TypeId {
        self.tree[of].typed.id
    }

    fn location(&self, of: ExprId) -> Option<u32> {
        self.tree.location(of)
    }

    /// The innermost open query.
    fn level(&mut self) -> &mut Level<'a> {
        self.levels.last_mut().expect("a query is open")
    }

    /// What an open query has become, taken from its level.
    fn close(&mut self) -> Query {
        let level = self.levels.pop().expect("a query is open");
        Query {
            with: level.with,
            range_table: level.entries,
            has_aggregates: level.has_aggregates,
            has_windows: level.has_windows,
            has_target_sets: level.has_target_sets,
            multiple: level.multiple,
            ..Query::default()
        }
    }

    /// Text is what remains of unknown type at the end of a query.
    fn resolve_unknowns(&mut self, targets: &mut [Target]) -> Result<()> {
        for target in targets {
            if self.type_of(target.value) == UNKNOWN {
                target.value = self.as_text(target.value)?;
            }
        }
        Ok(())
    }

    /// All uses of a parameter must have its type at last.
    fn check_parameters(&mut self) -> Result<()> {
        for index in 0..self.tree.expressions.len() {
            let Expr { node: Node::Parameter(number), typed, at, .. } = &self.tree.expressions[index] else { continue };
            if typed.id != UNKNOWN {
                continue;
            }
            // The use itself was replaced where something wanted a type of it.
            if self.parameters.use_of(*number)? == UNKNOWN {
                let message = format!("could not determine data type of parameter ${number}");
                return error_at(crate::error::INDETERMINATE_DATATYPE, message, *at);
            }
        }
        Ok(())
    }
}
