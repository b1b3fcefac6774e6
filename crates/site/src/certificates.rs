//! What certificates (X.509, RFC 5280) say that TLS does not ask: by which hash function one is signed, and whom one names.
//!
//! Invariant: what is no certificate says nothing. Whether one is to be believed is not judged here.

use yasna::{ASN1Result, BERReader, parse_der};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// An attribute's type: the common name (2.5.4.3).
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
/// The first byte of a version, which a certificate may lack.
const VERSION: u8 = 0xa0;
/// Where the subject stands behind the version: serial number, signature, issuer and validity come before.
const SUBJECT: usize = 4;

/// The elements of a sequence, each as it is encoded.
fn sequence(encoded: &[u8]) -> Option<Vec<Vec<u8>>> {
    parse_der(encoded, |reader| elements(reader)).ok()
}

fn elements(reader: BERReader) -> ASN1Result<Vec<Vec<u8>>> {
    reader.collect_sequence_of(|element| element.read_der())
}

/// The hash function of a certificate's signature, or SHA-256 in place of a weaker one. `None` for signatures that name no hash function, or are not known.
pub(crate) fn hash_of(certificate: &[u8]) -> Option<Hash> {
    let parts = sequence(certificate)?;
    let algorithm = sequence(parts.get(1)?)?;
    let identifier = parse_der(algorithm.first()?, |reader| reader.read_oid()).ok()?;
    match identifier.components().as_slice() {
        // RSA (PKCS #1, RFC 8017) with MD5, SHA-1, SHA-256, and with longer ones.
        [1, 2, 840, 113_549, 1, 1, 4 | 5 | 11] => Some(Hash::Sha256),
        [1, 2, 840, 113_549, 1, 1, 12] => Some(Hash::Sha384),
        [1, 2, 840, 113_549, 1, 1, 13] => Some(Hash::Sha512),
        // ECDSA (RFC 5758) with SHA-1, SHA-256, and with longer ones.
        [1, 2, 840, 10_045, 4, 1] | [1, 2, 840, 10_045, 4, 3, 2] => Some(Hash::Sha256),
        [1, 2, 840, 10_045, 4, 3, 3] => Some(Hash::Sha384),
        [1, 2, 840, 10_045, 4, 3, 4] => Some(Hash::Sha512),
        _ => None,
    }
}

/// The first common name in a certificate's subject.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    let parts = sequence(certificate)?;
    let signed = sequence(parts.first()?)?;
    let has_version = signed.first()?.first() == Some(&VERSION);
    let subject = sequence(signed.get(SUBJECT + usize::from(has_version))?)?;
    for set in &subject {
        let attributes = parse_der(set, |reader| reader.collect_set_of(|attribute| elements(attribute))).ok()?;
        for attribute in attributes {
            if let [kind, value] = attribute.as_slice()
                && kind[..] == COMMON_NAME
            {
                let value = parse_der(value, |reader| reader.read_tagged_der()).ok()?;
                let text = String::from_utf8(value.value().to_vec()).ok()?;
                // A zero byte within would end the name for who reads it as C does.
                return Some(text).filter(|text| !text.contains('\0'));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::{ForClients, make_client_keys};
    use messages::InstanceId;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    /// If this failed, clients could not bind channels to the certificates that we make, or come in as somebody else.
    #[test]
    fn our_own_certificates_say_what_they_should() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let wanted = ForClients { hosts: vec!["db.example.com".to_owned()], roles: vec!["größe".to_owned()] };
        make_client_keys(folder.path(), InstanceId(5), &wanted).expect("an empty folder");
        let read = |name: &str| CertificateDer::from_pem_file(folder.path().join(name)).expect("a certificate");
        for (file, name) in [("sql.pem", "db.example.com"), ("role-größe.pem", "größe")] {
            let certificate = read(file);
            assert_eq!(hash_of(&certificate), Some(Hash::Sha256));
            assert_eq!(common_name(&certificate).as_deref(), Some(name));
            for end in 0..certificate.len() {
                assert_eq!((hash_of(&certificate[..end]), common_name(&certificate[..end])), (None, None));
            }
        }
    }
}
