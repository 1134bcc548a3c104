// SPDX-License-Identifier: Apache-2.0
//! Producing: a sink of record batches.

use std::future::poll_fn;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::RecordBatch;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::SchemaRef;
use futures_core::Stream;
use futures_sink::Sink;

use crate::batch::{export, fits_schema, laid_out_as, raw};
use crate::error::{call, left, Error, ErrorKind, Result};
use crate::shuffle::{c_schema, Shuffle, ShuffleInner};
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

/// A batch that rings have not taken yet; C knows it again by its buffers.
struct Pending {
    array: FFI_ArrowArray,
    dest: Option<Vec<u32>>,
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
/// Dropping a writer that was not finished aborts the query on all members.
pub struct Writer {
    raw: NonNull<sys::weir_writer>,
    shuffle: Arc<ShuffleInner>,
    worker: u32,
    pending: Option<Pending>,
    layout: SchemaRef,
    unwanted: bool,
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
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE));
        let layout = shuffle.schema.clone();
        Ok(Self {
            raw: raw?,
            shuffle,
            worker,
            pending: None,
            layout,
            unwanted: false,
            finished: false,
        })
    }

    /// Push a batch: its rows are cut and copied into the rings. Sleeps while
    /// they are full.
    ///
    /// Dropping the future: a batch of which some rows may have gone out stays
    /// with the writer, which goes on with it at its next call. One that was
    /// not begun is dropped: that is if an earlier batch was still waiting.
    ///
    /// # Errors
    /// `Schema` (other columns than the shuffle's), `Data` (a row over
    /// `max_row_bytes`), `State` (finished), and what failed the query.
    pub async fn push(&mut self, batch: RecordBatch) -> Result<Wanted> {
        poll_fn(|cx| self.poll_pending(cx)).await?;
        self.begin(&batch, None)?;
        poll_fn(|cx| self.poll_pending(cx)).await?;
        Ok(self.wanted())
    }

    /// As [`Writer::push`], of a shuffle by
    /// [`Partitioning::Vector`](crate::Partitioning): row `i` goes to
    /// destination `dest[i]`.
    ///
    /// # Errors
    /// Also `Arg`: another number of destinations than rows, or one that is out
    /// of range.
    pub async fn push_to(
        &mut self,
        batch: RecordBatch,
        dest: Vec<u32>,
    ) -> Result<Wanted> {
        poll_fn(|cx| self.poll_pending(cx)).await?;
        self.begin(&batch, Some(dest))?;
        poll_fn(|cx| self.poll_pending(cx)).await?;
        Ok(self.wanted())
    }

    /// End the stream to every destination. Nothing can be pushed any more.
    /// May be called again if its future was dropped.
    ///
    /// # Errors
    /// What failed the query.
    pub async fn finish(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    /// Push all of a stream, or as much as is wanted, and finish.
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
        self.begin(batch, None)?;
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
        self.begin(batch, Some(dest))?;
        self.try_drain()
    }

    /// Go on with a batch that was not taken.
    ///
    /// # Errors
    /// As [`Writer::push`].
    pub fn try_drain(&mut self) -> Result<Push> {
        if self.pending.is_some() {
            let hub = self.shuffle.hub(self.worker);
            let turn = hub.turn();
            let moved = Self::attempt(self.raw, &self.pending);
            drop(turn);
            match moved {
                None => return Ok(Push::Full),
                Some(moved) => self.settle(moved)?,
            }
        }
        Ok(if self.unwanted { Push::NoMore } else { Push::Taken })
    }

    /// End the stream without waiting. True: it has ended.
    ///
    /// # Errors
    /// `State` (a batch is not taken yet), and what failed the query.
    pub fn try_finish(&mut self) -> Result<bool> {
        if !self.finished {
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
            sys::WEIR_DONE => self.unwanted = true,
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
        if self.unwanted {
            Wanted::NoMore
        } else {
            Wanted::More
        }
    }

    /// Make a batch the pending one.
    fn begin(
        &mut self,
        batch: &RecordBatch,
        dest: Option<Vec<u32>>,
    ) -> Result<()> {
        let state = |text: &str| Err(Error::new(ErrorKind::State, text));
        if self.finished {
            return state("the writer was finished");
        }
        if self.pending.is_some() {
            return state("another batch is not taken yet");
        }
        if !laid_out_as(batch, &self.layout) {
            self.lay_out(batch)?;
        }
        if let Some(dest) = &dest {
            let (n, rows) = (dest.len(), batch.num_rows());
            if n != rows {
                return Err(Error::new(
                    ErrorKind::Arg,
                    format!("{n} destinations for {rows} rows"),
                ));
            }
        }
        if !self.unwanted {
            self.pending = Some(Pending { array: export(batch), dest });
        }
        Ok(())
    }

    /// Tell the library of the layout of this batch and those that follow.
    fn lay_out(&mut self, batch: &RecordBatch) -> Result<()> {
        fits_schema(batch, &self.shuffle.schema)?;
        let schema = c_schema(batch.schema_ref())?;
        let turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the writer is open and it is its worker's turn; the schema is
        // borrowed for the call.
        let code = unsafe {
            let schema = &schema as *const FFI_ArrowSchema as *const _;
            sys::weir_writer_layout(self.raw.as_ptr(), schema)
        };
        drop(turn);
        if code < 0 {
            return Err(self.error(code));
        }
        self.layout = batch.schema();
        Ok(())
    }

    /// One try, in the worker's turn: true: wanted; None: a ring is full.
    fn attempt(
        raw_writer: NonNull<sys::weir_writer>,
        pending: &Option<Pending>,
    ) -> Option<Result<bool>> {
        let pending = match pending {
            Some(pending) => pending,
            None => return Some(Ok(true)),
        };
        let writer = raw_writer.as_ptr();
        let array = raw(&pending.array);
        // SAFETY: the writer is open, it is its worker's turn; the array has
        // the columns of the shuffle, and as many rows as there are
        // destinations (begin).
        let code = unsafe {
            match &pending.dest {
                None => sys::weir_writer_push(writer, array),
                Some(d) => sys::weir_writer_push_to(writer, array, d.as_ptr()),
            }
        };
        match code {
            sys::WEIR_OK => Some(Ok(true)),
            sys::WEIR_DONE => Some(Ok(false)),
            sys::WEIR_AGAIN => None,
            code => Some(Err(Self::message(raw_writer, code))),
        }
    }

    fn attempt_finish(
        raw_writer: NonNull<sys::weir_writer>,
    ) -> Option<Result<()>> {
        // SAFETY: the writer is open and it is its worker's turn.
        match unsafe { sys::weir_writer_finish(raw_writer.as_ptr()) } {
            sys::WEIR_OK => Some(Ok(())),
            sys::WEIR_AGAIN => None,
            code => Some(Err(Self::message(raw_writer, code))),
        }
    }

    /// The pending batch is gone: taken, unwanted, or refused.
    fn settle(&mut self, moved: Result<bool>) -> Result<()> {
        self.pending = None;
        if !moved? {
            self.unwanted = true;
        }
        Ok(())
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.pending.is_none() {
            return Poll::Ready(Ok(()));
        }
        let coop = ready!(tokio::task::coop::poll_proceed(cx));
        let node = &self.shuffle.query.node;
        let hub = self.shuffle.hub(self.worker);
        let (raw, pending) = (self.raw, &self.pending);
        let moved = ready!(
            hub.poll(node.raw(), cx, || { Self::attempt(raw, pending) })
        );
        coop.made_progress();
        Poll::Ready(match moved {
            Ok(moved) => self.settle(moved),
            Err(error) => Err(error), // no runtime: the batch is still there
        })
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_pending(cx))?;
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
        Self::message(self.raw, code)
    }

    /// In the worker's turn.
    fn message(raw: NonNull<sys::weir_writer>, code: sys::weir_err) -> Error {
        left(code, |err| {
            // SAFETY: the writer is open and it is its worker's turn.
            unsafe { sys::weir_writer_error(raw.as_ptr(), err) }
        })
    }
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
    ($item:ty, $pattern:pat => $batch:expr, $dest:expr) => {
        impl Sink<$item> for Writer {
            type Error = Error;

            fn poll_ready(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.get_mut().poll_pending(cx)
            }

            fn start_send(self: Pin<&mut Self>, item: $item) -> Result<()> {
                let $pattern = item;
                self.get_mut().begin(&$batch, $dest)
            }

            fn poll_flush(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.get_mut().poll_pending(cx)
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

sink!(RecordBatch, batch => batch, None);
sink!((RecordBatch, Vec<u32>), (batch, dest) => batch, Some(dest));
