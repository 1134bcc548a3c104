// SPDX-License-Identifier: Apache-2.0
//! Batches with the columns of DataFusion Distributed's own benchmarks:
//! numbers, texts of up to 400 letters, a dictionary of such texts, lists of
//! them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array,
    Int64Array, ListBuilder, StringArray, StringBuilder,
    TimestampNanosecondArray, UInt8Array,
};
use arrow::datatypes::{
    DataType, Field, Int32Type, Schema, SchemaRef, TimeUnit,
};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;

/// Numbers of xorshift64*, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// One of ten is null.
    fn null(&mut self) -> bool {
        self.below(10) == 0
    }

    fn text(&mut self) -> Option<String> {
        const LETTERS: &[u8] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        if self.null() {
            return None;
        }
        let n = self.below(400);
        let letter = |_| LETTERS[self.below(62) as usize] as char;
        Some((0..n).map(letter).collect())
    }
}

pub fn schema() -> SchemaRef {
    let texts = Field::new_list_field(DataType::Utf8, true);
    let kind = DataType::Dictionary(
        Box::new(DataType::Int32),
        Box::new(DataType::Utf8),
    );
    let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("metric", DataType::Float64, false),
        Field::new("flag", DataType::Boolean, true),
        Field::new("label", DataType::Utf8, true),
        Field::new("category", kind, true),
        Field::new("raw", DataType::UInt8, false),
        Field::new("ts", time, false),
        Field::new("count", DataType::Int32, false),
        Field::new("tags", DataType::List(Arc::new(texts)), true),
    ]))
}

/// Rows, the same ones each time.
pub fn batch(n: usize) -> Result<RecordBatch> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let r = &mut random;
    let id = Int64Array::from_iter_values((0..n).map(|_| r.next() as i64));
    let metric =
        Float64Array::from_iter_values((0..n).map(|_| r.next() as f64));
    let flag = BooleanArray::from_iter(
        (0..n).map(|_| (!r.null()).then(|| r.below(2) == 0)),
    );
    let label = StringArray::from_iter((0..n).map(|_| r.text()));
    let texts = (0..n).map(|_| r.text()).collect::<Vec<_>>();
    let category = DictionaryArray::<Int32Type>::from_iter(
        texts.iter().map(Option::as_deref),
    );
    let raw = UInt8Array::from_iter_values((0..n).map(|_| r.next() as u8));
    let ts = TimestampNanosecondArray::from_iter_values(
        (0..n).map(|_| r.next() as i64),
    );
    let count = Int32Array::from_iter_values((0..n).map(|_| r.next() as i32));
    let mut tags = ListBuilder::new(StringBuilder::new());
    for _ in 0..n {
        for _ in 0..r.below(5) {
            tags.values().append_option(r.text());
        }
        let valid = !r.null();
        tags.append(valid);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(id),
        Arc::new(metric),
        Arc::new(flag),
        Arc::new(label),
        Arc::new(category),
        Arc::new(raw),
        Arc::new(ts),
        Arc::new(count),
        Arc::new(tags.finish()),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}
