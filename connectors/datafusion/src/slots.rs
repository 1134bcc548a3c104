// SPDX-License-Identifier: Apache-2.0
//! Slots: regions that batches are written into for others to read, used again
//! and again, so that a peer maps or registers each of them once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use weir::{Name, Node, Region};

use crate::wire::SPACE;

const LEAST: u64 = 64 << 10;

/// So many bytes of slots are kept that nobody uses.
const KEPT: u64 = 256 << 20;

/// A region that one call has. Dropped, it is free for others: its reader has
/// said that it is done, or is gone.
pub(crate) struct Slot {
    region: Option<Region>, // always, but while it is dropped
    pool: Arc<Pool>,
}

/// The slots of a node.
pub(crate) struct Pool {
    node: Node,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    by_size: HashMap<u64, Vec<Region>>,
    bytes: u64,
}

impl Pool {
    pub(crate) fn new(node: Node) -> Arc<Self> {
        Arc::new(Self { node, free: Mutex::default() })
    }

    /// A slot with these pieces in it, one behind the other.
    pub(crate) fn fill<'a>(
        self: &Arc<Self>,
        bytes: usize,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> weir::Result<Slot> {
        let slot = self.take(bytes as u64)?;
        // SAFETY: only this call has the slot, and nobody else has its name.
        let to = unsafe { slot.region().bytes_mut()? };
        let mut at = 0;
        for piece in pieces {
            to[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        Ok(slot)
    }

    fn take(self: &Arc<Self>, bytes: u64) -> weir::Result<Slot> {
        let size = bytes.next_power_of_two().max(LEAST);
        let region = match self.take_free(size) {
            Some(region) => region,
            None => self.node.memory(size)?.publish(name())?,
        };
        Ok(Slot { region: Some(region), pool: self.clone() })
    }

    fn take_free(&self, size: u64) -> Option<Region> {
        let mut free = self.free.lock().unwrap();
        let region = free.by_size.get_mut(&size)?.pop()?;
        free.bytes -= size;
        Some(region)
    }

    fn put(&self, region: Region) {
        let mut free = self.free.lock().unwrap();
        if free.bytes + region.len() <= KEPT {
            free.bytes += region.len();
            free.by_size.entry(region.len()).or_default().push(region);
        }
    }
}

/// Nobody guesses it.
fn name() -> Name {
    Name::new(SPACE, uuid::Uuid::new_v4().as_u64_pair().1 | 1)
}

impl Slot {
    fn region(&self) -> &Region {
        self.region.as_ref().expect("it has one until it is dropped")
    }

    pub(crate) fn id(&self) -> u64 {
        self.region().name().id
    }

    /// How much memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.region().len() as usize
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(region) = self.region.take() {
            self.pool.put(region);
        }
    }
}
