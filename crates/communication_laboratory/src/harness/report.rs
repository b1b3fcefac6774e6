//! Tables: as text on the screen, as JSON and as plots in a folder.

use super::figure::{Figure, short};
use super::machine::{LoadBetween, Machine};
use super::plot;
use crate::failure::{Failure, Outcome};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What a table's columns are, which decides how it is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Columns {
    /// Numbers of this unit, such as bytes.
    Numbers {
        /// The unit.
        unit: &'static str,
        /// The numbers, growing.
        values: Vec<f64>,
    },
    /// Names, such as placements.
    Names(Vec<String>),
}

impl Columns {
    /// Sizes in bytes.
    pub fn bytes(values: &[usize]) -> Columns {
        Columns::Numbers { unit: "bytes", values: values.iter().map(|&value| value as f64).collect() }
    }

    /// What stands above them.
    pub fn names(&self) -> Vec<String> {
        match self {
            Columns::Numbers { unit, values } => values.iter().map(|value| format!("{value} {unit}")).collect(),
            Columns::Names(names) => names.clone(),
        }
    }
}

/// One figure of ours and the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Ours; none where it cannot be, or was not, measured.
    pub ours: Option<Figure>,
    /// The paper's, in the table's unit; none where the paper has none.
    pub paper: Option<f64>,
}

impl Cell {
    /// How many times faster ours is.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.paper? / self.ours?.median)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ours, self.paper, self.ratio()) {
            (Some(ours), Some(paper), Some(ratio)) => {
                write!(formatter, "{ours} [{}: {}x]", short(paper), short(ratio))
            }
            (Some(ours), ..) => write!(formatter, "{ours}"),
            (None, Some(paper), _) => write!(formatter, "- [{}]", short(paper)),
            (None, None, _) => write!(formatter, "-"),
        }
    }
}

/// One line of a table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// One for each column.
    pub cells: Vec<Cell>,
}

/// See the module's description.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Paper, table or figure that it stands beside.
    pub source: String,
    /// Unit of all figures.
    pub unit: &'static str,
    /// What the columns are.
    pub columns: Columns,
    /// The lines.
    pub rows: Vec<Row>,
    /// What a reader must know besides.
    pub notes: Vec<String>,
}

impl Table {
    /// An empty one, in microseconds.
    pub fn new(title: &str, source: &str, columns: Columns) -> Table {
        let (title, source) = (title.to_owned(), source.to_owned());
        Table { title, source, unit: "microseconds", columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Puts figures into a column, row by row in the order of `names`, which are made where they are new. What has failed is noted.
    pub fn put(&mut self, column: usize, name: &str, figure: Result<Figure, Failure>, paper: Option<f64>) {
        let count = self.columns.names().len();
        let index = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Row { name: name.to_owned(), cells: vec![Cell::default(); count] });
            self.rows.len() - 1
        });
        let ours = match figure {
            Ok(figure) => Some(figure),
            Err(failure) => {
                // What fails everywhere for one reason is told once.
                let failure = failure.to_string();
                if !self.notes.iter().any(|note| note.ends_with(&failure)) {
                    self.notes.push(format!("{name}, {}: {failure}", self.columns.names()[column]));
                }
                None
            }
        };
        self.rows[index].cells[column] = Cell { ours, paper };
    }

    /// The median in a cell.
    pub fn median(&self, name: &str, column: usize) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.name == name)?;
        Some(row.cells[column].ours?.median)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}, {}", self.title, self.unit)?;
        writeln!(formatter, "beside: {}", self.source)?;
        if self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.paper.is_some()) {
            writeln!(formatter, "in brackets: the paper's figure, and how many times faster ours is")?;
        }
        let names = self.columns.names();
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.cells.iter().map(Cell::to_string).collect()).collect();
        let width = |column: usize| {
            let widest = cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            widest.max(names[column].chars().count()) + 2
        };
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        let first = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        write!(formatter, "{:first$}", "")?;
        for (name, width) in names.iter().zip(&widths) {
            write!(formatter, "{name:>width$}")?;
        }
        writeln!(formatter)?;
        for (row, cells) in self.rows.iter().zip(&cells) {
            write!(formatter, "{:first$}", row.name)?;
            for (cell, width) in cells.iter().zip(&widths) {
                write!(formatter, "{cell:>width$}")?;
            }
            writeln!(formatter)?;
        }
        for note in &self.notes {
            writeln!(formatter, "  {note}")?;
        }
        Ok(())
    }
}

#[derive(Debug, Serialize)]
struct Entry {
    experiment: String,
    table: Table,
    load: LoadBetween,
}

/// All tables of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    machine: Machine,
    rounds: u32,
    tables: Vec<Entry>,
}

impl Report {
    /// Without tables.
    pub fn new(machine: Machine, rounds: u32) -> Report {
        Report { machine, rounds, tables: Vec::new() }
    }

    /// Adds one.
    pub fn add(&mut self, experiment: &str, table: Table, load: LoadBetween) {
        self.tables.push(Entry { experiment: experiment.to_owned(), table, load });
    }

    /// Writes `communication.json` and a plot of each table; returns how many files.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> Outcome<usize> {
        let doing = format!("write to {}", folder.display());
        let write = |name: &str, text: String| {
            std::fs::write(folder.join(name), text).map_err(Failure::refused::<std::io::Error>(&doing))
        };
        std::fs::create_dir_all(folder).map_err(Failure::refused::<std::io::Error>(&doing))?;
        write("communication.json", serde_json::to_string_pretty(self)?)?;
        for (index, Entry { experiment, table, load }) in self.tables.iter().enumerate() {
            // Experiments may have several tables.
            let earlier = self.tables[..index].iter().filter(|entry| entry.experiment == *experiment).count();
            let name = if earlier == 0 { experiment.clone() } else { format!("{experiment}-{}", earlier + 1) };
            write(&format!("{name}.svg"), plot::draw(table, &format!("{}; {load}", self.machine)))?;
        }
        Ok(self.tables.len() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(median: f64) -> Figure {
        Figure { median, lower_quartile: median, upper_quartile: median, rounds: 1 }
    }

    /// If this fails, the paper's figure stands beside another one of ours, or the ratio is upside down.
    #[test]
    fn a_table_shows_both_figures_and_their_ratio() {
        let mut table = Table::new("Calls", "a paper, table 1", Columns::bytes(&[10, 1000]));
        table.put(1, "pipes", Ok(figure(5.0)), Some(3900.0));
        table.put(0, "queues", Err(Failure::Stopped), Some(2000.0));
        let text = table.to_string();
        assert!(text.contains("5.00 ±0.00 [3900: 780x]"), "{text}");
        assert!(text.contains("- [2000]") && text.contains("queues, 10 bytes: stopped"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("pipes")).collect();
        assert_eq!(lines, ["pipes          -  5.00 ±0.00 [3900: 780x]"]);
        assert_eq!(table.median("pipes", 1), Some(5.0));
        assert_eq!(table.median("queues", 0), None);
    }
}
