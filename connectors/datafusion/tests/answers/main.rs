// SPDX-License-Identifier: Apache-2.0
//! Answers of clusters to the queries of TPC-H and TPC-DS: those of DataFusion
//! on one node, and for TPC-H those of DuckDB too.
//!
//! `make test-sql` makes the tables (`tests/tpc.py`) and says in `WEIR_SQL_DATA`
//! where they are. The tests that are ignored take many minutes: `make
//! test-sql-long`.

#[path = "../common/mod.rs"]
mod common;
mod order;
mod rows;
mod tpcds;
mod tpch;

use std::path::PathBuf;
use std::time::Duration;

use common::{Cluster, alone};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use order::{Order, order_of};
use rows::{Rows, compare};

/// So long that only a hang takes it.
const LONG: Duration = Duration::from_secs(300);

pub struct Query {
    pub name: String,
    pub sql: String,
}

/// A query with its right answer.
pub struct Known {
    pub query: Query,
    pub order: Order,
    pub answer: Rows,
}

/// The tables of a benchmark and a scale, as `tpc.py` made them.
pub fn data(name: &str) -> PathBuf {
    let folder = std::env::var_os("WEIR_SQL_DATA")
        .expect("WEIR_SQL_DATA: run this by make test-sql, which sets it");
    let folder = PathBuf::from(folder).join(name);
    assert!(folder.is_dir(), "{} is not there", folder.display());
    folder
}

/// The answers of one node.
pub async fn known(
    session: &SessionContext,
    queries: Vec<Query>,
) -> Vec<Known> {
    let mut all = Vec::new();
    for query in queries {
        let order = order_of(session, &query.sql).await.unwrap();
        let answer = order::run(session, &query.sql, order).await.unwrap();
        all.push(Known { query, order, answer });
    }
    all
}

/// A cluster, and what is set in its session.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub workers: usize,
    pub transport: &'static str,
    pub set: &'static [&'static str],
}

/// What the planner does otherwise.
pub const SHUFFLED: &[&str] = &["distributed.broadcast_joins = false"];
pub const DYNAMIC: &[&str] = &[
    "distributed.dynamic_task_count = true",
    "distributed.dynamic_bytes_per_partition = 4096",
];

pub const fn case(workers: usize, transport: &'static str) -> Case {
    Case { workers, transport, set: &[] }
}

impl Case {
    pub async fn open(&self, data: &str) -> Cluster {
        let folder = crate::data(data);
        let cluster =
            Cluster::open(self.workers, self.transport, &folder).await;
        for set in self.set {
            cluster.session.sql(&format!("SET {set}")).await.unwrap();
        }
        cluster
    }

    /// All the answers; the names of the queries that were distributed.
    pub async fn check(&self, data: &str, all: &[Known]) -> Vec<String> {
        let cluster = self.open(data).await;
        let mut distributed = Vec::new();
        let mut wrong = Vec::new();
        for Known { query, order, answer } in all {
            let Query { name, sql } = query;
            match why_here(&cluster.session, sql).await {
                None => distributed.push(name.clone()),
                Some(plan) => println!("{name} on one node:\n{plan}"),
            }
            let run = order::run(&cluster.session, sql, *order);
            let outcome = match tokio::time::timeout(LONG, run).await {
                Ok(Ok(got)) => compare(&got, answer),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => panic!("{data} {name}, {self:?}: hangs"),
            };
            if let Err(why) = outcome {
                wrong.push(format!("{data} {name}, {self:?}: {why}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        common::within(cluster.quiet()).await;
        distributed
    }
}

/// The plan of a query that is not distributed; its first line says why.
async fn why_here(session: &SessionContext, sql: &str) -> Option<String> {
    let frame = session.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    (!text.contains("DistributedExec")).then_some(text)
}

/// One node over the same tables.
pub async fn one_node(data: &str) -> SessionContext {
    alone(&crate::data(data)).await
}
