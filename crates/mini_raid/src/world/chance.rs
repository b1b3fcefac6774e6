//! Faults as chance brings them, and how each is done.

use super::World;
use crate::event::SimulatedEvent;
use crate::faults::{Blow, Fault, FaultKind, Trap};
use crate::message_kind::{CHANGE_KINDS, KINDS};
use messages::SiteId;
use messages::limits::{MILLISECOND, SECOND};
use messages::replication::SiteNotice;

/// What a joiner says before it dies once more.
const LAST_WORDS: [&str; 3] = ["report", "logged", "lease request"];

impl World {
    pub(super) fn plan_next_fault(&mut self) {
        if !self.profile.faults.is_empty() {
            let after = self.random.around(self.profile.fault_every) + MILLISECOND;
            self.agenda.plan(self.now + after, SimulatedEvent::NextFault);
        }
    }

    pub(super) fn next_fault(&mut self) {
        if !self.stormy {
            return;
        }
        let total: u64 = self.profile.faults.iter().map(|(_, weight)| weight).sum();
        let mut draw = self.random.below(total);
        let faults = &self.profile.faults;
        let place = faults.iter().position(|(_, weight)| {
            let here = draw < *weight;
            draw = draw.saturating_sub(*weight);
            here
        });
        let kind = faults[place.expect("the weights add up")].0;
        self.bring(kind);
        self.plan_next_fault();
    }

    pub(super) fn site(&mut self) -> usize {
        1 + self.random.index(self.sites())
    }

    /// About how long a lease lasts.
    pub(super) fn lease(&self) -> u64 {
        self.profile.leases.usual().nanoseconds()
    }

    /// How long something lasts: mostly short, sometimes longer than a lease, rarely much longer.
    fn length(&mut self) -> u64 {
        let lease = self.lease();
        match self.random.below(8) {
            0..=2 => self.random.around(30 * MILLISECOND),
            3..=5 => self.random.around(lease),
            6 => lease + self.random.around(SECOND),
            _ => self.random.around(3 * SECOND),
        }
    }

    pub(super) fn dead_for(&mut self) -> u64 {
        self.random.around(self.profile.dead_for) + MILLISECOND
    }

    pub(super) fn plan_fault(&mut self, after: u64, fault: Fault) {
        self.agenda.plan(self.now + after, SimulatedEvent::Fault(fault));
    }

    /// Brings a fault of this kind about.
    fn bring(&mut self, kind: FaultKind) {
        *self.statistics.faults.entry(kind.name()).or_insert(0) += 1;
        self.say(|| format!("fault: {}", kind.name()));
        match kind {
            FaultKind::Kill => {
                let (site, dead_for) = (self.site(), self.dead_for());
                self.strike(Fault::Kill { site, dead_for });
            }
            FaultKind::KillMany => self.kill_many(),
            FaultKind::PowerLoss => {
                let sites = vec![(self.site(), self.dead_for())];
                self.strike(Fault::LosePower { sites });
            }
            FaultKind::PowerLossEverywhere => {
                let sites = (1..=self.sites()).map(|site| (site, self.dead_for())).collect();
                self.strike(Fault::LosePower { sites });
            }
            FaultKind::SoleSurvivor => self.sole_survivor(),
            FaultKind::Pause => {
                let (site, length) = (self.site(), self.length());
                self.strike(Fault::Pause { site, length });
            }
            FaultKind::Cut | FaultKind::Partition => self.cut_links(kind),
            FaultKind::Isolate => self.isolate(),
            FaultKind::LateLeases => self.late_leases(),
            FaultKind::JoinerDies => self.joiner_dies(),
            FaultKind::SlowLink | FaultKind::SlowDisk | FaultKind::SyncFailure | FaultKind::DiskFull => {
                self.hamper(kind)
            }
            FaultKind::Reset => {
                let (a, b) = (self.site(), self.site());
                if a != b {
                    self.reset(a, b);
                } else {
                    let incarnation = self.look(a).incarnation;
                    let notice = SiteNotice::PeerFound { site: SiteId(a as u16), incarnation };
                    let site = self.site();
                    self.plan_fault(0, Fault::Notice { site, notice });
                }
            }
            FaultKind::ClockJump => {
                let site = self.site();
                let size = self.random.around(SECOND / 500) as i64;
                let size = if self.random.one_in(3) { size * 1_000 } else { size };
                let micros = if self.random.one_in(2) { size } else { -size };
                self.machine(site).clock.jump(micros);
            }
            FaultKind::OracleKill | FaultKind::OracleMute | FaultKind::OracleRestore => self.hurt_oracle(kind),
            FaultKind::Checkpoint => {
                let site = self.site();
                self.strike(Fault::Checkpoint { site });
            }
            FaultKind::Trap => {
                let trap = self.trap(0);
                self.traps.push(trap);
            }
            FaultKind::ChainedTraps => self.chain_traps(),
            FaultKind::DiskBack => self.copy_or_put_back(),
            FaultKind::Outsider
            | FaultKind::LeaveOne
            | FaultKind::HomeCutOff
            | FaultKind::PostInterrupted
            | FaultKind::CopiesLate
            | FaultKind::Relay
            | FaultKind::UnsyncedSurvivor => self.bring_about(kind),
            FaultKind::Client => self.lose_patience(),
        }
    }

    fn lose_patience(&mut self) {
        let client = self.random.index(self.clients.len());
        let request = self.clients[client].request;
        let goes = self.random.one_in(2);
        self.plan_fault(0, Fault::Impatience { client, request, goes });
    }

    fn kill_many(&mut self) {
        let all = self.random.one_in(3);
        let together = self.random.one_in(2);
        let spared = self.site();
        let quick = self.random.one_in(3);
        for site in (1..=self.sites()).filter(|site| all || *site != spared).collect::<Vec<_>>() {
            let after = if together { 0 } else { self.random.around(150 * MILLISECOND) };
            let dead_for = if quick { self.random.around(3 * MILLISECOND) } else { self.dead_for() };
            match self.random.one_in(4) {
                true => self.plan_fault(after, Fault::LosePower { sites: vec![(site, dead_for)] }),
                false => self.plan_fault(after, Fault::Kill { site, dead_for }),
            }
        }
    }

    /// All but one go, together or one by one; the last serves alone for a while; then it goes, too, or the others come back.
    fn sole_survivor(&mut self) {
        let survivor = self.site();
        let away = 2 * SECOND + self.random.around(2 * SECOND);
        let together = self.random.one_in(2);
        let mut sites = Vec::new();
        for site in (1..=self.sites()).filter(|site| *site != survivor) {
            let after = if together { 0 } else { self.random.around(SECOND) };
            let power = self.random.one_in(2);
            match power {
                true => self.plan_fault(after, Fault::LosePower { sites: vec![(site, away)] }),
                false => self.plan_fault(after, Fault::Kill { site, dead_for: away }),
            }
            sites.push(site);
        }
        if self.random.one_in(3) {
            self.plan_fault(self.now.min(SECOND / 10), Fault::SlowDisk { site: survivor, by: 2 * SECOND });
            self.plan_fault(2 * away, Fault::SlowDisk { site: survivor, by: 0 });
        }
        if self.random.one_in(3) && !sites.is_empty() {
            self.machine(survivor).disk.failing = true;
        }
        let after = 600 * MILLISECOND + self.random.around(SECOND);
        let dead_for = self.dead_for();
        match self.random.below(3) {
            0 => self.plan_fault(after, Fault::LosePower { sites: vec![(survivor, dead_for)] }),
            1 => self.plan_fault(away + after, Fault::Kill { site: survivor, dead_for }),
            _ => {}
        }
    }

    fn cut_links(&mut self, kind: FaultKind) {
        let mut links = Vec::new();
        if kind == FaultKind::Partition {
            // Where the oracle is, matters most.
            let side: Vec<bool> = (0..=self.sites()).map(|_| self.random.one_in(2)).collect();
            let one_way = self.random.one_in(3);
            for from in 0..=self.sites() {
                for to in 0..=self.sites() {
                    if from != to && side[from] != side[to] && (!one_way || side[from]) {
                        links.push((from, to));
                    }
                }
            }
        } else {
            let (from, to) = (self.random.index(self.sites() + 1), self.random.index(self.sites() + 1));
            if from != to {
                links.push((from, to));
                if self.random.one_in(2) {
                    links.push((to, from));
                }
            }
        }
        let length = self.length();
        self.cut(&links, true);
        self.plan_fault(length, Fault::Cut { links, cut: false });
    }

    /// A site is cut off, and perhaps another soon after it. The others give them up long before their leases end.
    fn isolate(&mut self) {
        if self.random.one_in(3) {
            return self.leave_asleep();
        }
        let mut after = 0;
        for _ in 0..if self.random.one_in(2) { 2 } else { 1 } {
            let (site, oracle) = (self.site(), self.random.one_in(3));
            let length = 100 * MILLISECOND + self.random.around(500 * MILLISECOND);
            self.plan_fault(after, Fault::Isolate { site, oracle, length });
            after += 20 * MILLISECOND + self.random.around(80 * MILLISECOND);
        }
    }

    /// A site sleeps while it is cut off and given up, and wakes up under leases that still last, for all it knows. What it has voted for is
    /// decided before the cut and waits to be heard, so nothing holds up what its clients ask for then.
    fn leave_asleep(&mut self) {
        let site = self.site();
        let lease = self.look(site).lease();
        let asleep = self.random.between(lease / 4, lease);
        let cut_after = 20 * MILLISECOND + self.random.around(40 * MILLISECOND);
        let length = asleep + self.random.around(lease);
        self.strike(Fault::Pause { site, length: asleep });
        self.plan_fault(cut_after, Fault::Isolate { site, oracle: true, length });
        self.tell_lost(site, cut_after);
    }

    /// A site hears late and is not heard: it is evicted while grants are on their way to it.
    fn late_leases(&mut self) {
        let site = self.site();
        let lease = self.look(site).lease();
        let by = self.random.between(lease / 2, lease);
        let after = self.random.around(50 * MILLISECOND);
        let length = lease + self.random.around(SECOND);
        let others: Vec<usize> = (1..=self.sites()).filter(|other| *other != site).collect();
        for other in &others {
            self.network.slow(*other, site, by);
            self.plan_fault(after + length, Fault::Slow { from: *other, to: site, by: 0 });
        }
        let links: Vec<(usize, usize)> = others.iter().map(|other| (site, *other)).collect();
        self.plan_fault(after, Fault::Cut { links: links.clone(), cut: true });
        self.plan_fault(after + length, Fault::Cut { links, cut: false });
    }

    /// A site is killed; while it joins again somebody else is evicted; with its report it dies once more.
    fn joiner_dies(&mut self) {
        let site = self.site();
        let dead_for = 100 * MILLISECOND + self.random.around(100 * MILLISECOND);
        self.strike(Fault::Kill { site, dead_for });
        let until = self.now + 4 * SECOND;
        let dies = Trap {
            kind: LAST_WORDS[self.random.index(LAST_WORDS.len())],
            from: Some(site),
            count: self.random.between(1, 4) as u32,
            blow: *self.random.pick(&[Blow::KillSenderBefore, Blow::KillSender, Blow::PowerSender]),
            length: self.dead_for(),
            then: Vec::new(),
            until,
        };
        let (kind, most) = *self.random.pick(&[("join", 12), ("incarnate", 1), ("incarnate", 2)]);
        let count = self.random.between(1, most + 1) as u32;
        let length = self.lease() + self.random.around(self.lease());
        let evicted = Trap { kind, from: Some(site), count, blow: Blow::IsolateThird, length, then: vec![dies], until };
        self.traps.push(evicted);
    }

    fn cut_off(&mut self, site: usize, oracle: bool, length: u64) {
        let others = (usize::from(!oracle)..=self.sites()).filter(|other| *other != site);
        let links: Vec<(usize, usize)> = others.flat_map(|other| [(site, other), (other, site)]).collect();
        self.cut(&links, true);
        for other in (1..=self.sites()).filter(|other| *other != site) {
            self.stalled(site, other);
        }
        self.plan_fault(length, Fault::Cut { links, cut: false });
    }

    fn hamper(&mut self, kind: FaultKind) {
        let (site, length) = (self.site(), self.length());
        match kind {
            FaultKind::SlowLink => {
                let to = self.random.index(self.sites() + 1);
                let by = self.random.around(100 * MILLISECOND);
                self.network.slow(site, to, by);
                self.plan_fault(length, Fault::Slow { from: site, to, by: 0 });
            }
            FaultKind::SlowDisk => {
                self.machine(site).disk.slow = self.random.around(300 * MILLISECOND);
                self.plan_fault(length, Fault::SlowDisk { site, by: 0 });
            }
            FaultKind::SyncFailure => {
                self.machine(site).disk.failing = true;
                if self.random.one_in(2) {
                    // Whoever took a failed sync for a success has lost it.
                    let (after, dead_for) = (self.random.around(SECOND), self.dead_for());
                    self.plan_fault(after, Fault::LosePower { sites: vec![(site, dead_for)] });
                }
            }
            _ => {
                self.machine(site).disk.full = true;
                self.machine(site).log_mut().set_full(true);
            }
        }
    }

    fn hurt_oracle(&mut self, kind: FaultKind) {
        let length = self.length();
        match kind {
            FaultKind::OracleKill => {
                self.oracle.kill();
                self.plan_fault(length, Fault::StartOracle);
            }
            FaultKind::OracleMute => self.oracle.mute_until = self.now + length,
            _ => {
                if self.random.one_in(3) || self.oracle.copies() == 0 {
                    self.oracle.copy();
                } else {
                    let back = self.random.index(self.oracle.copies());
                    self.oracle.restore(back);
                    if self.random.one_in(2) {
                        self.leave_one_with_the_oracle(length);
                    }
                }
            }
        }
    }

    /// One site alone reaches the oracle, and the others reach each other.
    fn leave_one_with_the_oracle(&mut self, length: u64) {
        let site = self.site();
        let others = (1..=self.sites()).filter(|other| *other != site);
        let links: Vec<(usize, usize)> =
            others.flat_map(|other| [(0, other), (other, 0), (site, other), (other, site)]).collect();
        self.cut(&links, true);
        self.plan_fault(length, Fault::Cut { links, cut: false });
    }

    /// Some trap; `longer` for the later ones of a chain, which strike at the next occasion.
    fn trap(&mut self, depth: u32) -> Trap {
        let change = depth > 0 || self.random.one_in(2);
        if depth == 0 && self.random.one_in(8) {
            return match self.random.one_in(2) {
                true => self.abort_untold(),
                false => self.home_cut_off(),
            };
        }
        let kind = *self.random.pick(if change { &CHANGE_KINDS[..] } else { &KINDS[..] });
        let common =
            matches!(kind, "prepare" | "vote" | "decide commit" | "decide ack" | "lease request" | "lease grant");
        let count = if common { self.random.between(1, 60) } else { self.random.between(1, 4) } as u32;
        let mut blow = *self.random.pick(&Blow::ALL);
        let power = matches!(blow, Blow::PowerSender | Blow::PowerReceiver);
        if power && self.random.one_in(2) {
            blow = Blow::KillSenderBefore;
        }
        let length = match blow {
            Blow::PauseSender | Blow::PauseReceiver | Blow::Delay | Blow::CutLink => self.length(),
            _ => self.dead_for(),
        };
        Trap { kind, from: None, count, blow, length, then: Vec::new(), until: self.now + 4 * SECOND }
    }

    /// A home site dies when it is about to tell of an abort.
    fn abort_untold(&mut self) -> Trap {
        Trap {
            kind: "decide abort",
            from: None,
            count: self.random.between(1, 5) as u32,
            blow: Blow::KillSenderBefore,
            length: self.dead_for(),
            then: Vec::new(),
            until: self.now + 4 * SECOND,
        }
    }

    /// A home site loses contact in the middle of a commit, and lives: the others find out what becomes of that, and its clients wait to hear it.
    pub(super) fn home_cut_off(&mut self) -> Trap {
        Trap {
            kind: self.random.pick::<&str>(&["vote", "vote", "prepare", "decide ack"]),
            from: None,
            count: self.random.between(1, 60) as u32,
            blow: Blow::IsolateReceiver,
            length: self.lease() / 2 + self.random.around(self.lease()),
            then: Vec::new(),
            until: self.now + 4 * SECOND,
        }
    }

    fn chain_traps(&mut self) {
        let mut chain: Option<Trap> = None;
        for depth in (0..self.random.between(2, 5) as u32).rev() {
            let mut trap = self.trap(depth + 1);
            trap.until += 4 * SECOND;
            trap.then.extend(chain);
            chain = Some(trap);
        }
        self.traps.extend(chain);
        // Something has to set an epoch change off.
        let (site, dead_for) = (self.site(), self.dead_for());
        let length = self.lease() + self.random.around(self.lease());
        match self.random.below(3) {
            0 => self.plan_fault(0, Fault::Pause { site, length }),
            _ => self.plan_fault(0, Fault::Kill { site, dead_for }),
        }
    }

    /// Does what a fault says.
    pub(super) fn strike(&mut self, fault: Fault) {
        if !self.stormy && !fault.mends() {
            return;
        }
        match fault {
            Fault::Kill { site: 0, dead_for } => {
                self.oracle.kill();
                self.plan_fault(dead_for, Fault::StartOracle);
            }
            Fault::Kill { site, dead_for } => {
                if self.look(site).is_alive() {
                    self.die(site, false);
                }
                self.plan_fault(dead_for, Fault::Start { site });
            }
            Fault::LosePower { sites } => {
                for (site, dead_for) in sites {
                    if site == 0 {
                        self.strike(Fault::Kill { site, dead_for });
                    } else {
                        self.die(site, true);
                        self.plan_fault(dead_for, Fault::Start { site });
                    }
                }
            }
            Fault::DiskBack { site, copy, part, dead_for } => self.go_back(site, copy, part, dead_for),
            Fault::Start { site } => self.start(site),
            Fault::Checkpoint { site } => {
                self.look_at_log(site);
                self.act(site, |domain, clock| domain.begin_checkpoint(clock));
            }
            Fault::LateGrants { site, by } => self.late_grants = (by > 0).then_some((site, by)),
            Fault::HoldStore { site, held } => self.machine(site).hold_store(held),
            Fault::Pause { site: 0, length } => {
                self.oracle.away_until = self.oracle.away_until.max(self.now + length);
            }
            Fault::Pause { site, length } => {
                self.say(|| format!("site {site} is stopped for {:.3} s", length as f64 / 1e9));
                let until = self.now + length;
                let machine = self.machine(site);
                machine.away_until = machine.away_until.max(until);
            }
            Fault::Cut { links, cut } => self.cut(&links, cut),
            Fault::Isolate { site, oracle, length } => self.cut_off(site, oracle, length),
            Fault::Slow { from, to, by } => self.network.slow(from, to, by),
            Fault::SlowDisk { site, by } => self.machine(site).disk.slow = by,
            Fault::StartOracle => {
                if !self.oracle.is_alive() {
                    self.oracle.begin();
                }
            }
            Fault::Notice { site, notice } => {
                let start = self.look(site).start;
                self.notice(site, start, notice);
            }
            Fault::Impatience { client, request, goes } => self.impatient(client, request, goes),
        }
    }
}
