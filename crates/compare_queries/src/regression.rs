//! PostgreSQL's own regression suite, statement by statement on PostgreSQL and on Raid, each difference in a class.
//!
//! The suite is PostgreSQL's and is not kept here: whoever runs it names the folder `src/test` of PostgreSQL's source. Reading order: `script` (what psql
//! would send), `trail` (what earlier failures explain), `class`, `play`, `bridge` (tables that the suite takes for granted), `page` (the
//! report), `isolation` (its suite of several sessions).

pub mod bridge;
mod class;
pub mod isolation;
pub mod page;
pub mod play;
pub mod script;
mod trail;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use self::class::Class;
pub use self::play::{Judged, Player};

/// The suite's files.
pub struct Suite {
    /// Its folder: `src/test/regress`.
    pub folder: PathBuf,
}

impl Suite {
    /// The suite below a folder of PostgreSQL's source.
    ///
    /// # Errors
    /// It is not there.
    pub fn below(folder: &Path) -> Result<Suite, String> {
        let found = [folder.join("src/test/regress"), folder.join("regress"), folder.to_path_buf()];
        let found = found.into_iter().find(|folder| folder.join("parallel_schedule").is_file());
        found
            .map(|folder| Suite { folder })
            .ok_or_else(|| format!("{} has no src/test/regress/parallel_schedule", folder.display()))
    }

    /// The files in the order of the suite's schedule.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn files(&self) -> Result<Vec<String>, String> {
        let path = self.folder.join("parallel_schedule");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let names = text.lines().filter_map(|line| line.strip_prefix("test:")).flat_map(str::split_whitespace);
        // The preparation is played before each of the others.
        Ok(names.filter(|name| *name != "test_setup").map(str::to_string).collect())
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn text(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join("sql").join(format!("{name}.sql"));
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Specifications of the isolation suite beside this one: names and texts.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn specifications(&self) -> Result<Vec<(String, String)>, String> {
        let folder = self.folder.with_file_name("isolation").join("specs");
        let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.extension().is_some_and(|extension| extension == "spec") {
                let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                found.push((name, std::fs::read_to_string(&path).map_err(fail)?));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Files that a file needs played before it, beside the preparation: they make tables that it takes for granted.
    pub fn needed(name: &str) -> &'static [&'static str] {
        match name {
            "create_index" | "join" | "with" | "select_parallel" | "inherit" | "btree_index" | "hash_index"
            | "arrays" | "rowtypes" | "plpgsql" | "misc" => &["create_misc"],
            "select" | "create_index_spgist" => &["create_index"],
            "select_views" => &["create_misc", "create_view"],
            "create_view" => &["create_misc"],
            "aggregates" => &["create_aggregate"],
            "multirangetypes" => &["rangetypes"],
            "geometry" => &["point", "lseg", "line", "box", "path", "polygon", "circle"],
            "horology" => &["date", "time", "timetz", "timestamp", "timestamptz", "interval"],
            _ => &[],
        }
    }

    /// What psql is given by whoever runs the suite.
    pub fn variables(&self, build: &Path, libraries: &Path) -> BTreeMap<String, String> {
        let text = |path: &Path| path.display().to_string();
        let pairs = [
            ("env:PG_ABS_SRCDIR", text(&self.folder)),
            ("env:PG_ABS_BUILDDIR", text(build)),
            ("env:PG_LIBDIR", text(libraries)),
            ("env:PG_DLSUFFIX", ".so".to_string()),
            ("DBNAME", "regression".to_string()),
            ("USER", "postgres".to_string()),
            ("ENCODING", "UTF8".to_string()),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }
}
