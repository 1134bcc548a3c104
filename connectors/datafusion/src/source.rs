// SPDX-License-Identifier: Apache-2.0
//! Where a task's plan is cut, so that its rows are pushed.
//!
//! DataFusion Distributed puts a `RepartitionExec` on a task's plan with the
//! first request for its rows. A [`Source`] stands below it in the place of
//! the plan that it covers, and looks like that one to all who look: readers
//! of ours ask it for partitions, and the `RepartitionExec` is never run; to
//! readers that do run it (over gRPC) the source is not there at all. The
//! first one decides for all.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::{
    BroadcastExec, ExecuteTaskRequest, MaybeEncoded, ProducerHead, TaskKey,
    Worker, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse,
};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::push::Push;

/// The tasks of a worker whose rows may be pushed.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<TaskKey, Weak<Cut>>>);

/// Extension of a task's session: where its plan is cut. The plan itself has
/// the session, so this must not hold it.
#[derive(Default)]
pub(crate) struct Cut {
    source: Mutex<Weak<Source>>,
    over: CancellationToken,
}

pub(crate) struct Source {
    covers: Arc<dyn ExecutionPlan>,
    over: CancellationToken,
    metrics: ExecutionPlanMetricsSet,
    mode: Mutex<Mode>,
}

enum Mode {
    None,
    Pulled, // executed as the plan that it covers
    Pushed(Arc<Push>),
    Over,
}

impl Tasks {
    /// A task that a session is made for.
    pub(crate) fn begin(&self, task: TaskKey) -> Arc<Cut> {
        let cut = Arc::new(Cut::default());
        let mut tasks = self.0.lock().unwrap();
        tasks.retain(|_, cut| cut.strong_count() > 0);
        tasks.insert(task, Arc::downgrade(&cut));
        cut
    }

    /// Nobody wants its rows any more. Its plan goes when DataFusion
    /// Distributed comes to it; what was made of it, and what feeds it, now.
    pub(crate) fn over(&self, task: &TaskKey) {
        let cut = self.0.lock().unwrap().remove(task);
        if let Some(cut) = cut.and_then(|cut| cut.upgrade()) {
            cut.close();
        }
    }

    /// Of all tasks.
    pub(crate) fn all_over(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        all.values().filter_map(Weak::upgrade).for_each(|cut| cut.close());
    }
}

impl Cut {
    fn source(&self) -> Option<Arc<Source>> {
        self.source.lock().unwrap().upgrade()
    }

    /// Ends with the query of a task.
    pub(crate) fn over(context: &TaskContext) -> CancellationToken {
        let cut = context.session_config().get_extension::<Self>();
        cut.map(|cut| cut.over.clone()).unwrap_or_default()
    }

    /// What the plan reads ends, too: it may keep streams for as long as it is
    /// kept itself.
    fn close(&self) {
        self.over.cancel();
        let Some(source) = self.source() else { return };
        let mode = &mut *source.mode.lock().unwrap();
        if let Mode::Pushed(push) = std::mem::replace(mode, Mode::Over) {
            push.close();
        }
    }

    /// Cut a task's plan, where its rows may be hashed.
    pub(crate) fn cut(
        &self,
        event: WorkerPlanRewriteEvent,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let source = |plan: &Arc<dyn ExecutionPlan>| {
            let source = Arc::new(Source {
                covers: plan.clone(),
                over: self.over.clone(),
                metrics: ExecutionPlanMetricsSet::new(),
                mode: Mutex::new(Mode::None),
            });
            *self.source.lock().unwrap() = Arc::downgrade(&source);
            source as Arc<dyn ExecutionPlan>
        };
        let plan = event.plan;
        let has_head =
            plan.is::<RepartitionExec>() || plan.is::<BroadcastExec>();
        let plan = match plan.children().first() {
            Some(input) if has_head => {
                let below = source(input);
                let same = ChildrenPropertiesMode::Keep;
                let same = ReplaceChildrenOptions::new(same);
                plan.clone().replace_children(vec![below], same)?
            }
            _ => source(&plan),
        };
        Ok(WorkerPlanRewriteEventResponse::new(plan))
    }
}

/// The partitions that a request asks a worker for.
pub(crate) async fn execute(
    worker: &Worker,
    request: ExecuteTaskRequest,
) -> Result<(Vec<SendableRecordBatchStream>, Arc<TaskContext>)> {
    let ProducerHead::RepartitionExec { partitioning } = &request.producer_head
    else {
        return worker.execute_task(request).await;
    };
    // No partition: until the plan is there.
    let first = request.target_partition_start;
    let none = ExecuteTaskRequest {
        target_partition_end: first,
        producer_head: request.producer_head.clone(),
        ..request
    };
    let (_, context) = worker.execute_task(none).await?;
    let cut = context.session_config().get_extension::<Cut>();
    if let Some(source) = cut.and_then(|cut| cut.source()) {
        let range = first..request.target_partition_end;
        let streams = source.push(partitioning.clone(), range, &context)?;
        if let Some(streams) = streams {
            return Ok((streams, context));
        }
    }
    worker.execute_task(request).await
}

/// A stream that fails when the query is over, whoever keeps it: a broadcast
/// reads all of it, with readers or without.
fn until_over(
    rows: SendableRecordBatchStream,
    over: CancellationToken,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let rows = rows.take_until(over.clone().cancelled_owned());
    let end = futures::stream::once(async move {
        over.is_cancelled().then(|| exec_err!("the query is over"))
    });
    let rows = rows.chain(end.filter_map(std::future::ready));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

impl Source {
    /// Streams of partitions; None: they have to be pulled.
    fn push(
        &self,
        partitioning: MaybeEncoded<Partitioning>,
        range: Range<usize>,
        context: &Arc<TaskContext>,
    ) -> Result<Option<Vec<SendableRecordBatchStream>>> {
        let schema = self.covers.schema();
        let Partitioning::Hash(by, n) = partitioning.decode(schema, context)?
        else {
            return Ok(None);
        };
        let push = {
            let mut mode = self.mode.lock().unwrap();
            match &*mode {
                Mode::Pulled => return Ok(None),
                Mode::Over => return exec_err!("the query is over"),
                Mode::Pushed(push) => push.clone(),
                // Its rows are not to wait until a batch is full.
                Mode::None if self.is_endless() => return Ok(None),
                Mode::None => {
                    let plan = &self.covers;
                    let push =
                        Push::open(plan, &by, n, context, &self.metrics)?;
                    let push = Arc::new(push);
                    *mode = Mode::Pushed(push.clone());
                    push
                }
            }
        };
        if push.partitions() != n {
            return exec_err!(
                "{n} partitions are asked for, others asked for {}",
                push.partitions()
            );
        }
        range.map(|i| push.read(i)).collect::<Result<_>>().map(Some)
    }

    fn is_endless(&self) -> bool {
        self.covers.properties().boundedness.is_unbounded()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.covers.fmt(f)
    }
}

impl DisplayAs for Source {
    fn fmt_as(
        &self,
        t: DisplayFormatType,
        f: &mut fmt::Formatter,
    ) -> fmt::Result {
        self.covers.fmt_as(t, f)
    }
}

impl ExecutionPlan for Source {
    fn name(&self) -> &str {
        self.covers.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.covers.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.covers.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.covers.children()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.covers.clone().replace_children(children, options)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let new = ChildrenPropertiesMode::Recompute;
        self.replace_children(children, ReplaceChildrenOptions::new(new))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.covers.apply_expressions(f)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut mode = self.mode.lock().unwrap();
        match *mode {
            Mode::None | Mode::Pulled => *mode = Mode::Pulled,
            Mode::Over => return exec_err!("the query is over"),
            Mode::Pushed(_) => {
                return exec_err!(
                    "the rows of this task go to its readers over Weir, but \
                     this one comes by gRPC"
                );
            }
        }
        drop(mode);
        let rows = self.covers.execute(partition, context)?;
        Ok(until_over(rows, self.over.clone()))
    }

    /// Those of the plan, and how long its rows took to be hashed and gathered.
    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = self.covers.metrics().unwrap_or_default();
        let own = self.metrics.clone_inner();
        own.iter().for_each(|metric| all.push(metric.clone()));
        Some(all)
    }
}
