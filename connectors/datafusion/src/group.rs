// SPDX-License-Identifier: Apache-2.0
//! The producer's side of a call: one task per partition runs its stream as
//! far as its window goes, and what comes of it waits for the next NEXT.

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
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;
use weir::{Ask, ErrorKind};

use crate::compact::compact;
use crate::fault::Fault;
use crate::slots::{Place, Places, Pool};
use crate::wire::{
    ANSWER_BYTES, Answer, Delivery, Give, INLINE_BYTES, WINDOW, What,
};

pub(crate) struct Group {
    places: Places,
    room: Vec<Notify>, // by partition: its window has moved
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Delivery>,
    parked: Option<Ask>,                        // a NEXT
    under_way: Vec<u64>,                        // bytes not taken, by partition
    lent: HashMap<u32, Lent>, // deliveries that were not given back
    last: u32,                // number of a delivery
    memory: Option<MemoryReservation>, // for them
    tasks: HashMap<u32, AbortOnDropHandle<()>>, // by partition
    over: bool,
}

/// A delivery that the consumer has not given back.
struct Lent {
    partition: u32,
    untaken: u64,         // bytes
    place: Option<Place>, // until it is freed
}

impl Group {
    pub(crate) fn new(pool: Arc<Pool>, partitions: usize) -> Arc<Self> {
        let under_way = vec![0; partitions];
        Arc::new(Self {
            places: Places::new(pool),
            room: (0..partitions).map(|_| Notify::new()).collect(),
            state: Mutex::new(State { under_way, ..State::default() }),
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
        while let Some(waited) = self.wait_for_room(partition).await {
            blocked += waited;
            match stream.next().await {
                Some(batch) => self.send(partition, &mut encoder, batch?)?,
                None => break,
            }
        }
        Ok(blocked)
    }

    /// Until a partition may send: how long that took. None: nobody wants it
    /// any more.
    async fn wait_for_room(&self, partition: u32) -> Option<Duration> {
        let i = partition as usize;
        let mut begun = None;
        loop {
            {
                let state = self.state.lock().unwrap();
                if state.over {
                    return None;
                }
                if state.under_way[i] < WINDOW {
                    return Some(
                        begun
                            .map_or(Duration::ZERO, |at: Instant| at.elapsed()),
                    );
                }
            }
            begun.get_or_insert_with(Instant::now);
            self.room[i].notified().await;
        }
    }

    fn send(
        &self,
        partition: u32,
        encoder: &mut StreamEncoder,
        batch: RecordBatch,
    ) -> Result<(), DataFusionError> {
        let pieces = encoder.encode(&compact(batch)?)?;
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
            let _ = deliver(fault.cut(INLINE_BYTES / 2));
        }
    }

    /// No stream has begun.
    pub(crate) fn fail(&self, error: &DataFusionError) {
        for i in 0..self.room.len() {
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
        let mut place = None;
        if n_bytes <= INLINE_BYTES {
            delivery.bytes = pieces.collect::<Vec<_>>().concat();
        } else {
            let filled = self.places.fill(n_bytes, pieces)?;
            delivery.slot = filled.slot_id();
            delivery.off = filled.off();
            place = Some(filled);
        }
        self.state.lock().unwrap().add(delivery, place);
        Ok(())
    }

    pub(crate) fn next(&self, give: &Give, ask: Ask) {
        let mut state = self.state.lock().unwrap();
        if state.parked.is_some() {
            ask.refuse(ErrorKind::State, "a NEXT of this call waits already");
            return;
        }
        let stopped = state.take_back(give, &self.room);
        state.parked = Some(ask);
        state.answer();
        drop(state);
        drop(stopped); // it may drop what takes the lock
    }

    pub(crate) fn give(&self, give: &Give) {
        let mut state = self.state.lock().unwrap();
        let stopped = state.take_back(give, &self.room);
        drop(state);
        drop(stopped);
    }

    /// Nobody wants anything any more. `lost`: nor does anybody say that he has
    /// read what he was told of, so its memory is not used again.
    pub(crate) fn end(&self, lost: bool) {
        let mut state = self.state.lock().unwrap();
        let over = State { over: true, ..State::default() };
        let old = std::mem::replace(&mut *state, over);
        drop(state);
        self.places.close();
        if lost {
            let places = old.lent.values().filter_map(|l| l.place.as_ref());
            places.for_each(Place::spoil);
        }
        self.room.iter().for_each(Notify::notify_one);
        drop(old); // its tasks may drop what takes the lock
    }
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no text")
}

impl State {
    fn add(&mut self, mut delivery: Delivery, place: Option<Place>) {
        if self.over {
            return;
        }
        if delivery.what() == What::Batch || place.is_some() {
            self.last += 1;
            delivery.id = self.last;
            if let (Some(place), Some(memory)) = (&place, &mut self.memory) {
                memory.grow(place.bytes());
            }
            let partition = delivery.partition;
            self.under_way[partition as usize] += delivery.n_bytes;
            let lent = Lent { partition, untaken: delivery.n_bytes, place };
            self.lent.insert(self.last, lent);
        }
        self.ready.push_back(delivery);
        self.answer();
    }

    /// What the consumer gives back. Returns tasks to be dropped.
    fn take_back(
        &mut self,
        give: &Give,
        room: &[Notify],
    ) -> Vec<AbortOnDropHandle<()>> {
        for id in &give.taken {
            if let Some(lent) = self.lent.get_mut(id) {
                let i = lent.partition as usize;
                self.under_way[i] -= std::mem::take(&mut lent.untaken);
                room[i].notify_one();
                self.forget(*id);
            }
        }
        for id in &give.freed {
            if let Some(lent) = self.lent.get_mut(id) {
                if let (Some(place), Some(memory)) =
                    (lent.place.take(), &mut self.memory)
                {
                    memory.shrink(place.bytes());
                }
                self.forget(*id);
            }
        }
        let stops = give.stops.iter();
        stops.filter_map(|i| self.tasks.remove(i)).collect()
    }

    /// If it was given back altogether.
    fn forget(&mut self, id: u32) {
        if let Some(lent) = self.lent.get(&id)
            && lent.untaken == 0
            && lent.place.is_none()
        {
            self.lent.remove(&id);
        }
    }

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
