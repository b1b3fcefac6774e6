//! gRPC by tonic: unary calls over one TCP connection of this host. The messages are bytes as they are, without a description of their fields:
//! that is the least that gRPC can be asked to do.

use laboratory::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use laboratory_harness::{Failure, Outcome};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};

/// See the module's description.
pub struct Grpc;

/// Messages of both directions.
type Message = Arc<Vec<u8>>;

const PATH: &str = "/raid.Calls/Call";

/// A runtime of this thread.
pub fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

#[derive(Clone, Copy, Default)]
struct AsItIs;

impl Codec for AsItIs {
    type Encode = Message;
    type Decode = Message;
    type Encoder = AsItIs;
    type Decoder = AsItIs;

    fn encoder(&mut self) -> AsItIs {
        AsItIs
    }

    fn decoder(&mut self) -> AsItIs {
        AsItIs
    }
}

impl Encoder for AsItIs {
    type Item = Message;
    type Error = Status;

    fn encode(&mut self, message: Message, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(into, &message);
        Ok(())
    }
}

impl Decoder for AsItIs {
    type Item = Message;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Message>, Status> {
        let mut message = vec![0; bytes::Buf::remaining(from)];
        bytes::Buf::copy_to_slice(from, &mut message);
        Ok(Some(Arc::new(message)))
    }
}

/// Replies to each call.
#[derive(Clone, Copy)]
struct Replies {
    bytes: usize,
}

impl Service<Request<Message>> for Replies {
    type Response = Response<Message>;
    type Error = Status;
    type Future = std::future::Ready<Result<Response<Message>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Message>) -> Self::Future {
        let mut reply = Vec::new();
        reply_to(request.get_ref(), &mut reply, self.bytes);
        std::future::ready(Ok(Response::new(Arc::new(reply))))
    }
}

/// The only method of the only service.
#[derive(Clone, Copy)]
struct Calls(Replies);

impl Service<http::Request<Body>> for Calls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let replies = self.0;
        Box::pin(async move { Ok(tonic::server::Grpc::new(AsItIs).unary(replies, request).await) })
    }
}

impl Method for Grpc {
    fn name(&self) -> &'static str {
        "gRPC (tonic), unary"
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let calls = Calls(Replies { bytes: meeting.reply_bytes });
        runtime()?.block_on(async {
            let listener = tokio::net::TcpListener::bind((meeting.host, 0)).await?;
            ready(&listener.local_addr()?.to_string())?;
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            Server::builder().serve_with_incoming(calls, incoming).await.map_err(Failure::foreign)
        })
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let runtime = runtime()?;
        let endpoint = Endpoint::from_shared(format!("http://{}", meeting.address)).map_err(Failure::foreign)?;
        let channel = runtime.block_on(endpoint.tcp_nodelay(true).connect()).map_err(Failure::foreign)?;
        let mut client = tonic::client::Grpc::new(channel);
        let path = http::uri::PathAndQuery::from_static(PATH);
        Ok(Box::new(move |request, reply| {
            let message: Message = Arc::new(request.to_vec());
            let response = runtime.block_on(async {
                client.ready().await.map_err(Failure::foreign)?;
                let unary = client.unary(Request::new(message), path.clone(), AsItIs);
                unary.await.map_err(Failure::foreign)
            })?;
            reply.clear();
            reply.extend_from_slice(response.get_ref());
            Ok(())
        }))
    }
}
