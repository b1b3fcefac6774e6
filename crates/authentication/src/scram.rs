//! The server's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), with channel binding by `tls-server-end-point` (RFC 5929), in
//! PostgreSQL's dialect: the name in the first message means nothing, for the role is the one of the startup packet.
//!
//! Invariants: each message is taken once, in order; an exchange succeeds only with a proof of the password that its verifier is of; what a client without
//! the password learns is the salt and the number of iterations.

use crate::limits::{MESSAGE_BYTES_MAX, NONCE_BYTES};
use crate::verifier::PasswordVerifier;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// The mechanism without channel binding.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The one with it.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// The one kind of channel binding that PostgreSQL's clients have.
const BINDING: &str = "tls-server-end-point";

/// Why an exchange ends without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScramError {
    /// The message is none of SCRAM's; PostgreSQL's detail.
    #[error("malformed SCRAM message")]
    Malformed(&'static str),
    /// The last message does not belong to this exchange; PostgreSQL's detail.
    #[error("invalid SCRAM response")]
    Invalid(&'static str),
    /// Somebody between the two has hidden that the server can bind channels.
    #[error("SCRAM channel binding negotiation error")]
    Downgrade,
    /// The client wants another kind of channel binding.
    #[error("unsupported SCRAM channel-binding type")]
    BindingType,
    /// The client speaks to another certificate than the server's: somebody is in between.
    #[error("SCRAM channel binding check failed")]
    Binding,
    /// It does not know the password, or there is none.
    #[error("password authentication failed")]
    Refused,
}

/// One attempt to log in.
#[derive(Debug)]
pub struct ScramExchange {
    verifier: PasswordVerifier,
    /// It fails whatever the proof.
    is_doomed: bool,
    /// What the channel is bound to: a hash of the server's certificate.
    binding: Option<Vec<u8>>,
    nonce: String,
    step: ScramStep,
}

#[derive(Debug)]
enum ScramStep {
    First { plus: bool },
    Final { gs2: String, plus: bool, so_far: String, nonce: String },
    Over,
}

impl ScramExchange {
    /// Begins with the mechanism that the client has chosen: with channel binding (`plus`), or not. `binding`: the hash of the server's certificate, if
    /// the connection is encrypted and channel binding was offered. `doomed`: it shall fail whatever the proof.
    pub fn new(
        verifier: PasswordVerifier,
        doomed: bool,
        plus: bool,
        binding: Option<Vec<u8>>,
        nonce: [u8; NONCE_BYTES],
    ) -> ScramExchange {
        ScramExchange {
            verifier,
            is_doomed: doomed,
            binding,
            nonce: BASE64.encode(nonce),
            step: ScramStep::First { plus },
        }
    }

    /// Takes the client's first message, and gives the server's.
    pub fn first(&mut self, message: &[u8]) -> Result<String, ScramError> {
        let ScramStep::First { plus } = std::mem::replace(&mut self.step, ScramStep::Over) else {
            return Err(ScramError::Malformed("A message was not expected."));
        };
        let text = text(message)?;
        let (gs2, bare) = self.split_header(text, plus)?;
        let nonce = client_nonce(bare)?;
        let nonce = format!("{nonce}{}", self.nonce);
        let salt = BASE64.encode(&self.verifier.salt);
        let answer = format!("r={nonce},s={salt},i={}", self.verifier.iterations);
        let so_far = format!("{bare},{answer}");
        self.step = ScramStep::Final { gs2: gs2.to_owned(), plus, so_far, nonce };
        Ok(answer)
    }

    /// The header, which says what the client thinks of channel binding, and the rest.
    fn split_header<'a>(&self, text: &'a str, plus: bool) -> Result<(&'a str, &'a str), ScramError> {
        let malformed = |detail| Err(ScramError::Malformed(detail));
        let mut fields = text.splitn(3, ',');
        let (Some(flag), Some(identity), Some(bare)) = (fields.next(), fields.next(), fields.next()) else {
            return malformed("The message ends too early.");
        };
        match (flag, flag.strip_prefix("p=")) {
            ("n", _) if plus => {
                return malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.",
                );
            }
            ("n", _) => {}
            ("y", _) if plus => {
                return malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.",
                );
            }
            ("y", _) if self.binding.is_some() => return Err(ScramError::Downgrade),
            ("y", _) => {}
            (_, Some(_)) if !plus => {
                return malformed(
                    "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.",
                );
            }
            (_, Some(BINDING)) => {}
            (_, Some(_)) => return Err(ScramError::BindingType),
            _ => return malformed("Unexpected channel-binding flag."),
        }
        if !identity.is_empty() {
            return malformed("The client uses authorization identity, but it is not supported.");
        }
        Ok((&text[..text.len() - bare.len()], bare))
    }

    /// Takes the client's last message, and gives the server's, with which the client is let in.
    pub fn last(&mut self, message: &[u8]) -> Result<String, ScramError> {
        let ScramStep::Final { gs2, plus, so_far, nonce } = std::mem::replace(&mut self.step, ScramStep::Over) else {
            return Err(ScramError::Malformed("A message was not expected."));
        };
        let text = text(message)?;
        let (without_proof, proof) =
            text.rsplit_once(",p=").ok_or(ScramError::Malformed("Attribute expected, but not found."))?;
        let mut fields = without_proof.split(',');
        let binding = fields.next().and_then(|field| field.strip_prefix("c="));
        let binding = binding.ok_or(ScramError::Malformed("Expected attribute \"c\"."))?;
        let said = fields.next().and_then(|field| field.strip_prefix("r="));
        let said = said.ok_or(ScramError::Malformed("Expected attribute \"r\"."))?;
        if said != nonce {
            return Err(ScramError::Invalid("Nonce does not match."));
        }
        let mut expected = gs2.into_bytes();
        if plus {
            expected.extend_from_slice(self.binding.as_deref().unwrap_or_default());
        }
        if binding != BASE64.encode(expected) {
            return Err(ScramError::Binding);
        }
        let proof = BASE64.decode(proof).ok().and_then(|proof| <[u8; 32]>::try_from(proof).ok());
        let proof = proof.ok_or(ScramError::Malformed("Malformed proof in client-final-message."))?;
        let transcript = format!("{so_far},{without_proof}");
        // Nothing is decided before all of it is computed: a doomed exchange takes as long.
        let is_proved = proves(&self.verifier, &transcript, proof);
        let server_key = hmac::Key::new(hmac::HMAC_SHA256, &self.verifier.server_key);
        let signature = BASE64.encode(hmac::sign(&server_key, transcript.as_bytes()));
        if is_proved && !self.is_doomed { Ok(format!("v={signature}")) } else { Err(ScramError::Refused) }
    }
}

/// Whether a proof shows the client's key, whose hash the verifier has.
fn proves(verifier: &PasswordVerifier, transcript: &str, proof: [u8; 32]) -> bool {
    let stored = hmac::Key::new(hmac::HMAC_SHA256, &verifier.stored_key);
    let signature = hmac::sign(&stored, transcript.as_bytes());
    let mut key = proof;
    key.iter_mut().zip(signature.as_ref()).for_each(|(byte, other)| *byte ^= other);
    let hash = digest::digest(&digest::SHA256, &key);
    bool::from(hash.as_ref().ct_eq(&verifier.stored_key))
}

fn text(message: &[u8]) -> Result<&str, ScramError> {
    if message.is_empty() {
        return Err(ScramError::Malformed("The message is empty."));
    }
    let text = std::str::from_utf8(message).ok().filter(|text| !text.contains('\0') && text.len() <= MESSAGE_BYTES_MAX);
    text.ok_or(ScramError::Malformed("Message length does not match input length."))
}

/// `n=NAME,r=NONCE` and what may come behind.
fn client_nonce(bare: &str) -> Result<&str, ScramError> {
    let mut fields = bare.split(',');
    let name = fields.next().unwrap_or_default();
    if name.starts_with("m=") {
        return Err(ScramError::Malformed("The client requires an unsupported SCRAM extension."));
    }
    if !name.starts_with("n=") {
        return Err(ScramError::Malformed("Expected attribute \"n\"."));
    }
    let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
    let nonce = nonce.ok_or(ScramError::Malformed("Expected attribute \"r\"."))?;
    match !nonce.is_empty() && nonce.bytes().all(|byte| matches!(byte, 0x21..=0x7e)) {
        true => Ok(nonce),
        false => Err(ScramError::Malformed("Non-printable characters in SCRAM nonce.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SALT_BYTES;
    use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
    use proptest::prelude::*;

    const NONCE: [u8; NONCE_BYTES] = [3; NONCE_BYTES];

    fn verifier() -> PasswordVerifier {
        PasswordVerifier::of_password("secret", [9; SALT_BYTES])
    }

    /// A whole exchange with a driver's own client.
    fn exchanged(password: &str, server: &mut ScramExchange, binding: ChannelBinding) -> Result<(), ScramError> {
        let mut client = ScramSha256::new(password.as_bytes(), binding);
        let first = server.first(client.message())?;
        client.update(first.as_bytes()).expect("it goes on with our nonce");
        let last = server.last(client.message())?;
        client.finish(last.as_bytes()).expect("we have proved that we know the verifier");
        Ok(())
    }

    #[test]
    fn a_driver_is_let_in_with_the_right_password_only() {
        let new = |doomed| ScramExchange::new(verifier(), doomed, false, None, NONCE);
        assert_eq!(exchanged("secret", &mut new(false), ChannelBinding::unsupported()), Ok(()));
        assert_eq!(exchanged("Secret", &mut new(false), ChannelBinding::unsupported()), Err(ScramError::Refused));
        assert_eq!(exchanged("secret", &mut new(true), ChannelBinding::unsupported()), Err(ScramError::Refused));
        let mut over = new(false);
        assert_eq!(exchanged("secret", &mut over, ChannelBinding::unsupported()), Ok(()));
        assert!(
            over.first(b"n,,n=,r=x").is_err() && over.last(b"c=biws,r=x,p=").is_err(),
            "each message is taken once"
        );
    }

    /// If this failed, somebody between client and server could have one certificate for the client and pass its proof on.
    #[test]
    fn a_channel_is_bound_to_the_certificate() {
        let hash = || vec![5; 32];
        let new = |plus| ScramExchange::new(verifier(), false, plus, Some(hash()), NONCE);
        let binding = ChannelBinding::tls_server_end_point;
        assert_eq!(exchanged("secret", &mut new(true), binding(hash())), Ok(()));
        assert_eq!(exchanged("secret", &mut new(true), binding(vec![6; 32])), Err(ScramError::Binding));
        // A client without TLS libraries that can bind.
        assert_eq!(exchanged("secret", &mut new(false), ChannelBinding::unsupported()), Ok(()));
        // A client that can, and was told that we cannot.
        assert_eq!(exchanged("secret", &mut new(false), ChannelBinding::unrequested()), Err(ScramError::Downgrade));
        assert!(matches!(
            exchanged("secret", &mut new(true), ChannelBinding::unsupported()),
            Err(ScramError::Malformed(_))
        ));
        assert!(matches!(exchanged("secret", &mut new(false), binding(hash())), Err(ScramError::Malformed(_))));
        assert_eq!(new(true).first(b"p=tls-unique,,n=,r=x"), Err(ScramError::BindingType));
    }

    /// The example of RFC 7677, section 3, whose server has the nonce that it gives.
    #[test]
    fn the_example_of_the_rfc() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64").try_into().expect("16 bytes");
        let mut server = ScramExchange::new(PasswordVerifier::of_password("pencil", salt), false, false, None, NONCE);
        server.nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".to_owned();
        let first = server.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").expect("a first message");
        assert_eq!(first, "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        let last = server.last(
            b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        );
        assert_eq!(last.as_deref(), Ok("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let first = |text: &[u8]| ScramExchange::new(verifier(), false, false, None, NONCE).first(text);
        for bad in [
            &b""[..],
            b"n",
            b"n,,",
            b"n,,n=x",
            b"n,,r=x,n=y",
            b"n,a=bob,n=,r=x",
            b"q,,n=,r=x",
            b"n,,n=,r=",
            b"n,,m=1,n=,r=x",
            b"n,,n=,r=\xff",
            b"n,,n=,r=a\0",
        ] {
            assert!(matches!(first(bad), Err(ScramError::Malformed(_))), "{bad:?}");
        }
        let last = |text: &str| {
            let mut exchange = ScramExchange::new(verifier(), false, false, None, NONCE);
            exchange.first(b"n,,n=,r=abc").expect("a first message");
            exchange.last(text.as_bytes())
        };
        let nonce = format!("abc{}", BASE64.encode(NONCE));
        assert!(matches!(last("c=biws,r=abc,p=AAAA"), Err(ScramError::Invalid(_))));
        assert!(matches!(last(&format!("c=biws,r={nonce},p=AAAA")), Err(ScramError::Malformed(_))));
        assert!(matches!(last(&format!("r={nonce},c=biws,p=AAAA")), Err(ScramError::Malformed(_))));
        let proof = BASE64.encode([0; 32]);
        assert_eq!(last(&format!("c=eSws,r={nonce},p={proof}")), Err(ScramError::Binding));
        assert_eq!(last(&format!("c=biws,r={nonce},p={proof}")), Err(ScramError::Refused));
    }

    proptest! {
        /// A client that sends garbage must get an error, not bring the site down.
        #[test]
        fn arbitrary_messages_do_not_panic(first: Vec<u8>, last: Vec<u8>, plus: bool) {
            let mut exchange = ScramExchange::new(verifier(), false, plus, plus.then(|| vec![1; 32]), NONCE);
            if exchange.first(&first).is_err() {
                exchange = ScramExchange::new(verifier(), false, false, None, NONCE);
                exchange.first(b"n,,n=,r=x").expect("a first message");
            }
            prop_assert!(exchange.last(&last).is_err());
        }
    }
}
