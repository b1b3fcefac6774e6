//! CREATE TABLE and the other statements that make objects. Constraints are in `constraints`.

use super::{Lower, Lowered};
use crate::ast::{
    CheckOption, ColumnDefinition, CreateDomain, CreateEnum, CreateIndex, CreateSchema, CreateSequence, CreateTable,
    CreateTableAs, CreateView, IndexElement, IndexValue, IntoTable, LikeOption, Name, OnCommit, PartitionBound,
    PartitionBy, Persistence, QualifiedName, RelationName, Role, SortDirection, Statement, TableElement, TableSource,
};
use crate::parse::Node;
use crate::tables::symbols as g;

/// Clauses that stand behind a new table.
struct Storage {
    access_method: Option<Name>,
    options: Vec<crate::ast::DefinitionOption>,
    on_commit: Option<OnCommit>,
    tablespace: Option<Name>,
}

impl Lower<'_, '_> {
    pub(super) fn create(&mut self, node: Node) -> Lowered<Statement> {
        Ok(match self.tree.symbol(node) {
            g::CreateStmt => Statement::CreateTable(Box::new(self.create_table(node)?)),
            g::CreateAsStmt | g::CreateMatViewStmt => {
                let target = self.part(node, g::create_as_target).or(self.part(node, g::create_mv_target));
                let (Some(target), Some(query)) = (target, self.part(node, g::SelectStmt)) else {
                    return Err(self.unexpected(node));
                };
                let source = TableSource::Query(self.query(query));
                let with_data = self.part(node, g::opt_with_data).is_none_or(|data| !self.has(data, g::NO));
                Statement::CreateTableAs(Box::new(self.new_table(node, target, source, with_data)?))
            }
            g::IndexStmt => Statement::CreateIndex(Box::new(self.create_index(node)?)),
            g::ViewStmt => Statement::CreateView(Box::new(self.create_view(node)?)),
            g::CreateSeqStmt | g::AlterSeqStmt => self.sequence(node)?,
            g::CreateSchemaStmt => Statement::CreateSchema(Box::new(self.create_schema(node)?)),
            g::CreateDomainStmt => Statement::CreateDomain(Box::new(self.create_domain(node)?)),
            _ => {
                let list = self.part(node, g::opt_enum_val_list).and_then(|list| self.part(list, g::enum_val_list));
                let labels = list.map(|list| self.list(list).into_iter().map(|label| self.string(label)).collect());
                let name = self.any_name(self.children(node)[2]);
                Statement::CreateEnum(CreateEnum { name, labels: labels.unwrap_or_default() })
            }
        })
    }

    fn persistence(&self, node: Node) -> Persistence {
        let words = self.part(node, g::OptTemp).or(self.part(node, g::OptNoLog));
        match words.map(|words| self.shape(words)) {
            Some([g::UNLOGGED]) => Persistence::Unlogged,
            Some([]) | None => Persistence::Permanent,
            Some(_) => Persistence::Temporary,
        }
    }

    fn storage(&mut self, node: Node) -> Lowered<Storage> {
        let named = |part: Option<Node>| part.and_then(|part| self.part(part, g::name)).map(|name| self.name(name));
        let access_method = named(self.part(node, g::table_access_method_clause));
        let tablespace = named(self.part(node, g::OptTableSpace));
        let on_commit = self.part(node, g::OnCommitOption).and_then(|option| match self.shape(option) {
            [_, _, g::DROP] => Some(OnCommit::Drop),
            [_, _, g::DELETE_P, _] => Some(OnCommit::DeleteRows),
            [_, _, _, _] => Some(OnCommit::PreserveRows),
            _ => None,
        });
        let options = match self.part(node, g::OptWith).or(self.part(node, g::opt_reloptions)) {
            Some(options) => self.storage_options(options)?,
            None => Vec::new(),
        };
        Ok(Storage { access_method, options, on_commit, tablespace })
    }

    fn create_table(&mut self, node: Node) -> Lowered<CreateTable> {
        let (shape, children) = self.parts(node);
        let names: Vec<Node> =
            children.iter().copied().filter(|part| self.tree.symbol(*part) == g::qualified_name).collect();
        let elements = self.part(node, g::OptTableElementList).or(self.part(node, g::OptTypedTableElementList));
        let partition_of = match self.part(node, g::PartitionBoundSpec) {
            Some(bound) => Some((self.relation_name(names[1]), self.partition_bound(bound)?)),
            None => None,
        };
        let inherits = self.part(node, g::OptInherit).and_then(|list| self.part(list, g::qualified_name_list));
        let partition_by = match self.part(node, g::OptPartitionSpec).and_then(|part| self.part(part, g::PartitionSpec))
        {
            Some(partition) => Some(self.partition_by(partition)?),
            None => None,
        };
        let elements = match elements {
            Some(elements) => self.table_elements(elements)?,
            None => Vec::new(),
        };
        let storage = self.storage(node)?;
        Ok(CreateTable {
            name: self.relation_name(names[0]),
            persistence: self.persistence(node),
            if_not_exists: shape.contains(&g::EXISTS),
            elements,
            of_type: self.part(node, g::any_name).map(|name| self.any_name(name)),
            partition_of,
            inherits: inherits.map(|list| self.relation_names(list)).unwrap_or_default(),
            partition_by,
            access_method: storage.access_method,
            options: storage.options,
            on_commit: storage.on_commit,
            tablespace: storage.tablespace,
        })
    }

    fn table_elements(&mut self, node: Node) -> Lowered<Vec<TableElement>> {
        let list = self.part(node, g::TableElementList).or(self.part(node, g::TypedTableElementList));
        let Some(list) = list else { return Ok(Vec::new()) };
        let mut elements = Vec::new();
        for element in self.list(list) {
            let element = self.children(element)[0];
            elements.push(match self.tree.symbol(element) {
                g::TableConstraint => TableElement::Constraint(self.table_constraint(element)?),
                g::TableLikeClause => {
                    let parts = self.children(element);
                    let options = self.chain(parts[2]).into_iter().filter(|option| !self.is_empty(*option));
                    let option = |option: Node| {
                        let parts = self.children(option);
                        let what = self.word(self.tree.first_token(parts[2]));
                        LikeOption { including: self.has(option, g::INCLUDING), what }
                    };
                    TableElement::Like(self.relation_name(parts[1]), options.map(option).collect())
                }
                _ => TableElement::Column(self.column_definition(element)?),
            });
        }
        Ok(elements)
    }

    /// `columnDef` and `columnOptions`.
    pub(super) fn column_definition(&mut self, node: Node) -> Lowered<ColumnDefinition> {
        let of = match self.part(node, g::Typename) {
            Some(of) => Some(self.type_name(of)?),
            None => None,
        };
        let list = self.part(node, g::ColQualList).ok_or_else(|| self.unexpected(node))?;
        let (constraints, collation) = self.column_constraints(list)?;
        let compression = self.filled(node, g::opt_column_compression).map(|part| self.children(part)[0]);
        Ok(ColumnDefinition {
            name: self.name(node),
            of,
            collation,
            compression: compression.map(|compression| self.name(self.children(compression)[1])),
            has_options: self.filled(node, g::create_generic_options).is_some(),
            constraints,
        })
    }

    fn partition_by(&mut self, node: Node) -> Lowered<PartitionBy> {
        let &[_, _, strategy, _, list, _] = self.children(node) else { return Err(self.unexpected(node)) };
        let mut elements = Vec::new();
        for element in self.list(list) {
            let (shape, children) = self.parts(element);
            let value = match shape[0] {
                g::ColId => IndexValue::Column(self.name(element)),
                g::PAREN => IndexValue::Expression(self.expr(children[1])),
                _ => IndexValue::Expression(self.expr(children[0])),
            };
            let class = self.part(children[children.len() - 1], g::any_name);
            elements.push(IndexElement {
                value,
                collation: self.opt_collation(children[children.len() - 2]),
                class: class.map(|class| self.any_name(class)).unwrap_or_default(),
                class_options: Vec::new(),
                direction: SortDirection::Default,
                nulls_first: None,
            });
        }
        Ok(PartitionBy { strategy: self.name(strategy), elements, at: self.at(node) })
    }

    pub(super) fn partition_bound(&mut self, node: Node) -> Lowered<PartitionBound> {
        Ok(match *self.children(node) {
            [_] => PartitionBound::Default,
            [_, _, kind, _, list, _] if self.tree.symbol(kind) == g::WITH => {
                let (mut modulus, mut remainder) = (0, 0);
                for bound in self.list(list) {
                    let value = self.integer(self.children(bound)[1]);
                    if self.name(bound).text == "modulus" { modulus = value } else { remainder = value }
                }
                PartitionBound::Hash { modulus, remainder }
            }
            [_, _, _, _, list, _] => PartitionBound::List(self.exprs(list)),
            [_, _, _, _, from, _, _, _, to, _] => PartitionBound::Range(self.exprs(from), self.exprs(to)),
            _ => return Err(self.unexpected(node)),
        })
    }

    /// A table or materialized view that a query fills.
    pub(super) fn new_table(
        &mut self,
        node: Node,
        target: Node,
        source: TableSource,
        with_data: bool,
    ) -> Lowered<CreateTableAs> {
        let name = self.relation_name(self.children(target)[0]);
        let storage = self.storage(target)?;
        let columns = self.part(target, g::opt_column_list).map(|list| self.opt_names(list)).unwrap_or_default();
        Ok(CreateTableAs {
            table: IntoTable { name, persistence: self.persistence(node) },
            materialized_view: self.has(node, g::MATERIALIZED),
            if_not_exists: self.has(node, g::EXISTS),
            columns,
            access_method: storage.access_method,
            options: storage.options,
            on_commit: storage.on_commit,
            tablespace: storage.tablespace,
            source,
            with_data,
        })
    }

    fn create_index(&mut self, node: Node) -> Lowered<CreateIndex> {
        let part = |symbol| self.part(node, symbol).ok_or_else(|| self.unexpected(node));
        let (table, list, include, filter) =
            (part(g::relation_expr)?, part(g::index_params)?, part(g::opt_include)?, part(g::where_clause)?);
        let nulls = self.filled(node, g::opt_unique_null_treatment);
        let name = self.part(node, g::name).or_else(|| {
            let name = self.part(node, g::opt_index_name)?;
            self.part(name, g::name)
        });
        let method = self.part(node, g::access_method_clause).and_then(|method| self.part(method, g::name));
        let elements = self.index_elements(list)?;
        let including = match self.part(include, g::index_including_params) {
            Some(list) => self.index_elements(list)?,
            None => Vec::new(),
        };
        let storage = self.storage(node)?;
        Ok(CreateIndex {
            unique: self.filled(node, g::opt_unique).is_some(),
            concurrently: self.filled(node, g::opt_concurrently).is_some(),
            if_not_exists: self.has(node, g::EXISTS),
            name: name.map(|name| self.name(name)),
            table: self.relation_expr(table),
            method: method.map(|method| self.name(method)),
            elements,
            including,
            nulls_not_distinct: nulls.is_some_and(|nulls| self.has(nulls, g::NOT)),
            options: storage.options,
            tablespace: storage.tablespace,
            filter: self.part(filter, g::a_expr).map(|filter| self.expr(filter)),
        })
    }

    fn create_view(&mut self, node: Node) -> Lowered<CreateView> {
        let part = |symbol| self.part(node, symbol).ok_or_else(|| self.unexpected(node));
        let (name, query, check) = (part(g::qualified_name)?, part(g::SelectStmt)?, part(g::opt_check_option)?);
        let recursive = self.has(node, g::RECURSIVE);
        if recursive && !self.is_empty(check) {
            return Err(self.not_supported(check, "WITH CHECK OPTION not supported on recursive views"));
        }
        let columns = match (self.part(node, g::columnList), self.part(node, g::opt_column_list)) {
            (Some(list), _) => self.names(list),
            (None, Some(list)) => self.opt_names(list),
            _ => Vec::new(),
        };
        let check = match self.shape(check) {
            [] => None,
            [_, g::LOCAL, ..] => Some(CheckOption::Local),
            _ => Some(CheckOption::Cascaded),
        };
        Ok(CreateView {
            name: self.relation_name(name),
            replace: self.has(node, g::REPLACE),
            recursive,
            persistence: self.persistence(node),
            columns,
            options: self.storage(node)?.options,
            query: self.query(query),
            check,
        })
    }

    fn sequence(&mut self, node: Node) -> Lowered<Statement> {
        let name = self.part(node, g::qualified_name).ok_or_else(|| self.unexpected(node))?;
        let name: RelationName = self.relation_name(name);
        let list = self.part(node, g::SeqOptList).or_else(|| {
            let list = self.part(node, g::OptSeqOptList)?;
            self.part(list, g::SeqOptList)
        });
        let options = match list {
            Some(list) => self.sequence_options(list)?,
            None => Vec::new(),
        };
        let exists = self.has(node, g::EXISTS);
        Ok(match self.tree.symbol(node) {
            g::AlterSeqStmt => Statement::AlterSequence(crate::ast::AlterSequence { name, if_exists: exists, options }),
            _ => Statement::CreateSequence(Box::new(CreateSequence {
                name,
                persistence: self.persistence(node),
                if_not_exists: exists,
                options,
            })),
        })
    }

    fn create_schema(&mut self, node: Node) -> Lowered<CreateSchema> {
        let if_not_exists = self.has(node, g::EXISTS);
        let list = self.part(node, g::OptSchemaEltList).ok_or_else(|| self.unexpected(node))?;
        if if_not_exists && !self.is_empty(list) {
            return Err(self.not_supported(list, "CREATE SCHEMA IF NOT EXISTS cannot include schema elements"));
        }
        let name = self.part(node, g::ColId).or_else(|| {
            let name = self.part(node, g::OptSchemaName)?;
            self.part(name, g::ColId)
        });
        let mut elements = Vec::new();
        for element in self.list(list) {
            let statement = self.statement_of(self.children(element)[0])?;
            elements.push(self.arena.statements(statement));
        }
        let owner = self.part(node, g::RoleSpec).map(|role| self.role(role));
        Ok(CreateSchema { name: name.map(|name| self.name(name)), owner, if_not_exists, elements })
    }

    /// `RoleSpec`.
    pub(super) fn role(&self, node: Node) -> Role {
        let at = self.at(node);
        match self.shape(node) {
            [g::CURRENT_ROLE] => Role::CurrentRole(at),
            [g::CURRENT_USER] => Role::CurrentUser(at),
            [g::SESSION_USER] => Role::SessionUser(at),
            _ => match self.name(node) {
                name if name.text == "public" => Role::Public(at),
                name => Role::Name(name),
            },
        }
    }

    fn create_domain(&mut self, node: Node) -> Lowered<CreateDomain> {
        let &[_, _, name, _, of, list] = self.children(node) else { return Err(self.unexpected(node)) };
        let name: QualifiedName = self.any_name(name);
        let of = self.type_name(of)?;
        let (constraints, collation) = self.column_constraints(list)?;
        Ok(CreateDomain { name, of, collation, constraints })
    }
}
