// SPDX-License-Identifier: Apache-2.0
//! Asks: requests of peers, each with one answer.

use std::ffi::c_void;
use std::future::poll_fn;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::{call, owned, Error, ErrorKind, Result};
use crate::node::{Node, NodeInner};
use crate::region::Name;
use weir_sys as sys;

/// Longest argument of an ask, and longest answer.
pub const ASK_BYTES: usize = sys::WEIR_ASK_BYTES as usize;

struct AsksInner {
    raw: NonNull<sys::weir_asks>,
    node: Arc<NodeInner>,
    worker: u32,
}

// SAFETY: weir_asks_next is called in the worker's turn; the rest by any thread
// (ask.h).
unsafe impl Send for AsksInner {}
// SAFETY: as above.
unsafe impl Sync for AsksInner {}

impl Drop for AsksInner {
    fn drop(&mut self) {
        // SAFETY: all asks that were taken hold this, so none is left.
        unsafe { sys::weir_asks_close(self.raw.as_ptr()) };
    }
}

/// Who answers for a space of names. Dropped, and with all asks answered, the
/// library answers with `NotFound`.
pub struct Asks(Arc<AsksInner>);

impl Asks {
    /// The next ask. Cancel-safe; several tasks may take turns.
    ///
    /// # Errors
    /// Those of the worker's descriptor (`System`).
    pub async fn next(&self) -> Result<Ask> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next ask. The task is also woken when a peer gives up an ask that
    /// was taken ([`Ask::waits`]), as it is by all else that the worker hears.
    ///
    /// # Errors
    /// As [`Asks::next`].
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Result<Ask>> {
        let inner = &self.0;
        let hub = match inner.node.hub(inner.worker) {
            Ok(hub) => hub,
            Err(error) => return Poll::Ready(Err(error)),
        };
        hub.poll(inner.node.raw(), cx, || self.look()).map(|r| r?)
    }

    /// In the worker's turn.
    fn look(&self) -> Option<Result<Ask>> {
        let mut raw = sys::weir_ask::default();
        // SAFETY: the asks are open, and it is their worker's turn.
        match unsafe { sys::weir_asks_next(self.0.raw.as_ptr(), &mut raw) } {
            sys::WEIR_OK => Some(Ok(Ask { raw, asks: self.0.clone() })),
            sys::WEIR_AGAIN => None,
            code => Some(Err(Error::of(code))),
        }
    }
}

/// One request. Dropped without an answer, it is refused.
pub struct Ask {
    raw: sys::weir_ask,
    asks: Arc<AsksInner>,
}

// SAFETY: what it points to is valid until it is answered, which any thread may
// do (ask.h).
unsafe impl Send for Ask {}
// SAFETY: as above; it is read only.
unsafe impl Sync for Ask {}

impl Ask {
    /// What is asked for.
    pub fn name(&self) -> Name {
        Name::new(self.raw.name.space, self.raw.name.id)
    }

    /// The argument.
    pub fn bytes(&self) -> &[u8] {
        if self.raw.len == 0 {
            return &[];
        }
        // SAFETY: that many bytes, valid until the ask is answered.
        unsafe {
            std::slice::from_raw_parts(
                self.raw.bytes.cast(),
                self.raw.len as usize,
            )
        }
    }

    /// Does a get wait for a region of this name? Publish it, then answer.
    pub fn wants_region(&self) -> bool {
        self.raw.wants_region != 0
    }

    /// Name of the node that asks.
    pub fn peer(&self) -> String {
        // SAFETY: the text is valid until the ask is answered.
        unsafe { owned(self.raw.peer) }
    }

    /// The same for all asks of one life of that node.
    pub fn incarnation(&self) -> u64 {
        self.raw.peer_incarnation
    }

    /// Does the peer still wait? False once it is gone or has given it up.
    pub fn waits(&self) -> bool {
        // SAFETY: it was taken and not answered.
        unsafe { sys::weir_ask_waits(&self.raw) != 0 }
    }

    /// Answer with bytes, at most [`ASK_BYTES`]. A peer that is gone is no
    /// error.
    ///
    /// # Errors
    /// `Arg`: too long; the ask is refused then.
    pub fn answer(self, bytes: &[u8]) -> Result<()> {
        self.send(sys::WEIR_OK, bytes)
    }

    /// Refuse: the peer's operation fails with that kind and text (cut to
    /// [`ASK_BYTES`]).
    pub fn refuse(self, kind: ErrorKind, text: &str) {
        let mut end = text.len().min(ASK_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let _ = self.send(kind.code(), &text.as_bytes()[..end]);
    }

    fn send(self, code: sys::weir_err, bytes: &[u8]) -> Result<()> {
        let base = bytes.as_ptr().cast::<c_void>();
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // SAFETY: it was taken and not answered; len bytes.
        match unsafe { sys::weir_ask_answer(&self.raw, code, base, len) } {
            sys::WEIR_OK => {
                let this = std::mem::ManuallyDrop::new(self);
                // SAFETY: read once, and this is not dropped.
                drop(unsafe { std::ptr::read(&this.asks) });
                Ok(())
            }
            code => Err(Error::of(code)), // drop refuses it
        }
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        const TEXT: &[u8] = b"the program has dropped the ask";
        // SAFETY: it was taken and not answered.
        unsafe {
            sys::weir_ask_answer(
                &self.raw,
                sys::WEIR_ERR_NOT_FOUND,
                TEXT.as_ptr().cast(),
                TEXT.len() as u32,
            )
        };
    }
}

impl Node {
    /// Answer for a space of names: asks, and gets of names that nobody has
    /// published. `worker`'s tasks are woken when one comes.
    ///
    /// # Errors
    /// `Arg` (no such worker), `Duplicate` (the space has its answerer),
    /// `NoMemory`.
    pub fn asks(&self, space: u64, worker: u32) -> Result<Asks> {
        self.0.hub(worker)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the node is open.
        call(|err| unsafe {
            sys::weir_asks_open(self.0.ptr(), space, worker, &mut raw, err)
        })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        let node = self.0.clone();
        Ok(Asks(Arc::new(AsksInner { raw, node, worker })))
    }
}
