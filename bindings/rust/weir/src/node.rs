// SPDX-License-Identifier: Apache-2.0
//! A node: this process as a member of a cluster.

use std::ffi::{c_char, c_void, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::error::{
    c_text, call, owned, ptr_or_null, Error, ErrorKind, Result,
};
use crate::hub::Hub;
use crate::query::QueryBuilder;
use weir_sys as sys;

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(sys::WEIR_FOREVER)
}

/// How urgent a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something may go wrong, or was done another way.
    Warn,
    /// What a node does once.
    Info,
    /// What it does all the time.
    Debug,
}

impl LogLevel {
    fn of(level: sys::weir_log_level) -> Self {
        match level {
            sys::WEIR_LOG_ERROR => Self::Error,
            sys::WEIR_LOG_WARN => Self::Warn,
            sys::WEIR_LOG_INFO => Self::Info,
            _ => Self::Debug,
        }
    }
}

type LogFn = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

struct Logger(LogFn);

unsafe extern "C" fn log_line(
    arg: *mut c_void,
    level: sys::weir_log_level,
    line: *const c_char,
) {
    // SAFETY: arg is the Logger that the node's Closing keeps until after
    // weir_node_close; line ends with NUL (node.h).
    let (logger, line) =
        unsafe { (&*(arg as *const Logger), CStr::from_ptr(line)) };
    let line = line.to_string_lossy();
    // A panic must not unwind into C; it has been reported by its hook.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        (logger.0)(LogLevel::of(level), &line);
    }));
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
    _logger: Option<Box<Logger>>,
}

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

/// One member of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Unique in the cluster.
    pub name: String,
    /// What [`Node::address`] of that node says.
    pub address: String,
    /// How many workers it has.
    pub workers: u32,
}

impl Member {
    /// A member of a list for [`Node::join`].
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        workers: u32,
    ) -> Self {
        Self { name: name.into(), address: address.into(), workers }
    }

    /// A number that nobody has: of a member that was removed or comes later.
    pub fn nobody() -> Self {
        Self::default()
    }
}

/// A member's texts for C, which live as long as this.
struct CMember(Option<(CString, CString)>, u32);

impl CMember {
    fn new(member: &Member) -> Result<Self> {
        if *member == Member::nobody() {
            return Ok(Self(None, 0));
        }
        let name = c_text("name of a member", &member.name)?;
        let address = c_text("address of a member", &member.address)?;
        Ok(Self(Some((name, address)), member.workers))
    }

    fn raw(&self) -> sys::weir_member {
        let (name, address) = match &self.0 {
            Some((name, address)) => (name.as_ptr(), address.as_ptr()),
            None => (std::ptr::null(), std::ptr::null()),
        };
        sys::weir_member { name, address, workers: self.1 }
    }
}

/// Options of a node; what is not set has the default of `weir/node.h`.
#[must_use]
pub struct NodeBuilder {
    params: sys::weir_node_params,
    texts: [(&'static str, Option<String>); 4],
    log: Option<LogFn>,
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident($type:ty) => $field:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(mut self, value: $type) -> Self {
            self.params.$field = value.into();
            self
        })*
    };
}

impl NodeBuilder {
    /// Unique in the cluster, at most 63 bytes \["HOST-PID"\].
    pub fn name(self, name: impl Into<String>) -> Self {
        self.text(0, name.into())
    }

    /// `shm`, `tcp`, `verbs`, or `auto`: the best way to each peer \[`shm`\].
    pub fn transport(self, transport: impl Into<String>) -> Self {
        self.text(1, transport.into())
    }

    /// Where to listen, as the transport has it \[`127.0.0.1:0` for tcp and
    /// auto\].
    pub fn listen(self, listen: impl Into<String>) -> Self {
        self.text(2, listen.into())
    }

    /// HOST:PORT at which peers reach this node, where that is not what it
    /// listens at \[as it listens\].
    pub fn advertise(self, advertise: impl Into<String>) -> Self {
        self.text(3, advertise.into())
    }

    options! {
        /// Workers, 1..64 \[1\].
        workers(u32) => workers;
        /// Most members, this node included \[8\]; numbers of members that
        /// were removed count.
        max_members(u32) => max_members;
        /// Most shuffles open at a time \[8\].
        max_shuffles(u32) => max_shuffles;
        /// Largest frame \[61440\].
        frame_bytes(u32) => frame_bytes;
        /// Frames in a ring when there is room \[4\].
        ring_frames(u32) => ring_frames;
        /// Hard cap on buffers that travel \[512 MiB\].
        memory_bytes(u64) => memory_bytes;
        /// Largest row \[64 MiB\].
        max_row_bytes(u64) => max_row_bytes;
        /// Most nodes that are no members which this one talks to \[16\].
        max_peers(u64) => max_peers;
    }

    /// A silent peer is lost after \[5 s\].
    pub fn detect(mut self, time: Duration) -> Self {
        self.params.detect_ns = nanoseconds(time);
        self
    }

    /// A link must be up within \[5 s\].
    pub fn connect(mut self, time: Duration) -> Self {
        self.params.connect_ns = nanoseconds(time);
        self
    }

    /// An unused link is closed after \[30 s\].
    pub fn idle_close(mut self, time: Duration) -> Self {
        self.params.idle_close_ns = nanoseconds(time);
        self
    }

    /// A query in which nothing moves logs what it waits for after \[30 s\];
    /// `Duration::MAX`: never.
    pub fn stall(mut self, time: Duration) -> Self {
        self.params.stall_ns = nanoseconds(time);
        self
    }

    /// Check frame contents end to end \[true\].
    pub fn checksum(mut self, on: bool) -> Self {
        self.params.no_checksum = (!on).into();
        self
    }

    /// Take the log's lines up to this level \[errors go to stderr\].
    ///
    /// `take` is called by any thread, also the library's own. It must not
    /// block, nor use anything of this crate: links stand still meanwhile.
    pub fn log(
        mut self,
        level: LogLevel,
        take: impl Fn(LogLevel, &str) + Send + Sync + 'static,
    ) -> Self {
        self.params.log_level = level as sys::weir_log_level;
        self.log = Some(Box::new(take));
        self
    }

    fn text(mut self, at: usize, value: String) -> Self {
        self.texts[at].1 = Some(value);
        self
    }

    /// Listen, and fix the memory plan.
    ///
    /// Blocks shortly, with a name in `listen` while that is looked up.
    ///
    /// # Errors
    /// `Arg` (names the option), `Budget` (the sum, and what to change),
    /// `System`, `NoMemory`, `NotFound` (transport; lists the known ones).
    pub fn open(self) -> Result<Node> {
        let mut texts = [const { None }; 4];
        for (text, (what, value)) in texts.iter_mut().zip(&self.texts) {
            if let Some(value) = value {
                *text = Some(c_text(what, value)?);
            }
        }
        let mut params = self.params;
        params.name = ptr_or_null(&texts[0]);
        params.transport = ptr_or_null(&texts[1]);
        params.listen = ptr_or_null(&texts[2]);
        params.advertise = ptr_or_null(&texts[3]);
        // Arrays of the arrow crates have ascending offsets in their bounds:
        // that is an invariant of their types, checked when they are made.
        params.trust_batches = 1;
        let logger = self.log.map(|f| Box::new(Logger(f)));
        if let Some(logger) = &logger {
            params.log = Some(log_line);
            params.log_arg = &**logger as *const Logger as *mut c_void;
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: params and what it points to live during the call; the
        // logger until after the node's close.
        call(|err| unsafe { sys::weir_node_open(&params, &mut raw, err) })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE));
        let closing = Closing { raw: RawNode(raw?), _logger: logger };
        let hubs = (0..params.workers.max(1)).map(Hub::new).collect();
        Ok(Node(Arc::new(NodeInner { closing: Some(closing), hubs })))
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
        let texts = ["name", "transport", "listen", "advertise"];
        NodeBuilder {
            params: sys::weir_node_params::default(),
            texts: texts.map(|what| (what, None)),
            log: None,
        }
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
    /// itself gives `None`. The numbers are in the order of coming.
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
