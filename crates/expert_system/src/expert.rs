//! When advice is followed.
//!
//! Another method is taken when it has been believed in by `MARGIN_MIN` more than the present one in `WINDOWS_WANTED` windows one after another, and the
//! pause since the last switch is over. It is then on *probation*: if a commit costs more of the servers' time than before, at a like load, or if the
//! transactions of some length hardly commit any more, the one before it comes back, the rules that led there count half for an hour, and the pause
//! doubles. So rules that are wrong for a load cost little, and less each time.
//!
//! Invariants: no hour has more than `SWITCHES_PER_HOUR_MAX` switches, whatever is found: a switch is done only if the way back has room, too. What
//! somebody else switches ends all plans. The same windows lead to the same decisions.

use crate::advice::Advice;
use crate::fact::{Fact, Findings};
use crate::limits::{
    ALIKE_FACTOR, ALIKE_READS, CLASS_TRIES_MIN, COST_PER_MILLE_MAX, DISTRUST_TIME, HOUR, MARGIN_MIN, MIDDLE_MAX,
    PAUSE_MAX, PAUSE_MIN, PROBATION_WINDOWS, SHORT_MAX, SWITCHES_PER_HOUR_MAX, TRIES_PER_COMMIT_MAX, WINDOWS_BEFORE,
    WINDOWS_WANTED,
};
use crate::rule_book::RuleBook;
use messages::method::Method;
use messages::planted;
use messages::planted::Planted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What came of a window's transactions, by their length: short, middle-sized, long. See [`class_of`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowOutcome {
    /// Time that they were open without their clients thinking, in nanoseconds; tries that came to nothing, too.
    pub server_time: u64,
    /// Tries that ended.
    pub tries: [u64; 3],
    /// Of them, those that committed.
    pub commits: [u64; 3],
}

/// How the lengths of [`WindowOutcome`] are called.
const CLASSES: [&str; 3] = ["short", "middle-sized", "long"];

/// To which of them a transaction of so many accesses belongs. One that reads a range is not short, and one whose client thinks is long: others have time
/// to come between.
pub fn class_of(accesses: u64, reads_range: bool, thinks: bool) -> usize {
    let by_accesses = usize::from(accesses > SHORT_MAX) + usize::from(accesses > MIDDLE_MAX);
    if thinks { 2 } else { by_accesses.max(usize::from(reads_range)) }
}

impl WindowOutcome {
    fn add(&mut self, other: &WindowOutcome) {
        self.server_time += other.server_time;
        for class in 0..CLASSES.len() {
            self.tries[class] += other.tries[class];
            self.commits[class] += other.commits[class];
        }
    }

    /// Servers' time of a commit; `None`: nothing has committed.
    fn cost(&self) -> Option<u64> {
        let commits: u64 = self.commits.iter().sum();
        self.server_time.checked_div(commits)
    }

    fn starves(&self, class: usize) -> bool {
        let (tries, commits) = (self.tries[class], self.commits[class]);
        tries >= CLASS_TRIES_MIN && commits.saturating_mul(TRIES_PER_COMMIT_MAX) < tries
    }
}

/// One window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadWindow {
    /// Accesses in it: how much the facts count.
    pub accesses: u64,
    /// The facts.
    pub findings: Findings,
    /// What came of it.
    pub outcome: WindowOutcome,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Stay,
    /// Go over to another method.
    Switch {
        /// To which.
        to: Method,
        /// Why.
        because: String,
    },
    /// Go back to the method before: the present one has not stood its probation.
    Return {
        /// To which.
        to: Method,
        /// Why.
        because: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Probation {
    from: Method,
    /// The rules that spoke for it.
    rules: Vec<String>,
    before: Vec<LoadWindow>,
    windows: u32,
}

/// The expert of a site.
#[derive(Debug, Serialize, Deserialize)]
pub struct Expert {
    book: Arc<RuleBook>,
    /// Rules that have led astray, and until when they count half.
    distrusted: BTreeMap<String, u64>,
    advice: Option<Advice>,
    /// The last window.
    window: LoadWindow,
    in_force: Option<Method>,
    /// What ran under it lately.
    recent: VecDeque<LoadWindow>,
    /// The method that is wanted instead, and in how many windows it was.
    wish: Option<(Method, u32)>,
    probation: Option<Probation>,
    pause: u64,
    /// Until when nothing is switched.
    paused_until: u64,
    /// When it switched, in the last hour.
    switches: VecDeque<u64>,
    planted: Planted,
}

impl Expert {
    /// It knows nothing of any load.
    pub fn new(book: Arc<RuleBook>, planted: Planted) -> Expert {
        Expert {
            book,
            distrusted: BTreeMap::new(),
            advice: None,
            window: LoadWindow::default(),
            in_force: None,
            recent: VecDeque::new(),
            wish: None,
            probation: None,
            pause: PAUSE_MIN,
            paused_until: 0,
            switches: VecDeque::new(),
            planted,
        }
    }

    /// What it said of the last window; `None`: there was none.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// The last window.
    pub fn window(&self) -> &LoadWindow {
        &self.window
    }

    /// Whether the method in force is on probation.
    pub fn is_on_probation(&self) -> bool {
        self.probation.is_some()
    }

    /// A window is over, at this time (nanoseconds of a clock that never jumps), under this method. If it is to act, it may decide on another; then it
    /// takes for done what it has decided.
    pub fn observe(&mut self, now: u64, method: Method, acts: bool, window: LoadWindow) -> Decision {
        if self.in_force != Some(method) {
            // Somebody else has switched: what was planned, and what was measured, says nothing of this method.
            self.is_in_force(method);
            self.probation = None;
        }
        self.distrusted.retain(|_, until| now < *until);
        let distrusted = &self.distrusted;
        let is_distrusted = |rule: &str| distrusted.contains_key(rule);
        let advice = Advice::of(&self.book, &window.findings, window.accesses, is_distrusted);
        self.window = window;
        let decision = match (acts, self.probation.take()) {
            (false, _) => {
                self.wish = None;
                Decision::Stay
            }
            (true, Some(probation)) => self.judges(now, probation, &window),
            (true, None) => self.considers(now, method, &advice),
        };
        match &decision {
            Decision::Stay => {
                self.recent.push_back(window);
                if self.recent.len() > WINDOWS_BEFORE {
                    self.recent.pop_front();
                }
            }
            Decision::Switch { to, .. } | Decision::Return { to, .. } => {
                self.is_in_force(*to);
                self.switches.push_back(now);
                self.paused_until = now.saturating_add(self.pause);
            }
        }
        self.advice = Some(advice);
        decision
    }

    fn is_in_force(&mut self, method: Method) {
        self.in_force = Some(method);
        self.recent.clear();
        self.wish = None;
    }

    /// Whether there is room for a switch and for its way back.
    fn may_switch(&mut self, now: u64) -> bool {
        while self.switches.front().is_some_and(|at| at.saturating_add(HOUR) <= now) {
            self.switches.pop_front();
        }
        let is_free = now >= self.paused_until && self.switches.len() + 2 <= SWITCHES_PER_HOUR_MAX;
        is_free || planted!(self.planted, ExpertWithoutPause)
    }

    /// Nothing is on probation: whether another method has been wanted for long enough.
    fn considers(&mut self, now: u64, method: Method, advice: &Advice) -> Decision {
        let best = advice.best(method);
        let margin = advice.belief(best) - advice.belief(method);
        if best == method || margin < MARGIN_MIN {
            self.wish = None;
            return Decision::Stay;
        }
        let windows = match self.wish {
            Some((wished, windows)) if wished == best => windows.saturating_add(1),
            _ => 1,
        };
        self.wish = Some((best, windows));
        if windows < WINDOWS_WANTED || !self.may_switch(now) {
            return Decision::Stay;
        }
        let fired = |method: Method| advice.of_method(method).into_iter().flat_map(|opinion| &opinion.firings);
        let spoke_for = fired(best).filter(|firing| firing.certainty > 0);
        let spoke_against = fired(method).filter(|firing| firing.certainty < 0);
        let led: Vec<_> = spoke_for.chain(spoke_against).collect();
        let because = led.iter().max_by_key(|firing| firing.certainty.abs()).map(|firing| firing.because.clone());
        self.probation = Some(Probation {
            from: method,
            rules: led.into_iter().map(|firing| firing.rule.clone()).collect(),
            before: self.recent.iter().copied().collect(),
            windows: 0,
        });
        Decision::Switch { to: best, because: because.unwrap_or_default() }
    }

    /// A method is on probation.
    fn judges(&mut self, now: u64, mut probation: Probation, window: &LoadWindow) -> Decision {
        // Nothing is known of a method under which hardly anything has run.
        if window.outcome.tries.iter().sum::<u64>() < CLASS_TRIES_MIN {
            self.probation = Some(probation);
            return Decision::Stay;
        }
        probation.windows += 1;
        let is_over = probation.windows >= PROBATION_WINDOWS;
        let comparison = compare(&probation.before, window);
        let dearer = match &comparison {
            Comparison::Dearer(because) if is_over => Some(because.clone()),
            _ => None,
        };
        let fault =
            starving(&probation.before, window).or(dearer).filter(|_| !planted!(self.planted, ProbationIgnored));
        if let Some(because) = fault {
            let until = now.saturating_add(DISTRUST_TIME);
            self.distrusted.extend(probation.rules.into_iter().map(|rule| (rule, until)));
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            return Decision::Return { to: probation.from, because };
        }
        match (is_over, comparison) {
            (true, Comparison::NotDearer) => self.pause = PAUSE_MIN,
            (true, _) => {}
            (false, _) => self.probation = Some(probation),
        }
        Decision::Stay
    }
}

fn sum(windows: &[LoadWindow]) -> WindowOutcome {
    let mut sum = WindowOutcome::default();
    windows.iter().for_each(|window| sum.add(&window.outcome));
    sum
}

/// Transactions of some length commit in less than one try in ten, and did not so before.
fn starving(before: &[LoadWindow], window: &LoadWindow) -> Option<String> {
    let before = sum(before);
    let class = (0..CLASSES.len()).find(|class| window.outcome.starves(*class) && !before.starves(*class))?;
    let (tries, commits) = (window.outcome.tries[class], window.outcome.commits[class]);
    Some(format!("of {tries} {} transactions {commits} committed.", CLASSES[class]))
}

/// What commits cost, beside what they cost before.
enum Comparison {
    /// More, and in words how much.
    Dearer(String),
    /// Not more.
    NotDearer,
    /// The load is another.
    Unlike,
}

fn compare(before: &[LoadWindow], window: &LoadWindow) -> Comparison {
    let (Some(cost_before), Some(last)) = (sum(before).cost(), before.last()) else { return Comparison::Unlike };
    let tries: u64 = window.outcome.tries.iter().sum();
    let Some(cost) = window.outcome.cost() else {
        return Comparison::Dearer(format!("of {tries} transactions none committed."));
    };
    let pair = |fact: Fact| (last.findings.get(fact), window.findings.get(fact));
    let ((length_before, length), (reads_before, reads)) = (pair(Fact::Length), pair(Fact::Reads));
    let is_alike = length < length_before.max(1) * ALIKE_FACTOR
        && length_before < length.max(1) * ALIKE_FACTOR
        && reads.abs_diff(reads_before) < ALIKE_READS;
    let is_dearer = u128::from(cost) * 1_000 > u128::from(cost_before) * u128::from(COST_PER_MILLE_MAX);
    let micros = |cost: u64| cost / 1_000;
    match (is_alike, is_dearer) {
        (false, _) => Comparison::Unlike,
        (true, false) => Comparison::NotDearer,
        (true, true) => Comparison::Dearer(format!(
            "a commit took {} us of the servers, and {} us before.",
            micros(cost),
            micros(cost_before)
        )),
    }
}
