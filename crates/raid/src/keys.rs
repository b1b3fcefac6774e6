//! `raid keys`: the keys with which sites on several hosts encrypt, and those for clients.

use clap::Args;
use local_cluster::screen::Screen;
use messages::server::SEVERAL_SITES;
use messages::{InstanceId, SiteId};
use site::protection::{ForClients, make_client_keys};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
What is made:
  authority.pem, authority.key   sign the keys of all sites; authority.key is needed to add sites only: keep it away from them
  oracle.pem, oracle.key         of the oracle
  site-N.pem, site-N.key         of site N
  sql-authority.pem, .key        sign the keys for PostgreSQL's clients; clients know the sites by sql-authority.pem (sslrootcert)
  sql.pem, sql.key               of all sites, for clients (--sql)
  role-NAME.pem, role-NAME.key   of a role that logs in by a certificate (--role; sslcert and sslkey)
Copy authority.pem and a site's own two files to a folder on its host, and name the folder in its configuration (keys = \"FOLDER\"); the same
for the oracle. A .key file is a secret: leave it with mode 0600, owned by the user that runs the site.

Keys of sites are valid for ten years. To replace all of them, because one was lost to a stranger or they are about to end, make new
ones in another folder, copy them, and start the sites anew: sites with old keys and sites with new ones do not talk.

Examples:
  raid keys --folder keys --instance 81985529216486895 --sites 1,2,3
  raid keys --folder keys --instance 81985529216486895 --sites 4     later: a fourth site, by the same authority
  raid keys --folder keys --instance 81985529216486895 --sql db.example.com,10.0.0.1,10.0.0.2,10.0.0.3     for clients that reach sites by these
  raid keys --folder keys --instance 81985529216486895 --role alice          alice logs in by a certificate
  scp keys/authority.pem keys/site-1.pem keys/site-1.key host1:/var/lib/raid/keys/";

/// Make the keys with which sites on several hosts encrypt and know each other, and those for clients.
///
/// Between hosts every connection is encrypted, and both sides prove who they are by a certificate of the instance (TLS 1.3). Nothing is
/// ever overwritten.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct KeysArguments {
    /// Where to put them.
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// The instance's number, as in the configuration of its sites and its oracle.
    #[arg(long, value_name = "NUMBER")]
    instance: u64,
    /// The sites' numbers, with commas between them.
    #[arg(long, value_name = "N,N,...", required_unless_present_any = ["sql", "role"], value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..i64::from(SEVERAL_SITES.0)))]
    sites: Vec<u16>,
    /// Names and addresses by which PostgreSQL's clients reach the sites, with commas between them.
    #[arg(long, value_name = "HOST,HOST,...", value_delimiter = ',')]
    sql: Vec<String>,
    /// Roles that log in by a certificate, with commas between them.
    #[arg(long, value_name = "NAME,NAME,...", value_delimiter = ',')]
    role: Vec<String>,
}

/// Makes them.
pub fn run(options: &KeysArguments) -> Result<ExitCode, String> {
    let mut sites: Vec<SiteId> = options.sites.iter().copied().map(SiteId).collect();
    sites.sort();
    sites.dedup();
    let instance = InstanceId(options.instance);
    let mut made = Vec::new();
    if !sites.is_empty() {
        made = site::protection::make_keys(&options.folder, instance, &sites).map_err(|error| error.to_string())?;
    }
    if !(options.sql.is_empty() && options.role.is_empty()) {
        let wanted = ForClients { hosts: options.sql.clone(), roles: options.role.clone() };
        let for_clients = make_client_keys(&options.folder, instance, &wanted).map_err(|error| error.to_string())?;
        made.extend(for_clients);
    }
    let mut screen = Screen::default();
    for path in made {
        screen.line(&format!("made {}", path.display()));
    }
    screen.line("`raid help keys` says which files to copy where.");
    Ok(ExitCode::SUCCESS)
}
