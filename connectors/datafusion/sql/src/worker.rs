// SPDX-License-Identifier: Apache-2.0
//! A worker: one process that runs tasks, for any number of clients.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{
    DiskManagerBuilder, DiskManagerMode,
};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion_distributed::{Worker, WorkerQueryContext};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use weir_datafusion::{Server, WeirChannelResolver};

use crate::args::{Common, WorkerArgs, host_and_port};
use crate::begin;
use crate::cluster::Spill;
use crate::control::{Control, Told};
use crate::fail::{Fail, Result};
use crate::folders::Folders;
use crate::identity::Identity;
use crate::sealed;
use crate::shares::Shares;

/// The line that a worker prints begins with this; the address follows.
pub const LISTENING: &str = "weir-sql worker at ";

/// What a worker says that it is, before the address of its node.
pub const VERSION: &str = concat!("weir-sql/", env!("CARGO_PKG_VERSION"));

/// For what is under way when the worker is told to end.
const LEAVE: Duration = Duration::from_secs(5);

/// So many who have connected may be about to prove who they are.
const PROVING: usize = 64;

/// Memory of the exchange where nobody sets a limit.
const EXCHANGE_BYTES: u64 = 2 << 30;

pub async fn run(mut args: WorkerArgs) -> Result<()> {
    let identity = match args.child {
        true => Identity::given(&first_line()?)?,
        false => Identity::of(&args.common)?,
    };
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
    let node = open_node(&args, &identity, host)?;
    let of_client = args.spill.clone();
    let own = Spill::new(); // DataFusion's own could be looked into by others
    if args.spill.is_none() {
        args.spill = Some(own.of("worker")?);
    }
    let resolver = controlled(node.clone(), &identity);
    let worker = worker(&resolver, &node, &args)?;
    let rows = Server::open(&resolver, worker.clone()).map_err(Fail::failed)?;
    say(&format!("{LISTENING}{host}:{}", at.port()))?;
    let leave = leave(args.child)?;
    let outcome = serve(listener, identity, &resolver, worker, leave).await;
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

/// What the client says first, over the pipe that ends with it.
fn first_line() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Fail::failed(format!("the client: {error}")))?;
    Ok(line)
}

fn open_node(
    args: &WorkerArgs,
    identity: &Identity,
    host: &str,
) -> Result<weir::Node> {
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
    let mut node = builder(&args.common, identity);
    if args.common.transport.has_ports() && !args.child {
        node = node.listen(rows).advertise(format!("{host}:0"));
    }
    node.open().map_err(Fail::failed)
}

/// A node that talks to many: nobody is a member of anything.
pub fn builder(common: &Common, identity: &Identity) -> weir::NodeBuilder {
    let memory = common.memory.unwrap_or(EXCHANGE_BYTES);
    let node = weir::Node::builder()
        .name(format!("weir-sql-{}", std::process::id()))
        .transport(common.transport.name())
        .memory_bytes(memory.max(64 << 20))
        .max_peers(512_u64);
    identity.node(node, common.transport)
}

/// Channels over a node, whose plans go by streams of the same identity.
pub fn controlled(
    node: weir::Node,
    identity: &Identity,
) -> WeirChannelResolver {
    let identity = identity.clone();
    WeirChannelResolver::new(node)
        .with_control(move || Arc::new(Control::new(&identity)))
}

fn worker(
    resolver: &WeirChannelResolver,
    node: &weir::Node,
    args: &WorkerArgs,
) -> Result<Worker> {
    let resolver = resolver.clone();
    let runtime = runtime(args.common.memory, args.spill.clone())?;
    if !args.child {
        let url = url::Url::parse("file:///").map_err(Fail::failed)?;
        let folders = Arc::new(Folders::new(&args.data)?);
        runtime.register_object_store(&url, folders);
    }
    let shares = Arc::new(Shares::new(runtime.clone()));
    let build = move |context: WorkerQueryContext| {
        let told = Told::of(&context.headers);
        let builder = resolver.worker_session(context);
        let session = as_told(builder, &told, &shares);
        async move { Ok::<_, DataFusionError>(session?.build()) }
    };
    Ok(Worker::from_session_builder(build)
        .with_runtime_env(runtime)
        .with_version(format!("{VERSION} {}", node.address())))
}

/// A session as its client has set it.
fn as_told(
    mut builder: SessionStateBuilder,
    told: &Told,
    shares: &Shares,
) -> datafusion::common::Result<SessionStateBuilder> {
    let config = builder.config().get_or_insert_default();
    for (key, value) in &told.options {
        config.options_mut().set(key, value)?;
    }
    match told.memory {
        Some(bytes) => Ok(builder.with_runtime_env(shares.of(bytes)?)),
        None => Ok(builder),
    }
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
    identity: Identity,
    resolver: &WeirChannelResolver,
    worker: Worker,
    leave: oneshot::Receiver<()>,
) -> Result<()> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("", tonic_health::ServingStatus::Serving).await;
    let (to, streams) = mpsc::channel(1);
    let accepts = accept_all(listener, identity, to);
    let serving = tonic::transport::Server::builder()
        .add_service(health)
        .add_service(resolver.control(worker.into_worker_server()))
        .serve_with_incoming(ReceiverStream::new(streams));
    tokio::select! {
        outcome = serving => outcome.map_err(Fail::failed),
        outcome = accepts => outcome,
        _ = leave => Ok(()),
    }
}

/// Streams of those who know the secret. Nobody waits for who is slow to prove
/// it, and of those there are never many.
async fn accept_all(
    listener: TcpListener,
    identity: Identity,
    to: mpsc::Sender<std::io::Result<sealed::Stream>>,
) -> Result<()> {
    let room = Arc::new(Semaphore::new(PROVING));
    loop {
        let place = room.clone().acquire_owned().await;
        let io = match listener.accept().await {
            Ok((io, _)) => io,
            Err(error) if is_passing(&error) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            Err(error) => return Err(Fail::failed(error)),
        };
        let (identity, to) = (identity.clone(), to.clone());
        tokio::spawn(async move {
            let stream = sealed::accept(io, &identity).await;
            drop(place);
            if let Ok(stream) = stream {
                let _ = to.send(Ok(stream)).await;
            }
        });
    }
}

/// Of one connection, or until something is closed.
fn is_passing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    let kinds = [ConnectionAborted, ConnectionReset, Interrupted];
    let full = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    kinds.contains(&error.kind())
        || error.raw_os_error().is_some_and(|code| full.contains(&code))
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
    begin::print(&format!("{line}\n")).map_err(|error| Fail::stdout(&error))
}
