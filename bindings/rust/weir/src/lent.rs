// SPDX-License-Identifier: Apache-2.0
//! Bytes of a peer's region, lent by the library.

use std::sync::{Arc, Weak};

use crate::operation::FetchInner;
use weir_sys as sys;

/// What a get has lent; given back when dropped.
pub(crate) struct Loan {
    got: sys::weir_got,
    fetch: Weak<FetchInner>, // it may be kept in the fetch's own list
}

// SAFETY: the bytes are read only, and any thread may give them back (fetch.h).
unsafe impl Send for Loan {}
// SAFETY: as above.
unsafe impl Sync for Loan {}

impl Loan {
    /// # Safety
    /// `got` is of a get of this fetch that lends, and was not given back.
    pub(crate) unsafe fn new(
        fetch: &Arc<FetchInner>,
        got: &sys::weir_got,
    ) -> Self {
        Self { got: *got, fetch: Arc::downgrade(fetch) }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // A fetch that is being dropped gives back what is left in its list.
        if let Some(fetch) = self.fetch.upgrade() {
            // SAFETY: the fetch is open; it is given back once.
            unsafe { sys::weir_fetch_release(fetch.ptr(), &self.got) };
        }
    }
}

/// Bytes of a peer's region. They count against `max_bytes` until this is
/// dropped.
///
/// Over `shm` they lie in the peer's own memory ([`Lent::mapped`]). Regions that
/// were made by this crate do not change once they are published, but for
/// [`Shared`](crate::Shared) ones; what a program in another language, or a peer
/// that breaks the rules on purpose, does is not known. So looking at mapped
/// bytes in place is `unsafe`; copying them out never is.
pub struct Lent {
    loan: Loan,
    _fetch: Arc<FetchInner>,
}

impl Lent {
    pub(crate) fn new(loan: Loan, fetch: Arc<FetchInner>) -> Self {
        Self { loan, _fetch: fetch }
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.loan.got.bytes as usize
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of the whole region.
    pub fn region_bytes(&self) -> u64 {
        self.loan.got.region_bytes
    }

    /// Which life of the peer they are of.
    pub fn incarnation(&self) -> u64 {
        self.loan.got.incarnation
    }

    /// Are they the peer's own memory?
    pub fn mapped(&self) -> bool {
        self.loan.got.mapped != 0
    }

    /// Where they are; valid as long as this lives.
    pub fn as_ptr(&self) -> *const u8 {
        self.loan.got.ptr.cast()
    }

    /// The bytes in place, unless they are the peer's own memory.
    pub fn as_slice(&self) -> Option<&[u8]> {
        // SAFETY: nobody else writes to what is not mapped.
        (!self.mapped()).then(|| unsafe { self.as_slice_unchecked() })
    }

    /// The bytes in place.
    ///
    /// # Safety
    /// Nobody writes to the region as long as the slice is used.
    pub unsafe fn as_slice_unchecked(&self) -> &[u8] {
        if self.is_empty() {
            return &[];
        }
        // SAFETY: that many bytes, lent until the drop; the caller's promise.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len()) }
    }

    /// A copy.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.append_to(&mut copy);
        copy
    }

    /// Copy them behind what `to` has.
    pub fn append_to(&self, to: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        to.reserve(self.len());
        // SAFETY: both have that many bytes. No reference to the region's is
        // made, for its owner may write to them.
        unsafe {
            let end = to.as_mut_ptr().add(to.len());
            self.as_ptr().copy_to_nonoverlapping(end, self.len());
            to.set_len(to.len() + self.len());
        }
    }
}
