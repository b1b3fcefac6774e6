//! QUIC by quinn: one bidirectional stream between two processes of this host, kept for all calls, encrypted as QUIC always is.

use crate::communication::grpc::runtime;
use laboratory::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;

/// See the module's description.
pub struct Quic;

const HOST: &str = "localhost";
const CERTIFICATE: &str = "certificate";

impl Method for Quic {
    fn name(&self) -> &'static str {
        "QUIC (quinn), stream"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).map_err(Failure::foreign)?;
        // Who is given the folder trusts what is in it.
        std::fs::write(meeting.folder.join(CERTIFICATE), made.cert.der())?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into());
        let config = config.map_err(Failure::foreign)?;
        runtime()?.block_on(async {
            let endpoint = Endpoint::server(config, SocketAddr::from((meeting.host, 0)))?;
            ready(&endpoint.local_addr()?.to_string())?;
            let incoming = endpoint.accept().await.ok_or_else(|| Failure::Missing("nobody calls".to_owned()))?;
            let connection = incoming.await.map_err(Failure::foreign)?;
            let (mut send, mut receive) = connection.accept_bi().await.map_err(Failure::foreign)?;
            let (mut request, mut reply) = (vec![0; meeting.request_bytes], Vec::new());
            // The client's end is an error like any other here: there is one client.
            while receive.read_exact(&mut request).await.is_ok() {
                reply_to(&request, &mut reply, meeting.reply_bytes);
                send.write_all(&reply).await.map_err(Failure::foreign)?;
            }
            Ok(())
        })
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let mut trusted = RootCertStore::empty();
        let certificate = CertificateDer::from(std::fs::read(meeting.folder.join(CERTIFICATE))?);
        trusted.add(certificate).map_err(Failure::foreign)?;
        let config = ClientConfig::with_root_certificates(Arc::new(trusted)).map_err(Failure::foreign)?;
        let server: SocketAddr = meeting.address.parse().map_err(Failure::foreign)?;
        let runtime = runtime()?;
        let (endpoint, connection, mut send, mut receive) = runtime.block_on(async {
            let mut endpoint = Endpoint::client(SocketAddr::from((meeting.host, 0)))?;
            endpoint.set_default_client_config(config);
            let connection = endpoint.connect(server, HOST).map_err(Failure::foreign)?;
            let connection = connection.await.map_err(Failure::foreign)?;
            let (send, receive) = connection.open_bi().await.map_err(Failure::foreign)?;
            Ok::<_, Failure>((endpoint, connection, send, receive))
        })?;
        let reply_bytes = meeting.reply_bytes;
        Ok(Box::new(move |request, reply| {
            let _open = (&endpoint, &connection);
            reply.resize(reply_bytes, 0);
            runtime.block_on(async {
                send.write_all(request).await.map_err(Failure::foreign)?;
                receive.read_exact(reply).await.map_err(Failure::foreign)
            })
        }))
    }
}
