// SPDX-License-Identifier: Apache-2.0

use std::time::Duration;

use arrow::array::{
    ArrayRef, AsArray, DictionaryArray, Int32Array, Int64Array, StringViewArray,
};
use arrow::datatypes::Int64Type;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::{
    GreedyMemoryPool, MemoryPool, UnboundedMemoryPool,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::repartition::BatchPartitioner;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::*;

/// Fail a test that hangs, instead of hanging.
async fn within<T>(future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, future).await.expect("hangs")
}

fn batch(from: i64, to: i64) -> RecordBatch {
    let text = |i| (i % 7 > 0).then(|| format!("text number {}", i % 1000));
    let texts = StringViewArray::from_iter((from..to).map(text));
    let ints = Int64Array::from_iter_values(from..to);
    let columns: [(_, ArrayRef); 2] =
        [("i", Arc::new(ints)), ("t", Arc::new(texts))];
    RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn by() -> Vec<Arc<dyn PhysicalExpr>> {
    vec![Arc::new(Column::new("t", 1)), Arc::new(Column::new("i", 0))]
}

fn context(pool: Arc<dyn MemoryPool>, batch_rows: usize) -> Arc<TaskContext> {
    let environment = RuntimeEnvBuilder::new().with_memory_pool(pool);
    let config = SessionConfig::new().with_batch_size(batch_rows);
    let environment = environment.build_arc().unwrap();
    SessionContext::new_with_config_rt(config, environment).task_ctx()
}

struct Pushed {
    push: Arc<Push>,
    metrics: ExecutionPlanMetricsSet,
}

/// Batches of each input, to so many partitions.
fn pushed(
    inputs: &[Vec<RecordBatch>],
    partitions: usize,
    context: &Arc<TaskContext>,
) -> Pushed {
    let plan: Arc<dyn ExecutionPlan> =
        MemorySourceConfig::try_new_exec(inputs, batch(0, 0).schema(), None)
            .unwrap();
    let metrics = ExecutionPlanMetricsSet::new();
    let push = Push::open(&plan, &by(), partitions, context, &metrics);
    Pushed { push: Arc::new(push.unwrap()), metrics }
}

impl Pushed {
    fn spills(&self) -> usize {
        self.metrics.clone_inner().spill_count().unwrap_or(0)
    }
}

async fn all(stream: SendableRecordBatchStream) -> Vec<RecordBatch> {
    let batches = within(stream.collect::<Vec<_>>()).await;
    batches.into_iter().collect::<Result<_>>().unwrap()
}

fn ints(batches: &[RecordBatch]) -> Vec<i64> {
    let column = |batch: &RecordBatch| {
        let batch = batch.column(0).as_primitive::<Int64Type>();
        batch.values().to_vec()
    };
    batches.iter().flat_map(column).collect()
}

/// The first numbers of rows of each partition, as `RepartitionExec` has them.
fn expected(input: &[RecordBatch], partitions: usize) -> Vec<Vec<i64>> {
    let partitioner =
        BatchPartitioner::new_hash_partitioner(by(), partitions, Time::new());
    let mut partitioner = partitioner.unwrap();
    let mut all = vec![Vec::new(); partitions];
    for batch in input {
        let add = |i: usize, batch: RecordBatch| {
            all[i].extend(ints(&[batch]));
            Ok(())
        };
        partitioner.partition(batch.clone(), add).unwrap();
    }
    all
}

#[tokio::test]
async fn partitions_and_order_are_those_of_datafusion() {
    let input = [batch(0, 1000), batch(0, 0), batch(1000, 4444)];
    let context = context(Arc::new(UnboundedMemoryPool::default()), 100);
    for partitions in [1, 2, 3, 8, 13] {
        let pushed = pushed(&[input.to_vec()], partitions, &context);
        let expected = expected(&input, partitions);
        for (i, expected) in expected.iter().enumerate() {
            let got = all(pushed.push.read(i).unwrap()).await;
            assert_eq!(&ints(&got), expected, "partition {i}");
            let (last, full) = got.split_last().unwrap();
            assert!(full.iter().all(|batch| batch.num_rows() == 100));
            assert!((1..=100).contains(&last.num_rows()));
        }
        assert!(pushed.push.read(0).is_err(), "it was read");
        assert!(pushed.push.read(partitions).is_err(), "there is none");
    }
}

/// Of several inputs, one after the other: what nobody reads yet is kept.
#[tokio::test]
async fn partitions_are_read_in_any_order() {
    let inputs = [0, 100, 200].map(|begin: i64| {
        let batch = |i: i64| batch(i * 900, (i + 1) * 900);
        (begin..begin + 100).map(batch).collect::<Vec<_>>()
    });
    let pool = Arc::new(UnboundedMemoryPool::default());
    let context = context(pool.clone(), 512);
    let pushed = pushed(&inputs, 5, &context);
    let mut expected = expected(&inputs.concat(), 5);
    for i in [3, 0, 4, 2, 1] {
        let mut got = ints(&all(pushed.push.read(i).unwrap()).await);
        got.sort_unstable();
        expected[i].sort_unstable();
        assert_eq!(got, expected[i], "partition {i}");
    }
    drop(pushed);
    assert_eq!(pool.reserved(), 0);
}

/// What memory has no room for.
#[tokio::test]
async fn what_is_held_goes_to_disk_if_it_must() {
    let input = (0..200).map(|i| batch(i * 1000, (i + 1) * 1000));
    let input = input.collect::<Vec<_>>();
    let pool = Arc::new(GreedyMemoryPool::new(1 << 20));
    let context = context(pool.clone(), 1000);
    let pushed = pushed(std::slice::from_ref(&input), 4, &context);
    for (i, expected) in expected(&input, 4).iter().enumerate() {
        let got = all(pushed.push.read(i).unwrap()).await;
        assert_eq!(&ints(&got), expected, "partition {i}");
    }
    assert!(pushed.spills() > 0);
    drop(pushed);
    assert_eq!(pool.reserved(), 0);
}

/// Batches that share a dictionary, which is longer than their keys, count it
/// once: it does not cut what is gathered.
#[tokio::test]
async fn a_dictionary_is_no_reason_for_small_batches() {
    let text = |i| format!("{i:0>1000}");
    let of = StringViewArray::from_iter_values((0..1000).map(text));
    let of: ArrayRef = Arc::new(of);
    let one = |i: i32| {
        let keys = (0..100).map(|row| (row * 7 + i) % 1000);
        let keys = Int32Array::from_iter_values(keys);
        let kinds = DictionaryArray::new(keys, of.clone());
        RecordBatch::try_from_iter([("k", Arc::new(kinds) as ArrayRef)])
    };
    let input = (0..80).map(|i| one(i).unwrap()).collect::<Vec<_>>();
    let schema = input[0].schema();
    let mut gather = Gather::new(&schema);
    let rows = (0..100).collect::<Vec<u32>>();
    for batch in &input {
        let from = Source::new(&schema, batch).unwrap();
        gather.append(&from, &rows).unwrap();
    }
    assert!(gather.bytes() < 2 << 20, "{} bytes", gather.bytes());
    assert_eq!(gather.finish().unwrap().num_rows(), 8000);
}

/// As long as nobody reads, little is made.
#[tokio::test]
async fn inputs_wait_for_readers() {
    let input = vec![batch(0, 8192); 500]; // 60 MiB
    let pool = Arc::new(UnboundedMemoryPool::default());
    let context = context(pool.clone(), 8192);
    let pushed = pushed(std::slice::from_ref(&input), 2, &context);
    let mut one = pushed.push.read(0).unwrap();
    let mut other = pushed.push.read(1).unwrap();
    assert_eq!(pool.reserved(), 0, "nothing runs yet");
    within(one.next()).await.unwrap().unwrap();
    within(other.next()).await.unwrap().unwrap();
    let mut before = 0;
    while pool.reserved() != before {
        before = pool.reserved();
        for _ in 0..100 {
            tokio::task::yield_now().await; // the input's turn
        }
    }
    assert!((1..8 << 20).contains(&before), "{before} bytes are held");
    drop(one);
    let rows =
        all(other).await.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert!(rows > 500 * 8192 / 3, "{rows} rows");
    assert_eq!(pool.reserved(), 0);
}

/// Whoever reads has its error, and an end.
#[tokio::test]
async fn errors_reach_all_readers() {
    let context = context(Arc::new(UnboundedMemoryPool::default()), 100);
    let wrong: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new("i", 7))];
    let plan: Arc<dyn ExecutionPlan> = MemorySourceConfig::try_new_exec(
        &[vec![batch(0, 100)]],
        batch(0, 0).schema(),
        None,
    )
    .unwrap();
    let metrics = ExecutionPlanMetricsSet::new();
    let push = Push::open(&plan, &wrong, 3, &context, &metrics).unwrap();
    let push = Arc::new(push);
    for i in 0..3 {
        let mut stream = push.read(i).unwrap();
        assert!(within(stream.next()).await.unwrap().is_err());
        assert!(within(stream.next()).await.is_none());
    }
}

/// Of two readers, the one that is ahead gets all its rows, but not at once:
/// the other one has time to catch up.
#[tokio::test]
async fn who_is_ahead_waits_for_others() {
    let input = vec![batch(0, 8192); 100]; // 12 MiB
    let pool = Arc::new(UnboundedMemoryPool::default());
    let context = context(pool.clone(), 8192);
    let pushed = pushed(std::slice::from_ref(&input), 2, &context);
    let mut behind = pushed.push.read(1).unwrap();
    within(behind.next()).await.unwrap().unwrap();
    let mut ahead = pushed.push.read(0).unwrap();
    let mut turns = 0;
    let begun = Instant::now();
    while let Some(batch) = within(ahead.next()).await {
        batch.unwrap();
        turns += u32::from(pool.reserved() > AHEAD);
    }
    assert!(turns > 10, "{turns} turns");
    let waited = begun.elapsed();
    assert!(waited > PACE * (turns / 2), "{turns} turns took {waited:?}");
    all(behind).await;
    drop(pushed);
    assert_eq!(pool.reserved(), 0);
}
