//! A model of a site that keeps versions, as the access manager does: random transactions run against a concurrency controller, and every reply is
//! judged. Lost transactions are tried again with their age, some commit together, clients give up or think, and the method is switched.
//!
//! Serial equivalence, in the order of commits, is what the model checks when it installs: nothing that a transaction read has
//! changed since its commit-locks were granted and its versions compared.

use crate::properties::Era;
use crate::support::{HERE, Site, THERE, adding, age, at, history, item, range, transaction};
use concurrency_controller::limits::ACCESS_PATIENCE;
use messages::concurrency::{AccessKind, AccessWait, ConcurrencyReply, ConcurrencyRequest, Method, SwitchStrategy};
use messages::planted::Planted;
use messages::{Age, TransactionId};
use std::collections::{BTreeMap, BTreeSet};

const KEYS: u64 = 6;
const OPEN_MAX: usize = 8;
const STEPS: usize = 400;

/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Keys `low..high`, and how they are used.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub low: u8,
    pub high: u8,
    pub kind: AccessKind,
}

impl Use {
    fn of(key: u8, kind: AccessKind) -> Use {
        Use { low: key, high: key + 1, kind }
    }

    /// Whether who has this may use a key so.
    pub fn covers(self, key: u8, kind: AccessKind) -> bool {
        (self.kind == kind || self.kind == AccessKind::Write) && self.low <= key && key < self.high
    }

    pub fn conflicts(self, other: Use) -> bool {
        let together = self.kind == other.kind && self.kind != AccessKind::Write;
        !together && self.low < other.high && other.low < self.high
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Executing,
    AccessUnderWay,
    CommitLockUnderWay,
    CommitLocked,
    Voted,
    /// Its group is being prepared, or waits for that.
    Gathered,
    /// It must abort and has not yet said `Finish`.
    Lost,
}

#[derive(Debug)]
pub struct Running {
    pub stage: Stage,
    pub doomed: bool,
    pub age: Age,
    /// What it has asked for and not been granted yet.
    pub plan: Vec<Use>,
    pub granted: Vec<Use>,
    /// When it was last granted something.
    pub granted_at: u64,
    /// Those that commit as one in it.
    members: Vec<TransactionId>,
    /// It has asked for commit-locks, alone or with others, and executes no more.
    pub prepared: bool,
    /// It has been refused together with others, and commits alone.
    alone: bool,
    reads: BTreeMap<u8, u64>,
    ranges: Vec<(u8, u8, u64)>,
    writes: BTreeSet<u8>,
    adds: BTreeSet<u8>,
    /// When its access began to wait.
    since: u64,
    /// Whether its next access may wait.
    wait: AccessWait,
}

impl Running {
    /// What it commit-locks.
    pub fn locks(&self) -> Vec<Use> {
        let reads = self.reads.keys().map(|key| Use::of(*key, AccessKind::Read));
        let ranges = self.ranges.iter().map(|(low, high, _)| Use { low: *low, high: *high, kind: AccessKind::Read });
        let writes = self.writes.iter().map(|key| Use::of(*key, AccessKind::Write));
        let adds = self.adds.iter().map(|key| Use::of(*key, AccessKind::Increment));
        reads.chain(ranges).chain(writes).chain(adds).collect()
    }
}

/// How a run is made.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    pub method: Method,
    /// Go over to these now and then, one after the other, from the last one to the first again.
    pub switches: &'a [(Method, SwitchStrategy)],
    /// Transactions of another site prepare here, too.
    pub remote: bool,
    pub planted: Planted,
}

pub struct World<'a> {
    pub setting: Setting<'a>,
    random: Random,
    /// Time passes, so that accesses wait long.
    passes: bool,
    pub site: Site,
    pub switched: usize,
    /// What is known of the order that the method keeps.
    pub era: Era,
    versions: BTreeMap<u8, u64>,
    commits: u64,
    started: u64,
    pub running: BTreeMap<TransactionId, Running>,
    journal: String,
}

impl<'a> World<'a> {
    pub fn new(seed: u64, setting: Setting<'a>) -> World<'a> {
        World {
            setting,
            random: Random(seed),
            passes: seed % 2 == 1,
            site: Site::planted(setting.method, setting.planted),
            switched: 0,
            era: Era::default(),
            versions: BTreeMap::new(),
            commits: 0,
            started: 0,
            running: BTreeMap::new(),
            journal: String::new(),
        }
    }

    pub fn run(mut self) -> (String, u64) {
        for _ in 0..STEPS {
            self.site.now += if self.passes { self.random.below(ACCESS_PATIENCE / 3) } else { 0 };
            let replies = self.site.tick();
            self.judge(replies);
            if self.running.len() < OPEN_MAX && self.random.below(3) == 0 {
                self.start();
            } else if !self.setting.switches.is_empty() && self.random.below(20) == 0 {
                self.switch();
            } else {
                self.advance_one();
            }
            self.check();
        }
        while !self.running.is_empty() {
            assert!(self.advance_one(), "everybody waits for ever: {:#?}", self.running);
            self.check();
        }
        assert!(self.site.controller.is_idle(), "something is left when all have finished");
        (self.journal, self.commits)
    }

    fn start(&mut self) {
        self.started += 1;
        let remote = self.setting.remote && self.random.below(3) == 0;
        // Its age is not the order of its coming: a transaction may be old by its retries or by another site's clock.
        let sequence =
            self.started * 10 - self.random.below(40).min(self.started * 10 - 1) / 10 * 10 + self.started % 10;
        let id = transaction(if remote { THERE } else { HERE }, sequence);
        if self.running.contains_key(&id) {
            return;
        }
        let plan = (0..1 + self.random.below(4)).map(|_| self.random_use()).collect();
        let mut running = Running {
            stage: Stage::Executing,
            doomed: false,
            age: age(id),
            plan,
            granted: Vec::new(),
            granted_at: 0,
            members: Vec::new(),
            prepared: false,
            alone: false,
            reads: BTreeMap::new(),
            ranges: Vec::new(),
            writes: BTreeSet::new(),
            adds: BTreeSet::new(),
            since: 0,
            wait: self.random_wait(),
        };
        if remote {
            for used in std::mem::take(&mut running.plan) {
                self.perform(&mut running, used);
            }
        }
        self.running.insert(id, running);
    }

    fn random_wait(&mut self) -> AccessWait {
        match self.random.below(4) {
            0 => AccessWait::Never,
            1 => AccessWait::UnlessTaken,
            _ => AccessWait::Waits,
        }
    }

    fn random_use(&mut self) -> Use {
        let low = self.random.below(KEYS) as u8;
        let wide = self.random.below(4) == 0;
        let high = if wide { low + 1 + self.random.below(3) as u8 } else { low + 1 };
        let kind = match self.random.below(5 - 3 * u64::from(!wide)) == 0 {
            true if !wide && self.random.below(2) == 0 => AccessKind::Increment,
            true => AccessKind::Write,
            false => AccessKind::Read,
        };
        Use { low, high, kind }
    }

    fn switch(&mut self) {
        let back = (self.setting.method, self.setting.switches[0].1);
        let (method, way) = self.setting.switches.get(self.switched).copied().unwrap_or(back);
        self.switched = (self.switched + 1) % (self.setting.switches.len() + 1);
        self.before_switch(method, way);
        let replies = self.site.switch_by(method, way);
        self.after_switch(way, &replies);
        self.judge(replies);
    }

    /// Lets a random transaction that waits for nothing go on; false when there is none.
    fn advance_one(&mut self) -> bool {
        let mut able: Vec<(TransactionId, Stage)> = Vec::new();
        for (id, running) in &self.running {
            if !matches!(running.stage, Stage::AccessUnderWay | Stage::CommitLockUnderWay | Stage::Gathered) {
                able.push((*id, running.stage));
            }
        }
        // A client may give up while its access waits.
        if self.random.below(50) == 0
            && let Some(id) = self.running.iter().find(|(_, running)| running.stage == Stage::AccessUnderWay)
        {
            able = vec![(*id.0, Stage::Lost)];
        }
        if able.is_empty() {
            return false;
        }
        let (id, stage) = able[self.random.below(able.len() as u64) as usize];
        match stage {
            Stage::Executing => self.advance_execution(id),
            Stage::CommitLocked => self.compare_versions(id),
            Stage::Voted => self.decide(id),
            _ => self.finish(id),
        }
        true
    }

    /// One that could commit with this one: it has nothing left to do, and they share nothing.
    fn companion(&mut self, id: TransactionId) -> Option<TransactionId> {
        let own = &self.running[&id];
        if id.home != HERE || own.alone || !own.members.is_empty() || self.random.below(3) == 0 {
            return None;
        }
        let own = own.locks();
        let fits = |(other, running): &(&TransactionId, &Running)| {
            let ready = running.stage == Stage::Executing && running.plan.is_empty() && !running.alone;
            let shares = running.locks().iter().any(|used| own.iter().any(|other| other.conflicts(*used)));
            **other != id && other.home == HERE && ready && running.members.is_empty() && !shares
        };
        self.running.iter().find(fits).map(|(other, _)| *other)
    }

    /// Two that commit as one.
    fn gather(&mut self, members: [TransactionId; 2]) -> TransactionId {
        self.started += 1;
        let id = transaction(HERE, self.started + 200_000);
        let ages = members.map(|member| self.running[&member].age);
        let mut group = Running {
            stage: Stage::Executing,
            doomed: false,
            age: ages[0].min(ages[1]),
            plan: Vec::new(),
            granted: Vec::new(),
            granted_at: 0,
            members: members.to_vec(),
            prepared: false,
            alone: true,
            reads: BTreeMap::new(),
            ranges: Vec::new(),
            writes: BTreeSet::new(),
            adds: BTreeSet::new(),
            since: 0,
            wait: AccessWait::Waits,
        };
        for member in members {
            let member = self.running.get_mut(&member).expect("it runs");
            (member.stage, member.prepared) = (Stage::Gathered, true);
            for (key, seen) in &member.reads {
                let first = group.reads.entry(*key).or_insert(*seen);
                *first = (*first).min(*seen);
            }
            group.ranges.extend(&member.ranges);
            group.writes.extend(&member.writes);
            group.adds.extend(&member.adds);
        }
        self.running.insert(id, group);
        id
    }

    /// Its group comes to nothing: each of its members is judged alone.
    fn disperse(&mut self, id: TransactionId) {
        for member in self.running[&id].members.clone() {
            let member = self.running.get_mut(&member).expect("it runs");
            member.alone = true;
            member.stage = if member.doomed { Stage::Lost } else { Stage::Executing };
        }
    }

    fn advance_execution(&mut self, mut id: TransactionId) {
        let now = self.site.now;
        if self.running[&id].plan.is_empty()
            && let Some(other) = self.companion(id)
        {
            id = self.gather([id, other]);
        }
        let running = self.running.get_mut(&id).expect("it runs");
        let request = if let Some(used) = running.plan.first().copied() {
            running.stage = Stage::AccessUnderWay;
            running.since = now;
            let point = used.high == used.low + 1;
            let items: Vec<u8> = (used.low..used.high).filter(|key| running.adds.contains(key)).collect();
            if used.kind == AccessKind::Write && !items.is_empty() && self.random.below(2) == 0 {
                let only_adds = |used: &Use| used.kind == AccessKind::Increment && items.contains(&used.low);
                running.granted.retain(|used| !only_adds(used));
                let replies = self.site.give_up(id, &items);
                self.forget_who_has_nothing_from_before();
                self.judge(replies);
            }
            let running = &self.running[&id];
            ConcurrencyRequest::Lock {
                transaction: id,
                age: running.age,
                target: if point { item(used.low) } else { range(used.low, used.high) },
                kind: used.kind,
                wait: running.wait,
                precedence: false,
            }
        } else {
            running.stage = Stage::CommitLockUnderWay;
            running.prepared = true;
            let reads: Vec<(u8, u64)> = running.reads.iter().map(|(key, seen)| (*key, *seen)).collect();
            let writes: Vec<u8> = running.writes.iter().copied().collect();
            let adds: Vec<u8> = running.adds.iter().copied().collect();
            let history = adding(&history(&reads, &running.ranges, &writes), &adds);
            let (age, gathered) = (running.age, running.members.clone());
            ConcurrencyRequest::CommitLock { transaction: id, age, history, gathered }
        };
        let long_waiter = self.long_waiter(id);
        let replies = self.site.ask(request);
        self.notes_stamp(id);
        if let Some(waiter) = long_waiter {
            let dies = |reply: &ConcurrencyReply| matches!(reply, ConcurrencyReply::CommitLockReply { transaction, conflict: Some(_) } if *transaction == id);
            assert!(replies.iter().any(dies), "{id} passes {waiter}, which is older and has waited long");
        }
        self.judge(replies);
    }

    /// An older transaction that has waited long for what this one of another site is about to take.
    fn long_waiter(&self, id: TransactionId) -> Option<TransactionId> {
        let locks = self.running[&id].locks();
        let is_before = |other: TransactionId, running: &Running| {
            id.home != other.home
                && running.stage == Stage::AccessUnderWay
                && self.site.now >= running.since + ACCESS_PATIENCE
                && (running.age, other) < (self.running[&id].age, id)
                && locks.iter().any(|lock| lock.conflicts(running.plan[0]))
        };
        let commits = self.running[&id].stage == Stage::CommitLockUnderWay && id.home == THERE;
        let mut waiters = self.running.iter().filter(|(other, running)| commits && is_before(**other, running));
        waiters.next().map(|(other, _)| *other)
    }

    /// What an access does once it is granted: a wide write is a scan for update that changes its first key.
    fn perform(&mut self, running: &mut Running, used: Use) {
        let wide = used.high > used.low + 1;
        if used.kind == AccessKind::Increment {
            // What it has read or written it changes as a row.
            let known = running.reads.contains_key(&used.low) || running.writes.contains(&used.low);
            if !known {
                running.adds.insert(used.low);
            }
            return;
        }
        if wide {
            running.ranges.push((used.low, used.high, self.commits));
        } else if (used.kind == AccessKind::Read || self.random.below(2) == 0) && !running.writes.contains(&used.low) {
            let seen = self.versions.get(&used.low).copied().unwrap_or(0);
            running.reads.entry(used.low).or_insert(seen);
        }
        if used.kind == AccessKind::Write {
            running.writes.insert(used.low);
            running.adds.remove(&used.low);
        }
    }

    fn still_holds(&self, running: &Running) -> bool {
        let version = |key: &u8| self.versions.get(key).copied().unwrap_or(0);
        running.reads.iter().all(|(key, seen)| version(key) == *seen)
            && running.ranges.iter().all(|(low, high, as_of)| (*low..*high).all(|key| version(&key) <= *as_of))
    }

    fn compare_versions(&mut self, id: TransactionId) {
        if self.still_holds(&self.running[&id]) {
            self.running.get_mut(&id).expect("it runs").stage = Stage::Voted;
            self.site.ask(ConcurrencyRequest::Voted { transaction: id, proposal: at(self.commits + 1) });
        } else {
            assert!(!self.is_pure_locking(), "a read has changed under a read lock: {id}");
            self.disperse(id);
            self.finish(id);
        }
    }

    fn decide(&mut self, id: TransactionId) {
        if self.random.below(4) > 0 {
            let running = &self.running[&id];
            assert!(self.still_holds(running), "a read has changed under a commit-lock: {id}");
            self.commits += 1;
            for key in running.writes.union(&running.adds).copied().collect::<Vec<_>>() {
                self.versions.insert(key, self.commits);
            }
            for member in self.running[&id].members.clone() {
                self.finish(member);
            }
        } else {
            self.disperse(id);
        }
        self.finish(id);
    }

    fn finish(&mut self, id: TransactionId) {
        let ended = self.running.remove(&id).expect("it runs");
        if ended.stage == Stage::Lost && id.home == HERE && self.random.below(2) == 0 {
            self.try_again(&ended);
        }
        let replies = self.site.ask(ConcurrencyRequest::Finish { transaction: id, committed: false });
        self.judge(replies);
    }

    /// The same once more, by a transaction of the same age.
    fn try_again(&mut self, lost: &Running) {
        self.started += 1;
        let id = transaction(HERE, self.started + 100_000);
        let plan = lost.granted.iter().chain(&lost.plan).copied().collect();
        let again = Running {
            stage: Stage::Executing,
            doomed: false,
            age: lost.age,
            plan,
            granted: Vec::new(),
            granted_at: 0,
            members: Vec::new(),
            prepared: false,
            alone: false,
            reads: BTreeMap::new(),
            ranges: Vec::new(),
            writes: BTreeSet::new(),
            adds: BTreeSet::new(),
            since: 0,
            wait: AccessWait::Waits,
        };
        if !self.running.contains_key(&id) && self.running.len() < OPEN_MAX && !again.plan.is_empty() {
            self.running.insert(id, again);
        }
    }

    fn is_locking(&self) -> bool {
        self.setting.method == Method::Locking && self.setting.switches.is_empty()
    }

    /// Transactions of one site under locking alone: nobody may be surprised at the end.
    fn is_pure_locking(&self) -> bool {
        self.is_locking() && !self.setting.remote
    }

    /// What is wanted only if nobody else has it is not granted while another has accessed it, whatever the method.
    fn check_not_taken(&self, transaction: TransactionId, used: Use, granted: &[Use]) {
        if (used.low..used.high).all(|key| granted.iter().any(|own| own.covers(key, used.kind))) {
            return;
        }
        let executes = |running: &&Running| !running.doomed && !running.prepared && running.stage != Stage::Lost;
        let mut others = self.running.iter().filter(|(other, running)| other.home == HERE && executes(running));
        let holder = others.find(|(_, running)| running.granted.iter().any(|held| held.conflicts(used)));
        assert!(holder.is_none(), "{transaction} was granted {used:?}, which {holder:?} has");
    }

    fn judge(&mut self, replies: Vec<ConcurrencyReply>) {
        for reply in replies {
            self.journal += &format!("{reply:?}\n");
            match reply {
                ConcurrencyReply::LockReply { transaction, conflict } => {
                    let mut running = self.running.remove(&transaction).expect("an answer to somebody who runs");
                    assert_eq!(running.stage, Stage::AccessUnderWay, "an access is answered once: {transaction}");
                    assert!(!running.doomed || conflict.is_some(), "a grant to a doomed one: {transaction}");
                    running.stage = if conflict.is_some() { Stage::Lost } else { Stage::Executing };
                    if let Some(conflict) = &conflict {
                        self.check_refusal(transaction, running.plan[0], &running.granted, conflict);
                    } else {
                        let used = running.plan.remove(0);
                        if running.wait == AccessWait::UnlessTaken {
                            self.check_not_taken(transaction, used, &running.granted);
                        }
                        self.check_grant(transaction, used, &running.granted);
                        let has_all =
                            |own: &Use| own.kind == AccessKind::Write && own.low <= used.low && used.high <= own.high;
                        if used.kind != AccessKind::Increment || !running.granted.iter().any(has_all) {
                            running.granted.push(used);
                        }
                        running.granted_at = self.site.now;
                        self.perform(&mut running, used);
                    }
                    self.running.insert(transaction, running);
                }
                ConcurrencyReply::LockPrefetchReply { .. } => unreachable!("nobody asks ahead here"),
                ConcurrencyReply::LockBusy { transaction } => {
                    let running = self.running.get_mut(&transaction).expect("an answer to somebody who runs");
                    assert_eq!(running.stage, Stage::AccessUnderWay, "only an access is busy: {transaction}");
                    assert_ne!(
                        running.wait,
                        AccessWait::UnlessTaken,
                        "what is not to be had from others is taken, not busy: {transaction}"
                    );
                    if running.wait == AccessWait::Never {
                        // It has not been asked for: the next time it waits.
                        (running.stage, running.wait) = (Stage::Executing, AccessWait::Waits);
                    }
                }
                ConcurrencyReply::LockTaken { transaction } => {
                    let running = self.running.get_mut(&transaction).expect("an answer to somebody who runs");
                    assert_eq!(running.stage, Stage::AccessUnderWay, "only an access is taken: {transaction}");
                    assert_eq!(running.wait, AccessWait::UnlessTaken, "it has asked for no such thing: {transaction}");
                    (running.stage, running.wait) = (Stage::Executing, AccessWait::Waits);
                }
                ConcurrencyReply::Doomed { transaction, .. } => {
                    assert!(!self.is_pure_locking(), "doomed although nobody prepares elsewhere: {transaction}");
                    let running = self.running.get_mut(&transaction).expect("who is doomed runs");
                    let executing = matches!(
                        running.stage,
                        Stage::Executing | Stage::AccessUnderWay | Stage::Gathered | Stage::Lost
                    );
                    assert!(executing && !running.doomed, "doomed once, while it executes: {transaction}");
                    running.doomed = true;
                    self.era.forget(transaction);
                    if running.stage == Stage::Executing {
                        running.stage = Stage::Lost;
                    }
                }
                ConcurrencyReply::CommitLockReply { transaction, conflict } => {
                    assert!(!self.is_pure_locking() || conflict.is_none(), "conflict under locks: {transaction}");
                    let running = self.running.get_mut(&transaction).expect("an answer to somebody who runs");
                    assert_eq!(running.stage, Stage::CommitLockUnderWay, "answered once: {transaction}");
                    running.stage = if conflict.is_some() { Stage::Lost } else { Stage::CommitLocked };
                    if conflict.is_some() {
                        self.disperse(transaction);
                    }
                }
                ConcurrencyReply::SnapshotReply { .. } | ConcurrencyReply::MethodReply { .. } => panic!("nobody asked"),
            }
        }
    }

    /// What must hold between any two transactions at any time.
    fn check(&mut self) {
        self.check_properties();
        for (first, one) in &self.running {
            for (second, two) in &self.running {
                if first == second || two.doomed || two.stage == Stage::Lost {
                    continue;
                }
                let meet = |a: &[Use], b: &[Use]| a.iter().any(|a| b.iter().any(|b| a.conflicts(*b)));
                let executing = matches!(two.stage, Stage::Executing | Stage::AccessUnderWay);
                match one.stage {
                    Stage::CommitLocked | Stage::Voted if matches!(two.stage, Stage::CommitLocked | Stage::Voted) => {
                        assert!(!meet(&one.locks(), &two.locks()), "{first} and {second} both hold");
                    }
                    Stage::CommitLocked | Stage::Voted if two.stage == Stage::CommitLockUnderWay => {
                        let older = (two.age, second) < (one.age, first);
                        assert!(older || !meet(&one.locks(), &two.locks()), "{second} waits for the older {first}");
                    }
                    Stage::CommitLockUnderWay if two.stage == Stage::CommitLockUnderWay => {
                        assert!(!meet(&one.locks(), &two.locks()), "{first} and {second} wait and conflict");
                    }
                    Stage::CommitLocked | Stage::Voted | Stage::CommitLockUnderWay if executing => {
                        let optimistic = !self.is_locking();
                        let changes = |used: &Use| used.kind != AccessKind::Read;
                        let taken: Vec<Use> =
                            one.locks().into_iter().filter(|used| changes(used) || !optimistic).collect();
                        // Who only adds has seen nothing that the other takes.
                        let seen = |used: &&Use| used.kind != AccessKind::Increment;
                        let granted: Vec<Use> = two.granted.iter().filter(seen).copied().collect();
                        assert!(!meet(&taken, &granted), "{second} goes on with what {first} has taken");
                    }
                    Stage::Executing | Stage::AccessUnderWay if executing && !one.doomed => {
                        let locking = self.is_locking();
                        assert!(!locking || !meet(&one.granted, &two.granted), "{first} and {second} both go on");
                    }
                    _ => {}
                }
            }
        }
    }
}
