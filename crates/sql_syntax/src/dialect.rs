//! PostgreSQL's dialect, with a bound on what the parser tries.
//!
//! The parser finds out what some parentheses hold by trying: what is within several of them may be read many times over. The dialect is asked before each
//! operand, so that it counts, and ends the parsing when there were too many.

use crate::limits::{NESTED_STATEMENTS_MAX, TRIES_MIN, TRIES_PER_TOKEN_MAX};
use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use std::any::TypeId;
use std::cell::Cell;

/// See the module's description. What it does not say itself is as PostgreSQL's dialect says it.
#[derive(Debug)]
pub(crate) struct Bounded {
    base: PostgreSqlDialect,
    tries_left: Cell<u64>,
    statements_left: Cell<usize>,
}

impl Bounded {
    /// For so many tokens.
    pub(crate) fn new(base: PostgreSqlDialect, tokens: usize) -> Bounded {
        let tries_left = Cell::new(TRIES_MIN + TRIES_PER_TOKEN_MAX * tokens as u64);
        Bounded { base, tries_left, statements_left: Cell::new(NESTED_STATEMENTS_MAX) }
    }
}

impl Dialect for Bounded {
    /// The parser knows PostgreSQL's dialect by its type, too.
    fn dialect(&self) -> TypeId {
        self.base.dialect()
    }

    fn parse_prefix(&self, _: &mut Parser) -> Option<Result<Expr, ParserError>> {
        match self.tries_left.get().checked_sub(1) {
            Some(left) => {
                self.tries_left.set(left);
                None
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    /// A statement within another is EXPLAIN's; the parser takes a lot of stack for each.
    fn parse_statement(&self, _: &mut Parser) -> Option<Result<Statement, ParserError>> {
        match self.statements_left.get().checked_sub(1) {
            Some(left) => {
                self.statements_left.set(left);
                None
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    /// Each argument would be read twice, and what is nested in it as often again.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.base.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.base.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.base.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.base.is_identifier_part(ch)
    }

    fn supports_unicode_string_literal(&self) -> bool {
        self.base.supports_unicode_string_literal()
    }

    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        self.base.is_reserved_for_identifier(kw)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        self.base.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        self.base.get_next_precedence(parser)
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        self.base.supports_filter_during_aggregation()
    }

    fn supports_group_by_expr(&self) -> bool {
        self.base.supports_group_by_expr()
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        self.base.prec_value(prec)
    }

    fn allow_extract_custom(&self) -> bool {
        self.base.allow_extract_custom()
    }

    fn allow_extract_single_quotes(&self) -> bool {
        self.base.allow_extract_single_quotes()
    }

    fn supports_create_index_with_clause(&self) -> bool {
        self.base.supports_create_index_with_clause()
    }

    fn supports_explain_with_utility_options(&self) -> bool {
        self.base.supports_explain_with_utility_options()
    }

    fn supports_listen_notify(&self) -> bool {
        self.base.supports_listen_notify()
    }

    fn supports_factorial_operator(&self) -> bool {
        self.base.supports_factorial_operator()
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        self.base.supports_bitwise_shift_operators()
    }

    fn supports_comment_on(&self) -> bool {
        self.base.supports_comment_on()
    }

    fn supports_load_extension(&self) -> bool {
        self.base.supports_load_extension()
    }

    fn supports_named_fn_args_with_colon_operator(&self) -> bool {
        self.base.supports_named_fn_args_with_colon_operator()
    }

    fn supports_empty_projections(&self) -> bool {
        self.base.supports_empty_projections()
    }

    fn supports_nested_comments(&self) -> bool {
        self.base.supports_nested_comments()
    }

    fn supports_string_escape_constant(&self) -> bool {
        self.base.supports_string_escape_constant()
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        self.base.supports_numeric_literal_underscores()
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        self.base.supports_array_typedef_with_brackets()
    }

    fn supports_geometric_types(&self) -> bool {
        self.base.supports_geometric_types()
    }

    fn supports_set_names(&self) -> bool {
        self.base.supports_set_names()
    }

    fn supports_alter_column_type_using(&self) -> bool {
        self.base.supports_alter_column_type_using()
    }

    fn supports_notnull_operator(&self) -> bool {
        self.base.supports_notnull_operator()
    }

    fn supports_interval_options(&self) -> bool {
        self.base.supports_interval_options()
    }

    fn supports_insert_table_alias(&self) -> bool {
        self.base.supports_insert_table_alias()
    }

    fn supports_create_table_like_parenthesized(&self) -> bool {
        self.base.supports_create_table_like_parenthesized()
    }

    fn supports_select_wildcard_with_alias(&self) -> bool {
        self.base.supports_select_wildcard_with_alias()
    }

    fn supports_comma_separated_trim(&self) -> bool {
        self.base.supports_comma_separated_trim()
    }

    fn supports_xml_expressions(&self) -> bool {
        self.base.supports_xml_expressions()
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        self.base.supports_comment_optimizer_hint()
    }
}
