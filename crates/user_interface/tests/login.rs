//! Clients that show who they are, in each way there is: what they are told, and when.

use authentication::limits::{DELAY_FIRST, SALT_BYTES};
use authentication::{PasswordVerifier, Rules};
use bytes::{BufMut, BytesMut};
use messages::access::AccessReply;
use messages::role::{RoleSchema, Secret};
use messages::schema::CatalogEntry;
use messages::session::{Failure, SessionReply, SessionRequest};
use messages::{
    Envelope, EpochNumber, Incarnation, Key, Message, Now, Outbox, Row, Server, ServerKind, SessionId, SiteId,
    Timestamp,
};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use std::sync::Arc;
use user_interface::{Config, Doorkeeper, Encryption, Peer, UserInterface};

const CLIENT: SessionId = SessionId(1);
const ELSEWHERE: Peer = Peer { address: std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)), same_host: false };
const RULES: &str = "
    host    all mallory 0.0.0.0/0    reject
    hostssl all carol   0.0.0.0/0    cert
    hostssl all dave    0.0.0.0/0    password
    host    all all     127.0.0.0/8  trust
    host    all all     10.0.0.0/8   scram-sha-256
";

/// A user interface with some roles, and what it asks the action driver for.
struct World {
    interface: UserInterface,
    doorkeeper: Arc<Doorkeeper>,
    now: Now,
    clients: u64,
    /// What comes of the next look at the catalog.
    confirms: Vec<SessionReply>,
}

fn role(name: &str, password: Option<&str>) -> RoleSchema {
    let verifier =
        password.map(|password| Secret(PasswordVerifier::of_password(password, [3; SALT_BYTES]).to_string()));
    RoleSchema { login: true, verifier, ..RoleSchema::new(name.to_owned(), 20_000) }
}

fn row(role: RoleSchema, clock: u64) -> (Key, Timestamp, Option<Row>) {
    let key = CatalogEntry::role_key(&role.name);
    (key, Timestamp { clock, ..Timestamp::ZERO }, Some(CatalogEntry::Role(Arc::new(role)).encode()))
}

impl World {
    fn new() -> World {
        let doorkeeper = Doorkeeper::new(Rules::parse(RULES).expect("rules"), true, &[1; 32]);
        let mut config = Config::new(SiteId(1), "test", "0.1.0", 100, 7);
        config.doorkeeper = doorkeeper.clone();
        let mut interface = UserInterface::new(config);
        let late = RoleSchema { valid_until: Some(999), ..role("late", Some("secret")) };
        let shut = RoleSchema { login: false, ..role("shut", Some("secret")) };
        let single = RoleSchema { connection_limit: 1, ..role("single", Some("secret")) };
        let plain = [role("alice", Some("secret")), role("carol", None), role("dave", Some("secret"))];
        let all = plain.into_iter().chain([late, shut, single]);
        interface.load_catalog(all.map(|role| row(role, 5)).collect());
        let now = Now { boot: 1_000, wall_micros: 1_000 };
        World { interface, doorkeeper, now, clients: 0, confirms: Vec::new() }
    }

    /// A client from there says who it is; what it is told.
    fn greet(&mut self, peer: Peer, encryption: Option<Encryption>, user: &str) -> BytesMut {
        let session = SessionId(CLIENT.0 + self.clients);
        self.clients += 1;
        self.interface.open_from(session, peer);
        if let Some(encryption) = encryption {
            assert_eq!(&self.send(&[0, 0, 0, 8, 4, 210, 22, 47])[..], b"S");
            assert!(self.interface.wants_encryption(session));
            self.interface.encrypted(session, encryption);
        }
        let mut body = BytesMut::from(&b"\0\x03\0\0user\0"[..]);
        body.put_slice(user.as_bytes());
        body.put_slice(b"\0database\0raid\0\0");
        let mut packet = BytesMut::new();
        packet.put_u32(4 + body.len() as u32);
        packet.put_slice(&body);
        self.send(&packet)
    }

    fn session(&self) -> SessionId {
        SessionId(CLIENT.0 + self.clients - 1)
    }

    fn send(&mut self, bytes: &[u8]) -> BytesMut {
        let mut outbox = Outbox::default();
        let mut input = BytesMut::from(bytes);
        let session = self.session();
        self.interface.receive(self.now, session, &mut input, &mut outbox);
        self.answer(outbox);
        self.interface.receive(self.now, session, &mut input, &mut Outbox::default());
        self.output()
    }

    fn output(&mut self) -> BytesMut {
        let session = self.session();
        self.interface.output(session).map(BytesMut::split).unwrap_or_default()
    }

    /// The action driver finds the catalog as it is said to be, or as the test says.
    fn answer(&mut self, outbox: Outbox) {
        for outgoing in outbox.messages {
            let Message::SessionRequest(session, SessionRequest::Execute { program, .. }) = outgoing.message else {
                continue;
            };
            assert!(program.actions.is_empty() && program.read_only, "it only looks");
            let reply = match self.confirms.is_empty() {
                true => SessionReply::Executed { rows: Vec::new(), affected: 0 },
                false => self.confirms.remove(0),
            };
            self.deliver(Message::SessionReply(session, reply));
        }
    }

    fn deliver(&mut self, message: Message) {
        let envelope = Envelope {
            from_site: SiteId(1),
            from: ServerKind::ActionDriver,
            to_site: SiteId(1),
            to: ServerKind::UserInterface,
            epoch: EpochNumber(0),
            incarnation: Incarnation(0),
            message,
        };
        let mut outbox = Outbox::default();
        self.interface.handle(self.now, envelope, &mut outbox);
        self.answer(outbox);
    }

    /// Time passes until those that wait have been told.
    fn wait(&mut self, nanoseconds: u64) -> BytesMut {
        self.now.boot += nanoseconds;
        let mut outbox = Outbox::default();
        self.interface.tick(self.now, &mut outbox);
        self.answer(outbox);
        self.output()
    }

    /// Proves a password, and what it is told then.
    fn prove(&mut self, challenge: &[u8], mechanism: &str, password: &str, binding: ChannelBinding) -> BytesMut {
        assert_eq!(&challenge[..1], b"R", "{}", String::from_utf8_lossy(challenge));
        assert_eq!(&challenge[5..9], [0, 0, 0, 10]);
        let mut client = ScramSha256::new(password.as_bytes(), binding);
        let mut first = BytesMut::from(mechanism.as_bytes());
        first.put_u8(0);
        first.put_u32(client.message().len() as u32);
        first.put_slice(client.message());
        let answer = self.send(&message(&first));
        if answer[0] != b'R' {
            return answer;
        }
        client.update(&answer[9..]).expect("the server goes on");
        self.send(&message(client.message()))
    }

    fn log_in(&mut self, user: &str, password: &str) -> BytesMut {
        let challenge = self.greet(ELSEWHERE, None, user);
        self.prove(&challenge, "SCRAM-SHA-256", password, ChannelBinding::unsupported())
    }

    fn is_in(&mut self) -> bool {
        self.interface.is_at_rest(self.session())
    }
}

fn message(body: &[u8]) -> BytesMut {
    let mut message = BytesMut::from(&b"p"[..]);
    message.put_u32(4 + body.len() as u32);
    message.put_slice(body);
    message
}

fn encrypted(certificate: Option<&str>) -> Option<Encryption> {
    Some(Encryption { binding: Some(vec![5; 32]), certificate: certificate.map(str::to_owned) })
}

/// Severity, SQLSTATE and text of the error that is told.
fn error(told: &[u8]) -> String {
    assert_eq!(told.first(), Some(&b'E'), "{}", String::from_utf8_lossy(told));
    let fields = told[5..].split(|byte| *byte == 0).filter(|field| b"SCM".contains(field.first().unwrap_or(&0)));
    fields.map(|field| String::from_utf8_lossy(&field[1..]).into_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_password_lets_in_and_a_wrong_one_does_not() {
    let mut world = World::new();
    let told = world.log_in("alice", "secret");
    assert_eq!(&told[5..9], [0, 0, 0, 12], "the server proves itself, too");
    assert!(world.is_in());
    let wrong = "FATAL 28P01 password authentication failed for user \"alice\"";
    assert!(world.log_in("alice", "Secret").is_empty(), "it is told later");
    assert_eq!(error(&world.wait(DELAY_FIRST)), wrong);
    assert!(world.interface.finished(world.session()));
}

/// If this failed, names of roles could be tried out one after the other, or a password be used that is not good any more.
#[test]
fn those_without_a_password_and_strangers_are_told_the_same() {
    for user in ["nobody", "carol2", "late"] {
        let mut world = World::new();
        let challenge = world.greet(ELSEWHERE, None, user);
        let again = world.greet(ELSEWHERE, None, user);
        assert_eq!(challenge, again);
        let told = world.prove(&again, "SCRAM-SHA-256", "secret", ChannelBinding::unsupported());
        assert!(told.is_empty());
        let expected = format!("FATAL 28P01 password authentication failed for user \"{user}\"");
        assert_eq!(error(&world.wait(DELAY_FIRST)), expected);
    }
}

#[test]
fn rules_refuse_and_trust() {
    let mut world = World::new();
    assert_eq!(
        error(&world.greet(ELSEWHERE, None, "mallory")),
        "FATAL 28000 pg_hba.conf rejects connection for host \"10.0.0.9\", user \"mallory\", database \"raid\", no encryption"
    );
    let stranger = Peer { address: "192.0.2.1".parse().expect("an address"), same_host: false };
    assert_eq!(
        error(&world.greet(stranger, encrypted(None), "alice")),
        "FATAL 28000 no pg_hba.conf entry for host \"192.0.2.1\", user \"alice\", database \"raid\", SSL encryption"
    );
    world.greet(Peer::LOCAL, None, "alice");
    assert!(world.is_in());
    assert_eq!(error(&world.greet(Peer::LOCAL, None, "shut")), "FATAL 28000 role \"shut\" is not permitted to log in");
    // Whoever may be the bootstrap superuser may call it by any name.
    world.greet(Peer::LOCAL, None, "anybody");
    assert!(world.is_in());
    world.doorkeeper.change(Rules::parse("host all anybody,alice all trust").expect("rules"), false);
    assert_eq!(error(&world.greet(Peer::LOCAL, None, "anybody")), "FATAL 28000 role \"anybody\" does not exist");
    assert_eq!(&world.greet(Peer::LOCAL, None, "alice")[..1], b"R");
    assert!(world.is_in(), "rules are changed while others are in");
}

#[test]
fn certificates_let_in_whom_they_name() {
    let mut world = World::new();
    assert_eq!(
        error(&world.greet(ELSEWHERE, encrypted(None), "carol")),
        "FATAL 28000 connection requires a valid client certificate"
    );
    assert_eq!(
        error(&world.greet(ELSEWHERE, encrypted(Some("alice")), "carol")),
        "FATAL 28000 certificate authentication failed for user \"carol\""
    );
    world.greet(ELSEWHERE, encrypted(Some("carol")), "carol");
    assert!(world.is_in());
    // Without encryption the rule does not fit, and the next one asks for a password.
    assert_eq!(&world.greet(ELSEWHERE, None, "carol")[5..9], [0, 0, 0, 10]);
}

#[test]
fn channels_are_bound_where_they_can_be() {
    let mut world = World::new();
    let bound = |hash: u8| ChannelBinding::tls_server_end_point(vec![hash; 32]);
    let challenge = world.greet(ELSEWHERE, encrypted(None), "alice");
    assert_eq!(&challenge[9..], b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    world.prove(&challenge, "SCRAM-SHA-256-PLUS", "secret", bound(5));
    assert!(world.is_in());
    let challenge = world.greet(ELSEWHERE, encrypted(None), "alice");
    let told = world.prove(&challenge, "SCRAM-SHA-256-PLUS", "secret", bound(6));
    assert_eq!(error(&told), "FATAL 28000 SCRAM channel binding check failed");
    let challenge = world.greet(ELSEWHERE, encrypted(None), "alice");
    let told = world.prove(&challenge, "SCRAM-SHA-256", "secret", ChannelBinding::unrequested());
    assert_eq!(error(&told), "FATAL 28000 SCRAM channel binding negotiation error");
    let challenge = world.greet(ELSEWHERE, None, "alice");
    assert_eq!(&challenge[9..], b"SCRAM-SHA-256\0\0");
    let told = world.prove(&challenge, "SCRAM-SHA-256-PLUS", "secret", bound(5));
    assert_eq!(error(&told), "FATAL 08P01 client selected an invalid SASL authentication mechanism");
}

#[test]
fn a_password_as_it_is_is_taken_where_a_rule_says_so() {
    let mut world = World::new();
    assert_eq!(&world.greet(ELSEWHERE, encrypted(None), "dave")[5..], [0, 0, 0, 3]);
    world.send(&message(b"secret\0"));
    assert!(world.is_in());
    world.greet(ELSEWHERE, encrypted(None), "dave");
    world.send(&message(b"Secret\0"));
    assert_eq!(error(&world.wait(DELAY_FIRST)), "FATAL 28P01 password authentication failed for user \"dave\"");
}

#[test]
fn a_role_has_as_many_connections_as_it_may() {
    let mut world = World::new();
    world.log_in("single", "secret");
    assert!(world.is_in());
    let first = world.session();
    let told = world.log_in("single", "secret");
    assert!(String::from_utf8_lossy(&told).contains("too many connections for role \"single\""));
    world.interface.close(first, &mut Outbox::default());
    world.log_in("single", "secret");
    assert!(world.is_in(), "a place is free again");
}

/// If this failed, a role that another site has just made could not log in here, and one that it has just dropped could.
#[test]
fn what_has_committed_elsewhere_counts_here() {
    let mut world = World::new();
    let key = CatalogEntry::role_key("fresh");
    world.confirms = vec![SessionReply::Failed(Failure::SchemaChanged { key })];
    assert!(world.greet(ELSEWHERE, None, "fresh").is_empty(), "it waits for the catalog");
    let rows = vec![row(role("fresh", Some("secret")), 6)];
    world.deliver(Message::AccessReply(AccessReply::CatalogRows { rows }));
    let challenge = world.output();
    world.prove(&challenge, "SCRAM-SHA-256", "secret", ChannelBinding::unsupported());
    assert!(world.is_in());
    // A site that serves nobody lets nobody in by password.
    world.confirms = vec![SessionReply::Failed(Failure::Unavailable { reason: "alone".to_owned() })];
    assert!(error(&world.greet(ELSEWHERE, None, "alice")).starts_with("FATAL 57P03 "));
}

/// If this failed, passwords could be guessed as fast as connections can be made.
#[test]
fn who_guesses_waits() {
    let mut world = World::new();
    for _ in 0..3 {
        world.log_in("alice", "wrong");
        world.wait(5 * DELAY_FIRST);
    }
    assert!(world.greet(ELSEWHERE, None, "alice").len() > 9);
    assert!(world.greet(ELSEWHERE, None, "alice").is_empty(), "the next one has to wait");
    let challenge = world.wait(20 * DELAY_FIRST);
    world.prove(&challenge, "SCRAM-SHA-256", "secret", ChannelBinding::unsupported());
    assert!(world.is_in());
}

#[test]
fn nothing_but_answers_is_read_of_a_stranger() {
    for (bytes, expected) in [
        (&b"Q\0\0\0\x0dSELECT 1\0"[..], "FATAL 08P01 expected password response, got message type 81"),
        (b"p\x7f\0\0\0", "FATAL 08P01 invalid password packet size"),
        (b"p\0\0\0\x05x", "FATAL 08P01 invalid message format"),
    ] {
        let mut world = World::new();
        world.greet(ELSEWHERE, None, "alice");
        assert_eq!(error(&world.send(bytes)), expected);
        assert!(world.interface.finished(world.session()));
    }
    // What comes before the encryption and is meant to be taken for what came within.
    let mut world = World::new();
    world.interface.open_from(CLIENT, ELSEWHERE);
    world.clients = 1;
    let told = world.send(b"\0\0\0\x08\x04\xd2\x16\x2fQ\0\0\0\x05\0");
    assert_eq!(error(&told), "FATAL 08P01 received unencrypted data after SSL request");
}

/// If this failed, a client that takes nothing could hold a place for ever, or have more said to it than is bounded.
#[test]
fn who_takes_nothing_holds_no_place() {
    let mut world = World::new();
    world.interface.open_from(CLIENT, ELSEWHERE);
    world.clients = 1;
    let (tls, gss) = (b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x08\x04\xd2\x16\x30");
    assert_eq!(&world.send(gss)[..], b"N");
    let refused = "FATAL 0A000 unsupported frontend protocol 1234.5680: server supports 3.0 to 3.0";
    assert_eq!(error(&world.send(gss)), refused);
    assert!(world.interface.overdue(world.now).is_empty(), "it has its time to take that");
    world.now.boot += user_interface::limits::FAREWELL_PATIENCE;
    assert_eq!(world.interface.overdue(world.now), [CLIENT]);
    let mut world = World::new();
    world.interface.open_from(CLIENT, ELSEWHERE);
    world.clients = 1;
    world.interface.encrypted(CLIENT, Encryption::default());
    let refused = "FATAL 0A000 unsupported frontend protocol 1234.5679: server supports 3.0 to 3.0";
    assert_eq!(error(&world.send(tls)), refused, "it is encrypted already");
}

/// What `CREATE ROLE` of the last client asks for, or the error.
fn makes_a_role(world: &mut World) -> Result<usize, String> {
    let mut query = BytesMut::from(&b"Q\0\0\0\x14create role made\0"[..]);
    query[4] = (query.len() - 1) as u8;
    let mut outbox = Outbox::default();
    let session = world.session();
    world.interface.receive(world.now, session, &mut query, &mut outbox);
    let asked = outbox.messages.iter().find_map(|outgoing| match &outgoing.message {
        Message::SessionRequest(_, SessionRequest::Execute { program, .. }) if !program.read_only => {
            Some(program.relies_on.len())
        }
        _ => None,
    });
    asked.ok_or_else(|| {
        // What it is told is confirmed first.
        world.answer(outbox);
        error(&world.output())
    })
}

/// If this failed, a session would have the rights of another role that came to have its role's name; or use rights that another site has taken from it.
#[test]
fn a_session_has_the_rights_of_its_role_not_of_its_name() {
    let maker = |oid| RoleSchema { create_role: true, ..RoleSchema { oid, ..role("maker", Some("secret")) } };
    let mut world = World::new();
    world.deliver(Message::AccessReply(AccessReply::CatalogRows { rows: vec![row(maker(30_000), 6)] }));
    world.log_in("maker", "secret");
    assert_eq!(
        makes_a_role(&mut world),
        Ok(4),
        "it holds only while the rows of the role, of the schema and of the database are the same, and no schema is called like the new role"
    );
    let mut world = World::new();
    world.deliver(Message::AccessReply(AccessReply::CatalogRows { rows: vec![row(maker(30_000), 6)] }));
    world.log_in("maker", "secret");
    let another = RoleSchema { superuser: true, ..maker(30_001) };
    world.deliver(Message::AccessReply(AccessReply::CatalogRows { rows: vec![row(another, 7)] }));
    assert_eq!(makes_a_role(&mut world), Err("ERROR 42501 permission denied to create role".to_owned()));
}

/// If this failed, taking the superuser's right to log in would take nothing, for it goes by any name where it is trusted.
#[test]
fn a_superuser_that_may_not_log_in_may_not_by_another_name() {
    let mut world = World::new();
    let shut = RoleSchema { login: false, ..RoleSchema::bootstrap() };
    world.deliver(Message::AccessReply(AccessReply::CatalogRows { rows: vec![row(shut, 6)] }));
    assert_eq!(error(&world.greet(Peer::LOCAL, None, "anybody")), "FATAL 28000 role \"anybody\" does not exist");
}

/// If this failed, a site whose catalog is known to be behind would let in by what it was.
#[test]
fn a_catalog_that_stays_behind_lets_nobody_in() {
    let mut world = World::new();
    let key = CatalogEntry::role_key("alice");
    world.confirms = (0..20).map(|_| SessionReply::Failed(Failure::SchemaChanged { key: key.clone() })).collect();
    let mut told = world.greet(ELSEWHERE, None, "alice");
    for _ in 0..20 {
        if !told.is_empty() {
            break;
        }
        told = world.wait(2_000_000_000);
    }
    assert!(error(&told).starts_with("FATAL 57P03 the roles cannot be confirmed"), "{}", error(&told));
}
