// SPDX-License-Identifier: Apache-2.0
//! Batches that a writer was given and the rings have not taken.
//!
//! ```text
//!   push --accept--> [ batch, refused, batch ] --attempt, in order--> rings
//! ```
//!
//! The first may be under way: C knows it again by its buffers. Those behind it
//! were given by calls whose future was dropped. Why one was refused waits in
//! its place, for who gave it may not hear of it.

use std::collections::VecDeque;
use std::ptr::NonNull;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::RecordBatch;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::SchemaRef;

use crate::batch::{export, fits_schema, laid_out_as, raw};
use crate::error::{left, Error, ErrorKind, Result};
use crate::shuffle::c_schema;
use weir_sys as sys;

/// What [`Writer::send`](crate::Writer::send) takes: a batch, or one with the
/// destinations of its rows.
pub struct Parcel(pub(crate) RecordBatch, pub(crate) Option<Vec<u32>>);

impl From<RecordBatch> for Parcel {
    fn from(batch: RecordBatch) -> Self {
        Self(batch, None)
    }
}

impl From<(RecordBatch, Vec<u32>)> for Parcel {
    fn from((batch, dest): (RecordBatch, Vec<u32>)) -> Self {
        Self(batch, Some(dest))
    }
}

struct Pending {
    array: FFI_ArrowArray,
    layout: SchemaRef, // of which C hears when its turn comes
    dest: Option<Vec<u32>>,
}

pub(crate) struct Queue {
    writer: NonNull<sys::weir_writer>,
    schema: SchemaRef, // the shuffle's
    layout: SchemaRef, // as C has it
    waiting: VecDeque<Result<Pending>>,
    /// No consumer wants more.
    pub(crate) unwanted: bool,
}

impl Queue {
    pub(crate) fn new(
        writer: NonNull<sys::weir_writer>,
        schema: SchemaRef,
    ) -> Self {
        let (layout, waiting) = (schema.clone(), VecDeque::new());
        Self { writer, schema, layout, waiting, unwanted: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Behind those that wait.
    pub(crate) fn put(&mut self, parcel: Parcel) {
        let pending = self.accept(parcel);
        if !self.unwanted || pending.is_err() {
            self.waiting.push_back(pending);
        }
    }

    /// As the only one.
    pub(crate) fn put_first(&mut self, parcel: Parcel) -> Result<()> {
        let pending = self.accept(parcel)?;
        if !self.is_empty() {
            return Err(not_taken());
        }
        if !self.unwanted {
            self.waiting.push_back(Ok(pending));
        }
        Ok(())
    }

    /// What the library can be given, or why it cannot.
    fn accept(&self, Parcel(batch, dest): Parcel) -> Result<Pending> {
        let layout = batch.schema();
        if !laid_out_as(&layout, &self.layout) {
            fits_schema(&batch, &self.schema)?;
        }
        if let Some(dest) = &dest {
            let (n, rows) = (dest.len(), batch.num_rows());
            if n != rows {
                return Err(Error::new(
                    ErrorKind::Arg,
                    format!("{n} destinations for {rows} rows"),
                ));
            }
        }
        Ok(Pending { array: export(&batch), layout, dest })
    }

    /// Refuse the next one for that reason.
    pub(crate) fn refuse(&mut self, why: Error) {
        self.waiting.push_back(Err(why));
    }

    /// One try with the first, in the worker's turn. None: a ring is full; else
    /// what is to be settled, without the turn.
    pub(crate) fn attempt(&mut self) -> Option<Result<bool>> {
        match self.waiting.front() {
            Some(Ok(first)) => first.push(self.writer, &mut self.layout),
            _ => Some(Ok(true)),
        }
    }

    /// The first is gone: taken, not wanted, or refused. Not in the worker's
    /// turn: what a batch lets go of may need it.
    pub(crate) fn settle(&mut self, wanted: Result<bool>) -> Result<()> {
        let first = self.waiting.pop_front();
        if let Ok(false) = wanted {
            self.unwanted = true;
            self.waiting.retain(Result::is_err);
        }
        first.map_or(Ok(()), |f| f.map(drop)).and(wanted.map(drop))
    }
}

impl Pending {
    /// In the worker's turn. True: wanted; None: a ring is full.
    fn push(
        &self,
        writer: NonNull<sys::weir_writer>,
        layout: &mut SchemaRef,
    ) -> Option<Result<bool>> {
        if let Err(error) = self.lay_out(writer, layout) {
            return Some(Err(error));
        }
        let (raw_writer, array) = (writer.as_ptr(), raw(&self.array));
        // SAFETY: the writer is open, it is its worker's turn; the array has
        // the columns of the shuffle in the layout that C was told, and as many
        // rows as there are destinations (accept).
        let code = unsafe {
            match &self.dest {
                None => sys::weir_writer_push(raw_writer, array),
                Some(dest) => {
                    sys::weir_writer_push_to(raw_writer, array, dest.as_ptr())
                }
            }
        };
        match code {
            sys::WEIR_OK => Some(Ok(true)),
            sys::WEIR_DONE => Some(Ok(false)),
            sys::WEIR_AGAIN => None,
            code => Some(Err(why(writer, code))),
        }
    }

    /// Tell the library of the layout of this batch and those that follow. While
    /// the batch is under way that is as it was.
    fn lay_out(
        &self,
        writer: NonNull<sys::weir_writer>,
        layout: &mut SchemaRef,
    ) -> Result<()> {
        if laid_out_as(&self.layout, layout) {
            return Ok(());
        }
        let schema = c_schema(&self.layout)?;
        // SAFETY: the writer is open and it is its worker's turn; the schema is
        // borrowed for the call.
        let code = unsafe {
            let schema = &schema as *const FFI_ArrowSchema as *const _;
            sys::weir_writer_layout(writer.as_ptr(), schema)
        };
        if code < 0 {
            return Err(why(writer, code));
        }
        *layout = self.layout.clone();
        Ok(())
    }
}

/// Why the last call of a writer failed, in its worker's turn.
pub(crate) fn why(
    writer: NonNull<sys::weir_writer>,
    code: sys::weir_err,
) -> Error {
    left(code, |err| {
        // SAFETY: the writer is open and it is its worker's turn.
        unsafe { sys::weir_writer_error(writer.as_ptr(), err) }
    })
}

pub(crate) fn not_taken() -> Error {
    Error::new(ErrorKind::State, "another batch is not taken yet")
}
