// SPDX-License-Identifier: Apache-2.0
//! Members of a cluster, as lists of them name them.

use std::ffi::CString;

use crate::error::{c_text, Result};
use weir_sys as sys;

/// One member of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Unique in the cluster.
    pub name: String,
    /// What [`Node::address`](crate::Node::address) of that node says.
    pub address: String,
    /// How many workers it has.
    pub workers: u32,
}

impl Member {
    /// A member of a list for [`Node::join`](crate::Node::join).
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        workers: u32,
    ) -> Self {
        Self { name: name.into(), address: address.into(), workers }
    }

    /// A number that nobody has: of a member that was removed or comes later.
    pub fn nobody() -> Self {
        Self::default()
    }
}

/// A member's texts for C, which live as long as this.
pub(crate) struct CMember(Option<(CString, CString)>, u32);

impl CMember {
    pub(crate) fn new(member: &Member) -> Result<Self> {
        if *member == Member::nobody() {
            return Ok(Self(None, 0));
        }
        let name = c_text("name of a member", &member.name)?;
        let address = c_text("address of a member", &member.address)?;
        Ok(Self(Some((name, address)), member.workers))
    }

    pub(crate) fn raw(&self) -> sys::weir_member {
        let (name, address) = match &self.0 {
            Some((name, address)) => (name.as_ptr(), address.as_ptr()),
            None => (std::ptr::null(), std::ptr::null()),
        };
        sys::weir_member { name, address, workers: self.1 }
    }
}
