//! `raid export`: a table, or the rows of a query, as a file of text.
//!
//! It is a client like any other: one COPY, in a read-only transaction, so that all rows are of one moment. Invariant: a file has its name only when all of it is
//! on disk.

use crate::cluster_folder::ClusterFolder;
use crate::method::{connect, told};
use clap::{Args, ValueEnum};
use local_cluster::ClusterDirectory;
use local_cluster::process::ProcessName;
use local_cluster::screen::grouped;
use site::SiteConfig;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid export orders --out orders.csv
  raid export --query \"SELECT * FROM orders WHERE paid\" --out paid.csv
  raid export orders --site 2 | gzip > orders.csv.gz

It connects as the user `postgres`, without encryption, and with the password in PGPASSWORD if it is asked for one. What it does can be done with any client, too:
COPY (SELECT ...) TO STDOUT (FORMAT csv, HEADER).";

/// Write a table, or the rows of a query, to a file of text
///
/// All rows are of one moment. Nothing waits for it, and nothing is aborted. The first line has the names of the columns.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportOptions {
    /// The table.
    #[arg(required_unless_present = "query", conflicts_with = "query")]
    table: Option<String>,
    /// Instead of a table: a query.
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value = "csv")]
    format: ExportFormat,
    /// The file, which must not be there. Without it, standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The site that is asked.
    #[arg(long, value_name = "N", default_value_t = 1)]
    site: u16,
    #[command(flatten)]
    folder: ClusterFolder,
}

/// How rows are written.
#[derive(Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// Commas between columns, quotes where they are needed, as PostgreSQL writes it.
    Csv,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Does it.
pub fn run(options: &ExportOptions) -> Result<ExitCode, String> {
    let cluster = ClusterDirectory::open(&options.folder.data).map_err(text)?;
    if !cluster.has(ProcessName::Site(options.site)) {
        return Err(format!("{} has no site {}", options.folder.data.display(), options.site));
    }
    let sql = SiteConfig::read(&cluster.config_of(ProcessName::Site(options.site))).map_err(text)?.sql;
    let mut client = connect(sql, "raid export")?;
    let mut transaction = client.build_transaction().read_only(true).start().map_err(|error| told(&error))?;
    let query = match (&options.query, &options.table) {
        (Some(query), _) => query.clone(),
        (None, table) => format!("SELECT * FROM {}", quoted(table.as_deref().unwrap_or_default())),
    };
    let ExportFormat::Csv = options.format;
    let mut rows = transaction
        .copy_out(&format!("COPY ({query}) TO STDOUT (FORMAT csv, HEADER)"))
        .map_err(|error| told(&error))?;
    match &options.out {
        Some(path) => {
            let bytes = to_file(&mut rows, path)?;
            println!("{} has {} bytes", path.display(), grouped(bytes));
        }
        None => {
            let mut out = io::stdout().lock();
            io::copy(&mut rows, &mut out).and_then(|_| out.flush()).map_err(text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A table's name, perhaps with its schema, as it is: small letters are not made of large ones.
fn quoted(name: &str) -> String {
    let parts = name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}

/// Writes a file that is there whole, or not at all. Says how many bytes it has.
fn to_file(rows: &mut impl io::Read, path: &Path) -> Result<u64, String> {
    if path.exists() {
        return Err(format!("{} is there already: name another file with --out", path.display()));
    }
    let mut name = path.file_name().ok_or_else(|| format!("{} names no file", path.display()))?.to_owned();
    name.push(".partial");
    let draft = path.with_file_name(name);
    let mut write = || {
        let mut file = File::create(&draft)?;
        let bytes = io::copy(rows, &mut file)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        Ok(bytes)
    };
    write().map_err(|error: io::Error| {
        // Half of it is worth nothing.
        let _ = fs::remove_file(&draft);
        format!("{}: {error}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name with quotes would end its statement and begin another.
    #[test]
    fn names_stay_names() {
        assert_eq!(quoted("Orders"), "\"Orders\"");
        assert_eq!(quoted("public.a\"b"), "\"public\".\"a\"\"b\"");
    }

    /// A reader of half a file would take it for all.
    #[test]
    fn what_fails_leaves_no_file() {
        struct Fails(u8);
        impl io::Read for Fails {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 => {
                        buffer[0] = b'a';
                        Ok(1)
                    }
                    _ => Err(io::Error::other("the site has ended")),
                }
            }
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        let error = to_file(&mut Fails(0), &path).expect_err("it fails");
        assert!(error.contains("rows.csv: the site has ended"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        assert_eq!(to_file(&mut &b"a,b\n"[..], &path), Ok(4));
        assert!(to_file(&mut &b"c"[..], &path).is_err_and(|error| error.contains("is there already")));
    }
}
