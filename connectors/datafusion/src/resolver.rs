// SPDX-License-Identifier: Apache-2.0
//! Channels to workers: control by gRPC, rows over Weir.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::physical_plan::metrics::{
    ExecutionPlanMetricsSet, MetricBuilder,
};
use datafusion_distributed::grpc::DefaultChannelResolver;
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, DistributedExt,
    ExecuteTaskRequest, GetWorkerInfoRequest, GetWorkerInfoResponse,
    ProducerHead, SetPlanRequest, TaskKey, Worker, WorkerChannel,
    WorkerPlanRewriteEvent, WorkerQueryContext, WorkerToCoordinatorMsg,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Mutex;
use url::Url;
use weir::Node;

use crate::carried::Codec;
use crate::client::{self, Producer};
use crate::service::Control;
use crate::source::{Cut, Tasks, execute};
use crate::wire::{Empty, Head, Task};

/// Where a worker's URL says at what address its node is.
const ADDRESS: &str = "weir";

/// Says to a worker which task a plan is of, and that its readers come over
/// Weir: QUERY/STAGE/TASK.
pub(crate) const PUSH: &str = "x-weir-push";

/// The header that a task's plan goes to its worker with, so that its rows are
/// pushed to their readers. A coordinator's [`WeirChannelResolver`] adds it; a
/// program that gives a worker its plans by itself has to.
pub fn push_header(task: &TaskKey) -> (HeaderName, HeaderValue) {
    let TaskKey { query_id, stage_id, task_number } = task;
    let value = format!("{query_id}/{stage_id}/{task_number}");
    let value = HeaderValue::from_str(&value).expect("digits and signs");
    (HeaderName::from_static(PUSH), value)
}

pub(crate) fn task_of_header(value: &HeaderValue) -> Option<TaskKey> {
    let mut parts = value.to_str().ok()?.split('/');
    let task = TaskKey {
        query_id: parts.next()?.parse().ok()?,
        stage_id: parts.next()?.parse().ok()?,
        task_number: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(task)
}

/// The URL of a worker whose control messages go to `control`, an `http` URL,
/// and whose rows come from the node at `address` (`weir::Node::address`).
pub fn worker_url(control: &Url, address: &str) -> Url {
    let mut url = control.clone();
    url.query_pairs_mut().append_pair(ADDRESS, address);
    url
}

/// Gives DataFusion Distributed its channels. Workers whose URL names no node
/// ([`worker_url`]) are reached by gRPC alone.
#[derive(Clone)]
pub struct WeirChannelResolver {
    control: Arc<Channels>,
    make: MakeChannels,
    rows: Arc<Rows>,
}

/// What control messages go by.
pub(crate) type Channels = dyn ChannelResolver + Send + Sync;
pub(crate) type MakeChannels = Arc<dyn Fn() -> Arc<Channels> + Send + Sync>;

struct Rows {
    node: Node,
    producers: Mutex<HashMap<String, Arc<Producer>>>, // by address
    local: std::sync::Mutex<Option<Worker>>,          // served over the node
    nobody: Worker,
    tasks: Arc<Tasks>, // that run here
}

/// Keeps a worker served. Dropped, it is no more.
pub(crate) struct Local(Arc<Rows>);

impl Drop for Local {
    fn drop(&mut self) {
        *self.0.local.lock().unwrap() = None;
        self.0.tasks.all_over();
    }
}

impl WeirChannelResolver {
    /// Rows come to this node; its worker 0 takes them.
    pub fn new(node: Node) -> Self {
        let producers = Mutex::default();
        let make: MakeChannels =
            Arc::new(|| Arc::new(DefaultChannelResolver::default()));
        Self {
            control: make(),
            make,
            rows: Arc::new(Rows {
                node,
                producers,
                local: std::sync::Mutex::default(),
                nobody: Worker::default(),
                tasks: Arc::default(),
            }),
        }
    }

    /// Control messages go by other channels than gRPC's own, such as those
    /// that say who they are. Each node that rows come from has channels of its
    /// own, which end with it.
    pub fn with_control(
        mut self,
        make: impl Fn() -> Arc<dyn ChannelResolver + Send + Sync>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.make = Arc::new(make);
        self.control = (self.make)();
        self
    }

    /// A worker's gRPC service (`Worker::into_worker_server`) that stops what
    /// it computes for a coordinator that is gone, however that went.
    pub fn control<S>(&self, service: S) -> Control<S> {
        Control { service, tasks: self.rows.tasks.clone() }
    }

    /// What a worker's session is built from: it gets this resolver, and if its
    /// coordinator has one, too, its task's rows are pushed.
    pub fn worker_session(
        &self,
        query: WorkerQueryContext,
    ) -> SessionStateBuilder {
        let resolver = self.clone();
        let builder = query
            .builder
            .with_distributed_user_codec(Codec)
            .with_distributed_channel_resolver(resolver);
        let task = query.headers.get(PUSH).and_then(task_of_header);
        let Some(task) = task else { return builder };
        let cut = self.rows.tasks.begin(task);
        // Calls within the worker come here, too: not past what is pushed.
        let nowhere = Url::parse("weir:nowhere").expect("it is a URL");
        let nobody = self.rows.nobody.to_local_worker_context(nowhere);
        let mut builder = builder.with_distributed_local_worker_context(nobody);
        let config = builder.config().get_or_insert_default();
        config.set_extension(cut.clone());
        builder.with_distributed_worker_plan_rewrite_handler(
            move |event: WorkerPlanRewriteEvent<'_>| cut.cut(event),
        )
    }

    /// The node that rows come to.
    pub fn node(&self) -> &Node {
        &self.rows.node
    }

    pub(crate) fn tasks(&self) -> &Arc<Tasks> {
        &self.rows.tasks
    }

    pub(crate) fn serve(&self, worker: Worker) -> Local {
        *self.rows.local.lock().unwrap() = Some(worker);
        Local(self.rows.clone())
    }
}

impl Rows {
    /// The producer of an address; another one if the last is gone.
    async fn producer(
        &self,
        url: &Url,
        addr: &str,
        make: &MakeChannels,
    ) -> Result<Arc<Producer>> {
        let mut producers = self.producers.lock().await;
        if let Some(producer) = producers.get(addr)
            && !producer.is_gone()
        {
            return Ok(producer.clone());
        }
        let name = bare(url);
        let producer = Producer::open(&self.node, &name, addr, make()).await?;
        producers.insert(addr.to_owned(), producer.clone());
        Ok(producer)
    }
}

/// As people know it.
fn bare(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

#[async_trait]
impl ChannelResolver for WeirChannelResolver {
    async fn get_worker_client_for_url(
        &self,
        url: &Url,
    ) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        let pairs = url.query_pairs().find(|(key, _)| key == ADDRESS);
        let Some((_, address)) = pairs else {
            return self.control.get_worker_client_for_url(url).await;
        };
        let local = self.rows.local.lock().unwrap().clone();
        if let Some(worker) = local
            && address == self.rows.node.address()
        {
            let control = self.control.get_worker_client_for_url(url).await?;
            let tasks = self.rows.tasks.clone();
            return Ok(Box::new(Within { control, worker, tasks }));
        }
        let producer = self.rows.producer(url, &address, &self.make).await?;
        let control = producer.control().get_worker_client_for_url(url).await?;
        Ok(Box::new(Channel { control, producer }))
    }
}

struct Channel {
    control: Box<dyn WorkerChannel>,
    producer: Arc<Producer>,
}

#[async_trait]
impl WorkerChannel for Channel {
    async fn coordinator_channel(
        &mut self,
        mut headers: HeaderMap,
        set_plan_request: SetPlanRequest,
        c2w_stream: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let task = set_plan_request.task_key;
        headers.extend([push_header(&task)]);
        let producer = self.producer.clone();
        let over = async move { producer.say_over(&task).await };
        let name = self.producer.url().to_owned();
        let of_it = move |error: DataFusionError| {
            error.context(format!("worker {name}"))
        };
        let control = &mut self.control;
        let messages = control
            .coordinator_channel(
                headers,
                set_plan_request,
                until_over(c2w_stream, over),
                metrics,
                task_ctx,
            )
            .await
            .map_err(&of_it)?;
        Ok(messages.map(move |m| m.map_err(&of_it)).boxed())
    }

    async fn execute_task(
        &mut self,
        _headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let task = task_of(request, task_ctx)?;
        let (producer, over) = (self.producer.clone(), Cut::over(task_ctx));
        let streams = client::execute(producer, &task, &metrics, over);
        Ok(streams.into_iter().map(StreamExt::boxed).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.control.get_worker_info(request).await
    }
}

/// A channel from a worker to itself.
struct Within {
    control: Box<dyn WorkerChannel>,
    worker: Worker,
    tasks: Arc<Tasks>,
}

#[async_trait]
impl WorkerChannel for Within {
    async fn coordinator_channel(
        &mut self,
        mut headers: HeaderMap,
        set_plan_request: SetPlanRequest,
        c2w_stream: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        task_ctx: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let task = set_plan_request.task_key;
        headers.extend([push_header(&task)]);
        let tasks = self.tasks.clone();
        let over = async move { tasks.over(&task) };
        let control = &mut self.control;
        control
            .coordinator_channel(
                headers,
                set_plan_request,
                until_over(c2w_stream, over),
                metrics,
                task_ctx,
            )
            .await
    }

    async fn execute_task(
        &mut self,
        _headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        _task_ctx: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let calls = MetricBuilder::new(&metrics);
        calls.global_counter("local_connections_used").add(1);
        let (streams, _) = execute(&self.worker, request).await?;
        Ok(streams.into_iter().map(StreamExt::boxed).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.control.get_worker_info(request).await
    }
}

fn task_of(
    request: ExecuteTaskRequest,
    context: &Arc<TaskContext>,
) -> Result<Task> {
    let head = match request.producer_head {
        ProducerHead::None => Head::None(Empty {}),
        ProducerHead::BroadcastExec { output_partitions } => {
            Head::Broadcast(output_partitions as u64)
        }
        ProducerHead::RepartitionExec { partitioning } => {
            Head::Repartition(partitioning.encode(context)?)
        }
    };
    Ok(Task {
        start: request.target_partition_start as u64,
        end: request.target_partition_end as u64,
        head: Some(head),
        ..Task::of(&request.task_key)
    })
}

/// What a coordinator says to a task, and behind it that the query is over.
fn until_over(
    messages: BoxStream<'static, CoordinatorToWorkerMsg>,
    over: impl Future<Output = ()> + Send + 'static,
) -> BoxStream<'static, CoordinatorToWorkerMsg> {
    let over = futures::stream::once(over).filter_map(async |()| None);
    messages.chain(over).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_go_with_headers() {
        let query_id = uuid::Uuid::new_v4();
        let task = TaskKey { query_id, stage_id: 7, task_number: 12 };
        let (name, value) = push_header(&task);
        assert_eq!(name, PUSH);
        assert_eq!(task_of_header(&value), Some(task));
        for wrong in ["1", "1/2/3", &format!("{query_id}/7/12/0")] {
            let wrong = HeaderValue::from_str(wrong).unwrap();
            assert_eq!(task_of_header(&wrong), None);
        }
    }
}
