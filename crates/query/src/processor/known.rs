//! Plans that were kept.
//!
//! Invariant: a plan is used only while what it names is defined as it was, and tables have about the sizes that it was made for.

use super::{Computation, Planned, Prepared, Processor, Question};
use messages::query::SessionFacts;
use messages::schema::Catalog;
use std::sync::Arc;
use values::Type;

impl Processor {
    /// The plan that was kept of a query, if that is ready to run without further planning.
    pub fn known(
        &self,
        catalog: &Catalog,
        session: &Arc<SessionFacts>,
        sql: &Arc<str>,
        parameters: &[Option<Type>],
    ) -> Option<Prepared> {
        let planned = self.kept_of(&self.question(catalog, session, sql, parameters), catalog)?;
        let is_ready = matches!(planned.plan, Computation::Typed(_));
        is_ready.then(|| Prepared { planned, session: Arc::clone(session) })
    }

    pub(super) fn question(
        &self,
        catalog: &Catalog,
        session: &SessionFacts,
        sql: &Arc<str>,
        parameters: &[Option<Type>],
    ) -> Question {
        let zones = [session.zone.clone(), session.constants_zone.clone()];
        Question {
            sql: Arc::clone(sql),
            parameters: parameters.to_vec(),
            engine: self.engine_of(session),
            zones,
            database: catalog.database,
        }
    }

    pub(super) fn kept_of(&self, question: &Question, catalog: &Catalog) -> Option<Arc<Planned>> {
        self.plans.get(question).filter(|known| known.holds_in(catalog) && known.fits_sizes())
    }
}
