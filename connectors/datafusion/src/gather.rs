// SPDX-License-Identifier: Apache-2.0
//! Rows of many batches, gathered into one: each column appends the rows that
//! it is told to what it has, so that a row is copied once between the batch
//! that it comes in and the one that it goes in.
//!
//! Of dictionaries the keys are gathered; where batches have different ones,
//! Arrow puts them together at the end. Columns without a layout that can be
//! appended to (unions, runs and list views, and what contains them) are taken
//! batch by batch, and copied once more.

use arrow::array::{
    Array, ArrayData, ArrayRef, NullBufferBuilder, RecordBatchOptions,
    UInt32Array, make_array, new_empty_array,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow_select::concat::concat;
use arrow_select::take::take;

mod values;

use values::Values;

type Result<T> = std::result::Result<T, ArrowError>;

/// A batch to gather from.
pub(crate) struct Source(Vec<(ArrayRef, ArrayData)>);

/// Rows to come.
pub(crate) struct Gather {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    told: usize, // bytes, to the memory pool
}

struct Column {
    of: DataType,
    len: usize,
    nulls: NullBufferBuilder,
    values: Values,
}

impl Source {
    /// Of a schema, of whose types its columns have to be.
    pub(crate) fn new(schema: &SchemaRef, batch: &RecordBatch) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| field.data_type());
        let columns = batch.columns().iter().zip(fields).map(|(array, of)| {
            if array.data_type().equals_datatype(of) {
                return Ok((array.clone(), array.to_data()));
            }
            let text = format!("a column of {}, not {of}", array.data_type());
            Err(ArrowError::SchemaError(text))
        });
        columns.collect::<Result<_>>().map(Self)
    }
}

impl Gather {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let fields = schema.fields().iter();
        Self {
            schema: schema.clone(),
            columns: fields.map(|f| Column::new(f.data_type())).collect(),
            rows: 0,
            told: 0,
        }
    }

    /// What was told of its bytes.
    pub(crate) fn told(&self) -> usize {
        self.told
    }

    /// Returns what was told before.
    pub(crate) fn tell(&mut self, bytes: usize) -> usize {
        std::mem::replace(&mut self.told, bytes)
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Of what is gathered, and of what it keeps.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// Add rows of a batch of its schema.
    pub(crate) fn append(
        &mut self,
        batch: &Source,
        rows: &[u32],
    ) -> Result<()> {
        for (to, (array, data)) in self.columns.iter_mut().zip(&batch.0) {
            if let Values::Taken(parts) = &mut to.values {
                let rows = UInt32Array::from(rows.to_vec());
                parts.push(take(array, &rows, None)?);
            } else {
                to.append(data, rows)?;
            }
        }
        self.rows += rows.len();
        Ok(())
    }

    /// What is there; it begins anew.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let columns = self.columns.iter_mut().map(Column::finish);
        let columns = columns.collect::<Result<_>>()?;
        let rows = std::mem::take(&mut self.rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &options,
        )
    }
}

impl Column {
    fn new(of: &DataType) -> Self {
        let values = Values::new(of);
        let nulls = NullBufferBuilder::new(0);
        Self { of: of.clone(), len: 0, nulls, values }
    }

    fn bytes(&self) -> usize {
        self.nulls.allocated_size() + self.values.bytes()
    }

    fn append(&mut self, from: &ArrayData, rows: &[u32]) -> Result<()> {
        self.len += rows.len();
        if let Values::Kinds(kinds) = &mut self.values {
            return kinds.append(&self.of, from, rows);
        }
        match from.nulls() {
            Some(nulls) => append_nulls(&mut self.nulls, nulls, rows),
            None => self.nulls.append_n_non_nulls(rows.len()),
        }
        self.values.append(from, rows)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let len = std::mem::take(&mut self.len);
        let parts = match &mut self.values {
            Values::Taken(parts) => Some(std::mem::take(parts)),
            Values::Kinds(kinds) => {
                kinds.finish(&self.of)?;
                kinds.parts_bytes = 0;
                Some(std::mem::take(&mut kinds.parts))
            }
            _ => None,
        };
        if let Some(parts) = parts {
            let parts = parts.iter().map(|part| part.as_ref());
            let parts = parts.collect::<Vec<_>>();
            return match parts.as_slice() {
                [] => Ok(new_empty_array(&self.of)),
                parts => concat(parts),
            };
        }
        let nulls = self.nulls.finish();
        let builder = ArrayData::builder(self.of.clone()).len(len);
        let builder = match &self.values {
            Values::None => builder,
            _ => builder.nulls(nulls),
        };
        let (buffers, children) = self.values.finish()?;
        let builder = builder.buffers(buffers).child_data(children);
        // SAFETY: rows of valid arrays of that type, with new offsets and views
        // that are within what was copied.
        Ok(make_array(unsafe { builder.build_unchecked() }))
    }

    fn finish_data(&mut self) -> Result<ArrayData> {
        Ok(self.finish()?.to_data())
    }
}

fn append_nulls(to: &mut NullBufferBuilder, from: &NullBuffer, rows: &[u32]) {
    if from.null_count() == 0 {
        return to.append_n_non_nulls(rows.len());
    }
    for &row in rows {
        to.append(from.is_valid(row as usize));
    }
}

#[cfg(test)]
mod tests;
