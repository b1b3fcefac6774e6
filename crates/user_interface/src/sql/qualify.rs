//! Statements whose names are what the catalog knows: each name of a relation, sequence or procedure is put in the place of what was written.
//!
//! Behind this a statement has no schemas in it any more, but for those of the system and for `public` where a name of WITH hides what is in it. Invariant: a
//! name of WITH hides a relation exactly where PostgreSQL has it hide one.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::extension_functions::{self, called};
use crate::sql::lookup::{NameKind, NameLookup};
use crate::sql::names::{self, identifier, own_relation, written_relation};
use crate::sql::parse;
use crate::sql::sequence_names::{first_argument_mut, text_of_name};
use crate::sql::types::{type_of, type_of_mut, user_type_name, user_type_name_mut};
use crate::sql::visits::{visit_expressions, visit_relations};
use messages::namespace::{self, OWN_TEMPORARY, PUBLIC};
use sqlparser::ast::{self, Expr, Ident, ObjectName, ObjectNamePart, SelectItem, SetExpr, TableAlias, TableFactor};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

type Flow = ControlFlow<Box<SqlError>>;

/// The statement with the catalog's names in it; `None`: it has them already. Errors: 3F000, 42501 for a schema that is not there or not open.
pub fn qualified(statement: &ast::Statement, lookup: &NameLookup) -> Result<Option<ast::Statement>> {
    if lookup.is_plain() && !names_other_schema(statement) && !names_table_alone(statement) {
        return Ok(None);
    }
    let mut statement = statement.clone();
    let mut qualifier =
        Qualifier { lookup, hidden: Vec::new(), withheld: Vec::new(), found: BTreeSet::new(), is_changed: false };
    qualifier.schema_statement(&mut statement)?;
    if let ControlFlow::Break(error) = ast::VisitMut::visit(&mut statement, &mut qualifier) {
        return Err(error);
    }
    let Qualifier { found, is_changed, .. } = qualifier;
    let mut shortener = Shortener { lookup, found: &found };
    if let ControlFlow::Break(error) = ast::VisitMut::visit(&mut statement, &mut shortener) {
        return Err(error);
    }
    Ok(is_changed.then_some(statement))
}

/// Whether there is a `TABLE t`. Whoever looks for the tables of FROM would not find its table.
fn names_table_alone(statement: &ast::Statement) -> bool {
    struct TablesAlone;
    impl ast::Visitor for TablesAlone {
        type Break = ();
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            if has_table_alone(&query.body) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    ast::Visit::visit(statement, &mut TablesAlone).is_break()
}

fn has_table_alone(body: &SetExpr) -> bool {
    match body {
        SetExpr::Table(_) => true,
        SetExpr::SetOperation { left, right, .. } => has_table_alone(left) || has_table_alone(right),
        _ => false,
    }
}

/// Whether a statement names a relation, procedure or sequence in a schema that is neither `public` nor the system's.
fn names_other_schema(statement: &ast::Statement) -> bool {
    let is_other = |name: &ObjectName| {
        let schema = names::relation(name).ok().and_then(|relation| relation.schema);
        schema.is_some_and(|schema| schema != PUBLIC && !names::is_system_schema(&schema))
    };
    // What changes the catalog finds nothing of the user's in the system's schemas.
    let is_any = |name: &ObjectName| {
        names::relation(name).ok().and_then(|relation| relation.schema).is_some_and(|schema| schema != PUBLIC)
    };
    let of_relation = visit_relations(statement, |name| match is_other(name) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let of_schema = match statement {
        ast::Statement::Drop { names, .. } => names.iter().any(is_any),
        ast::Statement::DropFunction(dropped) => dropped.func_desc.iter().any(|one| is_any(&one.name)),
        ast::Statement::DropProcedure { proc_desc, .. } => proc_desc.iter().any(|one| is_any(&one.name)),
        ast::Statement::Call(function) => is_any(&function.name),
        ast::Statement::CreateTable(create) => {
            let mut types = create.columns.iter().filter_map(|column| user_type_name(&column.data_type));
            create.temporary
                || is_any(&create.name)
                || foreign_tables(create).into_iter().any(is_any)
                || types.any(|name| name.0.len() > 1)
        }
        ast::Statement::CreateIndex(create) => is_any(&create.table_name),
        ast::Statement::Truncate(truncate) => truncate.table_names.iter().any(|target| is_any(&target.name)),
        ast::Statement::AlterIndex { name, .. } => is_any(name),
        ast::Statement::AlterTable(_) => true,
        _ => false,
    };
    // A sequence's name in a text is looked at where it is compiled, which refuses other schemas.
    of_relation.is_break() || of_schema || names_sequence_or_type(statement) || calls_in_schema(statement)
}

/// Whether there is a sequence that is named by a text, or a type in a schema.
fn names_sequence_or_type(statement: &ast::Statement) -> bool {
    let is_schemas = |data_type: &ast::DataType| user_type_name(data_type).is_some_and(|name| name.0.len() > 1);
    let found = visit_expressions(statement, |expression| match expression {
        Expr::Function(function) if is_of_sequence(function) => ControlFlow::Break(()),
        other if type_of(other).is_some_and(is_schemas) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a function of a user or an extension is called with its schema.
fn calls_in_schema(statement: &ast::Statement) -> bool {
    let mut found = false;
    extension_functions::each_call(statement, |name| {
        let schema = names::relation(name).ok().and_then(|known| known.schema);
        let is_users = schema.is_some_and(|schema| schema != PUBLIC && !names::is_system_schema(&schema));
        found |= is_users || (name.0.len() > 1 && extension_functions::may_be(name));
    });
    found
}

fn is_of_sequence(function: &ast::Function) -> bool {
    let name = names::function(&function.name);
    matches!(name.as_deref(), Some("nextval" | "currval" | "setval" | "pg_get_serial_sequence"))
}

fn foreign_tables(create: &ast::CreateTable) -> Vec<&ObjectName> {
    let of_columns =
        create.columns.iter().flat_map(|column| &column.options).filter_map(|option| match &option.option {
            ast::ColumnOption::ForeignKey(key) => Some(&key.foreign_table),
            _ => None,
        });
    let of_table = create.constraints.iter().filter_map(|constraint| match constraint {
        ast::TableConstraint::ForeignKey(key) => Some(&key.foreign_table),
        _ => None,
    });
    of_columns.chain(of_table).collect()
}

fn quoted(name: String, span: Span) -> Ident {
    Ident { value: name, quote_style: Some('"'), span }
}

fn span_of(name: &ObjectName) -> Span {
    match name.0.first() {
        Some(ObjectNamePart::Identifier(first)) => first.span,
        _ => Span::empty(),
    }
}

fn flow(result: Result<()>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

struct Qualifier<'a> {
    lookup: &'a NameLookup<'a>,
    /// Names that WITH gives, from the outermost query to the innermost.
    hidden: Vec<Vec<String>>,
    /// WITH clauses that were looked at before their query, and are put back behind it.
    withheld: Vec<Option<ast::With>>,
    /// The relations that the statement reads or changes and gives no alias, by the catalog's names.
    found: BTreeSet<String>,
    is_changed: bool,
}

impl ast::VisitorMut for Qualifier<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> Flow {
        self.hidden.push(Vec::new());
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            if with.recursive {
                with.cte_tables.iter().for_each(|table| self.hide(identifier(&table.alias.name)));
            }
            for table in &mut with.cte_tables {
                ast::VisitMut::visit(&mut table.query, self)?;
                self.hide(identifier(&table.alias.name));
            }
        }
        self.withheld.push(with);
        flow(self.named_alone(&mut query.body))
    }

    fn post_visit_query(&mut self, query: &mut ast::Query) -> Flow {
        query.with = self.withheld.pop().flatten();
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        if let Some(name) = called(factor) {
            return flow(self.function(name));
        }
        let TableFactor::Table { name, alias, args: None, with_ordinality: false, .. } = factor else {
            return ControlFlow::Continue(());
        };
        flow(self.read(name, alias.is_some()).map(|was| {
            if let Some(was) = was {
                alias.get_or_insert_with(|| TableAlias { explicit: true, name: was, columns: Vec::new(), at: None });
            }
        }))
    }

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> Flow {
        let ast::Statement::Insert(insert) = statement else { return ControlFlow::Continue(()) };
        let ast::TableObject::TableName(name) = &mut insert.table else { return ControlFlow::Continue(()) };
        flow(self.read(name, insert.table_alias.is_some()).map(|was| {
            if let Some(was) = was {
                let alias = ast::TableAliasWithoutColumns { explicit: true, alias: was };
                insert.table_alias.get_or_insert(alias);
            }
        }))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> Flow {
        match expression {
            Expr::Function(function) if is_of_sequence(function) => flow(self.sequence(function)),
            Expr::Function(function) => flow(self.function(&mut function.name)),
            other => match type_of_mut(other) {
                Some(data_type) => flow(self.data_type(data_type)),
                None => ControlFlow::Continue(()),
            },
        }
    }
}

impl Qualifier<'_> {
    fn hide(&mut self, name: String) {
        if let Some(innermost) = self.hidden.last_mut() {
            innermost.push(name);
        }
    }

    /// Gives a relation that is read or changed its name; what it was called, if that is another. `is_called`: it has an alias of its own.
    fn read(&mut self, name: &mut ObjectName, is_called: bool) -> Result<Option<Ident>> {
        let Ok(relation) = names::relation(name) else { return Ok(None) };
        let known = match &relation.schema {
            None if self.hidden.iter().flatten().any(|known| *known == relation.name) => return Ok(None),
            None if relation.is_system() => return Ok(None),
            None => self.lookup.existing(NameKind::Relation, &relation.name)?,
            Some(schema) if names::is_system_schema(schema) => return Ok(None),
            // Its name says that it is not there.
            Some(schema) if schema != OWN_TEMPORARY && self.lookup.catalog().namespace(schema).is_none() => {
                return Ok(None);
            }
            Some(schema) if schema == OWN_TEMPORARY && self.lookup.schema(schema).is_err() => return Ok(None),
            Some(schema) => self.lookup.existing(NameKind::Relation, &names::written(schema, &relation.name))?,
        };
        self.lookup.check_reachable(&known)?;
        if !is_called {
            self.found.insert(known.clone());
        }
        if relation.schema.is_none() && known == relation.name {
            return Ok(None);
        }
        self.is_changed = true;
        let span = span_of(name);
        let is_hidden = !namespace::is_marked(&known) && self.hidden.iter().flatten().any(|hidden| *hidden == known);
        let schema = is_hidden.then(|| Ident::new(PUBLIC));
        *name = ObjectName::from(schema.into_iter().chain([quoted(known, span)]).collect::<Vec<_>>());
        Ok(Some(quoted(relation.name, span)))
    }

    /// Gives what a statement changes, drops or refers to its name.
    fn existing(&mut self, kind: NameKind, name: &mut ObjectName) -> Result<()> {
        let known = self.lookup.existing(kind, &written_relation(name)?)?;
        self.put(name, known);
        Ok(())
    }

    /// Gives a user's type its name.
    fn data_type(&mut self, written: &mut ast::DataType) -> Result<()> {
        let Some(name) = user_type_name_mut(written) else { return Ok(()) };
        match self.lookup.user_type(&own_relation(name)?)? {
            Some(known) if names::own_relation(name)? != known => {
                self.put(name, known);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives a function of a user or an extension its name.
    fn function(&mut self, name: &mut ObjectName) -> Result<()> {
        // A name of more parts is no function of ours.
        let Ok(written) = written_relation(name) else { return Ok(()) };
        match self.lookup.function(&written)? {
            Some(known) if known != written => {
                self.is_changed = true;
                *name = ObjectName::from(vec![Ident { span: span_of(name), ..extension_functions::written(&known) }]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives what is made its name.
    fn made(&mut self, name: &mut ObjectName) -> Result<()> {
        let known = self.lookup.new_name(&written_relation(name)?)?;
        self.put(name, known);
        Ok(())
    }

    /// The same of what is temporary.
    fn made_temporary(&mut self, name: &mut ObjectName) -> Result<()> {
        let known = self.lookup.new_temporary_name(&written_relation(name)?)?;
        self.put(name, known);
        Ok(())
    }

    fn put(&mut self, name: &mut ObjectName, known: String) {
        let span = span_of(name);
        self.is_changed = true;
        *name = ObjectName::from(vec![quoted(known, span)]);
    }

    /// `TABLE t`, as the SELECT that it stands for.
    fn named_alone(&mut self, body: &mut SetExpr) -> Result<()> {
        match body {
            SetExpr::Table(table) => {
                let parts = table.schema_name.iter().chain(&table.table_name).cloned();
                let text = format!("SELECT * FROM {}", parts.collect::<Vec<_>>().join("."));
                if let Some(parse::Statement::Sql(tree)) = parse::statement(&text)?.map(|parsed| parsed.statement)
                    && let ast::Statement::Query(query) = &*tree
                {
                    *body = (*query.body).clone();
                    self.is_changed = true;
                }
                Ok(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.named_alone(left)?;
                self.named_alone(right)
            }
            _ => Ok(()),
        }
    }

    /// The sequence, or table, that the first argument of `nextval` and its like names.
    fn sequence(&mut self, function: &mut ast::Function) -> Result<()> {
        let Some(text) = first_argument_mut(function).and_then(text_of_name) else { return Ok(()) };
        let Ok(written) = parse::relation_of(text) else { return Ok(()) };
        if namespace::has_control(text) {
            return Err(SqlError::new(sqlstate::INVALID_NAME, "invalid name syntax"));
        }
        let known = self.lookup.existing(NameKind::Relation, &written)?;
        if known != written {
            self.is_changed = true;
            *text = names::quote(&known);
        }
        Ok(())
    }

    /// What changes the catalog.
    fn schema_statement(&mut self, statement: &mut ast::Statement) -> Result<()> {
        use ast::ObjectType;
        use ast::Statement as S;
        match statement {
            S::CreateTable(create) => {
                match create.temporary {
                    true => self.made_temporary(&mut create.name)?,
                    false => self.made(&mut create.name)?,
                }
                let made = own_relation(&create.name)?;
                for column in &mut create.columns {
                    self.data_type(&mut column.data_type)?;
                    column.options.iter_mut().try_for_each(|option| self.column_option(&mut option.option, &made))?;
                }
                create.constraints.iter_mut().try_for_each(|constraint| self.constraint(constraint, &made))
            }
            S::CreateIndex(create) => self.new_index(create),
            S::AlterTable(alter) => {
                self.dropped(&mut alter.name, alter.if_exists)?;
                let table = own_relation(&alter.name)?;
                self.lookup.check_reachable(&table)?;
                alter.operations.iter_mut().try_for_each(|operation| self.alteration(operation, &table))
            }
            S::AlterIndex { name, operation } => {
                self.existing(NameKind::Relation, name)?;
                let ast::AlterIndexOperation::RenameIndex { index_name } = operation;
                let known = namespace::beside(&own_relation(name)?, &own_relation(index_name)?);
                self.put(index_name, known);
                Ok(())
            }
            S::Truncate(truncate) => {
                let mut targets = truncate.table_names.iter_mut();
                targets.try_for_each(|target| {
                    self.existing(NameKind::Relation, &mut target.name)?;
                    self.lookup.check_reachable(&own_relation(&target.name)?)
                })
            }
            S::CreateFunction(create) => self.made(&mut create.name),
            S::CreateTrigger(create) => self.new_trigger(create),
            S::CreatePolicy(create) => self.secured(&mut create.table_name),
            S::AlterPolicy(alter) => self.secured(&mut alter.table_name),
            S::DropPolicy(dropped) => self.dropped(&mut dropped.table_name, dropped.if_exists),
            S::DropTrigger(dropped) => {
                dropped.table_name.as_mut().map_or(Ok(()), |table| self.dropped(table, dropped.if_exists))
            }
            S::DropFunction(dropped) => {
                dropped.func_desc.iter_mut().try_for_each(|one| self.existing(NameKind::Procedure, &mut one.name))
            }
            S::DropProcedure { proc_desc, .. } => {
                proc_desc.iter_mut().try_for_each(|one| self.existing(NameKind::Procedure, &mut one.name))
            }
            S::Call(function) => self.existing(NameKind::Procedure, &mut function.name),
            S::Drop {
                object_type:
                    ObjectType::Table
                    | ObjectType::Index
                    | ObjectType::View
                    | ObjectType::MaterializedView
                    | ObjectType::Sequence,
                if_exists,
                names,
                ..
            } => names.iter_mut().try_for_each(|name| self.dropped(name, *if_exists)),
            _ => Ok(()),
        }
    }

    fn secured(&mut self, name: &mut ObjectName) -> Result<()> {
        self.existing(NameKind::Relation, name)?;
        self.lookup.check_reachable(&own_relation(name)?)
    }

    fn new_trigger(&mut self, create: &mut ast::CreateTrigger) -> Result<()> {
        self.existing(NameKind::Relation, &mut create.table_name)?;
        self.lookup.check_reachable(&own_relation(&create.table_name)?)?;
        match &mut create.exec_body {
            Some(body) => self.existing(NameKind::Procedure, &mut body.func_desc.name),
            None => Ok(()),
        }
    }

    fn new_index(&mut self, create: &mut ast::CreateIndex) -> Result<()> {
        self.existing(NameKind::Relation, &mut create.table_name)?;
        let table = own_relation(&create.table_name)?;
        if let Some(name) = &mut create.name {
            let known = namespace::beside(&table, &own_relation(name)?);
            self.put(name, known);
        }
        Ok(())
    }

    /// What is changed or dropped only if it is there: nothing is in a schema that is not.
    fn dropped(&mut self, name: &mut ObjectName, if_exists: bool) -> Result<()> {
        let text = written_relation(name)?;
        let is_away = names::parts(&text).0.is_some_and(|schema| match schema {
            OWN_TEMPORARY => self.lookup.schema(schema).is_err(),
            _ => self.lookup.catalog().namespace(schema).is_none(),
        });
        if is_away && if_exists {
            let known = namespace::within(names::parts(&text).1, namespace::NOWHERE);
            self.put(name, known);
            return Ok(());
        }
        self.existing(NameKind::Relation, name)
    }

    fn column_option(&mut self, option: &mut ast::ColumnOption, table: &str) -> Result<()> {
        match option {
            ast::ColumnOption::ForeignKey(key) => self.referred(&mut key.foreign_table, table),
            _ => Ok(()),
        }
    }

    fn constraint(&mut self, constraint: &mut ast::TableConstraint, table: &str) -> Result<()> {
        match constraint {
            ast::TableConstraint::ForeignKey(key) => self.referred(&mut key.foreign_table, table),
            _ => Ok(()),
        }
    }

    /// The table that a foreign key refers to, which may be the one that is being made.
    fn referred(&mut self, name: &mut ObjectName, table: &str) -> Result<()> {
        let known = self.lookup.existing_or_made(NameKind::Relation, &written_relation(name)?, table)?;
        self.put(name, known);
        Ok(())
    }

    fn alteration(&mut self, operation: &mut ast::AlterTableOperation, table: &str) -> Result<()> {
        use ast::AlterTableOperation as A;
        match operation {
            A::AddConstraint { constraint, .. } => self.constraint(constraint, table),
            A::AlterColumn { op: ast::AlterColumnOperation::SetDataType { data_type, .. }, .. } => {
                self.data_type(data_type)
            }
            A::AddColumn { column_def, .. } => {
                self.data_type(&mut column_def.data_type)?;
                let mut options = column_def.options.iter_mut();
                options.try_for_each(|option| self.column_option(&mut option.option, table))
            }
            A::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(name) | ast::RenameTableNameKind::To(name)) = table_name;
                let known = namespace::beside(table, &own_relation(name)?);
                self.put(name, known);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// `schema.table.column` and `schema.table.*` without the schema, where that table is in the statement and no other is called so.
struct Shortener<'a> {
    lookup: &'a NameLookup<'a>,
    found: &'a BTreeSet<String>,
}

impl Shortener<'_> {
    /// Whether the schema can be left out. Errors: 0A000 where it tells two relations apart, 42P01 where only one of another schema is called so.
    fn is_found(&self, schema: &Ident, table: &Ident) -> Result<bool> {
        let schema = identifier(schema);
        let namespace = match schema.as_str() {
            OWN_TEMPORARY => self.lookup.schema(&schema).ok(),
            _ => self.lookup.catalog().namespace(&schema),
        };
        let Some(namespace) = namespace else { return Ok(false) };
        let name = identifier(table);
        let called_so = self.found.iter().filter(|known| namespace::bare(known) == name).count();
        if !self.found.contains(&namespace::within(&name, namespace.oid)) {
            if called_so > 0 {
                let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
                return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message));
            }
            return Ok(false);
        }
        if called_so > 1 {
            let feature = format!("a column named with its schema beside two relations called \"{name}\"");
            return Err(SqlError::unsupported(feature).with_hint("Give the relations aliases."));
        }
        Ok(true)
    }

    fn items(&self, items: &mut [SelectItem]) -> Result<()> {
        items.iter_mut().try_for_each(|item| match item {
            SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                self.shorten(name)
            }
            _ => Ok(()),
        })
    }

    fn shorten(&self, name: &mut ObjectName) -> Result<()> {
        if let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = name.0.as_slice()
            && self.is_found(schema, table)?
        {
            name.0.remove(0);
        }
        Ok(())
    }

    fn expression(&self, expression: &mut Expr) -> Result<()> {
        match expression {
            Expr::CompoundIdentifier(parts) => {
                if let [schema, table, _, ..] = parts.as_slice()
                    && self.is_found(schema, table)?
                {
                    parts.remove(0);
                }
                Ok(())
            }
            Expr::QualifiedWildcard(name, _) => self.shorten(name),
            _ => Ok(()),
        }
    }
}

impl ast::VisitorMut for Shortener<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> Flow {
        let returned = match statement {
            ast::Statement::Insert(insert) => &mut insert.returning,
            ast::Statement::Update(update) => &mut update.returning,
            ast::Statement::Delete(delete) => &mut delete.returning,
            _ => return ControlFlow::Continue(()),
        };
        flow(self.items(returned.as_deref_mut().unwrap_or_default()))
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> Flow {
        flow(self.items(&mut select.projection))
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> Flow {
        flow(self.expression(expression))
    }
}
