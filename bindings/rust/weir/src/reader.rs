// SPDX-License-Identifier: Apache-2.0
//! Consuming: a stream of record batches.

use std::future::poll_fn;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::{Field, SchemaRef};
use futures_core::Stream;

use crate::batch::{import, raw, same_types, Received};
use crate::error::{call, left, Error, ErrorKind, Result};
use crate::shuffle::{Shuffle, ShuffleInner};
use weir_sys as sys;

/// How batches are handed out, and what happens when so many are held that a
/// producer has no room for its next frame.
///
/// Space is given back in the order in which it was filled: a batch that is
/// kept holds the space of all later ones of the same producer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hold {
    /// Over the ring. Without room: an error of kind [`ErrorKind::Held`], which
    /// is not the stream's end. For who drops a batch before taking the next.
    #[default]
    Lend,
    /// Over the ring. Without room: waits. For who drops batches elsewhere,
    /// such as in another task; who holds them all waits for ever.
    LendAndWait,
    /// Copies in ordinary memory, which may be kept.
    Copy,
}

/// What [`Reader::try_take`] came to.
#[derive(Debug)]
#[must_use]
pub enum Next {
    /// A batch.
    Batch(RecordBatch),
    /// Nothing is there yet.
    Later,
    /// Every producer has ended, and every row was received exactly once.
    End,
}

enum Took {
    Array(Received),
    Nothing,
    Held,
    End,
    Failed(Error),
}

/// The reader of one consuming worker: a `Stream` of batches.
///
/// Its end is the proof of completeness: every producer has ended, and count,
/// bytes and checksum agree with what was received. What was taken before an
/// error is correct but not complete. After an error the stream ends, except
/// after [`ErrorKind::Held`].
///
/// Dropping a reader, or [`Reader::stop`], tells its producers that it wants no
/// more (LIMIT). Polling is cancel-safe: no batch is lost with a future.
pub struct Reader {
    raw: NonNull<sys::weir_reader>,
    shuffle: Arc<ShuffleInner>,
    worker: u32,
    hold: Hold,
    over: bool,
}

// SAFETY: calls are ordered by the worker's turn; nothing else keeps it to a
// thread (node.h).
unsafe impl Send for Reader {}

impl Reader {
    pub(crate) fn open(shuffle: &Shuffle, worker: u32) -> Result<Self> {
        let shuffle = shuffle.0.clone();
        let mut raw = std::ptr::null_mut();
        let turn = shuffle.query.node.hub(worker)?.turn();
        // SAFETY: the shuffle is its query's, which is open.
        call(|err| unsafe {
            sys::weir_reader_open(shuffle.ptr(), worker, &mut raw, err)
        })?;
        drop(turn);
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE));
        let hold = Hold::default();
        Ok(Self { raw: raw?, shuffle, worker, hold, over: false })
    }

    /// The columns of its batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.shuffle.schema
    }

    /// How batches are handed out from now on.
    pub fn set_hold(&mut self, hold: Hold) {
        self.hold = hold;
    }

    /// As [`Reader::set_hold`], of a reader that was just opened.
    #[must_use]
    pub fn hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// The next batch; `None` at the end. The same as the stream's.
    ///
    /// # Errors
    /// What failed the query; `Held`; `QueryData` (a producer in another
    /// language has pushed texts that are not UTF-8).
    pub async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        poll_fn(|cx| self.poll_batch(cx)).await.transpose()
    }

    /// Take the next batch if one has arrived, from whichever producer.
    ///
    /// # Errors
    /// As [`Reader::next_batch`].
    pub fn try_take(&mut self) -> Result<Next> {
        if self.over {
            return Ok(Next::End);
        }
        let turn = self.shuffle.hub(self.worker).turn();
        let took = Self::take(self.raw);
        drop(turn);
        match took {
            Took::Nothing => Ok(Next::Later),
            Took::Held if self.hold == Hold::LendAndWait => Ok(Next::Later),
            took => match self.hand_out(took) {
                Some(batch) => batch.map(Next::Batch),
                None => Ok(Next::End),
            },
        }
    }

    /// This worker has enough: producers drop its rows from now on, and the
    /// stream ends. Batches taken before stay valid.
    pub fn stop(&mut self) {
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the reader is open and it is its worker's turn.
        unsafe { sys::weir_reader_stop(self.raw.as_ptr()) };
        self.over = true;
    }

    /// Number of the destination that this reader is.
    pub fn destination(&self) -> u32 {
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the reader is open and it is its worker's turn.
        unsafe { sys::weir_reader_destination(self.raw.as_ptr()) }
    }

    /// Member and worker that produced the last batch.
    pub fn source(&self) -> (u32, u32) {
        let (mut member, mut worker) = (0, 0);
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the reader is open and it is its worker's turn.
        unsafe {
            sys::weir_reader_source(
                self.raw.as_ptr(),
                &mut member,
                &mut worker,
            );
        }
        (member, worker)
    }

    /// Has this producer ended? For those who merge ordered streams.
    pub fn source_ended(&self, member: u32, worker: u32) -> bool {
        let _turn = self.shuffle.hub(self.worker).turn();
        let reader = self.raw.as_ptr();
        // SAFETY: the reader is open and it is its worker's turn.
        unsafe { sys::weir_reader_source_ended(reader, member, worker) != 0 }
    }

    /// Begin a filter: this reader tells its producers which keys it has a use
    /// for, about `n_keys` of them. It is a hint: rows with other keys may
    /// still come, and where an error says that it cannot be had, go without.
    ///
    /// # Errors
    /// `Arg` (the shuffle is not by hash), `State` (there was one), `Budget`
    /// (too many keys), `NoMemory`, and what failed the query.
    pub fn filter_open(&mut self, n_keys: u64) -> Result<()> {
        self.filter(|reader| {
            // SAFETY: the reader is open and it is its worker's turn.
            unsafe { sys::weir_reader_filter_open(reader, n_keys) }
        })
    }

    /// Add keys: a column for each key column of the shuffle, in their order
    /// and of their types.
    ///
    /// # Errors
    /// `State` (not begun, or sent), `Schema`. Nothing was added then.
    pub fn filter_add(&mut self, keys: &[ArrayRef]) -> Result<()> {
        same_types("keys", keys, &self.shuffle.key_types)?;
        let fields =
            keys.iter().map(|k| Field::new("", k.data_type().clone(), true));
        let keys = StructArray::try_new(fields.collect(), keys.to_vec(), None)
            .map_err(|e| Error::new(ErrorKind::Schema, e.to_string()))?;
        let keys = FFI_ArrowArray::new(&keys.into());
        self.filter(|reader| {
            // SAFETY: the reader is open, it is its worker's turn; the keys
            // have the types of the shuffle's.
            unsafe { sys::weir_reader_filter_add(reader, raw(&keys)) }
        })
    }

    /// Send the filter to the producers.
    ///
    /// # Errors
    /// `State` (not begun, or sent), and what failed the query.
    pub fn filter_send(&mut self) -> Result<()> {
        self.filter(|reader| {
            // SAFETY: the reader is open and it is its worker's turn.
            unsafe { sys::weir_reader_filter_send(reader) }
        })
    }

    fn filter(
        &mut self,
        f: impl FnOnce(*mut sys::weir_reader) -> sys::weir_err,
    ) -> Result<()> {
        let _turn = self.shuffle.hub(self.worker).turn();
        match f(self.raw.as_ptr()) {
            code if code < 0 => Err(Self::message(self.raw, code)),
            _ => Ok(()),
        }
    }

    /// One look, in the worker's turn.
    fn take(raw: NonNull<sys::weir_reader>) -> Took {
        let mut array = sys::ArrowArray::default();
        // SAFETY: the reader is open and it is its worker's turn.
        match unsafe { sys::weir_reader_next(raw.as_ptr(), &mut array) } {
            // SAFETY: just handed out.
            sys::WEIR_OK => Took::Array(unsafe { Received::new(array) }),
            sys::WEIR_AGAIN => Took::Nothing,
            sys::WEIR_HELD => Took::Held,
            sys::WEIR_DONE => Took::End,
            code => Took::Failed(Self::message(raw, code)),
        }
    }

    /// What the stream makes of it; not Nothing.
    fn hand_out(&mut self, took: Took) -> Option<Result<RecordBatch>> {
        let result = match took {
            Took::Array(array) => self.batch_of(array),
            Took::Held => return Some(Err(held())),
            Took::Failed(error) => Err(error),
            Took::Nothing | Took::End => {
                self.over = true;
                return None;
            }
        };
        self.over = result.is_err();
        Some(result)
    }

    fn batch_of(&self, mut array: Received) -> Result<RecordBatch> {
        let s = &self.shuffle;
        let mut node = Some(s.query.node.clone());
        if self.hold == Hold::Copy {
            array.detach()?;
            node = None;
        }
        let batch = import(array, node, &s.schema, &s.checks);
        batch.map_err(|error| {
            let (member, worker) = self.source();
            let text = format!(
                "shuffle {}: {} (of member {member} worker {worker})",
                s.id,
                error.message()
            );
            // It fails on all, as other members would see the same rows.
            let _ = s.query.fail(ErrorKind::QueryData, &text);
            Error::new(ErrorKind::QueryData, text)
        })
    }

    fn poll_batch(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let coop = ready!(tokio::task::coop::poll_proceed(cx));
        let node = &self.shuffle.query.node;
        let hub = self.shuffle.hub(self.worker);
        let (raw, hold) = (self.raw, self.hold);
        let took = ready!(hub.poll(node.raw(), cx, || match Self::take(raw) {
            Took::Nothing => None,
            Took::Held if hold == Hold::LendAndWait => None,
            took => Some(took),
        }));
        coop.made_progress();
        let took = took.unwrap_or_else(Took::Failed);
        Poll::Ready(self.hand_out(took))
    }

    /// In the worker's turn.
    fn message(raw: NonNull<sys::weir_reader>, code: sys::weir_err) -> Error {
        left(code, |err| {
            // SAFETY: the reader is open and it is its worker's turn.
            unsafe { sys::weir_reader_error(raw.as_ptr(), err) }
        })
    }
}

fn held() -> Error {
    Error::new(
        ErrorKind::Held,
        "the batches that are held leave a producer no room for its next \
         frame: drop some before taking more, copy them (Hold::Copy), or wait \
         for another task to drop some (Hold::LendAndWait)",
    )
}

impl Stream for Reader {
    type Item = Result<RecordBatch>;

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_batch(cx)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _turn = self.shuffle.hub(self.worker).turn();
        // SAFETY: the reader is open, it is its worker's turn, and nobody uses
        // it afterwards.
        unsafe { sys::weir_reader_close(self.raw.as_ptr()) };
    }
}
