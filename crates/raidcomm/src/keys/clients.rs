//! Keys for PostgreSQL's clients: what sites are shown to them with, and what roles prove themselves with.
//!
//! They have an authority of their own: whoever has a key of a role is no site, and a site's key opens no database. Its keys are of a kind that every TLS library
//! can bind channels to (ECDSA with SHA-256), which Ed25519 is not. Invariant: as [`super::authority`]'s.

use super::KeysError;
use super::authority::{AUTHORITY_VALID, BEFORE, SITE_VALID, called, library, write};
use super::file;
use identifiers::InstanceId;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file with the certificate by which clients know the sites, and sites the roles.
pub const SQL_AUTHORITY_FILE: &str = "sql-authority.pem";
/// Its private key: needed to make more keys, and at no site.
pub const SQL_AUTHORITY_KEY_FILE: &str = "sql-authority.key";

/// What is wanted of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForClients {
    /// The hosts' names and addresses by which clients reach sites; none: no certificate for sites.
    pub hosts: Vec<String>,
    /// Roles that prove themselves by a certificate.
    pub roles: Vec<String>,
}

/// Makes keys in a folder, and says which files. The first call for a folder makes their authority.
///
/// # Errors
/// A file cannot be written, or exists; nothing was written over. A role's name cannot be that of a file.
pub fn make(folder: &Path, instance: InstanceId, wanted: &ForClients) -> Result<Vec<PathBuf>, KeysError> {
    let sql = (!wanted.hosts.is_empty()).then(|| "sql".to_owned());
    let roles = wanted.roles.iter().map(|role| file_of_role(role)).collect::<Result<Vec<_>, _>>()?;
    let names = sql.iter().chain(&roles);
    if let Some(path) = names.flat_map(|name| files(folder, name)).find(|path| path.exists()) {
        return Err(KeysError::Exists { path });
    }
    std::fs::create_dir_all(folder).map_err(file(folder))?;
    let mut made = Vec::new();
    let issuer = issuer(folder, instance, &mut made)?;
    if let Some(name) = sql {
        let mut params = CertificateParams::new(wanted.hosts.clone()).map_err(library)?;
        params.distinguished_name = called(wanted.hosts[0].clone());
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        signed(params, &issuer, files(folder, &name), &mut made)?;
    }
    for (role, name) in wanted.roles.iter().zip(&roles) {
        let mut params = CertificateParams::default();
        params.distinguished_name = called(role.clone());
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        signed(params, &issuer, files(folder, name), &mut made)?;
    }
    Ok(made)
}

/// The certificate and the private key of that name.
fn files(folder: &Path, name: &str) -> [PathBuf; 2] {
    [folder.join(format!("{name}.pem")), folder.join(format!("{name}.key"))]
}

fn file_of_role(role: &str) -> Result<String, KeysError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    match !role.is_empty() && role.chars().all(is_plain) {
        true => Ok(format!("role-{role}")),
        false => {
            Err(KeysError::Library(format!("\"{role}\": letters, digits, _ and - make the name of a role's files")))
        }
    }
}

/// The authority of this folder, made if there is none.
fn issuer(folder: &Path, instance: InstanceId, made: &mut Vec<PathBuf>) -> Result<Issuer<'static, KeyPair>, KeysError> {
    let [path, key_path] = [SQL_AUTHORITY_FILE, SQL_AUTHORITY_KEY_FILE].map(|name| folder.join(name));
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.distinguished_name = called(format!("Raid clients, {instance}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = ((now - BEFORE).into(), (now + AUTHORITY_VALID).into());
    if path.exists() {
        let text = std::fs::read_to_string(&key_path).map_err(file(&key_path))?;
        let key = KeyPair::from_pem(&text)
            .map_err(|error| KeysError::Unusable { path: key_path, message: error.to_string() })?;
        // Only the names in it are used to sign.
        return Ok(Issuer::new(params, key));
    }
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(library)?;
    let certificate = params.self_signed(&key).map_err(library)?.pem();
    write(key_path, &key.serialize_pem(), 0o600, made)?;
    write(path, &certificate, 0o644, made)?;
    Ok(Issuer::new(params, key))
}

fn signed(
    mut params: CertificateParams,
    issuer: &Issuer<'static, KeyPair>,
    [certificate_path, key_path]: [PathBuf; 2],
    made: &mut Vec<PathBuf>,
) -> Result<(), KeysError> {
    let now = SystemTime::now();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    (params.not_before, params.not_after) = ((now - BEFORE).into(), (now + SITE_VALID).into());
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(library)?;
    let certificate = params.signed_by(&key, issuer).map_err(library)?.pem();
    write(key_path, &key.serialize_pem(), 0o600, made)?;
    write(certificate_path, &certificate, 0o644, made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this failed, keys in use would be lost, or a second call would make an authority that nobody believes.
    #[test]
    fn keys_are_made_once_and_by_one_authority() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let make = |hosts: &[&str], roles: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
            super::make(folder.path(), InstanceId(5), &ForClients { hosts: texts(hosts), roles: texts(roles) })
        };
        let made = make(&["db.example.com", "10.0.0.1"], &["alice"]).expect("an empty folder");
        assert_eq!(made.len(), 6, "{made:?}");
        let authority = std::fs::read(folder.path().join(SQL_AUTHORITY_FILE)).expect("it was made");
        assert_eq!(make(&[], &["bob"]).expect("another role").len(), 2);
        assert_eq!(std::fs::read(folder.path().join(SQL_AUTHORITY_FILE)).expect("it is there"), authority);
        assert!(matches!(make(&["other"], &[]), Err(KeysError::Exists { .. })));
        assert!(matches!(make(&[], &["carol", "alice"]), Err(KeysError::Exists { .. })));
        assert!(!folder.path().join("role-carol.pem").exists(), "all or nothing");
        assert!(make(&[], &["../alice"]).is_err());
    }
}
