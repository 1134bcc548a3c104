// SPDX-License-Identifier: Apache-2.0
//! Peers: nodes by their address, members of the cluster or not.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{c_text, call, owned, Error, Result};
use crate::node::{Node, NodeInner};
use weir_sys as sys;

pub(crate) struct PeerInner {
    raw: NonNull<sys::weir_peer>,
    _node: Arc<NodeInner>,
}

// SAFETY: the functions of a peer may be called by any thread (peer.h).
unsafe impl Send for PeerInner {}
// SAFETY: as above.
unsafe impl Sync for PeerInner {}

impl PeerInner {
    pub(crate) fn ptr(&self) -> *mut sys::weir_peer {
        self.raw.as_ptr()
    }
}

impl Drop for PeerInner {
    fn drop(&mut self) {
        // SAFETY: the node is open; operations that name the peer hold it.
        unsafe { sys::weir_peer_close(self.raw.as_ptr()) };
    }
}

/// A node at an address. Clones are the same handle.
///
/// A link is opened when it is first needed, shared by all handles of one
/// address, and closed after its last one was dropped. A node that was started
/// again at its address is a new *incarnation*: operations that were under way
/// fail with `PeerLost`, the next ones go to the new one.
#[derive(Clone)]
pub struct Peer(pub(crate) Arc<PeerInner>);

impl Peer {
    /// The address it was opened with.
    pub fn address(&self) -> String {
        // SAFETY: the text is the handle's, which is open.
        unsafe { owned(sys::weir_peer_address(self.0.ptr())) }
    }
}

impl Node {
    /// A handle of the node at an address, as [`Node::address`] of that node
    /// says. Nobody is asked yet whether there is one.
    ///
    /// # Errors
    /// `Arg` (not an address of this node's transport), `Budget` (more than
    /// `max_peers` that are no members), `NoMemory`.
    pub fn peer(&self, address: &str) -> Result<Peer> {
        let text = c_text("address", address)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the node is open, the text lives during the call.
        call(|err| unsafe {
            sys::weir_peer_open(self.0.ptr(), text.as_ptr(), &mut raw, err)
        })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        Ok(Peer(Arc::new(PeerInner { raw, _node: self.0.clone() })))
    }
}
