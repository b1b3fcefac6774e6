//! Calls between two processes of a host, by every method at every place: what a line must not be slower than.
//!
//! Invariant: a line is held against the best of all others that block, whichever that is at a place.

use crate::communication::experiment::Experiment;
use crate::communication::laboratory::{self, Laboratory};
use crate::communication::method::Method;
use crate::communication::methods::line::Line;
use laboratory_harness::Outcome;
use laboratory_harness::figure::short;
use laboratory_harness::report::{Columns, Table};

/// Bytes of the calls that the absolute targets are for.
const TARGET_BYTES: usize = 64;
/// What a line is to reach against the best of the others.
const RATIO_TARGET: f64 = 1.2;
/// What it is to reach alone, in microseconds: on a processor each, and on one.
const TARGETS: [(&str, f64); 2] = [("two processors", 0.6), ("one processor", 3.5)];

/// See the module's description.
pub struct Calls {
    /// What is compared; a line is among them. Those that never sleep have `busy` in their name, and are shown beside, not compared with.
    pub methods: &'static [&'static dyn Method],
    /// Bytes of each request and reply: a table for each.
    pub sizes: &'static [usize],
}

impl Experiment for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn about(&self) -> &'static str {
        "calls of another process of this host by every method at every place"
    }

    fn run(&self, laboratory: &Laboratory) -> Outcome<Vec<Table>> {
        self.sizes.iter().map(|&bytes| self.measure(laboratory, bytes)).collect()
    }
}

impl Calls {
    fn measure(&self, laboratory: &Laboratory, bytes: usize) -> Outcome<Table> {
        let placements = laboratory.placements()?;
        let names = placements.iter().map(|placement| placement.name.to_owned()).collect();
        let title = format!("Blocking calls of {bytes} bytes, by place");
        let mut table = Table::new(&title, "targets of this project", Columns::Names(names));
        for (column, &placement) in placements.iter().enumerate() {
            let _neighbour = laboratory.neighbour(&placement)?;
            let figures = laboratory.in_turns(self.methods.len(), |index| {
                let method = self.methods[index];
                let calls =
                    laboratory::Calls { method, request_bytes: bytes, reply_bytes: bytes, placement, hosts: None };
                Ok(laboratory.call(&calls)?.microseconds())
            })?;
            for (method, figure) in self.methods.iter().zip(figures) {
                table.put(column, method.name(), figure, None);
            }
            let verdict = self.verdict(&table, column, placement.name, bytes);
            table.notes.push(verdict);
        }
        Ok(table)
    }

    /// How the line stands in a column.
    fn verdict(&self, table: &Table, column: usize, place: &str, bytes: usize) -> String {
        let line = table.median(Line.name(), column);
        let others = self
            .methods
            .iter()
            .map(|method| method.name())
            .filter(|&name| name != Line.name() && !name.contains("busy"));
        let others = others.filter_map(|name| Some((table.median(name, column)?, name)));
        let (Some(line), Some((best, name))) = (line, others.min_by(|a, b| a.0.total_cmp(&b.0))) else {
            return format!("{place}: nothing to compare");
        };
        let ratio = line / best;
        let met = |met| if met { "met" } else { "MISSED" };
        let mut verdict =
            format!("{place}: {} times {name}; target {RATIO_TARGET}: {}", short(ratio), met(ratio <= RATIO_TARGET));
        if let Some((_, target)) = TARGETS.iter().find(|(at, _)| bytes == TARGET_BYTES && *at == place) {
            verdict.push_str(&format!("; {} us, target {target}: {}", short(line), met(line <= *target)));
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communication::methods::CARRIERS;
    use laboratory_harness::figure::Figure;

    /// If this fails, a missed target is called met, or the line is held against a slow one.
    #[test]
    fn the_line_is_held_against_the_best() {
        let place = "one processor";
        let mut table = Table::new("", "", Columns::Names(vec![place.to_owned()]));
        for (name, median) in [("line (V.3)", 3.0), ("named pipes", 2.0), ("UDP", 9.0)] {
            table.put(0, name, Ok(Figure::of(vec![median]).expect("a round")), None);
        }
        let calls = Calls { methods: &CARRIERS, sizes: &[64] };
        let verdict = calls.verdict(&table, 0, place, 64);
        assert_eq!(verdict, "one processor: 1.50 times named pipes; target 1.2: MISSED; 3.00 us, target 3.5: met");
    }
}
