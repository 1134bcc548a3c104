// SPDX-License-Identifier: Apache-2.0
//! The producer's side of a call: one task per partition runs its stream as
//! far as there is credit, and what comes of it waits for the next NEXT.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow::ipc::writer::StreamEncoder;
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryPool, MemoryReservation,
};
use futures::{FutureExt, StreamExt};
use prost::Message;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;
use weir::{Ask, ErrorKind};

use crate::fault::Fault;
use crate::slots::{Pool, Slot};
use crate::wire::{ANSWER_BYTES, Answer, CREDITS, Delivery, Give, What};

pub(crate) struct Group {
    pool: Arc<Pool>,
    credits: Vec<Semaphore>, // by partition
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Delivery>,
    parked: Option<Ask>,                        // a NEXT
    lent: HashMap<u64, Slot>,                   // that were announced
    memory: Option<MemoryReservation>,          // for them
    tasks: HashMap<u32, AbortOnDropHandle<()>>, // by partition
    over: bool,
}

impl Group {
    pub(crate) fn new(pool: Arc<Pool>, partitions: usize) -> Arc<Self> {
        let credits = (0..partitions).map(|_| Semaphore::new(CREDITS));
        Arc::new(Self {
            pool,
            credits: credits.collect(),
            state: Mutex::default(),
        })
    }

    /// Run streams, one for each partition.
    pub(crate) fn run(
        self: &Arc<Self>,
        streams: Vec<SendableRecordBatchStream>,
        memory: &Arc<dyn MemoryPool>,
    ) {
        let mut state = self.state.lock().unwrap();
        if state.over {
            return;
        }
        let consumer = MemoryConsumer::new("weir exchange");
        state.memory = Some(consumer.register(memory));
        for (i, stream) in streams.into_iter().enumerate() {
            let group = self.clone();
            let task = tokio::spawn(async move {
                let outcome = group.produce(i as u32, stream);
                let outcome = AssertUnwindSafe(outcome).catch_unwind().await;
                let outcome = outcome.unwrap_or_else(|panic| {
                    exec_err!("a task has panicked: {}", text_of(&*panic))
                });
                match outcome {
                    Ok(blocked) => group.end_of(i as u32, blocked),
                    Err(error) => group.fault(i as u32, &error),
                }
            });
            state.tasks.insert(i as u32, AbortOnDropHandle::new(task));
        }
    }

    /// How long it has waited for credit.
    async fn produce(
        &self,
        partition: u32,
        mut stream: SendableRecordBatchStream,
    ) -> Result<Duration, DataFusionError> {
        let mut blocked = Duration::ZERO;
        let mut encoder = StreamEncoder::try_new(&stream.schema())?;
        loop {
            blocked += self.credit(partition).await;
            match stream.next().await {
                Some(batch) => self.send(partition, &mut encoder, &batch?)?,
                None => return Ok(blocked),
            }
        }
    }

    /// Take a credit; how long that took.
    async fn credit(&self, partition: u32) -> Duration {
        let credits = &self.credits[partition as usize];
        if let Ok(credit) = credits.try_acquire() {
            credit.forget();
            return Duration::ZERO;
        }
        let begun = Instant::now();
        let credit = credits.acquire().await;
        credit.expect("it is never closed").forget();
        begun.elapsed()
    }

    fn send(
        &self,
        partition: u32,
        encoder: &mut StreamEncoder,
        batch: &RecordBatch,
    ) -> Result<(), DataFusionError> {
        let pieces = encoder.encode(batch)?;
        let pieces = pieces.iter().map(|piece| piece.as_slice());
        self.deliver(Delivery::of(partition, What::Batch), pieces)
            .map_err(|error| DataFusionError::External(Box::new(error)))
    }

    /// All of a partition's stream has come.
    fn end_of(&self, partition: u32, blocked: Duration) {
        let mut end = Delivery::of(partition, What::End);
        end.blocked_ns = blocked.as_nanos() as u64;
        let _ = self.deliver(end, std::iter::empty()); // takes no slot
    }

    /// Or it cannot.
    fn fault(&self, partition: u32, error: &DataFusionError) {
        let deliver = |fault: Fault| {
            let bytes = fault.encode_to_vec();
            let pieces = std::iter::once(bytes.as_slice());
            self.deliver(Delivery::of(partition, What::Fault), pieces)
        };
        let fault = Fault::of(error);
        if deliver(fault.clone()).is_err() {
            // No slot for a long text: its beginning will do.
            let _ = deliver(fault.cut(ANSWER_BYTES / 4));
        }
    }

    /// No stream has begun.
    pub(crate) fn fail(&self, error: &DataFusionError) {
        for i in 0..self.credits.len() {
            self.fault(i as u32, error);
        }
    }

    fn deliver<'a>(
        &self,
        mut delivery: Delivery,
        pieces: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> weir::Result<()> {
        let n_bytes = pieces.clone().map(<[u8]>::len).sum::<usize>();
        delivery.n_bytes = n_bytes as u64;
        let mut slot = None;
        if n_bytes <= ANSWER_BYTES / 2 {
            delivery.bytes = pieces.collect::<Vec<_>>().concat();
        } else {
            let filled = self.pool.fill(n_bytes, pieces)?;
            delivery.slot = filled.id();
            slot = Some(filled);
        }
        let mut state = self.state.lock().unwrap();
        if state.over {
            return Ok(());
        }
        if let Some(slot) = slot {
            if let Some(memory) = &mut state.memory {
                memory.grow(slot.size());
            }
            state.lent.insert(slot.id(), slot);
        }
        state.ready.push_back(delivery);
        state.answer();
        Ok(())
    }

    pub(crate) fn next(&self, ask: Ask) {
        let mut state = self.state.lock().unwrap();
        if state.parked.is_some() {
            ask.refuse(ErrorKind::State, "a NEXT of this call waits already");
            return;
        }
        state.parked = Some(ask);
        state.answer();
    }

    pub(crate) fn give(&self, give: &Give) {
        let mut state = self.state.lock().unwrap();
        for id in &give.slots {
            if let Some(slot) = state.lent.remove(id)
                && let Some(memory) = &mut state.memory
            {
                memory.shrink(slot.size());
            }
        }
        for partition in &give.stops {
            state.tasks.remove(partition);
        }
        for partition in &give.credits {
            if let Some(credits) = self.credits.get(*partition as usize) {
                credits.add_permits(1);
            }
        }
    }

    /// Nobody wants anything any more.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock().unwrap();
        let tasks = std::mem::take(&mut state.tasks);
        *state = State { over: true, ..State::default() };
        drop(state);
        drop(tasks); // it may drop what takes the lock
    }
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no text")
}

impl State {
    /// Answer a NEXT with what fits.
    fn answer(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let Some(ask) = self.parked.take() else {
            return;
        };
        let mut answer = Answer::default();
        let mut room = ANSWER_BYTES;
        while let Some(delivery) = self.ready.front() {
            let takes = delivery.encoded_len() + 4;
            if takes > room {
                break;
            }
            room -= takes;
            answer.deliveries.extend(self.ready.pop_front());
        }
        let _ = ask.answer(&answer.encode_to_vec());
    }
}

impl Delivery {
    fn of(partition: u32, what: What) -> Self {
        Self { partition, what: what.into(), ..Default::default() }
    }
}
