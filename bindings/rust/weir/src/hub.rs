// SPDX-License-Identifier: Apache-2.0
//! A worker's order, and its wake-ups.
//!
//! ```text
//!   task A --poll--> lock -> try -> nothing -> arm -> sleeps  }  one
//!   task B --poll--> lock -> try -> nothing -> arm -> sleeps  }  AsyncFd
//!                                                 ^
//!   something happened: descriptor -> driver -> hub's waker -> wake A and B
//! ```
//!
//! What belongs to a worker is used by one thread at a time (node.h): every
//! call is made under the worker's lock, for the length of that call, so tasks
//! may run on any thread. The library says through one descriptor per worker
//! that something happened, not what; so all tasks of the worker try again.
//!
//! No wake-up is lost: a task goes to sleep only after `weir_worker_arm` has
//! said that nothing happened since the last look, under the lock, and with its
//! waker in the list. Who learns from arm, or from the driver, that something did
//! happen wakes all that sleep, for they may have been meant; its own task as
//! well, which may have joined a reader and a writer.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime::{Handle, Id};

use crate::error::{Error, ErrorKind, Result};
use crate::node::{nanoseconds, RawNode};
use weir_sys as sys;

/// Looks of one poll that found that something had happened, before others get
/// their turn.
const LOOKS: u32 = 8;

/// Lock; what a panic of another thread left is as good as before, since
/// nothing is half done between two statements under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptor of a worker: the node's, so dropping this closes nothing.
struct Watched(RawFd);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// Tasks that sleep until something happens. A task stays in the list when one
/// of its futures moves, for another one of them may sleep.
#[derive(Default)]
struct Sleepers(Mutex<Vec<Waker>>);

impl Sleepers {
    fn add(&self, waker: &Waker) {
        let mut list = lock(&self.0);
        if !list.iter().any(|w| w.will_wake(waker)) {
            list.push(waker.clone());
        }
    }

    fn all(&self) -> Vec<Waker> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl Wake for Sleepers {
    fn wake(self: Arc<Self>) {
        for waker in self.all() {
            waker.wake();
        }
    }
}

/// Where the descriptor is watched: the runtime whose task last slept here.
#[derive(Default)]
pub(crate) struct Watch(Option<(Id, AsyncFd<Watched>)>);

/// What going to sleep came to.
enum Doze {
    Asleep,
    LookAgain,
    Happened,
}

/// One worker of a node.
pub(crate) struct Hub {
    worker: u32,
    watch: Mutex<Watch>,
    sleepers: Arc<Sleepers>,
    waker: Waker,
}

impl Hub {
    pub(crate) fn new(worker: u32) -> Self {
        let sleepers = Arc::<Sleepers>::default();
        let waker = Waker::from(sleepers.clone());
        Self { worker, watch: Mutex::default(), sleepers, waker }
    }

    /// The worker's turn: nobody else uses what belongs to it.
    pub(crate) fn turn(&self) -> MutexGuard<'_, Watch> {
        lock(&self.watch)
    }

    /// Stop watching; before the node closes, and with it the descriptor.
    pub(crate) fn unwatch(&self) {
        self.turn().0 = None;
    }

    /// Call `attempt` in the worker's turn until it moves; sleeps between.
    pub(crate) fn poll<T>(
        &self,
        node: &RawNode,
        cx: &mut Context<'_>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Poll<Result<T>> {
        let mut others = Vec::new();
        let mut watch = self.turn();
        let mut looks = 0;
        let outcome = loop {
            if let Some(moved) = attempt() {
                break Poll::Ready(Ok(moved));
            }
            self.sleepers.add(cx.waker());
            match self.doze(node, &mut watch) {
                Ok(Doze::Asleep) => break Poll::Pending,
                Ok(Doze::LookAgain | Doze::Happened) => {
                    others.append(&mut self.sleepers.all());
                }
                Err(error) => break Poll::Ready(Err(error)),
            }
            looks += 1;
            if looks == LOOKS {
                cx.waker().wake_by_ref();
                break Poll::Pending;
            }
        };
        drop(watch);
        for waker in others {
            waker.wake(); // our own task's too: it may sleep on two futures
        }
        outcome
    }

    /// Have all tasks of the worker try again.
    pub(crate) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    /// Arm the descriptor, and have the driver wake us through it.
    fn doze(&self, node: &RawNode, watch: &mut Watch) -> Result<Doze> {
        let fd = self.descriptor(node)?;
        // SAFETY: the node is open and it is this worker's turn.
        match unsafe { sys::weir_worker_arm(node.ptr(), self.worker) } {
            sys::WEIR_OK => {}
            sys::WEIR_AGAIN => return Ok(Doze::Happened),
            code => return Err(Error::of(code)),
        }
        let watched = watch.on_this_runtime(fd)?;
        let mut cx = Context::from_waker(&self.waker);
        match watched.poll_read_ready(&mut cx) {
            Poll::Pending => Ok(Doze::Asleep),
            Poll::Ready(Ok(mut ready)) => {
                // What the driver saw may be older than this arm; what comes
                // after it is a new edge, which this does not clear.
                ready.clear_ready();
                Ok(Doze::LookAgain)
            }
            Poll::Ready(Err(error)) => {
                watch.0 = None;
                Err(Error::new(ErrorKind::System, error.to_string()))
            }
        }
    }

    fn descriptor(&self, node: &RawNode) -> Result<RawFd> {
        // SAFETY: the node is open and it is this worker's turn.
        let fd = unsafe { sys::weir_worker_fd(node.ptr(), self.worker) };
        if fd < 0 {
            return Err(Error::of(fd));
        }
        Ok(fd)
    }

    /// Park this thread until something happened for the worker.
    pub(crate) fn wait(&self, node: &RawNode, time: Duration) -> Result<bool> {
        let turn = self.turn();
        // SAFETY: the node is open and it is this worker's turn.
        let rc = unsafe {
            sys::weir_worker_wait(node.ptr(), self.worker, nanoseconds(time))
        };
        drop(turn);
        self.waker.wake_by_ref(); // what happened may have been for a task
        match rc {
            sys::WEIR_OK => Ok(true),
            sys::WEIR_AGAIN => Ok(false),
            code => Err(Error::of(code)),
        }
    }
}

impl Watch {
    /// Registered with the runtime of the task that is about to sleep.
    fn on_this_runtime(&mut self, fd: RawFd) -> Result<&AsyncFd<Watched>> {
        let system = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::System, format!("tokio: {e}"))
        };
        let id = Handle::try_current().map_err(|e| system(&e))?.id();
        if !matches!(&self.0, Some((at, _)) if *at == id) {
            self.0 = None;
            let fd = Watched(fd);
            // SAFETY: the descriptor is the node's, which closes it after it
            // has taken this away (Hub::unwatch).
            let fd = unsafe {
                AsyncFd::register_with_interest(fd, Interest::READABLE)
            };
            let fd = fd.map_err(|e| system(&e))?;
            self.0 = Some((id, fd));
        }
        match &self.0 {
            Some((_, fd)) => Ok(fd),
            None => unreachable!("set above"),
        }
    }
}
