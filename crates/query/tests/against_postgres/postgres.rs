//! The server that writes expectations anew, when one is named.

use crate::memory::described;
use std::io::Write;
use std::process::{Command, Stdio};
use values::Value;

/// The command that reaches the server.
pub fn command() -> Option<String> {
    std::env::var("QUERY_TESTS_PSQL").ok()
}

/// What psql prints for a script.
pub fn psql(command: &str, script: &str) -> String {
    let mut child = Command::new("sh")
        .args(["-c", &format!("{command} -X -q -A -F '|' -P footer=off -P null=NULL -v VERBOSITY=sqlstate 2>&1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("psql reads");
    String::from_utf8(child.wait_with_output().expect("psql ends").stdout).expect("UTF-8")
}

/// Makes the test tables anew.
pub fn create_tables(command: &str) {
    let mut script = String::from("SET client_min_messages = error;\n");
    for table in described() {
        let schema = &table.schema;
        let mut parts: Vec<String> = schema
            .columns
            .iter()
            .map(|column| {
                let default = column.default.as_ref().map_or(String::new(), |default| format!(" DEFAULT {default}"));
                let not_null = if column.not_null { " NOT NULL" } else { "" };
                format!("{} {}{not_null}{default}", column.name, column.column_type)
            })
            .collect();
        let names = |positions: &[usize]| {
            let names: Vec<&str> = positions.iter().map(|position| schema.columns[*position].name.as_str()).collect();
            names.join(", ")
        };
        if !schema.has_hidden_key() {
            parts.push(format!("PRIMARY KEY ({})", names(&schema.primary_key)));
        }
        script += &format!("DROP TABLE IF EXISTS {0};\nCREATE TABLE {0} ({1});\n", schema.name, parts.join(", "));
        for index in &schema.indexes {
            let unique = if index.unique { "UNIQUE " } else { "" };
            script += &format!(
                "CREATE {unique}INDEX {} ON {} ({});\n",
                index.name,
                schema.name,
                names(&index.leading_columns())
            );
        }
        for row in &table.rows {
            let cells: Vec<String> = row.iter().map(literal).collect();
            script += &format!("INSERT INTO {} VALUES ({});\n", schema.name, cells.join(", "));
        }
    }
    let printed = psql(command, &script);
    assert_eq!(printed, "", "the test tables cannot be made");
}

fn literal(value: &Value) -> String {
    match values::text::to_string(value) {
        Some(text) => format!("'{}'", text.replace('\'', "''")),
        None => "NULL".to_owned(),
    }
}
