// SPDX-License-Identifier: Apache-2.0
//! Options of a node.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{c_text, call, ptr_or_null, Error, Result};
use crate::log::{log_line, LogFn, LogLevel, Logger};
use crate::node::{nanoseconds, Node, NodeInner};
use weir_sys as sys;

/// Options of a node; what is not set has the default of `weir/node.h`.
#[must_use]
pub struct NodeBuilder {
    params: sys::weir_node_params,
    texts: [(&'static str, Option<String>); 5],
    secrets: Vec<Vec<u8>>,
    tls_psk: bool,
    log: Option<LogFn>,
}

/// Secrets at an address of their own, which C asks by.
pub(crate) struct Secrets(Vec<Vec<u8>>);

/// `weir_secret_fn`.
unsafe extern "C" fn secret(
    arg: *mut c_void,
    which: u32,
    to: *mut c_void,
    room: u32,
) -> u32 {
    // SAFETY: arg is the Secrets that the node's Closing keeps until after
    // weir_node_close.
    let secrets = unsafe { &*(arg as *const Secrets) };
    let Some(from) = secrets.0.get(which as usize) else { return 0 };
    if from.len() <= room as usize {
        // SAFETY: there is room for so many bytes (identity.h).
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), from.len())
        };
    }
    from.len() as u32 // more than there is room for: C refuses it
}

impl Default for NodeBuilder {
    fn default() -> Self {
        let texts = ["name", "transport", "listen", "advertise", "secret_file"];
        Self {
            params: sys::weir_node_params::default(),
            texts: texts.map(|what| (what, None)),
            secrets: Vec::new(),
            tls_psk: false,
            log: None,
        }
    }
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

    /// The file of the cluster's secret: peers prove that they know it
    /// \[none: whoever reaches the address can be a peer\].
    pub fn secret_file(self, file: impl Into<String>) -> Self {
        self.text(4, file.into())
    }

    /// The cluster's secret itself, instead of a file: 32 to 256 random bytes.
    /// Called once more: the one before it, while nodes change.
    pub fn secret(mut self, secret: impl Into<Vec<u8>>) -> Self {
        self.secrets.push(secret.into());
        self
    }

    /// What goes over tcp is encrypted by the secret \[false\]. All nodes have
    /// it, or none.
    pub fn tls_psk(mut self, on: bool) -> Self {
        self.tls_psk = on;
        self
    }

    options! {
        /// Workers, 1..64 \[1\].
        workers(u32) => workers;
        /// Most members, this node included \[8\]; numbers of members that
        /// were removed count.
        max_members(u32) => max_members;
        /// Most shuffles open at a time \[no limit: those beyond 8 share what
        /// is left of a quarter of the memory, and wait where that is not
        /// enough; 8 with rings thread-to-node\].
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
        let mut texts = [const { None }; 5];
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
        params.secret_file = ptr_or_null(&texts[4]);
        let secrets = Box::new(Secrets(self.secrets));
        let mut identity = sys::weir_identity {
            tls_psk: self.tls_psk.into(),
            ..Default::default()
        };
        if !secrets.0.is_empty() {
            identity.secret = Some(secret);
            identity.secret_arg = &*secrets as *const Secrets as *mut c_void;
        }
        params.identity = &identity;
        // Arrays of the arrow crates have ascending offsets in their bounds:
        // that is an invariant of their types, checked when they are made.
        params.trust_batches = 1;
        let logger = self.log.map(Logger::new);
        if let Some(logger) = &logger {
            params.log = Some(log_line);
            params.log_arg = logger.arg();
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: params and what it points to live during the call; the
        // logger and the secrets until after the node's close.
        call(|err| unsafe { sys::weir_node_open(&params, &mut raw, err) })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        let workers = params.workers.max(1);
        Ok(Node(Arc::new(NodeInner::new(raw, (logger, secrets), workers))))
    }
}
