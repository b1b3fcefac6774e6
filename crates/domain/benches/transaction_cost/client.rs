//! A client as pgbench is one: prepared statements over the extended protocol, the TPC-B-like transaction in seven requests.

use bytes::{Buf, BufMut, BytesMut};
use messages::SessionId;

const SCHEMA: [&str; 4] = [
    "CREATE TABLE pgbench_branches (bid int NOT NULL PRIMARY KEY, bbalance int, filler char(88))",
    "CREATE TABLE pgbench_tellers (tid int NOT NULL PRIMARY KEY, bid int, tbalance int, filler char(84))",
    "CREATE TABLE pgbench_accounts (aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84))",
    "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))",
];
const STATEMENTS: [&str; 7] = [
    "BEGIN",
    "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
    "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
    "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
    "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
    "END",
];
/// DebitCredit as a procedure, whose call is the only statement of a transaction.
const PROCEDURE: &str = "CREATE PROCEDURE debit_credit(account int, teller int, branch int, amount int) LANGUAGE SQL AS '
    UPDATE pgbench_accounts SET abalance = abalance + amount WHERE aid = account;
    UPDATE pgbench_tellers SET tbalance = tbalance + amount WHERE tid = teller;
    UPDATE pgbench_branches SET bbalance = bbalance + amount WHERE bid = branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (teller, branch, account, amount, CURRENT_TIMESTAMP)'";
const CALL: [&str; 1] = ["CALL debit_credit($1, $2, $3, $4)"];
const BRANCHES: i64 = 10;
const TELLERS: i64 = 10 * BRANCHES;
/// Rows in one COPY.
const COPY_ROWS: i64 = 2_000;
/// Turns within which an answer comes, whatever it waits for.
const PATIENCE: u32 = 100_000;

/// Where clients' bytes go: the user interface of a site.
pub trait Door {
    /// One more client.
    fn open(&mut self, session: SessionId);
    /// Takes what a client has sent.
    fn receive(&mut self, session: SessionId, input: &mut BytesMut);
    /// Moves what there is for a client to the end of `into`.
    fn answer(&mut self, session: SessionId, into: &mut BytesMut);
    /// What was asked goes on, and time with it.
    fn pass_time(&mut self);
}

/// See the module's description.
pub struct Client {
    session: SessionId,
    input: BytesMut,
    output: BytesMut,
    accounts: i64,
    statements: &'static [&'static str],
    random: u64,
    /// The next statement, and what this transaction is about: account, teller, branch, amount.
    step: usize,
    subject: [i64; 4],
    done: u64,
}

impl Client {
    /// The client of this session, whose transactions are drawn from its number.
    pub fn new(number: u64, accounts: i64, calls: bool) -> Client {
        let (input, output) = (BytesMut::new(), BytesMut::new());
        Client {
            session: SessionId(number),
            input,
            output,
            accounts,
            statements: if calls { &CALL } else { &STATEMENTS },
            random: number,
            step: 0,
            subject: [0; 4],
            done: 0,
        }
    }

    /// Transactions that have committed.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Connects.
    pub fn connect(&mut self, door: &mut impl Door) -> Result<(), String> {
        door.open(self.session);
        let words = b"\0\x03\0\0user\0example\0database\0raid\0\0";
        self.input.put_u32(4 + words.len() as u32);
        self.input.put_slice(words);
        self.ask(door)
    }

    /// Names the statements of the transaction.
    pub fn prepare(&mut self, door: &mut impl Door) -> Result<(), String> {
        for (number, statement) in self.statements.iter().enumerate() {
            self.message(b'P', |body| {
                body.put_slice(format!("P0_{number}\0{statement}\0").as_bytes());
                body.put_u16(0);
            });
            self.message(b'S', |_| {});
            self.ask(door)?;
        }
        Ok(())
    }

    fn simple(&mut self, door: &mut impl Door, sql: &str) -> Result<(), String> {
        self.message(b'Q', |body| body.put_slice(format!("{sql}\0").as_bytes()));
        self.ask(door)
    }

    /// Sends the next statement if the last one is answered. An error is what the site has answered instead.
    pub fn go_on(&mut self, door: &mut impl Door) -> Result<(), String> {
        if (self.step > 0 || self.done > 0) && !self.is_answered(door)? {
            return Ok(());
        }
        if self.step == self.statements.len() {
            self.done += 1;
            self.step = 0;
        }
        if self.step == 0 {
            self.subject =
                [self.draw(self.accounts), self.draw(TELLERS), self.draw(BRANCHES), self.draw(10_001) - 5_001];
        }
        let [account, teller, branch, amount] = self.subject;
        match self.step {
            0 if self.statements.len() == 1 => self.execute(&[account, teller, branch, amount]),
            1 => self.execute(&[amount, account]),
            2 => self.execute(&[account]),
            3 => self.execute(&[amount, teller]),
            4 => self.execute(&[amount, branch]),
            5 => self.execute(&[teller, branch, account, amount]),
            _ => self.execute(&[]),
        }
        self.step += 1;
        door.receive(self.session, &mut self.input);
        Ok(())
    }

    fn execute(&mut self, parameters: &[i64]) {
        let name = format!("P0_{}\0", self.step);
        self.message(b'B', |body| {
            body.put_u8(0);
            body.put_slice(name.as_bytes());
            body.put_u16(0);
            body.put_u16(parameters.len() as u16);
            for parameter in parameters {
                let text = parameter.to_string();
                body.put_u32(text.len() as u32);
                body.put_slice(text.as_bytes());
            }
            body.put_u32(1 << 16);
        });
        self.message(b'D', |body| body.put_slice(b"P\0"));
        self.message(b'E', |body| body.put_slice(b"\0\0\0\0\0"));
        self.message(b'S', |_| {});
    }

    fn message(&mut self, kind: u8, write: impl FnOnce(&mut BytesMut)) {
        self.input.put_u8(kind);
        let begin = self.input.len();
        self.input.put_u32(0);
        write(&mut self.input);
        let length = (self.input.len() - begin) as u32;
        self.input[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Sends what there is and waits for the answer.
    fn ask(&mut self, door: &mut impl Door) -> Result<(), String> {
        door.receive(self.session, &mut self.input);
        for _ in 0..PATIENCE {
            if self.is_answered(door)? {
                return Ok(());
            }
            door.pass_time();
        }
        Err(format!("{} is not answered", self.session))
    }

    /// Whether all that was asked is answered, or rows to copy are wanted. An error is one of the site's.
    fn is_answered(&mut self, door: &mut impl Door) -> Result<bool, String> {
        if !self.input.is_empty() {
            // A session that has its answer goes on with what was sent meanwhile.
            door.receive(self.session, &mut self.input);
        }
        door.answer(self.session, &mut self.output);
        let mut answered = false;
        while self.output.len() >= 5 {
            let length = 1 + (&self.output[1..5]).get_u32() as usize;
            if self.output.len() < length {
                break;
            }
            let message = self.output.split_to(length);
            match message[0] {
                b'E' => return Err(String::from_utf8_lossy(&message[5..]).replace('\0', " ")),
                b'Z' | b'G' => answered = true,
                _ => {}
            }
        }
        Ok(answered)
    }

    /// 1 to `max`, by the generator of Knuth's MMIX.
    fn draw(&mut self, max: i64) -> i64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as i64 % max + 1
    }
}

/// Makes pgbench's tables, with rows in them.
pub fn fill_tables(client: &mut Client, door: &mut impl Door, accounts: i64) -> Result<(), String> {
    for statement in SCHEMA.into_iter().chain([PROCEDURE]) {
        client.simple(door, statement)?;
    }
    let row = |number: i64, of_each: i64| format!("{number}\t{}\t0\t\n", (number - 1) / of_each + 1);
    let branches = (1..=BRANCHES).map(|number| format!("{number}\t0\t\n")).collect();
    copy(client, door, "pgbench_branches", branches)?;
    copy(client, door, "pgbench_tellers", (1..=TELLERS).map(|number| row(number, 10)).collect())?;
    for first in (1..=accounts).step_by(COPY_ROWS as usize) {
        let rows = (first..=accounts.min(first + COPY_ROWS - 1)).map(|number| row(number, 100_000));
        copy(client, door, "pgbench_accounts", rows.collect())?;
    }
    Ok(())
}

fn copy(client: &mut Client, door: &mut impl Door, table: &str, rows: String) -> Result<(), String> {
    client.simple(door, &format!("COPY {table} FROM STDIN"))?;
    client.message(b'd', |body| body.put_slice(rows.as_bytes()));
    client.message(b'c', |_| {});
    client.ask(door)
}
