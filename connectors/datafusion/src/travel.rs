// SPDX-License-Identifier: Apache-2.0
//! Does a plan arrive at workers as it is?
//!
//! Plans travel as messages of datafusion-proto, which leaves out some of what
//! some nodes have, and tells nobody: a window's FILTER, for example. So each
//! stage's plan goes there and back in this process before any worker gets it,
//! and is compared with itself: nodes, their schemas and partitions, what they
//! show of themselves, their expressions, and what they show to nobody.

use std::fmt::{self, Write};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr,
    WindowExpr,
};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::memory::LazyMemoryExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
};
use datafusion_distributed::{DistributedCodec, DistributedLeafExec};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter as decode,
    physical_plan_to_bytes_with_proto_converter as encode,
};
use datafusion_proto::physical_plan::DeduplicatingProtoConverter;

use crate::carried;

/// Why a plan would arrive as another one; None: it would not.
pub(crate) fn why_not(
    plan: &Arc<dyn ExecutionPlan>,
    context: &TaskContext,
) -> Option<String> {
    let outcome = of_one_task(plan).and_then(|plan| {
        let back = there_and_back(&plan, context)?;
        Ok(first_difference(&plan, &back))
    });
    outcome.unwrap_or_else(|error| {
        let text = error.strip_backtrace();
        // Behind this comes all of the plan.
        let text = text.split(". Plan: ").next().unwrap_or_default();
        Some(text.lines().next().unwrap_or_default().to_owned())
    })
}

/// Of scans, what the first task gets: those of others have other files.
fn of_one_task(
    plan: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.clone().transform_down(|plan| {
        let leaf = plan.downcast_ref::<DistributedLeafExec>();
        match leaf.and_then(|leaf| leaf.variants().first().cloned()) {
            Some(first) => Ok(Transformed::yes(first)),
            None => Ok(Transformed::no(plan)),
        }
    });
    Ok(plan?.data)
}

fn there_and_back(
    plan: &Arc<dyn ExecutionPlan>,
    context: &TaskContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let config = context.session_config();
    let codec = DistributedCodec::new_combined_with_user(config);
    let converter = DeduplicatingProtoConverter::default();
    let bytes = encode(plan.clone(), &codec, &converter)?;
    decode(&bytes, context, &codec, &converter)
}

fn first_difference(
    plan: &Arc<dyn ExecutionPlan>,
    back: &Arc<dyn ExecutionPlan>,
) -> Option<String> {
    let plan = carried::inside(plan);
    let partitions =
        |plan: &Arc<dyn ExecutionPlan>| plan.output_partitioning().to_string();
    let (children, others) = (plan.children(), back.children());
    let same = plan.name() == back.name()
        && plan.schema() == back.schema()
        && partitions(plan) == partitions(back)
        && children.len() == others.len()
        && shown(plan.as_ref()) == shown(back.as_ref())
        && same_expressions(plan, back);
    // Messages say which columns a series gives, and have no word for none.
    let none = plan.is::<LazyMemoryExec>() && plan.schema().fields().is_empty();
    if !same || none {
        return Some(format!("{} does not travel whole", plan.name()));
    }
    let mut pairs = children.into_iter().zip(others);
    pairs.find_map(|(plan, back)| first_difference(plan, back))
}

/// In all its words, as EXPLAIN VERBOSE has it.
struct Verbose<'a>(&'a dyn ExecutionPlan);

impl fmt::Display for Verbose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt_as(DisplayFormatType::Verbose, f)
    }
}

/// What a node says of itself, and what it only says if asked.
fn shown(plan: &dyn ExecutionPlan) -> String {
    let mut text = Verbose(plan).to_string();
    if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
        window.window_expr().iter().for_each(|it| text += &windowed(it));
        let _ = write!(text, "{:?}", window.partition_by_sort_keys().ok());
    } else if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        window.window_expr().iter().for_each(|it| text += &windowed(it));
        // Boundaries below forget that a column has one value only.
        let _ = write!(text, "{:?}", window.partition_by_sort_keys().ok());
    } else if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        for each in groups.aggr_expr() {
            text += &aggregated(each);
        }
        let _ = write!(text, "{:?}", groups.filter_expr());
        let _ = write!(text, "{:?}", groups.limit_options());
    } else if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let _ = write!(text, "{:?}", unnest.list_column_indices());
        let _ = write!(text, "{:?}", unnest.struct_column_indices());
        let _ = write!(text, "{:?}", unnest.options());
    } else if let Some(scan) = plan.downcast_ref::<DataSourceExec>()
        && let Some(scan) = scan.data_source().downcast_ref()
    {
        text = without_hint(&text) + &scanned(scan);
    }
    text
}

/// In which order row groups had better be read, for a sort that is above all
/// the same: it stays here, and changes no answer.
fn without_hint(text: &str) -> String {
    let hint = text.split_once(", sort_order_for_reorder=[");
    match hint.and_then(|(one, rest)| Some((one, rest.split_once(']')?.1))) {
        Some((one, other)) => format!("{one}{other}"),
        None => text.to_owned(),
    }
}

fn aggregated(each: &AggregateFunctionExpr) -> String {
    format!(
        "{}, {}, {}, {}, {:?}, {:?}, {:?};",
        each.fun().name(),
        each.is_distinct(),
        each.ignore_nulls(),
        each.is_reversed(),
        each.expressions(),
        each.order_bys(),
        each.field(),
    )
}

/// Of a window's function. Its filter, and what it does with nulls, only its
/// Debug tells.
fn windowed(window: &Arc<dyn WindowExpr>) -> String {
    let any = window.as_any();
    let plain =
        any.downcast_ref().map(PlainAggregateWindowExpr::get_aggregate_expr);
    let sliding =
        any.downcast_ref().map(SlidingAggregateWindowExpr::get_aggregate_expr);
    let own =
        any.downcast_ref().map(StandardWindowExpr::get_standard_func_expr);
    let function = match (plain.or(sliding), own) {
        (Some(aggregate), _) => {
            let text = format!("{window:?}");
            let filter = text.rsplit_once(", filter: ");
            let filter = filter.map_or(&*text, |(_, filter)| filter);
            format!("{} {filter}", aggregated(aggregate))
        }
        (_, Some(function)) => format!("{function:?}"),
        _ => format!("{window:?}"),
    };
    format!(
        "{function} {:?} {:?} {:?};",
        window.partition_by(),
        window.order_by(),
        window.get_window_frame()
    )
}

/// What decides how the bytes of files are read.
fn scanned(scan: &FileScanConfig) -> String {
    let mut text = format!(
        "{:?}, {:?}, {:?}, {:?}, {:?}",
        scan.output_ordering,
        scan.file_compression_type,
        scan.limit,
        scan.batch_size,
        scan.object_store_url
    );
    let source = scan.file_source();
    text += source.file_type();
    if let Some(csv) = source.downcast_ref::<CsvSource>() {
        let _ = write!(
            text,
            "{}, {}, {}, {:?}, {:?}, {:?}, {}, {}",
            csv.has_header(),
            csv.delimiter(),
            csv.quote(),
            csv.terminator(),
            csv.escape(),
            csv.comment(),
            csv.newlines_in_values(),
            csv.truncate_rows()
        );
    }
    let _ = write!(text, "{:?}", carried::is_array(scan).ok());
    text
}

fn same_expressions(
    plan: &Arc<dyn ExecutionPlan>,
    back: &Arc<dyn ExecutionPlan>,
) -> bool {
    let (all, others) = (expressions(plan), expressions(back));
    all.len() == others.len()
        && all.iter().zip(&others).all(|(a, b)| same(a, b))
}

fn expressions(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn PhysicalExpr>> {
    let mut all = Vec::new();
    let _ = plan.apply_expressions(&mut |each| {
        all.push(each.clone());
        Ok(TreeNodeRecursion::Continue)
    });
    all
}

/// A filter that a join will fill is equal to none but itself.
fn same(a: &Arc<dyn PhysicalExpr>, b: &Arc<dyn PhysicalExpr>) -> bool {
    let is_filled =
        |e: &Arc<dyn PhysicalExpr>| Ok(e.is::<DynamicFilterPhysicalExpr>());
    a == b
        || a.exists(is_filled).unwrap_or(false)
            && a.to_string() == b.to_string()
}
