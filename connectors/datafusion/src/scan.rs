// SPDX-License-Identifier: Apache-2.0
//! Which task reads what of files.
//!
//! DataFusion Distributed splits all files at any byte, and gives tasks
//! unequal numbers of pieces when a table has fewer bytes than there are
//! partitions. Here files that cannot be split go whole, and each task has as
//! many partitions as the others, if need be of nothing.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedConfig,
    DistributedLeafExec, ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
};

use crate::carried;

fn files(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref()
}

/// A table of no bytes takes a task, too.
pub(crate) fn desired(
    event: DesiredTaskCountEvent<'_>,
) -> Option<Result<DesiredTaskCountEventResponse>> {
    let groups = &files(event.plan)?.file_groups;
    let config = event.session_config;
    let each = DistributedConfig::from_config_options(config.options()).ok()?;
    let each = each.file_scan_config_bytes_per_partition.max(1);
    let bytes = groups.iter().flat_map(FileGroup::iter);
    let bytes = bytes.map(|file| file.effective_size() as usize).sum::<usize>();
    let partitions = bytes.div_ceil(each);
    let tasks = partitions.div_ceil(config.target_partitions()).max(1);
    Some(Ok(DesiredTaskCountEventResponse::desired(tasks)))
}

/// A scan for each task.
pub(crate) fn scale_up(
    event: ScaleUpLeafNodeEvent<'_>,
) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let scan = files(event.plan)?;
    if scan.output_partitioning.is_some() {
        return None; // which row is where has been promised
    }
    let n_tasks = event.task_count.max(1);
    let partitions = event.plan.output_partitioning().partition_count();
    let n = partitions * n_tasks;
    let groups = match pieces(scan, n) {
        Ok(pieces) => pieces.unwrap_or_else(|| shares(scan, n)),
        Err(error) => return Some(Err(error)),
    };
    let each = groups.len().div_ceil(n_tasks).max(1);
    let mut tasks = vec![Vec::with_capacity(each); n_tasks];
    for (i, group) in groups.into_iter().enumerate() {
        tasks[i % n_tasks].push(group);
    }
    let scans = tasks.into_iter().map(|mut groups| {
        groups.resize(each, FileGroup::new(Vec::new()));
        carried::scan(of_groups(scan, groups))
    });
    let leaf = scans.collect::<Result<Vec<_>>>().and_then(|scans| {
        DistributedLeafExec::try_new(event.plan.clone(), scans)
    });
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}

/// Pieces of files; None: they cannot be split.
fn pieces(scan: &FileScanConfig, n: usize) -> Result<Option<Vec<FileGroup>>> {
    if carried::is_array(scan)? {
        return Ok(None);
    }
    let order = scan.output_ordering.first().cloned();
    let source = scan.file_source();
    let pieces = source.repartitioned(n, 0, order, scan)?;
    Ok(pieces.map(|scan| scan.file_groups))
}

/// Has files that are one JSON array each read whole, which DataFusion splits
/// like all others, and then refuses to read. [`distribute`](crate::distribute)
/// adds it; sessions without workers need it, too.
#[derive(Debug, Default)]
pub struct WholeArrays;

impl PhysicalOptimizerRule for WholeArrays {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let whole = plan.transform_down(|plan| match whole(&plan)? {
            Some(scan) => Ok(Transformed::yes(scan)),
            None => Ok(Transformed::no(plan)),
        });
        Ok(whole?.data)
    }

    fn name(&self) -> &str {
        "whole_arrays"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn of_groups(scan: &FileScanConfig, groups: Vec<FileGroup>) -> FileScanConfig {
    let mut scan = scan.clone();
    scan.file_groups = groups;
    scan
}

/// A scan of split arrays made one of whole ones; None: it is something else.
fn whole(
    plan: &Arc<dyn ExecutionPlan>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(scan) = files(plan) else { return Ok(None) };
    let mut files = scan.file_groups.iter().flat_map(FileGroup::iter);
    if files.all(|file| file.range.is_none()) || !carried::is_array(scan)? {
        return Ok(None);
    }
    Ok(Some(DataSourceExec::from_data_source(first_pieces(scan))))
}

/// The first piece of each file, made the whole of it, and no other. There are
/// as many partitions as before.
fn first_pieces(scan: &FileScanConfig) -> FileScanConfig {
    let mut seen = HashSet::new();
    let mut whole = |file: &PartitionedFile| {
        let file = PartitionedFile { range: None, ..file.clone() };
        seen.insert(file.object_meta.location.clone()).then_some(file)
    };
    let groups = scan.file_groups.iter().map(|group| {
        FileGroup::new(group.iter().filter_map(&mut whole).collect())
    });
    of_groups(scan, groups.collect())
}

/// At most so many groups of whole files, about equally long: the longest file
/// first, each to the group that has least. What is in order stays together.
fn shares(scan: &FileScanConfig, n: usize) -> Vec<FileGroup> {
    if !scan.output_ordering.is_empty() {
        return scan.file_groups.clone();
    }
    let files = scan.file_groups.iter().flat_map(FileGroup::iter).cloned();
    let mut files = files.collect::<Vec<_>>();
    files.sort_by_key(|file| std::cmp::Reverse(file.effective_size()));
    let mut groups = vec![(0, Vec::new()); n.min(files.len())];
    for file in files {
        let least = groups.iter_mut().min_by_key(|(bytes, _)| *bytes);
        let (bytes, group) = least.expect("there is a file for each");
        *bytes += file.effective_size().max(1);
        group.push(file);
    }
    groups.into_iter().map(|(_, files)| FileGroup::new(files)).collect()
}
