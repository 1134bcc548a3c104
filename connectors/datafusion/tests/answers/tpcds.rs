// SPDX-License-Identifier: Apache-2.0
//! The 99 queries of TPC-DS, as DuckDB has them.

use crate::common::{Cluster, Member};
use crate::{Case, Known, Query, SHUFFLED, case, data, known, one_node};

/// Queries that DataFusion cannot run on one node either: a part of its error.
const CANNOT: &[(usize, &str)] = &[];

/// Queries that DataFusion Distributed cannot run at SF 1, over its own exchange
/// either: a window's input is sorted without one of the columns that it is
/// partitioned by. Of 47 that is the name of the store's company, the same in all
/// rows there.
const CANNOT_AT_ONE: &[(usize, &str)] = &[(47, ORDER), (57, ORDER)];
const ORDER: &str = "All partition by columns should have an ordering";

/// Of the others, those whose plan has nothing to distribute.
const ALONE: &[&str] = &[];

fn queries(scale: &str, wanted: impl Iterator<Item = usize>) -> Vec<Query> {
    let folder = data(scale).join("queries");
    wanted
        .map(|i| {
            let name = format!("q{i:02}");
            let path = folder.join(format!("{name}.sql"));
            let sql = std::fs::read_to_string(path).unwrap();
            Query { name, sql }
        })
        .collect()
}

fn can(number: &usize) -> bool {
    !CANNOT.iter().any(|(cannot, _)| cannot == number)
}

async fn check(scale: &str, wanted: &[usize], cases: &[Case]) {
    let wanted = wanted.iter().copied().filter(can);
    let one_node = one_node(scale).await;
    let all: Vec<Known> = known(&one_node, queries(scale, wanted)).await;
    for case in cases {
        let start = std::time::Instant::now();
        let distributed = case.check(scale, &all).await;
        println!("{scale}, {case:?}: {:.1?}", start.elapsed());
        let names = all.iter().map(|known| known.query.name.as_str());
        let not = names.filter(|n| !distributed.iter().any(|d| d == n));
        let expected = ALONE
            .iter()
            .filter(|name| all.iter().any(|known| known.query.name == **name));
        assert!(not.eq(expected.copied()), "distributed: {distributed:?}");
    }
}

/// Otherwise the list would rot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tpcds_what_cannot_be_run() {
    let one_node = one_node("tpcds-0.01").await;
    for (number, why) in CANNOT {
        let numbers = std::iter::once(*number);
        let query = queries("tpcds-0.01", numbers).pop().unwrap();
        let outcome = match one_node.sql(&query.sql).await {
            Ok(frame) => frame.collect().await,
            Err(error) => Err(error),
        };
        let error = outcome.expect_err(&query.name).to_string();
        assert!(error.contains(why), "{}: {error}", query.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tpcds_is_right() {
    let wanted = (1..=99).step_by(10).collect::<Vec<_>>();
    check("tpcds-0.01", &wanted, &[case(2, "tcp"), case(3, "shm")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make test-sql-long"]
async fn tpcds_is_right_at_one() {
    let cannot = |i: &usize| CANNOT_AT_ONE.iter().any(|(n, _)| n == i);
    let wanted = (1..=99).filter(|i| !cannot(i)).collect::<Vec<_>>();
    let mut cases = Vec::new();
    for transport in ["shm", "tcp"] {
        for workers in [2, 3] {
            cases.push(case(workers, transport));
        }
    }
    cases.push(Case { set: SHUFFLED, ..case(3, "shm") });
    check("tpcds-1", &wanted, &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make test-sql-long"]
async fn tpcds_what_cannot_be_distributed_at_one() {
    let mut members = Vec::new();
    for _ in 0..2 {
        members.push(Member::open_that("shm", false).await);
    }
    let cluster = Cluster::over_grpc(members, &data("tpcds-1")).await;
    for (number, why) in CANNOT_AT_ONE {
        let numbers = std::iter::once(*number);
        let query = queries("tpcds-1", numbers).pop().unwrap();
        let frame = cluster.session.sql(&query.sql).await.unwrap();
        let error = frame.collect().await.expect_err(&query.name).to_string();
        assert!(error.contains(why), "{}: {error}", query.name);
    }
}
