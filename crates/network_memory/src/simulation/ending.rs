//! How a run ends: all is well again, and whatever is possible in a world that is well must happen.

use super::world::{LogWorld, LogWorldEvent, PATIENCE};
use crate::names::{RecordNumber, RecordReceipt};
use crate::writer::{Intent, Lack, LogWriter, WriterStop};
use raidcomm::limits::SECOND;

impl LogWorld {
    /// What is to be done goes on, and nothing breaks any more.
    fn mend(&mut self) -> Result<(), String> {
        self.events.retain(|_, event| {
            !matches!(event, LogWorldEvent::Act | LogWorldEvent::Strike { .. } | LogWorldEvent::Forget { .. })
        });
        self.cut.clear();
        (self.profile.loss_percent, self.profile.slow_percent) = (0, 0);
        for server in &mut self.servers {
            server.start(self.now, self.planted)?;
            server.enlarge();
        }
        for host in &mut self.hosts {
            if let Some(disk) = host.writer.as_mut().and_then(LogWriter::disk_mut).or(host.disk.as_mut()) {
                disk.set_full(false);
                disk.fail_sync(false);
            }
        }
        self.note(|| "all is well".to_owned());
        Ok(())
    }

    /// Whether fewer memories were lost than the log can do without.
    fn is_whole_enough(&self) -> bool {
        self.losses.count(&self.servers, std::iter::empty()) < usize::from(self.profile.copies)
    }

    /// In a world that is well again a log that is open goes on, or its writer says why it has stopped; and the log is opened again, or it is
    /// said what is lost, if so much is.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.mend()?;
        self.go_on()?;
        // Those that have lost something may have been restored in the meantime, and lose it now.
        let last = (0..self.hosts.len()).max_by_key(|host| self.hosts[*host].opened).unwrap_or(0);
        let host = if self.profile.restart_on_this_disk { self.home } else { last };
        for other in 0..self.hosts.len() {
            self.hosts[other].accepts_loss = false;
            let is_power = self.random.percent(50);
            self.crash(other, is_power);
        }
        let must_open = self.is_whole_enough() || self.profile.restart_on_this_disk && self.hosts[host].is_intact;
        for intent in [Intent::Open, Intent::Open, Intent::AcceptLoss] {
            // What a writer has sent before it died may fence the next one.
            self.pass(SECOND, |_| false)?;
            self.open(host, intent)?;
            let is_settled = |world: &LogWorld| {
                let writer = world.hosts[host].writer.as_ref();
                writer.is_some_and(|writer| writer.is_open() || writer.stopped().is_some())
            };
            self.pass(PATIENCE, is_settled)?;
            if self.is_open(host) {
                return self.write_at_last(host);
            }
            let writer = self.hosts[host].writer.as_ref().ok_or("there is no writer")?;
            match writer.stopped() {
                Some(WriterStop::Fenced { .. }) => {
                    self.hosts[host].accepts_loss = false;
                    self.crash(host, false);
                    continue;
                }
                Some(stop) => return Err(format!("the log cannot be opened where it was made: {stop}")),
                None => {}
            }
            let missing = writer.missing().ok_or(format!("the log is not open, and nothing is missing: {writer:?}"))?;
            if must_open || intent == Intent::AcceptLoss && !missing.is_unknown {
                return Err(format!("the log is not open ({intent:?}) though all is well: {missing}"));
            }
            let is_excused = |(_, lack): &(_, Lack)| matches!(lack, Lack::Empty | Lack::Damaged(_));
            if !missing.is_unknown && !missing.servers.iter().any(is_excused) {
                return Err(format!("the log is not open though all is well: {missing}"));
            }
            self.crash(host, false);
        }
        Ok(())
    }

    /// Whoever is alive gets on without being started anew.
    fn go_on(&mut self) -> Result<(), String> {
        let is_excused = !self.is_whole_enough();
        let is_done = |host: &super::hosts::SimHost| {
            host.writer.as_ref().is_none_or(|writer| writer.is_open() || writer.stopped().is_some())
        };
        self.pass(PATIENCE, |world| world.hosts.iter().all(is_done))?;
        let home = |world: &LogWorld, host: usize| !world.profile.restart_on_this_disk || host == world.home;
        for host in 0..self.hosts.len() {
            // An epoch that has begun since may count without a member that did not answer then, as one that is lost.
            if !is_done(&self.hosts[host]) && home(self, host) && !is_excused && self.is_whole_enough() {
                return Err(format!("host {host} gets nowhere though all is well: {:?}", self.hosts[host].writer));
            }
            self.write(host)?;
        }
        let is_done = |world: &LogWorld, host: usize| {
            let (simulated, now) = (&world.hosts[host], world.hosts[host].clock.local(world.now));
            let is_memory =
                |writer: &LogWriter<_>| matches!(writer.status(now).in_force, Some(RecordReceipt::Memory { .. }));
            simulated
                .writer
                .as_ref()
                .is_none_or(|writer| !writer.is_open() || simulated.receipts == writer.end() && is_memory(writer))
        };
        self.pass(PATIENCE, |world| (0..world.hosts.len()).all(|host| is_done(world, host)))?;
        let must_go_on = self.profile.restart_on_this_disk || !is_excused;
        for host in 0..self.hosts.len() {
            let Some(writer) = self.hosts[host].writer.as_ref() else { continue };
            if !is_done(self, host) && must_go_on {
                return Err(format!(
                    "what host {host} appends in a well world gets no receipt, or memory is not gone back to: {writer:?}"
                ));
            }
            if let Some(stop @ (WriterStop::Exists { .. } | WriterStop::SameServer { .. })) = writer.stopped() {
                return Err(format!("host {host} has stopped for no reason: {stop}"));
            }
        }
        Ok(())
    }

    fn write_at_last(&mut self, host: usize) -> Result<(), String> {
        let now = self.hosts[host].clock.local(self.now);
        if let Some(writer) = &mut self.hosts[host].writer {
            let position: RecordNumber = writer.acknowledged();
            self.ledger.truncated(position);
            writer.truncate_before(now, position);
        }
        self.write(host)?;
        let end = self.hosts[host].writer.as_ref().map(LogWriter::end);
        self.pass(PATIENCE, |world| world.hosts[host].writer.as_ref().map(LogWriter::acknowledged) >= end)?;
        match self.hosts[host].writer.as_ref().map(LogWriter::acknowledged) >= end {
            true => self.close(host),
            false => Err("what was appended in a well world gets no receipt".to_owned()),
        }
    }

    /// A log that was closed in order, and restarts on its disk, is opened again without any memory.
    fn close(&mut self, host: usize) -> Result<(), String> {
        if !self.profile.restart_on_this_disk {
            return Ok(());
        }
        let now = self.hosts[host].clock.local(self.now);
        let writer = self.hosts[host].writer.as_mut().ok_or("there is no writer")?;
        let end = writer.end();
        writer.close(now);
        self.pass(PATIENCE, |world| world.hosts[host].writer.as_ref().is_some_and(LogWriter::is_closed))?;
        if !self.hosts[host].writer.as_ref().is_some_and(LogWriter::is_closed) {
            return Err(format!("a log in a well world is not closed: {:?}", self.hosts[host].writer));
        }
        (0..self.servers.len()).for_each(|server| self.servers[server].stop());
        self.hosts[host].accepts_loss = false;
        self.crash(host, true);
        self.open(host, Intent::Open)?;
        self.pass(PATIENCE, |world| world.is_open(host))?;
        match self.hosts[host].writer.as_ref().filter(|writer| writer.is_open()).map(LogWriter::end) {
            Some(found) if found == end => Ok(()),
            found => Err(format!("a log that was closed at {end} is opened without its servers up to {found:?}")),
        }
    }
}
