// SPDX-License-Identifier: Apache-2.0
//! Rows in a file, under a temporary name until it is whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{
    FileGroup, FileOutputMode, FileSinkConfig,
};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionContext;
use url::Url;

use crate::fail::{Fail, Result as Outcome};

const ENDINGS: [&str; 4] = ["parquet", "csv", "json", "arrow"];

pub struct File {
    path: PathBuf,
    part: PathBuf,
}

/// Before anything runs: can it be written?
pub fn check(path: &Path) -> Outcome<()> {
    if !ENDINGS.contains(&ending(path)) {
        return Err(Fail::usage(format!(
            "--out {}: not .parquet, .csv, .json or .arrow",
            path.display()
        )));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() || path.is_dir() {
        let text = format!("--out {}: no file in a folder", path.display());
        return Err(Fail::input(text));
    }
    Ok(())
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|it| it.to_str()).unwrap_or_default()
}

impl File {
    pub fn new(path: &Path) -> Self {
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        Self { path: path.to_owned(), part: part.into() }
    }

    /// What writes the rows of a plan to it, with DataFusion's own writer: in
    /// this process, on top of a distributed plan (DataFusion Distributed
    /// leaves plans that write as they are, so COPY would read all files here).
    pub async fn sink(
        &self,
        session: &SessionContext,
        rows: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = session.state();
        let rows = match ending(&self.path) {
            "arrow" => without_dictionaries(rows)?,
            _ => rows,
        };
        let format = state
            .get_file_format_factory(ending(&self.path))
            .ok_or_else(|| exec_datafusion_err!("no such format"))?
            .create(&state, &HashMap::new())?;
        let part = std::path::absolute(&self.part)?;
        let url = Url::from_file_path(&part)
            .map_err(|()| exec_datafusion_err!("{}", part.display()))?;
        let to = ListingTableUrl::try_new(url, None)?;
        let config = FileSinkConfig {
            original_url: to.to_string(),
            object_store_url: to.object_store(),
            table_paths: vec![to],
            file_group: FileGroup::default(),
            output_schema: rows.schema(),
            table_partition_cols: Vec::new(),
            insert_op: InsertOp::Append,
            keep_partition_by_columns: false,
            file_extension: format.get_ext(),
            file_output_mode: FileOutputMode::SingleFile,
        };
        // Several partitions are in no order.
        let rows = match rows.output_partitioning().partition_count() {
            1 => rows,
            _ => Arc::new(CoalescePartitionsExec::new(rows)),
        };
        format.create_writer_physical_plan(rows, &state, config, None).await
    }

    /// It is whole.
    pub fn keep(self) -> Outcome<()> {
        std::fs::rename(&self.part, &self.path).map_err(|error| {
            Fail::failed(format!("{}: {error}", self.path.display()))
        })
    }
}

/// An Arrow file has one dictionary for each column, and batches have many:
/// their values are written instead.
fn without_dictionaries(
    rows: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = rows.schema();
    let is_plain = |field: &FieldRef| plain(field) == **field;
    if schema.fields().iter().all(is_plain) {
        return Ok(rows);
    }
    let columns = schema.fields().iter().enumerate().map(|(i, field)| {
        let column = Arc::new(Column::new(field.name(), i)) as _;
        let expr = match is_plain(field) {
            true => column,
            false => Arc::new(CastExpr::new(
                column,
                plain(field).data_type().clone(),
                None,
            )),
        };
        ProjectionExpr::new(expr, field.name().clone())
    });
    Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), rows)?))
}

/// A field of the same values without dictionaries, at any depth.
fn plain(field: &Field) -> Field {
    let inner = |field: &FieldRef| Arc::new(plain(field));
    let kind = match field.data_type() {
        DataType::Dictionary(_, values) => {
            let values = Field::new("values", values.as_ref().clone(), true);
            plain(&values).data_type().clone()
        }
        DataType::List(it) => DataType::List(inner(it)),
        DataType::LargeList(it) => DataType::LargeList(inner(it)),
        DataType::FixedSizeList(it, n) => {
            DataType::FixedSizeList(inner(it), *n)
        }
        DataType::Struct(all) => {
            DataType::Struct(all.iter().map(inner).collect())
        }
        DataType::Map(it, sorted) => DataType::Map(inner(it), *sorted),
        other => other.clone(),
    };
    field.clone().with_data_type(kind)
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.part);
    }
}

/// Rows that were written, as DataFusion's writers tell.
pub fn count(batch: &RecordBatch) -> usize {
    let counts = batch.columns().first();
    let counts = counts.and_then(|c| c.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.iter().flatten().sum::<u64>() as usize)
}
