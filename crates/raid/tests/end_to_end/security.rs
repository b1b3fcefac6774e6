//! Who is let in: roles, passwords, certificates and encryption, with the clients that people use.
//!
//! What clients are told is compared with what PostgreSQL tells them, where that is installed.

use crate::harness::{World, eventually, postgres_program, raid, said, succeeds};
use rustix::process::{Pid, Signal, kill_process};
use site::config::Clients;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Rules of all sites here.
const RULES: [&str; 4] = [
    "host    all postgres 127.0.0.1/32 trust",
    "hostssl all carol    all          cert",
    "host    all mallory  all          reject",
    "hostssl all all      all          scram-sha-256",
];

/// Keys for clients in a folder, made by `raid keys`.
fn make_keys(folder: &Path) {
    let mut command = Command::new(raid());
    command.args(["keys", "--instance", "7", "--sql", "127.0.0.1", "--role", "carol,dora", "--folder"]).arg(folder);
    succeeds(&mut command);
}

fn clients(keys: &Path) -> Clients {
    make_keys(keys);
    Clients {
        certificate: Some(keys.join("sql.pem")),
        key: Some(keys.join("sql.key")),
        authority: Some(keys.join("sql-authority.pem")),
        hba: Some(RULES.map(str::to_owned).to_vec()),
        ..Clients::default()
    }
}

/// Three sites, and the folder of the keys for clients.
fn start() -> (World, PathBuf) {
    let mut keys = PathBuf::new();
    let world = World::start_for(|folder| {
        keys = folder.join("client keys");
        clients(&keys)
    });
    (world, keys)
}

/// psql, and what it says. `None` where it is not installed.
fn psql(address: SocketAddr, options: &str, password: Option<&str>, sql: &str) -> Option<Output> {
    let mut command = Command::new(postgres_program("psql")?);
    command.env_clear().env("HOME", "/nonexistent");
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    let host = format!("host={} port={} dbname=raid", address.ip(), address.port());
    command.args(["-X", "-A", "-t", "-w", "-c", sql, "-d", &format!("{host} {options}")]);
    Some(command.output().expect("psql runs"))
}

/// Of a client that is refused: what it is told, without where it was.
fn refusal(address: SocketAddr, options: &str, password: Option<&str>) -> Option<String> {
    let output = psql(address, options, password, "SELECT 1")?;
    let text = said(&output);
    assert!(!output.status.success(), "{options}: it must not be let in: {text}");
    let told = text.rsplit_once("failed: ").map_or(text.as_str(), |(_, told)| told);
    Some(told.trim().to_owned())
}

fn superuser(world: &World, site: u16) -> postgres::Client {
    let options = format!("host=127.0.0.1 port={} user=postgres dbname=raid", world.sql(site).port());
    postgres::Client::connect(&options, postgres::NoTls).expect("the rules trust it")
}

fn admin(world: &World, site: u16, sql: &str) {
    superuser(world, site).batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

const ROLES: &str = "
    CREATE ROLE alice LOGIN PASSWORD 'secret';
    CREATE ROLE late LOGIN PASSWORD 'secret' VALID UNTIL '2001-01-01';
    CREATE ROLE shut PASSWORD 'secret';
    CREATE ROLE full LOGIN PASSWORD 'secret' CONNECTION LIMIT 0;
    CREATE USER carol; CREATE USER mallory; CREATE USER dora PASSWORD 'secret'";

/// Each way in, and each way out of it; right after a role was made at one site it comes in at another.
#[test]
fn who_is_let_in_and_who_is_not() {
    let (world, keys) = start();
    admin(&world, 1, ROLES);
    let authority = keys.join("sql-authority.pem");
    let full = format!("sslmode=verify-full sslrootcert='{}'", authority.display());
    let certificate = |name: &str| {
        let file = |ending: &str| keys.join(format!("role-{name}.{ending}"));
        format!("{full} sslcert='{}' sslkey='{}'", file("pem").display(), file("key").display())
    };
    let two = world.sql(2);
    let who = "SELECT current_user, session_user";
    for (options, password) in [
        (format!("user=alice {full} channel_binding=require"), Some("secret")),
        ("user=alice sslmode=require".to_owned(), Some("secret")),
        (
            format!("user=alice {full} ssl_min_protocol_version=TLSv1.2 ssl_max_protocol_version=TLSv1.2"),
            Some("secret"),
        ),
        (format!("user=carol {}", certificate("carol")), None),
    ] {
        let Some(output) = psql(two, &options, password, who) else { return };
        let name = if options.contains("carol") { "carol|carol" } else { "alice|alice" };
        assert_eq!(said(&output).trim(), name, "{options}");
    }
    let wrong = "FATAL:  password authentication failed for user";
    for (options, password, expected) in [
        (format!("user=alice {full}"), "Secret", format!("{wrong} \"alice\"")),
        (format!("user=late {full}"), "secret", format!("{wrong} \"late\"")),
        (format!("user=nobody {full}"), "secret", format!("{wrong} \"nobody\"")),
        (format!("user=shut {full}"), "secret", "FATAL:  role \"shut\" is not permitted to log in".to_owned()),
        (format!("user=full {full}"), "secret", "FATAL:  too many connections for role \"full\"".to_owned()),
        (format!("user=carol {full}"), "", "FATAL:  connection requires a valid client certificate".to_owned()),
        (
            format!("user=carol {}", certificate("dora")),
            "",
            "FATAL:  certificate authentication failed for user \"carol\"".to_owned(),
        ),
        (
            "user=mallory sslmode=disable".to_owned(),
            "",
            "FATAL:  pg_hba.conf rejects connection for host \"127.0.0.1\", user \"mallory\", database \"raid\", no encryption"
                .to_owned(),
        ),
        (
            "user=alice sslmode=disable".to_owned(),
            "secret",
            "FATAL:  no pg_hba.conf entry for host \"127.0.0.1\", user \"alice\", database \"raid\", no encryption".to_owned(),
        ),
    ] {
        assert_eq!(refusal(two, &options, Some(password)), Some(expected), "{options}");
    }
    // A client that wants to know whom it speaks to, and is shown another certificate than it believes.
    let other = world.running.cluster().folder().join("other keys");
    make_keys(&other);
    let options = format!("user=alice sslmode=verify-full sslrootcert='{}'", other.join("sql-authority.pem").display());
    let told = refusal(two, &options, Some("secret")).expect("psql is there");
    // OpenSSL has several words for a signature that does not verify.
    assert!(told.starts_with("SSL error: "), "{told}");
    let options = format!(
        "user=carol sslmode=require sslcert='{}' sslkey='{}'",
        other.join("role-carol.pem").display(),
        other.join("role-carol.key").display()
    );
    assert!(refusal(two, &options, None).is_some_and(|told| told.contains("alert")), "a stranger signed that");
}

/// A password that is changed counts at every site, and stands nowhere in clear: neither on disk nor in a log.
#[test]
fn passwords_change_everywhere_and_stand_nowhere() {
    let (world, _) = start();
    admin(&world, 1, "CREATE ROLE alice LOGIN PASSWORD 'first-password'");
    let options = "user=alice sslmode=require";
    let in_at = |site: u16, password: &str| {
        psql(world.sql(site), options, Some(password), "SELECT 1").map(|output| output.status.success())
    };
    let Some(true) = in_at(3, "first-password") else { return assert!(in_at(3, "first-password").is_none()) };
    assert_eq!(
        psql(world.sql(3), options, Some("first-password"), "ALTER ROLE alice PASSWORD 'second-password'")
            .map(|output| said(&output)),
        Some("ALTER ROLE\n".to_owned())
    );
    assert_eq!((in_at(1, "first-password"), in_at(1, "second-password")), (Some(false), Some(true)));
    // A role without rights stays one.
    let denied = psql(world.sql(2), options, Some("second-password"), "SELECT rolpassword FROM pg_authid")
        .expect("psql is here");
    assert!(said(&denied).contains("permission denied for table pg_authid"), "{}", said(&denied));
    let denied =
        psql(world.sql(2), options, Some("second-password"), "CREATE ROLE bob SUPERUSER").expect("psql is here");
    assert!(said(&denied).contains("must be superuser to create superusers"), "{}", said(&denied));
    let shown = psql(world.sql(2), options, Some("second-password"), "\\du").expect("psql is here");
    assert!(said(&shown).contains("alice||{}"), "{}", said(&shown));
    assert!(said(&shown).contains("postgres|Superuser"), "{}", said(&shown));
    for file in files(world.running.cluster().folder()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        for password in ["first-password", "second-password"] {
            let found = bytes.windows(password.len()).any(|window| window == password.as_bytes());
            assert!(!found, "{} has a password in clear", file.display());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&path)),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    found
}

/// Certificates are taken again while sessions go on; what is wrong changes nothing.
#[test]
fn certificates_are_taken_again() {
    let (world, keys) = start();
    admin(&world, 1, "CREATE ROLE alice LOGIN PASSWORD 'secret'");
    let one = world.sql(1);
    let believes = |authority: &Path| {
        let options = format!("user=alice sslmode=verify-full sslrootcert='{}'", authority.display());
        psql(one, &options, Some("secret"), "SELECT 1").map(|output| output.status.success())
    };
    let old = keys.join("old-authority.pem");
    std::fs::copy(keys.join("sql-authority.pem"), &old).expect("a copy");
    let Some(true) = believes(&old) else { return assert_eq!(believes(&old), None, "psql is let in") };
    let mut session = superuser(&world, 1);
    let fresh = world.running.cluster().folder().join("fresh keys");
    make_keys(&fresh);
    let hang_up = || {
        let status = world.running.status(1).expect("it runs");
        // In every layout it has the connections with other sites.
        let pid = status.servers.iter().find(|server| server.process == "site").expect("its own process").pid;
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, Signal::HUP).expect("it runs");
    };
    let copy = |name: &str| {
        std::fs::copy(fresh.join(name), keys.join(name)).expect("a copy");
    };
    // The key does not fit the certificate yet.
    copy("sql.key");
    hang_up();
    assert_eq!(believes(&old), Some(true));
    copy("sql.pem");
    copy("sql-authority.pem");
    hang_up();
    eventually("the new certificate to be shown", || believes(&fresh.join("sql-authority.pem")) == Some(true));
    assert_eq!(believes(&old), Some(false));
    session.batch_execute("SELECT 1").expect("a session is not disturbed");
}

/// Python's drivers, encrypted, with a password and bound to the channel.
#[test]
fn drivers_come_in_encrypted() {
    let (world, keys) = start();
    admin(&world, 1, "CREATE ROLE alice LOGIN PASSWORD 'secret'");
    let authority = keys.join("sql-authority.pem");
    let port = world.sql(3).port();
    for (module, script) in [
        (
            "psycopg",
            "import psycopg, sys\n\
             options = dict(host='127.0.0.1', port=sys.argv[1], user='alice', dbname='raid', sslmode='verify-full', sslrootcert=sys.argv[2])\n\
             with psycopg.connect(password='secret', channel_binding='require', **options) as connection:\n\
             \x20   assert connection.execute('SELECT current_user').fetchone() == ('alice',)\n\
             \x20   assert connection.pgconn.ssl_in_use\n\
             try:\n\
             \x20   psycopg.connect(password='wrong', **options)\n\
             \x20   sys.exit('a wrong password is let in')\n\
             except psycopg.OperationalError as error:\n\
             \x20   assert 'password authentication failed' in str(error), error\n",
        ),
        (
            "asyncpg",
            "import asyncio, asyncpg, ssl, sys\n\
             async def main():\n\
             \x20   context = ssl.create_default_context(cafile=sys.argv[2])\n\
             \x20   options = dict(host='127.0.0.1', port=int(sys.argv[1]), user='alice', database='raid', ssl=context)\n\
             \x20   connection = await asyncpg.connect(password='secret', **options)\n\
             \x20   assert await connection.fetchval('SELECT current_user') == 'alice'\n\
             \x20   rows = await connection.fetch('SELECT $1::text AS long', 'x' * 1000000)\n\
             \x20   assert len(rows[0]['long']) == 1000000\n\
             \x20   await connection.close()\n\
             \x20   try:\n\
             \x20       await asyncpg.connect(password='wrong', **options)\n\
             \x20       sys.exit('a wrong password is let in')\n\
             \x20   except asyncpg.InvalidPasswordError:\n\
             \x20       pass\n\
             asyncio.run(main())\n",
        ),
    ] {
        let Some(mut python) = crate::drivers::python_with(module) else { continue };
        succeeds(python.args(["-B", "-c", script, &port.to_string()]).arg(&authority));
    }
}

/// A configuration by which strangers could come in must not start, and must say what to do.
#[test]
fn strangers_are_not_invited() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = folder.path().join("keys");
    make_keys(&keys);
    let path = folder.path().join("site.toml");
    let data = folder.path().join("data");
    let files = format!("certificate = '{0}/sql.pem'\nkey = '{0}/sql.key'\n", keys.display());
    for (clients, parts) in [
        (String::new(), &["raid keys --sql", "insecure = true"][..]),
        (format!("{files}hba = ['host all all 10.0.0.0/8 trust']"), &["rule 1", "scram-sha-256", "insecure = true"]),
        (format!("{files}hba = ['host all all all password']"), &["line 1", "hostssl"]),
        (format!("{files}hba = ['hostssl all all all cert']"), &["authority"]),
        ("certificate = 'x.pem'".to_owned(), &["certificate and key together"]),
    ] {
        let text = format!(
            "instance = 1\nid = 1\ndata = '{}'\nlisten = '127.0.0.1:0'\nsql = '0.0.0.0:0'\nconsole = '127.0.0.1:0'\n\
             oracle = '127.0.0.1:1'\n[peers]\n[clients]\n{clients}\n",
            data.display()
        );
        std::fs::write(&path, text).expect("the folder can be written");
        let output = Command::new(raid()).args(["site", "--config"]).arg(&path).output().expect("raid runs");
        let told = said(&output);
        assert_eq!(output.status.code(), Some(1), "{clients}: {told}");
        for part in parts {
            assert!(told.contains(part), "{part:?} is missing: {told}");
        }
    }
}
