//! Domains: values of one have the type that it is over, and the executor knows no other. What a domain asks of its values is looked at where something is cast to it.
//!
//! Invariant: once a statement is planned nothing in it has a domain's type, but each cast to one names it.

use super::catalog::SnapshotCatalog;
use super::routines::{RoutineRefusal, meaning};
use analyzer::tree::Node;
use analyzer::types::{BOOL, NO_MODIFIER};
use analyzer::{AnalysisError, Analyzed, Routine, RoutineForm, TypeId, Typed};
use executor::DomainMeaning;
use std::collections::BTreeMap;

/// What conditions call the value.
const VALUE: &str = "value";

/// The domains that statements and functions cast to.
pub(super) type CastDomains = BTreeMap<TypeId, DomainMeaning>;

/// Gives everything in a tree that has a domain's type that which the domain is over. Errors: 0A000.
pub(super) fn strip(analyzed: &mut Analyzed, names: &SnapshotCatalog<'_>) -> Result<(), AnalysisError> {
    match names.has_domains() {
        true => analyzed.forget_domains(names),
        false => Ok(()),
    }
}

/// Whether something is cast to a domain.
pub(super) fn is_cast(analyzed: &Analyzed) -> bool {
    analyzed.tree.expressions.iter().any(|expression| matches!(expression.node, Node::Domain { .. }))
}

/// Adds the domains that a tree casts to.
pub(super) fn add(
    analyzed: &Analyzed,
    names: &SnapshotCatalog<'_>,
    known: &mut CastDomains,
) -> Result<(), RoutineRefusal> {
    for expression in &analyzed.tree.expressions {
        let Node::Domain { domain, .. } = expression.node else { continue };
        if known.contains_key(&domain) {
            continue;
        }
        let Some(rules) = names.domain(domain) else { continue };
        let catalog: &dyn analyzer::Catalog = names;
        let base = catalog.held(Typed { id: domain, modifier: NO_MODIFIER, ..expression.typed });
        let boolean = Typed { id: BOOL, modifier: NO_MODIFIER, collation: Default::default() };
        let mut conditions = Vec::with_capacity(rules.conditions.len());
        for condition in &rules.conditions {
            let parameters = vec![(VALUE, base)];
            let routine = Routine { name: "", parameters, result: vec![boolean], form: RoutineForm::Default };
            let analyzed = meaning(names, &format!("SELECT {}", condition.text), &routine)?;
            conditions.push((analyzed, rules.violation_message(&condition.name)));
        }
        let null = rules.not_null.then(|| rules.null_message());
        known.insert(domain, DomainMeaning { null, conditions });
    }
    Ok(())
}
