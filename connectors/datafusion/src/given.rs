// SPDX-License-Identifier: Apache-2.0
//! What the streams of a call share with its task: whether they are wanted, and
//! what goes back to the producer.

use std::panic::RefUnwindSafe;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::buffer::Buffer;
use tokio::sync::Notify;
use weir::Lent;

use crate::wire::{Delivery, GIVE_BYTES, GIVES, Give};

/// So many bytes of a producer are read where they lie, at most: it cannot use
/// them again meanwhile.
const LENT_BYTES: usize = 8 << 20;

pub(crate) struct Given {
    back: Mutex<Back>,
    changed: Notify, // there is much to give back
    freed: Notify,   // nothing is lent
    lent: AtomicUsize,
    polled: AtomicBool,
    streams: AtomicU32,
    wanted: Notify,
    nobody: Notify,
}

#[derive(Default)]
struct Back {
    give: Give,
    taken: u64, // bytes
    freed: u64, // bytes
}

impl Back {
    fn is_much(&self) -> bool {
        !self.give.stops.is_empty()
            || self.taken >= GIVE_BYTES
            || self.freed >= GIVE_BYTES
    }

    /// What fits one message.
    fn some(&mut self) -> Give {
        let mut room = GIVES;
        let mut some = |all: &mut Vec<u32>| {
            let n = all.len().min(room);
            room -= n;
            all.split_off(all.len() - n)
        };
        let give = Give {
            stops: some(&mut self.give.stops),
            taken: some(&mut self.give.taken),
            freed: some(&mut self.give.freed),
        };
        // As much as if all had gone, so that the rest is not forgotten.
        if self.give.taken.is_empty() {
            self.taken = 0;
        }
        if self.give.freed.is_empty() {
            self.freed = 0;
        }
        give
    }
}

impl Given {
    pub(crate) fn new(streams: u32) -> Arc<Self> {
        Arc::new(Self {
            back: Mutex::default(),
            changed: Notify::new(),
            freed: Notify::new(),
            lent: AtomicUsize::new(0),
            polled: AtomicBool::new(false),
            streams: AtomicU32::new(streams),
            wanted: Notify::new(),
            nobody: Notify::new(),
        })
    }

    /// Until one stream is polled, or all are dropped.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Until all streams are dropped.
    pub(crate) async fn nobody(&self) {
        self.nobody.notified().await;
    }

    fn add(&self, add: impl FnOnce(&mut Back)) {
        let mut back = self.back.lock().unwrap();
        add(&mut back);
        if back.is_much() {
            self.changed.notify_one();
        }
    }

    /// Nobody reads the bytes of a delivery where they lie.
    pub(crate) fn free(&self, id: u32, bytes: usize) {
        self.add(|back| {
            back.give.freed.push(id);
            back.freed += bytes as u64;
        });
    }

    pub(crate) fn stop(&self, partition: u32) {
        self.add(|back| back.give.stops.push(partition));
    }

    /// What is there to give back.
    pub(crate) fn take_some(&self) -> Give {
        self.back.lock().unwrap().some()
    }

    /// What is there to give back, once it is much.
    pub(crate) async fn much(&self) -> Give {
        loop {
            {
                let mut back = self.back.lock().unwrap();
                if back.is_much() {
                    return back.some();
                }
            }
            self.changed.notified().await;
        }
    }

    pub(crate) fn poll(&self) {
        if !self.polled.swap(true, Ordering::Relaxed) {
            self.wanted.notify_one();
        }
    }

    pub(crate) fn leave(&self) {
        if self.streams.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wanted.notify_one();
            self.nobody.notify_one();
        }
    }

    /// Does anybody read bytes where they lie?
    pub(crate) fn lends(&self) -> bool {
        self.lent.load(Ordering::Acquire) > 0
    }

    /// Until nobody does.
    pub(crate) async fn all_freed(&self) {
        while self.lends() {
            self.freed.notified().await;
        }
    }

    /// The bytes of a delivery where they lie; freed when the last buffer of
    /// them is dropped.
    pub(crate) fn lend(
        self: &Arc<Self>,
        id: u32,
        lent: Lent,
        lending: &Arc<Lending>,
    ) -> Buffer {
        self.lent.fetch_add(1, Ordering::Relaxed);
        let bytes = lent.len();
        let at = NonNull::new(lent.as_ptr().cast_mut());
        let at = at.unwrap_or(NonNull::dangling());
        let (given, lending) = (self.clone(), lending.clone());
        let loan = Arc::new(Loan { id, lent, given, lending });
        // SAFETY: that many bytes, as long as the loan lives; their owner does
        // not write to them before it is told that they are freed.
        unsafe { Buffer::from_custom_allocation(at, bytes, loan) }
    }
}

/// How much of a producer is read where it lies.
#[derive(Default)]
pub(crate) struct Lending(AtomicUsize);

impl Lending {
    /// May so much more be?
    pub(crate) fn begin(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let may = before + bytes <= LENT_BYTES;
        if !may {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }
        may
    }
}

/// What a buffer of lent bytes holds.
struct Loan {
    id: u32,
    lent: Lent,
    given: Arc<Given>,
    lending: Arc<Lending>,
}

// What a panic of another thread leaves is as good as before.
impl RefUnwindSafe for Loan {}

impl Drop for Loan {
    fn drop(&mut self) {
        let bytes = self.lent.len();
        self.lending.0.fetch_sub(bytes, Ordering::Relaxed);
        self.given.free(self.id, bytes);
        if self.given.lent.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.given.freed.notify_one();
        }
    }
}

/// A batch that the program has not taken. Dropped, it has, or never will.
pub(crate) struct Taken {
    given: Arc<Given>,
    id: u32,
    bytes: u64,
}

impl Taken {
    pub(crate) fn new(given: &Arc<Given>, delivery: &Delivery) -> Self {
        let given = given.clone();
        Self { given, id: delivery.id, bytes: delivery.n_bytes }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.given.add(|back| {
            back.give.taken.push(self.id);
            back.taken += self.bytes;
        });
    }
}
