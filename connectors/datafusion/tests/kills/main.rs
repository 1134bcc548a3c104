// SPDX-License-Identifier: Apache-2.0
//! Queries over worker processes of which one is killed now and then, or whose
//! results are dropped: each query gives the right rows or an error that names
//! the lost worker, and nothing is left behind.
//!
//! The moments are drawn from a seed, which `WEIR_SEED` sets.

#[path = "../common/mod.rs"]
mod common;
mod process;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{alone, run, session, within};
use datafusion::prelude::SessionContext;
use process::{Process, Usage, left};

/// From a kill to the error of the query, at most.
const AT_ONCE: Duration = Duration::from_secs(5);

/// What a process may take more after hundreds of queries than after some.
const RESIDENT_KIB: u64 = 48 << 10;
const DESCRIPTORS: usize = 16; // links come and go

const QUERIES: [&str; 6] = ["q03", "q05", "q09", "q12", "q18", "q21"];

struct Query {
    sql: String,
    expected: Vec<String>,
    takes: Duration,
}

/// As good as any, and the same everywhere: Knuth's.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn data() -> PathBuf {
    let folder = std::env::var_os("WEIR_SQL_DATA")
        .expect("WEIR_SQL_DATA: run this by make test-sql, which sets it");
    PathBuf::from(folder).join("tpch-0.02")
}

async fn queries(session: &SessionContext) -> Vec<Query> {
    let plans =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/plans/tpch");
    let alone = alone(&data()).await;
    let mut all = Vec::new();
    for name in QUERIES {
        let path = plans.join(format!("{name}.sql"));
        let sql = std::fs::read_to_string(path).unwrap();
        let expected = run(&alone, &sql).await.unwrap();
        let start = Instant::now();
        let got = within(run(session, &sql)).await.unwrap();
        assert_eq!(got, expected, "{name}");
        all.push(Query { sql, expected, takes: start.elapsed() });
    }
    all
}

struct Loop {
    workers: Vec<Process>,
    session: SessionContext,
    queries: Vec<Query>,
    random: Random,
    right: usize,
    killed: usize, // workers
    lost: usize,   // queries, by that
    dropped: usize,
    latest: Duration,
}

impl Loop {
    async fn open(transport: &str, seed: u64) -> Self {
        let name = |i| format!("kills-{}-{transport}-{i}", std::process::id());
        let workers = (0..3)
            .map(|i| Process::start(transport, &name(i)))
            .collect::<Vec<_>>();
        let urls = workers.iter().map(|w| w.url.clone()).collect();
        let session = session(transport, urls, &data()).await;
        let queries = queries(&session).await;
        Self {
            workers,
            session,
            queries,
            random: Random(seed),
            right: 0,
            killed: 0,
            lost: 0,
            dropped: 0,
            latest: Duration::ZERO,
        }
    }

    /// A query, and what befalls it: nothing, a kill, or that it is dropped.
    async fn step(&mut self) {
        let query = self.random.below(self.queries.len() as u64) as usize;
        let takes = self.queries[query].takes.as_micros() as u64;
        let moment = Duration::from_micros(self.random.below(takes * 5 / 4));
        match self.random.below(6) {
            0..3 => self.with_kill(query, moment).await,
            3 => self.with_drop(query, moment).await,
            _ => {}
        }
        let start = Instant::now();
        let Query { sql, expected, .. } = &self.queries[query];
        let got = within(run(&self.session, sql)).await;
        assert_eq!(&got.unwrap(), expected, "{sql}");
        self.right += 1;
        self.queries[query].takes = start.elapsed();
    }

    /// Worker 0 is never killed: what it takes is looked at.
    async fn with_kill(&mut self, query: usize, moment: Duration) {
        let victim = 1 + self.random.below(2) as usize;
        let sql = self.queries[query].sql.clone();
        let session = self.session.clone();
        let running =
            tokio::spawn(async move { within(run(&session, &sql)).await });
        tokio::time::sleep(moment).await;
        self.workers[victim].kill();
        let start = Instant::now();
        self.killed += 1;
        match running.await.unwrap() {
            Ok(rows) => {
                assert_eq!(rows, self.queries[query].expected);
                self.right += 1;
            }
            Err(error) => {
                let took = start.elapsed();
                let text = error.to_string();
                let name = self.workers[victim].control();
                assert!(text.contains(&name), "{name} was lost: {text}");
                assert!(took < AT_ONCE, "after {took:?}: {text}");
                self.latest = self.latest.max(took);
                self.lost += 1;
            }
        }
        self.workers[victim].restart();
    }

    async fn with_drop(&mut self, query: usize, moment: Duration) {
        let running = run(&self.session, &self.queries[query].sql);
        match tokio::time::timeout(moment, running).await {
            Ok(rows) => {
                assert_eq!(rows.unwrap(), self.queries[query].expected);
                self.right += 1;
            }
            Err(_) => self.dropped += 1,
        }
    }

    fn usage(&self) -> [Usage; 2] {
        [Usage::own(), self.workers[0].usage()]
    }

    fn queries_run(&self) -> usize {
        self.right + self.lost + self.dropped
    }

    /// Nothing more is held than after the first queries.
    async fn check_usage(&self, before: [Usage; 2]) {
        let flat = |now: Usage, before: Usage| {
            now.descriptors <= before.descriptors + DESCRIPTORS
                && now.resident_kib <= before.resident_kib + RESIDENT_KIB
        };
        let all_flat = || {
            let now = self.usage();
            now.iter().zip(before).all(|(now, before)| flat(*now, before))
        };
        let start = Instant::now();
        while !all_flat() {
            let now = self.usage();
            let late = start.elapsed() > Duration::from_secs(20);
            assert!(!late, "client, worker: {now:?}, before {before:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn kills(transport: &str, queries: usize) {
    let seed = std::env::var("WEIR_SEED").map_or(1, |s| s.parse().unwrap());
    let start = Instant::now();
    let mut all = Loop::open(transport, seed).await;
    let settled = queries / 5;
    while all.queries_run() < settled {
        all.step().await;
    }
    let usage = all.usage();
    while all.queries_run() < queries {
        all.step().await;
    }
    all.check_usage(usage).await;
    println!(
        "{transport}, seed {seed}: {} queries, {} right, {} dropped; {} \
         kills, {} queries lost, the error {:.3?} after the kill at most; \
         client and worker {usage:?}, then {:?}; {:.0?}",
        all.queries_run(),
        all.right,
        all.dropped,
        all.killed,
        all.lost,
        all.latest,
        all.usage(),
        start.elapsed(),
    );
    if transport == "shm" {
        assert!(left().len() >= 4, "{:?}", left());
    }
    assert!(all.lost > 0, "nothing was tested");
    drop(all);
    let gone = async {
        while !left().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = tokio::time::timeout(AT_ONCE, gone).await;
    assert!(in_time.is_ok(), "{:?}", left());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_and_kills() {
    kills("shm", 30).await;
    kills("tcp", 30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make test-sql-long"]
async fn many_queries_and_kills() {
    kills("shm", 500).await;
    kills("tcp", 500).await;
}
