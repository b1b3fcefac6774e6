//! How clients come in: the rules, the certificates, and what is refused because everybody could come in by it.
//!
//! Invariants: an address that others reach has no clients in clear and trusts nobody, unless the configuration says `insecure = true`; what is read again and is
//! wrong changes nothing.

use crate::audit::EventLog;
use crate::certificates::{self, Hash};
use crate::config::{Clients, SiteConfig};
use authentication::Rules;
use ring::digest::{SHA256, SHA384, SHA512, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use user_interface::{ActivityBoard, Doorkeeper};

/// What PostgreSQL's clients call their protocol when they begin with TLS at once (RFC 7301).
pub(crate) const PROTOCOL: &[u8] = b"postgresql";
/// Permissions of a private key that are too many: nobody but its owner and its owner's group may read or write it.
const OTHERS: u32 = 0o007;

/// See the module's description.
pub(crate) struct Entrance {
    config: Clients,
    sql: SocketAddr,
    doorkeeper: Arc<Doorkeeper>,
    activity: Arc<ActivityBoard>,
    tls: Mutex<Option<Arc<Tls>>>,
    events: EventLog,
}

/// What clients' connections are encrypted with.
pub(crate) struct Tls {
    pub(crate) server: Arc<ServerConfig>,
    /// What channels are bound to.
    pub(crate) binding: Option<Vec<u8>>,
}

impl Entrance {
    /// As the configuration has it.
    ///
    /// # Errors
    /// A file or rule is wrong, or strangers could come in.
    pub(crate) fn open(config: &SiteConfig) -> Result<Arc<Entrance>, String> {
        let (rules, tls) = read(&config.clients, config.sql)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| format!("the operating system has no randomness: {error}"))?;
        let doorkeeper = Doorkeeper::new(rules, tls.is_some(), &secret);
        let (clients, sql) = (config.clients.clone(), config.sql);
        let (tls, events) = (
            Mutex::new(tls.map(Arc::new)),
            EventLog::open(config.id, config.audit_log.as_deref(), config.log_min_duration_statement)?,
        );
        Ok(Arc::new(Entrance { config: clients, sql, doorkeeper, activity: Arc::default(), tls, events }))
    }

    /// Reads rules and certificates again. Sessions that are up stay.
    pub(crate) fn reload(&self) {
        match read(&self.config, self.sql) {
            Ok((rules, tls)) => {
                self.doorkeeper.change(rules, tls.is_some());
                *self.tls.lock().expect("no holder of this lock panics") = tls.map(Arc::new);
                tracing::info!("rules and certificates for clients were read again");
            }
            Err(error) => tracing::error!(error, "rules and certificates for clients stay as they were"),
        }
    }

    /// What its sessions are doing.
    pub(crate) fn activity(&self) -> Arc<ActivityBoard> {
        self.activity.clone()
    }

    pub(crate) fn doorkeeper(&self) -> Arc<Doorkeeper> {
        self.doorkeeper.clone()
    }

    /// Where goes what sessions have done.
    pub(crate) fn events(&self) -> &EventLog {
        &self.events
    }

    pub(crate) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.lock().expect("no holder of this lock panics").clone()
    }
}

fn read(config: &Clients, sql: SocketAddr) -> Result<(Rules, Option<Tls>), String> {
    let rules = rules(config)?;
    let tls = tls(config)?;
    if rules.ask_for_certificates() && config.authority.is_none() {
        return Err(
            "a rule asks for certificates of clients, and [clients] has no authority to check them by".to_owned()
        );
    }
    let is_reached = !sql.ip().to_canonical().is_loopback();
    if is_reached && !config.insecure {
        let way = "or say insecure = true in [clients] if nobody else can reach that network";
        if tls.is_none() {
            return Err(format!(
                "sql = \"{sql}\" is not on this host only, and clients would come in clear: make a certificate with `raid keys --sql`, and \
                 name certificate and key in [clients], {way}"
            ));
        }
        if let Some(line) = rules.trusts_others() {
            return Err(format!(
                "sql = \"{sql}\" is not on this host only, and rule {line} trusts clients of other hosts to be who they say: use \
                 scram-sha-256 or cert, {way}"
            ));
        }
    }
    Ok((rules, tls))
}

fn rules(config: &Clients) -> Result<Rules, String> {
    match (&config.hba_file, &config.hba) {
        (Some(_), Some(_)) => Err("[clients] has rules both in hba and in hba_file: leave one of them out".to_owned()),
        (Some(path), None) => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Rules::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
        }
        (None, Some(lines)) => {
            // A line break within a rule would make it two, and count wrong.
            if lines.iter().any(|line| line.contains(['\n', '\r'])) {
                return Err("hba in [clients]: each text is one rule".to_owned());
            }
            Rules::parse(&lines.join("\n")).map_err(|error| format!("hba in [clients]: {error}"))
        }
        (None, None) => Ok(Rules::shipped()),
    }
}

fn tls(config: &Clients) -> Result<Option<Tls>, String> {
    let (certificate, key) = match (&config.certificate, &config.key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) if config.authority.is_none() => return Ok(None),
        _ => return Err("[clients] needs certificate and key together, and both for authority".to_owned()),
    };
    let chain = read_certificates(certificate)?;
    let mode = std::fs::metadata(key).map_err(|error| format!("{}: {error}", key.display()))?.permissions().mode();
    if mode & OTHERS != 0 {
        let path = key.display();
        return Err(format!("{path} is open to every user of this host: a private key must not be (`chmod 600`)"));
    }
    let text = std::fs::read(key).map_err(|error| format!("{}: {error}", key.display()))?;
    let private = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| format!("{}: no private key in PEM form: {error:?}", key.display()))?;
    let binding = chain.first().and_then(|certificate| end_point(certificate));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match &config.authority {
        None => WebPkiClientVerifier::no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in read_certificates(path)? {
                roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            let built = builder.allow_unauthenticated().build();
            built.map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| error.to_string())?;
    let mut server = builder
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, private)
        .map_err(|error| format!("{} and {} do not fit: {error}", certificate.display(), key.display()))?;
    server.alpn_protocols = vec![PROTOCOL.to_vec()];
    // As PostgreSQL: drivers begin every session anew, and tickets would be work for nothing.
    server.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    Ok(Some(Tls { server: Arc::new(server), binding }))
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read(path).map_err(|error| wrong(&error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong(&"no certificate in PEM form")),
        Err(error) => Err(wrong(&format!("no certificate in PEM form: {error:?}"))),
    }
}

/// What a channel is bound to (RFC 5929, section 4.1): a hash of the server's certificate, by the hash function of its signature. `None`: clients cannot bind
/// channels.
fn end_point(certificate: &CertificateDer) -> Option<Vec<u8>> {
    let algorithm = match certificates::hash_of(certificate)? {
        Hash::Sha256 => &SHA256,
        Hash::Sha384 => &SHA384,
        Hash::Sha512 => &SHA512,
    };
    Some(digest(algorithm, certificate).as_ref().to_vec())
}
