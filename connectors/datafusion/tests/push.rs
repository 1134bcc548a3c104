// SPDX-License-Identifier: Apache-2.0
//! Rows that are hashed to the partitions of a stage are pushed there.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::*;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    DistributedMetricsFormat, rewrite_distributed_plan_with_metrics,
};
use futures::StreamExt;
use tempfile::TempDir;

/// Columns of all kinds, with nulls.
const KINDS: &str = "SELECT value AS k_id,
    CASE WHEN value % 3 > 0 THEN value % 5 = 0 END AS k_bool,
    CASE WHEN value % 7 > 0 THEN arrow_cast(value % 100, 'Int8') END AS k_byte,
    arrow_cast(value, 'Decimal256(40, 3)') AS k_decimal,
    arrow_cast(value * 1000, 'Timestamp(Millisecond, Some(\"UTC\"))') AS k_time,
    CASE WHEN value % 4 > 0 THEN 'text ' || value END AS k_text,
    CASE WHEN value % 4 > 1
         THEN arrow_cast(repeat('v', value % 40), 'Utf8View') END AS k_view,
    arrow_cast('large ' || value, 'LargeUtf8') AS k_large,
    arrow_cast('bytes ' || value, 'Binary') AS k_bytes,
    arrow_cast(arrow_cast(left('abcd' || value, 5), 'Binary'),
               'FixedSizeBinary(5)') AS k_fixed,
    CASE WHEN value % 5 > 0
         THEN arrow_cast('kind ' || (value % 9), 'Dictionary(Int16, Utf8)')
         END AS k_kind,
    CASE WHEN value % 6 > 0
         THEN [value, NULL, value % 3] END AS k_list,
    [['a' || value, NULL], [], ['c']] AS k_lists,
    arrow_cast([value, 2], 'FixedSizeList(2, Int64)') AS k_pair,
    CASE WHEN value % 8 > 0
         THEN named_struct('x', value, 't', 'in ' || value,
                           'l', [value]) END AS k_struct,
    map(['k' || (value % 3), 'z'], [value, NULL]) AS k_map,
    NULL AS k_null
    FROM generate_series(1, 5000)";

/// Those of the other tests, and one of all kinds of columns.
async fn tables_of_kinds() -> TempDir {
    let folder = tables().await;
    let path = folder.path().join("kinds");
    std::fs::create_dir(&path).unwrap();
    for i in 0..3 {
        let sql = format!("SELECT * FROM ({KINDS}) WHERE k_id % 3 = {i}");
        let frame = SessionContext::new().sql(&sql).await.unwrap();
        let file = path.join(format!("{i}.parquet"));
        let options = DataFrameWriteOptions::new();
        let options = options.with_single_file_output(true);
        frame
            .write_parquet(file.to_str().unwrap(), options, None)
            .await
            .unwrap();
    }
    folder
}

/// Whole rows by keys of several types.
const SHUFFLES: &[&str] = &[
    "SELECT *, count(*) OVER (PARTITION BY k_id % 97) FROM kinds",
    "SELECT *, count(*) OVER (PARTITION BY k_text, k_kind) FROM kinds",
    "SELECT *, min(k_id) OVER (PARTITION BY k_view, k_bool) FROM kinds",
    "SELECT *, max(k_id) OVER (PARTITION BY k_decimal, k_fixed) FROM kinds",
    "SELECT * FROM kinds JOIN orders ON k_id = o_id
     JOIN items ON o_id = i_order AND k_id % 9 = i_id % 9",
    "SELECT k_id, o_status FROM kinds LEFT JOIN orders ON k_id = o_id",
    "SELECT *, count(*) OVER (PARTITION BY k_id) FROM kinds WHERE k_id < 0",
];

/// Joins by hash at both sides, however small.
async fn by_hash(session: &SessionContext) {
    for option in ["threshold", "threshold_rows"] {
        let name = format!("hash_join_single_partition_{option}");
        let sql = format!("SET datafusion.optimizer.{name} = 0");
        session.sql(&sql).await.unwrap().collect().await.unwrap();
    }
}

async fn answers(members: Vec<Member>, transport: &str, tables: &Path) {
    let alone = alone(tables).await;
    let cluster = Cluster::of(members, transport, tables).await;
    by_hash(&cluster.session).await;
    for sql in SHUFFLES {
        let expected = run(&alone, sql).await.unwrap();
        let got = within(run(&cluster.session, sql)).await.unwrap();
        assert!(got == expected, "{sql}: {} lines", got.len());
    }
    within(cluster.quiet()).await;
}

async fn members<const N: usize>(
    transport: &str,
    push: [bool; N],
) -> Vec<Member> {
    let mut members = Vec::new();
    for pushes in push {
        members.push(Member::open_that(transport, pushes).await);
    }
    members
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_all_kinds_are_pushed() {
    let folder = tables_of_kinds().await;
    for transport in ["shm", "tcp"] {
        let members = members(transport, [true; 3]).await;
        answers(members, transport, folder.path()).await;
    }
}

/// Both inputs of a join agree on its partitions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_pushed_meet_those_that_are_pulled() {
    let folder = tables_of_kinds().await;
    let members = members("shm", [true, false, true]).await;
    answers(members, "shm", folder.path()).await;
}

/// Of all tasks together: (nodes of RepartitionExec that ran, that did not, and
/// rows were pushed)
async fn ran(session: &SessionContext, sql: &str) -> (usize, usize) {
    let frame = session.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let context = session.task_ctx();
    within(collect(plan.clone(), context)).await.unwrap();
    let told = rewrite_distributed_plan_with_metrics(
        plan,
        DistributedMetricsFormat::Aggregated,
    );
    let told = within(told).await.unwrap();
    let (mut pulled, mut pushed) = (0, 0);
    count(&told, &mut pulled, &mut pushed);
    (pulled, pushed)
}

fn count(
    plan: &Arc<dyn ExecutionPlan>,
    pulled: &mut usize,
    pushed: &mut usize,
) {
    let timed = |plan: &Arc<dyn ExecutionPlan>| {
        let metrics = plan.metrics().unwrap_or_default();
        metrics.sum_by_name("repartition_time").is_some()
    };
    if plan.name() == "RepartitionExec" {
        *pulled += usize::from(timed(plan));
        *pushed += usize::from(timed(plan.children()[0]) && !timed(plan));
    }
    for child in plan.children() {
        count(child, pulled, pushed);
    }
}

/// Otherwise nothing was tested. Metrics of each node are there, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_pushed_and_metrics_say_so() {
    let folder = tables_of_kinds().await;
    let sql = "SELECT k_kind, count(*) FROM kinds GROUP BY k_kind";
    for pushes in [true, false] {
        let members = members("shm", [pushes; 2]).await;
        let cluster = Cluster::of(members, "shm", folder.path()).await;
        let (pulled, pushed) = ran(&cluster.session, sql).await;
        assert_eq!((pulled > 0, pushed > 0), (!pushes, pushes));
    }
}

/// Readers that come by gRPC pull from the same workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_by_grpc_pull() {
    let folder = tables_of_kinds().await;
    let members = members("shm", [true; 2]).await;
    let cluster = Cluster::over_grpc(members, folder.path()).await;
    let session = &cluster.session;
    let (pulled, pushed) = ran(session, SHUFFLES[0]).await;
    assert!(pulled > 0 && pushed == 0, "{pulled}, {pushed}");
    let alone = alone(folder.path()).await;
    let expected = run(&alone, SHUFFLES[0]).await.unwrap();
    let got = within(run(session, SHUFFLES[0])).await.unwrap();
    assert_eq!(got, expected);
}

/// Rows that are counted and then shuffled, 400 million.
const MANY: &str = "SELECT o_id, x FROM orders JOIN
    (SELECT a.i_order AS x FROM items a, items b WHERE counted(a.i_id - b.i_id))
    ON o_id = x";

/// LIMIT, or whoever drops a result, stops what feeds a shuffle, and all memory
/// is given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_wants_is_not_pushed() {
    let folder = tables().await;
    for transport in ["shm", "tcp"] {
        let cluster = Cluster::open(3, transport, folder.path()).await;
        by_hash(&cluster.session).await;
        let before = COUNTED.load(Ordering::Relaxed);
        let sql = format!("{MANY} LIMIT 10");
        let rows = within(run(&cluster.session, &sql)).await.unwrap();
        assert_eq!(rows.len(), 10 + 4); // and lines
        within(cluster.quiet()).await;
        let frame = cluster.session.sql(MANY).await.unwrap();
        let mut rows = frame.execute_stream().await.unwrap();
        let first = within(rows.next()).await.unwrap().unwrap();
        assert!(first.num_rows() > 0);
        drop(rows);
        within(cluster.quiet()).await;
        let counted = COUNTED.load(Ordering::Relaxed) - before;
        assert!((10..80_000_000).contains(&counted), "{counted} rows");
    }
}

/// While rows are on their way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_lost_under_way_is_named() {
    let folder = tables().await;
    for transport in ["shm", "tcp"] {
        let mut cluster = Cluster::open(3, transport, folder.path()).await;
        by_hash(&cluster.session).await;
        let frame = cluster.session.sql(MANY).await.unwrap();
        let mut rows = frame.execute_stream().await.unwrap();
        within(rows.next()).await.unwrap().unwrap();
        let control = cluster.members[1].url.port().unwrap().to_string();
        cluster.members[1].kill();
        let error = within(async {
            loop {
                if let Err(error) = rows.next().await.unwrap() {
                    return error;
                }
            }
        });
        let error = error.await;
        assert!(error.to_string().contains(&control), "{error}");
        drop(rows);
        within(cluster.quiet()).await;
    }
}
