//! The rules of the tree: each fires on facts that are made for it, and loads get the method that suits them.

use expert_system::rule_book::Comparator;
use expert_system::{Advice, ExpertRule, Fact, Findings, RuleBook};
use messages::method::Method;

const VERY_MANY: u64 = 10_000_000;

/// Facts of which each condition of a rule just holds.
fn made_for(rule: &ExpertRule) -> Findings {
    let mut findings = Findings::default();
    for condition in &rule.when {
        let value = match condition.operator {
            Comparator::AtMost | Comparator::AtLeast => condition.operand,
            Comparator::Below => condition.operand - 1,
            Comparator::Above => condition.operand + 1,
        };
        findings.set(condition.fact, value);
    }
    findings
}

/// If this fails, a rule of the tree is never heard, or one is heard although a condition of it does not hold.
#[test]
fn each_rule_fires_on_facts_that_are_made_for_it_and_not_a_step_beside() {
    let book = RuleBook::standard();
    for rule in book.rules() {
        let findings = made_for(rule);
        assert!(rule.fires(&findings), "{}", rule.name);
        for condition in &rule.when {
            let value = findings.get(condition.fact);
            let beside = match condition.operator {
                Comparator::AtMost | Comparator::Below => value + 1,
                Comparator::AtLeast | Comparator::Above => value.saturating_sub(1),
            };
            let is_single = rule.when.iter().filter(|other| other.fact == condition.fact).count() == 1;
            assert!(is_single, "{}: {} is compared twice", rule.name, condition.fact.name());
            assert!(!rule.fires(&findings.with(condition.fact, beside)), "{}: {condition:?}", rule.name);
        }
        let advice = Advice::of(&book, &findings, VERY_MANY, |_| false);
        let fired = &advice.of_method(rule.method).expect("of all methods").firings;
        assert!(fired.iter().any(|firing| firing.rule == rule.name && firing.because == rule.because));
    }
}

/// If this fails, a site is advised to run what the documentation says is wrong for its load, or leaves the default for nothing.
#[test]
fn loads_get_the_method_that_suits_them() {
    let load = |facts: &[(Fact, u64)]| {
        let findings = facts.iter().fold(Findings::default(), |findings, (fact, value)| findings.with(*fact, *value));
        Advice::of(&RuleBook::standard(), &findings, VERY_MANY, |_| false)
    };
    let short = [(Fact::OneShot, 1_000), (Fact::Length, 2), (Fact::Together, 4_000)];
    let with = |more: &[(Fact, u64)]| [&short[..], more].concat();
    let chosen = |advice: &Advice| {
        let best = advice.best(Method::Locking);
        if advice.belief(best) - advice.belief(Method::Locking) >= 250 { best } else { Method::Locking }
    };
    let loads = [
        ("nothing at all", vec![], Method::Locking),
        ("short ones that never meet", with(&[(Fact::Near, 1), (Fact::Reads, 500)]), Method::Locking),
        ("a hot row", with(&[(Fact::Near, 800), (Fact::Hot, 1_000)]), Method::Serial),
        ("a hot counter", with(&[(Fact::Near, 800), (Fact::Hot, 1_000), (Fact::Increments, 900)]), Method::Locking),
        (
            "read, then write a hot row",
            vec![
                (Fact::Near, 600),
                (Fact::Hot, 1_000),
                (Fact::ReadThenWrite, 900),
                (Fact::Reads, 500),
                (Fact::Length, 2),
            ],
            Method::SimpleLocking,
        ),
        (
            "thinkers beside small writers",
            vec![(Fact::Thinking, 600), (Fact::Near, 60), (Fact::Together, 8_000), (Fact::Reads, 400)],
            Method::Optimistic,
        ),
        (
            "rows in all orders",
            vec![(Fact::Near, 150), (Fact::Crossing, 200), (Fact::Hot, 100), (Fact::Length, 6), (Fact::OneShot, 1_000)],
            Method::Timestamp,
        ),
        (
            "scans beside updates",
            vec![
                (Fact::Near, 100),
                (Fact::Reads, 950),
                (Fact::Ranges, 500),
                (Fact::Length, 5),
                (Fact::Together, 6_000),
            ],
            Method::Locking,
        ),
    ];
    for (name, facts, wanted) in loads {
        let advice = load(&facts);
        let beliefs = Method::ALL.map(|method| (method.name(), advice.belief(method)));
        assert_eq!(chosen(&advice), wanted, "{name}: {beliefs:?}");
    }
}

/// If this fails, rules against each other do not cancel, many weak ones pass certainty, or few accesses count as much as many.
#[test]
fn belief_adds_up_cancels_and_needs_accesses() {
    let rule = |name: &str, certainty: i64| {
        format!(
            "[[rule]]\nname = \"{name}\"\nwhen = []\nmethod = \"serial\"\ncertainty = {certainty}\nbecause = \"So.\"\n"
        )
    };
    let belief = |rules: &[i64], accesses: u64| {
        let text: String = rules.iter().enumerate().map(|(place, one)| rule(&format!("r{place}"), *one)).collect();
        let book = RuleBook::parse(&text).expect("it is a book");
        Advice::of(&book, &Findings::default(), accesses, |_| false).belief(Method::Serial)
    };
    assert_eq!(belief(&[600, -600], u64::MAX), 0);
    assert_eq!(belief(&[500, 500], VERY_MANY * 1_000), 748);
    assert!((900..=1_000).contains(&belief(&[300; 40], VERY_MANY)));
    assert!((-1_000..=-900).contains(&belief(&[-300; 40], VERY_MANY)));
    assert_eq!(belief(&[1_000], 0), 0);
    assert_eq!(belief(&[1_000], 1_000), 500);
}
