// SPDX-License-Identifier: Apache-2.0
//! Producing: a sink of record batches.

use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use arrow_array::RecordBatch;
use futures_core::Stream;
use futures_sink::Sink;

use crate::error::{call, Error, ErrorKind, Result, Scope};
use crate::queue::{not_taken, why, Parcel, Queue};
use crate::shuffle::{Shuffle, ShuffleInner};
use weir_sys as sys;

/// Do consumers want more rows of this writer?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Go on.
    More,
    /// All of them have stopped reading: finish.
    NoMore,
}

/// What [`Writer::try_push`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Push {
    /// The batch is in the rings.
    Taken,
    /// A ring is full: the writer keeps the batch. Take input, wait, and call
    /// [`Writer::try_drain`] until it says something else.
    Full,
    /// No consumer wants more: finish.
    NoMore,
}

/// What went to one destination so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EdgeStats {
    /// Rows.
    pub rows: u64,
    /// Bytes of frames published.
    pub bytes: u64,
    /// Frames published.
    pub frames: u64,
    /// Rows that the consumer's filter dropped.
    pub filtered: u64,
}

/// The writer of one producing worker.
///
/// A `Sink<RecordBatch>`, and of `(RecordBatch, Vec<u32>)` for
/// [`Partitioning::Vector`](crate::Partitioning). After its consumers have
/// stopped, the sink takes batches and drops them: [`Writer::push`] says so
/// instead, which an endless producer needs. Closing the sink is
/// [`Writer::finish`]. Flushing it waits until its batch is taken; rows that
/// wait in a frame that is not full travel by themselves when its consumer is
/// idle or the worker sleeps ([`Writer::publish`] sends them at once).
///
/// Batches may hold the shuffle's `Utf8` and `Binary` columns as `LargeUtf8`,
/// `LargeBinary`, `Utf8View` and `BinaryView`, and any column as a
/// `Dictionary`: rows are cut from them without a cast. Readers get the
/// shuffle's schema.
///
/// **Cancellation.** A batch that was pushed is the writer's from the call on,
/// also if the future of [`Writer::push`], [`Writer::push_to`] or
/// [`Writer::send`] is dropped, polled or not: the writer goes on with it at its
/// next call, and says then if it had to refuse it. So do not push it again; to
/// wait for it there is [`Writer::drain`]. Nothing bounds what is left in this
/// way but that each call which is waited for waits for all of it. What the
/// `futures` crate makes of the sink (`feed`, `send_all`, and `send` in generic
/// code) holds a batch itself until the sink is ready: dropped before, the batch
/// is gone with it.
///
/// Dropping a writer that was not finished aborts the query on all members.
pub struct Writer {
    raw: NonNull<sys::weir_writer>,
    shuffle: Arc<ShuffleInner>,
    worker: u32,
    queue: Queue,
    finished: bool,
}

// SAFETY: calls are ordered by the worker's turn; nothing else keeps it to a
// thread (node.h).
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn open(shuffle: &Shuffle, worker: u32) -> Result<Self> {
        let shuffle = shuffle.0.clone();
        let mut raw = std::ptr::null_mut();
        let turn = shuffle.query.node.hub(worker)?.turn();
        // SAFETY: the shuffle is its query's, which is open.
        call(|err| unsafe {
            sys::weir_writer_open(shuffle.ptr(), worker, &mut raw, err)
        })?;
        drop(turn);
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        let queue = Queue::new(raw, shuffle.schema.clone());
        Ok(Self { raw, shuffle, worker, queue, finished: false })
    }

    /// Push a batch: its rows are cut and copied into the rings. Sleeps while
    /// they are full.
    ///
    /// The batch is the writer's from this call on, not from the first poll:
    /// if the future is dropped, the writer goes on with it at its next call.
    ///
    /// # Errors
    /// `Schema` (other columns than the shuffle's), `Data` (a row over
    /// `max_row_bytes`), `State` (finished), and what failed the query. If it is
    /// of an earlier batch, whose future was dropped, the message begins with
    /// that; this batch is the writer's then.
    pub fn push(
        &mut self,
        batch: RecordBatch,
    ) -> impl Future<Output = Result<Wanted>> + Send + '_ {
        self.put(Parcel(batch, None));
        self.drain_own()
    }

    /// As [`Writer::push`], of a shuffle by
    /// [`Partitioning::Vector`](crate::Partitioning): row `i` goes to
    /// destination `dest[i]`.
    ///
    /// # Errors
    /// Also `Arg`: another number of destinations than rows, or one that is out
    /// of range.
    pub fn push_to(
        &mut self,
        batch: RecordBatch,
        dest: Vec<u32>,
    ) -> impl Future<Output = Result<Wanted>> + Send + '_ {
        self.put(Parcel(batch, Some(dest)));
        self.drain_own()
    }

    /// As [`Writer::push`] or [`Writer::push_to`], for who does not ask whether
    /// more is wanted. It goes before `send` of `futures::SinkExt`, which has
    /// the batch itself until the sink is ready, and would lose it.
    ///
    /// # Errors
    /// As those.
    pub fn send(
        &mut self,
        batch: impl Into<Parcel>,
    ) -> impl Future<Output = Result<()>> + Send + '_ {
        self.put(batch.into());
        let drained = self.drain_own();
        async { drained.await.map(drop) }
    }

    /// Wait until the rings have taken what earlier calls have left: batches
    /// whose future was dropped, or that [`Writer::try_push`] found no room for.
    ///
    /// # Errors
    /// As [`Writer::push`], of the first of them that was refused, which is gone
    /// then. Call it again for those behind.
    pub async fn drain(&mut self) -> Result<Wanted> {
        poll_fn(|cx| self.poll_queue(cx)).await?;
        Ok(self.wanted())
    }

    /// End the stream to every destination, once earlier batches are taken.
    /// Nothing can be pushed any more. May be called again if its future was
    /// dropped.
    ///
    /// # Errors
    /// What failed the query; as [`Writer::drain`], then the stream has not
    /// ended.
    pub async fn finish(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    /// Push all of a stream, or as much as is wanted, and finish. Dropping the
    /// future drops the stream, unless that is a `&mut`; what was taken of it is
    /// the writer's.
    ///
    /// # Errors
    /// The stream's, and as [`Writer::push`] and [`Writer::finish`]. The writer
    /// is not finished then.
    pub async fn push_all<S, E>(&mut self, stream: S) -> Result<(), E>
    where
        S: Stream<Item = Result<RecordBatch, E>>,
        E: From<Error>,
    {
        let mut stream = std::pin::pin!(stream);
        while let Some(batch) =
            poll_fn(|cx| stream.as_mut().poll_next(cx)).await
        {
            if self.push(batch?).await? == Wanted::NoMore {
                break;
            }
        }
        Ok(self.finish().await?)
    }

    /// Push without waiting; see [`Push`].
    ///
    /// # Errors
    /// As [`Writer::push`]; `State` also if an earlier batch is not taken yet.
    pub fn try_push(&mut self, batch: &RecordBatch) -> Result<Push> {
        self.begin(Parcel(batch.clone(), None))?;
        self.try_drain()
    }

    /// As [`Writer::try_push`], with destinations.
    ///
    /// # Errors
    /// As [`Writer::push_to`]; `State` also if an earlier batch is not taken
    /// yet.
    pub fn try_push_to(
        &mut self,
        batch: &RecordBatch,
        dest: Vec<u32>,
    ) -> Result<Push> {
        self.begin(Parcel(batch.clone(), Some(dest)))?;
        self.try_drain()
    }

    /// Go on with batches that were not taken.
    ///
    /// # Errors
    /// As [`Writer::drain`].
    pub fn try_drain(&mut self) -> Result<Push> {
        while !self.queue.is_empty() {
            let moved = {
                let _turn = self.shuffle.hub(self.worker).turn();
                self.queue.attempt()
            };
            match moved {
                None => return Ok(Push::Full),
                Some(moved) => self.queue.settle(moved)?,
            }
        }
        Ok(match self.wanted() {
            Wanted::More => Push::Taken,
            Wanted::NoMore => Push::NoMore,
        })
    }

    /// End the stream without waiting. True: it has ended.
    ///
    /// # Errors
    /// `State` (a batch is not taken yet), and what failed the query.
    pub fn try_finish(&mut self) -> Result<bool> {
        if !self.finished {
            if !self.queue.is_empty() {
                return Err(not_taken()); // C may not have heard of it
            }
            let hub = self.shuffle.hub(self.worker);
            let turn = hub.turn();
            let ended = Self::attempt_finish(self.raw);
            drop(turn);
            match ended {
                None => return Ok(false),
                Some(ended) => ended?,
            }
            self.finished = true;
        }
        Ok(true)
    }

    /// Hear whether consumers want more, without rows; what was pushed before
    /// does not wait in a frame that is not full. For a producer that computes
    /// long between batches: about once per batch of its input.
    ///
    /// # Errors
    /// What failed the query.
    pub fn poll_wanted(&mut self) -> Result<Wanted> {
        let turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the writer is open and it is its worker's turn.
        let code = unsafe { sys::weir_writer_poll(self.raw.as_ptr()) };
        drop(turn);
        match code {
            sys::WEIR_OK => {}
            sys::WEIR_DONE => self.queue.unwanted = true,
            code => return Err(self.error(code)),
        }
        Ok(self.wanted())
    }

    /// Publish what is held in partly filled frames, now.
    ///
    /// # Errors
    /// What failed the query.
    pub fn publish(&mut self) -> Result<()> {
        let turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the writer is open and it is its worker's turn.
        let code = unsafe { sys::weir_writer_flush(self.raw.as_ptr()) };
        drop(turn);
        if code < 0 {
            return Err(self.error(code));
        }
        Ok(())
    }

    /// What went to one destination.
    ///
    /// # Errors
    /// `Arg`: no such destination.
    pub fn stats(&self, destination: u32) -> Result<EdgeStats> {
        let mut raw = sys::weir_edge_stats::default();
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the writer is open and it is its worker's turn.
        let code = unsafe {
            sys::weir_writer_stats(self.raw.as_ptr(), destination, &mut raw)
        };
        if code < 0 {
            return Err(Error::of(code));
        }
        let sys::weir_edge_stats { rows, bytes, frames, filtered } = raw;
        Ok(EdgeStats { rows, bytes, frames, filtered })
    }

    fn wanted(&self) -> Wanted {
        if self.queue.unwanted {
            Wanted::NoMore
        } else {
            Wanted::More
        }
    }

    fn put(&mut self, parcel: Parcel) {
        if self.finished {
            self.queue.refuse(after_the_end());
        } else {
            self.queue.put(parcel);
        }
    }

    fn begin(&mut self, parcel: Parcel) -> Result<()> {
        if self.finished {
            return Err(after_the_end());
        }
        self.queue.put_first(parcel)
    }

    /// All that waits, of which the last is this call's own.
    async fn drain_own(&mut self) -> Result<Wanted> {
        let drained = poll_fn(|cx| self.poll_queue(cx)).await;
        let earlier = !self.queue.is_empty();
        drained.map_err(|error| match error.scope() {
            Scope::Call if earlier && error.kind() != ErrorKind::System => {
                Error::new(
                    error.kind(),
                    format!("of an earlier batch: {}", error.message()),
                )
            }
            _ => error,
        })?;
        Ok(self.wanted())
    }

    fn attempt_finish(
        raw_writer: NonNull<sys::weir_writer>,
    ) -> Option<Result<()>> {
        // SAFETY: the writer is open and it is its worker's turn.
        match unsafe { sys::weir_writer_finish(raw_writer.as_ptr()) } {
            sys::WEIR_OK => Some(Ok(())),
            sys::WEIR_AGAIN => None,
            code => Some(Err(why(raw_writer, code))),
        }
    }

    fn poll_queue(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        while !self.queue.is_empty() {
            let coop = ready!(tokio::task::coop::poll_proceed(cx));
            let node = &self.shuffle.query.node;
            let hub = self.shuffle.hub(self.worker);
            let queue = &mut self.queue;
            let moved = ready!(hub.poll(node.raw(), cx, || queue.attempt()));
            coop.made_progress();
            self.queue.settle(moved?)?; // no runtime: the first is still there
        }
        Poll::Ready(Ok(()))
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_queue(cx))?;
        if self.finished {
            return Poll::Ready(Ok(()));
        }
        let node = &self.shuffle.query.node;
        let hub = self.shuffle.hub(self.worker);
        let raw = self.raw;
        let ended =
            ready!(hub.poll(node.raw(), cx, || Self::attempt_finish(raw)));
        if let Ok(Ok(())) = &ended {
            self.finished = true;
        }
        Poll::Ready(ended.and_then(|e| e))
    }

    fn error(&self, code: sys::weir_err) -> Error {
        let _turn = self.shuffle.hub(self.worker).turn();
        why(self.raw, code)
    }
}

fn after_the_end() -> Error {
    Error::new(ErrorKind::State, "the writer was finished")
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the writer is open, it is its worker's turn, and nobody uses
        // it afterwards.
        unsafe { sys::weir_writer_close(self.raw.as_ptr()) };
    }
}

macro_rules! sink {
    ($item:ty) => {
        impl Sink<$item> for Writer {
            type Error = Error;

            fn poll_ready(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.get_mut().poll_queue(cx)
            }

            fn start_send(self: Pin<&mut Self>, item: $item) -> Result<()> {
                self.get_mut().begin(item.into())
            }

            fn poll_flush(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.get_mut().poll_queue(cx)
            }

            fn poll_close(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.get_mut().poll_finish(cx)
            }
        }
    };
}

sink!(RecordBatch);
sink!((RecordBatch, Vec<u32>));
