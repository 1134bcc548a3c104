// SPDX-License-Identifier: Apache-2.0
//! The workers of a client: started here, or running elsewhere; and watching
//! that they live.

use std::collections::hash_map::RandomState;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use datafusion::common::Result as DataFusionResult;
use datafusion_distributed::{
    ChannelResolver, GetWorkerInfoRequest, WorkerResolver,
};
use futures::future::try_join_all;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use url::Url;

use crate::args::{Client, Common, Exchange, host_and_port};
use crate::control::{self, Control};
use crate::fail::{Fail, Result, Status};
use crate::identity::Identity;
use crate::worker::{LISTENING, VERSION};

/// To start, or to answer the first time.
const START: Duration = Duration::from_secs(20);

/// A worker that is asked whether it lives answers within this.
const ALIVE: Duration = Duration::from_secs(20);

/// After a query has failed.
const ANSWER: Duration = Duration::from_secs(2);

/// The first worker that is lost, and why.
type Lost = Option<Fail>;

pub struct Cluster {
    urls: Vec<Url>,
    identity: Identity,
    lost: watch::Receiver<Lost>,
    watches: Vec<JoinHandle<()>>,
    children: Vec<Started>,
}

/// A worker that this command has started.
struct Started {
    end: Arc<Notify>,
    _stdin: ChildStdin, // closed, it tells the worker to end
    ended: JoinHandle<()>,
}

/// Where operators spill: a new folder that only this user may enter. It goes
/// with the command, however its parts end.
pub struct Spill(OnceLock<PathBuf>);

impl Spill {
    /// Made when the first process asks for its folder.
    pub fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The folder of one process.
    pub fn of(&self, process: &str) -> Result<PathBuf> {
        let root = match self.0.get() {
            Some(root) => root,
            None => {
                let root = make_root(&std::env::temp_dir())?;
                self.0.get_or_init(|| root)
            }
        };
        let folder = root.join(process);
        let made =
            DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| {
            Fail::failed(format!("{}: {error}", folder.display()))
        })?;
        Ok(folder)
    }
}

/// As mkdtemp(3): what is there already, whoever made it, is not taken.
fn make_root(parent: &Path) -> Result<PathBuf> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let root = parent
            .join(format!("weir-sql-{}-{random:016x}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&root) {
            Ok(()) => return Ok(root),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = format!("{}: {error}", root.display());
                return Err(Fail::failed(why));
            }
        }
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if let Some(root) = self.0.get() {
            let _ = std::fs::remove_dir_all(root);
        }
    }
}

/// A worker as it has told of itself.
struct Found {
    name: String,
    control: Url,
    url: Url,
}

impl Cluster {
    /// Start workers, or find those that run.
    pub async fn open(
        client: &Client,
        identity: &Identity,
        workers: u16,
        spill: &Spill,
    ) -> Result<Self> {
        let (tell, lost) = watch::channel(None);
        let tell = Arc::new(tell);
        let mut cluster = Self {
            urls: Vec::new(),
            identity: identity.clone(),
            lost,
            watches: Vec::new(),
            children: Vec::new(),
        };
        let names = match client.connect.is_empty() {
            true => {
                let common = &client.common;
                cluster.start_all(common, workers, spill, &tell).await?
            }
            false => given(&client.connect),
        };
        let found = names
            .iter()
            .map(|(name, at)| find(name, at, client.exchange, identity));
        for found in try_join_all(found).await? {
            cluster.urls.push(found.url.clone());
            if !client.connect.is_empty() {
                let look = look(found, identity.clone(), tell.clone());
                cluster.watches.push(tokio::spawn(look));
            }
        }
        Ok(cluster)
    }

    pub fn urls(&self) -> Vec<Url> {
        self.urls.clone()
    }

    /// Until a worker is lost: which one, and why.
    pub async fn lost(&self) -> Fail {
        let mut lost = self.lost.clone();
        let some = lost.wait_for(Option::is_some).await;
        match some.ok().and_then(|some| some.clone()) {
            Some(fail) => fail,
            None => std::future::pending().await, // nobody to be lost
        }
    }

    /// Is one lost already?
    pub fn is_lost(&self) -> Option<Fail> {
        self.lost.borrow().clone()
    }

    /// Does none of them keep silent?
    pub async fn all_answer(&self) -> bool {
        let resolver = Control::new(&self.identity);
        let ask = self.urls.iter().map(|url| {
            let mut url = url.clone();
            url.set_query(None);
            let resolver = resolver.clone();
            async move {
                let mut channel =
                    resolver.get_worker_client_for_url(&url).await?;
                channel.get_worker_info(GetWorkerInfoRequest {}).await
            }
        });
        let answers = tokio::time::timeout(ANSWER, try_join_all(ask)).await;
        matches!(answers, Ok(Ok(_)))
    }

    /// Workers of this host: their names, and where they listen.
    async fn start_all(
        &mut self,
        common: &Common,
        workers: u16,
        spill: &Spill,
        lost: &Arc<watch::Sender<Lost>>,
    ) -> Result<Vec<(String, String)>> {
        let mut started = Vec::new();
        for i in 1..=workers {
            let spill = spill.of(&format!("worker-{i}"))?;
            started.push(self.start(i, common, &spill, lost).await?);
        }
        try_join_all(started.into_iter().map(listening)).await
    }

    /// The i-th one: its name, and what it prints.
    async fn start(
        &mut self,
        i: u16,
        common: &Common,
        spill: &Path,
        lost: &Arc<watch::Sender<Lost>>,
    ) -> Result<(String, ChildStdout)> {
        let mut child = spawn(common, spill).map_err(|error| {
            Fail::failed(format!("cannot start worker {i}: {error}"))
        })?;
        let pid = child.id().unwrap_or_default();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(Fail::failed("a worker without pipes"));
        };
        // If it has ended, that is found below.
        let _ = stdin.write_all(&self.identity.line()).await;
        let name = format!("worker {i} (process {pid})");
        let end = Arc::new(Notify::new());
        let ended = wait(child, name.clone(), end.clone(), lost.clone());
        let ended = tokio::spawn(ended);
        self.children.push(Started { end, _stdin: stdin, ended });
        Ok((name, stdout))
    }

    /// End what was started, and wait for it.
    pub async fn close(mut self) {
        for child in &self.children {
            child.end.notify_one();
        }
        for child in std::mem::take(&mut self.children) {
            let _ = child.ended.await;
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.abort();
        }
    }
}

/// Until a worker has ended, by itself or because it has to.
async fn wait(
    mut child: Child,
    name: String,
    end: Arc<Notify>,
    lost: Arc<watch::Sender<Lost>>,
) {
    let how = tokio::select! {
        status = child.wait() => match status {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        },
        () = end.notified() => return drop(child.kill().await),
    };
    tell(&lost, &name, &how);
}

/// The line that a worker prints when it is ready.
async fn listening(
    (name, stdout): (String, ChildStdout),
) -> Result<(String, String)> {
    let mut lines = BufReader::new(stdout);
    let mut line = String::new();
    let read = lines.read_line(&mut line);
    let read = tokio::time::timeout(START, read).await;
    // Nothing else is expected; and if something came, it would block.
    tokio::spawn(async move { lines.read_to_end(&mut Vec::new()).await });
    match (read, line.trim_end().strip_prefix(LISTENING)) {
        (Ok(Ok(_)), Some(at)) => Ok((name, at.to_owned())),
        (Err(_), _) => Err(Fail::failed(format!("{name} does not start"))),
        _ => Err(Fail::failed(format!("{name} has not started"))),
    }
}

/// Workers that run already, as their user names them.
fn given(connect: &[String]) -> Vec<(String, String)> {
    let name = |at: &String| (format!("worker {at}"), at.clone());
    connect.iter().map(name).collect()
}

fn spawn(common: &Common, spill: &Path) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["worker", "--child", "--listen", "127.0.0.1:0"]);
    command.args(["--transport", common.transport.name()]);
    if let Some(memory) = common.memory {
        command.arg("--memory").arg(memory.to_string());
    }
    command.arg("--spill").arg(spill);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C is for the client alone.
    command.process_group(0).kill_on_drop(true);
    command.spawn()
}

/// Ask a worker who it is.
async fn find(
    name: &str,
    at: &str,
    exchange: Exchange,
    identity: &Identity,
) -> Result<Found> {
    host_and_port(at)
        .map_err(|text| Fail::usage(format!("--connect: {text}")))?;
    let control = Url::parse(&format!("http://{at}"))
        .map_err(|error| Fail::usage(format!("--connect: {at}: {error}")))?;
    let ask = async {
        let resolver = Control::new(identity);
        let mut channel = resolver.get_worker_client_for_url(&control).await?;
        channel.get_worker_info(GetWorkerInfoRequest {}).await
    };
    let answer = tokio::time::timeout(START, ask).await;
    let info = match answer {
        Ok(Ok(info)) => info.version,
        Ok(Err(error)) => return Err(unreached(name, &cause(&error))),
        Err(_) => return Err(unreached(name, "no answer")),
    };
    let Some((VERSION, node)) = info.split_once(' ') else {
        let text = format!("{name} is no worker of {VERSION}, but `{info}`");
        return Err(Fail::failed(text));
    };
    let url = match exchange {
        Exchange::Weir => weir_datafusion::worker_url(&control, node),
        Exchange::Grpc => control.clone(),
    };
    let name = match name.ends_with(at) {
        true => name.to_owned(),
        false => format!("{name} at {at}"),
    };
    Ok(Found { name, control, url })
}

/// The innermost of an error, which says what the system has said.
fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn unreached(name: &str, why: &str) -> Fail {
    Fail::new(Status::Lost, format!("{name} is not there: {why}"))
}

/// Hold a stream of a worker's that ends only with it.
async fn look(
    worker: Found,
    identity: Identity,
    lost: Arc<watch::Sender<Lost>>,
) {
    let watch = async {
        let channel =
            control::connect(&worker.control, &identity, |endpoint| {
                endpoint
                    .http2_keep_alive_interval(ALIVE / 4)
                    .keep_alive_timeout(ALIVE)
                    .keep_alive_while_idle(true)
            });
        let channel = channel.await?;
        let request = HealthCheckRequest { service: String::new() };
        let mut client = HealthClient::new(channel);
        let mut states = client.watch(request).await?.into_inner();
        while states.message().await?.is_some() {}
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    let why = match watch.await {
        Ok(()) => "it has ended".to_owned(),
        Err(error) => cause(error.as_ref()),
    };
    tell(&lost, &worker.name, &why);
}

/// The first one counts.
fn tell(lost: &watch::Sender<Lost>, name: &str, how: &str) {
    lost.send_if_modified(|lost| {
        let first = lost.is_none();
        if first {
            let text = format!("{name} is lost: {how}");
            *lost = Some(Fail::new(Status::Lost, text));
        }
        first
    });
}

/// What DataFusion asks for the workers.
pub struct Urls(pub Arc<Mutex<Vec<Url>>>);

impl WorkerResolver for Urls {
    fn get_urls(&self) -> DataFusionResult<Vec<Url>> {
        Ok(self.0.lock().unwrap_or_else(|e| e.into_inner()).clone())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::metadata;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_to_spill_to_is_new_and_of_this_user_alone() {
        let spill = Spill::new();
        let folder = spill.of("client").unwrap();
        let root = folder.parent().unwrap().to_owned();
        for made in [&root, &folder] {
            let mode = metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", made.display());
        }
        assert_eq!(spill.of("client").unwrap(), folder);
        let other = Spill::new();
        assert_ne!(other.of("client").unwrap(), folder);
        drop(spill);
        assert!(!root.exists());
    }
}
