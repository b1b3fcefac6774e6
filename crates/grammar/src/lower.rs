//! The concrete tree to the syntax tree: what each rule of the grammar means.
//!
//! Rules become complete parts first. So does the lowering: one loop over the complete rules makes a node of the arena of each expression, query, item of
//! FROM, element of GROUP BY and statement, and finds those within it already made. What cannot contain itself (names, types, clauses) is read by plain
//! functions when its owner is made. Nothing here recurses as deep as a text is nested.
//!
//! A function matches the right side of a rule as it stands in `postgresql15.y`, and names its parts beside it.

mod alterations;
mod calls;
mod changes;
mod checks;
mod clauses;
mod constants;
mod constraints;
mod definitions;
mod expressions;
mod names;
mod queries;
mod routines;
mod settings;
mod statements;
mod tables;
mod types;
mod utility;

use crate::ast::{Arena, At, ExpressionId, FromId, GroupingId, QueryId, Statement, StatementId};
use crate::error::{FEATURE_NOT_SUPPORTED, STACK_DEPTH_EXCEEDED, SYNTAX_ERROR, SyntaxError};
use crate::limits::DEPTH_MAX;
use crate::parse::{Node, Tree};
use crate::scan::Token;
use crate::tables::{NAMES, symbols as g};

/// What lowering yields, or an error that PostgreSQL's grammar has beside its rules.
type Lowered<T> = Result<T, SyntaxError>;

/// A statement with its own arena, and where it stands in the text.
pub struct Found {
    pub statement: Statement,
    pub arena: Arena,
    pub at: At,
    pub end: At,
}

/// Gives all complete statements of a tree.
pub fn lower(tree: &Tree<'_>) -> Lowered<Vec<Found>> {
    let count = tree.nodes().count();
    let mut lower = Lower { tree, arena: Arena::default(), made: vec![0; count], depths: vec![0; count], deepest: 0 };
    let mut found = Vec::new();
    for node in tree.nodes() {
        lower.deepest = 0;
        lower.check(node)?;
        let Some(number) = lower.node(node)? else {
            if tree.symbol(node) == g::toplevel_stmt {
                lower.toplevel(node, &mut found)?;
            }
            continue;
        };
        if lower.deepest > DEPTH_MAX {
            return Err(SyntaxError {
                hint: Some(
                    "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.",
                ),
                at: None,
                ..SyntaxError::new(STACK_DEPTH_EXCEEDED, "stack depth limit exceeded", 0)
            });
        }
        lower.made[node.number()] = number;
        lower.depths[node.number()] = lower.deepest;
    }
    Ok(found)
}

struct Lower<'t, 'a> {
    tree: &'t Tree<'a>,
    arena: Arena,
    /// For each complete rule that has a node in the arena, its number there.
    made: Vec<u32>,
    /// How deep that node is.
    depths: Vec<u32>,
    /// How deep the rule under way is, as far as its parts were asked for.
    deepest: u32,
}

impl<'t> Lower<'t, '_> {
    /// Makes the node of a complete rule, if it has one.
    fn node(&mut self, node: Node) -> Lowered<Option<u32>> {
        let symbol = self.tree.symbol(node);
        // A rule of one part that is of the same kind means the same.
        if let [only] = self.tree.children(node)
            && kind(symbol).is_some()
            && kind(symbol) == kind(self.tree.symbol(*only))
        {
            self.deepest = self.depths[only.number()];
            return Ok(Some(self.made[only.number()]));
        }
        let number = match kind(symbol) {
            Some(Kind::Expression) => self.expression(node)?.0,
            Some(Kind::Query) => self.query_node(node)?.0,
            Some(Kind::From) => self.item_node(node)?.0,
            Some(Kind::Grouping) => self.grouping(node)?.0,
            Some(Kind::Statement) => self.statement_node(node)?.0,
            None => return Ok(None),
        };
        self.deepest += 1;
        Ok(Some(number))
    }

    /// A whole statement: it takes the arena with it.
    fn toplevel(&mut self, node: Node, found: &mut Vec<Found>) -> Lowered<()> {
        let (at, end) = (self.at(node), self.tree.next_token(node).at);
        let only = self.tree.children(node)[0];
        let statement = match self.tree.symbol(only) {
            g::stmt => {
                let number = self.statement(only);
                // Only its owner names a statement of the arena; the outermost has none.
                std::mem::replace(&mut self.arena[number], Statement::Empty)
            }
            _ => self.transaction(only)?,
        };
        let mut arena = std::mem::take(&mut self.arena);
        if arena.statements.last() == Some(&Statement::Empty) {
            arena.statements.pop();
        }
        if statement != Statement::Empty {
            found.push(Found { statement, arena, at, end });
        }
        Ok(())
    }

    fn parts(&self, node: Node) -> (&'static [u16], &'t [Node]) {
        let tree = self.tree;
        (tree.shape(node), tree.children(node))
    }

    fn children(&self, node: Node) -> &'t [Node] {
        let tree = self.tree;
        tree.children(node)
    }

    fn shape(&self, node: Node) -> &'static [u16] {
        self.tree.shape(node)
    }

    fn at(&self, node: Node) -> At {
        self.tree.first_token(node).at
    }

    fn is_empty(&self, node: Node) -> bool {
        self.tree.token(node).is_none() && self.shape(node).is_empty()
    }

    /// Whether one of the rule's own parts is this token.
    fn has(&self, node: Node, token: u16) -> bool {
        self.shape(node).contains(&token)
    }

    /// The rule's part of this kind.
    fn part(&self, node: Node, symbol: u16) -> Option<Node> {
        let found = self.shape(node).iter().position(|part| *part == symbol)?;
        Some(self.children(node)[found])
    }

    /// The rule's part of this kind, unless there is none or it is empty.
    fn filled(&self, node: Node, symbol: u16) -> Option<Node> {
        self.part(node, symbol).filter(|part| !self.is_empty(*part))
    }

    /// A list's own nodes, from the first element's to the last one's: each but the first begins with the one before.
    fn chain(&self, list: Node) -> Vec<Node> {
        let symbol = self.tree.symbol(list);
        let mut chain = vec![list];
        let mut node = list;
        while self.shape(node).first() == Some(&symbol) {
            node = self.children(node)[0];
            chain.push(node);
        }
        chain.reverse();
        chain
    }

    /// A list's elements: of each of its rules the last part.
    fn list(&self, list: Node) -> Vec<Node> {
        self.chain(list).into_iter().filter_map(|node| self.children(node).last().copied()).collect()
    }

    fn expr(&mut self, node: Node) -> ExpressionId {
        ExpressionId(self.made_of(node))
    }

    fn query(&mut self, node: Node) -> QueryId {
        QueryId(self.made_of(node))
    }

    fn item(&mut self, node: Node) -> FromId {
        FromId(self.made_of(node))
    }

    fn grouping_of(&mut self, node: Node) -> GroupingId {
        GroupingId(self.made_of(node))
    }

    fn statement(&mut self, node: Node) -> StatementId {
        StatementId(self.made_of(node))
    }

    fn made_of(&mut self, node: Node) -> u32 {
        self.deepest = self.deepest.max(self.depths[node.number()]);
        self.made[node.number()]
    }

    /// The expressions of an `expr_list` and the like.
    fn exprs(&mut self, list: Node) -> Vec<ExpressionId> {
        self.list(list).into_iter().map(|node| self.expr(node)).collect()
    }

    /// `message at or near` the last token that had been looked at when a node was complete: mostly the one behind it.
    fn error_behind(&self, node: Node, message: &str) -> SyntaxError {
        self.near(message, self.tree.read_token(node))
    }

    fn near(&self, message: &str, token: &Token) -> SyntaxError {
        SyntaxError::near(message, self.tree.text, token.at as usize, token.end as usize)
    }

    /// An error with a place of its own.
    fn error(&self, node: Node, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(SYNTAX_ERROR, message, self.at(node))
    }

    /// What PostgreSQL's grammar knows and refuses.
    fn not_supported(&self, node: Node, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(FEATURE_NOT_SUPPORTED, message, self.at(node))
    }

    /// A rule that no function here takes: a fault of this crate, which tests over all rules look for.
    fn unexpected(&self, node: Node) -> SyntaxError {
        let left = NAMES[self.tree.symbol(node) as usize];
        let right: Vec<&str> = self.shape(node).iter().map(|symbol| NAMES[*symbol as usize]).collect();
        SyntaxError::new(
            sqlstate::INTERNAL_ERROR,
            format!("the rule {left}: {} has no meaning yet", right.join(" ")),
            self.at(node),
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Expression,
    Query,
    From,
    Grouping,
    Statement,
}

/// Which list of the arena a rule's node is in.
fn kind(symbol: u16) -> Option<Kind> {
    Some(match symbol {
        g::a_expr
        | g::b_expr
        | g::c_expr
        | g::columnref
        | g::AexprConst
        | g::array_expr
        | g::case_expr
        | g::func_application
        | g::func_expr
        | g::func_expr_windowless
        | g::func_expr_common_subexpr => Kind::Expression,
        g::SelectStmt | g::select_no_parens | g::select_with_parens | g::select_clause | g::simple_select => {
            Kind::Query
        }
        g::table_ref | g::joined_table => Kind::From,
        g::group_by_item => Kind::Grouping,
        g::stmt | g::PreparableStmt | g::ExplainableStmt => Kind::Statement,
        _ => return None,
    })
}
