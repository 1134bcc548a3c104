// SPDX-License-Identifier: Apache-2.0
//! The exchange alone: the cases of DataFusion Distributed's own benchmarks,
//! `shuffle` and `transport`, through what its plans' boundaries call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, DistributedExt,
    ExecuteTaskRequest, MaybeEncoded, ProducerHead, SetPlanRequest, TaskKey,
    WorkerToCoordinatorMsg,
};
use futures::stream::{BoxStream, select_all};
use futures::{StreamExt, TryStreamExt};
use http::{HeaderMap, HeaderValue};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::member::{Exchange, Member, Resolver};
use crate::rows;

/// Partitions of each consumer.
const PARTITIONS: usize = 8;

const BATCH_ROWS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Producers hash their rows to the partitions of all consumers
    Shuffle,
    /// Producers have the partitions already
    Transport,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kind: Kind,
    pub producers: usize,
    pub consumers: usize,
}

impl Case {
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Shuffle => "shuffle",
            Kind::Transport => "transport",
        };
        format!("{kind} {} to {}", self.producers, self.consumers)
    }

    /// Input of each producer, by partition.
    fn inputs(&self, n_rows: usize) -> Result<Vec<Vec<Vec<RecordBatch>>>> {
        let batch = rows::batch(BATCH_ROWS)?;
        let partitions = match self.kind {
            Kind::Shuffle => 1,
            Kind::Transport => PARTITIONS * self.consumers,
        };
        let n = n_rows.div_ceil(BATCH_ROWS * self.producers * partitions);
        let input = vec![vec![batch; n]; partitions];
        Ok(vec![input; self.producers])
    }

    fn head(&self) -> ProducerHead {
        match self.kind {
            Kind::Transport => ProducerHead::None,
            Kind::Shuffle => ProducerHead::RepartitionExec {
                partitioning: MaybeEncoded::Decoded(Partitioning::Hash(
                    vec![Arc::new(Column::new("id", 0))],
                    PARTITIONS * self.consumers,
                )),
            },
        }
    }
}

/// What came of a run, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub rows: usize,
    pub sum: i64,
    pub time: Duration,
}

pub struct Fixture {
    members: Vec<Member>,
    resolver: Resolver,
    context: Arc<TaskContext>,
}

/// A plan that a worker has, until this is dropped.
struct Set {
    _end: oneshot::Sender<()>,
    _answers: BoxStream<'static, Result<WorkerToCoordinatorMsg>>,
}

impl Fixture {
    pub async fn open(exchange: Exchange, producers: usize) -> Result<Self> {
        let mut members = Vec::new();
        for _ in 0..producers {
            members.push(Member::open(exchange).await?);
        }
        let resolver = Resolver::new(exchange.node()?);
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_distributed_channel_resolver(resolver.clone())
            .with_distributed_compression(exchange.compression())?
            .build();
        Ok(Self { members, resolver, context: state.task_ctx() })
    }

    pub async fn run(&self, case: &Case, n_rows: usize) -> Result<Outcome> {
        let query = Uuid::new_v4();
        let inputs = case.inputs(n_rows)?;
        let expected = inputs.iter().flatten().flatten().collect::<Vec<_>>();
        let expected = totals(&expected);
        let mut plans = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            plans.push(self.set(query, i, case.producers, input).await?);
        }
        let begin = Instant::now();
        let mut tasks = JoinSet::new();
        for consumer in 0..case.consumers {
            for stream in self.partitions(case, query, consumer).await? {
                tasks.spawn(stream.try_collect::<Vec<_>>());
            }
        }
        let mut batches = Vec::new();
        for task in tasks.join_all().await {
            batches.extend(task?);
        }
        let time = begin.elapsed();
        let (rows, sum) = totals(&batches.iter().collect::<Vec<_>>());
        if (rows, sum) != expected {
            return exec_err!("{rows} rows, sum {sum}, not {expected:?}");
        }
        Ok(Outcome { rows, sum, time })
    }

    async fn set(
        &self,
        query: Uuid,
        task: usize,
        tasks: usize,
        input: &[Vec<RecordBatch>],
    ) -> Result<Set> {
        let plan: Arc<dyn ExecutionPlan> =
            MemorySourceConfig::try_new_exec(input, rows::schema(), None)?;
        let member = &self.members[task];
        let request = SetPlanRequest {
            task_key: key(query, task),
            task_count: tasks,
            plan: MaybeEncoded::Decoded(plan),
            work_unit_feed_declarations: Vec::new(),
            target_worker_url: member.url.clone(),
            query_start_time_ns: 0,
        };
        let (end, ended) = oneshot::channel::<()>();
        let messages =
            futures::stream::pending::<Result<CoordinatorToWorkerMsg>>()
                .take_until(ended)
                .boxed();
        let answers = member
            .worker
            .coordinator_channel(headers(&key(query, task)), request, messages)
            .await?;
        Ok(Set { _end: end, _answers: answers })
    }

    /// Streams of a consumer's partitions, each from all producers.
    async fn partitions(
        &self,
        case: &Case,
        query: Uuid,
        consumer: usize,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let mut partitions =
            (0..PARTITIONS).map(|_| vec![]).collect::<Vec<_>>();
        for (i, member) in self.members[..case.producers].iter().enumerate() {
            let mut channel =
                self.resolver.get_worker_client_for_url(&member.url).await?;
            let request = ExecuteTaskRequest {
                task_key: key(query, i),
                target_partition_start: consumer * PARTITIONS,
                target_partition_end: (consumer + 1) * PARTITIONS,
                producer_head: case.head(),
            };
            let streams = channel
                .execute_task(
                    HeaderMap::new(),
                    request,
                    ExecutionPlanMetricsSet::new(),
                    &self.context,
                )
                .await?;
            if streams.len() != PARTITIONS {
                return Err(exec_datafusion_err!("{} streams", streams.len()));
            }
            for (partition, stream) in partitions.iter_mut().zip(streams) {
                partition.push(stream);
            }
        }
        Ok(partitions.into_iter().map(|s| select_all(s).boxed()).collect())
    }
}

/// What a coordinator says with a plan; without any the worker has no options.
fn headers(task: &TaskKey) -> HeaderMap {
    let name = "x-datafusion-distributed-config-distributed.collect_metrics";
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_static("false"));
    headers.extend([weir_datafusion::push_header(task)]); // gRPC's ignores it
    headers
}

fn key(query: Uuid, task: usize) -> TaskKey {
    TaskKey { query_id: query, stage_id: 0, task_number: task }
}

/// Rows, and the sum of their ids.
fn totals(batches: &[&RecordBatch]) -> (usize, i64) {
    let rows = batches.iter().map(|batch| batch.num_rows()).sum();
    let ids = batches
        .iter()
        .flat_map(|b| b.column(0).as_primitive::<Int64Type>().values())
        .fold(0_i64, |sum, id| sum.wrapping_add(*id));
    (rows, ids)
}
