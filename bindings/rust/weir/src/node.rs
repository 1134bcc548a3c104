// SPDX-License-Identifier: Apache-2.0
//! A node: this process as a member of a cluster.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::error::{
    c_text, call, owned, ptr_or_null, Error, ErrorKind, Result,
};
use crate::hub::Hub;
use crate::log::Logger;
use crate::member::{CMember, Member};
use crate::node_builder::{NodeBuilder, Secrets};
use crate::query::QueryBuilder;
use weir_sys as sys;

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(sys::WEIR_FOREVER)
}

/// The open node of the library.
pub(crate) struct RawNode(NonNull<sys::weir_node>);

impl RawNode {
    pub(crate) fn ptr(&self) -> *mut sys::weir_node {
        self.0.as_ptr()
    }
}

/// The node, and what must outlive it. Its drop closes, which may block.
struct Closing {
    raw: RawNode,
    _asked: Asked,
}

/// What the library calls by an address.
type Asked = (Option<Box<Logger>>, Box<Secrets>);

// SAFETY: the functions of a node that are called without a worker's turn may
// be called by any thread (node.h).
unsafe impl Send for Closing {}
// SAFETY: as above.
unsafe impl Sync for Closing {}

impl Drop for Closing {
    fn drop(&mut self) {
        // SAFETY: everything that holds the node has held an Arc of NodeInner,
        // and none is left.
        unsafe { sys::weir_node_close(self.raw.ptr()) };
    }
}

pub(crate) struct NodeInner {
    closing: Option<Closing>,
    hubs: Vec<Hub>,
}

impl NodeInner {
    pub(crate) fn new(
        raw: NonNull<sys::weir_node>,
        asked: Asked,
        workers: u32,
    ) -> Self {
        let closing = Closing { raw: RawNode(raw), _asked: asked };
        let hubs = (0..workers).map(Hub::new).collect();
        Self { closing: Some(closing), hubs }
    }

    fn open(&self) -> &Closing {
        match &self.closing {
            Some(closing) => closing,
            None => unreachable!("only its drop takes it"),
        }
    }

    pub(crate) fn raw(&self) -> &RawNode {
        &self.open().raw
    }

    pub(crate) fn ptr(&self) -> *mut sys::weir_node {
        self.raw().ptr()
    }

    pub(crate) fn hub(&self, worker: u32) -> Result<&Hub> {
        self.hubs.get(worker as usize).ok_or_else(|| {
            let n = self.hubs.len();
            Error::new(
                ErrorKind::Arg,
                format!("worker {worker}: the node has {n}, from 0 on"),
            )
        })
    }

    fn take(&mut self) -> Option<Closing> {
        for hub in &self.hubs {
            hub.unwatch();
        }
        self.closing.take()
    }
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        let Some(closing) = self.take() else { return };
        if Handle::try_current().is_err() {
            return; // outside of tokio: closes, and blocks, here
        }
        // Peers that are to take what was sent may be tasks of this thread.
        // A thread that cannot be made drops its closure, and so closes here.
        let _ = std::thread::Builder::new()
            .name("weir-close".into())
            .spawn(move || drop(closing));
    }
}

/// This process as a member of a cluster. Clones are the same node.
///
/// It is closed when the last of its handles is dropped: clones, queries and
/// what is made of them, batches that are not detached, regions. Closing waits
/// until peers have taken what was sent: outside of tokio the drop blocks, inside
/// it leaves that to a thread of its own; [`Node::close`] waits for it.
#[derive(Clone)]
pub struct Node(pub(crate) Arc<NodeInner>);

impl Node {
    /// Options of a node to be opened.
    pub fn builder() -> NodeBuilder {
        NodeBuilder::default()
    }

    /// Name of this node.
    pub fn name(&self) -> String {
        // SAFETY: the text is the node's, which is open.
        unsafe { owned(sys::weir_node_name(self.0.ptr())) }
    }

    /// Address at which peers reach this node, such as `tcp:127.0.0.1:4711`.
    pub fn address(&self) -> String {
        // SAFETY: the text is the node's, which is open.
        unsafe { owned(sys::weir_node_address(self.0.ptr())) }
    }

    /// The memory plan as one line of text.
    pub fn plan(&self) -> String {
        // SAFETY: the text is the node's, which is open.
        unsafe { owned(sys::weir_node_plan(self.0.ptr())) }
    }

    /// How many workers this node has.
    pub fn workers(&self) -> u32 {
        self.0.hubs.len() as u32
    }

    /// This node's entry for the list that [`Node::join`] takes.
    pub fn as_member(&self) -> Member {
        Member::new(self.name(), self.address(), self.workers())
    }

    /// Join a cluster whose members are all known: the same list, in the same
    /// order, on every node. Links open when first needed.
    ///
    /// # Errors
    /// `Arg` (own name not in the list, a name twice, an address of another
    /// transport), `Budget` (more than `max_members`), `State` (joined before).
    pub fn join(&self, members: &[Member]) -> Result<()> {
        let texts =
            members.iter().map(CMember::new).collect::<Result<Vec<_>>>()?;
        let raw = texts.iter().map(CMember::raw).collect::<Vec<_>>();
        let n = raw.len() as u32;
        // SAFETY: n entries, whose texts live during the call.
        call(|err| unsafe {
            sys::weir_node_join(self.0.ptr(), raw.as_ptr(), n, err)
        })
    }

    /// Join a cluster of `n_members` through one known member, the seed, which
    /// itself gives `None`. The numbers are in the order of coming. 0 for
    /// `n_members`: the cluster runs, and this node is one more of it, or a
    /// member that was started again.
    ///
    /// Waits on a thread for blocking calls until all are there or `timeout` is
    /// over. Dropping the future does not end that wait.
    ///
    /// # Errors
    /// As [`Node::join`], and `Timeout` (says who is there), `PeerLost`,
    /// `PeerRefused`, `PeerVersion`.
    pub async fn join_seed(
        &self,
        seed: Option<&str>,
        n_members: u32,
        timeout: Duration,
    ) -> Result<()> {
        let seed = seed.map(|s| c_text("address", s)).transpose()?;
        let node = self.clone();
        let join = move || {
            // SAFETY: the node is open; seed lives during the call.
            call(|err| unsafe {
                sys::weir_node_join_seed(
                    node.0.ptr(),
                    ptr_or_null(&seed),
                    n_members,
                    nanoseconds(timeout),
                    err,
                )
            })
        };
        spawn_blocking(join)
            .await
            .map_err(|error| Error::new(ErrorKind::System, error.to_string()))?
    }

    /// A member comes after this node has joined, or is at another address.
    ///
    /// # Errors
    /// `Arg` (the number is another member's, the name is at another number,
    /// other workers), `Budget` (`max_members`), `State` (not joined).
    pub fn add_member(&self, number: u32, member: &Member) -> Result<()> {
        let text = CMember::new(member)?;
        let raw = text.raw();
        // SAFETY: raw and its texts live during the call.
        call(|err| unsafe {
            sys::weir_node_add_member(self.0.ptr(), number, &raw, err)
        })
    }

    /// A member leaves: queries that are opened from now on cannot have it.
    ///
    /// # Errors
    /// `NotFound` (no such member), `Arg` (this node).
    pub fn remove_member(&self, number: u32) -> Result<()> {
        // SAFETY: the node is open.
        call(|err| unsafe {
            sys::weir_node_remove_member(self.0.ptr(), number, err)
        })
    }

    /// One above the highest number of a member, 0 before joining.
    pub fn n_members(&self) -> u32 {
        // SAFETY: the node is open.
        unsafe { sys::weir_node_members(self.0.ptr()) }
    }

    /// Own number in the list of members; `None` before joining.
    pub fn number(&self) -> Option<u32> {
        // SAFETY: the node is open.
        let number = unsafe { sys::weir_node_self(self.0.ptr()) };
        (number != u32::MAX).then_some(number)
    }

    /// A member by number, if there is one.
    pub fn member(&self, number: u32) -> Option<Member> {
        let mut raw = sys::weir_member::default();
        // SAFETY: the node is open; its strings live until its close.
        unsafe {
            let rc = sys::weir_node_member(self.0.ptr(), number, &mut raw);
            (rc == sys::WEIR_OK).then(|| {
                Member::new(owned(raw.name), owned(raw.address), raw.workers)
            })
        }
    }

    /// Options of a query to be opened under an id that was never used before
    /// in the cluster, and is the same on all members.
    pub fn query(&self, id: u64) -> QueryBuilder<'_> {
        QueryBuilder::new(self, id)
    }

    /// Park this thread until something happened for a worker: for programs
    /// that call `try_take` and `try_push` in threads of their own. True:
    /// something happened, or may have; false: the time is over.
    ///
    /// It is that worker's turn meanwhile: tasks that use the worker would
    /// block their threads, so use a worker either in this way or on tokio.
    ///
    /// # Errors
    /// `Arg` (no such worker).
    pub fn wait(&self, worker: u32, timeout: Duration) -> Result<bool> {
        self.0.hub(worker)?.wait(self.0.raw(), timeout)
    }

    /// Close, and wait until peers have taken what was sent, at most for
    /// `detect`, on a thread for blocking calls.
    ///
    /// # Errors
    /// `State`: there are other handles of this node (clones, queries, batches
    /// ...). It closes with the last of them.
    pub async fn close(self) -> Result<()> {
        let mut inner = Arc::try_unwrap(self.0).map_err(|node| {
            let n = Arc::strong_count(&node) - 1;
            Error::new(
                ErrorKind::State,
                format!("{n} other handles of this node are in use"),
            )
        })?;
        let closing = inner.take();
        spawn_blocking(move || drop(closing))
            .await
            .map_err(|error| Error::new(ErrorKind::System, error.to_string()))
    }
}
