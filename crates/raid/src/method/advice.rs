//! `raid method advice`: what the rules of each site say of each method, as text.

use super::{connect, told};
use postgres::SimpleQueryMessage;
use std::net::SocketAddr;
use std::process::ExitCode;

const ADVICE: &str = "SELECT method, in_force, belief, certainty, because FROM raid.concurrency_advice";
const FACTS: &str = "SELECT fact, value FROM raid.concurrency_facts";

/// Prints it. Exit status 1 when a site does not answer.
pub(super) fn show(sites: &[(u16, SocketAddr)]) -> ExitCode {
    let mut all_answer = true;
    for (number, sql) in sites {
        match (rows(*sql, ADVICE), rows(*sql, FACTS)) {
            (Ok(advice), Ok(facts)) => print!("{}", text(*number, &advice, &facts)),
            (Err(error), _) | (_, Err(error)) => {
                all_answer = false;
                println!("site {number}: {error}");
            }
        }
    }
    if all_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rows(sql: SocketAddr, query: &str) -> Result<Vec<Vec<String>>, String> {
    let messages = connect(sql, "raid method")?.simple_query(query).map_err(|error| told(&error))?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect())
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}

fn text(number: u16, advice: &[Vec<String>], facts: &[Vec<String>]) -> String {
    if advice.is_empty() {
        return format!("site {number}: nothing yet; its load is judged every ten seconds\n");
    }
    let facts: Vec<String> = facts.iter().map(|fact| fact.join(" ")).collect();
    let mut text = format!("site {number}: {}\n", facts.join(", "));
    let mut before = "";
    for row in advice {
        let [method, in_force, belief, certainty, because] = &row[..] else { continue };
        let mark = if in_force == "t" { "*" } else { "" };
        let (name, belief) = if before == method { ("", "") } else { (method.as_str(), belief.as_str()) };
        text.push_str(format!("  {name:<14} {mark:<1} {belief:>5}  {certainty:>5}  {because}").trim_end());
        text.push('\n');
        before = method;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a reader does not see which reason is for which method, or which method is in force.
    #[test]
    fn a_method_is_named_once_with_all_its_reasons() {
        let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
        let advice = [
            row(["serial", "f", "300", "400", "It is hot."]),
            row(["serial", "f", "300", "-100", "Some think."]),
            row(["locking", "t", "0", "", ""]),
        ];
        let facts = [vec!["near".to_owned(), "500".to_owned()], vec!["hot".to_owned(), "900".to_owned()]];
        let told = text(2, &advice, &facts);
        assert!(told.starts_with("site 2: near 500, hot 900\n  serial             300    400  It is hot.\n"), "{told}");
        assert!(told.contains("-100  Some think.\n  locking        *     0\n"), "{told}");
        assert!(text(2, &[], &[]).contains("nothing yet"));
    }
}
