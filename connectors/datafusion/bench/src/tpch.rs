// SPDX-License-Identifier: Apache-2.0
//! The queries of TPC-H on local workers, each a process.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt, WorkerResolver};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;
use weir_datafusion::distribute;

use crate::member::{Exchange, Member, Resolver};
use crate::watch::Watch;

/// Serve until standard input ends, which it does with the parent.
pub async fn worker(exchange: Exchange) -> Result<()> {
    let member = Member::open(exchange).await?;
    println!("{}", member.url);
    let mut input = tokio::io::stdin();
    tokio::io::copy(&mut input, &mut tokio::io::sink()).await?;
    Ok(())
}

struct Process {
    child: Child,
    url: Url,
}

impl Process {
    async fn start(exchange: Exchange) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["worker", exchange.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().expect("it is piped");
        let line = BufReader::new(out).lines().next_line().await?;
        let url = line.as_deref().and_then(|line| Url::parse(line).ok());
        let url = url
            .ok_or_else(|| exec_datafusion_err!("a worker has not started"))?;
        Ok(Self { child, url })
    }
}

struct Urls(Vec<Url>);

impl WorkerResolver for Urls {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}

pub struct Cluster {
    workers: Vec<Process>,
    session: SessionContext,
}

impl Cluster {
    /// Workers of an exchange, and a coordinator in this process.
    pub async fn open(
        exchange: Exchange,
        workers: usize,
        partitions: usize,
        data: &Path,
    ) -> Result<Self> {
        let mut processes = Vec::new();
        for _ in 0..workers {
            processes.push(Process::start(exchange).await?);
        }
        let urls = processes.iter().map(|process| process.url.clone());
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config(partitions));
        let state = distribute(state)
            .with_distributed_worker_resolver(Urls(urls.collect()))
            .with_distributed_channel_resolver(Resolver::new(exchange.node()?))
            .with_distributed_compression(exchange.compression())?
            .build();
        let session = SessionContext::from(state);
        register(&session, data).await?;
        Ok(Self { workers: processes, session })
    }

    /// One process, nothing exchanged.
    pub async fn alone(partitions: usize, data: &Path) -> Result<Self> {
        let session = SessionContext::new_with_config(config(partitions));
        register(&session, data).await?;
        Ok(Self { workers: Vec::new(), session })
    }

    /// Time from text to rows, and those as sorted lines.
    pub async fn run(&self, sql: &str) -> Result<(Duration, Vec<String>)> {
        let begin = Instant::now();
        let batches = self.session.sql(sql).await?.collect().await?;
        let time = begin.elapsed();
        let text = pretty_format_batches(&batches)?.to_string();
        let mut lines = text.lines().map(str::to_owned).collect::<Vec<_>>();
        lines.sort();
        Ok((time, lines))
    }

    /// Most memory that its workers have at a time while queries run; None: it
    /// has none. Nothing is timed meanwhile.
    pub async fn peak(&self, queries: &[Query]) -> Result<Option<u64>> {
        if self.workers.is_empty() {
            return Ok(None);
        }
        let ids = self.workers.iter().filter_map(|w| w.child.id()).collect();
        let watch = Watch::start(ids);
        for query in queries {
            self.run(&query.sql).await?;
        }
        watch.stop().map(Some)
    }
}

fn config(partitions: usize) -> SessionConfig {
    SessionConfig::new().with_target_partitions(partitions)
}

async fn register(session: &SessionContext, data: &Path) -> Result<()> {
    for table in [
        "customer", "lineitem", "nation", "orders", "part", "partsupp",
        "region", "supplier",
    ] {
        let path = data.join(format!("{table}.parquet"));
        let path = path.to_string_lossy();
        let options = ParquetReadOptions::default();
        session.register_parquet(table, &path, options).await?;
    }
    Ok(())
}

/// A query: its name, and its text.
pub struct Query {
    pub name: String,
    pub sql: String,
}

/// Those of a folder, `q01.sql` and so on, or some of them by number.
pub fn queries(folder: &Path, only: &[usize]) -> Result<Vec<Query>> {
    let numbers =
        if only.is_empty() { (1..=22).collect() } else { only.to_vec() };
    let read = |number: usize| {
        let name = format!("q{number:02}");
        let path = PathBuf::from(folder).join(format!("{name}.sql"));
        let sql = std::fs::read_to_string(&path).map_err(|error| {
            DataFusionError::Context(
                path.display().to_string(),
                Box::new(error.into()),
            )
        })?;
        Ok(Query { name, sql })
    };
    numbers.into_iter().map(read).collect()
}
