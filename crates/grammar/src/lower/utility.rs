//! Transactions, cursors, COPY, EXPLAIN and the other statements that neither change rows nor the schema.

use super::{Lower, Lowered};
use crate::ast::{
    Call, Cluster, Copy, CopyWhat, CreateTableAs, DeclareCursor, DefinitionOption, Discard, Execute, Explain, Fetch,
    FetchDirection, IsolationLevel, Lock, Notify, OptionValue, Prepare, Reindex, SetConstraints, Statement,
    TableSource, Transaction, TransactionMode, Vacuum,
};
use crate::error::SyntaxError;
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    pub(super) fn transaction(&mut self, node: Node) -> Lowered<Statement> {
        let (shape, children) = self.parts(node);
        let chain = self.part(node, g::opt_transaction_chain);
        let chain = chain.is_some_and(|chain| self.shape(chain) == [g::AND, g::CHAIN]);
        let last = children[children.len() - 1];
        Ok(Statement::Transaction(match shape {
            [start @ (g::BEGIN_P | g::START), ..] => {
                let modes = self.part(last, g::transaction_mode_list);
                let modes = modes.map(|modes| self.modes(modes)).transpose()?.unwrap_or_default();
                Transaction::Begin { modes, start: *start == g::START }
            }
            [g::PREPARE, ..] => Transaction::Prepare(self.string(last)),
            [g::COMMIT, g::PREPARED, _] => Transaction::CommitPrepared(self.string(last)),
            [g::ROLLBACK, g::PREPARED, _] => Transaction::RollbackPrepared(self.string(last)),
            [g::COMMIT | g::END_P, ..] => Transaction::Commit { chain },
            [g::SAVEPOINT, _] => Transaction::Savepoint(self.name(last)),
            [g::RELEASE, ..] => Transaction::Release(self.name(last)),
            [g::ROLLBACK, _, g::TO, ..] => Transaction::RollbackTo(self.name(last)),
            _ => Transaction::Rollback { chain },
        }))
    }

    /// `transaction_mode_list`.
    pub(super) fn modes(&self, list: Node) -> Lowered<Vec<TransactionMode>> {
        let mode = |node: Node| match (self.shape(node), self.children(node)) {
            ([g::ISOLATION, ..], &[_, _, level]) => Ok(TransactionMode::Isolation(match self.shape(level) {
                [_, g::UNCOMMITTED] => IsolationLevel::ReadUncommitted,
                [_, g::COMMITTED] => IsolationLevel::ReadCommitted,
                [g::REPEATABLE, _] => IsolationLevel::RepeatableRead,
                _ => IsolationLevel::Serializable,
            })),
            ([g::READ, kind], _) => Ok(TransactionMode::ReadOnly(*kind == g::ONLY)),
            ([g::DEFERRABLE], _) => Ok(TransactionMode::Deferrable(true)),
            ([g::NOT, _], _) => Ok(TransactionMode::Deferrable(false)),
            _ => Err(self.unexpected(node)),
        };
        self.list(list).into_iter().map(mode).collect()
    }

    /// PREPARE, EXECUTE, DEALLOCATE, DECLARE, FETCH, CLOSE.
    pub(super) fn cursor_statement(&mut self, node: Node) -> Lowered<Statement> {
        let children = self.children(node);
        let last = children[children.len() - 1];
        let name_unless_all = |lower: &Self| (!lower.has(node, g::ALL)).then(|| lower.name(last));
        Ok(match self.tree.symbol(node) {
            g::PrepareStmt => {
                let types = self.part(children[2], g::type_list);
                let types = types.map(|types| self.type_names(types)).transpose()?.unwrap_or_default();
                let (name, statement) = (self.name(children[1]), self.statement(last));
                Statement::Prepare(Box::new(Prepare { name, types, statement }))
            }
            g::ExecuteStmt => self.execute_statement(node)?,
            g::DeallocateStmt => Statement::Deallocate(name_unless_all(self)),
            g::ClosePortalStmt => Statement::CloseCursor(name_unless_all(self)),
            g::DeclareCursorStmt => {
                let options: Vec<&[u16]> =
                    self.chain(children[2]).into_iter().map(|option| self.shape(option)).collect();
                let has = |word: u16| options.iter().any(|option| matches!(option, [_, only] if *only == word));
                Statement::DeclareCursor(Box::new(DeclareCursor {
                    name: self.name(children[1]),
                    binary: has(g::BINARY),
                    scroll: has(g::SCROLL),
                    no_scroll: options.iter().any(|option| option.contains(&g::NO)),
                    insensitive: has(g::INSENSITIVE),
                    asensitive: has(g::ASENSITIVE),
                    hold: self.has(children[4], g::WITH),
                    query: self.query(last),
                }))
            }
            _ => self.fetch(node)?,
        })
    }

    fn execute(&mut self, name: Node, arguments: Node) -> Execute {
        let arguments = self.part(arguments, g::expr_list).map(|list| self.exprs(list)).unwrap_or_default();
        Execute { name: self.name(name), arguments }
    }

    fn execute_statement(&mut self, node: Node) -> Lowered<Statement> {
        let children = self.children(node);
        let (Some(name), Some(arguments)) = (self.part(node, g::name), self.part(node, g::execute_param_clause)) else {
            return Err(self.unexpected(node));
        };
        let execute = self.execute(name, arguments);
        let Some(target) = self.part(node, g::create_as_target) else { return Ok(Statement::Execute(execute)) };
        let with_data = !self.has(children[children.len() - 1], g::NO);
        let table: CreateTableAs = self.new_table(node, target, TableSource::Execute(execute), with_data)?;
        Ok(Statement::CreateTableAs(Box::new(table)))
    }

    fn fetch(&mut self, node: Node) -> Lowered<Statement> {
        let &[word, arguments] = self.children(node) else { return Err(self.unexpected(node)) };
        let (shape, children) = self.parts(arguments);
        let cursor = self.name(children[children.len() - 1]);
        let count = self.part(arguments, g::SignedIconst).map(|count| self.signed_integer(count));
        let all = self.has(arguments, g::ALL);
        let steps = if all { None } else { Some(count.unwrap_or(1)) };
        let (direction, count) = match shape[0] {
            g::PRIOR => (FetchDirection::Backward, Some(1)),
            g::FIRST_P => (FetchDirection::Absolute, Some(1)),
            g::LAST_P => (FetchDirection::Absolute, Some(-1)),
            g::ABSOLUTE_P => (FetchDirection::Absolute, steps),
            g::RELATIVE_P => (FetchDirection::Relative, steps),
            g::BACKWARD => (FetchDirection::Backward, steps),
            _ => (FetchDirection::Forward, steps),
        };
        Ok(Statement::Fetch(Fetch { moves: self.tree.symbol(word) == g::MOVE, cursor, direction, count }))
    }

    pub(super) fn copy(&mut self, node: Node) -> Lowered<Statement> {
        let (Some(program), Some(file), Some(options)) =
            (self.part(node, g::opt_program), self.part(node, g::copy_file_name), self.part(node, g::copy_options))
        else {
            return Err(self.unexpected(node));
        };
        let is_program = !self.is_empty(program);
        let name = self.part(file, g::Sconst).map(|name| self.string(name));
        if is_program && name.is_none() {
            return Err(self.program_without_name(node, file));
        }
        let from = self.part(node, g::copy_from).is_some_and(|from| self.has(from, g::FROM));
        let filter = self.filled(node, g::where_clause);
        if let Some(filter) = filter.filter(|_| !from) {
            return Err(self.error(filter, "WHERE clause not allowed with COPY TO"));
        }
        let what = match (self.part(node, g::qualified_name), self.part(node, g::PreparableStmt)) {
            (Some(table), _) => {
                let columns = self.part(node, g::opt_column_list).map(|list| self.opt_names(list)).unwrap_or_default();
                CopyWhat::Table { name: self.relation_name(table), columns }
            }
            (None, Some(query)) => CopyWhat::Query(self.statement(query)),
            _ => return Err(self.unexpected(node)),
        };
        let mut all = Vec::new();
        if let Some(binary) = self.filled(node, g::opt_binary) {
            all.push(self.option("format", Some(OptionValue::String("binary".to_string())), binary));
        }
        if let Some(delimiter) = self.filled(node, g::copy_delimiter) {
            let string = self.children(delimiter)[2];
            all.push(self.option("delimiter", Some(OptionValue::String(self.string(string))), delimiter));
        }
        all.extend(self.copy_options(options)?);
        let filter = filter.and_then(|filter| self.part(filter, g::a_expr)).map(|filter| self.expr(filter));
        Ok(Statement::Copy(Box::new(Copy { what, from, program: is_program, file: name, options: all, filter })))
    }

    /// PostgreSQL points to TO behind a query, and else to what stands behind the file, if anything does.
    fn program_without_name(&self, node: Node, file: Node) -> SyntaxError {
        let behind = self.children(node).iter().skip_while(|part| **part != file).nth(1).copied().unwrap_or(file);
        let pointed = self.part(node, g::TO).unwrap_or(behind);
        let error = self.error(pointed, "STDIN/STDOUT not allowed with PROGRAM");
        SyntaxError { at: error.at.filter(|_| !self.is_empty(pointed)), ..error }
    }

    fn copy_options(&self, node: Node) -> Lowered<Vec<DefinitionOption>> {
        if let Some(list) = self.part(node, g::copy_generic_opt_list) {
            let options = self.list(list).into_iter().map(|option| {
                let children = self.children(option);
                let value = match self.part(children[1], g::copy_generic_opt_arg_list) {
                    Some(list) => {
                        let item = |item: Node| self.word(self.tree.first_token(item));
                        Some(OptionValue::List(self.list(list).into_iter().map(item).collect()))
                    }
                    None if self.has(children[1], g::STAR) => Some(OptionValue::Star),
                    None => self.option_value(children[1]),
                };
                DefinitionOption { space: None, name: self.name(children[0]), value }
            });
            return Ok(options.collect());
        }
        let list = self.part(node, g::copy_opt_list).ok_or_else(|| self.unexpected(node))?;
        self.list(list).into_iter().map(|option| self.old_copy_option(option)).collect()
    }

    /// An option as it was written before PostgreSQL 9.0.
    fn old_copy_option(&self, node: Node) -> Lowered<DefinitionOption> {
        let (shape, children) = self.parts(node);
        let last = children[children.len() - 1];
        let text = |value: &str| Some(OptionValue::String(value.to_string()));
        let columns = || match self.tree.symbol(last) {
            g::columnList => Some(OptionValue::List(self.names(last).into_iter().map(|name| name.text).collect())),
            _ => Some(OptionValue::Star),
        };
        let (name, value) = match shape {
            [g::BINARY] => ("format", text("binary")),
            [g::CSV] => ("format", text("csv")),
            [g::FREEZE] => ("freeze", self.truth()),
            [g::HEADER_P] => ("header", self.truth()),
            [g::DELIMITER, ..] => ("delimiter", text(&self.string(last))),
            [g::NULL_P, ..] => ("null", text(&self.string(last))),
            [g::QUOTE, ..] => ("quote", text(&self.string(last))),
            [g::ESCAPE, ..] => ("escape", text(&self.string(last))),
            [g::ENCODING, _] => ("encoding", text(&self.string(last))),
            [_, g::QUOTE, _] => ("force_quote", columns()),
            [_, g::NOT, ..] => ("force_not_null", columns()),
            [_, g::NULL_P, _] => ("force_null", columns()),
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.option(name, value, node))
    }

    /// EXPLAIN, CALL, DO, CHECKPOINT, LOAD.
    pub(super) fn plain_utility(&mut self, node: Node) -> Lowered<Statement> {
        let children = self.children(node);
        let last = children[children.len() - 1];
        Ok(match self.tree.symbol(node) {
            g::ExplainStmt => {
                let mut options =
                    self.part(node, g::utility_option_list).map(|list| self.utility_options(list)).unwrap_or_default();
                if let Some(word) = self.part(node, g::analyze_keyword) {
                    options.push(self.option("analyze", None, word));
                }
                let verbose = self.filled(node, g::opt_verbose).or(self.part(node, g::VERBOSE));
                options.extend(verbose.map(|word| self.option("verbose", None, word)));
                Statement::Explain(Explain { options, statement: self.statement(last) })
            }
            g::CallStmt => Statement::Call(Call { call: self.expr(last) }),
            g::DoStmt => {
                let option = |part: Node| match *self.children(part) {
                    [_, language] => {
                        let language = self.word(self.tree.first_token(language));
                        self.option("language", Some(OptionValue::String(language)), part)
                    }
                    _ => self.option("as", Some(OptionValue::String(self.string(part))), part),
                };
                Statement::Do(self.list(last).into_iter().map(option).collect())
            }
            g::LoadStmt => Statement::Load(self.string(last)),
            _ => Statement::Checkpoint,
        })
    }

    /// SET CONSTRAINTS, DISCARD, LOCK, LISTEN, UNLISTEN, NOTIFY.
    pub(super) fn session_statement(&mut self, node: Node) -> Lowered<Statement> {
        let (shape, children) = self.parts(node);
        Ok(match self.tree.symbol(node) {
            g::ConstraintsSetStmt => {
                let names = self.part(children[2], g::qualified_name_list);
                let names = names.map(|list| self.relation_names(list)).unwrap_or_default();
                Statement::SetConstraints(SetConstraints { names, deferred: self.has(children[3], g::DEFERRED) })
            }
            g::DiscardStmt => Statement::Discard(match shape[1] {
                g::ALL => Discard::All,
                g::PLANS => Discard::Plans,
                g::SEQUENCES => Discard::Sequences,
                _ => Discard::Temporary,
            }),
            g::LockStmt => {
                let mode = self.part(children[3], g::lock_type);
                let mode = mode.map_or("ACCESS EXCLUSIVE".to_string(), |mode| self.words(mode));
                let (tables, fail) = (self.relation_exprs(children[2]), !self.is_empty(children[4]));
                Statement::Lock(Lock { tables, mode, fail })
            }
            g::ListenStmt => Statement::Listen(self.name(children[1])),
            g::UnlistenStmt => Statement::Unlisten((!self.has(node, g::STAR)).then(|| self.name(children[1]))),
            _ => {
                let payload = self.part(children[2], g::Sconst).map(|payload| self.string(payload));
                Statement::Notify(Notify { channel: self.name(children[1]), payload })
            }
        })
    }

    /// A rule's own words in capitals, with blanks between them.
    pub(super) fn words(&self, node: Node) -> String {
        let words = self.children(node).iter().filter_map(|part| self.tree.token(*part));
        words.map(|token| self.tree.source(token).to_ascii_uppercase()).collect::<Vec<String>>().join(" ")
    }

    /// VACUUM, ANALYZE, CLUSTER, REINDEX.
    pub(super) fn maintenance(&mut self, node: Node) -> Lowered<Statement> {
        let children = self.children(node);
        let symbol = self.tree.symbol(node);
        let mut options =
            self.part(node, g::utility_option_list).map(|list| self.utility_options(list)).unwrap_or_default();
        let spelled = [
            (g::opt_full, "full"),
            (g::opt_freeze, "freeze"),
            (g::opt_verbose, "verbose"),
            (g::opt_analyze, "analyze"),
            (g::opt_concurrently, "concurrently"),
        ];
        for (part, name) in spelled {
            options.extend(self.filled(node, part).map(|part| self.option(name, None, part)));
        }
        Ok(match symbol {
            g::VacuumStmt | g::AnalyzeStmt => {
                let list = self.part(children[children.len() - 1], g::vacuum_relation_list);
                let table = |table: Node| {
                    let parts = self.children(table);
                    (self.relation_name(parts[0]), self.opt_names(parts[1]))
                };
                let tables = list.map(|list| self.list(list).into_iter().map(table).collect()).unwrap_or_default();
                Statement::Vacuum(Vacuum { vacuum: symbol == g::VacuumStmt, options, tables })
            }
            g::ClusterStmt => {
                let table = self.part(node, g::qualified_name).map(|table| self.relation_name(table));
                let index = self.part(node, g::name).or_else(|| {
                    let index = self.part(node, g::cluster_index_specification)?;
                    self.part(index, g::name)
                });
                Statement::Cluster(Cluster { options, table, index: index.map(|index| self.name(index)) })
            }
            _ => {
                let kind = self.part(node, g::reindex_target_type).or(self.part(node, g::reindex_target_multitable));
                let kind = match kind.map(|kind| self.shape(kind)[0]) {
                    Some(g::INDEX) => "INDEX",
                    Some(g::TABLE) => "TABLE",
                    Some(g::SCHEMA) => "SCHEMA",
                    Some(g::SYSTEM_P) => "SYSTEM",
                    _ => "DATABASE",
                };
                let name = self.relation_name(children[children.len() - 1]);
                Statement::Reindex(Reindex { kind, options, name, at: self.at(node) })
            }
        })
    }
}
