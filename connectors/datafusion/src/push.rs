// SPDX-License-Identifier: Apache-2.0
//! A task's rows, hashed to partitions as they come: what `RepartitionExec`
//! does, with one copy of each row and no channels.
//!
//! One task per partition of the input gathers the rows of each batch into the
//! batches of all partitions; a batch that has enough is *held* until its
//! reader takes it. Readers may come late, or read in any order, so inputs go
//! on while little is held, and later when some reader has waited for a while.
//! What is held is told to DataFusion's memory pool; what the pool has no room
//! for goes to disk.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::hash_utils::create_hashes;
use datafusion::common::{DataFusionError, Result, exec_err, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{
    SendableRecordBatchStream, SpillFile, TaskContext,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{
    ExecutionPlanMetricsSet, MetricBuilder, SpillMetrics, Time,
};
use datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;
use datafusion::physical_plan::spill::SpillManager;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::fault::caught;
use crate::gather::{Gather, Source};
use crate::wire::WINDOW;

/// So much may be held that nobody waits for.
const AHEAD: usize = 2 << 20;

/// When that much is held, inputs go on for a reader's sake once it has waited
/// so long: others, which are behind it, catch up meanwhile. Readers that are
/// alike take turns in being ahead, and what is held would grow with each turn.
const PACE: Duration = Duration::from_millis(50);

/// A partition's batch that is being gathered may have so much more than the
/// memory pool was told.
const TELL: usize = 32 << 10;

/// A task's partitions. Dropped, its inputs end.
pub(crate) struct Push {
    shared: Arc<Shared>,
    claimed: Vec<OnceLock<()>>, // by partition
    begin: Mutex<Option<Vec<Input>>>,
    tasks: Mutex<Vec<AbortOnDropHandle<()>>>,
}

/// A partition of the input.
struct Input {
    shared: Arc<Shared>,
    stream: SendableRecordBatchStream,
    by: Vec<Arc<dyn PhysicalExpr>>,
    hashes: Vec<u64>,
    rows: Vec<Vec<u32>>, // of a batch, by partition
    fetch: Time,
    repartition: Time,
}

struct Shared {
    schema: SchemaRef,
    batch_rows: usize,
    gathers: Vec<Mutex<Option<Gather>>>, // None: nobody wants them
    inputs: AtomicUsize,                 // that have not ended
    state: Mutex<State>,
    news: Vec<Notify>, // for its reader, by partition
    moved: Notify,     // inputs may go on
    memory: MemoryReservation,
    disk: SpillManager,
}

struct State {
    held: Vec<VecDeque<Held>>,
    waits: Vec<Option<Instant>>, // since when
    wanted: usize,               // partitions
    bytes: usize,                // held
    over: bool,                  // nothing more comes
    error: Option<Arc<DataFusionError>>,
}

/// A batch that its reader has not taken.
enum Held {
    Memory(RecordBatch, usize), // its bytes
    Disk(Arc<dyn SpillFile>),
}

impl Push {
    /// What rows of a plan are hashed by, and to how many partitions. Nothing
    /// runs until somebody reads.
    pub(crate) fn open(
        plan: &Arc<dyn ExecutionPlan>,
        by: &[Arc<dyn PhysicalExpr>],
        partitions: usize,
        context: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let schema = plan.schema();
        let inputs = plan.properties().partitioning.partition_count();
        let environment = context.runtime_env();
        let consumer = MemoryConsumer::new("weir push").with_can_spill(true);
        let spilt = SpillMetrics::new(metrics, 0);
        let gather = || Mutex::new(Some(Gather::new(&schema)));
        let shared = Arc::new(Shared {
            batch_rows: context.session_config().batch_size(),
            gathers: (0..partitions).map(|_| gather()).collect(),
            inputs: AtomicUsize::new(inputs),
            state: Mutex::new(State {
                held: (0..partitions).map(|_| VecDeque::new()).collect(),
                waits: vec![None; partitions],
                wanted: partitions,
                bytes: 0,
                over: inputs == 0,
                error: None,
            }),
            news: (0..partitions).map(|_| Notify::new()).collect(),
            moved: Notify::new(),
            memory: consumer.register(&environment.memory_pool),
            disk: SpillManager::new(environment, spilt, schema.clone()),
            schema,
        });
        let begin = (0..inputs).map(|i| {
            let time = |name| MetricBuilder::new(metrics).subset_time(name, i);
            Ok(Input {
                shared: shared.clone(),
                stream: plan.execute(i, context.clone())?,
                by: by.to_vec(),
                hashes: Vec::new(),
                rows: vec![Vec::new(); partitions],
                fetch: time("fetch_time"),
                repartition: time("repartition_time"),
            })
        });
        Ok(Self {
            begin: Mutex::new(Some(begin.collect::<Result<_>>()?)),
            claimed: vec![OnceLock::new(); partitions],
            tasks: Mutex::default(),
            shared,
        })
    }

    pub(crate) fn partitions(&self) -> usize {
        self.claimed.len()
    }

    /// The rows of a partition, once.
    pub(crate) fn read(
        self: &Arc<Self>,
        partition: usize,
    ) -> Result<SendableRecordBatchStream> {
        let Some(claimed) = self.claimed.get(partition) else {
            return exec_err!(
                "partition {partition} not available, there are {}",
                self.partitions()
            );
        };
        if claimed.set(()).is_err() {
            return internal_err!("partition {partition} was read already");
        }
        let reader = Reader { push: self.clone(), partition };
        let batches = futures::stream::unfold(Some(reader), |reader| async {
            let reader = reader?;
            let batch = reader.next().await?;
            let later = batch.is_ok().then_some(reader);
            Some((batch, later))
        });
        let schema = self.shared.schema.clone();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn begin(&self) {
        let mut begin = self.begin.lock().unwrap();
        let Some(inputs) = begin.take() else { return };
        let spawn = |input: Input| {
            let task = tokio::spawn(input.run());
            AbortOnDropHandle::new(task)
        };
        let tasks = inputs.into_iter().map(spawn).collect();
        *self.tasks.lock().unwrap() = tasks;
    }

    /// Nobody wants anything any more; who reads yet has an error.
    pub(crate) fn close(&self) {
        let inputs = self.begin.lock().unwrap().take();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        drop((inputs, tasks));
        let over = DataFusionError::Execution("the query is over".into());
        self.shared.end_all(over);
    }
}

/// Who reads a partition. Dropped, nobody does.
struct Reader {
    push: Arc<Push>,
    partition: usize,
}

impl Reader {
    async fn next(&self) -> Option<Result<RecordBatch>> {
        self.push.begin();
        let shared = &self.push.shared;
        loop {
            match shared.take(self.partition) {
                Some(Ok(Some(Held::Memory(batch, _)))) => {
                    return Some(Ok(batch));
                }
                Some(Ok(Some(Held::Disk(file)))) => {
                    return Some(shared.read(file).await);
                }
                Some(Ok(None)) => return None,
                Some(Err(error)) => return Some(Err(error)),
                None => shared.news[self.partition].notified().await,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.push.shared.leave(self.partition);
    }
}

impl Shared {
    /// The next batch of a partition, or its end; None: wait for news.
    fn take(&self, partition: usize) -> Option<Result<Option<Held>>> {
        let mut state = self.state.lock().unwrap();
        if let Some(error) = &state.error {
            return Some(Err(DataFusionError::Shared(error.clone())));
        }
        let held = state.held[partition].pop_front();
        if held.is_none() && !state.over {
            state.waits[partition].get_or_insert_with(Instant::now);
            self.moved.notify_waiters();
            return None;
        }
        if let Some(Held::Memory(_, bytes)) = held {
            state.bytes -= bytes;
            self.memory.shrink(bytes);
            self.moved.notify_waiters();
        }
        Some(Ok(held))
    }

    async fn read(&self, file: Arc<dyn SpillFile>) -> Result<RecordBatch> {
        let mut batches = self.disk.read_spill_as_stream(file, None)?;
        match batches.next().await {
            Some(batch) => batch,
            None => internal_err!("a file of a batch has none"),
        }
    }

    /// Nobody reads a partition any more.
    fn leave(&self, partition: usize) {
        self.forget(partition);
        self.state.lock().unwrap().wanted -= 1;
        self.moved.notify_waiters();
    }

    /// All that there is of a partition, and that comes.
    fn forget(&self, partition: usize) {
        let gather = self.gathers[partition].lock().unwrap().take();
        let mut state = self.state.lock().unwrap();
        let held = std::mem::take(&mut state.held[partition]);
        state.waits[partition] = None;
        for batch in &held {
            if let Held::Memory(_, bytes) = batch {
                state.bytes -= bytes;
                self.memory.shrink(*bytes);
            }
        }
        if let Some(gather) = &gather {
            self.memory.shrink(gather.told());
        }
        drop(state);
    }

    /// All readers have this.
    fn end_all(&self, error: DataFusionError) {
        let mut state = self.state.lock().unwrap();
        state.error.get_or_insert_with(|| Arc::new(error));
        state.over = true;
        drop(state);
        (0..self.gathers.len()).for_each(|i| self.forget(i));
        self.moved.notify_waiters();
        self.news.iter().for_each(Notify::notify_one);
    }

    /// Until an input may go on. False: nobody wants anything any more.
    async fn go_on(&self) -> bool {
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            let at = {
                let state = self.state.lock().unwrap();
                if state.wanted == 0 || state.error.is_some() {
                    return false;
                }
                if state.bytes < AHEAD {
                    return true;
                }
                let since = state.waits.iter().flatten().min();
                since.map(|since| *since + PACE)
            };
            match at {
                Some(at) if at <= Instant::now() => return true,
                Some(at) => drop(timeout_at(at, moved).await),
                None => moved.await,
            }
        }
    }

    /// Add rows of a batch to a partition.
    fn add(&self, partition: usize, from: &Source, rows: &[u32]) -> Result<()> {
        let mut gather = self.gathers[partition].lock().unwrap();
        let Some(gather) = gather.as_mut() else { return Ok(()) };
        let mut rows = rows;
        while !rows.is_empty() {
            let room = self.batch_rows.saturating_sub(gather.rows()).max(1);
            let (now, later) = rows.split_at(rows.len().min(room));
            gather.append(from, now)?;
            rows = later;
            let bytes = gather.bytes();
            if gather.rows() >= self.batch_rows || bytes >= WINDOW as usize {
                self.finish(partition, gather)?;
            } else if bytes >= gather.told() + TELL {
                let told = gather.tell(bytes);
                self.memory.grow(bytes - told);
            }
        }
        Ok(())
    }

    /// Hold what is gathered for the partition's reader.
    fn finish(&self, partition: usize, gather: &mut Gather) -> Result<()> {
        let batch = gather.finish()?;
        self.memory.shrink(gather.tell(0));
        let bytes = batch.get_array_memory_size();
        let held = match self.memory.try_grow(bytes) {
            Ok(()) => Held::Memory(batch, bytes),
            Err(_) => Held::Disk(self.write(&batch)?),
        };
        let mut state = self.state.lock().unwrap();
        if let Held::Memory(..) = held {
            state.bytes += bytes;
        }
        state.waits[partition] = None;
        state.held[partition].push_back(held);
        drop(state);
        self.news[partition].notify_one();
        Ok(())
    }

    fn write(&self, batch: &RecordBatch) -> Result<Arc<dyn SpillFile>> {
        let one = std::slice::from_ref(batch);
        let file = self.disk.spill_record_batch_and_finish(one, "weir push")?;
        match file {
            Some(file) => Ok(file),
            None => internal_err!("a batch of no rows is held"),
        }
    }

    /// An input has ended, well or not.
    fn end(&self, outcome: Result<()>) {
        let last = self.inputs.fetch_sub(1, Ordering::AcqRel) == 1;
        let outcome = match outcome {
            Ok(()) if last => self.finish_all(),
            outcome => outcome,
        };
        match outcome {
            Err(error) => self.end_all(error),
            Ok(()) if last => {
                self.state.lock().unwrap().over = true;
                self.news.iter().for_each(Notify::notify_one);
            }
            Ok(()) => {}
        }
    }

    fn finish_all(&self) -> Result<()> {
        for (partition, gather) in self.gathers.iter().enumerate() {
            let mut gather = gather.lock().unwrap();
            if let Some(mut gather) = gather.take()
                && gather.rows() > 0
            {
                self.finish(partition, &mut gather)?;
            }
        }
        Ok(())
    }
}

impl Input {
    async fn run(mut self) {
        let outcome = caught(self.gather_all()).await;
        self.shared.end(outcome);
    }

    async fn gather_all(&mut self) -> Result<()> {
        while self.shared.go_on().await {
            let timer = self.fetch.timer();
            let batch = self.stream.next().await;
            timer.done();
            let Some(batch) = batch else { break };
            self.gather(&batch?)?;
            // An input that is always ready must not keep out others.
            tokio::task::consume_budget().await;
        }
        Ok(())
    }

    fn gather(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let repartition = self.repartition.clone();
        let _timer = repartition.timer();
        self.route(batch)?;
        let from = Source::new(&self.shared.schema, batch)?;
        for (partition, rows) in self.rows.iter_mut().enumerate() {
            if !rows.is_empty() {
                self.shared.add(partition, &from, rows)?;
                rows.clear();
            }
        }
        Ok(())
    }

    /// Which rows go where: as `RepartitionExec` says, on whose partitions
    /// others rely.
    fn route(&mut self, batch: &RecordBatch) -> Result<()> {
        let n = batch.num_rows();
        let keys = self.by.iter().map(|by| by.evaluate(batch)?.into_array(n));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        self.hashes.clear();
        self.hashes.resize(n, 0);
        let state = REPARTITION_RANDOM_STATE.random_state();
        create_hashes(&keys, state, &mut self.hashes)?;
        let partitions = self.rows.len() as u64;
        if partitions.is_power_of_two() {
            for (row, hash) in self.hashes.iter().enumerate() {
                let partition = hash & (partitions - 1);
                self.rows[partition as usize].push(row as u32);
            }
        } else {
            for (row, hash) in self.hashes.iter().enumerate() {
                self.rows[(hash % partitions) as usize].push(row as u32);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
