// SPDX-License-Identifier: Apache-2.0
//! Slots: regions that batches are written into for others to read, used again
//! and again, so that a peer maps or registers each of them once.
//!
//! Small batches of one call share a slot, one behind the other; it is free
//! when all of them are. A piece of a long batch has one of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use weir::{Name, Node, Region};

use crate::wire::SPACE;

/// Sizes of slots that batches share: each one of a call is twice the one
/// before.
const LEAST: usize = 64 << 10;
const MOST: usize = 512 << 10;

/// Arrow wants its buffers so.
const ALIGN: usize = 64;

/// So many bytes of slots are kept that nobody uses.
const KEPT: u64 = 8 << 20;

/// A region that one call has. Dropped, it is free for others: its readers have
/// said that they are done.
pub(crate) struct Slot {
    region: Option<Region>, // always, but while it is dropped
    base: *mut u8,
    spoilt: AtomicBool,
    pool: Arc<Pool>,
}

// SAFETY: the memory behind base is the region's, and its ranges are written by
// whom they were given to (Place).
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

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

    fn take(self: &Arc<Self>, bytes: usize) -> weir::Result<Slot> {
        let size = size_of(bytes) as u64;
        let region = match self.take_free(size) {
            Some(region) => region,
            None => self.node.memory(size)?.publish(name())?,
        };
        // SAFETY: only this call has the slot, and those who read it before
        // are done. It is the only slice of it that is ever made.
        let base = unsafe { region.bytes_mut()?.as_mut_ptr() };
        let spoilt = AtomicBool::new(false);
        Ok(Slot { region: Some(region), base, spoilt, pool: self.clone() })
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

/// Powers of two and what is halfway between them, so that few sizes serve and
/// at most a third is waste.
fn size_of(bytes: usize) -> usize {
    let size = bytes.next_power_of_two().max(LEAST);
    let less = size / 4 * 3;
    if bytes <= less && less >= LEAST { less } else { size }
}

/// Nobody guesses it.
fn name() -> Name {
    Name::new(SPACE, uuid::Uuid::new_v4().as_u64_pair().1 | 1)
}

impl Slot {
    fn region(&self) -> &Region {
        self.region.as_ref().expect("it has one until it is dropped")
    }

    /// Somebody may still read it who will never say that he is done: it must
    /// not be used again.
    pub(crate) fn spoil(&self) {
        self.spoilt.store(true, Ordering::Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(region) = self.region.take()
            && !self.spoilt.load(Ordering::Relaxed)
        {
            self.pool.put(region);
        }
    }
}

/// A range of a slot that one batch has.
pub(crate) struct Place {
    slot: Arc<Slot>,
    off: usize,
    bytes: usize,
}

impl Place {
    pub(crate) fn slot_id(&self) -> u64 {
        self.slot.region().name().id
    }

    pub(crate) fn off(&self) -> u64 {
        self.off as u64
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn spoil(&self) {
        self.slot.spoil();
    }

    /// Write parts, one behind the other; before anybody is told of it.
    fn fill(&mut self, parts: &[&[u8]]) {
        let mut at = self.off;
        for part in parts {
            assert!(at + part.len() <= self.off + self.bytes);
            // SAFETY: within the range, which only this place has, of a slot
            // whose memory is the region's.
            unsafe {
                self.slot
                    .base
                    .add(at)
                    .copy_from_nonoverlapping(part.as_ptr(), part.len());
            }
            at += part.len();
        }
    }
}

/// Where the batches of a call go.
pub(crate) struct Places {
    pool: Arc<Pool>,
    open: Mutex<Open>,
}

/// The slot that is being filled.
struct Open {
    slot: Option<Arc<Slot>>,
    at: usize,
    size: usize,
}

impl Places {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        let open = Open { slot: None, at: 0, size: LEAST / 2 };
        Self { pool, open: Mutex::new(open) }
    }

    /// A place with these parts in it.
    pub(crate) fn fill(
        &self,
        bytes: usize,
        parts: &[&[u8]],
    ) -> weir::Result<Place> {
        let mut place = self.reserve(bytes)?;
        place.fill(parts);
        Ok(place)
    }

    fn reserve(&self, bytes: usize) -> weir::Result<Place> {
        let bytes = bytes.next_multiple_of(ALIGN);
        if bytes > MOST / 4 {
            let slot = Arc::new(self.pool.take(bytes)?);
            return Ok(Place { slot, off: 0, bytes });
        }
        let mut open = self.open.lock().unwrap();
        let slot = match &open.slot {
            Some(slot) if open.at + bytes <= open.size => slot.clone(),
            _ => {
                let size = (open.size * 2).min(MOST).max(size_of(bytes));
                let slot = Arc::new(self.pool.take(size)?);
                *open = Open { slot: Some(slot.clone()), at: 0, size };
                slot
            }
        };
        let off = open.at;
        open.at += bytes;
        Ok(Place { slot, off, bytes })
    }

    /// No more batches come for now.
    pub(crate) fn close(&self) {
        self.open.lock().unwrap().slot = None;
    }
}
