//! Who may look: the checks that each request passes before anything is done for it.
//!
//! A page of another site in the same browser can send requests here. It cannot read `console.token`, its requests carry its own name as their origin, and
//! a name that it has pointed at this host (DNS rebinding) stands in `Host`. Invariant: what [`check`] lets through was sent by this console's own page, or by
//! a program that has the token.

use crate::answers::ToolRefusal;
use crate::limits::{LOGIN_WINDOW, LOGINS_MAX};
use crate::token::ConsoleToken;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use std::collections::VecDeque;
use std::time::Instant;

/// Headers of every answer.
pub(crate) const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Adds [`HEADERS`].
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Names under which a console on loopback is reached. The port may be that of a tunnel.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Whether the request is addressed to this console and comes from no other page.
pub(crate) fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), ToolRefusal> {
    let host = only(headers, &header::HOST).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if !NAMES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Err(ToolRefusal::forbidden(format!(
            "This console is reached as {}, not under the name in this request's Host.",
            NAMES.join(", ")
        )));
    }
    let origin = headers.contains_key(header::ORIGIN).then(|| only(headers, &header::ORIGIN).unwrap_or_default());
    match origin {
        None if *method == Method::GET || *method == Method::HEAD => Ok(()),
        Some(origin) if origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host)) => Ok(()),
        _ => Err(ToolRefusal::forbidden("This request comes from another page than the console's own.")),
    }
}

/// The header's text, if there is exactly one.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// The cookie's name. Browsers give a cookie to all ports of a host, so each console has a name of its own.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("raid_console_{port}")
}

/// Whether the request has the cookie.
pub(crate) fn has_cookie(headers: &HeaderMap, port: u16, token: &ConsoleToken) -> bool {
    let name = cookie_name(port);
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.any(|(key, value)| key == name && token.is_cookie(value))
}

/// The cookie, as it is set.
pub(crate) fn cookie(port: u16, token: &ConsoleToken) -> String {
    format!("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_name(port), token.cookie())
}

/// How often somebody has guessed.
#[derive(Debug, Default)]
pub(crate) struct LoginGate {
    wrong: VecDeque<Instant>,
}

impl LoginGate {
    /// Whether this token lets in. After [`LOGINS_MAX`] wrong ones nobody is let in for a while.
    pub(crate) fn enter(&mut self, given: &str, token: &ConsoleToken, now: Instant) -> Result<(), ToolRefusal> {
        while self.wrong.front().is_some_and(|first| now.duration_since(*first) >= LOGIN_WINDOW) {
            self.wrong.pop_front();
        }
        if self.wrong.len() >= LOGINS_MAX {
            let wait = self.wrong.front().map_or(LOGIN_WINDOW, |first| LOGIN_WINDOW - now.duration_since(*first));
            let seconds = wait.as_secs() + 1;
            return Err(ToolRefusal::too_often(format!(
                "{LOGINS_MAX} wrong tokens came within a minute: try again in {seconds} s."
            )));
        }
        match token.is(given) {
            true => Ok(()),
            false => {
                self.wrong.push_back(now);
                Err(ToolRefusal::stranger())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn check(method: &Method, pairs: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a header's value"));
        }
        check_origin(method, &headers).is_ok()
    }

    /// A foreign page could have a site killed, or read what is shown here.
    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        let own = ("host", "127.0.0.1:7400");
        assert!(check(&Method::GET, &[own]));
        assert!(check(&Method::GET, &[("host", "localhost")]) && check(&Method::GET, &[("host", "[::1]:80")]));
        assert!(check(&Method::POST, &[own, ("origin", "http://127.0.0.1:7400")]));
        for host in
            ["evil", "evil:7400", "127.0.0.1.evil:7400", "", "127.0.0.1:7400:1", "127.0.0.1:99999", "localhost@evil:1"]
        {
            assert!(!check(&Method::GET, &[("host", host)]), "{host}");
        }
        assert!(!check(&Method::GET, &[]) && !check(&Method::GET, &[own, own]));
        assert!(!check(&Method::POST, &[own]), "who changes something says where it comes from");
        for origin in
            ["http://evil", "null", "https://127.0.0.1:7400", "http://127.0.0.1:7401", "http://localhost:7400", ""]
        {
            assert!(!check(&Method::GET, &[own, ("origin", origin)]), "{origin}");
        }
    }

    /// Whoever guesses would have as many tries as he likes; or an operator would be kept out for good.
    #[test]
    fn guessing_is_slow() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let token = ConsoleToken::of_folder(folder.path()).expect("the folder can be written");
        let (mut gate, now) = (LoginGate::default(), Instant::now());
        for _ in 0..LOGINS_MAX {
            assert!(gate.enter("x", &token, now).is_err());
        }
        let refused = gate.enter(token.text(), &token, now + Duration::from_secs(1)).expect_err("too often");
        assert!(refused.words().contains("again in 60 s"), "{}", refused.words());
        assert!(gate.enter(token.text(), &token, now + LOGIN_WINDOW).is_ok());
    }

    /// A cookie of another console, or of another token, would let in.
    #[test]
    fn only_this_consoles_cookie_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let token = ConsoleToken::of_folder(folder.path()).expect("the folder can be written");
        let with = |text: String| HeaderMap::from_iter([(header::COOKIE, text.parse().expect("a header's value"))]);
        assert!(has_cookie(&with(format!("a=b; raid_console_7400={}", token.cookie())), 7400, &token));
        assert!(!has_cookie(&with(format!("raid_console_7401={}", token.cookie())), 7400, &token));
        assert!(!has_cookie(&with("raid_console_7400=; raid_console_7400".to_owned()), 7400, &token));
        assert!(!has_cookie(&with(format!("raid_console_7400={}", token.text())), 7400, &token));
        assert!(cookie(7400, &token).contains("; HttpOnly; SameSite=Strict"));
    }
}
