//! What an expert makes of a site's load, and when that is done.
//!
//! Invariant: every window of evidence is judged, so that advice is there to be read; a method is switched for it only where `auto` is set, by the way
//! that is set.

use crate::ConcurrencyController;
use expert_system::{Decision, Fact};
use messages::method::{AdviceReason, LoadFact, MethodAdvice, SwitchedBy};
use messages::{Now, Outbox, reached};

impl ConcurrencyController {
    /// Time has passed: a window may be over.
    pub(crate) fn takes_advice(&mut self, now: Now, outbox: &mut Outbox) {
        let Some(window) = self.evidence.passes(now.boot) else { return };
        let acts = self.setting.is_automatic();
        let (by, to, because) = match self.expert.observe(now.boot, self.method(), acts, window) {
            Decision::Stay => return,
            Decision::Switch { to, because } => (SwitchedBy::Expert, to, because),
            Decision::Return { to, because } => (SwitchedBy::Probation, to, because),
        };
        reached!("switched-by-itself");
        self.switch_for((by, because), now, to, self.setting.way(), outbox);
    }

    /// What is thought of each method by the last window, the best first.
    pub(crate) fn advice(&self) -> Vec<MethodAdvice> {
        let opinions = self.expert.advice().into_iter().flat_map(|advice| &advice.opinions);
        let mut told: Vec<MethodAdvice> = opinions
            .map(|opinion| MethodAdvice {
                method: opinion.method,
                belief: opinion.belief,
                reasons: (opinion.firings.iter())
                    .map(|firing| AdviceReason {
                        rule: firing.rule.clone(),
                        certainty: firing.certainty,
                        because: firing.because.clone(),
                    })
                    .collect(),
            })
            .collect();
        told.sort_by_key(|advice| std::cmp::Reverse(advice.belief));
        told
    }

    /// What the last window was like.
    pub(crate) fn facts(&self) -> Vec<LoadFact> {
        if self.expert.advice().is_none() {
            return Vec::new();
        }
        let window = self.expert.window();
        let fact = |fact: Fact| LoadFact {
            name: fact.name().into(),
            value: window.findings.get(fact),
            meaning: fact.meaning().into(),
        };
        let accesses = LoadFact {
            name: "accesses".into(),
            value: window.accesses,
            meaning: "accesses in the last ten seconds: how much the others count".into(),
        };
        std::iter::once(accesses).chain(Fact::ALL.into_iter().map(fact)).collect()
    }
}
