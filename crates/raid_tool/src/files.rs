//! The pages: files that are part of the program.
//!
//! Invariant: what a page is made of comes from here alone, and is at most [`BYTES_MAX`] long all in all.

/// Bytes of all files together.
const BYTES_MAX: usize = 150_000;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file of a page.
#[derive(Debug)]
pub(crate) struct PageFile {
    /// Its path, from the slash on.
    pub(crate) path: &'static str,
    /// Its kind, as HTTP says it.
    pub(crate) kind: &'static str,
    /// What is in it.
    pub(crate) bytes: &'static [u8],
    /// Whether it is for those without a token, too.
    pub(crate) is_open: bool,
}

macro_rules! page_file {
    ($name:literal, $kind:expr, $is_open:expr) => {
        PageFile {
            path: concat!("/", $name),
            kind: $kind,
            bytes: include_bytes!(concat!("../pages/", $name)),
            is_open: $is_open,
        }
    };
}

/// The page itself.
pub(crate) const INDEX: PageFile = page_file!("index.html", HTML, false);
/// What is shown instead to whoever is not logged in.
pub(crate) const LOGIN: PageFile = page_file!("login.html", HTML, true);

/// What the page is made of.
pub(crate) const FILES: [PageFile; 14] = [
    page_file!("style.css", STYLE, true),
    page_file!("icon.svg", IMAGE, true),
    page_file!("main.js", SCRIPT, false),
    page_file!("page.js", SCRIPT, false),
    page_file!("words.js", SCRIPT, false),
    page_file!("overview.js", SCRIPT, false),
    page_file!("picture.js", SCRIPT, false),
    page_file!("chart.js", SCRIPT, false),
    page_file!("charts.js", SCRIPT, false),
    page_file!("statements.js", SCRIPT, false),
    page_file!("tables.js", SCRIPT, false),
    page_file!("network.js", SCRIPT, false),
    page_file!("reconfigure.js", SCRIPT, false),
    page_file!("sql.js", SCRIPT, false),
];

const fn bytes_of_all() -> usize {
    let mut sum = INDEX.bytes.len() + LOGIN.bytes.len();
    let mut at = 0;
    while at < FILES.len() {
        sum += FILES[at].bytes.len();
        at += 1;
    }
    sum
}

const _: () = assert!(bytes_of_all() <= BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy that pages are served with forbids code and styles in them: they would silently not work. A file of another host would tell that host of
    /// each operator.
    #[test]
    fn pages_are_made_of_their_own_files() {
        for file in FILES.iter().chain([&INDEX, &LOGIN]) {
            let text = std::str::from_utf8(file.bytes).expect("it is text");
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines", file.path);
            for banned in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://"] {
                assert!(!text.contains(banned), "{} has {banned}", file.path);
            }
            if file.kind == HTML {
                for banned in ["style=", "<style", "onclick", "javascript:"] {
                    assert!(!text.contains(banned), "{} has {banned}", file.path);
                }
            }
        }
    }
}
