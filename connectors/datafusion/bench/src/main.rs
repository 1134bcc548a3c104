// SPDX-License-Identifier: Apache-2.0
//! Measures DataFusion Distributed over Weir against its own exchange, gRPC:
//! the exchange alone, and the queries of TPC-H. Exchanges take turns, answers
//! are compared, and losses are printed like the rest.

mod member;
mod report;
mod rows;
mod shuffle;
mod tpch;
mod watch;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use datafusion::common::{Result, exec_err};

use crate::member::Exchange;
use crate::report::{Report, Row};
use crate::shuffle::{Case, Fixture, Kind};
use crate::tpch::Cluster;

#[derive(Parser)]
#[command(about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The exchange alone
    Shuffle(ShuffleArguments),
    /// The queries of TPC-H
    Tpch(TpchArguments),
    /// A worker of one exchange, until standard input ends
    #[command(hide = true)]
    Worker { exchange: Exchange },
}

#[derive(clap::Args)]
struct Common {
    /// What to measure
    #[arg(long, value_delimiter = ',', default_value = "grpc,shm,tcp")]
    exchanges: Vec<Exchange>,
    /// Runs that count; one before them does not
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// One object on one line
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ShuffleArguments {
    #[command(flatten)]
    common: Common,
    /// Rows of each run, at least
    #[arg(long, default_value_t = 400_000)]
    rows: usize,
    #[arg(long, value_delimiter = ',', default_value = "shuffle,transport")]
    kinds: Vec<Kind>,
    /// Most producers, and most consumers
    #[arg(long, default_value_t = 8)]
    tasks: usize,
}

#[derive(clap::Args)]
struct TpchArguments {
    #[command(flatten)]
    common: Common,
    /// Folder with a Parquet file for each table
    #[arg(long)]
    data: PathBuf,
    /// Folder with q01.sql to q22.sql
    #[arg(long)]
    queries: PathBuf,
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// DataFusion's target_partitions
    #[arg(long, default_value_t = 2)]
    partitions: usize,
    /// Numbers of queries [default: all]
    #[arg(long, value_delimiter = ',')]
    only: Vec<usize>,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().what {
        What::Shuffle(arguments) => shuffle(arguments).await,
        What::Tpch(arguments) => tpch(arguments).await,
        What::Worker { exchange } => tpch::worker(exchange).await,
    }
}

/// Who runs as number `turn` of run `run`: each begins in its turn.
fn order(n: usize, run: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |turn| (turn + run) % n)
}

async fn shuffle(arguments: ShuffleArguments) -> Result<()> {
    let Common { exchanges, repeat, json } = arguments.common;
    let n = arguments.tasks;
    let mut fixtures = Vec::new();
    for exchange in &exchanges {
        fixtures.push(Fixture::open(*exchange, n).await?);
    }
    let names = exchanges.iter().map(|e| e.name().to_owned()).collect();
    let mut report = Report::new("shuffle", names, json);
    for kind in arguments.kinds {
        for (producers, consumers) in [(1, 1), (1, n), (n, 1), (n, n)] {
            let case = Case { kind, producers, consumers };
            let mut row = Row::new(case.name(), exchanges.len());
            for run in 0..=repeat {
                for i in order(exchanges.len(), run) {
                    let outcome =
                        fixtures[i].run(&case, arguments.rows).await?;
                    if run > 0 {
                        row.add(i, outcome.time);
                    }
                }
            }
            report.add(row);
        }
    }
    report.end();
    Ok(())
}

async fn tpch(arguments: TpchArguments) -> Result<()> {
    let Common { exchanges, repeat, json } = arguments.common;
    let queries = tpch::queries(&arguments.queries, &arguments.only)?;
    let (partitions, data) = (arguments.partitions, &arguments.data);
    let mut clusters = Vec::new();
    for exchange in &exchanges {
        let n = arguments.workers;
        clusters.push(Cluster::open(*exchange, n, partitions, data).await?);
    }
    clusters.push(Cluster::alone(partitions, data).await?);
    let names = exchanges.iter().map(|e| e.name().to_owned());
    let names = names.chain(["alone".to_owned()]).collect();
    let mut report = Report::new("tpch", names, json);
    for query in &queries {
        let mut row = Row::new(query.name.clone(), clusters.len());
        let mut answer: Option<Vec<String>> = None;
        for run in 0..=repeat {
            for i in order(clusters.len(), run) {
                let (time, lines) = clusters[i].run(&query.sql).await?;
                let answer = answer.get_or_insert_with(|| lines.clone());
                if *answer != lines {
                    return exec_err!("{}: answers differ", query.name);
                }
                if run > 0 {
                    row.add(i, time);
                }
            }
        }
        report.add(row);
    }
    for cluster in &clusters {
        report.memory(cluster.peak(&queries).await?);
    }
    report.end();
    Ok(())
}
