// SPDX-License-Identifier: Apache-2.0
//! What a node has done, holds, and waits for.

use std::ffi::{c_char, c_void};

use crate::error::{c_text, owned, Error, Result};
use crate::node::Node;
use weir_sys as sys;

macro_rules! node_stats {
    ($($name:ident: $meaning:literal,)*) => {
        /// Counters of a node. Each is exact; together they are not one
        /// instant.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct NodeStats {
            $(#[doc = $meaning] pub $name: u64,)*
        }

        impl From<sys::weir_node_stats> for NodeStats {
            fn from(raw: sys::weir_node_stats) -> Self {
                Self { $($name: raw.$name,)* }
            }
        }
    };
}

node_stats! {
    rows_sent: "Rows put into rings, all shuffles.",
    bytes_sent: "Frame bytes published.",
    frames_sent: "Frames published.",
    rows_received: "Rows handed to readers.",
    bytes_received: "Frame bytes handed to readers.",
    frames_received: "Frames handed to readers.",
    pushes_blocked: "Pushes that found a ring full.",
    waits: "Worker waits that went to sleep.",
    wakes: "Sleeping workers woken by this node.",
    links_open: "Links open now.",
    links_opened: "Links opened since the node opened.",
    links_lost: "Links that ended by failure.",
    queries_open: "Queries open now.",
    queries_failed: "Queries that failed here.",
    memory_bytes: "Buffers that travel, held now.",
    memory_peak_bytes: "Most that was held.",
    memory_plan_bytes: "Most that the memory plan adds up to.",
    memory_cap_bytes: "The hard cap.",
}

/// The link to one member, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStats {
    /// Rows can travel.
    pub open: bool,
    /// What it runs over, empty while there is no link.
    pub transport: String,
    /// Which way was taken, and why; one line.
    pub why: String,
}

unsafe extern "C" fn take_line(arg: *mut c_void, line: *const c_char) {
    // SAFETY: arg is report()'s list; line ends with NUL (report.h).
    unsafe { (*(arg as *mut Vec<String>)).push(owned(line)) };
}

impl Node {
    /// What every query of this node waits for, and how its links and workers
    /// are: lines for people (`docs/embed.md`, "It hangs: what now").
    ///
    /// # Errors
    /// `NoMemory`.
    pub fn report(&self) -> Result<Vec<String>> {
        let mut lines = Vec::<String>::new();
        let arg = &mut lines as *mut Vec<String> as *mut c_void;
        // SAFETY: the node is open; take_line is called before this returns.
        let code = unsafe {
            sys::weir_node_report(self.0.ptr(), Some(take_line), arg)
        };
        if code < 0 {
            return Err(Error::of(code));
        }
        Ok(lines)
    }

    /// A snapshot of the node's counters.
    pub fn stats(&self) -> NodeStats {
        let mut raw = sys::weir_node_stats::default();
        // SAFETY: the node is open.
        unsafe { sys::weir_node_stats_get(self.0.ptr(), &mut raw) };
        raw.into()
    }

    /// The link to a member; one's own number: the link to oneself.
    ///
    /// # Errors
    /// `NotFound` (no such member).
    pub fn link_stats(&self, member: u32) -> Result<LinkStats> {
        let mut raw =
            sys::weir_link_stats { open: 0, transport: [0; 16], why: [0; 256] };
        // SAFETY: the node is open; texts end with NUL.
        unsafe {
            match sys::weir_link_stats_get(self.0.ptr(), member, &mut raw) {
                sys::WEIR_OK => Ok(LinkStats {
                    open: raw.open != 0,
                    transport: owned(raw.transport.as_ptr()),
                    why: owned(raw.why.as_ptr()),
                }),
                code => Err(Error::of(code)),
            }
        }
    }

    /// Which transport a link to an address would take first, and why; `None`:
    /// what this node can use at all.
    ///
    /// # Errors
    /// `Arg` (a NUL in the address).
    pub fn why(&self, address: Option<&str>) -> Result<String> {
        let address = address.map(|a| c_text("address", a)).transpose()?;
        let address = crate::error::ptr_or_null(&address);
        let mut text = [0 as c_char; 1024];
        // SAFETY: the node is open; the text ends with NUL.
        unsafe {
            let (at, room) = (text.as_mut_ptr(), text.len());
            match sys::weir_node_why(self.0.ptr(), address, at, room) {
                sys::WEIR_OK => Ok(owned(text.as_ptr())),
                code => Err(Error::of(code)),
            }
        }
    }
}
