// SPDX-License-Identifier: Apache-2.0
//! Rows in a file, under a temporary name until it is whole.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::datasource::file_format::format_as_file_type;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::prelude::{DataFrame, SessionContext};

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

    /// What writes rows to it, with DataFusion's own writer.
    pub fn copy(
        &self,
        session: &SessionContext,
        frame: DataFrame,
    ) -> Result<DataFrame, DataFusionError> {
        let state = session.state();
        let format = state
            .get_file_format_factory(ending(&self.path))
            .ok_or_else(|| exec_datafusion_err!("no such format"))?;
        let part = std::path::absolute(&self.part)?;
        let url = url::Url::from_file_path(&part)
            .map_err(|()| exec_datafusion_err!("{}", part.display()))?;
        let single = ("single_file_output".into(), "true".into());
        let plan = LogicalPlanBuilder::copy_to(
            frame.logical_plan().clone(),
            url.to_string(),
            format_as_file_type(format),
            HashMap::from([single]),
            Vec::new(),
        )?;
        Ok(DataFrame::new(state, plan.build()?))
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
