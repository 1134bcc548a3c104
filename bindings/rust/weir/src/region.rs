// SPDX-License-Identifier: Apache-2.0
//! Regions: memory that peers read, or write, by themselves.
//!
//! ```text
//!   node.memory(bytes) --fill--> publish(name) --> Region ....> Fetch::get
//!   node.publish_file, publish_bytes ------------> Region
//!   drop(Region): revoked
//! ```

use std::ffi::c_void;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{call, Error, ErrorKind, Result};
use crate::node::{Node, NodeInner};
use weir_sys as sys;

/// Name of a region, unique on its node: two words that the program chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// Whose it is: who answers for names that nobody has published
    /// ([`Node::asks`]).
    pub space: u64,
    /// Which one.
    pub id: u64,
}

impl Name {
    /// A name.
    pub fn new(space: u64, id: u64) -> Self {
        Self { space, id }
    }

    pub(crate) fn raw(self) -> sys::weir_name {
        sys::weir_name { space: self.space, id: self.id }
    }
}

/// An open region of the library.
struct Raw {
    raw: NonNull<sys::weir_region>,
    node: Arc<NodeInner>,
}

// SAFETY: the functions of a region may be called by any thread (region.h).
unsafe impl Send for Raw {}
// SAFETY: as above; what writes to the memory takes care of it (see there).
unsafe impl Sync for Raw {}

impl Raw {
    fn open(node: &Node, params: &sys::weir_region_params) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the node is open; params describes what lives as region.h
        // demands.
        call(|err| unsafe {
            sys::weir_region_open(node.0.ptr(), params, &mut raw, err)
        })?;
        let raw =
            NonNull::new(raw).ok_or_else(|| Error::of(sys::WEIR_ERR_NODE))?;
        Ok(Self { raw, node: node.0.clone() })
    }

    fn publish(self, name: Name) -> Result<Region> {
        let words = name.raw();
        // SAFETY: the region is open.
        call(|err| unsafe {
            sys::weir_region_publish(self.raw.as_ptr(), &words, err)
        })?;
        Ok(Region { raw: self, name, own: false })
    }

    fn len(&self) -> u64 {
        // SAFETY: the region is open.
        unsafe { sys::weir_region_bytes(self.raw.as_ptr()) }
    }

    fn base(&self) -> *mut u8 {
        // SAFETY: the region is open.
        unsafe { sys::weir_region_base(self.raw.as_ptr()).cast() }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _open = &self.node;
        // SAFETY: the region is open, and nobody uses it afterwards.
        unsafe { sys::weir_region_close(self.raw.as_ptr()) };
    }
}

/// Memory of the library that no peer sees yet: zeroed, 64-byte aligned, to be
/// filled and published. It counts against `memory_bytes`.
pub struct Memory(Raw);

impl Memory {
    /// Let peers find it under a name, and read it. Nobody writes to it any
    /// more.
    ///
    /// # Errors
    /// `Duplicate` (the name is in use on this node), `NoMemory`. The memory is
    /// gone then.
    pub fn publish(self, name: Name) -> Result<Region> {
        self.0.publish(name).map(|region| Region { own: true, ..region })
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: that many bytes, initialized, and only this handle knows them.
        unsafe {
            std::slice::from_raw_parts(self.0.base(), self.0.len() as usize)
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as deref; the borrow is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(self.0.base(), self.0.len() as usize)
        }
    }
}

/// What peers can read under its name. Dropping it revokes: gets that run or
/// come later end with their bytes or with `NotFound`, and its memory is let go
/// once no peer can reach it.
pub struct Region {
    raw: Raw,
    name: Name,
    own: bool, // memory of the library, which only this process writes to
}

impl Region {
    /// Its name.
    pub fn name(&self) -> Name {
        self.name
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // there are no empty ones
    pub fn len(&self) -> u64 {
        self.raw.len()
    }

    /// Its memory, if it was made by [`Node::memory`], to be filled anew. What
    /// a peer reads meanwhile is of before and after.
    ///
    /// # Errors
    /// `State`: the memory is not the library's.
    ///
    /// # Safety
    /// Nobody else looks at it or writes to it as long as the slice is used, in
    /// this process or over [`Lent::as_slice_unchecked`](crate::Lent) in others:
    /// those who read it have said that they are done.
    #[allow(clippy::mut_from_ref)] // the caller's promise
    pub unsafe fn bytes_mut(&self) -> Result<&mut [u8]> {
        if !self.own {
            let text = "the memory of this region is not the library's";
            return Err(Error::new(ErrorKind::State, text));
        }
        // SAFETY: that many bytes, initialized; the rest is promised.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(
                self.raw.base(),
                self.raw.len() as usize,
            )
        })
    }
}

/// A region that peers write to, too ([`Fetch::put`](crate::Fetch::put)), at any
/// time. So nothing is lent of it: bytes are copied in and out, and what comes
/// out while a put is under way may be of before and after.
pub struct Shared(Region);

impl Shared {
    /// Its name.
    pub fn name(&self) -> Name {
        self.0.name
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // there are no empty ones
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    fn at(&self, off: u64, n: usize) -> Result<*mut u8> {
        let end = off.checked_add(n as u64);
        if end.is_none_or(|end| end > self.len()) {
            let len = self.len();
            let text = format!("{n} bytes from {off} on: there are {len}");
            return Err(Error::new(ErrorKind::Arg, text));
        }
        // SAFETY: within the region, as was just checked.
        Ok(unsafe { self.0.raw.base().add(off as usize) })
    }

    /// Copy bytes out, from `off` on.
    ///
    /// # Errors
    /// `Arg`: beyond the end.
    pub fn read(&self, off: u64, to: &mut [u8]) -> Result<()> {
        let from = self.at(off, to.len())?;
        // SAFETY: both have that many bytes; no reference to the region's
        // exists, for peers may write them meanwhile.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    /// Copy bytes in, from `off` on.
    ///
    /// # Errors
    /// `Arg`: beyond the end.
    pub fn write(&self, off: u64, from: &[u8]) -> Result<()> {
        let to = self.at(off, from.len())?;
        // SAFETY: as read.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        Ok(())
    }
}

/// Bytes of the program that a region keeps.
struct Kept(#[allow(dead_code)] Box<dyn AsRef<[u8]> + Send>);

unsafe extern "C" fn let_go(arg: *mut c_void) {
    // SAFETY: arg is the Kept of publish_bytes; this is called once.
    drop(unsafe { Box::from_raw(arg.cast::<Kept>()) });
}

impl Node {
    /// Memory to be filled, and published.
    ///
    /// Blocks while the kernel clears pages.
    ///
    /// # Errors
    /// `Arg` (no bytes), `Budget` (the sum), `NoMemory` (the limit, and how to
    /// raise it).
    pub fn memory(&self, bytes: u64) -> Result<Memory> {
        let params = sys::weir_region_params { bytes, ..Default::default() };
        Raw::open(self, &params).map(Memory)
    }

    /// Zeroed memory under a name, that peers read and write.
    ///
    /// # Errors
    /// As [`Node::memory`] and [`Memory::publish`].
    pub fn share(&self, name: Name, bytes: u64) -> Result<Shared> {
        let params = sys::weir_region_params {
            bytes,
            writable: 1,
            ..Default::default()
        };
        Raw::open(self, &params)?.publish(name).map(Shared)
    }

    /// A range of a regular file under a name. A file that is or becomes
    /// shorter makes gets of what is not there fail with `Data`.
    ///
    /// # Errors
    /// `Arg`, `System` (the descriptor), and as [`Memory::publish`].
    pub fn publish_file(
        &self,
        name: Name,
        file: impl AsFd,
        range: Range<u64>,
    ) -> Result<Region> {
        self.publish_range(name, &file, &range, false)
    }

    /// The same of a file that stays as it is: peers over shm map it, and
    /// over tcp it is sent without a copy. It may be removed.
    ///
    /// # Safety
    /// Until the region is dropped and peers have given back what they were
    /// lent, nobody writes to the range, nor makes the file shorter: peers
    /// have slices of it, and those that read what is gone get SIGBUS.
    ///
    /// # Errors
    /// `Data` (it is shorter than the range), and as
    /// [`publish_file`](Self::publish_file).
    pub unsafe fn publish_constant_file(
        &self,
        name: Name,
        file: impl AsFd,
        range: Range<u64>,
    ) -> Result<Region> {
        self.publish_range(name, &file, &range, true)
    }

    fn publish_range(
        &self,
        name: Name,
        file: &impl AsFd,
        range: &Range<u64>,
        constant: bool,
    ) -> Result<Region> {
        let params = sys::weir_region_params {
            kind: sys::WEIR_REGION_FILE,
            fd: file.as_fd().as_raw_fd(),
            off: range.start,
            bytes: range.end.saturating_sub(range.start),
            constant: constant.into(),
            ..Default::default()
        };
        Raw::open(self, &params)?.publish(name)
    }

    /// Bytes that the program has under a name, without a copy. They are
    /// dropped, by any thread, when no peer can reach them any more.
    ///
    /// # Errors
    /// `Arg` (no bytes), and as [`Memory::publish`].
    pub fn publish_bytes(
        &self,
        name: Name,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Region> {
        let kept = Box::new(Kept(Box::new(bytes)));
        let slice = (*kept.0).as_ref();
        let mut params = sys::weir_region_params {
            kind: sys::WEIR_REGION_BORROWED,
            base: slice.as_ptr() as *mut c_void,
            bytes: slice.len() as u64,
            release: Some(let_go),
            ..Default::default()
        };
        // The bytes lie where they do as long as the box is not opened.
        let arg = Box::into_raw(kept);
        params.release_arg = arg.cast();
        let raw = Raw::open(self, &params).inspect_err(|_| {
            // SAFETY: the library has not taken it, so it is still ours.
            drop(unsafe { Box::from_raw(arg) });
        })?;
        raw.publish(name)
    }
}
