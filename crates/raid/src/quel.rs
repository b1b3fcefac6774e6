//! `raid quel`: a terminal for QUEL, in the manner of INGRES's monitor.
//!
//! It is a client like any other: it sets `raid.query_language` and sends what was typed. Invariant: nothing is sent before `\g`, or a line that ends with a semicolon.

use crate::limits::CONNECT_TIME_MAX;
use clap::Args;
use postgres::{Client, NoTls, SimpleQueryMessage};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const EXPLANATION: &str = "\
Text gathers until a line that ends with a semicolon, or with \\g, and is sent then. Other lines that begin with a backslash:
  \\p       print what has gathered
  \\r       forget it
  \\i FILE  run a file
  \\sql     speak SQL from now on; \\quel: QUEL again
  \\t       tell how long each text takes, or stop telling
  \\q       end; so does the end of the input

It connects without encryption, with the password in PGPASSWORD if it is asked for one. docs/quel.md tells what of QUEL there is.

Examples:
  raid quel                                       type statements, at site 1 of `raid start`
  raid quel --command 'range of e is emp retrieve (e.name) where e.sal > 1000'
  raid quel --port 5434 payroll.quel              run a file at site 2; ends with status 1 at the first error
  echo 'database thousand, get thousand : thousand.ten = 8;' | raid quel";

/// Work with the database in QUEL
///
/// Types statements of QUEL, the relational calculus of INGRES, at a site, and shows what it answers.
#[derive(Args)]
#[command(after_help = EXPLANATION)]
pub struct QuelOptions {
    /// The host of a site.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// The site's port for clients.
    #[arg(long, value_name = "N", default_value_t = 5433)]
    port: u16,
    /// The database.
    #[arg(long, value_name = "NAME", default_value = "raid")]
    database: String,
    /// Who connects.
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    user: String,
    /// Run this text and end.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    command: Option<String>,
    /// Run this file and end.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What comes after a line.
#[derive(PartialEq, Eq)]
enum After {
    More,
    End,
}

/// The terminal.
struct Monitor {
    client: Client,
    buffer: String,
    tells_time: bool,
    /// A file or a text ends with its first error; what is typed goes on.
    goes_on: bool,
}

/// Reads to the end of the input. Exit status 1 when a file or a text had an error.
pub fn run(options: &QuelOptions) -> Result<ExitCode, String> {
    let is_typed = options.command.is_none() && options.file.is_none() && std::io::stdin().is_terminal();
    let mut monitor =
        Monitor { client: connect(options)?, buffer: String::new(), tells_time: false, goes_on: is_typed };
    monitor.speak("quel")?;
    let done = match (&options.command, &options.file) {
        (Some(text), _) => monitor.send(text),
        (None, Some(path)) => monitor.run_file(path),
        (None, None) => monitor.read(&mut std::io::stdin().lock(), is_typed).map(drop),
    };
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("{error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn connect(options: &QuelOptions) -> Result<Client, String> {
    let mut config = postgres::Config::new();
    config.host(&options.host).port(options.port).user(&options.user).dbname(&options.database);
    config.connect_timeout(CONNECT_TIME_MAX).application_name("raid quel");
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    let failed = |error: postgres::Error| format!("{}:{}: {}", options.host, options.port, told(&error, ""));
    config.connect(NoTls).map_err(failed)
}

/// What a site has said, with the line that it points to.
fn told(error: &postgres::Error, text: &str) -> String {
    let Some(error) = error.as_db_error() else { return error.to_string() };
    let mut lines = vec![format!("ERROR {}: {}", error.code().code(), error.message())];
    if let Some(postgres::error::ErrorPosition::Original(position)) = error.position() {
        let before: String = text.chars().take((*position as usize).saturating_sub(1)).collect();
        let line = before.matches('\n').count();
        let column = before.chars().rev().take_while(|character| *character != '\n').count();
        if let Some(shown) = text.lines().nth(line) {
            lines.push(format!("line {}: {shown}", line + 1));
            lines.push(format!("{}^", " ".repeat(column + format!("line {}: ", line + 1).len())));
        }
    }
    lines.extend(error.detail().map(|detail| format!("DETAIL: {detail}")));
    lines.extend(error.hint().map(|hint| format!("HINT: {hint}")));
    lines.join("\n")
}

impl Monitor {
    fn speak(&mut self, language: &str) -> Result<(), String> {
        let set = format!("SET raid.query_language = {language}");
        self.client.batch_execute(&set).map_err(|error| told(&error, &set))
    }

    fn run_file(&mut self, path: &Path) -> Result<(), String> {
        let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.read(&mut BufReader::new(file), false).map(drop)
    }

    /// Reads lines up to the end, or to `\q`. What is left in the buffer is sent: the end of a file ends its last statement.
    fn read(&mut self, input: &mut dyn BufRead, prompts: bool) -> Result<After, String> {
        let mut line = String::new();
        loop {
            if prompts {
                print!("{}", if self.buffer.is_empty() { "quel> " } else { "    > " });
                std::io::stdout().flush().map_err(|error| error.to_string())?;
            }
            line.clear();
            if input.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                self.go()?;
                return Ok(After::End);
            }
            match self.line(line.trim_end()) {
                Ok(After::End) => return Ok(After::End),
                Ok(After::More) => {}
                Err(error) if self.goes_on => eprintln!("{error}"),
                Err(error) => return Err(error),
            }
        }
    }

    fn line(&mut self, line: &str) -> Result<After, String> {
        match line.split_once(' ').map_or((line, ""), |(word, rest)| (word, rest.trim())) {
            ("\\q", _) => return Ok(After::End),
            ("\\p", _) => println!("{}", self.buffer.trim_end()),
            ("\\r", _) => self.buffer.clear(),
            ("\\g", _) => self.go()?,
            ("\\t", _) => self.tells_time = !self.tells_time,
            ("\\sql", _) => self.speak("sql")?,
            ("\\quel", _) => self.speak("quel")?,
            ("\\i", path) => self.run_file(Path::new(path))?,
            (word, _) if word.starts_with('\\') => return Err(format!("{word} is not known: see raid quel --help")),
            _ => {
                let (text, goes) = match line.strip_suffix("\\g") {
                    Some(text) => (text, true),
                    None => (line, line.ends_with(';')),
                };
                self.buffer.push_str(text);
                self.buffer.push('\n');
                if goes {
                    self.go()?;
                }
            }
        }
        Ok(After::More)
    }

    /// Sends what has gathered.
    fn go(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.buffer);
        if text.trim().is_empty() { Ok(()) } else { self.send(&text) }
    }

    fn send(&mut self, text: &str) -> Result<(), String> {
        let begun = Instant::now();
        let messages = self.client.simple_query(text).map_err(|error| told(&error, text))?;
        let mut table: Option<Table> = None;
        for message in &messages {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    let names = columns.iter().map(|column| column.name().to_owned()).collect();
                    table = Some(Table { rows: vec![names] });
                }
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len()).map(|place| row.get(place).unwrap_or_default().to_owned()).collect();
                    if let Some(table) = &mut table {
                        table.rows.push(values);
                    }
                }
                SimpleQueryMessage::CommandComplete(count) => match table.take() {
                    Some(table) => println!("{}", table.text()),
                    None => println!("({count} row{})", if *count == 1 { "" } else { "s" }),
                },
                _ => {}
            }
        }
        if self.tells_time {
            println!("{:.1} ms", begun.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(())
    }
}

/// Rows to print; the first has the columns' names.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// As psql prints one: names in the middle, numbers to the right.
    fn text(&self) -> String {
        let count = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count).map(width).collect();
        let numeric = |column: usize| {
            let mut values = self.rows[1..].iter().map(|row| &row[column]).filter(|value| !value.is_empty()).peekable();
            values.peek().is_some() && values.all(|value| value.parse::<f64>().is_ok())
        };
        let numeric: Vec<bool> = (0..count).map(numeric).collect();
        let mut lines = Vec::with_capacity(self.rows.len() + 2);
        for (place, row) in self.rows.iter().enumerate() {
            let cells = row.iter().enumerate().map(|(column, value)| match (place, numeric[column]) {
                (0, _) => format!(" {value:^0$} ", widths[column]),
                (_, true) => format!(" {value:>0$} ", widths[column]),
                (_, false) => format!(" {value:<0$} ", widths[column]),
            });
            lines.push(cells.collect::<Vec<_>>().join("|").trim_end().to_owned());
            if place == 0 {
                lines.push(widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("+"));
            }
        }
        let rows = self.rows.len() - 1;
        lines.push(format!("({rows} row{})", if rows == 1 { "" } else { "s" }));
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, columns do not stand below their names.
    #[test]
    fn a_table_is_aligned() {
        let rows = [["name", "n"], ["Jones", "7"], ["Li", "12"]];
        let table = Table { rows: rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect() };
        assert_eq!(table.text(), " name  | n\n-------+----\n Jones |  7\n Li    | 12\n(2 rows)\n");
    }
}
