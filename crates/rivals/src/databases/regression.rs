//! `raid-lab compare regression`: PostgreSQL's own regression and isolation suites on Raid and on PostgreSQL, statement by statement. How it is judged is
//! `compare_queries`; here both systems are made ready for each file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;
use compare_queries::regression::isolation::{Played, Specification};
use compare_queries::regression::page::Page;
use compare_queries::regression::{Judged, Player, Suite, bridge, play};
use compare_queries::wire::{Answer, Connection, Endpoint as Address};

use crate::databases::beside::{self, Beside};
use crate::databases::environment::{self, Environment};
use crate::databases::error::CompareError;
use crate::databases::limits::PREPARE_TIME_MAX;

/// How to get the suite, which is PostgreSQL's and not kept here.
const REMEDY: &str = "name the folder of PostgreSQL 15's source with --suite (Debian: `apt-get source --download-only postgresql-15` \
    with a deb-src entry, then `tar xjf postgresql-15_*.orig.tar.bz2`)";

/// Which files, and where the report goes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Folder of PostgreSQL's source
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// Only these files of the suite, with commas between them; `none` plays none
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    files: Vec<String>,
    /// Only these specifications of the isolation suite, with commas between them; `none` plays none
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    isolation: Vec<String>,
    /// How many orders of steps of a specification are played
    #[arg(long, default_value_t = 20)]
    orders: usize,
    /// Write the report there, as Markdown
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    beside: beside::Place,
}

/// Plays the suite and tells.
///
/// # Errors
/// The suite is not there, or a system does not start.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let missing =
        |remedy: String| CompareError::Missing { program: "PostgreSQL's regression suite".to_string(), remedy };
    let source = options.suite.as_deref().ok_or_else(|| missing(REMEDY.to_string()))?;
    let original = Suite::below(source).map_err(|error| missing(format!("{error}; {REMEDY}")))?;
    let begin = Instant::now();
    let mut systems = Beside::new(&options.beside, true)?;
    let suite = Suite { folder: systems.environment.folder.join("regress") };
    copy(&systems.environment, &original.folder, &suite.folder)?;
    open_to_all(&systems.environment, &suite.folder)?;
    let template = prepare(&mut systems, &suite)?;
    let mut page = Page::default();
    let files =
        if options.files.is_empty() { suite.files().map_err(CompareError::Answers)? } else { options.files.clone() };
    for file in files.iter().filter(|file| *file != "none") {
        systems.environment.interrupt.check()?;
        let started = Instant::now();
        let judged = play_file(&mut systems, &suite, &template, file)?;
        println!("{}, {:.0} s", page.add(file, judged), started.elapsed().as_secs_f64());
        write(options, &page, &systems, begin)?;
    }
    println!("\nall: {}", page.total());
    for (name, text) in original.specifications().map_err(CompareError::Answers)? {
        if options.isolation.is_empty() || options.isolation.contains(&name) {
            systems.environment.interrupt.check()?;
            let played = play_specification(&mut systems, &template, &text, options.orders)?;
            println!("{}", page.add_orders(&name, played));
            write(options, &page, &systems, begin)?;
        }
    }
    Ok(())
}

/// Writes what there is so far, if it is wanted.
fn write(options: &Options, page: &Page, systems: &Beside, begin: Instant) -> Result<(), CompareError> {
    let Some(output) = &options.output else { return Ok(()) };
    let heading = heading(systems, begin)?;
    fs::write(output, page.markdown(&heading)).map_err(CompareError::system("cannot write", output))
}

/// One specification of the isolation suite, in an empty database.
fn play_specification(
    systems: &mut Beside,
    template: &Path,
    text: &str,
    orders: usize,
) -> Result<Vec<Played>, CompareError> {
    let raid = make_ready(systems, template)?;
    let postgres = systems.postgres("regression")?;
    Specification::parse(text).play(&raid, &postgres, orders).map_err(CompareError::Answers)
}

fn heading(systems: &Beside, begin: Instant) -> Result<String, CompareError> {
    use crate::databases::contenders::System;
    let version = match &systems.postgres {
        Some(postgres) => postgres.version(&systems.environment)?,
        None => String::new(),
    };
    let minutes = begin.elapsed().as_secs().div_ceil(60);
    let mut date = Command::new("date");
    date.arg("+%Y-%m-%d");
    let date = systems.environment.run(date, "date", PREPARE_TIME_MAX)?;
    Ok(format!(
        "# PostgreSQL's regression suite on Raid\n\nWritten by `raid-lab compare regression` ({}; {version}; {minutes} minutes): every statement of \
         the suite on both, answers compared. What names something that failed before, or that a failure has changed, is counted as following.",
        date.trim()
    ))
}

/// Copies a folder.
fn copy(environment: &Environment, from: &Path, to: &Path) -> Result<(), CompareError> {
    let mut command = Command::new("cp");
    command.arg("-a").arg(environment::absolute(from)?).arg(to);
    environment.run(command, "copy", PREPARE_TIME_MAX).map(drop)
}

/// The server, which is another user, reads the suite's files and writes beside them.
fn open_to_all(environment: &Environment, folder: &Path) -> Result<(), CompareError> {
    let results = folder.join("results");
    fs::create_dir_all(&results).map_err(CompareError::system("cannot create", &results))?;
    fs::set_permissions(&environment.folder, Permissions::from_mode(0o755))
        .map_err(CompareError::system("cannot open", &environment.folder))?;
    let mut command = Command::new("chmod");
    command.args(["-R", "a+rwX"]).arg(folder);
    environment.run(command, "open", PREPARE_TIME_MAX).map(drop)
}

/// Prepares a database on PostgreSQL and data of Raid from which each file begins.
fn prepare(systems: &mut Beside, suite: &Suite) -> Result<PathBuf, CompareError> {
    let administrator = systems.postgres("postgres")?;
    ask(&administrator, "CREATE DATABASE prepared TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")?;
    let template = systems.environment.folder.join("raid_prepared");
    let raid = systems.start_raid(&template)?;
    let prepared = systems.postgres("prepared")?;
    let text = suite.text("test_setup").map_err(CompareError::Answers)?;
    let mut player = Player::open(&raid, &prepared, &suite.folder).map_err(CompareError::Answers)?;
    player.play(&text, variables(systems, suite), false);
    drop(player);
    let left = bridge::carry(&raid, &prepared).map_err(CompareError::Answers)?;
    println!(
        "tables of the preparation that Raid cannot have: {}",
        if left.is_empty() { "none".to_string() } else { left.join(", ") }
    );
    systems.stop_raid();
    Ok(template)
}

fn variables(systems: &Beside, suite: &Suite) -> std::collections::BTreeMap<String, String> {
    let libraries = systems.environment.postgres_programs.with_file_name("lib");
    suite.variables(&suite.folder, &libraries)
}

/// One file, from the prepared state on.
fn play_file(systems: &mut Beside, suite: &Suite, template: &Path, file: &str) -> Result<Vec<Judged>, CompareError> {
    let raid = make_ready(systems, template)?;
    let postgres = systems.postgres("regression")?;
    let mut judged = Vec::new();
    let mut player = Player::open(&raid, &postgres, &suite.folder).map_err(CompareError::Answers)?;
    for needed in Suite::needed(file) {
        let text = suite.text(needed).map_err(CompareError::Answers)?;
        player.play(&text, variables(systems, suite), false);
    }
    let text = suite.text(file).map_err(CompareError::Answers)?;
    player.play(&text, variables(systems, suite), true);
    judged.append(&mut player.judged);
    if !player.is_alive() {
        println!("{file}: Raid does not answer any more; the end of its output:\n{}", systems.last_lines());
    }
    Ok(judged)
}

/// Both systems as they were prepared.
fn make_ready(systems: &mut Beside, template: &Path) -> Result<Address, CompareError> {
    let administrator = systems.postgres("postgres")?;
    clean(systems)?;
    ask(&administrator, "CREATE DATABASE regression TEMPLATE prepared")?;
    systems.stop_raid();
    let data = systems.environment.folder.join("raid_file");
    if data.exists() {
        fs::remove_dir_all(&data).map_err(CompareError::system("cannot empty", &data))?;
    }
    copy(&systems.environment, template, &data)?;
    systems.start_raid(&data)
}

/// Takes away what a file has left beside its database: roles and slots.
fn clean(systems: &Beside) -> Result<(), CompareError> {
    let administrator = systems.postgres("postgres")?;
    let mut connection = Connection::open(&administrator).map_err(CompareError::Answers)?;
    let roles =
        play::column(&connection.script("SELECT quote_ident(rolname) FROM pg_roles WHERE rolname ~ '^regress'", ""));
    if let Ok(mut inside) =
        systems.postgres("regression").map_err(|error| error.to_string()).and_then(|at| Connection::open(&at))
    {
        for role in &roles {
            inside.script(&format!("DROP OWNED BY {role} CASCADE"), "");
        }
    }
    connection.script("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots", "");
    connection.script("DROP DATABASE IF EXISTS regression WITH (FORCE)", "");
    for role in &roles {
        connection.script(&format!("DROP OWNED BY {role}"), "");
        connection.script(&format!("DROP ROLE {role}"), "");
    }
    Ok(())
}

/// A statement that must succeed.
fn ask(address: &Address, sql: &str) -> Result<(), CompareError> {
    let mut connection = Connection::open(address).map_err(CompareError::Answers)?;
    match connection.simple(sql) {
        Answer::Done { .. } => Ok(()),
        other => Err(CompareError::Answer { statement: sql.to_string(), answer: format!("{other:?}") }),
    }
}
