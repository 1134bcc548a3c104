// SPDX-License-Identifier: Apache-2.0
//! Plans that workers can be given, and the rest on one node.
//!
//! ```text
//!   logical plan -- scalar subqueries run, their values put in --
//!     -- DataFusion Distributed's planner -- does each stage travel? -- yes
//!                                                |
//!                                                no: DataFusion's own plan,
//!                                                below a node that says why
//! ```

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{
    SendableRecordBatchStream, SessionStateBuilder, TaskContext,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, InputOrderMode,
    PlanProperties, execute_stream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion_distributed::{
    DistributedExec, DistributedExt, DistributedLeafExec, NetworkBoundaryExt,
    SessionStateBuilderExt,
};
use futures::StreamExt;

use crate::carried::Codec;
use crate::{scan, travel};

/// What stands before an error of a subquery that ran while its query was
/// planned.
pub const SUBQUERY: &str = "a scalar subquery";

/// Have a coordinator's plans distributed, with
/// [`with_distributed_planner`](SessionStateBuilderExt::with_distributed_planner)
/// and what that leaves out:
///
/// - A plan that would arrive at workers as another one, or not at all, is
///   DataFusion's own, for this process, below a `OneNodeExec` that says why.
/// - Scalar subqueries are run when the query that has them is planned, and
///   fail it if they have several rows. Their errors have the context
///   [`SUBQUERY`].
/// - Files that cannot be split (packed, JSON arrays, CSV with line ends in its
///   values) are shared out whole, and tables of a few bytes, too.
///
/// Workers' sessions have to know what travels so: they are those of
/// [`worker_session`](crate::WeirChannelResolver::worker_session).
pub fn distribute(builder: SessionStateBuilder) -> SessionStateBuilder {
    let mut builder = builder
        .with_physical_optimizer_rule(Arc::new(scan::WholeArrays))
        .with_distributed_planner()
        .with_distributed_user_codec(Codec)
        .with_distributed_desired_task_count_handler(scan::desired)
        .with_distributed_scale_up_leaf_node_handler(scan::scale_up);
    let config = builder.config().get_or_insert_default();
    config
        .options_mut()
        .optimizer
        .enable_physical_uncorrelated_scalar_subquery = true;
    let distributed = builder.query_planner().take();
    let distributed = distributed.expect("it was set above");
    builder.with_query_planner(Arc::new(Planner { distributed }))
}

#[derive(Debug)]
struct Planner {
    distributed: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if matches!(logical, LogicalPlan::Explain(_)) {
            return self
                .distributed
                .create_physical_plan(logical, session)
                .await;
        }
        let logical = self.with_values(logical, session).await?;
        let plan = self.distributed.create_physical_plan(&logical, session);
        let why = match plan.await.and_then(reduced_once) {
            Ok(plan) => match why_here(&plan, &session.task_ctx()) {
                None => return Ok(plan),
                Some(why) => why,
            },
            Err(error) => error.strip_backtrace(),
        };
        // A mistake of the query's is one here, too.
        let planner = DefaultPhysicalPlanner::default();
        let plan = planner.create_physical_plan(&logical, session).await?;
        Ok(Arc::new(OneNode { plan, why }))
    }
}

/// Without the merges of partial states (`distributed.partial_reduce`) of
/// grouping sets: DataFusion Distributed 4.0 has each of them group by all sets
/// once more, which gives rows twice. A merge changes no answer.
fn reduced_once(
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|plan| {
        let groups = plan.downcast_ref::<AggregateExec>();
        Ok(match groups {
            Some(it)
                if *it.mode() == AggregateMode::PartialReduce
                    && it.group_expr().has_grouping_set() =>
            {
                Transformed::yes(Arc::clone(it.input()))
            }
            _ => Transformed::no(plan),
        })
    })?;
    Ok(plan.data)
}

/// Why a plan cannot be distributed as it is.
fn why_here(
    plan: &Arc<dyn ExecutionPlan>,
    context: &TaskContext,
) -> Option<String> {
    if plan.is::<DistributedExec>() && !has_boundary(plan) {
        return travel::why_not(plan.children()[0], context); // cut as it runs
    }
    let mut why = None;
    if let Some(name) = of_a_part(plan, 1) {
        return Some(format!(
            "{name} needs all rows of a table that was split"
        ));
    }
    let looked = plan.apply(|plan| {
        if plan.is::<RecursiveQueryExec>() && has_boundary(plan) {
            // It runs its second half again and again, stages only once.
            why = Some("a recursive query runs on one node".to_owned());
        } else if has_lost_order(plan) && has_boundary(plan) {
            why = Some("a window has lost the order of its rows".to_owned());
        } else if plan.is_network_boundary() {
            why = travel::why_not(plan, context);
            return Ok(match why {
                Some(_) => TreeNodeRecursion::Stop,
                None => TreeNodeRecursion::Jump,
            });
        }
        Ok(match why {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    looked.err().map(|error| error.strip_backtrace()).or(why)
}

/// Is it a window that asks its input for an order by what it is partitioned
/// by, and a boundary below has forgotten what made that order?
fn has_lost_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let (keys, exprs) =
        if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
            (window.partition_by_sort_keys(), window.window_expr())
        } else if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>()
            && window.input_order_mode == InputOrderMode::Sorted
        {
            (window.partition_by_sort_keys(), window.window_expr())
        } else {
            return false;
        };
    let n = exprs.first().map_or(0, |expr| expr.partition_by().len());
    keys.map_or(true, |keys| keys.len() < n)
}

/// The first operator that asks for all rows, or for all of a key, and is given
/// those of one task: between it and a table that is split among tasks there is
/// no boundary. DataFusion leaves out what would bring rows together where a
/// table has one partition, and DataFusion Distributed 4.0 splits it all the
/// same if a boundary stands above. `n_tasks` run the stage that the plan is in;
/// a single one reads all of a table.
fn of_a_part(plan: &Arc<dyn ExecutionPlan>, n_tasks: usize) -> Option<String> {
    let n_tasks = match plan.as_network_boundary() {
        Some(boundary) => boundary.input_stage().task_count(),
        None => n_tasks,
    };
    let asked = plan.input_distribution_requirements().into_per_child();
    let children = plan.children();
    for (child, asked) in children.iter().zip(asked) {
        if !matches!(asked, Distribution::UnspecifiedDistribution)
            && n_tasks > 1
            && is_split(child)
        {
            return Some(plan.name().to_owned());
        }
    }
    children.iter().find_map(|child| of_a_part(child, n_tasks))
}

/// Does it read a table that is split, in the same stage?
fn is_split(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is_network_boundary() {
        return false;
    }
    match plan.downcast_ref::<DistributedLeafExec>() {
        Some(leaf) => leaf.variants().len() > 1,
        None => plan.children().iter().any(|child| is_split(child)),
    }
}

fn has_boundary(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.exists(|plan| Ok(plan.is_network_boundary())).unwrap_or(true)
}

impl Planner {
    /// A plan with the values of its scalar subqueries in their places:
    /// DataFusion's own would have them computed where the plan runs, by a
    /// node that is in one stage only.
    async fn with_values(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<LogicalPlan> {
        let mut values = Vec::new();
        for subquery in scalar_subqueries(plan)? {
            let value = self.value(&subquery, session).await;
            let value = value.map_err(|error| error.context(SUBQUERY))?;
            values.push((subquery, value));
        }
        if values.is_empty() {
            return Ok(plan.clone());
        }
        let of = |subquery: &Subquery| {
            let found = values.iter().find(|(each, _)| each == subquery);
            found.map(|(_, value)| value.clone())
        };
        let plan = plan.clone().transform_up(|plan| {
            let names = NamePreserver::new(&plan);
            let plan = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = expr.transform_up(|expr| {
                    Ok(match &expr {
                        Expr::ScalarSubquery(it) => match of(it) {
                            Some(value) => {
                                Transformed::yes(Expr::Literal(value, None))
                            }
                            None => Transformed::no(expr),
                        },
                        _ => Transformed::no(expr),
                    })
                })?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            // A value may be NULL where the subquery's column never was.
            plan.map_data(LogicalPlan::recompute_schema)
        });
        Ok(plan?.data)
    }

    async fn value(
        &self,
        subquery: &Subquery,
        session: &dyn Session,
    ) -> Result<ScalarValue> {
        let plan = self.create_physical_plan(&subquery.subquery, session);
        let mut rows = execute_stream(plan.await?, session.task_ctx())?;
        let mut value = None;
        while let Some(batch) = rows.next().await.transpose()? {
            if batch.num_rows() == 0 {
                continue;
            }
            if value.is_some() || batch.num_rows() > 1 {
                return exec_err!("Scalar subquery returned more than one row");
            }
            value = Some(ScalarValue::try_from_array(batch.column(0), 0)?);
        }
        match value {
            Some(value) => Ok(value),
            None => ScalarValue::try_from(rows.schema().field(0).data_type()),
        }
    }
}

/// Those that need nothing of the query that has them, each once.
fn scalar_subqueries(plan: &LogicalPlan) -> Result<Vec<Subquery>> {
    let mut all: Vec<Subquery> = Vec::new();
    plan.apply(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarSubquery(it) = expr
                    && it.outer_ref_columns.is_empty()
                    && !all.contains(it)
                {
                    all.push(it.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(all)
}

/// A plan that runs here, and why.
#[derive(Debug)]
struct OneNode {
    plan: Arc<dyn ExecutionPlan>,
    why: String,
}

impl DisplayAs for OneNode {
    fn fmt_as(
        &self,
        _: DisplayFormatType,
        f: &mut fmt::Formatter,
    ) -> fmt::Result {
        write!(f, "OneNodeExec: {}", self.why)
    }
}

impl ExecutionPlan for OneNode {
    fn name(&self) -> &str {
        "OneNodeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = children.pop();
        let plan = plan.ok_or_else(|| {
            DataFusionError::Internal("OneNodeExec without a plan".into())
        })?;
        Ok(Arc::new(Self { plan, why: self.why.clone() }))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.plan.execute(partition, context)
    }
}
