//! A run: case after case, until so many statements, or the time, or the differences that are wanted are reached.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::{Duration, Instant};

use crate::case::{Action, Case};
use crate::checks::{self, Check};
use crate::judge::{self, Difference, Verdict};
use crate::known::{self, Known};
use crate::limits::{CHECKS, PROGRESS_INTERVAL};
use crate::minimise::Minimiser;
use crate::random::Random;
use crate::report::{self, Finding, Outcome, Summary};
use crate::stage::{Noted, Stage};
use crate::tree::Node;
use crate::wire::{Answer, Endpoint};

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides everything.
    pub seed: u64,
    /// The number of the first case.
    pub first: u64,
    /// End after so many cases.
    pub cases: Option<u64>,
    /// End after so many statements.
    pub statements: u64,
    /// End after this time.
    pub time: Duration,
    /// End after so many different findings.
    pub findings: usize,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A system cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// What is told cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Differences that are not listed, each kind once.
    pub findings: Vec<Finding>,
    /// The counts, in one line.
    pub line: String,
}

/// Runs.
pub struct Runner<'a> {
    options: &'a Options,
    raid: Stage,
    postgres: Option<Stage>,
    known: Vec<Known>,
    summary: Summary,
    findings: Vec<Finding>,
    /// How often each kind of difference was met, by its shape.
    seen: BTreeMap<String, u64>,
    out: &'a mut dyn Write,
}

/// A difference at a step of a case.
struct Met {
    step: Option<usize>,
    difference: Difference,
    raid: Answer,
    postgres: Answer,
}

impl<'a> Runner<'a> {
    /// Connects.
    ///
    /// # Errors
    /// A system cannot be reached.
    pub fn new(
        options: &'a Options,
        raid: &Endpoint,
        postgres: Option<&Endpoint>,
        out: &'a mut dyn Write,
    ) -> Result<Runner<'a>, RunError> {
        let open = |endpoint: &Endpoint| Stage::open(endpoint).map_err(RunError::Unreachable);
        Ok(Runner {
            options,
            raid: open(raid)?,
            postgres: postgres.map(open).transpose()?,
            known: known::list(),
            summary: Summary::default(),
            findings: Vec::new(),
            seen: BTreeMap::new(),
            out,
        })
    }

    /// Runs to the end, or until `stop` says so.
    ///
    /// # Errors
    /// A system does not come back, or nothing can be written.
    pub fn run(mut self, stop: &dyn Fn() -> bool) -> Result<Outcomes, RunError> {
        let begin = Instant::now();
        let mut told = begin;
        let mut number = self.options.first;
        let is_last = |number: u64| self.options.cases.is_some_and(|cases| number >= self.options.first + cases);
        while !is_last(number) && !stop() {
            let over = self.summary.statements >= self.options.statements || begin.elapsed() >= self.options.time;
            if over || self.findings.len() >= self.options.findings {
                break;
            }
            // Beside PostgreSQL checks are a small part: they find little that a comparison does not.
            if self.postgres.is_some() && number % 8 != 7 {
                self.compare(number)?;
            } else {
                self.check(number)?;
            }
            number += 1;
            if told.elapsed() >= PROGRESS_INTERVAL {
                told = Instant::now();
                writeln!(self.out, "{} s, {number} cases, {}", begin.elapsed().as_secs(), self.summary.line())?;
                self.out.flush()?;
            }
        }
        writeln!(self.out, "\n{}\n{}", self.summary.table(), self.summary.line())?;
        Ok(Outcomes { line: self.summary.line(), findings: self.findings })
    }

    /// Asks Raid alone.
    fn check(&mut self, number: u64) -> Result<(), RunError> {
        let mut random = Random::of_case(self.options.seed, number);
        let tables = Check::draw_tables(&mut random);
        for _ in 0..CHECKS {
            let check = Check::draw(&mut random, &tables);
            let mut features = check.features.clone();
            features.insert(check.kind.name());
            let found = check.run(&mut self.raid);
            let outcome = match &found {
                checks::Finding::Same => Outcome::Same,
                checks::Finding::Refused(code, message) => {
                    self.summary.unsupported(&format!("{code} {message}"));
                    Outcome::Unsupported
                }
                checks::Finding::Violated(_) | checks::Finding::Broken(_) => self.violated(check, number, &found)?,
            };
            self.summary.count(&features, outcome);
        }
        Ok(())
    }

    /// Makes a check that failed small and tells it.
    fn violated(&mut self, check: Check, number: u64, found: &checks::Finding) -> Result<Outcome, RunError> {
        let difference = check.kind.name().to_string();
        let is_broken = matches!(found, checks::Finding::Broken(_));
        let back = |stage: &mut Stage, found: &checks::Finding| {
            if stage.is_back() {
                Ok(())
            } else {
                Err(RunError::Unreachable(format!("Raid does not come back after: {found:?}")))
            }
        };
        back(&mut self.raid, found)?;
        let (raid, mut failure) = (&mut self.raid, None);
        let mut fails = |check: &Check| {
            let found = check.run(raid);
            if let Err(error) = back(raid, &found) {
                failure = Some(error);
            }
            match found {
                checks::Finding::Violated(_) => !is_broken,
                checks::Finding::Broken(_) => is_broken,
                checks::Finding::Same | checks::Finding::Refused(..) => false,
            }
        };
        let small = Minimiser::run(check, &mut fails);
        if let Some(error) = failure {
            return Err(error);
        }
        let again = small.run(&mut self.raid);
        back(&mut self.raid, &again)?;
        let (alone, log) = match (again, found) {
            (checks::Finding::Violated(log) | checks::Finding::Broken(log), _) => (true, log),
            (_, checks::Finding::Violated(log) | checks::Finding::Broken(log)) => (false, log.clone()),
            _ => (false, String::new()),
        };
        let script = report::tables(&small.tables);
        let text = format!("{script}{log}");
        if self.is_known(&difference, &text, "", true) {
            return Ok(Outcome::Known);
        }
        let statements: Vec<String> = small.nodes.iter().map(Node::sql).collect();
        let times = self.seen.entry(report::shape(&format!("{difference} {}", statements.join(" ")))).or_default();
        *times += 1;
        if *times == 1 {
            let finding = Finding { difference, script, message: String::new(), answers: log, case: number };
            self.tell(&finding, alone)?;
            self.findings.push(finding);
        }
        Ok(Outcome::Different)
    }

    /// Plays a case on both systems.
    fn compare(&mut self, number: u64) -> Result<(), RunError> {
        let case = Case::draw(self.options.seed, number);
        let Some(met) = self.play(&case, true)? else { return Ok(()) };
        for met in met {
            self.found(&case, number, met)?;
        }
        Ok(())
    }

    /// All differences of a case. Counts them if asked to.
    fn play(&mut self, case: &Case, counts: bool) -> Result<Option<Vec<Met>>, RunError> {
        let Some(postgres) = &mut self.postgres else { return Ok(None) };
        let (ours, theirs) = (self.raid.play(case), postgres.play(case));
        let mut found = Vec::new();
        let mut unprepared = BTreeSet::new();
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            let name = name_of(case, &ours);
            if name.as_ref().is_some_and(|name| unprepared.contains(name)) {
                continue;
            }
            if !ours.answer.is_done() || !theirs.answer.is_done() {
                unprepared.extend(prepared_by(case, &ours));
            }
            let verdict = judge::compare(&ours.answer, &theirs.answer, &ours.keys, &text_of(case, &ours));
            let features = ours.step.map(|step| case.steps[step].features.clone()).unwrap_or_default();
            let outcome = match &verdict {
                Verdict::Same if ours.answer.is_done() => Outcome::Same,
                Verdict::Same => Outcome::Refused,
                Verdict::Unsupported => Outcome::Unsupported,
                Verdict::Unknown => Outcome::Unknown,
                Verdict::Differ(_) => Outcome::Different,
            };
            if let (true, Verdict::Unsupported, Answer::Refused(refusal)) = (counts, &verdict, &ours.answer) {
                self.summary.unsupported(&refusal.message);
            }
            // A difference is counted when it is known whether it is listed.
            if counts && outcome != Outcome::Different {
                self.summary.count(&features, outcome);
            }
            let changes = is_change(case, &ours) && verdict != Verdict::Same;
            if let Verdict::Differ(difference) = verdict {
                found.push(Met { step: ours.step, difference, raid: ours.answer, postgres: theirs.answer });
            }
            // The tables differ from here on.
            if changes {
                break;
            }
        }
        for (name, stage) in [("Raid", Some(&mut self.raid)), ("PostgreSQL", self.postgres.as_mut())] {
            if let Some(stage) = stage
                && !stage.is_back()
            {
                let script = report::script(case);
                return Err(RunError::Unreachable(format!("{name} does not come back after:\n{script}")));
            }
        }
        Ok(Some(found))
    }

    /// Makes a difference small and tells it, unless its like was told.
    fn found(&mut self, case: &Case, number: u64, met: Met) -> Result<(), RunError> {
        let features = met.step.map(|step| case.steps[step].features.clone()).unwrap_or_default();
        let (name, message) = (met.difference.to_string(), message_of(&met.raid));
        let before = if message.is_empty() { None } else { Some(report::shape(&format!("{name} {message}"))) };
        if self.is_known(&name, &report::script(case), &message, false) {
            self.summary.count(&features, Outcome::Known);
            return Ok(());
        }
        if let Some(times) = before.as_ref().and_then(|before| self.seen.get_mut(before)) {
            *times += 1;
            self.summary.count(&features, Outcome::Different);
            return Ok(());
        }
        let mut whole = case.clone();
        if let Some(step) = met.step {
            whole.steps.truncate(step + 1);
        } else {
            whole.steps.clear();
        }
        let small = self.minimise(whole, &met.difference)?;
        let script = report::script(&small);
        // Constants of a query without rows are computed by PostgreSQL all the same.
        let is_empty = matches!(&met.raid, Answer::Done { rows, .. } if rows.is_empty());
        if met.difference.depends_on_order(&script, is_empty) {
            self.summary.count(&features, Outcome::Unknown);
            return Ok(());
        }
        let last =
            self.play(&small, false)?.unwrap_or_default().into_iter().find(|one| one.difference == met.difference);
        let alone = last.is_some();
        if !alone && met.difference.may_be_load() {
            self.summary.count(&features, Outcome::Unknown);
            return Ok(());
        }
        let met = last.unwrap_or(met);
        let known = self.is_known(&name, &script, &message, true);
        self.summary.count(&features, if known { Outcome::Known } else { Outcome::Different });
        let shape = before.unwrap_or_else(|| report::shape(&format!("{name} {}", statement_of(&small))));
        let times = self.seen.entry(shape).or_default();
        *times += 1;
        if known || *times > 1 {
            return Ok(());
        }
        let answers = format!("  PostgreSQL:\n{}  Raid:\n{}", report::answer(&met.postgres), report::answer(&met.raid));
        let finding = Finding { difference: name, script, message, answers, case: number };
        self.tell(&finding, alone)?;
        self.findings.push(finding);
        Ok(())
    }

    fn is_known(&self, difference: &str, script: &str, message: &str, is_minimised: bool) -> bool {
        self.known.iter().any(|known| known.matches(difference, script, message, is_minimised))
    }

    fn minimise(&mut self, case: Case, difference: &Difference) -> Result<Case, RunError> {
        let mut failure = None;
        let mut fails = |case: &Case| match self.play(case, false) {
            Ok(found) => {
                let last = case.steps.len().checked_sub(1);
                found.unwrap_or_default().iter().any(|met| met.step == last && met.difference == *difference)
            }
            Err(error) => {
                failure = Some(error);
                false
            }
        };
        let small = Minimiser::run(case, &mut fails);
        failure.map_or(Ok(small), Err)
    }

    fn tell(&mut self, finding: &Finding, alone: bool) -> Result<(), RunError> {
        let Finding { difference, script, answers, case, .. } = finding;
        writeln!(self.out, "\n== difference: {difference}\n{script}{answers}")?;
        let seed = self.options.seed;
        let more = if alone { "" } else { " (alone it does not differ: run the cases before it, too)" };
        writeln!(self.out, "  repeat: compare queries --seed {seed} --first {case} --cases 1{more}")?;
        self.out.flush()?;
        Ok(())
    }
}

/// The name of what was executed.
fn name_of(case: &Case, noted: &Noted) -> Option<String> {
    match &case.steps[noted.step?].action {
        Action::Execute { name, .. } => Some(name.clone()),
        _ => None,
    }
}

/// The name of what was prepared.
fn prepared_by(case: &Case, noted: &Noted) -> Option<String> {
    match &case.steps[noted.step?].action {
        Action::Prepare { name, .. } => Some(name.clone()),
        _ => None,
    }
}

/// The text of the statement that an answer belongs to: of what was prepared, not of its execution.
fn text_of(case: &Case, noted: &Noted) -> String {
    let prepared = |wanted: &str| {
        case.steps.iter().find_map(|step| match &step.action {
            Action::Prepare { name, query } if name == wanted => Some(query.node.sql()),
            _ => None,
        })
    };
    match noted.step.map(|step| &case.steps[step].action) {
        Some(Action::Execute { name, .. }) => prepared(name).unwrap_or_default(),
        _ => noted.sql.clone(),
    }
}

fn is_change(case: &Case, noted: &Noted) -> bool {
    match noted.step.map(|step| &case.steps[step].action) {
        Some(Action::Change { .. } | Action::Define { .. }) | None => true,
        Some(Action::Query { .. } | Action::Prepare { .. } | Action::Execute { .. }) => false,
    }
}

fn message_of(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal) => refusal.message.clone(),
        Answer::Broken(why) => why.clone(),
        Answer::Done { .. } => String::new(),
    }
}

/// The last statement of a case, which is what differs.
fn statement_of(case: &Case) -> String {
    let script = report::script(case);
    script.lines().last().unwrap_or_default().to_string()
}
