// SPDX-License-Identifier: Apache-2.0
//! A query: members that run one plan, and live or fail together.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;

use crate::error::{c_text, call, left, Error, ErrorKind, Result};
use crate::node::{nanoseconds, Node, NodeInner};
use crate::shuffle::ShuffleBuilder;
use weir_sys as sys;

pub(crate) struct QueryInner {
    raw: NonNull<sys::weir_query>,
    pub(crate) node: Arc<NodeInner>,
}

// SAFETY: cancel, fail, status, shuffle_open: any thread (query.h).
unsafe impl Send for QueryInner {}
// SAFETY: as above.
unsafe impl Sync for QueryInner {}

impl QueryInner {
    pub(crate) fn ptr(&self) -> *mut sys::weir_query {
        self.raw.as_ptr()
    }

    pub(crate) fn fail(&self, kind: ErrorKind, message: &str) -> Result<()> {
        let mut cause =
            sys::weir_error { code: kind.code(), message: [0; 512] };
        let room = cause.message.len() - 1;
        for (to, from) in cause.message[..room].iter_mut().zip(message.bytes())
        {
            *to = from as std::ffi::c_char;
        }
        // SAFETY: the query is open; cause lives during the call.
        match unsafe { sys::weir_query_fail(self.ptr(), &cause) } {
            sys::WEIR_OK => Ok(()),
            code => Err(Error::of(code)),
        }
    }
}

impl Drop for QueryInner {
    fn drop(&mut self) {
        // SAFETY: shuffles, writers and readers hold an Arc of this; none is
        // left, so no worker uses the query. The node is still open.
        unsafe { sys::weir_query_close(self.ptr()) };
    }
}

/// Options of a query.
#[must_use]
pub struct QueryBuilder<'a> {
    node: &'a Node,
    id: u64,
    members: Vec<u32>,
    deadline: Duration,
}

impl<'a> QueryBuilder<'a> {
    pub(crate) fn new(node: &'a Node, id: u64) -> Self {
        Self { node, id, members: Vec::new(), deadline: Duration::ZERO }
    }

    /// Numbers of the members, own one included \[all\].
    pub fn members(mut self, members: &[u32]) -> Self {
        self.members = members.to_vec();
        self
    }

    /// The query fails with `Deadline` after this time \[none\].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline.max(Duration::from_nanos(1));
        self
    }

    /// Open the query on this member.
    ///
    /// # Errors
    /// `Arg`, `Duplicate` (the id is or was in use), `NotFound` (no such
    /// member), `State` (not joined).
    pub fn open(self) -> Result<Query> {
        let n = self.members.len();
        let params = sys::weir_query_params {
            id: self.id,
            members: if n == 0 {
                std::ptr::null()
            } else {
                self.members.as_ptr()
            },
            n_members: n as u32,
            deadline_ns: nanoseconds(self.deadline),
            ..Default::default()
        };
        let node = self.node.0.clone();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the node is open; params lives during the call.
        call(|err| unsafe {
            sys::weir_query_open(node.ptr(), &params, &mut raw, err)
        })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE));
        Ok(Query(Arc::new(QueryInner { raw: raw?, node })))
    }
}

/// A query on this member. Clones are the same query.
///
/// It is closed when the last of its handles is dropped: clones, shuffles,
/// writers and readers. If this member has not done its part by then (a writer
/// that is not finished, a reader that was never opened), that aborts the query
/// everywhere: so on an error simply drop everything.
#[derive(Clone)]
pub struct Query(pub(crate) Arc<QueryInner>);

impl Query {
    /// Options of a shuffle to be opened, the same on every member.
    pub fn shuffle(&self, id: u32, schema: SchemaRef) -> ShuffleBuilder<'_> {
        ShuffleBuilder::new(self, id, schema)
    }

    /// Cancel the query on all members, from any thread, also while workers
    /// use it. Their next calls, and those that sleep, fail with `Cancelled`
    /// and this reason. One that already failed keeps its first error.
    pub fn cancel(&self, reason: &str) {
        let reason = c_text("reason", &reason.replace('\0', " "));
        if let Ok(reason) = reason {
            // SAFETY: the query is open; reason lives during the call.
            unsafe { sys::weir_query_cancel(self.0.ptr(), reason.as_ptr()) };
        }
    }

    /// Fail the query on all members: something that this program does with its
    /// rows went wrong. One that already failed keeps its first error.
    ///
    /// # Errors
    /// `Arg` (a kind of another scope than [`Scope::Query`](crate::Scope)).
    pub fn fail(&self, kind: ErrorKind, message: &str) -> Result<()> {
        self.0.fail(kind, message)
    }

    /// How it stands: `Ok` while it runs.
    ///
    /// # Errors
    /// What failed the query.
    pub fn status(&self) -> Result<()> {
        let status = |err| {
            // SAFETY: the query is open; err is NULL or left()'s.
            unsafe { sys::weir_query_status(self.0.ptr(), err) }
        };
        match status(std::ptr::null_mut()) {
            sys::WEIR_OK => Ok(()),
            code => Err(left(code, status)),
        }
    }
}
