//! The report of a run of the suite, as a page of Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::class::Class;
use super::isolation::{Order, Played};
use super::play::Judged;
use super::script::without_comments;

/// Faults of one file that the page names.
const FAULTS_SHOWN: usize = 40;
/// Characters of a statement or reason that the page shows.
const TEXT_SHOWN: usize = 180;

/// All files that were played, each with its statements.
#[derive(Debug, Default)]
pub struct Page {
    files: Vec<(String, Vec<Judged>)>,
    specifications: Vec<(String, Vec<Played>)>,
}

impl Page {
    /// Adds a file; its figures in one line.
    pub fn add(&mut self, file: &str, judged: Vec<Judged>) -> String {
        let line = format!("{file}: {}", line(&count(&judged)));
        self.files.push((file.to_string(), judged));
        line
    }

    /// Adds a specification of the isolation suite; its figures in one line.
    pub fn add_orders(&mut self, specification: &str, played: Vec<Played>) -> String {
        let counts = ORDERS.map(|order| played.iter().filter(|one| one.order == order).count());
        self.specifications.push((specification.to_string(), played));
        format!("{specification}: {}", orders_line(&counts))
    }

    /// The isolation suite.
    fn orders(&self) -> String {
        if self.specifications.is_empty() {
            return String::new();
        }
        let of = |order: Order| {
            self.specifications.iter().flat_map(|(_, played)| played).filter(|one| one.order == order).count()
        };
        let mut text = format!("\n## The isolation suite, by orders of steps\n\n{}.\n\n", orders_line(&ORDERS.map(of)));
        for (specification, played) in &self.specifications {
            let other = played.iter().find(|one| matches!(one.order, Order::Different | Order::Lost));
            if let Some(other) = other {
                let (steps, reason) = (plain(&other.steps), plain(&other.reason));
                let _ = writeln!(text, "* {specification}, `{steps}`: {reason}");
            }
        }
        text
    }

    /// The figures of all files, in one line.
    pub fn total(&self) -> String {
        line(&self.count())
    }

    fn count(&self) -> BTreeMap<Class, usize> {
        let mut all = BTreeMap::new();
        for (class, number) in self.files.iter().flat_map(|(_, judged)| count(judged)) {
            *all.entry(class).or_default() += number;
        }
        all
    }

    /// The page. `heading` says what was run, where and when.
    pub fn markdown(&self, heading: &str) -> String {
        let mut text = format!("{heading}\n\n| class | statements |\n|---|---:|\n");
        for (class, number) in self.count() {
            let _ = writeln!(text, "| {} | {} |", class.name(), grouped(number));
        }
        let _ = writeln!(text, "| all | {} |", grouped(self.files.iter().map(|(_, judged)| judged.len()).sum()));
        text.push_str("\n## By file\n\n| file | statements | same | unsupported, following | faults |\n|---|---:|---:|---:|---:|\n");
        for (file, judged) in &self.files {
            let of = |test: &dyn Fn(Class) -> bool| judged.iter().filter(|one| test(one.class)).count();
            let same = of(&|class| matches!(class, Class::SameRows | Class::SameError));
            let follows = of(&|class| matches!(class, Class::Unsupported | Class::Follows));
            let _ = writeln!(text, "| {file} | {} | {same} | {follows} | {} |", judged.len(), of(&Class::is_fault));
        }
        text.push_str("\n## Faults\n");
        for (file, judged) in &self.files {
            let mut faults: Vec<&Judged> = judged.iter().filter(|one| one.class.is_fault()).collect();
            // What answers otherwise comes before what is refused otherwise.
            faults.sort_by_key(|one| one.class);
            if faults.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n### {file}\n");
            for fault in faults.iter().take(FAULTS_SHOWN) {
                let (sql, reason) = (plain(&without_comments(&fault.sql)), plain(&fault.reason));
                let _ = writeln!(text, "* line {}, {}: `{sql}`: {reason}", fault.line, fault.class.name());
            }
            if faults.len() > FAULTS_SHOWN {
                let _ = writeln!(text, "* and {} more", faults.len() - FAULTS_SHOWN);
            }
        }
        text.push_str(&self.orders());
        text
    }
}

/// In the order of the report.
const ORDERS: [Order; 5] = [Order::Same, Order::Conflict, Order::Unsupported, Order::Different, Order::Lost];

fn orders_line(counts: &[usize; 5]) -> String {
    let [same, conflict, unsupported, different, lost] = counts;
    let all: usize = counts.iter().sum();
    format!(
        "{all} orders: {same} same, {conflict} refused with a conflict, {unsupported} not supported, {different} different, {lost} lost"
    )
}

fn count(judged: &[Judged]) -> BTreeMap<Class, usize> {
    let mut counts = BTreeMap::new();
    for one in judged {
        *counts.entry(one.class).or_default() += 1;
    }
    counts
}

fn line(counts: &BTreeMap<Class, usize>) -> String {
    let all: usize = counts.values().sum();
    let parts: Vec<String> = counts.iter().map(|(class, number)| format!("{number} {}", class.name())).collect();
    format!("{all} statements: {}", parts.join(", "))
}

/// One line without signs that Markdown or tidy would take for their own.
fn plain(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['`', '|'], "'");
    let short: String = line.chars().take(TEXT_SHOWN).collect();
    if short.len() < line.len() { format!("{short}...") } else { short }
}

/// `12,345`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures that do not add up would not be believed, rightly.
    #[test]
    fn a_page_counts_every_statement_once() {
        let judged = |class| Judged { line: 3, sql: "SELECT\n1".to_string(), class, reason: "x|y".to_string() };
        let mut page = Page::default();
        let line = page.add("int4", vec![judged(Class::SameRows), judged(Class::WrongResult)]);
        assert_eq!(line, "int4: 2 statements: 1 same rows, 1 wrong result");
        let text = page.markdown("# Title");
        assert!(text.contains("| all | 2 |") && text.contains("| int4 | 2 | 1 | 0 | 1 |"), "{text}");
        assert!(text.contains("* line 3, wrong result: `SELECT 1`: x'y"), "{text}");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
