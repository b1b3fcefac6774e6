//! Tables: as text on the screen, as JSON and as plots in a folder.

use crate::failure::{Failure, Outcome};
use crate::figure::{Figure, short};
use crate::machine::{Load, LoadBetween, Machine};
use crate::plot;
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

/// Which of two figures is the faster one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Faster {
    /// The lower: they are times.
    Lower,
    /// The higher: they are rates.
    Higher,
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
    pub fn ratio(&self, faster: Faster) -> Option<f64> {
        let (ours, paper) = (self.ours?.median, self.paper?);
        Some(match faster {
            Faster::Lower => paper / ours,
            Faster::Higher => ours / paper,
        })
    }

    fn text(&self, faster: Faster) -> String {
        match (self.ours, self.paper, self.ratio(faster)) {
            (Some(ours), Some(paper), Some(ratio)) => format!("{ours} [{}: {}x]", short(paper), short(ratio)),
            (Some(ours), ..) => ours.to_string(),
            (None, Some(paper), _) => format!("- [{}]", short(paper)),
            (None, None, _) => "-".to_owned(),
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
    /// Which of two figures is the faster one.
    pub faster: Faster,
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
        let (unit, faster) = ("microseconds", Faster::Lower);
        Table { title, source, unit, faster, columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// An empty one of rates, in so many of `unit`.
    pub fn of_rates(title: &str, source: &str, unit: &'static str, columns: Columns) -> Table {
        Table { unit, faster: Faster::Higher, ..Table::new(title, source, columns) }
    }

    /// The row of this name, which is made if it is new.
    fn row(&mut self, name: &str) -> &mut Row {
        let count = self.columns.names().len();
        let index = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Row { name: name.to_owned(), cells: vec![Cell::default(); count] });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }

    /// Puts a figure of the paper into a column that nothing of ours stands beside.
    pub fn tell(&mut self, column: usize, name: &str, paper: Option<f64>) {
        self.row(name).cells[column] = Cell { ours: None, paper };
    }

    /// Puts figures into a column, row by row in the order of `names`, which are made where they are new. What has failed is noted.
    pub fn put(&mut self, column: usize, name: &str, figure: Result<Figure, Failure>, paper: Option<f64>) {
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
        self.row(name).cells[column] = Cell { ours, paper };
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
            self.rows.iter().map(|row| row.cells.iter().map(|cell| cell.text(self.faster)).collect()).collect();
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
    #[serde(skip)]
    name: &'static str,
    machine: Machine,
    rounds: u32,
    tables: Vec<Entry>,
}

impl Report {
    /// Of this machine, without tables; `name` is that of the file with all figures.
    pub fn new(name: &'static str, rounds: u32) -> Report {
        Report { name, machine: Machine::look(), rounds, tables: Vec::new() }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Measures, prints the tables, with what others did with the processors meanwhile, and adds them.
    ///
    /// # Errors
    /// What was measured fails.
    pub fn measure(
        &mut self,
        experiment: &str,
        measure: impl FnOnce() -> Outcome<Vec<Table>>,
        print: &mut impl FnMut(&str),
    ) -> Outcome<()> {
        let before = Load::look();
        let tables = measure()?;
        let load = Load::look().since(before);
        for table in tables {
            print(&format!("\n{table}{load}\n"));
            self.tables.push(Entry { experiment: experiment.to_owned(), table, load: load.clone() });
        }
        Ok(())
    }

    /// Writes everything into a folder, if one is wanted, and prints that.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn deliver(&self, folder: Option<&Path>, mut print: impl FnMut(&str)) -> Outcome<()> {
        let Some(folder) = folder else { return Ok(()) };
        let files = self.write(folder)?;
        print(&format!("\n{files} files written to {}", folder.display()));
        Ok(())
    }

    /// Writes all figures as JSON and a plot of each table; returns how many files.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn write(&self, folder: &Path) -> Outcome<usize> {
        let doing = format!("write to {}", folder.display());
        let write = |name: &str, text: String| {
            std::fs::write(folder.join(name), text).map_err(Failure::refused::<std::io::Error>(&doing))
        };
        std::fs::create_dir_all(folder).map_err(Failure::refused::<std::io::Error>(&doing))?;
        write(&format!("{}.json", self.name), serde_json::to_string_pretty(self)?)?;
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

    /// If this fails, a slower system is shown as the faster one where figures are rates.
    #[test]
    fn of_rates_the_higher_is_faster() {
        let mut table = Table::of_rates("Commits", "a paper", "a second", Columns::bytes(&[10, 1000]));
        table.put(0, "log", Ok(figure(5000.0)), Some(50.0));
        table.tell(1, "the paper's other", Some(7.0));
        let text = table.to_string();
        assert!(text.contains("5000 ±0.00 [50.0: 100x]") && text.contains("- [7.00]"), "{text}");
    }
}
