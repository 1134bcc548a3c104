// SPDX-License-Identifier: Apache-2.0
//! Workers and coordinators of one exchange.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion_distributed::grpc::DefaultChannelResolver;
use datafusion_distributed::{
    ChannelResolver, CompressionType, DistributedExt, Worker, WorkerChannel,
    WorkerQueryContext,
};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio_stream::wrappers::TcpListenerStream;
use url::Url;
use weir_datafusion::{Server, WeirChannelResolver, worker_url};

/// How rows go from worker to worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Exchange {
    /// DataFusion Distributed's own, batches as they are
    Grpc,
    /// The same, compressed with LZ4: its default
    GrpcLz4,
    /// Weir, over shared memory
    Shm,
    /// Weir, over tcp
    Tcp,
}

impl Exchange {
    pub fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::GrpcLz4 => "grpc-lz4",
            Self::Shm => "shm",
            Self::Tcp => "tcp",
        }
    }

    pub fn compression(self) -> Option<CompressionType> {
        (self == Self::GrpcLz4).then_some(CompressionType::LZ4_FRAME)
    }

    /// A node of Weir, where that is the exchange.
    pub fn node(self) -> Result<Option<weir::Node>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let transport = match self {
            Self::Grpc | Self::GrpcLz4 => return Ok(None),
            Self::Shm | Self::Tcp => self.name(),
        };
        let i = NEXT.fetch_add(1, Ordering::Relaxed);
        weir::Node::builder()
            .name(format!("sql-bench-{}-{i}", std::process::id()))
            .transport(transport)
            .open()
            .map(Some)
            .map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

/// Of either kind.
#[derive(Clone)]
pub struct Resolver(Arc<dyn ChannelResolver + Send + Sync>);

impl Resolver {
    pub fn new(node: Option<weir::Node>) -> Self {
        match node {
            Some(node) => Self(Arc::new(WeirChannelResolver::new(node))),
            None => Self(Arc::new(DefaultChannelResolver::default())),
        }
    }
}

#[async_trait]
impl ChannelResolver for Resolver {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> Result<Box<dyn WorkerChannel>> {
        self.0.get_worker_client_for_url(url).await
    }
}

/// A worker, served at a port of its own.
pub struct Member {
    pub url: Url,
    pub worker: Worker,
    control: AbortHandle,
    _rows: Option<Server>,
}

impl Member {
    pub async fn open(exchange: Exchange) -> Result<Self> {
        let resolver = exchange.node()?.map(WeirChannelResolver::new);
        let sessions = resolver.clone();
        let worker =
            Worker::from_session_builder(move |query: WorkerQueryContext| {
                let builder = match &sessions {
                    Some(resolver) => resolver.worker_session(query),
                    None => query.builder.with_distributed_channel_resolver(
                        DefaultChannelResolver::default(),
                    ),
                };
                let compression = exchange.compression();
                let builder = builder.with_distributed_compression(compression);
                async move { Ok(builder?.build()) }
            });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let at = listener.local_addr()?;
        let mut url = Url::parse(&format!("http://{at}"))
            .map_err(|error| exec_datafusion_err!("{error}"))?;
        let mut rows = None;
        if let Some(resolver) = resolver {
            url = worker_url(&url, &resolver.node().address());
            let server = Server::open(&resolver, worker.clone())
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
            rows = Some(server);
        }
        let service = worker.clone().into_worker_server();
        let control = tokio::spawn(async move {
            let served = tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpListenerStream::new(listener));
            if let Err(error) = served.await {
                eprintln!("the worker at {at}: {error}");
            }
        });
        let control = control.abort_handle();
        Ok(Self { url, worker, control, _rows: rows })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.control.abort();
    }
}
