//! Keys of an instance: what a site proves itself with, and whom it believes.
//!
//! An authority of the instance signs one certificate for each site and one for the oracle; a certificate names the
//! instance and the site. A site holds the authority's certificate, its own, and its own private key. The authority's
//! private key is needed at no site.
//!
//! Invariant: the certificate in [`Keys`] names their site and instance, was signed by their authority, and was valid when
//! they were read. A connection made with them has TLS 1.3 or does not come about (RFC 8446); it is never resumed, so each
//! one has proved anew who is at its ends.

pub mod authority;
pub mod clients;
#[cfg(test)]
pub(crate) mod tests;

pub use authority::Authority;

use identifiers::{InstanceId, SiteId};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig};
use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The oracle's number among the sites.
pub const ORACLE: SiteId = SiteId(0);
/// The file with the certificate that every site of an instance has.
pub const AUTHORITY_FILE: &str = "authority.pem";
/// Permissions of a private key that are too many: nobody but its owner and its owner's group may read or write it.
const OTHERS: u32 = 0o007;

/// Why keys cannot be used or made.
#[derive(Debug, Error)]
pub enum KeysError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Keys that are in use are never written over.
    #[error("{path} exists, and keys are not overwritten: remove it, or name another folder")]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// Every user of the host could read the private key.
    #[error("{path} is open to every user of this host: a private key must not be (`chmod 600`)")]
    Open {
        /// Which file.
        path: PathBuf,
    },
    /// The file is not what it should be, or its certificate is of no use here.
    #[error("{path}: {message}")]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The library that encrypts refuses; nothing of this host's files explains it.
    #[error("keys cannot be made: {0}")]
    Library(String),
}

/// What a site proves itself with, and whom it believes.
#[derive(Clone)]
pub struct Keys {
    instance: InstanceId,
    site: SiteId,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

/// Without the private key.
impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "keys of {}, {}", self.instance, self.site)
    }
}

/// What the files of one site hold, as PEM (RFC 7468).
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub authority: &'a [u8],
    pub certificate: &'a [u8],
    pub key: &'a [u8],
}

/// A text of one site's that cannot be used.
struct Wrong {
    file: KeyPart,
    message: String,
}

#[derive(Clone, Copy)]
enum KeyPart {
    Authority,
    Certificate,
    Key,
}

impl Keys {
    /// Reads a site's keys from the folder in which `raid keys` made them, or to which they were copied.
    ///
    /// # Errors
    /// A file is missing, open to every user, or of another site or instance; or its certificate is not valid now.
    pub fn read(folder: &Path, instance: InstanceId, site: SiteId) -> Result<Keys, KeysError> {
        let [certificate, key] = files(folder, site);
        let authority = folder.join(AUTHORITY_FILE);
        let permissions = std::fs::metadata(&key).map_err(file(&key))?.permissions();
        if permissions.mode() & OTHERS != 0 {
            return Err(KeysError::Open { path: key });
        }
        let read = |path: &Path| std::fs::read(path).map_err(file(path));
        let texts = [read(&authority)?, read(&certificate)?, read(&key)?];
        let texts = Texts { authority: &texts[0], certificate: &texts[1], key: &texts[2] };
        let judged = check(texts, instance, site).and_then(|()| Keys::unchecked(texts, instance, site));
        judged.map_err(|wrong| {
            let path = match wrong.file {
                KeyPart::Authority => authority,
                KeyPart::Certificate => certificate,
                KeyPart::Key => key,
            };
            KeysError::Unusable { path, message: wrong.message }
        })
    }

    /// Keys from texts whose certificate nobody has looked at yet.
    fn unchecked(texts: Texts<'_>, instance: InstanceId, site: SiteId) -> Result<Keys, Wrong> {
        let wrong = |file| move |message: String| Wrong { file, message };
        let roots = roots(texts)?;
        let chain = || certificate(texts.certificate).map(|certificate| vec![certificate]);
        let chain = || chain().map_err(wrong(KeyPart::Certificate));
        let key = PrivateKeyDer::from_pem_slice(texts.key)
            .map_err(|error| wrong(KeyPart::Key)(format!("no private key in PEM form: {error:?}")))?;
        let unfit =
            |error: rustls::Error| wrong(KeyPart::Key)(format!("{error}; it must be the key of the certificate"));
        let library = |error: &dyn fmt::Display| wrong(KeyPart::Authority)(error.to_string());

        let mut client = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| library(&error))?
            .with_root_certificates(roots.clone())
            .with_client_auth_cert(chain()?, key.clone_key())
            .map_err(unfit)?;
        client.resumption = Resumption::disabled();
        client.enable_sni = false;

        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots, provider()).build().map_err(|error| library(&error))?;
        let mut server = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| library(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain()?, key)
            .map_err(unfit)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Keys { instance, site, client: Arc::new(client), server: Arc::new(server) })
    }

    /// Keys whose certificate need not be good, for tests of what others say to it.
    #[cfg(test)]
    pub(crate) fn of_test(texts: Texts<'_>, instance: InstanceId, site: SiteId) -> Keys {
        Keys::unchecked(texts, instance, site).unwrap_or_else(|wrong| panic!("{}", wrong.message))
    }

    /// Whose instance they belong to.
    pub fn instance(&self) -> InstanceId {
        self.instance
    }

    /// Whose site they belong to.
    pub fn site(&self) -> SiteId {
        self.site
    }
}

/// The certificate and the private key of a site, in that order.
pub fn files(folder: &Path, site: SiteId) -> [PathBuf; 2] {
    let name = if site == ORACLE { "oracle".to_owned() } else { format!("site-{}", site.0) };
    [folder.join(format!("{name}.pem")), folder.join(format!("{name}.key"))]
}

/// The name that all certificates of an instance bear.
pub(crate) fn instance_name(instance: InstanceId) -> ServerName<'static> {
    name(format!("{:016x}.instance.raid", instance.0))
}

/// The name that only the certificate of one site bears.
pub(crate) fn site_name(instance: InstanceId, site: SiteId) -> ServerName<'static> {
    name(format!("site-{}.{:016x}.instance.raid", site.0, instance.0))
}

fn name(text: String) -> ServerName<'static> {
    ServerName::try_from(text).expect("letters, digits, hyphens and points are a name (RFC 1123)")
}

/// Whether a certificate, which the authority has signed, bears this name.
pub(crate) fn bears(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    ParsedCertificate::try_from(certificate).is_ok_and(|parsed| verify_server_name(&parsed, name).is_ok())
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> KeysError {
    let path = path.to_owned();
    |source| KeysError::File { path, source }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificate(text: &[u8]) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(text).map_err(|error| format!("no certificate in PEM form: {error:?}"))
}

fn roots(texts: Texts<'_>) -> Result<Arc<RootCertStore>, Wrong> {
    let wrong = |message| Wrong { file: KeyPart::Authority, message };
    let mut roots = RootCertStore::empty();
    roots.add(certificate(texts.authority).map_err(wrong)?).map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(roots))
}

/// Whether a site's certificate is what its peers will want to see.
fn check(texts: Texts<'_>, instance: InstanceId, site: SiteId) -> Result<(), Wrong> {
    let wrong = |message: String| Wrong { file: KeyPart::Certificate, message };
    let own = certificate(texts.certificate).map_err(wrong)?;
    let verifier = WebPkiServerVerifier::builder_with_provider(roots(texts)?, provider())
        .build()
        .map_err(|error| Wrong { file: KeyPart::Authority, message: error.to_string() })?;
    let (instance_name, site_name) = (instance_name(instance), site_name(instance, site));
    let judged = verifier.verify_server_cert(&own, &[], &instance_name, &[], UnixTime::now());
    let message = match judged {
        Ok(_) if bears(&own, &site_name) => return Ok(()),
        Ok(_) => format!("the certificate is not of {site}, whose keys are looked for"),
        Err(rustls::Error::InvalidCertificate(error)) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate, or that of its authority, has expired: make new keys (`raid keys`), or set the clock"
                    .to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet: is this host's clock right?".to_owned()
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!(
                    "the certificate was not signed by the authority in {AUTHORITY_FILE}: copy both from one folder"
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate does not belong to {instance}")
            }
            other => format!("the certificate cannot be used: {other}"),
        },
        Err(other) => format!("the certificate cannot be used: {other}"),
    };
    Err(wrong(message))
}
