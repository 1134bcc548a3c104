// SPDX-License-Identifier: Apache-2.0
//! What the streams of a call share with its task: whether they are wanted, and
//! what goes back to the producer.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::wire::{GIVE_BYTES, GIVES, Give};

pub(crate) struct Given {
    back: Mutex<Back>,
    changed: Notify, // there is much to give back
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

    /// The bytes of a delivery have been copied.
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
}

/// A batch that the program has not taken. Dropped, it has, or never will.
pub(crate) struct Taken {
    given: Arc<Given>,
    id: u32,
    bytes: u64,
}

impl Taken {
    pub(crate) fn new(given: &Arc<Given>, id: u32, bytes: usize) -> Self {
        Self { given: given.clone(), id, bytes: bytes as u64 }
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
