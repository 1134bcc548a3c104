// SPDX-License-Identifier: Apache-2.0
//! A worker: one process that runs tasks, for any number of clients.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::DataFusionError;
use datafusion::execution::disk_manager::{
    DiskManagerBuilder, DiskManagerMode,
};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion_distributed::{Worker, WorkerQueryContext};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use weir_datafusion::{Server, WeirChannelResolver};

use crate::args::{Common, WorkerArgs, host_and_port};
use crate::cluster::Spill;
use crate::fail::{Fail, Result};

/// The line that a worker prints begins with this; the address follows.
pub const LISTENING: &str = "weir-sql worker at ";

/// What a worker says that it is, before the address of its node.
pub const VERSION: &str = concat!("weir-sql/", env!("CARGO_PKG_VERSION"));

/// For what is under way when the worker is told to end.
const LEAVE: Duration = Duration::from_secs(5);

/// Memory of the exchange where nobody sets a limit.
const EXCHANGE_BYTES: u64 = 2 << 30;

pub async fn run(mut args: WorkerArgs) -> Result<()> {
    let listener = listen(&args.listen).await?;
    let at = listener.local_addr().map_err(Fail::failed)?;
    let (host, _) = host_and_port(&args.listen).map_err(Fail::usage)?;
    let host = args.advertise.as_deref().unwrap_or(host);
    if args.advertise.is_none() && at.ip().is_unspecified() {
        return Err(Fail::usage(format!(
            "--listen {}: say with --advertise at which host others reach it",
            args.listen
        )));
    }
    let node = open_node(&args, host)?;
    let of_client = args.spill.clone();
    let own = Spill::new(); // DataFusion's own could be looked into by others
    if args.spill.is_none() {
        args.spill = Some(own.of("worker")?);
    }
    let resolver = WeirChannelResolver::new(node.clone());
    let worker = worker(&resolver, &node, &args)?;
    let rows = Server::open(&resolver, worker.clone()).map_err(Fail::failed)?;
    say(&format!("{LISTENING}{host}:{}", at.port()))?;
    let outcome = serve(listener, worker, leave(args.child)?).await;
    drop(rows);
    if let Some(folder) = of_client.as_deref().and_then(Path::parent) {
        // The client is gone; what it had spilled goes, too.
        let _ = std::fs::remove_dir_all(folder);
    }
    outcome
}

async fn listen(address: &str) -> Result<TcpListener> {
    let (host, port) = host_and_port(address).map_err(Fail::usage)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    TcpListener::bind((host, port)).await.map_err(|error| {
        Fail::failed(format!("cannot listen at {address}: {error}"))
    })
}

fn open_node(args: &WorkerArgs, host: &str) -> Result<weir::Node> {
    let rows = match &args.listen_rows {
        Some(rows) => {
            host_and_port(rows).map_err(Fail::usage)?;
            rows.clone()
        }
        None => {
            let (host, _) = host_and_port(&args.listen).map_err(Fail::usage)?;
            format!("{host}:0")
        }
    };
    let mut node = builder(&args.common);
    if args.common.transport.has_ports() && !args.child {
        node = node.listen(rows).advertise(format!("{host}:0"));
    }
    node.open().map_err(Fail::failed)
}

/// A node that talks to many: nobody is a member of anything.
pub fn builder(common: &Common) -> weir::NodeBuilder {
    let memory = common.memory.unwrap_or(EXCHANGE_BYTES);
    weir::Node::builder()
        .name(format!("weir-sql-{}", std::process::id()))
        .transport(common.transport.name())
        .memory_bytes(memory.max(64 << 20))
        .max_peers(512_u64)
}

fn worker(
    resolver: &WeirChannelResolver,
    node: &weir::Node,
    args: &WorkerArgs,
) -> Result<Worker> {
    let resolver = resolver.clone();
    let runtime = runtime(args.common.memory, args.spill.clone())?;
    let build = move |context: WorkerQueryContext| {
        let builder = resolver.worker_session(context);
        async move { Ok::<_, DataFusionError>(builder.build()) }
    };
    Ok(Worker::from_session_builder(build)
        .with_runtime_env(runtime)
        .with_version(format!("{VERSION} {}", node.address())))
}

/// Memory and disk of a process's operators.
pub fn runtime(
    memory: Option<u64>,
    spill: Option<PathBuf>,
) -> Result<Arc<RuntimeEnv>> {
    let mut builder = RuntimeEnvBuilder::new();
    if let Some(bytes) = memory {
        let pool = FairSpillPool::new(bytes as usize);
        builder = builder.with_memory_pool(Arc::new(pool));
    }
    if let Some(folder) = spill {
        let mode = DiskManagerMode::Directories(vec![folder]);
        let disk = DiskManagerBuilder::default().with_mode(mode);
        builder = builder.with_disk_manager_builder(disk);
    }
    builder.build_arc().map_err(|error| Fail::ran(&error))
}

async fn serve(
    listener: TcpListener,
    worker: Worker,
    leave: oneshot::Receiver<()>,
) -> Result<()> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("", tonic_health::ServingStatus::Serving).await;
    let serving = tonic::transport::Server::builder()
        .add_service(health)
        .add_service(worker.into_worker_server())
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::select! {
        outcome = serving => outcome.map_err(Fail::failed),
        _ = leave => Ok(()),
    }
}

/// Told when the worker has to end: by a signal, or by whoever started it.
fn leave(child: bool) -> Result<oneshot::Receiver<()>> {
    let (tell, told) = oneshot::channel();
    if child {
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = tell.send(());
            // Whatever holds up the others, this thread ends the process.
            std::thread::park_timeout(LEAVE);
            std::process::exit(1);
        });
        return Ok(told);
    }
    let on = |kind| signal(kind).map_err(Fail::failed);
    let mut interrupt = on(SignalKind::interrupt())?;
    let mut terminate = on(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let _ = tell.send(());
    });
    Ok(told)
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Fail::stdout(&error))
}
