// SPDX-License-Identifier: Apache-2.0
//! A worker as a process of its own.
//!
//!     worker CONTROL TRANSPORT NAME [LISTEN]
//!
//! serves plans over gRPC at CONTROL, an IP:PORT, and rows through a node of
//! that transport and name; prints its URL, and ends when its stdin does.

use std::error::Error;

use datafusion::common::DataFusionError;
use datafusion_distributed::{Worker, WorkerQueryContext};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use url::Url;
use weir_datafusion::{Server, WeirChannelResolver, worker_url};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = std::env::args().skip(1).collect::<Vec<_>>();
    let [control, transport, name, listen @ ..] = args.as_slice() else {
        return Err("usage: worker CONTROL TRANSPORT NAME [LISTEN]".into());
    };
    let mut node = weir::Node::builder().transport(transport).name(name);
    if let Some(listen) = listen.first() {
        node = node.listen(listen);
    }
    let node = node.open()?;

    let resolver = WeirChannelResolver::new(node.clone());
    let sessions = resolver.clone();
    let worker =
        Worker::from_session_builder(move |context: WorkerQueryContext| {
            let builder = sessions.worker_session(context);
            async move { Ok::<_, DataFusionError>(builder.build()) }
        });
    let _rows = Server::open(&resolver, worker.clone())?;
    let listener = TcpListener::bind(control).await?;
    let control = Url::parse(&format!("http://{}", listener.local_addr()?))?;
    println!("{}", worker_url(&control, &node.address()));

    tonic::transport::Server::builder()
        .add_service(worker.into_worker_server())
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
            let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        })
        .await?;
    Ok(())
}
