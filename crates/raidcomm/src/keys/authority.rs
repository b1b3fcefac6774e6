//! The authority of an instance: makes the certificates and private keys of its sites, as files.
//!
//! Invariant: no file is ever written over, and a private key is open to its owner only, from its first byte on.

use super::{AUTHORITY_FILE, KeyPart, KeysError, ORACLE, Texts, Wrong, bears, certificate, file, files};
use super::{instance_name, site_name};
use identifiers::{InstanceId, SiteId};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519,
};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The authority's private key: needed to add sites, and at no site.
pub const AUTHORITY_KEY_FILE: &str = "authority.key";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Certificates are valid from so long ago, because the clocks of hosts differ.
pub(super) const BEFORE: Duration = DAY;
/// How long a site's certificate is valid.
pub(super) const SITE_VALID: Duration = DAY.saturating_mul(3_653);
/// How long the authority's is.
pub(super) const AUTHORITY_VALID: Duration = DAY.saturating_mul(10_958);

const _: () =
    assert!(SITE_VALID.as_secs() < AUTHORITY_VALID.as_secs(), "a site's certificate ends before its authority's");

/// Signs the certificates of an instance.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    key: String,
}

/// A certificate and its private key, as PEM.
pub(crate) struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    /// The library that encrypts refuses.
    pub fn new(instance: InstanceId) -> Result<Authority, KeysError> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(library)?;
        let now = SystemTime::now();
        let params = params(instance, now - BEFORE..now + AUTHORITY_VALID)?;
        let certificate = params.self_signed(&key).map_err(library)?.pem();
        Ok(Authority { certificate, key: key.serialize_pem(), issuer: Issuer::new(params, key) })
    }

    /// The authority that made the keys in this folder.
    pub(super) fn read(folder: &Path, instance: InstanceId) -> Result<Authority, KeysError> {
        let [path, key_path] = [AUTHORITY_FILE, AUTHORITY_KEY_FILE].map(|name| folder.join(name));
        let unusable = |path: &Path| {
            let path = path.to_owned();
            |message: String| KeysError::Unusable { path, message }
        };
        let certificate_text = std::fs::read_to_string(&path).map_err(file(&path))?;
        let key_text = std::fs::read_to_string(&key_path).map_err(file(&key_path))?;
        let certificate = certificate(certificate_text.as_bytes()).map_err(unusable(&path))?;
        if !bears(&certificate, &instance_name(instance)) {
            return Err(unusable(&path)(format!("this authority does not belong to {instance}")));
        }
        let key = KeyPair::from_pem(&key_text).map_err(|error| unusable(&key_path)(error.to_string()))?;
        let now = SystemTime::now();
        // Only the names in it are used to sign.
        let params = params(instance, now..now)?;
        Ok(Authority { issuer: Issuer::new(params, key), certificate: certificate_text, key: key_text })
    }

    /// A certificate with a new private key.
    pub(crate) fn sign(
        &self,
        instance: InstanceId,
        site: SiteId,
        valid: Range<SystemTime>,
    ) -> Result<Signed, KeysError> {
        let names = [site_name(instance, site), instance_name(instance)].map(|name| name.to_str().into_owned());
        let mut params = CertificateParams::new(names).map_err(library)?;
        params.distinguished_name = called(format!("Raid {site}, {instance}"));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        (params.not_before, params.not_after) = (valid.start.into(), valid.end.into());
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(library)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(library)?.pem();
        Ok(Signed { certificate, key: key.serialize_pem() })
    }

    /// The certificate that every site has, as PEM.
    #[cfg(test)]
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }
}

/// Makes keys for these sites in a folder, and says which files. The first call for a folder makes the authority and the
/// oracle's keys too; later ones add sites.
///
/// # Errors
/// A file cannot be written, or exists; nothing was written over.
pub fn make(folder: &Path, instance: InstanceId, sites: &[SiteId]) -> Result<Vec<PathBuf>, KeysError> {
    let known = folder.join(AUTHORITY_FILE).exists();
    let oracle = (!known).then_some(ORACLE);
    let sites: Vec<SiteId> = oracle.into_iter().chain(sites.iter().copied().filter(|&site| site != ORACLE)).collect();
    if let Some(path) = sites.iter().flat_map(|&site| files(folder, site)).find(|path| path.exists()) {
        return Err(KeysError::Exists { path });
    }
    std::fs::create_dir_all(folder).map_err(file(folder))?;
    let mut made = Vec::new();
    let authority = if known {
        Authority::read(folder, instance)?
    } else {
        let authority = Authority::new(instance)?;
        write(folder.join(AUTHORITY_KEY_FILE), &authority.key, 0o600, &mut made)?;
        write(folder.join(AUTHORITY_FILE), &authority.certificate, 0o644, &mut made)?;
        authority
    };
    for site in sites {
        let now = SystemTime::now();
        let signed = authority.sign(instance, site, now - BEFORE..now + SITE_VALID)?;
        let [certificate, key] = files(folder, site);
        let texts = Texts {
            authority: authority.certificate.as_bytes(),
            certificate: signed.certificate.as_bytes(),
            key: signed.key.as_bytes(),
        };
        // The files of an authority may have been mixed up, or it may be about to end.
        super::check(texts, instance, site).map_err(|Wrong { file, message }| {
            let path =
                if matches!(file, KeyPart::Authority) { folder.join(AUTHORITY_FILE) } else { certificate.clone() };
            KeysError::Unusable { path, message }
        })?;
        write(key, &signed.key, 0o600, &mut made)?;
        write(certificate, &signed.certificate, 0o644, &mut made)?;
    }
    Ok(made)
}

fn params(instance: InstanceId, valid: Range<SystemTime>) -> Result<CertificateParams, KeysError> {
    let mut params = CertificateParams::new([instance_name(instance).to_str().into_owned()]).map_err(library)?;
    params.distinguished_name = called(format!("Raid authority, {instance}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (valid.start.into(), valid.end.into());
    Ok(params)
}

pub(super) fn called(text: String) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

pub(super) fn library(error: rcgen::Error) -> KeysError {
    KeysError::Library(error.to_string())
}

pub(super) fn write(path: PathBuf, text: &str, mode: u32, made: &mut Vec<PathBuf>) -> Result<(), KeysError> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    match written {
        Ok(()) => made.push(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(KeysError::Exists { path }),
        Err(source) => return Err(KeysError::File { path, source }),
    }
    Ok(())
}
