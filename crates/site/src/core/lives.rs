//! Lives of a site: each begins with an incarnation that the oracle gives, over log and store, and ends with the servers, or one of them.
//!
//! Invariant: what one life had open is closed before the next one opens it; a site that cannot begin one stops, and says what to do.

use super::{Core, Life, NewLife, StartError};
use crate::site_log::SiteLog;
use crate::store::FjallStore;
use crate::trace_file::TraceFile;
use crate::{back_seat, clock, limits, repair};
use access_manager::store::Store;
use commit_log::{Log, Position};
use domain::{Domain, Lost, Remote, Start, Turns};
use messages::access::AccessReply;
use messages::limits::SERVICE_PATIENCE;
use messages::oracle::OracleRequest;
use messages::replication::SiteNotice;
use messages::server::ORACLE_SITE;
use messages::{Envelope, Epoch, EpochNumber, Incarnation, Message, ServerKind, SiteId};
use raidcomm::streams::INCARNATION_UNKNOWN;
use std::sync::Arc;
use std::time::Instant;

impl Core {
    pub(super) fn ask_for_life(&mut self) {
        let site = self.config.site();
        let Life::Asking { nonce, asked_at, .. } = &mut self.life else { return };
        let now = clock::boot();
        if now < *asked_at + limits::INCARNATE_AGAIN {
            return;
        }
        *asked_at = now;
        let request = OracleRequest::Incarnate { nonce: *nonce, site };
        let envelope = Envelope {
            from_site: site,
            from: ServerKind::Site,
            to_site: ORACLE_SITE,
            to: ServerKind::Oracle,
            epoch: EpochNumber(0),
            incarnation: Incarnation(INCARNATION_UNKNOWN),
            message: Message::Oracle(request),
        };
        self.send(&Remote { sites: [ORACLE_SITE].into_iter().collect(), envelope });
    }

    pub(super) fn begin_life(&mut self, incarnation: Incarnation) {
        let Life::Asking { log, .. } = std::mem::replace(&mut self.life, Life::Over) else { return };
        match self.build(*log, incarnation) {
            Ok(()) => tracing::info!(%incarnation, "the site begins a new life"),
            Err(error) => self.end(format!("site {} cannot start: {error}", self.config.id)),
        }
    }

    fn build(&mut self, log: SiteLog, incarnation: Incarnation) -> Result<(), StartError> {
        let folder = self.config.data.join(repair::STORE_FOLDER);
        self.processes.end_life();
        let begun = Instant::now();
        let store = FjallStore::open(&folder)?;
        self.store = Some(store.reader());
        self.lives += 1;
        let opened = begun.elapsed();
        if log.first() > Position::START && store.metadata()?.is_none() {
            return Err(StartError::StoreMissing { folder, first: log.first() });
        }
        let mut sites: Vec<SiteId> = self.config.peer_sites().into_keys().collect();
        sites.push(self.config.site());
        sites.sort();
        let settings = domain::DomainSettings {
            site: self.config.site(),
            incarnation,
            sites,
            lease: self.config.lease(),
            method: self.config.method.into(),
            points_max: domain::POINTS_MAX,
            rules: Arc::clone(&self.config.rules),
            chunk_rows: messages::limits::PRIVATE_CHUNK_ROWS,
            memory_bytes_max: self.config.memory_mb << 20,
            unposted_bytes_max: access_manager::unposted_bytes_max(self.config.memory_mb << 20),
            old_version_bytes_max: (self.config.memory_mb << 20) / access_manager::limits::OLD_VERSIONS_SHARE,
            recent_writes_max: access_manager::limits::RECENT_WRITES_MAX,
            touched_max: access_manager::limits::TOUCHED_MAX,
            round_pace: domain::ROUND_PACE,
            seed: self.nonce_seed,
            planted: messages::planted::Planted::none(),
        };
        let mut domain = start(Start::begin(settings, log, Box::new(store))?)?;
        if self.config.log_archive.is_some() {
            // Until the archive says how far it has come.
            domain.keep_log_from(Some(domain.log().first()));
        }
        let replayed = begun.elapsed() - opened;
        tracing::info!(store = ?opened, log = ?replayed, log_bytes = domain.bytes_to_replay(), "the copy is read");
        // What the last life has told of the catalog is in the log, or was never committed.
        self.output.local.retain(|told| !matches!(told.message, Message::AccessReply(AccessReply::CatalogRows { .. })));
        self.output.new_life = Some(NewLife { incarnation, catalog: domain.catalog_rows()? });
        domain.take_over(std::mem::take(&mut self.last_words));
        self.held.clear();
        self.trace = TraceFile::begin(&self.config, incarnation);
        domain.trace(self.trace.selection().clone());
        domain.give_turns(Turns::Always);
        self.leases.begin_life(incarnation, domain.hand_out_leases());
        if self.alone {
            domain.notify(&mut clock::now, SiteNotice::RestartAlone);
        }
        let settled = self.processes.settle(&mut domain);
        self.life = Life::Running(Box::new(domain));
        // Whether all others are there or not: a life that ends at once leaves that process to the next one.
        if self.processes.clients_began() {
            // It knows nothing of what the one before was still to be told.
            self.output.local.clear();
            self.outputs = 0;
        }
        match settled {
            Ok(()) => self.listen(incarnation.0),
            Err(lost) => {
                self.server_lost(&lost, &lost.to_string());
                Ok(())
            }
        }
    }

    /// Sessions hold advisory locks as long as the life of their site belongs to the epoch.
    pub(super) fn tell_sessions(&mut self, epoch: Arc<Epoch>) {
        let site = self.config.site();
        let Some(member) = epoch.member(site) else { return };
        self.output.local.push(Envelope {
            from_site: site,
            from: ServerKind::Site,
            to_site: site,
            to: ServerKind::UserInterface,
            epoch: epoch.number,
            incarnation: member.incarnation,
            message: Message::Site(SiteNotice::Serving { epoch }),
        });
    }

    /// A server is lost: a new life would help, or not.
    pub(super) fn server_lost(&mut self, lost: &Lost, reason: &str) {
        match lost {
            Lost::Process(_) => self.lost(reason),
            Lost::Store(error) => self.end(format!("site {} stops: {error}", self.config.id)),
        }
    }

    /// A server, or its process, is lost: the site begins a new life, unless that has not helped so often that it will not.
    pub(super) fn lost(&mut self, reason: &str) {
        if !matches!(self.life, Life::Running(_)) {
            // It is known already.
            return;
        }
        let now = clock::boot();
        self.losses.push_back(now);
        self.losses.retain(|at| *at + limits::LOSSES_TIME > now);
        if self.losses.len() > limits::LOSSES_MAX {
            let (losses, seconds) = (self.losses.len(), limits::LOSSES_TIME / messages::limits::SECOND);
            return self.end(format!(
                "site {} stops: {losses} losses of servers in {seconds} s, the last: {reason}",
                self.config.id
            ));
        }
        self.start_again(reason);
    }

    pub(super) fn start_again(&mut self, reason: &str) {
        tracing::warn!(reason, "the site starts again from its log");
        let Life::Running(mut domain) = std::mem::replace(&mut self.life, Life::Over) else { return };
        self.last_words = domain.last_words().unwrap_or_default();
        self.output.local.extend(domain.take_effects().local);
        self.held_until = clock::boot() + SERVICE_PATIENCE;
        let log = domain.into_log();
        self.nonce_seed = self.nonce_seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.life = Life::Asking { log: Box::new(log), nonce: self.nonce_seed, asked_at: 0 };
        if let Err(error) = self.listen(INCARNATION_UNKNOWN) {
            self.end(format!("site {} cannot start again: {error}", self.config.id));
        }
    }

    pub(super) fn end(&mut self, message: String) {
        self.life = Life::Over;
        self.streams = None;
        self.output.over.get_or_insert(message);
    }
}

/// Reads the log: for a while only where a processor has nothing else to do, so that sites of the same machine that serve are not held up by one
/// that comes back.
fn start(mut start: Start<SiteLog>) -> Result<Domain<SiteLog>, StartError> {
    let begun = Instant::now();
    let read = move || -> Result<Start<SiteLog>, domain::DomainStartError> {
        while begun.elapsed() < limits::BACK_SEAT_TIME_MAX && start.go_on()? {}
        Ok(start)
    };
    let system = |source| StartError::System { what: "a thread that reads the log".to_owned(), source };
    Ok(back_seat::work("start", read).map_err(system)??.finish()?)
}
