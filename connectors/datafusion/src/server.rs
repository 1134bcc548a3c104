// SPDX-License-Identifier: Apache-2.0
//! What a worker's node answers: a task takes the asks and gives them to the
//! calls that they are about.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use datafusion::common::{DataFusionError, exec_datafusion_err};
use datafusion_distributed::{
    ExecuteTaskRequest, MaybeEncoded, ProducerHead, Worker,
};
use prost::Message;
use tokio_util::task::AbortOnDropHandle;
use weir::{Ask, Asks, ErrorKind};

use crate::group::Group;
use crate::resolver::{Local, WeirChannelResolver};
use crate::slots::Pool;
use crate::source::{Tasks, execute};
use crate::wire::{Head, Kind, Part, Request, SPACE, Task, slot_bytes};

/// Most bytes of an EXECUTE, and most partitions: a consumer that says more is
/// refused.
const TASK_BYTES: usize = 16 << 20;
const PARTITIONS: u64 = 1 << 16;

/// Serves a worker's tasks over a node. Dropped, it ends what runs.
pub struct Server {
    calls: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
    _local: Local,
}

/// A node that executes tasks here.
struct Consumer {
    hold: Ask,
    calls: HashMap<u64, Call>,
}

enum Call {
    Begins(Vec<u8>), // parts of its EXECUTE
    Runs {
        group: Arc<Group>,
        count: Arc<AtomicUsize>,
        _start: AbortOnDropHandle<()>,
    },
}

struct Serving {
    worker: Worker,
    tasks: Arc<Tasks>,
    asks: Asks,
    pool: Arc<Pool>,
    calls: Arc<AtomicUsize>,
    consumers: HashMap<u64, Consumer>, // by incarnation
}

impl Server {
    /// Serve a worker's tasks over the node of the resolver that the worker's
    /// sessions have. Asks are taken by worker 0 of the node.
    ///
    /// # Errors
    /// `Duplicate`: the node serves already; `NoMemory`.
    pub fn open(
        resolver: &WeirChannelResolver,
        worker: Worker,
    ) -> weir::Result<Self> {
        let node = resolver.node();
        let local = resolver.serve(worker.clone());
        let mut serving = Serving {
            worker,
            tasks: resolver.tasks().clone(),
            asks: node.asks(SPACE, 0)?,
            pool: Pool::new(node.clone()),
            calls: Arc::default(),
            consumers: HashMap::new(),
        };
        let calls = serving.calls.clone();
        let task = tokio::spawn(async move {
            while let Some(ask) = serving.next().await {
                serving.take(ask);
            }
        });
        let task = AbortOnDropHandle::new(task);
        Ok(Self { calls, _task: task, _local: local })
    }

    /// How many calls run: ranges of partitions that somebody reads.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Self::Runs { group, count, .. } = self {
            group.end(true); // unless END has come
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Serving {
    /// The next ask; meanwhile consumers that are gone are forgotten. None: the
    /// node has failed.
    async fn next(&mut self) -> Option<Ask> {
        poll_fn(|cx| {
            let ask = self.asks.poll_next(cx);
            self.consumers.retain(|_, consumer| consumer.hold.waits());
            match ask {
                Poll::Ready(Ok(ask)) => Poll::Ready(Some(ask)),
                Poll::Ready(Err(_)) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    fn take(&mut self, ask: Ask) {
        let Ok(Request { call, kind: Some(kind) }) =
            Request::decode(ask.bytes())
        else {
            return ask.refuse(ErrorKind::Data, "no request of this service");
        };
        if let Kind::Hold(_) = kind {
            let consumer = Consumer { hold: ask, calls: HashMap::new() };
            let who = consumer.hold.incarnation();
            self.consumers.insert(who, consumer);
            return;
        }
        let Some(consumer) = self.consumers.get_mut(&ask.incarnation()) else {
            return ask.refuse(ErrorKind::State, "it has said no HOLD");
        };
        match kind {
            Kind::Execute(part) => {
                let outcome = consumer.execute(
                    call,
                    &part,
                    &self.worker,
                    &self.pool,
                    &self.calls,
                );
                match outcome {
                    Ok(()) => drop(ask.answer(&[])),
                    Err(text) => ask.refuse(ErrorKind::Data, text),
                }
            }
            Kind::End(_) => {
                if let Some(Call::Runs { group, .. }) =
                    consumer.calls.remove(&call).as_ref()
                {
                    group.end(false);
                }
                drop(ask.answer(&[]));
            }
            Kind::Next(give) => match consumer.calls.get(&call) {
                Some(Call::Runs { group, .. }) => group.next(&give, ask),
                _ => ask.refuse(ErrorKind::NotFound, "no such call"),
            },
            Kind::Give(give) => match consumer.calls.get(&call) {
                Some(Call::Runs { group, .. }) => {
                    group.give(&give);
                    drop(ask.answer(&[]));
                }
                _ => ask.refuse(ErrorKind::NotFound, "no such call"),
            },
            Kind::Over(task) => {
                if let Some(key) = task.key() {
                    self.tasks.over(&key);
                }
                drop(ask.answer(&[]));
            }
            Kind::Hold(_) => unreachable!("see above"),
        }
    }
}

impl Consumer {
    fn execute(
        &mut self,
        call: u64,
        part: &Part,
        worker: &Worker,
        pool: &Arc<Pool>,
        count: &Arc<AtomicUsize>,
    ) -> Result<(), &'static str> {
        let begins = self.calls.entry(call).or_insert(Call::Begins(Vec::new()));
        let Call::Begins(bytes) = begins else {
            return Err("a number of a call that runs");
        };
        if bytes.len() + part.bytes.len() > TASK_BYTES {
            self.calls.remove(&call);
            return Err("a task that is too long");
        }
        bytes.extend_from_slice(&part.bytes);
        if !part.last {
            return Ok(());
        }
        let bytes = std::mem::take(bytes);
        self.calls.remove(&call);
        let task = Task::decode(bytes.as_slice())
            .map_err(|_| "no task of DataFusion")?;
        let request = request_of(task).ok_or("no task of DataFusion")?;
        self.calls.insert(
            call,
            begin(request, worker.clone(), pool.clone(), count.clone()),
        );
        Ok(())
    }
}

fn request_of(task: Task) -> Option<ExecuteTaskRequest> {
    let task_key = task.key()?;
    if task.end.checked_sub(task.start)? > PARTITIONS {
        return None;
    }
    Some(ExecuteTaskRequest {
        task_key,
        target_partition_start: task.start as usize,
        target_partition_end: task.end as usize,
        producer_head: match task.head? {
            Head::None(_) => ProducerHead::None,
            Head::Broadcast(n) => {
                ProducerHead::BroadcastExec { output_partitions: n as usize }
            }
            Head::Repartition(bytes) => ProducerHead::RepartitionExec {
                partitioning: MaybeEncoded::Encoded(bytes),
            },
        },
    })
}

/// The plan may still be on its way to the worker, so this takes a task.
fn begin(
    request: ExecuteTaskRequest,
    worker: Worker,
    pool: Arc<Pool>,
    count: Arc<AtomicUsize>,
) -> Call {
    let calls = count.fetch_add(1, Ordering::Relaxed) + 1;
    let n = request.target_partition_end - request.target_partition_start;
    let group = Group::new(pool, n, slot_bytes(calls));
    let to = group.clone();
    let start = tokio::spawn(async move {
        let outcome =
            tokio::spawn(async move { execute(&worker, request).await });
        match AbortOnDropHandle::new(outcome).await {
            Ok(Ok((streams, context))) => {
                to.run(streams, &context.runtime_env().memory_pool);
            }
            Ok(Err(error)) => to.fail(&error),
            Err(panic) => to.fail(&panicked(&panic)),
        }
    });
    Call::Runs { group, count, _start: AbortOnDropHandle::new(start) }
}

fn panicked(error: &tokio::task::JoinError) -> DataFusionError {
    exec_datafusion_err!("the task's plan failed: {error}")
}
