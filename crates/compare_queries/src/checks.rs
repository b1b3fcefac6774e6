//! Checks that need no second system: one question is asked in several ways, whose answers must agree.
//!
//! * Ternary logic partitioning (Rigger and Su, "Finding bugs in database systems via query partitioning", 2020): rows for which a condition is
//!   true, false and unknown are all rows.
//! * A query that cannot be optimised (the same, "Detecting optimization bugs in database engines via non-optimizing reference engine
//!   construction", 2020): as many rows fulfil a condition in WHERE as in the list of columns.
//! * Pivoted rows (the same, "Testing database engines via pivoted query synthesis", 2020): a row is found by a condition that is true for it.
//! * The three ways to ask; parameters and constants; and an index more: none changes the answer.

use crate::generate::{Atom, Generator, Scope};
use crate::judge;
use crate::limits::CHECK_PARAMETER_SETS;
use crate::minimise::Shrink;
use crate::random::Random;
use crate::stage::Stage;
use crate::tables::{self, Table, draw_index};
use crate::tree::{Node, parts};
use crate::types::Type;
use crate::wire::{Answer, Cell, Column, Parameter, Path};

/// Which check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows for which a condition is true, false, and unknown are all rows.
    Partition,
    /// A condition has the same rows in WHERE and in the list.
    Reference,
    /// A row is found by what is true for it: the row's number.
    Pivot(u64, Vec<Atom>),
    /// The three ways to ask.
    Ways,
    /// The same values as parameters of what was prepared, and as constants: sets of them.
    Constants(Vec<Type>, Vec<Vec<Parameter>>),
    /// Once more with an index: the statement that makes it.
    Indexed(String),
}

impl Kind {
    /// By the name of the summary.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Partition => "check: partition",
            Kind::Reference => "check: not optimised",
            Kind::Pivot(..) => "check: pivoted row",
            Kind::Ways => "check: three ways",
            Kind::Constants(..) => "check: parameters, constants",
            Kind::Indexed(_) => "check: an index more",
        }
    }
}

/// A check over tables: FROM and a condition, or a query.
#[derive(Clone, Debug)]
pub struct Check {
    /// The tables.
    pub tables: Vec<Table>,
    /// Which one.
    pub kind: Kind,
    /// The list of columns, FROM and the condition; or the query alone.
    pub nodes: Vec<Node>,
    /// What it uses.
    pub features: std::collections::BTreeSet<&'static str>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The answers agree.
    Same,
    /// Nothing can be said, since something was refused: SQLSTATE and message.
    Refused(String, String),
    /// They do not agree: what was asked, and what was said.
    Violated(String),
    /// The connection broke.
    Broken(String),
}

impl Check {
    /// A check of a case of so many.
    pub fn draw(random: &mut Random, tables: &[Table]) -> Check {
        let own = Random::new(random.next());
        let mut generator = Generator::new(own, tables);
        let kind = random.below(6);
        if kind < 3 {
            let (list, from, condition, atoms) = generator.pieces();
            let kind = match kind {
                0 => Kind::Partition,
                1 => Kind::Reference,
                _ => Kind::Pivot(random.next(), atoms),
            };
            let features = generator.features;
            return Check { tables: tables.to_vec(), kind, nodes: vec![list, from, condition], features };
        }
        generator.parameters = (kind == 4).then(Vec::new);
        let query = generator.statement().node;
        let features = generator.features;
        let kind = match kind {
            3 => Kind::Ways,
            4 => {
                let kinds = generator.parameters.unwrap_or_default();
                let set = |random: &mut Random| -> Vec<Parameter> {
                    kinds.iter().map(|kind| (!random.percent(15)).then(|| kind.value(random))).collect()
                };
                let sets = (0..CHECK_PARAMETER_SETS).map(|_| set(random)).collect();
                Kind::Constants(kinds, sets)
            }
            _ => {
                let table = random.pick(tables);
                let columns = draw_index(random, &table.columns).unwrap_or_else(|| vec![table.columns[0].name.clone()]);
                Kind::Indexed(format!("CREATE INDEX more ON {} ({})", table.name, columns.join(", ")))
            }
        };
        Check { tables: tables.to_vec(), kind, nodes: vec![query], features }
    }

    /// Tables for some checks.
    pub fn draw_tables(random: &mut Random) -> Vec<Table> {
        tables::draw(random)
    }

    /// Asks.
    pub fn run(&self, stage: &mut Stage) -> Finding {
        for noted in stage.set_up(&self.tables) {
            match noted.answer {
                Answer::Done { .. } => {}
                Answer::Refused(refusal) => return Finding::Refused(refusal.code, refusal.message),
                Answer::Broken(why) => return Finding::Broken(format!("{}: {why}", noted.sql)),
            }
        }
        let mut asked = AskedStatements { stage, log: String::new() };
        let found = match &self.kind {
            Kind::Partition => self.partition(&mut asked),
            Kind::Reference => self.reference(&mut asked),
            Kind::Pivot(number, atoms) => self.pivot(&mut asked, *number, atoms),
            Kind::Ways => self.ways(&mut asked),
            Kind::Constants(kinds, sets) => self.constants(&mut asked, kinds, sets),
            Kind::Indexed(index) => self.indexed(&mut asked, index),
        };
        match found {
            Ok(true) => Finding::Same,
            Ok(false) => Finding::Violated(asked.log),
            Err(finding) => finding,
        }
    }

    fn pieces(&self) -> [String; 3] {
        let text = |at: usize| self.nodes.get(at).map(Node::sql).unwrap_or_default();
        [text(0), text(1), text(2)]
    }

    fn partition(&self, asked: &mut AskedStatements<'_>) -> Result<bool, Finding> {
        let [list, from, condition] = self.pieces();
        let head = format!("SELECT {list} FROM {from}");
        let all = asked.rows(&head)?;
        let mut parted = Vec::new();
        for test in [format!("({condition})"), format!("NOT ({condition})"), format!("({condition}) IS NULL")] {
            parted.extend(asked.rows(&format!("{head} WHERE {test}"))?.rows);
        }
        let same = judge::same_rows(&all.columns, &all.rows, &parted, &head);
        if !same {
            return Ok(false);
        }
        let union = [format!("({condition})"), format!("NOT ({condition})"), format!("({condition}) IS NULL")];
        let union = union.map(|test| format!("{head} WHERE {test}")).join(" UNION ALL ");
        let united = asked.rows(&union)?;
        Ok(judge::same_rows(&all.columns, &all.rows, &united.rows, &union))
    }

    fn reference(&self, asked: &mut AskedStatements<'_>) -> Result<bool, Finding> {
        let [_, from, condition] = self.pieces();
        let optimised = asked.rows(&format!("SELECT 1 FROM {from} WHERE {condition}"))?.rows.len();
        let listed = asked.rows(&format!("SELECT ({condition}) IS TRUE FROM {from}"))?;
        let fulfilled = listed.rows.iter().filter(|row| row.first() == Some(&Some(b"t".to_vec()))).count();
        Ok(optimised == fulfilled)
    }

    /// The condition is evaluated with the row's values in the place of its columns, without any table; what is true of it then must find
    /// the row.
    fn pivot(&self, asked: &mut AskedStatements<'_>, number: u64, atoms: &[Atom]) -> Result<bool, Finding> {
        let [_, from, _] = self.pieces();
        let names: Vec<&str> = atoms.iter().map(|atom| atom.sql.as_str()).collect();
        if names.is_empty() {
            return Ok(true);
        }
        let list = names.join(", ");
        let all = asked.rows(&format!("SELECT {list} FROM {from}"))?;
        let Some(pivot) = all.rows.get((number % all.rows.len().max(1) as u64) as usize) else { return Ok(true) };
        let literal = |text: &str| {
            let at = atoms.iter().position(|atom| atom.sql == text)?;
            Some(match pivot.get(at)?.as_ref() {
                Some(value) => atoms[at].kind.quote(&String::from_utf8_lossy(value)),
                None => format!("NULL::{}", atoms[at].kind.name()),
            })
        };
        let Some(condition) = self.nodes.get(2) else { return Ok(true) };
        let constant = condition.replaced(&literal).sql();
        let value = asked.rows(&format!("SELECT ({constant})"))?;
        let test = match value.rows.first().and_then(|row| row.first()) {
            Some(Some(value)) if value == b"t" => format!("({})", condition.sql()),
            Some(Some(_)) => format!("NOT ({})", condition.sql()),
            _ => format!("({}) IS NULL", condition.sql()),
        };
        let found = asked.rows(&format!("SELECT {list} FROM {from} WHERE {test}"))?;
        Ok(found.rows.iter().any(|row| row == pivot))
    }

    fn ways(&self, asked: &mut AskedStatements<'_>) -> Result<bool, Finding> {
        let [sql, ..] = self.pieces();
        let simple = asked.rows(&sql)?;
        let text = asked.by(Path::ExtendedText, &sql)?;
        let binary = asked.by(Path::ExtendedBinary, &sql)?;
        let shapes = simple.columns == text.columns && text.columns == binary.columns;
        Ok(shapes
            && judge::same_rows(&simple.columns, &simple.rows, &text.rows, &sql)
            && text.rows.len() == binary.rows.len())
    }

    fn constants(
        &self,
        asked: &mut AskedStatements<'_>,
        kinds: &[Type],
        sets: &[Vec<Parameter>],
    ) -> Result<bool, Finding> {
        let [sql, ..] = self.pieces();
        asked.prepare(&sql)?;
        for set in sets {
            let with_parameters = asked.execute(set)?;
            let constants = constants(&sql, kinds, set);
            let with_constants = asked.rows(&constants)?;
            if !judge::same_rows(&with_constants.columns, &with_constants.rows, &with_parameters.rows, &sql) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn indexed(&self, asked: &mut AskedStatements<'_>, index: &str) -> Result<bool, Finding> {
        let [sql, ..] = self.pieces();
        let before = asked.rows(&sql)?;
        asked.stage.forget_tables();
        asked.rows(index)?;
        let after = asked.rows(&sql)?;
        Ok(judge::same_rows(&before.columns, &before.rows, &after.rows, &sql))
    }
}

/// A statement with constants in the place of its parameters.
fn constants(sql: &str, kinds: &[Type], values: &[Parameter]) -> String {
    let mut text = sql.to_string();
    // The last first: `$1` begins `$12`.
    for (at, (kind, value)) in kinds.iter().zip(values).enumerate().rev() {
        let constant = match value {
            Some(value) => kind.quote(value),
            None => format!("NULL::{}", kind.name()),
        };
        text = text.replace(&format!("${}", at + 1), &constant);
    }
    text
}

/// Rows with what they consist of.
struct Rows {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// What was asked, for the report.
struct AskedStatements<'a> {
    stage: &'a mut Stage,
    log: String,
}

impl AskedStatements<'_> {
    fn rows(&mut self, sql: &str) -> Result<Rows, Finding> {
        self.by(Path::Simple, sql)
    }

    fn by(&mut self, path: Path, sql: &str) -> Result<Rows, Finding> {
        let answer = self.stage.connection().run(path, sql, &[]);
        self.note(&format!("{sql}; -- {}", path.name()), answer)
    }

    fn prepare(&mut self, sql: &str) -> Result<Rows, Finding> {
        self.stage.connection().close(NAME);
        let answer = self.stage.connection().prepare(NAME, sql);
        self.note(&format!("PREPARE {NAME} AS {sql};"), answer)
    }

    fn execute(&mut self, parameters: &[Parameter]) -> Result<Rows, Finding> {
        let answer = self.stage.connection().execute(NAME, parameters, false);
        self.note(&format!("EXECUTE {NAME} ({parameters:?});"), answer)
    }

    fn note(&mut self, what: &str, answer: Answer) -> Result<Rows, Finding> {
        self.log.push_str(&format!("{what}\n{}", crate::report::answer(&answer)));
        match answer {
            Answer::Done { columns, rows, .. } => Ok(Rows { columns, rows }),
            Answer::Refused(refusal) => Err(Finding::Refused(refusal.code, refusal.message)),
            Answer::Broken(why) => Err(Finding::Broken(format!("{}{why}", self.log))),
        }
    }
}

/// The name of what a check prepares.
const NAME: &str = "check";

impl Shrink for Check {
    fn tables(&mut self) -> &mut Vec<Table> {
        &mut self.tables
    }

    fn nodes(&mut self) -> Vec<&mut Node> {
        self.nodes.iter_mut().collect()
    }

    fn without_step(&self, number: usize) -> Option<Check> {
        let mut smaller = self.clone();
        match &mut smaller.kind {
            Kind::Constants(_, sets) if sets.len() > 1 => drop(sets.remove(number)),
            _ => return None,
        }
        Some(smaller)
    }

    fn steps(&self) -> usize {
        match &self.kind {
            Kind::Constants(_, sets) => sets.len(),
            _ => 1,
        }
    }
}

impl Generator<'_> {
    /// A list of columns, FROM, a condition over it, and what can be named there.
    fn pieces(&mut self) -> (Node, Node, Node, Vec<Atom>) {
        self.begin();
        let sources = self.sources(&Scope::default(), 0);
        let scope = Scope { atoms: sources.atoms.clone(), ..Scope::default() };
        let condition = self.condition(&scope, 0);
        let names: Vec<String> = sources.atoms.iter().map(|atom| atom.sql.clone()).collect();
        let list = if names.is_empty() { "1".to_string() } else { names.join(", ") };
        (Node::other(parts![list]).or(&["1"]), sources.node, condition, sources.atoms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `$1` must not be found in `$12`.
    #[test]
    fn parameters_become_constants() {
        let kinds = [Type::Int4; 12];
        let mut values = vec![Some("7".to_string()); 12];
        values[11] = None;
        assert_eq!(constants("$1 + $12::int4", &kinds, &values), "7 + NULL::int4::int4");
    }
}
