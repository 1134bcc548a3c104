// SPDX-License-Identifier: Apache-2.0
//! A cluster within one process: workers with a gRPC server and a node each,
//! and a coordinator; tables as Parquet files.
#![allow(dead_code)] // no test uses all of it

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::{DataFusionError, Result, ScalarValue, resources_err};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{
    ColumnarValue, ScalarUDF, Volatility, create_udf,
};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use datafusion_distributed::grpc::DefaultChannelResolver;
use datafusion_distributed::{
    ChannelResolver, DistributedExt, Worker, WorkerQueryContext, WorkerResolver,
};
use tokio::task::AbortHandle;
use tonic::transport::Server as Tonic;
use url::Url;
use weir_datafusion::{Server, WeirChannelResolver, distribute, worker_url};

/// So long that only a hang takes it.
const LONG: Duration = Duration::from_secs(60);

/// Fail a test that hangs, instead of hanging.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("hangs"),
    }
}

pub fn node(transport: &str) -> weir::Node {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let i = NEXT.fetch_add(1, Ordering::Relaxed);
    weir::Node::builder()
        .name(format!("sql-{}-{i}", std::process::id()))
        .transport(transport)
        .log(weir::LogLevel::Error, |_, line| println!("{line}"))
        .open()
        .unwrap()
}

/// The memory that the exchange takes. What operators take is not looked at:
/// DataFusion Distributed drops the plans of queries when it comes to it.
#[derive(Debug, Default)]
struct Exchange(AtomicUsize);

impl MemoryPool for Exchange {
    fn name(&self) -> &str {
        "exchange"
    }

    fn grow(&self, reservation: &MemoryReservation, bytes: usize) {
        if reservation.consumer().name().starts_with("weir ") {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn shrink(&self, reservation: &MemoryReservation, bytes: usize) {
        if reservation.consumer().name().starts_with("weir ") {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn try_grow(
        &self,
        reservation: &MemoryReservation,
        bytes: usize,
    ) -> Result<()> {
        self.grow(reservation, bytes);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl std::fmt::Display for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "exchange, {} bytes", self.reserved())
    }
}

pub struct Member {
    pub url: Url,
    pub worker: Worker,
    control: AbortHandle,
    server: Option<Server>,
    node: Option<weir::Node>,
    memory: Arc<Exchange>,
}

impl Member {
    pub async fn open(transport: &str) -> Self {
        Self::open_that(transport, true).await
    }

    /// One whose rows are pushed, or pulled through a `RepartitionExec`.
    pub async fn open_that(transport: &str, pushes: bool) -> Self {
        let node = node(transport);
        let resolver = WeirChannelResolver::new(node.clone());
        let sessions = resolver.clone();
        let worker =
            Worker::from_session_builder(move |context: WorkerQueryContext| {
                let mut builder = if pushes {
                    sessions.worker_session(context)
                } else {
                    let builder = context.builder;
                    builder.with_distributed_channel_resolver(sessions.clone())
                };
                let known = builder.scalar_functions();
                known.get_or_insert_default().extend(functions());
                async move { Ok::<_, DataFusionError>(builder.build()) }
            });
        let memory = Arc::new(Exchange::default());
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(memory.clone());
        let worker = worker.with_runtime_env(runtime.build_arc().unwrap());
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        let server = Server::open(&resolver, worker.clone()).unwrap();
        let service = worker.clone().into_worker_server();
        let control = tokio::spawn(async move {
            let tonic = Tonic::builder().add_service(service);
            tonic.serve_with_incoming(incoming).await.unwrap();
        });
        let url = Url::parse(&format!("http://{at}")).unwrap();
        Self {
            url: worker_url(&url, &node.address()),
            worker,
            control: control.abort_handle(),
            server: Some(server),
            node: Some(node),
            memory,
        }
    }

    pub fn held(&self) -> usize {
        self.memory.reserved()
    }
    /// It is gone, as far as its rows go.
    pub fn kill(&mut self) {
        self.server = None;
        self.node = None;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.control.abort();
    }
}

struct Urls(Vec<Url>);

impl WorkerResolver for Urls {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

pub struct Cluster {
    pub members: Vec<Member>,
    pub session: SessionContext,
}

impl Cluster {
    /// Sessions over the tables of a folder.
    pub async fn open(n: usize, transport: &str, tables: &Path) -> Self {
        let mut members = Vec::new();
        for _ in 0..n {
            members.push(Member::open(transport).await);
        }
        Self::of(members, transport, tables).await
    }

    pub async fn of(
        members: Vec<Member>,
        transport: &str,
        tables: &Path,
    ) -> Self {
        let urls = members.iter().map(|m| m.url.clone()).collect();
        let session = session(transport, urls, tables).await;
        Self { members, session }
    }

    /// All that is known of the workers is where they listen to gRPC.
    pub async fn over_grpc(members: Vec<Member>, tables: &Path) -> Self {
        let bare = |member: &Member| {
            let mut url = member.url.clone();
            url.set_query(None);
            url
        };
        let urls = members.iter().map(bare).collect();
        let grpc = DefaultChannelResolver::default();
        let session = session_with(grpc, urls, tables).await;
        Self { members, session }
    }
}

impl Cluster {
    /// Calls that run at all workers.
    pub fn calls(&self) -> usize {
        let servers = self.members.iter().filter_map(|m| m.server.as_ref());
        servers.map(Server::calls).sum()
    }

    /// Until no call runs, and the exchange has given back all memory.
    pub async fn quiet(&self) {
        let held = |m: &Member| m.memory.reserved() > 0;
        while self.calls() > 0 || self.members.iter().any(held) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// A coordinator of the workers at these URLs.
pub async fn session(
    transport: &str,
    urls: Vec<Url>,
    tables: &Path,
) -> SessionContext {
    let resolver = WeirChannelResolver::new(node(transport));
    session_with(resolver, urls, tables).await
}

pub async fn session_with(
    resolver: impl ChannelResolver + Send + Sync + 'static,
    urls: Vec<Url>,
    tables: &Path,
) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(SessionConfig::new().with_target_partitions(3));
    let state = distribute(state)
        .with_distributed_worker_resolver(Urls(urls))
        .with_distributed_channel_resolver(resolver)
        .with_distributed_file_scan_config_bytes_per_partition(1)
        .unwrap()
        .build();
    let session = SessionContext::from(state);
    for function in functions() {
        session.register_udf(Arc::unwrap_or_clone(function));
    }
    register(&session, tables).await;
    session
}

/// Rows that `counted` was called for, anywhere in this process.
pub static COUNTED: AtomicU64 = AtomicU64::new(0);

type Function = fn(&[ColumnarValue]) -> Result<ColumnarValue>;

/// Functions of SQL, of an integer.
fn functions() -> Vec<Arc<ScalarUDF>> {
    let counted: Function = |args| {
        let rows = match &args[0] {
            ColumnarValue::Array(array) => array.len(),
            ColumnarValue::Scalar(_) => 1,
        };
        COUNTED.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(ColumnarValue::Scalar(ScalarValue::from(true)))
    };
    let exhausted: Function = |_| resources_err!("no more of it");
    let panics: Function = |_| panic!("a fault of its own");
    let named =
        [("counted", counted), ("exhausted", exhausted), ("panics", panics)];
    let function = |(name, function): (&str, Function)| {
        let (int, bool) = (vec![DataType::Int64], DataType::Boolean);
        let volatility = Volatility::Volatile;
        let function = Arc::new(function);
        Arc::new(create_udf(name, int, bool, volatility, function))
    };
    named.into_iter().map(function).collect()
}

/// The same tables on one node.
pub async fn alone(tables: &Path) -> SessionContext {
    let session = SessionContext::new();
    register(&session, tables).await;
    session
}

async fn register(session: &SessionContext, tables: &Path) {
    for entry in std::fs::read_dir(tables).unwrap() {
        let path = entry.unwrap().path();
        let table = path.file_name().unwrap().to_str().unwrap();
        if !path.join("0.parquet").exists() {
            continue;
        }
        session
            .register_parquet(
                table,
                path.to_str().unwrap(),
                ParquetReadOptions::default(),
            )
            .await
            .unwrap();
    }
}

/// Two tables of several files each.
pub async fn tables() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let session = SessionContext::new();
    for (table, files, sql) in [
        (
            "orders",
            3,
            "SELECT value AS o_id, value % 97 AS o_customer,
                    CASE WHEN value % 11 = 0 THEN NULL
                         ELSE 'status ' || (value % 5) END AS o_status,
                    CAST(value AS DECIMAL(12, 2)) / 7 AS o_price
             FROM generate_series(1, 3000)",
        ),
        (
            "items",
            4,
            "SELECT value AS i_id, value % 3001 AS i_order,
                    arrow_cast('part ' || (value % 301), 'Utf8View') AS i_part,
                    [value, value % 3] AS i_list,
                    arrow_cast('kind ' || (value % 9),
                               'Dictionary(Int32, Utf8)') AS i_kind,
                    CAST(value AS DOUBLE) / 3 AS i_price
             FROM generate_series(1, 20000)",
        ),
    ] {
        let path = folder.path().join(table);
        std::fs::create_dir(&path).unwrap();
        for i in 0..files {
            let column = if table == "orders" { "o_id" } else { "i_id" };
            let part = format!(
                "SELECT * FROM ({sql}) WHERE {column} % {files} = {i}
                 ORDER BY {column} * 7919 % 20011" // files in order stay whole
            );
            let file = path.join(format!("{i}.parquet"));
            session
                .sql(&part)
                .await
                .unwrap()
                .write_parquet(
                    file.to_str().unwrap(),
                    DataFrameWriteOptions::new().with_single_file_output(true),
                    None,
                )
                .await
                .unwrap();
        }
    }
    folder
}

/// Lines of a result, in an order of their own.
pub fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut lines = text.lines().map(str::to_owned).collect::<Vec<_>>();
    lines.sort();
    lines
}

pub async fn run(session: &SessionContext, sql: &str) -> Result<Vec<String>> {
    Ok(lines(&session.sql(sql).await?.collect().await?))
}
