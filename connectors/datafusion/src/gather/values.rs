// SPDX-License-Identifier: Apache-2.0
//! Values of columns, and how rows of others are added to them.

use arrow::array::{
    Array, ArrayData, ArrayRef, BooleanBufferBuilder, ByteView, make_array,
};
use arrow::buffer::{Buffer, MutableBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType, FieldRef};
use arrow::error::ArrowError;
use arrow::util::bit_util::get_bit;

use super::{Column, Result};

pub(super) enum Values {
    None,
    Bits(BooleanBufferBuilder),
    Fixed(usize, MutableBuffer), // bytes of each
    Short(Offsets<i32>, MutableBuffer),
    Long(Offsets<i64>, MutableBuffer),
    Views(Vec<u128>, Vec<u8>),
    ShortList(Offsets<i32>, Box<Column>),
    LongList(Offsets<i64>, Box<Column>),
    Lists(usize, Box<Column>), // values of each
    Struct(Vec<Column>),
    Kinds(Kinds),
    Taken(Vec<ArrayRef>),
}

/// Keys of a dictionary, behind arrays of those before it.
pub(super) struct Kinds {
    pub(super) parts: Vec<ArrayRef>,
    pub(super) parts_bytes: usize,
    keys: Box<Column>,
    of: Option<ArrayData>,
}

/// Ends of values, behind a zero.
pub(super) struct Offsets<O>(Vec<O>);

impl<O: ArrowNativeType> Offsets<O> {
    pub(super) fn new() -> Self {
        Self(vec![O::usize_as(0)])
    }

    fn end(&self) -> usize {
        self.0.last().map_or(0, |end| end.as_usize())
    }

    /// Those of rows of these offsets, behind the last one. Returns the end.
    pub(super) fn append(
        &mut self,
        offsets: &[O],
        rows: &[u32],
    ) -> Result<usize> {
        let mut end = self.end();
        self.0.reserve(rows.len());
        for &row in rows {
            let (from, to) = range(offsets, row);
            end += to - from;
            // Too long for its type: an `as` of it would be cut.
            let offset = O::from_usize(end);
            self.0.push(offset.ok_or(ArrowError::OffsetOverflowError(end))?);
        }
        Ok(end)
    }

    fn take(&mut self) -> Buffer {
        let next = Vec::with_capacity(self.0.len());
        let taken = std::mem::replace(&mut self.0, next);
        self.0.push(O::usize_as(0));
        Buffer::from_vec(taken)
    }
}

fn range<O: ArrowNativeType>(offsets: &[O], row: u32) -> (usize, usize) {
    let row = row as usize;
    (offsets[row].as_usize(), offsets[row + 1].as_usize())
}

/// Must columns of it be taken?
fn is_taken(of: &DataType) -> bool {
    match of {
        DataType::Union(..)
        | DataType::RunEndEncoded(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => true,
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::Map(of, _)
        | DataType::FixedSizeList(of, _) => is_taken(of.data_type()),
        DataType::Struct(of) => of.iter().any(|f| is_taken(f.data_type())),
        _ => false,
    }
}
impl Kinds {
    fn new(keys: &DataType) -> Self {
        let keys = Box::new(Column::new(keys));
        Self { parts: Vec::new(), parts_bytes: 0, keys, of: None }
    }

    pub(super) fn append(
        &mut self,
        column: &DataType,
        from: &ArrayData,
        rows: &[u32],
    ) -> Result<()> {
        let of = &from.child_data()[0];
        if !self.of.as_ref().is_some_and(|old| old.ptr_eq(of)) {
            self.finish(column)?;
            self.of = Some(of.clone());
        }
        // Its nulls and its only buffer are those of the keys.
        self.keys.append(from, rows)
    }

    /// The part of the present dictionary, if there is one.
    pub(super) fn finish(&mut self, column: &DataType) -> Result<()> {
        if self.keys.len == 0 {
            return Ok(());
        }
        self.parts_bytes = self.bytes();
        let Some(of) = self.of.take() else { return Ok(()) };
        let keys = self.keys.finish_data()?;
        let part = keys.into_builder().data_type(column.clone());
        let part = part.add_child_data(of);
        // SAFETY: its keys are those of arrays with that dictionary.
        self.parts.push(make_array(unsafe { part.build_unchecked() }));
        Ok(())
    }

    /// With as many values of dictionaries as rows may need.
    fn bytes(&self) -> usize {
        let needs = |of: &ArrayData| {
            let all = of.get_slice_memory_size().unwrap_or(0);
            all / of.len().max(1) * self.keys.len.min(of.len())
        };
        let values = self.of.as_ref().map_or(0, needs);
        self.parts_bytes + self.keys.bytes() + values
    }
}

impl Values {
    pub(super) fn new(of: &DataType) -> Self {
        if is_taken(of) {
            return Self::Taken(Vec::new());
        }
        let column = |of: &FieldRef| Box::new(Column::new(of.data_type()));
        let bytes = || MutableBuffer::new(0);
        match of {
            DataType::Null => Self::None,
            DataType::Boolean => Self::Bits(BooleanBufferBuilder::new(0)),
            DataType::FixedSizeBinary(n) => Self::Fixed(*n as usize, bytes()),
            DataType::Utf8 | DataType::Binary => {
                Self::Short(Offsets::new(), bytes())
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                Self::Long(Offsets::new(), bytes())
            }
            DataType::Utf8View | DataType::BinaryView => {
                Self::Views(Vec::new(), Vec::new())
            }
            DataType::List(of) | DataType::Map(of, _) => {
                Self::ShortList(Offsets::new(), column(of))
            }
            DataType::LargeList(of) => {
                Self::LongList(Offsets::new(), column(of))
            }
            DataType::FixedSizeList(of, n) => {
                Self::Lists(*n as usize, column(of))
            }
            DataType::Dictionary(keys, _) => Self::Kinds(Kinds::new(keys)),
            DataType::Struct(of) => {
                let of = of.iter().map(|f| Column::new(f.data_type()));
                Self::Struct(of.collect())
            }
            _ => match of.primitive_width() {
                Some(width) => Self::Fixed(width, bytes()),
                None => Self::Taken(Vec::new()), // a type of a later Arrow
            },
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bits(bits) => bits.len() / 8,
            Self::Fixed(_, values) => values.len(),
            Self::Short(offsets, bytes) => {
                size_of_val(offsets.0.as_slice()) + bytes.len()
            }
            Self::Long(offsets, bytes) => {
                size_of_val(offsets.0.as_slice()) + bytes.len()
            }
            Self::Views(views, bytes) => {
                size_of_val(views.as_slice()) + bytes.len()
            }
            Self::ShortList(offsets, of) => {
                size_of_val(offsets.0.as_slice()) + of.bytes()
            }
            Self::LongList(offsets, of) => {
                size_of_val(offsets.0.as_slice()) + of.bytes()
            }
            Self::Lists(_, of) => of.bytes(),
            Self::Struct(of) => of.iter().map(Column::bytes).sum(),
            Self::Kinds(kinds) => kinds.bytes(),
            Self::Taken(parts) => {
                parts.iter().map(|p| p.get_array_memory_size()).sum()
            }
        }
    }

    /// Rows of an array of the type that it was made for.
    pub(super) fn append(
        &mut self,
        from: &ArrayData,
        rows: &[u32],
    ) -> Result<()> {
        match self {
            Self::None => {}
            Self::Bits(bits) => {
                let (from, at) = (&from.buffers()[0], from.offset());
                let bit = |i: u32| get_bit(from, at + i as usize);
                rows.iter().for_each(|&i| bits.append(bit(i)));
            }
            Self::Fixed(width, values) => {
                let from = &from.buffers()[0][from.offset() * *width..];
                append_fixed(values, *width, from, rows);
            }
            Self::Short(offsets, bytes) => {
                append_bytes(offsets, bytes, from, rows)?;
            }
            Self::Long(offsets, bytes) => {
                append_bytes(offsets, bytes, from, rows)?;
            }
            Self::Views(views, bytes) => {
                append_views(views, bytes, from, rows)?;
            }
            Self::ShortList(offsets, column) => {
                append_lists(offsets, column, from, rows)?;
            }
            Self::LongList(offsets, column) => {
                append_lists(offsets, column, from, rows)?;
            }
            Self::Lists(n, column) => {
                let (n, at) = (*n, from.offset());
                let all = rows.iter().flat_map(|&row| {
                    let begin = (at + row as usize) * n;
                    begin as u32..(begin + n) as u32
                });
                let all = all.collect::<Vec<_>>();
                column.append(&from.child_data()[0], &all)?;
            }
            Self::Struct(columns) => {
                let (at, len) = (from.offset(), from.len());
                let from = from.child_data().iter();
                for (to, from) in columns.iter_mut().zip(from) {
                    if (at, len) == (0, from.len()) {
                        to.append(from, rows)?;
                    } else {
                        to.append(&from.slice(at, len), rows)?;
                    }
                }
            }
            Self::Kinds(_) => unreachable!("see Column::append"),
            Self::Taken(_) => unreachable!("see Gather::append"),
        }
        Ok(())
    }

    /// Buffers and children of an array. What comes next will be about as long,
    /// so there is room for somewhat more.
    pub(super) fn finish(&mut self) -> Result<(Vec<Buffer>, Vec<ArrayData>)> {
        let taken = |bytes: &mut MutableBuffer| {
            let next = MutableBuffer::with_capacity(bytes.len() / 8 * 9);
            Buffer::from(std::mem::replace(bytes, next))
        };
        Ok(match self {
            Self::None => (vec![], vec![]),
            Self::Bits(bits) => (vec![bits.finish().into_inner()], vec![]),
            Self::Fixed(_, values) => (vec![taken(values)], vec![]),
            Self::Short(offsets, bytes) => {
                (vec![offsets.take(), taken(bytes)], vec![])
            }
            Self::Long(offsets, bytes) => {
                (vec![offsets.take(), taken(bytes)], vec![])
            }
            Self::Views(views, bytes) => {
                let mut buffers = vec![Buffer::from_vec(again(views))];
                if !bytes.is_empty() {
                    buffers.push(Buffer::from_vec(again(bytes)));
                }
                (buffers, vec![])
            }
            Self::ShortList(offsets, of) => {
                (vec![offsets.take()], vec![of.finish_data()?])
            }
            Self::LongList(offsets, of) => {
                (vec![offsets.take()], vec![of.finish_data()?])
            }
            Self::Lists(_, of) => (vec![], vec![of.finish_data()?]),
            Self::Struct(of) => {
                let of = of.iter_mut().map(Column::finish_data);
                (vec![], of.collect::<Result<_>>()?)
            }
            Self::Kinds(_) | Self::Taken(_) => {
                unreachable!("see Column::finish")
            }
        })
    }
}

/// What is there, with room in its place for as much.
fn again<T>(of: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(of.len() / 8 * 9);
    std::mem::replace(of, next)
}

fn append_fixed(
    to: &mut MutableBuffer,
    width: usize,
    from: &[u8],
    rows: &[u32],
) {
    let begin = to.len();
    to.resize(begin + rows.len() * width, 0);
    let to = &mut to.as_slice_mut()[begin..];
    match width {
        1 => copy_fixed::<1>(to, from, rows),
        2 => copy_fixed::<2>(to, from, rows),
        4 => copy_fixed::<4>(to, from, rows),
        8 => copy_fixed::<8>(to, from, rows),
        16 => copy_fixed::<16>(to, from, rows),
        32 => copy_fixed::<32>(to, from, rows),
        0 => {}
        _ => {
            for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
                let at = row as usize * width;
                to.copy_from_slice(&from[at..at + width]);
            }
        }
    }
}

fn copy_fixed<const W: usize>(to: &mut [u8], from: &[u8], rows: &[u32]) {
    let (to, from) = (to.as_chunks_mut::<W>().0, from.as_chunks::<W>().0);
    for (to, &row) in to.iter_mut().zip(rows) {
        *to = from[row as usize];
    }
}

fn append_bytes<O: ArrowNativeType>(
    offsets: &mut Offsets<O>,
    bytes: &mut MutableBuffer,
    from: &ArrayData,
    rows: &[u32],
) -> Result<()> {
    let from_offsets = offsets_of::<O>(from);
    let from = from.buffers()[1].as_slice();
    let end = offsets.append(&from_offsets, rows)?;
    bytes.reserve(end - bytes.len());
    for &row in rows {
        let (begin, end) = range(&from_offsets, row);
        bytes.extend_from_slice(&from[begin..end]);
    }
    Ok(())
}

/// Of an array with some, whose first one is that of its first row.
fn offsets_of<O: ArrowNativeType>(data: &ArrayData) -> ScalarBuffer<O> {
    let buffer = data.buffers()[0].clone();
    if buffer.is_empty() {
        return vec![O::usize_as(0)].into(); // an empty array may have none
    }
    ScalarBuffer::new(buffer, data.offset(), data.len() + 1)
}

fn append_lists<O: ArrowNativeType>(
    offsets: &mut Offsets<O>,
    column: &mut Column,
    from: &ArrayData,
    rows: &[u32],
) -> Result<()> {
    let from_offsets = offsets_of::<O>(from);
    let values = &from.child_data()[0];
    if u32::try_from(values.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(values.len()));
    }
    let begin = offsets.end();
    let end = offsets.append(&from_offsets, rows)?;
    let mut all = Vec::with_capacity(end - begin);
    for &row in rows {
        let (begin, end) = range(&from_offsets, row);
        all.extend(begin as u32..end as u32);
    }
    column.append(values, &all)
}

/// Longest text that is within its view.
const INLINE: u32 = 12;

/// Their texts go behind each other, into one buffer.
fn append_views(
    views: &mut Vec<u128>,
    bytes: &mut Vec<u8>,
    from: &ArrayData,
    rows: &[u32],
) -> Result<()> {
    let (of, buffers) = (from.buffer::<u128>(0), &from.buffers()[1..]);
    let nulls = from.nulls().filter(|nulls| nulls.null_count() > 0);
    views.reserve(rows.len());
    for &row in rows {
        let row = row as usize;
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            views.push(0); // whatever its view is
            continue;
        }
        let view = of[row];
        if (view as u32) <= INLINE {
            views.push(view);
            continue;
        }
        let view = ByteView::from(view);
        let at = view.offset as usize;
        let text = &buffers[view.buffer_index as usize];
        let text = &text[at..at + view.length as usize];
        let offset = bytes.len();
        if offset + text.len() > i32::MAX as usize {
            return Err(ArrowError::OffsetOverflowError(offset));
        }
        bytes.extend_from_slice(text);
        let view = view.with_buffer_index(0).with_offset(offset as u32);
        views.push(view.as_u128());
    }
    Ok(())
}
