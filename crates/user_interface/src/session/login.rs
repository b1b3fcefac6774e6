//! Who a client is: the rules decide how it has to show that, and then it is let in or refused.
//!
//! What is known of a role is confirmed before it is used: a role or password that has committed at another site a moment ago counts here. Invariants:
//! a role that does not exist is asked for its password as any other, and its client is told what others with a wrong one are told, as late; nothing but the
//! greeting and answers to it are read before the client is let in.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::DOUBTS_MAX;
use crate::protocol::backend;
use crate::protocol::frontend::{self, SaslInitial};
use crate::session::doorkeeper::NoPlace;
use crate::session::state::{Again, Confirmed, Doubt, Execution, Phase};
use crate::session::turn::Turn;
use crate::sql::isolation::TransactionLevel;
use crate::sql::own_settings;
use crate::sql::prepared::{Plan, Prepared, Tag};
use authentication::hba::ClientCertificate;
use authentication::scram::{MECHANISM, MECHANISM_PLUS};
use authentication::{Attempt, LoginMethod, PasswordVerifier, ScramError, ScramExchange};
use messages::database::{DatabaseId, DatabaseSchema};
use messages::privilege::Privileges;
use messages::program::Program;
use messages::role::{BOOTSTRAP, BOOTSTRAP_OID, RoleSchema};
use messages::schema::CatalogEntry;
use messages::schema::Place;
use privileges::Standing;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Where a client is.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Whether it is also that of this end of the connection.
    pub same_host: bool,
}

impl Peer {
    /// A client of this host.
    pub const LOCAL: Peer = Peer { address: IpAddr::V4(Ipv4Addr::LOCALHOST), same_host: true };
}

/// An encrypted connection, as far as it tells who is there.
#[derive(Clone, Debug, Default)]
pub struct Encryption {
    /// What channels are bound to: a hash of the server's certificate (RFC 5929, `tls-server-end-point`), if its signature names one.
    pub binding: Option<Vec<u8>>,
    /// The client has a valid certificate: the common name in it, empty if there is none.
    pub certificate: Option<String>,
}

/// How far a login is.
#[derive(Debug, Default)]
pub enum Step {
    /// The greeting has not come.
    #[default]
    Greeting,
    /// What is known of the role is being confirmed.
    Confirming(Asked),
    /// Others have failed a moment ago: it goes on at this time of the boot clock.
    Waiting(u64, Asked),
    /// The client chooses its mechanism.
    Mechanism,
    /// The client shows that it knows its password.
    Proof(Box<ScramExchange>),
    /// The client sends its password.
    Password,
    /// It has failed, and is told so at this time of the boot clock.
    Failed(u64, Box<SqlError>),
    /// It is let in.
    Over,
}

/// What a rule asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    method: LoginMethod,
    certificate: ClientCertificate,
}

/// A login.
#[derive(Debug)]
pub struct Login {
    pub(crate) peer: Peer,
    pub(crate) encryption: Option<Encryption>,
    /// The client was told to begin with encryption.
    pub(crate) wants_encryption: bool,
    pub(crate) step: Step,
    /// Whether it has asked for encryption: by GSSAPI, by TLS.
    asked_for: [bool; 2],
    /// The role whose connection it is counted as.
    counted: Option<Arc<str>>,
}

impl Login {
    /// Of a client that has just connected.
    pub fn new(peer: Peer) -> Login {
        Login {
            peer,
            encryption: None,
            wants_encryption: false,
            step: Step::Greeting,
            asked_for: [false; 2],
            counted: None,
        }
    }

    /// The connection is encrypted from now on.
    pub(crate) fn encrypted(&mut self, encryption: Encryption) {
        self.wants_encryption = false;
        self.encryption = Some(encryption);
        self.asked_for[usize::from(true)] = true;
    }

    /// Notes that it asks for encryption. Whether it may: once for each kind, so that what it is told before it is let in is bounded.
    pub(super) fn may_ask_for_encryption(&mut self, tls: bool) -> bool {
        !std::mem::replace(&mut self.asked_for[usize::from(tls)], true)
    }

    /// Whether the client has to wait.
    pub fn waits(&self) -> bool {
        self.wants_encryption || matches!(self.step, Step::Confirming(_) | Step::Waiting(..) | Step::Failed(..))
    }

    /// When it goes on by itself, by the boot clock.
    pub fn due(&self) -> Option<u64> {
        match self.step {
            Step::Waiting(at, _) | Step::Failed(at, _) => Some(at),
            _ => None,
        }
    }
}

impl Turn<'_> {
    /// The client has said who it is: the rules decide what that takes. Errors: the connection is refused.
    pub fn authenticate(&mut self) -> Result<()> {
        let rules = self.shared.doorkeeper.rules();
        let asked = rules.find(&self.attempt(&self.session.user));
        let asked = asked.map(|rule| Asked { method: rule.method, certificate: rule.certificate });
        match asked {
            None => Err(self.refused("no pg_hba.conf entry for host")),
            Some(Asked { method: LoginMethod::Reject, .. }) => {
                Err(self.refused("pg_hba.conf rejects connection for host"))
            }
            Some(asked) if asked.method == LoginMethod::Trust && self.trusts_bootstrap() && self.role().is_none() => {
                // Whoever may say that it is the bootstrap superuser may call it by any name.
                self.check_certificate(asked)?;
                self.session.role = BOOTSTRAP_OID;
                // Another site may have made the database, and this one not have heard of it.
                if self.database().is_some() { self.let_in() } else { self.confirm(asked) }
            }
            Some(asked) => self.confirm(asked),
        }
    }

    fn attempt<'a>(&'a self, role: &'a str) -> Attempt<'a> {
        let login = &self.session.login;
        Attempt {
            database: &self.session.database,
            role,
            address: login.peer.address,
            same_host: login.peer.same_host,
            encrypted: login.encryption.is_some(),
        }
    }

    fn trusts_bootstrap(&self) -> bool {
        let rules = self.shared.doorkeeper.rules();
        let may_log_in = self.committed().role(BOOTSTRAP).is_some_and(|role| role.login);
        may_log_in
            && rules
                .find(&self.attempt(BOOTSTRAP))
                .is_some_and(|rule| rule.method == LoginMethod::Trust && rule.certificate == ClientCertificate::None)
    }

    fn database(&self) -> Option<Arc<DatabaseSchema>> {
        self.committed().database_named(&self.session.database)
    }

    fn role(&self) -> Option<Arc<RoleSchema>> {
        self.committed().role(&self.session.user)
    }

    fn refused(&self, what: &str) -> Box<SqlError> {
        let (user, database, login) = (&self.session.user, &self.session.database, &self.session.login);
        let encryption = if login.encryption.is_some() { "SSL encryption" } else { "no encryption" };
        let address = login.peer.address.to_canonical();
        SqlError::new(
            sqlstate::INVALID_AUTHORIZATION,
            format!("{what} \"{address}\", user \"{user}\", database \"{database}\", {encryption}"),
        )
    }

    /// Has the catalog confirmed to have the role as it is known here, with its password.
    fn confirm(&mut self, asked: Asked) -> Result<()> {
        if self.session.doubts >= DOUBTS_MAX {
            let message = "the roles cannot be confirmed: this site's catalog is not up to date";
            return Err(
                SqlError::new(sqlstate::CANNOT_CONNECT_NOW, message).with_hint("Try again, or at another site.")
            );
        }
        self.session.doubts += 1;
        let mut keys = vec![CatalogEntry::role_key(&self.session.user), CatalogEntry::secret_key()];
        keys.push(CatalogEntry::database_key(&self.session.database));
        if let Some(role) = self.role() {
            let catalog = self.committed();
            keys.extend(Standing::of(catalog, role.oid).relied(catalog).into_iter().map(|(key, _)| key));
        }
        let relies_on = self.relied(keys);
        let program = Program {
            parameters: Vec::new(),
            actions: Vec::new(),
            columns: Vec::new(),
            relies_on,
            read_only: true,
            references: Arc::default(),
            database: DatabaseId::FIRST,
        };
        let plan = Plan::Program(Arc::new(program));
        let mut execution = Execution::new(Arc::new(Prepared::simple(&Arc::from(""), plan, Tag::Plain(""))));
        execution.doubt = Some(Box::new(Doubt { confirmed: Confirmed::Login, again: Again::Login }));
        self.session.login.step = Step::Confirming(asked);
        self.enter(execution)
    }

    /// The catalog has the role as it is known here (true), or has changed.
    pub fn login_confirmed(&mut self, stands: bool) {
        self.session.work = crate::session::state::Work::Idle;
        let Step::Confirming(asked) = self.session.login.step else {
            unreachable!("only a login that is being confirmed is confirmed");
        };
        let went = if stands { self.confirmed_role(asked) } else { self.authenticate() };
        if let Err(error) = went {
            self.fatal(&error);
        }
    }

    fn confirmed_role(&mut self, asked: Asked) -> Result<()> {
        self.check_certificate(asked)?;
        match asked.method {
            LoginMethod::Trust | LoginMethod::Certificate => self.let_in(),
            LoginMethod::Scram | LoginMethod::Password => {
                let (now, peer) = (self.now.boot, self.session.login.peer);
                let at = self.shared.doorkeeper.begin(now, peer.address, &self.session.user);
                if at > now {
                    self.session.login.step = Step::Waiting(at, asked);
                    return Ok(());
                }
                self.challenge(asked);
                Ok(())
            }
            LoginMethod::Reject => unreachable!("refused before"),
        }
    }

    /// Errors: 28000 for a client without the certificate that the rule asks for.
    fn check_certificate(&self, asked: Asked) -> Result<()> {
        let refused = |message: String| Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, message));
        let name = self.session.login.encryption.as_ref().and_then(|encryption| encryption.certificate.as_ref());
        match (asked.certificate, name) {
            (ClientCertificate::None, _) | (ClientCertificate::Valid, Some(_)) => Ok(()),
            (_, None) => refused("connection requires a valid client certificate".to_owned()),
            (ClientCertificate::OfRole, Some(name)) if *name == self.session.user => Ok(()),
            (ClientCertificate::OfRole, Some(_)) => {
                refused(format!("certificate authentication failed for user \"{}\"", self.session.user))
            }
        }
    }

    /// Asks for the password, or a proof of it.
    fn challenge(&mut self, asked: Asked) {
        let output = &mut self.session.output;
        if asked.method == LoginMethod::Password {
            backend::authentication_cleartext(output);
            self.session.login.step = Step::Password;
        } else {
            let binds = self.session.login.encryption.as_ref().is_some_and(|encryption| encryption.binding.is_some());
            let mechanisms = if binds { &[MECHANISM_PLUS, MECHANISM][..] } else { &[MECHANISM] };
            backend::authentication_sasl(output, mechanisms);
            self.session.login.step = Step::Mechanism;
        }
    }

    /// A login that waits goes on.
    pub fn login_due(&mut self) {
        match std::mem::take(&mut self.session.login.step) {
            Step::Waiting(_, asked) => self.challenge(asked),
            Step::Failed(_, error) => self.fatal(&error),
            other => self.session.login.step = other,
        }
    }

    /// The client's answer. Returns how many bytes were taken; 0: more have to come. Errors end the connection.
    pub fn login_message(&mut self, input: &[u8]) -> Result<usize> {
        let Some((message, length)) = frontend::password_message(input)? else {
            return Ok(0);
        };
        let went = match std::mem::take(&mut self.session.login.step) {
            Step::Mechanism => self.mechanism(message),
            Step::Proof(exchange) => self.proof(exchange, message),
            Step::Password => self.password(message),
            other => unreachable!("nothing is read while {other:?}"),
        };
        match went {
            Err(error) if error.sqlstate == sqlstate::INVALID_PASSWORD => {
                let (now, peer) = (self.now.boot, self.session.login.peer);
                let at = self.shared.doorkeeper.failed(now, peer.address, &self.session.user);
                self.session.login.step = Step::Failed(at, error);
            }
            went => went?,
        }
        Ok(length)
    }

    /// The verifier to check against, and whether the check is to fail whatever it says.
    fn verifier(&self) -> (PasswordVerifier, bool) {
        let role = self.role();
        let valid = |until: i64| until > self.micros();
        let good = role.as_ref().filter(|role| role.valid_until.is_none_or(valid));
        let verifier = good.and_then(|role| role.verifier.as_ref()?.0.parse().ok());
        match verifier {
            Some(verifier) => (verifier, false),
            None => {
                let secret = self.committed().secret.clone();
                let secret =
                    secret.as_ref().map_or_else(|| self.shared.doorkeeper.provisional_secret(), |(secret, _)| secret.0);
                (PasswordVerifier::mock(&secret, &self.session.user), true)
            }
        }
    }

    fn mechanism(&mut self, message: &[u8]) -> Result<()> {
        let SaslInitial { mechanism, data } = frontend::sasl_initial(message)?;
        let binding = self.session.login.encryption.as_ref().and_then(|encryption| encryption.binding.clone());
        let plus = match mechanism {
            MECHANISM_PLUS if binding.is_some() => true,
            MECHANISM => false,
            _ => {
                return Err(SqlError::new(
                    sqlstate::PROTOCOL_VIOLATION,
                    "client selected an invalid SASL authentication mechanism",
                ));
            }
        };
        let (verifier, doomed) = self.verifier();
        let mut exchange =
            Box::new(ScramExchange::new(verifier, doomed, plus, binding, self.shared.doorkeeper.nonce()));
        let answer = exchange.first(data).map_err(|error| self.scram_error(error))?;
        backend::authentication_sasl_continue(&mut self.session.output, answer.as_bytes());
        self.session.login.step = Step::Proof(exchange);
        Ok(())
    }

    fn proof(&mut self, mut exchange: Box<ScramExchange>, message: &[u8]) -> Result<()> {
        let answer = exchange.last(message).map_err(|error| self.scram_error(error))?;
        backend::authentication_sasl_final(&mut self.session.output, answer.as_bytes());
        self.proved()
    }

    fn password(&mut self, message: &[u8]) -> Result<()> {
        let password = frontend::password(message)?;
        if password.is_empty() {
            return Err(SqlError::new(sqlstate::INVALID_PASSWORD, "empty password returned by client"));
        }
        let (verifier, doomed) = self.verifier();
        if verifier.is_of(password) && !doomed { self.proved() } else { Err(self.wrong_password()) }
    }

    fn proved(&mut self) -> Result<()> {
        self.shared.doorkeeper.succeeded(self.session.login.peer.address, &self.session.user);
        self.let_in()
    }

    fn wrong_password(&self) -> Box<SqlError> {
        let user = &self.session.user;
        SqlError::new(sqlstate::INVALID_PASSWORD, format!("password authentication failed for user \"{user}\""))
    }

    fn scram_error(&self, error: ScramError) -> Box<SqlError> {
        let message = error.to_string();
        match error {
            ScramError::Malformed(detail) | ScramError::Invalid(detail) => {
                SqlError::new(sqlstate::PROTOCOL_VIOLATION, message).with_detail(detail)
            }
            ScramError::Downgrade => SqlError::new(sqlstate::INVALID_AUTHORIZATION, message).with_detail(
                "The client supports SCRAM channel binding but thinks the server does not.  However, this server does \
                 support channel binding.",
            ),
            ScramError::BindingType => SqlError::new(sqlstate::PROTOCOL_VIOLATION, message),
            ScramError::Binding => SqlError::new(sqlstate::INVALID_AUTHORIZATION, message),
            ScramError::Refused => self.wrong_password(),
        }
    }

    /// It is who it says it is. Errors: the role may not connect.
    fn let_in(&mut self) -> Result<()> {
        let user = self.session.user.clone();
        let mut limit = None;
        if self.session.role != BOOTSTRAP_OID {
            let refused =
                |what: &str| Err(SqlError::new(sqlstate::INVALID_AUTHORIZATION, format!("role \"{user}\" {what}")));
            let Some(role) = self.role() else {
                return refused("does not exist");
            };
            if !role.login {
                return refused("is not permitted to log in");
            }
            self.enter_database(role.superuser)?;
            let catalog = self.committed();
            let standing = Standing::of(catalog, role.oid);
            if !standing.on_place(catalog, Place::Database).contain(Privileges::CONNECT) {
                let message = format!("permission denied for database \"{}\"", self.session.database);
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                    .with_detail("User does not have CONNECT privilege."));
            }
            limit = (!role.superuser).then_some(role.connection_limit);
            self.session.role = role.oid;
        } else {
            self.enter_database(true)?;
        }
        let name: Arc<str> = Arc::from(user.as_str());
        self.shared.doorkeeper.enter(&name, limit).map_err(|full| {
            let message = match full {
                NoPlace::OfRole => format!("too many connections for role \"{user}\""),
                NoPlace::Reserved => {
                    "remaining connection slots are reserved for non-replication superuser connections".to_owned()
                }
            };
            SqlError::new(sqlstate::TOO_MANY_CONNECTIONS, message)
        })?;
        self.session.login.counted = Some(name);
        self.session.login.step = Step::Over;
        self.welcome();
        Ok(())
    }

    /// From here on the session sees what is in its database. Errors: 3D000, 55000, 53300.
    fn enter_database(&mut self, is_superuser: bool) -> Result<()> {
        let name = &self.session.database;
        let Some(known) = self.database() else {
            return Err(SqlError::new(sqlstate::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")));
        };
        if !known.allows_connections {
            let message = format!("database \"{name}\" is not currently accepting connections");
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let limit = usize::try_from(known.connection_limit).ok().filter(|_| !is_superuser);
        if limit.is_some_and(|limit| self.shared.config.activity.sessions_in(name, None).len() >= limit) {
            let message = format!("too many connections for database \"{name}\"");
            return Err(SqlError::new(sqlstate::TOO_MANY_CONNECTIONS, message));
        }
        self.session.database_id = known.id;
        self.shared.catalog.enter(known.id);
        Ok(())
    }

    /// What a client is told that is let in.
    fn welcome(&mut self) {
        self.session.doubts = 0;
        backend::authentication_ok(&mut self.session.output);
        self.begin_with_settings();
        let reported = self.with_facts(|facts| facts.settings.reported(facts));
        for (name, value) in reported {
            backend::parameter_status(&mut self.session.output, name, &value);
        }
        backend::backend_key_data(&mut self.session.output, self.session.process, self.session.secret);
        self.session.phase = Phase::Ready;
        self.note_login();
        self.session.deadline = None;
        backend::ready_for_query(&mut self.session.output, b'I');
        self.session.is_due = true;
    }

    /// What its role, its database and its site have sessions begin with.
    fn begin_with_settings(&mut self) {
        let catalog = self.committed().clone();
        let role = catalog.role_numbered(self.session.role);
        let settings = &mut self.session.settings.now;
        for (name, value) in own_settings::of_session(&catalog, role.as_deref()) {
            settings.begin_with(name, value);
        }
        let level = self.shared.config.level;
        if level != TransactionLevel::default() {
            settings.begin_with("default_transaction_isolation", level.name());
        }
    }

    /// The session ends: its connection counts no more.
    pub fn give_back_connection(&mut self) {
        if let Some(role) = self.session.login.counted.take() {
            self.shared.doorkeeper.leave(&role);
        }
    }
}
