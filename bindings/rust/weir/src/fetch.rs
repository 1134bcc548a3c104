// SPDX-License-Identifier: Apache-2.0
//! Fetches: reading and writing regions of peers, and asking them.

use std::future::poll_fn;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{call, Error, Result};
use crate::lent::Lent;
use crate::node::{nanoseconds, Node};
use crate::operation::{Ended, FetchInner, Outcome, Post, Running, Source};
use crate::peer::Peer;
use crate::region::Name;
use weir_sys as sys;

/// Options of a fetch; what is not set has the default of `weir/fetch.h`.
#[must_use]
pub struct FetchBuilder<'a> {
    node: &'a Node,
    params: sys::weir_fetch_params,
}

impl FetchBuilder<'_> {
    /// Most bytes in flight or lent \[16 MiB\]; one get that is larger goes
    /// alone.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.params.max_bytes = bytes;
        self
    }

    /// Time of each operation \[30 s\]; `Duration::MAX`: as long as the peer
    /// lives.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.params.timeout_ns = nanoseconds(time);
        self
    }

    /// Make it.
    ///
    /// # Errors
    /// `Arg` (no such worker), `NoMemory`.
    pub fn open(self) -> Result<Fetch> {
        let node = self.node.0.clone();
        let worker = self.params.worker;
        let mut raw = std::ptr::null_mut();
        let turn = node.hub(worker)?.turn();
        // SAFETY: the node is open, and it is the worker's turn.
        call(|err| unsafe {
            sys::weir_fetch_open(node.ptr(), &self.params, &mut raw, err)
        })?;
        drop(turn);
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        Ok(Fetch(Arc::new(FetchInner::new(raw, node, worker))))
    }
}

impl Node {
    /// Options of a fetch of a worker.
    pub fn fetch(&self, worker: u32) -> FetchBuilder<'_> {
        let params = sys::weir_fetch_params { worker, ..Default::default() };
        FetchBuilder { node: self, params }
    }
}

/// Reads and writes regions of peers, and asks them. Clones are the same.
///
/// A future that waits for room (`max_bytes`, 1024 operations) has not begun.
/// One that is dropped later lets its operation go on, and what came of it is
/// lost: bytes that were read, an answer, a buffer that was given with all that
/// it had, whether a put or an ask has reached the peer. Memory that it reads or
/// writes is kept until then. Dropping the last
/// handle waits for what is in flight, for `detect` at most.
#[derive(Clone)]
pub struct Fetch(pub(crate) Arc<FetchInner>);

impl Fetch {
    /// Read bytes of a region: in the peer's own memory over `shm`, in memory
    /// of the library elsewhere.
    ///
    /// # Errors
    /// `NotFound` (no such region, or it was revoked), `Arg` (beyond its end),
    /// `Data` (its file is shorter), `PeerLost`, `Timeout`; what the answerer
    /// said.
    pub async fn get(
        &self,
        peer: &Peer,
        name: Name,
        range: Range<u64>,
    ) -> Result<Lent> {
        let bytes = range.end.saturating_sub(range.start);
        self.lend(peer, name, range.start, bytes).await
    }

    /// Read all of a region from `off` on, however much that is.
    ///
    /// # Errors
    /// As [`Fetch::get`].
    pub async fn get_all(
        &self,
        peer: &Peer,
        name: Name,
        off: u64,
    ) -> Result<Lent> {
        self.lend(peer, name, off, u64::MAX).await
    }

    /// Length of a region.
    ///
    /// # Errors
    /// As [`Fetch::get`].
    pub async fn len(&self, peer: &Peer, name: Name) -> Result<u64> {
        Ok(self.get(peer, name, 0..0).await?.region_bytes())
    }

    /// Read bytes of a region from `off` on into `buffer`, all of it, and give
    /// it back.
    ///
    /// # Errors
    /// As [`Fetch::get`]; the buffer is dropped then.
    pub async fn get_into(
        &self,
        peer: &Peer,
        name: Name,
        off: u64,
        mut buffer: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let bytes = buffer.len();
        buffer.clear();
        self.get_append(peer, name, off, bytes, buffer).await
    }

    /// Read bytes of a region from `off` on behind what `buffer` has, and give
    /// it back. Room that it has is not cleared before.
    ///
    /// # Errors
    /// As [`Fetch::get`]; the buffer is dropped then.
    pub async fn get_append(
        &self,
        peer: &Peer,
        name: Name,
        off: u64,
        bytes: usize,
        mut buffer: Vec<u8>,
    ) -> Result<Vec<u8>> {
        if bytes == 0 {
            return Ok(buffer); // C would tell the length of the region
        }
        buffer.reserve(bytes);
        let get = sys::weir_get {
            name: name.raw(),
            off,
            bytes: bytes as u64,
            ..Default::default()
        };
        let (_, memory) =
            self.operate(peer, Post::Get(get, Some(buffer))).await?;
        let Some(Ok(mut buffer)) = memory.map(|m| m.downcast::<Vec<u8>>())
        else {
            unreachable!("the buffer that was given")
        };
        // SAFETY: there was room for them, and the get has written them all:
        // it ends well with as many bytes as were asked for, or with an error.
        unsafe { buffer.set_len(buffer.len() + bytes) };
        Ok(*buffer)
    }

    /// Write bytes into a region that was opened for it
    /// ([`Node::share`]), from `off` on.
    ///
    /// # Errors
    /// As [`Fetch::get`]; `Arg` or `State` where the region is read only.
    pub async fn put(
        &self,
        peer: &Peer,
        name: Name,
        off: u64,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<()> {
        let bytes = Source(Box::new(bytes));
        let put = sys::weir_put { name: name.raw(), off, ..Default::default() };
        self.run(peer, Post::Put(put, Some(bytes))).await.map(drop)
    }

    /// Ask a peer: whoever answers for the space of `name` there gets `bytes`,
    /// at most [`ASK_BYTES`](crate::ASK_BYTES), and answers as many at most.
    ///
    /// # Errors
    /// `NotFound` (nobody answers for that space), `PeerLost`, `Timeout`,
    /// `Arg` (too long); what the answerer said.
    pub async fn ask(
        &self,
        peer: &Peer,
        name: Name,
        bytes: &[u8],
    ) -> Result<Vec<u8>> {
        let post = Post::Ask(name, bytes);
        match self.run(peer, post).await? {
            Outcome::Answer(answer) => Ok(answer),
            _ => unreachable!("an ask"),
        }
    }

    async fn lend(
        &self,
        peer: &Peer,
        name: Name,
        off: u64,
        bytes: u64,
    ) -> Result<Lent> {
        let name = name.raw();
        let get = sys::weir_get { name, off, bytes, ..Default::default() };
        match self.run(peer, Post::Get(get, None)).await? {
            Outcome::Lent(loan) => Ok(Lent::new(loan, self.0.clone())),
            _ => unreachable!("a get that lends"),
        }
    }

    async fn run(&self, peer: &Peer, post: Post<'_>) -> Result<Outcome> {
        self.operate(peer, post).await.map(|(outcome, _)| outcome)
    }

    async fn operate(&self, peer: &Peer, post: Post<'_>) -> Ended {
        let mut running = Running::new(&self.0, peer, post);
        poll_fn(|cx| running.poll(cx)).await
    }
}
