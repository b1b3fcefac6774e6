//! What a person sees of long work: lines that stay, and one line of progress that is drawn over again.
//!
//! Invariant: without a terminal nothing is drawn over; progress then comes as lines, and rarely.

use crate::limits;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Standard output, seen as a screen. A reader who went away is no error: the work goes on.
pub struct Screen {
    hidden: bool,
    terminal: bool,
    drawn: bool,
    drawn_at: Option<Instant>,
}

impl Default for Screen {
    fn default() -> Screen {
        Screen { hidden: false, terminal: std::io::stdout().is_terminal(), drawn: false, drawn_at: None }
    }
}

impl Screen {
    /// One that nobody sees.
    pub fn hidden() -> Screen {
        Screen { hidden: true, ..Screen::default() }
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        if self.hidden {
            return;
        }
        let mut out = std::io::stdout().lock();
        let erase = if std::mem::take(&mut self.drawn) { "\r\x1b[2K" } else { "" };
        let _ = writeln!(out, "{erase}{text}");
    }

    /// Progress: drawn over the progress before it. Called often; shown as often as a person can read it.
    pub fn progress(&mut self, text: impl FnOnce() -> String) {
        let interval = if self.terminal { limits::DRAW_INTERVAL } else { limits::PRINT_INTERVAL };
        if self.hidden || self.drawn_at.is_some_and(|drawn_at| drawn_at.elapsed() < interval) {
            return;
        }
        self.drawn_at = Some(Instant::now());
        let mut out = std::io::stdout().lock();
        let _ = if self.terminal {
            self.drawn = true;
            write!(out, "\r\x1b[2K{}", text()).and_then(|()| out.flush())
        } else {
            writeln!(out, "{}", text())
        };
    }
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the unit that suits them.
pub fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{} bytes", grouped(number)),
        10_000..1_000_000 => format!("{:.1} kB", number as f64 / 1e3),
        _ => format!("{:.1} MB", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report that misplaces a comma would be believed.
    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!([0, 12, 123, 1_234, 123_456, 1_234_567].map(grouped).join(" "), "0 12 123 1,234 123,456 1,234,567");
        assert_eq!([7, 9_999, 10_000, 12_345_678].map(bytes).join(", "), "7 bytes, 9,999 bytes, 10.0 kB, 12.3 MB");
    }
}
