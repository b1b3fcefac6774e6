//! Plots as SVG: lines over sizes, or points for names; always with a logarithmic scale of time, since the papers' figures lie far above ours.
//!
//! Invariant: what a plot tells apart by tone it also tells apart by shape, so that it can be read in grey.

use crate::figure::short;
use crate::report::{Columns, Table};
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 70.0;
const LINES_HEIGHT: f64 = 420.0;
const ROW_HEIGHT: f64 = 24.0;
const BOTTOM: f64 = 60.0;
/// Letters of a line of notes, and its height.
const NOTE_LETTERS: usize = 135;
const NOTE_HEIGHT: f64 = 16.0;
const FONT: &str = "font-family='sans-serif' font-size='12'";
/// From dark to light, blue to yellow: their order can be told in grey.
const TONES: [&str; 6] = ["#1b2a6b", "#2f6c8f", "#7a3b8c", "#2e9d6a", "#d0662b", "#c9a400"];

/// A logarithmic scale from whole decade to whole decade.
struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|&value| value > 0.0) {
            (low, high) = (low.min(value.log10().floor()), high.max(value.log10().ceil()));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        Scale { low, high: high.max(low + 1.0), start, end }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.start + part * (self.end - self.start)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|decade| 10_f64.powi(decade))
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&apos;")
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = write!(out, "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' {FONT}>{}</text>", escaped(words));
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = write!(out, "<line x1='{x1:.1}' y1='{y1:.1}' x2='{x2:.1}' y2='{y2:.1}' {style}/>");
}

/// A mark of a series: filled for ours, hollow for the paper's.
fn mark(out: &mut String, series: usize, x: f64, y: f64, ours: bool) {
    let tone = TONES[series % TONES.len()];
    let fill = if ours { tone } else { "white" };
    let style = format!("fill='{fill}' stroke='{tone}' stroke-width='1.5'");
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<_> = points.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon points='{}' {style}/>", points.join(" "))
    };
    let shape = match series % 5 {
        0 => format!("<circle cx='{x:.1}' cy='{y:.1}' r='4' {style}/>"),
        1 => polygon(&[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)]),
        2 => polygon(&[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)]),
        3 => polygon(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        _ => polygon(&[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)]),
    };
    out.push_str(&shape);
}

/// Lines that are not longer than a plot is wide.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + word.chars().count() < NOTE_LETTERS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}

/// Draws a table with its notes; `below` tells the machine and its load.
pub fn draw(table: &Table, below: &str) -> String {
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let values: Vec<f64> = cells.flat_map(|cell| [cell.ours.map(|ours| ours.median), cell.paper]).flatten().collect();
    let height = match &table.columns {
        Columns::Numbers { .. } => LINES_HEIGHT,
        Columns::Names(_) => ROW_HEIGHT * table.rows.len() as f64,
    };
    let mut out = String::new();
    let notes: Vec<String> = table.notes.iter().map(String::as_str).chain([below]).flat_map(wrapped).collect();
    let whole = TOP + height + BOTTOM + NOTE_HEIGHT * (notes.len() as f64 - 1.0);
    let _ = write!(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {whole}' width='{WIDTH}' height='{whole}'>\
         <rect width='100%' height='100%' fill='white'/>"
    );
    text(&mut out, 12.0, 22.0, "start", &table.title);
    let told = table.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.paper.is_some());
    let marks =
        if told { format!("filled: ours; hollow: {}", table.source) } else { format!("beside: {}", table.source) };
    text(&mut out, 12.0, 40.0, "start", &marks);
    for (index, note) in notes.iter().rev().enumerate() {
        text(&mut out, 12.0, whole - 8.0 - NOTE_HEIGHT * index as f64, "start", note);
    }
    match &table.columns {
        Columns::Numbers { unit, values: sizes } => draw_lines(&mut out, table, &values, unit, sizes, height),
        Columns::Names(names) => draw_points(&mut out, table, &values, names, height),
    }
    out.push_str("</svg>\n");
    out
}

const GRID: &str = "stroke='#cccccc'";

fn draw_lines(out: &mut String, table: &Table, values: &[f64], unit: &str, sizes: &[f64], height: f64) {
    let left = 70.0;
    let across = Scale::of(sizes.iter().copied(), left, WIDTH - RIGHT);
    let up = Scale::of(values.iter().copied(), TOP + height, TOP);
    for value in up.decades() {
        line(out, (left, up.at(value)), (WIDTH - RIGHT, up.at(value)), GRID);
        text(out, left - 6.0, up.at(value) + 4.0, "end", &short(value));
    }
    for &size in sizes {
        line(out, (across.at(size), TOP), (across.at(size), TOP + height), GRID);
        text(out, across.at(size), TOP + height + 16.0, "middle", &format!("{size}"));
    }
    text(out, 12.0, TOP - 8.0, "start", table.unit);
    text(out, (left + WIDTH - RIGHT) / 2.0, TOP + height + 34.0, "middle", unit);
    for (series, row) in table.rows.iter().enumerate() {
        let tone = TONES[series % TONES.len()];
        let ours: Vec<_> = row.cells.iter().map(|cell| cell.ours.map(|ours| ours.median)).collect();
        let paper: Vec<_> = row.cells.iter().map(|cell| cell.paper).collect();
        for (values, dashes) in [(&ours, ""), (&paper, "stroke-dasharray='5 4'")] {
            let points: Vec<_> = sizes.iter().zip(values).map(|(&x, &y)| Some((across.at(x), up.at(y?)))).collect();
            // Where a point between two others is missing, nothing is known, and nothing drawn.
            for pair in points.windows(2) {
                if let [Some(from), Some(to)] = *pair {
                    line(out, from, to, &format!("stroke='{tone}' stroke-width='1.5' {dashes}"));
                }
            }
            for (x, y) in points.into_iter().flatten() {
                mark(out, series, x, y, dashes.is_empty());
            }
        }
        let y = TOP + 10.0 + 18.0 * series as f64;
        mark(out, series, WIDTH - RIGHT + 20.0, y, row.cells.iter().any(|cell| cell.ours.is_some()));
        text(out, WIDTH - RIGHT + 32.0, y + 4.0, "start", &row.name);
    }
}

fn draw_points(out: &mut String, table: &Table, values: &[f64], names: &[String], height: f64) {
    let across = Scale::of(values.iter().copied(), LEFT, WIDTH - RIGHT);
    for value in across.decades() {
        line(out, (across.at(value), TOP), (across.at(value), TOP + height), GRID);
        text(out, across.at(value), TOP + height + 16.0, "middle", &short(value));
    }
    text(out, (LEFT + WIDTH - RIGHT) / 2.0, TOP + height + 34.0, "middle", table.unit);
    for (index, row) in table.rows.iter().enumerate() {
        let y = TOP + ROW_HEIGHT * (index as f64 + 0.5);
        line(out, (LEFT, y), (WIDTH - RIGHT, y), GRID);
        text(out, LEFT - 8.0, y + 4.0, "end", &row.name);
        for (series, cell) in row.cells.iter().enumerate() {
            for (value, ours) in [(cell.paper, false), (cell.ours.map(|ours| ours.median), true)] {
                if let Some(value) = value {
                    mark(out, series, across.at(value), y, ours);
                }
            }
        }
    }
    for (series, name) in names.iter().enumerate() {
        let y = TOP + 10.0 + 18.0 * series as f64;
        mark(out, series, WIDTH - RIGHT + 20.0, y, true);
        text(out, WIDTH - RIGHT + 32.0, y + 4.0, "start", name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn table(columns: Columns) -> Table {
        let mut table = Table::new("Calls <of 64 bytes>", "a paper's table", columns);
        let figure = Figure::of(vec![3.0]).expect("a round");
        table.put(0, "pipes & more", Ok(figure), Some(1500.0));
        table
    }

    /// If this fails, a browser shows nothing, or figures are missing from a plot.
    #[test]
    fn plots_are_well_formed_and_show_both_figures() {
        for columns in [Columns::bytes(&[10, 1000]), Columns::Names(vec!["one processor".to_owned()])] {
            let drawn = draw(&table(columns), "a machine");
            assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n"));
            assert_eq!(drawn.matches("<text").count(), drawn.matches("</text>").count());
            assert!(drawn.contains("Calls &lt;of 64 bytes&gt;") && drawn.contains("pipes &amp; more"));
            // Ours, and the paper's hollow one.
            assert!(drawn.contains("fill='#1b2a6b'") && drawn.contains("fill='white' stroke='#1b2a6b'"));
        }
    }

    /// If this fails, a plot tells figures of a paper that the paper does not have.
    #[test]
    fn nothing_is_drawn_where_a_point_is_missing() {
        let drawn_with = |columns: &[usize]| {
            let mut table = Table::new("Calls", "a paper's table", Columns::bytes(&[10, 100, 1000]));
            columns.iter().for_each(|&column| table.tell(column, "pipes", Some(5.0)));
            draw(&table, "a machine").matches("stroke-dasharray").count()
        };
        assert_eq!((drawn_with(&[0, 2]), drawn_with(&[0, 1])), (0, 1));
    }

    /// If this fails, a point stands where another value is.
    #[test]
    fn the_scale_is_logarithmic() {
        let scale = Scale::of([2.0, 700.0].into_iter(), 0.0, 300.0);
        assert_eq!([1.0, 10.0, 1000.0].map(|value| scale.at(value)), [0.0, 100.0, 300.0]);
    }
}
