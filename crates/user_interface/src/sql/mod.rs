//! SQL: text to statements, statements to action programs or to requests for the query processor.
//!
//! Invariant: compiling is a pure function of the text, the parameter types, the catalog and the session's facts; what a
//! compiled statement relied on is written in it. In reading order:
//!
//! * [`parse`], [`utility`], [`maintenance`], [`copy_syntax`], [`cursor_syntax`], `conflict_syntax`, `locking_syntax`, [`lock_table_syntax`]: text to syntax; [`words`], [`places`]: its tokens, and where they stand;
//! * [`names`], [`lookup`], `qualify`: identifiers, and what they mean; [`types`], [`operators`]: implicit casts, operators' types;
//! * [`literals`], `local_times`, [`expressions`], [`arrays`], [`functions`]: typed expressions; [`access`], `implication`: conditions to keys and ranges;
//! * [`select`], `gathering`, [`lock_table`], [`insert`], `conflict_targets`, [`modify`]: statements to programs; [`given`], [`feed`], [`prepared`], [`compile`]: which way a statement goes;
//! * [`needs`], [`rights`], [`denials`]: what a statement needs, and whether the role has it;
//! * [`definitions`], [`ddl`], `row_expressions`, `operator_classes`, `indexes`, [`alter`], [`queried_table`], [`queried_columns`], `views`, [`schema_syntax`], [`schemas`], `comment_syntax`, `comments`: schema changes; [`role_syntax`], [`grants`], [`owner_syntax`], [`roles`], [`members`], [`granting`], [`default_privileges`], [`owned`]: those of roles and privileges; [`procedures`]: those and their calls; [`settings`]: the session's parameters.
//! * [`sequences`], `sequence_names`, `checks`, `foreign_keys`: what tables draw from and refer to; [`type_syntax`], [`type_names`], [`user_types`], `type_drops`: types of users; `temporary_syntax`, [`temporary`]: what goes with its session; [`system`]: the parameters of all sites.

pub mod access;
pub mod advisory_calls;
pub mod alter;
pub mod arrays;
mod checks;
mod comment_syntax;
mod comments;
pub mod compile;
mod conflict_syntax;
mod conflict_targets;
pub mod copy_syntax;
pub mod cursor_syntax;
pub mod ddl;
pub mod default_privileges;
pub mod definitions;
pub mod denials;
pub mod expressions;
pub mod feed;
mod foreign_keys;
pub mod functions;
mod gathering;
pub mod given;
pub mod granting;
pub mod grants;
mod implication;
mod indexes;
pub mod insert;
pub mod literals;
mod local_times;
pub mod lock_table;
pub mod lock_table_syntax;
mod locking_syntax;
pub mod lookup;
pub mod maintenance;
pub mod members;
pub mod modify;
pub mod names;
pub mod needs;
mod operator_classes;
pub mod operators;
pub mod owned;
pub mod owner_syntax;
pub mod parse;
pub mod places;
pub mod prepared;
pub mod procedures;
mod qualify;
pub mod queried_columns;
pub mod queried_table;
pub mod rights;
pub mod role_syntax;
pub mod roles;
mod row_expressions;
pub mod schema_syntax;
pub mod schemas;
pub mod scope;
pub mod select;
pub mod sequence_calls;
mod sequence_names;
pub mod sequence_options;
pub mod sequences;
pub mod session_calls;
mod session_plans;
pub mod settings;
pub mod system;
pub mod temporary;
mod temporary_syntax;
mod type_drops;
pub mod type_names;
pub mod type_syntax;
pub mod types;
pub mod user_types;
pub mod utility;
mod views;
pub mod words;
