// SPDX-License-Identifier: Apache-2.0
//! Rows in a file, under a temporary name until it is whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{
    FileGroup, FileOutputMode, FileSinkConfig,
};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
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
