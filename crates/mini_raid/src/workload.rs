//! What clients do: which transactions, on how few keys, how often.
//!
//! Invariant: a plan writes each list, register and member at most once; membership changes come last.

mod plans;

use crate::checkers::draws::DrawnValues;
use crate::checkers::notifications::is_notified;
use crate::client::{plan_families, plan_tables};
use crate::families::{FamilyStep, KnownFamilies};
use crate::history::{WriteToken, companion};
use crate::limits::{LIST_ENTRIES, TABLE_CHANGES, TABLE_ROWS};
use crate::random::SeededRandom;
use crate::tables::TableStep;
use messages::SiteId;
use messages::limits::MILLISECOND;
use messages::session::{AccessMode, Isolation};
use messages::settings::Parameter;
use std::collections::BTreeMap;

/// Additions to one counter, at most: digits of two bits, none of which may reach the sign.
const DIGITS: usize = 30;
/// Keys of lists that a taker looks at, at most.
const TAKEN_FROM: u64 = 3;
/// One in so many transactions is about the sequence.
const DRAWS_EVERY: u64 = 12;

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadStep {
    /// Opens a transaction.
    Begin(AccessMode),
    /// Opens a transaction that writes, at less than the strict isolation level.
    BeginAt(Isolation),
    /// Reads a list.
    ReadList(u64),
    /// Reads a list and locks it.
    ReadListForUpdate(u64),
    /// Locks a list of a range that nobody else has, and reads it.
    TakeList {
        /// First key.
        low: u64,
        /// Behind the last key.
        high: u64,
    },
    /// Reads two lists in one statement.
    ReadTwoLists(u64, u64),
    /// Appends an entry to a list.
    Append(u64, WriteToken),
    /// Appends to two lists in one program.
    AppendTwo([(u64, WriteToken); 2]),
    /// Reads a register.
    ReadRegister(u64),
    /// Overwrites a register that was read.
    WriteRegister(u64, WriteToken),
    /// Reads the members of a range.
    Scan {
        /// First key.
        low: u64,
        /// Behind the last key.
        high: u64,
        /// Backwards.
        reverse: bool,
    },
    /// The same, in batches, as the query processor reads.
    Batches {
        /// First key.
        low: u64,
        /// Behind the last key.
        high: u64,
        /// Backwards.
        reverse: bool,
    },
    /// The next batch of that.
    NextBatch,
    /// Inserts a member that a scan has not seen, or deletes one that it has.
    Toggle(u64, WriteToken),
    /// Appends the entry of a toggle to the member's companion list.
    Companion(u64, WriteToken),
    /// Adds to a counter.
    Increment(u64, WriteToken),
    /// Reads a counter.
    ReadCounter(u64),
    /// Reads the counters of a range.
    ScanCounters {
        /// First key.
        low: u64,
        /// Behind the last key.
        high: u64,
    },
    /// Makes the sequence, if it is not there.
    MakeSequence,
    /// Takes the next value of the sequence.
    Draw,
    /// Something about parents and children.
    Family(FamilyStep),
    /// Something about a table whose schema changes.
    Table(TableStep),
    /// Sets a parameter of all sites or of one, or takes that back.
    Set(Parameter, Option<SiteId>, Option<&'static str>),
    /// Does nothing for so long.
    Think(u64),
    /// Commits.
    Commit,
    /// Rolls back.
    Rollback,
}

impl WorkloadStep {
    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        matches!(self, WorkloadStep::Family(step) if step.is_read())
            || matches!(
                self,
                WorkloadStep::ReadList(_)
                    | WorkloadStep::ReadTwoLists(..)
                    | WorkloadStep::ReadRegister(_)
                    | WorkloadStep::Scan { .. }
                    | WorkloadStep::Batches { .. }
                    | WorkloadStep::ReadCounter(_)
                    | WorkloadStep::ScanCounters { .. }
                    | WorkloadStep::Table(TableStep::Read { .. })
            )
    }
}

/// How clients behave in a run.
#[derive(Clone, Debug)]
pub struct Mix {
    /// How many clients.
    pub clients: usize,
    /// Lists in use at a time.
    pub lists: u64,
    /// Registers.
    pub registers: u64,
    /// Members in use at a time.
    pub members: u64,
    /// Mean time between two transactions of a client.
    pub pause: u64,
    /// Mean time between two statements of a transaction, if any.
    pub think: u64,
    /// Weights: single reads, single writes, procedures, reading transactions, writing ones, membership changes.
    pub weights: [u64; 6],
    /// Most statements of a transaction.
    pub statements: u64,
    /// One in so many reading transactions takes long.
    pub long_reader: u64,
    /// Clients at the others only read, often, and writers take their time; so that most of the time nothing is undecided. `None`:
    /// everybody writes.
    pub writing_site: Option<usize>,
    /// Counters in use at a time; 0: none.
    pub counters: u64,
    /// One in so many transactions is about counters.
    pub counting: u64,
    /// Additions to a counter after which clients go on with a fresh one.
    pub increments_each: usize,
    /// One in so many increments makes the counter, if it is not there.
    pub making: u64,
    /// One in so many programs appends to the same list; `None`: there is no crowd.
    pub crowd: Option<u64>,
    /// Tables whose schema changes, in use at a time; 0: none.
    pub tables: u64,
    /// One in so many transactions is about them.
    pub changing: u64,
    /// Rows that a rebuild brings.
    pub rows_each: u64,
    /// One in so many transactions sets the method of concurrency control; 0: none.
    pub switching: u64,
    /// Sites that it can be set for.
    pub sites: u64,
    /// Whether values of a sequence are taken.
    pub draws: bool,
    /// Whether lists are locked that nobody else has.
    pub takes: bool,
    /// Parents that clients work on at a time; 0: none.
    pub families: u64,
    /// One in so many transactions is about them and their children.
    pub raising: u64,
    /// One in so many transactions of several statements that write executes at less than the strict isolation level; 0: none.
    pub levels: u64,
}

impl Mix {
    /// A mix for a run.
    pub fn draw(random: &mut SeededRandom, sites: usize, counters: bool) -> Mix {
        let mut mix = Mix {
            clients: sites * random.between(1, 4) as usize,
            lists: random.between(2, 8),
            registers: random.between(1, 5),
            members: random.between(2, 9),
            pause: *random.pick(&[3, 10, 30, 80]) * MILLISECOND,
            think: *random.pick(&[0, 1, 5, 30]) * MILLISECOND,
            weights: [(); 6].map(|()| *random.pick(&[1, 2, 4, 8])),
            statements: random.between(2, 6),
            long_reader: *random.pick(&[3, 10, 50]),
            writing_site: random.one_in(4).then(|| 1 + random.index(sites)),
            counters: 0,
            counting: 1,
            increments_each: DIGITS,
            making: 8,
            crowd: None,
            tables: 0,
            changing: 1,
            rows_each: 0,
            switching: 0,
            sites: 0,
            draws: true,
            takes: false,
            families: 0,
            raising: 1,
            levels: 0,
        };
        if counters {
            mix.counters = random.between(1, 4);
            mix.counting = *random.pick(&[2, 3, 6, 15]);
            if random.one_in(4) {
                mix.crowd = Some(random.between(1, 4));
                mix.clients *= 2;
                mix.pause = 2 * MILLISECOND;
            }
        }
        mix
    }
}

/// What all clients of a run know together.
#[derive(Clone, Debug)]
pub struct Workload {
    /// How they behave.
    pub mix: Mix,
    next_token: WriteToken,
    /// By slot: how often a fresh list was begun there.
    rounds: BTreeMap<u64, u64>,
    member_round: u64,
    /// Entries seen in a list.
    seen: BTreeMap<u64, usize>,
    /// By counter: the increments to it, in the order of their digits.
    digits: BTreeMap<u64, Vec<WriteToken>>,
    counter_rounds: BTreeMap<u64, u64>,
    /// By table: rows that somebody wanted to add to it.
    table_rows: BTreeMap<u64, u64>,
    table_rounds: BTreeMap<u64, u64>,
    /// Whether the sequence is known to be there.
    pub has_sequence: bool,
    /// Transactions since the last one about the sequence.
    undrawn: u64,
    /// Values of the sequence that clients were told.
    pub drawn: DrawnValues,
    /// Parents and children that clients know of.
    pub families: KnownFamilies,
}

impl Workload {
    /// Nothing has been done.
    pub fn new(mix: Mix) -> Workload {
        Workload {
            mix,
            next_token: 1,
            rounds: BTreeMap::new(),
            member_round: 0,
            seen: BTreeMap::new(),
            digits: BTreeMap::new(),
            counter_rounds: BTreeMap::new(),
            table_rows: BTreeMap::new(),
            table_rounds: BTreeMap::new(),
            has_sequence: false,
            undrawn: 0,
            drawn: DrawnValues::default(),
            families: KnownFamilies::default(),
        }
    }

    /// Tokens given out so far lie below this.
    pub fn tokens(&self) -> WriteToken {
        self.next_token
    }

    /// A fresh token.
    pub fn token(&mut self) -> WriteToken {
        self.next_token += 1;
        self.next_token - 1
    }

    /// A fresh token of which nobody is notified.
    pub fn quiet_token(&mut self) -> WriteToken {
        loop {
            let token = self.token();
            if !is_notified(token) {
                return token;
            }
        }
    }

    /// Whether somebody has seen entries of this list.
    pub fn exists(&self, key: u64) -> bool {
        self.seen.contains_key(&key)
    }

    /// A list was seen with so many entries. One that is long is left alone from now on.
    pub fn saw(&mut self, key: u64, entries: usize) {
        if entries == 0 {
            return;
        }
        self.seen.insert(key, entries);
        if entries < LIST_ENTRIES {
            return;
        }
        if key >= companion(0) {
            if (key - companion(0)) / 100 == self.member_round {
                self.member_round += 1;
            }
        } else {
            let slot = key % 100;
            if key / 100 == self.rounds.get(&slot).copied().unwrap_or(0) {
                *self.rounds.entry(slot).or_insert(0) += 1;
            }
        }
    }

    fn list(&self, random: &mut SeededRandom) -> u64 {
        let slot = random.below(self.mix.lists);
        self.rounds.get(&slot).copied().unwrap_or(0) * 100 + slot
    }

    fn member(&self, random: &mut SeededRandom) -> u64 {
        self.member_round * 100 + random.below(self.mix.members)
    }

    /// Counters in use, or once in use.
    pub fn counters(&self) -> impl Iterator<Item = u64> + '_ {
        self.digits.keys().copied()
    }

    fn counter(&mut self, random: &mut SeededRandom) -> u64 {
        let slot = random.below(self.mix.counters);
        let round = self.counter_rounds.entry(slot).or_default();
        let digits = self.digits.entry(*round * 100 + slot).or_default();
        if digits.len() < self.mix.increments_each {
            return *round * 100 + slot;
        }
        *round += 1;
        *round * 100 + slot
    }

    fn increment(&mut self, random: &mut SeededRandom) -> WorkloadStep {
        let (key, token) = (self.counter(random), self.token());
        self.digits.entry(key).or_default().push(token);
        WorkloadStep::Increment(key, token)
    }

    /// What this addition adds: one in its own digit to the base of four, so that a counter tells what was added, and what twice.
    pub fn addend(&self, key: u64, token: WriteToken) -> i64 {
        let digit = self.digits[&key].iter().position(|other| *other == token).expect("an addition has its digit");
        1 << (2 * digit)
    }

    /// The increments that a counter holds. Errors: one that was made twice or by nobody.
    pub fn increments(&self, key: u64, number: i64) -> Result<Vec<WriteToken>, String> {
        let digits = self.digits.get(&key).map_or(&[][..], |digits| digits);
        let mut found = Vec::new();
        for (place, token) in digits.iter().enumerate() {
            match number >> (2 * place) & 3 {
                0 => {}
                1 => found.push(*token),
                times => return Err(format!("counter {key} holds {number}: addition {token} {times} times")),
            }
        }
        if number >> (2 * digits.len()) != 0 {
            return Err(format!("counter {key} holds {number}, which nobody added"));
        }
        Ok(found)
    }

    /// Tables in use, or once in use.
    pub fn tables(&self) -> impl Iterator<Item = u64> + '_ {
        self.table_rows.keys().copied()
    }

    /// A table was seen after so many changes of its schema. One that has changed often is left alone from now on.
    pub fn saw_table(&mut self, table: u64, changes: usize) {
        let slot = table % 100;
        if changes >= TABLE_CHANGES && self.table_rounds.get(&slot).copied().unwrap_or(0) == table / 100 {
            *self.table_rounds.entry(slot).or_insert(0) += 1;
        }
    }

    /// A table in use.
    pub fn table(&mut self, random: &mut SeededRandom) -> u64 {
        let slot = random.below(self.mix.tables);
        let table = self.table_rounds.get(&slot).copied().unwrap_or(0) * 100 + slot;
        self.table_rows.entry(table).or_default();
        table
    }

    /// Reads a table.
    pub fn table_read(&mut self, random: &mut SeededRandom) -> WorkloadStep {
        WorkloadStep::Table(TableStep::Read { table: self.table(random), by_index: random.one_in(2) })
    }

    /// Confirms what a table is.
    pub fn confirmation(&mut self, random: &mut SeededRandom) -> WorkloadStep {
        WorkloadStep::Table(TableStep::Confirm { table: self.table(random) })
    }

    /// Adds a row to a table, unless it has many.
    pub fn row(&mut self, random: &mut SeededRandom) -> WorkloadStep {
        let table = self.table(random);
        let rows = self.table_rows.entry(table).or_default();
        *rows += 1;
        match *rows > TABLE_ROWS {
            true => WorkloadStep::Table(TableStep::Read { table, by_index: false }),
            false => WorkloadStep::Table(TableStep::AddRow { table, token: self.token() }),
        }
    }

    fn counting(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let base = |key: u64| key / 100 * 100;
        match random.below(6) {
            0 | 1 => vec![self.increment(random)],
            2 => vec![WorkloadStep::ReadCounter(self.counter(random))],
            3 => {
                let low = base(self.counter(random));
                let mut plan = vec![
                    WorkloadStep::Begin(AccessMode::ReadOnly),
                    WorkloadStep::ScanCounters { low, high: low + 100 },
                ];
                plan.extend([WorkloadStep::ReadCounter(self.counter(random)), self.read(random), WorkloadStep::Commit]);
                plan
            }
            _ => {
                let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadWrite)];
                for _ in 0..random.between(1, self.mix.statements + 1) {
                    let step = match random.below(12) {
                        0 => WorkloadStep::ReadCounter(self.counter(random)),
                        1 => {
                            let low = base(self.counter(random));
                            WorkloadStep::ScanCounters { low, high: low + 100 }
                        }
                        2 => WorkloadStep::ReadList(self.list(random)),
                        _ => self.increment(random),
                    };
                    plan.push(step);
                    if self.mix.think > 0 && random.one_in(3) {
                        plan.push(WorkloadStep::Think(random.around(self.mix.think)));
                    }
                }
                if random.one_in(3) {
                    plan.push(WorkloadStep::Append(self.list(random), self.token()));
                }
                plan.push(if random.one_in(20) { WorkloadStep::Rollback } else { WorkloadStep::Commit });
                plan
            }
        }
    }

    fn range(&self, random: &mut SeededRandom) -> WorkloadStep {
        let base = self.member_round * 100;
        let reverse = random.one_in(4);
        if random.one_in(3) {
            let low = base + random.below(self.mix.members);
            return WorkloadStep::Scan { low, high: low + random.between(1, self.mix.members + 1), reverse };
        }
        WorkloadStep::Scan { low: base, high: base + 100, reverse }
    }

    /// The next transaction of a client at this site.
    pub fn plan_at(&mut self, site: usize, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        match self.mix.writing_site {
            Some(writing) if writing != site => match random.one_in(3) {
                true => self.reader(random),
                false => vec![self.read(random)],
            },
            _ => {
                self.undrawn += 1;
                match self.undrawn % DRAWS_EVERY {
                    _ if !self.mix.draws => self.plan(random),
                    0 if self.has_sequence => vec![WorkloadStep::Draw],
                    0 => vec![WorkloadStep::MakeSequence],
                    _ => self.plan(random),
                }
            }
        }
    }

    /// How long a client at this site waits between two transactions, on average.
    pub fn pause_at(&self, site: usize) -> u64 {
        match self.mix.writing_site {
            Some(writing) if writing == site => 3 * self.mix.pause,
            Some(_) => 5 * MILLISECOND,
            None => self.mix.pause,
        }
    }

    fn plan(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        if self.mix.switching > 0 && random.one_in(self.mix.switching) {
            return self.setting(random);
        }
        if self.mix.families > 0 && random.one_in(self.mix.raising) {
            return plan_families(self, random);
        }
        if self.mix.crowd.is_some_and(|crowd| random.one_in(crowd)) {
            return self.crowding(random);
        }
        if self.mix.tables > 0 && random.one_in(self.mix.changing) {
            return plan_tables(self, random);
        }
        if self.mix.counters > 0 && random.one_in(self.mix.counting) {
            return self.weakened(Workload::counting, random);
        }
        let total: u64 = self.mix.weights.iter().sum();
        let mut draw = random.below(total);
        let mut kind = 0;
        while draw >= self.mix.weights[kind] {
            draw -= self.mix.weights[kind];
            kind += 1;
        }
        match kind {
            0 => vec![self.read(random)],
            1 => vec![WorkloadStep::Append(self.list(random), self.token())],
            2 => self.procedure(random),
            3 => self.reader(random),
            4 => self.weakened(Workload::writer, random),
            _ => self.membership(random),
        }
    }

    /// Sets the method of concurrency control, or the way to it, for all sites or for one; now and then amid other work.
    fn setting(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let site = random.one_in(2).then(|| SiteId(1 + random.below(self.mix.sites) as u16));
        let any = |parameter: Parameter, random: &mut SeededRandom| {
            let value = (!random.one_in(6)).then(|| *random.pick(&parameter.values()));
            WorkloadStep::Set(parameter, site, value)
        };
        let (method, way) = (Parameter::ConcurrencyMethod, Parameter::ConcurrencyWay);
        match random.below(4) {
            0 => vec![any(way, random)],
            1 => {
                let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadWrite), any(way, random)];
                plan.push(WorkloadStep::ReadList(self.list(random)));
                plan.push(any(method, random));
                plan.push(WorkloadStep::Append(self.list(random), self.token()));
                plan.push(if random.one_in(8) { WorkloadStep::Rollback } else { WorkloadStep::Commit });
                plan
            }
            _ => vec![any(method, random)],
        }
    }

    fn read(&mut self, random: &mut SeededRandom) -> WorkloadStep {
        if self.mix.tables > 0 && random.one_in(4) {
            return self.table_read(random);
        }
        match random.below(5) {
            0 => WorkloadStep::ReadRegister(random.below(self.mix.registers)),
            1 => self.range(random),
            2 => {
                let (first, second) = (self.list(random), self.list(random));
                if first == second { WorkloadStep::ReadList(first) } else { WorkloadStep::ReadTwoLists(first, second) }
            }
            _ => WorkloadStep::ReadList(self.list(random)),
        }
    }

    fn writer(&mut self, random: &mut SeededRandom) -> Vec<WorkloadStep> {
        let mut plan = vec![WorkloadStep::Begin(AccessMode::ReadWrite)];
        let mut written = Vec::new();
        for _ in 0..random.between(1, self.mix.statements + 1) {
            match random.below(6) {
                0 | 1 => {
                    let list = self.list(random);
                    if !written.contains(&list) {
                        if random.one_in(4) {
                            plan.push(WorkloadStep::ReadListForUpdate(list));
                        } else if self.mix.takes && random.one_in(4) {
                            plan.push(WorkloadStep::TakeList { low: list, high: list + TAKEN_FROM });
                        }
                        written.push(list);
                        plan.push(WorkloadStep::Append(list, self.token()));
                    }
                }
                2 => {
                    let register = random.below(self.mix.registers);
                    if !plan.contains(&WorkloadStep::ReadRegister(register)) {
                        plan.push(WorkloadStep::ReadRegister(register));
                        plan.push(WorkloadStep::WriteRegister(register, self.token()));
                    }
                }
                3 => plan.push(self.range(random)),
                _ => plan.push(WorkloadStep::ReadList(self.list(random))),
            }
            if self.mix.think > 0 && random.one_in(2) {
                plan.push(WorkloadStep::Think(random.around(self.mix.think)));
            }
        }
        plan.push(if random.one_in(20) { WorkloadStep::Rollback } else { WorkloadStep::Commit });
        plan
    }
}
