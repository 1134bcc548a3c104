// SPDX-License-Identifier: Apache-2.0
//! Record batches in and out, through Arrow's C data interface, without a copy.
//!
//! ```text
//!   out   RecordBatch --export--> FFI_ArrowArray --> weir_writer_push (reads)
//!   in    weir_reader_next --> ArrowArray --import--> RecordBatch
//!           its buffers are the ring; the last array that points into it calls
//!           release, which gives the space back, and lets go of the node
//! ```

use std::ptr;
use std::sync::Arc;

use arrow_array::ffi::from_ffi_and_data_type;
use arrow_array::RecordBatchOptions;
use arrow_array::{make_array, Array, ArrayRef, RecordBatch, StructArray};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_data::transform::MutableArrayData;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::error::{Error, ErrorKind, Result};
use crate::node::NodeInner;
use weir_sys as sys;

// Both are the struct of the specification.
const _: () = {
    assert!(size_of::<FFI_ArrowArray>() == size_of::<sys::ArrowArray>());
    assert!(align_of::<FFI_ArrowArray>() == align_of::<sys::ArrowArray>());
};

/// As C sees it.
pub(crate) fn raw(array: &FFI_ArrowArray) -> *const sys::ArrowArray {
    array as *const FFI_ArrowArray as *const sys::ArrowArray
}

/// A batch as C wants it. It holds the batch's buffers.
pub(crate) fn export(batch: &RecordBatch) -> FFI_ArrowArray {
    FFI_ArrowArray::new(&StructArray::from(batch.clone()).into_data())
}

/// Do these columns have these types? The library cannot see that: an
/// ArrowArray does not say what it is.
pub(crate) fn same_types(
    what: &str,
    columns: &[ArrayRef],
    types: &[DataType],
) -> Result<()> {
    if columns.len() != types.len() {
        let (n, wanted) = (columns.len(), types.len());
        return Err(Error::new(
            ErrorKind::Schema,
            format!("{what}: {n} columns, not {wanted}"),
        ));
    }
    for (i, (column, wanted)) in columns.iter().zip(types).enumerate() {
        if !column.data_type().equals_datatype(wanted) {
            let found = column.data_type();
            return Err(Error::new(
                ErrorKind::Schema,
                format!("{what}: column {i} is {found}, not {wanted}"),
            ));
        }
    }
    Ok(())
}

/// Can the library take values of this type for a column of that one
/// (weir/layout.h)?
fn stands_for(found: &DataType, wanted: &DataType) -> bool {
    use DataType::*;
    match (found, wanted) {
        (Dictionary(_, values), _) => {
            !values.is_nested() && stands_for(values, wanted)
        }
        (LargeUtf8 | Utf8View, Utf8) => true,
        (LargeBinary | BinaryView, Binary) => true,
        (List(found) | LargeList(found), List(wanted) | LargeList(wanted)) => {
            stands_for(found.data_type(), wanted.data_type())
        }
        (FixedSizeList(found, n), FixedSizeList(wanted, m)) => {
            n == m && stands_for(found.data_type(), wanted.data_type())
        }
        (Map(found, _), Map(wanted, _)) => {
            stands_for(found.data_type(), wanted.data_type())
        }
        (Struct(found), Struct(wanted)) => {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(found, wanted)| {
                    stands_for(found.data_type(), wanted.data_type())
                })
        }
        _ => found.equals_datatype(wanted),
    }
}

/// Are columns of this schema laid out as that one says?
pub(crate) fn laid_out_as(schema: &SchemaRef, other: &SchemaRef) -> bool {
    let (fields, others) = (schema.fields(), other.fields());
    Arc::ptr_eq(schema, other)
        || (fields.len() == others.len()
            && fields.iter().zip(others).all(|(field, other)| {
                field.data_type().equals_datatype(other.data_type())
            }))
}

/// As [`same_types`], of a whole batch, with the columns' names, and in any
/// layout that the library takes.
pub(crate) fn fits_schema(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<()> {
    let (n, wanted) = (batch.num_columns(), schema.fields().len());
    if n != wanted {
        return Err(Error::new(
            ErrorKind::Schema,
            format!("batch: {n} columns, the shuffle has {wanted}"),
        ));
    }
    for (column, field) in batch.columns().iter().zip(schema.fields()) {
        if !stands_for(column.data_type(), field.data_type()) {
            return Err(Error::new(
                ErrorKind::Schema,
                format!(
                    "batch: column {} is {}, the shuffle has {}",
                    field.name(),
                    column.data_type(),
                    field.data_type()
                ),
            ));
        }
    }
    Ok(())
}

/// Which columns hold values that Rust takes for valid without looking, such as
/// texts, and that a program in C may have pushed otherwise.
pub(crate) struct Checks(Box<[bool]>);

impl Checks {
    pub(crate) fn new(schema: &Schema, trusted: bool) -> Self {
        let plain = |t: &DataType| {
            t.is_primitive()
                || matches!(
                    t,
                    DataType::Boolean
                        | DataType::Binary
                        | DataType::FixedSizeBinary(_)
                )
        };
        let fields = schema.fields().iter();
        Self(fields.map(|f| !trusted && !plain(f.data_type())).collect())
    }
}

/// An array of the library, which is given back unless it is passed on.
pub(crate) struct Received(sys::ArrowArray);

impl Received {
    /// # Safety
    /// `array` is one that the library has handed out, and nobody else's.
    pub(crate) unsafe fn new(array: sys::ArrowArray) -> Self {
        Self(array)
    }

    /// A copy in ordinary memory; the ring space goes back.
    pub(crate) fn detach(&mut self) -> Result<()> {
        // SAFETY: it was not released, and nobody else has it.
        match unsafe { sys::weir_batch_detach(&mut self.0) } {
            sys::WEIR_OK => Ok(()),
            code => Err(Error::of(code)),
        }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released, and nobody else has it.
            unsafe { release(&mut self.0) };
        }
    }
}

/// What the release of a batch that points into a ring lets go of, in this
/// order.
struct Held {
    _array: Received,
    _node: Option<Arc<NodeInner>>,
}

unsafe extern "C" fn release_held(array: *mut sys::ArrowArray) {
    // SAFETY: private_data is the Box that import() has made; a consumer calls
    // release once.
    unsafe {
        let held = Box::from_raw((*array).private_data as *mut Held);
        (*array).release = None;
        (*array).private_data = ptr::null_mut();
        drop(held);
    }
}

/// A batch of the library as a RecordBatch over the same memory, which holds
/// the node, unless the memory is the batch's own.
///
/// # Errors
/// `QueryData`: texts that are not UTF-8, and the like; names the column.
pub(crate) fn import(
    array: Received,
    node: Option<Arc<NodeInner>>,
    schema: &SchemaRef,
    checks: &Checks,
) -> Result<RecordBatch> {
    let rows = array.0.length as usize;
    let mut outer = array.0;
    let held = Box::new(Held { _array: array, _node: node });
    outer.release = Some(release_held);
    outer.private_data = Box::into_raw(held) as *mut _;
    let outer = &mut outer as *mut sys::ArrowArray as *mut FFI_ArrowArray;
    // SAFETY: the same struct; from_raw marks ours as moved away.
    let ffi = unsafe { FFI_ArrowArray::from_raw(outer) };
    let kind = DataType::Struct(schema.fields().clone());
    // SAFETY: the library gives arrays of the shuffle's columns, whose lengths
    // and offsets it has checked (batch.h).
    let data = unsafe { from_ffi_and_data_type(ffi, kind) }.map_err(bad)?;
    let mut columns = Vec::with_capacity(data.child_data().len());
    for (i, (column, check)) in
        data.child_data().iter().zip(&checks.0).enumerate()
    {
        if *check {
            column.validate_full().map_err(|error| {
                let name = schema.field(i).name();
                Error::new(
                    ErrorKind::QueryData,
                    format!("column {name}: {error}"),
                )
            })?;
        }
        columns.push(make_array(column.clone()));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(bad)
}

fn bad(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::QueryData, error.to_string())
}

/// A copy in ordinary memory of a batch that is to be kept, so that the ring
/// space of the original goes back when that is dropped.
///
/// # Errors
/// `Data`: nested columns whose copy is larger than their offsets can say.
pub fn detach(batch: &RecordBatch) -> Result<RecordBatch> {
    let wrong = |e: arrow_schema::ArrowError| {
        Error::new(ErrorKind::Data, e.to_string())
    };
    let mut columns = Vec::with_capacity(batch.num_columns());
    for column in batch.columns() {
        let data: ArrayData = column.to_data();
        let mut copy = MutableArrayData::new(vec![&data], false, data.len());
        copy.try_extend(0, 0, data.len()).map_err(wrong)?;
        columns.push(make_array(copy.freeze()));
    }
    let options =
        RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .map_err(wrong)
}
