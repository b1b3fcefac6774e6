//! Keys as files, and the keys of instances that tests make up.

use super::authority::{AUTHORITY_KEY_FILE, Signed, make};
use super::*;
use std::fs;
use std::ops::Range;
use std::time::{Duration, SystemTime};

const INSTANCE: InstanceId = InstanceId(0xdb);
const A: SiteId = SiteId(1);
const B: SiteId = SiteId(2);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// From this many days ago until so many days from now, which may be before it.
fn days(ago: u32, ahead: i32) -> Range<SystemTime> {
    let now = SystemTime::now();
    let end = if ahead < 0 { now - DAY * ahead.unsigned_abs() } else { now + DAY * ahead.unsigned_abs() };
    now - DAY * ago..end
}

/// What the certificate of a site in a test says.
#[derive(Clone)]
pub(crate) struct Said {
    pub instance: InstanceId,
    pub site: SiteId,
    pub valid: Range<SystemTime>,
}

impl Said {
    /// What it should say.
    pub(crate) fn of(instance: InstanceId, site: SiteId) -> Said {
        Said { instance, site, valid: days(1, 1) }
    }

    pub(crate) fn expired(self) -> Said {
        Said { valid: days(2, -1), ..self }
    }

    pub(crate) fn not_yet_valid(self) -> Said {
        Said { valid: SystemTime::now() + DAY..SystemTime::now() + 2 * DAY, ..self }
    }
}

impl Authority {
    /// Keys that are used as those of a site, whatever their certificate says.
    pub(crate) fn keys(&self, instance: InstanceId, site: SiteId, said: Said) -> Keys {
        let signed = self.sign(said.instance, said.site, said.valid).expect("a certificate");
        Keys::of_test(self.texts(&signed), instance, site)
    }

    fn texts<'a>(&'a self, signed: &'a Signed) -> Texts<'a> {
        Texts {
            authority: self.certificate().as_bytes(),
            certificate: signed.certificate.as_bytes(),
            key: signed.key.as_bytes(),
        }
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[track_caller]
fn refused(folder: &Path, instance: InstanceId, site: SiteId) -> String {
    Keys::read(folder, instance, site).expect_err("such keys must not be used").to_string()
}

#[test]
fn keys_are_read_as_they_were_made_and_private_ones_are_the_owners() {
    let folder = folder();
    let made = make(folder.path(), INSTANCE, &[A, B]).expect("an empty folder");
    for site in [ORACLE, A, B] {
        let keys = Keys::read(folder.path(), INSTANCE, site).expect("they were just made");
        assert_eq!((keys.instance(), keys.site()), (INSTANCE, site));
    }
    assert_eq!(made.len(), 8, "a certificate and a private key of the authority, of the oracle, and of each site");
    for path in &made {
        let mode = fs::metadata(path).expect("it was made").permissions().mode() & 0o777;
        let private = path.extension().is_some_and(|extension| extension == "key");
        assert_eq!(mode, if private { 0o600 } else { 0o644 }, "{}", path.display());
    }
}

#[test]
fn nothing_is_written_over_and_sites_are_added_by_the_same_authority() {
    let folder = folder();
    make(folder.path(), INSTANCE, &[A]).expect("an empty folder");
    let content = || -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
        let mut content: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        content.sort();
        content
    };
    let before = content();
    let error = make(folder.path(), INSTANCE, &[B, A]).expect_err("site 1 has keys");
    assert!(matches!(&error, KeysError::Exists { path } if path.ends_with("site-1.pem")), "{error}");
    assert_eq!(content(), before, "a refused call must leave all as it was");
    make(folder.path(), INSTANCE, &[B]).expect("site 2 has none");
    Keys::read(folder.path(), INSTANCE, B).expect("the authority that all sites know has signed it");
    let error = make(folder.path(), InstanceId(7), &[SiteId(3)]).expect_err("the authority is another instance's");
    assert!(error.to_string().contains("does not belong to instance"), "{error}");
}

#[test]
fn keys_that_peers_would_refuse_are_refused_at_the_start_with_the_reason() {
    let folder = folder();
    make(folder.path(), INSTANCE, &[A, B]).expect("an empty folder");
    let error = refused(folder.path(), InstanceId(7), A);
    assert!(error.contains("does not belong to instance"), "{error}");
    let error = refused(folder.path(), INSTANCE, SiteId(3));
    assert!(error.contains("site-3.key"), "{error}");

    let [certificate, key] = files(folder.path(), A);
    let [other, other_key] = files(folder.path(), B);
    let good = fs::read(&certificate).expect("a file");
    fs::copy(other, &certificate).expect("a copy");
    let error = refused(folder.path(), INSTANCE, A);
    assert!(error.contains("not of site 1"), "{error}");
    fs::write(&certificate, &good).expect("a write");
    let good_key = fs::read(&key).expect("a file");
    fs::copy(other_key, &key).expect("a copy");
    let error = refused(folder.path(), INSTANCE, A);
    assert!(error.contains("site-1.key") && error.contains("the key of the certificate"), "{error}");
    fs::write(&key, &good_key).expect("a write");

    let authority = Authority::read(folder.path(), INSTANCE).expect("it was made");
    let cases =
        [(Said::of(INSTANCE, A).expired(), "has expired"), (Said::of(INSTANCE, A).not_yet_valid(), "not valid yet")];
    for (said, expected) in cases {
        let signed = authority.sign(said.instance, said.site, said.valid).expect("a certificate");
        fs::write(&certificate, signed.certificate).expect("a write");
        let error = refused(folder.path(), INSTANCE, A);
        assert!(error.contains("site-1.pem") && error.contains(expected), "{error}");
    }
    fs::write(&certificate, &good).expect("a write");
    Keys::read(folder.path(), INSTANCE, A).expect("all is as it was");

    fs::write(folder.path().join(AUTHORITY_FILE), Authority::new(INSTANCE).expect("an authority").certificate())
        .expect("a write");
    let error = refused(folder.path(), INSTANCE, A);
    assert!(error.contains("not signed by the authority"), "{error}");
}

#[test]
fn a_private_key_that_everybody_can_read_is_refused() {
    let folder = folder();
    make(folder.path(), INSTANCE, &[A]).expect("an empty folder");
    let [_, key] = files(folder.path(), A);
    for (mode, open) in [(0o644, true), (0o602, true), (0o640, false), (0o400, false)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("our file");
        let keys = Keys::read(folder.path(), INSTANCE, A);
        assert_eq!(matches!(keys, Err(KeysError::Open { .. })), open, "{mode:o}");
        assert_eq!(keys.is_ok(), !open, "{mode:o}");
    }
}

/// If this failed, a damaged file would stop a site with a message that names none.
#[test]
fn damaged_files_are_errors_that_name_a_file() {
    let folder = folder();
    make(folder.path(), INSTANCE, &[A]).expect("an empty folder");
    let [certificate, key] = files(folder.path(), A);
    for path in [folder.path().join(AUTHORITY_FILE), certificate, key] {
        let good = fs::read(&path).expect("a file");
        for damaged in [&good[..good.len() / 2], b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        {
            fs::write(&path, damaged).expect("a write");
            let error = refused(folder.path(), INSTANCE, A);
            assert!(error.contains(".pem") || error.contains(".key"), "{error}");
        }
        fs::write(&path, good).expect("a write");
    }
    fs::remove_file(folder.path().join(AUTHORITY_KEY_FILE)).expect("our file");
    Keys::read(folder.path(), INSTANCE, A).expect("no site needs the authority's private key");
    let error = make(folder.path(), INSTANCE, &[B]).expect_err("nobody can sign").to_string();
    assert!(error.contains(AUTHORITY_KEY_FILE), "{error}");
}
