//! `raid export`: a table, or the rows of a query, as a file.
//!
//! It is a client like any other: one COPY or one query, in a read-only transaction, so that all rows are of one moment. Invariant: a file has its name only when all of it is
//! on disk.

mod parquet;

use crate::cluster_folder::ClusterFolder;
use crate::method::{connect, told};
use clap::{Args, ValueEnum};
use local_cluster::ClusterDirectory;
use local_cluster::process::ProcessName;
use local_cluster::screen::grouped;
use postgres::Transaction;
use site::SiteConfig;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid export orders --out orders.csv
  raid export --query \"SELECT * FROM orders WHERE paid\" --out paid.csv
  raid export orders --site 2 | gzip > orders.csv.gz
  raid export orders --format parquet --out orders.parquet

It connects as the user `postgres`, without encryption, and with the password in PGPASSWORD if it is asked for one. What it does can be done with any client, too:
COPY (SELECT ...) TO STDOUT (FORMAT csv, HEADER).";

/// Write a table, or the rows of a query, to a file
///
/// All rows are of one moment. Nothing waits for it, and nothing is aborted. A file of text begins with a line of the columns' names.
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
    /// A file of columns with their types, for programs that analyse data: Apache Parquet, compressed with Snappy.
    Parquet,
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
    let query = query.trim_end().trim_end_matches(';').to_owned();
    let mut write = |out: &mut (dyn Write + Send)| match options.format {
        ExportFormat::Csv => csv(&mut transaction, &query, out),
        ExportFormat::Parquet => parquet::write(&mut transaction, &query, &mut *out).map(drop),
    };
    match &options.out {
        Some(path) => {
            let bytes = to_file(path, |file| write(file))?;
            println!("{} has {} bytes", path.display(), grouped(bytes));
        }
        None => {
            let mut out = BufWriter::new(io::stdout());
            write(&mut out)?;
            out.flush().map_err(text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn csv(transaction: &mut Transaction<'_>, query: &str, out: &mut (dyn Write + Send)) -> Result<(), String> {
    let copy = format!("COPY ({query}\n) TO STDOUT (FORMAT csv, HEADER)");
    let mut rows = transaction.copy_out(&copy).map_err(|error| told(&error))?;
    io::copy(&mut rows, out).map(drop).map_err(text)
}

/// A table's name, perhaps with its schema, as it is: small letters are not made of large ones.
fn quoted(name: &str) -> String {
    let parts = name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}

/// Writes a file that is there whole, or not at all. Says how many bytes it has.
fn to_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<(), String>) -> Result<u64, String> {
    if path.exists() {
        return Err(format!("{} is there already: name another file with --out", path.display()));
    }
    let mut name = path.file_name().ok_or_else(|| format!("{} names no file", path.display()))?.to_owned();
    name.push(".partial");
    let draft = path.with_file_name(name);
    let written = || {
        let mut file = BufWriter::new(File::create(&draft).map_err(text)?);
        write(&mut file)?;
        let file = file.into_inner().map_err(text)?;
        file.sync_all().map_err(text)?;
        let bytes = file.metadata().map_err(text)?.len();
        fs::rename(&draft, path).map_err(text)?;
        Ok(bytes)
    };
    written().map_err(|error: String| {
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
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rows.csv");
        let half = |file: &mut BufWriter<File>| {
            file.write_all(b"a").map_err(text)?;
            Err("the site has ended".to_owned())
        };
        let error = to_file(&path, half).expect_err("it fails");
        assert!(error.contains("rows.csv: the site has ended"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        let whole = |file: &mut BufWriter<File>| file.write_all(b"a,b\n").map_err(text);
        assert_eq!(to_file(&path, whole), Ok(4));
        assert!(to_file(&path, whole).is_err_and(|error| error.contains("is there already")));
    }
}
