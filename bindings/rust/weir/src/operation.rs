// SPDX-License-Identifier: Apache-2.0
//! What runs on a fetch: operations, and the futures that wait for them.
//!
//! ```text
//!   get, put, ask: a future --posts--> operation, under a tag
//!   whichever future is polled:  weir_fetch_next -> tag -> its outcome
//!   a future that was dropped:   its operation goes on; what it needs is kept
//! ```

use std::any::Any;
use std::collections::HashMap;
use std::ffi::{c_void, CStr};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

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
    UnderWay { lends: bool, answers: bool, needs: Needs, wanted: bool },
    Over(Result<Outcome>, Needs),
}

#[derive(Default)]
struct Operations {
    last: u64,
    map: HashMap<u64, Operation>,
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

    /// Take what has ended, in the worker's turn. Did anything end?
    fn collect(self: &Arc<Self>) -> bool {
        let mut some = false;
        loop {
            let mut got = sys::weir_got::default();
            // SAFETY: the fetch is open, and it is its worker's turn.
            let rc = unsafe { sys::weir_fetch_next(self.ptr(), &mut got) };
            if rc != sys::WEIR_OK {
                return some;
            }
            some = true;
            self.note(&got);
        }
    }

    fn note(self: &Arc<Self>, got: &sys::weir_got) {
        let mut operations = lock(&self.operations);
        let Some(Operation::UnderWay { lends, answers, needs, wanted }) =
            operations.map.remove(&got.tag)
        else {
            unreachable!("a tag that was not posted");
        };
        let result = self.outcome(got, lends, answers);
        if wanted {
            let over = Operation::Over(result, needs);
            operations.map.insert(got.tag, over);
            return;
        }
        drop(operations);
        drop(result); // gives back what was lent
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
        let _turn = self.hub().turn();
        // SAFETY: the fetch is open; nobody uses it afterwards. What operations
        // need is dropped after this.
        unsafe { sys::weir_fetch_close(self.ptr()) };
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
                get.dst = buffer
                    .as_mut()
                    .map_or(std::ptr::null_mut(), |b| b.as_mut_ptr().cast());
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
        let mut others = false;
        let ended = fetch.hub().poll(fetch.node.raw(), cx, || {
            loop {
                if let Some(error) = self.begin() {
                    return Some(Err(error));
                }
                // Afterwards: what ends while it is posted wakes nobody.
                let some = fetch.collect();
                others |= some;
                if self.post.is_none() || !some {
                    return self.attempt();
                }
            }
        });
        if others {
            fetch.hub().wake(); // what ended may have been another's
        }
        ended.map(|result| result?)
    }

    /// In the worker's turn, once it was posted.
    fn attempt(&mut self) -> Option<Ended> {
        let tag = self.tag?;
        let mut operations = lock(&self.fetch.operations);
        match operations.map.remove(&tag) {
            Some(Operation::Over(result, (_, memory))) => {
                self.tag = None;
                Some(result.map(|outcome| (outcome, memory)))
            }
            Some(under_way) => {
                operations.map.insert(tag, under_way);
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
                    wanted: true,
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
            Some(Operation::UnderWay { wanted, .. }) => *wanted = false,
            _ => {
                let over = operations.map.remove(&tag);
                drop(operations);
                drop(over); // gives back what was lent
            }
        }
    }
}
