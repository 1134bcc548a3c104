// SPDX-License-Identifier: Apache-2.0
//! Declarations of libweir as C has them (`weir/weir.h`). Programs use the crate
//! `weir` on top of this one, which is safe.
//!
//! What each function does, and its errors, are in the comments of
//! `include/weir/*.h`. The declarations are written by `weir-bindgen` and
//! checked in, so that building this crate needs no libclang; sizes, alignments
//! and offsets of all structs are compared with C's when it is compiled.
//!
//! # Which libweir is linked
//!
//! | environment | links |
//! | --- | --- |
//! | `WEIR_BUILD_DIR=/path/to/weir/build/release` | that tree's `libweir.a`, without installing it |
//! | none | what `pkg-config weir` says, shared |
//! | `WEIR_STATIC=1` | what `pkg-config --static weir` says |
//!
//! A shared libweir outside of the system's folders is found at run time by
//! `LD_LIBRARY_PATH`, or by a run path that the program sets:
//! `RUSTFLAGS="-C link-arg=-Wl,-rpath,/opt/weir/lib"`.
#![no_std]
#![allow(non_camel_case_types)]
#![allow(non_snake_case)]
#![allow(clippy::all)]

include!("bindings.rs");

/// Wait forever.
pub const WEIR_FOREVER: u64 = u64::MAX;
