//! Errors that the catalog gave, and columns to be described: they are told once the catalog is known to be what it is everywhere.
//!
//! A schema change that another site has committed and answered may not have come here yet, and a returning site may lack rows of the
//! catalog. A statement that can be compiled has the versions of its tables checked where it runs. One that cannot has them checked here, by a
//! program that does nothing else; if they have changed, the statement is compiled again.
//!
//! Invariant: nothing of the statement has been done or told.

use crate::errors::{Result, sqlstate};
use crate::limits::DOUBTS_MAX;
use crate::session::execution::relying_program;
use crate::session::state::{Again, Block, Confirmed, Cycle, Doubt, Execution, Work};
use crate::session::turn::Turn;
use crate::sql::lookup::NameLookup;
use crate::sql::mentioned::mentioned;
use crate::sql::parse::Statement;
use crate::sql::prepared::{Plan, Prepared, Tag};
use messages::Key;
use messages::schema::CatalogVersions;
use std::sync::Arc;

/// Whether the catalog decides an error: those of the class "syntax error or access rule violation", which are about names and types, and a schema that is not
/// there.
fn is_by_catalog(code: &str) -> bool {
    code.starts_with("42") || code == sqlstate::UNDEFINED_SCHEMA
}

impl Turn<'_> {
    /// Catalog rows of what a statement mentions.
    pub fn mentioned(&mut self, statement: &Statement) -> Vec<Key> {
        let catalog = self.catalog();
        self.with_facts(|facts| mentioned(statement, &NameLookup::new(&catalog, facts)))
    }

    /// The versions of these catalog rows, as this site knows them now.
    pub fn relied(&self, mentioned: Vec<Key>) -> CatalogVersions {
        let catalog = self.committed();
        let relied = |key: Key| {
            let version = catalog.version_of(&key);
            (key, version)
        };
        mentioned.into_iter().map(relied).collect()
    }

    /// Tells the client, unless the relations that the statement mentions are not what it was compiled with.
    pub fn doubt(&mut self, confirmed: Confirmed, relied: CatalogVersions, again: Again) {
        let own = self.session.overlay.keys();
        let relies_on: Arc<[_]> = relied.iter().filter(|(key, _)| !own.contains(key)).cloned().collect();
        let by_catalog = match &confirmed {
            Confirmed::Error(error) => is_by_catalog(&error.sqlstate),
            Confirmed::Parsed(..) | Confirmed::Login | Confirmed::Becomes(..) => true,
        };
        let told = !by_catalog
            || relies_on.is_empty()
            || self.session.block == Block::Failed
            || self.session.doubts >= DOUBTS_MAX;
        if told {
            return self.confirmed(confirmed);
        }
        self.session.doubts += 1;
        let plan = Plan::Program(relying_program(&relies_on));
        let mut execution = Execution::new(Arc::new(Prepared::simple(&Arc::from(""), plan, Tag::Plain(""))));
        execution.doubt = Some(Box::new(Doubt { confirmed, again }));
        if let Err(error) = self.enter(execution) {
            self.fail(&error);
        }
    }

    /// The catalog is what it was.
    pub fn confirmed(&mut self, confirmed: Confirmed) {
        match confirmed {
            Confirmed::Error(error) => self.fail(&error),
            Confirmed::Login => self.login_confirmed(true),
            Confirmed::Becomes(change, tag) => match self.become_role(&change) {
                Ok(()) => {
                    self.session.work = Work::Idle;
                    self.finish_statement(tag);
                }
                Err(error) => self.fail(&error),
            },
            Confirmed::Parsed(name, prepared) => self.parsed(name, Some(prepared)),
        }
    }

    /// The catalog has changed: the statement is compiled once more.
    pub fn again(&mut self, again: Again) -> Result<()> {
        match again {
            Again::Login => {
                self.login_confirmed(false);
                Ok(())
            }
            Again::Becomes(execution) => self.start(execution),
            Again::Simple(parsed) => {
                if let Cycle::Simple(_, statements) = &mut self.session.cycle {
                    statements.push_front(parsed);
                }
                Ok(())
            }
            Again::Routine => {
                self.run_asked();
                Ok(())
            }
            Again::Parse { name, sql, language, types, told } => self.parse_in(&name, &sql, language, &types, told),
            Again::Statement(execution) => {
                self.recompile(execution);
                Ok(())
            }
        }
    }
}
