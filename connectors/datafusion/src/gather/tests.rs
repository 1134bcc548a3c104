// SPDX-License-Identifier: Apache-2.0
//! What is gathered is what Arrow's own `take` and `concat` make of it.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::values::Offsets;
use super::*;

/// Null for one of five, if they may be.
fn nulls(n: usize, some: bool) -> Option<NullBuffer> {
    some.then(|| (0..n).map(|i| i % 5 != 3).collect::<Vec<_>>().into())
}

fn texts(n: usize) -> Vec<Option<String>> {
    let text = |i: usize| match i % 4 {
        0 => None,
        1 => Some(String::new()),
        2 => Some(format!("{i}")),
        _ => Some(format!("{i}, a text longer than a view has room for")),
    };
    (0..n).map(text).collect()
}

fn list<O: OffsetSizeTrait>(of: ArrayRef, some: bool) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(of.data_type().clone(), true));
    let lengths = (0..of.len()).map(|i| i % 3).scan(of.len(), |left, n| {
        let n = n.min(*left);
        *left -= n;
        Some(n)
    });
    let lengths = lengths.collect::<Vec<_>>();
    let n = lengths.len();
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    Arc::new(GenericListArray::new(field, offsets, of, nulls(n, some)))
}

fn fixed<T: ArrowPrimitiveType>(n: usize, some: bool) -> PrimitiveArray<T>
where
    T::Native: TryFrom<u8>,
{
    let value = |i| T::Native::try_from((i % 100) as u8).ok().unwrap();
    let values = (0..n).map(value).collect::<Vec<_>>();
    PrimitiveArray::new(values.into(), nulls(n, some))
}

/// Of all types, so many rows.
fn columns(n: usize, some: bool) -> Vec<ArrayRef> {
    let texts = texts(n);
    let texts = || texts.iter().map(Option::as_deref);
    let bits = BooleanBuffer::from_iter((0..n).map(|i| i % 3 == 0));
    let ints = Arc::new(fixed::<Int32Type>(n, some)) as ArrayRef;
    let views = Arc::new(StringViewArray::from_iter(texts())) as ArrayRef;
    let long = Arc::new(LargeStringArray::from_iter(texts())) as ArrayRef;
    let bytes = texts().map(|text| text.map(str::as_bytes));
    let three = (0..3 * n).map(|i| i as u8).collect::<Vec<_>>();
    let fields = Fields::from(vec![
        Field::new("i", DataType::Int32, true),
        Field::new("v", DataType::Utf8View, true),
    ]);
    let parts = vec![ints.clone(), views.clone()];
    let both = StructArray::new(fields, parts, nulls(n, some));
    let both = Arc::new(both) as ArrayRef;
    let four = Arc::new(fixed::<Int64Type>(4 * n, some)) as ArrayRef;
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let kinds = DictionaryArray::<Int32Type>::from_iter(texts());
    let keys = StringArray::from_iter_values((0..n).map(|i| i.to_string()));
    let entry = Fields::from(vec![
        Field::new("keys", DataType::Utf8, false),
        Field::new("values", DataType::Int32, true),
    ]);
    let entries = StructArray::new(
        entry.clone(),
        vec![Arc::new(keys), ints.clone()],
        None,
    );
    let entry = Field::new("entries", DataType::Struct(entry), false);
    let ends = OffsetBuffer::from_lengths(vec![1; n]);
    let map =
        MapArray::new(Arc::new(entry), ends, entries, nulls(n, some), false);
    let ids = (0..n).map(|i| (i % 2) as i8).collect::<ScalarBuffer<i8>>();
    let union = [
        (0, Arc::new(Field::new("i", DataType::Int32, true))),
        (1, Arc::new(Field::new("v", DataType::Utf8View, true))),
    ];
    let union = UnionArray::try_new(
        union.into_iter().collect(),
        ids,
        None,
        vec![ints.clone(), views.clone()],
    );
    let decimal = fixed::<Decimal128Type>(n, some);
    vec![
        ints.clone(),
        Arc::new(fixed::<UInt8Type>(n, some)),
        Arc::new(fixed::<Int16Type>(n, some)),
        Arc::new(fixed::<Float64Type>(n, some)),
        Arc::new(fixed::<TimestampNanosecondType>(n, some)),
        Arc::new(decimal.with_precision_and_scale(20, 3).unwrap()),
        Arc::new(FixedSizeBinaryArray::new(3, three.into(), nulls(n, some))),
        Arc::new(BooleanArray::new(bits, nulls(n, some))),
        Arc::new(NullArray::new(n)),
        Arc::new(StringArray::from_iter(texts())),
        Arc::new(BinaryArray::from_iter(bytes.clone())),
        Arc::new(BinaryViewArray::from_iter(bytes)),
        long.clone(),
        views.clone(),
        Arc::new(FixedSizeListArray::new(item, 4, four, nulls(n, some))),
        list::<i32>(views, some),
        list::<i64>(long, some),
        list::<i32>(list::<i32>(ints, some), some),
        list::<i64>(both.clone(), some),
        both,
        Arc::new(map),
        Arc::new(kinds.clone()),
        list::<i32>(Arc::new(kinds), some),
        Arc::new(union.unwrap()),
    ]
}

fn batch(n: usize, some: bool) -> RecordBatch {
    let columns = columns(n, some).into_iter().enumerate();
    let columns = columns.map(|(i, column)| (format!("c{i}"), column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Gather rows of batches; compare with what Arrow does.
fn check(gather: &mut Gather, batches: &[(RecordBatch, Vec<u32>)]) {
    let mut parts = Vec::new();
    for (batch, rows) in batches {
        let from = Source::new(&gather.schema.clone(), batch).unwrap();
        gather.append(&from, rows).unwrap();
        let rows = UInt32Array::from(rows.clone());
        parts.push(take_record_batch(batch, &rows).unwrap());
    }
    let n = parts.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(gather.rows(), n);
    let got = gather.finish().unwrap();
    assert_eq!(gather.rows(), 0);
    let expected = concat_batches(&gather.schema, &parts).unwrap();
    assert_eq!(got.num_rows(), n);
    for (i, column) in got.columns().iter().enumerate() {
        assert_eq!(column, expected.column(i), "column {i}");
        column.to_data().validate_full().unwrap();
    }
}

#[test]
fn rows_of_all_types_are_gathered() {
    let batches = [batch(60, true), batch(41, false), batch(60, true)];
    let mut gather = Gather::new(&batches[0].schema());
    for _ in 0..2 {
        let rows = [
            vec![0, 3, 4, 59, 59, 17],
            vec![40],
            (0..60).rev().collect::<Vec<_>>(),
        ];
        let batches = batches.iter().cloned().zip(rows).collect::<Vec<_>>();
        check(&mut gather, &batches);
        check(&mut gather, &batches[1..2]);
        check(&mut gather, &[]);
    }
}

/// Arrays that begin in the middle of their buffers.
#[test]
fn rows_of_slices_are_gathered() {
    let whole = batch(60, true);
    let mut gather = Gather::new(&whole.schema());
    let slices = [(7, 30), (1, 1), (59, 1), (8, 0), (13, 47)];
    let slices = slices.map(|(at, n)| {
        let all = (0..n as u32).chain((0..n as u32).step_by(3));
        (whole.slice(at, n), all.collect())
    });
    check(&mut gather, &slices);
}

#[test]
fn batches_without_columns_have_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(9));
    let schema = Arc::new(Schema::empty());
    let nine = RecordBatch::try_new_with_options(schema, vec![], &options);
    let nine = nine.unwrap();
    let mut gather = Gather::new(&nine.schema());
    let from = Source::new(&nine.schema(), &nine).unwrap();
    gather.append(&from, &[1, 2, 8]).unwrap();
    assert_eq!(gather.finish().unwrap().num_rows(), 3);
}

#[test]
fn other_types_are_refused() {
    let batch = batch(3, true);
    let other = Schema::new(vec![Field::new("c0", DataType::Utf8, true)]);
    assert!(Source::new(&Arc::new(other), &batch).is_err());
}

#[test]
fn what_is_too_long_for_its_type_is_refused() {
    let mut offsets = Offsets::<i32>::new();
    let long = [0, i32::MAX];
    assert_eq!(offsets.append(&long, &[0]).unwrap(), i32::MAX as usize);
    assert!(offsets.append(&[0, 1], &[0]).is_err());
}
