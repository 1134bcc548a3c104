// SPDX-License-Identifier: Apache-2.0
//! The 22 queries of TPC-H.

use std::path::Path;

use crate::order::Order;
use crate::rows::{compare, parse, sorted};
use crate::{
    Case, DYNAMIC, Known, Query, SHUFFLED, case, data, known, one_node,
};

fn queries() -> Vec<Query> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/plans/tpch");
    let numbers = 1..=22;
    numbers
        .map(|i| {
            let name = format!("q{i:02}");
            let path = folder.join(format!("{name}.sql"));
            let sql = std::fs::read_to_string(path).unwrap();
            Query { name, sql }
        })
        .collect()
}

/// One node's answers, which are DuckDB's.
async fn answers(scale: &str) -> Vec<Known> {
    let all = known(&one_node(scale).await, queries()).await;
    for Known { query, order, answer } in &all {
        let path = data(scale).join(format!("answers/{}.tsv", query.name));
        let duckdb = parse(&std::fs::read_to_string(path).unwrap());
        // In another order where that is free, and no LIMIT cuts there.
        let outcome = match order {
            Order::Total => compare(answer, &duckdb),
            Order::None | Order::Ties => {
                compare(&sorted(answer.clone()), &sorted(duckdb))
            }
        };
        if let Err(why) = outcome {
            panic!("{scale} {}, DuckDB: {why}", query.name);
        }
    }
    all
}

async fn check(scale: &str, cases: &[Case]) {
    let all = answers(scale).await;
    for case in cases {
        let start = std::time::Instant::now();
        let distributed = case.check(scale, &all).await;
        println!("{scale}, {case:?}: {:.1?}", start.elapsed());
        if case.workers > 1 {
            assert_eq!(distributed.len(), all.len(), "{distributed:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tpch_is_right() {
    let cases = [
        case(3, "shm"),
        Case { set: SHUFFLED, ..case(2, "tcp") },
        Case { set: DYNAMIC, ..case(5, "auto") },
    ];
    check("tpch-0.02", &cases).await;
}

async fn all_cases(scale: &str) {
    for transport in ["shm", "tcp", "auto"] {
        for workers in [1, 2, 3, 5] {
            let plain = case(workers, transport);
            let shuffled = Case { set: SHUFFLED, ..plain };
            check(scale, &[plain, shuffled]).await;
        }
        check(scale, &[Case { set: DYNAMIC, ..case(3, transport) }]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make test-sql-long"]
async fn tpch_is_right_at_a_tenth() {
    all_cases("tpch-0.1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make test-sql-long"]
async fn tpch_is_right_at_one() {
    all_cases("tpch-1").await;
}
