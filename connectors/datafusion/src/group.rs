// SPDX-License-Identifier: Apache-2.0
//! The producer's side of a call: one task per partition runs its stream as
//! far as its window goes, and what comes of it waits for the next NEXT.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow::ipc::writer::StreamEncoder;
use arrow::record_batch::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryPool, MemoryReservation,
};
use futures::StreamExt;
use prost::Message;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, TryAcquireError};
use tokio_util::task::AbortOnDropHandle;
use weir::{Ask, ErrorKind};

use crate::compact::compact;
use crate::fault::{Fault, caught};
use crate::slots::{Place, Places, Pool};
use crate::wire::{
    ANSWER_BYTES, Answer, Delivery, Give, INLINE_BYTES, PIECE_BYTES, WINDOW,
    What,
};

pub(crate) struct Group {
    places: Places,
    room: Vec<Notify>, // by partition: its window has moved
    slots: Semaphore,  // bytes that may go into them; closed: it is over
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

/// A partition's way to its consumer.
struct Sending {
    partition: u32,
    encoder: StreamEncoder,
    blocked: Duration, // for credit
}

/// What of a batch was not sent yet.
struct Rest<'a> {
    parts: VecDeque<&'a [u8]>,
    bytes: usize,
}

/// A delivery that the consumer has not given back.
struct Lent {
    partition: u32,
    untaken: u64,         // bytes
    slots: usize,         // bytes that others may use once it is freed
    place: Option<Place>, // until it is freed
}

impl Group {
    /// With so many bytes of slots at a time.
    pub(crate) fn new(
        pool: Arc<Pool>,
        partitions: usize,
        slot_bytes: usize,
    ) -> Arc<Self> {
        let under_way = vec![0; partitions];
        Arc::new(Self {
            places: Places::new(pool),
            room: (0..partitions).map(|_| Notify::new()).collect(),
            slots: Semaphore::new(slot_bytes),
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
                match caught(group.produce(i as u32, stream)).await {
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
        let encoder = StreamEncoder::try_new(&stream.schema())?;
        let mut to = Sending { partition, encoder, blocked: Duration::ZERO };
        while self.wait_for_room(&mut to).await {
            match stream.next().await {
                Some(batch) => self.send(&mut to, batch?).await?,
                None => break,
            }
        }
        Ok(to.blocked)
    }

    /// Until a partition may send. False: nobody wants it any more.
    async fn wait_for_room(&self, to: &mut Sending) -> bool {
        let i = to.partition as usize;
        loop {
            {
                let state = self.state.lock().unwrap();
                if state.over || state.under_way[i] < WINDOW {
                    return !state.over;
                }
            }
            let begun = Instant::now();
            self.room[i].notified().await;
            to.blocked += begun.elapsed();
        }
    }

    async fn send(
        &self,
        to: &mut Sending,
        batch: RecordBatch,
    ) -> Result<(), DataFusionError> {
        let buffers = to.encoder.encode(&compact(batch)?)?;
        let mut rest = Rest::new(buffers.iter().map(|b| b.as_slice()));
        let whole = rest.bytes as u64;
        let mut delivery = Delivery::of(to.partition, What::Batch);
        if rest.bytes > PIECE_BYTES {
            delivery.whole = whole;
        }
        while rest.bytes > PIECE_BYTES {
            let mut piece = delivery.clone();
            piece.set_what(What::Piece);
            self.send_piece(to, piece, &rest.cut(PIECE_BYTES), 0).await?;
            delivery.whole = 0;
        }
        let last = rest.cut(rest.bytes);
        self.send_piece(to, delivery, &last, whole).await
    }

    /// Send what fits a slot; it ends a batch of `whole` bytes, or none.
    async fn send_piece(
        &self,
        to: &mut Sending,
        delivery: Delivery,
        parts: &[&[u8]],
        whole: u64,
    ) -> Result<(), DataFusionError> {
        let bytes = bytes_of(parts);
        if bytes > INLINE_BYTES && !self.wait_for_slots(to, bytes).await {
            return Ok(()); // nobody wants it any more
        }
        self.deliver(delivery, parts, whole).map_err(|error| {
            self.slots.add_permits(bytes); // that it did not take
            DataFusionError::External(Box::new(error))
        })
    }

    /// Until so much may go into slots, which it then does. False: it is over.
    async fn wait_for_slots(&self, to: &mut Sending, bytes: usize) -> bool {
        let bytes = bytes as u32; // of a piece
        let mut permit = self.slots.try_acquire_many(bytes);
        if permit.is_err() {
            let begun = Instant::now();
            let closed = |_| TryAcquireError::Closed;
            permit = self.slots.acquire_many(bytes).await.map_err(closed);
            to.blocked += begun.elapsed();
        }
        permit.map(SemaphorePermit::forget).is_ok() // until it is freed
    }

    /// All of a partition's stream has come.
    fn end_of(&self, partition: u32, blocked: Duration) {
        let mut end = Delivery::of(partition, What::End);
        end.blocked_ns = blocked.as_nanos() as u64;
        let _ = self.deliver(end, &[], 0); // takes no slot
    }

    /// Or it cannot.
    fn fault(&self, partition: u32, error: &DataFusionError) {
        let deliver = |fault: Fault| {
            let bytes = fault.encode_to_vec();
            self.deliver(Delivery::of(partition, What::Fault), &[&bytes], 0)
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

    /// `whole`: bytes of the batch that ends with it.
    fn deliver(
        &self,
        mut delivery: Delivery,
        parts: &[&[u8]],
        whole: u64,
    ) -> weir::Result<()> {
        let n_bytes = bytes_of(parts);
        delivery.n_bytes = n_bytes as u64;
        let mut place = None;
        if n_bytes <= INLINE_BYTES {
            delivery.bytes = parts.concat();
        } else {
            let filled = self.places.fill(n_bytes, parts)?;
            delivery.slot = filled.slot_id();
            delivery.off = filled.off();
            place = Some(filled);
        }
        self.state.lock().unwrap().add(delivery, place, whole);
        Ok(())
    }

    pub(crate) fn next(&self, give: &Give, ask: Ask) {
        let mut state = self.state.lock().unwrap();
        if state.parked.is_some() {
            ask.refuse(ErrorKind::State, "a NEXT of this call waits already");
            return;
        }
        let stopped = state.take_back(give, self);
        state.parked = Some(ask);
        state.answer();
        drop(state);
        drop(stopped); // it may drop what takes the lock
    }

    pub(crate) fn give(&self, give: &Give) {
        let mut state = self.state.lock().unwrap();
        let stopped = state.take_back(give, self);
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
        self.slots.close();
        if lost {
            let places = old.lent.values().filter_map(|l| l.place.as_ref());
            places.for_each(Place::spoil);
        }
        self.room.iter().for_each(Notify::notify_one);
        drop(old); // its tasks may drop what takes the lock
    }
}

impl<'a> Rest<'a> {
    fn new(parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let parts = parts.collect::<VecDeque<_>>();
        let bytes = parts.iter().map(|part| part.len()).sum();
        Self { parts, bytes }
    }

    /// The next so many bytes, which there are.
    fn cut(&mut self, bytes: usize) -> Vec<&'a [u8]> {
        let mut cut = Vec::new();
        let mut left = bytes;
        while left > 0 {
            let Some(part) = self.parts.pop_front() else { break };
            let (now, later) = part.split_at(part.len().min(left));
            cut.push(now);
            left -= now.len();
            if !later.is_empty() {
                self.parts.push_front(later);
            }
        }
        self.bytes -= bytes - left;
        cut
    }
}

fn bytes_of(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

impl State {
    fn add(
        &mut self,
        mut delivery: Delivery,
        place: Option<Place>,
        whole: u64,
    ) {
        if self.over {
            return;
        }
        if whole > 0 || place.is_some() {
            self.last += 1;
            delivery.id = self.last;
            let lent = self.lend(&delivery, place, whole);
            self.lent.insert(self.last, lent);
        }
        self.ready.push_back(delivery);
        self.answer();
    }

    fn lend(
        &mut self,
        of: &Delivery,
        place: Option<Place>,
        whole: u64,
    ) -> Lent {
        if let (Some(place), Some(memory)) = (&place, &mut self.memory) {
            memory.grow(place.bytes());
        }
        let has_waited = place.is_some() && of.what() != What::Fault;
        let slots = if has_waited { of.n_bytes as usize } else { 0 };
        self.under_way[of.partition as usize] += whole;
        Lent { partition: of.partition, untaken: whole, slots, place }
    }

    /// What the consumer gives back. Returns tasks to be dropped.
    fn take_back(
        &mut self,
        give: &Give,
        group: &Group,
    ) -> Vec<AbortOnDropHandle<()>> {
        for id in &give.taken {
            if let Some(lent) = self.lent.get_mut(id) {
                let i = lent.partition as usize;
                self.under_way[i] -= std::mem::take(&mut lent.untaken);
                group.room[i].notify_one();
                self.forget(*id);
            }
        }
        for id in &give.freed {
            self.free(*id, &group.slots);
        }
        let stops = give.stops.iter();
        stops.filter_map(|i| self.tasks.remove(i)).collect()
    }

    /// The bytes of a delivery have been copied.
    fn free(&mut self, id: u32, slots: &Semaphore) {
        let Some(lent) = self.lent.get_mut(&id) else { return };
        if let (Some(place), Some(memory)) =
            (lent.place.take(), &mut self.memory)
        {
            memory.shrink(place.bytes());
        }
        slots.add_permits(std::mem::take(&mut lent.slots));
        self.forget(id);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_all_there_in_order() {
        let parts = [&b"abc"[..], b"", b"defgh", b"i"];
        for n in 1..10 {
            let mut rest = Rest::new(parts.into_iter());
            let mut all = Vec::new();
            while rest.bytes > 0 {
                let cut = rest.cut(n.min(rest.bytes));
                assert!(bytes_of(&cut) == n || rest.bytes == 0);
                all.extend(cut.concat());
            }
            assert_eq!(all, b"abcdefghi");
        }
    }
}
