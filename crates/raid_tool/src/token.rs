//! The token that lets a browser in: 128 bits of chance in `console.token`, which only its owner reads.
//!
//! Invariant: the file has mode 0600 from its first byte on. A cookie is made of the token but does not tell it: what else listens on this host gets the
//! cookies of all ports, and could otherwise hand the token on.

use crate::ToolError;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// The file, in the console's folder.
pub const FILE: &str = "console.token";
/// Bytes of a token.
const BYTES: usize = 16;

/// Who has it may look.
#[derive(Clone)]
pub struct ConsoleToken {
    text: String,
    cookie: String,
}

impl std::fmt::Debug for ConsoleToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ConsoleToken")
    }
}

impl ConsoleToken {
    /// The token of this folder; a new one, if there is none. Whoever removes the file has all browsers ask anew.
    pub fn of_folder(folder: &Path) -> Result<ConsoleToken, ToolError> {
        let path = folder.join(FILE);
        let file_error = |source| ToolError::File { path: path.clone(), source };
        match std::fs::read_to_string(&path) {
            Ok(text) if is_token(text.trim()) => {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(file_error)?;
                return Ok(ConsoleToken::new(text.trim()));
            }
            Ok(_) => std::fs::remove_file(&path).map_err(file_error)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(file_error(error)),
        }
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| ToolError::System(std::io::Error::other(error.to_string())))?;
        let text = hexadecimal(&bytes);
        write_new(&path, &text).map_err(file_error)?;
        Ok(ConsoleToken::new(&text))
    }

    fn new(text: &str) -> ConsoleToken {
        let cookie = hexadecimal(&Sha256::digest(format!("the cookie of a console with {text}")));
        ConsoleToken { text: text.to_owned(), cookie }
    }

    /// As it stands in the address for a browser.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What a browser keeps.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether this is it. Takes as long for a wrong one as for the right one.
    pub(crate) fn is(&self, given: &str) -> bool {
        self.text.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Whether this is the cookie.
    pub(crate) fn is_cookie(&self, given: &str) -> bool {
        self.cookie.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

fn is_token(text: &str) -> bool {
    text.len() == 2 * BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_new(path: &PathBuf, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others on this host could read the token, or browsers would be asked anew after each start.
    #[test]
    fn it_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(FILE);
        let token = ConsoleToken::of_folder(folder.path()).expect("the folder can be written");
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!((mode & 0o777, token.text().len()), (0o600, 32));
        let again = ConsoleToken::of_folder(folder.path()).expect("it is there");
        assert!(again.is(token.text()) && again.is_cookie(token.cookie()));
        assert!(!again.is("") && !again.is(token.cookie()) && !again.is_cookie(token.text()));
        std::fs::write(&path, "short").expect("the folder can be written");
        let other = ConsoleToken::of_folder(folder.path()).expect("what is no token is replaced");
        assert!(!other.is(token.text()) && is_token(other.text()));
    }
}
