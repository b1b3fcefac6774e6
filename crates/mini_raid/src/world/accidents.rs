//! Faults of situations: accidents that need several things at the right moment.

use super::World;
use crate::faults::{Blow, Fault, FaultKind, Trap};
use messages::SiteId;
use messages::limits::{MILLISECOND, SECOND};
use messages::replication::SiteNotice;

impl World {
    /// Brings a fault about that belongs to a situation.
    pub(super) fn bring_about(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::Outsider => self.leave_outside(),
            FaultKind::LeaveOne => {
                let trap = self.one_is_left();
                self.traps.push(trap);
            }
            FaultKind::PostInterrupted => self.interrupt_post(),
            FaultKind::CopiesLate => self.delay_copies(),
            FaultKind::Relay => self.relay(),
            FaultKind::UnsyncedSurvivor => self.unsynced_survivor(),
            FaultKind::HomeCutOff => {
                let mut trap = self.home_cut_off();
                trap.then.extend(self.change_struck());
                self.traps.push(trap);
            }
            _ => unreachable!("{kind:?} belongs to no situation"),
        }
    }

    /// A checkpoint of one site or of all, while which or soon after which they die: a replay finds a store that has a part of what the log says.
    fn interrupt_post(&mut self) {
        let only = if self.random.one_in(3) { Some(self.site()) } else { None };
        let sites: Vec<usize> = (1..=self.sites()).filter(|site| only.is_none_or(|only| only == *site)).collect();
        let slow = if self.random.one_in(2) { self.random.around(60 * MILLISECOND) } else { 0 };
        let again = self.random.one_in(2);
        // A post takes some ticks.
        let dies_after = slow + self.random.around(40 * MILLISECOND) + if again { 60 * MILLISECOND } else { 0 };
        let everybody = self.random.below(3) > 0;
        for &site in &sites {
            if slow > 0 {
                self.strike(Fault::HoldStore { site, held: true });
                self.plan_fault(slow, Fault::HoldStore { site, held: false });
            }
            self.strike(Fault::Checkpoint { site });
            if again {
                let after = slow + self.random.between(30 * MILLISECOND, 60 * MILLISECOND);
                self.plan_fault(after, Fault::Checkpoint { site });
            }
        }
        for site in (1..=self.sites()).filter(|site| everybody || sites.contains(site)) {
            let dead_for = self.dead_for();
            self.plan_fault(dies_after, Fault::Kill { site, dead_for });
        }
    }

    /// One site is away for long. Another is away for a moment and comes back; when it has been made up, or amid that, the rest goes. What the first one
    /// lacks it then learns from the second, who was told.
    fn relay(&mut self) {
        let first = self.site();
        let second = 1 + (first + self.random.index(self.sites().max(2) - 1)) % self.sites();
        if first == second {
            return;
        }
        let begin = 200 * MILLISECOND + self.random.around(200 * MILLISECOND);
        let away = 2_500 * MILLISECOND + self.random.around(SECOND);
        self.strike(Fault::Kill { site: first, dead_for: away });
        let dead_for = 100 * MILLISECOND + self.random.around(100 * MILLISECOND);
        self.plan_fault(begin, Fault::Kill { site: second, dead_for });
        let rest: Vec<usize> = (1..=self.sites()).filter(|site| ![first, second].contains(site)).collect();
        let amid = self.random.one_in(2) && rest.len() == 1;
        if amid {
            let strikes = Trap {
                kind: self.random.pick::<&str>(&["epoch is", "logged", "report", "epoch swapped"]),
                from: None,
                count: self.random.between(1, 4) as u32,
                blow: *self.random.pick(&[Blow::KillSender, Blow::KillSenderBefore, Blow::KillReceiver]),
                length: 2 * SECOND,
                then: Vec::new(),
                until: self.now + 4 * SECOND,
            };
            let (until, then) = (self.now + 4 * SECOND, vec![strikes]);
            let made_up =
                Trap { kind: "current", from: Some(second), count: 1, blow: Blow::Delay, length: 0, then, until };
            self.traps.push(made_up);
            return;
        }
        let after = begin + dead_for + 500 * MILLISECOND + self.random.around(500 * MILLISECOND);
        for site in rest {
            self.plan_fault(after, Fault::Kill { site, dead_for: 3 * SECOND });
        }
    }

    /// All but one die in the middle of a commit, which the one resolves; disks are slow, and it loses power when it has begun to serve alone. Who has read
    /// there must not have read what is nowhere afterwards.
    fn unsynced_survivor(&mut self) {
        let mut trap = self.one_is_left();
        trap.kind = self.random.pick::<&str>(&["vote", "vote", "prepare", "decide commit"]);
        trap.length = 2 * SECOND + self.random.around(SECOND);
        self.traps.push(trap);
        let ends = 2 * SECOND;
        let serves = self.lease() + self.random.between(50 * MILLISECOND, 600 * MILLISECOND);
        let mut sites = Vec::new();
        for site in 1..=self.sites() {
            self.strike(Fault::SlowDisk { site, by: SECOND });
            self.plan_fault(ends, Fault::SlowDisk { site, by: 0 });
            sites.push((site, self.dead_for()));
        }
        self.plan_fault(serves, Fault::LosePower { sites });
    }

    /// A site is away for long enough to lack something, and the copies that it asks for then travel slowly.
    fn delay_copies(&mut self) {
        let site = self.site();
        let dead_for = 20 * MILLISECOND + self.random.around(200 * MILLISECOND);
        self.strike(Fault::Kill { site, dead_for });
        for _ in 0..3 {
            let (count, length) = (self.random.between(1, 4) as u32, self.random.around(60 * MILLISECOND));
            let until = self.now + 3 * SECOND;
            let then = Vec::new();
            self.traps.push(Trap { kind: "copy reply", from: None, count, blow: Blow::Delay, length, then, until });
        }
    }

    /// A site that only reads is given up, asleep or deaf, and perhaps another soon after it: what it is granted, or believes to be, lasts.
    fn leave_outside(&mut self) {
        let writing = self.workload.mix.writing_site.unwrap_or(1);
        let mut others: Vec<usize> = (1..=self.sites()).filter(|site| *site != writing).collect();
        if others.is_empty() {
            return;
        }
        let site = others.swap_remove(self.random.index(others.len()));
        let given_up_after = match self.random.one_in(3) {
            true => self.hears_late(site),
            false => self.sleeps(site),
        };
        if let Some(second) = others.first().filter(|_| self.random.one_in(2)) {
            let after = given_up_after + self.random.between(5 * MILLISECOND, 150 * MILLISECOND);
            let length = self.lease() + self.random.around(self.lease());
            let fault = match self.random.one_in(2) {
                true => Fault::Kill { site: *second, dead_for: length },
                false => Fault::Isolate { site: *second, oracle: true, length },
            };
            self.plan_fault(after, fault);
        }
    }

    /// A site sleeps for up to some leases. After how long the others give it up.
    fn sleeps(&mut self, site: usize) -> u64 {
        let lease = self.look(site).lease();
        let asleep = self.random.between(lease / 4, 5 * lease / 2);
        let after = 20 * MILLISECOND + self.random.around(40 * MILLISECOND);
        self.strike(Fault::Pause { site, length: asleep });
        self.plan_fault(after, Fault::Isolate { site, oracle: true, length: asleep + lease });
        self.tell_lost(site, after);
        after
    }

    /// Leases come late to a site; then nobody hears it any more, and nothing else that is said reaches it for some leases. After how long the others
    /// give it up.
    fn hears_late(&mut self, site: usize) -> u64 {
        let lease = self.look(site).lease();
        let by = self.random.between(lease / 3, 3 * lease / 2);
        let after = by + self.random.around(lease / 2);
        let ends = after + 3 * lease;
        self.strike(Fault::LateGrants { site, by });
        self.plan_fault(after, Fault::LateGrants { site, by: 0 });
        let others: Vec<usize> = (1..=self.sites()).filter(|other| *other != site).collect();
        for &other in &others {
            self.plan_fault(after, Fault::Slow { from: other, to: site, by: 3 * lease });
            self.plan_fault(ends, Fault::Slow { from: other, to: site, by: 0 });
        }
        let links: Vec<(usize, usize)> = others.into_iter().map(|other| (site, other)).collect();
        for cut in [true, false] {
            self.plan_fault(if cut { after } else { ends }, Fault::Cut { links: links.clone(), cut });
        }
        self.tell_lost(site, after);
        after
    }

    /// After so long the others are told that a site is lost.
    pub(super) fn tell_lost(&mut self, site: usize, after: u64) {
        for other in (1..=self.sites()).filter(|other| *other != site) {
            let notice = SiteNotice::PeerLost { site: SiteId(site as u16) };
            self.plan_fault(after, Fault::Notice { site: other, notice });
        }
    }

    /// All sites but one die in the middle of a commit; the one resolves what they had begun.
    fn one_is_left(&mut self) -> Trap {
        let kind: &str = self.random.pick::<&str>(&[
            "decide abort",
            "decide abort",
            "vote",
            "prepare",
            "decide commit",
            "decide ack",
        ]);
        let most = if kind == "decide abort" { 4 } else { 60 };
        Trap {
            kind,
            from: None,
            count: self.random.between(1, most) as u32,
            blow: *self.random.pick(&[Blow::LeaveReceiver, Blow::LeaveReceiver, Blow::LeaveThird]),
            length: self.lease() + self.random.around(2 * self.lease()),
            then: Vec::new(),
            until: self.now + 4 * SECOND,
        }
    }

    /// Often those who find out what becomes of a commit die amid that, so that others find it out once more, or nobody remembers.
    fn change_struck(&mut self) -> Option<Trap> {
        if self.random.one_in(3) {
            return None;
        }
        Some(Trap {
            kind: self.random.pick::<&str>(&["seal", "sealed", "report", "logged", "logged", "epoch is"]),
            from: None,
            count: self.random.between(1, 6) as u32,
            blow: *self.random.pick(&[Blow::KillBoth, Blow::KillBoth, Blow::KillSender, Blow::KillSenderBefore]),
            length: 5 * MILLISECOND + self.random.around(150 * MILLISECOND),
            then: Vec::new(),
            until: self.now + 6 * SECOND,
        })
    }
}
