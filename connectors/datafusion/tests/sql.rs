// SPDX-License-Identifier: Apache-2.0
//! Answers of a cluster are those of one node.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::StringArray;
use arrow::record_batch::RecordBatch;
use common::*;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    ChannelResolver, ExecuteTaskRequest, MaybeEncoded, ProducerHead,
    SetPlanRequest, TaskKey,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderValue};
use weir_datafusion::WeirChannelResolver;

const QUERIES: &[&str] = &[
    // shuffles of an aggregation
    "SELECT o_status, count(*), sum(o_price), min(o_id)
     FROM orders GROUP BY o_status",
    // of a join, with texts as views, dictionaries and lists
    "SELECT o_id, o_status, i_part, i_kind, i_list, i_price
     FROM orders JOIN items ON o_id = i_order WHERE o_customer < 30",
    "SELECT i_kind, count(distinct i_part), sum(o_price)
     FROM items LEFT JOIN orders ON o_id = i_order GROUP BY i_kind",
    // to one node, in order, and not all of it
    "SELECT o_id, o_price FROM orders ORDER BY o_price DESC, o_id LIMIT 17",
    "SELECT count(*) FROM items",
    // batches of no columns
    "SELECT c.o_id FROM orders a, orders b, orders c
     WHERE a.o_customer + b.o_customer < 99 AND a.o_id < 9
     AND b.o_id < 9 AND c.o_id < 99",
    "SELECT o_customer FROM orders WHERE o_id < 0",
    "SELECT o_customer, i_part, count(*) AS n FROM orders, items
     WHERE o_id = i_order AND o_id IN
         (SELECT i_order FROM items GROUP BY i_order HAVING count(*) > 6)
     GROUP BY o_customer, i_part ORDER BY n DESC, o_customer, i_part LIMIT 50",
];

async fn answers(transport: &str, workers: usize) {
    let folder = tables().await;
    let alone = alone(folder.path()).await;
    let cluster = Cluster::open(workers, transport, folder.path()).await;
    for sql in QUERIES {
        let expected = run(&alone, sql).await.unwrap();
        for _ in 0..3 {
            let got = within(run(&cluster.session, sql)).await.unwrap();
            assert_eq!(got, expected, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_right_over_shm() {
    answers("shm", 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_right_over_tcp() {
    answers("tcp", 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_right_of_two_and_five_workers() {
    answers("shm", 2).await;
    answers("shm", 5).await;
}

/// Otherwise nothing was tested.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_are_distributed() {
    let folder = tables().await;
    let cluster = Cluster::open(3, "shm", folder.path()).await;
    let frame = cluster.session.sql(QUERIES[1]).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let text = displayable(plan.as_ref()).indent(false).to_string();
    assert!(text.contains("Distributed"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_arrive_whole_and_hurt_nothing_else() {
    let folder = tables().await;
    let cluster = Cluster::open(3, "shm", folder.path()).await;
    let bad = "SELECT i_kind, sum(i_order / (i_id - 17)) FROM items
               GROUP BY i_kind";
    for _ in 0..5 {
        let error = within(run(&cluster.session, bad)).await.unwrap_err();
        assert!(error.to_string().contains("Divide by zero"), "{error}");
        let got = within(run(&cluster.session, QUERIES[0])).await.unwrap();
        assert_eq!(got.len(), 6 + 4, "{got:?}"); // six rows, and lines
    }
    within(cluster.quiet()).await;
}

/// Of one kind, or a panic: it arrives as such, and the query ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_of_errors_arrive() {
    let folder = tables().await;
    let cluster = Cluster::open(3, "shm", folder.path()).await;
    let sql = |function| {
        format!(
            "SELECT i_kind, count(*) FROM items
             WHERE i_id <> 17 OR {function}(i_id) GROUP BY i_kind"
        )
    };
    let run = async |sql: String| {
        let outcome = within(run(&cluster.session, &sql)).await;
        within(cluster.quiet()).await;
        outcome.unwrap_err()
    };
    let error = run(sql("exhausted")).await;
    let root = error.find_root();
    let exhausted = matches!(root, DataFusionError::ResourcesExhausted(_));
    assert!(exhausted, "{error}");
    assert!(error.to_string().contains("no more of it"), "{error}");
    let error = run(sql("panics")).await;
    assert!(error.to_string().contains("a fault of its own"), "{error}");
}

/// A result that is dropped stops what makes it, and frees its slots.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_results_leave_nothing_behind() {
    let folder = tables().await;
    let cluster = Cluster::open(3, "shm", folder.path()).await;
    let sql = "SELECT * FROM orders JOIN items ON o_customer = i_order % 97";
    for _ in 0..10 {
        let frame = cluster.session.sql(sql).await.unwrap();
        let mut rows = frame.execute_stream().await.unwrap();
        let first = within(rows.next()).await.unwrap().unwrap();
        assert!(first.num_rows() > 0);
    }
    within(cluster.quiet()).await;
}

/// Some rows of a join that has 57 million.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limit_stops_producers() {
    let folder = tables().await;
    let cluster = Cluster::open(3, "shm", folder.path()).await;
    let sql = "SELECT a.i_id, b.i_id FROM items a JOIN items b
               ON a.i_order % 7 = b.i_order % 7
               WHERE counted(a.i_id - b.i_id) LIMIT 10";
    let rows = within(run(&cluster.session, sql)).await.unwrap();
    assert_eq!(rows.len(), 10 + 4); // and lines
    within(cluster.quiet()).await;
    let counted = COUNTED.load(Ordering::Relaxed);
    assert!((10..57_000_000 / 10).contains(&counted), "{counted} rows joined");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_worker_fails_the_query() {
    for transport in ["shm", "tcp"] {
        let folder = tables().await;
        let mut cluster = Cluster::open(3, transport, folder.path()).await;
        within(run(&cluster.session, QUERIES[2])).await.unwrap();
        cluster.members[1].kill();
        let error =
            within(run(&cluster.session, QUERIES[2])).await.unwrap_err();
        let control = cluster.members[1].url.port().unwrap().to_string();
        assert!(error.to_string().contains(&control), "{error}");
    }
}

/// Rows are read where their producer wrote them, which it must not use again
/// as long as somebody has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_kept_stay_as_they_are() {
    let sql = "SELECT i_id, i_part, i_list, repeat(i_part, 150) AS i_text
               FROM items"; // more than a window
    let folder = tables().await;
    let alone = alone(folder.path()).await;
    let expected = run(&alone, sql).await.unwrap();
    for transport in ["shm", "tcp"] {
        let cluster = Cluster::open(3, transport, folder.path()).await;
        let frame = cluster.session.sql(sql).await.unwrap();
        let kept = within(frame.collect()).await.unwrap();
        for _ in 0..3 {
            for sql in QUERIES {
                within(run(&cluster.session, sql)).await.unwrap();
            }
        }
        assert_eq!(lines(&kept), expected);
        drop(kept);
        within(async {
            while cluster.calls() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// Rows outlive their producer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_kept_outlive_workers() {
    let sql = "SELECT o_id, o_status FROM orders";
    let folder = tables().await;
    let alone = alone(folder.path()).await;
    let expected = run(&alone, sql).await.unwrap();
    let mut cluster = Cluster::open(3, "shm", folder.path()).await;
    let frame = cluster.session.sql(sql).await.unwrap();
    let kept = within(frame.collect()).await.unwrap();
    for member in &mut cluster.members {
        member.kill();
    }
    assert_eq!(lines(&kept), expected);
}

/// Streams of two partitions that a worker has, each of these batches.
async fn two_partitions(
    member: &Member,
    transport: &str,
    batches: Vec<RecordBatch>,
) -> Vec<BoxStream<'static, Result<RecordBatch>>> {
    let task_key =
        TaskKey { query_id: uuid::Uuid::new_v4(), stage_id: 0, task_number: 0 };
    let (schema, input) = (batches[0].schema(), [batches.clone(), batches]);
    let plan = MemorySourceConfig::try_new_exec(&input, schema, None).unwrap();
    let request = SetPlanRequest {
        task_key,
        task_count: 1,
        plan: MaybeEncoded::Decoded(plan),
        work_unit_feed_declarations: Vec::new(),
        target_worker_url: member.url.clone(),
        query_start_time_ns: 0,
    };
    let option = "x-datafusion-distributed-config-distributed.collect_metrics";
    let mut headers = HeaderMap::new();
    headers.insert(option, HeaderValue::from_static("false"));
    let messages = futures::stream::pending().boxed();
    let worker = &member.worker;
    let answers = worker.coordinator_channel(headers, request, messages).await;
    drop(answers.unwrap());
    let resolver = WeirChannelResolver::new(node(transport));
    let channel = resolver.get_worker_client_for_url(&member.url).await;
    let request = ExecuteTaskRequest {
        task_key,
        target_partition_start: 0,
        target_partition_end: 2,
        producer_head: ProducerHead::None,
    };
    let metrics = ExecutionPlanMetricsSet::new();
    let context = SessionContext::new().task_ctx();
    channel
        .unwrap()
        .execute_task(HeaderMap::new(), request, metrics, &context)
        .await
        .unwrap()
}

/// Each batch is longer than all slots.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_nobody_reads_holds_up_no_other() {
    let text = |i| format!("{i:0>2500}");
    let texts = StringArray::from_iter_values((0..4096).map(text));
    let batch = RecordBatch::try_from_iter([("t", Arc::new(texts) as _)]);
    let batches = vec![batch.unwrap(); 3];
    for transport in ["shm", "tcp"] {
        let member = Member::open(transport).await;
        let streams = two_partitions(&member, transport, batches.clone()).await;
        for stream in streams.into_iter().rev() {
            let got = within(stream.collect::<Vec<_>>()).await;
            let got = got.into_iter().collect::<Result<Vec<_>>>().unwrap();
            assert_eq!(got, batches);
        }
    }
}
