//! PostgreSQL's isolation suite: steps of several sessions in given orders, each order on both systems. (The format is that of `src/test/isolation`,
//! described in its README.)
//!
//! A step that is not done after `STEP_WAIT` waits for another session, and the next step is begun. Raid's transactions are strictly
//! serializable whatever level is asked for, so it may refuse with 40001 what PostgreSQL does; that is a class of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::limits::{ANSWER_TIME_MAX, STEP_WAIT};
use crate::report::cell;
use crate::wire::{Answer, Connection, Endpoint};

/// A session of a specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: String,
    setup: String,
    teardown: String,
    steps: Vec<(String, String)>,
}

/// A specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specification {
    setup: Vec<String>,
    teardown: String,
    sessions: Vec<Session>,
    orders: Vec<Vec<String>>,
}

/// How an order of steps came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The same answers to all steps.
    Same,
    /// Raid refused a step, or more, with a conflict: 40001 or 40P01.
    Conflict,
    /// Raid does not support a step or what it needs.
    Unsupported,
    /// Other answers.
    Different,
    /// A session was lost.
    Lost,
}

/// An order that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// Its steps.
    pub steps: String,
    /// How it came out.
    pub order: Order,
    /// The first step whose answers differ.
    pub reason: String,
}

/// Words, names in quotes, and blocks in braces.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '#' => drop(chars.by_ref().find(|char| *char == '\n')),
            '{' => words.push(format!("{{{}", chars.by_ref().take_while(|char| *char != '}').collect::<String>())),
            '"' => words.push(chars.by_ref().take_while(|char| *char != '"').collect()),
            // What a step waits for is found by waiting.
            '(' => drop(chars.by_ref().find(|char| *char == ')')),
            char if char.is_whitespace() => {}
            char => {
                let mut word = String::from(char);
                while let Some(next) =
                    chars.next_if(|next| !next.is_whitespace() && !matches!(next, '{' | '"' | '(' | '#'))
                {
                    word.push(next);
                }
                words.push(word);
            }
        }
    }
    words
}

impl Specification {
    /// Reads one.
    pub fn parse(text: &str) -> Specification {
        let mut specification = Specification::default();
        let mut words = words(text).into_iter().peekable();
        let block = |word: Option<String>| word.unwrap_or_default().trim_start_matches('{').to_string();
        while let Some(word) = words.next() {
            let session = specification.sessions.last_mut();
            match (word.as_str(), session) {
                ("setup", None) => specification.setup.push(block(words.next())),
                ("setup", Some(session)) => session.setup = block(words.next()),
                ("teardown", None) => specification.teardown = block(words.next()),
                ("teardown", Some(session)) => session.teardown = block(words.next()),
                ("session", _) => {
                    let name = words.next().unwrap_or_default();
                    specification.sessions.push(Session { name, ..Session::default() });
                }
                ("step", Some(session)) => {
                    let name = words.next().unwrap_or_default();
                    session.steps.push((name, block(words.next())));
                }
                ("permutation", _) => {
                    let mut order = Vec::new();
                    while let Some(step) = words.next_if(|word| word != "permutation") {
                        order.push(step);
                    }
                    specification.orders.push(order);
                }
                _ => {}
            }
        }
        if specification.orders.is_empty() {
            let lengths: Vec<usize> = specification.sessions.iter().map(|session| session.steps.len()).collect();
            specification.interleave(&mut vec![0; lengths.len()], &mut Vec::new());
        }
        specification
    }

    /// All orders in which each session keeps its own.
    fn interleave(&mut self, next: &mut Vec<usize>, so_far: &mut Vec<String>) {
        let mut is_whole = true;
        for at in 0..self.sessions.len() {
            let Some((name, _)) = self.sessions[at].steps.get(next[at]) else { continue };
            is_whole = false;
            so_far.push(name.clone());
            next[at] += 1;
            self.interleave(next, so_far);
            next[at] -= 1;
            so_far.pop();
        }
        if is_whole {
            self.orders.push(so_far.clone());
        }
    }

    /// Plays the first orders on both systems.
    ///
    /// # Errors
    /// One of the systems cannot be reached.
    pub fn play(&self, raid: &Endpoint, postgres: &Endpoint, orders_max: usize) -> Result<Vec<Played>, String> {
        let mut played = Vec::new();
        for order in self.orders.iter().take(orders_max) {
            let theirs = self.play_order(postgres, order)?;
            let ours = self.play_order(raid, order)?;
            let (order_found, reason) = judge(&ours, &theirs);
            played.push(Played { steps: order.join(" "), order: order_found, reason });
        }
        Ok(played)
    }

    /// Each step's name with what was answered; what setting up refused comes first.
    fn play_order(&self, endpoint: &Endpoint, order: &[String]) -> Result<Vec<(String, Vec<Answer>)>, String> {
        let mut control = Connection::open(endpoint)?;
        let mut answers: Vec<(String, Vec<Answer>)> = Vec::new();
        for setup in &self.setup {
            answers.push(("setup".to_string(), control.script(setup, "")));
        }
        let mut sessions = Vec::new();
        for session in &self.sessions {
            let mut connection = Connection::open(endpoint)?;
            if !session.setup.trim().is_empty() {
                answers.push((format!("setup of {}", session.name), connection.script(&session.setup, "")));
            }
            sessions.push(Worker::start(connection));
        }
        for name in order {
            let found = self.sessions.iter().enumerate().find_map(|(at, session)| {
                session.steps.iter().find(|(step, _)| step == name).map(|(_, sql)| (at, sql.clone()))
            });
            let Some((at, sql)) = found else { continue };
            // A session does one thing at a time.
            sessions[at].finish(&mut answers);
            sessions[at].begin(name.clone(), sql);
            for session in &mut sessions {
                session.look(&mut answers);
            }
        }
        for session in &mut sessions {
            session.finish(&mut answers);
        }
        for (session, worker) in self.sessions.iter().zip(sessions) {
            if let Some(mut connection) = worker.end()
                && !session.teardown.trim().is_empty()
            {
                connection.script(&session.teardown, "");
            }
        }
        control.script(&self.teardown, "");
        answers.sort_by_key(|(name, _)| order.iter().position(|step| step == name).map_or(0, |at| at + 1));
        Ok(answers)
    }
}

/// A session with a thread of its own.
struct Worker {
    statements: Sender<String>,
    answers: Receiver<Vec<Answer>>,
    thread: JoinHandle<Connection>,
    /// The step under way.
    step: Option<String>,
}

impl Worker {
    fn start(mut connection: Connection) -> Worker {
        let (statements, received) = channel::<String>();
        let (given, answers) = channel();
        let thread = thread::spawn(move || {
            for sql in received {
                if given.send(connection.script(&sql, "")).is_err() {
                    break;
                }
            }
            connection
        });
        Worker { statements, answers, thread, step: None }
    }

    fn begin(&mut self, name: String, sql: String) {
        if self.statements.send(sql).is_ok() {
            self.step = Some(name);
        }
    }

    /// Notes what is answered soon.
    fn look(&mut self, answers: &mut Vec<(String, Vec<Answer>)>) {
        self.wait(STEP_WAIT, answers);
    }

    /// Waits for what is under way.
    fn finish(&mut self, answers: &mut Vec<(String, Vec<Answer>)>) {
        self.wait(ANSWER_TIME_MAX, answers);
    }

    fn wait(&mut self, time: std::time::Duration, answers: &mut Vec<(String, Vec<Answer>)>) {
        if self.step.is_none() {
            return;
        }
        if let Ok(answer) = self.answers.recv_timeout(time)
            && let Some(step) = self.step.take()
        {
            answers.push((step, answer));
        }
    }

    /// Ends the thread, unless it waits still.
    fn end(self) -> Option<Connection> {
        drop(self.statements);
        if self.step.is_some() {
            return None;
        }
        self.thread.join().ok()
    }
}

fn judge(ours: &[(String, Vec<Answer>)], theirs: &[(String, Vec<Answer>)]) -> (Order, String) {
    let refused = |codes: &[&str]| {
        ours.iter().find_map(|(step, answers)| {
            let refusal = answers.iter().find_map(|answer| match answer {
                Answer::Refused(refusal) if codes.contains(&refusal.code.as_str()) => Some(refusal),
                _ => None,
            })?;
            Some(format!("{step}: {} {}", refusal.code, refusal.message))
        })
    };
    let broken =
        |(_, answers): &(String, Vec<Answer>)| answers.iter().any(|answer| matches!(answer, Answer::Broken(_)));
    if let Some((step, _)) = ours.iter().find(|one| broken(one)) {
        return (Order::Lost, step.clone());
    }
    let differs = ours.iter().zip(theirs).find(|(ours, theirs)| ours.0 != theirs.0 || !same(&ours.1, &theirs.1));
    let Some((step, _)) = differs
        .map(|(ours, theirs)| (ours.0.clone(), theirs))
        .or_else(|| (ours.len() != theirs.len()).then(|| ("a step that never ended".to_string(), &theirs[0])))
    else {
        return (Order::Same, String::new());
    };
    if let Some(reason) = refused(&["0A000", "42601", "42883", "42704"]) {
        return (Order::Unsupported, reason);
    }
    if let Some(reason) = refused(&["40001", "40P01"]) {
        return (Order::Conflict, reason);
    }
    let text = |all: &[(String, Vec<Answer>)]| {
        let answers = all.iter().find(|(name, _)| *name == step).map(|(_, answers)| answers.as_slice());
        answers.unwrap_or_default().iter().map(short).collect::<Vec<_>>().join(", ")
    };
    (Order::Different, format!("{step}: {} instead of {}", text(ours), text(theirs)))
}

fn same(ours: &[Answer], theirs: &[Answer]) -> bool {
    let sorted = |answer: &Answer| match answer {
        Answer::Done { rows, .. } => {
            let mut rows = rows.clone();
            rows.sort();
            rows
        }
        _ => Vec::new(),
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| ours.code() == theirs.code() && sorted(ours) == sorted(theirs))
}

fn short(answer: &Answer) -> String {
    match answer {
        Answer::Done { rows, .. } => {
            let rows: Vec<String> = rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|")).collect();
            format!("({})", rows.join("; "))
        }
        Answer::Refused(refusal) => format!("{} {}", refusal.code, refusal.message),
        Answer::Broken(why) => why.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# a comment
setup { CREATE TABLE t (a int); }
teardown { DROP TABLE t; }
session s1
setup { BEGIN; }
step "r 1" { SELECT * FROM t; }
step c1 { COMMIT; }
session s2
step w2 { INSERT INTO t VALUES (1); }
"#;

    /// An order that is not played is one that nobody judges.
    #[test]
    fn orders_are_those_that_are_given_or_all() {
        let all = Specification::parse(TEXT);
        assert_eq!(all.sessions.len(), 2);
        assert_eq!(all.sessions[0].steps[0], ("r 1".to_string(), " SELECT * FROM t; ".to_string()));
        assert_eq!(all.orders.len(), 3);
        let given =
            Specification::parse(&format!("{TEXT}permutation \"r 1\" w2(*) c1\npermutation w2 c1(w2, c1 notices 1)\n"));
        assert_eq!(given.orders, [vec!["r 1", "w2", "c1"], vec!["w2", "c1"]]);
    }
}
