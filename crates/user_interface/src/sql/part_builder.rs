//! Compiles statements of several parts.
//!
//! Invariants: a query of WITH that changes rows is a part, and runs once; so is any other that more than one part reads. A part is compiled behind those that it
//! reads, because their columns are its parameters. In reading order: [`PartSyntax`]; [`compile`]; `Builder`.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::common_names::{self, WithItem, has_change, is_change, items_of, mentions_of};
use crate::sql::expressions::Compiler;
use crate::sql::feed::Feed;
use crate::sql::given::Context;
use crate::sql::insert::Insertion;
use crate::sql::merge;
use crate::sql::modify::Modification;
use crate::sql::names;
use crate::sql::parse::Parsed;
use crate::sql::part_queries::{KeptColumns, Numbering, placeholders};
use crate::sql::parts::{AskedQuery, PartParameter, PartQuery, QueryDescription, StatementPart, StatementParts, Taker};
use crate::sql::prepared::{Plan, Prepared, Tag};
use crate::sql::relied::mentions_with;
use crate::sql::types::Stop;
use messages::database::DatabaseId;
use messages::program::{Action, ForeignKeyReference, Program, ResultColumn, StatementEdge};
use messages::schema::CatalogVersions;
use messages::{Key, Timestamp};
use sqlparser::ast::{self, SetExpr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::Type;

/// The kind of a statement of several parts, and its parts as syntax.
struct Recognised<'a> {
    with: Option<&'a ast::With>,
    main: PartSyntax<'a>,
}

/// What a part is, as syntax.
#[derive(Clone, Copy)]
enum PartSyntax<'a> {
    Query(&'a ast::Query),
    Insert(&'a ast::Insert),
    Update(&'a ast::Update),
    Delete(&'a ast::Delete),
    Merge(&'a ast::Merge),
}

impl<'a> PartSyntax<'a> {
    /// Of a query that may change rows.
    fn of(query: &'a ast::Query) -> PartSyntax<'a> {
        match query.body.as_ref() {
            SetExpr::Insert(ast::Statement::Insert(insert)) => PartSyntax::Insert(insert),
            SetExpr::Update(ast::Statement::Update(update)) => PartSyntax::Update(update),
            SetExpr::Delete(ast::Statement::Delete(delete)) => PartSyntax::Delete(delete),
            SetExpr::Merge(ast::Statement::Merge(merge)) => PartSyntax::Merge(merge),
            _ => PartSyntax::Query(query),
        }
    }

    fn is_change(self) -> bool {
        !matches!(self, PartSyntax::Query(_))
    }

    fn tag(self) -> Tag {
        match self {
            PartSyntax::Query(_) => Tag::Select,
            PartSyntax::Insert(_) => Tag::Insert,
            PartSyntax::Update(_) => Tag::Update,
            PartSyntax::Delete(_) => Tag::Delete,
            PartSyntax::Merge(_) => Tag::Counted("MERGE"),
        }
    }

    /// Visits it. The WITH of the statement itself is left out: its queries are items.
    fn visit<V: ast::Visitor>(self, is_main: bool, visitor: &mut V) -> std::ops::ControlFlow<V::Break> {
        match self {
            PartSyntax::Query(query) if is_main => {
                let bare = ast::Query { with: None, ..query.clone() };
                ast::Visit::visit(&bare, visitor)
            }
            PartSyntax::Query(query) => ast::Visit::visit(query, visitor),
            PartSyntax::Insert(insert) => ast::Visit::visit(insert, visitor),
            PartSyntax::Update(update) => ast::Visit::visit(update, visitor),
            PartSyntax::Delete(delete) => ast::Visit::visit(delete, visitor),
            PartSyntax::Merge(merge) => ast::Visit::visit(merge, visitor),
        }
    }
}

fn recognised(statement: &ast::Statement) -> Option<Recognised<'_>> {
    match statement {
        ast::Statement::Query(query) if has_change(query.with.as_ref()) || is_change(query) => {
            Some(Recognised { with: query.with.as_ref(), main: PartSyntax::of(query) })
        }
        ast::Statement::Merge(merge) => Some(Recognised { with: None, main: PartSyntax::Merge(merge) }),
        _ => None,
    }
}

/// Whether it is a statement of several parts.
pub(super) fn is_of_parts(statement: &ast::Statement) -> bool {
    recognised(statement).is_some()
}

/// A statement of several parts; `None`: it is another one. Errors: those of its parts.
pub(super) fn compile(
    parsed: &Parsed,
    statement: &ast::Statement,
    declared: &[Option<Type>],
    context: &Context,
    described: Option<(&[ResultColumn], &[Type])>,
) -> Result<Option<Prepared>> {
    common_names::check_nested(statement, context.text)?;
    let Some(Recognised { with, main }) = recognised(statement) else { return Ok(None) };
    if let PartSyntax::Query(query) = main
        && !query.locks.is_empty()
    {
        return Err(SqlError::unsupported("FOR UPDATE behind a WITH query that changes rows"));
    }
    let last = described.map(|(columns, parameters)| QueryDescription::of(columns, parameters));
    let described: Vec<QueryDescription> = context.described.iter().cloned().chain(last).collect();
    let items = items_of(with, context.text)?;
    let mut builder = Builder::new(context, declared, &described, items, with.is_some_and(|with| with.recursive));
    builder.read_names(main)?;
    builder.keep_what_is_shared();
    let main_place = builder.items.len();
    for place in builder.order_of_reading()? {
        if !builder.part(place, builder.bodies[place], false)? {
            return Ok(Some(builder.asking(parsed, statement, main.tag())));
        }
    }
    if !builder.part(main_place, main, true)? {
        return Ok(Some(builder.asking(parsed, statement, main.tag())));
    }
    builder.finish(parsed, statement, main.tag()).map(Some)
}

/// A statement being compiled.
struct Builder<'a> {
    context: &'a Context<'a>,
    descriptions: &'a [QueryDescription],
    /// How many descriptions were used.
    used: usize,
    /// Types of the statement's parameters.
    types: Vec<Option<Type>>,
    items: Vec<WithItem<'a>>,
    is_recursive: bool,
    /// Of each item, and of the statement itself.
    bodies: Vec<PartSyntax<'a>>,
    /// Which items each of them names.
    names: Vec<BTreeSet<usize>>,
    /// Items that are parts.
    kept: BTreeSet<usize>,
    /// Columns of what was compiled, by item.
    columns: BTreeMap<usize, KeptColumns>,
    parts: BTreeMap<usize, Vec<StatementPart>>,
    main_columns: Vec<ResultColumn>,
    relies_on: Vec<(Key, Timestamp)>,
    is_shareable: bool,
    asks: Option<AskedQuery>,
}

impl<'a> Builder<'a> {
    fn new(
        context: &'a Context<'a>,
        declared: &[Option<Type>],
        descriptions: &'a [QueryDescription],
        items: Vec<WithItem<'a>>,
        is_recursive: bool,
    ) -> Builder<'a> {
        Builder {
            context,
            descriptions,
            used: 0,
            types: declared.to_vec(),
            items,
            is_recursive,
            bodies: Vec::new(),
            names: Vec::new(),
            kept: BTreeSet::new(),
            columns: BTreeMap::new(),
            parts: BTreeMap::new(),
            main_columns: Vec::new(),
            relies_on: Vec::new(),
            is_shareable: context.made.is_empty(),
            asks: None,
        }
    }

    /// Which items name which. Errors: 42P01 for one that comes later, 42P19 for a change that names itself, 0A000 for one that returns nothing.
    fn read_names(&mut self, main: PartSyntax<'a>) -> Result<()> {
        self.bodies = self.items.iter().map(|item| PartSyntax::of(item.query)).chain([main]).collect();
        for (place, body) in self.bodies.iter().enumerate() {
            let target = match body {
                PartSyntax::Insert(ast::Insert { table: ast::TableObject::TableName(name), .. }) => Some(name),
                _ => None,
            };
            let mut found = BTreeSet::new();
            let text = self.context.text;
            for (name, written) in mentions_of(|visitor| body.visit(place == self.items.len(), visitor), target) {
                let position = || names::place(&written, text);
                let Some(named) = self.items.iter().position(|item| item.name == name) else { continue };
                if named >= place && !self.is_recursive {
                    let is_table = self.context.all.tables.contains_key(&name);
                    if !is_table {
                        return Err(not_yet(&name).at(position()));
                    }
                    continue;
                }
                if named == place && body.is_change() {
                    let message = format!("recursive query \"{name}\" must not contain data-modifying statements");
                    return Err(SqlError::new(sqlstate::INVALID_RECURSION, message).at(self.items[named].position));
                }
                if self.items[named].returns_nothing() {
                    let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).at(position()));
                }
                found.insert(named);
            }
            self.names.push(found);
        }
        self.kept = (0..self.items.len()).filter(|place| self.bodies[*place].is_change()).collect();
        Ok(())
    }

    /// A query of WITH that several parts read is a part of its own, so that they read the same.
    fn keep_what_is_shared(&mut self) {
        for place in (0..self.items.len()).rev().filter(|place| !self.bodies[*place].is_change()).collect::<Vec<_>>() {
            let parts = self.kept.iter().copied().chain([self.items.len()]);
            let readers = parts.filter(|part| *part != place && self.behind(*part).contains(&place));
            if readers.count() > 1 {
                self.kept.insert(place);
            }
        }
    }

    /// The items that a part reads, directly or through others that are not kept.
    fn behind(&self, part: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut left: Vec<usize> = self.names[part].iter().copied().collect();
        while let Some(place) = left.pop() {
            if found.insert(place) && !self.kept.contains(&place) {
                left.extend(&self.names[place]);
            }
        }
        found
    }

    /// Items that no part reads: what is wrong with them is found with the statement itself.
    fn unread(&self) -> BTreeSet<usize> {
        let parts = self.kept.iter().copied().chain([self.items.len()]);
        let read: BTreeSet<usize> = parts.flat_map(|part| self.behind(part)).collect();
        (0..self.items.len()).filter(|place| !read.contains(place) && !self.kept.contains(place)).collect()
    }

    /// The kept items, those that others read before these. Errors: 0A000 for items that read each other.
    fn order_of_reading(&self) -> Result<Vec<usize>> {
        let mut order = Vec::new();
        for place in &self.kept {
            self.before(*place, &mut Vec::new(), &mut order)?;
        }
        Ok(order)
    }

    fn before(&self, place: usize, open: &mut Vec<usize>, order: &mut Vec<usize>) -> Result<()> {
        if order.contains(&place) {
            return Ok(());
        }
        if open.contains(&place) {
            let message = "mutual recursion between WITH items is not implemented";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).at(self.items[place].position));
        }
        open.push(place);
        for read in self.behind(place).into_iter().filter(|read| self.kept.contains(read) && *read != place) {
            self.before(read, open, order)?;
        }
        open.pop();
        order.push(place);
        Ok(())
    }

    /// A compiler for a part that has these parameters. Others have types of their own, if only to have one.
    fn compiler(&self, used: &BTreeSet<usize>) -> Compiler<'a> {
        let count = self.types.len().max(used.last().map_or(0, |last| last + 1));
        let known = (0..count).map(|number| match used.contains(&number) {
            true => self.types.get(number).copied().flatten(),
            false => Some(self.types.get(number).copied().flatten().unwrap_or(Type::Text)),
        });
        Compiler::of_statement(self.context, known.collect())
    }

    /// What a part has told of parameters, and what it relies on.
    fn learn(&mut self, compiler: &Compiler, used: &BTreeSet<usize>, program: &Program) {
        let known = if program.parameters.is_empty() {
            compiler.parameters.known().to_vec()
        } else {
            program.parameters.iter().map(|known| Some(*known)).collect()
        };
        self.types.resize(self.types.len().max(used.last().map_or(0, |last| last + 1)), None);
        for number in used {
            let slot = &mut self.types[*number];
            *slot = slot.or(known.get(*number).copied().flatten());
        }
        for relied in compiler.relies_on.iter().chain(program.relies_on.iter()) {
            if !self.relies_on.contains(relied) {
                self.relies_on.push(relied.clone());
            }
        }
        self.is_shareable &= !compiler.used_facts;
    }

    /// Compiles a part. False: a query of it is to be described first.
    fn part(&mut self, place: usize, body: PartSyntax<'a>, is_main: bool) -> Result<bool> {
        let used = placeholders(|visitor| body.visit(is_main, visitor));
        self.types.resize(self.types.len().max(used.last().map_or(0, |last| last + 1)), None);
        let kept = (!is_main).then_some(place);
        let part = StatementPart { kept, is_main, ..StatementPart::default() };
        let (compiled, columns) = match body {
            PartSyntax::Query(query) => {
                let text = match is_main {
                    true => ast::Query { with: None, ..query.clone() }.to_string(),
                    false => format!("SELECT * FROM {}", names::quote(&self.items[place].name)),
                };
                let Some(query) = self.query(place, &text)? else { return Ok(false) };
                let columns = query.columns.clone();
                (vec![StatementPart { query: Some(query), ..part }], columns)
            }
            PartSyntax::Merge(merge) => {
                let mut compiler = self.compiler(&used);
                let halves = merge::halves(&mut compiler, merge, self.context.made).map_err(Stop::into_error)?;
                let mut compiled = Vec::new();
                for mut half in halves {
                    for taker in &mut half.takers {
                        let mut program = Program::clone(&taker.program);
                        compiler.rely(&mut program);
                        self.learn(&compiler, &used, &program);
                        taker.program = Arc::new(program);
                    }
                    let Some(query) = self.query(place, &half.sql)? else { return Ok(false) };
                    let query = Some(query);
                    compiled.push(StatementPart { query, takers: half.takers, is_merge: true, ..part.clone() });
                }
                (compiled, Vec::new())
            }
            _ => match self.change(place, body, &used)? {
                Some((query, taker)) => {
                    let columns = taker.program.columns.clone();
                    (vec![StatementPart { query, takers: vec![taker], ..part }], columns)
                }
                None => return Ok(false),
            },
        };
        self.parts.insert(place, compiled);
        match is_main {
            true => self.main_columns = columns,
            false => drop(self.columns.insert(place, KeptColumns::of(&self.items[place], columns)?)),
        }
        Ok(true)
    }

    /// Compiles INSERT, UPDATE or DELETE; `None`: its query is to be described first.
    fn change(
        &mut self,
        place: usize,
        body: PartSyntax<'a>,
        used: &BTreeSet<usize>,
    ) -> Result<Option<(Option<PartQuery>, Taker)>> {
        let mut fed: Option<Vec<ResultColumn>> = None;
        loop {
            let mut compiler = self.compiler(used);
            let feed = match compiled(&mut compiler, body, self.context, fed.as_deref())? {
                Ok(mut program) => {
                    compiler.rely(&mut program);
                    self.learn(&compiler, used, &program);
                    return Ok(Some((None, taker(program, Vec::new()))));
                }
                Err(feed) => feed,
            };
            let mut program = feed.program;
            self.learn(&compiler, used, &Program { parameters: Vec::new(), ..program.clone() });
            let before = self.used;
            let Some(query) = self.query(place, &feed.sql)? else { return Ok(None) };
            if fed.is_none() {
                // Its columns decide which of the table's an INSERT is for, and what RETURNING has.
                fed = Some(query.columns);
                self.used = before;
                continue;
            }
            compiler.rely(&mut program);
            self.learn(&compiler, used, &Program { parameters: Vec::new(), ..program.clone() });
            return Ok(Some((Some(query), taker(program, feed.key_types))));
        }
    }

    /// The query of a part, with the queries of WITH that it reads; `None`: it is to be described first.
    fn query(&mut self, place: usize, sql: &str) -> Result<Option<PartQuery>> {
        let mut behind = self.behind(place);
        if self.bodies.get(place).is_some_and(|body| !body.is_change()) && place < self.items.len() {
            // It reads itself.
            behind.insert(place);
        }
        if place == self.items.len() {
            behind.extend(self.unread());
        }
        let mut with = Vec::new();
        for read in behind {
            with.push(match self.columns.get(&read) {
                Some(kept) => kept.text(&self.items[read], read),
                None => self.items[read].table.to_string(),
            });
        }
        let text = match with.is_empty() {
            true => sql.to_owned(),
            false => {
                let recursive = if self.is_recursive { "RECURSIVE " } else { "" };
                let has_own = sql.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("with "));
                let sql = if has_own { format!("({sql})") } else { sql.to_owned() };
                format!("WITH {recursive}{} {sql}", with.join(", "))
            }
        };
        let (sql, numbering) = Numbering::of(&text, &self.columns);
        let parameters = numbering.into_parameters();
        let types = parameters.iter().map(|parameter| match parameter {
            PartParameter::Own(number) => self.types.get(*number).copied().flatten(),
            PartParameter::Kept(.., data_type) => Some(*data_type),
        });
        let types: Vec<Option<Type>> = types.collect();
        let Some(description) = self.descriptions.get(self.used) else {
            self.asks = Some(AskedQuery { sql: Arc::from(sql), parameters: types });
            return Ok(None);
        };
        self.used += 1;
        for (parameter, known) in parameters.iter().zip(&description.parameters) {
            if let PartParameter::Own(number) = parameter {
                self.types.resize(self.types.len().max(number + 1), None);
                self.types[*number].get_or_insert(*known);
            }
        }
        Ok(Some(PartQuery { sql: Arc::from(sql), parameters, columns: description.columns.clone() }))
    }

    /// The order in which the parts run: what the statement reads of them, then it itself, then what nobody reads, the last first, as PostgreSQL has it.
    fn order_of_running(&self) -> Result<Vec<usize>> {
        let main = self.items.len();
        let mut order = Vec::new();
        for read in self.behind(main).into_iter().filter(|read| self.kept.contains(read)) {
            self.before(read, &mut Vec::new(), &mut order)?;
        }
        order.push(main);
        for place in self.kept.iter().rev() {
            self.before(*place, &mut Vec::new(), &mut order)?;
        }
        Ok(order)
    }

    /// The statement, as far as it is compiled, with what is to be described.
    fn asking(self, parsed: &Parsed, statement: &ast::Statement, tag: Tag) -> Prepared {
        let edge = Arc::new(edge(StatementEdge::Begin));
        let parts = StatementParts {
            begin: Arc::clone(&edge),
            parts: Vec::new(),
            end: edge,
            asks: self.asks.clone(),
            descriptions: self.descriptions.to_vec(),
        };
        let mut prepared = Prepared::simple(&parsed.text, Plan::Parts(Arc::new(parts)), tag);
        prepared.writes = true;
        prepared.shareable = false;
        prepared.undescribed = true;
        prepared.mentions = self.mentions(statement);
        prepared
    }

    fn mentions(&self, statement: &ast::Statement) -> CatalogVersions {
        mentions_with(statement, &self.relies_on, &self.types, self.context)
    }

    fn finish(mut self, parsed: &Parsed, statement: &ast::Statement, tag: Tag) -> Result<Prepared> {
        let mut types = Vec::with_capacity(self.types.len());
        for (number, known) in self.types.iter().enumerate() {
            types.push(known.ok_or_else(|| {
                let message = format!("could not determine data type of parameter ${}", number + 1);
                SqlError::new(sqlstate::INDETERMINATE_TYPE, message)
            })?);
        }
        let mut parts = Vec::new();
        for place in self.order_of_running()? {
            parts.extend(self.parts.remove(&place).into_iter().flatten());
        }
        let mut begin = edge(StatementEdge::Begin);
        begin.relies_on = self.relies_on.clone().into();
        let mut references: Vec<ForeignKeyReference> = Vec::new();
        for taker in parts.iter_mut().flat_map(|part| &mut part.takers) {
            let program = Arc::make_mut(&mut taker.program);
            program.parameters = types.clone();
            for reference in program.references.iter() {
                let is_it = |other: &ForeignKeyReference| {
                    other.child.oid == reference.child.oid && other.foreign_key == reference.foreign_key
                };
                if !references.iter().any(is_it) {
                    references.push(reference.clone());
                }
            }
        }
        let end = Program { references: references.into(), ..edge(StatementEdge::End) };
        let descriptions = self.descriptions.to_vec();
        let mentions = self.mentions(statement);
        let parts = StatementParts { begin: Arc::new(begin), parts, end: Arc::new(end), asks: None, descriptions };
        let mut prepared = Prepared::simple(&parsed.text, Plan::Parts(Arc::new(parts)), tag);
        prepared.writes = true;
        prepared.shareable = self.is_shareable;
        prepared.parameters = types;
        prepared.columns = self.main_columns;
        prepared.mentions = mentions;
        Ok(prepared)
    }
}

fn edge(edge: StatementEdge) -> Program {
    Program {
        parameters: Vec::new(),
        actions: vec![Action::Statement(edge)],
        columns: Vec::new(),
        relies_on: Arc::default(),
        read_only: false,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    }
}

fn taker(program: Program, key_types: Vec<Type>) -> Taker {
    Taker { program: Arc::new(program), number: None, key_types, values: None }
}

/// INSERT, UPDATE or DELETE as a program, or as one that a query feeds.
fn compiled(
    compiler: &mut Compiler,
    body: PartSyntax,
    context: &Context,
    fed: Option<&[ResultColumn]>,
) -> Result<std::result::Result<Program, Feed>> {
    let modification = match body {
        PartSyntax::Insert(insert) => {
            match compiler.insert(insert, context.made, fed.map(<[ResultColumn]>::len)).map_err(Stop::into_error)? {
                Insertion::Program(program) => Modification::Program(program),
                Insertion::Feed(feed) => Modification::Feed(feed),
            }
        }
        PartSyntax::Update(update) => compiler.update(update, fed).map_err(Stop::into_error)?,
        PartSyntax::Delete(delete) => compiler.delete(delete, fed).map_err(Stop::into_error)?,
        PartSyntax::Query(_) | PartSyntax::Merge(_) => unreachable!("compiled otherwise"),
    };
    Ok(match modification {
        Modification::Program(program) => Ok(program),
        Modification::Feed(feed) => Err(feed),
    })
}

/// 42P01 for a name of WITH that comes later.
fn not_yet(name: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        .with_detail(format!(
            "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
        ))
        .with_hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
}
