//! The servers alone: DebitCredit as one program, at 1 to 7 sites, all on one thread, each with a real log, without sockets and wake-ups:
//! `engine [--sites N] [--transactions N] [--clients N] [--branches N] [--folder DIR]`.
//!
//! What it prints bounds what a site can do on a core (one site), and what a transaction costs all sites together (several). It is
//! DebitCredit of Anon et al., "A Measure of Transaction Processing Power" (1985), in the form of the laboratory's procedure: three
//! balances and a row of history. Disks are written behind, and nobody waits for them.

use access_manager::MemoryStore;
use commit_log::{Identity, LogOptions, MappedLog};
use domain::{Domain, Effects, Remote, Settings};
use messages::epoch::Method;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::Planted;
use messages::program::{AccessPath, Action, BinaryOperator, Expression, InsertInput, Program, Source};
use messages::replication::SiteNotice;
use messages::schema::{Column, TableSchema};
use messages::server::ORACLE_SITE;
use messages::session::{SessionReply, SessionRequest};
use messages::{Envelope, EpochNumber, Incarnation, Message, Now, ServerKind, SessionId, SiteId, TableId};
use mini_raid::oracle_host::OracleHost;
use mini_raid::profile::Profile;
use mini_raid::random::Random;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use values::{Type, Value};

const ACCOUNTS_OF_A_BRANCH: u64 = 100_000;
const TELLERS_OF_A_BRANCH: u64 = 10;
const TICK: Duration = Duration::from_millis(5);

fn main() {
    let (mut sites, mut transactions, mut clients, mut branches) = (1, 200_000_u64, 16_u64, 10);
    let mut folder = std::env::temp_dir();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let number = || value.parse::<u64>().ok().filter(|number| *number > 0);
        let number = || number().unwrap_or_else(|| panic!("{name} wants a number above 0, not {value:?}"));
        match name.as_str() {
            "--sites" => sites = number().min(7) as usize,
            "--transactions" => transactions = number(),
            "--clients" => clients = number(),
            "--branches" => branches = number(),
            "--folder" => folder = PathBuf::from(&value),
            other => panic!("unknown option {other}"),
        }
    }
    let folder = folder.join(format!("raid-engine-{}", std::process::id()));
    let mut engine = Engine::start(sites, &folder);
    engine.fill(branches, clients);
    let (before, log_before, cpu) = (engine.carried, engine.log_bytes(), cpu_time());
    let begun = Instant::now();
    engine.book(transactions, clients, branches);
    let (elapsed, cpu) = (begun.elapsed().as_secs_f64(), cpu_time() - cpu);
    let each = |count: u64| count as f64 / transactions as f64;
    println!(
        "{sites} sites on one thread, {clients} clients, {branches} branches: {transactions} DebitCredit transactions"
    );
    println!("  a second                    {:>10.0}", transactions as f64 / elapsed);
    println!("  microseconds of one         {:>10.2}", elapsed * 1e6 / transactions as f64);
    println!("    of processor time         {:>10.2}", cpu * 1e6 / transactions as f64);
    println!("  messages between sites, each{:>10.2}", each(engine.carried - before));
    println!("  bytes of all logs, each     {:>10.0}", each(engine.log_bytes() - log_before));
    println!("  committed with others       {:>10}", engine.sites[0].companions().committed);
    drop(engine);
    std::fs::remove_dir_all(&folder).expect("the folder was made above");
}

/// Processor time of this process, syncing included, in seconds.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells every process of itself");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
    // proc(5): utime and stime are the fields 14 and 15, in ticks of 10 ms.
    let ticks = |field: usize| fields[field - 3].parse::<f64>().expect("a number");
    (ticks(14) + ticks(15)) / 100.0
}

/// All sites, their oracle, and whoever asks.
struct Engine {
    sites: Vec<Domain<MappedLog>>,
    oracle: OracleHost,
    begun: Instant,
    ticked: Instant,
    serving: usize,
    replies: Vec<(SessionId, SessionReply)>,
    /// Messages between sites.
    carried: u64,
}

impl Engine {
    fn start(count: usize, folder: &std::path::Path) -> Engine {
        let mut profile = Profile::calm(&mut Random::new(1), count, false);
        profile.required_copies = count.min(2) as u16;
        let mut oracle = OracleHost::new(count, &profile, Planted::none());
        let mut sites = Vec::new();
        let begun = Instant::now();
        for site in (1..=count as u16).map(SiteId) {
            let identity = Identity { instance: 1, site: u64::from(site.0) };
            let folder = folder.join(site.0.to_string());
            std::fs::create_dir_all(&folder).expect("a folder for the log can be made");
            let (log, _) = MappedLog::open(&folder, LogOptions::new(identity)).expect("a new log opens");
            let settings = Settings {
                site,
                incarnation: life(&mut oracle, site, now(begun)),
                sites: (1..=count as u16).map(SiteId).collect(),
                method: Method::Locking,
                memory_bytes_max: 8 << 30,
                old_version_bytes_max: 1 << 30,
                recent_writes_max: 1 << 14,
                seed: 1,
                planted: Planted::none(),
            };
            sites.push(Domain::start(settings, log, Box::new(MemoryStore::new())).expect("a new site starts"));
        }
        let ticked = begun;
        let mut engine = Engine { sites, oracle, begun, ticked, serving: 0, replies: Vec::new(), carried: 0 };
        let peers = (1..=count as u16).flat_map(|a| (1..=count as u16).map(move |b| (a, b))).filter(|(a, b)| a != b);
        for (own, peer) in peers {
            let found = SiteNotice::PeerFound { site: SiteId(peer), incarnation: Incarnation(1) };
            let begun = engine.begun;
            engine.sites[usize::from(own) - 1].notify(&mut || now(begun), found);
        }
        while engine.serving < count {
            engine.tick();
        }
        engine
    }

    /// Time passes for all.
    fn tick(&mut self) {
        self.ticked = Instant::now();
        let begun = self.begun;
        for site in &mut self.sites {
            site.poll_log(&mut || now(begun));
            site.tick(&mut || now(begun));
        }
        self.carry();
    }

    /// Carries what sites have said to others, until nobody says anything more.
    fn carry(&mut self) {
        let begun = self.begun;
        let mut under_way: VecDeque<Envelope> = VecDeque::new();
        loop {
            for site in &mut self.sites {
                let Effects { remote, local, notices, failed } = site.take_effects();
                assert!(failed.is_none(), "{failed:?}");
                self.serving += notices.iter().filter(|notice| matches!(notice, SiteNotice::Serving { .. })).count();
                for Remote { sites, envelope } in remote {
                    under_way.extend(sites.into_iter().map(|to_site| Envelope { to_site, ..envelope.clone() }));
                }
                for envelope in local {
                    if let Message::SessionReply(session, reply) = envelope.message {
                        self.replies.push((session, reply));
                    }
                }
            }
            if under_way.is_empty() {
                return;
            }
            for envelope in under_way.drain(..) {
                self.carried += 1;
                match envelope.to_site {
                    ORACLE_SITE => {
                        let (mut answers, _) = self.oracle.handle(now(begun), envelope);
                        answers.extend(self.oracle.synced(now(begun)).0);
                        for answer in answers {
                            let site = usize::from(answer.to_site.0) - 1;
                            self.sites[site].deliver(&mut || now(begun), answer);
                        }
                    }
                    site => self.sites[usize::from(site.0) - 1].deliver(&mut || now(begun), envelope),
                }
            }
        }
    }

    fn ask(&mut self, session: u64, program: &Arc<Program>, parameters: Vec<Value>) {
        let request =
            SessionRequest::Execute { program: Arc::clone(program), parameters, rows: Vec::new(), time_micros: 0 };
        let site = SiteId(1);
        let envelope = Envelope {
            from_site: site,
            from: ServerKind::UserInterface,
            to_site: site,
            to: ServerKind::ActionDriver,
            epoch: EpochNumber(0),
            incarnation: Incarnation(1),
            message: Message::SessionRequest(SessionId(session), request),
        };
        let begun = self.begun;
        self.sites[0].deliver(&mut || now(begun), envelope);
    }

    /// Runs a program for each of these parameters, with so many clients at a time.
    fn run(&mut self, program: &Arc<Program>, clients: u64, mut parameters: impl Iterator<Item = Vec<Value>>) {
        let mut open = 0;
        for session in 1..=clients {
            if let Some(parameters) = parameters.next() {
                self.ask(session, program, parameters);
                open += 1;
            }
        }
        while open > 0 {
            self.carry();
            if self.ticked.elapsed() >= TICK {
                self.tick();
            }
            for (session, reply) in std::mem::take(&mut self.replies) {
                assert!(matches!(reply, SessionReply::Executed { .. }), "{reply:?}");
                match parameters.next() {
                    Some(parameters) => self.ask(session.0, program, parameters),
                    None => open -= 1,
                }
            }
        }
    }

    fn fill(&mut self, branches: u64, clients: u64) {
        for (table, rows) in [
            (BRANCHES, branches),
            (TELLERS, branches * TELLERS_OF_A_BRANCH),
            (ACCOUNTS, branches * ACCOUNTS_OF_A_BRANCH),
        ] {
            let insert = program(vec![insert(table, &[0], vec![Expression::Constant(Value::BigInt(0))])]);
            self.run(&insert, clients, (0..rows).map(|key| vec![Value::BigInt(key as i64)]));
        }
    }

    fn book(&mut self, transactions: u64, clients: u64, branches: u64) {
        let program = debit_credit();
        let mut random = Random::new(7);
        let parameters = (0..transactions).map(|_| {
            let teller = random.below(branches * TELLERS_OF_A_BRANCH);
            let account = random.below(branches * ACCOUNTS_OF_A_BRANCH);
            let delta = random.below(1_999_999) as i64 - 999_999;
            [account as i64, teller as i64, (teller / TELLERS_OF_A_BRANCH) as i64, delta].map(Value::BigInt).to_vec()
        });
        self.run(&program, clients, parameters);
    }

    fn log_bytes(&self) -> u64 {
        self.sites.iter().map(|site| commit_log::Log::appended(site.log()).0).sum()
    }
}

fn now(begun: Instant) -> Now {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { boot: 1_000_000_000 + begun.elapsed().as_nanos() as u64, wall_micros: wall.as_micros() as u64 }
}

/// A site's life, as it asks for one.
fn life(oracle: &mut OracleHost, site: SiteId, now: Now) -> Incarnation {
    let envelope = Envelope {
        from_site: site,
        from: ServerKind::Site,
        to_site: ORACLE_SITE,
        to: ServerKind::Oracle,
        epoch: EpochNumber(0),
        incarnation: Incarnation(0),
        message: Message::Oracle(OracleRequest::Incarnate { nonce: u64::from(site.0), site }),
    };
    let (mut answers, _) = oracle.handle(now, envelope);
    answers.extend(oracle.synced(now).0);
    let lives = answers.iter().filter_map(|answer| match &answer.message {
        Message::OracleReply(OracleReply::Incarnated { incarnation, .. }) => Some(*incarnation),
        _ => None,
    });
    lives.last().expect("the oracle gives a life")
}

const ACCOUNTS: TableId = TableId(16);
const TELLERS: TableId = TableId(17);
const BRANCHES: TableId = TableId(18);
const HISTORY: TableId = TableId(19);

/// Balances by number; or the history, which has no key: account, teller, branch, amount.
fn table(storage: TableId) -> Arc<TableSchema> {
    let column = |name: &str, not_null| Column {
        name: name.to_owned(),
        column_type: Type::BigInt,
        not_null,
        default: None,
        dropped: false,
        missing: Value::Null,
    };
    let (columns, primary_key) = match storage {
        HISTORY => (["account", "teller", "branch", "amount"].map(|name| column(name, false)).to_vec(), Vec::new()),
        _ => (vec![column("number", true), column("balance", false)], vec![0]),
    };
    Arc::new(TableSchema {
        name: storage.0.to_string(),
        oid: storage.0,
        storage,
        columns,
        primary_key,
        primary_key_name: None,
        primary_key_oid: storage.0 + 1_000,
        indexes: Vec::new(),
        options: Vec::new(),
    })
}

fn program(actions: Vec<Action>) -> Arc<Program> {
    let parameters = vec![Type::BigInt; 4];
    Arc::new(Program { parameters, actions, columns: Vec::new(), relies_on: Vec::new(), read_only: false })
}

/// A row of these parameters, followed by these values.
fn insert(storage: TableId, parameters: &[u16], more: Vec<Expression>) -> Action {
    let row: Vec<Expression> = parameters.iter().copied().map(Expression::Parameter).chain(more).collect();
    Action::Insert {
        table: table(storage),
        values: (0..row.len() as u16).map(Expression::Column).collect(),
        input: InsertInput::Rows(vec![row]),
        on_conflict: None,
        returning: Vec::new(),
        private: false,
    }
}

/// Adds the fourth parameter to the balance that the parameter of this number names.
fn add(storage: TableId, parameter: u16) -> Action {
    let path = AccessPath::Point(vec![Expression::Parameter(parameter)]);
    let (balance, amount) = (Box::new(Expression::Column(1)), Box::new(Expression::Parameter(3)));
    Action::Update {
        source: Source { table: table(storage), path, reverse: false },
        filter: None,
        assignments: vec![(1, Expression::Binary(BinaryOperator::Add, balance, amount))],
        returning: Vec::new(),
    }
}

fn debit_credit() -> Arc<Program> {
    program(vec![add(ACCOUNTS, 0), add(TELLERS, 1), add(BRANCHES, 2), insert(HISTORY, &[0, 1, 2, 3], Vec::new())])
}
