// SPDX-License-Identifier: Apache-2.0
//! Batches without what none of their rows need: operators pass on texts as
//! views into buffers, and dictionaries, of which few rows are left.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use arrow::datatypes::ByteViewType;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow_select::dictionary::garbage_collect_any_dictionary;

pub(crate) fn compact(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.columns().iter().any(wastes) {
        return Ok(batch);
    }
    let (schema, mut columns, rows) = batch.into_parts();
    for column in &mut columns {
        if wastes(column) {
            *column = without_waste(column)?;
        }
    }
    let options = arrow::array::RecordBatchOptions::new();
    let options = options.with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

fn wastes(column: &ArrayRef) -> bool {
    if let Some(array) = column.as_string_view_opt() {
        view_wastes(array)
    } else if let Some(array) = column.as_binary_view_opt() {
        view_wastes(array)
    } else if let Some(array) = column.as_any_dictionary_opt() {
        array.values().len() > array.len()
    } else {
        false
    }
}

/// Is more than a quarter of its buffers not looked at?
fn view_wastes<T: ByteViewType>(array: &GenericByteViewArray<T>) -> bool {
    let buffers = array.data_buffers().iter();
    let has = buffers.map(|buffer| buffer.len()).sum::<usize>();
    has > 0 && array.total_buffer_bytes_used() < has / 4 * 3
}

fn without_waste(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(array) = column.as_string_view_opt() {
        Ok(Arc::new(array.gc()))
    } else if let Some(array) = column.as_binary_view_opt() {
        Ok(Arc::new(array.gc()))
    } else if let Some(array) = column.as_any_dictionary_opt() {
        garbage_collect_any_dictionary(array)
    } else {
        Ok(column.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BinaryViewArray, DictionaryArray, Int64Array, RecordBatchOptions,
        StringViewArray,
    };
    use arrow::datatypes::{Field, Int32Type, Schema};

    fn texts(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("a text longer than a view, {i}")).collect()
    }

    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        let fields = columns.iter().enumerate().map(|(i, column)| {
            Field::new(format!("c{i}"), column.data_type().clone(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, columns).unwrap()
    }

    fn buffers(batch: &RecordBatch, column: usize) -> usize {
        let array = batch.column(column).to_data();
        array.buffers().iter().skip(1).map(|buffer| buffer.len()).sum()
    }

    #[test]
    fn few_rows_take_few_bytes() {
        let texts = texts(1000);
        let views = StringViewArray::from_iter_values(&texts);
        let bytes = BinaryViewArray::from_iter_values(
            texts.iter().map(|text| text.as_bytes()),
        );
        let kinds = DictionaryArray::<Int32Type>::from_iter(
            texts.iter().map(String::as_str),
        );
        let numbers = Int64Array::from_iter_values(0..1000);
        let all = batch(vec![
            Arc::new(views),
            Arc::new(bytes),
            Arc::new(kinds),
            Arc::new(numbers),
        ]);
        let few = all.slice(500, 10);
        let compacted = compact(few.clone()).unwrap();
        assert_eq!(compacted, few);
        for column in [0, 1] {
            assert!(buffers(&few, column) > 20_000);
            assert!(buffers(&compacted, column) < 1_000);
        }
        let kinds = compacted.column(2).as_any_dictionary();
        assert_eq!(kinds.values().len(), 10);
    }

    #[test]
    fn what_wastes_nothing_is_left_alone() {
        let all = batch(vec![Arc::new(StringViewArray::from_iter_values(
            texts(1000),
        ))]);
        let same = compact(all.clone()).unwrap();
        assert!(Arc::ptr_eq(all.column(0), same.column(0)));
    }

    /// As Parquet's dictionaries give them: copies would be many.
    #[test]
    fn shared_texts_stay_shared() {
        let one = StringViewArray::from_iter_values(texts(1));
        let indices = arrow::array::UInt32Array::from(vec![0; 1000]);
        let many = arrow_select::take::take(&one, &indices, None).unwrap();
        let many = batch(vec![many]);
        let compacted = compact(many.clone()).unwrap();
        assert_eq!(compacted, many);
        assert!(buffers(&compacted, 0) < 100);
    }

    #[test]
    fn rows_without_columns_stay_as_many() {
        let options = RecordBatchOptions::new().with_row_count(Some(7));
        let schema = Arc::new(Schema::empty());
        let empty = RecordBatch::try_new_with_options(schema, vec![], &options);
        assert_eq!(compact(empty.unwrap()).unwrap().num_rows(), 7);
    }
}
