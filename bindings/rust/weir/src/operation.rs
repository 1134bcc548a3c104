// SPDX-License-Identifier: Apache-2.0
//! What runs on a fetch: operations, and the futures that wait for them.
//!
//! ```text
//!   get, put, ask: a future --posts--> operation, under a tag, and sleeps
//!   the fetch's task, when something happened, and every future that posts:
//!       weir_fetch_next -> tag -> its outcome -> wakes that future
//!   a future that was dropped:   its operation goes on; what it needs is kept
//! ```
//!
//! The worker's descriptor says that something happened, not what. One task of
//! each fetch looks, so that hundreds of futures may sleep and only those that
//! are meant wake up.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::{c_void, CStr};
use std::future::poll_fn;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;

use crate::error::{Error, ErrorKind, Result};
use crate::hub::{lock, Hub};
use crate::lent::Loan;
use crate::node::NodeInner;
use crate::peer::Peer;
use crate::region::Name;
use weir_sys as sys;

/// What an operation needs until it has ended: its peer, and its memory.
type Needs = (Peer, Option<Box<dyn Any + Send>>);

/// What has come of an operation.
pub(crate) enum Outcome {
    Lent(Loan),
    Answer(Vec<u8>),
    Done,
}

enum Operation {
    UnderWay { lends: bool, answers: bool, needs: Needs, wanted: Wanted },
    Over(Result<Outcome>, Needs),
}

/// By whom an operation is.
enum Wanted {
    No,
    Yes(Option<Waker>),
}

#[derive(Default)]
struct Operations {
    last: u64,
    map: HashMap<u64, Operation>,
    unposted: Vec<Waker>,  // of futures that wait for room
    watched: bool,         // the fetch has its task
    failed: Option<Error>, // that task
}

pub(crate) struct FetchInner {
    raw: NonNull<sys::weir_fetch>,
    node: Arc<NodeInner>,
    worker: u32,
    operations: Mutex<Operations>,
}

// SAFETY: calls are ordered by the worker's turn, but for weir_fetch_release,
// which any thread may call (fetch.h).
unsafe impl Send for FetchInner {}
// SAFETY: as above.
unsafe impl Sync for FetchInner {}

impl FetchInner {
    pub(crate) fn new(
        raw: NonNull<sys::weir_fetch>,
        node: Arc<NodeInner>,
        worker: u32,
    ) -> Self {
        Self { raw, node, worker, operations: Mutex::default() }
    }

    pub(crate) fn ptr(&self) -> *mut sys::weir_fetch {
        self.raw.as_ptr()
    }

    fn hub(&self) -> &Hub {
        match self.node.hub(self.worker) {
            Ok(hub) => hub,
            Err(_) => unreachable!("looked up when it was opened"),
        }
    }

    /// Take what has ended, in the worker's turn; `wake` gets who is to be
    /// woken after it. Did anything end?
    fn collect(self: &Arc<Self>, wake: &mut Vec<Waker>) -> bool {
        let mut some = false;
        loop {
            let mut got = sys::weir_got::default();
            // SAFETY: the fetch is open, and it is its worker's turn.
            let rc = unsafe { sys::weir_fetch_next(self.ptr(), &mut got) };
            if rc != sys::WEIR_OK {
                return some;
            }
            some = true;
            wake.extend(self.note(&got));
            wake.append(&mut lock(&self.operations).unposted);
        }
    }

    fn note(self: &Arc<Self>, got: &sys::weir_got) -> Option<Waker> {
        let mut operations = lock(&self.operations);
        let Some(Operation::UnderWay { lends, answers, needs, wanted }) =
            operations.map.remove(&got.tag)
        else {
            unreachable!("a tag that was not posted");
        };
        let result = self.outcome(got, lends, answers);
        if let Wanted::Yes(waker) = wanted {
            let over = Operation::Over(result, needs);
            operations.map.insert(got.tag, over);
            return waker;
        }
        drop(operations);
        drop(result); // gives back what was lent
        None
    }

    /// Have a task look when something happened.
    fn watch(self: &Arc<Self>) -> Result<()> {
        let mut operations = lock(&self.operations);
        if let Some(error) = operations.failed.take() {
            return Err(error);
        }
        if operations.watched {
            return Ok(());
        }
        let handle = Handle::try_current().map_err(|e| {
            Error::new(ErrorKind::System, format!("tokio: {e}"))
        })?;
        operations.watched = true;
        drop(operations);
        let watcher = Watcher(Arc::downgrade(self));
        handle.spawn(poll_fn(move |cx| watcher.poll(cx)));
        Ok(())
    }

    /// All futures look for themselves.
    fn wake_all(&self) {
        let mut operations = lock(&self.operations);
        let mut wakers = std::mem::take(&mut operations.unposted);
        for operation in operations.map.values_mut() {
            if let Operation::UnderWay { wanted: Wanted::Yes(w), .. } =
                operation
            {
                wakers.extend(w.take());
            }
        }
        drop(operations);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn outcome(
        self: &Arc<Self>,
        got: &sys::weir_got,
        lends: bool,
        answers: bool,
    ) -> Result<Outcome> {
        if got.code != sys::WEIR_OK {
            return Err(self.failure(got.code));
        }
        if lends {
            // SAFETY: the get has just ended, and lends.
            return Ok(Outcome::Lent(unsafe { Loan::new(self, got) }));
        }
        if answers {
            let mut answer = Vec::new();
            if got.bytes > 0 {
                // SAFETY: that many bytes, valid until the next weir_fetch_next.
                answer.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(
                        got.ptr.cast::<u8>(),
                        got.bytes as usize,
                    )
                });
            }
            return Ok(Outcome::Answer(answer));
        }
        Ok(Outcome::Done)
    }

    fn failure(&self, code: sys::weir_err) -> Error {
        // SAFETY: the text is the fetch's, valid until the next
        // weir_fetch_next; it is the worker's turn.
        let text = unsafe { CStr::from_ptr(sys::weir_fetch_error(self.ptr())) };
        match text.to_string_lossy() {
            text if text.is_empty() => Error::of(code),
            text => Error::new(ErrorKind::of(code), &*text),
        }
    }
}

impl Drop for FetchInner {
    fn drop(&mut self) {
        // Nothing is lent: a loan holds the fetch.
        let turn = self.hub().turn();
        // SAFETY: the fetch is open; nobody uses it afterwards. What operations
        // need is dropped after this.
        unsafe { sys::weir_fetch_close(self.ptr()) };
        drop(turn);
        self.hub().wake(); // the fetch's task, which ends
    }
}

/// The task of a fetch, as long as that lives. Dropped with its runtime, it has
/// the futures of other runtimes start another.
struct Watcher(Weak<FetchInner>);

impl Watcher {
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(fetch) = self.0.upgrade() else {
            return Poll::Ready(());
        };
        let mut wake = Vec::new();
        let poll = fetch.hub().poll(fetch.node.raw(), cx, || {
            fetch.collect(&mut wake);
            // Room may have come without an end: something was given back.
            wake.append(&mut lock(&fetch.operations).unposted);
            None::<()>
        });
        wake.into_iter().for_each(Waker::wake);
        poll.map(|result| {
            lock(&fetch.operations).failed = result.err();
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(fetch) = self.0.upgrade() {
            lock(&fetch.operations).watched = false;
            fetch.wake_all();
        }
    }
}

/// Bytes that a put reads.
pub(crate) struct Source(pub(crate) Box<dyn AsRef<[u8]> + Send>);

/// What is to be posted, and the memory that goes with it.
pub(crate) enum Post<'a> {
    Get(sys::weir_get, Option<Vec<u8>>),
    Put(sys::weir_put, Option<Source>),
    Ask(Name, &'a [u8]),
}

// SAFETY: the pointers in weir_get and weir_put are set only while posting.
unsafe impl Send for Post<'_> {}

impl Post<'_> {
    fn lends(&self) -> bool {
        matches!(self, Self::Get(_, None))
    }

    /// In the worker's turn.
    fn send(
        &mut self,
        fetch: &FetchInner,
        peer: &Peer,
        tag: u64,
    ) -> sys::weir_err {
        let mut taken = 0;
        let (fetch, peer) = (fetch.ptr(), peer.0.ptr());
        match self {
            Self::Get(get, buffer) => {
                get.tag = tag;
                get.dst = buffer.as_mut().map_or(std::ptr::null_mut(), |b| {
                    b.spare_capacity_mut().as_mut_ptr().cast()
                });
                // SAFETY: the fetch is open, it is its worker's turn; peer and
                // buffer are kept until the operation has ended.
                unsafe { sys::weir_fetch_get(fetch, peer, get, 1, &mut taken) }
            }
            Self::Put(put, source) => {
                put.tag = tag;
                if let Some(source) = source {
                    let bytes = (*source.0).as_ref();
                    put.src = bytes.as_ptr().cast();
                    put.bytes = bytes.len() as u64;
                }
                // SAFETY: as above; the source does not move, it is boxed.
                unsafe { sys::weir_fetch_put(fetch, peer, put, 1, &mut taken) }
            }
            Self::Ask(name, bytes) => {
                let base = bytes.as_ptr().cast::<c_void>();
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                // SAFETY: as above; the bytes are copied.
                unsafe {
                    sys::weir_fetch_ask(
                        fetch,
                        peer,
                        &name.raw(),
                        base,
                        len,
                        tag,
                    )
                }
            }
        }
    }

    fn into_memory(self) -> Option<Box<dyn Any + Send>> {
        match self {
            Self::Get(_, buffer) => buffer.map(|b| Box::new(b) as _),
            Self::Put(_, source) => source.map(|s| Box::new(s) as _),
            Self::Ask(..) => None,
        }
    }
}

/// An operation as its future sees it.
pub(crate) struct Running<'a> {
    fetch: &'a Arc<FetchInner>,
    peer: &'a Peer,
    post: Option<Post<'a>>, // until it was taken
    tag: Option<u64>,       // from then on, until its outcome was taken
}

pub(crate) type Ended = Result<(Outcome, Option<Box<dyn Any + Send>>)>;

impl<'a> Running<'a> {
    pub(crate) fn new(
        fetch: &'a Arc<FetchInner>,
        peer: &'a Peer,
        post: Post<'a>,
    ) -> Self {
        Self { fetch, peer, post: Some(post), tag: None }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let fetch = self.fetch;
        let mut wake = Vec::new();
        let turn = fetch.hub().turn();
        let ended = self.look(cx, &mut wake);
        drop(turn);
        wake.into_iter().for_each(Waker::wake);
        match ended {
            Some(ended) => Poll::Ready(ended),
            None => match fetch.watch() {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
        }
    }

    /// In the worker's turn.
    fn look(
        &mut self,
        cx: &mut Context<'_>,
        wake: &mut Vec<Waker>,
    ) -> Option<Ended> {
        loop {
            if let Some(error) = self.begin() {
                return Some(Err(error));
            }
            // Afterwards: what ends while it is posted wakes nobody.
            let some = self.fetch.collect(wake);
            if self.post.is_none() {
                return self.attempt(cx);
            }
            if !some {
                let mut operations = lock(&self.fetch.operations);
                operations.unposted.push(cx.waker().clone());
                return None;
            }
        }
    }

    /// In the worker's turn, once it was posted.
    fn attempt(&mut self, cx: &mut Context<'_>) -> Option<Ended> {
        let tag = self.tag?;
        let mut operations = lock(&self.fetch.operations);
        match operations.map.remove(&tag) {
            Some(Operation::Over(result, (_, memory))) => {
                self.tag = None;
                Some(result.map(|outcome| (outcome, memory)))
            }
            Some(mut operation) => {
                if let Operation::UnderWay { wanted, .. } = &mut operation {
                    *wanted = Wanted::Yes(Some(cx.waker().clone()));
                }
                operations.map.insert(tag, operation);
                None
            }
            None => unreachable!("polled after its end"),
        }
    }

    /// Post it, if it was not.
    fn begin(&mut self) -> Option<Error> {
        let mut post = self.post.take()?;
        let mut operations = lock(&self.fetch.operations);
        let tag = operations.last + 1;
        match post.send(self.fetch, self.peer, tag) {
            sys::WEIR_OK => {
                operations.last = tag;
                let under_way = Operation::UnderWay {
                    lends: post.lends(),
                    answers: matches!(post, Post::Ask(..)),
                    needs: (self.peer.clone(), post.into_memory()),
                    wanted: Wanted::Yes(None),
                };
                operations.map.insert(tag, under_way);
                self.tag = Some(tag);
                None
            }
            sys::WEIR_AGAIN => {
                self.post = Some(post);
                None
            }
            code => Some(Error::of(code)),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Some(tag) = self.tag else { return };
        let mut operations = lock(&self.fetch.operations);
        match operations.map.get_mut(&tag) {
            Some(Operation::UnderWay { wanted, .. }) => *wanted = Wanted::No,
            _ => {
                let over = operations.map.remove(&tag);
                drop(operations);
                drop(over); // gives back what was lent
            }
        }
    }
}
