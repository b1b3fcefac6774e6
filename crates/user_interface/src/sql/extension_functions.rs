//! Calls of extensions' functions in statements: which name means one, and what relies on it.
//!
//! Invariant: a statement that calls a function of an extension relies on the extension's row of the catalog, and so does whatever keeps the call.

use crate::sql::expressions::Compiler;
use crate::sql::names;
use messages::Key;
use messages::namespace;
use messages::schema::{CatalogEntry, ExtensionSchema};
use sqlparser::ast::{self, Expr, Ident, ObjectName, TableFactor};
use std::ops::ControlFlow;
use std::sync::Arc;
use values::extensions;

/// Calls in a tree, each by its name and the number of its arguments.
struct CallVisitor<F>(F);

impl<F: FnMut(&ObjectName, usize)> ast::Visitor for CallVisitor<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression {
            let count = match &function.args {
                ast::FunctionArguments::List(list) => list.args.len(),
                _ => 0,
            };
            (self.0)(&function.name, count);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: Some(arguments), .. } => (self.0)(name, arguments.args.len()),
            TableFactor::Function { name, args, .. } => (self.0)(name, args.len()),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The same, to give them other names.
struct CallRenamer<F>(F);

impl<F: FnMut(&mut ObjectName)> ast::VisitorMut for CallRenamer<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expression {
            (self.0)(&mut function.name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(name) = called(factor) {
            (self.0)(name);
        }
        ControlFlow::Continue(())
    }
}

/// The name of a function that is called in FROM.
pub(super) fn called(factor: &mut TableFactor) -> Option<&mut ObjectName> {
    match factor {
        TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => Some(name),
        _ => None,
    }
}

/// Calls `each` with the name of each function that a tree calls.
pub(super) fn each_call<T: ast::Visit>(part: &T, mut each: impl FnMut(&ObjectName)) {
    let _ = ast::Visit::visit(part, &mut CallVisitor(|name: &ObjectName, _: usize| each(name)));
}

/// Whether the last part of a name is that of an extension's function.
pub(super) fn may_be(name: &ObjectName) -> bool {
    names::relation(name).is_ok_and(|known| extensions::provider(&known.name).is_some())
}

/// The name of a call whose names are the catalog's, if an extension that is built in has such functions.
fn own_name(name: &ObjectName) -> Option<String> {
    let known = names::own_relation(name).ok()?;
    is_of_extension(&known).then_some(known)
}

/// Whether a name of the catalog's means functions of an extension, and none of PostgreSQL's own.
fn is_of_extension(name: &str) -> bool {
    let bare = namespace::bare(name);
    extensions::provider(bare).is_some() && (namespace::is_marked(name) || !extensions::is_hidden(bare))
}

/// Catalog rows of the extensions whose functions are called, once each call has the catalog's name.
pub(super) fn extensions_called<T: ast::Visit>(part: &T) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut calls = CallVisitor(|name: &ObjectName, _: usize| {
        let provider = own_name(name).and_then(|name| extensions::provider(namespace::bare(&name)));
        keys.extend(provider.map(|provider| CatalogEntry::extension_key(provider.name)));
    });
    let _ = ast::Visit::visit(part, &mut calls);
    keys.sort();
    keys.dedup();
    keys
}

/// The same of calls as they were written, be they in a schema.
pub(super) fn extensions_written(statement: &ast::Statement) -> Vec<Key> {
    let mut keys = Vec::new();
    each_call(statement, |name| {
        let provider = names::relation(name).ok().and_then(|known| extensions::provider(namespace::bare(&known.name)));
        keys.extend(provider.map(|provider| CatalogEntry::extension_key(provider.name)));
    });
    keys
}

/// The place among an extension's functions of the last one that a tree calls.
pub(super) fn last_called<T: ast::Visit>(part: &T, known: &ExtensionSchema) -> Option<usize> {
    let mut last = None;
    let mut calls = CallVisitor(|name: &ObjectName, count: usize| {
        let Some(name) = own_name(name).filter(|name| namespace::of(name) == known.namespace) else { return };
        let functions = known.functions();
        let named_so = |place: &usize| functions[*place].name == namespace::bare(&name);
        let of_count = |place: &usize| functions[*place].parameters.len() == count;
        let mut all = (0..functions.len()).filter(named_so);
        let first = all.clone().next();
        last = last.max(all.find(of_count).or(first));
    });
    let _ = ast::Visit::visit(part, &mut calls);
    last
}

/// Puts an extension's functions in another schema wherever a tree calls one. True: it calls one.
pub(super) fn move_calls<T: ast::VisitMut>(part: &mut T, known: &ExtensionSchema, to: u32) -> bool {
    let mut is_changed = false;
    let mut calls = CallRenamer(|name: &mut ObjectName| {
        let Some(own) = own_name(name).filter(|own| namespace::of(own) == known.namespace) else { return };
        let bare = namespace::bare(&own);
        if known.functions().iter().any(|function| function.name == bare) {
            *name = ObjectName::from(vec![written(&namespace::within(bare, to))]);
            is_changed = true;
        }
    });
    let _ = ast::VisitMut::visit(part, &mut calls);
    is_changed
}

/// A function's name of the catalog's, as an identifier.
pub(super) fn written(name: &str) -> Ident {
    match namespace::is_marked(name) {
        true => Ident::with_quote('"', name),
        false => Ident::new(name),
    }
}

/// What the name of a call means.
pub(super) enum CalledName {
    /// A function that needs no extension.
    BuiltIn,
    /// One of an extension that was created, by its bare name.
    OfExtension(String),
    /// One of an extension that was not.
    Missing,
}

impl Compiler<'_> {
    /// What the name of a call means, and the extension on which it relies.
    pub(super) fn called(&mut self, name: &str) -> CalledName {
        if !is_of_extension(name) {
            return CalledName::BuiltIn;
        }
        let Some((known, version)) = self.catalog.extension_of(name) else { return CalledName::Missing };
        let relied = (CatalogEntry::extension_key(&known.name), *version);
        // What the transaction has made itself has no version.
        if relied.1 != messages::Timestamp::ZERO && !self.relies_on.contains(&relied) {
            self.relies_on.push(relied);
        }
        CalledName::OfExtension(namespace::bare(name).to_owned())
    }
}

/// An extension's function as messages name it: its schema, if it has to be told, and the types of its arguments.
pub(super) fn described(known: &Arc<ExtensionSchema>, place: usize, schema: Option<&str>) -> String {
    let function = &known.functions()[place];
    let name_of =
        |oid: &u32| values::Type::from_oid(*oid).map_or_else(|| "record".to_owned(), |known| known.to_string());
    let types: Vec<String> = function.parameters.iter().map(name_of).collect();
    let schema = schema.map(|schema| format!("{}.", names::quote(schema))).unwrap_or_default();
    format!("{schema}{}({})", function.name, types.join(","))
}
